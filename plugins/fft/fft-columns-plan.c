/* SPDX-License-Identifier: BSD-3-Clause */
/* Radices, rotations and row orders of transforms of columns. */
#include "fft-columns-plan.h"

#include <math.h>

/* Longer transforms do not fit the second-level cache. */
#define MAX_LENGTH 4096

/* The next radix, at most `most`, for a length of which the factor `rest` is left. 0: there is
 * none. 8 · 4 is faster than 16 · 2, 8 · 8 than 16 · 4, and 4 · 4 than 8 · 2. */
static gsize
next_radix(gsize rest, gsize most)
{
    static const gsize radices[] = {16, 8, 4, 2, 5, 3};

    for (gsize i = 0; i < G_N_ELEMENTS(radices); i++) {
        const gsize radix = radices[i];
        const gboolean is_uneven =
            (radix >= 8 && rest == 2 * radix) || (radix == 16 && rest == 4 * radix);
        if (radix <= most && rest % radix == 0 && !is_uneven)
            return radix;
    }
    return 0;
}

/* FALSE: there are none. */
static gboolean
find_radices(FftColumns *plan, const FftDesign *design, gsize most)
{
    gsize n = (gsize)design->length, rest = n;

    if (design->wide || design->real || n < 2 || n > MAX_LENGTH)
        return FALSE;
    while (rest > 1) {
        gsize radix = next_radix(rest, most);
        if (radix == 0)
            return FALSE;
        plan->radix[plan->n_passes++] = radix;
        rest /= radix;
    }
    return TRUE;
}

gboolean
ct_fft_columns_can(const FftDesign *design, gsize most)
{
    FftColumns plan = {0};

    return find_radices(&plan, design, most);
}

gboolean
ct_fft_columns_plan_init(FftColumns *plan, const FftDesign *design, gsize most)
{
    const gsize n = (gsize)design->length;

    *plan = (FftColumns){0};
    if (!find_radices(plan, design, most))
        return FALSE;

    /* The first pass reads element i from row i. What the last pass makes at i belongs to row
     * `made`. */
    int *in_row = g_new(int, n), *out_row = g_new(int, n);
    for (gsize i = 0; i < n; i++) {
        gsize made = 0, weight = 1, m = n, place = i;
        for (gsize pass = 0; pass < plan->n_passes; pass++) {
            m /= plan->radix[pass];
            made += weight * (place / m);
            weight *= plan->radix[pass];
            place %= m;
        }
        in_row[i] = (int)i;
        out_row[i] = (int)made;
    }
    /* The spectrum may have its zero frequency in the middle. */
    int *spectrum = design->inverse ? in_row : out_row;
    gint64 first = design->shift ? design->length / 2 : 0;
    for (gsize i = 0; i < n; i++)
        spectrum[i] = (int)((spectrum[i] + first) % design->length);
    /* The inverse transform gives the elements of the forward one in reverse. */
    for (gsize i = 0; i < n && design->inverse; i++)
        out_row[i] = (int)((n - (gsize)out_row[i]) % n);

    gsize m = n;
    for (gsize pass = 0; pass < plan->n_passes; pass++) {
        gsize radix = plan->radix[pass], block = m;
        m /= radix;
        float *turns = g_new(float, 2 * m * (radix - 1));
        for (gsize j = 0; j < m; j++)
            for (gsize k = 1; k < radix; k++) {
                gdouble angle = -2 * G_PI * (gdouble)(j * k) / (gdouble)block;
                turns[2 * (j * (radix - 1) + k - 1)] = (float)cos(angle);
                turns[2 * (j * (radix - 1) + k - 1) + 1] = (float)sin(angle);
            }
        plan->turns[pass] = turns;
    }
    plan->n = n;
    plan->in_row = in_row;
    plan->out_row = out_row;
    plan->scale = design->inverse ? 1 / (float)design->length : 1;
    return TRUE;
}

void
ct_fft_columns_plan_clear(FftColumns *plan)
{
    for (gsize pass = 0; pass < plan->n_passes; pass++)
        g_free((gpointer)plan->turns[pass]);
    g_free((gpointer)plan->in_row);
    g_free((gpointer)plan->out_row);
    *plan = (FftColumns){0};
}
