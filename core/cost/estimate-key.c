/* SPDX-License-Identifier: BSD-3-Clause */
/* The keys under which the database keeps measurements. */
#include "estimate-private.h"
#include "model/params-private.h"

#include <math.h>
#include <string.h>

char *
ct_estimate_stages(const CtVariant *variant)
{
    return g_strjoinv("+", (char **)variant->covers);
}

static const char *const ways[] = {"", "to device", "to host", "to peer"};

const char *
ct_estimate_way(gint from, gint to)
{
    return ways[from == to ? 0 : from == CT_HOST ? 1 : to == CT_HOST ? 2 : 3];
}

const char *
ct_estimate_way_from_string(const char *text)
{
    for (guint i = 0; i < G_N_ELEMENTS(ways); i++) {
        if (g_str_equal(ways[i], text))
            return ways[i];
    }
    return NULL;
}

gint
ct_estimate_place(const CtEstimated *what)
{
    return what->from == CT_HOST ? what->to : what->from;
}

gint64
ct_estimate_length(const CtStream *stream, const CtLayoutAxis *axis)
{
    if (g_str_equal(axis->name, "complex"))
        return 2;
    return g_str_equal(axis->name, "time") ? 0 : ct_stream_length(stream, axis->name);
}

/* ---- ports ---- */

typedef void (*AppendPort)(GString *text, const CtStream *stream, const CtLayout *layout);

static void
append_layout(GString *text, G_GNUC_UNUSED const CtStream *stream, const CtLayout *layout)
{
    g_autofree char *string = ct_layout_to_string(layout);
    g_string_append(text, string);
}

static void
append_lengths(GString *text, const CtStream *stream, const CtLayout *layout)
{
    for (guint a = 0; a < layout->n_axes; a++)
        g_string_append_printf(text, "%s%" G_GINT64_FORMAT, a ? " " : "",
                               ct_estimate_length(stream, &layout->axes[a]));
}

static void
append_side(GString *text, const CtStream *streams, const CtLayout *layouts, guint n,
            AppendPort append)
{
    for (guint i = 0; i < n; i++) {
        g_string_append(text, i ? ", " : "");
        if (layouts[i].n_axes > 0)
            append(text, &streams[i], &layouts[i]);
        else
            g_string_append_c(text, '-');
    }
}

static char *
describe_ports(const CtEstimated *what, AppendPort append)
{
    const CtNode *first = &what->nodes[0], *last = &what->nodes[what->n_nodes - 1];
    g_autoptr(GString) text = g_string_new(NULL);
    append_side(text, first->inputs, what->inputs, first->n_inputs, append);
    g_string_append(text, " -> ");
    append_side(text, last->outputs, what->outputs, last->n_outputs, append);
    return g_string_free(g_steal_pointer(&text), FALSE);
}

char *
ct_estimate_layouts(const CtEstimated *what)
{
    return describe_ports(what, append_layout);
}

char *
ct_estimate_lengths(const CtEstimated *what)
{
    return describe_ports(what, append_lengths);
}

/* ---- parameters ---- */

static void
append_number(GString *text, const char *prefix, const char *name, gint64 value)
{
    g_string_append_printf(text, "%s%s%s=%" G_GINT64_FORMAT, text->len ? " " : "", prefix, name,
                           value);
}

static void
append_node(GString *text, const CtNode *node, const char *prefix)
{
    const CtFootprint *footprint = &node->footprint;
    if (footprint->kind != CT_FOOTPRINT_OWN && (footprint->window != 1 || footprint->hop != 1)) {
        append_number(text, prefix, "window", footprint->window);
        append_number(text, prefix, "hop", footprint->hop);
    }
    for (guint i = 0; node->params && i < node->params->n; i++) {
        const Entry *entry = &node->params->entries[i];
        if (!entry->has || entry->n_rows != 1 || entry->n_columns != 1)
            continue;
        const Cell *cell = &g_array_index(entry->cells, Cell, 0);
        if (entry->param->kind == CT_PARAM_INT)
            append_number(text, prefix, entry->param->name, cell->integer);
        else if (entry->param->kind == CT_PARAM_BOOL)
            append_number(text, prefix, entry->param->name, cell->truth);
        else if (entry->param->kind == CT_PARAM_CHOICE)
            g_string_append_printf(text, "%s%s%s=%s", text->len ? " " : "", prefix,
                                   entry->param->name, entry->param->choices[cell->choice]);
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

char *
ct_estimate_parameters(const CtEstimated *what)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint k = 0; k < what->n_nodes; k++) {
        g_autofree char *prefix =
            what->n_nodes > 1 ? g_strconcat(what->nodes[k].stage->name, ".", NULL) : g_strdup("");
        append_node(text, &what->nodes[k], prefix);
    }
    if (what->load->block > 0)
        append_number(text, "", "block", block_samples(what));
    if (what->load->held > 0)
        append_number(text, "", "held", what->load->held);
    return g_string_free(g_steal_pointer(&text), FALSE);
}

/* A word "name=value" of the text of parameters. A word without `=` has an empty value. */
typedef struct {
    const char *name, *value;
    gsize name_length, value_length;
} Word;

/* Reads the word at *at, and moves on to the next; FALSE at the end. */
static gboolean
next_word(const char **at, Word *word)
{
    *at += strspn(*at, " ");
    const gsize length = strcspn(*at, " ");
    const char *equals = memchr(*at, '=', length);
    word->name = *at;
    word->name_length = equals ? (gsize)(equals - *at) : length;
    word->value = equals ? equals + 1 : *at + length;
    *at += length;
    word->value_length = (gsize)(*at - word->value);
    return length > 0;
}

static gboolean
is_named(const Word *word, const char *name, gsize length)
{
    return word->name_length == length && memcmp(word->name, name, length) == 0;
}

static gboolean
find_word(const char *text, const Word *like, Word *word)
{
    while (next_word(&text, word))
        if (is_named(word, like->name, like->name_length))
            return TRUE;
    return FALSE;
}

/* Parameters whose distance counts less than fully. */
static const struct {
    const char *name;
    gdouble share;
} lesser[] = {{"block", 0.2}, {"held", 0.5}};

static gdouble
share_of(const Word *word)
{
    for (guint i = 0; i < G_N_ELEMENTS(lesser); i++) {
        if (is_named(word, lesser[i].name, strlen(lesser[i].name)))
            return lesser[i].share;
    }
    return 1;
}

/* `b` NULL: only one text has the word. */
static gdouble
values_distance(const Word *a, const Word *b)
{
    if (!b)
        return 1;
    if (a->value_length == b->value_length && memcmp(a->value, b->value, a->value_length) == 0)
        return 0;
    const gdouble x = g_ascii_strtod(a->value, NULL), y = g_ascii_strtod(b->value, NULL);
    return x > 0 && y > 0 ? fabs(log(x / y)) : 1;
}

/* The distance over the words of `a`. `missing_alone`: only over those that `b` lacks. */
static gdouble
one_way(const char *a, const char *b, gboolean missing_alone)
{
    gdouble sum = 0;
    Word word, other;
    while (next_word(&a, &word)) {
        const gboolean is_there = find_word(b, &word, &other);
        if (!missing_alone || !is_there)
            sum += share_of(&word) * values_distance(&word, is_there ? &other : NULL);
    }
    return sum;
}

gdouble
ct_estimate_parameters_distance(const char *a, const char *b)
{
    return g_str_equal(a, b) ? 0 : one_way(a, b, FALSE) + one_way(b, a, TRUE);
}
