/* SPDX-License-Identifier: BSD-3-Clause */
/* What must stand between a writer and a reader of different layouts, or at different places: a
 * transpose, a conversion, copies, in the order that costs least. */
#include "planner.h"

#include <math.h>

CtType
ct_layout_stream_type(const CtLayout *layout)
{
    const CtType element = ct_layout_type(layout);
    if (ct_layout_axis(layout, "complex") < 0)
        return element;
    for (CtType type = CT_TYPE_NONE + 1; type < CT_N_TYPES; type++) {
        if (ct_type_info(type)->is_complex && ct_type_info(type)->part == element)
            return type;
    }
    return element;
}

/* The layout in the one form that all of its memory have: an innermost `complex` belongs to the
 * type, and axes of length 1 are nowhere. */
static CtLayout
memory_form(const CtLayout *layout, const CtStream *stream)
{
    CtLayout form = {.types = layout->types};
    for (guint a = 0; a < layout->n_axes; a++) {
        const CtLayoutAxis *axis = &layout->axes[a];
        const gboolean is_last = a + 1 == layout->n_axes;
        if (g_str_equal(axis->name, "complex") && is_last) {
            form.types = 1u << ct_layout_stream_type(layout);
            continue;
        }
        if (axis->count == 0 && !g_str_equal(axis->name, "time") &&
            ct_stream_axis(stream, axis->name) >= 0 && ct_stream_length(stream, axis->name) == 1 &&
            ct_layout_block_axis(layout, axis->name) < 0)
            continue;
        form.axes[form.n_axes++] = *axis;
    }
    return form;
}

gboolean
ct_layout_same_memory(const CtLayout *a, const CtLayout *b, const CtStream *stream)
{
    if (ct_layout_equal(a, b))
        return TRUE;
    const CtLayout x = memory_form(a, stream), y = memory_form(b, stream);
    return ct_layout_equal(&x, &y);
}

gboolean
ct_spot_same_memory(const CtSpot *a, const CtSpot *b, const CtStream *stream)
{
    return a->place == b->place && ct_layout_same_memory(&a->layout, &b->layout, stream);
}

const char *const ct_bridge_stages[CT_N_BRIDGES] = {"transpose", "convert", "copy"};

CtValue *
ct_bridge_values(const CtStage *stage, const CtLayout *to)
{
    const CtPlace place = {g_intern_static_string("inserted by the planner"), 0, 0};
    CtValue *values = ct_value_new_mapping(&place);
    CtLayout layout = *to;
    g_autofree char *text = NULL;
    const char *name = NULL;
    if (g_str_equal(stage->name, ct_bridge_stages[CT_BRIDGE_TRANSPOSE])) {
        if (ct_layout_axis(&layout, "complex") < 0)
            layout.types = 0;
        name = "layout";
        text = ct_layout_to_string(&layout);
    } else if (g_str_equal(stage->name, ct_bridge_stages[CT_BRIDGE_CONVERT])) {
        name = "type";
        text = g_strdup(ct_type_info(ct_layout_stream_type(&layout))->name);
    }
    if (name)
        ct_value_set(values, name, ct_value_new_text(&place, text));
    return values;
}

/* The layout with elements of another type of stream; FALSE where parts would have to stand apart
 * and cannot. */
static gboolean
with_type(CtLayout *other, const CtLayout *layout, CtType type)
{
    const CtType element = ct_layout_axis(layout, "complex") >= 0 ? ct_type_info(type)->part : type;
    *other = *layout;
    other->types = 1u << element;
    return element != CT_TYPE_NONE;
}

/* Whether a pattern takes all orders; ct_row_bind would tell, but takes its time. */
static gboolean
takes_all(const CtRowPatterns *row, const CtLayout *pattern, const CtLayout *layout)
{
    return row->any && pattern->n_axes == 1 && g_str_equal(pattern->axes[0].name, "...") &&
           (!pattern->types || pattern->types & layout->types);
}

static gboolean
leads(const CtRowPatterns *row, const CtRowPorts *ports, const CtLayout *from, const CtLayout *to)
{
    if (row->n_inputs != 1 || row->n_outputs != 1)
        return FALSE;
    if (takes_all(row, &row->inputs[0], from) && takes_all(row, &row->outputs[0], to))
        return TRUE;
    CtLayout bound[2];
    return ct_row_bind(row, ports, 0, from, NULL, bound, NULL) &&
           ct_layout_equal(&bound[0], from) && ct_layout_equal(&bound[1], to);
}

/* Whether a variant may be inserted at a place: on the host those of the backend for all, where the
 * stage knows it. */
static gboolean
may_insert(const CtPlanner *planner, const CtStage *stage, const CtVariant *variant, gint place)
{
    const gboolean on_device = variant->backend == CT_CUDA;
    if (variant->covers[1] || on_device != (place != CT_HOST) ||
        !ct_planner_can_run(planner, variant, NULL))
        return FALSE;
    const CtBackend backend = ct_planner_backend(planner);
    if (on_device || variant->backend == backend)
        return TRUE;
    const GPtrArray *variants = ct_registry_variants(planner->registry, stage->name);
    for (guint i = 0; i < variants->len; i++) {
        if (backend != CT_CUDA &&
            ((const CtVariant *)g_ptr_array_index(variants, i))->backend == backend)
            return FALSE;
    }
    return TRUE;
}

/* Ways from somewhere to somewhere that are kept, none within another. */
enum { MAX_WAYS = 6 };

/* One stage from `from` to `to`, by each of its variants that another is not within; returns how
 * many. */
static guint
find_steps(CtBridgeStep steps[MAX_WAYS], CtPlanner *planner, CtBridgeKind kind,
           const CtStream *stream, const CtSpot *from, const CtSpot *to)
{
    const gboolean is_copy = kind == CT_BRIDGE_COPY;
    CtBridgeStep step = {.stage = planner->bridges[kind],
                         .place = is_copy && from->place == CT_HOST ? to->place : from->place,
                         .to = *to};
    if (!step.stage)
        return 0;
    CtStream before = *stream, after = *stream;
    before.type = ct_layout_stream_type(&from->layout);
    after.type = ct_layout_stream_type(&to->layout);
    const CtNode node = {.name = step.stage->name,
                         .stage = step.stage,
                         .n_inputs = 1,
                         .inputs = &before,
                         .n_outputs = 1,
                         .outputs = &after,
                         .footprint = {CT_FOOTPRINT_WINDOW, 1, 1, 0, CT_LANES_ALL}};
    const CtRowPort ports[] = {{"in", &before, NULL}, {"out", &after, &to->layout}};
    const CtRowPorts row_ports = {1, 1, ports};
    ct_load_init(&step.load, &node, 1, &from->layout, &to->layout);
    step.load.block = ct_planner_block(planner, stream, step.place);
    step.load.held = ct_planner_held(planner, stream, to->place);

    guint n = 0;
    const GPtrArray *variants = ct_registry_variants(planner->registry, step.stage->name);
    for (guint i = 0; i < variants->len; i++) {
        step.variant = g_ptr_array_index(variants, i);
        if (!may_insert(planner, step.stage, step.variant, step.place))
            continue;
        for (step.row = step.variant->rows; step.row && step.row->layouts; step.row++) {
            const CtPriced what = {.variant = step.variant,
                                   .row = step.row,
                                   .nodes = &node,
                                   .n_nodes = 1,
                                   .inputs = &from->layout,
                                   .outputs = &to->layout,
                                   .load = &step.load,
                                   .from = from->place,
                                   .to = to->place};
            const CtRowPatterns *patterns = ct_planner_row(planner, step.row);
            /* To a copy between places, all layouts are bytes. */
            if (!is_copy && !leads(patterns, &row_ports, &from->layout, &to->layout))
                continue;
            ct_price_find(planner->prices, &what, &step.price);
            if (step.price.seconds == HUGE_VAL)
                continue;
            if (is_copy)
                ct_cost_init_copy(&step.cost, &planner->machine, from->place, to->place,
                                  step.price.seconds);
            else
                ct_cost_init(&step.cost, &planner->machine, step.variant, step.place,
                             step.price.seconds);
            guint n_kept = 0;
            gboolean is_needed = n < MAX_WAYS;
            for (guint k = 0; k < n && is_needed; k++)
                is_needed = !ct_cost_within(&steps[k].cost, &step.cost);
            for (guint k = 0; k < n && is_needed; k++) {
                if (!ct_cost_within(&step.cost, &steps[k].cost))
                    steps[n_kept++] = steps[k];
            }
            if (is_needed) {
                steps[n_kept++] = step;
                n = n_kept;
            }
        }
    }
    return n;
}

/* ---- all orders of the steps ---- */

enum { N_PLACES = 3, N_STATES = 4 * N_PLACES };

/* What has been done on the way. */
typedef struct {
    guint at; /* which of the places */
    gboolean is_turned;
    gboolean is_converted;
} State;

typedef struct {
    CtPlanner *planner;
    const CtStream *stream;
    guint n_places;
    gint places[N_PLACES];
    CtLayout layouts[2][2]; /* [is_turned][is_converted] */
    gboolean exists[2][2];
    GArray *bridges[N_STATES]; /* of CtBridge: the ways there, none within another; NULL: none */
} Ways;

/* No step leads to a smaller number. */
static guint
number_of(State state)
{
    return 4 * state.at + 2 * (guint)state.is_turned + (guint)state.is_converted;
}

static State
state_of(guint number)
{
    return (State){number / 4, number / 2 % 2, number % 2};
}

static CtSpot
spot_of(const Ways *ways, State state)
{
    return (CtSpot){ways->layouts[state.is_turned][state.is_converted], ways->places[state.at]};
}

/* Keeps it, unless another is within it; of equal ones the first. */
static void
keep_bridge(Ways *ways, guint state, const CtBridge *bridge)
{
    if (!ways->bridges[state])
        ways->bridges[state] = g_array_new(FALSE, FALSE, sizeof(CtBridge));
    GArray *bridges = ways->bridges[state];
    for (guint i = 0; i < bridges->len; i++) {
        if (ct_cost_within(&g_array_index(bridges, CtBridge, i).cost, &bridge->cost))
            return;
    }
    for (guint i = bridges->len; i-- > 0;) {
        if (ct_cost_within(&bridge->cost, &g_array_index(bridges, CtBridge, i).cost))
            g_array_remove_index(bridges, i);
    }
    if (bridges->len < MAX_WAYS)
        g_array_append_vals(bridges, bridge, 1);
}

/* Goes on from one state to another, by all ways to the first. */
static void
go_on(Ways *ways, CtBridgeKind kind, State from, State to)
{
    const guint a = number_of(from), b = number_of(to);
    if (!ways->exists[to.is_turned][to.is_converted])
        return;
    const CtSpot here = spot_of(ways, from), there = spot_of(ways, to);
    CtBridgeStep steps[MAX_WAYS];
    const guint n_steps = find_steps(steps, ways->planner, kind, ways->stream, &here, &there);
    for (guint i = 0; i < ways->bridges[a]->len; i++) {
        for (guint s = 0; s < n_steps; s++) {
            CtBridge bridge = g_array_index(ways->bridges[a], CtBridge, i);
            bridge.steps[bridge.n_steps++] = steps[s];
            ct_cost_add(&bridge.cost, &steps[s].cost);
            keep_bridge(ways, b, &bridge);
        }
    }
}

static void
find_ways(Ways *ways, State end)
{
    const CtBridge none = {0};
    keep_bridge(ways, 0, &none);
    for (guint s = 0; s < number_of(end); s++) {
        const State here = state_of(s);
        if (!ways->bridges[s])
            continue;
        if (end.is_converted && !here.is_converted)
            go_on(ways, CT_BRIDGE_CONVERT, here, (State){here.at, here.is_turned, TRUE});
        if (end.is_turned && !here.is_turned)
            go_on(ways, CT_BRIDGE_TRANSPOSE, here, (State){here.at, TRUE, here.is_converted});
        if (here.at < end.at)
            go_on(ways, CT_BRIDGE_COPY, here,
                  (State){here.at + 1, here.is_turned, here.is_converted});
    }
}

/* The places from one to the other; between devices that are no peers the host is on the way. */
static void
set_places(Ways *ways, gint from, gint to)
{
    const CtMachine *machine = &ways->planner->machine;
    ways->places[ways->n_places++] = from;
    if (from == to)
        return;
    if (from != CT_HOST && to != CT_HOST &&
        !(machine->are_peers && machine->are_peers((guint)from, (guint)to)))
        ways->places[ways->n_places++] = CT_HOST;
    ways->places[ways->n_places++] = to;
}

GArray *
ct_bridges_new(CtPlanner *planner, const CtStream *stream, const CtSpot *from, const CtSpot *to)
{
    GArray *bridges = g_array_new(FALSE, FALSE, sizeof(CtBridge));
    if (ct_spot_same_memory(from, to, stream)) {
        const CtBridge none = {0};
        return g_array_append_val(bridges, none);
    }
    const CtType before = ct_layout_stream_type(&from->layout);
    const CtType after = ct_layout_stream_type(&to->layout);
    Ways ways = {.planner = planner, .stream = stream};
    set_places(&ways, from->place, to->place);
    ways.layouts[FALSE][FALSE] = from->layout;
    ways.layouts[TRUE][TRUE] = to->layout;
    ways.exists[FALSE][FALSE] = ways.exists[TRUE][TRUE] = TRUE;
    ways.exists[FALSE][TRUE] = with_type(&ways.layouts[FALSE][TRUE], &from->layout, after);
    ways.exists[TRUE][FALSE] = with_type(&ways.layouts[TRUE][FALSE], &to->layout, before);
    const gboolean turns = !ways.exists[FALSE][TRUE] ||
                           !ct_layout_same_memory(&ways.layouts[FALSE][TRUE], &to->layout, stream);
    const State end = {ways.n_places - 1, turns, before != after};
    find_ways(&ways, end);
    const GArray *found = ways.bridges[number_of(end)];
    if (found)
        g_array_append_vals(bridges, found->data, found->len);
    for (guint s = 0; s < N_STATES; s++) {
        if (ways.bridges[s])
            g_array_unref(ways.bridges[s]);
    }
    return bridges;
}
