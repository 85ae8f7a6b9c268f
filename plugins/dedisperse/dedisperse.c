/* SPDX-License-Identifier: BSD-3-Clause */
/* The stage dedisperse: sums power spectra over frequency, along the curves on which pulses of
 * given dispersion measures arrive. */
#include "dedisperse.h"

#include "dedisperse.kernel.h"

#include <math.h>

/* Seconds times MHz² for 1 pc cm⁻³, the convention of pulsar astronomy (Manchester & Taylor 1972;
 * Lorimer & Kramer, Handbook of Pulsar Astronomy, 2004; PSRCHIVE, PRESTO); see README.md. */
#define DISPERSION (1 / 2.41e-4)

static const CtParam params[] = {
    {"dms", CT_PARAM_REAL, CT_PARAM_LIST | CT_PARAM_RANGED, .minimum = -1e6, .maximum = 1e6,
     .help = "dispersion measures in pc cm⁻³"},
    {"first", CT_PARAM_REAL, CT_PARAM_RANGED, .minimum = -1e6, .maximum = 1e6,
     .help = "in place of a list: the first dispersion measure"},
    {"step", CT_PARAM_REAL, CT_PARAM_RANGED, .minimum = -1e6, .maximum = 1e6,
     .help = "from one dispersion measure to the next"},
    {"n_dms", CT_PARAM_INT, CT_PARAM_RANGED, .minimum = 1, .maximum = 1 << 20,
     .help = "the number of dispersion measures"},
    {"reference_frequency", CT_PARAM_QUANTITY, CT_PARAM_RANGED, .unit = "Hz", .minimum = 1,
     .maximum = 1e15, .help = "at which the delay is 0; left out: the highest of the channels"},
    {NULL},
};

static gint64
count_dms(const CtParams *params)
{
    return ct_params_has(params, "dms") ? ct_params_count(params, "dms")
                                        : ct_params_int(params, "n_dms");
}

static gdouble
dm_at(const CtParams *params, gint64 i)
{
    return ct_params_has(params, "dms")
               ? ct_params_real_at(params, "dms", (guint)i)
               : ct_params_real(params, "first") + (gdouble)i * ct_params_real(params, "step");
}

static gint64
n_channels(const CtStream *in)
{
    return ct_stream_length(in, "subband") * ct_stream_length(in, "channel");
}

/* Hertz of channel `i` of [subband][channel]. */
static gdouble
frequency_at(const CtStream *in, gint64 i)
{
    const gint channel = ct_stream_axis(in, "channel"), subband = ct_stream_axis(in, "subband");
    const gint64 n = ct_stream_length(in, "channel");
    return channel >= 0 ? ct_stream_coordinate(in, (guint)channel, i % n, i / n)
                        : ct_stream_coordinate(in, (guint)subband, i, 0);
}

/* The most samples of a delay: rounding it to a sample has an error of 2⁻¹² samples at most. */
#define LARGEST_DELAY 0x1p40

gint64 *
ct_dedisperse_shifts(const CtNode *node, GError **error)
{
    const CtStream *in = &node->inputs[0];
    const gint64 n_dms = count_dms(node->params), n = n_channels(in);
    gdouble reference = 0;
    for (gint64 c = 0; c < n; c++)
        reference = MAX(reference, frequency_at(in, c));
    if (ct_params_has(node->params, "reference_frequency"))
        reference = ct_params_real(node->params, "reference_frequency");
    gint64 *shifts = CT_TABLE(gint64, n_dms * n, "shifts of channels", error);
    for (gint64 c = 0; shifts && c < n; c++) {
        const gdouble frequency = frequency_at(in, c);
        const gdouble seconds = /* of 1 pc cm⁻³ */
            DISPERSION * (1e12 / (frequency * frequency) - 1e12 / (reference * reference));
        for (gint64 m = 0; m < n_dms; m++) {
            const gdouble samples =
                rint(seconds * dm_at(node->params, m) * ct_stream_sample_rate(in));
            if (!(fabs(samples) <= LARGEST_DELAY)) {
                ct_params_error(
                    node->params,
                    ct_params_has(node->params, "reference_frequency") ? "reference_frequency"
                    : ct_params_has(node->params, "dms")               ? "dms"
                                                                       : "step",
                    error,
                    "wants delays of at most %g samples, but %g Hz is delayed against "
                    "%g Hz by %g samples at a dispersion measure of %g",
                    LARGEST_DELAY, frequency, reference, samples, dm_at(node->params, m));
                g_free(shifts);
                return NULL;
            }
            shifts[m * n + c] = (gint64)samples;
        }
    }
    return shifts;
}

static gboolean
check_dms(const CtNode *node, GError **error)
{
    static const char *const places[] = {"first", "step", "n_dms"};
    const gboolean has_list = ct_params_has(node->params, "dms");
    for (guint i = 0; i < G_N_ELEMENTS(places); i++)
        if (ct_params_has(node->params, places[i]) == has_list)
            return ct_params_error(
                node->params, has_list ? places[i] : "dms", error,
                "wants a list 'dms', or 'first', 'step' and 'n_dms', but '%s' is "
                "%s",
                places[i], has_list ? "given too" : "not given");
    return TRUE;
}

/* Checks that the axis channel, or else subband, has frequencies above 0, and that the stream has a
 * sample rate. */
static gboolean
check_frequencies(const CtNode *node, GError **error)
{
    const CtStream *in = &node->inputs[0];
    const gint channel = ct_stream_axis(in, "channel");
    const gint axis = channel >= 0 ? channel : ct_stream_axis(in, "subband");
    const char *port = node->stage->inputs[0].name;
    if (axis < 0 || g_strcmp0(in->axes[axis].coordinate.unit, "Hz") != 0) {
        g_autofree char *given = ct_stream_describe(in);
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                    "input '%s' wants an axis channel or subband with frequencies, but is given %s",
                    port, given);
        return FALSE;
    }
    for (gint64 c = 0; c < n_channels(in); c++)
        if (!(frequency_at(in, c) > 0)) {
            g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                        "input '%s' wants frequencies above 0, but is given %g Hz", port,
                        frequency_at(in, c));
            return FALSE;
        }
    if (ct_stream_sample_rate(in) > 0)
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                "input '%s' wants a sample rate, but is given none", port);
    return FALSE;
}

static void
add_axis(CtStream *out, const CtParams *params)
{
    const gint64 n = count_dms(params);
    CtAxis *axis = ct_stream_add_axis(out, "dm", n);
    if (!axis)
        return;
    axis->coordinate.unit = g_intern_static_string("pc/cm3");
    /* Each dispersion measure is made of other samples, and has its own validity. */
    axis->loses = TRUE;
    if (!ct_params_has(params, "dms")) {
        axis->coordinate.first = dm_at(params, 0);
        axis->coordinate.step = ct_params_real(params, "step");
        return;
    }
    gdouble *dms = g_new(gdouble, n);
    for (gint64 i = 0; i < n; i++)
        dms[i] = dm_at(params, i);
    axis->coordinate.table = g_bytes_new_take(dms, (gsize)n * sizeof *dms);
}

static gboolean
infer(CtNode *node, GError **error)
{
    const CtStream *in = &node->inputs[0];
    CtStream *out = &node->outputs[0];
    if (!check_dms(node, error) || !check_frequencies(node, error))
        return FALSE;
    ct_stream_copy(out, in);
    out->type = in->type == CT_F64 ? CT_F64 : CT_F32;
    ct_stream_remove_axis(out, "channel");
    ct_stream_remove_axis(out, "subband");
    add_axis(out, node->params);
    g_autofree gint64 *shifts = ct_dedisperse_shifts(node, error);
    if (!shifts)
        return FALSE;
    gint64 least = shifts[0], most = shifts[0];
    for (gint64 i = 0; i < count_dms(node->params) * n_channels(in); i++) {
        least = MIN(least, shifts[i]);
        most = MAX(most, shifts[i]);
    }
    node->footprint.needs = MIN(most - least + 1, n_channels(in));
    return ct_window_footprint(node, ct_params_has(node->params, "dms") ? "dms" : "n_dms", least,
                               most, 1, error);
}

static gdouble
operations(const CtNode *node)
{
    return (gdouble)n_channels(&node->inputs[0]) * (gdouble)ct_stream_width(&node->outputs[0]);
}

/* A sum of n terms has n − 1 roundings. */
static void
accuracy(const CtNode *node, const CtAccuracy *inputs, CtAccuracy *outputs)
{
    const gdouble n = (gdouble)n_channels(&node->inputs[0]);
    const gdouble unit = node->outputs[0].type == CT_F64 ? 0x1p-53 : 0x1p-24;
    outputs[0].error = n * unit * n * inputs[0].largest;
    outputs[0].rms_error = n * unit * n * inputs[0].rms + n * inputs[0].rms_error;
}

static const CtStage stage = {
    .name = "dedisperse",
    .summary = "incoherent dedispersion: sums over frequency for a series of dispersion measures",
    .version = 1,
    .inputs = CT_PORTS({"in", "i8|u8|i16|f16|f32|f64{time ...}", 0, "power spectra"}),
    .outputs = CT_PORTS({"out", "f32|f64{time dm ...}", 0, "sums for every dispersion measure"}),
    .params = params,
    .infer = infer,
    .infer_uses_params = TRUE,
    .operations = operations,
    .accuracy = accuracy,
    .accuracy_rule = "n u Σ|x| of the n channels, u = 2⁻²⁴ (2⁻⁵³ of double precision)",
};

static gboolean
choose(const CtNode *node, CtWindowChoice *choice, GError **error)
{
    const CtStream *in = &node->inputs[0];
    ct_form_kernel(&choice->form, "dedisperse", sizeof(CtNoSettings));
    choice->sum[0] = ct_stream_axis(in, "subband") < 0 ? NULL : "subband";
    choice->sum[1] = ct_stream_axis(in, "channel") < 0 ? NULL : "channel";
    choice->made = "dm";
    choice->shifts = (CtFormTable){
        .type = CT_I64,
        .n_axes = 3,
        .axes = {ct_axis_name("dm"), ct_axis_name("subband"), ct_axis_name("channel")},
        .lengths = {count_dms(node->params), ct_stream_length(in, "subband"),
                    ct_stream_length(in, "channel")},
        .data = ct_dedisperse_shifts(node, error),
    };
    return choice->shifts.data != NULL;
}

const CtWindow ct_dedisperse_window = CT_WINDOW_FORM("dedisperse", choose);

#define TYPES(in, out) "i8|u8|i16|f16|f32|f64[" in "] -> f32|f64[" out "]"
static const CtRow rows[] = {{TYPES("... channel time", "... dm time"), 0.3},
                             {TYPES("... subband time", "... dm time"), 0.3},
                             {"any: i8|u8|i16|f16|f32|f64{...} -> f32|f64{...}", 0.25},
                             {NULL}};
static const CtRow device_rows[] = {{TYPES("... channel time", "... dm time"), 0.3},
                                    {TYPES("... subband time", "... dm time"), 0.3},
                                    {"any: i8|u8|i16|f16|f32|f64{...} -> f32|f64{...}", 0.02},
                                    {NULL}};

CT_STAGE_PLUGIN("dedisperse", stage,
                CT_WINDOW_SUM_VARIANTS(ct_dedisperse_window, "dedisperse", rows, device_rows),
                &ct_dedisperse_reference);
