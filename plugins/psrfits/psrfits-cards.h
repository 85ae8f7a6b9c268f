/* SPDX-License-Identifier: BSD-3-Clause */
/* The headers of a FITS file: records of 2880 bytes, with 36 cards of a keyword and its value.
 * After the FITS standard, version 4.0, sections 3 and 4. */
#pragma once

#include <glib.h>

#define PSRFITS_RECORD 2880

typedef struct {
    const char *path; /* for messages */
    gsize n;          /* cards before END */
    char *cards;      /* [n][80] */
    gint64 begin;     /* of the data behind them, in bytes */
} PsrfitsCards;

/* Reads the header that begins at byte `at` of a file of `length` bytes. `cards` must be zero, and
 * is to be cleared in either case. */
gboolean psrfits_cards_read(PsrfitsCards *cards, const char *path, int fd, gint64 length, gint64 at,
                            GError **error);
void psrfits_cards_clear(PsrfitsCards *cards);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(PsrfitsCards, psrfits_cards_clear)

/* The value of a keyword of up to 8 characters, if it is a number that is finite; else NAN. */
gdouble psrfits_cards_real(const PsrfitsCards *cards, const char *key);
/* Whether a keyword has a value, of whatever kind. */
gboolean psrfits_cards_has(const PsrfitsCards *cards, const char *key);
/* The value, if it is a whole number from 0 on; else −1. */
gint64 psrfits_cards_whole(const PsrfitsCards *cards, const char *key);
/* The text without spaces at its ends, allocated; NULL: it is not there, no text, or empty. */
char *psrfits_cards_text(const PsrfitsCards *cards, const char *key);
/* Where the next header begins: after the data, in whole records; −1 if 63 bits don't count the
 * bytes, or the keywords of their size are wrong. */
gint64 psrfits_cards_next(const PsrfitsCards *cards);
