/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers as fractions, which are exact as long as 128 bits hold them. */
#pragma once

#include <glib.h>

typedef __int128 CtWide;

/* `value` is always set; the fraction, in lowest terms, is valid if `denominator` is not 0. */
typedef struct {
    gdouble value;
    CtWide numerator, denominator;
} CtNumber;

CtNumber ct_number_add(CtNumber a, CtNumber b);
CtNumber ct_number_multiply(CtNumber a, CtNumber b);
/* `number` is not 0. */
CtNumber ct_number_invert(CtNumber number);
gboolean ct_number_is_integer(const CtNumber *number);
/* The largest integer that is not above an exact number. */
CtNumber ct_number_floor(CtNumber number);

/* Whether a text begins with a decimal number. */
gboolean ct_number_starts(const char *text);
/* Parses a decimal number at the start of *text; it is exact if 36 digits hold it. */
gboolean ct_number_parse(const char **text, CtNumber *number);
/* Writes an integer or a short decimal with all its digits, and another fraction as "1/3" or, for
 * people (`rounds`), as its double. Allocated. */
char *ct_number_format(CtNumber number, gboolean rounds);
