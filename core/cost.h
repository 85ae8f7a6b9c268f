/* SPDX-License-Identifier: BSD-3-Clause */
/* What running something costs: a model of the machine, and of the work of a node. */
#pragma once

#include <cornerturn/stage.h>

/* The roofs of one worker. */
typedef struct {
    guint n_workers;
    gsize cache_bytes;       /* of a core's own cache (L2) */
    gsize memory_bytes;      /* of the machine; 0: not known */
    gdouble bandwidth;       /* bytes read and written per second */
    gdouble peak[CT_N_ISAS]; /* single-precision operations per second */
} CtMachine;

/* Estimates the machine from its clock, its caches and its instruction sets: nothing is run, so
 * that a graph has the same plan every time. `n_workers` 0: one for each processor that this
 * process may use. */
void ct_machine_init(CtMachine *machine, guint n_workers);

/* What nodes ask of the machine, per sample of the first output of the last (of the first input of
 * a sink), and how many of these a second of stream has. Where the stream has no clock, a tick
 * stands for a second; what does not flow along time counts next to nothing. */
typedef struct {
    gdouble operations; /* useful ones */
    gdouble bytes;      /* in and out, each once */
    gdouble rate;
} CtLoad;

/* Of a row of `n_nodes` nodes, each but the first fed by the first output of the one before it.
 * `inputs` are the layouts at the ports of the first, `outputs` those of the last; empty where
 * nothing is connected. */
void ct_load_init(CtLoad *load, const CtNode *nodes, guint n_nodes, const CtLayout *inputs,
                  const CtLayout *outputs);

/* Seconds for a second of stream, with all workers where the variant splits its work: the larger of
 * bytes over bandwidth and operations over peak, over the row's efficiency. */
gdouble ct_cost_seconds(const CtMachine *machine, const CtVariant *variant, const CtRow *row,
                        const CtLoad *load);
