/* SPDX-License-Identifier: BSD-3-Clause */
/* How the threads of the filter's kernels are spread: axes, registers, chunks. */
#include "fir-spread.h"

#include "fir.h"

#include <math.h>

/* Registers of a multiprocessor. Registers that a thread needs beside those for numbers. More
 * threads than ENOUGH_THREADS gain nothing. */
#define REGISTERS       65536
#define OTHER_REGISTERS 26
#define ENOUGH_THREADS  768

/* Sizing chunks: the waves of blocks that are tried, the part of a wave that is lost at the end,
 * and the outputs that a thread's start costs beside its window. */
#define MAX_WAVES     16
#define LOST_WAVE     0.3
#define START_OUTPUTS 4
/* Outputs of a thread are counted in 32 bits. */
#define MAX_ROWS ((gint64)1 << 30)

static gboolean
send_taps(FirSpread *spread, const CtNode *node, GError **error)
{
    FirDesign design;

    if (!ct_fir_design_init(&design, node, error))
        return FALSE;
    const gsize bytes = (gsize)(design.n_taps * design.n_channels) * sizeof *design.taps;
    spread->n_channels = design.n_channels;
    spread->n_taps = design.n_taps;
    spread->hop = design.hop;
    spread->taps = ct_device_alloc(spread->device, bytes, "coefficients", error);
    const gboolean sent =
        spread->taps && ct_device_upload(spread->device, spread->taps, design.taps, bytes, error);
    ct_fir_design_clear(&design);
    return sent;
}

gboolean
ct_fir_spread_init(FirSpread *spread, const CtPrepare *prepare, GError **error)
{
    const CtLayout *in = &prepare->inputs[0].layout, *out = &prepare->outputs[0].layout;

    *spread = (FirSpread){
        .device = prepare->device,
        .in = prepare->inputs[0].stream,
        .in_type = prepare->inputs[0].stream->type,
        .out_type = prepare->nodes[prepare->n_nodes - 1].outputs[0].type,
        .time_in = (guint)ct_layout_axis(in, "time"),
        .time_out = (guint)ct_layout_axis(out, "time"),
        .over_phases = prepare->n_nodes == 1,
        .n_times = 1,
        .ahead = 4,
    };
    for (guint a = 0; a < out->n_axes; a++) {
        const char *name = out->axes[a].name;
        spread->series_in[a] = name == ct_axis_name("time") ? -1 : ct_layout_axis(in, name);
    }
    return send_taps(spread, &prepare->nodes[0], error);
}

void
ct_fir_spread_clear(FirSpread *spread)
{
    ct_device_free(spread->device, spread->taps);
    spread->taps = NULL;
}

static void
add_axis(FirAxes *axes, gint64 length, gint64 in, gint64 out)
{
    axes->length[axes->n_axes] = (unsigned)length;
    axes->in[axes->n_axes] = in;
    axes->out[axes->n_axes++] = out;
}

void
ct_fir_spread_axes(const FirSpread *spread, FirAxes *axes, const CtBlock *in, const CtBlock *out,
                   gboolean apart)
{
    gboolean follows_series = FALSE;
    const FirRotation rotation =
        ct_fir_rotation(spread->n_channels, spread->hop, spread->in, in->start);

    *axes = (FirAxes){
        .sample = in->stride[spread->time_in],
        .output = out->stride[spread->time_out],
        .n_outputs = out->n_samples,
        .rotation = (unsigned)rotation.first,
        .phase = G_MAXUINT,
        .time = G_MAXUINT,
    };
    for (guint a = 0; a < out->n_axes; a++) {
        const gint from = spread->series_in[a];
        const gboolean is_time = a == spread->time_out;
        const gint64 length = is_time ? spread->n_times : out->length[a];
        const guint last = axes->n_axes - 1;
        if (length == 1 || (from < 0 && !is_time && !spread->over_phases))
            continue;
        if (is_time) {
            axes->time = axes->n_axes;
            add_axis(axes, length, spread->hop * axes->sample, axes->output);
        } else if (from < 0) {
            axes->phase = axes->n_axes;
            add_axis(axes, length, axes->sample, out->stride[a]);
        } else if (follows_series && !apart && axes->in[last] == length * in->stride[from] &&
                   axes->out[last] == length * out->stride[a]) {
            axes->length[last] *= (unsigned)length;
            axes->in[last] = in->stride[from];
            axes->out[last] = out->stride[a];
        } else {
            add_axis(axes, length, in->stride[from], out->stride[a]);
        }
        follows_series = from >= 0;
    }
    if (axes->n_axes == 0)
        add_axis(axes, 1, 0, 0);
}

CtBlock
ct_fir_usual_block(const CtBinding *binding)
{
    CtBlock block = {.n_axes = binding->layout.n_axes, .n_samples = binding->max_samples};

    ct_layout_strides(&binding->layout, binding->stream, block.n_samples, block.length,
                      block.stride);
    return block;
}

guint
ct_fir_spread_sample_registers(const FirSpread *spread)
{
    return MAX(1, (guint)ct_type_info(spread->in_type)->bytes / 4);
}

guint
ct_fir_spread_blocks(const FirSpread *spread, guint threads, guint registers, gboolean is_large)
{
    is_large |= ct_device_info(spread->device)->architecture >= 100;
    registers += (is_large ? 2 : 1) * OTHER_REGISTERS;
    /* Each quarter of a multiprocessor has the registers of whole warps. */
    const guint warps = 4 * (REGISTERS / 4 / 32 / registers), own = (threads + 31) / 32;
    return MAX(1, MIN(warps / own, ENOUGH_THREADS / MAX(threads, 32)));
}

void
ct_fir_define(GPtrArray *defines, const char *name, gint64 value)
{
    g_ptr_array_add(defines, g_strdup_printf("%s=%" G_GINT64_FORMAT, name, value));
}

CtKernel *
ct_fir_spread_compile(FirSpread *spread, const CtKernelSpec *kernel, GPtrArray *defines,
                      guint threads, GError **error)
{
    CtKernelSpec spec = *kernel;

    g_ptr_array_add(defines, g_strdup_printf("IN=%s", ct_kernel_type((gint)spread->in_type)));
    g_ptr_array_add(defines, g_strdup_printf("OUT=%s", ct_kernel_type((gint)spread->out_type)));
    ct_fir_define(defines, "N_TAPS", spread->n_taps);
    ct_fir_define(defines, "N_CHANNELS", spread->n_channels);
    ct_fir_define(defines, "HOP", spread->hop);
    ct_fir_define(defines, "N_TIMES", spread->n_times);
    ct_fir_define(defines, "AHEAD", spread->ahead);
    ct_fir_define(defines, "THREADS", threads);
    g_ptr_array_add(defines, NULL);
    spec.defines = (const char *const *)defines->pdata;
    CtKernel *made = ct_kernel_new(spread->device, &spec, error);
    if (made)
        spread->wave = (gdouble)ct_device_info(spread->device)->n_multiprocessors *
                       ct_kernel_occupancy(made, threads, spec.shared_bytes);
    return made;
}

gint64
ct_fir_spread_cut(const FirSpread *spread, FirAxes *axes, gdouble blocks, gint64 most)
{
    const gint64 n = (axes->n_outputs - 1) / spread->n_times + 1;
    const gint64 history = spread->n_taps - 1, ahead = spread->ahead;
    const gdouble start = START_OUTPUTS + (gdouble)spread->n_taps;
    gdouble least = G_MAXDOUBLE;
    gint64 best = n;

    for (gint wave = 1; wave <= MAX_WAVES; wave++) {
        const gint64 wanted = (gint64)(wave * spread->wave / blocks);
        const gint64 least_rows = (n - 1) / CLAMP(wanted, 1, MIN(n, most)) + 1;
        const gint64 rows = spread->unit > 0
                                ? ((least_rows - 1) / spread->unit + 1) * spread->unit
                                : ((least_rows + history - 1) / ahead + 1) * ahead - history;
        const gint64 n_chunks = (n - 1) / rows + 1;
        const gdouble waves = ceil((gdouble)n_chunks * blocks / spread->wave);
        const gdouble cost = (waves + LOST_WAVE) * ((gdouble)rows + start);
        if (cost < least) {
            least = cost;
            best = rows;
        }
    }
    axes->chunk = MIN(best, MAX_ROWS) * spread->n_times;
    return (axes->n_outputs - 1) / axes->chunk + 1;
}
