/* SPDX-License-Identifier: BSD-3-Clause */
/* uvh5.sink: visibilities to UVH5 files, which have room for all integrations from the start. */
#include "../parts.h"
#include "uvh5-file.h"
#include "uvh5.h"

#include <cornerturn/layout.h>
#include <cornerturn/observation.h>
#include <cornerturn/packets.h>
#include <math.h>
#include <string.h>

static const char *const mounts[] = {"fixed", "alt-az", "equatorial", "phased",
                                     "x-y",   "other",  NULL};

static const CtParam params[] = {
    CT_SINK_PARAMS_WHOLE("the UVH5 file"),
    EARTH_ORIENTATION_PARAMS,
    {.name = "tracked",
     .kind = CT_PARAM_BOOL,
     .help = "whether delays follow the phase centre; default: if the observation has one"},
    {.name = "spectra",
     .kind = CT_PARAM_INT,
     .flags = CT_PARAM_RANGED,
     .minimum = 1,
     .maximum = G_MAXUINT32,
     .help = "spectra of a whole integration, of which weights count those that are valid"},
    {.name = "channel_width",
     .kind = CT_PARAM_QUANTITY,
     .flags = CT_PARAM_RANGED,
     .unit = "Hz",
     .minimum = 1e-9,
     .maximum = 1e15,
     .help = "of every channel; default: the step from one to the next"},
    {.name = "mount",
     .kind = CT_PARAM_CHOICE,
     .choices = mounts,
     .fallback = "fixed",
     .help = "the mount of the stations"},
    {NULL},
};

/* ---- checking ---- */

/* Weights have the axes of the visibilities, or all but those of polarisations. */
static gboolean
check_weights(const CtNode *node, GError **error)
{
    const CtStream *in = &node->inputs[0], *weights = &node->inputs[1];
    if (weights->type == CT_TYPE_NONE) {
        if (ct_params_has(node->params, "spectra"))
            return ct_params_error(node->params, "spectra", error,
                                   "wants the input 'weights', but it is not connected");
        return TRUE;
    }
    if (!ct_params_has(node->params, "spectra"))
        return ct_params_error(node->params, "spectra", error,
                               "wants the number of spectra in a whole integration, beside the "
                               "input 'weights'");
    ct_params_use(node->params, "spectra");
    gboolean good = weights->n_axes <= in->n_axes;
    for (guint a = 0; a < in->n_axes && good; a++) {
        const CtAxis *axis = &in->axes[a];
        const gint of = ct_stream_axis(weights, axis->name);
        good = of >= 0 ? strcmp(axis->name, "time") == 0 || weights->axes[of].length == axis->length
                       : g_str_has_prefix(axis->name, "pol");
    }
    for (guint a = 0; a < weights->n_axes && good; a++)
        good = ct_stream_axis(in, weights->axes[a].name) >= 0;
    if (good)
        return TRUE;
    g_autofree char *wanted = ct_stream_describe(in), *given = ct_stream_describe(weights);
    g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                "input 'weights': wants the weights of %s, but is given %s", wanted, given);
    return FALSE;
}

/* The room of a file is made before its first integration. */
static gboolean
check_length(const CtNode *node, GError **error)
{
    const gint time = ct_stream_axis(&node->inputs[0], "time");
    if (node->inputs[0].axes[time].length >= 0 || ct_params_has(node->params, "rotate_samples") ||
        ct_params_has(node->params, "rotate_time"))
        return TRUE;
    return ct_params_error(node->params, "rotate_samples", error,
                           "wants to be given, or 'rotate_time', for the length of the stream is "
                           "not known, and UVH5 files have room for all integrations from the "
                           "start");
}

/* The order of the file, which needs no large steps from one element to the next. */
static gboolean
wish(CtNode *node, guint input, GError **error)
{
    static const char *const order[] = {"time", "baseline", "subband", "channel", "pol", "pol'"};
    const CtStream *stream = &node->inputs[input];
    g_autoptr(GString) text = g_string_new("[");
    if (stream->type == CT_TYPE_NONE)
        return TRUE;
    for (guint k = 0; k < G_N_ELEMENTS(order); k++)
        if (ct_stream_axis(stream, order[k]) >= 0)
            g_string_append_printf(text, "%s%s", text->len > 1 ? " " : "", order[k]);
    g_string_append(text, "]");
    return ct_layout_parse(&node->input_layouts[input], text->str, error);
}

/* Whether the orientation of the Earth is known at the beginning, and at the end if that is known.
 */
static gboolean
check_times(const CtNode *node, const Uvh5Shape *shape, const EarthOrientations *orientations,
            GError **error)
{
    const CtStream *stream = &node->inputs[0];
    const gint64 n = stream->axes[ct_stream_axis(stream, "time")].length;
    const Uvh5Centre *centre = &shape->centres->centres[0];
    Uvh5Moment moment;
    g_autoptr(GError) cause = NULL;
    if (uvh5_moment(stream, 0, &shape->place, centre, orientations, &moment, &cause) &&
        uvh5_moment(stream, MAX(n - 1, 0), &shape->place, centre, orientations, &moment, &cause))
        return TRUE;
    return ct_params_error(node->params,
                           ct_params_has(node->params, "earth_orientation") ? "earth_orientation"
                                                                            : "dut1",
                           error, "%s", cause->message);
}

static gboolean
check(CtNode *node, GError **error)
{
    g_autoptr(Uvh5Shape) shape = uvh5_shape_new(&node->inputs[0], node->params, error);
    g_autoptr(EarthOrientations) orientations =
        shape ? earth_orientations_new(node->params, error) : NULL;
    return orientations && check_weights(node, error) && check_length(node, error) &&
           check_times(node, shape, orientations, error) && wish(node, 0, error) &&
           wish(node, 1, error);
}

/* ---- files ---- */

/* Steps along the axes of an input. */
typedef struct {
    gint64 time, baseline, subband, channel, p, q;
} Steps;

typedef struct {
    Uvh5Shape *shape;
    Uvh5Places places;
    gboolean is_wide, is_weighted;
    gint64 n_taken;    /* integrations */
    gint64 n_each;     /* baselines that are written at once */
    gint64 n_elements; /* of a baseline */
    Steps lanes;
    guint8 *visibilities, *flags; /* [n_each][n_elements] */
    float *samples;
} Sink;

/* What the file is, and what it does not say elsewhere. */
static char *
make_history(const CtSinkFile *file, const Uvh5Shape *shape, gboolean is_weighted)
{
    g_autofree char *leaps = uvh5_leap_seconds();
    GString *text = g_string_new(NULL);
    g_string_append_printf(text, "Made by Cornerturn %s, node '%s'.\n", file->version, file->node);
    g_string_append(text, is_weighted
                              ? "Visibilities are means over the valid spectra; nsamples is the "
                                "part of an integration's spectra that is valid.\n"
                              : "Visibilities are as they came, without weights; nsamples is 1 "
                                "where any station was valid.\n");
    if (ct_params_has(file->given, "earth_orientation"))
        g_string_append_printf(text, "UT1 and polar motion are from %s.\n",
                               ct_params_string(file->given, "earth_orientation"));
    else
        g_string_append_printf(text, "UT1 - UTC was given as %.7f s, polar motion as %g, %g rad.\n",
                               ct_params_real(file->given, "dut1"),
                               ct_params_real_at(file->given, "polar_motion", 0),
                               ct_params_real_at(file->given, "polar_motion", 1));
    g_string_append_printf(text, "TAI - UTC by ERFA: %s.\n", leaps);
    if (shape->centres->n_centres > 1)
        g_string_append(text, "An integration in which the phase centre changes is flagged.\n");
    else if (!shape->centres->centres[0].is_tracked)
        g_string_append(text, "No phase centre is tracked.\n");
    if (file->graph)
        g_string_append_printf(text, "Graph:\n%s\n", file->graph);
    return g_string_free(text, FALSE);
}

/* Where an axis is in a block, in bytes; 0 if there is none. */
static gint64
step_of(const CtBlock *block, const CtLayout *layout, const char *axis)
{
    const gint a = ct_layout_axis(layout, axis);
    return a < 0 ? 0 : block->stride[a];
}

static Steps
find_steps(const CtBlock *block, const CtLayout *layout)
{
    return (Steps){step_of(block, layout, "time"),    step_of(block, layout, "baseline"),
                   step_of(block, layout, "subband"), step_of(block, layout, "channel"),
                   step_of(block, layout, "pol"),     step_of(block, layout, "pol'")};
}

static gboolean
put_state(const CtSinkFile *file, gboolean has_ended, GError **error)
{
    const Sink *sink = file->self;
    char text[UVH5_STATE_BYTES] = {0};
    if (sink->n_taken == file->expected)
        g_snprintf(text, sizeof text, "All %" G_GINT64_FORMAT " integrations are written.\n",
                   sink->n_taken);
    else
        g_snprintf(text, sizeof text,
                   "%" G_GINT64_FORMAT " of %" G_GINT64_FORMAT
                   " integrations are written%s; the others are flagged.\n",
                   sink->n_taken, file->expected, has_ended ? ", for the stream had no more" : "");
    return ct_file_write(file->path, file->fd, sink->places.state, text, sizeof text, error) ==
           sizeof text;
}

static gboolean
open_file(CtSinkFile *file, GError **error)
{
    enum { PIECE_BYTES = 1 << 20 };
    Sink *sink = file->self;
    const CtStream *stream = &file->stream;
    sink->is_wide = stream->type != CT_CF32;
    sink->is_weighted = file->input[1].stream->type != CT_TYPE_NONE;
    sink->shape = uvh5_shape_new(stream, file->given, error);
    g_autoptr(EarthOrientations) orientations =
        sink->shape ? earth_orientations_new(file->given, error) : NULL;
    if (!orientations)
        return FALSE;
    const gint64 element = sink->is_wide ? 16 : 8;
    sink->n_elements = sink->shape->n_channels * sink->shape->n_products;
    sink->n_each = CLAMP(PIECE_BYTES / (element * sink->n_elements), 1, sink->shape->n_baselines);
    const gsize n = (gsize)(sink->n_each * sink->n_elements);
    sink->visibilities = ct_table_new(n, (gsize)element, "visibilities", error);
    sink->flags = sink->visibilities ? ct_table_new(n, 1, "flags", error) : NULL;
    sink->samples = sink->flags ? ct_table_new(n, sizeof(float), "weights", error) : NULL;
    if (!sink->samples)
        return FALSE;
    sink->lanes = (Steps){1,
                          ct_stream_lane_step(stream, "baseline"),
                          ct_stream_lane_step(stream, "subband"),
                          ct_stream_lane_step(stream, "channel"),
                          ct_stream_lane_step(stream, "pol"),
                          ct_stream_lane_step(stream, "pol'")};
    g_autofree char *history = make_history(file, sink->shape, sink->is_weighted);
    return uvh5_file_create(file, sink->shape, orientations, sink->is_wide, history, &sink->places,
                            error);
}

static gint64
offset_of(const Steps *steps, gint64 t, gint64 b, const Uvh5Channel *channel,
          const Uvh5Product *product)
{
    return t * steps->time + b * steps->baseline + channel->subband * steps->subband +
           channel->channel * steps->channel + product->p * steps->p + product->q * steps->q;
}

/* The blocks of a firing, and the steps along their axes. */
typedef struct {
    const CtBlock *visibilities, *weights;
    Steps visibility_steps, weight_steps;
    gboolean is_mixed; /* whether the integration that is being written has two phase centres */
} Blocks;

/* Puts an element of baseline `b` at index `to` of the piece. Returns the weight. */
static gdouble
put(const Sink *sink, const Blocks *blocks, gint64 t, gint64 b, gint64 element, gint64 to,
    gint64 n_spectra)
{
    const Uvh5Channel *channel = &sink->shape->channels[element / sink->shape->n_products];
    const Uvh5Product *product = &sink->shape->products[element % sink->shape->n_products];
    const CtBlock *block = blocks->visibilities;
    const guint8 *x = block->data + offset_of(&blocks->visibility_steps, t, b, channel, product);
    const gint64 lane = offset_of(&sink->lanes, 0, b, channel, product);
    gdouble weight = 1, scale = 1;
    if (sink->is_weighted) {
        weight = part_read(blocks->weights->data +
                               offset_of(&blocks->weight_steps, t, b, channel, product),
                           blocks->weights->type, 0);
        scale = weight > 0 ? 1 / weight : 0;
        weight /= (gdouble)n_spectra;
    }
    if (blocks->is_mixed ||
        (block->validity && !block->validity[lane * block->validity_stride + t]))
        weight = 0;
    const gdouble re = part_read(x, block->type, 0), im = part_read(x, block->type, 1);
    const gboolean is_flagged = !(weight > 0) || !isfinite(re) || !isfinite(im);
    const gdouble parts[] = {is_flagged ? 0 : re * scale, is_flagged ? 0 : im * scale};
    const float narrow[] = {(float)parts[0], (float)parts[1]};
    if (sink->is_wide)
        memcpy(sink->visibilities + to * (gint64)sizeof parts, parts, sizeof parts);
    else
        memcpy(sink->visibilities + to * (gint64)sizeof narrow, narrow, sizeof narrow);
    sink->flags[to] = (guint8)is_flagged;
    sink->samples[to] = is_flagged ? 0 : (float)weight;
    return weight;
}

/* Writes `n` elements from `at` on; the flags, which tell that they are there, last. */
static gboolean
write_piece(const CtSinkFile *file, gint64 at, gint64 n, GError **error)
{
    const Sink *sink = file->self;
    const gint64 element = sink->is_wide ? 16 : 8, of_samples = (gint64)sizeof *sink->samples;
    const struct {
        gint64 place, bytes;
        gconstpointer from;
    } parts[] = {
        {sink->places.visibilities, element, sink->visibilities},
        {sink->places.samples, of_samples, sink->samples},
        {sink->places.flags, 1, sink->flags},
    };
    for (guint k = 0; k < G_N_ELEMENTS(parts); k++) {
        const gint64 bytes = n * parts[k].bytes;
        if (ct_file_write(file->path, file->fd, parts[k].place + at * parts[k].bytes, parts[k].from,
                          bytes, error) != bytes)
            return FALSE;
    }
    return TRUE;
}

static gboolean
write_samples(CtSinkFile *file, const CtBlock *block, GError **error)
{
    Sink *sink = file->self;
    const Uvh5Shape *shape = sink->shape;
    const gint64 n_spectra = sink->is_weighted ? ct_params_int(file->given, "spectra") : 1;
    const CtBlock *weights = sink->is_weighted ? &file->others[0] : NULL;
    Blocks blocks = {block, weights, find_steps(block, &file->input[0].layout),
                     weights ? find_steps(weights, &file->input[1].layout) : (Steps){0}, FALSE};
    for (gint64 t = 0; t < block->n_samples; t++, sink->n_taken++) {
        uvh5_centres_at(shape->centres, &file->stream, sink->n_taken, &blocks.is_mixed);
        for (gint64 first = 0; first < shape->n_baselines; first += sink->n_each) {
            const gint64 n = MIN(sink->n_each, shape->n_baselines - first) * sink->n_elements;
            for (gint64 i = 0; i < n; i++) {
                const gdouble weight = put(sink, &blocks, t, first + i / sink->n_elements,
                                           i % sink->n_elements, i, n_spectra);
                if (!(weight <= 1))
                    return ct_params_error(file->given, "spectra", error,
                                           "wants the spectra of a whole integration, but a weight "
                                           "is %.9g times that",
                                           weight);
            }
            const gint64 at = (sink->n_taken * shape->n_baselines + first) * sink->n_elements;
            if (!write_piece(file, at, n, error))
                return FALSE;
        }
    }
    return TRUE;
}

static gboolean
mark(CtSinkFile *file, GError **error)
{
    const Sink *sink = file->self;
    file->n_samples = file->length = sink->n_taken;
    return put_state(file, FALSE, error);
}

static gboolean
close_file(CtSinkFile *file, GError **error)
{
    const Sink *sink = file->self;
    file->n_samples = file->length = sink->n_taken;
    return put_state(file, error != NULL, error);
}

static void
clear(gpointer self)
{
    Sink *sink = self;
    uvh5_shape_free(sink->shape);
    g_free(sink->visibilities);
    g_free(sink->flags);
    g_free(sink->samples);
}

const CtSink uvh5_sink_files = {
    .name = "UVH5 files",
    .self_bytes = sizeof(Sink),
    .check = check,
    .open = open_file,
    .write = write_samples,
    .mark = mark,
    .close = close_file,
    .clear = clear,
};

static gboolean
infer(CtNode *node, GError **error)
{
    return ct_sink_infer(&uvh5_sink_files, node, error);
}

static const char *const extensions[] = {".uvh5", NULL};

const CtStage uvh5_sink = {
    .name = "uvh5.sink",
    .summary = "visibilities to UVH5 files, with PATH.json beside them",
    .version = 1,
    .inputs = CT_PORTS(
        {"visibilities", "cf32|cf64|ci32|ci64{time baseline ...}", 0, "as correlate gives them"},
        {"weights", "u32{time baseline ...}", CT_PORT_OPTIONAL,
         "spectra in which both stations were valid"}),
    .params = params,
    .infer = infer,
    .extensions = extensions,
    .stands_for = "file.sink",
};
