/* SPDX-License-Identifier: BSD-3-Clause */
/* fir and fft in one: a polyphase filter bank whose filtered samples never leave a worker's cache.
 *
 * The variants of the two stages take turns on a few spectra: the second reads what the first has
 * just written. In two nodes, the filter is split over phases and the transforms over time, so that
 * one worker transforms what another has filtered. Here a worker has a slice of time, for which it
 * reads the history of the filter once more. */
#include "../fft/fft-columns.h"
#include "../fft/fft.h"
#include "../fir/fir.h"
#include "pfb.h"

/* Bytes between filter and transform. The second-level cache holds the input and the output as
 * well. */
#define BETWEEN_BYTES (1 << 19)
/* Spectra that are filtered together. Fewer would read their history again too often; more gain
 * nothing. */
#define LEAST_SPECTRA 8
#define MOST_SPECTRA  64
/* The least spectra of a slice of time. */
#define LEAST_SLICE 8

/* One of the two stages, for a few spectra. */
typedef struct {
    const CtVariant *variant;
    gpointer state;
    gsize scratch_bytes;
} Part;

typedef struct {
    Part fir, fft;
    CtBlock between;
    gsize between_offset; /* in scratch */
    guint time_in, time_out;
    gint64 window, hop;
    gint64 ticks;     /* of an input sample */
    gint64 n_spectra; /* of a turn */
    gint64 n_workers, n_items;
} Pfb;

/* The filter's tunables come first. */
enum { SPECTRA = FIR_N_TUNABLES };
static const CtTunable tunables[] = {
    FIR_TUNABLES(CT_VECTOR_BYTES == 64 ? 16 : 8),
    [SPECTRA] = {"spectra", CT_VALUES(0, 8, 16, 32, 64, 128), 0,
                 "spectra that are filtered, then transformed; 0: 8 to 64, as fit the cache"},
    {NULL},
};

static gboolean
differs(G_GNUC_UNUSED const CtNode *nodes, const gint64 *tuning)
{
    return tuning[FIR_BLOCK] <= tunables[FIR_BLOCK].fallback;
}

static gboolean
prepare_part(Part *part, const CtVariant *variant, const CtPrepare *prepare, guint node,
             const CtBinding *input, const CtBinding *output, const gint64 *tuning, GError **error)
{
    CtPrepare own = {
        .nodes = &prepare->nodes[node],
        .n_nodes = 1,
        .n_inputs = 1,
        .inputs = input,
        .n_outputs = 1,
        .outputs = output,
        .n_workers = 1,
        .tuning = tuning,
        .n_items = 1,
        .variant = variant,
    };

    part->variant = variant;
    if (!variant->prepare(&own, &part->state, error))
        return FALSE;
    part->scratch_bytes = own.scratch_bytes;
    return TRUE;
}

static gint64
spectrum_bytes(const CtStream *between)
{
    return ct_stream_width(between) * (gint64)ct_type_info(between->type)->bytes;
}

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    const CtStream *middle = &prepare->nodes[1].inputs[0];
    const CtLayout *out = &prepare->outputs[0].layout;
    CtBinding input = prepare->inputs[0], output = prepare->outputs[0];
    Pfb *self = *state = g_new0(Pfb, 1);
    FftDesign design;

    if (!ct_fft_design_init(&design, prepare->nodes[1].params, middle, error))
        return FALSE;
    self->window = prepare->nodes[0].footprint.window;
    self->hop = prepare->nodes[0].footprint.hop;
    self->ticks = input.stream->ticks_per_sample;
    self->time_in = (guint)ct_layout_axis(&input.layout, "time");
    self->time_out = (guint)ct_layout_axis(out, "time");
    self->n_spectra = prepare->tuning[SPECTRA];
    if (self->n_spectra == 0)
        self->n_spectra =
            CLAMP(BETWEEN_BYTES / spectrum_bytes(middle), LEAST_SPECTRA, MOST_SPECTRA);
    self->n_spectra = MIN(self->n_spectra, MAX(1, output.max_samples));

    /* The layout in between is the output's, with phases in the place of channels. */
    CtBinding between = {.stream = middle, .layout = *out, .max_samples = self->n_spectra};
    between.layout.types = 1u << middle->type;
    between.layout.axes[ct_layout_axis(out, design.to)].name = design.axis;
    input.max_samples = (self->n_spectra - 1) * self->hop + self->window;
    output.max_samples = self->n_spectra;
    if (!prepare_part(&self->fir, &CT_ISA(ct_fir_cpu), prepare, 0, &input, &between,
                      prepare->tuning, error) ||
        !prepare_part(&self->fft, &CT_ISA(ct_fft_cpu), prepare, 1, &between, &output, NULL, error))
        return FALSE;

    self->between = (CtBlock){.type = middle->type, .n_axes = between.layout.n_axes};
    const gsize bytes = ct_layout_strides(&between.layout, middle, self->n_spectra,
                                          self->between.length, self->between.stride);
    self->between_offset = (MAX(self->fir.scratch_bytes, self->fft.scratch_bytes) + 4095) & ~4095;
    prepare->scratch_bytes = self->between_offset + bytes;
    self->n_workers = prepare->n_workers;
    self->n_items = prepare->n_items;
    return TRUE;
}

/* `n` samples of a block, from `first` on. */
static CtBlock
cut(const CtBlock *block, guint time, gint64 first, gint64 n)
{
    CtBlock piece = *block;

    piece.data += first * block->stride[time];
    piece.n_samples = piece.length[time] = n;
    return piece;
}

static gboolean
run_part(const Part *part, const CtBlock *in, const CtBlock *out, gpointer scratch, GError **error)
{
    const CtWork work = {.inputs = in, .outputs = out, .begin = 0, .end = 1, .scratch = scratch};

    return part->variant->work(part->state, &work, error);
}

/* Slices of time: as many as workers, or twice as many in a long firing. */
static gint64
slices_of(const Pfb *self, gint64 n_outputs)
{
    if (self->n_workers == 1)
        return 1;
    if (n_outputs >= 2 * self->n_workers * LEAST_SPECTRA)
        return 2 * self->n_workers;
    return CLAMP(n_outputs / LEAST_SLICE, 1, self->n_workers);
}

static gboolean
work(gpointer state, const CtWork *work, GError **error)
{
    const Pfb *self = state;
    const gint64 n_outputs = work->outputs[0].n_samples;
    const gint64 n_slices = slices_of(self, n_outputs);
    const gint64 end = work->end * n_slices / self->n_items;

    for (gint64 slice = work->begin * n_slices / self->n_items; slice < end; slice++) {
        const gint64 last = n_outputs * (slice + 1) / n_slices;
        for (gint64 t = n_outputs * slice / n_slices, n; t < last; t += n) {
            n = MIN(self->n_spectra, last - t);
            CtBlock in = cut(&work->inputs[0], self->time_in, t * self->hop,
                             (n - 1) * self->hop + self->window);
            in.start += t * self->hop * self->ticks;
            const CtBlock out = cut(&work->outputs[0], self->time_out, t, n);
            CtBlock between = cut(&self->between, self->time_out, 0, n);
            between.data = (guint8 *)work->scratch + self->between_offset;
            if (!run_part(&self->fir, &in, &between, work->scratch, error) ||
                !run_part(&self->fft, &between, &out, work->scratch, error))
                return FALSE;
        }
    }
    return TRUE;
}

static void
finish(gpointer state)
{
    Pfb *self = state;

    if (self == NULL)
        return;
    Part *const parts[] = {&self->fir, &self->fft};
    for (guint i = 0; i < G_N_ELEMENTS(parts); i++)
        if (parts[i]->variant != NULL)
            parts[i]->variant->finish(parts[i]->state);
    g_free(self);
}

static gboolean
fits(const CtNode *nodes, char **reason)
{
    const CtStream *middle = &nodes[1].inputs[0];
    g_autoptr(GError) error = NULL;
    FftDesign design;

    if (!ct_fft_design_init(&design, nodes[1].params, middle, &error) ||
        design.axis != ct_axis_name("phase")) {
        *reason = g_strdup("it transforms the axis phase alone");
        return FALSE;
    }
    if (spectrum_bytes(middle) <= BETWEEN_BYTES / LEAST_SPECTRA)
        return TRUE;
    *reason =
        g_strdup_printf("it wants spectra of at most %d bytes, of which a cache holds enough, "
                        "but is given %" G_GINT64_FORMAT,
                        BETWEEN_BYTES / LEAST_SPECTRA, spectrum_bytes(middle));
    return FALSE;
}

/* Neighbouring series of complex samples, transformed as columns, fill a vector or a part of it. */
static gdouble
share(const CtNode *nodes, G_GNUC_UNUSED const CtLayout *inputs, const CtLayout *outputs)
{
    const CtStream *stream = &nodes[1].outputs[0];
    gdouble inside = 1;
    for (guint a = outputs[0].n_axes; a-- > 0;) {
        const char *name = outputs[0].axes[a].name;
        if (g_str_equal(name, "channel") || g_str_equal(name, "time"))
            break;
        inside *= (gdouble)ct_stream_length(stream, name);
    }
    const gboolean is_packed = g_str_equal(outputs[0].axes[outputs[0].n_axes - 1].name, "channel");
    return is_packed || !ct_type_info(nodes[0].inputs[0].type)->is_complex
               ? 1
               : MIN(1, 0.5 + 0.5 * inside / FFT_MAX_COLUMNS);
}

/* Shares are such that the planner, in whose model two variants go over memory more often than one,
 * finds this one faster by a tenth or more, as measured. Real transforms are fast if the phases of
 * a series lie side by side. */
#define ROWS(types, columns, packed, turned)                                                       \
    {types "[time ...] -> cf32[time channel ...]", columns},                                       \
        {types "[... time] -> cf32[... time channel]", packed},                                    \
        {types "[time ...] -> cf32[time ... channel]", turned},                                    \
    {                                                                                              \
        types "[time ...] -> cf32[... time channel]", turned                                       \
    }

const CtVariant CT_ISA(ct_pfb_cpu) = {
    .name = "fused-" CT_ISA_NAME,
    .backend = CT_CPU,
    .isa = CT_ISA_THIS,
    .covers = (const char *const[]){"fir 2", "fft 1", NULL},
    .rows = (const CtRow[]){ROWS("ci4|ci8", 0.5, 0.4, 0.28),
                            ROWS("ci16|cf16", 0.5, 0.42, 0.3),
                            ROWS("cf32", 0.5, 0.45, 0.33),
                            ROWS("i8|u8", 0.2, 0.22, 0.21),
                            ROWS("i16|f16", 0.2, 0.24, 0.21),
                            ROWS("f32", 0.2, 0.27, 0.2),
                            {NULL, 0}},
    .share = share,
    .tunables = tunables,
    .differs = differs,
    .split = "*",
    .fits = fits,
    .prepare = prepare,
    .work = work,
    .finish = finish,
};
