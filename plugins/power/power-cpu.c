/* SPDX-License-Identifier: BSD-3-Clause */
/* Powers on the processor: chunks are converted to floating point and multiplied in the cache. */
#include "../convert/convert-kernels.h"
#include "power-kernels.h"
#include "power.h"

/* The bytes of a chunk of samples, and the number of chunks in scratch besides those of
 * ct_boxes_map. */
#define CHUNK_BYTES ((gsize)CT_BOXES_CHUNK * 16)
enum { RAW, UNPACKED, VOLTAGES, PARAMETERS = VOLTAGES + 2, N_CHUNKS = PARAMETERS + 4 };

/* The conversion of the input's type to f32 or f64, a chunk at a time. */
typedef struct {
    ConvertSteps steps; /* no steps for a type that needs no conversion */
    gsize n_parts, unpacked;
    gsize in_bytes, bytes, out_bytes; /* of an element: of the input, converted, of the output */
    gboolean is_double;
} Load;

typedef struct {
    Power *power;
    Load load;
} State;

typedef struct {
    const State *state;
    gint64 pol, stokes; /* strides */
    guint8 *scratch;
} Job;

static gboolean
prepare(CtPrepare *prepare, gpointer *state, G_GNUC_UNUSED GError **error)
{
    State *self = *state = g_new0(State, 1);
    self->power = ct_power_new(prepare, prepare->n_workers);
    const CtType type = self->power->boxes.in_type, out = self->power->boxes.out_type;
    const gboolean is_complex = ct_type_info(type)->is_complex;
    Load *load = &self->load;
    load->is_double = out == CT_F64;
    load->n_parts = is_complex ? 2 : 1;
    load->unpacked = type == CT_CI4 ? 1 : load->n_parts;
    load->in_bytes = ct_type_info(type)->bytes;
    load->out_bytes = ct_type_info(out)->bytes;
    load->bytes = load->n_parts * load->out_bytes;
    if (ct_type_info(type)->part != out)
        load->steps = CT_ISA(convert_steps)(type, is_complex ? CT_CF32 : CT_F32);
    prepare->n_items = self->power->boxes.n_items;
    prepare->scratch_bytes = CT_BOXES_SCRATCH_BYTES + N_CHUNKS * CHUNK_BYTES;
    return TRUE;
}

/* n contiguous elements in floating point, in place or in `to`. */
static const guint8 *
load_voltages(const Load *load, const guint8 *in, gsize n, guint8 *unpacked, guint8 *to)
{
    if (!load->steps.run)
        return in;
    if (load->steps.unpack) {
        load->steps.unpack(in, unpacked, n * load->unpacked);
        in = unpacked;
    }
    load->steps.run(in, to, n * load->n_parts);
    return to;
}

static void
square(gpointer data, const guint8 *in, guint8 *out, gsize n, guint8 *scratch)
{
    const Load *load = &((const Job *)data)->state->load;
    const guint8 *x = load_voltages(load, in, n, scratch + UNPACKED * CHUNK_BYTES,
                                    scratch + VOLTAGES * CHUNK_BYTES);
    CT_ISA(power_square)(x, out, n, load->n_parts == 2, load->is_double);
}

/* Both polarisations of n samples: pointers to the first of each; returns the step between samples,
 * in elements. */
static gsize
load_pair(const Job *job, const guint8 *in, gint64 stride, gsize n, const guint8 *pair[2])
{
    const Load *load = &job->state->load;
    guint8 *const unpacked = job->scratch + UNPACKED * CHUNK_BYTES;
    guint8 *const to = job->scratch + VOLTAGES * CHUNK_BYTES;
    if (job->pol == (gint64)load->in_bytes && stride == 2 * job->pol) {
        pair[0] = load_voltages(load, in, 2 * n, unpacked, to);
        pair[1] = pair[0] + load->bytes;
        return 2;
    }
    for (gint p = 0; p < 2; p++) {
        const guint8 *from = in + p * job->pol;
        guint8 *own = to + (gsize)p * CHUNK_BYTES;
        if (stride != (gint64)load->in_bytes) {
            /* Raw samples must not be overwritten before they are read. */
            guint8 *raw = load->steps.run ? job->scratch + RAW * CHUNK_BYTES : own;
            ct_box_move(from, stride, raw, (gint64)load->in_bytes, load->in_bytes, n);
            from = raw;
        }
        pair[p] = load_voltages(load, from, n, unpacked, own);
    }
    return 1;
}

static void
stokes_run(gpointer data, const guint8 *in, G_GNUC_UNUSED const guint8 *table, guint8 *out,
           const CtBoxAxis *run)
{
    const Job *job = data;
    const Power *power = job->state->power;
    const gsize bytes = job->state->load.out_bytes;
    /* Positions of sum, difference, real and imaginary part of the cross product. */
    static const guint8 places[2][4] = {
        [POWER_LINEAR] = {0, 1, 2, 3}, [POWER_CIRCULAR] = {0, 3, 1, 2}};
    const guint n_parameters = power->stokes == POWER_I ? 1 : 4;
    const gboolean scattered = run->out != (gint64)bytes;
    const gsize chunk = CT_BOXES_CHUNK / 2; /* pairs */
    for (gint64 i = 0; i < run->length; i += (gint64)chunk) {
        const gsize n = (gsize)MIN(run->length - i, (gint64)chunk);
        const guint8 *pair[2];
        void *to[4] = {NULL};
        const gsize step = load_pair(job, in + i * run->in, run->in, n, pair);
        for (guint s = 0; s < n_parameters; s++)
            to[s] = scattered ? job->scratch + (PARAMETERS + s) * CHUNK_BYTES
                              : out + places[power->feed][s] * job->stokes + i * run->out;
        CT_ISA(power_products)(pair[0], pair[1], step, to, n, job->state->load.is_double);
        for (guint s = 0; s < n_parameters && scattered; s++)
            ct_box_move(to[s], (gint64)bytes,
                     out + places[power->feed][s] * job->stokes + i * run->out, run->out, bytes, n);
    }
}

static void
stokes_box(gpointer data, const CtBox *box, gpointer scratch)
{
    Job *job = data;
    CtBox simple = *box;
    const CtBoxAxis element = {.length = 1};
    job->scratch = (guint8 *)scratch + CT_BOXES_SCRATCH_BYTES;
    ct_box_simplify(&simple);
    ct_box_each_run(&simple, &element, stokes_run, job);
}

static gboolean
work(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    const State *self = state;
    const Power *power = self->power;
    Job job = {.state = self};
    if (power->stokes == POWER_NONE) {
        ct_boxes_map(&power->boxes, work, square, &job);
        return TRUE;
    }
    job.pol = work->inputs[0].stride[power->in_pol];
    job.stokes = work->outputs[0].stride[power->out_stokes];
    ct_boxes_each(&power->boxes, work, stokes_box, &job);
    return TRUE;
}

static void
finish(gpointer state)
{
    State *self = state;
    if (self)
        g_free(self->power);
    g_free(self);
}

const CtVariant CT_ISA(ct_power_cpu) = {
    .name = "cpu-" CT_ISA_NAME,
    .backend = CT_CPU,
    .isa = CT_ISA_THIS,
    .covers = (const char *const[]){"power", NULL},
    .rows =
        (const CtRow[]){
            {"ci4|ci8|ci16|cf16|cf32|cf64|i8|i16|f16|f32|f64{...} -> f32|f64{...}", 0.95},
            {NULL},
        },
    .split = "*",
    .prepare = prepare,
    .work = work,
    .finish = finish,
};
