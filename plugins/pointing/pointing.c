/* SPDX-License-Identifier: BSD-3-Clause */
/* pointing: the weights with which a beamformer points in given directions. */
#include "../geometry.h"

#include <complex.h>
#include <cornerturn/kit/walk.h>
#include <string.h>

enum { NORM_MEAN, NORM_POWER, NORM_SUM };

static const CtParam pointing_params[] = {
    GEOMETRY_POSITION_PARAMS,
    {"n_stations", CT_PARAM_INT, CT_PARAM_RANGED, .minimum = 1, .maximum = 1 << 20,
     .help = "for a spiral; left out: those of the input, or of the graph's `stations`"},
    {"directions", CT_PARAM_REAL, CT_PARAM_TABLE,
     .help = "of the beams: " GEOMETRY_DIRECTIONS_HELP},
    {"disk", CT_PARAM_REAL, CT_PARAM_RANGED, .minimum = 0, .maximum = 1,
     .help = "in place of directions: n_beams evenly over a disk of this radius in l and m around "
             "the zenith, beam b at radius·√((b + ½)/n), azimuth b golden angles"},
    {"n_beams", CT_PARAM_INT, CT_PARAM_RANGED, .minimum = 1, .maximum = 1 << 20,
     .help = "with disk"},
    {"normalisation", CT_PARAM_CHOICE, .fallback = "mean",
     .choices = (const char *const[]){"mean", "power", "sum", NULL},
     .help = "weights of modulus 1/n, 1/√n or 1 for n stations: a source keeps its amplitude, the "
             "receivers' noise keeps its power, or neither"},
    {"first_frequency", CT_PARAM_QUANTITY, .unit = "Hz",
     .help = "of channel 0; left out: the channels of the input"},
    {"channel_width", CT_PARAM_QUANTITY, .unit = "Hz", .fallback = "0",
     .help = "from a channel to the next"},
    {"n_channels", CT_PARAM_INT, CT_PARAM_RANGED, .minimum = 1, .maximum = 1 << 24, .fallback = "1",
     .help = "with first_frequency"},
    {NULL},
};

/* Sets the channel axis of the weights, and a subband axis if the channels depend on it: the
 * input's, or those of parameters. */
static gboolean
set_channels(const CtNode *node, CtStream *weights, GError **error)
{
    const CtParams *params = node->params;
    const CtStream *input = &node->inputs[0];
    gboolean connected = input->type != CT_TYPE_NONE;
    if (ct_params_has(params, "first_frequency")) {
        if (connected)
            return ct_params_error(params, "first_frequency", error,
                                   "wants to stand alone, but the input '%s' gives the channels",
                                   node->stage->inputs[0].name);
        CtAxis *axis = ct_stream_add_axis(weights, "channel", ct_params_int(params, "n_channels"));
        axis->coordinate.unit = g_intern_static_string("Hz");
        axis->coordinate.first = ct_params_real(params, "first_frequency");
        axis->coordinate.step = ct_params_real(params, "channel_width");
        return TRUE;
    }
    if (!connected)
        return ct_params_error(params, "first_frequency", error,
                               "wants the frequencies, or an input that has them, but is given "
                               "neither");
    static const char *const names[] = {"subband", "channel"};
    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        gint from = ct_stream_axis(input, names[i]);
        if (from < 0)
            continue;
        CtAxis *axis = ct_stream_add_axis(weights, names[i], input->axes[from].length);
        axis->coordinate = input->axes[from].coordinate;
        if (axis->coordinate.table)
            g_bytes_ref(axis->coordinate.table);
    }
    gint channel = ct_stream_axis(weights, "channel");
    const char *unit = weights->axes[channel].coordinate.unit;
    if (g_strcmp0(unit, "Hz") != 0) {
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                    "input '%s' wants channels with frequencies, but is given channels without: "
                    "say centre_frequency at the source, or first_frequency here",
                    node->stage->inputs[0].name);
        return FALSE;
    }
    return TRUE;
}

/* A new array [beam][3] of unit vectors. */
static gdouble *
new_directions(const CtParams *params, gint64 *n_beams, GError **error)
{
    gboolean by_disk = ct_params_has(params, "disk");
    if (by_disk == ct_params_has(params, "directions")) {
        ct_params_error(params, "directions", error,
                        "wants the beams either as directions or as a disk, but is given %s",
                        by_disk ? "both" : "neither");
        return NULL;
    }
    if (by_disk != ct_params_has(params, "n_beams")) {
        ct_params_error(params, "n_beams", error, "wants to be given with 'disk', and only then");
        return NULL;
    }
    gint64 n = by_disk ? ct_params_int(params, "n_beams") : ct_params_count(params, "directions");
    if (n < 1) {
        ct_params_error(params, "directions", error, "wants a beam at least");
        return NULL;
    }
    g_autofree gdouble *directions = CT_TABLE(gdouble, 3 * n, "directions", error);
    if (!directions)
        return NULL;
    for (gint64 b = 0; b < n; b++) {
        gdouble *direction = directions + 3 * b;
        if (by_disk) {
            gdouble radius = ct_params_real(params, "disk") * sqrt((b + 0.5) / n);
            gdouble azimuth = b * GEOMETRY_GOLDEN_ANGLE;
            direction[0] = radius * sin(azimuth);
            direction[1] = radius * cos(azimuth);
            direction[2] = sqrt(1 - radius * radius);
        } else if (!geometry_direction(params, "directions", b, direction, error)) {
            return NULL;
        }
    }
    *n_beams = n;
    return g_steal_pointer(&directions);
}

static gboolean
pointing_infer(CtNode *node, GError **error)
{
    const CtParams *params = node->params;
    CtStream *weights = &node->outputs[0];
    weights->type = CT_CF32;
    ct_params_use(params, "normalisation");
    if (!set_channels(node, weights, error))
        return FALSE;
    gint64 n_beams = 0;
    g_autofree gdouble *directions = new_directions(params, &n_beams, error);
    if (!directions)
        return FALSE;

    gint64 n_stations = 0;
    const CtStream *input = &node->inputs[0];
    if (ct_params_has(params, "n_stations"))
        n_stations = ct_params_int(params, "n_stations");
    else if (input->type != CT_TYPE_NONE && ct_stream_axis(input, "station") >= 0)
        n_stations = ct_stream_length(input, "station");
    g_autofree gdouble *positions = geometry_positions(node, &n_stations, error);
    if (!positions)
        return FALSE;
    if (!ct_stream_add_axis(weights, "beam", n_beams) ||
        !ct_stream_add_axis(weights, "station", n_stations)) {
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE, "wants at most %d axes", CT_MAX_AXES);
        return FALSE;
    }
    return TRUE;
}

/* ---- the only variant: weights are made once, so others would not be faster ---- */

typedef struct {
    const CtLayout *layout; /* of the output; the core's */
    float complex *weights; /* in the order of the layout */
    gboolean produced;
} Pointing;

static gboolean
pointing_prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    Pointing *pointing = g_new0(Pointing, 1);
    *state = pointing;
    const CtParams *params = prepare->nodes[0].params;
    const CtStream *stream = prepare->outputs[0].stream;
    const CtLayout *layout = pointing->layout = &prepare->outputs[0].layout;
    static const char *const names[] = {"subband", "channel", "beam", "station"};
    enum { SUBBAND, CHANNEL, BEAM, STATION, N };
    gint64 length[N], step[N] = {0};
    for (guint i = 0; i < N; i++)
        length[i] = ct_stream_length(stream, names[i]);
    gsize n = 1;
    for (guint i = layout->n_axes; i-- > 0;)
        for (guint k = 0; k < N; k++)
            if (layout->axes[i].name == ct_axis_name(names[k])) {
                step[k] = n;
                n *= length[k];
            }
    gint64 n_stations = length[STATION];
    g_autofree gdouble *positions = geometry_positions(&prepare->nodes[0], &n_stations, error);
    g_autofree gdouble *directions =
        positions ? new_directions(params, &length[BEAM], error) : NULL;
    if (!directions)
        return FALSE;
    pointing->weights = CT_TABLE(float complex, n, "weights", error);
    if (!pointing->weights)
        return FALSE;

    const gdouble moduli[] = {
        [NORM_MEAN] = 1.0 / n_stations,
        [NORM_POWER] = 1 / sqrt(n_stations),
        [NORM_SUM] = 1,
    };
    gdouble modulus = moduli[ct_params_choice(params, "normalisation")];
    gint channel = ct_stream_axis(stream, "channel");
    for (gint64 beam = 0; beam < length[BEAM]; beam++)
        for (gint64 s = 0; s < n_stations; s++) {
            gdouble lead = geometry_lead(positions + 3 * s, directions + 3 * beam);
            for (gint64 b = 0; b < length[SUBBAND]; b++)
                for (gint64 c = 0; c < length[CHANNEL]; c++) {
                    gdouble turns = ct_stream_coordinate(stream, channel, c, b) * lead;
                    gdouble angle = -2 * G_PI * (turns - rint(turns));
                    pointing->weights[b * step[SUBBAND] + c * step[CHANNEL] + beam * step[BEAM] +
                                      s * step[STATION]] =
                        (float complex)(modulus * (cos(angle) + I * sin(angle)));
                }
        }
    return TRUE;
}

static gboolean
pointing_advance(gpointer state, CtAdvance *advance, G_GNUC_UNUSED GError **error)
{
    Pointing *pointing = state;
    CtDeparture *output = &advance->outputs[0];
    output->produced = pointing->produced || output->room < 1 ? 0 : 1;
    output->start = 0;
    pointing->produced = pointing->produced || output->produced;
    advance->ended = pointing->produced;
    return TRUE;
}

static gboolean
pointing_work(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    const Pointing *pointing = state;
    const CtBlock *block = &work->outputs[0];
    if (!block->data)
        return TRUE;
    const float complex *weight = pointing->weights;
    CtWalk walk; /* rows may be padded */
    ct_walk_init(&walk, pointing->layout, block);
    while (ct_walk_next(&walk))
        memcpy(walk.at[0], weight++, sizeof *weight);
    return TRUE;
}

static void
pointing_finish(gpointer state)
{
    Pointing *pointing = state;
    if (pointing)
        g_free(pointing->weights);
    g_free(pointing);
}

static const CtVariant pointing_reference = {
    .name = "reference",
    .backend = CT_REFERENCE,
    .covers = (const char *const[]){"pointing", NULL},
    .rows = (const CtRow[]){{"any: [...] -> cf32{channel beam station ...}", 0.1}, {NULL}},
    .prepare = pointing_prepare,
    .advance = pointing_advance,
    .work = pointing_work,
    .finish = pointing_finish,
};

/* The same functions, so that a graph that allows only cpu variants has weights too. */
static const CtVariant pointing_cpu = {
    .name = "cpu",
    .backend = CT_CPU,
    .covers = (const char *const[]){"pointing", NULL},
    .rows = (const CtRow[]){{"any: [...] -> cf32{channel beam station ...}", 0.1}, {NULL}},
    .prepare = pointing_prepare,
    .advance = pointing_advance,
    .work = pointing_work,
    .finish = pointing_finish,
};

/* Computed in double precision, and rounded once. */
static void
pointing_accuracy(G_GNUC_UNUSED const CtNode *node, G_GNUC_UNUSED const CtAccuracy *inputs,
                  CtAccuracy *outputs)
{
    outputs[0].error = 0x1p-24 * outputs[0].largest;
    outputs[0].rms_error = 0x1p-24 * outputs[0].rms;
}

static const CtStage pointing = {
    .name = "pointing",
    .summary = "weights that add up a plane wave from each beam's direction",
    .version = 1,
    .inputs = CT_PORTS(
        {"spectra", "{channel ...}", CT_PORT_OPTIONAL | CT_PORT_SHAPE,
         .help =
             "gives the channels, subbands and stations of the weights; its data are not read"}),
    .outputs = CT_PORTS(
        {"weights", "cf32{channel beam station ...}", .help = "[subband channel beam station]"}),
    .params = pointing_params,
    .infer = pointing_infer,
    .infer_uses_params = TRUE,
    .accuracy = pointing_accuracy,
    .accuracy_rule = "u |w|, u = 2⁻²⁴",
};

CT_STAGE_PLUGIN("pointing", pointing, &pointing_cpu, &pointing_reference);
