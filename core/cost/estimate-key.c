/* SPDX-License-Identifier: BSD-3-Clause */
/* The keys under which the database keeps measurements. */
#include "estimate-private.h"
#include "model/params-private.h"

char *
ct_estimate_stages(const CtVariant *variant)
{
    return g_strjoinv("+", (char **)variant->covers);
}

/* The direction of a copy, interned. */
static const char *
way_of(gint from, gint to)
{
    return g_intern_static_string(from == to        ? ""
                                  : from == CT_HOST ? "to device"
                                  : to == CT_HOST   ? "to host"
                                                    : "to peer");
}

gint
ct_estimate_place(const CtEstimated *what)
{
    return what->from == CT_HOST ? what->to : what->from;
}

/* The length of an axis of a layout, 0 for time. */
static gint64
length_of(const CtStream *stream, const CtLayoutAxis *axis)
{
    if (g_str_equal(axis->name, "complex"))
        return 2;
    return g_str_equal(axis->name, "time") ? 0 : ct_stream_length(stream, axis->name);
}

static void
add_ports(GArray *ports, const CtStream *streams, const CtLayout *layouts, guint n)
{
    for (guint i = 0; i < n; i++) {
        const CtLayout *layout = &layouts[i];
        CtCostPort port = {0};
        if (layout->n_axes > 0)
            port.layout = *layout;
        for (guint a = 0; a < layout->n_axes; a++)
            port.lengths[a] = length_of(&streams[i], &layout->axes[a]);
        g_array_append_val(ports, port);
    }
}

/* ---- parameters ---- */

static void
add_parameter(GArray *values, const char *name, const Entry *entry)
{
    const Cell *cell = &g_array_index(entry->cells, Cell, 0);
    if (entry->param->kind == CT_PARAM_INT)
        ct_named_values_add_number(values, name, cell->integer);
    else if (entry->param->kind == CT_PARAM_BOOL)
        ct_named_values_add_number(values, name, cell->truth);
    else if (entry->param->kind == CT_PARAM_CHOICE)
        ct_named_values_add(values, name, entry->param->choices[cell->choice]);
}

static void
add_node(GArray *values, const CtNode *node, const char *prefix)
{
    const CtFootprint *footprint = &node->footprint;
    if (footprint->kind != CT_FOOTPRINT_OWN && (footprint->window != 1 || footprint->hop != 1)) {
        g_autofree char *window = g_strconcat(prefix, "window", NULL);
        g_autofree char *hop = g_strconcat(prefix, "hop", NULL);
        ct_named_values_add_number(values, window, footprint->window);
        ct_named_values_add_number(values, hop, footprint->hop);
    }
    for (guint i = 0; node->params && i < node->params->n; i++) {
        const Entry *entry = &node->params->entries[i];
        g_autofree char *name = g_strconcat(prefix, entry->param->name, NULL);
        if (entry->has && entry->n_rows == 1 && entry->n_columns == 1)
            add_parameter(values, name, entry);
    }
}

/* The samples of the block in the first streaming input or, without one, in the first output. */
static gint64
block_samples(const CtEstimated *what)
{
    const CtNode *first = &what->nodes[0], *last = &what->nodes[what->n_nodes - 1];
    const CtStream *stream = last->n_outputs > 0 ? &last->outputs[0] : &first->inputs[0];
    for (guint i = first->n_inputs; i-- > 0;) {
        if (ct_node_input_streams(first, i))
            stream = &first->inputs[i];
    }
    return ct_load_block_samples(what->load, stream);
}

/* Other facts that decide the cost: footprints other than sample by sample, parameters that are
 * integers, booleans or choices, a source's block, and the samples held for readers. */
static void
add_parameters(GArray *values, const CtEstimated *what)
{
    for (guint k = 0; k < what->n_nodes; k++) {
        g_autofree char *prefix =
            what->n_nodes > 1 ? g_strconcat(what->nodes[k].stage->name, ".", NULL) : g_strdup("");
        add_node(values, &what->nodes[k], prefix);
    }
    if (what->load->block > 0)
        ct_named_values_add_number(values, "block", block_samples(what));
    if (what->load->held > 0)
        ct_named_values_add_number(values, "held", what->load->held);
}

void
ct_estimate_setting_at(const CtEstimated *what, const char *machine, gint64 n_workers, gint64 aim,
                       CtCostKey *setting)
{
    const CtNode *first = &what->nodes[0], *last = &what->nodes[what->n_nodes - 1];
    g_autofree char *stages = ct_estimate_stages(what->variant);
    *setting = (CtCostKey){
        .stages = g_intern_string(stages),
        .way = way_of(what->from, what->to),
        .n_inputs = first->n_inputs,
        .ports = ct_cost_ports_new(),
        .parameters = ct_named_values_new(),
        .machine = machine,
        .n_workers = n_workers,
        .aim = aim,
    };
    add_ports(setting->ports, first->inputs, what->inputs, first->n_inputs);
    add_ports(setting->ports, last->outputs, what->outputs, last->n_outputs);
    add_parameters(setting->parameters, what);
}
