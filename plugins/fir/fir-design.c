/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes the filter's numbers from its parameters: coefficients from a file or a windowed sinc,
 * and the rotation of windows. */
#include "fir.h"

#include <cornerturn/npy.h>
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

/* Takes sizes and values from an array of [tap phase] or [tap · phase]. `n_channels` and `n_taps`
 * are 0 if the graph does not give them. */
static gboolean
design_from_array(FirDesign *design, const CtParams *given, CtNpyArray *array, GError **error)
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
    if (n_taps > FIR_MAX_TAPS || n_channels > FIR_MAX_CHANNELS)
        return ct_params_error(given, "coefficients", error,
                               "wants at most %d taps and %d channels, but %s has shape %s",
                               FIR_MAX_TAPS, FIR_MAX_CHANNELS,
                               ct_params_string(given, "coefficients"), shape);
    design->n_taps = n_taps;
    design->n_channels = n_channels;
    design->taps = g_steal_pointer(&array->data);
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
        made.taps = CT_TABLE(float, made.n_channels *made.n_taps, "coefficients", error);
        if (!made.taps)
            return FALSE;
        const Window window = ct_params_choice(given, "window");
        design_sinc(&made, window, window == KAISER ? ct_params_real(given, "beta") : 0);
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
