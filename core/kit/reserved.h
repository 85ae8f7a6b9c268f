/* SPDX-License-Identifier: BSD-3-Clause */
/* Members of the kit's structs that a plugin's headers have and this Cornerturn's do not: they take
 * the place of `reserved`, and must be 0. */
#pragma once

#include <cornerturn/error.h>

/* Fails if an object of type `type`, which a plugin has filled in, has such a member. `plugin` says
 * what the plugin is for. */
#define CT_RESERVED_CHECK(plugin, type, object, error)                                             \
    ct_reserved_check(plugin, #type, ((const type *)(object))->reserved,                           \
                      G_N_ELEMENTS(((const type *)0)->reserved), error)

static inline gboolean
ct_reserved_check(const char *plugin, const char *type, const guint64 *reserved, gsize n,
                  GError **error)
{
    for (gsize i = 0; i < n; i++)
        if (reserved[i] != 0) {
            g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN,
                        "the plugin for %s sets a member of %s that this Cornerturn does not know: "
                        "the plugin wants a newer one",
                        plugin, type);
            return FALSE;
        }
    return TRUE;
}
