/* SPDX-License-Identifier: BSD-3-Clause */
/* Passes of radix 2, 3, 4, 5, 8 and 16 over vectors that hold one element of many transforms. */
#include "fft-columns.h"

#include "fft-butterflies.h"

/* Half of this is free for rows of other passes, tables and samples. */
#define L1_BYTES 32768

/* Where the transforms of a vector are read from and written to: the samples of as many columns as
 * it has elements, those of half as many, which is common, or the rows in scratch. */
typedef enum { WHOLE, HALF, ROWS } Side;

typedef struct {
    const FftColumns *plan;
    const char *x;
    char *y;
    ptrdiff_t x_step, y_step;
    Side side;
    Complex *rows; /* [n] */
} Columns;

INLINE Complex
load(const char *x, const Side side)
{
    Floats a, b = {0};

    memcpy(&a, x, sizeof a);
    if (side == WHOLE)
        memcpy(&b, x + sizeof a, sizeof b);
    return (Complex){SPLIT(a, b, 0), SPLIT(a, b, 1)};
}

INLINE void
store(char *y, Complex value, const Side side)
{
    Floats a = JOIN(value.re, value.im, 0), b = JOIN(value.re, value.im, 2);

    memcpy(y, &a, sizeof a);
    if (side == WHOLE)
        memcpy(y + sizeof a, &b, sizeof b);
}

/* The places from which a transform of a pass is read, and to which it is written. */
typedef struct {
    const Columns *columns;
    Complex *rows;               /* the first of those that are m apart */
    const int *in_row, *out_row; /* of the first one */
    const float *turn;
    size_t m;
    Side from, to;
    int is_last;
    float scale;
} Butterfly;

INLINE Complex
get(const void *where, size_t k)
{
    const Butterfly *at = where;
    const Columns *columns = at->columns;

    return at->from == ROWS ? at->rows[k * at->m]
                            : load(columns->x + at->in_row[k * at->m] * columns->x_step, at->from);
}

INLINE void
put(const void *where, size_t k, Complex value)
{
    const Butterfly *at = where;
    const Columns *columns = at->columns;

    if (at->is_last && at->scale != 1)
        value = scaled(value, at->scale);
    if (!at->is_last && k > 0)
        value = multiply(value, at->turn[2 * k - 2], at->turn[2 * k - 1]);
    if (at->to == ROWS)
        at->rows[k * at->m] = value;
    else
        store(columns->y + at->out_row[k] * columns->y_step, value, at->to);
}

/* A pass over the blocks of rows begin … end − 1. The last one has m = 1 and no rotations. */
INLINE void
pass(const Columns *columns, const size_t r, const float *turns, size_t m, size_t begin, size_t end,
     const Side from, const Side to, const int is_last)
{
    const FftColumns *plan = columns->plan;

    for (size_t block = begin; block < end; block += r * m)
        for (size_t j = 0; j < m; j++) {
            const Butterfly at = {
                .columns = columns,
                .rows = columns->rows + block + j,
                .in_row = plan->in_row + j,
                .out_row = plan->out_row + block,
                .turn = turns + 2 * (r - 1) * j,
                .m = m,
                .from = from,
                .to = to,
                .is_last = is_last,
                .scale = plan->scale,
            };
            dft(r, get, put, &at);
        }
}

#define PASS(r)                                                                                    \
    INLINE void pass_##r##_of(const Columns *columns, const float *turns, size_t m, size_t begin,  \
                              size_t end, int is_first, const Side side)                           \
    {                                                                                              \
        if (is_first && m == 1)                                                                    \
            pass(columns, r, turns, 1, begin, end, side, side, 1);                                 \
        else if (is_first)                                                                         \
            pass(columns, r, turns, m, begin, end, side, ROWS, 0);                                 \
        else if (m == 1)                                                                           \
            pass(columns, r, turns, 1, begin, end, ROWS, side, 1);                                 \
        else                                                                                       \
            pass(columns, r, turns, m, begin, end, ROWS, ROWS, 0);                                 \
    }                                                                                              \
    static void pass_##r(const Columns *columns, const float *turns, size_t m, size_t begin,       \
                         size_t end, int is_first)                                                 \
    {                                                                                              \
        const int is_inner = !is_first && m > 1;                                                   \
        if (columns->side == WHOLE && !is_inner)                                                   \
            pass_##r##_of(columns, turns, m, begin, end, is_first, WHOLE);                         \
        else if (columns->side == HALF && !is_inner)                                               \
            pass_##r##_of(columns, turns, m, begin, end, is_first, HALF);                          \
        else                                                                                       \
            pass_##r##_of(columns, turns, m, begin, end, is_first, ROWS);                          \
    }

PASS(2)
PASS(3)
PASS(4)
PASS(5)
PASS(8)
PASS(16)

/* Passes i and on over a block of pass i, n rows from `begin` on. If these do not fit the
 * first-level cache, each part is finished before the next one. */
static void
transform(const Columns *columns, size_t i, size_t begin, size_t n)
{
    static void (*const passes[])(const Columns *, const float *, size_t, size_t, size_t, int) = {
        [2] = pass_2, [3] = pass_3, [4] = pass_4, [5] = pass_5, [8] = pass_8, [16] = pass_16,
    };
    const FftColumns *plan = columns->plan;
    size_t m = n;

    for (; i < plan->n_passes; i++) {
        m /= plan->radix[i];
        passes[plan->radix[i]](columns, plan->turns[i], m, begin, begin + n, i == 0);
        if (n * sizeof(Complex) > L1_BYTES && m > 1) {
            for (size_t part = begin; part < begin + n; part += m)
                transform(columns, i + 1, part, m);
            return;
        }
    }
}

/* Other numbers of columns are copied to the rows, with zeros beside them, and back. */
static void
transform_some(const Columns *columns, size_t n_columns)
{
    const FftColumns *plan = columns->plan;
    const size_t bytes = n_columns * 2 * sizeof(float);
    char row[sizeof(Complex)] = {0};

    for (size_t i = 0; i < plan->n; i++) {
        memcpy(row, columns->x + plan->in_row[i] * columns->x_step, bytes);
        columns->rows[i] = load(row, WHOLE);
    }
    transform(columns, 0, 0, plan->n);
    for (size_t i = 0; i < plan->n; i++) {
        store(row, columns->rows[i], WHOLE);
        memcpy(columns->y + plan->out_row[i] * columns->y_step, row, bytes);
    }
}

void
CT_ISA(ct_fft_columns)(const FftColumns *plan, const void *x, ptrdiff_t x_step, void *y,
                       ptrdiff_t y_step, size_t n_columns, float *scratch)
{
    for (size_t column = 0; column < n_columns; column += VECTOR_FLOATS) {
        const size_t n = n_columns - column;
        const Columns columns = {
            .plan = plan,
            .x = (const char *)x + column * 2 * sizeof(float),
            .y = (char *)y + column * 2 * sizeof(float),
            .x_step = x_step,
            .y_step = y_step,
            .side = n >= VECTOR_FLOATS       ? WHOLE
                    : n == VECTOR_FLOATS / 2 ? HALF
                                             : ROWS,
            .rows = (Complex *)scratch,
        };
        if (columns.side == ROWS)
            transform_some(&columns, n);
        else
            transform(&columns, 0, 0, plan->n);
    }
}
