/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of all pairs of inputs of one channel, summed over time, in tiles. */
#include "correlate-arithmetic.h"
#include "correlate-few.h"

#include <string.h>

#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

/* The arithmetics and types of this instruction set. */
#if defined(__AMX_INT8__)
#include "correlate-amx.h"
#elif defined(__AVX512VNNI__) || defined(__AVXVNNI__)
#include "correlate-vnni.h"
#else
#include "correlate-numbers.h"
#endif

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
sum_row_bytes(const Arithmetic *arithmetic)
{
    return 2 * arithmetic->n_elements * arithmetic->sum_bytes;
}

/* The bytes of all tiles, whose rows have `row_bytes`. */
static gsize
tiles_bytes(const CorrelateShape *shape, gsize row_bytes)
{
    const Tiles tiles = {arithmetics[shape->arithmetic].n_elements, shape->n_blocks};
    return round_up(tile_row(&tiles, shape->n_blocks, shape->n_blocks) * row_bytes);
}

static gsize
running_bytes(const CorrelateShape *shape)
{
    return tiles_bytes(shape, sum_row_bytes(&arithmetics[shape->arithmetic]));
}

/* The spectra summed at once; if a chunk continues from call to call, at most a chunk. */
static gsize
pass_spectra(const CorrelateShape *shape)
{
    const gsize n = shape->tuning.spectra, chunk = arithmetics[shape->arithmetic].chunk;
    return chunk > 0 ? MIN(n, chunk) : n;
}

static gsize
panel_bytes(const CorrelateShape *shape)
{
    const Arithmetic *arithmetic = &arithmetics[shape->arithmetic];
    return arithmetic->head_bytes +
           pass_spectra(shape) / arithmetic->step_spectra * arithmetic->step_bytes;
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
    shape->sums_bytes = running_bytes(shape);
    if (arithmetic->chunk > 0)
        shape->sums_bytes += tiles_bytes(shape, arithmetic->tile_row_bytes);
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
    if (n_inputs <= arithmetic->n_elements || CORRELATE_FULL_DIAGONAL)
        effect.rows = usual->rows;
    if (arithmetic->chunk > 0)
        effect.spectra = MIN(effect.spectra, arithmetic->chunk);
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
    gboolean fills;      /* inputs fill their blocks */
    gsize spectrum_bytes;
    guint8 *gathered; /* a line of the input's type, from which another is made */
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
        guint8 *to = reader->choice->read ? reader->gathered : line;
        gather(shape, spectrum, reader->station_stride, reader->pol_stride, to);
        spectrum = to;
    }
    if (reader->choice->read)
        reader->choice->read(spectrum, shape->n_inputs, line);
    else if (spectrum == line || reader->fills)
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
    const guint8 *rows = pass->panels + i * pass->panel_bytes;
    const guint8 *columns = pass->panels + j * pass->panel_bytes;
    gsize n_rows = n_elements / 2 + 1, row[CORRELATE_WIDEST];
    void *sums[CORRELATE_WIDEST];
    for (gsize c = 0; c < width; c++) {
        row[c] = tile_row(&pass->tiles, i, j + c);
        sums[c] = pass->chunk ? pass->chunk + c * tile_bytes(arithmetic)
                              : pass->open + row[c] * arithmetic->tile_row_bytes;
    }
    if (i == j && arithmetic->diagonal) {
        arithmetic->diagonal(pass->n_steps, rows, sums[0], pass->keeps);
    } else {
        const gsize height = shape->tuning.rows;
        const guint h = height >= 8 ? 2 : height >= 4 ? 1 : 0;
        n_rows = MIN(n_elements, shape->n_inputs - i * n_elements);
        arithmetic->squares[h][width - 1](pass->n_steps, rows, columns, pass->panel_bytes, n_rows,
                                          sums, pass->keeps);
    }
    for (gsize c = 0; pass->whole && c < width; c++)
        arithmetic->fold(n_rows, sums[c], pass->running + row[c] * sum_row_bytes(arithmetic),
                         pass->first);
}

static void
sum_triangle(const Pass *pass)
{
    const gsize n_blocks = pass->shape->n_blocks;
    for (gsize j = 0, width; j < n_blocks; j += width) {
        width = MIN(pass->shape->tuning.columns, n_blocks - j);
        for (gsize i = j; i < j + width; i++) {
            const gsize together = pass->arithmetic->diagonal ? 1 : i - j + 1;
            for (gsize c = j; c <= i; c += together)
                sum_tiles(pass, i, c, together);
        }
        for (gsize i = j + width; i < n_blocks; i++)
            sum_tiles(pass, i, j, width);
    }
}

/* The last group of the steps that are packed. */
static void
finish_group(const CorrelateShape *shape, guint8 *panels, gsize panel, gsize n_steps)
{
    const gsize first = (n_steps - 1) / CORRELATE_GROUP * CORRELATE_GROUP;
    for (gsize block = 0; block < shape->n_blocks; block++)
        arithmetics[shape->arithmetic].finish(panels + block * panel, first, n_steps - first);
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
        .fills = shape->n_inputs % arithmetic->n_elements == 0,
        .spectrum_bytes = shape->n_inputs * (gsize)bytes,
        .gathered = lines[1] + line_bytes(shape),
    };
    memset(lines[0], 0, 2 * line_bytes(shape));
    if (arithmetic->begin)
        arithmetic->begin();

    while (n > 0) {
        const gsize begun = arithmetic->chunk > 0 ? done % arithmetic->chunk : 0;
        const gsize left = arithmetic->chunk > 0 ? arithmetic->chunk - begun : n;
        const gsize length = MIN(MIN(n, left), pass_spectra(shape));
        const gsize step = arithmetic->step_spectra;
        const gsize n_steps = (length + step - 1) / step;
        for (gsize k = 0; k < n_steps; k++) {
            const gsize t = k * step;
            const guint8 *spectrum = voltages + (gint64)t * time_stride;
            if (t + PREFETCH + step <= n)
                for (gsize ahead = PREFETCH; ahead < PREFETCH + step; ahead++)
                    prefetch(&reader, spectrum + (gint64)ahead * time_stride);
            const void *first = read_spectrum(&reader, spectrum, lines[0]);
            const void *second = NULL;
            if (step == 2 && t + 1 < length)
                second = read_spectrum(&reader, spectrum + time_stride, lines[1]);
            else if (step == 2)
                second = memset(lines[1], 0, line_bytes(shape));
            arithmetic->pack(first, second, shape->n_blocks, panels, panel, k);
            if (arithmetic->finish && ((k + 1) % CORRELATE_GROUP == 0 || k + 1 == n_steps))
                finish_group(shape, panels, panel, k + 1);
        }

        const gboolean whole = arithmetic->chunk == 0 || begun + length == arithmetic->chunk;
        const Pass pass = {
            .shape = shape,
            .arithmetic = arithmetic,
            .tiles = {arithmetic->n_elements, shape->n_blocks},
            .n_steps = n_steps,
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
    if (arithmetic->end)
        arithmetic->end();
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
    if (arithmetic->chunk > 0 && done % arithmetic->chunk > 0)
        open = (const guint8 *)sums + running_bytes(shape);
    if (open && done < arithmetic->chunk)
        running = NULL;

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
