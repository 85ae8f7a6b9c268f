/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of a variant's tunables: defaults, parsing and printing. */
#include "tuning.h"

#include "model/suggest.h"
#include "plugin-call.h"

#include <string.h>

guint
ct_tuning_count(const CtVariant *variant)
{
    guint n = 0;
    while (variant->tunables && variant->tunables[n].name)
        n++;
    return n;
}

void
ct_tuning_defaults(const CtVariant *variant, gint64 tuning[CT_MAX_TUNABLES])
{
    const guint n = ct_tuning_count(variant);
    for (guint i = 0; i < CT_MAX_TUNABLES; i++)
        tuning[i] = i < n ? variant->tunables[i].fallback : 0;
}

gboolean
ct_tuning_equal(const CtVariant *variant, const gint64 *a, const gint64 *b)
{
    return memcmp(a, b, ct_tuning_count(variant) * sizeof(*a)) == 0;
}

gboolean
ct_tuning_differs(const CtVariant *variant, const CtNode *nodes, const gint64 *tuning)
{
    gint64 usual[CT_MAX_TUNABLES];
    ct_tuning_defaults(variant, usual);
    return ct_tuning_equal(variant, tuning, usual) || ct_call_differs(variant, nodes, tuning);
}

static gboolean
has_value(const CtTunable *tunable, gint64 value)
{
    for (guint v = 0; v < tunable->n_values; v++)
        if (tunable->values[v] == value)
            return TRUE;
    return FALSE;
}

/* "2, 4 or 8" */
static char *
describe_values(const CtTunable *tunable)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint v = 0; v < tunable->n_values; v++)
        g_string_append_printf(text, "%s%" G_GINT64_FORMAT,
                               v == 0                       ? ""
                               : v + 1 == tunable->n_values ? " or "
                                                            : ", ",
                               tunable->values[v]);
    return g_string_free(g_steal_pointer(&text), FALSE);
}

static gboolean
find_tunable(const CtVariant *variant, const char *name, guint *index, GError **error)
{
    const guint n = ct_tuning_count(variant);
    const char *names[CT_MAX_TUNABLES];
    for (guint i = 0; i < n; i++) {
        names[i] = variant->tunables[i].name;
        if (g_str_equal(names[i], name)) {
            *index = i;
            return TRUE;
        }
    }
    g_autofree char *remark = ct_suggest_remark(name, names, n, "it has");
    g_set_error(error, CT_ERROR, CT_ERROR_CONFIG, "variant '%s' has no tunable '%s'%s",
                variant->name, name, remark);
    return FALSE;
}

static gboolean
parse_value(const CtVariant *variant, const CtTunable *tunable, const char *text, gint64 *value,
            GError **error)
{
    if (g_ascii_string_to_signed(text, 10, G_MININT64, G_MAXINT64, value, NULL) &&
        has_value(tunable, *value))
        return TRUE;
    g_autofree char *wanted = describe_values(tunable);
    g_set_error(error, CT_ERROR, CT_ERROR_CONFIG,
                "'%s' of variant '%s' wants %s, but is given '%s'", tunable->name, variant->name,
                wanted, text);
    return FALSE;
}

gboolean
ct_tuning_parse(const CtVariant *variant, const char *text, gint64 tuning[CT_MAX_TUNABLES],
                GError **error)
{
    gint64 values[CT_MAX_TUNABLES];
    gboolean is_given[CT_MAX_TUNABLES] = {FALSE};
    memcpy(values, tuning, sizeof values);
    g_auto(GStrv) items = g_strsplit(text, ",", -1);
    for (guint k = 0; k == 0 || items[k]; k++) {
        guint i;
        char *equals = items[k] ? strchr(items[k], '=') : NULL;
        if (!equals) {
            g_set_error(error, CT_ERROR, CT_ERROR_CONFIG,
                        "a tuning wants NAME=VALUE,…, but is given '%s'", text);
            return FALSE;
        }
        *equals = '\0';
        if (!find_tunable(variant, g_strstrip(items[k]), &i, error) ||
            !parse_value(variant, &variant->tunables[i], g_strstrip(equals + 1), &values[i], error))
            return FALSE;
        if (is_given[i]) {
            g_set_error(error, CT_ERROR, CT_ERROR_CONFIG, "'%s' is given twice in '%s'",
                        variant->tunables[i].name, text);
            return FALSE;
        }
        is_given[i] = TRUE;
    }
    memcpy(tuning, values, sizeof values);
    return TRUE;
}

gboolean
ct_tuning_set(const CtVariant *variant, const char *name, gint64 value, gint64 *tuning)
{
    for (guint i = 0; i < ct_tuning_count(variant); i++)
        if (g_str_equal(variant->tunables[i].name, name)) {
            tuning[i] = value;
            return has_value(&variant->tunables[i], value);
        }
    return FALSE;
}

char *
ct_tuning_to_string(const CtVariant *variant, const gint64 *tuning, gboolean others)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint i = 0; i < ct_tuning_count(variant); i++) {
        const CtTunable *tunable = &variant->tunables[i];
        if (!others || tuning[i] != tunable->fallback)
            g_string_append_printf(text, "%s%s=%" G_GINT64_FORMAT, text->len ? "," : "",
                                   tunable->name, tuning[i]);
    }
    return g_string_free(g_steal_pointer(&text), FALSE);
}

char *
ct_tuning_name(const CtVariant *variant, const gint64 *tuning)
{
    g_autofree char *text = ct_tuning_to_string(variant, tuning, TRUE);
    return g_strconcat(variant->name, *text ? ":" : "", text, NULL);
}

char *
ct_tuning_find_fault(const CtVariant *variant)
{
    for (const CtTunable *tunable = variant->tunables; tunable && tunable->name; tunable++) {
        const gsize length = strspn(tunable->name, G_CSET_a_2_z G_CSET_DIGITS "_");
        if (length == 0 || tunable->name[length])
            return g_strdup_printf("'%s' wants a name of a-z, 0-9 and _", tunable->name);
        for (guint v = 1; v < tunable->n_values; v++)
            if (tunable->values[v - 1] >= tunable->values[v])
                return g_strdup_printf("'%s' wants values that rise", tunable->name);
        if (has_value(tunable, tunable->fallback))
            continue;
        g_autofree char *values = describe_values(tunable);
        return g_strdup_printf("'%s' wants a fallback of %s, but is given %" G_GINT64_FORMAT,
                               tunable->name, values, tunable->fallback);
    }
    return NULL;
}
