/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes rows of layouts concrete for the streams of a node.
 *
 * All orders that a row leaves open follow one common order of *places*, the positions of axes, so
 * that the ports agree. Axes that replace one another (station and baseline) share a place. Known
 * layouts and wishes (layouts that the stage derives from its parameters, CtNode.input_layouts)
 * order some of the places; preferences and the canonical order decide the rest. */
#include "layout-private.h"
#include "row.h"

#include <string.h>

/* The most axis names over all ports of a node; a place is a bit of a guint64. */
enum { MAX_NAMES = 64 };

typedef struct {
    const char *name;
    guint place;
    guint rank;       /* order of axes that share a place: 0 the output's, 1 the input's */
    gboolean is_made; /* only outputs have it */
    gboolean is_paired;
} Name;

typedef struct {
    guint n; /* number of names, and of places: at first each name has its own place */
    Name names[MAX_NAMES];
    guint64 before[MAX_NAMES]; /* places that must come before this one */
    guint64 ordered;           /* places that `before` orders */
    guint position[MAX_NAMES]; /* of each place, set by order_solve */
} Order;

/* Whether the port is connected and has a pattern. */
static gboolean
is_connected(const CtRowPort *port)
{
    return port->stream && port->stream->type != CT_TYPE_NONE && !port->is_prepared;
}

static guint
n_ports(const CtRowPorts *ports)
{
    return ports->n_inputs + ports->n_outputs;
}

static gboolean
is_input(const CtRowPorts *ports, guint p)
{
    return p < ports->n_inputs;
}

static const CtLayout *
pattern_of(const CtRowPatterns *row, const CtRowPorts *ports, guint p)
{
    if (is_input(ports, p))
        return &row->inputs[row->n_inputs == 1 ? 0 : p];
    return &row->outputs[p - ports->n_inputs];
}

static gboolean
has_wish(const CtRowPort *port)
{
    return port->wish && (port->wish->n_axes > 0 || port->wish->types);
}

static Name *
find_name(Order *order, const char *name)
{
    for (guint i = 0; i < order->n; i++)
        if (order->names[i].name == name)
            return &order->names[i];
    return NULL;
}

static gboolean
add_name(Order *order, const char *name, gboolean is_made)
{
    if (find_name(order, name))
        return TRUE;
    if (order->n == MAX_NAMES)
        return FALSE;
    order->names[order->n] = (Name){.name = name, .place = order->n, .is_made = is_made};
    order->n++;
    return TRUE;
}

/* The axis without the prime of a primed name: "pol" of "pol'"; NULL if there is none. */
static Name *
base_of(Order *order, const char *name)
{
    const gsize length = strlen(name);
    if (length < 2 || name[length - 1] != '\'')
        return NULL;
    g_autofree char *base = g_strndup(name, length - 1);
    return find_name(order, ct_axis_name(base));
}

/* The kind of an axis, 0 for none. An axis replaces one of its own kind before others. */
static guint
kind_of(const char *name)
{
    static const struct {
        const char *name;
        guint kind;
    } kinds[] = {
        {"channel", 1},  {"phase", 1},   {"tap", 1}, {"beam", 2},
        {"baseline", 2}, {"station", 2}, {"pol", 3}, {"stokes", 3},
    };
    for (guint i = 0; i < G_N_ELEMENTS(kinds); i++)
        if (strcmp(kinds[i].name, name) == 0)
            return kinds[i].kind;
    return 0;
}

/* Gives axes that only `output` has the places of axes that only `input` has. If `alike`, only axes
 * of one kind are paired. */
static void
pair_axes(Order *order, const CtStream *input, const CtStream *output, gboolean alike)
{
    for (guint m = 0; m < output->n_axes; m++) {
        Name *made = find_name(order, output->axes[m].name);
        if (made->is_paired || ct_stream_axis(input, made->name) >= 0 || base_of(order, made->name))
            continue;
        for (guint c = 0; c < input->n_axes && !made->is_paired; c++) {
            Name *consumed = find_name(order, input->axes[c].name);
            if (consumed->is_paired || ct_stream_axis(output, consumed->name) >= 0)
                continue;
            if (alike && (!kind_of(made->name) || kind_of(made->name) != kind_of(consumed->name)))
                continue;
            made->place = consumed->place;
            consumed->rank = 1;
            made->is_paired = consumed->is_paired = TRUE;
        }
    }
}

static gboolean
order_begin(Order *order, const CtRowPatterns *row, const CtRowPorts *ports, GError **error)
{
    *order = (Order){0};
    const CtStream *first = NULL;
    gboolean fits = TRUE;
    for (guint p = 0; p < n_ports(ports); p++) {
        const CtStream *stream = ports->ports[p].stream;
        if (!is_connected(&ports->ports[p]))
            continue;
        if (is_input(ports, p) && !first)
            first = stream;
        for (guint a = 0; a < stream->n_axes; a++)
            fits = fits && add_name(order, stream->axes[a].name, !is_input(ports, p));
        if (ct_layout_axis(pattern_of(row, ports, p), "complex") >= 0 ||
            (has_wish(&ports->ports[p]) && ct_layout_axis(ports->ports[p].wish, "complex") >= 0))
            fits = fits && add_name(order, ct_axis_name("complex"), !is_input(ports, p));
    }
    if (!fits) {
        g_set_error(error, CT_ERROR, CT_ERROR_LAYOUT,
                    "a node's ports have %d different axes at most", MAX_NAMES);
        return FALSE;
    }
    for (gint alike = TRUE; first && alike >= FALSE; alike--)
        for (guint p = ports->n_inputs; p < n_ports(ports); p++)
            if (is_connected(&ports->ports[p]))
                pair_axes(order, first, ports->ports[p].stream, alike);
    return TRUE;
}

/* Whether the pattern leaves the place of the axis open: all axes between `{ }`, or those under
 * `...`. */
static gboolean
is_open(const CtLayout *pattern, const char *name)
{
    return pattern->any_order || pattern->n_axes == 0 || ct_layout_axis(pattern, name) < 0;
}

/* Orders `a` before `b`. */
static void
order_pair(Order *order, const char *a, const char *b)
{
    const guint x = find_name(order, a)->place, y = find_name(order, b)->place;
    if (x == y)
        return;
    order->before[y] |= G_GUINT64_CONSTANT(1) << x;
    order->ordered |= G_GUINT64_CONSTANT(1) << x | G_GUINT64_CONSTANT(1) << y;
}

/* Orders the open axes of a port as in `layout`, its known layout or its wish. */
static void
order_like(Order *order, const CtLayout *pattern, const CtStream *stream, const CtLayout *layout)
{
    if (layout->any_order)
        return;
    const char *seen[2 * CT_MAX_AXES];
    guint n_seen = 0;
    for (guint a = 0; a < layout->n_axes; a++) {
        const CtLayoutAxis *axis = &layout->axes[a];
        const char *group[CT_MAX_AXES];
        guint n_group = 0;
        if (strcmp(axis->name, "...") == 0) {
            for (guint i = 0; i < stream->n_axes; i++)
                if (ct_layout_axis(layout, stream->axes[i].name) < 0)
                    group[n_group++] = stream->axes[i].name;
        } else if (axis->count == 0) {
            group[n_group++] = axis->name;
        }
        const guint n_before = n_seen;
        for (guint g = 0; g < n_group; g++) {
            if (!is_open(pattern, group[g]) || !find_name(order, group[g]))
                continue;
            for (guint s = 0; s < n_before; s++)
                order_pair(order, seen[s], group[g]);
            seen[n_seen++] = group[g];
        }
    }
}

/* Lists the places in order of preference: first as `like` names them; the others come at its
 * `...`, or last. */
static guint
preferred_places(Order *order, const CtLayout *like, guint places[MAX_NAMES])
{
    guint64 named = 0, taken = 0;
    guint n = 0;
    const gboolean is_alike = like && !like->any_order;
    for (guint a = 0; is_alike && a < like->n_axes; a++) {
        const Name *name = find_name(order, like->axes[a].name);
        named |= name ? G_GUINT64_CONSTANT(1) << name->place : 0;
    }
    for (guint a = 0; a <= (is_alike ? like->n_axes : 0); a++) {
        const gboolean is_rest =
            !is_alike || a == like->n_axes || strcmp(like->axes[a].name, "...") == 0;
        for (guint i = 0; i < order->n; i++) {
            const Name *name = &order->names[i];
            const guint64 bit = G_GUINT64_CONSTANT(1) << name->place;
            if (taken & bit || (is_rest ? (named & bit) != 0 : name->name != like->axes[a].name))
                continue;
            taken |= bit;
            places[n++] = name->place;
        }
    }
    return n;
}

/* Whether the axis is a primed one of the outputs that must come directly after its unprimed one:
 * nothing known or preferred orders it otherwise. */
static gboolean
follows_base(Order *order, guint place, const CtLayout *like)
{
    const Name *name = &order->names[place];
    const Name *base = base_of(order, name->name);
    if (!base || !name->is_made || name->place != place || order->ordered >> place & 1)
        return FALSE;
    const gint preferred = like ? ct_layout_axis(like, name->name) : -1;
    return preferred < 0 || (preferred > 0 && like->axes[preferred - 1].name == base->name);
}

static gboolean
order_solve(Order *order, const CtLayout *like)
{
    guint places[MAX_NAMES], sorted[MAX_NAMES], n_sorted = 0;
    const guint n = preferred_places(order, like, places);
    guint64 done = 0, later = 0;
    for (guint i = 0; i < n; i++)
        if (follows_base(order, places[i], like))
            later |= G_GUINT64_CONSTANT(1) << places[i];
    const guint n_first = n - (guint)__builtin_popcountll(later);
    while (n_sorted < n_first) {
        guint i = 0;
        while (i < n && ((done | later) >> places[i] & 1 || order->before[places[i]] & ~done))
            i++;
        if (i == n)
            return FALSE;
        done |= G_GUINT64_CONSTANT(1) << places[i];
        sorted[n_sorted++] = places[i];
    }
    /* Positions leave gaps for the primed axes. */
    for (guint i = 0; i < n_sorted; i++)
        order->position[sorted[i]] = 2 * i;
    for (guint place = 0; place < order->n; place++)
        if (later >> place & 1)
            order->position[place] =
                order->position[base_of(order, order->names[place].name)->place] + 1;
    return TRUE;
}

/* Writes the stream's axes in the solved order, as a layout that ct_layout_resolve can follow. */
static void
order_write(Order *order, const CtLayout *pattern, const CtStream *stream, CtLayout *like)
{
    *like = (CtLayout){0};
    const gboolean with_complex = ct_layout_axis(pattern, "complex") >= 0;
    for (guint a = 0; a < stream->n_axes + with_complex && a < CT_MAX_AXES; a++) {
        const char *axis = a < stream->n_axes ? stream->axes[a].name : ct_axis_name("complex");
        const Name *name = find_name(order, axis);
        guint i = like->n_axes++;
        for (; i > 0; i--) {
            const Name *other = find_name(order, like->axes[i - 1].name);
            const guint mine = order->position[name->place], others = order->position[other->place];
            if (others < mine || (others == mine && other->rank <= name->rank))
                break;
            like->axes[i] = like->axes[i - 1];
        }
        like->axes[i] = (CtLayoutAxis){axis, 0};
    }
}

/* Whether the pattern is the `...` of an "any:" row, which matches all memory. */
static gboolean
is_everything(const CtRowPatterns *row, const CtLayout *pattern)
{
    return row->any && pattern->n_axes == 1 && strcmp(pattern->axes[0].name, "...") == 0;
}

static gboolean
type_fits(const CtLayout *pattern, CtType type)
{
    if (ct_layout_axis(pattern, "complex") >= 0)
        type = ct_type_info(type)->is_complex ? ct_type_info(type)->part : CT_TYPE_NONE;
    return type != CT_TYPE_NONE && (pattern->types == 0 || pattern->types & 1u << type);
}

/* Returns CT_TYPE_NONE if no type serves. */
static CtType
choose_type(const CtLayout *pattern, const CtRowPort *port, gboolean may_convert)
{
    const CtType given = port->stream->type;
    for (CtType type = CT_TYPE_NONE; type < CT_N_TYPES; type++) {
        /* The stream's own type comes first. */
        const CtType candidate = type == CT_TYPE_NONE ? given : type;
        if (candidate != given && !(may_convert && ct_type_is_lossless(given, candidate)))
            continue;
        if (type_fits(pattern, candidate) && (!has_wish(port) || type_fits(port->wish, candidate)))
            return candidate;
    }
    return CT_TYPE_NONE;
}

static gboolean
port_error(const CtRowPorts *ports, guint p, const CtLayout *wanted, const char *given,
           GError **error)
{
    g_autofree char *text = ct_layout_to_string(wanted);
    g_set_error(error, CT_ERROR, CT_ERROR_LAYOUT, "%s '%s' wants %s, but is given %s",
                is_input(ports, p) ? "input" : "output", ports->ports[p].name, text, given);
    return FALSE;
}

static gboolean
layout_error(const CtRowPorts *ports, guint p, const CtLayout *wanted, const CtLayout *given,
             GError **error)
{
    g_autofree char *text = ct_layout_to_string(given);
    return port_error(ports, p, wanted, text, error);
}

/* Converts the known layout to the row's form. It must hold the stream and match the node's
 * wish. */
static gboolean
take_known(const CtRowPatterns *row, const CtRowPorts *ports, guint p, const CtLayout *known,
           CtLayout *form, GError **error)
{
    const CtRowPort *port = &ports->ports[p];
    const CtLayout *pattern = pattern_of(row, ports, p);
    g_return_val_if_fail(ct_layout_is_concrete(known), FALSE);
    if (is_everything(row, pattern) && (!pattern->types || pattern->types & known->types))
        *form = *known;
    else if (!ct_layout_match_form(form, pattern, known))
        return layout_error(ports, p, pattern, known, error);
    if (has_wish(port) && !ct_layout_matches(port->wish, known))
        return layout_error(ports, p, port->wish, known, error);
    if (!ct_layout_accepts(form, port->stream, error)) {
        g_prefix_error(error, "%s '%s': ", is_input(ports, p) ? "input" : "output", port->name);
        return FALSE;
    }
    return TRUE;
}

/* Makes the layout of a port concrete in the solved order. `known` is that port's known layout, or
 * NULL. */
static gboolean
bind_port(Order *order, const CtRowPatterns *row, const CtRowPorts *ports, guint p,
          const CtLayout *known, CtLayout *layout, GError **error)
{
    const CtRowPort *port = &ports->ports[p];
    const CtLayout *pattern = pattern_of(row, ports, p);
    const gboolean is_wished = has_wish(port) && port->wish->n_axes > 0;
    if (known && is_everything(row, pattern)) {
        *layout = *known;
        return TRUE;
    }
    const CtType type =
        known ? ct_layout_type(known) : choose_type(pattern, port, is_input(ports, p));
    if (type == CT_TYPE_NONE)
        return port_error(ports, p, type_fits(pattern, port->stream->type) ? port->wish : pattern,
                          ct_type_info(port->stream->type)->name, error);

    if (is_everything(row, pattern) && is_wished)
        pattern = port->wish;
    CtLayout like;
    order_write(order, pattern, port->stream, &like);
    if (!ct_layout_resolve(layout, pattern, port->stream, type, &like, error)) {
        g_prefix_error(error, "%s '%s': ", is_input(ports, p) ? "input" : "output", port->name);
        return FALSE;
    }
    if (known && !ct_layout_equal(known, layout))
        return layout_error(ports, p, layout, known, error);
    if (has_wish(port) && !ct_layout_matches(port->wish, layout))
        return layout_error(ports, p, port->wish, layout, error);
    return TRUE;
}

/* Adds the order of port `p` that is known or wished. */
static void
order_port(Order *order, const CtRowPatterns *row, const CtRowPorts *ports, guint p,
           const CtLayout *known)
{
    const CtRowPort *port = &ports->ports[p];
    const CtLayout *pattern = pattern_of(row, ports, p);
    if (known)
        order_like(order, pattern, port->stream, known);
    else if (has_wish(port))
        order_like(order, pattern, port->stream, port->wish);
}

gboolean
ct_row_bind(const CtRowPatterns *row, const CtRowPorts *ports, guint known_port,
            const CtLayout *known, const CtLayout *like, CtLayout *layouts, GError **error)
{
    guint n_inputs = ports->n_inputs;
    while (n_inputs > 0 && ports->ports[n_inputs - 1].is_prepared)
        n_inputs--;
    if (row->n_outputs != ports->n_outputs || (row->n_inputs != n_inputs && row->n_inputs != 1)) {
        g_set_error(error, CT_ERROR, CT_ERROR_LAYOUT,
                    "the row has %u inputs and %u outputs, but the node has %u and %u",
                    row->n_inputs, row->n_outputs, n_inputs, ports->n_outputs);
        return FALSE;
    }
    CtLayout form;
    if (known && !take_known(row, ports, known_port, known, &form, error))
        return FALSE;
    Order shared;
    if (!order_begin(&shared, row, ports, error))
        return FALSE;
    Order order = shared;
    for (guint p = 0; p < n_ports(ports); p++)
        if (!row->any && is_connected(&ports->ports[p]))
            order_port(&order, row, ports, p, known && p == known_port ? &form : NULL);

    g_autofree CtLayout *bound = g_new0(CtLayout, n_ports(ports));
    for (guint p = 0; p < n_ports(ports); p++) {
        if (!is_connected(&ports->ports[p]))
            continue;
        const CtLayout *own = known && p == known_port ? &form : NULL;
        if (row->any) {
            order = shared;
            order_port(&order, row, ports, p, own);
        }
        /* A port that is free to choose its order follows the known layout. */
        if (!order_solve(&order, !like && known && row->any ? &form : like)) {
            g_set_error(error, CT_ERROR, CT_ERROR_LAYOUT,
                        "the ports want orders of the axes that contradict one another");
            return FALSE;
        }
        if (!bind_port(&order, row, ports, p, own, &bound[p], error))
            return FALSE;
    }
    for (guint p = n_inputs; p < ports->n_inputs; p++)
        if (ports->ports[p].stream && ports->ports[p].stream->type != CT_TYPE_NONE)
            ct_layout_canonical(&bound[p], ports->ports[p].stream);
    memcpy(layouts, bound, n_ports(ports) * sizeof *bound);
    return TRUE;
}
