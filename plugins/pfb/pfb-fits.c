/* SPDX-License-Identifier: BSD-3-Clause */
/* The conditions under which the kernels take a filter bank. */
#include "pfb-fits.h"

#include <string.h>

/* Bytes of shared memory of a block that every device has. */
#define MOST_SHARED ((gsize)96 << 10)
/* Spectra of a cell that is folded by one group, if hops are longer. A hop that can't be divided
 * into such cells may have MOST_WHOLE spectra. */
#define LEAST_CELL 32
#define MOST_CELL  128
#define MOST_WHOLE 1024

/* Whether a parameter that names an axis leaves it at its default. */
static gboolean
is_axis(const CtParams *params, const char *name, const char *fallback)
{
    return !ct_params_has(params, name) || strcmp(ct_params_string(params, name), fallback) == 0;
}

gboolean
ct_pfb_fits(const CtNode *nodes, char **reason)
{
    const CtParams *fft = nodes[1].params;
    const CtFootprint *footprint = &nodes[0].footprint;
    const PfbBank bank = ct_pfb_bank(nodes);
    PfbWay way;

    if (!is_axis(fft, "axis", "phase") || !is_axis(fft, "to", "channel") ||
        ct_params_choice(fft, "direction") != 0)
        *reason = g_strdup("it makes channels of phases alone, forward");
    else if (!ct_pfb_way_find(&way, &bank))
        *reason = g_strdup_printf(
            "it wants a product of 2, 3 and 5 that %d threads can share, of at most "
            "%" G_GINT64_FORMAT " channels (8 taps), %" G_GINT64_FORMAT
            " (16 taps) or %" G_GINT64_FORMAT " (32 taps) of %s, but is given %" G_GINT64_FORMAT
            " channels of %" G_GINT64_FORMAT " taps",
            PFB_MOST_THREADS, ct_pfb_most_phases(&bank, 8), ct_pfb_most_phases(&bank, 16),
            ct_pfb_most_phases(&bank, 32), ct_type_info(bank.type)->name, bank.n_phases,
            bank.n_taps);
    else if (bank.n_phases % 2 != 0 && ct_params_bool(fft, "shift"))
        *reason = g_strdup_printf(
            "it shifts an even number of channels alone, but is given %" G_GINT64_FORMAT,
            bank.n_phases);
    else if (bank.n_phases % footprint->hop != 0)
        *reason = g_strdup_printf(
            "it wants a hop that divides the channels, but is given %" G_GINT64_FORMAT
            " of %" G_GINT64_FORMAT,
            footprint->hop, bank.n_phases);
    return *reason == NULL;
}

gboolean
ct_pfb_fits_blocks(const CtNode *nodes, char **reason)
{
    const gsize largest = ct_type_info(CT_CF32)->bytes;
    const PfbBank bank = ct_pfb_bank(nodes);
    PfbWay way;

    if (!ct_pfb_fits(nodes, reason))
        return FALSE;
    (void)ct_pfb_way_find(&way, &bank);
    const gboolean divides = ct_pfb_way_divide(&way, bank.length, way.ahead);
    while (divides && ct_pfb_way_divide(&way, bank.length, way.ahead / 2))
        ;
    const gsize bytes =
        ct_pfb_buffer_bytes(&bank, &way) + ct_pfb_staged_bytes(&bank, &way, largest);
    if (nodes[0].footprint.hop != bank.n_phases)
        *reason = g_strdup_printf("it wants a hop of all channels, but is given %" G_GINT64_FORMAT
                                  " of %" G_GINT64_FORMAT,
                                  nodes[0].footprint.hop, bank.n_phases);
    else if (!divides)
        *reason = g_strdup_printf("it wants a power of two or a multiple of %d channels whose "
                                  "spectra are transformed 2, 4 or 8 at a time, but is given "
                                  "%" G_GINT64_FORMAT,
                                  PFB_BLOCK, bank.n_phases);
    else if (bytes > MOST_SHARED)
        *reason = g_strdup_printf(
            "it has %" G_GSIZE_FORMAT
            " KiB of shared memory for spectra, but these need %" G_GSIZE_FORMAT " KiB",
            MOST_SHARED >> 10, (bytes + 1023) >> 10);
    return *reason == NULL;
}

/* ---- folding ---- */

gint64
ct_pfb_cell(gint64 hop, gint64 ahead)
{
    gint64 best = hop <= MOST_CELL ? hop : 0;
    for (gint64 cell = LEAST_CELL; cell <= MOST_CELL && best < hop; cell++)
        if (hop % cell == 0 && (cell % ahead == 0 || best % ahead != 0))
            best = cell;
    return best > 0 || hop > MOST_WHOLE ? best : hop;
}

/* The bytes of shared memory of a group that transforms as few spectra at a time as it can, and has
 * no coefficients there. */
static gsize
least_bytes(const PfbBank *bank, PfbWay way, gsize state_bytes)
{
    while (ct_pfb_way_ahead(&way, bank->length, way.ahead / 2))
        ;
    return ct_pfb_buffer_bytes(bank, &way) + ct_pfb_states_bytes(bank, state_bytes);
}

gboolean
ct_pfb_folds(const CtNode *nodes, gint64 hop, gsize state_bytes)
{
    const PfbBank bank = ct_pfb_bank(nodes);
    const gint channel = ct_stream_axis(&nodes[1].outputs[0], "channel");
    PfbWay way;
    return nodes[0].footprint.hop == bank.n_phases && channel >= 0 &&
           !nodes[1].outputs[0].axes[channel].loses && ct_pfb_cell(hop, 1) > 0 &&
           ct_pfb_way_find(&way, &bank) && least_bytes(&bank, way, state_bytes) <= MOST_SHARED;
}
