/* SPDX-License-Identifier: BSD-3-Clause */
/* The cost of running nodes, from the ceilings of the machine. */
#include "cost.h"

#include "graph/graph.h"
#include "graph/plugin-call.h"
#include "model/isa.h"
#include "model/thread.h"

#include <math.h>
#include <unistd.h>

/* Used if the machine does not report its own. */
static const gdouble usual_clock = 3e9;
static const gsize usual_cache = 1 << 20;

/* Bytes read and written per clock by a worker that reads what another has written, and writes what
 * another will read, through the caches that they share. */
static const gdouble bytes_per_clock = 9;

/* Data without an axis time are processed once; this spreads the cost over a long run. */
static const gdouble once_per_second = 1e-3;

/* Bytes per second between the host and a device, and between two devices: what PCI Express 5.0 and
 * NVLink reach in practice. */
static const gdouble host_copy_rate = 50e9;
static const gdouble peer_copy_rate = 200e9;

/* The time that launching a firing's kernels takes. */
static const gdouble launch_seconds = 5e-6;

/* The bytes that a firing on a device aims at: enough for launches and the bus to matter little. */
static const gsize usual_device_bytes = 32 << 20;

/* The share of a copy's seconds that concurrent kernels lose. */
static const gdouble usual_share_of_copies = 0.03;

/* For devices that do not report their clocks. */
static const gdouble usual_device_bandwidth = 1e12;
static const gdouble usual_device_peak = 1e13;

/* Single-precision operations per clock: units of fused multiply-adds times floats of a vector. Of
 * sets with the vectors of another one, none. */
static const gdouble operations_per_clock[CT_N_ISAS] = {
    [CT_ISA_BASELINE] = 2 * 4,
    [CT_ISA_AVX2] = 2 * 2 * 8,
    [CT_ISA_AVX512] = 2 * 2 * 16,
};

/* The clock of the first processor in hertz: its maximum, since the current one varies with
 * load. */
static gdouble
processor_clock(void)
{
    g_autofree char *text = NULL;
    if (g_file_get_contents("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", &text, NULL,
                            NULL)) {
        const gdouble kilohertz = g_ascii_strtod(text, NULL);
        if (kilohertz > 0)
            return kilohertz * 1e3;
    }
    return usual_clock;
}

void
ct_machine_init(CtMachine *machine, guint n_workers)
{
    const gdouble clock = processor_clock();
    const long cache = sysconf(_SC_LEVEL2_CACHE_SIZE);
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    *machine = (CtMachine){
        .name = ct_machine_host(),
        .n_workers = n_workers ? n_workers : ct_thread_processors(),
        .cache_bytes = cache > 0 ? (gsize)cache : usual_cache,
        .memory_bytes = pages > 0 && page > 0 ? (gsize)pages * (gsize)page : 0,
        .bandwidth = clock * bytes_per_clock,
        .copy_to_device = host_copy_rate,
        .copy_to_host = host_copy_rate,
        .share_of_copies = usual_share_of_copies,
        .no_device = "nobody has looked for any",
        .device_bytes = usual_device_bytes,
    };
    for (guint isa = 0; isa < CT_N_ISAS; isa++)
        machine->peak[isa] = clock * operations_per_clock[isa];
}

static gboolean
has_time(const CtStream *stream)
{
    return ct_stream_axis(stream, "time") >= 0;
}

/* The bytes of a sample in memory; 0 if the port is not connected. */
static gdouble
sample_bytes(const CtStream *stream, const CtLayout *layout)
{
    if (stream->type == CT_TYPE_NONE || layout->n_axes == 0)
        return 0;
    const gdouble parts = ct_layout_axis(layout, "complex") >= 0 ? 2 : 1;
    return parts * ct_type_info(ct_layout_type(layout))->bytes * ct_stream_width(stream);
}

static gdouble
samples_per_second(const CtStream *stream)
{
    if (!has_time(stream))
        return once_per_second;
    const gdouble rate = ct_stream_sample_rate(stream);
    return rate > 0 ? rate : 1.0 / MAX(1, stream->ticks_per_sample);
}

void
ct_load_init(CtLoad *load, const CtNode *nodes, guint n_nodes, const CtLayout *inputs,
             const CtLayout *outputs)
{
    const CtNode *first = &nodes[0], *last = &nodes[n_nodes - 1];
    *load = (CtLoad){.rate = once_per_second};
    const CtStream *counted = last->n_outputs > 0   ? &last->outputs[0]
                              : first->n_inputs > 0 ? &first->inputs[0]
                                                    : NULL;
    if (counted) {
        load->rate = samples_per_second(counted);
        load->ticks = load->rate * (gdouble)MAX(1, counted->ticks_per_sample);
    }

    /* The number of samples at each node for one sample at the end. */
    gdouble samples = 1;
    for (guint i = n_nodes; i-- > 0;) {
        load->operations += samples * ct_call_operations(&nodes[i]);
        if (nodes[i].n_outputs > 0)
            samples *= nodes[i].footprint.hop;
    }
    for (guint i = 0; i < first->n_inputs; i++) {
        if (has_time(&first->inputs[i]) &&
            !(ct_node_input_port(first, i)->flags & (CT_PORT_UNREAD | CT_PORT_PREPARED)))
            load->bytes += samples * sample_bytes(&first->inputs[i], &inputs[i]);
    }
    for (guint i = 0; i < last->n_outputs; i++)
        load->bytes += sample_bytes(&last->outputs[i], &outputs[i]);
}

gint64
ct_load_block_samples(const CtLoad *load, const CtStream *stream)
{
    const gint64 of_sample = MAX(1, stream->ticks_per_sample);
    return load->block / of_sample + (load->block % of_sample > 0);
}

static gdouble
told(gdouble given, gdouble usual)
{
    return given > 0 ? given : usual;
}

/* The seconds that launching the firings takes for a second of stream. */
static gdouble
launches(const CtMachine *machine, const CtLoad *load)
{
    if (load->block > 0)
        return launch_seconds * load->ticks / (gdouble)load->block;
    return launch_seconds * load->rate * load->bytes / (gdouble)machine->device_bytes;
}

gdouble
ct_cost_ceiling_seconds(const CtMachine *machine, const CtVariant *variant, const CtRow *row,
                        const CtLoad *load, gint place)
{
    const gboolean on_host = place == CT_HOST;
    const gdouble bandwidth = on_host
                                  ? machine->bandwidth
                                  : told(machine->devices[place].bandwidth, usual_device_bandwidth);
    const gdouble single = on_host ? machine->peak[ct_isa_vectors(variant->isa)]
                                   : told(machine->devices[place].peak, usual_device_peak);
    const gdouble peak = single * MAX(row->efficiency, 1);
    const gdouble memory = load->bytes / bandwidth, work = load->operations / peak;
    return load->rate * (on_host ? memory + work : MAX(memory, work));
}

gdouble
ct_cost_seconds(const CtMachine *machine, const CtVariant *variant, const CtRow *row,
                const CtLoad *load, gint place)
{
    const gdouble efficiency = CLAMP(row->efficiency, 1e-4, 1);
    const gdouble seconds =
        ct_cost_ceiling_seconds(machine, variant, row, load, place) / efficiency;
    if (place == CT_HOST)
        return seconds / (variant->split ? machine->n_workers : 1);
    return seconds + launches(machine, load);
}

gdouble
ct_cost_copy_seconds(const CtMachine *machine, const CtLoad *load, gint from, gint to)
{
    const gboolean is_peer = from != CT_HOST && to != CT_HOST;
    if (is_peer && !(machine->are_peers && machine->are_peers((guint)from, (guint)to)))
        return HUGE_VAL;
    const gdouble rate = is_peer           ? peer_copy_rate
                         : from == CT_HOST ? told(machine->copy_to_device, host_copy_rate)
                                           : told(machine->copy_to_host, host_copy_rate);
    /* The bytes are counted twice, as input and as output. */
    return load->rate * load->bytes / 2 / rate + launches(machine, load);
}

/* ---- resources ---- */

guint
ct_resource(gint place, CtQueueKind kind)
{
    return place == CT_HOST ? 0 : 1 + (guint)place * CT_N_QUEUE_KINDS + kind;
}

guint
ct_n_resources(const CtMachine *machine)
{
    return 1 + machine->n_devices * CT_N_QUEUE_KINDS;
}

char *
ct_resource_name(guint resource)
{
    static const char *const kinds[CT_N_QUEUE_KINDS] = {
        [CT_QUEUE_COMPUTE] = "kernels",
        [CT_QUEUE_TO_DEVICE] = "to device",
        [CT_QUEUE_TO_HOST] = "to host",
        [CT_QUEUE_TO_PEER] = "to peer",
    };
    if (resource == ct_resource(CT_HOST, CT_QUEUE_COMPUTE))
        return g_strdup("workers");
    return g_strdup_printf("cuda:%u %s", (resource - 1) / CT_N_QUEUE_KINDS,
                           kinds[(resource - 1) % CT_N_QUEUE_KINDS]);
}

static void
add_part(CtCost *cost, gint place, CtQueueKind kind, gdouble seconds)
{
    const guint p = cost->n_parts++;
    cost->parts[p].resource = ct_resource(place, kind);
    cost->parts[p].seconds = seconds;
}

void
ct_cost_init(CtCost *cost, const CtMachine *machine, const CtVariant *variant, gint place,
             gdouble seconds)
{
    *cost = (CtCost){0};
    if (place != CT_HOST || (variant->split && !variant->waits)) {
        add_part(cost, place, CT_QUEUE_COMPUTE, seconds);
    } else {
        cost->alone = variant->split ? seconds * machine->n_workers : seconds;
        add_part(cost, CT_HOST, CT_QUEUE_COMPUTE, cost->alone / machine->n_workers);
    }
}

void
ct_cost_init_copy(CtCost *cost, const CtMachine *machine, gint from, gint to, gdouble seconds)
{
    *cost = (CtCost){0};
    if (from == CT_HOST)
        add_part(cost, to, CT_QUEUE_TO_DEVICE, seconds);
    else
        add_part(cost, from, to == CT_HOST ? CT_QUEUE_TO_HOST : CT_QUEUE_TO_PEER, seconds);
    if (from != CT_HOST)
        add_part(cost, from, CT_QUEUE_COMPUTE, machine->share_of_copies * seconds);
    if (to != CT_HOST)
        add_part(cost, to, CT_QUEUE_COMPUTE, machine->share_of_copies * seconds);
}

void
ct_cost_add(CtCost *cost, const CtCost *other)
{
    for (guint i = 0; i < other->n_parts; i++) {
        guint p = 0;
        while (p < cost->n_parts && cost->parts[p].resource != other->parts[i].resource)
            p++;
        g_assert(p < CT_COST_PARTS);
        if (p == cost->n_parts)
            cost->parts[cost->n_parts++] = other->parts[i];
        else
            cost->parts[p].seconds += other->parts[i].seconds;
    }
    cost->alone = MAX(cost->alone, other->alone);
}

gdouble
ct_cost_longest(const CtCost *cost)
{
    gdouble longest = cost->alone;
    for (guint p = 0; p < cost->n_parts; p++)
        longest = MAX(longest, cost->parts[p].seconds);
    return longest;
}

static gdouble
seconds_of(const CtCost *cost, guint resource)
{
    for (guint p = 0; p < cost->n_parts; p++)
        if (cost->parts[p].resource == resource)
            return cost->parts[p].seconds;
    return 0;
}

gboolean
ct_cost_within(const CtCost *cost, const CtCost *other)
{
    for (guint p = 0; p < cost->n_parts; p++)
        if (cost->parts[p].seconds > seconds_of(other, cost->parts[p].resource))
            return FALSE;
    return cost->alone <= other->alone;
}
