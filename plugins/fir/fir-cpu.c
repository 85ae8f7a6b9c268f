/* SPDX-License-Identifier: BSD-3-Clause */
/* The filter on the processor: tiles of samples are brought to scratch, then filtered. Integers of
 * one or two bytes become floats there, or as they are summed. How blocks are cut into tiles is in
 * fir-cut.h. */
#include "fir-cut.h"
#include "fir-kernels.h"

/* The most outputs whose sums have registers. */
#define MOST_BLOCK (CT_VECTOR_BYTES == 64 ? 16 : 8)

/* How the samples of a tile stand in scratch, and are summed. */
typedef struct {
    FirConvert bring;
    FirSum sum;
    gsize bytes; /* of an element */
} FirSamples;

typedef struct {
    FirShape shape;
    float *taps; /* [tap taps_pitch], the phases over and over */
    gsize taps_pitch;
    FirSamples as_floats;
    FirSamples as_given; /* sum NULL: only floats are summed */
    const CtStream *in;
    gsize block;
    FirCut packed, loose;
    gint64 n_items;
} Fir;

static const struct {
    CtType type;
    gsize converter; /* offset in FirConverters */
} converters[] = {
    {CT_CI4, G_STRUCT_OFFSET(FirConverters, i4)},   {CT_CI8, G_STRUCT_OFFSET(FirConverters, i8)},
    {CT_CI16, G_STRUCT_OFFSET(FirConverters, i16)}, {CT_CF16, G_STRUCT_OFFSET(FirConverters, f16)},
    {CT_CF32, G_STRUCT_OFFSET(FirConverters, f32)}, {CT_I8, G_STRUCT_OFFSET(FirConverters, i8)},
    {CT_I16, G_STRUCT_OFFSET(FirConverters, i16)},  {CT_U8, G_STRUCT_OFFSET(FirConverters, u8)},
    {CT_F16, G_STRUCT_OFFSET(FirConverters, f16)},  {CT_F32, G_STRUCT_OFFSET(FirConverters, f32)},
};

static void
choose_samples(Fir *self, CtType type)
{
    const FirConverters *all = &CT_ISA(ct_fir_converters);
    for (gsize i = 0; i < G_N_ELEMENTS(converters); i++)
        if (converters[i].type == type)
            self->as_floats =
                (FirSamples){G_STRUCT_MEMBER(FirConvert, all, converters[i].converter),
                             CT_ISA(ct_fir_rows), sizeof(float)};
#if defined(__AVX2__)
    if (type == CT_CI8 || type == CT_I8)
        self->as_given = (FirSamples){all->copy_1, CT_ISA(ct_fir_rows_i8), 1};
    if (type == CT_CI16 || type == CT_I16)
        self->as_given = (FirSamples){all->copy_2, CT_ISA(ct_fir_rows_i16), 2};
#endif
}

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    const CtBinding *input = &prepare->inputs[0], *output = &prepare->outputs[0];
    Fir *self = *state = g_new0(Fir, 1);
    FirShape *shape = &self->shape;
    FirDesign *design = &shape->design;

    if (!ct_fir_design_init(design, &prepare->nodes[0], error))
        return FALSE;
    choose_samples(self, input->stream->type);
    self->block = (gsize)prepare->tuning[FIR_BLOCK];
    self->in = input->stream;
    shape->aim_outputs = prepare->tuning[FIR_OUTPUTS];
    shape->aim_row = prepare->tuning[FIR_ROW];
    shape->aim_floats = prepare->tuning[FIR_FLOATS];
    ct_fir_shape(shape, input, output);
    shape->stands = self->as_given.sum != NULL && shape->hop_cells == shape->tap_cells;
    if (!ct_fir_cut(shape, &self->packed, input, output, TRUE, output->max_samples, error) ||
        !ct_fir_cut(shape, &self->loose, input, output, FALSE, output->max_samples, error))
        return FALSE;
    prepare->scratch_bytes = MAX(self->packed.scratch_bytes, self->loose.scratch_bytes);

    /* Vectors may begin at any phase. In merged rows they may begin beyond the last phase. */
    gsize n_channels = (gsize)design->n_channels;
    gsize widest = (gsize)MAX(self->packed.merged, self->loose.merged) * n_channels;
    self->taps_pitch = (widest / FIR_MAX_VECTOR + 2) * FIR_MAX_VECTOR;
    self->taps = CT_TABLE(float, (gsize)design->n_taps * self->taps_pitch, "coefficients", error);
    if (!self->taps)
        return FALSE;
    for (gsize k = 0; k < (gsize)design->n_taps; k++)
        for (gsize p = 0; p < self->taps_pitch; p++)
            self->taps[k * self->taps_pitch + p] = design->taps[k * n_channels + p % n_channels];

    self->n_items = prepare->n_items;
    return TRUE;
}

/* A tile: floats first_float … of each of n_samples samples of a cell, from first_sample on, for
 * outputs first, first + 1, … */
typedef struct {
    const Fir *self;
    const FirCut *cut;
    const FirSamples *samples;
    gint64 time_in, time_out, phase_out; /* strides */
    gint64 first, n_outputs;
    gint64 first_sample, n_samples, first_float, n_floats;
    FirRotation rotation;
    guint8 *scratch;
} Tile;

/* Sample at which the tile's part of cell `cell` begins. */
static gint64
tile_sample(const Tile *tile, gint64 cell)
{
    const FirShape *shape = &tile->self->shape;
    gint64 output = tile->first;

    if (shape->apart) {
        output += cell / shape->design.n_taps;
        cell %= shape->design.n_taps;
    }
    return output * shape->design.hop + cell * shape->cell + tile->first_sample;
}

/* Whether the tile has whole cells. */
static gboolean
is_whole(const Tile *tile)
{
    return tile->n_samples == tile->self->shape.cell && tile->n_floats == (gint64)tile->cut->repeat;
}

/* Samples stand as densely in the input as in a tile. */
static gboolean
is_dense(const Tile *tile)
{
    const FirCut *cut = tile->cut;
    return tile->time_in == (gint64)(cut->inner * tile->self->shape.element_bytes) &&
           tile->n_floats == (gint64)cut->repeat;
}

/* Brings the tile's cells, of the series at x, into scratch. */
static void
tile_bring(const Tile *tile, const guint8 *x, gint64 n_cells)
{
    const FirConvert bring = tile->samples->bring;
    guint8 *to = tile->scratch;
    gsize row = (gsize)(tile->n_samples * tile->n_floats);

    if (is_dense(tile) && is_whole(tile) && !tile->self->shape.apart) {
        bring(to, x + tile_sample(tile, 0) * tile->time_in, 0, 1, (gsize)n_cells * row);
        return;
    }
    for (gint64 i = 0; i < n_cells; i++, to += row * tile->samples->bytes) {
        const guint8 *from = x + tile_sample(tile, i) * tile->time_in;
        if (is_dense(tile))
            bring(to, from, 0, 1, row);
        else
            bring(to, from, tile->time_in, (gsize)tile->n_samples, (gsize)tile->n_floats);
    }
}

/* Floats from a phase of the output to the next. */
static gint64
phase_floats(const Tile *tile)
{
    return tile->phase_out / (gint64)sizeof(float);
}

/* Whether phases follow one another in the output as they do in scratch. */
static gboolean
is_flat(const Tile *tile)
{
    return phase_floats(tile) == tile->n_floats;
}

/* Whether `row` floats of each tap are all of it, and part a vector evenly, while few samples of a
 * window are those of the next one. */
static gboolean
is_narrow(const Tile *tile, gint64 row)
{
    const FirShape *shape = &tile->self->shape;
    return row < (gint64)(CT_VECTOR_BYTES / sizeof(float)) && (row & (row - 1)) == 0 &&
           is_whole(tile) && !shape->rotates && shape->hop_cells > 1 &&
           (is_flat(tile) || shape->design.n_channels == 1);
}

/* Whether each output is rotated in its own way. */
static gboolean
rotates_apart(const FirShape *shape)
{
    return shape->rotates && (shape->hop_cells > 1 || shape->apart);
}

/* Integers are summed as they are, but for rows that are summed in another way. */
static const FirSamples *
samples_of(const Tile *tile)
{
    const Fir *self = tile->self;
    const gboolean is_plain = !rotates_apart(&self->shape) &&
                              !is_narrow(tile, self->shape.design.n_channels * tile->n_floats);
    return self->as_given.sum != NULL && is_plain ? &self->as_given : &self->as_floats;
}

/* Moves n elements on. */
static void
move(FirRows *rows, gint64 n)
{
    rows->x += n * (gint64)rows->x_bytes;
}

/* Filters n phases, from the rows' phase p on, to the output's phases from `to` on. */
static void
filter_phases(const Tile *tile, FirRows rows, gint64 p, gint64 n, gint64 to)
{
    const FirSum sum = tile->samples->sum;
    const FirCut *cut = tile->cut;
    gint64 row = n * tile->n_floats;

    move(&rows, p * tile->n_floats);
    rows.e0 += (gsize)p * cut->repeat;
    rows.y += to * phase_floats(tile);
    rows.n_floats = (gsize)row;
    if (is_flat(tile) && cut->merged > 1 && rows.y_step == row) {
        gint64 n_whole = tile->n_outputs / cut->merged, rest = tile->n_outputs % cut->merged;
        rows.x_step = rows.y_step = cut->merged * row;
        rows.n_floats = (gsize)(cut->merged * row);
        rows.n_outputs = (gsize)n_whole;
        sum(&rows);
        move(&rows, n_whole * rows.x_step);
        rows.y += n_whole * rows.y_step;
        rows.n_floats = (gsize)(rest * row);
        rows.n_outputs = 1;
        if (rest > 0)
            sum(&rows);
    } else if (is_narrow(tile, row)) {
        CT_ISA(ct_fir_narrow)(&rows);
    } else if (is_flat(tile) || n == 1) {
        sum(&rows);
    } else {
        rows.n_floats = (gsize)tile->n_floats;
        for (gint64 i = 0; i < n; i++) {
            sum(&rows);
            move(&rows, tile->n_floats);
            rows.y += phase_floats(tile);
            rows.e0 += cut->repeat;
        }
    }
}

/* Filters n phases from `phase` on. Each output is rotated in its own way. */
static void
filter_apart(const Tile *tile, FirRows rows, gint64 phase, gint64 n)
{
    const gsize step = (gsize)phase_floats(tile);
    const gint64 n_channels = tile->self->shape.design.n_channels;
    const gint64 n_together = is_flat(tile) ? n : 1;
    gsize places[FIR_MAX_PLACES];

    rows.places = places;
    rows.around = is_flat(tile) ? (gsize)n_channels * step : G_MAXSSIZE;
    rows.n_floats = (gsize)(n_together * tile->n_floats);
    for (gint64 t = 0; t < tile->n_outputs; t += FIR_MAX_PLACES) {
        FirRows some = rows;
        some.n_outputs = (gsize)MIN(FIR_MAX_PLACES, tile->n_outputs - t);
        move(&some, t * rows.x_step);
        some.y += t * rows.y_step;
        for (gint64 p = 0; p < n; p += n_together) {
            for (gsize i = 0; i < some.n_outputs; i++) {
                const gint64 rotation =
                    fir_rotation_at(&tile->rotation, tile->first + t + (gint64)i);
                places[i] = (gsize)((phase + p + rotation) % n_channels) * step;
            }
            CT_ISA(ct_fir_rows_apart)(&some);
            move(&some, (gint64)some.n_floats);
            some.e0 += (gsize)n_together * tile->cut->repeat;
        }
    }
}

/* Filters outputs that all are rotated alike. */
static void
filter_alike(const Tile *tile, const FirRows *rows, gint64 phase, gint64 n, gint64 first)
{
    const gint64 n_channels = tile->self->shape.design.n_channels;
    gint64 to = phase;

    if (tile->self->shape.rotates)
        to = (to + fir_rotation_at(&tile->rotation, tile->first + first)) % n_channels;
    const gint64 n_before = MIN(n, n_channels - to);
    filter_phases(tile, *rows, 0, n_before, to);
    if (n_before < n)
        filter_phases(tile, *rows, n_before, n - n_before, 0);
}

/* Filters n phases from `phase` on, whose first cells are at rows.x. Outputs that are as many hops
 * apart as a tap has cells are rotated alike, and share samples if a hop is one cell. */
static void
filter_cells(const Tile *tile, FirRows rows, gint64 phase, gint64 n)
{
    const FirShape *shape = &tile->self->shape;
    const gint64 n_ways = shape->tap_cells;

    if (rotates_apart(shape)) {
        filter_apart(tile, rows, phase, n);
        return;
    }
    for (gint64 way = 0; way < MIN(n_ways, tile->n_outputs); way++) {
        FirRows some = rows;
        move(&some, way * rows.x_step);
        some.y += way * rows.y_step;
        some.x_step *= n_ways;
        some.y_step *= n_ways;
        some.n_outputs = (gsize)((tile->n_outputs - way + n_ways - 1) / n_ways);
        filter_alike(tile, &some, phase, n, way);
    }
}

/* Filters the cells at x, `pitch` elements apart, to y. */
static void
tile_filter(const Tile *tile, const guint8 *x, gint64 pitch, guint8 *y)
{
    const Fir *self = tile->self;
    const FirShape *shape = &self->shape;
    FirRows rows = {
        .h = self->taps,
        .h_pitch = self->taps_pitch,
        .n_taps = (gsize)shape->design.n_taps,
        .float_phase = tile->cut->float_phase,
        .repeat = tile->cut->repeat,
        .e0 = (gsize)(tile->first_sample * (gint64)tile->cut->repeat + tile->first_float),
        .x = x,
        .x_bytes = tile->samples->bytes,
        .x_step = pitch * shape->hop_cells,
        .tap_step = pitch * shape->tap_cells,
        .y = (float *)(y + tile->first * tile->time_out) + tile->first_float,
        .y_step = tile->time_out / (gint64)sizeof(float),
        .n_outputs = (gsize)tile->n_outputs,
        .block = self->block,
    };

    if (is_whole(tile)) {
        filter_cells(tile, rows, 0, shape->design.n_channels);
        return;
    }
    for (gint64 cell = 0; cell < shape->tap_cells; cell++) {
        filter_cells(tile, rows, cell * shape->cell + tile->first_sample, tile->n_samples);
        move(&rows, pitch);
        rows.e0 += (gsize)shape->cell * tile->cut->repeat;
    }
}

/* Gathers units u … u + n − 1 of the cells, then takes them one by one. */
static void
tile_gather(const Tile *tile, const CtBlock *out, const guint8 *x, guint8 *y, gint64 u, gint64 n,
            gint64 n_cells)
{
    const Fir *self = tile->self;
    const FirCut *cut = tile->cut;
    gsize unit = cut->inner * self->shape.element_bytes;
    guint8 *raw = tile->scratch + cut->raw_offset;

    for (gint64 i = 0; i < n_cells; i++)
        CT_ISA(ct_fir_gather)
    (raw + (gsize)(i * tile->n_samples) * unit, cut->raw_pitch,
     x + tile_sample(tile, i) * tile->time_in + u * (gint64)unit, tile->time_in,
     (gsize)tile->n_samples, (gsize)n, unit);
    for (gint64 i = 0; i < n; i++) {
        const guint8 *gathered = raw + (gsize)i * cut->raw_pitch;
        gint64 row = tile->n_samples * tile->n_floats;
        gint64 left = u + i, offset = 0;
        for (guint axis = cut->n_gathered; axis-- > 0; left /= cut->gathered[axis].length)
            offset += left % cut->gathered[axis].length * out->stride[cut->gathered[axis].out];
        if (tile->samples == &self->as_floats) {
            self->as_floats.bring(tile->scratch, gathered, 0, 1, (gsize)(n_cells * row));
            gathered = tile->scratch;
        }
        tile_filter(tile, gathered, row, y + offset);
    }
}

/* Whether the tile is filtered where it stands: samples are summed as they are, as dense as in
 * scratch, and vectors end within the row or the window. */
static gboolean
needs_no_copy(const Tile *tile)
{
    const Fir *self = tile->self;
    if (!self->shape.is_float && tile->samples != &self->as_given)
        return FALSE;
    if (self->shape.apart || tile->time_in % (gint64)tile->samples->bytes != 0)
        return FALSE;
    if (tile->n_samples > 1 && !is_dense(tile))
        return FALSE;
    return tile->n_floats >= FIR_MAX_VECTOR || (is_flat(tile) && !self->shape.rotates &&
                                                tile->n_samples * tile->n_floats >= FIR_MAX_VECTOR);
}

/* Outputs `begin` to `end` of tile `index` of the series at x, to y. */
static void
work_tile(Tile *tile, const CtBlock *out, const guint8 *x, guint8 *y, gint64 index, gint64 begin,
          gint64 end)
{
    const FirShape *shape = &tile->self->shape;
    const FirCut *cut = tile->cut;
    tile->first_sample = index / cut->tiles_per_sample * cut->tile_samples;
    tile->n_samples = MIN(cut->tile_samples, shape->cell - tile->first_sample);
    tile->first_float = index % cut->tiles_per_sample * cut->tile_floats;
    tile->n_floats = MIN(cut->tile_floats, (gint64)cut->repeat - tile->first_float);
    tile->first = begin;
    tile->n_outputs = end - begin;
    tile->samples = samples_of(tile);
    const gint64 n_cells = ct_fir_cells(shape, tile->n_outputs);
    if (cut->gather) {
        for (gint64 u = 0; u < cut->n_units; u += cut->group)
            tile_gather(tile, out, x, y, u, MIN(cut->group, cut->n_units - u), n_cells);
        return;
    }
    x += tile->first_float / (gint64)shape->parts * (gint64)shape->element_bytes;
    if (needs_no_copy(tile)) {
        const gint64 sample = tile->time_in / (gint64)tile->samples->bytes;
        tile_filter(tile, x + tile_sample(tile, 0) * tile->time_in, shape->cell * sample, y);
        return;
    }
    tile_bring(tile, x, n_cells);
    tile_filter(tile, tile->scratch, tile->n_samples * tile->n_floats, y);
}

static gboolean
work(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    const Fir *self = state;
    const CtBlock *in = &work->inputs[0], *out = &work->outputs[0];
    const FirShape *shape = &self->shape;
    const FirCut *cut =
        ct_fir_is_packed(shape, &self->packed, in, out) ? &self->packed : &self->loose;
    Tile tile = {
        .self = self,
        .cut = cut,
        .time_in = in->stride[shape->time_in],
        .time_out = out->stride[shape->time_out],
        .phase_out = out->stride[shape->phase_out],
        .rotation =
            ct_fir_rotation(shape->design.n_channels, shape->design.hop, self->in, in->start),
        .scratch = work->scratch,
    };

    /* The pieces of work are the tiles of each series and, in long firings, of each slice of time.
     * All items have equally many pieces. */
    gint64 n_outputs = out->n_samples, step = cut->tile_outputs;
    gint64 n_slices = CLAMP(n_outputs / step, 1, self->n_items);
    gint64 n_pieces = n_slices * cut->n_outer_items * cut->n_tiles;
    gint64 piece = work->begin * n_pieces / self->n_items;
    gint64 end = work->end * n_pieces / self->n_items;

    while (piece < end) {
        gint64 series = piece / cut->n_tiles, tile_begin = piece % cut->n_tiles;
        gint64 tile_end = MIN(cut->n_tiles, tile_begin + end - piece);
        gint64 slice = series / cut->n_outer_items, left = series % cut->n_outer_items;
        const guint8 *x = in->data;
        guint8 *y = out->data;

        for (guint axis = cut->n_outer; axis-- > 0; left /= cut->outer[axis].length) {
            gint64 index = left % cut->outer[axis].length;
            x += index * in->stride[cut->outer[axis].in];
            y += index * out->stride[cut->outer[axis].out];
        }
        gint64 last = n_outputs * (slice + 1) / n_slices;
        for (gint64 t = n_outputs * slice / n_slices; t < last; t += step)
            for (gint64 index = tile_begin; index < tile_end; index++)
                work_tile(&tile, out, x, y, index, t, MIN(t + step, last));
        piece += tile_end - tile_begin;
    }
    return TRUE;
}

static void
finish(gpointer state)
{
    Fir *self = state;

    if (self == NULL)
        return;
    ct_fir_design_clear(&self->shape.design);
    g_free(self->taps);
    g_free(self->packed.float_phase);
    g_free(self->loose.float_phase);
    g_free(self);
}

static const CtTunable tunables[] = {FIR_TUNABLES(MOST_BLOCK), {NULL}};

static gboolean
differs(G_GNUC_UNUSED const CtNode *nodes, const gint64 *tuning)
{
    return tuning[FIR_BLOCK] <= MOST_BLOCK;
}

/* In rows with time first or last, samples of a window lie close together. */
#define COMPLEX "ci4|ci8|ci16|cf16|cf32"
#define REAL    "i8|i16|u8|f16|f32"

const CtVariant CT_ISA(ct_fir_cpu) = {
    .name = "cpu-" CT_ISA_NAME,
    .backend = CT_CPU,
    .isa = CT_ISA_THIS,
    .covers = (const char *const[]){"fir", NULL},
    .rows =
        (const CtRow[]){
            {COMPLEX "[time ...] -> cf32[time phase ...]", 0.75},
            {COMPLEX "[... time] -> cf32[... time phase]", 0.6},
            {COMPLEX "[time ...] -> cf32[time ... phase]", 0.42},
            {COMPLEX "[time ...] -> cf32[... time phase]", 0.4},
            {COMPLEX "[time ...] -> cf32[phase time ...]", 0.35},
            {COMPLEX "[... time] -> cf32[phase ... time]", 0.09},
            {COMPLEX "[... time] -> cf32[... phase time]", 0.09},
            {COMPLEX "{time ...} -> cf32{time phase ...}", 0.5},
            {REAL "[time ...] -> f32[time phase ...]", 0.5},
            {REAL "[... time] -> f32[... time phase]", 0.6},
            {REAL "[time ...] -> f32[time ... phase]", 0.42},
            {REAL "[time ...] -> f32[... time phase]", 0.4},
            {REAL "[... time] -> f32[phase ... time]", 0.09},
            {REAL "[... time] -> f32[... phase time]", 0.09},
            {REAL "{time ...} -> f32{time phase ...}", 0.5},
            {NULL, 0},
        },
    .tunables = tunables,
    .differs = differs,
    .split = "*",
    .prepare = prepare,
    .work = work,
    .finish = finish,
};
