/* SPDX-License-Identifier: BSD-3-Clause */
/* Replicated stages: a part of a graph once per item of a list. */
#include "expand-private.h"
#include "model/expression.h"
#include "model/quantity.h"

#include <string.h>

enum { MOST_COPIES = 4096 };

/* What the copies are made over. */
typedef struct {
    GPtrArray *names;  /* of char */
    GPtrArray *values; /* of CtValue */
} Over;

static void
over_clear(Over *over)
{
    g_ptr_array_unref(over->names);
    g_ptr_array_unref(over->values);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Over, over_clear)

/* Whether a text can be the end of a node's name: "2" of "filter-2". */
static gboolean
is_ending(const char *text)
{
    return *text != '\0' && text[strspn(text, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_")] == '\0';
}

/* Whether all values are different endings of names. */
static gboolean
are_endings(const GPtrArray *values)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < values->len; i++) {
        const CtValue *value = values->pdata[i];
        if (value->kind != CT_VALUE_SCALAR || !is_ending(value->text) ||
            !g_hash_table_add(seen, value->text))
            return FALSE;
    }
    return TRUE;
}

/* `over: 4` */
static gboolean
count_copies(const CtValue *value, Over *over)
{
    CtQuantity n;
    if (value->kind != CT_VALUE_SCALAR || !ct_quantity_parse(&n, value->text, NULL, NULL) ||
        n.denominator != 1 || n.numerator < 1 || n.numerator > MOST_COPIES)
        return FALSE;
    for (gint64 i = 0; i < n.numerator; i++) {
        g_autofree char *text = g_strdup_printf("%" G_GINT64_FORMAT, i);
        g_ptr_array_add(over->values, ct_value_new_text(&value->place, text));
    }
    return TRUE;
}

/* `over: [low, high]`, `over: { low: 2, high: 3 }` */
static gboolean
list_copies(const CtValue *value, Over *over)
{
    if (value->kind == CT_VALUE_SCALAR || value->items->len == 0 || value->items->len > MOST_COPIES)
        return FALSE;
    for (guint i = 0; i < value->items->len; i++) {
        const CtValue *key = value->keys ? value->keys->pdata[i] : NULL;
        if (key && !is_ending(key->text))
            return FALSE;
        if (key)
            g_ptr_array_add(over->names, g_strdup(key->text));
        g_ptr_array_add(over->values, ct_value_copy(value->items->pdata[i]));
    }
    return TRUE;
}

static gboolean
read_over(CtExpander *expander, CtLevel *level, const CtValue *value, Over *over)
{
    g_autoptr(CtValue) expanded = ct_level_expand(expander, level, value, NULL);
    if (!expanded)
        return FALSE;
    if (!count_copies(expanded, over) && !list_copies(expanded, over)) {
        g_autofree char *given = ct_value_describe(expanded);
        return ct_expand_blame(expander, &value->place,
                               "'over' wants a number of copies, a list, or a mapping from names "
                               "(of letters, digits and _), of 1 to %d, but is given %s",
                               MOST_COPIES, given);
    }
    const gboolean have_names = over->names->len == 0 && are_endings(over->values);
    for (guint i = over->names->len; i < over->values->len; i++)
        g_ptr_array_add(over->names, have_names
                                         ? g_strdup(((const CtValue *)over->values->pdata[i])->text)
                                         : g_strdup_printf("%u", i));
    return TRUE;
}

/* A copy of the stages; `value` is what the name `as` stands for in it. Takes `value`. */
static void
add_copy(CtExpander *expander, CtLevel *level, const CtValue *replicate, const char *name,
         CtValue *value)
{
    const CtValue *as = ct_value_get(replicate, "as");
    CtLevel *copy = ct_level_new(expander, level, NULL);
    copy->sees_parent = TRUE;
    copy->suffix = g_strconcat("-", name, NULL);
    g_ptr_array_add(expander->values, value);
    CtDefinition *definition = as ? ct_level_define(expander, copy, as, value) : NULL;
    /* It is expanded; what it came from may not be known here. */
    if (definition)
        definition->value = ct_value_copy(value);
    if (definition || !as)
        ct_expand_stages(expander, copy, ct_value_get(replicate, "stages"));
}

static gboolean
refuse_key(CtExpander *expander, const CtValue *value, const char *key, const char *wanted)
{
    g_autofree char *given = ct_value_describe(value);
    return ct_expand_blame(expander, &value->place, "'%s' of 'replicate' wants %s, but is given %s",
                           key, wanted, given);
}

static gboolean
check_form(CtExpander *expander, const CtValue *value)
{
    static const char *const keys[] = {"over", "as", "stages"};
    if (value->kind == CT_VALUE_MAPPING) {
        if (!ct_expand_check_keys(expander, value, "'replicate' has no key", keys,
                                  G_N_ELEMENTS(keys)))
            return FALSE;
        const CtValue *stages = ct_value_get(value, "stages"), *as = ct_value_get(value, "as");
        if (!stages || !ct_value_get(value, "over"))
            return ct_expand_blame(expander, &value->place, "'replicate' wants the key '%s'",
                                   stages ? "over" : "stages");
        if (stages->kind != CT_VALUE_MAPPING)
            return refuse_key(expander, stages, "stages", "a mapping from names to stages");
        return !as || as->kind == CT_VALUE_SCALAR || refuse_key(expander, as, "as", "a name");
    }
    g_autofree char *given = ct_value_describe(value);
    return ct_expand_blame(expander, &value->place,
                           "'replicate' wants { over: N or list, as: NAME, stages: { … } }, but is "
                           "given %s",
                           given);
}

static void
expand_replicate(CtExpander *expander, CtLevel *level, const CtValue *value)
{
    g_auto(Over) over = {
        .names = g_ptr_array_new_with_free_func(g_free),
        .values = g_ptr_array_new_with_free_func((GDestroyNotify)ct_value_free),
    };
    if (!check_form(expander, value) ||
        !read_over(expander, level, ct_value_get(value, "over"), &over)) {
        expander->is_partial = TRUE;
        return;
    }
    for (guint i = 0; i < over.values->len && ct_expand_has_room(expander, &value->place); i++)
        add_copy(expander, level, value, over.names->pdata[i],
                 ct_value_copy(over.values->pdata[i]));
}

void
ct_expand_replicates(CtExpander *expander, CtLevel *level, const CtValue *value)
{
    if (value->kind != CT_VALUE_LIST)
        expand_replicate(expander, level, value);
    for (guint i = 0; value->kind == CT_VALUE_LIST && i < value->items->len; i++)
        expand_replicate(expander, level, value->items->pdata[i]);
}
