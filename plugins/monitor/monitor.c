/* SPDX-License-Identifier: BSD-3-Clause */
/* The sink monitor: shows pictures of a stream to whoever watches the run. It reads a few samples
 * now and then, and lets all others pass. */
#include "monitor.h"

#include <cornerturn/kit/boxes.h>
#include <cornerturn/kit/convert.h>
#include <string.h>

/* About the elements that a picture is made of, unless one sample has more. */
#define SLAB_ELEMENTS (1 << 17)

static const CtParam params[] = {
    {"period", CT_PARAM_QUANTITY, CT_PARAM_RANGED, .unit = "s", .minimum = 0, .maximum = 1e6,
     .fallback = "0.5 s", .help = "least time between two pictures, by the clock on the wall"},
    {"elements", CT_PARAM_INT, CT_PARAM_RANGED, .minimum = 1, .maximum = 1 << 20,
     .fallback = "16384", .help = "the most elements of a picture"},
    {NULL},
};
enum { PICTURES };
static const char *const counters[] = {"pictures", NULL};

static gboolean
infer(CtNode *node, G_GNUC_UNUSED GError **error)
{
    ct_params_use(node->params, "period");
    ct_params_use(node->params, "elements");
    return TRUE;
}

typedef struct {
    MonitorBins bins;
    CtBoxes boxes;
    CtConvert convert;
    CtBlock slab;       /* [sample][element], in double precision */
    gint64 most;        /* samples of the slab */
    MonitorSum *sums;   /* [bin] */
    gint64 period, due; /* microseconds of the monotonic clock */
    guint64 n_pictures;
} Monitor;

/* A slab in the stream's canonical order, in which time comes first. */
static gboolean
prepare_slab(Monitor *self, const CtBinding *in, GError **error)
{
    const CtTypeInfo *type = ct_type_info(in->stream->type);
    CtBinding out = {.stream = in->stream};
    ct_layout_canonical(&out.layout, in->stream);
    out.layout.types = 1u << (type->is_complex ? CT_CF64 : CT_F64);
    ct_boxes_init(&self->boxes, in, &out, 1);
    self->convert = ct_convert_steps(CT_ISA_BASELINE, self->boxes.in_type, self->boxes.out_type);
    self->most = CLAMP(SLAB_ELEMENTS / (gint64)self->bins.width, 1, in->max_samples);
    self->slab.type = ct_layout_type(&out.layout);
    self->slab.n_axes = out.layout.n_axes;
    const gsize bytes = ct_layout_strides(&out.layout, in->stream, self->most, self->slab.length,
                                          self->slab.stride);
    self->slab.data = CT_TABLE(guint8, bytes, "the samples of a picture", error);
    return self->slab.data != NULL;
}

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    Monitor *self = *state = g_new0(Monitor, 1);
    const CtParams *given = prepare->nodes[0].params;
    const CtBinding *in = &prepare->inputs[0];
    self->period = (gint64)(ct_params_real(given, "period") * G_USEC_PER_SEC);
    prepare->scratch_bytes = CT_BOXES_SCRATCH_BYTES + CT_CONVERT_SCRATCH(CT_BOXES_CHUNK);
    if (!monitor_bins_init(&self->bins, in->stream, (gsize)ct_params_int(given, "elements"),
                           error) ||
        !prepare_slab(self, in, error))
        return FALSE;
    self->sums = CT_TABLE(MonitorSum, self->bins.n_bins, "the sums of a picture", error);
    return self->sums != NULL;
}

static void
convert(gpointer data, const guint8 *in, guint8 *out, gsize n, guint8 *scratch)
{
    ct_convert(data, in, out, n, scratch);
}

static void
show(Monitor *self, const CtWork *work)
{
    const CtBlock *in = &work->inputs[0];
    const gint64 n = MIN(in->n_samples, self->most);
    CtWork part = {.inputs = in, .outputs = &self->slab, .end = 1, .scratch = work->scratch};
    MonitorLevels levels;
    self->slab.n_samples = n;
    ct_boxes_map(&self->boxes, &part, convert, &self->convert);
    const gdouble *x = (const gdouble *)self->slab.data;
    monitor_sum(&self->bins, in, x, n, self->sums);
    monitor_count(&self->bins, in, x, n, &levels);
    const MonitorTime time = {++self->n_pictures, in->start, n};
    ct_work_show(work, monitor_to_json(&self->bins, &time, self->sums, &levels));
    work->counters[PICTURES]++;
}

static gboolean
work(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    Monitor *self = state;
    const gint64 now = g_get_monotonic_time();
    if (now < self->due || work->inputs[0].n_samples == 0)
        return TRUE;
    show(self, work);
    self->due = now + self->period;
    return TRUE;
}

static void
finish(gpointer state)
{
    Monitor *self = state;
    monitor_bins_clear(&self->bins);
    g_free(self->slab.data);
    g_free(self->sums);
    g_free(self);
}

static const CtStage monitor = {
    .name = "monitor",
    .summary = "shows pictures of a stream to whoever watches the run",
    .version = 1,
    .inputs = CT_PORTS({"in", "{...}", CT_PORT_UNREAD, "any stream"}),
    .params = params,
    .counters = counters,
    .infer = infer,
    .infer_uses_params = TRUE,
};

#define VARIANT(name_, backend_)                                                                   \
    {                                                                                              \
        .name = name_, .backend = backend_, .isa = CT_ISA_BASELINE,                                \
        .covers = (const char *const[]){"monitor", NULL},                                          \
        .rows = (const CtRow[]){{"any: [...] ->", 1}, {NULL}}, .prepare = prepare, .work = work,   \
        .finish = finish,                                                                          \
    }

static const CtVariant reference = VARIANT("reference", CT_REFERENCE);
static const CtVariant cpu = VARIANT("cpu", CT_CPU);

CT_STAGE_PLUGIN("monitor", monitor, &cpu, &reference);
