/* SPDX-License-Identifier: BSD-3-Clause */
/* The stage fir: y[t][p] = Σ_k h[k][p] · x[t·H + k·P + p], the filter half of a polyphase filter
 * bank; one channel makes it an ordinary filter. */
#include "fir.h"

#include <cornerturn/npy.h>
#include <math.h>
#include <string.h>

#define MAX_CHANNELS (1 << 24)

typedef enum { RECTANGULAR, HANNING, HAMMING, BLACKMAN, KAISER } Window;

static const char *const windows[] = {"rectangular", "hanning", "hamming",
                                      "blackman",    "kaiser",  NULL};

static const CtParam params[] = {
    {"n_channels", CT_PARAM_INT, CT_PARAM_RANGED, NULL, 1, MAX_CHANNELS,
     .help = "branches P of the filter bank; left out: as many as `coefficients` has"},
    {"n_taps", CT_PARAM_INT, CT_PARAM_RANGED, NULL, 1, FIR_MAX_TAPS,
     .help = "taps of each branch; left out: as many as `coefficients` has"},
    {"hop", CT_PARAM_INT, CT_PARAM_RANGED, NULL, 1, G_MAXINT32,
     .help = "samples from one spectrum to the next; left out: n_channels"},
    {"coefficients", CT_PARAM_PATH,
     .help = ".npy of [tap phase], or of all taps in the order of time"},
    {"window", CT_PARAM_CHOICE, .fallback = "hamming", .choices = windows,
     .help = "without coefficients: what the sinc of cutoff 1/P is multiplied with"},
    {"beta", CT_PARAM_REAL, CT_PARAM_RANGED, NULL, 0, 100, "8",
     .help = "shape of the window kaiser"},
    {NULL},
};

static const CtPort inputs[] = {
    {"in", "{time ...}", 0, "samples; integers are converted while they are loaded"},
    {NULL},
};

static const CtPort outputs[] = {
    {"out", "cf32|f32{time phase ...}", 0, "complex for complex samples, else real"},
    {NULL},
};

/* Modified Bessel function of the first kind, order 0. */
static gdouble
bessel(gdouble x)
{
    gdouble sum = 1, term = 1;

    for (gint i = 1; term > sum * 1e-18; i++) {
        term *= (x / (2 * i)) * (x / (2 * i));
        sum += term;
    }
    return sum;
}

/* Sample i of n of a symmetric window. */
static gdouble
window_sample(Window window, gdouble beta, gint64 i, gint64 n)
{
    gdouble turn = n > 1 ? (gdouble)i / (gdouble)(n - 1) : 0.5;

    switch (window) {
    case HANNING:
        return 0.5 - 0.5 * cos(2 * G_PI * turn);
    case HAMMING:
        return 0.54 - 0.46 * cos(2 * G_PI * turn);
    case BLACKMAN:
        return 0.42 - 0.5 * cos(2 * G_PI * turn) + 0.08 * cos(4 * G_PI * turn);
    case KAISER:
        return bessel(beta * sqrt(4 * turn * (1 - turn))) / bessel(beta);
    case RECTANGULAR:
        break;
    }
    return 1;
}

/* sinc((i − (n − 1)/2) / P) · window: the peak is 1, so that each branch passes a constant with a
 * gain of about 1 and a following FFT has the gain that it has without a filter. */
static void
design_sinc(FirDesign *design, Window window, gdouble beta)
{
    gint64 n = design->n_channels * design->n_taps;

    for (gint64 i = 0; i < n; i++) {
        gdouble x = G_PI * ((gdouble)i - (gdouble)(n - 1) / 2) / (gdouble)design->n_channels;
        gdouble sinc = x == 0 ? 1 : sin(x) / x;
        design->taps[i] = (float)(sinc * window_sample(window, beta, i, n));
    }
}

/* Sizes and values from an array of [tap phase] or [tap · phase]; `n_channels` and `n_taps` are 0
 * where the graph gives none. */
static gboolean
design_from_array(FirDesign *design, const CtParams *given, const CtNpyArray *array, GError **error)
{
    gint64 n_items = (gint64)array->n_items;
    gint64 n_taps = design->n_taps, n_channels = design->n_channels;
    g_autofree char *shape = ct_npy_shape_string(array);

    if (array->n_axes == 2) {
        n_taps = (gint64)array->shape[0];
        n_channels = (gint64)array->shape[1];
    } else if (array->n_axes == 1) {
        if (n_channels == 0)
            n_channels = n_taps == 0 ? 1 : n_items / n_taps;
        n_taps = n_channels == 0 ? 0 : n_items / n_channels;
    }
    if (n_taps * n_channels != n_items || n_items == 0 ||
        (design->n_taps != 0 && n_taps != design->n_taps) ||
        (design->n_channels != 0 && n_channels != design->n_channels)) {
        g_autofree char *taps = design->n_taps == 0
                                    ? g_strdup("taps")
                                    : g_strdup_printf("%" G_GINT64_FORMAT, design->n_taps);
        g_autofree char *channels = design->n_channels == 0
                                        ? g_strdup("channels")
                                        : g_strdup_printf("%" G_GINT64_FORMAT, design->n_channels);
        return ct_params_error(given, "coefficients", error,
                               "wants an array of shape (%s, %s), but %s has shape %s", taps,
                               channels, ct_params_string(given, "coefficients"), shape);
    }
    if (n_taps > FIR_MAX_TAPS || n_channels > MAX_CHANNELS)
        return ct_params_error(given, "coefficients", error,
                               "wants at most %d taps and %d channels, but %s has shape %s",
                               FIR_MAX_TAPS, MAX_CHANNELS, ct_params_string(given, "coefficients"),
                               shape);
    design->n_taps = n_taps;
    design->n_channels = n_channels;
    design->taps = g_memdup2(array->data, array->n_items * sizeof *design->taps);
    return TRUE;
}

gboolean
ct_fir_design_init(FirDesign *design, const CtParams *given, GError **error)
{
    FirDesign made = {0};

    if (ct_params_has(given, "n_channels"))
        made.n_channels = ct_params_int(given, "n_channels");
    if (ct_params_has(given, "n_taps"))
        made.n_taps = ct_params_int(given, "n_taps");
    if (ct_params_has(given, "coefficients")) {
        g_autoptr(GError) problem = NULL;
        g_autoptr(CtNpyArray) array =
            ct_npy_load(ct_params_string(given, "coefficients"), 'f', sizeof(float), &problem);
        if (array == NULL)
            return ct_params_error(given, "coefficients", error, "%s", problem->message);
        if (!design_from_array(&made, given, array, error))
            return FALSE;
    } else {
        const char *missing = made.n_channels == 0 ? "n_channels" : "n_taps";
        if (made.n_channels == 0 || made.n_taps == 0)
            return ct_params_error(
                given, missing, error,
                "wants a value where there are no coefficients, but none is given");
        made.taps = g_new(float, made.n_channels *made.n_taps);
        design_sinc(&made, ct_params_choice(given, "window"), ct_params_real(given, "beta"));
    }
    made.hop = ct_params_has(given, "hop") ? ct_params_int(given, "hop") : made.n_channels;
    *design = made;
    return TRUE;
}

void
ct_fir_design_clear(FirDesign *design)
{
    g_clear_pointer(&design->taps, g_free);
}

static gboolean
infer(CtNode *node, GError **error)
{
    const CtStream *in = &node->inputs[0];
    CtStream *out = &node->outputs[0];
    FirDesign design;

    if (!ct_fir_design_init(&design, node->params, error))
        return FALSE;
    ct_fir_design_clear(&design);

    ct_stream_copy(out, in);
    out->type = ct_type_info(in->type)->is_complex ? CT_CF32 : CT_F32;
    CtAxis *phase = ct_stream_add_axis(out, "phase", design.n_channels);
    if (phase == NULL) {
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                    "wants a stream without the axis phase, but is given one with it");
        return FALSE;
    }
    gdouble rate = ct_stream_sample_rate(in);
    if (rate > 0)
        phase->coordinate = (CtCoordinate){.unit = g_intern_static_string("s"), .step = 1 / rate};
    node->footprint = (CtFootprint){
        .kind = CT_FOOTPRINT_WINDOW,
        .window = design.n_channels * design.n_taps,
        .hop = design.hop,
    };
    return TRUE;
}

/* A multiplication and an addition for each tap and part. */
static gdouble
operations(const CtNode *node)
{
    gdouble parts = ct_type_info(node->outputs[0].type)->is_complex ? 2 : 1;
    gint64 n_taps = node->footprint.window / ct_stream_length(&node->outputs[0], "phase");

    return 2 * parts * (gdouble)n_taps * (gdouble)ct_stream_width(&node->outputs[0]);
}

static const CtStage fir = {
    .name = "fir",
    .summary = "polyphase filter: time becomes time and phase",
    .version = 1,
    .inputs = inputs,
    .outputs = outputs,
    .params = params,
    .infer = infer,
    .operations = operations,
};

CT_PLUGIN("fir", ((const CtStage *const[]){&fir, NULL}),
          ((const CtVariant *const[]){
#ifdef __x86_64__
              &ct_fir_cpu_avx512,
              &ct_fir_cpu_avx2,
#endif
              &ct_fir_cpu_baseline,
              &ct_fir_reference,
              NULL,
          }));
