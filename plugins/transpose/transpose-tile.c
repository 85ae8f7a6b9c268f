/* SPDX-License-Identifier: BSD-3-Clause */
/* Transposes and copies tiles in vector registers; compiled once per instruction set. */
#include "transpose-vectors.h"

/* Loads a wide vector from N_NARROW addresses, 16 bytes each. */
INLINE Wide1
load_wide(const uint8_t *const *row, size_t step, ptrdiff_t at)
{
#if N_NARROW == 4
    __m512i v = _mm512_castsi128_si512((__m128i)load_narrow(row[0] + at));
    v = _mm512_inserti32x4(v, (__m128i)load_narrow(row[step] + at), 1);
    v = _mm512_inserti32x4(v, (__m128i)load_narrow(row[2 * step] + at), 2);
    v = _mm512_inserti32x4(v, (__m128i)load_narrow(row[3 * step] + at), 3);
    return (Wide1)v;
#elif N_NARROW == 2
    const __m256i v = _mm256_castsi128_si256((__m128i)load_narrow(row[0] + at));
    return (Wide1)_mm256_inserti128_si256(v, (__m128i)load_narrow(row[step] + at), 1);
#else
    (void)step;
    return load_narrow(row[0] + at);
#endif
}

/* Transposes N_NARROW·k rows of the input by k columns to k whole vectors of output. */
INLINE void
turn_wide(const uint8_t *const *row, ptrdiff_t at, uint8_t *out, const ptrdiff_t *out_a, size_t n_a,
          const size_t element)
{
    const size_t k = 16 / element;
    Wide1 x[16];
    for (size_t i = 0; i < k; i++)
        x[i] = load_wide(row + i, k, at);
    ROTATE_VECTORS(Wide, x, k, k, element)
    if (n_a == k)
        for (size_t i = 0; i < k; i++)
            *(Wide1 *)(out + out_a[i]) = x[i];
    else
        for (size_t i = 0; i < n_a; i++)
            *(Wide1 *)(out + out_a[i]) = x[i];
}

/* Transposes k rows of the input by k columns. */
INLINE void
turn_narrow(const uint8_t *const *row, ptrdiff_t at, uint8_t *out, const ptrdiff_t *out_a,
            size_t n_a, const size_t element)
{
    const size_t k = 16 / element;
    Narrow1 x[16];
    for (size_t i = 0; i < k; i++)
        x[i] = load_narrow(row[i] + at);
    ROTATE_VECTORS(Narrow, x, k, k, element)
    for (size_t i = 0; i < n_a; i++)
        *(Narrow1 *)(out + out_a[i]) = x[i];
}

/* Transposes as many rows from b on by the segment of columns at `base`. Prefetches lines `ahead`
 * bytes further on: of every row on the way or, for short segments, of each `every`-th row. */
INLINE void
turn_rows(const Tile *tile, const uint8_t *in, uint8_t *out, size_t b, size_t base, ptrdiff_t ahead,
          size_t every, const size_t element, const bool wide)
{
    const size_t k = 16 / element;
    const size_t rows = wide ? N_NARROW * k : k;
    const uint8_t *row[N_NARROW * 16];
    for (size_t i = 0; i < rows; i++)
        row[i] = in + tile->in_b[b + i < tile->n_b ? b + i : tile->n_b - 1];
    for (size_t i = 0; every && i < rows; i += every)
        fetch(row[i] + tile->in_a[base] + ahead);

    const size_t share = rows < 4 ? 1 : rows / 4;
    const size_t rest = tile->n_a - base;
    const size_t n_a = rest < tile->segment ? rest : tile->segment;
    for (size_t a = 0; a < n_a; a += k) {
        if (a + k > n_a && n_a >= k)
            a = n_a - k;
        const ptrdiff_t at = tile->in_a[base + a];
        if (!every) {
            const size_t first = (size_t)at / 16 % 4 * share;
            for (size_t i = first; i < first + share && i < rows; i++)
                fetch(row[i] + at + ahead);
        }
        const ptrdiff_t *out_a = tile->out_a + base + a;
        if (wide)
            turn_wide(row, at, out + b * element, out_a, n_a < k ? n_a : k, element);
        else
            turn_narrow(row, at, out + b * element, out_a, n_a < k ? n_a : k, element);
    }
}

INLINE void
turn_all_rows(const Tile *tile, const uint8_t *in, uint8_t *out, const size_t element,
              const bool wide)
{
    const size_t rows = (wide ? N_NARROW : 1) * (16 / element);
    const size_t last = tile->n_b >= rows ? tile->n_b - rows : 0;
    const ptrdiff_t step = tile->n_b > 1 ? tile->in_b[1] - tile->in_b[0] : LINE;
    const size_t every = step > 0 && step < LINE ? LINE / (size_t)step : 1;
    if (tile->segment * element >= 2 * LINE) {
        for (size_t b = 0; b < tile->n_b; b += rows) {
            b = b < last ? b : last;
            const ptrdiff_t then =
                b + rows <= last ? tile->in_b[b + rows] : tile->next + tile->in_b[0];
            for (size_t base = 0; base < tile->n_a; base += tile->segment)
                turn_rows(tile, in, out, b, base, then - tile->in_b[b], 0, element, wide);
        }
    } else {
        for (size_t base = 0; base < tile->n_a; base += tile->segment)
            for (size_t b = 0; b < tile->n_b; b += rows) {
                b = b < last ? b : last;
                turn_rows(tile, in, out, b, base, tile->next, every, element, wide);
            }
    }
}

INLINE void
turn_tile(const Tile *tile, const uint8_t *in, uint8_t *out, const size_t element)
{
    if (tile->n_b >= CT_VECTOR_BYTES / element)
        turn_all_rows(tile, in, out, element, true);
    else
        turn_all_rows(tile, in, out, element, false);
}

/* Segments of n ≤ k elements; the rows of a vector are contiguous in the input: k/n rows to 16
 * bytes. */
INLINE void
unzip_tile(const Tile *tile, const uint8_t *in, uint8_t *out, const size_t element, const size_t n)
{
    const size_t k = 16 / element;
    const size_t last = tile->n_b - N_NARROW * k;
    for (size_t base = 0; base < tile->n_a; base += n) {
        const ptrdiff_t *out_a = tile->out_a + base;
        for (size_t b = 0; b < tile->n_b; b += N_NARROW * k) {
            b = b < last ? b : last;
            const uint8_t *from = in + tile->in_a[base] + tile->in_b[b];
            const uint8_t *row[N_NARROW * 16];
            for (size_t i = 0; i < N_NARROW * n; i++)
                row[i] = from + 16 * i;
            for (size_t i = 0; i < N_NARROW * n; i += 4)
                fetch(row[i] + tile->next);
            Wide1 x[16];
            for (size_t i = 0; i < n; i++)
                x[i] = load_wide(row + i, n, 0);
            ROTATE_VECTORS(Wide, x, n, k, element)
            for (size_t i = 0; i < n; i++)
                *(Wide1 *)(out + out_a[i] + b * element) = x[i];
        }
    }
}

/* n ≤ k rows; columns are contiguous in the output. */
INLINE void
zip_tile(const Tile *tile, const uint8_t *in, uint8_t *out, const size_t element, const size_t n)
{
    const size_t k = 16 / element;
    for (size_t base = 0; base < tile->n_a; base += tile->segment) {
        const size_t rest = tile->n_a - base;
        const size_t n_a = rest < tile->segment ? rest : tile->segment;
        const uint8_t *from = in + tile->in_a[base];
        uint8_t *to = out + tile->out_a[base];
        for (size_t a = 0; a < n_a; a += k) {
            a = a + k <= n_a ? a : n_a - k;
            Narrow1 x[16];
            for (size_t i = 0; i < n; i++) {
                const uint8_t *at = from + tile->in_b[i] + a * element;
                x[i] = load_narrow(at);
                if (a * element % LINE == 0)
                    fetch(at + tile->next);
            }
            ROTATE_VECTORS(Narrow, x, n, n, element)
            for (size_t i = 0; i < n; i++)
                *(Narrow1 *)(to + a * n * element + 16 * i) = x[i];
        }
    }
}

/* Any tile, one element after another. */
INLINE void
copy_elements(const Tile *tile, const uint8_t *in, uint8_t *out, const size_t element)
{
    for (size_t b = 0; b < tile->n_b; b++)
        for (size_t a = 0; a < tile->n_a; a++) {
            const uint8_t *from = in + tile->in_a[a] + tile->in_b[b];
            for (size_t i = 0; element > 16 && i < element; i += LINE)
                fetch(from + tile->next + i);
            copy_run(out + tile->out_a[a] + tile->out_b[b], from, element);
        }
}

#define CASE_ELEMENT(n, function)                                                                  \
    case n:                                                                                        \
        function(tile, in, out, n);                                                                \
        break;
#define CASE_PART(element, n, function)                                                            \
    case 16 * element + n:                                                                         \
        function(tile, in, out, element, n);                                                       \
        return true;

void
CT_ISA(transpose_turn)(const Tile *tile, const uint8_t *in, uint8_t *out, size_t element)
{
    switch (element) {
        CASE_ELEMENT(1, turn_tile)
        CASE_ELEMENT(2, turn_tile)
        CASE_ELEMENT(4, turn_tile)
        CASE_ELEMENT(8, turn_tile)
        CASE_ELEMENT(16, turn_tile)
    }
}

bool
CT_ISA(transpose_unzip)(const Tile *tile, const uint8_t *in, uint8_t *out, size_t element)
{
    if (tile->segment > 8 || tile->n_b < CT_VECTOR_BYTES / element)
        return false;
    switch (16 * element + tile->segment) {
        CASE_PART(1, 2, unzip_tile)
        CASE_PART(1, 4, unzip_tile)
        CASE_PART(1, 8, unzip_tile)
        CASE_PART(2, 2, unzip_tile)
        CASE_PART(2, 4, unzip_tile)
        CASE_PART(2, 8, unzip_tile)
        CASE_PART(4, 2, unzip_tile)
        CASE_PART(4, 4, unzip_tile)
        CASE_PART(8, 2, unzip_tile)
    }
    return false;
}

bool
CT_ISA(transpose_zip)(const Tile *tile, const uint8_t *in, uint8_t *out, size_t element)
{
    const size_t n_a = tile->n_a < tile->segment ? tile->n_a : tile->segment;
    if (tile->n_b > 8 || n_a < 16 / element)
        return false;
    switch (16 * element + tile->n_b) {
        CASE_PART(1, 2, zip_tile)
        CASE_PART(1, 4, zip_tile)
        CASE_PART(1, 8, zip_tile)
        CASE_PART(2, 2, zip_tile)
        CASE_PART(2, 4, zip_tile)
        CASE_PART(2, 8, zip_tile)
        CASE_PART(4, 2, zip_tile)
        CASE_PART(4, 4, zip_tile)
        CASE_PART(8, 2, zip_tile)
    }
    return false;
}

void
CT_ISA(transpose_copy)(const Tile *tile, const uint8_t *in, uint8_t *out, size_t element)
{
    switch (element) {
        CASE_ELEMENT(1, copy_elements)
        CASE_ELEMENT(2, copy_elements)
        CASE_ELEMENT(4, copy_elements)
        CASE_ELEMENT(8, copy_elements)
        CASE_ELEMENT(16, copy_elements)
    default:
        copy_elements(tile, in, out, element);
    }
}
