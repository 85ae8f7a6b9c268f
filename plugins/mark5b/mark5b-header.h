/* SPDX-License-Identifier: BSD-3-Clause */
/* Headers of Mark 5B frames.
 *
 * Follows the Mark 5B User's Manual
 * (haystack.mit.edu/tech/vlbi/mark5/docs/Mark%205B%20users%20manual.pdf, page 15); the check of the
 * time code is that of VLBA headers (Mark IV memo 230.3, page 11). */
#pragma once

#include <glib.h>

enum {
    MARK5B_HEADER_BYTES = 16,
    MARK5B_PAYLOAD_BYTES = 10000,
    MARK5B_FRAME_BYTES = MARK5B_HEADER_BYTES + MARK5B_PAYLOAD_BYTES,
};

typedef struct {
    guint user;       /* bytes that the user has set */
    gboolean is_test; /* the samples are those of the recorder's test generator */
    guint frame;      /* within the second */
    guint day;        /* last three digits of the MJD */
    guint second;     /* of the day */
    guint fraction; /* of the second, in 0.1 ms, rounded down; 0 if the recorder does not know it */
} Mark5bHeader;

/* Reads MARK5B_HEADER_BYTES. Returns NULL, or why these bytes are not a header. A check of 0 is one
 * that the recorder has not written. */
const char *mark5b_header_parse(const guint8 *bytes, Mark5bHeader *header);

/* The remainder of the 48 bits of a time code, without its check, by x¹⁶ + x¹⁵ + x² + 1. */
guint mark5b_check(guint64 code);
