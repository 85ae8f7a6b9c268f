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
    for (guint p = 0; p < key->ports->len; p++) {
        const CtCostPort *port = &g_array_index(key->ports, CtCostPort, p);
        for (guint a = 0; a < port->layout.n_axes; a++)
            hash = ct_mix(ct_mix(hash, g_str_hash(port->layout.axes[a].name)),
                          (guint64)port->lengths[a]);
    }
    for (guint i = 0; i < key->parameters->len; i++)
        hash = ct_mix(hash, (guint64)g_array_index(key->parameters, CtNamedValue, i).number);
    return (guint)hash;
}

/* ---- ports ---- */

typedef void (*AppendPort)(GString *text, const CtCostPort *port);

static void
append_layout(GString *text, const CtCostPort *port)
{
    g_autofree char *layout = ct_layout_to_string(&port->layout);
    g_string_append(text, layout);
}

static void
append_lengths(GString *text, const CtCostPort *port)
{
    for (guint a = 0; a < port->layout.n_axes; a++)
        g_string_append_printf(text, "%s%" G_GINT64_FORMAT, a ? " " : "", port->lengths[a]);
}

static char *
print_ports(const CtCostKey *key, AppendPort append)
{
    GString *text = g_string_new(key->n_inputs == 0 ? " -> " : "");
    for (guint p = 0; p < key->ports->len; p++) {
        const CtCostPort *port = &g_array_index(key->ports, CtCostPort, p);
        if (port->layout.n_axes > 0)
            append(text, port);
        else
            g_string_append_c(text, '-');
        if (p + 1 == key->n_inputs)
            g_string_append(text, " -> ");
        else if (p + 1 < key->ports->len)
            g_string_append(text, ", ");
    }
    return g_string_free(text, FALSE);
}

char *
ct_cost_key_layouts(const CtCostKey *key)
{
    return print_ports(key, append_layout);
}

char *
ct_cost_key_lengths(const CtCostKey *key)
{
    return print_ports(key, append_lengths);
}

/* The texts of all ports, and the number of inputs; NULL if there are not two sides. */
static char **
split_ports(const char *text, guint *n_inputs)
{
    g_auto(GStrv) sides = g_strsplit(text, " -> ", -1);
    g_autoptr(GStrvBuilder) ports = g_strv_builder_new();
    if (g_strv_length(sides) != 2)
        return NULL;
    g_auto(GStrv) inputs = g_strsplit(sides[0], ", ", -1);
    g_auto(GStrv) outputs = g_strsplit(sides[1], ", ", -1);
    *n_inputs = g_strv_length(inputs);
    g_strv_builder_addv(ports, (const char **)inputs);
    g_strv_builder_addv(ports, (const char **)outputs);
    return g_strv_builder_end(ports);
}

gboolean
ct_cost_key_parse_layouts(CtCostKey *key, const char *text)
{
    g_auto(GStrv) texts = split_ports(text, &key->n_inputs);
    g_clear_pointer(&key->ports, g_array_unref);
    key->ports = ct_cost_ports_new();
    for (guint p = 0; texts && texts[p]; p++) {
        CtCostPort port = {0};
        if (!g_str_equal(texts[p], "-") && !ct_layout_parse(&port.layout, texts[p], NULL))
            return FALSE;
        g_array_append_val(key->ports, port);
    }
    return texts != NULL;
}

static gboolean
parse_port_lengths(CtCostPort *port, const char *text)
{
    g_auto(GStrv) words = g_strsplit(text, " ", -1);
    const guint n_axes = port->layout.n_axes;
    if (n_axes == 0)
        return g_str_equal(text, "-");
    for (guint a = 0; a < n_axes && words[a]; a++)
        if (!g_ascii_string_to_signed(words[a], 10, 0, G_MAXINT64, &port->lengths[a], NULL))
            return FALSE;
    return g_strv_length(words) == n_axes;
}

gboolean
ct_cost_key_parse_lengths(CtCostKey *key, const char *text)
{
    guint n_inputs;
    g_auto(GStrv) texts = split_ports(text, &n_inputs);
    if (!texts || n_inputs != key->n_inputs || g_strv_length(texts) != key->ports->len)
        return FALSE;
    for (guint p = 0; p < key->ports->len; p++)
        if (!parse_port_lengths(&g_array_index(key->ports, CtCostPort, p), texts[p]))
            return FALSE;
    return TRUE;
}

/* ---- parameters and tunings ---- */

static char *
print_values(const GArray *values, const char *separator)
{
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < values->len; i++) {
        const CtNamedValue *value = &g_array_index(values, CtNamedValue, i);
        g_string_append_printf(text, "%s%s=", i ? separator : "", value->name);
        if (value->word)
            g_string_append(text, value->word);
        else
            g_string_append_printf(text, "%" G_GINT64_FORMAT, value->number);
    }
    return g_string_free(text, FALSE);
}

char *
ct_cost_key_parameters(const CtCostKey *key)
{
    return print_values(key->parameters, " ");
}

char *
ct_cost_key_tuning(const CtCostKey *key)
{
    return print_values(key->tuning, ",");
}

static gboolean
parse_values(GArray **values, const char *text, const char *separator)
{
    g_auto(GStrv) items = g_strsplit(text, separator, -1);
    g_clear_pointer(values, g_array_unref);
    *values = ct_named_values_new();
    for (guint i = 0; items[i]; i++) {
        char *equals = strchr(items[i], '=');
        if (!equals || equals == items[i])
            return FALSE;
        *equals = '\0';
        ct_named_values_add(*values, items[i], equals + 1);
    }
    return TRUE;
}

gboolean
ct_cost_key_parse_parameters(CtCostKey *key, const char *text)
{
    return parse_values(&key->parameters, text, " ");
}

gboolean
ct_cost_key_parse_tuning(CtCostKey *key, const char *text)
{
    return parse_values(&key->tuning, text, ",");
}
