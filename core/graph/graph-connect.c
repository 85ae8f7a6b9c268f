/* SPDX-License-Identifier: BSD-3-Clause */
/* The links of a graph: connecting ports, ordering nodes. */
#include "graph-private.h"
#include "model/suggest.h"

guint
ct_ports_count(const CtPort *ports)
{
    guint n = 0;
    while (ports && ports[n].name)
        n++;
    return n;
}

static char *
hint_ports(const char *given, const CtPort *ports)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (guint i = 0; i < ct_ports_count(ports); i++)
        g_ptr_array_add(names, (gpointer)ports[i].name);
    return ct_suggest_remark(given, (const char *const *)names->pdata, names->len, "it has");
}

/* The index of port `name`; −1 if there is none. */
static gint
find_port(const CtPort *ports, const char *name)
{
    for (guint i = 0; i < ct_ports_count(ports); i++) {
        if (g_str_equal(ports[i].name, name))
            return i;
    }
    return -1;
}

/* The input that `link` names, or the next free one; −1 with an error. */
static gint
choose_input(const CtGraphNode *node, const CtConfigLink *link, guint next, GError **error)
{
    const CtStage *stage = node->node.stage;
    const guint n_ports = ct_ports_count(stage->inputs);
    if (n_ports == 0) {
        ct_graph_error(node, &link->place, CT_ERROR_CONFIG, error,
                       "'%s' is a source and takes no input, but is given '%s'", stage->name,
                       link->node);
        return -1;
    }
    const gboolean is_many = stage->inputs[0].flags & CT_PORT_MANY;
    if (link->port && (!is_many || !g_str_equal(link->port, stage->inputs[0].name))) {
        const gint port = find_port(stage->inputs, link->port);
        if (port < 0) {
            g_autofree char *hint = hint_ports(link->port, stage->inputs);
            ct_graph_error(node, &link->place, CT_ERROR_CONFIG, error,
                           "'%s' has no input port '%s'%s", stage->name, link->port, hint);
        }
        return port;
    }
    if (is_many)
        return next;
    while (next < n_ports && node->from[next].node >= 0)
        next++;
    if (next == n_ports) {
        ct_graph_error(node, &link->place, CT_ERROR_CONFIG, error,
                       "'%s' wants at most %u input%s, but is given %u", stage->name, n_ports,
                       n_ports == 1 ? "" : "s", node->config->links->len);
        return -1;
    }
    return next;
}

/* Finds the output that `link` names. The nodes are still in the order of the configuration. */
static gboolean
find_output(CtGraphFrom *from, const CtGraphNode *node, const CtConfigLink *link,
            const GPtrArray *nodes, GError **error)
{
    for (guint i = 0; i < nodes->len; i++) {
        const CtGraphNode *other = g_ptr_array_index(nodes, i);
        if (!g_str_equal(other->config->name, link->node))
            continue;
        const CtStage *stage = other->node.stage;
        if (other->node.n_outputs == 0)
            return ct_graph_error(node, &link->place, CT_ERROR_CONFIG, error,
                                  "node '%s' is a sink ('%s') and has no output", link->node,
                                  stage->name);
        const gint port = link->output ? find_port(stage->outputs, link->output) : 0;
        if (port < 0) {
            g_autofree char *hint = hint_ports(link->output, stage->outputs);
            return ct_graph_error(node, &link->place, CT_ERROR_CONFIG, error,
                                  "node '%s' ('%s') has no output port '%s'%s", link->node,
                                  stage->name, link->output, hint);
        }
        *from = (CtGraphFrom){.node = i, .port = port, .place = link->place};
        return TRUE;
    }
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (guint i = 0; i < nodes->len; i++) {
        const CtGraphNode *other = g_ptr_array_index(nodes, i);
        if (other != node)
            g_ptr_array_add(names, other->config->name);
    }
    g_autofree char *hint =
        ct_suggest_remark(link->node, (const char *const *)names->pdata, names->len, "there is");
    return ct_graph_error(node, &link->place, CT_ERROR_CONFIG, error,
                          "'from' wants a node of this graph, but is given '%s'%s", link->node,
                          hint);
}

void
ct_graph_break(CtGraphNode *node, GError *error, CtErrors *errors)
{
    node->is_broken = TRUE;
    ct_errors_take(errors, error);
}

/* Connects an input to the output that `link` names; `failed` has the names of nodes that are not
 * made. */
static gboolean
connect_link(CtGraphNode *node, const CtConfigLink *link, guint next, const GPtrArray *nodes,
             GHashTable *failed, GError **error)
{
    const gint input = choose_input(node, link, next, error);
    if (input < 0)
        return FALSE;
    if (node->from[input].node >= 0)
        return ct_graph_error(node, &link->place, CT_ERROR_CONFIG, error,
                              "port '%s' is connected twice", link->port);
    if (!g_hash_table_contains(failed, link->node))
        return find_output(&node->from[input], node, link, nodes, error);
    node->is_broken = TRUE;
    return TRUE;
}

/* Whether all inputs that the stage wants are connected. */
static gboolean
check_connected(const CtGraphNode *node, GError **error)
{
    const CtPort *ports = node->node.stage->inputs;
    const guint n_links = node->config->links->len;
    if (ct_ports_count(ports) && ports[0].flags & CT_PORT_MANY) {
        if (n_links == 0 && !(ports[0].flags & CT_PORT_OPTIONAL))
            return ct_graph_error(node, NULL, CT_ERROR_CONFIG, error,
                                  "port '%s' wants at least one input, but nothing is connected "
                                  "to it: say `from: [NODE, …]`",
                                  ports[0].name);
        return TRUE;
    }
    guint n_wanted = 0;
    for (guint i = 0; i < node->node.n_inputs; i++)
        n_wanted += !(ports[i].flags & CT_PORT_OPTIONAL);
    for (guint i = 0; i < node->node.n_inputs; i++) {
        if (node->from[i].node < 0 && !(ports[i].flags & CT_PORT_OPTIONAL))
            return ct_graph_error(node, NULL, CT_ERROR_CONFIG, error,
                                  i == 0 && n_wanted == 1 && n_links == 0
                                      ? "port '%s' wants an input, but nothing is connected to "
                                        "it: say `from: NODE`"
                                      : "port '%s' wants an input, but nothing is connected to "
                                        "it: say `from: {%s: NODE, …}`",
                                  ports[i].name, ports[i].name);
    }
    return TRUE;
}

void
ct_graph_connect(CtGraphNode *node, const GPtrArray *nodes, GHashTable *failed, CtErrors *errors)
{
    const GArray *links = node->config->links;
    const gboolean is_many =
        node->node.n_inputs > 0 && ct_node_input_port(&node->node, 0)->flags & CT_PORT_MANY;
    /* Links that name their port go first; the others take the remaining ports. */
    for (guint pass = 0; pass < 2; pass++)
        for (guint i = 0; i < links->len; i++) {
            const CtConfigLink *link = &g_array_index(links, CtConfigLink, i);
            if (is_many ? pass == 1 : (link->port == NULL) != (pass == 1))
                continue;
            GError *error = NULL;
            if (!connect_link(node, link, is_many ? i : 0, nodes, failed, &error))
                ct_graph_break(node, error, errors);
        }
    GError *error = NULL;
    if (!node->is_broken && !check_connected(node, &error))
        ct_graph_break(node, error, errors);
}

/* Reports "cycle: a -> b -> a". Each node that could not be ordered waits for another such node. */
static gboolean
report_cycle(const GPtrArray *nodes, const gint *place_of, GError **error)
{
    g_autofree gint *seen_at = g_new(gint, nodes->len);
    for (guint i = 0; i < nodes->len; i++)
        seen_at[i] = -1;
    guint at = 0;
    while (place_of[at] >= 0)
        at++;
    g_autoptr(GArray) path = g_array_new(FALSE, FALSE, sizeof(guint));
    while (seen_at[at] < 0) {
        seen_at[at] = path->len;
        g_array_append_val(path, at);
        const CtGraphNode *node = g_ptr_array_index(nodes, at);
        for (guint i = 0; i < node->node.n_inputs; i++) {
            if (node->from[i].node >= 0 && place_of[node->from[i].node] < 0) {
                at = node->from[i].node;
                break;
            }
        }
    }
    /* The path goes against the flow. The report begins at the node that is first in the file. */
    const guint first = seen_at[at], length = path->len - first;
    guint begin = 0;
    for (guint i = 0; i < length; i++) {
        if (g_array_index(path, guint, first + i) < g_array_index(path, guint, first + begin))
            begin = i;
    }
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint i = 0; i <= length; i++) {
        const guint step = (begin + length - i % length) % length;
        const CtGraphNode *node =
            g_ptr_array_index(nodes, g_array_index(path, guint, first + step));
        g_string_append_printf(text, "%s%s", i ? " -> " : "", node->config->name);
    }
    return ct_graph_error(g_ptr_array_index(nodes, g_array_index(path, guint, first + begin)), NULL,
                          CT_ERROR_CONFIG, error, "wants its own output as input, a cycle: %s",
                          text->str);
}

gboolean
ct_graph_order(GPtrArray *nodes, GError **error)
{
    g_autofree gint *place_of = g_new(gint, nodes->len + 1);
    g_autofree gpointer *sorted = g_new(gpointer, nodes->len + 1);
    for (guint i = 0; i < nodes->len; i++)
        place_of[i] = -1;
    for (guint n = 0; n < nodes->len; n++) {
        gint next = -1;
        for (guint i = 0; i < nodes->len && next < 0; i++) {
            if (place_of[i] >= 0)
                continue;
            const CtGraphNode *node = g_ptr_array_index(nodes, i);
            gboolean ready = TRUE;
            for (guint k = 0; k < node->node.n_inputs; k++)
                ready &= node->from[k].node < 0 || place_of[node->from[k].node] >= 0;
            if (ready)
                next = i;
        }
        if (next < 0)
            return report_cycle(nodes, place_of, error);
        place_of[next] = n;
        sorted[n] = g_ptr_array_index(nodes, next);
    }
    for (guint i = 0; i < nodes->len; i++) {
        CtGraphNode *node = sorted[i];
        nodes->pdata[i] = node;
        for (guint k = 0; k < node->node.n_inputs; k++) {
            if (node->from[k].node >= 0)
                node->from[k].node = place_of[node->from[k].node];
        }
    }
    return TRUE;
}
