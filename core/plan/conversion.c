/* SPDX-License-Identifier: BSD-3-Clause */
/* Conversions between different layouts or places: a transpose, a conversion of the type, and
 * copies, in the order that costs least. */
#include "conversion.h"

#include "placement.h"
#include "planner-firings.h"
#include "planner-variants.h"
#include "planner.h"

#include <math.h>

CtValue *
ct_conversion_params(const CtStage *stage, const CtLayout *to)
{
    const CtPlace place = {g_intern_static_string("inserted by the planner"), 0, 0};
    CtValue *values = ct_value_new(CT_VALUE_MAPPING, place);
    CtLayout layout = *to;
    g_autofree char *text = NULL;
    const char *name = NULL;
    if (g_str_equal(stage->name, ct_inserted_stages[CT_INSERTED_TRANSPOSE])) {
        if (ct_layout_axis(&layout, "complex") < 0)
            layout.types = 0;
        name = "layout";
        text = ct_layout_to_string(&layout);
    } else if (g_str_equal(stage->name, ct_inserted_stages[CT_INSERTED_CONVERT])) {
        name = "type";
        text = g_strdup(ct_type_info(ct_layout_stream_type(&layout))->name);
    }
    if (name)
        ct_value_set(values, name, ct_value_new_text(&place, text));
    return values;
}

/* The layout for another type of the stream; FALSE where the layout has real and imaginary parts
 * apart and the type has no parts. */
static gboolean
with_type(CtLayout *other, const CtLayout *layout, CtType type)
{
    const CtType element = ct_layout_axis(layout, "complex") >= 0 ? ct_type_info(type)->part : type;
    *other = *layout;
    other->types = 1u << element;
    return element != CT_TYPE_NONE;
}

/* Whether a pattern takes all orders: a quick test before ct_row_bind, which is slow. */
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

/* Whether a variant may be inserted at a place. On the host only variants of the common backend
 * may, if the stage has such variants. */
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

/* The most ways from one placement to another that are kept, none of which costs at least as much
 * as another on every resource. */
enum { MAX_WAYS = 6 };

/* Finds the steps of one stage from `from` to `to`, one for each variant and row, without those
 * that cost at least as much as another on every resource; returns their number. */
static guint
find_steps(CtConversionStep steps[MAX_WAYS], CtPlanner *planner, CtInsertedKind kind,
           const CtStream *stream, const CtPlacement *from, const CtPlacement *to)
{
    const gboolean is_copy = kind == CT_INSERTED_COPY;
    CtConversionStep step = {.stage = planner->inserted[kind],
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
            const CtEstimated what = {.variant = step.variant,
                                      .row = step.row,
                                      .nodes = &node,
                                      .n_nodes = 1,
                                      .inputs = &from->layout,
                                      .outputs = &to->layout,
                                      .load = &step.load,
                                      .from = from->place,
                                      .to = to->place};
            const CtRowPatterns *patterns = ct_planner_row(planner, step.row);
            /* A copy between places takes all layouts. */
            if (!is_copy && !leads(patterns, &row_ports, &from->layout, &to->layout))
                continue;
            ct_estimate_find(planner->estimates, &what, &step.estimate);
            if (step.estimate.seconds == HUGE_VAL)
                continue;
            if (is_copy)
                ct_cost_init_copy(&step.cost, &planner->machine, from->place, to->place,
                                  step.estimate.seconds);
            else
                ct_cost_init(&step.cost, &planner->machine, step.variant, step.place,
                             step.estimate.seconds);
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

/* The steps that are done. */
typedef struct {
    guint at; /* index in `places` */
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
    GArray *conversions[N_STATES]; /* of CtConversion: the ways to this state, none of which costs
                                      at least as much as another on every resource; NULL: none */
} Ways;

/* The number of a state. Each step leads to a larger one. */
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

static CtPlacement
placement_of(const Ways *ways, State state)
{
    return (CtPlacement){ways->layouts[state.is_turned][state.is_converted],
                         ways->places[state.at]};
}

/* Keeps the conversion, unless an earlier one costs at most as much on every resource; drops those
 * that then cost at least as much as it does. */
static void
keep_conversion(Ways *ways, guint state, const CtConversion *conversion)
{
    if (!ways->conversions[state])
        ways->conversions[state] = g_array_new(FALSE, FALSE, sizeof(CtConversion));
    GArray *conversions = ways->conversions[state];
    for (guint i = 0; i < conversions->len; i++) {
        if (ct_cost_within(&g_array_index(conversions, CtConversion, i).cost, &conversion->cost))
            return;
    }
    for (guint i = conversions->len; i-- > 0;) {
        if (ct_cost_within(&conversion->cost, &g_array_index(conversions, CtConversion, i).cost))
            g_array_remove_index(conversions, i);
    }
    if (conversions->len < MAX_WAYS)
        g_array_append_vals(conversions, conversion, 1);
}

/* Adds one step, from one state to another, to all ways that lead to the first. */
static void
go_on(Ways *ways, CtInsertedKind kind, State from, State to)
{
    const guint a = number_of(from), b = number_of(to);
    if (!ways->exists[to.is_turned][to.is_converted])
        return;
    const CtPlacement here = placement_of(ways, from), there = placement_of(ways, to);
    CtConversionStep steps[MAX_WAYS];
    const guint n_steps = find_steps(steps, ways->planner, kind, ways->stream, &here, &there);
    for (guint i = 0; i < ways->conversions[a]->len; i++) {
        for (guint s = 0; s < n_steps; s++) {
            CtConversion conversion = g_array_index(ways->conversions[a], CtConversion, i);
            conversion.steps[conversion.n_steps++] = steps[s];
            ct_cost_add(&conversion.cost, &steps[s].cost);
            keep_conversion(ways, b, &conversion);
        }
    }
}

static void
find_ways(Ways *ways, State end)
{
    const CtConversion none = {0};
    keep_conversion(ways, 0, &none);
    for (guint s = 0; s < number_of(end); s++) {
        const State here = state_of(s);
        if (!ways->conversions[s])
            continue;
        if (end.is_converted && !here.is_converted)
            go_on(ways, CT_INSERTED_CONVERT, here, (State){here.at, here.is_turned, TRUE});
        if (end.is_turned && !here.is_turned)
            go_on(ways, CT_INSERTED_TRANSPOSE, here, (State){here.at, TRUE, here.is_converted});
        if (here.at < end.at)
            go_on(ways, CT_INSERTED_COPY, here,
                  (State){here.at + 1, here.is_turned, here.is_converted});
    }
}

/* Sets the places on the way, which leads over the host between devices that are not peers. */
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
ct_conversions_new(CtPlanner *planner, const CtStream *stream, const CtPlacement *from,
                   const CtPlacement *to)
{
    GArray *conversions = g_array_new(FALSE, FALSE, sizeof(CtConversion));
    if (ct_placement_same_memory(from, to, stream)) {
        const CtConversion none = {0};
        return g_array_append_val(conversions, none);
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
    const GArray *found = ways.conversions[number_of(end)];
    if (found)
        g_array_append_vals(conversions, found->data, found->len);
    for (guint s = 0; s < N_STATES; s++) {
        if (ways.conversions[s])
            g_array_unref(ways.conversions[s]);
    }
    return conversions;
}
