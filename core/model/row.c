/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of layouts: parsing, and checking them against the ports of a stage. */
#include "row.h"

#include "layout-private.h"

#include <string.h>

/* Parses the layouts of one side, text[begin … end), separated by commas. */
static gboolean
parse_side(const char *text, gsize begin, gsize end, CtLayout *layouts, guint *n, GError **error)
{
    *n = 0;
    if (strspn(text + begin, " \t") >= end - begin)
        return TRUE;
    while (begin <= end) {
        /* A comma between brackets does not separate layouts; the layout's parser reports it. */
        gsize stop = begin;
        for (gint depth = 0; stop < end && (depth > 0 || text[stop] != ','); stop++)
            depth +=
                (text[stop] == '[' || text[stop] == '{') - (text[stop] == ']' || text[stop] == '}');
        if (*n == CT_MAX_ROW_PORTS)
            return ct_layout_error_at(error, text, begin, "a row has %d ports on a side at most",
                                      CT_MAX_ROW_PORTS);
        if (!ct_layout_parse_part(&layouts[(*n)++], text, begin, stop, error))
            return FALSE;
        begin = stop + 1;
    }
    return TRUE;
}

gboolean
ct_row_parse(CtRowPatterns *row, const char *text, GError **error)
{
    CtRowPatterns parsed = {0};
    gsize begin = strspn(text, " \t");
    parsed.any = g_str_has_prefix(text + begin, "any:");
    if (parsed.any)
        begin += strlen("any:");

    const char *arrow = strstr(text + begin, "->");
    if (!arrow)
        return ct_layout_error_at(error, text, strlen(text),
                                  "wants '->' between the inputs and the outputs");
    const char *second = strstr(arrow + 2, "->");
    if (second)
        return ct_layout_error_at(error, text, second - text, "'->' may stand once only");
    if (!parse_side(text, begin, arrow - text, parsed.inputs, &parsed.n_inputs, error) ||
        !parse_side(text, arrow + 2 - text, strlen(text), parsed.outputs, &parsed.n_outputs, error))
        return FALSE;
    if (parsed.n_inputs + parsed.n_outputs == 0)
        return ct_layout_error_at(error, text, arrow - text,
                                  "wants a layout on one side of '->' at least");
    *row = parsed;
    return TRUE;
}

/* The types of streams that a pattern can hold. A pattern with an axis `complex` holds complex
 * types. */
static guint32
stream_types(const CtLayout *pattern)
{
    const guint32 all = (1u << CT_N_TYPES) - 2;
    const guint32 elements = pattern->types ? pattern->types : all;
    if (ct_layout_axis(pattern, "complex") < 0)
        return elements;
    guint32 types = 0;
    for (CtType type = 1; type < CT_N_TYPES; type++)
        if (ct_type_info(type)->is_complex && elements & 1u << ct_type_info(type)->part)
            types |= 1u << type;
    return types;
}

/* The first axis that `a` names and `b` has no place for; NULL if there is none. */
static const char *
axis_without_place(const CtLayout *a, const CtLayout *b)
{
    if (ct_layout_axis(b, "...") >= 0)
        return NULL;
    for (guint i = 0; i < a->n_axes; i++) {
        const char *name = a->axes[i].name;
        if (strcmp(name, "...") != 0 && strcmp(name, "complex") != 0 && ct_layout_axis(b, name) < 0)
            return name;
    }
    return NULL;
}

static gboolean
check_side(const CtLayout *patterns, guint n, const CtPort *ports, const char *side, GError **error)
{
    guint n_ports = 0;
    while (ports && ports[n_ports].name && !(ports[n_ports].flags & CT_PORT_PREPARED))
        n_ports++;
    if (n != n_ports) {
        g_set_error(error, CT_ERROR, CT_ERROR_LAYOUT,
                    "wants a layout for each of %u %s ports, but is given %u", n_ports, side, n);
        return FALSE;
    }
    for (guint p = 0; p < n; p++) {
        CtLayout declared;
        if (!ports[p].layout || !*ports[p].layout)
            continue;
        if (!ct_layout_parse(&declared, ports[p].layout, error)) {
            g_prefix_error(error, "%s '%s': ", side, ports[p].name);
            return FALSE;
        }
        g_autofree char *given = ct_layout_to_string(&patterns[p]);
        if (!(stream_types(&declared) & stream_types(&patterns[p]))) {
            g_set_error(error, CT_ERROR, CT_ERROR_LAYOUT,
                        "%s '%s' wants types of %s, but is given %s", side, ports[p].name,
                        ports[p].layout, given);
            return FALSE;
        }
        const char *axis = axis_without_place(&declared, &patterns[p]);
        if (!axis)
            axis = axis_without_place(&patterns[p], &declared);
        if (axis) {
            g_set_error(error, CT_ERROR, CT_ERROR_LAYOUT,
                        "%s '%s' is %s, which never meets %s: only one has a place for '%s'", side,
                        ports[p].name, ports[p].layout, given, axis);
            return FALSE;
        }
    }
    return TRUE;
}

gboolean
ct_row_check(const CtRowPatterns *row, const CtPort *inputs, const CtPort *outputs, GError **error)
{
    return check_side(row->inputs, row->n_inputs, inputs, "input", error) &&
           check_side(row->outputs, row->n_outputs, outputs, "output", error);
}
