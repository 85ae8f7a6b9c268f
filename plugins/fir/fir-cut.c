/* SPDX-License-Identifier: BSD-3-Clause */
/* How the filter on the processor cuts a block into tiles. */
#include "fir-cut.h"

#include "fir-kernels.h"

/* Bytes of neighbouring series that are gathered together: a cache line. */
#define GATHER_BYTES 64
/* Bytes of the widest gathered element. Bytes between gathered series, which keep them in different
 * cache sets. */
#define GATHER_UNIT    16
#define GATHER_PADDING 64
/* Bytes of a row, at least, where samples are not copied: a page of memory. */
#define STANDING_BYTES 4096
/* Samples under a window whose cells are narrower than a vector: if it has more, it is converted
 * by itself. */
#define MOST_WINDOW 16384

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

void
ct_fir_shape(FirShape *shape, const CtBinding *input, const CtBinding *output)
{
    const CtTypeInfo *type = ct_type_info(input->stream->type);
    const gint64 n_channels = shape->design.n_channels, n_taps = shape->design.n_taps;
    const gint64 hop = shape->design.hop;

    shape->is_float = type->is_float && type->part_bits == 32;
    shape->parts = type->is_complex ? 2 : 1;
    shape->element_bytes = type->bytes;
    shape->time_in = (guint)ct_layout_axis(&input->layout, "time");
    shape->time_out = (guint)ct_layout_axis(&output->layout, "time");
    shape->phase_out = (guint)ct_layout_axis(&output->layout, "phase");
    shape->rotates = hop % n_channels != 0;

    shape->cell = greatest_divisor(n_channels, hop);
    shape->apart =
        n_channels * n_taps < hop / 2 ||
        (shape->cell * (gint64)shape->parts < FIR_MAX_VECTOR && n_channels * n_taps > MOST_WINDOW);
    if (shape->apart)
        shape->cell = n_channels;
    shape->tap_cells = n_channels / shape->cell;
    shape->hop_cells = shape->apart ? n_taps : hop / shape->cell;
}

gint64
ct_fir_cells(const FirShape *shape, gint64 n_outputs)
{
    return (n_outputs - 1) * shape->hop_cells + shape->design.n_taps * shape->tap_cells;
}

/* Sorts the axes other than time into inner, gathered and outer ones. All are outer unless
 * `packed`. */
static gboolean
cut_series(const FirShape *shape, FirCut *cut, const CtBinding *input, const CtBinding *output,
           gboolean packed, GError **error)
{
    const CtLayout *in = &input->layout, *out = &output->layout;
    guint axis = in->n_axes, matched = out->n_axes;

    cut->inner = 1;
    cut->n_units = 1;
    cut->n_outer_items = 1;
    for (; packed && axis > 0 && axis - 1 != shape->time_in && matched > 0 &&
           in->axes[axis - 1].name == out->axes[matched - 1].name;
         axis--, matched--)
        cut->inner *= (gsize)ct_stream_length(input->stream, in->axes[axis - 1].name);

    gsize unit = cut->inner * shape->element_bytes;
    gboolean time_next = axis > 0 && axis - 1 == shape->time_in;
    cut->dense = time_next && packed;
    cut->gather = !cut->dense && unit <= GATHER_UNIT && (unit & (unit - 1)) == 0;
    guint first_gathered = axis;
    while (packed && cut->gather && first_gathered > 0 && first_gathered - 1 != shape->time_in)
        first_gathered--;

    for (guint i = 0; i < axis; i++) {
        if (i == shape->time_in)
            continue;
        FirSeries series = {
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
    cut->repeat = cut->inner * shape->parts;
    cut->float_phase = CT_TABLE(int, cut->repeat + FIR_MAX_VECTOR, "phases", error);
    for (gsize i = 0; cut->float_phase && i < cut->repeat + FIR_MAX_VECTOR; i++)
        cut->float_phase[i] = (int)(i / cut->repeat);
    return cut->float_phase != NULL;
}

/* Sizes of tiles for firings of up to `most` outputs. */
static void
cut_tiles(const FirShape *shape, FirCut *cut, gint64 most)
{
    gint64 repeat = (gint64)cut->repeat, row = shape->cell * repeat;
    gint64 part_bytes = (gint64)(shape->element_bytes / shape->parts);

    /* Every cell costs a call, so that the cells are longer if there are few outputs. */
    gboolean grows = shape->hop_cells > 1;
    cut->tile_outputs = MIN(grows ? FIR_MAX_PLACES : shape->aim_outputs, MAX(1, most));
    gint64 n_cells = ct_fir_cells(shape, cut->tile_outputs);
    gint64 aim = MAX(shape->aim_row, shape->aim_floats / n_cells);
    if (shape->is_float ? !cut->gather : shape->stands && cut->dense)
        aim = MAX(aim, STANDING_BYTES / part_bytes);

    cut->tiles_per_sample = MAX(1, (repeat + aim / 2) / aim);
    cut->tile_samples = 1;
    if (cut->tiles_per_sample == 1) {
        gint64 whole = FIR_MAX_VECTOR / greatest_divisor(FIR_MAX_VECTOR, repeat);
        cut->tile_samples = MIN(shape->cell, MAX(whole, aim / repeat / whole * whole));
        cut->tile_floats = repeat;
    } else {
        cut->tile_floats =
            round_up((repeat + cut->tiles_per_sample - 1) / cut->tiles_per_sample, FIR_MAX_VECTOR);
        cut->tiles_per_sample = (repeat + cut->tile_floats - 1) / cut->tile_floats;
    }
    cut->n_tiles =
        (shape->cell + cut->tile_samples - 1) / cut->tile_samples * cut->tiles_per_sample;

    cut->merged = 1;
    if (cut->n_tiles == 1 && shape->tap_cells == 1 && shape->hop_cells == 1 &&
        row < 3 * FIR_MAX_VECTOR && row % FIR_MAX_VECTOR != 0)
        cut->merged = round_up(shape->aim_row, row) / row;
    if (!shape->apart && cut->n_tiles == 1) {
        gint64 fitting = shape->aim_floats / row - shape->design.n_taps * shape->tap_cells;
        cut->tile_outputs = MAX(cut->tile_outputs, fitting / shape->hop_cells);
        n_cells = ct_fir_cells(shape, cut->tile_outputs);
    }

    gint64 n_floats = n_cells * cut->tile_samples * cut->tile_floats + FIR_MAX_VECTOR;
    gsize unit = cut->inner * shape->element_bytes;
    cut->group = MIN(cut->n_units, MAX(1, (gint64)(GATHER_BYTES / unit)));
    cut->raw_offset = (gsize)round_up(n_floats * (gint64)sizeof(float), 64);
    cut->raw_pitch =
        (gsize)round_up(n_cells * cut->tile_samples * (gint64)unit, 64) + GATHER_PADDING;
    cut->scratch_bytes = cut->raw_offset + (cut->gather ? (gsize)cut->group * cut->raw_pitch : 0);
}

gboolean
ct_fir_cut(const FirShape *shape, FirCut *cut, const CtBinding *input, const CtBinding *output,
           gboolean packed, gint64 most, GError **error)
{
    if (!cut_series(shape, cut, input, output, packed, error))
        return FALSE;
    cut_tiles(shape, cut, most);
    return TRUE;
}

gboolean
ct_fir_is_packed(const FirShape *shape, const FirCut *cut, const CtBlock *in, const CtBlock *out)
{
    gint64 bytes_in = (gint64)shape->element_bytes;
    gint64 bytes_out = (gint64)(shape->parts * sizeof(float));
    gint64 inner = (gint64)cut->inner;
    gint64 n_units = cut->n_units;

    for (guint in_axis = in->n_axes, out_axis = out->n_axes; in_axis-- > 0;) {
        if (inner == 1 && n_units == 1)
            break;
        if (in_axis == shape->time_in)
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
