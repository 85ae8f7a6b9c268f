/* SPDX-License-Identifier: BSD-3-Clause */
/* The key of a measured cost: copies, comparison, and its form in files. */
#include "cost-key.h"

#include <string.h>

void
ct_cost_key_copy(CtCostKey *copy, const CtCostKey *key)
{
    *copy = *key;
    g_array_ref(copy->ports);
    g_array_ref(copy->parameters);
    g_array_ref(copy->tuning);
}

void
ct_cost_key_clear(CtCostKey *key)
{
    g_clear_pointer(&key->ports, g_array_unref);
    g_clear_pointer(&key->parameters, g_array_unref);
    g_clear_pointer(&key->tuning, g_array_unref);
    *key = (CtCostKey){0};
}

GArray *
ct_cost_ports_new(void)
{
    return g_array_new(FALSE, TRUE, sizeof(CtCostPort));
}

GArray *
ct_named_values_new(void)
{
    return g_array_new(FALSE, TRUE, sizeof(CtNamedValue));
}

void
ct_named_values_add(GArray *values, const char *name, const char *text)
{
    CtNamedValue value = {.name = g_intern_string(name)};
    if (!g_ascii_string_to_signed(text, 10, G_MININT64, G_MAXINT64, &value.number, NULL))
        value.word = g_intern_string(text);
    g_array_append_val(values, value);
}

void
ct_named_values_add_number(GArray *values, const char *name, gint64 number)
{
    const CtNamedValue value = {.name = g_intern_string(name), .number = number};
    g_array_append_val(values, value);
}

/* ---- comparison ---- */

static gboolean
equal_ports(const GArray *a, const GArray *b)
{
    for (guint p = 0; a->len == b->len && p < a->len; p++) {
        const CtCostPort *x = &g_array_index(a, CtCostPort, p);
        const CtCostPort *y = &g_array_index(b, CtCostPort, p);
        if (!ct_layout_equal(&x->layout, &y->layout) ||
            memcmp(x->lengths, y->lengths, sizeof x->lengths) != 0)
            return FALSE;
    }
    return a->len == b->len;
}

gboolean
ct_named_values_equal(const GArray *a, const GArray *b)
{
    for (guint i = 0; a->len == b->len && i < a->len; i++) {
        const CtNamedValue *x = &g_array_index(a, CtNamedValue, i);
        const CtNamedValue *y = &g_array_index(b, CtNamedValue, i);
        if (x->name != y->name || x->word != y->word || x->number != y->number)
            return FALSE;
    }
    return a->len == b->len;
}

gboolean
ct_cost_key_equal_setting(gconstpointer a, gconstpointer b)
{
    const CtCostKey *x = a, *y = b;
    return x->stages == y->stages && x->way == y->way && x->machine == y->machine &&
           x->n_workers == y->n_workers && x->aim == y->aim && x->n_inputs == y->n_inputs &&
           equal_ports(x->ports, y->ports) && ct_named_values_equal(x->parameters, y->parameters);
}

gboolean
ct_cost_key_equal_candidate(gconstpointer a, gconstpointer b)
{
    const CtCostKey *x = a, *y = b;
    return x->variant == y->variant && x->row == y->row && x->code == y->code &&
           ct_cost_key_equal_setting(x, y);
}

gboolean
ct_cost_key_equal(gconstpointer a, gconstpointer b)
{
    const CtCostKey *x = a, *y = b;
    return ct_cost_key_equal_candidate(x, y) && ct_named_values_equal(x->tuning, y->tuning);
}

guint
ct_cost_key_hash(gconstpointer data)
{
    const CtCostKey *key = data;
    guint64 hash = g_str_hash(key->stages);
    for (guint p = 0; p < key->ports->len; p++)
        for (guint a = 0; a < CT_MAX_AXES; a++)
            hash = ct_mix(hash, (guint64)g_array_index(key->ports, CtCostPort, p).lengths[a]);
    for (guint i = 0; i < key->parameters->len; i++)
        hash = ct_mix(hash, (guint64)g_array_index(key->parameters, CtNamedValue, i).number);
    return (guint)hash;
}

/* ---- printing ---- */

static void
append_lengths(GString *text, const CtCostPort *port)
{
    for (guint a = 0; a < port->layout.n_axes; a++)
        g_string_append_printf(text, "%s%" G_GINT64_FORMAT, a ? " " : "", port->lengths[a]);
}

static void
append_layout(GString *text, const CtCostPort *port)
{
    g_autofree char *layout = ct_layout_to_string(&port->layout);
    g_string_append(text, layout);
}

static void
append_ports(GString *text, const CtCostKey *key,
             void (*append)(GString *text, const CtCostPort *port))
{
    for (guint p = 0; p < key->ports->len; p++) {
        const CtCostPort *port = &g_array_index(key->ports, CtCostPort, p);
        g_string_append(text, p == key->n_inputs ? " -> " : p > 0 ? ", " : "");
        if (port->layout.n_axes > 0)
            append(text, port);
        else
            g_string_append_c(text, '-');
    }
    g_string_append(text, key->n_inputs == key->ports->len ? " -> " : "");
}

static void
append_values(GString *text, const GArray *values, const char *separator)
{
    for (guint i = 0; i < values->len; i++) {
        const CtNamedValue *value = &g_array_index(values, CtNamedValue, i);
        g_string_append_printf(text, "%s%s=", i ? separator : "", value->name);
        if (value->word)
            g_string_append(text, value->word);
        else
            g_string_append_printf(text, "%" G_GINT64_FORMAT, value->number);
    }
}

char *
ct_cost_key_print(const CtCostKey *key, CtKeyPart part)
{
    GString *text = g_string_new(NULL);
    if (part == CT_KEY_LAYOUTS || part == CT_KEY_LENGTHS)
        append_ports(text, key, part == CT_KEY_LAYOUTS ? append_layout : append_lengths);
    else if (part == CT_KEY_PARAMETERS)
        append_values(text, key->parameters, " ");
    else
        append_values(text, key->tuning, ",");
    return g_string_free(text, FALSE);
}

/* ---- parsing ---- */

static gboolean
parse_port(CtCostPort *port, CtKeyPart part, const char *text)
{
    g_auto(GStrv) words = g_strsplit(text, " ", -1);
    if (part == CT_KEY_LAYOUTS)
        return g_str_equal(text, "-") || ct_layout_parse(&port->layout, text, NULL);
    if (port->layout.n_axes == 0)
        return g_str_equal(text, "-");
    for (guint a = 0; a < port->layout.n_axes && words[a]; a++)
        if (!g_ascii_string_to_signed(words[a], 10, 0, G_MAXINT64, &port->lengths[a], NULL))
            return FALSE;
    return g_strv_length(words) == port->layout.n_axes;
}

static gboolean
parse_ports(CtCostKey *key, CtKeyPart part, const char *text)
{
    const gboolean adds = part == CT_KEY_LAYOUTS;
    g_auto(GStrv) sides = g_strsplit(text, " -> ", -1);
    guint n = 0, n_inputs = 0;
    for (guint s = 0; sides[s]; s++) {
        g_auto(GStrv) ports = g_strsplit(sides[s], ", ", -1);
        n_inputs = s == 1 ? n : n_inputs;
        for (guint i = 0; ports[i]; i++, n++) {
            if (adds)
                g_array_set_size(key->ports, n + 1);
            if (n == key->ports->len ||
                !parse_port(&g_array_index(key->ports, CtCostPort, n), part, ports[i]))
                return FALSE;
        }
    }
    key->n_inputs = adds ? n_inputs : key->n_inputs;
    return g_strv_length(sides) == 2 && n == key->ports->len && n_inputs == key->n_inputs;
}

static gboolean
parse_values(GArray *values, const char *text, const char *separator)
{
    g_auto(GStrv) items = g_strsplit(text, separator, -1);
    for (guint i = 0; items[i]; i++) {
        char *equals = strchr(items[i], '=');
        if (!equals || equals == items[i])
            return FALSE;
        *equals = '\0';
        ct_named_values_add(values, items[i], equals + 1);
    }
    return TRUE;
}

/* Replaces an array, which copies may share. */
static GArray *
renew(GArray **array, GArray *other)
{
    g_clear_pointer(array, g_array_unref);
    return *array = other;
}

gboolean
ct_cost_key_parse(CtCostKey *key, CtKeyPart part, const char *text)
{
    if (part == CT_KEY_PARAMETERS)
        return parse_values(renew(&key->parameters, ct_named_values_new()), text, " ");
    if (part == CT_KEY_TUNING)
        return parse_values(renew(&key->tuning, ct_named_values_new()), text, ",");
    if (part == CT_KEY_LAYOUTS)
        renew(&key->ports, ct_cost_ports_new());
    return parse_ports(key, part, text);
}
