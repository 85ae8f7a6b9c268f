/* SPDX-License-Identifier: BSD-3-Clause */
/* Sinks of files: the stage's checks, and the variant, which cuts the stream into files. */
#include "cornerturn/kit/sink.h"

#include "cornerturn/error.h"
#include "reserved.h"
#include "sink-private.h"

#include <string.h>

/* Interval, in microseconds, at which what is written is made readable; while samples come, none
 * waits longer in memory. */
enum { MARK_EVERY = 500000 };
/* The files of a rotation whose names are compared before the run. */
enum { CHECKED_NAMES = 100 };

/* Where a new file begins; all 0: there is one. */
typedef struct {
    gint64 n_samples;
    gint64 n_bytes;
    gint64 time_num, time_den; /* in samples */
} Rotation;

typedef struct {
    const CtSink *sink;
    const CtParams *given;
    const CtBinding *inputs;
    guint n_inputs;
    CtBlock *cuts; /* [n_inputs] */
    const CtSinkSend *send;
    CtOrigin origin;
    gint time_axis; /* in the layout of the first input; −1: none */
    Rotation rotation;
    gint64 position;   /* the stream's next sample */
    CtSinkPart *part;  /* the file that is being written */
    GHashTable *names; /* of the files before and of this one, with a rotation */
    CtSinkCommit *commit;
    gint64 marked; /* time of the last mark */
} Sink;

/* ---- rotation ---- */

static const char *const rotations[] = {"rotate_time", "rotate_bytes", "rotate_samples"};

/* CT_SINK_PARAMS_WHOLE leaves one of them out. */
static gboolean
is_given(const CtParams *given, const char *name)
{
    return ct_params_knows(given, name) && ct_params_has(given, name);
}

static gboolean
rotates(const CtParams *given)
{
    for (guint i = 0; i < G_N_ELEMENTS(rotations); i++)
        if (is_given(given, rotations[i]))
            return TRUE;
    return FALSE;
}

/* A period in samples, as a fraction: seconds times the sample rate. */
static gboolean
read_time(const CtParams *given, const CtStream *stream, Rotation *rotation, GError **error)
{
    gint64 seconds, per, num, den;
    if (stream->rate_num == 0)
        return ct_params_error(given, "rotate_time", error,
                               "wants a stream with a clock, but is given one without");
    ct_params_rational(given, "rotate_time", &seconds, &per);
    if (__builtin_mul_overflow(seconds, stream->rate_num, &num) ||
        __builtin_mul_overflow(per, stream->rate_den, &den) ||
        __builtin_mul_overflow(den, stream->ticks_per_sample, &den))
        return ct_params_error(given, "rotate_time", error,
                               "wants a time that is a short fraction of samples");
    if (num < den)
        return ct_params_error(
            given, "rotate_time", error, "wants at least a sample, %.6g s, but is given %.6g s",
            1 / ct_stream_sample_rate(stream), ct_params_real(given, "rotate_time"));
    rotation->time_num = num;
    rotation->time_den = den;
    return TRUE;
}

static gboolean
read_rotation(const CtParams *given, const CtStream *stream, Rotation *rotation, GError **error)
{
    const char *first = NULL;
    *rotation = (Rotation){0};
    for (guint i = 0; i < G_N_ELEMENTS(rotations); i++) {
        if (!is_given(given, rotations[i]))
            continue;
        if (first)
            return ct_params_error(given, rotations[i], error,
                                   "wants to be the only rotation, but is given beside '%s'",
                                   first);
        first = rotations[i];
    }
    if (!first)
        return TRUE;
    if (ct_stream_axis(stream, "time") < 0)
        return ct_params_error(given, first, error,
                               "wants a stream along time, but is given one array");
    if (ct_sink_is_pipe(given))
        return ct_params_error(given, first, error, "wants files, but 'path' is %s",
                               ct_sink_is_address(given) ? "an address" : "a pipe");
    if (ct_params_has(given, "rotate_samples"))
        rotation->n_samples = ct_params_int(given, "rotate_samples");
    if (is_given(given, "rotate_bytes")) {
        const gdouble bytes = ct_params_real(given, "rotate_bytes");
        if (!(bytes >= 1 && bytes < 0x1p62))
            return ct_params_error(given, "rotate_bytes", error,
                                   "wants at least 1 B, but is given %.6g B", bytes);
        rotation->n_bytes = (gint64)bytes;
    }
    return !ct_params_has(given, "rotate_time") || read_time(given, stream, rotation, error);
}

/* The samples that file `number`, which begins with sample `first`, may have; at least 1. */
static gint64
most_samples(const Rotation *rotation, gint64 number, gint64 first)
{
    if (rotation->n_samples > 0)
        return rotation->n_samples;
    if (rotation->time_num == 0)
        return G_MAXINT64;
    /* It ends before the first sample that is not before (number + 1) periods. */
    const __int128 periods = (__int128)(number + 1) * rotation->time_num;
    const __int128 end = (periods + rotation->time_den - 1) / rotation->time_den;
    return end > G_MAXINT64 ? G_MAXINT64 : (gint64)end - first;
}

/* The samples that the open file still takes. */
static gint64
room(const Sink *sink)
{
    const CtSinkPart *part = sink->part;
    const CtSinkFile *file = &part->file;
    gint64 most = most_samples(&sink->rotation, file->number, part->first);
    if (sink->rotation.n_bytes > 0)
        most = (sink->rotation.n_bytes - file->header_bytes) / MAX(1, file->sample_bytes);
    return most - part->n_taken;
}

/* ---- checking ---- */

/* Takes `name`. */
static gboolean
add_name(GHashTable *names, char *name, gint64 number, GError **error)
{
    if (g_hash_table_add(names, name))
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                "%s: wants another name for each file, but file %" G_GINT64_FORMAT
                " would have that of one before: give 'path' %%i or more of the time",
                name, number);
    return FALSE;
}

/* Whether the first files of the stream have different names, so that a graph whose names say too
 * little of the time fails before the run. Files that end by their bytes begin at unknown times. */
static gboolean
check_names(const CtParams *given, const CtStream *stream, const Rotation *rotation, GError **error)
{
    const char *path = ct_params_string(given, "path");
    const gint64 length = stream->axes[ct_stream_axis(stream, "time")].length;
    g_autoptr(GHashTable) names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(GError) cause = NULL;
    gint64 position = 0, tick = stream->start;
    for (gint64 number = 0; number < CHECKED_NAMES && rotation->n_bytes == 0; number++) {
        char *name = ct_sink_name(path, stream, tick, number, NULL);
        if (!name)
            return TRUE;
        if (!add_name(names, name, number, &cause))
            return ct_params_error(given, "path", error, "%s", cause->message);
        if (__builtin_add_overflow(position, most_samples(rotation, number, position), &position) ||
            __builtin_mul_overflow(position, stream->ticks_per_sample, &tick) ||
            __builtin_add_overflow(tick, stream->start, &tick) ||
            (length >= 0 && position >= length))
            return TRUE;
    }
    return TRUE;
}

static gboolean
check_pipe(const CtSink *sink, const CtParams *given, const CtStream *stream, GError **error)
{
    const char *path = ct_params_string(given, "path");
    const gboolean is_address = ct_sink_is_address(given);
    gint64 number;
    if (is_address && !ct_sink_send_check(sink, given, stream, error))
        return FALSE;
    if (!sink->streams)
        return ct_params_error(given, "path", error,
                               "wants a file: %s can't be written to a pipe, but is given '%s'",
                               sink->name, path);
    if (g_str_has_prefix(path, "fd:") &&
        !g_ascii_string_to_signed(path + strlen("fd:"), 10, 0, G_MAXINT, &number, NULL))
        return ct_params_error(given, "path", error,
                               "wants fd: and the number of an open file, but is given '%s'", path);
    if (ct_params_choice(given, "digest") != 0)
        return ct_params_error(given, "digest", error, "wants a file, but 'path' is %s",
                               is_address ? "an address" : "a pipe");
    return TRUE;
}

static gboolean
check_path(const CtSink *sink, const CtNode *node, GError **error)
{
    const CtParams *given = node->params;
    const CtStream *stream = &node->inputs[0];
    const char *path = ct_params_string(given, "path");
    g_autoptr(GError) cause = NULL;
    if (ct_sink_is_pipe(given))
        return check_pipe(sink, given, stream, error);
    ct_params_use(given, "digest");
    /* Another sink may be writing this file, and would rename it. */
    if (g_str_has_suffix(path, ".partial"))
        return ct_params_error(given, "path", error,
                               "wants a name without the ending .partial, but is given '%s'", path);
    if (rotates(given)) {
        const gboolean has_utc = stream->rate_num && stream->epoch != CT_NO_EPOCH;
        return ct_sink_name_check(path, has_utc, &cause) ||
               ct_params_error(given, "path", error, "%s", cause->message);
    }
    return ct_sink_files_check(path, &cause) ||
           ct_params_error(given, "path", error, "%s", cause->message);
}

gboolean
ct_sink_infer(const CtSink *sink, CtNode *node, GError **error)
{
    Rotation rotation;
    if (!CT_RESERVED_CHECK(sink->name, CtSink, sink, error))
        return FALSE;
    if (!sink->write || (sink->streams && sink->by_name)) {
        g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN,
                    "the plugin for %s is at fault: its CtSink %s", sink->name,
                    sink->write ? "streams, but by_name" : "has no write");
        return FALSE;
    }
    if (!check_path(sink, node, error) ||
        !read_rotation(node->params, &node->inputs[0], &rotation, error) ||
        (rotates(node->params) && !check_names(node->params, &node->inputs[0], &rotation, error)) ||
        (sink->check && !sink->check(node, error)))
        return FALSE;
    if (node->input_layouts[0].n_axes == 0 && node->input_layouts[0].types == 0)
        ct_layout_canonical(&node->input_layouts[0], &node->inputs[0]);
    return TRUE;
}

/* ---- files ---- */

/* The samples that the file which begins at the present position will have; −1: not known. */
static gint64
expect_samples(const Sink *sink, gint64 number)
{
    const CtStream *stream = sink->inputs[0].stream;
    const gint time = ct_stream_axis(stream, "time");
    const gint64 length = time < 0 ? 1 : stream->axes[time].length;
    const gint64 most = most_samples(&sink->rotation, number, sink->position);
    if (length < 0 || sink->rotation.n_bytes > 0)
        return length < 0 && most < G_MAXINT64 ? most : -1;
    return MIN(most, MAX(length - sink->position, 0));
}

/* Two files of one run must not have one name: the second would replace the first. */
static gboolean
check_name(Sink *sink, gint64 number, GError **error)
{
    const CtStream *stream = sink->inputs[0].stream;
    const gint64 tick = stream->start + sink->position * stream->ticks_per_sample;
    char *name = ct_sink_name(ct_params_string(sink->given, "path"), stream, tick, number, error);
    return name && add_name(sink->names, name, number, error);
}

/* Opens the file that begins with the sample at the present position. */
static gboolean
open_part(Sink *sink, gint64 number, GError **error)
{
    const CtSinkWhich which = {
        .sink = sink->sink,
        .given = sink->given,
        .input = &sink->inputs[0],
        .send = sink->send,
        .origin = sink->origin,
        .number = number,
        .first = sink->position,
        .expected = expect_samples(sink, number),
        .is_one_of = rotates(sink->given),
    };
    if (which.is_one_of && !check_name(sink, number, error))
        return FALSE;
    sink->part = ct_sink_part_open(&which, error);
    sink->marked = g_get_monotonic_time();
    if (!sink->part)
        return FALSE;
    if (room(sink) > 0)
        return TRUE;
    return ct_params_error(sink->given, "rotate_bytes", error,
                           "wants at least %" G_GINT64_FORMAT
                           " B, a header and a sample, but is given %" G_GINT64_FORMAT " B",
                           sink->part->file.header_bytes + sink->part->file.sample_bytes,
                           sink->rotation.n_bytes);
}

/* Hands over the file, which is full, and opens the next one. */
static gboolean
rotate(Sink *sink, GError **error)
{
    const gint64 number = sink->part->file.number;
    if (!ct_sink_part_close(sink->part, FALSE, error))
        return FALSE;
    if (!sink->commit && !(sink->commit = ct_sink_commit_new(error)))
        return FALSE;
    return ct_sink_commit_add(sink->commit, g_steal_pointer(&sink->part), error) &&
           open_part(sink, number + 1, error);
}

gboolean
ct_sink_prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    const CtBinding *input = &prepare->inputs[0];
    const CtSink *sink = prepare->variant->form;
    if (ct_layout_block_axis(&input->layout, "time") >= 0) {
        g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN,
                    "the plugin for %s is at fault: its rows take blocks of time", sink->name);
        return FALSE;
    }
    Sink *self = g_new0(Sink, 1);
    *state = self;
    self->sink = sink;
    self->given = prepare->nodes[0].params;
    self->origin = (CtOrigin){prepare->nodes[0].name, prepare->graph, prepare->settings};
    self->send = prepare->send;
    self->inputs = prepare->inputs;
    self->n_inputs = prepare->n_inputs;
    self->cuts = g_new0(CtBlock, prepare->n_inputs);
    self->time_axis = ct_layout_axis(&input->layout, "time");
    self->names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    return read_rotation(self->given, input->stream, &self->rotation, error) &&
           open_part(self, 0, error);
}

/* ---- running ---- */

/* Samples first … first + n − 1 of a block of an input. */
static CtBlock
cut_block(const CtBinding *input, const CtBlock *block, gint64 first, gint64 n)
{
    CtBlock cut = *block;
    const gint time = ct_layout_axis(&input->layout, "time");
    if (time < 0 || !block->data)
        return cut;
    cut.data += first * block->stride[time];
    cut.length[time] = cut.n_samples = n;
    cut.start += first * input->stream->ticks_per_sample;
    if (cut.validity)
        cut.validity += first;
    return cut;
}

gint64
ct_sink_n_invalid(const CtSinkFile *file, const CtBlock *block)
{
    const CtStream *stream = file->input->stream;
    const gint64 n_lanes = ct_stream_n_lanes(stream);
    gint64 n_elements = 1, n = 0;
    for (guint a = 0; a < stream->n_axes; a++)
        if (strcmp(stream->axes[a].name, "time") != 0)
            n_elements *= stream->axes[a].length;
    for (gint64 lane = 0; block->validity && lane < n_lanes; lane++)
        for (gint64 t = 0; t < block->n_samples; t++)
            n += !block->validity[lane * block->validity_stride + t];
    return n_lanes > 0 ? n * (n_elements / n_lanes) : 0;
}

gboolean
ct_sink_work(gpointer state, const CtWork *work, GError **error)
{
    Sink *sink = state;
    const CtBlock *block = &work->inputs[0];
    gint64 n;
    for (gint64 t = 0; t < block->n_samples; t += n) {
        const gboolean has_time = sink->time_axis >= 0;
        if (has_time && room(sink) == 0 && !rotate(sink, error))
            return FALSE;
        n = has_time ? MIN(block->n_samples - t, room(sink)) : block->n_samples;
        for (guint i = 0; i < sink->n_inputs; i++)
            sink->cuts[i] = cut_block(&sink->inputs[i], &work->inputs[i], t, n);
        if (!ct_sink_part_write(sink->part, sink->cuts, work->counters, error))
            return FALSE;
        sink->position += n;
    }
    if (g_get_monotonic_time() - sink->marked < MARK_EVERY)
        return TRUE;
    sink->marked = g_get_monotonic_time();
    return ct_sink_part_mark(sink->part, error);
}

gboolean
ct_sink_close(gpointer state, gboolean interrupted, GError **error)
{
    Sink *sink = state;
    CtSinkCommit *commit = g_steal_pointer(&sink->commit);
    GError *earlier = NULL;
    const gboolean is_committed = ct_sink_commit_end(commit, &earlier);
    const gboolean good = ct_sink_part_close(sink->part, interrupted, is_committed ? error : NULL);
    if (earlier)
        g_propagate_error(error, earlier);
    return is_committed && good && ct_sink_part_seal(sink->part, error);
}

gboolean
ct_sink_complete(gpointer state, G_GNUC_UNUSED gboolean interrupted, GError **error)
{
    const Sink *sink = state;
    return ct_sink_part_commit(sink->part, error);
}

void
ct_sink_finish(gpointer state)
{
    Sink *sink = state;
    if (!sink)
        return;
    ct_sink_part_free(sink->part);
    ct_sink_commit_end(sink->commit, NULL);
    g_hash_table_unref(sink->names);
    g_free(sink->cuts);
    g_free(sink);
}
