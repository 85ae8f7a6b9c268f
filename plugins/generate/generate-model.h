/* SPDX-License-Identifier: BSD-3-Clause */
/* The simulated sky in numbers, from which every variant of generate makes its samples. */
#pragma once

#include <cornerturn/stage.h>

/* Taps of the filter that delays a noise source by a fraction of a sample, and the number of them
 * before the delayed sample. */
#define GENERATE_TAPS   32
#define GENERATE_BEFORE 15

/* The kind of random numbers: the last word of the counter. */
enum { GENERATE_RECEIVER, GENERATE_SOURCE };

/* The axes that the stream may have. */
enum { GENERATE_TIME, GENERATE_SUBBAND, GENERATE_STATION, GENERATE_POL, GENERATE_N_AXES };
extern const char *const generate_axes[GENERATE_N_AXES];

/* The signal of a noise source z at a station in a subband:
 *     x[t] = rotation · Σ_k taps[k] z[t − whole + 15 − k] */
typedef struct {
    gint64 whole; /* samples */
    gdouble taps[GENERATE_TAPS];
    gdouble rotation[2]; /* real, imaginary; 1 for a real stream, whose taps hold the phase */
} GenerateDelay;

typedef struct {
    gdouble amplitude;     /* root of the power in each pol */
    gdouble correlation;   /* of the second pol with the first */
    GenerateDelay *delays; /* [subband][station] */
} GenerateSource;

/* x[t] = gain · exp(2πi increment · t / 2⁶⁴), or its real part in a real stream */
typedef struct {
    guint64 *increments; /* [subband] */
    gdouble *gains;      /* [subband][station][real, imaginary]; 0 where the tone is outside the
                            subband */
} GenerateTone;

typedef struct {
    gint64 station;     /* −1: all */
    gint64 first, last; /* invalid samples of the endless stream, `last` is one past them */
} GenerateGap;

typedef struct {
    CtType type;
    gboolean is_complex;
    gint64 n_subbands, n_stations, n_pols; /* 1 for an axis that the stream lacks */
    guint32 key[2];                        /* the seed */
    gint64 first;                          /* sample of the endless stream at index 0 */
    gint64 n_samples;                      /* −1: endless */
    gdouble scale;
    gdouble *noise; /* [station] root of the power of the receiver's noise */
    guint n_sources;
    GenerateSource *sources;
    gint64 least, most; /* over all `whole`; 0 without sources */
    guint n_tones;
    GenerateTone *tones;
    guint n_gaps;
    GenerateGap *gaps;
} GenerateModel;

/* The model of a node whose output is `stream`. */
GenerateModel *generate_model_new(const CtNode *node, const CtStream *stream, GError **error);
void generate_model_free(GenerateModel *model);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GenerateModel, generate_model_free)

/* The index of the random numbers of a receiver, and of a pol of a source. */
static inline guint32
generate_receiver_series(const GenerateModel *model, gint64 subband, gint64 station, gint64 pol)
{
    return (subband * model->n_stations + station) * model->n_pols + pol;
}

static inline guint32
generate_source_series(const GenerateModel *model, gint64 source, gint64 subband, gint64 pol)
{
    return (source * model->n_subbands + subband) * model->n_pols + pol;
}

/* The first member of every variant's state. */
typedef struct {
    GenerateModel *model;
    gint64 produced;             /* samples so far */
    gint place[GENERATE_N_AXES]; /* positions of the axes in the output's layout; −1: none */
} GenerateState;

gboolean generate_state_init(GenerateState *state, const CtPrepare *prepare, GError **error);
gboolean generate_advance(gpointer state, CtAdvance *advance, GError **error);

/* The address of sample `t` of a series. */
static inline guint8 *
generate_address(const GenerateState *state, const CtBlock *block, gint64 t, gint64 subband,
                 gint64 station, gint64 pol)
{
    const gint64 index[GENERATE_N_AXES] = {t, subband, station, pol};
    guint8 *address = block->data;
    for (guint i = 0; i < GENERATE_N_AXES; i++)
        if (state->place[i] >= 0)
            address += index[i] * block->stride[state->place[i]];
    return address;
}
