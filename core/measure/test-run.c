/* SPDX-License-Identifier: BSD-3-Clause */
/* A variant run by itself, firing by firing. Rings are descriptions without memory: each firing
 * finds its samples in guarded memory, and leaves its results there. */
#include "test-run.h"

#include "graph/plugin-call.h"
#include "graph/tuning.h"
#include "model/strided.h"
#include "plan/plan-sizes.h"
#include "run/arrays.h"
#include "run/firing-check.h"
#include "test-device.h"

#include <string.h>

/* A port, and how far its stream has come. */
typedef struct {
    const CtPort *declared;
    CtPlanLink link;
    CtRing ring;
    CtGuard guard;
    CtTestDeviceBlock there;
    CtBlock whole;
    guint8 *validity; /* of an output: [lane][whole.n_samples], for one firing */
    gint64 position;  /* the first sample that is still needed */
    gint64 arrived;
} Port;

typedef struct {
    const CtTestRun *run;
    CtBlock *results; /* the caller's outputs */
    CtPlanNode plan;
    CtRunOptions options;
    CtRunNode node;
    Port *inputs, *outputs; /* [plan.n_inputs], [plan.n_outputs] */
    CtRing **rings;         /* of the inputs, then the outputs */
    CtGuard scratch;
    CtTestDevice device;
    guint64 counters[CT_MAX_COUNTERS];
    guint8 *before; /* the memory of the first output, while work runs, which may not return */
    guint n_firings;
    gboolean knows_end; /* the variant is told when all samples have arrived */
} Runner;

/* ---- the node ---- */

/* Describes the ring of a port. */
static void
describe_port(Port *port, guint index, const CtPort *declared, const CtBinding *binding,
              const CtBlock *whole)
{
    const CtPlanReader reader = {.port = index};
    port->declared = declared;
    port->whole = *whole;
    port->link = (CtPlanLink){
        .stream = binding->stream,
        .layout = binding->layout,
        .max_samples = binding->max_samples,
        .granule = ct_block_granule(&binding->layout),
        .readers = g_array_new(FALSE, FALSE, sizeof(CtPlanReader)),
    };
    g_array_append_val(port->link.readers, reader);
    port->ring = (CtRing){
        .link = &port->link,
        .granule = port->link.granule,
        .capacity = whole->n_samples + port->link.granule,
        .n_lanes = ct_stream_n_lanes(binding->stream),
        .ticks = binding->stream->ticks_per_sample,
        .start = binding->stream->start,
        .time = ct_layout_axis(&binding->layout, "time"),
        .n_readers = 1,
    };
}

/* The output samples of which a firing must make a multiple. */
static gint64
granule_of_node(const Runner *self)
{
    const CtFootprint *rule = &self->plan.footprint;
    const gint64 hop = rule->kind == CT_FOOTPRINT_OWN ? 1 : rule->hop;
    gint64 granule = 1;
    for (guint o = 0; o < self->plan.n_outputs; o++)
        granule = MAX(granule, self->outputs[o].link.granule);
    for (guint i = 0; i < self->plan.n_inputs; i++)
        if (self->inputs[i].link.granule > 1)
            granule = ct_least_multiple(granule,
                                        ct_least_multiple(hop, self->inputs[i].link.granule) / hop);
    return granule;
}

static void
describe_node(Runner *self, const CtBlock *inputs)
{
    const CtTestRun *run = self->run;
    const CtNode *first = &run->nodes[0], *last = &run->nodes[run->n_nodes - 1];
    CtPlanNode *plan = &self->plan;
    *plan = (CtPlanNode){
        .name = (char *)first->name,
        .variant = run->variant,
        .nodes = (CtNode *)run->nodes,
        .n_nodes = run->n_nodes,
        .place = run->device ? 0 : CT_HOST,
        .queue = -1,
        .n_inputs = first->n_inputs,
        .inputs = g_new(gint, first->n_inputs + 1),
        .input_bindings = g_new0(CtBinding, first->n_inputs + 1),
        .n_outputs = last->n_outputs,
        .outputs = g_new(gint, last->n_outputs + 1),
        .output_bindings = g_new0(CtBinding, last->n_outputs + 1),
        .footprint = ct_chain_footprint(run->nodes, run->n_nodes),
    };
    self->inputs = g_new0(Port, plan->n_inputs + 1);
    self->outputs = g_new0(Port, plan->n_outputs + 1);
    self->rings = g_new0(CtRing *, plan->n_inputs + plan->n_outputs + 1);
    for (guint i = 0; i < plan->n_inputs; i++) {
        plan->inputs[i] = inputs[i].data ? (gint)i : -1;
        plan->input_bindings[i] =
            (CtBinding){&first->inputs[i], run->inputs[i], inputs[i].n_samples, {0}};
        describe_port(&self->inputs[i], i, ct_node_input_port(first, i), &plan->input_bindings[i],
                      &inputs[i]);
        self->rings[i] = &self->inputs[i].ring;
    }
    for (guint o = 0; o < plan->n_outputs; o++) {
        plan->outputs[o] = self->results[o].data ? (gint)(plan->n_inputs + o) : -1;
        plan->output_bindings[o] =
            (CtBinding){&last->outputs[o], run->outputs[o], self->results[o].n_samples, {0}};
        describe_port(&self->outputs[o], o, &last->stage->outputs[o], &plan->output_bindings[o],
                      &self->results[o]);
        self->rings[plan->n_inputs + o] = &self->outputs[o].ring;
    }
    plan->granule = granule_of_node(self);
    if (run->tuning)
        memcpy(plan->tuning, run->tuning, sizeof plan->tuning);
    else
        ct_tuning_defaults(run->variant, plan->tuning);
}

static gboolean
guard_port(Port *port, const char *side, GError **error)
{
    g_autofree char *what = g_strdup_printf("%s '%s'", side, port->declared->name);
    return !port->whole.data ||
           ct_guard_init(&port->guard, ct_block_span(&port->whole), what, error);
}

static gboolean
prepare(Runner *self, GError **error)
{
    const CtTestRun *run = self->run;
    gsize scratch = 0, upload = 0;
    if (!ct_variant_check_nodes(run->variant, run->nodes, error) ||
        !ct_run_node_init(&self->node, &self->plan, 0, self->rings, &self->options,
                          MAX(1, run->n_workers), error))
        return FALSE;
    for (guint i = 0; i < self->plan.n_inputs; i++)
        if (!guard_port(&self->inputs[i], "input", error))
            return FALSE;
    for (guint o = 0; o < self->plan.n_outputs; o++) {
        Port *port = &self->outputs[o];
        if (!guard_port(port, "output", error))
            return FALSE;
        port->validity = g_malloc((gsize)(port->ring.n_lanes * port->whole.n_samples) + 1);
    }
    if (!ct_run_node_prepare(&self->node, run->device, &scratch, &upload, error))
        return FALSE;
    self->node.arrays.is_stale = self->node.arrays.zeros != NULL;
    if (run->device)
        return ct_test_device_init(&self->device, run->device, scratch, upload, run->poison, error);
    return ct_guard_init(&self->scratch, (scratch + 63) & ~(gsize)63, "its scratch memory", error);
}

/* ---- a firing ---- */

static gboolean
is_static(const Port *port)
{
    return (port->declared->flags & CT_PORT_STATIC) != 0;
}

static gboolean
is_prepared(const Port *port)
{
    return (port->declared->flags & CT_PORT_PREPARED) != 0;
}

/* Copies samples of an input to guarded memory, for the firing to read. */
static void
show(const Runner *self, Port *port, gint64 first, gint64 n, CtBlock *block)
{
    const CtBlock from = ct_block_slice(&port->whole, &port->link.layout, first, n);
    *block = from;
    ct_guard_protect(&port->guard, FALSE);
    block->data = ct_guard_place(&port->guard, ct_block_span(&from), self->run->side, from.data);
    ct_strided_copy(block, &from);
    ct_guard_protect(&port->guard, TRUE);
    gboolean any = FALSE;
    for (gint64 l = 0; from.validity && l < port->ring.n_lanes && !any; l++)
        any = memchr(from.validity + l * from.validity_stride, 0, (gsize)n) != NULL;
    if (!any)
        block->validity = NULL;
    block->index = first;
    block->start = port->link.stream->start + first * port->ring.ticks;
}

static gint64
next_cut(const Runner *self)
{
    const CtTestRun *run = self->run;
    return run->n_cuts == 0 ? G_MAXINT64 / 4 : run->cuts[self->n_firings % run->n_cuts];
}

static void
offer_inputs(Runner *self)
{
    const gint64 cut = self->run->cut_by == CT_CUT_ARRIVALS ? next_cut(self) : G_MAXINT64 / 4;
    gboolean all = TRUE;
    for (guint i = 0; i < self->plan.n_inputs; i++) {
        Port *port = &self->inputs[i];
        const gint64 granule = port->link.granule;
        const gint64 wanted = (port->arrived + cut + granule - 1) / granule * granule;
        if (!port->whole.data || is_static(port))
            continue;
        all &= port->arrived == port->whole.n_samples;
        port->arrived = MIN(wanted, port->whole.n_samples);
    }
    /* The end may become known with the last samples or after them. */
    self->knows_end =
        all || !self->run->random || self->knows_end || g_rand_boolean(self->run->random);
    for (guint i = 0; i < self->plan.n_inputs; i++) {
        Port *port = &self->inputs[i];
        CtArrival *arrival = &self->node.arrivals[i];
        *arrival = (CtArrival){0};
        if (!port->whole.data)
            continue;
        const gint64 n = is_static(port) ? 1 : port->arrived - port->position;
        show(self, port, port->position, n, &arrival->block);
        arrival->ended =
            is_static(port) || (self->knows_end && port->arrived == port->whole.n_samples);
    }
}

static void
offer_outputs(Runner *self)
{
    const gint64 cut = self->run->cut_by == CT_CUT_ROOM ? next_cut(self) : G_MAXINT64 / 4;
    for (guint o = 0; o < self->plan.n_outputs; o++) {
        Port *port = &self->outputs[o];
        CtDeparture *departure = &self->node.departures[o];
        const gint64 left = port->whole.n_samples - port->position, granule = self->plan.granule;
        *departure = (CtDeparture){.room = G_MAXINT64};
        if (!port->whole.data)
            continue;
        departure->room = MIN(left, (cut + granule - 1) / granule * granule);
        departure->validity = port->validity;
        departure->validity_stride = port->whole.n_samples;
        memset(port->validity, 1, (gsize)(port->ring.n_lanes * port->whole.n_samples));
    }
}

static gboolean
advance(Runner *self, GError **error)
{
    CtRunNode *node = &self->node;
    offer_inputs(self);
    offer_outputs(self);
    node->advance.ended = FALSE;
    if (!ct_arrays_prepare(node, error) ||
        !(self->plan.variant->advance ? ct_firing_call_advance(node, error)
                                      : ct_advance_default(&node->advance, error)) ||
        !ct_firing_check_advance(node, error))
        return FALSE;
    node->is_last = ct_firing_is_last(node);
    return TRUE;
}

/* Sets the blocks of the firing; FALSE: there is no work. */
static gboolean
set_blocks(Runner *self)
{
    CtRunNode *node = &self->node;
    gboolean any = FALSE;
    for (guint i = 0; i < self->plan.n_inputs; i++) {
        Port *port = &self->inputs[i];
        CtBlock *block = &node->input_blocks[i];
        *block = is_prepared(port) ? (CtBlock){0} : node->arrivals[i].block;
        if (!port->whole.data || is_static(port))
            continue;
        show(self, port, port->position, node->arrivals[i].used, block);
        any |= node->arrivals[i].used > 0;
    }
    for (guint o = 0; o < self->plan.n_outputs; o++) {
        Port *port = &self->outputs[o];
        const CtDeparture *departure = &node->departures[o];
        CtBlock *block = &node->output_blocks[o];
        *block = (CtBlock){0};
        if (!port->whole.data)
            continue;
        *block =
            ct_block_slice(&port->whole, &port->link.layout, port->position, departure->produced);
        block->data =
            ct_guard_place(&port->guard, ct_block_span(block), self->run->side, block->data);
        if (departure->produced > 0)
            ct_strided_fill(block, self->run->poison);
        block->index = port->position;
        block->start = departure->start;
        block->validity = departure->invalid || node->marks ? departure->validity : NULL;
        block->validity_stride = departure->validity_stride;
        block->refused = node->marks ? NULL : &node->outputs[o].refused;
        any |= departure->produced > 0;
    }
    return any;
}

/* The items of a range in the first output; FALSE where items are no samples or indices of an axis
 * that can be looked at by themselves. */
static gboolean
narrow_to_items(const Runner *self, const CtWork *work, CtBlock *items)
{
    const char *split = self->plan.variant->split;
    const Port *port = &self->outputs[0];
    const gint axis = split && self->plan.n_outputs > 0 && work->outputs[0].data
                          ? ct_layout_axis(&port->link.layout, split)
                          : -1;
    if (axis < 0 || (axis == port->ring.time && port->link.granule > 1))
        return FALSE;
    *items = work->outputs[0];
    items->data += work->begin * items->stride[axis];
    items->length[axis] = work->end - work->begin;
    return TRUE;
}

/* Does a range of items, and checks that nothing else of the first output is written. */
static gboolean
work_range(Runner *self, const CtWork *work, GError **error)
{
    const CtVariant *variant = self->plan.variant;
    const CtGuard *guard = &self->outputs[0].guard;
    CtBlock items;
    const gboolean is_part = work->begin > 0 || work->end < self->node.n_items;
    const gboolean is_checked =
        is_part && !self->run->device && narrow_to_items(self, work, &items);
    g_free(self->before);
    self->before = is_checked ? g_memdup2(guard->from, guard->watched) : NULL;
    if (!ct_firing_call_work(&self->node, work, error))
        return FALSE;
    if (!is_checked)
        return TRUE;
    CtBlock kept = items;
    kept.data = self->before + (items.data - guard->from);
    ct_strided_copy(&kept, &items);
    if (memcmp(self->before, guard->from, guard->watched) == 0)
        return TRUE;
    return ct_variant_fault(variant, error,
                            "its work on items %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT
                            " of '%s' writes to other items of output '%s'",
                            work->begin, work->end - 1, variant->split,
                            self->outputs[0].declared->name);
}

/* Divides the items into ranges, at least one for each worker if there are enough: starts[n]. */
static guint
divide(const Runner *self, gint64 *starts, guint most)
{
    const gint64 n = self->node.n_items;
    const gint64 workers = MAX(1, self->run->n_workers);
    GRand *random = self->run->random;
    guint n_ranges = 0;
    for (gint64 begin = 0; begin < n && n_ranges < most;) {
        starts[n_ranges++] = begin;
        const gint64 even = (n + workers - 1) / workers;
        begin +=
            random && even > 1 ? g_rand_int_range(random, 1, (gint32)MIN(even, 1 << 20) + 1) : even;
        if (n_ranges == most - 1 && begin < n) {
            starts[n_ranges++] = begin;
            break;
        }
    }
    return n_ranges;
}

enum { MAX_RANGES = 64 };

static gboolean
work_on_host(Runner *self, CtWork *work, GError **error)
{
    gint64 starts[MAX_RANGES];
    guint order[MAX_RANGES];
    const guint n = divide(self, starts, MAX_RANGES);
    for (guint r = 0; r < n; r++)
        order[r] = r;
    for (guint r = n; self->run->random && r-- > 1;) {
        const guint other = (guint)g_rand_int_range(self->run->random, 0, (gint32)r + 1);
        const guint kept = order[r];
        order[r] = order[other];
        order[other] = kept;
    }
    for (guint r = 0; r < n; r++) {
        work->begin = starts[order[r]];
        work->end = order[r] + 1 < n ? starts[order[r] + 1] : self->node.n_items;
        const gsize bytes = (self->node.prepared.scratch_bytes + 63) & ~(gsize)63;
        work->scratch = ct_guard_place(&self->scratch, bytes, CT_GUARD_END, NULL);
        memset(work->scratch, self->run->poison, bytes);
        if (!work_range(self, work, error))
            return FALSE;
    }
    return TRUE;
}

/* Does the firing on the device, with copies of its blocks. */
static gboolean
work_on_device(Runner *self, CtWork *work, GError **error)
{
    const guint n_in = self->plan.n_inputs, n_out = self->plan.n_outputs;
    g_autofree CtBlock *inputs = g_memdup2(work->inputs, (n_in + 1) * sizeof(CtBlock));
    g_autofree CtBlock *outputs = g_memdup2(work->outputs, (n_out + 1) * sizeof(CtBlock));
    g_autofree CtTestDeviceBlock *marks = g_new0(CtTestDeviceBlock, n_out + 1);
    for (guint i = 0; i < n_in + n_out; i++) {
        Port *port = i < n_in ? &self->inputs[i] : &self->outputs[i - n_in];
        CtBlock *block = i < n_in ? &inputs[i] : &outputs[i - n_in];
        if (!block->data)
            continue;
        if (!ct_test_device_send(&self->device, &port->there, block->data, ct_block_span(block),
                                 error))
            return FALSE;
        block->data = port->there.block;
        if (i < n_in || !self->node.marks)
            continue;
        if (!ct_test_device_send(&self->device, &marks[i - n_in], block->validity,
                                 (gsize)(port->ring.n_lanes * block->validity_stride), error))
            return FALSE;
        block->validity = marks[i - n_in].block;
    }
    const CtWork there = {
        .inputs = inputs,
        .outputs = outputs,
        .end = self->node.n_items,
        .ended = work->ended,
        .scratch = self->device.scratch,
        .counters = self->device.counters,
        .queue = self->device.queue,
    };
    ct_queue_begin(self->device.queue);
    if (!work_range(self, &there, error) || !ct_test_device_wait(&self->device, error))
        return FALSE;
    for (guint i = 0; i < n_in + n_out; i++) {
        Port *port = i < n_in ? &self->inputs[i] : &self->outputs[i - n_in];
        const CtBlock *block = i < n_in ? &work->inputs[i] : &work->outputs[i - n_in];
        const gsize bytes = ct_block_span(block);
        g_autofree guint8 *before = i < n_in ? g_memdup2(block->data, bytes) : NULL;
        if (!block->data)
            continue;
        ct_guard_protect(&port->guard, FALSE);
        if (!ct_test_device_fetch(&self->device, &port->there, block->data, port->guard.what,
                                  error))
            return FALSE;
        if (before && memcmp(before, block->data, bytes) != 0)
            return ct_variant_fault(self->plan.variant, error, "its kernels write to %s",
                                    port->guard.what);
        if (i >= n_in && marks[i - n_in].memory &&
            !ct_test_device_fetch(&self->device, &marks[i - n_in], block->validity, "the validity",
                                  error))
            return FALSE;
    }
    return TRUE;
}

/* Takes over what the firing has made. */
static gboolean
keep_output(Runner *self, guint o, GError **error)
{
    Port *port = &self->outputs[o];
    CtDeparture *departure = &self->node.departures[o];
    const CtBlock *made = &self->node.output_blocks[o];
    CtBlock *result = &self->results[o];
    gssize at;
    if (departure->produced > 0 && (departure->invalid || self->node.marks))
        ct_validity_zero(made, departure, port->link.stream, &port->link.layout);
    if (departure->produced > 0) {
        const CtBlock to =
            ct_block_slice(&port->whole, &port->link.layout, port->position, departure->produced);
        ct_strided_copy(&to, made);
        ct_strided_fill(made, CT_GUARD_MARK);
    }
    if (!ct_guard_is_clean(&port->guard, &at))
        return ct_variant_fault(self->plan.variant, error,
                                "it writes to byte %" G_GSSIZE_FORMAT
                                " of output '%s', which belongs to no element",
                                at, port->declared->name);
    for (gint64 l = 0; result->validity && l < port->ring.n_lanes; l++) {
        guint8 *to = result->validity + l * result->validity_stride + port->position;
        if (departure->invalid || self->node.marks)
            memcpy(to, departure->validity + l * departure->validity_stride,
                   (gsize)departure->produced);
        else
            memset(to, 1, (gsize)departure->produced);
    }
    if (departure->produced > 0 && !port->ring.started) {
        port->ring.started = TRUE;
        port->ring.start = result->start = departure->start;
    }
    port->position += departure->produced;
    port->ring.written = port->position;
    return TRUE;
}

static gboolean
fire(Runner *self, GError **error)
{
    CtRunNode *node = &self->node;
    if (!advance(self, error))
        return FALSE;
    const gboolean any = set_blocks(self);
    node->n_items = any ? ct_firing_count_items(node) : 0;
    CtWork work = {
        .inputs = node->input_blocks,
        .outputs = node->output_blocks,
        .ended = node->is_last,
        .counters = self->counters,
    };
    if (node->n_items > 0 && !(self->run->device ? work_on_device(self, &work, error)
                                                 : work_on_host(self, &work, error)))
        return FALSE;
    for (guint o = 0; o < self->plan.n_outputs; o++)
        if (self->outputs[o].whole.data && !keep_output(self, o, error))
            return FALSE;
    return TRUE;
}

/* Whether the firing has made nothing and used nothing, though all samples were there. */
static gboolean
stands_still(Runner *self)
{
    gboolean still = self->knows_end;
    for (guint i = 0; i < self->plan.n_inputs; i++) {
        Port *port = &self->inputs[i];
        if (!port->whole.data || is_static(port))
            continue;
        still &= port->arrived == port->whole.n_samples && self->node.arrivals[i].consumed == 0;
        port->position += self->node.arrivals[i].consumed;
    }
    for (guint o = 0; o < self->plan.n_outputs; o++)
        still &= self->node.departures[o].produced == 0;
    return still;
}

static gboolean
run_all(gpointer data, GError **error)
{
    Runner *self = data;
    if (!prepare(self, error))
        return FALSE;
    do {
        if (!fire(self, error))
            return FALSE;
        self->n_firings++;
        if (stands_still(self) && !self->node.is_last)
            return ct_variant_fault(self->plan.variant, error,
                                    "it neither goes on nor ends, though all samples are there");
    } while (!self->node.is_last);
    for (guint o = 0; o < self->plan.n_outputs; o++)
        self->results[o].n_samples = self->outputs[o].position;
    for (guint c = 0; c < self->node.n_counters; c++)
        self->counters[c] += self->node.advance_counters[c];
    guint64 there[CT_MAX_COUNTERS] = {0};
    if (self->run->device && !ct_test_device_counters(&self->device, there, error))
        return FALSE;
    for (guint c = 0; c < self->node.n_counters; c++)
        self->counters[c] += there[c];
    return TRUE;
}

static gboolean
finish(gpointer data, G_GNUC_UNUSED GError **error)
{
    Runner *self = data;
    ct_run_node_clear(&self->node);
    return TRUE;
}

static void
clear_port(Port *port)
{
    ct_guard_clear(&port->guard);
    g_array_unref(port->link.readers);
    g_free(port->validity);
}

static void
runner_clear(Runner *self)
{
    for (guint i = 0; i < self->plan.n_inputs; i++)
        clear_port(&self->inputs[i]);
    for (guint o = 0; o < self->plan.n_outputs; o++)
        clear_port(&self->outputs[o]);
    ct_guard_clear(&self->scratch);
    g_free(self->before);
    g_free(self->inputs);
    g_free(self->outputs);
    g_free(self->rings);
    g_free(self->plan.inputs);
    g_free(self->plan.input_bindings);
    g_free(self->plan.outputs);
    g_free(self->plan.output_bindings);
}

gboolean
ct_test_run(const CtTestRun *run, const CtBlock *inputs, CtBlock *outputs, guint64 *counters,
            GError **error)
{
    Runner self = {.run = run, .results = outputs};
    describe_node(&self, inputs);
    gboolean good = ct_guard_call(run_all, &self, error);
    ct_test_device_clear(&self.device);
    g_autoptr(GError) cause = NULL;
    if (!ct_guard_call(finish, &self, &cause) && good) {
        good = ct_variant_fault(run->variant, error, "its finish %s", cause->message);
    }
    if (counters)
        memcpy(counters, self.counters, sizeof self.counters);
    runner_clear(&self);
    return good;
}

static gboolean
compile(gpointer data, GError **error)
{
    Runner *self = data;
    gsize scratch = 0, upload = 0;
    return ct_run_node_init(&self->node, &self->plan, 0, self->rings, &self->options, 1, error) &&
           ct_run_node_prepare(&self->node, self->run->device, &scratch, &upload, error);
}

gboolean
ct_test_compile(const CtTestRun *run, const CtBlock *inputs, CtBlock *outputs, guint architecture,
                GError **error)
{
    g_autoptr(CtDevice) device = ct_device_new_dry(architecture);
    CtTestRun dry = *run;
    Runner self = {.run = &dry, .results = outputs};
    dry.device = device;
    describe_node(&self, inputs);
    const gboolean good = ct_guard_call(compile, &self, error);
    ct_guard_call(finish, &self, NULL);
    runner_clear(&self);
    return good;
}
