/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers with units: the core's part, beside <cornerturn/text.h>. */
#pragma once

#include "number.h"

#include <cornerturn/text.h>

/* "a frequency such as '200 MHz'"; "a number" for NULL. Allocated. */
char *ct_quantity_describe(const char *unit);
/* "200 MHz": a short form for people. Allocated. */
char *ct_quantity_format(gdouble value, const char *unit);
/* "1.5 MiB", in every locale. Allocated. */
char *ct_format_bytes(gsize bytes);
/* As ct_quantity_parse(), but exact as long as 128 bits hold the number. */
gboolean ct_quantity_read(CtNumber *number, const char *text, const char *unit, GError **error);
/* The factor from the unit `given`, such as "MHz" or "min", to the SI unit `unit`. FALSE: it is
 * none of that unit. */
gboolean ct_unit_find(const char *given, const char *unit, CtNumber *factor);
/* The unit that differs from `given` in case alone; NULL if there is none. Allocated. */
char *ct_unit_suggest(const char *given, const char *unit);
/* All units that quantities in `unit` may have, with `separator` between them. Allocated. */
char *ct_quantity_units(const char *unit, const char *separator);
