/* SPDX-License-Identifier: BSD-3-Clause */
/* The cost of running nodes: a model of the machine, and of the work of a node. */
#pragma once

#include <cornerturn/stage.h>

/* The place of memory: the host, or else the device with this number. */
#define CT_HOST (-1)

/* The queues of a device. Work that is enqueued on one queue runs in order. */
typedef enum {
    CT_QUEUE_COMPUTE,
    CT_QUEUE_TO_DEVICE, /* copies from the host */
    CT_QUEUE_TO_HOST,
    CT_QUEUE_TO_PEER, /* copies to another device */
    CT_N_QUEUE_KINDS
} CtQueueKind;

/* The ceilings of one worker and of each device. */
typedef struct {
    const char *name; /* of the host, by ct_machine_host */
    guint n_workers;
    gsize cache_bytes;       /* of a core's L2 cache */
    gsize memory_bytes;      /* of the machine; 0: not known */
    gdouble bandwidth;       /* bytes read and written per second, passed between workers */
    gdouble peak[CT_N_ISAS]; /* single-precision operations per second, of ct_isa_vectors */
    guint n_devices;
    const CtDeviceInfo *devices; /* borrowed from ct_devices */
    int driver_version;          /* of the devices, 13000 for 13.0; 0: not known */
    const char *no_device;       /* the reason why there is none */
    gdouble copy_to_device;      /* bytes per second from the host */
    gdouble copy_to_host;
    gdouble share_of_copies; /* the share of a copy's seconds that concurrent kernels lose */
    gsize device_bytes;      /* the bytes that a firing on a device aims at for its largest link */
    guint n_halvings; /* how often firings on devices were halved for lack of memory, halvings of
                         device_bytes included */
    /* Whether one device can copy to another without the host. NULL: none can. */
    gboolean (*are_peers)(guint from, guint to);
    /* The NUMA node next to a device, or CT_NO_NUMA. NULL: none is known. */
    gint (*numa_of_device)(guint device);
} CtMachine;

/* Estimates the host's ceilings from its clock, caches and instruction sets. Nothing is run, so a
 * graph gets the same plan every time. The machine has no devices yet. `n_workers` 0: one for each
 * processor that this process may use. */
void ct_machine_init(CtMachine *machine, guint n_workers);
/* Sets the devices of this machine, without opening them. */
void ct_machine_find_devices(CtMachine *machine);
/* Names by which the database tells machines apart. The host's has its processor, caches and
 * instruction sets: "AMD EPYC 9354, 1024 KiB L2, 32768 KiB L3, avx512"; a device's is "NVIDIA H200,
 * driver 13.0". Interned. */
const char *ct_machine_host(void);
const char *ct_machine_name(const CtMachine *machine, gint place);
/* The bytes that a firing on the host aims at: `given` or, if that is 0, half of the L2 caches of
 * all workers. */
gsize ct_machine_aim(const CtMachine *machine, gsize given);

/* The work of nodes per sample, and the number of samples in a second of stream. Samples are those
 * of the first output of the last node (for a sink, of the first input). If the stream has no
 * clock, a tick counts as a second. Data without an axis time count next to nothing. */
typedef struct {
    gdouble operations; /* useful operations */
    gdouble bytes;      /* of inputs and outputs, each counted once */
    gdouble rate;
    gdouble ticks; /* ticks per second of stream */
    gint64 block;  /* ticks that a firing covers because a source's `block` is given; 0: the planner
                      aims at a size */
    gint64 held;   /* samples of the outputs that a reader processes at once, if these are more than
                      caches hold; else 0 */
} CtLoad;

/* Computes the load of a chain of `n_nodes` nodes, each fed by the first output of the one before
 * it. `inputs` are the layouts at the ports of the first node, `outputs` those of the last; the
 * layout of an unconnected port is empty. The planner sets `block` and `held`. */
void ct_load_init(CtLoad *load, const CtNode *nodes, guint n_nodes, const CtLayout *inputs,
                  const CtLayout *outputs);

/* The number of samples of `stream` that `block` covers, rounded up; 0: `block` is not set. */
gint64 ct_load_block_samples(const CtLoad *load, const CtStream *stream);

/* The seconds that the model gives for a second of stream, on the host (CT_HOST) or a device: the
 * ceiling's seconds, divided by the row's efficiency. On the host, all workers share the work if
 * the variant splits it; on a device, the launches of the firings are included. */
gdouble ct_cost_seconds(const CtMachine *machine, const CtVariant *variant, const CtRow *row,
                        const CtLoad *load, gint place);
/* The least seconds that any row can take for a second of stream, of one worker on the host. On the
 * host, the times for memory and for operations add up, since a worker waits for data from the
 * caches; on a device, the longer of the two counts. */
gdouble ct_cost_ceiling_seconds(const CtMachine *machine, const CtVariant *variant,
                                const CtRow *row, const CtLoad *load, gint place);
/* The seconds for a copy between two places; HUGE_VAL if the only way is through the host. */
gdouble ct_cost_copy_seconds(const CtMachine *machine, const CtLoad *load, gint from, gint to);

/* ---- resources ---- */

/* Numbers of the resources that a plan keeps busy: the host's workers, taken together, and the
 * queues of each kind of each device. */
guint ct_resource(gint place, CtQueueKind kind);
guint ct_n_resources(const CtMachine *machine);
/* "workers", "cuda:0 kernels", "cuda:0 to host"; allocated. */
char *ct_resource_name(guint resource);

/* The demand of nodes or copies on the resources, in seconds for a second of stream. Demands add up
 * for each resource separately. A plan takes as long as its busiest resource, or as the longest
 * piece of work that one thread must do alone. */
enum { CT_COST_PARTS = 6 };

typedef struct {
    guint n_parts;
    struct {
        guint resource;
        gdouble seconds;
    } parts[CT_COST_PARTS];
    gdouble alone; /* of the longest work that one thread does alone; costs do not add up here */
} CtCost;

/* The cost of a node that takes `seconds`: of all workers if the variant splits its work, of one
 * worker if not, or of a device's queue. */
void ct_cost_init(CtCost *cost, const CtMachine *machine, const CtVariant *variant, gint place,
                  gdouble seconds);
/* The cost of a copy. It takes memory bandwidth from the kernels of its devices. */
void ct_cost_init_copy(CtCost *cost, const CtMachine *machine, gint from, gint to, gdouble seconds);
/* Adds another cost. */
void ct_cost_add(CtCost *cost, const CtCost *other);
/* The seconds that the work takes if nothing else runs. */
gdouble ct_cost_longest(const CtCost *cost);
/* Whether `cost` is at most `other` on every resource, and for work of one thread. */
gboolean ct_cost_within(const CtCost *cost, const CtCost *other);
