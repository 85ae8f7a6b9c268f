/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers with units: "200 MHz", "5 us", "1.5 GiB", "200 MHz/1024". */
#pragma once

#include <glib.h>

typedef struct {
    gdouble value;                 /* in the wanted unit */
    gint64 numerator, denominator; /* the same exactly, in lowest terms; denominator 0: it cannot be
                                      held so (180 deg, 1e-30) */
} CtQuantity;

/*     quantity = number [ "/" number ] [ unit ] [ "/" number ]
 *
 * `unit`: "Hz" "s" "m" "rad" "B", or any other name, with the SI prefixes, and what people write
 * beside them (min, deg, GiB); a number without unit counts in `unit` itself. NULL: no unit may
 * stand. The message says what was wanted and what was given, nothing of places. */
gboolean ct_quantity_parse(CtQuantity *quantity, const char *text, const char *unit,
                           GError **error);
/* "a frequency such as '200 MHz'"; "a number" for NULL. */
char *ct_quantity_describe(const char *unit);
/* The fraction nearest to `value` that 64 bits hold. */
void ct_quantity_approximate(gdouble value, gint64 *numerator, gint64 *denominator);
/* "200 MHz": the shortest that reads well, for people. */
char *ct_quantity_format(gdouble value, const char *unit);
/* "1.5 MiB", whatever the locale. */
char *ct_format_bytes(gsize bytes);
