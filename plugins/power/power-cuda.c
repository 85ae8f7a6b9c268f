/* SPDX-License-Identifier: BSD-3-Clause */
/* Powers on a device. */
#include <cornerturn/kit/device-map.h>
#include "power.h"

typedef struct {
    Power *power;
    CtKernel *square; /* without stokes */
    CtKernel *planes; /* with stokes: polarisations and parameters anywhere; */
    CtKernel *pairs;  /* both innermost; NULL: they are not */
    gsize in_bytes, out_bytes;
    guint n_parameters;
    guint threads, unroll;
} State;

static const CtTunable tunables[] = {CT_DEVICE_MAP_TUNABLES, {NULL}};

static CtKernel *
compile(const State *self, CtDevice *device, const char *name, GError **error)
{
    const Power *power = self->power;
    g_autofree char *in = g_strdup_printf("IN=%s", ct_kernel_type(power->boxes.in_type));
    g_autofree char *out = g_strdup_printf("OUT=%s", ct_kernel_type(power->boxes.out_type));
    g_autofree char *parameters = g_strdup_printf("N_PARAMETERS=%u", self->n_parameters);
    g_autofree char *threads = g_strdup_printf("CT_DEVICE_MAP_THREADS=%u", self->threads);
    g_autofree char *unroll = g_strdup_printf("CT_DEVICE_MAP_UNROLL=%u", self->unroll);
    g_autofree char *feed = g_strdup_printf("IS_CIRCULAR=%d", power->feed == POWER_CIRCULAR);
    return ct_kernel_new(
        device,
        &(CtKernelSpec){
            .name = name,
            .source = "/cornerturn/plugins/power/power.cu",
            .defines = (const char *const[]){in, out, parameters, feed, threads, unroll, NULL},
        },
        error);
}

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    State *self = *state = g_new0(State, 1);
    const Power *power = self->power = ct_power_new(prepare, 1);
    self->threads = (guint)prepare->tuning[CT_DEVICE_MAP_TUNABLE_THREADS];
    self->unroll = (guint)prepare->tuning[CT_DEVICE_MAP_TUNABLE_UNROLL];
    self->in_bytes = ct_type_info(power->boxes.in_type)->bytes;
    self->out_bytes = ct_type_info(power->boxes.out_type)->bytes;
    self->n_parameters = power->stokes == POWER_NONE ? 0 : power->stokes == POWER_I ? 1 : 4;
    if (power->stokes == POWER_NONE) {
        self->square = compile(self, prepare->device, "power_square", error);
        return self->square != NULL;
    }
    self->planes = compile(self, prepare->device, "power_planes", error);
    if (!self->planes)
        return FALSE;
    if (power->in_pol == (gint)prepare->inputs[0].layout.n_axes - 1 &&
        power->out_stokes == (gint)prepare->outputs[0].layout.n_axes - 1) {
        self->pairs = compile(self, prepare->device, "power_pairs", error);
        return self->pairs != NULL;
    }
    return TRUE;
}

/* Whether the whole of axis `inner`, of `bytes` bytes, can be moved at once, in words of 16. */
static gboolean
is_aligned(const CtBlock *block, gint inner, gsize bytes)
{
    guint64 places = GPOINTER_TO_SIZE(block->data);
    for (guint a = 0; a < block->n_axes; a++)
        if ((gint)a != inner && block->length[a] > 1)
            places |= (guint64)block->stride[a];
    return places % MIN(bytes, 16) == 0;
}

typedef struct {
    CtDeviceMapCall call;
    gsize in_bytes, out_bytes;
    CtQueue *queue;
    gboolean ok;
    GError **error;
} Job;

static void
enqueue_box(gpointer data, const CtBox *box, G_GNUC_UNUSED gpointer scratch)
{
    Job *job = data;
    job->ok = job->ok && ct_device_map_box(box, job->in_bytes, job->out_bytes, job->queue, &job->call,
                                        job->error);
}

static gboolean
work(gpointer state, const CtWork *work, GError **error)
{
    const State *self = state;
    const Power *power = self->power;
    const CtBlock *in = &work->inputs[0], *out = &work->outputs[0];
    if (self->square) {
        const CtDeviceMapCall call = {
            .kernel = self->square, .threads = self->threads, .unroll = self->unroll};
        return ct_device_map_work(&power->boxes, work, &call, NULL, error);
    }
    if (!out->data)
        return TRUE;
    gint64 pol = in->stride[power->in_pol], stokes = out->stride[power->out_stokes];
    const gsize pair = 2 * self->in_bytes, parameters = self->n_parameters * self->out_bytes;
    Job job = {
        .call = {self->planes, {&pol, &stokes}, 2, self->threads, self->unroll},
        .in_bytes = self->in_bytes,
        .out_bytes = self->out_bytes,
        .queue = work->queue,
        .ok = TRUE,
        .error = error,
    };
    /* Units of planes must be aligned on all of them. */
    const gsize width = 16 / MAX(self->in_bytes, self->out_bytes);
    if ((gsize)pol % (width * self->in_bytes) != 0 ||
        (gsize)stokes % (width * self->out_bytes) != 0)
        job.in_bytes = job.out_bytes = 16; /* one at a time */
    if (self->pairs && is_aligned(in, power->in_pol, pair) &&
        is_aligned(out, power->out_stokes, parameters)) {
        /* Elements longer than 16 bytes are also moved one at a time. */
        job.call = (CtDeviceMapCall){
            .kernel = self->pairs, .threads = self->threads, .unroll = self->unroll};
        job.in_bytes = MAX(pair, parameters) > 16 ? 16 : pair;
        job.out_bytes = MAX(pair, parameters) > 16 ? 16 : parameters;
    }
    ct_boxes_each_filled(&power->boxes, work, enqueue_box, &job);
    return job.ok;
}

static void
finish(gpointer state)
{
    State *self = state;
    if (!self)
        return;
    ct_kernel_free(self->square);
    ct_kernel_free(self->planes);
    ct_kernel_free(self->pairs);
    g_free(self->power);
    g_free(self);
}

const CtVariant ct_power_cuda = {
    .name = "cuda",
    .backend = CT_CUDA,
    .covers = (const char *const[]){"power", NULL},
    .rows =
        (const CtRow[]){
            {"ci4|ci8|ci16|cf16|cf32|cf64|i8|i16|f16|f32|f64{...} -> f32|f64{...}", 0.95},
            {NULL},
        },
    .tunables = tunables,
    .prepare = prepare,
    .work = work,
    .finish = finish,
};
