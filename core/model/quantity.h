/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers with units: "200 MHz", "5 us", "1.5 GiB", "200 MHz/1024". */
#pragma once

#include <glib.h>

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
gboolean ct_quantity_parse(CtQuantity *quantity, const char *text, const char *unit,
                           GError **error);
/* "a frequency such as '200 MHz'"; "a number" for NULL. Allocated. */
char *ct_quantity_describe(const char *unit);
/* A close fraction of 64-bit integers: the last convergent of the continued fraction that fits. */
void ct_quantity_approximate(gdouble value, gint64 *numerator, gint64 *denominator);
/* "200 MHz": a short form for people. Allocated. */
char *ct_quantity_format(gdouble value, const char *unit);
/* "1.5 MiB", in every locale. Allocated. */
char *ct_format_bytes(gsize bytes);
