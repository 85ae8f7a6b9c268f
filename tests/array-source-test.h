/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a source of arrays without planner and scheduler, for tests and fuzz targets. */
#pragma once

#include "cornerturn/kit/array-source.h"
#include "model/node-params.h"

#include <string.h>

/* What a source has given. */
typedef struct {
    CtStream stream;
    CtLayout layout;
    gint64 stride[CT_MAX_AXES]; /* in `data`, of the layout's axes, in bytes */
    GByteArray *data;           /* of the whole stream; 0xee where nothing was written */
    guint8 *valid;              /* [lane][time] */
} ArrayRead;

static inline void
array_read_clear(ArrayRead *read)
{
    ct_stream_clear(&read->stream);
    g_clear_pointer(&read->data, g_byte_array_unref);
    g_clear_pointer(&read->valid, g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ArrayRead, array_read_clear)

/* Parses the parameters of a stage: "{ path: x }". */
static inline CtParams *
array_source_params(const CtStage *stage, const char *text)
{
    g_autoptr(CtValue) values = ct_value_parse(text, -1, "g", NULL);
    const CtPlace place = {"g", 1, 1};
    g_autoptr(GError) error = NULL;
    CtParams *params = ct_params_new("source", stage, &place, values, &error);
    g_assert_no_error(error);
    return params;
}

/* Describes the stream alone. */
static inline gboolean
array_source_infer(ArrayRead *read, const CtArraySource *source, const CtStage *stage,
                   const CtParams *params, GError **error)
{
    ct_stream_init(&read->stream);
    CtNode node = {.stage = stage,
                   .params = params,
                   .n_outputs = 1,
                   .outputs = &read->stream,
                   .output_layouts = &read->layout};
    return ct_array_source_infer(source, &node, error);
}

/* Reads the stream in blocks of at most `room` samples, to elements that are `spread` times as far
 * apart as in a packed array. */
static inline gboolean
array_source_read(ArrayRead *read, const CtArraySource *source, const CtStage *stage,
                  const CtParams *params, CtBackend backend, gint64 room, gint64 spread,
                  GError **error)
{
    if (!array_source_infer(read, source, stage, params, error))
        return FALSE;
    const gint time_axis = ct_stream_axis(&read->stream, "time");
    const gint time = ct_layout_axis(&read->layout, "time");
    const gint64 n_samples = time_axis >= 0 ? read->stream.axes[time_axis].length : 1;
    const gint64 n_lanes = ct_stream_n_lanes(&read->stream);
    CtBlock block = {.type = read->stream.type, .n_axes = read->layout.n_axes};
    const gsize bytes =
        ct_layout_strides(&read->layout, &read->stream, n_samples, block.length, block.stride);
    for (guint a = 0; a < block.n_axes; a++)
        read->stride[a] = block.stride[a] *= spread;
    read->data = g_byte_array_new();
    g_byte_array_set_size(read->data, (guint)(bytes * (gsize)spread) + 1);
    memset(read->data->data, 0xee, read->data->len);
    read->valid = g_malloc((gsize)(n_lanes * n_samples) + 1);
    memset(read->valid, 1, (gsize)(n_lanes * n_samples));

    const CtNode node = {.stage = stage, .params = params};
    CtBinding binding = {.stream = &read->stream, .layout = read->layout, .max_samples = room};
    const CtVariant variant = {.backend = backend, .form = source};
    CtPrepare prepare = {
        .nodes = &node, .n_nodes = 1, .n_outputs = 1, .outputs = &binding, .variant = &variant};
    gpointer state = NULL;
    gboolean good = ct_array_source_prepare(&prepare, &state, error), ended = FALSE;
    for (gint64 index = 0; good && !ended;) {
        CtDeparture out = {.room = MIN(room, MAX(n_samples - index, 1)),
                           .validity = read->valid + index,
                           .validity_stride = n_samples};
        CtAdvance advance = {.outputs = &out};
        good = ct_array_source_advance(state, &advance, error);
        g_assert_cmpint(out.start, ==, read->stream.start + index * read->stream.ticks_per_sample);
        block.index = index;
        block.n_samples = out.produced;
        block.data = read->data->data + (time >= 0 ? index * block.stride[time] : 0);
        good = good && (out.produced == 0 ||
                        ct_array_source_work(state, &(CtWork){.outputs = &block}, error));
        index += out.produced;
        ended = advance.ended;
        g_assert_true(!good || ended == (index == n_samples));
    }
    ct_array_source_finish(state);
    return good;
}
