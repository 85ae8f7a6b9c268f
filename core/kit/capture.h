/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of packets, read packet by packet in the order of their times: for sending them again. */
#pragma once

#include "cornerturn/kit/source.h"

typedef struct CtCapture CtCapture;

/* A packet; its bytes stay until CT_CAPTURE_KEPT more have been read. */
typedef struct {
    const guint8 *bytes;
    gsize n;
    guint file;
    gint64 offset;
    gint64 at; /* in samples of the recording, from its first one on; never before that of a packet
                  that was given earlier */
} CtCaptured;

enum { CT_CAPTURE_KEPT = 256 };

/* Opens the files of a source; `given` must stay. */
CtCapture *ct_capture_open(const CtSource *source, const CtParams *given, GError **error);
void ct_capture_close(CtCapture *capture);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtCapture, ct_capture_close)
guint ct_capture_n_files(const CtCapture *capture);
/* The samples from the first to the last one. */
gint64 ct_capture_length(const CtCapture *capture);
/* Begins again. */
gboolean ct_capture_rewind(CtCapture *capture, GError **error);
/* Reads the next packet; *ended: there is none. */
gboolean ct_capture_next(CtCapture *capture, CtCaptured *packet, gboolean *ended, GError **error);
