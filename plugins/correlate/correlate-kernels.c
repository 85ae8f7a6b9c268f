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

/* The bytes of panels that a part of a second cache has room for. */
#define PANELS_BYTES (1 << 20)

/* The spectra summed at once; if a chunk continues from call to call, at most a chunk. */
static gsize
pass_spectra(const CorrelateShape *shape)
{
    const Arithmetic *arithmetic = &arithmetics[shape->arithmetic];
    const gsize bytes = shape->n_blocks * arithmetic->step_bytes / arithmetic->step_spectra;
    gsize n = shape->tuning.spectra;
    while (n > 256 && n * bytes > PANELS_BYTES)
        n /= 2;
    return arithmetic->chunk > 0 ? MIN(n, arithmetic->chunk) : n;
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

/* A spectrum as `pack` reads it, with zeros up to whole blocks. */
static gsize
line_bytes(const CorrelateShape *shape)
{
    const Arithmetic *arithmetic = &arithmetics[shape->arithmetic];
    return round_up(shape->n_blocks * arithmetic->n_elements * arithmetic->input_bytes);
}

/* A row of visibilities, whose last block may be longer than the row. */
static gsize
row_bytes(const CorrelateShape *shape)
{
    return round_up((shape->n_blocks * arithmetics[shape->arithmetic].n_elements + shape->n_pols) *
                    ct_type_info(shape->output)->bytes);
}

/* The lines of a group, and one that is gathered before it is converted. */
#define N_LINES (CORRELATE_GROUP + 1)

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
    shape->scratch_bytes = MAX(row_bytes(shape), N_LINES * line_bytes(shape) +
                                                     CORRELATE_WIDEST * tile_bytes(arithmetic) +
                                                     shape->n_blocks * panel_bytes(shape));
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
        .arithmetic = choice->arithmetic,
        .input = input,
        .output = output,
        .n_inputs = n_inputs,
        .n_blocks = (n_inputs + arithmetic->n_elements - 1) / arithmetic->n_elements,
        .tuning = *tuning,
    };
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
    shape.tuning = *tuning;
    effect.spectra = pass_spectra(&shape);
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
    const Choice *choice;
    gint64 time_stride;
    gint64 station_stride;
    gint64 pol_stride;
    gboolean contiguous; /* a spectrum's inputs are contiguous */
    gboolean in_place;   /* … and as pack wants them */
    gsize spectrum_bytes;
    gsize line_bytes;
    guint8 *lines;
    guint8 *gathered; /* a line of the input's type, from which another is made */
} Reader;

/* Fetches spectra that are not the next ones in memory, whose addresses the processor does not
 * predict. */
static void
prefetch(const Reader *reader, const guint8 *spectrum, gsize n)
{
    const gsize bytes = reader->spectrum_bytes;
    if (!reader->contiguous || reader->time_stride == (gint64)bytes)
        return;
    for (gsize t = 0; t < n; t++, spectrum += reader->time_stride)
        for (gsize at = 0; at < bytes; at += 64)
            __builtin_prefetch(spectrum + at, 0, 2);
}

/* Copies a spectrum to `line`, as pack wants it. */
static void
read_spectrum(const Reader *reader, const guint8 *spectrum, guint8 *line)
{
    const CorrelateShape *shape = reader->shape;
    if (!reader->contiguous) {
        guint8 *to = reader->choice->read ? reader->gathered : line;
        gather(shape, spectrum, reader->station_stride, reader->pol_stride, to);
        spectrum = to;
    }
    if (reader->choice->read)
        reader->choice->read(spectrum, shape->n_inputs, line);
    else if (spectrum != line)
        memcpy(line, spectrum, reader->spectrum_bytes);
}

/* Copies n spectra of a group to the lines; the others are 0. */
static void
read_group(const Reader *reader, const guint8 *voltages, gsize n)
{
    guint8 *line = reader->lines;
    for (gsize t = 0; t < n; t++, voltages += reader->time_stride, line += reader->line_bytes)
        read_spectrum(reader, voltages, line);
    memset(line, 0, (CORRELATE_GROUP - n) * reader->line_bytes);
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

/* Packs the spectra of a pass; n follow from there on. */
static void
pack_spectra(const Reader *reader, const guint8 *voltages, gsize length, gsize n, guint8 *panels)
{
    const CorrelateShape *shape = reader->shape;
    for (gsize t = 0; t < length; t += CORRELATE_GROUP) {
        const guint8 *group = voltages + (gint64)t * reader->time_stride;
        const gsize packed = MIN(CORRELATE_GROUP, length - t);
        const gboolean in_place = reader->in_place && packed == CORRELATE_GROUP;
        prefetch(reader, group + (gint64)packed * reader->time_stride,
                 MIN(CORRELATE_GROUP, n - t - packed));
        if (!in_place)
            read_group(reader, group, packed);
        arithmetics[shape->arithmetic].pack(in_place ? group : reader->lines,
                                            in_place ? reader->time_stride
                                                     : (gint64)reader->line_bytes,
                                            packed, shape->n_blocks, panels, panel_bytes(shape), t);
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
    const gint64 bytes = ct_type_info(shape->input)->bytes;
    const gsize line = line_bytes(shape);
    guint8 *lines = scratch;
    guint8 *chunk_tile = lines + N_LINES * line;
    guint8 *panels = chunk_tile + CORRELATE_WIDEST * tile_bytes(arithmetic);
    guint8 *open = (guint8 *)sums + running_bytes(shape);
    const Choice *choice = find_choice(shape->input, shape->output);
    const gboolean contiguous =
        (shape->n_pols == 1 || pol_stride == bytes) &&
        (shape->n_stations == 1 || station_stride == bytes * (gint64)shape->n_pols);
    const Reader reader = {
        .shape = shape,
        .choice = choice,
        .time_stride = time_stride,
        .station_stride = station_stride,
        .pol_stride = pol_stride,
        .contiguous = contiguous,
        .in_place = contiguous && !choice->read && shape->n_inputs % arithmetic->n_elements == 0,
        .spectrum_bytes = shape->n_inputs * (gsize)bytes,
        .line_bytes = line,
        .lines = lines,
        .gathered = lines + CORRELATE_GROUP * line,
    };
    if (!reader.in_place)
        memset(lines, 0, CORRELATE_GROUP * line);
    if (arithmetic->begin)
        arithmetic->begin();

    while (n > 0) {
        const gsize begun = arithmetic->chunk > 0 ? done % arithmetic->chunk : 0;
        const gsize left = arithmetic->chunk > 0 ? arithmetic->chunk - begun : n;
        const gsize length = MIN(MIN(n, left), pass_spectra(shape));
        const gsize step = arithmetic->step_spectra;
        pack_spectra(&reader, voltages, length, n, panels);

        const gboolean whole = arithmetic->chunk == 0 || begun + length == arithmetic->chunk;
        const Pass pass = {
            .shape = shape,
            .arithmetic = arithmetic,
            .tiles = {arithmetic->n_elements, shape->n_blocks},
            .n_steps = (length + step - 1) / step,
            .panels = panels,
            .panel_bytes = panel_bytes(shape),
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
            choice->row(shape->n_blocks, running, open, i * n_pols + p, n_columns, line);
            if (q_stride == (gint64)bytes)
                scatter(from, n_pols * bytes, i + 1, baseline, baseline_stride);
            else
                for (gsize j = 0; j <= i; j++, from += n_pols * bytes)
                    scatter(from, bytes, n_pols, baseline + (gint64)j * baseline_stride, q_stride);
        }
    }
}
