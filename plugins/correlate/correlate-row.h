/* SPDX-License-Identifier: BSD-3-Clause */
/* Visibilities of one input with those before it, read from the tiles. Included once per type of
 * the running sums, with
 *
 *     SUM       float, double, gint64
 *     OPEN      the type of sums of an unfinished chunk; default SUM
 *     ELEMENTS  elements of a vector of the tiles
 *     NAME(x)   the name of x for this type */

#ifndef OPEN
#define OPEN SUM
#endif

/* A running sum, with that of an unfinished chunk; NULL: there is none. */
static inline SUM
NAME(total)(const SUM *sum, const OPEN *open, gsize at)
{
    if (!sum)
        return open[at];
    return open ? sum[at] + open[at] : sum[at];
}

/* Writes columns 0 … n_columns − 1 of row m, real and imaginary interleaved. */
static void
NAME(row)(gsize n_blocks, const void *sums, const void *open, gsize m, gsize n_columns, void *line)
{
    const Tiles tiles = {ELEMENTS, n_blocks};
    const SUM *sum = sums;
    const OPEN *rest = open;
    const gsize n_square = m / ELEMENTS * ELEMENTS;
    SUM *restrict x = line;
    for (gsize c = 0; c < n_square; c += ELEMENTS) {
        const gsize at = locate(&tiles, m, c).index;
        for (gsize element = 0; element < ELEMENTS; element++) {
            x[2 * (c + element)] = NAME(total)(sum, rest, at + element);
            x[2 * (c + element) + 1] = NAME(total)(sum, rest, at + ELEMENTS + element);
        }
    }
    for (gsize c = n_square; c < n_columns; c++) {
        const Place place = locate(&tiles, m, c);
        const gsize at = place.index;
        const SUM im = NAME(total)(sum, rest, at + ELEMENTS);
        x[2 * c] = NAME(total)(sum, rest, at);
        x[2 * c + 1] = place.conjugate ? -im : im;
    }
}

#undef SUM
#undef OPEN
#undef ELEMENTS
#undef NAME
