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
    CtLayout layout = *to;
    g_autofree char *text = NULL;
    if (g_str_equal(stage->name, ct_bridge_stages[CT_BRIDGE_COPY])) {
        text = g_strdup("{}");
    } else if (g_str_equal(stage->name, ct_bridge_stages[CT_BRIDGE_TRANSPOSE])) {
        if (ct_layout_axis(&layout, "complex") < 0)
            layout.types = 0;
        g_autofree char *wanted = ct_layout_to_string(&layout);
        text = g_strdup_printf("layout: \"%s\"", wanted);
    } else {
        text = g_strdup_printf("type: %s", ct_type_info(ct_layout_stream_type(&layout))->name);
    }
    return ct_value_parse(text, -1, "inserted by the planner", NULL);
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

/* One stage from `from` to `to` by its cheapest variant; HUGE_VAL where it has none for it. */
static void
find_step(CtBridgeStep *step, CtPlanner *planner, CtBridgeKind kind, const CtStream *stream,
          const CtSpot *from, const CtSpot *to)
{
    const gboolean is_copy = kind == CT_BRIDGE_COPY;
    *step = (CtBridgeStep){.to = *to, .price = {.seconds = HUGE_VAL}};
    step->stage = planner->bridges[kind];
    step->place = is_copy && from->place == CT_HOST ? to->place : from->place;
    if (!step->stage)
        return;
    CtStream before = *stream, after = *stream;
    before.type = ct_layout_stream_type(&from->layout);
    after.type = ct_layout_stream_type(&to->layout);
    const CtNode node = {.name = step->stage->name,
                         .stage = step->stage,
                         .n_inputs = 1,
                         .inputs = &before,
                         .n_outputs = 1,
                         .outputs = &after,
                         .footprint = {CT_FOOTPRINT_WINDOW, 1, 1, 0, CT_LANES_ALL}};
    const CtRowPort ports[] = {{"in", &before, NULL}, {"out", &after, &to->layout}};
    const CtRowPorts row_ports = {1, 1, ports};
    ct_load_init(&step->load, &node, 1, &from->layout, &to->layout);

    const GPtrArray *variants = ct_registry_variants(planner->registry, step->stage->name);
    for (guint i = 0; i < variants->len; i++) {
        const CtVariant *variant = g_ptr_array_index(variants, i);
        if (!may_insert(planner, step->stage, variant, step->place))
            continue;
        for (const CtRow *row = variant->rows; row && row->layouts; row++) {
            const CtPriced what = {.variant = variant,
                                   .row = row,
                                   .nodes = &node,
                                   .n_nodes = 1,
                                   .inputs = &from->layout,
                                   .outputs = &to->layout,
                                   .load = &step->load,
                                   .from = from->place,
                                   .to = to->place};
            CtPrice price;
            ct_price_find(planner->prices, &what, &price);
            const CtRowPatterns *patterns = ct_planner_row(planner, variant, row, NULL);
            /* To a copy between places, all layouts are bytes. */
            if (price.seconds >= step->price.seconds || !patterns ||
                (!is_copy && !leads(patterns, &row_ports, &from->layout, &to->layout)))
                continue;
            step->variant = variant;
            step->row = row;
            step->price = price;
            if (is_copy)
                ct_cost_init_copy(&step->cost, from->place, to->place, price.seconds);
            else
                ct_cost_init(&step->cost, &planner->machine, variant, step->place, price.seconds);
        }
    }
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
    /* Of each state, the cheapest way there. */
    gdouble seconds[N_STATES];
    guint n_steps[N_STATES];
    guint before[N_STATES];
    CtBridgeStep steps[N_STATES]; /* the last one */
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

/* Goes on from one state to another where that is cheaper than what leads there. */
static void
go_on(Ways *ways, CtBridgeKind kind, State from, State to)
{
    const guint a = number_of(from), b = number_of(to);
    if (!ways->exists[to.is_turned][to.is_converted])
        return;
    const CtSpot here = spot_of(ways, from), there = spot_of(ways, to);
    CtBridgeStep step;
    find_step(&step, ways->planner, kind, ways->stream, &here, &there);
    if (ways->seconds[a] + step.price.seconds >= ways->seconds[b])
        return;
    ways->seconds[b] = ways->seconds[a] + step.price.seconds;
    ways->n_steps[b] = ways->n_steps[a] + 1;
    ways->before[b] = a;
    ways->steps[b] = step;
}

static void
find_ways(Ways *ways, State end)
{
    for (guint s = 0; s < N_STATES; s++)
        ways->seconds[s] = s == 0 ? 0 : HUGE_VAL;
    for (guint s = 0; s < number_of(end); s++) {
        const State here = state_of(s);
        if (ways->seconds[s] == HUGE_VAL)
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

void
ct_bridge_find(CtBridge *bridge, CtPlanner *planner, const CtStream *stream, const CtSpot *from,
               const CtSpot *to)
{
    *bridge = (CtBridge){0};
    if (ct_spot_same_memory(from, to, stream))
        return;
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

    bridge->seconds = ways.seconds[number_of(end)];
    if (bridge->seconds == HUGE_VAL)
        return;
    bridge->n_steps = ways.n_steps[number_of(end)];
    guint at = number_of(end);
    for (guint s = bridge->n_steps; s-- > 0; at = ways.before[at])
        bridge->steps[s] = ways.steps[at];
}
