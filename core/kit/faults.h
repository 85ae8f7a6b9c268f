/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets on their way to the network, of which some are lost, doubled, put out of order or delayed
 * by chance; and the account of it. */
#pragma once

#include "cornerturn/send.h"
#include "sender.h"

typedef struct CtFaults CtFaults;

/* How a sink of a graph sends, and its account; that of CtPrepare.send. */
typedef struct {
    CtSend how;
    CtSendCount *count;
} CtSinkSend;

/* `how` and `senders` must stay; counts [n_addresses] are 0. */
CtFaults *ct_faults_new(const CtSend *how, CtSenders *senders, guint n_addresses,
                        CtSendCount *counts);
void ct_faults_free(CtFaults *faults);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtFaults, ct_faults_free)
/* Takes a packet, which is due no earlier than those before. Its bytes must stay until the next
 * ct_senders_flush(). */
gboolean ct_faults_put(CtFaults *faults, guint address, const CtOutgoing *packet, gint64 due,
                       GError **error);
/* Sends what is delayed, at its time unless all is over, and completes the account; also after a
 * failure, with `error` NULL: then nothing more is sent. */
gboolean ct_faults_end(CtFaults *faults, GError **error);
