/* SPDX-License-Identifier: BSD-3-Clause */
/* Weighted sums over the stations of one channel: a small complex matrix product. */
#include "beamform-kernels.h"

#include "beamform-write.h"

/* The most times, and the most vectors of beams, that are summed in registers at once. */
#define MOST_ROWS    8
#define MOST_COLUMNS 2

/* LOW and HIGH interleave the lower and upper halves of two vectors, element by element. */
#if CT_VECTOR_BYTES == 64
#define LOW  0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define HIGH 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#elif CT_VECTOR_BYTES == 32
#define LOW  0, 8, 1, 9, 2, 10, 3, 11
#define HIGH 4, 12, 5, 13, 6, 14, 7, 15
#else
#define LOW  0, 4, 1, 5
#define HIGH 2, 6, 3, 7
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

static const Read readers[CT_N_TYPES] = {
    [CT_CI4] = read_ci4,
    [CT_CI8] = read_ci8,
    [CT_CI16] = read_ci16,
};

/* ---- sizes ---- */

static gsize
n_blocks(const BeamformShape *shape)
{
    return (shape->n_beams + VECTOR_FLOATS - 1) / VECTOR_FLOATS;
}

static gsize
panel_floats(const BeamformShape *shape)
{
    return shape->n_stations * 2 * VECTOR_FLOATS;
}

static gsize
spectrum_bytes(const BeamformShape *shape)
{
    return shape->n_stations * shape->n_pols * 8;
}

/* The times of a chunk: whole rows of cells. */
static gsize
chunk_times(const BeamformShape *shape)
{
    const gsize times = shape->chunk_bytes / spectrum_bytes(shape) / shape->rows * shape->rows;
    return MAX(times, shape->rows);
}

static gsize
round_up(gsize bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* The bytes of the sums of a cell's rows and a block of beams, [time][pol][beam] complex, including
 * rows that are not used. */
static gsize
tile_bytes(const BeamformShape *shape)
{
    return (shape->n_pols + 1) * shape->rows * 2 * CT_VECTOR_BYTES;
}

gboolean
CT_ISA(beamform_shape)(BeamformShape *shape)
{
    if (shape->type != CT_CF32 && !readers[shape->type])
        return FALSE;
    shape->panels_bytes = n_blocks(shape) * panel_floats(shape) * sizeof(gfloat);
    shape->scratch_bytes = MOST_COLUMNS * tile_bytes(shape) + round_up(spectrum_bytes(shape)) +
                           round_up(chunk_times(shape) * spectrum_bytes(shape));
    return TRUE;
}

void
CT_ISA(beamform_pack)(const BeamformShape *shape, const guint8 *weights, gint64 beam_stride,
                      gint64 station_stride, void *panels)
{
    gfloat *to = panels;
    for (gsize block = 0; block < n_blocks(shape); block++)
        for (gsize s = 0; s < shape->n_stations; s++, to += 2 * VECTOR_FLOATS)
            for (gsize element = 0; element < VECTOR_FLOATS; element++) {
                const gsize b = block * VECTOR_FLOATS + element;
                const gfloat *w = (const gfloat *)(weights + (gint64)b * beam_stride +
                                                   (gint64)s * station_stride);
                to[element] = b < shape->n_beams ? w[0] : 0;
                to[VECTOR_FLOATS + element] = b < shape->n_beams ? w[1] : 0;
            }
}

/* ---- sums ---- */

/* The operands of a cell: rows of voltages; `n_columns` panels of weights and as many tiles of
 * sums, at these distances in floats; consecutive rows of a tile are row_step floats apart. */
typedef struct {
    gsize n_stations;
    const guint8 *rows[MOST_ROWS];
    gint64 station_stride;
    const gfloat *panel;
    gsize panel_step, n_columns;
    gfloat *tile;
    gsize tile_step, row_step;
} Cell;

/* Σ_s w[s] · x[r][s] for `n_rows` rows and the beams of `n_columns` panels; the two are constants
 * after inlining. */
static inline __attribute__((always_inline)) void
sum_rows(const Cell *cell, const gsize n_rows, const gsize n_columns)
{
    Vector re[MOST_COLUMNS][MOST_ROWS], im[MOST_COLUMNS][MOST_ROWS];
    const guint8 *x[MOST_ROWS];
    const gfloat *restrict panel = cell->panel;
#pragma GCC unroll 8
    for (gsize r = 0; r < n_rows; r++) {
        x[r] = cell->rows[r];
#pragma GCC unroll 8
        for (gsize c = 0; c < n_columns; c++)
            re[c][r] = im[c][r] = (Vector){0};
    }
    const gsize panel_step = cell->panel_step;
    for (gsize s = 0; s < cell->n_stations; s++, panel += 2 * VECTOR_FLOATS) {
        const gint64 at = (gint64)s * cell->station_stride;
#pragma GCC unroll 8
        for (gsize c = 0; c < n_columns; c++) {
            const Vector w_re = *(const Vector *)(panel + c * panel_step);
            const Vector w_im = *(const Vector *)(panel + c * panel_step + VECTOR_FLOATS);
#pragma GCC unroll 8
            for (gsize r = 0; r < n_rows; r++) {
                const gfloat x_re = ((const gfloat *)(x[r] + at))[0];
                const gfloat x_im = ((const gfloat *)(x[r] + at))[1];
                re[c][r] += x_re * w_re;
                im[c][r] += x_re * w_im;
                re[c][r] -= x_im * w_im;
                im[c][r] += x_im * w_re;
            }
        }
    }
#pragma GCC unroll 8
    for (gsize c = 0; c < n_columns; c++)
#pragma GCC unroll 8
        for (gsize r = 0; r < n_rows; r++) {
            Vector *to = (Vector *)(cell->tile + c * cell->tile_step + r * cell->row_step);
            to[0] = __builtin_shufflevector(re[c][r], im[c][r], LOW);
            to[1] = __builtin_shufflevector(re[c][r], im[c][r], HIGH);
        }
}

#define SUM(n_rows, n_columns)                                                                     \
    static void sum_##n_rows##x##n_columns(const Cell *cell)                                       \
    {                                                                                              \
        sum_rows(cell, n_rows, n_columns);                                                         \
    }
SUM(2, 1)
SUM(4, 1)
SUM(8, 1)
SUM(2, 2)
SUM(4, 2)
SUM(8, 2)

/* Sums any number of rows up to those of a cell: missing rows repeat the last one, and their sums
 * are not used. */
static void
sum_some(const BeamformShape *shape, gsize n, Cell *cell)
{
    /* [columns][rows: 2, 4, 8] */
    static void (*const sums[MOST_COLUMNS][3])(const Cell *) = {{sum_2x1, sum_4x1, sum_8x1},
                                                                {sum_2x2, sum_4x2, sum_8x2}};
    const gsize n_rows = n > shape->rows / 2 ? shape->rows : shape->rows / 2;
    for (gsize r = n; r < n_rows; r++)
        cell->rows[r] = cell->rows[n - 1];
    sums[cell->n_columns - 1][n_rows >= 8 ? 2 : n_rows >= 4 ? 1 : 0](cell);
}

/* Beams for `n` times, up to the rows of a cell, and all polarisations: [time][pol][beam] complex,
 * for `n_columns` blocks of beams from `block` on. */
static void
sum_tiles(const BeamformShape *shape, const void *const *panels, gsize block, gsize n_columns,
          const guint8 *voltages, const BeamformStrides *from, gsize n, gfloat *tile)
{
    const gsize n_pols = shape->n_pols, offset = block * panel_floats(shape);
    Cell cell = {
        .n_stations = shape->n_stations,
        .station_stride = from->across,
        .panel = (const gfloat *)panels[0] + offset,
        .panel_step = panel_floats(shape),
        .n_columns = n_columns,
        .tile = tile,
        .tile_step = tile_bytes(shape) / sizeof(gfloat),
        .row_step = 2 * VECTOR_FLOATS,
    };
    if (panels[0] == panels[n_pols - 1]) { /* all have the same weights: times and polarisations in
                                              one row */
        gsize n_rows = 0;
        for (gsize t = 0; t < n; t++)
            for (gsize p = 0; p < n_pols; p++) {
                cell.rows[n_rows++] = voltages + (gint64)t * from->time + (gint64)p * from->pol;
                if (n_rows < shape->rows && (t + 1 < n || p + 1 < n_pols))
                    continue;
                sum_some(shape, n_rows, &cell);
                cell.tile += n_rows * 2 * VECTOR_FLOATS;
                n_rows = 0;
            }
        return;
    }
    cell.row_step = n_pols * 2 * VECTOR_FLOATS;
    for (gsize p = 0; p < n_pols; p++) {
        for (gsize r = 0; r < n; r++)
            cell.rows[r] = voltages + (gint64)r * from->time + (gint64)p * from->pol;
        cell.panel = (const gfloat *)panels[p] + offset;
        cell.tile = tile + p * 2 * VECTOR_FLOATS;
        sum_some(shape, n, &cell);
    }
}

/* Converts `n` spectra to cf32 [time][station][pol]. */
static void
read_chunk(const BeamformShape *shape, const guint8 *voltages, const BeamformStrides *from, gsize n,
           guint8 *gathered, gfloat *to)
{
    const gsize bytes = ct_type_info(shape->type)->bytes;
    const gsize n_inputs = shape->n_stations * shape->n_pols;
    const gboolean contiguous =
        (shape->n_pols == 1 || from->pol == (gint64)bytes) &&
        (shape->n_stations == 1 || from->across == (gint64)(bytes * shape->n_pols));
    for (gsize t = 0; t < n; t++, voltages += from->time, to += 2 * n_inputs) {
        const guint8 *spectrum = voltages;
        for (gsize k = 0; !contiguous && k < n_inputs; k++) {
            const guint8 *x = voltages + (gint64)(k / shape->n_pols) * from->across +
                              (gint64)(k % shape->n_pols) * from->pol;
            memcpy(gathered + k * bytes, x, bytes);
            spectrum = gathered;
        }
        readers[shape->type](spectrum, n_inputs, to);
    }
}

void
CT_ISA(beamform_sum)(const BeamformShape *shape, const void *const *panels, const guint8 *voltages,
                     const BeamformStrides *from, guint8 *beams, const BeamformStrides *to, gsize n,
                     void *scratch)
{
    gfloat *tile = scratch;
    guint8 *gathered = (guint8 *)scratch + MOST_COLUMNS * tile_bytes(shape);
    guint8 *converted = gathered + round_up(spectrum_bytes(shape));
    const gsize chunk = chunk_times(shape);
    const BeamformStrides converted_strides = {
        .time = (gint64)spectrum_bytes(shape), .across = (gint64)shape->n_pols * 8, .pol = 8};

    for (gsize begin = 0; begin < n; begin += chunk) {
        const gsize length = MIN(chunk, n - begin);
        const guint8 *x = voltages + (gint64)begin * from->time;
        const BeamformStrides *strides = from;
        if (shape->type != CT_CF32) {
            read_chunk(shape, x, from, length, gathered, (gfloat *)converted);
            x = converted;
            strides = &converted_strides;
        }
        for (gsize block = 0, width; block < n_blocks(shape); block += width) {
            width = MIN(shape->columns, n_blocks(shape) - block);
            guint8 *y =
                beams + (gint64)begin * to->time + (gint64)(block * VECTOR_FLOATS) * to->across;
            for (gsize t = 0; t < length; t += shape->rows) {
                const gsize n_times = MIN(shape->rows, length - t);
                sum_tiles(shape, panels, block, width, x + (gint64)t * strides->time, strides,
                          n_times, tile);
                for (gsize c = 0; c < width; c++) {
                    const gsize n_beams =
                        MIN(VECTOR_FLOATS, shape->n_beams - (block + c) * VECTOR_FLOATS);
                    write_tile(shape->n_pols, tile + c * tile_bytes(shape) / sizeof(gfloat),
                               n_times, n_beams,
                               y + (gint64)t * to->time + (gint64)(c * VECTOR_FLOATS) * to->across,
                               to);
                }
            }
        }
    }
}
