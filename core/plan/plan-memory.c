/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory of links: the links on a device that share bytes, the place of each, and whether all
 * of them fit.
 *
 * A link is *transient* if each firing of its readers takes everything that one firing of its
 * writer made. Transient links form groups: trees of nodes, each fed by one transient link, below a
 * node that is fed by rings. The nodes of a group fire in the order of the plan, so a link holds
 * data from its writer's turn to the turn of its last reader, and links that never hold data at the
 * same time share bytes. Four kinds of links would block the others of a group and therefore have
 * rings: the input of a reader that leaves samples behind or waits for further inputs; a link with
 * skew, in which samples wait; a link that shows its samples late; and the output of a node that
 * may take its input in two firings, since the first half of its output would be in the way of the
 * second. */
#include "model/node-params.h"
#include "model/quantity.h"
#include "plan-sizes.h"

#include <string.h>

/* Links begin at multiples of this. */
static const gsize alignment = 256;

/* One part in this many of a device's memory is kept free of rings. */
static const gsize kept_from_rings = 16;

static gsize
add(gsize a, gsize b)
{
    gsize sum;
    return __builtin_add_overflow(a, b, &sum) ? G_MAXSIZE : sum;
}

static gsize
align(gsize bytes)
{
    return bytes > G_MAXSIZE - alignment ? bytes : (bytes + alignment - 1) / alignment * alignment;
}

/* ---- transient links ---- */

/* Whether a firing of the node may leave samples of its input: weights or a parameter change, or,
 * at the end of the stream, a sum makes one sample more than there is room for. */
static gboolean
may_stop(const CtPlanNode *node)
{
    guint n = 0;
    gboolean stops = node->footprint.kind == CT_FOOTPRINT_SUM;
    for (guint i = 0; i < node->n_inputs; i++)
        n += node->inputs[i] >= 0;
    for (guint k = 0; k < node->n_nodes; k++)
        stops |= ct_stage_is_live(node->nodes[k].stage);
    return n > 1 || stops;
}

/* Whether a firing of the node takes all samples at the port, and waits for no other input. */
static gboolean
drains(const CtPlan *plan, const CtPlanLink *link, const CtPlanReader *reader)
{
    const CtPlanNode *node = ct_plan_node(plan, reader->node);
    const CtFootprint *footprint = &node->footprint;
    for (guint i = 0; i < node->n_inputs; i++) {
        if (i != reader->port && ct_plan_flows(plan, node, i))
            return FALSE;
    }
    const gboolean is_sum = footprint->kind == CT_FOOTPRINT_SUM;
    for (guint o = 0; o < node->n_outputs && !is_sum; o++) {
        if (node->outputs[o] >= 0 &&
            ct_plan_link(plan, node->outputs[o])->max_samples < link->max_samples)
            return FALSE;
    }
    return ct_plan_flows(plan, node, reader->port) && node->variant->work &&
           (is_sum || (footprint->kind == CT_FOOTPRINT_WINDOW && footprint->window == 1 &&
                       footprint->hop == 1)) &&
           node->input_bindings[reader->port].max_samples >= link->max_samples;
}

/* Whether the link is transient. Needs the same of the links that feed its writer. */
static gboolean
is_transient(const CtPlan *plan, const CtPlanLink *link)
{
    const CtPlanNode *writer = ct_plan_node(plan, link->writer);
    if (link->place == CT_HOST || link->history > 0 || link->skew > 0 || !writer->variant->work ||
        ct_plan_shows_late(plan, link))
        return FALSE;
    for (guint i = 0; i < writer->n_inputs; i++) {
        if (writer->inputs[i] >= 0 && ct_plan_link(plan, writer->inputs[i])->transient &&
            may_stop(writer))
            return FALSE;
    }
    for (guint r = 0; r < link->readers->len; r++) {
        const CtPlanReader *reader = &g_array_index(link->readers, CtPlanReader, r);
        if (ct_plan_node(plan, reader->node)->queue != writer->queue || !drains(plan, link, reader))
            return FALSE;
    }
    return TRUE;
}

/* Sets the groups: each link of a tree has the index of the tree's first link. */
static void
set_groups(CtPlan *plan)
{
    for (guint l = 0; l < plan->links->len; l++) {
        CtPlanLink *link = ct_plan_link(plan, l);
        const CtPlanNode *writer = ct_plan_node(plan, link->writer);
        link->transient = is_transient(plan, link);
        link->group = link->transient ? (gint)l : -1;
        /* Take the group of the link that feeds the writer, or of another output of the writer:
         * links are in the order of their writers. */
        for (guint i = 0; i < writer->n_inputs && link->transient; i++) {
            if (writer->inputs[i] >= 0 && ct_plan_link(plan, writer->inputs[i])->transient)
                link->group = ct_plan_link(plan, writer->inputs[i])->group;
        }
        for (guint o = 0; o < link->port && link->transient; o++) {
            if (writer->outputs[o] >= 0 && ct_plan_link(plan, writer->outputs[o])->transient)
                link->group = ct_plan_link(plan, writer->outputs[o])->group;
        }
    }
}

/* ---- the arena: the one allocation on a device in which its links lie ---- */

static guint
last_reader(const CtPlanLink *link)
{
    guint last = link->writer;
    for (guint r = 0; r < link->readers->len; r++)
        last = MAX(last, g_array_index(link->readers, CtPlanReader, r).node);
    return last;
}

static gboolean
live_together(const CtPlanLink *a, const CtPlanLink *b)
{
    return a->writer <= last_reader(b) && b->writer <= last_reader(a);
}

static gint
compare_bytes(gconstpointer a, gconstpointer b)
{
    const CtPlanLink *x = *(CtPlanLink *const *)a, *y = *(CtPlanLink *const *)b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return (x->writer > y->writer) - (x->writer < y->writer);
}

static gint
compare_offset(gconstpointer a, gconstpointer b)
{
    const CtPlanLink *x = *(CtPlanLink *const *)a, *y = *(CtPlanLink *const *)b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Places the links of a group from `begin` on, the largest first, each at the lowest offset that is
 * free during its life. Returns the end of the group. */
static gsize
place_group(GPtrArray *links, gsize begin)
{
    g_autoptr(GPtrArray) others = g_ptr_array_new();
    gsize end = begin;
    g_ptr_array_sort(links, compare_bytes);
    for (guint l = 0; l < links->len; l++) {
        CtPlanLink *link = g_ptr_array_index(links, l);
        g_ptr_array_set_size(others, 0);
        for (guint k = 0; k < l; k++) {
            if (live_together(link, g_ptr_array_index(links, k)))
                g_ptr_array_add(others, g_ptr_array_index(links, k));
        }
        g_ptr_array_sort(others, compare_offset);
        link->offset = begin;
        for (guint k = 0; k < others->len; k++) {
            const CtPlanLink *other = g_ptr_array_index(others, k);
            if (add(link->offset, link->bytes) <= other->offset)
                break;
            link->offset = MAX(link->offset, align(add(other->offset, other->bytes)));
        }
        end = MAX(end, align(add(link->offset, link->bytes)));
    }
    return end;
}

void
ct_plan_place_links(CtPlan *plan)
{
    set_groups(plan);
    plan->device_bytes = g_new0(gsize, plan->n_devices + 1);
    g_autoptr(GPtrArray) group = g_ptr_array_new();
    for (guint l = 0; l < plan->links->len; l++) {
        CtPlanLink *link = ct_plan_link(plan, l);
        /* Blocks that the program feeds are in its own memory. */
        if (link->place == CT_HOST || !ct_plan_node(plan, link->writer)->variant->work)
            continue;
        gsize *end = &plan->device_bytes[link->place];
        if (!link->transient) {
            link->offset = *end;
            *end = align(add(*end, link->bytes));
            continue;
        }
        if (link->group != (gint)l)
            continue;
        g_ptr_array_set_size(group, 0);
        for (guint k = l; k < plan->links->len; k++) {
            if (ct_plan_link(plan, k)->group == link->group)
                g_ptr_array_add(group, ct_plan_link(plan, k));
        }
        *end = place_group(group, *end);
    }
}

/* ---- whether it fits ---- */

char *
ct_plan_explain_ring(const CtPlanLink *link)
{
    static const char *const kinds[] = {
        [CT_REST_READER] = "that a reader sees",
        [CT_REST_GENERATIONS] = "so that the history is moved seldom",
        [CT_REST_SKEW] = "of skew",
    };
    gint64 padding;
    if (__builtin_mul_overflow(link->n_firings, link->max_samples, &padding) ||
        __builtin_sub_overflow(link->capacity - link->rest, padding, &padding))
        padding = 0;
    GString *text = g_string_new(NULL);
    g_string_append_printf(text, "%" G_GINT64_FORMAT " × %" G_GINT64_FORMAT " of a firing",
                           link->n_firings, link->max_samples);
    if (link->rest > 0)
        g_string_append_printf(text, ", %" G_GINT64_FORMAT " %s", link->rest,
                               kinds[link->rest_kind]);
    if (link->rest_kind == CT_REST_SKEW && link->circle)
        g_string_append_printf(text, " around %s", link->circle);
    if (link->history > 0)
        g_string_append_printf(text, ", %" G_GINT64_FORMAT " of history", link->history);
    if (padding > 0)
        g_string_append_printf(text, ", %" G_GINT64_FORMAT " to align", padding);
    return g_string_free(text, FALSE);
}

/* The bytes available for rings at a place: not all, as a device's kernels have tables and sums
 * too. */
static gsize
room_at(const CtMachine *machine, gint place)
{
    if (place == CT_HOST)
        return machine->memory_bytes > 0 ? machine->memory_bytes : G_MAXSIZE;
    const gsize bytes = machine->devices[place].memory_bytes;
    return bytes - bytes / kept_from_rings;
}

static gsize
wanted_at(const CtPlan *plan, gint place)
{
    return place == CT_HOST ? plan->bytes : plan->device_bytes[place];
}

/* The first place whose rings do not fit; the number of devices where all do. */
static gint
crowded_place(const CtPlan *plan, const CtMachine *machine)
{
    gint place = CT_HOST;
    while (place < (gint)plan->n_devices && wanted_at(plan, place) <= room_at(machine, place))
        place++;
    return place;
}

/* "cuda:0 (NVIDIA H200)" */
static char *
place_name(const CtMachine *machine, gint place)
{
    return place == CT_HOST ? g_strdup("this machine")
                            : g_strdup_printf("cuda:%d (%s)", place, machine->devices[place].name);
}

gboolean
ct_plan_fits(const CtPlan *plan, const CtMachine *machine, char **whose)
{
    const gint place = crowded_place(plan, machine);
    if (place == (gint)plan->n_devices)
        return TRUE;
    if (whose) {
        g_autofree char *name = place_name(machine, place);
        g_autofree char *wanted = ct_format_bytes(wanted_at(plan, place));
        g_autofree char *there = ct_format_bytes(room_at(machine, place));
        *whose = g_strdup_printf("the rings on %s want %s of %s", name, wanted, there);
    }
    return FALSE;
}

gboolean
ct_plan_refuse(const CtPlan *plan, const CtMachine *machine, const char *advice, GError **error)
{
    const gint place = crowded_place(plan, machine);
    const CtPlanLink *largest = NULL;
    for (guint l = 0; l < plan->links->len; l++) {
        const CtPlanLink *link = ct_plan_link(plan, l);
        if (link->place == place && (!largest || link->bytes > largest->bytes))
            largest = link;
    }
    const CtPlanNode *writer = ct_plan_node(plan, largest->writer);
    g_autofree char *total = ct_format_bytes(wanted_at(plan, place));
    g_autofree char *whose = place_name(machine, place);
    g_autofree char *there_is = ct_format_bytes(room_at(machine, place));
    g_autofree char *of_largest = ct_format_bytes(largest->bytes);
    g_autofree char *layout = ct_layout_to_string(&largest->layout);
    g_autofree char *axes = ct_stream_describe(largest->stream);
    g_autofree char *samples = ct_plan_explain_ring(largest);
    gint64 length[CT_MAX_AXES], stride[CT_MAX_AXES];
    const gsize of_granule =
        ct_layout_strides(&largest->layout, largest->stream, largest->granule, length, stride);
    gint64 n_samples;
    if (__builtin_add_overflow(largest->capacity, largest->history, &n_samples))
        n_samples = G_MAXINT64;
    const gboolean on_host = place == CT_HOST;
    /* The skew is the larger part of the ring. */
    if (largest->rest_kind == CT_REST_SKEW && largest->rest > largest->capacity / 2)
        advice = "less skew";
    g_autofree char *message = g_strdup_printf(
        "the rings of this graph want %s%s, but %s has %s%s; the largest is that behind '%s': %s "
        "of %s, %" G_GINT64_FORMAT " samples (%s) of %" G_GSIZE_FORMAT " bytes are %s; %s%s",
        total, on_host ? "" : " of device memory", whose, there_is, on_host ? "" : " for them",
        writer->name, layout, axes, n_samples, samples, of_granule / (gsize)largest->granule,
        of_largest, advice ? advice : "no smaller blocks help", advice ? " needs less" : "");
    return ct_graph_error(writer->graph_node, NULL, CT_ERROR_MEMORY, error, "%s", message);
}
