/* SPDX-License-Identifier: BSD-3-Clause */
/* Visibilities of one input with those before it, read from the tiles. Included once per type of
 * the running sums, with
 *
 *     SUM       float, double, gint64
 *     ELEMENTS  elements of a vector of the tiles
 *     NAME(x)   the name of x for this type */

/* Writes columns 0 … n_columns − 1 of row m, real and imaginary interleaved; adds `open`, the sums
 * of an unfinished chunk, unless NULL. */
static void
NAME(row)(gsize n_blocks, const void *sums, const void *open, gsize m, gsize n_columns, void *line)
{
    const Tiles tiles = {ELEMENTS, n_blocks};
    const SUM *sum = sums;
    const SUM *rest = open;
    const gsize n_square = m / ELEMENTS * ELEMENTS;
    SUM *restrict x = line;
    for (gsize c = 0; c < n_square; c += ELEMENTS) {
        const gsize at = locate(&tiles, m, c).index;
        for (gsize element = 0; element < ELEMENTS; element++) {
            x[2 * (c + element)] = sum[at + element] + (rest ? rest[at + element] : 0);
            x[2 * (c + element) + 1] =
                sum[at + ELEMENTS + element] + (rest ? rest[at + ELEMENTS + element] : 0);
        }
    }
    for (gsize c = n_square; c < n_columns; c++) {
        const Place place = locate(&tiles, m, c);
        const gsize at = place.index;
        const SUM im = sum[at + ELEMENTS] + (rest ? rest[at + ELEMENTS] : 0);
        x[2 * c] = sum[at] + (rest ? rest[at] : 0);
        x[2 * c + 1] = place.conjugate ? -im : im;
    }
}

#undef SUM
#undef ELEMENTS
#undef NAME
