/* SPDX-License-Identifier: BSD-3-Clause */
/* The ways to receive datagrams. */
#include "receiver.h"

static const CtReceiverKind *const kinds[] = {&ct_receiver_udp};

static const CtReceiverKind *
find_kind(const char *path)
{
    for (guint i = 0; i < G_N_ELEMENTS(kinds); i++)
        if (g_str_has_prefix(path, kinds[i]->prefix))
            return kinds[i];
    return NULL;
}

gboolean
ct_receiver_is(const char *path)
{
    return find_kind(path) != NULL;
}

CtReceiver *
ct_receiver_open(const char *path, GError **error)
{
    return find_kind(path)->open(path, error);
}

void
ct_receiver_close(CtReceiver *receiver)
{
    if (receiver)
        receiver->kind->close(receiver);
}

guint64
ct_receiver_lost(CtReceiver *receiver)
{
    return receiver->kind->lost ? receiver->kind->lost(receiver) : 0;
}
