/* SPDX-License-Identifier: BSD-3-Clause */
/* Sources of arrays: the files that a parameter names, in the order of their times, and the
 * description of their stream. */
#include "array-source-private.h"
#include "file-names.h"
#include "receiver.h"
#include "reserved.h"
#include "sidecar-merge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void
ct_arrays_close(CtArrays *arrays)
{
    if (!arrays)
        return;
    for (guint i = 0; i < arrays->n_parts; i++)
        ct_array_part_clear(&arrays->parts[i], arrays->source);
    g_free(arrays->parts);
    ct_stream_clear(&arrays->stream);
    g_clear_pointer(&arrays->gaps, ct_gaps_free);
    g_free(arrays);
}

/* ---- several files ---- */

static gboolean
is_same_stream(const CtArrayPart *a, const CtArrayPart *b)
{
    return ct_layout_equal(&a->file.layout, &b->file.layout) &&
           ct_sidecar_is_alike(&a->stream, &b->stream) && a->file.has_start == b->file.has_start;
}

/* What files of one stream have in common, one text for each fact. */
static GPtrArray *
list_facts(const CtArrayPart *part)
{
    const CtStream *stream = &part->stream;
    GPtrArray *facts = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *axes = ct_stream_describe(stream);
    g_ptr_array_add(facts, ct_layout_to_string(&part->file.layout));
    g_ptr_array_add(facts,
                    g_strdup_printf("%.15g samples per second, %" G_GINT64_FORMAT " ticks a sample",
                                    ct_stream_sample_rate(stream), stream->ticks_per_sample));
    g_ptr_array_add(facts, g_strdup(stream->epoch == CT_NO_EPOCH ? "no UTC" : "a known UTC"));
    g_ptr_array_add(facts, g_strdup(part->file.has_start ? "a start" : "no start"));
    g_ptr_array_add(facts, stream->has_frequency ? g_strdup_printf("%.15g Hz", stream->frequency)
                                                 : g_strdup("no frequency"));
    for (guint a = 0; a < stream->n_axes; a++) {
        const CtAxis *axis = &stream->axes[a];
        const CtCoordinate *at = &axis->coordinate;
        if (strcmp(axis->name, "time") != 0)
            g_ptr_array_add(facts, g_strdup_printf("'%s' of %" G_GINT64_FORMAT
                                                   " from %.15g %s in steps of %.15g",
                                                   axis->name, axis->length, at->first,
                                                   at->unit ? at->unit : "(no unit)", at->step));
    }
    g_ptr_array_add(facts, g_strdup_printf("%s, their labels and tables of coordinates", axes));
    return facts;
}

static gboolean
check_alike(const CtArrays *arrays, GError **error)
{
    const CtArrayPart *first = &arrays->parts[0];
    for (guint i = 0; i < arrays->n_parts; i++) {
        const CtArrayPart *part = &arrays->parts[i];
        if (ct_layout_axis(&part->file.layout, "time") != 0) {
            g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                        "%s: wants time as the slowest axis, for it is one of several files",
                        part->path);
            return FALSE;
        }
        if (is_same_stream(first, part))
            continue;
        g_autoptr(GPtrArray) wanted = list_facts(first);
        g_autoptr(GPtrArray) is = list_facts(part);
        guint i = 0;
        while (i + 1 < MIN(wanted->len, is->len) && g_str_equal(wanted->pdata[i], is->pdata[i]))
            i++;
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                    "%s: wants axes, coordinates and clock as %s has them: %s, but is given %s",
                    part->path, first->path, (char *)wanted->pdata[i],
                    g_str_equal(wanted->pdata[i], is->pdata[i]) ? "others" : (char *)is->pdata[i]);
        return FALSE;
    }
    return TRUE;
}

typedef __int128 Wide;

/* Sets part->first to where it begins in samples of `origin`, and *off to how far this is from a
 * whole one, in seconds. */
static gboolean
place(CtArrayPart *part, const CtArrayPart *origin, gdouble *off)
{
    const CtStream *to = &origin->stream, *of = &part->stream;
    /* In units of 1 / rate_num seconds. */
    const Wide sample = (Wide)to->ticks_per_sample * to->rate_den;
    Wide later = ((Wide)of->start - to->start) * to->rate_den;
    if (to->epoch != CT_NO_EPOCH)
        later += ((Wide)of->epoch - to->epoch) * to->rate_num;
    const Wide half = later < 0 ? -sample / 2 : sample / 2;
    const Wide samples = (later + half) / sample;
    *off = (gdouble)(later - samples * sample) / (gdouble)to->rate_num;
    part->first = (gint64)samples;
    return samples > -(Wide)G_MAXINT64 / 4 && samples < (Wide)G_MAXINT64 / 4;
}

static int
compare_parts(gconstpointer a, gconstpointer b)
{
    const CtArrayPart *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

/* Puts the files in the order of their times. */
static gboolean
order(CtArrays *arrays, GError **error)
{
    CtArrayPart *parts = arrays->parts;
    gdouble off;
    for (guint i = 0; i < arrays->n_parts; i++)
        if (!place(&parts[i], &parts[0], &off)) {
            g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                        "%s: wants to begin near %s, but is given a time far from it",
                        parts[i].path, parts[0].path);
            return FALSE;
        }
    qsort(parts, arrays->n_parts, sizeof *parts, compare_parts);
    for (guint i = arrays->n_parts; i-- > 0;) {
        place(&parts[i], &parts[0], &off);
        /* Both starts may be wrong; a sum of decimal fractions may be off by a little more. */
        const gdouble most = parts[i].file.start_error + parts[0].file.start_error;
        if (fabs(off) <= most * (1 + 1e-9))
            continue;
        g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                    "%s: wants to begin a whole number of samples after %s, but is given a start "
                    "that is %.9g s from one",
                    parts[i].path, parts[0].path, off);
        return FALSE;
    }
    for (guint i = 1; i < arrays->n_parts; i++) {
        const gint64 end = parts[i - 1].first + parts[i - 1].n_samples;
        if (parts[i].first >= end)
            continue;
        g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                    "%s: wants to begin after %s ends, but is given a start %" G_GINT64_FORMAT
                    " samples before its end: they overlap",
                    parts[i].path, parts[i - 1].path, end - parts[i].first);
        return FALSE;
    }
    return TRUE;
}

/* Without starts, files follow one another. */
static gboolean
arrange(CtArrays *arrays, GError **error)
{
    CtArrayPart *parts = arrays->parts;
    if (arrays->n_parts > 1 && !check_alike(arrays, error))
        return FALSE;
    for (guint i = 1; i < arrays->n_parts; i++)
        parts[i].first = parts[i - 1].first + parts[i - 1].n_samples;
    if (arrays->n_parts > 1 && parts[0].file.has_start && !order(arrays, error))
        return FALSE;
    const CtArrayPart *last = &parts[arrays->n_parts - 1];
    if (!__builtin_add_overflow(last->first, last->n_samples, &arrays->n_samples))
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_DATA, "%s: ends after more samples than 63 bits count",
                last->path);
    return FALSE;
}

/* ---- the stream ---- */

/* Joins the invalid samples of the files with those between them. */
static gboolean
join_gaps(CtArrays *arrays, GError **error)
{
    const gint64 n_lanes = ct_stream_n_lanes(&arrays->stream);
    gboolean is_whole = TRUE;
    gint64 end = 0;
    for (guint i = 0; i < arrays->n_parts; i++) {
        is_whole = is_whole && !arrays->parts[i].gaps && arrays->parts[i].first == end;
        end = arrays->parts[i].first + arrays->parts[i].n_samples;
    }
    if (is_whole)
        return TRUE;
    arrays->gaps = ct_gaps_new(n_lanes, error);
    for (gint64 lane = 0; arrays->gaps && lane < n_lanes; lane++) {
        end = 0;
        for (guint i = 0; i < arrays->n_parts; i++) {
            const CtArrayPart *part = &arrays->parts[i];
            gsize n = 0;
            const CtGap *runs = part->gaps ? ct_gaps_of_lane(part->gaps, lane, &n) : NULL;
            ct_gaps_add(arrays->gaps, lane, end, part->first - end);
            for (gsize k = 0; k < n; k++)
                ct_gaps_add(arrays->gaps, lane, part->first + runs[k].first, runs[k].n);
            end = part->first + part->n_samples;
        }
    }
    return arrays->gaps != NULL;
}

static gboolean
describe(CtArrays *arrays, const CtParams *given, GError **error)
{
    const CtArrayPart *first = &arrays->parts[0];
    ct_stream_copy(&arrays->stream, &first->stream);
    const gint time = ct_stream_axis(&arrays->stream, "time");
    if (time >= 0)
        arrays->stream.axes[time].length = arrays->n_samples;
    CtLayout *layout = &arrays->layout;
    *layout = (CtLayout){.types = 1u << first->stream.type};
    for (guint a = 0; a < first->file.layout.n_axes; a++) {
        const CtLayoutAxis *axis = &first->file.layout.axes[a];
        if (axis->count == 0 && strcmp(axis->name, "complex") != 0)
            layout->axes[layout->n_axes++] = *axis;
    }
    return join_gaps(arrays, error) &&
           (!arrays->source->describe || arrays->source->describe(given, &arrays->stream, error));
}

CtArrays *
ct_arrays_open(const CtArraySource *source, const CtParams *given, GError **error)
{
    if (!CT_RESERVED_CHECK(source->name, CtArraySource, source, error))
        return NULL;
    g_autoptr(GPtrArray) names = ct_file_names(given, source->files, error);
    if (!names)
        return NULL;
    for (guint i = 0; i < names->len; i++)
        if (ct_receiver_is(names->pdata[i])) {
            ct_params_error(given, source->files, error,
                            "wants files, but is given '%s': this source does not receive from the "
                            "network",
                            (char *)names->pdata[i]);
            return NULL;
        }
    for (guint i = 0; source->streams && names->len > 1 && i < names->len; i++)
        if (ct_pipe_is(names->pdata[i])) {
            ct_params_error(given, source->files, error,
                            "wants one pipe or files, but is given '%s' among %u paths",
                            (char *)names->pdata[i], names->len);
            return NULL;
        }
    if (names->len == 0) {
        ct_params_error(given, source->files, error, "wants at least one file");
        return NULL;
    }
    g_autoptr(CtArrays) arrays = g_new0(CtArrays, 1);
    arrays->source = source;
    ct_stream_init(&arrays->stream);
    arrays->parts = g_new0(CtArrayPart, names->len);
    for (; arrays->n_parts < names->len;) {
        CtArrayPart *part = &arrays->parts[arrays->n_parts++];
        part->path = g_strdup(names->pdata[arrays->n_parts - 1]);
        if (!ct_array_part_open(part, source, given, error))
            return NULL;
    }
    if (!arrange(arrays, error) || !describe(arrays, given, error))
        return NULL;
    /* Sorting has moved the parts. */
    for (guint i = 0; i < arrays->n_parts; i++)
        arrays->parts[i].file.said = &arrays->parts[i].stream;
    return g_steal_pointer(&arrays);
}

gboolean
ct_array_source_infer(const CtArraySource *source, CtNode *node, GError **error)
{
    g_autoptr(CtArrays) arrays = ct_arrays_open(source, node->params, error);
    if (!arrays)
        return FALSE;
    node->seeks = TRUE;
    ct_stream_copy(&node->outputs[0], &arrays->stream);
    node->output_layouts[0] = arrays->layout;
    return TRUE;
}
