/* SPDX-License-Identifier: BSD-3-Clause */
/* Weighted sums over the stations of one channel: a small complex matrix product. */
#include "beamform-kernels.h"

#include "beamform-write.h"

#ifdef __AVX__
#include <immintrin.h>
#endif

/* The most sums of two vectors that are in registers at once, and the times whose beams are
 * written together. */
#define MOST_SUMS  8
#define TILE_TIMES 8

/* LOW and HIGH interleave the lower and upper halves of two vectors, element by element. SWAPPED
 * exchanges the parts of complex elements; SIGNS has the signs of i times such elements. */
#if CT_VECTOR_BYTES == 64
#define LOW     0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define HIGH    8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define SWAPPED 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14
#define SIGNS   -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1
#define TWICE(n)                                                                                   \
    n, n, n + 1, n + 1, n + 2, n + 2, n + 3, n + 3, n + 4, n + 4, n + 5, n + 5, n + 6, n + 6,      \
        n + 7, n + 7
#define FOURFOLD(n)                                                                                \
    n, n, n, n, n + 1, n + 1, n + 1, n + 1, n + 2, n + 2, n + 2, n + 2, n + 3, n + 3, n + 3, n + 3
#elif CT_VECTOR_BYTES == 32
#define LOW         0, 8, 1, 9, 2, 10, 3, 11
#define HIGH        4, 12, 5, 13, 6, 14, 7, 15
#define SWAPPED     1, 0, 3, 2, 5, 4, 7, 6
#define SIGNS       -1, 1, -1, 1, -1, 1, -1, 1
#define TWICE(n)    n, n, n + 1, n + 1, n + 2, n + 2, n + 3, n + 3
#define FOURFOLD(n) n, n, n, n, n + 1, n + 1, n + 1, n + 1
#else
#define LOW         0, 4, 1, 5
#define HIGH        2, 6, 3, 7
#define SWAPPED     1, 0, 3, 2
#define SIGNS       -1, 1, -1, 1
#define TWICE(n)    n, n, n + 1, n + 1
#define FOURFOLD(n) n, n, n, n
#endif

/* ---- types ---- */

/* Converts the voltages of n inputs, one after another, to cf32. */
typedef void (*Read)(const guint8 *from, gsize n, gfloat *to);

static void
read_ci4(const guint8 *from, gsize n, gfloat *to)
{
    const gint8 *x = (const gint8 *)from;
    for (gsize k = 0; k < n; k++) {
        to[2 * k] = x[k] >> 4;
        to[2 * k + 1] = (gint8)(from[k] << 4) >> 4;
    }
}

static void
read_ci8(const guint8 *from, gsize n, gfloat *to)
{
    const gint8 *x = (const gint8 *)from;
    for (gsize k = 0; k < 2 * n; k++)
        to[k] = x[k];
}

static void
read_ci16(const guint8 *from, gsize n, gfloat *to)
{
    const gint16 *x = (const gint16 *)from;
    for (gsize k = 0; k < 2 * n; k++)
        to[k] = x[k];
}

static void
read_cf32(const guint8 *from, gsize n, gfloat *to)
{
    memcpy(to, from, n * 8);
}

static const Read readers[CT_N_TYPES] = {
    [CT_CI4] = read_ci4,
    [CT_CI8] = read_ci8,
    [CT_CI16] = read_ci16,
    [CT_CF32] = read_cf32,
};

/* ---- sizes ---- */

/* The polarisations that are side by side and have the same weights. */
static gsize
row_pols(const BeamformShape *shape)
{
    return shape->paired ? 2 : 1;
}

/* The beams of a vector that has an element for each part of a row. */
static gsize
few_beams(const BeamformShape *shape)
{
    return VECTOR_FLOATS / 2 / row_pols(shape);
}

/* Beams that are summed at once: VECTOR_FLOATS, or few_beams. */
typedef struct {
    gsize first, n_beams, room;
    gsize panel; /* the floats in front of its weights */
} Block;

static gsize
n_wide(const BeamformShape *shape)
{
    const gsize rest = shape->n_beams % VECTOR_FLOATS;
    return shape->n_beams / VECTOR_FLOATS + (rest > VECTOR_FLOATS - few_beams(shape));
}

static gsize
n_blocks(const BeamformShape *shape)
{
    const gsize wide = n_wide(shape), few = few_beams(shape);
    const gsize rest = shape->n_beams - MIN(shape->n_beams, wide * VECTOR_FLOATS);
    return wide + (rest + few - 1) / few;
}

static Block
find_block(const BeamformShape *shape, gsize i)
{
    const gsize wide = n_wide(shape), few = few_beams(shape);
    Block block = {.first = i * VECTOR_FLOATS, .room = VECTOR_FLOATS};
    if (i >= wide)
        block = (Block){.first = wide * VECTOR_FLOATS + (i - wide) * few, .room = few};
    block.n_beams = MIN(block.room, shape->n_beams - block.first);
    block.panel = block.first * shape->n_stations * 2;
    return block;
}

static gsize
spectrum_bytes(const BeamformShape *shape)
{
    return shape->n_stations * shape->n_pols * 8;
}

/* The times of a chunk: whole tiles. */
static gsize
chunk_times(const BeamformShape *shape)
{
    const gsize times = shape->chunk_bytes / spectrum_bytes(shape) / TILE_TIMES * TILE_TIMES;
    return MAX(times, TILE_TIMES);
}

static gsize
round_up(gsize bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* The bytes of the beams of a block and TILE_TIMES times. */
static gsize
tile_bytes(const BeamformShape *shape)
{
    return TILE_TIMES * shape->n_pols * 2 * CT_VECTOR_BYTES;
}

gboolean
CT_ISA(beamform_shape)(BeamformShape *shape)
{
    if (!readers[shape->type])
        return FALSE;
    const Block last = find_block(shape, n_blocks(shape) - 1);
    /* Vectors are read, also where weights have half of one. */
    shape->panels_bytes =
        (last.panel + shape->n_stations * 2 * last.room + VECTOR_FLOATS) * sizeof(gfloat);
    shape->scratch_bytes = tile_bytes(shape) + round_up(spectrum_bytes(shape)) +
                           round_up(chunk_times(shape) * spectrum_bytes(shape));
    return TRUE;
}

void
CT_ISA(beamform_pack)(const BeamformShape *shape, const guint8 *weights, gint64 beam_stride,
                      gint64 station_stride, void *panels)
{
    for (gsize i = 0; i < n_blocks(shape); i++) {
        const Block block = find_block(shape, i);
        gfloat *to = (gfloat *)panels + block.panel;
        for (gsize s = 0; s < shape->n_stations; s++, to += 2 * block.room)
            for (gsize b = 0; b < block.room; b++) {
                const gfloat *w =
                    (const gfloat *)(weights + (gint64)(block.first + b) * beam_stride +
                                     (gint64)s * station_stride);
                to[b] = b < block.n_beams ? w[0] : 0;
                to[block.room + b] = b < block.n_beams ? w[1] : 0;
            }
    }
}

/* ---- sums ---- */

/* The operands of a cell: rows, each the voltages of a time and of one polarisation or two, which
 * are side by side; a panel of weights; where the beams of each row go; and what will be read next,
 * a line for each station. */
typedef struct {
    gsize n_stations;
    const guint8 *rows;
    gint64 row_stride, station_stride;
    const gfloat *panel;
    guint8 *to;
    gint64 to_stride;
    const guint8 *ahead;
    const guint8 *next; /* a row of voltages that will be read */
    gint64 next_stride;
} Cell;

/* Σ_s w[s] · x[r][s] for the beams of a vector, whose products with both parts of a voltage are
 * summed; [row][beam][pol]. The numbers of rows and polarisations are constants after inlining. */
static inline __attribute__((always_inline)) void
sum_wide(const Cell *cell, const gsize n_rows, const gsize n_pols)
{
    const gsize n_sums = n_rows * n_pols;
    Vector re[MOST_SUMS], im[MOST_SUMS];
    const guint8 *x[MOST_SUMS];
    const gfloat *restrict panel = cell->panel;
#pragma GCC unroll 8
    for (gsize r = 0; r < n_rows; r++)
        x[r] = cell->rows + (gint64)r * cell->row_stride;
#pragma GCC unroll 8
    for (gsize k = 0; k < n_sums; k++)
        re[k] = im[k] = (Vector){0};
    const gint64 station_stride = cell->station_stride, next_stride = cell->next_stride;
    const guint8 *next = cell->next;
    gint64 at = 0;
    for (gsize s = 0; s < cell->n_stations; s++, at += station_stride) {
        const Vector w_re = ((const Vector *)panel)[2 * s];
        const Vector w_im = ((const Vector *)panel)[2 * s + 1];
        __builtin_prefetch(cell->ahead + s * 64, 0, 2);
        __builtin_prefetch(next, 0, 2);
        next += next_stride;
#pragma GCC unroll 8
        for (gsize k = 0; k < n_sums; k++) {
            const gfloat *v = (const gfloat *)(x[k / n_pols] + at) + k % n_pols * 2;
            re[k] += v[0] * w_re;
            im[k] += v[0] * w_im;
            re[k] -= v[1] * w_im;
            im[k] += v[1] * w_re;
        }
    }
#pragma GCC unroll 8
    for (gsize r = 0; r < n_rows; r++) {
        const gsize k = r * n_pols, other = k + n_pols - 1;
        Unaligned *to = (Unaligned *)(cell->to + (gint64)r * cell->to_stride);
        const Vector low = __builtin_shufflevector(re[k], im[k], LOW);
        const Vector high = __builtin_shufflevector(re[k], im[k], HIGH);
        const Vector other_low = __builtin_shufflevector(re[other], im[other], LOW);
        const Vector other_high = __builtin_shufflevector(re[other], im[other], HIGH);
        if (n_pols == 1) {
            to[0] = low;
            to[1] = high;
        } else {
            to[0] = __builtin_shufflevector(low, other_low, LOW_PAIRS);
            to[1] = __builtin_shufflevector(low, other_low, HIGH_PAIRS);
            to[2] = __builtin_shufflevector(high, other_high, LOW_PAIRS);
            to[3] = __builtin_shufflevector(high, other_high, HIGH_PAIRS);
        }
    }
}

/* The parts of one polarisation or two, as often as they have room in a vector. */
static inline __attribute__((always_inline)) Vector
repeat(const guint8 *from, const gsize n_pols)
{
    typedef gint64 Pairs __attribute__((vector_size(CT_VECTOR_BYTES)));
    gint64 pair;
    memcpy(&pair, from, sizeof pair);
    if (n_pols == 1)
        return (Vector)((Pairs){0} + pair);
#if CT_VECTOR_BYTES == 64
    return (Vector)_mm512_broadcast_f32x4(_mm_loadu_ps((const gfloat *)from));
#elif CT_VECTOR_BYTES == 32
    return (Vector)_mm256_broadcast_ps((const __m128 *)from);
#else
    return *(const Unaligned *)from;
#endif
}

/* The same for few beams: an element of a vector is a part of a voltage and a beam, and both parts
 * of a weight are multiplied with it. */
static inline __attribute__((always_inline)) void
sum_few(const Cell *cell, const gsize n_rows, const gsize n_pols)
{
    Vector by_re[MOST_SUMS], by_im[MOST_SUMS];
    const guint8 *x[MOST_SUMS];
    const gfloat *restrict panel = cell->panel;
#pragma GCC unroll 8
    for (gsize r = 0; r < n_rows; r++) {
        x[r] = cell->rows + (gint64)r * cell->row_stride;
        by_re[r] = by_im[r] = (Vector){0};
    }
    const gint64 station_stride = cell->station_stride;
    gint64 at = 0;
    for (gsize s = 0; s < cell->n_stations; s++, at += station_stride) {
        const Vector w = *(const Unaligned *)(panel + s * VECTOR_FLOATS / n_pols);
        const Vector w_re = n_pols == 1 ? __builtin_shufflevector(w, w, TWICE(0))
                                        : __builtin_shufflevector(w, w, FOURFOLD(0));
        const Vector w_im = n_pols == 1
                                ? __builtin_shufflevector(w, w, TWICE(VECTOR_FLOATS / 2))
                                : __builtin_shufflevector(w, w, FOURFOLD(VECTOR_FLOATS / 4));
#pragma GCC unroll 8
        for (gsize r = 0; r < n_rows; r++) {
            const Vector v = repeat(x[r] + at, n_pols);
            by_re[r] += v * w_re;
            by_im[r] += v * w_im;
        }
    }
    const Vector signs = {SIGNS};
#pragma GCC unroll 8
    for (gsize r = 0; r < n_rows; r++)
        *(Unaligned *)(cell->to + (gint64)r * cell->to_stride) =
            by_re[r] + signs * __builtin_shufflevector(by_im[r], by_im[r], SWAPPED);
}

#define SUM(name, n_rows, n_pols)                                                                  \
    static void sum_##name##_##n_rows##x##n_pols(const Cell *cell)                                 \
    {                                                                                              \
        sum_##name(cell, n_rows, n_pols);                                                          \
    }
SUM(wide, 1, 1)
SUM(wide, 2, 1)
SUM(wide, 4, 1)
SUM(wide, 8, 1)
SUM(wide, 1, 2)
SUM(wide, 2, 2)
SUM(wide, 4, 2)
SUM(few, 1, 1)
SUM(few, 2, 1)
SUM(few, 4, 1)
SUM(few, 8, 1)
SUM(few, 1, 2)
SUM(few, 2, 2)
SUM(few, 4, 2)
SUM(few, 8, 2)

typedef void (*Sum)(const Cell *cell);

/* [is few][polarisations of a row][rows: 1, 2, 4, 8] */
static const Sum sums[2][2][4] = {
    {{sum_wide_1x1, sum_wide_2x1, sum_wide_4x1, sum_wide_8x1},
     {sum_wide_1x2, sum_wide_2x2, sum_wide_4x2}},
    {{sum_few_1x1, sum_few_2x1, sum_few_4x1, sum_few_8x1},
     {sum_few_1x2, sum_few_2x2, sum_few_4x2, sum_few_8x2}},
};

/* The rows of voltages that are read after those of a chunk. A cell of whole vectors of beams
 * fetches one of them, so that reading them does not wait for memory. */
typedef struct {
    const guint8 *row;
    const BeamformStrides *strides;
    gsize n; /* rows that are left */
} Next;

/* Without rows that are left, a cell fetches one of its own again, which costs nothing. */
static void
take_row(Next *next, Cell *cell)
{
    cell->next = next->n > 0 ? next->row : cell->rows;
    cell->next_stride = next->n > 0 ? next->strides->across : 0;
    if (next->n == 0)
        return;
    next->row += next->strides->time;
    next->n--;
}

/* Sums `n` rows; beams of a time go to to + t · to_stride. */
static void
sum_times(const BeamformShape *shape, const Block *block, const gfloat *panel,
          const guint8 *voltages, const BeamformStrides *from, gsize n, guint8 *to,
          gint64 to_stride, Next *next)
{
    const gsize n_pols = row_pols(shape);
    const gboolean is_few = block->room < VECTOR_FLOATS;
    const guint8 *end = (const guint8 *)(panel + shape->n_stations * 2 * block->room);
    Cell cell = {
        .n_stations = shape->n_stations,
        .rows = voltages,
        .row_stride = from->time,
        .station_stride = from->across,
        .panel = panel,
        .to = to,
        .to_stride = to_stride,
    };
    guint size = is_few || n_pols == 1 ? 3 : 2;
    if (shape->rows == 4)
        size--;
    for (gsize t = 0, rows; t < n; t += rows) {
        while ((rows = (gsize)1 << size) > n - t)
            size--;
        /* Two cells read the weights behind the panel, which are those of the next block or set. */
        cell.ahead = end + t / rows % 2 * shape->n_stations * 64;
        if (!is_few)
            take_row(next, &cell);
        sums[is_few][n_pols - 1][size](&cell);
        cell.rows += (gint64)rows * from->time;
        cell.to += (gint64)rows * to_stride;
    }
}

/* ---- voltages ---- */

/* Puts the elements of a spectrum side by side, [station][pol]. */
static void
gather(const BeamformShape *shape, const guint8 *from, const BeamformStrides *strides, gsize bytes,
       guint8 *to)
{
    for (gsize s = 0; s < shape->n_stations; s++, from += strides->across)
        for (gsize p = 0; p < shape->n_pols; p++, to += bytes) {
            const guint8 *x = from + (gint64)p * strides->pol;
            if (bytes == 8)
                memcpy(to, x, 8);
            else if (bytes == 4)
                memcpy(to, x, 4);
            else if (bytes == 2)
                memcpy(to, x, 2);
            else
                *to = *x;
        }
}

static gboolean
is_contiguous(const BeamformShape *shape, const BeamformStrides *from)
{
    const gsize bytes = ct_type_info(shape->type)->bytes;
    return (shape->n_pols == 1 || from->pol == (gint64)bytes) &&
           (shape->n_stations == 1 || from->across == (gint64)(bytes * shape->n_pols));
}

/* Converts `n` spectra to cf32 [time][station][pol]. */
static void
read_chunk(const BeamformShape *shape, const guint8 *voltages, const BeamformStrides *from, gsize n,
           guint8 *gathered, gfloat *to)
{
    const gsize bytes = ct_type_info(shape->type)->bytes;
    const gsize n_inputs = shape->n_stations * shape->n_pols;
    const gboolean contiguous = is_contiguous(shape, from);
    for (gsize t = 0; t < n; t++, voltages += from->time, to += 2 * n_inputs) {
        if (!contiguous)
            gather(shape, voltages, from, bytes, gathered);
        readers[shape->type](contiguous ? voltages : gathered, n_inputs, to);
    }
}

/* Whether voltages must be read before they are multiplied, or are faster then: rows that lie far
 * apart often share few lines of a cache, and are read for each block of beams. */
static gboolean
wants_reading(const BeamformShape *shape, const BeamformStrides *from)
{
    return shape->type != CT_CF32 || (shape->paired && from->pol != 8) ||
           (n_blocks(shape) > 1 && is_contiguous(shape, from) &&
            from->time != (gint64)spectrum_bytes(shape));
}

/* ---- beams ---- */

/* Beams of a block for `n` times, up to TILE_TIMES. */
static void
sum_tile(const BeamformShape *shape, const void *const *panels, gsize i, const guint8 *voltages,
         const BeamformStrides *from, gsize n, guint8 *beams, const BeamformStrides *to,
         gfloat *tile, Next *next)
{
    const Block block = find_block(shape, i);
    const gsize n_pols = row_pols(shape);
    const gboolean is_direct = block.n_beams == block.room && to->across == (gint64)n_pols * 8 &&
                               (n_pols == 1 || to->pol == 8);
    const gsize row_bytes = shape->n_pols * block.room * 8;
    for (gsize p = 0; p < shape->n_pols; p += n_pols) {
        const gfloat *panel = (const gfloat *)panels[p] + block.panel;
        const guint8 *x = voltages + (gint64)p * from->pol;
        guint8 *row = is_direct ? beams + (gint64)p * to->pol : (guint8 *)tile + p * block.room * 8;
        sum_times(shape, &block, panel, x, from, n, row, is_direct ? to->time : (gint64)row_bytes,
                  next);
    }
    if (is_direct)
        return;
    if (shape->paired)
        write_pairs(block.room, tile, n, block.n_beams, beams, to);
    else
        write_tile(shape->n_pols, block.room, tile, n, block.n_beams, beams, to);
}

void
CT_ISA(beamform_sum)(const BeamformShape *shape, const void *const *panels, const guint8 *voltages,
                     const BeamformStrides *from, guint8 *beams, const BeamformStrides *to, gsize n,
                     const guint8 *next, void *scratch)
{
    guint8 *gathered = (guint8 *)scratch + tile_bytes(shape);
    guint8 *converted = gathered + round_up(spectrum_bytes(shape));
    const gsize chunk = chunk_times(shape);
    const gboolean reads = wants_reading(shape, from);
    const BeamformStrides converted_strides = {
        .time = (gint64)spectrum_bytes(shape), .across = (gint64)shape->n_pols * 8, .pol = 8};
    const BeamformStrides *strides = reads ? &converted_strides : from;

    for (gsize begin = 0; begin < n; begin += chunk) {
        const gsize length = MIN(chunk, n - begin);
        const guint8 *x = voltages + (gint64)begin * from->time;
        const guint8 *after = begin + length < n ? x + (gint64)length * from->time : next;
        Next following = {after, from, length};
        if (reads) {
            read_chunk(shape, x, from, length, gathered, (gfloat *)converted);
            x = converted;
        }
        for (gsize i = 0; i < n_blocks(shape); i++) {
            guint8 *y =
                beams + (gint64)begin * to->time + (gint64)find_block(shape, i).first * to->across;
            for (gsize t = 0; t < length; t += TILE_TIMES)
                sum_tile(shape, panels, i, x + (gint64)t * strides->time, strides,
                         MIN(TILE_TIMES, length - t), y + (gint64)t * to->time, to, scratch,
                         &following);
        }
    }
}
