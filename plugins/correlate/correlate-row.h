/* SPDX-License-Identifier: BSD-3-Clause */
/* Visibilities of one input with those before it, read from the tiles. Included once per type of
 * the running sums and of the visibilities, with
 *
 *     SUM       float, double, gint64
 *     OPEN      the type of sums of an unfinished chunk
 *     OUT       float, double, gint64
 *     ELEMENTS  elements of a vector of the tiles
 *     NAME(x)   the name of x for these types */

/* A running sum, with that of an unfinished chunk; NULL: there is none. */
static inline OUT
NAME(total)(const SUM *sum, const OPEN *open, gsize at)
{
    if (!sum)
        return (OUT)open[at];
    return (OUT)(open ? sum[at] + open[at] : sum[at]);
}

static inline __attribute__((always_inline)) void
NAME(fill_row)(gsize n_blocks, const SUM *restrict sum, const OPEN *restrict open, gsize m,
               gsize n_columns, OUT *restrict x)
{
    const Tiles tiles = {ELEMENTS, n_blocks};
    const gsize n_square = (m / ELEMENTS + CORRELATE_FULL_DIAGONAL) * ELEMENTS;
    for (gsize c = 0; c < n_square; c += ELEMENTS) {
        const gsize at = locate(&tiles, m, c).index;
        for (gsize element = 0; element < ELEMENTS; element++) {
            x[2 * (c + element)] = NAME(total)(sum, open, at + element);
            x[2 * (c + element) + 1] = NAME(total)(sum, open, at + ELEMENTS + element);
        }
    }
    for (gsize c = n_square; c < n_columns; c++) {
        const Place place = locate(&tiles, m, c);
        const OUT im = NAME(total)(sum, open, place.index + ELEMENTS);
        x[2 * c] = NAME(total)(sum, open, place.index);
        x[2 * c + 1] = place.conjugate ? -im : im;
    }
}

/* Writes columns 0 … n_columns − 1 of row m, real and imaginary interleaved, and further ones of
 * the last block. */
static void
NAME(row)(gsize n_blocks, const void *sums, const void *open, gsize m, gsize n_columns, void *line)
{
    if (!open)
        NAME(fill_row)(n_blocks, sums, NULL, m, n_columns, line);
    else if (!sums)
        NAME(fill_row)(n_blocks, NULL, open, m, n_columns, line);
    else
        NAME(fill_row)(n_blocks, sums, open, m, n_columns, line);
}

#undef OUT
#undef NAME
