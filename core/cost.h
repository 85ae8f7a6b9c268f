/* SPDX-License-Identifier: BSD-3-Clause */
/* What running something costs: a model of the machine, and of the work of a node. */
#pragma once

#include <cornerturn/stage.h>

/* Where memory is: the host's, or that of the device with this number. */
#define CT_HOST (-1)

/* The roofs of one worker, and of each device. */
typedef struct {
    guint n_workers;
    gsize cache_bytes;       /* of a core's own cache (L2) */
    gsize memory_bytes;      /* of the machine; 0: not known */
    gdouble bandwidth;       /* bytes read and written per second */
    gdouble peak[CT_N_ISAS]; /* single-precision operations per second */
    guint n_devices;
    const CtDeviceInfo *devices; /* borrowed */
    const char *no_device;       /* why there is none */
    gsize device_bytes;          /* that a firing on a device aims at, of its largest link */
    /* Whether one device copies to another without the host; NULL: none does. */
    gboolean (*are_peers)(guint from, guint to);
} CtMachine;

/* Estimates the host from its clock, its caches and its instruction sets: nothing is run, so that a
 * graph has the same plan every time. It has no devices. `n_workers` 0: one for each processor that
 * this process may use. */
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

/* Seconds for a second of stream, on the host (CT_HOST) or a device: the larger of bytes over
 * bandwidth and operations over peak, over the row's efficiency. On the host with all workers where
 * the variant splits its work; on a device with the launches of its firings. */
gdouble ct_cost_seconds(const CtMachine *machine, const CtVariant *variant, const CtRow *row,
                        const CtLoad *load, gint place);
/* Of a copy from place to place; HUGE_VAL where there is no way but through the host. */
gdouble ct_cost_copy_seconds(const CtMachine *machine, const CtLoad *load, gint from, gint to);
