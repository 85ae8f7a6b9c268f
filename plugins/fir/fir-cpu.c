/* SPDX-License-Identifier: BSD-3-Clause */
/* The filter on the processor: tiles of samples are converted to float in scratch, then filtered.
 *
 * Series along time that lie side by side in both blocks, the *inner* ones, are filtered together:
 * tap by tap, a row of P · inner samples is multiplied and added, and nothing is moved. A tile is a
 * piece of such rows over a few dozen outputs: some phases, or some inner series of one phase. Its
 * rows lie densely in scratch, and each sample is converted once a tile. Series that lie side by
 * side in the input but not in the output (time is first in the input, phase is last in the output)
 * are *gathered* in their narrow type before they are converted. */
#include "fir-kernels.h"
#include "fir.h"

/* The most outputs whose sums have registers. */
#define MOST_BLOCK (CT_VECTOR_BYTES == 64 ? 16 : 8)
/* Outputs of a tile if their windows share no rows. */
#define TILE_WINDOWS 16
/* Bytes of neighbouring series that are gathered together: a cache line. */
#define GATHER_BYTES 64
/* Bytes of the widest gathered element. Bytes between gathered series, which keep them in different
 * cache sets. */
#define GATHER_UNIT    16
#define GATHER_PADDING 64

typedef struct {
    gint64 length;
    guint in, out; /* where it stands in the layouts */
} SeriesAxis;

/* How the series and rows are cut; `Fir` has one for packed blocks and one for any strides. */
typedef struct {
    SeriesAxis outer[CT_MAX_AXES]; /* one after another, slowest first */
    guint n_outer;
    gint64 n_outer_items;
    SeriesAxis gathered[CT_MAX_AXES]; /* side by side in the input, slowest first */
    guint n_gathered;
    gint64 n_units;
    gint64 group; /* units that are gathered together */
    gboolean gather;
    gsize inner;
    gsize repeat;     /* floats of a phase: inner series times parts */
    int *float_phase; /* [repeat + FIR_MAX_VECTOR] j / repeat */

    gint64 tile_phases;     /* phases of a tile, */
    gint64 tile_floats;     /* floats of one of them, */
    gint64 tiles_per_phase; /* tiles that a phase's floats take, */
    gint64 n_tiles;         /* tiles that a row takes */
    gint64 tile_outputs;    /* outputs of a tile, of one of n_streams */
    gint64 merged;          /* rows taken as one where a row is narrower than a vector; else 1 */
    gint64 n_rows;          /* at most, of a tile */
    gsize pitch;            /* floats from row to row in scratch */
    gsize raw_offset;       /* bytes, of the gathered samples in scratch */
    gsize raw_pitch;        /* bytes from one gathered unit to the next */
} Cut;

typedef struct {
    FirDesign design;
    float *taps; /* [tap taps_pitch], the phases over and over */
    gsize taps_pitch;
    FirConvert convert;
    gsize parts;         /* 2 for complex samples */
    gsize element_bytes; /* of an input sample */
    guint time_in, time_out, phase_out;
    const CtStream *in;

    /* Outputs v, v + n_streams, … are rotated alike and share rows, which are P samples apart; from
     * one of these outputs to the next there are row_step rows. If outputs share nothing, `apart`
     * is set, row_step is n_taps, and n_streams is 1. */
    gint64 n_streams, row_step;
    gboolean apart, rotates;

    gint64 aim_outputs, aim_row, aim_floats; /* of a tile */
    gsize block;
    Cut packed, loose;
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

static gint64
greatest_divisor(gint64 a, gint64 b)
{
    while (b != 0) {
        gint64 rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static gint64
round_up(gint64 n, gint64 unit)
{
    return (n + unit - 1) / unit * unit;
}

/* Sorts the axes other than time into inner, gathered and outer ones. All are outer unless
 * `packed`. */
static gboolean
cut_series(const Fir *self, Cut *cut, const CtBinding *input, const CtBinding *output,
           gboolean packed, GError **error)
{
    const CtLayout *in = &input->layout, *out = &output->layout;
    guint axis = in->n_axes, matched = out->n_axes;

    cut->inner = 1;
    cut->n_units = 1;
    cut->n_outer_items = 1;
    for (; packed && axis > 0 && axis - 1 != self->time_in && matched > 0 &&
           in->axes[axis - 1].name == out->axes[matched - 1].name;
         axis--, matched--)
        cut->inner *= (gsize)ct_stream_length(input->stream, in->axes[axis - 1].name);

    gsize unit = cut->inner * self->element_bytes;
    gboolean time_next = axis > 0 && axis - 1 == self->time_in;
    cut->gather = !(time_next && packed) && unit <= GATHER_UNIT && (unit & (unit - 1)) == 0;
    guint first_gathered = axis;
    while (packed && cut->gather && first_gathered > 0 && first_gathered - 1 != self->time_in)
        first_gathered--;

    for (guint i = 0; i < axis; i++) {
        if (i == self->time_in)
            continue;
        SeriesAxis series = {
            .length = ct_stream_length(input->stream, in->axes[i].name),
            .in = i,
            .out = (guint)ct_layout_axis(out, in->axes[i].name),
        };
        if (i >= first_gathered) {
            cut->gathered[cut->n_gathered++] = series;
            cut->n_units *= series.length;
        } else {
            cut->outer[cut->n_outer++] = series;
            cut->n_outer_items *= series.length;
        }
    }
    cut->repeat = cut->inner * self->parts;
    cut->float_phase = CT_TABLE(int, cut->repeat + FIR_MAX_VECTOR, "phases", error);
    for (gsize i = 0; cut->float_phase && i < cut->repeat + FIR_MAX_VECTOR; i++)
        cut->float_phase[i] = (int)(i / cut->repeat);
    return cut->float_phase != NULL;
}

/* Sizes of tiles for firings of up to `most` outputs, and how rows lie in scratch. */
static void
cut_tiles(const Fir *self, Cut *cut, gint64 most)
{
    gint64 n_channels = self->design.n_channels, n_taps = self->design.n_taps;
    gint64 repeat = (gint64)cut->repeat, row = n_channels * repeat;

    /* Every row costs a call, so that the rows are longer if there are few outputs. */
    cut->tile_outputs = MIN(self->apart ? TILE_WINDOWS : self->aim_outputs,
                            MAX(1, (most + self->n_streams - 1) / self->n_streams));
    cut->n_rows = (cut->tile_outputs - 1) * self->row_step + n_taps;
    gint64 aim = MAX(self->aim_row, self->aim_floats / cut->n_rows);

    cut->tiles_per_phase = MAX(1, (repeat + aim / 2) / aim);
    cut->tile_phases = 1;
    if (cut->tiles_per_phase == 1) {
        gint64 whole = FIR_MAX_VECTOR / greatest_divisor(FIR_MAX_VECTOR, repeat);
        cut->tile_phases = MIN(n_channels, MAX(whole, aim / repeat / whole * whole));
        cut->tile_floats = repeat;
    } else {
        cut->tile_floats =
            round_up((repeat + cut->tiles_per_phase - 1) / cut->tiles_per_phase, FIR_MAX_VECTOR);
        cut->tiles_per_phase = (repeat + cut->tile_floats - 1) / cut->tile_floats;
    }
    cut->n_tiles = (n_channels + cut->tile_phases - 1) / cut->tile_phases * cut->tiles_per_phase;
    cut->pitch = (gsize)(cut->tile_phases * cut->tile_floats);

    cut->merged = 1;
    if (cut->n_tiles == 1 && self->n_streams == 1 && self->row_step == 1 && !self->rotates &&
        row < 3 * FIR_MAX_VECTOR && row % FIR_MAX_VECTOR != 0)
        cut->merged = round_up(self->aim_row, row) / row;
    if (!self->apart && cut->n_tiles == 1) {
        cut->tile_outputs = MAX(self->aim_outputs,
                                (self->aim_floats / (gint64)cut->pitch - n_taps) / self->row_step);
        cut->n_rows = (cut->tile_outputs - 1) * self->row_step + n_taps;
    }

    gsize unit = cut->inner * self->element_bytes;
    cut->group = MIN(cut->n_units, MAX(1, (gint64)(GATHER_BYTES / unit)));
    cut->raw_offset = (gsize)round_up(
        (cut->n_rows * (gint64)cut->pitch + FIR_MAX_VECTOR) * (gint64)sizeof(float), 64);
    cut->raw_pitch =
        (gsize)round_up(cut->n_rows * cut->tile_phases * (gint64)unit, 64) + GATHER_PADDING;
}

static gsize
cut_scratch(const Cut *cut)
{
    return cut->raw_offset + (cut->gather ? (gsize)cut->group * cut->raw_pitch : 0);
}

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    const CtBinding *input = &prepare->inputs[0], *output = &prepare->outputs[0];
    const CtTypeInfo *type = ct_type_info(input->stream->type);
    Fir *self = *state = g_new0(Fir, 1);
    FirDesign *design = &self->design;

    if (!ct_fir_design_init(design, &prepare->nodes[0], error))
        return FALSE;
    for (gsize i = 0; i < G_N_ELEMENTS(converters); i++)
        if (converters[i].type == input->stream->type)
            self->convert =
                G_STRUCT_MEMBER(FirConvert, &CT_ISA(ct_fir_converters), converters[i].converter);
    self->aim_outputs = prepare->tuning[FIR_OUTPUTS];
    self->aim_row = prepare->tuning[FIR_ROW];
    self->aim_floats = prepare->tuning[FIR_FLOATS];
    self->block = (gsize)prepare->tuning[FIR_BLOCK];
    self->parts = type->is_complex ? 2 : 1;
    self->element_bytes = type->bytes;
    self->in = input->stream;
    self->rotates = design->hop % design->n_channels != 0;
    self->time_in = (guint)ct_layout_axis(&input->layout, "time");
    self->time_out = (guint)ct_layout_axis(&output->layout, "time");
    self->phase_out = (guint)ct_layout_axis(&output->layout, "phase");

    gint64 divisor = greatest_divisor(design->n_channels, design->hop);
    self->n_streams = design->n_channels / divisor;
    self->row_step = design->hop / divisor;
    self->apart = self->row_step >= design->n_taps;
    if (self->apart) {
        self->n_streams = 1;
        self->row_step = design->n_taps;
    }

    if (!cut_series(self, &self->packed, input, output, TRUE, error) ||
        !cut_series(self, &self->loose, input, output, FALSE, error))
        return FALSE;
    cut_tiles(self, &self->packed, output->max_samples);
    cut_tiles(self, &self->loose, output->max_samples);
    prepare->scratch_bytes = MAX(cut_scratch(&self->packed), cut_scratch(&self->loose));

    /* Vectors may begin at any phase. In merged rows they may begin beyond the last phase. */
    gint64 widest = MAX(self->packed.merged, self->loose.merged) * design->n_channels;
    self->taps_pitch = (gsize)round_up(widest + FIR_MAX_VECTOR, FIR_MAX_VECTOR);
    self->taps = CT_TABLE(float, (gsize)design->n_taps * self->taps_pitch, "coefficients", error);
    if (!self->taps)
        return FALSE;
    for (gsize k = 0; k < (gsize)design->n_taps; k++)
        for (gsize p = 0; p < self->taps_pitch; p++)
            self->taps[k * self->taps_pitch + p] =
                design->taps[k * (gsize)design->n_channels + p % (gsize)design->n_channels];

    self->n_items = prepare->n_items;
    return TRUE;
}

/* A tile: floats first_float … of each of n_phases phases, outputs `first`, first + n_streams, … */
typedef struct {
    const Fir *self;
    const Cut *cut;
    gint64 time_in, time_out, phase_out; /* strides */
    gint64 first, n_outputs;
    gint64 first_phase, n_phases, first_float, n_floats;
    FirRotation rotation;
    gint64 to; /* phase of the first output that the first phase becomes */
    guint8 *scratch;
} Tile;

/* Sample at which row `row` begins. */
static gint64
tile_sample(const Tile *tile, gint64 row)
{
    const FirDesign *design = &tile->self->design;
    gint64 output = tile->first, tap = row;

    if (tile->self->apart) {
        output += row / design->n_taps;
        tap = row % design->n_taps;
    }
    return output * design->hop + tap * design->n_channels + tile->first_phase;
}

/* Converts the tile's rows, of the series at x, into scratch; returns floats from row to row. */
static gsize
tile_convert(const Tile *tile, const guint8 *x, gint64 n_rows)
{
    const Fir *self = tile->self;
    const Cut *cut = tile->cut;
    float *to = (float *)tile->scratch;
    gsize row = (gsize)(tile->n_phases * tile->n_floats);
    gboolean dense = tile->time_in == (gint64)(cut->inner * self->element_bytes) &&
                     tile->n_floats == (gint64)cut->repeat;

    x += tile->first_float / (gint64)self->parts * (gint64)self->element_bytes;
    if (dense && !self->apart && tile->n_phases == self->design.n_channels) {
        self->convert(to, x + tile_sample(tile, 0) * tile->time_in, 0, 1, (gsize)n_rows * row);
        return row;
    }
    for (gint64 i = 0; i < n_rows; i++, to += row) {
        const guint8 *from = x + tile_sample(tile, i) * tile->time_in;
        if (dense)
            self->convert(to, from, 0, 1, row);
        else
            self->convert(to, from, tile->time_in, (gsize)tile->n_phases, (gsize)tile->n_floats);
    }
    return row;
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

/* Filters n phases, from the tile's phase p on, to the output's phases from `to` on. */
static void
filter_phases(const Tile *tile, FirRows rows, gint64 p, gint64 n, gint64 to)
{
    const Cut *cut = tile->cut;
    gint64 row = n * tile->n_floats;

    rows.x += p * tile->n_floats;
    rows.e0 += (gsize)p * cut->repeat;
    rows.y += to * phase_floats(tile);
    rows.n_floats = (gsize)row;
    if (is_flat(tile) && cut->merged > 1 && rows.y_step == row) {
        gint64 n_whole = tile->n_outputs / cut->merged, rest = tile->n_outputs % cut->merged;
        rows.x_step = rows.y_step = cut->merged * row;
        rows.n_floats = (gsize)(cut->merged * row);
        rows.n_outputs = (gsize)n_whole;
        CT_ISA(ct_fir_rows)(&rows);
        rows.x += n_whole * rows.x_step;
        rows.y += n_whole * rows.y_step;
        rows.n_floats = (gsize)(rest * row);
        rows.n_outputs = 1;
        if (rest > 0)
            CT_ISA(ct_fir_rows)(&rows);
    } else if (is_flat(tile) || n == 1) {
        CT_ISA(ct_fir_rows)(&rows);
    } else {
        rows.n_floats = (gsize)tile->n_floats;
        for (gint64 i = 0; i < n; i++) {
            CT_ISA(ct_fir_rows)(&rows);
            rows.x += tile->n_floats;
            rows.y += phase_floats(tile);
            rows.e0 += cut->repeat;
        }
    }
}

/* Filters all phases. Each output is rotated in its own way. */
static void
filter_apart(const Tile *tile, FirRows rows)
{
    const gsize phase = (gsize)phase_floats(tile);
    const gsize whole = (gsize)tile->self->design.n_channels * phase;
    gint64 n_together = is_flat(tile) ? tile->n_phases : 1;
    gsize places[TILE_WINDOWS];
    FirRotation rotation = tile->rotation;

    rotation.first = tile->to;
    for (gint64 i = 0; i < tile->n_outputs; i++)
        places[i] = (gsize)fir_rotation_at(&rotation, i) * phase;
    rows.n_floats = (gsize)(n_together * tile->n_floats);
    rows.places = places;
    rows.around = is_flat(tile) ? whole : G_MAXSSIZE;
    for (gint64 p = 0; p < tile->n_phases; p += n_together) {
        CT_ISA(ct_fir_rows_apart)(&rows);
        rows.x += rows.n_floats;
        rows.e0 += (gsize)n_together * tile->cut->repeat;
        for (gint64 i = 0; i < tile->n_outputs; i++)
            places[i] = places[i] + phase < whole ? places[i] + phase : 0;
    }
}

/* Filters the rows in scratch to y. */
static void
tile_filter(const Tile *tile, guint8 *y, gsize pitch)
{
    const Fir *self = tile->self;
    const FirRows rows = {
        .h = self->taps,
        .h_pitch = self->taps_pitch,
        .n_taps = (gsize)self->design.n_taps,
        .float_phase = tile->cut->float_phase,
        .repeat = tile->cut->repeat,
        .e0 = (gsize)(tile->first_phase * (gint64)tile->cut->repeat + tile->first_float),
        .x = (const float *)tile->scratch,
        .x_step = (gint64)pitch * self->row_step,
        .tap_step = (gint64)pitch,
        .y = (float *)(y + tile->first * tile->time_out) + tile->first_float,
        .y_step = self->n_streams * tile->time_out / (gint64)sizeof(float),
        .n_outputs = (gsize)tile->n_outputs,
        .block = self->block,
    };

    if (self->apart && self->rotates) {
        filter_apart(tile, rows);
        return;
    }
    gint64 n = MIN(tile->n_phases, self->design.n_channels - tile->to);
    filter_phases(tile, rows, 0, n, tile->to);
    if (n < tile->n_phases)
        filter_phases(tile, rows, n, tile->n_phases - n, 0);
}

/* Gathers units u … u + n − 1 of the rows, then takes them one by one. */
static void
tile_gather(const Tile *tile, const CtBlock *out, const guint8 *x, guint8 *y, gint64 u, gint64 n,
            gint64 n_rows)
{
    const Fir *self = tile->self;
    const Cut *cut = tile->cut;
    gsize unit = cut->inner * self->element_bytes;
    guint8 *raw = tile->scratch + cut->raw_offset;

    for (gint64 i = 0; i < n_rows; i++)
        CT_ISA(ct_fir_gather)
    (raw + (gsize)(i * tile->n_phases) * unit, cut->raw_pitch,
     x + tile_sample(tile, i) * tile->time_in + u * (gint64)unit, tile->time_in,
     (gsize)tile->n_phases, (gsize)n, unit);
    for (gint64 i = 0; i < n; i++) {
        gsize row = (gsize)(tile->n_phases * tile->n_floats);
        gint64 left = u + i, offset = 0;
        for (guint axis = cut->n_gathered; axis-- > 0; left /= cut->gathered[axis].length)
            offset += left % cut->gathered[axis].length * out->stride[cut->gathered[axis].out];
        self->convert((float *)tile->scratch, raw + (gsize)i * cut->raw_pitch, 0, 1,
                      (gsize)n_rows * row);
        tile_filter(tile, y + offset, row);
    }
}

/* Outputs `begin` to `end` of tile `index` of the series at x, to y. */
static void
work_tile(Tile *tile, const CtBlock *out, const guint8 *x, guint8 *y, gint64 index, gint64 begin,
          gint64 end)
{
    const Fir *self = tile->self;
    const Cut *cut = tile->cut;
    tile->first_phase = index / cut->tiles_per_phase * cut->tile_phases;
    tile->n_phases = MIN(cut->tile_phases, self->design.n_channels - tile->first_phase);
    tile->first_float = index % cut->tiles_per_phase * cut->tile_floats;
    tile->n_floats = MIN(cut->tile_floats, (gint64)cut->repeat - tile->first_float);
    for (gint64 stream = 0; stream < self->n_streams && begin + stream < end; stream++) {
        tile->first = begin + stream;
        tile->n_outputs = (end - begin - stream + self->n_streams - 1) / self->n_streams;
        tile->to = tile->first_phase;
        if (self->rotates)
            tile->to = (tile->to + fir_rotation_at(&tile->rotation, tile->first)) %
                       self->design.n_channels;
        gint64 n_rows = (tile->n_outputs - 1) * self->row_step + self->design.n_taps;
        if (cut->gather)
            for (gint64 u = 0; u < cut->n_units; u += cut->group)
                tile_gather(tile, out, x, y, u, MIN(cut->group, cut->n_units - u), n_rows);
        else
            tile_filter(tile, y, tile_convert(tile, x, n_rows));
    }
}

/* Whether the inner and gathered series lie as densely as the cut `packed` needs. */
static gboolean
is_packed(const Fir *self, const CtBlock *in, const CtBlock *out)
{
    gint64 bytes_in = (gint64)self->element_bytes;
    gint64 bytes_out = (gint64)(self->parts * sizeof(float));
    gint64 inner = (gint64)self->packed.inner;
    gint64 n_units = self->packed.n_units;

    for (guint in_axis = in->n_axes, out_axis = out->n_axes; in_axis-- > 0;) {
        if (inner == 1 && n_units == 1)
            break;
        if (in_axis == self->time_in)
            return FALSE;
        if (in->stride[in_axis] != bytes_in && in->length[in_axis] > 1)
            return FALSE;
        bytes_in *= in->length[in_axis];
        if (inner > 1) {
            out_axis--;
            if (out->stride[out_axis] != bytes_out && out->length[out_axis] > 1)
                return FALSE;
            bytes_out *= out->length[out_axis];
            inner /= in->length[in_axis];
        } else {
            n_units /= in->length[in_axis];
        }
    }
    return TRUE;
}

static gboolean
work(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    const Fir *self = state;
    const CtBlock *in = &work->inputs[0], *out = &work->outputs[0];
    const Cut *cut = is_packed(self, in, out) ? &self->packed : &self->loose;
    Tile tile = {
        .self = self,
        .cut = cut,
        .time_in = in->stride[self->time_in],
        .time_out = out->stride[self->time_out],
        .phase_out = out->stride[self->phase_out],
        .rotation = ct_fir_rotation(self->design.n_channels, self->design.hop, self->in, in->start),
        .scratch = work->scratch,
    };

    /* The pieces of work are the tiles of each series and, in long firings, of each slice of time.
     * All items have equally many pieces. */
    gint64 n_outputs = out->n_samples, step = cut->tile_outputs * self->n_streams;
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
    ct_fir_design_clear(&self->design);
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
