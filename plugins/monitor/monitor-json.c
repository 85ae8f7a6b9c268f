/* SPDX-License-Identifier: BSD-3-Clause */
/* A picture as JSON. */
#include "monitor.h"

#include <cornerturn/json.h>
#include <math.h>
#include <string.h>

/* Adds n numbers, in single precision, little-endian, in base64. */
static void
add_numbers(CtJson *json, const char *key, const gfloat *numbers, gsize n)
{
    g_autofree guint32 *words = g_new(guint32, n + 1);
    memcpy(words, numbers, n * sizeof *words);
    for (gsize i = 0; i < n; i++)
        words[i] = GUINT32_TO_LE(words[i]);
    g_autofree char *text = g_base64_encode((const guchar *)words, n * sizeof *words);
    ct_json_add_text(json, key, text);
}

static char *
name_of(const CtLabels *labels, gsize i)
{
    return ct_labels_are_pairs(labels) ? g_strdup_printf("%s-%s", ct_labels_name(labels, i, 0),
                                                         ct_labels_name(labels, i, 1))
                                       : g_strdup(ct_labels_name(labels, i, 0));
}

static void
add_axis(CtJson *json, const MonitorBins *bins, guint a)
{
    const MonitorAxis *axis = &bins->axes[a];
    const CtAxis *of = &bins->stream->axes[axis->axis];
    const gint parent = monitor_parent(bins, a);
    ct_json_begin_object(json, NULL);
    ct_json_add_text(json, "name", of->name);
    ct_json_add_integer(json, "length", axis->n_bins);
    ct_json_add_integer(json, "of", axis->length);
    ct_json_add_integer(json, "step", axis->size);
    ct_json_add_boolean(json, "averaged", !axis->is_picked && axis->size > 1);
    if (of->coordinate.unit) {
        const gint64 n_above = parent < 0 ? 1 : bins->axes[parent].n_bins;
        g_autofree gdouble *coordinates = g_new(gdouble, (gsize)(n_above * axis->n_bins));
        for (gint64 p = 0; p < n_above; p++)
            for (gint64 i = 0; i < axis->n_bins; i++)
                coordinates[p * axis->n_bins + i] = monitor_coordinate(bins, a, i, p);
        ct_json_add_text(json, "unit", of->coordinate.unit);
        if (parent >= 0)
            ct_json_add_text(json, "parent", bins->stream->axes[bins->axes[parent].axis].name);
        ct_json_add_reals(json, "coordinates", coordinates, (gsize)(n_above * axis->n_bins));
    }
    if (of->labels) {
        ct_json_begin_array(json, "labels");
        for (gint64 i = 0; i < axis->n_bins; i++) {
            g_autofree char *name = name_of(of->labels, (gsize)(i * axis->size));
            ct_json_add_text(json, NULL, name);
        }
        ct_json_end_array(json);
    }
    ct_json_end_object(json);
}

static void
add_levels(CtJson *json, const MonitorLevels *levels)
{
    gint64 counts[MONITOR_LEVELS];
    for (guint i = 0; i < levels->n; i++)
        counts[i] = (gint64)levels->counts[i];
    ct_json_begin_object(json, "levels");
    ct_json_add_real(json, "first", levels->first);
    ct_json_add_real(json, "step", levels->step);
    ct_json_add_integers(json, "counts", counts, levels->n);
    ct_json_end_object(json);
}

static void
add_values(CtJson *json, const MonitorBins *bins, const MonitorSum *sums)
{
    const guint n_parts = ct_type_info(bins->stream->type)->is_complex ? 2 : 1;
    g_autofree gfloat *mean = g_new(gfloat, bins->n_bins * n_parts);
    g_autofree gfloat *power = g_new(gfloat, bins->n_bins);
    g_autofree gfloat *valid = g_new(gfloat, bins->n_bins);
    for (gsize b = 0; b < bins->n_bins; b++) {
        const MonitorSum *sum = &sums[b];
        mean[b * n_parts] = (gfloat)(sum->re / sum->valid);
        if (n_parts == 2)
            mean[2 * b + 1] = (gfloat)(sum->im / sum->valid);
        power[b] = (gfloat)(sum->power / sum->valid);
        valid[b] = (gfloat)(sum->valid / sum->all);
    }
    add_numbers(json, "mean", mean, bins->n_bins * n_parts);
    add_numbers(json, "power", power, bins->n_bins);
    add_numbers(json, "valid", valid, bins->n_bins);
}

char *
monitor_to_json(const MonitorBins *bins, const MonitorTime *time, const MonitorSum *sums,
                const MonitorLevels *levels)
{
    const CtStream *stream = bins->stream;
    const CtTypeInfo *type = ct_type_info(stream->type);
    g_autofree char *utc = ct_stream_utc(stream, time->tick);
    CtJson *json = ct_json_new();
    ct_json_add_unsigned(json, "number", time->number);
    ct_json_add_integer(json, "tick", time->tick);
    ct_json_add_text(json, "utc", utc);
    ct_json_add_real(json, "rate", ct_stream_sample_rate(stream));
    ct_json_add_integer(json, "samples", time->n_samples);
    ct_json_add_text(json, "type", type->name);
    ct_json_add_boolean(json, "complex", type->is_complex);
    ct_json_begin_array(json, "axes");
    for (guint a = 0; a < bins->n_axes; a++)
        add_axis(json, bins, a);
    ct_json_end_array(json);
    add_values(json, bins, sums);
    add_levels(json, levels);
    return ct_json_free_to_text(json, FALSE);
}
