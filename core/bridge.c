/* SPDX-License-Identifier: BSD-3-Clause */
/* What must stand between a writer and a reader of different layouts: a transpose, a conversion, or
 * both, in the order that costs less. */
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

/* One stage from `from` to `to` by its cheapest variant; HUGE_VAL where it has none for it. */
static void
find_step(CtBridgeStep *step, CtPlanner *planner, CtBridgeKind kind, const CtStream *stream,
          const CtLayout *from, const CtLayout *to)
{
    *step = (CtBridgeStep){.to = *to, .seconds = HUGE_VAL};
    step->stage = planner->bridges[kind];
    if (!step->stage)
        return;
    CtStream before = *stream, after = *stream;
    before.type = ct_layout_stream_type(from);
    after.type = ct_layout_stream_type(to);
    const CtNode node = {.name = step->stage->name,
                         .stage = step->stage,
                         .n_inputs = 1,
                         .inputs = &before,
                         .n_outputs = 1,
                         .outputs = &after,
                         .footprint = {CT_FOOTPRINT_WINDOW, 1, 1, 0, CT_LANES_ALL}};
    const CtRowPort ports[] = {{"in", &before, NULL}, {"out", &after, to}};
    const CtRowPorts row_ports = {1, 1, ports};
    ct_load_init(&step->load, &node, 1, from, to);

    const CtBackend backend = ct_planner_backend(planner);
    const GPtrArray *variants = ct_registry_variants(planner->registry, step->stage->name);
    gboolean knows = FALSE;
    for (guint i = 0; i < variants->len; i++)
        knows |= ((const CtVariant *)g_ptr_array_index(variants, i))->backend == backend;
    for (guint i = 0; i < variants->len; i++) {
        const CtVariant *variant = g_ptr_array_index(variants, i);
        if (variant->covers[1] || (knows && variant->backend != backend) ||
            !ct_planner_can_run(planner, variant, NULL))
            continue;
        for (const CtRow *row = variant->rows; row && row->layouts; row++) {
            const gdouble seconds = ct_cost_seconds(&planner->machine, variant, row, &step->load);
            const CtRowPatterns *patterns = ct_planner_row(planner, variant, row, NULL);
            if (seconds >= step->seconds || !patterns || !leads(patterns, &row_ports, from, to))
                continue;
            step->variant = variant;
            step->row = row;
            step->seconds = seconds;
        }
    }
}

/* Takes the way through `middle` where it is cheaper than what `bridge` has. */
static void
try_middle(CtBridge *bridge, CtPlanner *planner, const CtStream *stream, const CtLayout *from,
           const CtLayout *middle, const CtLayout *to, const CtBridgeKind kinds[2])
{
    CtBridge other = {.n_steps = 2};
    find_step(&other.steps[0], planner, kinds[0], stream, from, middle);
    find_step(&other.steps[1], planner, kinds[1], stream, middle, to);
    other.seconds = other.steps[0].seconds + other.steps[1].seconds;
    if (other.seconds < bridge->seconds)
        *bridge = other;
}

void
ct_bridge_find(CtBridge *bridge, CtPlanner *planner, const CtStream *stream, const CtLayout *from,
               const CtLayout *to)
{
    *bridge = (CtBridge){0};
    if (ct_layout_same_memory(from, to, stream))
        return;
    bridge->n_steps = 1;
    const CtType before = ct_layout_stream_type(from), after = ct_layout_stream_type(to);
    CtLayout converted, transposed;
    const gboolean can_first = with_type(&converted, from, after);
    if (before == after) {
        find_step(&bridge->steps[0], planner, CT_BRIDGE_TRANSPOSE, stream, from, to);
        bridge->seconds = bridge->steps[0].seconds;
    } else if (can_first && ct_layout_same_memory(&converted, to, stream)) {
        find_step(&bridge->steps[0], planner, CT_BRIDGE_CONVERT, stream, from, &converted);
        bridge->seconds = bridge->steps[0].seconds;
    } else {
        static const CtBridgeKind convert_first[] = {CT_BRIDGE_CONVERT, CT_BRIDGE_TRANSPOSE};
        static const CtBridgeKind transpose_first[] = {CT_BRIDGE_TRANSPOSE, CT_BRIDGE_CONVERT};
        bridge->seconds = HUGE_VAL;
        if (can_first)
            try_middle(bridge, planner, stream, from, &converted, to, convert_first);
        if (with_type(&transposed, to, before))
            try_middle(bridge, planner, stream, from, &transposed, to, transpose_first);
    }
}
