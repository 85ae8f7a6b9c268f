/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations that the files of the stage fold share: turns of the pulsar, and the sums of its
 * profiles. */
#pragma once

#include <cornerturn/stage.h>

/* ---- turns ---- */

/* A fraction of a turn in units of 2⁻¹²⁸: arithmetic wraps around as turns do. */
typedef unsigned __int128 Turns;

/* The turns at the middle of sample i: first + i · step + i (i − 1) / 2 · change, exactly. */
typedef struct {
    Turns first, step, change;
    gint64 start; /* tick of sample 0 */
    gint64 ticks; /* of a sample */
} TurnsRule;

/* Reads the parameters of the ephemeris, which it checks. */
gboolean ct_turns_rule(TurnsRule *rule, const CtNode *node, GError **error);

/* The bins of `n` samples, of which the first begins at `tick`. */
void ct_turns_bins(const TurnsRule *rule, gint64 tick, gint64 n, gint64 n_bins, guint32 *bins);

/* ---- profiles ---- */

/* An axis of the elements: any but time. */
typedef struct {
    gint64 length;
    gint in, out, counts; /* positions in the layouts; counts −1: all have the same */
    gint64 lane;          /* from one index to the next; 0: it loses no data separately */
} ProfileAxis;

/* The sums of all elements, and how many samples they have. The states of all variants begin with
 * this. Elements are numbered in the order of the input's layout. */
typedef struct {
    TurnsRule turns;
    gint64 hop, n_bins, n_lanes, n_elements;
    gboolean averages;
    gint in_time, out_time, out_bin;
    gint counts_time, counts_bin; /* −1: the counts are not connected */
    guint n_axes;
    ProfileAxis axes[CT_MAX_AXES]; /* slowest first */
    gint64 row, n_chunks;          /* a row of elements has so many chunks; the last may be short */
    gint64 chunk;                  /* elements of a chunk, which is an item of the work */
    guint32 *bins;                 /* [sample of the firing] */
    guint32 *all;                  /* [profile of the firing][bin]: samples, of which … */
    guint32 *lost;                 /* [profile of the firing][lane][bin]: … are invalid */
    gint64 making;                 /* index of the unfinished profile */
    gdouble *sums;                 /* [chunk][bin][element of the chunk] */
} Profile;

/* The most elements of a chunk. */
#define PROFILE_CHUNK 512

/* A chunk of a firing: scratch memory of a worker. */
typedef struct {
    const Profile *profile;
    const CtWork *work;
    gdouble *sums; /* [bin][n] */
    gint64 n;
    gint64 in_time;            /* bytes from sample to sample */
    gint64 in[PROFILE_CHUNK];  /* bytes from the block to the element */
    gint64 out[PROFILE_CHUNK]; /* the same in the output */
    gint64 lanes[PROFILE_CHUNK];
} ProfileChunk;

/* Adds samples t … t + m − 1 to the sums of their bins, in their order. */
typedef void (*ProfileAdd)(const ProfileChunk *chunk, gint64 t, gint64 m);

/* Prepares the state for chunks of at most `chunk` elements, which are in one row of `row` elements
 * each. It may be finished after a failure. */
gboolean ct_profile_init(Profile *self, CtPrepare *prepare, GError **error);
gboolean ct_profile_cut(Profile *self, CtPrepare *prepare, gint64 row, gint64 chunk,
                        GError **error);
void ct_profile_finish(gpointer state);
gboolean ct_profile_advance(gpointer state, CtAdvance *advance, GError **error);
void ct_profile_work(const Profile *self, const CtWork *work, ProfileAdd add);

extern const CtVariant ct_profile_cpu_avx512, ct_profile_cpu_avx2, ct_profile_cpu_baseline;
extern const CtVariant ct_profile_reference;
