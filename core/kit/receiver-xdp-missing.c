/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses xdp:// in a build without the library: a message says what is missing. */
#include "cornerturn/error.h"
#include "receiver.h"

static CtReceiver *
refuse(const char *path, GError **error)
{
    g_set_error(error, CT_ERROR, CT_ERROR_IO,
                "%s: wants libxdp (libxdp-dev), without which Cornerturn has been built", path);
    return NULL;
}

const CtReceiverKind ct_receiver_xdp = {.prefix = "xdp://", .open = refuse};
