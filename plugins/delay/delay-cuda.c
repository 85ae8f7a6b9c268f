/* SPDX-License-Identifier: BSD-3-Clause */
/* delay on a device: a factor for every element if delays are constant, otherwise phases from the
 * spans of a firing in which each series' delay is linear. */
#include "delay-cuda.h"

#include "delay.h"

#include <cornerturn/kit/device-rows.h>
#include <string.h>

typedef struct {
    DelayState base;
    CtDevice *device;
    CtKernel *kernel;
    gpointer factors;     /* [element] cf32 on the device, for constant delays of complex samples */
    gpointer shifts;      /* [element] gint64 on the device, for constant delays that shift */
    gpointer series;      /* [element] guint32 on the device, for changing delays */
    gpointer frequencies; /* [element] gdouble on the device, for changing delays */
    guint unroll;         /* times of a thread */
    guint n_series;
    guint most_spans; /* of a series in a firing */
    DelaySpan *spans; /* [series][most_spans], filled anew for every firing */
} Cuda;

/* The state owns `memory` even after a failure. */
static gboolean
send_table(const Cuda *cuda, gpointer *memory, gconstpointer table, gsize bytes, GError **error)
{
    *memory = ct_device_alloc(cuda->device, bytes, "delays", error);
    return *memory && ct_device_upload(cuda->device, *memory, table, bytes, error);
}

static gboolean
prepare_constant(Cuda *cuda, const gdouble *frequencies, const guint32 *series, gsize n,
                 GError **error)
{
    const DelayState *state = &cuda->base;
    g_autofree gfloat *factors = CT_TABLE(gfloat, 2 * n, "factors of delays", error);
    g_autofree gint64 *shifts = factors ? CT_TABLE(gint64, n, "shifts by delays", error) : NULL;
    if (!shifts)
        return FALSE;
    for (gsize i = 0; i < n; i++) {
        const gdouble turns = frequencies[i] * state->table->seconds[series[i]];
        const gdouble angle = -2 * G_PI * (turns - rint(turns));
        factors[2 * i] = (gfloat)cos(angle);
        factors[2 * i + 1] = (gfloat)sin(angle);
        if (state->shifts)
            shifts[i] = state->most - delay_whole(state, series[i], state->table->start);
    }
    return (!state->is_complex ||
            send_table(cuda, &cuda->factors, factors, 2 * n * sizeof *factors, error)) &&
           (!state->shifts || send_table(cuda, &cuda->shifts, shifts, n * sizeof *shifts, error));
}

/* The most spans of a series in a firing of n samples: one for each linear piece and each
 * whole-sample shift on it. */
static gint64
count_spans(const DelayState *state, gint64 n)
{
    const DelayTable *table = state->table;
    const gint64 n_series = table->n_stations * table->n_pols;
    gint64 shifts = 1;
    for (gint64 i = n_series; state->shifts && i < table->n_rows * n_series; i++) {
        const gdouble before = rint(table->seconds[i - n_series] * state->samples_per_second);
        const gdouble after = rint(table->seconds[i] * state->samples_per_second);
        shifts = MAX(shifts, (gint64)fabs(after - before) + 1);
    }
    const gdouble lines = floor((gdouble)n * state->ticks_per_sample / table->ticks_per_row) + 3;
    const gdouble most = MIN(lines, (gdouble)table->n_rows + 1) * (gdouble)shifts;
    return most < (gdouble)n ? (gint64)most : MAX(n, 1);
}

static gboolean
prepare_changing(Cuda *cuda, CtPrepare *prepare, const gdouble *frequencies, const guint32 *series,
                 gsize n, GError **error)
{
    const gint64 most = count_spans(&cuda->base, prepare->outputs[0].max_samples);
    cuda->most_spans = (guint)MIN(most, G_MAXINT32);
    cuda->spans = CT_TABLE(DelaySpan, cuda->n_series * (gsize)cuda->most_spans,
                           "spans of delays in a firing", error);
    if (!cuda->spans)
        return FALSE;
    prepare->upload_bytes = cuda->n_series * (gsize)cuda->most_spans * sizeof(DelaySpan);
    return send_table(cuda, &cuda->series, series, n * sizeof *series, error) &&
           send_table(cuda, &cuda->frequencies, frequencies, n * sizeof *frequencies, error);
}

static gboolean
cuda_prepare(CtPrepare *prepare, gpointer *user_data, GError **error)
{
    Cuda *cuda = *user_data = g_new0(Cuda, 1);
    cuda->device = prepare->device;
    if (!delay_state_init(&cuda->base, prepare, error))
        return FALSE;
    const DelayTable *table = cuda->base.table;
    cuda->unroll = cuda->base.is_complex ? 8 : 4;
    const gsize n = (gsize)ct_stream_width(prepare->inputs[0].stream);
    const gboolean changes = table->n_rows > 1;
    g_autofree gdouble *frequencies = CT_TABLE(gdouble, n, "frequencies", error);
    g_autofree guint32 *series = frequencies ? CT_TABLE(guint32, n, "lanes", error) : NULL;
    if (!series)
        return FALSE;
    cuda->n_series = (guint)(table->n_stations * table->n_pols);
    delay_state_elements(&cuda->base, &prepare->inputs[0], frequencies, series);
    if (!(changes ? prepare_changing(cuda, prepare, frequencies, series, n, error)
                  : prepare_constant(cuda, frequencies, series, n, error)))
        return FALSE;
    g_autofree char *unroll = g_strdup_printf("UNROLL=%u", cuda->unroll);
    cuda->kernel = ct_kernel_new(
        prepare->device,
        &(CtKernelSpec){
            .name = changes ? "delay_changing" : "delay_constant",
            .source = "/cornerturn/plugins/delay/delay.cu",
            .headers = (const char *const[]){"/cornerturn/plugins/delay/delay-cuda.h", NULL},
            .defines =
                (const char *const[]){cuda->base.is_complex ? "ELEMENT=ct_cf32" : "ELEMENT=ct_f32",
                                      cuda->base.shifts ? "SHIFTS=1" : "SHIFTS=0", unroll, NULL},
        },
        error);
    return cuda->kernel != NULL;
}

/* Finds the spans of a series, at most most_spans; returns their number. */
static guint
find_spans(const Cuda *cuda, gint64 series, gint64 start, gint64 n, DelaySpan *spans)
{
    const DelayState *state = &cuda->base;
    guint n_spans = 0;
    for (gint64 t = 0; t < n && n_spans < cuda->most_spans;) {
        DelayPiece piece;
        delay_piece_init(&piece, state, series, start + t * state->ticks_per_sample, n - t);
        spans[n_spans++] =
            (DelaySpan){t, t - piece.since, piece.shift, piece.seconds, piece.per_sample};
        t += piece.n;
    }
    return n_spans;
}

/* Fills in the spans of all series of a firing, [series][*n_spans]; a series with fewer spans gets
 * a last one that never begins. */
static void
fill_spans(Cuda *cuda, gint64 start, gint64 n, guint *n_spans)
{
    *n_spans = 1;
    for (guint series = 0; series < cuda->n_series; series++) {
        DelaySpan *spans = cuda->spans + (gsize)series * cuda->most_spans;
        const guint found = find_spans(cuda, series, start, n, spans);
        if (found < cuda->most_spans)
            spans[found].begin = G_MAXINT64;
        *n_spans = MAX(*n_spans, found);
    }
    for (guint series = 1; series < cuda->n_series; series++)
        memmove(cuda->spans + (gsize)series * *n_spans,
                cuda->spans + (gsize)series * cuda->most_spans, *n_spans * sizeof(DelaySpan));
}

static gboolean
cuda_work(gpointer user_data, const CtWork *work, GError **error)
{
    Cuda *cuda = user_data;
    const CtBlock *in = &work->inputs[0], *out = &work->outputs[0];
    const gint time = cuda->base.place[DELAY_TIME];
    if (!out->data || out->n_samples == 0)
        return TRUE;
    if (!cuda->spans) {
        const CtDeviceMapCall call = {cuda->kernel, {&cuda->factors, &cuda->shifts}, 2};
        return ct_device_rows_work(in, out, time, cuda->unroll, work->queue, &call, error);
    }
    guint n_spans;
    fill_spans(cuda, out->start, out->n_samples, &n_spans);
    gpointer spans = ct_queue_upload(work->queue, cuda->spans,
                                     cuda->n_series * n_spans * sizeof(DelaySpan), error);
    if (!spans)
        return FALSE;
    const CtDeviceMapCall call = {
        cuda->kernel, {&spans, &n_spans, &cuda->series, &cuda->frequencies}, 4};
    return ct_device_rows_work(in, out, time, cuda->unroll, work->queue, &call, error);
}

static void
cuda_finish(gpointer user_data)
{
    Cuda *cuda = user_data;
    if (!cuda)
        return;
    ct_kernel_free(cuda->kernel);
    ct_device_free(cuda->device, cuda->factors);
    ct_device_free(cuda->device, cuda->shifts);
    ct_device_free(cuda->device, cuda->series);
    ct_device_free(cuda->device, cuda->frequencies);
    delay_state_clear(&cuda->base);
    g_free(cuda->spans);
    g_free(cuda);
}

const CtVariant delay_cuda = {
    .name = "cuda",
    .backend = CT_CUDA,
    .covers = (const char *const[]){"delay", NULL},
    .rows = (const CtRow[]){{"cf32[...] -> cf32[...]", 0.9}, {"f32[...] -> f32[...]", 0.9}, {NULL}},
    .prepare = cuda_prepare,
    .advance = delay_advance,
    .work = cuda_work,
    .finish = cuda_finish,
};
