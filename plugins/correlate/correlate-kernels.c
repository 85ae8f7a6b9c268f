/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of all pairs of inputs of one channel, summed over time, in tiles. */
#include "correlate-few.h"

#include <string.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

/* The tiles of a channel: for each block J its diagonal tile, then the squares of the blocks below
 * it. */
typedef struct {
    gsize n_elements; /* of a vector: the inputs of a block */
    gsize n_blocks;
} Tiles;

/* The number of rows [re, im][element] in front of the tile of blocks I ≥ J. */
static inline gsize
tile_row(const Tiles *tiles, gsize block_i, gsize block_j)
{
    const gsize diagonal = tiles->n_elements / 2 + 1;
    const gsize squares = block_j * tiles->n_blocks - block_j * (block_j + 1) / 2;
    const gsize before = block_j * diagonal + squares * tiles->n_elements;
    return block_i == block_j ? before
                              : before + diagonal + (block_i - block_j - 1) * tiles->n_elements;
}

/* The position of a sum: index of its real part; the imaginary one follows `n_elements` later. */
typedef struct {
    gsize index;
    gboolean conjugate; /* the stored sum is the conjugate */
} Place;

/* The position of input m times conj(input c). */
static inline Place
locate(const Tiles *tiles, gsize m, gsize c)
{
    const gsize n_elements = tiles->n_elements;
    const gsize above = MIN(m, c);
    const gsize below = MAX(m, c);
    const gsize block_i = below / n_elements;
    const gsize block_j = above / n_elements;
    gboolean conjugate = m < c;
    gsize row = below % n_elements;
    gsize element = above % n_elements;
    if (block_i == block_j) {
        const gsize distance = row - element;
        if (distance <= n_elements / 2) {
            element = row;
            row = distance;
        } else {
            row = n_elements - distance;
            conjugate = !conjugate;
        }
    }
    return (Place){(tile_row(tiles, block_i, block_j) + row) * 2 * n_elements + element, conjugate};
}

#define ROTATE_2  1, 0
#define ROTATE_4  3, 0, 1, 2
#define ROTATE_8  7, 0, 1, 2, 3, 4, 5, 6
#define ROTATE_16 15, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14
#define EVENS_2   0, 2
#define EVENS_4   0, 2, 4, 6
#define EVENS_8   0, 2, 4, 6, 8, 10, 12, 14
#define EVENS_16  0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define ODDS_2    1, 3
#define ODDS_4    1, 3, 5, 7
#define ODDS_8    1, 3, 5, 7, 9, 11, 13, 15
#define ODDS_16   1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31

#if CT_VECTOR_BYTES == 64
#define ELEMENTS_32 16
#define ELEMENTS_64 8
#define ROTATE_32   ROTATE_16
#define ROTATE_64   ROTATE_8
#define EVENS_32    EVENS_16
#define EVENS_64    EVENS_8
#define ODDS_32     ODDS_16
#define ODDS_64     ODDS_8
#elif CT_VECTOR_BYTES == 32
#define ELEMENTS_32 8
#define ELEMENTS_64 4
#define ROTATE_32   ROTATE_8
#define ROTATE_64   ROTATE_4
#define EVENS_32    EVENS_8
#define EVENS_64    EVENS_4
#define ODDS_32     ODDS_8
#define ODDS_64     ODDS_4
#else
#define ELEMENTS_32 4
#define ELEMENTS_64 2
#define ROTATE_32   ROTATE_4
#define ROTATE_64   ROTATE_2
#define EVENS_32    EVENS_4
#define EVENS_64    EVENS_2
#define ODDS_32     ODDS_4
#define ODDS_64     ODDS_2
#endif

/* The largest cells that are summed in registers: rows, and vectors of columns. */
#define CORRELATE_HIGHEST     8
#define CORRELATE_WIDEST      2
#define CORRELATE_CELLS(each) each(2, 1) each(4, 1) each(8, 1) each(2, 2) each(4, 2) each(8, 2)

#define REAL     float
#define ELEMENTS ELEMENTS_32
#define ROTATE   ROTATE_32
#define EVENS    EVENS_32
#define ODDS     ODDS_32
#define NAME(x)  x##_f32
#include "correlate-real.h"

#define REAL     double
#define ELEMENTS ELEMENTS_64
#define ROTATE   ROTATE_64
#define EVENS    EVENS_64
#define ODDS     ODDS_64
#define NAME(x)  x##_f64
#include "correlate-real.h"

#define ELEMENTS ELEMENTS_32
#define ROTATE   ROTATE_32
#include "correlate-pairs.h"

#define SUM      float
#define ELEMENTS ELEMENTS_32
#define NAME(x)  x##_f32
#include "correlate-row.h"

#define SUM      double
#define ELEMENTS ELEMENTS_64
#define NAME(x)  x##_f64
#include "correlate-row.h"

#define SUM      gint64
#define ELEMENTS ELEMENTS_32
#define NAME(x)  x##_pairs
#include "correlate-row.h"

#define SUM      gint64
#define ELEMENTS ELEMENTS_64
#define NAME(x)  x##_exact
#include "correlate-row.h"

/* Adds whole numbers in double precision to 64-bit sums. */
static void
fold_exact(gsize n_rows, const void *chunk, void *running, gboolean first)
{
    const gdouble *from = chunk;
    gint64 *to = running;
    for (gsize k = 0; k < 2 * n_rows * ELEMENTS_64; k++)
        to[k] = (first ? 0 : to[k]) + (gint64)from[k];
}

/* Sums products of rows of one panel with the columns of other panels, each `panel_bytes` further,
 * into a tile each. */
typedef void (*Square)(gsize n_steps, const void *rows, const void *columns, gsize panel_bytes,
                       gsize n_rows, void *const *sums, gboolean keep);

/* [height][width] of a cell. */
#define SQUARES(name)                                                                              \
    {                                                                                              \
        {square_2x1_##name, square_2x2_##name}, {square_4x1_##name, square_4x2_##name},            \
        {                                                                                          \
            square_8x1_##name, square_8x2_##name                                                   \
        }                                                                                          \
    }

/* The functions and sizes of an arithmetic. The tiles take a step at once: one spectrum, or a
 * pair. */
typedef struct {
    gsize n_elements;     /* of a vector */
    gsize input_bytes;    /* of a complex input as pack reads it */
    gsize step_spectra;   /* spectra of a step */
    gsize step_bytes;     /* of a step in a panel */
    gsize tile_row_bytes; /* of a row of a chunk's tile */
    gsize sum_bytes;      /* of a real running sum */
    gboolean continues;   /* an unfinished chunk is kept from call to call */
    void (*pack)(const void *first, const void *second, gsize n_blocks, void *panel,
                 gsize panel_bytes);
    Square squares[3][CORRELATE_WIDEST];
    void (*diagonal)(gsize n_steps, const void *panel, void *sum, gboolean keep);
    void (*fold)(gsize n_rows, const void *chunk, void *running, gboolean first);
    void (*row)(gsize n_blocks, const void *sums, const void *open, gsize m, gsize n_columns,
                void *line);
} Arithmetic;

static const Arithmetic arithmetics[] = {
    [CORRELATE_F32] = {ELEMENTS_32, 8, 1, 2 * CT_VECTOR_BYTES, 2 * CT_VECTOR_BYTES, 4, TRUE,
                       pack_f32, SQUARES(f32), diagonal_f32, fold_f32, row_f32},
    [CORRELATE_F64] = {ELEMENTS_64, 16, 1, 2 * CT_VECTOR_BYTES, 2 * CT_VECTOR_BYTES, 8, TRUE,
                       pack_f64, SQUARES(f64), diagonal_f64, fold_f64, row_f64},
    [CORRELATE_PAIRS] = {ELEMENTS_32, 4, 2, 4 * CT_VECTOR_BYTES, 3 * CT_VECTOR_BYTES, 8, FALSE,
                         pack_pairs, SQUARES(pairs), diagonal_pairs, fold_pairs, row_pairs},
    [CORRELATE_EXACT] = {ELEMENTS_64, 16, 1, 2 * CT_VECTOR_BYTES, 2 * CT_VECTOR_BYTES, 8, FALSE,
                         pack_f64, SQUARES(f64), diagonal_f64, fold_exact, row_exact},
};

/* ---- types ---- */

static void
read_cf32_f64(const void *from, gsize n, void *to)
{
    for (gsize k = 0; k < 2 * n; k++)
        ((gdouble *)to)[k] = ((const gfloat *)from)[k];
}

static void
read_ci16_f64(const void *from, gsize n, void *to)
{
    for (gsize k = 0; k < 2 * n; k++)
        ((gdouble *)to)[k] = ((const gint16 *)from)[k];
}

static void
read_ci8_i16(const void *from, gsize n, void *to)
{
    for (gsize k = 0; k < 2 * n; k++)
        ((gint16 *)to)[k] = ((const gint8 *)from)[k];
}

static void
read_ci4_i16(const void *from, gsize n, void *to)
{
    const gint8 *bytes = from;
    gint16 *x = to;
    for (gsize k = 0; k < n; k++) {
        x[2 * k] = bytes[k] >> 4;
        x[2 * k + 1] = (gint8)((guint8)bytes[k] << 4) >> 4;
    }
}

static void
convert_f64_f32(const void *from, gsize n, void *to)
{
    for (gsize k = 0; k < n; k++)
        ((gfloat *)to)[k] = ((const gdouble *)from)[k];
}

static void
convert_i64_f32(const void *from, gsize n, void *to)
{
    for (gsize k = 0; k < n; k++)
        ((gfloat *)to)[k] = ((const gint64 *)from)[k];
}

static void
convert_i64_f64(const void *from, gsize n, void *to)
{
    for (gsize k = 0; k < n; k++)
        ((gdouble *)to)[k] = ((const gint64 *)from)[k];
}

typedef struct {
    CtType input;
    CtType output;
    CorrelateArithmetic arithmetic;
    void (*read)(const void *from, gsize n, void *to);  /* n complex; NULL: no conversion */
    void (*write)(const void *from, gsize n, void *to); /* n real; NULL: no conversion */
} Choice;

static const Choice choices[] = {
    {CT_CF32, CT_CF32, CORRELATE_F32, NULL, NULL},
    {CT_CF32, CT_CF64, CORRELATE_F64, read_cf32_f64, NULL},
    {CT_CF64, CT_CF32, CORRELATE_F64, NULL, convert_f64_f32},
    {CT_CF64, CT_CF64, CORRELATE_F64, NULL, NULL},
    {CT_CI4, CT_CF32, CORRELATE_PAIRS, read_ci4_i16, convert_i64_f32},
    {CT_CI4, CT_CF64, CORRELATE_PAIRS, read_ci4_i16, convert_i64_f64},
    {CT_CI4, CT_CI64, CORRELATE_PAIRS, read_ci4_i16, NULL},
    {CT_CI8, CT_CF32, CORRELATE_PAIRS, read_ci8_i16, convert_i64_f32},
    {CT_CI8, CT_CF64, CORRELATE_PAIRS, read_ci8_i16, convert_i64_f64},
    {CT_CI8, CT_CI64, CORRELATE_PAIRS, read_ci8_i16, NULL},
    {CT_CI16, CT_CF32, CORRELATE_EXACT, read_ci16_f64, convert_i64_f32},
    {CT_CI16, CT_CF64, CORRELATE_EXACT, read_ci16_f64, convert_i64_f64},
    {CT_CI16, CT_CI64, CORRELATE_EXACT, read_ci16_f64, NULL},
};

static const Choice *
find_choice(CtType input, CtType output)
{
    for (gsize k = 0; k < G_N_ELEMENTS(choices); k++)
        if (choices[k].input == input && choices[k].output == output)
            return &choices[k];
    return NULL;
}

/* ---- sizes ---- */

static gsize
round_up(gsize bytes)
{
    return (bytes + 63) / 64 * 64;
}

static gsize
running_bytes(const CorrelateShape *shape)
{
    const Arithmetic *arithmetic = &arithmetics[shape->arithmetic];
    const Tiles tiles = {arithmetic->n_elements, shape->n_blocks};
    return round_up(tile_row(&tiles, shape->n_blocks, shape->n_blocks) * 2 *
                    arithmetic->n_elements * arithmetic->sum_bytes);
}

/* The spectra summed at once; if a chunk continues from call to call, at most a chunk. */
static gsize
pass_spectra(const CorrelateShape *shape)
{
    const gsize n = shape->tuning.spectra;
    return arithmetics[shape->arithmetic].continues ? MIN(n, CORRELATE_CHUNK) : n;
}

static gsize
panel_bytes(const CorrelateShape *shape)
{
    const Arithmetic *arithmetic = &arithmetics[shape->arithmetic];
    return pass_spectra(shape) / arithmetic->step_spectra * arithmetic->step_bytes;
}

/* The bytes of a tile of a chunk. */
static gsize
tile_bytes(const Arithmetic *arithmetic)
{
    return round_up(arithmetic->n_elements * arithmetic->tile_row_bytes);
}

/* Two lines: one per spectrum of a step while packing; a row's values and its output at the end.
 * 16 bytes hold the largest complex element of both. */
static gsize
line_bytes(const CorrelateShape *shape)
{
    return round_up((shape->n_blocks * arithmetics[shape->arithmetic].n_elements + shape->n_pols) *
                    16);
}

gboolean
CT_ISA(correlate_shape)(CorrelateShape *shape, CtType input, CtType output, gsize n_stations,
                        gsize n_pols, const CorrelateTuning *tuning)
{
    const Choice *choice = find_choice(input, output);
    if (!choice)
        return FALSE;
    const Arithmetic *arithmetic = &arithmetics[choice->arithmetic];
    *shape = (CorrelateShape){
        .arithmetic = choice->arithmetic,
        .tuning = *tuning,
        .input = input,
        .output = output,
        .n_stations = n_stations,
        .n_pols = n_pols,
        .n_inputs = n_stations * n_pols,
        .n_blocks = (n_stations * n_pols + arithmetic->n_elements - 1) / arithmetic->n_elements,
    };
    if (CT_ISA(correlate_few_shape)(shape))
        return TRUE;
    shape->sums_bytes = running_bytes(shape) * (arithmetic->continues ? 2 : 1);
    shape->scratch_bytes = 3 * line_bytes(shape) + CORRELATE_WIDEST * tile_bytes(arithmetic) +
                           shape->n_blocks * panel_bytes(shape);
    return TRUE;
}

CorrelateTuning
CT_ISA(correlate_effect)(const CorrelateTuning *tuning, const CorrelateTuning *usual, CtType input,
                         CtType output, gsize n_inputs)
{
    const Choice *choice = find_choice(input, output);
    CorrelateTuning effect = *tuning;
    if (!choice)
        return effect;
    const Arithmetic *arithmetic = &arithmetics[choice->arithmetic];
    CorrelateShape shape = {
        .input = input, .output = output, .n_inputs = n_inputs, .tuning = *tuning};
    const gboolean is_few = CT_ISA(correlate_few_shape)(&shape);
    shape.tuning = *usual;
    if (is_few == CT_ISA(correlate_few_shape)(&shape))
        effect.few = usual->few;
    else
        effect.few = is_few ? 16 : 0;
    if (is_few)
        return (CorrelateTuning){usual->rows, usual->columns, usual->spectra, effect.few};
    effect.rows = MIN(effect.rows, arithmetic->n_elements);
    if (n_inputs <= 2 * arithmetic->n_elements)
        effect.columns = usual->columns;
    if (n_inputs <= arithmetic->n_elements)
        effect.rows = usual->rows;
    if (arithmetic->continues)
        effect.spectra = MIN(effect.spectra, CORRELATE_CHUNK);
    return effect;
}

/* ---- accumulate ---- */

/* Copies elements of 1, 2, 4, 8 or 16 bytes at a stride to contiguous memory. */
static void
gather(const CorrelateShape *shape, const guint8 *from, gint64 station_stride, gint64 pol_stride,
       guint8 *to)
{
    const gsize bytes = ct_type_info(shape->input)->bytes;
    for (gsize s = 0; s < shape->n_stations; s++, from += station_stride)
        for (gsize p = 0; p < shape->n_pols; p++, to += bytes) {
            const guint8 *x = from + (gint64)p * pol_stride;
            switch (bytes) {
            case 1:
                *to = *x;
                break;
            case 2:
                memcpy(to, x, 2);
                break;
            case 4:
                memcpy(to, x, 4);
                break;
            case 8:
                memcpy(to, x, 8);
                break;
            default:
                memcpy(to, x, bytes);
            }
        }
}

typedef struct {
    const CorrelateShape *shape;
    const Arithmetic *arithmetic;
    const Choice *choice;
    gint64 station_stride;
    gint64 pol_stride;
    gboolean contiguous; /* a spectrum's inputs are contiguous */
    gsize spectrum_bytes;
    guint8 *gathered; /* a line of the input's type */
} Reader;

/* Spectra to prefetch ahead of the one that is packed: the processor does not predict their
 * addresses if time is not the next slower axis. */
#define PREFETCH 16

static void
prefetch(const Reader *reader, const guint8 *spectrum)
{
    for (gsize at = 0; reader->contiguous && at < reader->spectrum_bytes; at += 64)
        __builtin_prefetch(spectrum + at);
}

/* A spectrum as pack wants it: in place if possible, otherwise copied to `line`. */
static const void *
read_spectrum(const Reader *reader, const guint8 *spectrum, void *line)
{
    const CorrelateShape *shape = reader->shape;
    if (!reader->contiguous) {
        gather(shape, spectrum, reader->station_stride, reader->pol_stride, reader->gathered);
        spectrum = reader->gathered;
    }
    if (reader->choice->read)
        reader->choice->read(spectrum, shape->n_inputs, line);
    else if (shape->n_inputs % reader->arithmetic->n_elements == 0)
        return spectrum;
    else
        memcpy(line, spectrum, shape->n_inputs * reader->arithmetic->input_bytes);
    return line;
}

/* The spectra in the panels, and their sums. */
typedef struct {
    const CorrelateShape *shape;
    const Arithmetic *arithmetic;
    Tiles tiles;
    gsize n_steps;
    const guint8 *panels;
    gsize panel_bytes;
    guint8 *running;
    guint8 *chunk; /* of this pass only, a tile for each block of a cell's width; NULL: the chunk is
                      in `open` */
    guint8 *open;
    gboolean keeps; /* the chunk was begun by an earlier pass */
    gboolean whole; /* … and ends in this one */
    gboolean first; /* of the integration */
} Pass;

/* Sums block I with J … J + width − 1: with one block on the diagonal, elsewhere with as many as a
 * cell is wide. */
static void
sum_tiles(const Pass *pass, gsize i, gsize j, gsize width)
{
    const CorrelateShape *shape = pass->shape;
    const Arithmetic *arithmetic = pass->arithmetic;
    const gsize n_elements = pass->tiles.n_elements;
    const gsize sum_row_bytes = 2 * n_elements * arithmetic->sum_bytes;
    const guint8 *rows = pass->panels + i * pass->panel_bytes;
    const guint8 *columns = pass->panels + j * pass->panel_bytes;
    gsize n_rows = n_elements / 2 + 1, at[CORRELATE_WIDEST];
    void *sums[CORRELATE_WIDEST];
    for (gsize c = 0; c < width; c++) {
        at[c] = tile_row(&pass->tiles, i, j + c) * sum_row_bytes;
        sums[c] = pass->chunk ? pass->chunk + c * tile_bytes(arithmetic) : pass->open + at[c];
    }
    if (i == j) {
        arithmetic->diagonal(pass->n_steps, rows, sums[0], pass->keeps);
    } else {
        const gsize height = shape->tuning.rows;
        const guint h = height >= 8 ? 2 : height >= 4 ? 1 : 0;
        n_rows = MIN(n_elements, shape->n_inputs - i * n_elements);
        arithmetic->squares[h][width - 1](pass->n_steps, rows, columns, pass->panel_bytes, n_rows,
                                          sums, pass->keeps);
    }
    for (gsize c = 0; pass->whole && c < width; c++)
        arithmetic->fold(n_rows, sums[c], pass->running + at[c], pass->first);
}

static void
sum_triangle(const Pass *pass)
{
    const gsize n_blocks = pass->shape->n_blocks;
    for (gsize j = 0, width; j < n_blocks; j += width) {
        width = MIN(pass->shape->tuning.columns, n_blocks - j);
        for (gsize i = j; i < j + width; i++)
            for (gsize c = j; c <= i; c++)
                sum_tiles(pass, i, c, 1);
        for (gsize i = j + width; i < n_blocks; i++)
            sum_tiles(pass, i, j, width);
    }
}

void
CT_ISA(correlate_accumulate)(const CorrelateShape *shape, const guint8 *voltages,
                             gint64 time_stride, gint64 station_stride, gint64 pol_stride, gsize n,
                             gsize done, void *sums, void *scratch)
{
    if (shape->is_few) {
        CT_ISA(correlate_few_accumulate)
        (shape, voltages, time_stride, station_stride, pol_stride, n, done, sums, scratch);
        return;
    }
    const Arithmetic *arithmetic = &arithmetics[shape->arithmetic];
    const gsize panel = panel_bytes(shape);
    const gint64 bytes = ct_type_info(shape->input)->bytes;
    guint8 *lines[2] = {scratch, (guint8 *)scratch + line_bytes(shape)};
    guint8 *chunk_tile = lines[1] + 2 * line_bytes(shape);
    guint8 *panels = chunk_tile + CORRELATE_WIDEST * tile_bytes(arithmetic);
    guint8 *open = (guint8 *)sums + running_bytes(shape);
    const Reader reader = {
        .shape = shape,
        .arithmetic = arithmetic,
        .choice = find_choice(shape->input, shape->output),
        .station_stride = station_stride,
        .pol_stride = pol_stride,
        .contiguous = (shape->n_pols == 1 || pol_stride == bytes) &&
                      (shape->n_stations == 1 || station_stride == bytes * (gint64)shape->n_pols),
        .spectrum_bytes = shape->n_inputs * (gsize)bytes,
        .gathered = lines[1] + line_bytes(shape),
    };
    memset(lines[0], 0, 2 * line_bytes(shape));

    while (n > 0) {
        const gsize begun = arithmetic->continues ? done % CORRELATE_CHUNK : 0;
        const gsize left = arithmetic->continues ? CORRELATE_CHUNK - begun : n;
        const gsize length = MIN(MIN(n, left), pass_spectra(shape));
        const gsize step = arithmetic->step_spectra;
        for (gsize t = 0; t < length; t += step) {
            const guint8 *spectrum = voltages + (gint64)t * time_stride;
            if (t + PREFETCH + step <= n)
                for (gsize k = 0; k < step; k++)
                    prefetch(&reader, spectrum + (gint64)(PREFETCH + k) * time_stride);
            const void *first = read_spectrum(&reader, spectrum, lines[0]);
            const void *second = NULL;
            if (step == 2 && t + 1 < length)
                second = read_spectrum(&reader, spectrum + time_stride, lines[1]);
            else if (step == 2)
                second = memset(lines[1], 0, line_bytes(shape));
            arithmetic->pack(first, second, shape->n_blocks,
                             panels + t / step * arithmetic->step_bytes, panel);
        }

        const gboolean whole = !arithmetic->continues || begun + length == CORRELATE_CHUNK;
        const Pass pass = {
            .shape = shape,
            .arithmetic = arithmetic,
            .tiles = {arithmetic->n_elements, shape->n_blocks},
            .n_steps = (length + step - 1) / step,
            .panels = panels,
            .panel_bytes = panel,
            .running = sums,
            .chunk = begun == 0 && whole ? chunk_tile : NULL,
            .open = open,
            .keeps = begun > 0,
            .whole = whole,
            .first = done == begun,
        };
        sum_triangle(&pass);
        n -= length;
        done += length;
        voltages += (gint64)length * time_stride;
    }
}

/* ---- flush ---- */

/* Copies n contiguous runs of `bytes` to positions `stride` apart. */
static inline void
scatter_runs(const guint8 *restrict from, gsize bytes, gsize n, guint8 *restrict to, gint64 stride)
{
    for (gsize k = 0; k < n; k++, from += bytes, to += stride)
        memcpy(to, from, bytes);
}

static void
scatter(const guint8 *from, gsize bytes, gsize n, guint8 *to, gint64 stride)
{
    if (stride == (gint64)bytes)
        memcpy(to, from, n * bytes);
    else if (bytes == 8)
        scatter_runs(from, 8, n, to, stride);
    else if (bytes == 16)
        scatter_runs(from, 16, n, to, stride);
    else if (bytes == 32)
        scatter_runs(from, 32, n, to, stride);
    else
        scatter_runs(from, bytes, n, to, stride);
}

void
CT_ISA(correlate_flush)(const CorrelateShape *shape, const void *sums, gsize done,
                        guint8 *visibilities, gint64 baseline_stride, gint64 p_stride,
                        gint64 q_stride, void *scratch)
{
    if (shape->is_few) {
        CT_ISA(correlate_few_flush)
        (shape, sums, done, visibilities, baseline_stride, p_stride, q_stride);
        return;
    }
    const Arithmetic *arithmetic = &arithmetics[shape->arithmetic];
    const Choice *choice = find_choice(shape->input, shape->output);
    const gsize n_pols = shape->n_pols;
    const gsize bytes = ct_type_info(shape->output)->bytes;
    guint8 *line = scratch;
    guint8 *converted = line + line_bytes(shape);
    const void *running = sums;
    const void *open = NULL;
    if (arithmetic->continues && done % CORRELATE_CHUNK > 0)
        open = (const guint8 *)sums + running_bytes(shape);
    if (open && done < CORRELATE_CHUNK) {
        running = open;
        open = NULL;
    }

    for (gsize i = 0; i < shape->n_stations; i++) {
        guint8 *baseline = visibilities + (gint64)(i * (i + 1) / 2) * baseline_stride;
        const gsize n_columns = (i + 1) * n_pols;
        for (gsize p = 0; p < n_pols; p++, baseline += p_stride) {
            const guint8 *from = line;
            arithmetic->row(shape->n_blocks, running, open, i * n_pols + p, n_columns, line);
            if (choice->write) {
                choice->write(line, 2 * n_columns, converted);
                from = converted;
            }
            if (q_stride == (gint64)bytes)
                scatter(from, n_pols * bytes, i + 1, baseline, baseline_stride);
            else
                for (gsize j = 0; j <= i; j++, from += n_pols * bytes)
                    scatter(from, bytes, n_pols, baseline + (gint64)j * baseline_stride, q_stride);
        }
    }
}
