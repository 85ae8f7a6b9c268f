/* SPDX-License-Identifier: BSD-3-Clause */
/* Radices, rotations and the order of channels of transforms of samples that lie side by side. */
#include "fft-lines-plan.h"

#include <cornerturn/error.h>
#include <math.h>
#include <stdlib.h>

/* The longest transform: scratch is half the second-level cache. */
#define MAX_LENGTH 65536

#define L            FFT_LANES
#define VECTOR_BYTES 64

/* The radices of the passes between the first and the last one, of a product `rest`. 4 · 8 is
 * faster than 16 · 2. */
static gboolean
find_inner(FftLines *plan, gsize rest)
{
    static const gsize radices[] = {16, 8, 4, 2, 5, 3};

    while (rest > 1) {
        gsize radix = 0;
        for (gsize i = 0; i < G_N_ELEMENTS(radices) && radix == 0; i++)
            if (rest % radices[i] == 0 && (radices[i] < 8 || rest != 2 * radices[i]))
                radix = radices[i];
        if (radix == 0 || plan->n_passes == FFT_MAX_LINE_PASSES - 1)
            return FALSE;
        plan->radix[plan->n_passes++] = radix;
        rest /= radix;
    }
    return TRUE;
}

/* Those of blocks of radix · m samples. NULL with an error if there is no memory. */
static float *
turns_new(gsize radix, gsize m, GError **error)
{
    const gsize bytes = 2 * m * (radix - 1) * sizeof(float);
    void *memory = NULL;
    if (posix_memalign(&memory, VECTOR_BYTES, bytes) != 0) {
        g_set_error(error, CT_ERROR, CT_ERROR_MEMORY,
                    "wants %" G_GSIZE_FORMAT
                    " bytes for the factors of a transform, but is given no such memory",
                    bytes);
        return NULL;
    }
    float *turns = memory;

    for (gsize j = 0; j < m; j++)
        for (gsize k = 1; k < radix; k++) {
            const gsize element = j / L * L + fft_line_element(j % L);
            const gdouble angle = -2 * G_PI * (gdouble)(element * k) / (gdouble)(radix * m);
            float *turn = turns + (j / L * (radix - 1) + k - 1) * 2 * L + j % L;
            turn[0] = (float)cos(angle);
            turn[L] = (float)sin(angle);
        }
    return turns;
}

/* The radices of all passes. */
static gboolean
find_radices(FftLines *plan, gsize n)
{
    const gboolean is_short = n == 4 * L || n == 8 * L;

    if (!is_short && n % (L * L) != 0)
        return FALSE;
    plan->radix[plan->n_passes++] = is_short ? n / L : L;
    if (!is_short && !find_inner(plan, n / L / L))
        return FALSE;
    plan->radix[plan->n_passes++] = L;
    return TRUE;
}

gboolean
ct_fft_lines_plan_init(FftLines *plan, const FftDesign *design, GError **error)
{
    const gsize n = (gsize)design->length, half = design->shift ? n / 2 : 0;

    *plan = (FftLines){
        .is_inverse = design->inverse,
        .scale = 1 / (float)n,
        .shift_in = design->inverse ? half : 0,
        .shift_out = design->inverse ? 0 : half,
    };
    if (design->wide || design->real || n > MAX_LENGTH || !find_radices(plan, n))
        return TRUE;
    plan->n = n;

    const gsize n_blocks = MAX(1, n / L / L);
    int *channel = CT_TABLE(int, n_blocks, "channels", error);
    plan->channel = channel;
    if (!channel)
        return FALSE;
    for (gsize block = 0; block < n_blocks; block++) {
        gsize made = 0, weight = L, m = n_blocks, place = block;
        for (gsize pass = 1; pass + 1 < plan->n_passes; pass++) {
            m /= plan->radix[pass];
            made += weight * (place / m);
            weight *= plan->radix[pass];
            place %= m;
        }
        channel[block] = (int)made;
    }
    for (gsize pass = 0, m = n; pass + 1 < plan->n_passes; pass++) {
        m /= plan->radix[pass];
        plan->turns[pass] = turns_new(plan->radix[pass], m, error);
        if (!plan->turns[pass])
            return FALSE;
    }
    return TRUE;
}

void
ct_fft_lines_plan_clear(FftLines *plan)
{
    for (gsize pass = 0; pass + 1 < plan->n_passes; pass++)
        free((gpointer)plan->turns[pass]);
    g_free((gpointer)plan->channel);
    *plan = (FftLines){0};
}
