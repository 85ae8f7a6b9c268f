/* SPDX-License-Identifier: BSD-3-Clause */
/* Text that people write and read: numbers with units, and mistyped names. */
#pragma once

#include <cornerturn/export.h>
#include <glib.h>

G_BEGIN_DECLS

/* "200 MHz", "5 us", "1.5 GiB", "200 MHz/1024" */
typedef struct {
    gdouble value;                 /* in the wanted unit */
    gint64 numerator, denominator; /* the same value as an exact fraction in lowest terms;
                                      denominator 0: 64 bits cannot hold it (180 deg, 1e-30) */
} CtQuantity;

/*     quantity = number [ "/" number ] [ unit ] [ "/" number ]
 *
 * `unit`: "Hz" "s" "m" "rad" "B", or any other name. The text may add an SI prefix to it, or use
 * another common unit (min, deg, GiB). A number without a unit is in `unit` itself. NULL: the text
 * must not have a unit. The message says what is wanted and what is given, without a place. */
CT_EXPORT gboolean ct_quantity_parse(CtQuantity *quantity, const char *text, const char *unit,
                                     GError **error);
/* A simple fraction within `error` of a value: the first such convergent of its continued fraction,
 * or the last one whose terms are 64-bit integers. With an error of 0, it is the value's double. */
CT_EXPORT void ct_quantity_approximate(gdouble value, gdouble error, gint64 *numerator,
                                       gint64 *denominator);
/* Reads Unix seconds: a number, or a time in UTC to the second, "2022-06-29T01:30:00Z". The message
 * has no place. */
CT_EXPORT gboolean ct_utc_parse(const char *text, gint64 *seconds, GError **error);

/* A time in UTC: `seconds` of Unix time and numerator / denominator of a second. */
typedef struct {
    gint64 seconds;
    gint64 numerator, denominator; /* 0 ≤ numerator < denominator ≤ 10¹⁸ */
} CtUtc;

/* Reads the same with a fraction of up to 18 digits: "2022-06-29T01:30:00.125Z". Unix time has no
 * leap seconds: the second :60 is refused. The message has no place. */
CT_EXPORT gboolean ct_utc_parse_exact(const char *text, CtUtc *utc, GError **error);
/* Reads an index or a range of indices, "12" or "12..133", with the last one included. FALSE: the
 * text is neither, or the range is empty. */
CT_EXPORT gboolean ct_range_parse(const char *text, gint64 *first, gint64 *last);
/* "8 s", "1 min 20 s". Allocated. */
CT_EXPORT char *ct_format_seconds(gdouble seconds);

/* A remark for a message about an unknown name, to be freed: "; did you mean 'fir'?". If none of
 * the `n` names is near, it lists the names after `lists`, as "; it has n_taps, window"; it is
 * empty if `lists` is NULL. */
CT_EXPORT char *ct_suggest_remark(const char *given, const char *const *names, gsize n,
                                  const char *lists);

G_END_DECLS
