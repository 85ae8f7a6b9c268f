/* SPDX-License-Identifier: BSD-3-Clause */
/* Passes over vectors that hold neighbouring samples of a transform. */
#include "fft-lines.h"

#include "fft-butterflies.h"

/* Narrower vectors are no faster than FFTW. */
#if CT_VECTOR_BYTES == 64

#define L FFT_LANES

typedef float Half __attribute__((vector_size(CT_VECTOR_BYTES / 2)));

#define HALF(v, i) __builtin_shufflevector(v, v, i, i + 1, i + 2, i + 3, i + 4, i + 5, i + 6, i + 7)

/* Real and imaginary parts change places around an inverse transform. */
INLINE Complex
load(const char *x, const int is_inverse)
{
    Floats a, b;

    memcpy(&a, x, sizeof a);
    memcpy(&b, x + sizeof a, sizeof b);
    const Floats re = SPLIT(a, b, 0), im = SPLIT(a, b, 1);
    return is_inverse ? (Complex){im, re} : (Complex){re, im};
}

/* Vectors of the complex numbers in lanes 0 to 7 and 8 to 15 of the value, in their order. */
INLINE void
join(Floats *pair, Complex value, const int is_inverse, float scale)
{
    const Complex way = is_inverse ? scaled((Complex){value.im, value.re}, scale) : value;

    pair[0] = JOIN(way.re, way.im, 0);
    pair[1] = JOIN(way.re, way.im, 2);
}

INLINE Complex
turned(Complex a, const Complex *turn)
{
    return (Complex){a.re * turn->re - a.im * turn->im, a.re * turn->im + a.im * turn->re};
}

/* The places from which a transform of a pass is read, and to which it is written. */
typedef struct {
    const char *low, *high; /* samples of its first and its second half */
    size_t r, m;
    Complex *rows; /* the first of those that are `apart` from each other */
    size_t apart;
    const Complex *turn;
    int is_inverse;
} Butterfly;

INLINE Complex
get_samples(const void *where, size_t k)
{
    const Butterfly *at = where;

    return load((2 * k < at->r ? at->low : at->high) + k * at->m * sizeof(Complex), at->is_inverse);
}

INLINE Complex
get_row(const void *where, size_t k)
{
    const Butterfly *at = where;

    return at->rows[k * at->apart];
}

INLINE void
put_row(const void *where, size_t k, Complex value)
{
    const Butterfly *at = where;

    at->rows[k * at->apart] = k == 0 ? value : turned(value, at->turn + k - 1);
}

/* The first pass, of m vectors for each of r, from the samples at x to rows that are `apart`. The
 * lower half of the r parts is read `shift` bytes further, the upper half as much before. */
INLINE void
first(const size_t r, const Complex *turn, const char *x, size_t shift, Complex *rows, size_t m,
      size_t apart, const int is_inverse)
{
    for (size_t j = 0; j < m; j++, turn += r - 1) {
        const Butterfly at = {
            .low = x + shift + j * sizeof(Complex),
            .high = x - shift + j * sizeof(Complex),
            .r = r,
            .m = m,
            .rows = rows + j,
            .apart = apart,
            .turn = turn,
            .is_inverse = is_inverse,
        };
        dft(r, get_samples, put_row, &at);
    }
}

/* A pass in between, over parts of r · m vectors of the L blocks of n. */
INLINE void
inner(const size_t r, const Complex *turns, Complex *rows, size_t n, size_t apart, size_t m)
{
    for (size_t block = 0; block < L; block++, rows += apart)
        for (size_t part = 0; part < n; part += r * m) {
            const Complex *turn = turns;
            for (size_t j = part; j < part + m; j++, turn += r - 1) {
                const Butterfly at = {.rows = rows + j, .apart = m, .turn = turn};
                dft(r, get_row, put_row, &at);
            }
        }
}

/* Bits 0 and 2 of the lane of an element become bits 0 and 1 of the number of its vector. Bits 1
 * and 3 of the lane become bits 0 and 2, and what was the number of the vector becomes bits 1
 * and 3. Such shuffles take no vector of indices, and keep what they read. */
INLINE void
exchange(Floats *v0, Floats *v1, Floats *v2, Floats *v3)
{
    const Floats a = SPLIT(*v0, *v1, 0), b = SPLIT(*v0, *v1, 1);
    const Floats c = SPLIT(*v2, *v3, 0), d = SPLIT(*v2, *v3, 1);

    *v0 = QUARTERS(a, c, 0);
    *v1 = QUARTERS(b, d, 0);
    *v2 = QUARTERS(a, c, 4);
    *v3 = QUARTERS(b, d, 4);
}

INLINE void
exchange_complex(Complex *v0, Complex *v1, Complex *v2, Complex *v3)
{
    exchange(&v0->re, &v1->re, &v2->re, &v3->re);
    exchange(&v0->im, &v1->im, &v2->im, &v3->im);
}

/* Transforms L blocks of a vector each, `step` vectors apart: put() takes number k of each of them,
 * block by block in the order of the lanes. Two exchanges transpose; the second one gives
 * the numbers i, i + 4, i + 8 and i + 12 of all blocks. */
INLINE void
last(const Complex *rows, size_t step, Put *put, const void *where)
{
    Complex part[4][4], done[4][4];

    UNROLL for (size_t i = 0; i < 4; i++)
    {
        UNROLL for (size_t k = 0; k < 4; k++) part[i][k] = rows[(4 * i + k) * step];
        exchange_complex(&part[i][0], &part[i][1], &part[i][2], &part[i][3]);
    }
    UNROLL for (size_t i = 0; i < 4; i++)
    {
        Complex row[4] = {part[0][i], part[1][i], part[2][i], part[3][i]};
        exchange_complex(&row[0], &row[2], &row[1], &row[3]);
        begin_16(done, i, row);
    }
    end_16(done, put, where);
}

/* ---- L · L numbers and more ---- */

#define INNER(r)                                                                                   \
    static void inner_##r(const Complex *turns, Complex *rows, size_t n, size_t apart, size_t m)   \
    {                                                                                              \
        inner(r, turns, rows, n, apart, m);                                                        \
    }
INNER(2)
INNER(3)
INNER(4)
INNER(5)
INNER(8)
INNER(16)

/* The places of the channels of a block: L neighbouring ones for each k. */
typedef struct {
    char *low, *high; /* for the first and the second half of k */
    size_t apart;     /* bytes from k to k + 1 */
    int is_inverse;
    float scale;
} Channels;

INLINE void
put_channels(const void *where, size_t k, Complex value)
{
    const Channels *to = where;
    char *y = (k < L / 2 ? to->low : to->high) + k * to->apart;
    Floats pair[2];

    join(pair, value, to->is_inverse, to->scale);
    memcpy(y, &pair[0], sizeof pair[0]);
    memcpy(y + sizeof pair[0], &pair[1], sizeof pair[1]);
}

INLINE void
transform(const FftLines *plan, const char *x, char *y, Complex *rows, const int is_inverse)
{
    static void (*const passes[])(const Complex *, Complex *, size_t, size_t, size_t) = {
        [2] = inner_2, [3] = inner_3, [4] = inner_4, [5] = inner_5, [8] = inner_8, [16] = inner_16,
    };
    const size_t n = plan->n / L, step = n / L;
    const size_t apart = fft_line_apart(plan->n);
    const size_t shift = plan->shift_out * 2 * sizeof(float);
    size_t m = step;

    first(L, (const Complex *)plan->turns[0], x, plan->shift_in * 2 * sizeof(float), rows, m, apart,
          is_inverse);
    for (size_t i = 1; i + 1 < plan->n_passes; i++) {
        m /= plan->radix[i];
        passes[plan->radix[i]]((const Complex *)plan->turns[i], rows, step, apart, m);
    }
    for (size_t block = 0; block < step; block++) {
        char *low = y + (size_t)plan->channel[block] * 2 * sizeof(float) + shift;
        const Channels to = {
            .low = low,
            .high = low - 2 * shift,
            .apart = n * 2 * sizeof(float),
            .is_inverse = is_inverse,
            .scale = plan->scale,
        };
        last(rows + block, apart, put_channels, &to);
    }
}

/* ---- fewer, of several lines at a time ---- */

/* The places of the channels of L / r lines: r neighbouring ones of each line for each k. */
typedef struct {
    char *const *y;
    size_t r;
    size_t shift; /* bytes */
    int is_inverse;
    float scale;
} Pieces;

INLINE void
put_pieces(const void *where, size_t k, Complex value)
{
    const Pieces *to = where;
    const size_t at = k * to->r * 2 * sizeof(float) + (k < L / 2 ? to->shift : -to->shift);
    Floats pair[2];

    join(pair, value, to->is_inverse, to->scale);
    UNROLL for (size_t i = 0; i < 2; i++)
    {
        const Half low = HALF(pair[i], 0), high = HALF(pair[i], 8);
        if (to->r == L / 2) {
            memcpy(to->y[i] + at, &pair[i], sizeof pair[i]);
            continue;
        }
        memcpy(to->y[2 * i] + at, &low, sizeof low);
        memcpy(to->y[2 * i + 1] + at, &high, sizeof high);
    }
}

/* The vectors of L / r lines, r of each. */
INLINE void
transform_some(const FftLines *plan, const size_t r, const char *const *x, char *const *y,
               Complex *rows, const int is_inverse)
{
    const size_t shift = plan->shift_in * 2 * sizeof(float);
    const Pieces to = {
        .y = y,
        .r = r,
        .shift = plan->shift_out * 2 * sizeof(float),
        .is_inverse = is_inverse,
        .scale = plan->scale,
    };

    for (size_t i = 0; i < L / r; i++)
        first(r, (const Complex *)plan->turns[0], x[i], shift, rows + i * r, 1, 1, is_inverse);
    last(rows, 1, put_pieces, &to);
}

#define SOME(r)                                                                                    \
    static void some_##r(const FftLines *plan, const char *const *x, char *const *y,               \
                         Complex *rows, int is_inverse)                                            \
    {                                                                                              \
        if (is_inverse)                                                                            \
            transform_some(plan, r, x, y, rows, 1);                                                \
        else                                                                                       \
            transform_some(plan, r, x, y, rows, 0);                                                \
    }
SOME(4)
SOME(8)

void
CT_ISA(ct_fft_lines)(const FftLines *plan, const void *x, ptrdiff_t x_step, void *y,
                     ptrdiff_t y_step, size_t n_lines, float *scratch)
{
    const size_t n_together = plan->n < L * L ? L * L / plan->n : 1;
    Complex *rows = (Complex *)scratch;
    char *unused = (char *)(rows + L);

    for (size_t line = 0; line < n_lines; line += n_together) {
        const char *from = (const char *)x + (ptrdiff_t)line * x_step;
        char *to = (char *)y + (ptrdiff_t)line * y_step;
        if (n_together > 1) {
            const char *lines[L];
            char *made[L];
            for (size_t i = 0; i < n_together; i++) {
                const int exists = line + i < n_lines;
                lines[i] = from + (exists ? (ptrdiff_t)i * x_step : 0);
                made[i] = exists ? to + (ptrdiff_t)i * y_step : unused;
            }
            (plan->n == 4 * L ? some_4 : some_8)(plan, lines, made, rows, plan->is_inverse);
        } else if (plan->is_inverse) {
            transform(plan, from, to, rows, 1);
        } else {
            transform(plan, from, to, rows, 0);
        }
    }
}

#endif
