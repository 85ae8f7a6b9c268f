/* SPDX-License-Identifier: BSD-3-Clause */
/* Headers of GUPPI RAW blocks: cards of 80 characters up to END.
 *
 * Follows "RAW File Format" of Breakthrough Listen (github.com/UCBerkeleySETI/breakthrough,
 * doc/RAW-File-Format.md) and the readers rawspec (github.com/UCBerkeleySETI/rawspec) and baseband
 * (github.com/mhvk/baseband); the meaning of PKTIDX, PIPERBLK, PKTSTART and SYNCTIME is that of the
 * recorder hpguppi (github.com/UCBerkeleySETI/hpguppi_daq). */
#pragma once

#include <glib.h>

enum {
    GUPPI_CARD_BYTES = 80,
    GUPPI_MAX_HEADER = 512 * GUPPI_CARD_BYTES, /* recorders write 32 KiB at most */
    GUPPI_TEXT_BYTES = GUPPI_CARD_BYTES - 8,   /* that hold any value and its end */
};

typedef struct {
    gsize bytes;                           /* from the first card to the first sample */
    gint64 block_bytes;                    /* of the samples */
    gint64 bits;                           /* of a part: 2, 4, 8 or 16 */
    gint64 n_stations, n_channels, n_pols; /* n_channels: of a station */
    gboolean is_time_first; /* [time][station][channel][pol], as DSPSR writes; otherwise
                               [station][channel][time][pol] */
    gint64 n_samples;       /* of a block, with the overlap */
    gint64 overlap;
    gboolean has_index;
    gint64 index;        /* of the block (PKTIDX); block after block it grows by index_step */
    gint64 index_step;   /* 0: not known */
    gint64 stop;         /* the index behind the recording (PKTSTOP); 0: not known */
    gboolean is_dropped; /* all packets of the block were lost (DROPBLK) */
    gint64 index_origin; /* the index at `second` + `fraction`; −1: that of the first block */
    gint64 rate_num, rate_den; /* samples per second */
    gboolean has_time;
    gint64 second;          /* Unix time */
    gdouble fraction;       /* of a second, from 0 to 1 */
    gboolean has_frequency; /* hertz: of the first channel, and from one to the next */
    gdouble first_frequency, frequency_step;
    gboolean has_direction;
    gdouble direction[2];             /* radians: right ascension, declination */
    char telescope[GUPPI_TEXT_BYTES]; /* empty: not known; so are all texts */
    char source[GUPPI_TEXT_BYTES];
    char project[GUPPI_TEXT_BYTES];
    char observer[GUPPI_TEXT_BYTES];
    char polarisation[GUPPI_TEXT_BYTES]; /* LIN, CIRC */
    gboolean is_left_handed; /* FD_HAND is −1: the polarisations are in the other order */
} GuppiHeader;

/* The bytes of the cards with END, without padding; 0 if END is not among the `n` bytes, −1 if
 * bytes before it cannot be those of cards. */
gssize guppi_cards_find_end(const guint8 *bytes, gsize n);

/* Reads the `n` bytes of cards that guppi_cards_find_end has found. Fails with a message that names
 * the keyword: "NBITS wants 2, 4, 8 or 16, but is given '3'". */
gboolean guppi_header_parse(const guint8 *cards, gsize n, GuppiHeader *header, GError **error);

/* The names of the stations (ANTNMS00, ANTNMS01, …), NULL-terminated; they may be none, or fewer
 * than there are stations. */
char **guppi_header_stations(const guint8 *cards, gsize n);
