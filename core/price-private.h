/* SPDX-License-Identifier: BSD-3-Clause */
/* What the prices' own files share: the words in which the store keeps what is priced. */
#pragma once

#include "price.h"

/* "fir+fft", allocated. */
char *ct_price_stages(const CtVariant *variant);
/* "", "to device", "to host", "to peer". */
const char *ct_price_way(gint from, gint to);
/* Of what runs, the place. */
gint ct_price_place(const CtPriced *what);
/* "ci8[time pol], - -> cf32[time pol phase]": the layouts of all ports, a dash where nothing is
 * connected; and the lengths of their axes, "0 2, - -> 0 2 256", 0 of time. Allocated. */
char *ct_price_layouts(const CtPriced *what);
char *ct_price_lengths(const CtPriced *what);
/* What else decides: footprints that are not sample by sample, and the parameters that are
 * integers, truths and choices. "window=4096 hop=256 n_taps=16"; allocated. */
char *ct_price_parameters(const CtPriced *what);
/* How far one is from the other, 0: they are the same. */
gdouble ct_price_parameters_distance(const char *a, const char *b);

/* Length of a layout's axis, 0 of time. */
gint64 ct_price_length(const CtStream *stream, const CtLayoutAxis *axis);
