/* SPDX-License-Identifier: BSD-3-Clause */
/* generate, vectorised: one chunk of time after another, with all its series in cache. */
#include "generate-kernels.h"
#include "generate-model.h"
#include "generate.h"

#include <math.h>
#include <string.h>

/* A noise source as seen by one station in one subband. */
typedef struct {
    gint64 whole;
    gfloat rotation[2];
    guint n_taps; /* 1 if the delay is whole and the only tap is 1 */
    gfloat taps[GENERATE_TAPS];
} Delay;

typedef struct {
    GenerateState base;
    gsize chunk;   /* samples */
    gsize length;  /* floats of a chunk's array, padded for alignment */
    gsize span;    /* floats of a source's array, including the range of delays */
    Delay *delays; /* [source][subband][station]; the rotation includes the amplitude */
    gfloat *gains; /* [tone][subband][station][2] */
} Cpu;

static gint64
round_down(gint64 t)
{
    return t & ~(gint64)(GENERATE_GROUP - 1);
}

static gsize
round_up(gsize n)
{
    return (n + GENERATE_GROUP - 1) / GENERATE_GROUP * GENERATE_GROUP;
}

/* Arrays in a worker's scratch: x, then the tones, then the sources; each re and im. */
static gsize
scratch_floats(const Cpu *cpu)
{
    const GenerateModel *model = cpu->base.model;
    return 2 * (cpu->length * (1 + model->n_tones) + cpu->span * model->n_sources * model->n_pols);
}

static void
set_delay(Delay *delay, const GenerateDelay *from, gdouble amplitude, gdouble scale)
{
    delay->whole = from->whole;
    for (guint part = 0; part < 2; part++)
        delay->rotation[part] = (gfloat)(from->rotation[part] * amplitude * scale);
    delay->n_taps = GENERATE_TAPS;
    gdouble others = 0;
    for (guint k = 0; k < GENERATE_TAPS; k++) {
        delay->taps[k] = (gfloat)from->taps[k];
        if (k != GENERATE_BEFORE)
            others += fabs(from->taps[k]);
    }
    if (others < 1e-9) {
        delay->n_taps = 1;
        delay->taps[0] = (gfloat)from->taps[GENERATE_BEFORE];
    }
}

static gboolean
cpu_prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    Cpu *cpu = g_new0(Cpu, 1);
    *state = cpu;
    if (!generate_state_init(&cpu->base, prepare, error))
        return FALSE;
    const GenerateModel *model = cpu->base.model;
    gsize reach = model->most - model->least;
    cpu->chunk = MAX(1024, round_up(reach));
    cpu->length = cpu->chunk + 2 * GENERATE_GROUP;
    cpu->span = cpu->length + round_up(reach + GENERATE_TAPS) + 2 * GENERATE_GROUP;
    prepare->scratch_bytes = scratch_floats(cpu) * sizeof(gfloat);

    gsize n_series = model->n_subbands * model->n_stations;
    if (!(cpu->delays = CT_TABLE(Delay, model->n_sources * n_series, "delays", error)) ||
        !(cpu->gains = CT_TABLE(gfloat, model->n_tones * n_series * 2, "tones", error)))
        return FALSE;
    for (guint i = 0; i < model->n_sources; i++)
        for (gsize k = 0; k < n_series; k++)
            set_delay(&cpu->delays[i * n_series + k], &model->sources[i].delays[k],
                      model->sources[i].amplitude, model->scale);
    for (guint i = 0; i < model->n_tones; i++)
        for (gsize k = 0; k < n_series * 2; k++)
            cpu->gains[i * n_series * 2 + k] = (gfloat)(model->tones[i].gains[k] * model->scale);
    return TRUE;
}

/* Fills in samples from `first` on of all sources in a subband, in the pols: [source][pol][re,
 * im][span]. */
static void
fill_sources(const Cpu *cpu, gint64 first, gsize n, gint64 subband, gfloat *sources)
{
    const GenerateModel *model = cpu->base.model;
    gfloat unit = model->is_complex ? 1 : (gfloat)G_SQRT2;
    for (guint i = 0; i < model->n_sources; i++) {
        gfloat *source = sources + i * model->n_pols * 2 * cpu->span;
        for (gint64 p = 0; p < model->n_pols; p++) {
            gfloat *z = source + p * 2 * cpu->span;
            CT_ISA(generate_noise)
            (z, z + cpu->span, first, n, model->key, generate_source_series(model, i, subband, p),
             GENERATE_SOURCE, unit);
        }
        gdouble rho = model->sources[i].correlation;
        for (guint part = 0; part < 2 && model->n_pols > 1 && rho != 0; part++)
            CT_ISA(generate_mix)
        (source + (2 + part) * cpu->span, source + part * cpu->span, n, (gfloat)rho,
         (gfloat)sqrt(1 - rho * rho));
    }
}

/* Computes the chunk of one series: n samples from t on, t a multiple of the group. */
static void
fill_series(const Cpu *cpu, gint64 t, gsize n, gint64 subband, gint64 station, gint64 pol,
            const gfloat *tones, const gfloat *sources, gint64 first_source, gfloat *x)
{
    const GenerateModel *model = cpu->base.model;
    gfloat *y = x + cpu->length;
    /* The pols have the same delays and gains. */
    gsize series = subband * model->n_stations + station,
          n_series = model->n_subbands * model->n_stations;
    gfloat noise =
        (gfloat)((model->is_complex ? 1 : G_SQRT2) * model->noise[station] * model->scale);
    if (noise != 0)
        CT_ISA(generate_noise)
    (x, y, t, n, model->key, generate_receiver_series(model, subband, station, pol),
     GENERATE_RECEIVER, noise);
    else
    {
        memset(x, 0, n * sizeof *x);
        memset(y, 0, n * sizeof *y);
    }
    for (guint i = 0; i < model->n_sources; i++) {
        const Delay *delay = &cpu->delays[i * n_series + series];
        const gfloat *z = sources + (i * model->n_pols + pol) * 2 * cpu->span;
        z += t - delay->whole + (delay->n_taps > 1 ? GENERATE_BEFORE : 0) - first_source;
        CT_ISA(generate_delayed)
        (x, y, z, z + cpu->span, n, delay->taps, delay->n_taps, delay->rotation);
    }
    for (guint i = 0; i < model->n_tones; i++) {
        const gfloat *z = tones + i * 2 * cpu->length;
        CT_ISA(generate_add)(x, y, z, z + cpu->length, n, cpu->gains + (i * n_series + series) * 2);
    }
    if (!model->is_complex)
        memset(y, 0, n * sizeof *y);
}

static gboolean
cpu_work(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    const Cpu *cpu = state;
    const GenerateModel *model = cpu->base.model;
    const CtBlock *block = &work->outputs[0];
    if (!block->data)
        return TRUE;
    gfloat *x = work->scratch;
    gfloat *tones = x + 2 * cpu->length;
    gfloat *sources = tones + 2 * cpu->length * model->n_tones;
    gint64 time_stride =
        cpu->base.place[GENERATE_TIME] < 0 ? 0 : block->stride[cpu->base.place[GENERATE_TIME]];

    for (gint64 begin = work->begin; begin < work->end; begin += cpu->chunk) {
        gsize n = MIN((gint64)cpu->chunk, work->end - begin);
        gint64 t = model->first + block->index + begin;
        gint64 aligned = round_down(t);
        gsize skip = t - aligned, n_aligned = round_up(skip + n);
        gint64 first_source = round_down(aligned - model->most - GENERATE_TAPS + GENERATE_BEFORE);
        gsize n_source =
            round_up(aligned + n_aligned - model->least + GENERATE_BEFORE - first_source);
        for (gint64 b = 0; b < model->n_subbands; b++) {
            fill_sources(cpu, first_source, n_source, b, sources);
            for (guint i = 0; i < model->n_tones; i++) {
                gfloat *z = tones + i * 2 * cpu->length;
                CT_ISA(generate_phasors)
                (z, z + cpu->length, aligned, n_aligned, model->tones[i].increments[b]);
            }
            for (gint64 s = 0; s < model->n_stations; s++)
                for (gint64 p = 0; p < model->n_pols; p++) {
                    fill_series(cpu, aligned, n_aligned, b, s, p, tones, sources, first_source, x);
                    work->counters[0] += CT_ISA(generate_write)(
                        generate_address(&cpu->base, block, begin, b, s, p), time_stride,
                        model->type, x + skip, x + cpu->length + skip, n);
                }
        }
    }
    return TRUE;
}

static void
cpu_finish(gpointer state)
{
    Cpu *cpu = state;
    if (!cpu)
        return;
    generate_model_free(cpu->base.model);
    g_free(cpu->delays);
    g_free(cpu->gains);
    g_free(cpu);
}

const CtVariant CT_ISA(generate_cpu) = {
    .name = "cpu-" CT_ISA_NAME,
    .backend = CT_CPU,
    .isa = CT_ISA_THIS,
    .covers = (const char *const[]){"generate", NULL},
    .rows = (const CtRow[]){{"-> [...]", 0.33}, {NULL}},
    .split = "time",
    .prepare = cpu_prepare,
    .advance = generate_advance,
    .work = cpu_work,
    .finish = cpu_finish,
};
