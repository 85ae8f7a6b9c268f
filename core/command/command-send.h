/* SPDX-License-Identifier: BSD-3-Clause */
/* What `cornerturn send` tells of the packets. */
#pragma once

#include <cornerturn/send.h>
#include <stdio.h>

typedef struct {
    const CtSend *how;
    CtSendCount *counts; /* [n_addresses] */
    guint n_addresses;
    const char *state; /* "complete", "interrupted", "failed" */
    const char *error; /* NULL: none */
    FILE *log;         /* for the account; NULL: none */
} CtSendReport;

/* The account, allocated: for people, and as JSON. */
char *ct_send_report_text(const CtSendReport *report);
char *ct_send_report_json(const CtSendReport *report);

/* Writes a line for a packet, JSON by itself. */
void ct_send_log_packet(FILE *file, const CtSendPacket *packet);
