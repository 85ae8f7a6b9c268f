/* SPDX-License-Identifier: BSD-3-Clause */
/* A variant run by itself, firing by firing, on blocks made beforehand: without planner and
 * scheduler, by the rules of a run (firing.h), and in memory in which every access outside a block,
 * and every element left unwritten, is found. */
#pragma once

#include "guard.h"
#include "test-blocks.h"

#include <cornerturn/stage.h>

/* How firings are cut. */
typedef enum {
    CT_CUT_ARRIVALS, /* at each firing some samples arrive at each input */
    CT_CUT_ROOM      /* all samples are there, and each firing has room for some */
} CtCutKind;

typedef struct {
    const CtNode *nodes; /* that the variant covers, as infer has described them */
    guint n_nodes;
    const CtVariant *variant;
    const gint64 *tuning;    /* NULL: the default */
    const CtLayout *inputs;  /* [n_inputs of the first node] concrete; empty: no data */
    const CtLayout *outputs; /* [n_outputs of the last node] */
    guint n_workers;
    CtCutKind cut_by;
    const gint64 *cuts; /* samples, in turn; NULL: the whole stream is one firing */
    guint n_cuts;
    CtGuardSide side;
    guint8 poison; /* bytes of elements that are not written yet, and of scratch memory: 0xff is
                      NaN in all types of floating point */
    GRand *random; /* draws ranges of items, their order, and when the end becomes known; NULL: one
                      range for each worker, in order, and the end with the last samples */
    struct CtDevice *device; /* of a cuda variant */
} CtTestRun;

/* Runs the variant on `inputs`, which hold whole streams in the layouts of the run, with any
 * strides; `data` NULL: not connected. Strides of firings are those of the whole. Writes the result
 * to `outputs`, whose n_samples are the most that fit, and sets their n_samples to those that there
 * are, and `start`; their validity, unless NULL, is set as well. `counters`, unless NULL, has
 * CT_MAX_COUNTERS items. FALSE with an error: the variant fails, breaks its contract, or accesses
 * other memory. */
gboolean ct_test_run(const CtTestRun *run, const CtBlock *inputs, CtBlock *outputs,
                     guint64 *counters, GError **error);

/* Prepares the cuda variant for an architecture (90: compute capability 9.0) of which no device
 * need be here: compiles its kernels by NVIDIA's compiler. FALSE with an error that names the
 * kernel if one spills registers, or does not compile. The blocks need no data. */
gboolean ct_test_compile(const CtTestRun *run, const CtBlock *inputs, CtBlock *outputs,
                         guint architecture, GError **error);
