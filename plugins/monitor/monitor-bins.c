/* SPDX-License-Identifier: BSD-3-Clause */
/* Bins of pictures: how many there are along each axis, and the sums over their elements. */
#include "monitor.h"

#include <math.h>
#include <string.h>

/* A spectrum of fewer bins shows little: other axes are thinned first. */
#define FEW_BINS 16

static gboolean
has_children(const CtStream *stream, const char *name)
{
    for (guint a = 0; a < stream->n_axes; a++)
        if (stream->axes[a].coordinate.unit && stream->axes[a].coordinate.parent == name)
            return TRUE;
    return FALSE;
}

static gsize
count_bins(const MonitorBins *bins)
{
    gsize n = 1;
    for (guint a = 0; a < bins->n_axes; a++)
        n *= (gsize)bins->axes[a].n_bins;
    return n;
}

/* The axis to be made coarser next: the longest of those whose neighbours can be averaged, as long
 * as it is long, then the longest of all. */
static MonitorAxis *
find_longest(MonitorBins *bins)
{
    MonitorAxis *averaged = NULL, *longest = &bins->axes[0];
    for (guint a = 0; a < bins->n_axes; a++) {
        MonitorAxis *axis = &bins->axes[a];
        if (!axis->is_picked && (!averaged || axis->n_bins > averaged->n_bins))
            averaged = axis;
        if (axis->n_bins > longest->n_bins)
            longest = axis;
    }
    return averaged && averaged->n_bins > FEW_BINS ? averaged : longest;
}

static void
choose_sizes(MonitorBins *bins, gsize most)
{
    while (count_bins(bins) > most) {
        MonitorAxis *axis = find_longest(bins);
        axis->size *= 2;
        axis->n_bins = (axis->length + axis->size - 1) / axis->size;
    }
}

/* Finds bin and lane of each element. */
static void
fill_tables(MonitorBins *bins)
{
    gint64 lane_steps[CT_MAX_AXES], index[CT_MAX_AXES] = {0};
    for (guint a = 0; a < bins->n_axes; a++)
        lane_steps[a] =
            ct_stream_lane_step(bins->stream, bins->stream->axes[bins->axes[a].axis].name);
    for (gsize e = 0; e < bins->width; e++) {
        gint64 bin = 0, lane = 0;
        gboolean is_in = TRUE;
        for (guint a = 0; a < bins->n_axes; a++) {
            const MonitorAxis *axis = &bins->axes[a];
            bin = bin * axis->n_bins + index[a] / axis->size;
            lane += index[a] * lane_steps[a];
            is_in = is_in && !(axis->is_picked && index[a] % axis->size > 0);
        }
        bins->bins[e] = is_in ? bin : -1;
        bins->lanes[e] = lane;
        for (guint a = bins->n_axes; a-- > 0 && ++index[a] == bins->axes[a].length;)
            index[a] = 0;
    }
}

gboolean
monitor_bins_init(MonitorBins *bins, const CtStream *stream, gsize most, GError **error)
{
    *bins = (MonitorBins){.stream = stream};
    for (guint a = 0; a < stream->n_axes; a++) {
        const CtAxis *axis = &stream->axes[a];
        if (g_str_equal(axis->name, "time"))
            continue;
        bins->axes[bins->n_axes++] = (MonitorAxis){
            .axis = a,
            .length = axis->length,
            .size = 1,
            .n_bins = axis->length,
            .is_picked = !axis->coordinate.unit || has_children(stream, axis->name),
        };
    }
    bins->width = (gsize)ct_stream_width(stream);
    choose_sizes(bins, most);
    bins->n_bins = count_bins(bins);
    bins->bins = CT_TABLE(gint64, bins->width, "the bins of a picture", error);
    bins->lanes =
        bins->bins ? CT_TABLE(gint64, bins->width, "the lanes of a picture", error) : NULL;
    if (!bins->lanes)
        return FALSE;
    fill_tables(bins);
    return TRUE;
}

void
monitor_bins_clear(MonitorBins *bins)
{
    g_free(bins->bins);
    g_free(bins->lanes);
}

gint
monitor_parent(const MonitorBins *bins, guint a)
{
    const CtCoordinate *coordinate = &bins->stream->axes[bins->axes[a].axis].coordinate;
    for (guint p = 0; p < bins->n_axes && coordinate->unit && coordinate->parent; p++)
        if (bins->stream->axes[bins->axes[p].axis].name == coordinate->parent)
            return (gint)p;
    return -1;
}

gdouble
monitor_coordinate(const MonitorBins *bins, guint a, gint64 bin, gint64 parent)
{
    const MonitorAxis *axis = &bins->axes[a];
    const gint p = monitor_parent(bins, a);
    const gint64 first = bin * axis->size;
    const gint64 last = axis->is_picked ? first : MIN(first + axis->size, axis->length) - 1;
    const gint64 above = p < 0 ? 0 : parent * bins->axes[p].size;
    return (ct_stream_coordinate(bins->stream, axis->axis, first, above) +
            ct_stream_coordinate(bins->stream, axis->axis, last, above)) /
           2;
}

/* ---- sums ---- */

static gboolean
is_valid(const CtBlock *block, gint64 lane, gint64 t)
{
    return !block->validity || block->validity[lane * block->validity_stride + t];
}

void
monitor_sum(const MonitorBins *bins, const CtBlock *block, const gdouble *x, gint64 n,
            MonitorSum *sums)
{
    const guint n_parts = ct_type_info(bins->stream->type)->is_complex ? 2 : 1;
    memset(sums, 0, bins->n_bins * sizeof *sums);
    for (gint64 t = 0; t < n; t++) {
        for (gsize e = 0; e < bins->width; e++, x += n_parts) {
            if (bins->bins[e] < 0)
                continue;
            MonitorSum *sum = &sums[bins->bins[e]];
            sum->all++;
            if (!is_valid(block, bins->lanes[e], t))
                continue;
            const gdouble im = n_parts == 2 ? x[1] : 0;
            sum->valid++;
            sum->re += x[0];
            sum->im += im;
            sum->power += x[0] * x[0] + im * im;
        }
    }
}

/* ---- levels ---- */

/* Integers of few bits have a level each. The levels of other numbers reach to the largest one. */
static void
choose_levels(MonitorLevels *levels, CtType type, gdouble largest)
{
    const CtTypeInfo *info = ct_type_info(type);
    if (!info->is_float && info->part_bits <= 8) {
        *levels = (MonitorLevels){
            .first = info->is_signed ? -(gdouble)(1u << (info->part_bits - 1)) : 0,
            .step = 1,
            .n = 1u << info->part_bits,
        };
        return;
    }
    const guint n = MONITOR_LEVELS / 2 + 1;
    /* Neither beyond the largest number nor below the least one. */
    const gdouble half = (n - 1) / 2, step = largest / half > 0 ? largest / half : 1;
    *levels = (MonitorLevels){.first = -step * half, .step = step, .n = n};
}

static gdouble
find_largest(const gdouble *x, gsize n)
{
    gdouble largest = 0;
    for (gsize i = 0; i < n; i++)
        largest = isfinite(x[i]) ? MAX(largest, fabs(x[i])) : largest;
    return largest;
}

void
monitor_count(const MonitorBins *bins, const CtBlock *block, const gdouble *x, gint64 n,
              MonitorLevels *levels)
{
    const guint n_parts = ct_type_info(bins->stream->type)->is_complex ? 2 : 1;
    choose_levels(levels, bins->stream->type, find_largest(x, (gsize)n * bins->width * n_parts));
    for (gint64 t = 0; t < n; t++)
        for (gsize e = 0; e < bins->width; e++, x += n_parts)
            for (guint k = 0; k < n_parts && is_valid(block, bins->lanes[e], t); k++) {
                const gdouble level = rint(x[k] / levels->step - levels->first / levels->step);
                if (level >= 0 && level < levels->n)
                    levels->counts[(guint)level]++;
            }
}
