/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes the filter's numbers from its parameters: coefficients from a file, a port or a windowed
 * sinc, and the rotation of windows. */
#include "fir.h"

#include <cornerturn/kit/array.h>
#include <math.h>

/* In the order of the parameter's choices. */
typedef enum { RECTANGULAR, HANNING, HAMMING, BLACKMAN, KAISER } Window;

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

/* "taps" or the number that the graph gives. */
static char *
wanted_length(gint64 given, const char *name)
{
    return given == 0 ? g_strdup(name) : g_strdup_printf("%" G_GINT64_FORMAT, given);
}

/* Takes the sizes of coefficients, where the design has those that the graph gives, or 0. FALSE if
 * they differ or are too large; *wanted says what is wanted, allocated. */
static gboolean
take_sizes(FirDesign *design, gint64 n_taps, gint64 n_channels, char **wanted)
{
    if (n_taps < 1 || n_channels < 1 || (design->n_taps != 0 && n_taps != design->n_taps) ||
        (design->n_channels != 0 && n_channels != design->n_channels)) {
        g_autofree char *taps = wanted_length(design->n_taps, "taps");
        g_autofree char *channels = wanted_length(design->n_channels, "channels");
        *wanted = g_strdup_printf("an array of shape (%s, %s)", taps, channels);
        return FALSE;
    }
    if (n_taps > FIR_MAX_TAPS || n_channels > FIR_MAX_CHANNELS) {
        *wanted =
            g_strdup_printf("at most %d taps and %d channels", FIR_MAX_TAPS, FIR_MAX_CHANNELS);
        return FALSE;
    }
    design->n_taps = n_taps;
    design->n_channels = n_channels;
    return TRUE;
}

/* Takes sizes and values from an array of [tap phase] or [tap · phase]. */
static gboolean
design_from_array(FirDesign *design, const CtParams *given, CtNpyArray *array, GError **error)
{
    gint64 n_items = (gint64)array->n_items;
    gint64 n_taps = design->n_taps, n_channels = design->n_channels;
    g_autofree char *shape = ct_npy_shape_string(array), *wanted = NULL;

    if (array->n_axes == 2) {
        n_taps = (gint64)array->shape[0];
        n_channels = (gint64)array->shape[1];
    } else if (array->n_axes == 1) {
        if (n_channels == 0)
            n_channels = n_taps == 0 ? 1 : n_items / n_taps;
        n_taps = n_channels == 0 ? 0 : n_items / n_channels;
    }
    if (array->n_axes < 1 || array->n_axes > 2 || n_taps * n_channels != n_items)
        n_taps = 0;
    if (!take_sizes(design, n_taps, n_channels, &wanted))
        return ct_params_error(given, "coefficients", error, "wants %s, but %s has shape %s",
                               wanted, ct_params_string(given, "coefficients"), shape);
    design->taps = g_steal_pointer(&array->data);
    return TRUE;
}

static gboolean
design_from_file(FirDesign *design, const CtParams *given, GError **error)
{
    g_autoptr(GError) problem = NULL;
    g_autoptr(CtNpyArray) array =
        ct_npy_load(ct_params_string(given, "coefficients"), 'f', sizeof(float), &problem);
    if (array == NULL)
        return ct_params_error(given, "coefficients", error, "%s", problem->message);
    return design_from_array(design, given, array, error);
}

static gboolean
design_from_port(FirDesign *design, const CtNode *node, GError **error)
{
    static const char *const order[] = {"tap", "phase"};
    const CtStream *stream = &node->inputs[FIR_COEFFICIENTS];
    const char *axes[CT_MAX_AXES];
    g_autofree char *wanted = NULL;

    if (!ct_array_check_alone(node, FIR_COEFFICIENTS, "coefficients", error))
        return FALSE;
    if (ct_array_axes(node, FIR_COEFFICIENTS, axes) != G_N_ELEMENTS(order))
        wanted = g_strdup("the axes tap and phase, and no others");
    if (wanted || !take_sizes(design, ct_stream_length(stream, "tap"),
                              ct_stream_length(stream, "phase"), &wanted)) {
        g_autofree char *given = ct_stream_describe(stream);
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                    "input 'coefficients' wants %s, but is given %s", wanted, given);
        return FALSE;
    }
    if (!node->blocks)
        return TRUE;
    g_autoptr(CtNpyArray) array = ct_array_read(node, FIR_COEFFICIENTS, order, G_N_ELEMENTS(order),
                                                'f', sizeof(float), error);
    if (array == NULL)
        return FALSE;
    design->taps = g_steal_pointer(&array->data);
    return TRUE;
}

static gboolean
design_from_window(FirDesign *design, const CtParams *given, GError **error)
{
    const char *missing = design->n_channels == 0 ? "n_channels" : "n_taps";
    if (design->n_channels == 0 || design->n_taps == 0)
        return ct_params_error(given, missing, error,
                               "wants a value where there are no coefficients, but none is given");
    design->taps = CT_TABLE(float, design->n_channels * design->n_taps, "coefficients", error);
    if (!design->taps)
        return FALSE;
    const Window window = ct_params_choice(given, "window");
    design_sinc(design, window, window == KAISER ? ct_params_real(given, "beta") : 0);
    return TRUE;
}

gboolean
ct_fir_design_init(FirDesign *design, const CtNode *node, GError **error)
{
    const CtParams *given = node->params;
    FirDesign made = {0};

    if (ct_params_has(given, "n_channels"))
        made.n_channels = ct_params_int(given, "n_channels");
    if (ct_params_has(given, "n_taps"))
        made.n_taps = ct_params_int(given, "n_taps");
    if (!(ct_array_is_given(node, FIR_COEFFICIENTS) ? design_from_port(&made, node, error)
          : ct_params_has(given, "coefficients")    ? design_from_file(&made, given, error)
                                                    : design_from_window(&made, given, error)))
        return FALSE;
    made.hop = ct_params_has(given, "hop") ? ct_params_int(given, "hop") : made.n_channels;
    *design = made;
    return TRUE;
}

void
ct_fir_design_clear(FirDesign *design)
{
    g_clear_pointer(&design->taps, g_free);
}

FirRotation
ct_fir_rotation(gint64 n_channels, gint64 hop, const CtStream *in, gint64 tick)
{
    FirRotation rotation = {.n_channels = n_channels, .step = hop % n_channels};

    if (rotation.step == 0)
        return rotation;
    /* Without a clock, samples are counted from the stream's first. */
    if (in->rate_num == 0)
        tick -= in->start;
    /* Ticks are rounded down, also those before tick 0. */
    const gint64 ticks = in->ticks_per_sample, n = tick / ticks - (tick % ticks < 0);
    rotation.first = (n % n_channels + n_channels) % n_channels;
    return rotation;
}
