/* SPDX-License-Identifier: BSD-3-Clause */
/* The mask of flag: its parameters as lanes and ticks. */
#include "flag-mask.h"

#include <math.h>
#include <string.h>

static const char *const axes[] = {"subband", "channel", "beam",  "baseline",
                                   "station", "pol",     "stokes"};

gboolean
flag_mask_is_given(const CtParams *params)
{
    gboolean is_given = ct_params_has(params, "frequency") || ct_params_has(params, "time");
    for (guint i = 0; i < G_N_ELEMENTS(axes); i++)
        is_given |= ct_params_has(params, axes[i]);
    return is_given;
}

/* ---- lanes ---- */

/* The index along an axis of the elements of a lane; 0: it loses no data along it. */
static gint64
index_of(const CtStream *stream, gint64 lane, const char *axis)
{
    const gint64 step = axis ? ct_stream_lane_step(stream, axis) : 0;
    return step > 0 ? lane / step % ct_stream_length(stream, axis) : 0;
}

/* Masks the lanes of bad elements, `bad` [outer][axis]; `outer` NULL: of the axis alone. */
static void
mask_lanes(const CtStream *stream, const char *outer, const char *axis, const guint8 *bad,
           CtFormMask *mask)
{
    const gint64 length = ct_stream_length(stream, axis);
    for (gint64 lane = 0; lane < mask->n_lanes; lane++)
        mask->lanes[lane] |=
            bad[index_of(stream, lane, outer) * length + index_of(stream, lane, axis)];
}

static gboolean
mask_elements(const CtNode *node, const char *axis, CtFormMask *mask, GError **error)
{
    const CtStream *stream = &node->outputs[0];
    const CtAxis *of = &stream->axes[ct_stream_axis(stream, axis)];
    g_autoptr(GArray) indices = g_array_new(FALSE, FALSE, sizeof(gint64));
    g_autofree guint8 *bad = CT_TABLE(guint8, of->length, "masked elements", error);
    if (!bad || !ct_named_elements(node->params, axis, of, indices, error))
        return FALSE;
    for (guint i = 0; i < indices->len; i++)
        bad[g_array_index(indices, gint64, i)] = 1;
    mask_lanes(stream, NULL, axis, bad, mask);
    return TRUE;
}

/* ---- frequencies ---- */

/* Channels: an axis with frequencies, and the axis on which these depend. */
typedef struct {
    const CtStream *stream;
    guint place;
    const char *axis, *parent; /* parent NULL: none */
    gint64 length, n_parents;
    gdouble half; /* the width of a channel is that from one to the next; 0: there is only one */
} Channels;

static gdouble
frequency_of(const Channels *channels, gint64 i)
{
    return ct_stream_coordinate(channels->stream, channels->place, i % channels->length,
                                i / channels->length);
}

static gboolean
find_channels(const CtNode *node, Channels *channels, GError **error)
{
    const CtStream *stream = &node->inputs[0];
    const gint place = ct_named_frequencies(stream);
    if (place < 0)
        return ct_params_error(node->params, "frequency", error,
                               "wants a stream whose channels or subbands have frequencies");
    const CtAxis *axis = &stream->axes[place];
    const char *parent = axis->coordinate.parent;
    *channels = (Channels){
        .stream = stream,
        .place = (guint)place,
        .axis = axis->name,
        .parent = parent,
        .length = axis->length,
        .n_parents = parent ? ct_stream_length(stream, parent) : 1,
        .half = INFINITY,
    };
    for (gint64 i = 0; i + 1 < axis->length; i++)
        channels->half = MIN(channels->half,
                             fabs(frequency_of(channels, i + 1) - frequency_of(channels, i)) / 2);
    channels->half = isfinite(channels->half) ? channels->half : 0;
    return TRUE;
}

/* Reads row `i` of a table of beginnings and ends. */
static gboolean
read_range(const CtParams *params, const char *name, guint i, gdouble range[2], GError **error)
{
    if (ct_params_columns(params, name) != 2)
        return ct_params_error(params, name, error, "wants rows of 2 values, but is given %u",
                               ct_params_columns(params, name));
    for (guint k = 0; k < 2; k++)
        range[k] = ct_params_real_cell(params, name, i, k);
    return range[0] <= range[1] ||
           ct_params_error(params, name, error,
                           "wants the lower value of a range first, but is given %.15g before "
                           "%.15g",
                           range[0], range[1]);
}

/* Marks the channels that a range touches in `bad`. A millionth of a channel is left to rounding.
 */
static void
mark_range(const Channels *channels, const gdouble range[2], guint8 *bad, const CtParams *params)
{
    const gdouble half = channels->half * (1 - 1e-6);
    gdouble least = INFINITY, most = -INFINITY;
    gboolean is_found = FALSE;
    for (gint64 i = 0; i < channels->length * channels->n_parents; i++) {
        const gdouble frequency = frequency_of(channels, i);
        const gboolean is_in = frequency + half >= range[0] && frequency - half <= range[1];
        bad[i] |= (guint8)is_in;
        is_found |= is_in;
        least = MIN(least, frequency);
        most = MAX(most, frequency);
    }
    if (!is_found)
        ct_params_warn(params, "frequency",
                       "no %s is between %.9g and %.9g Hz: the centres are from %.9g to %.9g Hz",
                       channels->axis, range[0], range[1], least, most);
}

static gboolean
mask_frequencies(const CtNode *node, CtFormMask *mask, GError **error)
{
    Channels channels;
    if (!find_channels(node, &channels, error))
        return FALSE;
    g_autofree guint8 *bad =
        CT_TABLE(guint8, channels.length * channels.n_parents, "masked channels", error);
    for (guint i = 0; bad && i < ct_params_count(node->params, "frequency"); i++) {
        gdouble range[2];
        if (!read_range(node->params, "frequency", i, range, error))
            return FALSE;
        mark_range(&channels, range, bad, node->params);
    }
    if (bad)
        mask_lanes(&node->outputs[0], channels.parent, channels.axis, bad, mask);
    return bad != NULL;
}

/* ---- times ---- */

static gboolean
mask_times(const CtNode *node, CtFormMask *mask, GError **error)
{
    const CtStream *stream = &node->inputs[0];
    const guint n = ct_params_count(node->params, "time");
    if (stream->rate_num == 0)
        return ct_params_error(node->params, "time", error, "wants a stream with a sample rate");
    mask->times = ct_table_new(n, sizeof *mask->times, "masked times", error);
    for (guint i = 0; mask->times && i < n; i++) {
        gdouble range[2];
        if (!read_range(node->params, "time", i, range, error))
            return FALSE;
        for (guint k = 0; k < 2; k++)
            mask->times[i][k] = ct_named_tick(stream, range[k]);
        mask->n_times = i + 1;
    }
    return mask->times != NULL;
}

/* ---- the mask ---- */

gboolean
flag_mask_make(const CtNode *node, CtFormMask *mask, GError **error)
{
    const CtParams *params = node->params;
    mask->n_lanes = ct_stream_n_lanes(&node->outputs[0]);
    mask->lanes = CT_TABLE(guint8, mask->n_lanes, "masked lanes", error);
    if (!mask->lanes)
        return FALSE;
    for (guint i = 0; i < G_N_ELEMENTS(axes); i++)
        if (ct_params_has(params, axes[i]) && !mask_elements(node, axes[i], mask, error))
            return FALSE;
    return (!ct_params_has(params, "frequency") || mask_frequencies(node, mask, error)) &&
           (!ct_params_has(params, "time") || mask_times(node, mask, error));
}

/* Makes the output lose data along an axis. */
static gboolean
lose(CtNode *node, const char *param, const char *axis, GError **error)
{
    CtStream *stream = &node->outputs[0];
    const gint place = ct_stream_axis(stream, axis);
    if (place >= 0) {
        stream->axes[place].loses = TRUE;
        return TRUE;
    }
    g_autofree char *given = ct_stream_describe(stream);
    return ct_params_error(node->params, param, error,
                           "wants an axis of the input, but is given '%s', and the input has %s",
                           axis, given);
}

gboolean
flag_mask_infer(CtNode *node, GError **error)
{
    Channels channels;
    CtFormMask mask = {0};
    for (guint i = 0; i < G_N_ELEMENTS(axes); i++)
        if (ct_params_has(node->params, axes[i]) && !lose(node, axes[i], axes[i], error))
            return FALSE;
    if (ct_params_has(node->params, "frequency") &&
        (!find_channels(node, &channels, error) || !lose(node, "frequency", channels.axis, error) ||
         (channels.n_parents > 1 && !lose(node, "frequency", channels.parent, error))))
        return FALSE;
    const gboolean good = flag_mask_make(node, &mask, error);
    ct_join_mask_clear(&mask);
    return good;
}
