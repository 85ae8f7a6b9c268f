/* SPDX-License-Identifier: BSD-3-Clause */
/* What running something costs: a model of the machine, and of the work of a node. */
#pragma once

#include <cornerturn/stage.h>

/* Where memory is: the host's, or that of the device with this number. */
#define CT_HOST (-1)

/* A stream of a device, on which nodes enqueue: what is enqueued on one runs in order. */
typedef enum {
    CT_QUEUE_COMPUTE,
    CT_QUEUE_TO_DEVICE, /* copies from the host */
    CT_QUEUE_TO_HOST,
    CT_QUEUE_TO_PEER, /* copies to another device */
    CT_N_QUEUE_KINDS
} CtQueueKind;

/* The ceilings of one worker, and of each device. */
typedef struct {
    const char *name; /* of the host, by ct_machine_host */
    guint n_workers;
    gsize cache_bytes;       /* of a core's own cache (L2) */
    gsize memory_bytes;      /* of the machine; 0: not known */
    gdouble bandwidth;       /* bytes read and written per second, from worker to worker */
    gdouble peak[CT_N_ISAS]; /* single-precision operations per second */
    guint n_devices;
    const CtDeviceInfo *devices; /* borrowed */
    int driver_version;          /* of the devices, 13000 for 13.0; 0: not known */
    const char *no_device;       /* why there is none */
    gdouble copy_to_device;      /* bytes per second from the host */
    gdouble copy_to_host;
    gdouble share_of_copies; /* of a copy's seconds, those that kernels beside it lose */
    gsize device_bytes;      /* that a firing on a device aims at, of its largest link */
    guint n_halvings; /* of the firings on devices, for want of memory, this aim's among them */
    /* Whether one device copies to another without the host; NULL: none does. */
    gboolean (*are_peers)(guint from, guint to);
} CtMachine;

/* Estimates the host from its clock, its caches and its instruction sets: nothing is run, so that a
 * graph has the same plan every time. It has no devices. `n_workers` 0: one for each processor that
 * this process may use. */
void ct_machine_init(CtMachine *machine, guint n_workers);
/* Those that are there; opens none. */
void ct_machine_find_devices(CtMachine *machine);
/* What makes hosts alike to the database: processor, caches and instruction sets, "AMD EPYC 9354,
 * 1024 KiB L2, 32768 KiB L3, avx512"; and what machines do at a place: "NVIDIA H200, driver 13.0".
 * Interned. */
const char *ct_machine_host(void);
const char *ct_machine_name(const CtMachine *machine, gint place);
/* What a firing on the host stays near: the bytes that are given or, where these are 0, half of the
 * caches of all workers. */
gsize ct_machine_aim(const CtMachine *machine, gsize given);

/* What nodes ask of the machine, per sample of the first output of the last (of the first input of
 * a sink), and how many of these a second of stream has. Where the stream has no clock, a tick
 * stands for a second; what does not flow along time counts next to nothing. */
typedef struct {
    gdouble operations; /* useful ones */
    gdouble bytes;      /* in and out, each once */
    gdouble rate;
    gdouble ticks; /* of the stream, in that second */
    gint64 block;  /* ticks that a firing covers because a source's `block` says so; 0: as many as
                      the planner aims at */
    gint64 held; /* samples of its outputs that a reader goes through at once, where these are more
                    than caches hold; else 0 */
} CtLoad;

/* Of a row of `n_nodes` nodes, each but the first fed by the first output of the one before it.
 * `inputs` are the layouts at the ports of the first, `outputs` those of the last; empty where
 * nothing is connected. What it is about firings is left to the planner. */
void ct_load_init(CtLoad *load, const CtNode *nodes, guint n_nodes, const CtLayout *inputs,
                  const CtLayout *outputs);

/* Samples of one of its streams that its block covers, at least one; 0: it has none. */
gint64 ct_load_block_samples(const CtLoad *load, const CtStream *stream);

/* Seconds for a second of stream, on the host (CT_HOST) or a device, over the row's efficiency: of
 * bytes over bandwidth and operations over peak, on a device the larger, on the host both, for a
 * worker waits for what it reads from the caches. On the host with all workers where
 * the variant splits its work; on a device with the launches of its firings. */
gdouble ct_cost_seconds(const CtMachine *machine, const CtVariant *variant, const CtRow *row,
                        const CtLoad *load, gint place);
/* Seconds for a second of stream that no row can be quicker than: of one worker on the host. */
gdouble ct_cost_ceiling_seconds(const CtMachine *machine, const CtVariant *variant,
                                const CtRow *row, const CtLoad *load, gint place);
/* Of a copy from place to place; HUGE_VAL where there is no way but through the host. */
gdouble ct_cost_copy_seconds(const CtMachine *machine, const CtLoad *load, gint from, gint to);

/* ---- what is kept busy ---- */

/* What a plan keeps busy has a number: the host's workers, all together, and of each device the
 * queues of each kind. */
guint ct_resource(gint place, CtQueueKind kind);
guint ct_n_resources(const CtMachine *machine);
/* "workers", "cuda:0 kernels", "cuda:0 to host"; allocated. */
char *ct_resource_name(guint resource);

/* What a thing that runs asks of them, in seconds for a second of stream. Those of all that runs
 * add up, for each resource by itself; the plan takes as long as the busiest, or as the longest of
 * what one thread has to do by itself. */
enum { CT_COST_PARTS = 6 };

typedef struct {
    guint n_parts;
    struct {
        guint resource;
        gdouble seconds;
    } parts[CT_COST_PARTS];
    gdouble alone; /* of what no other worker can help with; these do not add up */
} CtCost;

/* Of what takes `seconds` by itself: of all workers where the variant splits its work, of one where
 * not; of a device's queue. */
void ct_cost_init(CtCost *cost, const CtMachine *machine, const CtVariant *variant, gint place,
                  gdouble seconds);
/* Of a copy from place to place. It takes memory bandwidth from the kernels of its devices. */
void ct_cost_init_copy(CtCost *cost, const CtMachine *machine, gint from, gint to, gdouble seconds);
/* Adds what else runs. */
void ct_cost_add(CtCost *cost, const CtCost *other);
/* Seconds that it would take if nothing else ran. */
gdouble ct_cost_longest(const CtCost *cost);
/* Whether `cost` asks nowhere for more than `other`. */
gboolean ct_cost_within(const CtCost *cost, const CtCost *other);
