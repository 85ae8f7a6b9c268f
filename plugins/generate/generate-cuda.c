/* SPDX-License-Identifier: BSD-3-Clause */
/* generate on the device: the sources' signals are written to scratch, then a thread per sample
 * makes every sample of its series. */
#include "generate-model.h"
#include "generate.h"

#include <math.h>

#define SOURCE "/cornerturn/plugins/generate/generate.cu"

/* As in generate.cu. */
enum { THREADS = 256, MOST_ROWS = 65535 };

/* Structs as in the kernels. */
typedef struct {
    gfloat taps[GENERATE_TAPS];
    gfloat rotation[2];
    gint32 whole;
    gint32 n_taps;
} Delay;

typedef struct {
    gpointer noise, delays, signals, increments, gains;
} Tables;

typedef struct {
    gint64 time, subband, station, pol;
} Strides;

typedef struct {
    GenerateState base;
    CtDevice *device;
    CtKernel *sources, *samples;
    gpointer noise, delays, correlations, increments, gains; /* on the device */
    gint64 n_inner, n_outer; /* series faster and slower than time in memory */
} Cuda;

/* ---- preparing ---- */

/* The pairs of samples of a source for n samples of the stream: delays differ, the taps reach to
 * both sides, and both ends are rounded to pairs. */
static gint64
signal_pairs(const GenerateModel *model, gint64 n)
{
    return (n + model->most - model->least + GENERATE_TAPS + 4) / 2;
}

/* The largest value of an integer type that a float can represent. */
static gint64
float_limit(CtType type)
{
    const CtTypeInfo *info = ct_type_info(type);
    if (info->is_float)
        return 0;
    gint64 step = info->part_bits > 24 ? (gint64)1 << (info->part_bits - 25) : 1;
    return (gint64)(((guint64)1 << (info->part_bits - 1)) - (guint64)step);
}

static void
set_delay(Delay *delay, const GenerateDelay *from, gdouble amplitude, const GenerateModel *model)
{
    gdouble others = 0;
    for (guint part = 0; part < 2; part++)
        delay->rotation[part] = (gfloat)(from->rotation[part] * amplitude * model->scale);
    delay->whole = (gint32)(from->whole - model->least);
    for (guint k = 0; k < GENERATE_TAPS; k++) {
        delay->taps[k] = (gfloat)from->taps[k];
        others += k == GENERATE_BEFORE ? 0 : fabs(from->taps[k]);
    }
    delay->n_taps = GENERATE_TAPS;
    if (others < 1e-9) {
        delay->n_taps = 1;
        delay->taps[0] = (gfloat)from->taps[GENERATE_BEFORE];
    }
}

static gboolean
send(Cuda *cuda, gpointer *to, gconstpointer from, gsize bytes, const char *what, GError **error)
{
    *to = ct_device_alloc(cuda->device, bytes, what, error);
    return *to && ct_device_upload(cuda->device, *to, from, bytes, error);
}

static gboolean
send_sources(Cuda *cuda, GError **error)
{
    const GenerateModel *model = cuda->base.model;
    gsize n_series = model->n_subbands * model->n_stations;
    g_autofree gfloat *correlations = g_new(gfloat, 2 * model->n_sources);
    g_autofree Delay *delays = CT_TABLE(Delay, model->n_sources * n_series, "delays", error);
    if (!delays)
        return FALSE;
    for (guint i = 0; i < model->n_sources; i++) {
        const GenerateSource *source = &model->sources[i];
        for (gsize k = 0; k < n_series; k++)
            set_delay(&delays[i * n_series + k], &source->delays[k], source->amplitude, model);
        correlations[2 * i] = (gfloat)source->correlation;
        correlations[2 * i + 1] = (gfloat)sqrt(1 - source->correlation * source->correlation);
    }
    return send(cuda, &cuda->delays, delays, model->n_sources * n_series * sizeof *delays,
                "delays of sources", error) &&
           send(cuda, &cuda->correlations, correlations,
                2 * model->n_sources * sizeof *correlations, "correlations of sources", error);
}

static gboolean
send_tones(Cuda *cuda, GError **error)
{
    const GenerateModel *model = cuda->base.model;
    gsize n_subbands = model->n_subbands, n_gains = n_subbands * model->n_stations * 2;
    g_autofree guint64 *increments =
        CT_TABLE(guint64, model->n_tones * n_subbands, "frequencies", error);
    g_autofree gfloat *gains =
        increments ? CT_TABLE(gfloat, model->n_tones * n_gains, "tones", error) : NULL;
    if (!gains)
        return FALSE;
    for (guint i = 0; i < model->n_tones; i++) {
        for (gsize b = 0; b < n_subbands; b++)
            increments[i * n_subbands + b] = model->tones[i].increments[b];
        for (gsize k = 0; k < n_gains; k++)
            gains[i * n_gains + k] = (gfloat)(model->tones[i].gains[k] * model->scale);
    }
    return send(cuda, &cuda->increments, increments,
                model->n_tones * n_subbands * sizeof *increments, "frequencies of tones", error) &&
           send(cuda, &cuda->gains, gains, model->n_tones * n_gains * sizeof *gains,
                "gains of tones", error);
}

static gboolean
send_noise(Cuda *cuda, GError **error)
{
    const GenerateModel *model = cuda->base.model;
    g_autofree gfloat *noise = CT_TABLE(gfloat, model->n_stations, "noise", error);
    if (!noise)
        return FALSE;
    for (gint64 s = 0; s < model->n_stations; s++)
        noise[s] = (gfloat)((model->is_complex ? 1 : G_SQRT2) * model->noise[s] * model->scale);
    return send(cuda, &cuda->noise, noise, model->n_stations * sizeof *noise, "amplitudes of noise",
                error);
}

/* Constants of the kernels; counts series on either side of time. */
static GStrv
make_defines(Cuda *cuda)
{
    static const char *const names[GENERATE_N_AXES] = {NULL, "SUBBAND", "STATION", "POL"};
    const GenerateModel *model = cuda->base.model;
    const gint64 lengths[GENERATE_N_AXES] = {0, model->n_subbands, model->n_stations,
                                             model->n_pols};
    const gint *place = cuda->base.place;
    g_autoptr(GString) text = g_string_new(NULL);

    cuda->n_inner = cuda->n_outer = 1;
    for (guint i = GENERATE_SUBBAND; i < GENERATE_N_AXES; i++) {
        const gboolean is_inner = place[i] > place[GENERATE_TIME];
        gint64 step = 1;
        for (guint k = GENERATE_SUBBAND; k < GENERATE_N_AXES; k++)
            if (place[k] > place[i] && (place[k] > place[GENERATE_TIME]) == is_inner)
                step *= lengths[k];
        g_string_append_printf(text, "%s_INNER=%d %s_STEP=%" G_GINT64_FORMAT "u ", names[i],
                               is_inner, names[i], step);
        *(is_inner ? &cuda->n_inner : &cuda->n_outer) *= lengths[i];
    }
    g_string_append_printf(text,
                           "N_INNER=%" G_GINT64_FORMAT "u N_OUTER=%" G_GINT64_FORMAT
                           "u N_SUBBANDS=%" G_GINT64_FORMAT "u N_STATIONS=%" G_GINT64_FORMAT
                           "u N_POLS=%" G_GINT64_FORMAT "u N_SOURCES=%u N_TONES=%u",
                           cuda->n_inner, cuda->n_outer, model->n_subbands, model->n_stations,
                           model->n_pols, model->n_sources, model->n_tones);
    g_string_append_printf(text, " ELEMENT=%s IS_COMPLEX=%d KEY_0=%uu KEY_1=%uu TAPS=%d BEFORE=%d",
                           ct_kernel_type(model->type), model->is_complex, model->key[0],
                           model->key[1], GENERATE_TAPS, GENERATE_BEFORE);
    g_string_append_printf(text,
                           " LEAST=(%" G_GINT64_FORMAT ") LIMIT=((float)%" G_GINT64_FORMAT "LL)",
                           model->least, float_limit(model->type));
    return g_strsplit(text->str, " ", 0);
}

static gboolean
cuda_prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    Cuda *cuda = g_new0(Cuda, 1);
    *state = cuda;
    cuda->device = prepare->device;
    if (!generate_state_init(&cuda->base, prepare, error))
        return FALSE;
    const GenerateModel *model = cuda->base.model;
    g_auto(GStrv) defines = make_defines(cuda);
    CtKernelSpec spec = {
        .name = "generate_samples",
        .source = SOURCE,
        .defines = (const char *const *)defines,
    };
    cuda->samples = ct_kernel_new(cuda->device, &spec, error);
    if (!cuda->samples || !send_noise(cuda, error) ||
        (model->n_tones > 0 && !send_tones(cuda, error)))
        return FALSE;
    if (model->n_sources == 0)
        return TRUE;
    spec.name = "generate_sources";
    cuda->sources = ct_kernel_new(cuda->device, &spec, error);
    prepare->scratch_bytes = model->n_sources * model->n_subbands * model->n_pols * 2 *
                             signal_pairs(model, prepare->outputs[0].max_samples) * 2 *
                             sizeof(gfloat);
    return cuda->sources && send_sources(cuda, error);
}

/* ---- work ---- */

static gboolean
cuda_work(gpointer state, const CtWork *work, GError **error)
{
    Cuda *cuda = state;
    const GenerateModel *model = cuda->base.model;
    const CtBlock *block = &work->outputs[0];
    gint64 n = block->n_samples, first = model->first + block->index;
    if (!block->data || n == 0)
        return TRUE;

    gint64 first_pair = first >> 1, n_pairs = ((first + n - 1) >> 1) - first_pair + 1;
    gint64 first_source =
        (2 * first_pair - model->most - (GENERATE_TAPS - 1 - GENERATE_BEFORE)) >> 1;
    gint64 first_signal = 2 * first_source, n_signals = 2 * signal_pairs(model, n);
    Tables tables = {cuda->noise, cuda->delays, work->scratch, cuda->increments, cuda->gains};
    if (model->n_sources > 0) {
        guint32 n_source_pairs = (guint32)(n_signals / 2);
        const gint64 rows = model->n_sources * model->n_subbands;
        const CtLaunch launch = {
            .grid = {(n_source_pairs + THREADS - 1) / THREADS, (guint)MIN(rows, MOST_ROWS), 1},
            .block = {THREADS, 1, 1},
        };
        gpointer arguments[] = {&tables.signals, &cuda->correlations, &first_source,
                                &n_source_pairs};
        if (!ct_queue_launch(work->queue, cuda->sources, &launch, arguments, error))
            return FALSE;
    }

    gint64 stride[GENERATE_N_AXES] = {0};
    for (guint i = 0; i < GENERATE_N_AXES; i++)
        if (cuda->base.place[i] >= 0)
            stride[i] = block->stride[cuda->base.place[i]];
    Strides strides = {stride[GENERATE_TIME], stride[GENERATE_SUBBAND], stride[GENERATE_STATION],
                       stride[GENERATE_POL]};
    gpointer data = block->data, counters = work->counters;
    const CtLaunch launch = {
        .grid = {(guint)((n_pairs * cuda->n_inner + THREADS - 1) / THREADS),
                 (guint)MIN(cuda->n_outer, MOST_ROWS), 1},
        .block = {THREADS, 1, 1},
    };
    gpointer arguments[] = {&data, &strides,      &tables,    &first,
                            &n,    &first_signal, &n_signals, &counters};
    return ct_queue_launch(work->queue, cuda->samples, &launch, arguments, error);
}

static void
cuda_finish(gpointer state)
{
    Cuda *cuda = state;
    if (!cuda)
        return;
    generate_model_free(cuda->base.model);
    ct_kernel_free(cuda->sources);
    ct_kernel_free(cuda->samples);
    const gpointer memory[] = {cuda->noise, cuda->delays, cuda->correlations, cuda->increments,
                               cuda->gains};
    for (guint i = 0; i < G_N_ELEMENTS(memory); i++)
        ct_device_free(cuda->device, memory[i]);
    g_free(cuda);
}

const CtVariant generate_cuda = {
    .name = "cuda",
    .backend = CT_CUDA,
    .covers = (const char *const[]){"generate", NULL},
    .rows = (const CtRow[]){{"-> [...]", 0.28}, {NULL}},
    .prepare = cuda_prepare,
    .advance = generate_advance,
    .work = cuda_work,
    .finish = cuda_finish,
};
