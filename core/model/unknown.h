/* SPDX-License-Identifier: BSD-3-Clause */
/* Members of structs that a plugin's headers have and this core's do not: they must be 0. */
#pragma once

#include <glib.h>

/* The fault of a plugin that sets such a member, for messages. */
#define CT_UNKNOWN_FAULT                                                                           \
    "sets a member that this Cornerturn does not know: the plugin wants a newer one"

static inline gboolean
ct_unknown_is_set(gconstpointer bytes, gsize n)
{
    for (gsize i = 0; i < n; i++)
        if (((const guint8 *)bytes)[i] != 0)
            return TRUE;
    return FALSE;
}

static inline gboolean
ct_reserved_is_set(const guint64 *reserved, gsize n)
{
    guint64 bits = 0;
    for (gsize i = 0; i < n; i++)
        bits |= reserved[i];
    return bits != 0;
}

/* Whether a member takes some of the space that the struct has reserved. */
#define CT_RESERVED_IS_SET(object)                                                                 \
    ct_reserved_is_set((object)->reserved, G_N_ELEMENTS((object)->reserved))
