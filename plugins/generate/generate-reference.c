/* SPDX-License-Identifier: BSD-3-Clause */
/* generate in double precision, any layout: the definition of the stream. */
#include "generate-model.h"
#include "generate-store.h"
#include "generate.h"

#include <math.h>
#include <string.h>

enum { CHUNK = 512 };

typedef struct {
    GenerateState base;
    gsize span; /* samples of a source that a chunk needs */
} Reference;

/* Philox4x32-10 (Salmon et al. 2011): four random words of a counter and a key. */
static void
philox(const guint32 key[2], guint32 counter[4])
{
    guint32 k0 = key[0], k1 = key[1];
    for (guint round = 0; round < 10; round++) {
        guint64 a = (guint64)counter[0] * 0xd2511f53u, b = (guint64)counter[2] * 0xcd9e8d57u;
        guint32 next[4] = {(guint32)(b >> 32) ^ counter[1] ^ k0, (guint32)b,
                           (guint32)(a >> 32) ^ counter[3] ^ k1, (guint32)a};
        memcpy(counter, next, sizeof next);
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
}

/* Samples t … t + n − 1 of a series of circular Gaussian noise of power 1. The words of counter
 * ⌊t/2⌋ are used for two samples; with u = (w₀ ≫ 9 + ½)/2²³ and v = (w₁ ≫ 8)/2²⁴ a sample is
 * √(−ln u) exp(2πi v); a real one is √2 of its real part. */
static void
fill_noise(const GenerateModel *model, gint64 t, gsize n, guint32 series, guint32 kind,
           gdouble (*noise)[2])
{
    for (gsize i = 0; i < n; i++, t++) {
        guint64 pair = (guint64)(t >> 1);
        guint32 words[4] = {(guint32)pair, (guint32)(pair >> 32), series, kind};
        philox(model->key, words);
        const guint32 *w = words + 2 * (t & 1);
        gdouble radius = sqrt(-log(((w[0] >> 9) + 0.5) * 0x1p-23));
        gdouble angle = 2 * G_PI * (w[1] >> 8) * 0x1p-24;
        noise[i][0] = (model->is_complex ? 1 : G_SQRT2) * radius * cos(angle);
        noise[i][1] = model->is_complex ? radius * sin(angle) : 0;
    }
}

/* Adds `source`, delayed by `delay`, to x. The first sample of `source` is `most` + 16 before the
 * chunk. */
static void
add_source(gdouble (*x)[2], gsize n, const gdouble (*source)[2], const GenerateModel *model,
           const GenerateDelay *delay, gdouble amplitude)
{
    const gdouble(*z)[2] = source + (model->most - delay->whole) + GENERATE_TAPS - 1;
    for (gsize t = 0; t < n; t++) {
        gdouble re = 0, im = 0;
        for (gint k = 0; k < GENERATE_TAPS; k++) {
            re += delay->taps[k] * z[(gssize)t - k][0];
            im += delay->taps[k] * z[(gssize)t - k][1];
        }
        x[t][0] += amplitude * (re * delay->rotation[0] - im * delay->rotation[1]);
        x[t][1] += amplitude * (re * delay->rotation[1] + im * delay->rotation[0]);
    }
}

static void
add_tone(gdouble (*x)[2], gint64 t, gsize n, guint64 increment, const gdouble gain[2])
{
    for (gsize i = 0; i < n; i++) {
        gdouble angle = 2 * G_PI * ldexp((gdouble)(increment * (guint64)(t + i)), -64);
        x[i][0] += gain[0] * cos(angle) - gain[1] * sin(angle);
        x[i][1] += gain[0] * sin(angle) + gain[1] * cos(angle);
    }
}

static gboolean
reference_prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    Reference *reference = g_new0(Reference, 1);
    *state = reference;
    if (!generate_state_init(&reference->base, prepare, error))
        return FALSE;
    const GenerateModel *model = reference->base.model;
    reference->span = CHUNK + (model->most - model->least) + GENERATE_TAPS;
    prepare->scratch_bytes =
        (model->n_sources * model->n_pols * reference->span + CHUNK) * 2 * sizeof(gdouble);
    return TRUE;
}

/* The sources' signals in both pols: the second is ρ times the first plus √(1 − ρ²) times noise of
 * its own. */
static void
fill_sources(const GenerateModel *model, gsize span, gint64 t, gsize n, gint64 subband,
             gdouble (*sources)[2])
{
    for (guint i = 0; i < model->n_sources; i++) {
        gdouble rho = model->sources[i].correlation;
        gdouble(*first)[2] = sources + i * model->n_pols * span;
        for (gint64 p = 0; p < model->n_pols; p++)
            fill_noise(model, t, n, generate_source_series(model, i, subband, p), GENERATE_SOURCE,
                       first + p * span);
        for (gsize k = 0; model->n_pols > 1 && k < n; k++)
            for (guint part = 0; part < 2; part++)
                first[span + k][part] =
                    rho * first[k][part] + sqrt(1 - rho * rho) * first[span + k][part];
    }
}

static gboolean
reference_work(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    const Reference *reference = state;
    const GenerateModel *model = reference->base.model;
    const CtBlock *block = &work->outputs[0];
    if (!block->data)
        return TRUE;
    gdouble(*sources)[2] = work->scratch;
    gdouble(*x)[2] = sources + model->n_sources * model->n_pols * reference->span;

    for (gint64 begin = work->begin; begin < work->end; begin += CHUNK) {
        gsize n = MIN(CHUNK, work->end - begin);
        gint64 t = model->first + block->index + begin;
        for (gint64 b = 0; b < model->n_subbands; b++) {
            fill_sources(model, reference->span,
                         t - model->most - (GENERATE_TAPS - 1 - GENERATE_BEFORE),
                         n + (model->most - model->least) + GENERATE_TAPS - 1, b, sources);
            for (gint64 s = 0; s < model->n_stations; s++)
                for (gint64 p = 0; p < model->n_pols; p++) {
                    fill_noise(model, t, n, generate_receiver_series(model, b, s, p),
                               GENERATE_RECEIVER, x);
                    for (gsize k = 0; k < n; k++)
                        for (guint part = 0; part < 2; part++)
                            x[k][part] *= model->noise[s];
                    for (guint i = 0; i < model->n_sources; i++)
                        add_source(x, n, sources + (i * model->n_pols + p) * reference->span, model,
                                   &model->sources[i].delays[b * model->n_stations + s],
                                   model->sources[i].amplitude);
                    for (guint i = 0; i < model->n_tones; i++)
                        add_tone(x, t, n, model->tones[i].increments[b],
                                 model->tones[i].gains + (b * model->n_stations + s) * 2);
                    for (gsize k = 0; k < n; k++)
                        work->counters[0] += generate_store(
                            generate_address(&reference->base, block, begin + k, b, s, p),
                            model->type, x[k][0] * model->scale, x[k][1] * model->scale);
                }
        }
    }
    return TRUE;
}

static void
reference_finish(gpointer state)
{
    Reference *reference = state;
    if (reference)
        generate_model_free(reference->base.model);
    g_free(reference);
}

const CtVariant generate_reference = {
    .name = "reference",
    .backend = CT_REFERENCE,
    .covers = (const char *const[]){"generate", NULL},
    .rows = (const CtRow[]){{"-> [...]", 0.01}, {NULL}},
    .split = "time",
    .prepare = reference_prepare,
    .advance = generate_advance,
    .work = reference_work,
    .finish = reference_finish,
};
