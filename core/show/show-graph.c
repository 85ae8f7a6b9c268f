/* SPDX-License-Identifier: BSD-3-Clause */
/* The graph that reads a file for a picture: its source, a selection, spectra of voltages. */
#include "show-view.h"

#include <cornerturn/json.h>
#include <math.h>
#include <string.h>

enum { N_TAPS = 4, LEAST_CHANNELS = 16, MOST_CHANNELS = 1024, SPECTRA = 64 };

/* Seconds for which one of two outputs is waited for. */
#define TURN 0.01

static void
begin_node(CtJson *json, const char *name, const char *stage, const char *from)
{
    ct_json_begin_object(json, name);
    ct_json_add_text(json, "stage", stage);
    if (from)
        ct_json_add_text(json, "from", from);
}

static void
add_node(CtJson *json, const char *name, const char *stage, const char *from)
{
    begin_node(json, name, stage, from);
    ct_json_end_object(json);
}

/* The source and the selection; returns the name of the last node. */
static const char *
add_source(CtJson *json, const CtShow *show)
{
    ct_json_begin_object(json, "file");
    ct_json_add_text(json, "stage", show->stage ? show->stage : "file.source");
    if (show->paths[1]) {
        ct_json_begin_array(json, "path");
        for (guint i = 0; show->paths[i]; i++)
            ct_json_add_text(json, NULL, show->paths[i]);
        ct_json_end_array(json);
    } else {
        ct_json_add_text(json, "path", show->paths[0]);
    }
    ct_json_end_object(json);
    if (!show->selections || !show->selections[0])
        return "file";
    add_node(json, "part", "select", "file");
    return "part";
}

static gboolean
set_all(CtPipeline *pipeline, const char *node, const char *const *settings, GError **error)
{
    for (guint i = 0; settings && settings[i]; i++) {
        const char *equals = strchr(settings[i], '=');
        if (!equals || equals == settings[i]) {
            g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER,
                        "%s wants PARAMETER=VALUE, but is given '%s'",
                        g_str_equal(node, "part") ? "--select" : "--set", settings[i]);
            return FALSE;
        }
        g_autofree char *assignment = g_strdup_printf("%s.%s", node, settings[i]);
        if (!ct_pipeline_set(pipeline, assignment, error))
            return FALSE;
    }
    return TRUE;
}

static CtPipeline *
make_pipeline(CtJson *json, const CtShow *show, GError **error)
{
    ct_json_end_object(json);
    g_autofree char *text = ct_json_free_to_text(json, TRUE);
    g_autoptr(CtPipeline) pipeline = ct_pipeline_parse(text, -1, CT_SHOW_GRAPH, error);
    if (!pipeline || !ct_pipeline_set_reads_pipes(pipeline, FALSE, error) ||
        !set_all(pipeline, "file", show->settings, error) ||
        !set_all(pipeline, "part", show->selections, error))
        return NULL;
    return g_steal_pointer(&pipeline);
}

static CtJson *
begin_graph(void)
{
    CtJson *json = ct_json_new();
    ct_json_begin_object(json, "stages");
    return json;
}

/* What is shown of the file, before anything is made of it. */
static gboolean
find_stream(CtStream *stream, const CtShow *show, GError **error)
{
    CtJson *json = begin_graph();
    const char *last = add_source(json, show);
    add_node(json, "shown", "output", last);
    g_autoptr(CtPipeline) pipeline = make_pipeline(json, show, error);
    const CtStream *found = pipeline ? ct_pipeline_stream(pipeline, last, NULL, error) : NULL;
    if (!found)
        return FALSE;
    ct_stream_copy(stream, found);
    return TRUE;
}

/* ---- voltages ---- */

/* Whether the samples are voltages: along time, without axes of what is made of voltages. Integers
 * are, and complex samples; real numbers only where nothing but receivers can have made them. */
static gboolean
are_voltages(const CtStream *stream)
{
    static const char *const made[] = {"channel", "phase",  "tap",     "bin",
                                       "dm",      "stokes", "baseline"};
    for (guint i = 0; i < G_N_ELEMENTS(made); i++)
        if (ct_stream_axis(stream, made[i]) >= 0)
            return FALSE;
    const CtTypeInfo *info = ct_type_info(stream->type);
    const gboolean is_signed = info->is_complex || (!info->is_float && info->is_signed);
    const gboolean may_be = is_signed || (info->is_float && ct_stream_axis(stream, "beam") < 0);
    return may_be && ct_stream_axis(stream, "time") == 0 && ct_stream_sample_rate(stream) > 0;
}

/* Channels of spectra of voltages; 0: none are made. */
static gint64
choose_channels(const CtStream *stream, const CtShow *show)
{
    if (show->n_channels)
        return show->n_channels;
    if (show->quantity || show->axes || !are_voltages(stream))
        return 0;
    const gint64 n = stream->axes[0].length;
    gint64 channels = MOST_CHANNELS;
    while (n >= 0 && channels > LEAST_CHANNELS && channels * SPECTRA > n)
        channels /= 2;
    return n >= 0 && channels * N_TAPS > n ? 0 : channels;
}

/* ---- the graph ---- */

/* Of enough bits for sums. */
static CtType
wide_type(CtType type)
{
    const CtTypeInfo *info = ct_type_info(type);
    const gboolean is_long = info->part_bits > (info->is_float ? 32 : 24);
    if (info->is_complex)
        return is_long ? CT_CF64 : CT_CF32;
    return is_long ? CT_F64 : CT_F32;
}

/* A conversion where one is needed; returns the name of the last node. */
static const char *
add_wide(CtJson *json, CtType type, const char *name, const char *from)
{
    const CtType wide = wide_type(type);
    if (wide == type)
        return from;
    begin_node(json, name, "convert", from);
    ct_json_add_text(json, "type", ct_type_info(wide)->name);
    ct_json_end_object(json);
    return name;
}

static const char *
add_spectra(CtJson *json, const CtStream *stream, gint64 n_channels, const char *from)
{
    begin_node(json, "filter", "fir", from);
    ct_json_add_integer(json, "n_channels", n_channels);
    ct_json_add_integer(json, "n_taps", N_TAPS);
    ct_json_end_object(json);
    begin_node(json, "spectra", "fft", "filter");
    if (ct_type_info(stream->type)->is_complex)
        ct_json_add_boolean(json, "shift", TRUE);
    ct_json_end_object(json);
    add_node(json, "power", "power", "spectra");
    return "power";
}

/* Time first, then the other axes in their order, from which cells are filled. `is_split`: with the
 * new axis channel; `is_merged`: without subbands. */
static void
add_output(CtJson *json, const char *name, const char *from, const CtStream *stream, CtType type,
           gboolean is_split, gboolean is_merged)
{
    g_autoptr(GString) axes = g_string_new(NULL);
    for (guint a = 0; a < stream->n_axes; a++) {
        if (!is_merged || !g_str_equal(stream->axes[a].name, "subband"))
            g_string_append_printf(axes, "%s%s", axes->len ? " " : "", stream->axes[a].name);
        if (a == 0 && is_split)
            g_string_append(axes, " channel");
    }
    g_autofree char *layout = g_strdup_printf("%s[%s]", ct_type_info(type)->name, axes->str);
    begin_node(json, name, "output", from);
    ct_json_add_text(json, "layout", layout);
    ct_json_end_object(json);
}

/* Makes the graph, and tells the node whose stream is shown. */
static CtPipeline *
make_graph(const CtStream *stream, gint64 n_channels, const CtShow *show, const char **last,
           GError **error)
{
    CtJson *json = begin_graph();
    const char *from = add_source(json, show), *given = from;
    const gboolean has_channels = n_channels || ct_stream_axis(stream, "channel") >= 0;
    const gboolean is_merged = has_channels && ct_stream_axis(stream, "subband") >= 0;
    from = n_channels ? add_spectra(json, stream, n_channels, from)
                      : add_wide(json, stream->type, "wide", from);
    if (is_merged)
        add_node(json, "band", "merge", from);
    *last = is_merged ? "band" : from;
    add_output(json, "shown", *last, stream, n_channels ? CT_F32 : wide_type(stream->type),
               n_channels > 0, is_merged);
    if (n_channels)
        add_output(json, "levels", add_wide(json, stream->type, "wide", given), stream,
                   wide_type(stream->type), FALSE, FALSE);
    return make_pipeline(json, show, error);
}

/* ---- reading ---- */

typedef struct {
    CtPipeline *pipeline;
    CtShowView *view;
    const CtStream *voltages; /* NULL: they are not counted */
} Reading;

/* Takes what the output has. *is_over: it has ended. */
static gboolean
take(const Reading *reading, const char *name, gdouble seconds, gboolean *is_over, GError **error)
{
    g_autoptr(GError) cause = NULL;
    CtBlock block;
    if (!ct_pipeline_take(reading->pipeline, name, seconds, &block, &cause)) {
        if (!cause)
            return TRUE;
        g_propagate_error(error, g_steal_pointer(&cause));
        return FALSE;
    }
    *is_over = block.n_samples == 0;
    if (*is_over)
        return TRUE;
    if (g_str_equal(name, "levels"))
        ct_show_view_count(reading->view, reading->voltages, &block);
    else
        ct_show_view_add(reading->view, &block);
    ct_pipeline_give_back(reading->pipeline, name);
    return TRUE;
}

static gboolean
take_all(const Reading *reading, GError **error)
{
    gboolean is_shown = FALSE, is_counted = reading->voltages == NULL;
    while (!is_shown || !is_counted) {
        const gdouble seconds = is_shown || is_counted ? -1 : TURN;
        if ((!is_shown && !take(reading, "shown", seconds, &is_shown, error)) ||
            (!is_counted && !take(reading, "levels", seconds, &is_counted, error)))
            return FALSE;
    }
    return ct_pipeline_wait(reading->pipeline, -1) && ct_pipeline_result(reading->pipeline, error);
}

/* Levels of integers have a cell each, if these are few. */
static gdouble
first_range(CtType type)
{
    const CtTypeInfo *info = ct_type_info(type);
    return info->is_float ? 0x1p-10 : 128;
}

static gboolean
are_counts(CtType type)
{
    const CtTypeInfo *info = ct_type_info(type);
    return !info->is_float && !info->is_complex && info->part_bits >= 32;
}

gboolean
ct_show_read(CtShowView *view, const CtShow *show, CtShowDivide divide, char ***warnings,
             GError **error)
{
    CtStream stream;
    ct_stream_init(&stream);
    if (!find_stream(&stream, show, error))
        return FALSE;
    const char *last;
    const gint64 n_channels = choose_channels(&stream, show);
    g_autoptr(CtPipeline) pipeline = make_graph(&stream, n_channels, show, &last, error);
    const CtStream *shown = pipeline ? ct_pipeline_stream(pipeline, last, NULL, error) : NULL;
    gboolean is_good = shown && ct_show_view_init(view, shown, show, error);
    if (is_good) {
        view->is_spectrum = n_channels > 0;
        view->range = first_range(stream.type);
        view->are_counts = are_counts(stream.type);
        const Reading reading = {pipeline, view, n_channels ? &stream : NULL};
        is_good = divide(view, show, error) && ct_pipeline_start(pipeline, error) &&
                  take_all(&reading, error);
    }
    ct_stream_clear(&stream);
    if (!is_good)
        return FALSE;
    ct_show_view_end(view);
    *warnings = ct_pipeline_warnings(pipeline);
    if (view->n_samples > 0)
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_SHAPE, "%s: has no samples to show", show->paths[0]);
    g_strfreev(g_steal_pointer(warnings));
    return FALSE;
}
