/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameters of a node: reading their values and checking them against the stage's table. */
#include "errors.h"
#include "layout-private.h"
#include "params-private.h"
#include "suggest.h"

#include <math.h>

/* The node and the parameter that messages name. A key of the graph itself has a table too, of a
 * stage without a name. */
typedef struct {
    const char *node; /* or the key; NULL: a check of the table */
    const CtStage *stage;
    const CtParam *param;
} Asker;

static void
clear_cell(CtParamKind kind, Cell *cell)
{
    if (kind == CT_PARAM_STRING || kind == CT_PARAM_PATH || kind == CT_PARAM_AXIS)
        g_free(cell->text);
    else if (kind == CT_PARAM_LAYOUT)
        g_free(cell->layout);
}

static void
entry_clear(Entry *entry)
{
    for (guint j = 0; entry->cells && j < entry->cells->len; j++)
        clear_cell(entry->param->kind, &g_array_index(entry->cells, Cell, j));
    g_clear_pointer(&entry->cells, g_array_unref);
}

void
ct_params_free(CtParams *params)
{
    if (!params)
        return;
    for (guint i = 0; i < params->n; i++)
        entry_clear(&params->entries[i]);
    g_free(params->entries);
    g_free(params->blame);
    if (params->faults) {
        g_free(params->faults->asked);
        g_free(params->faults->kept);
    }
    g_free(params->faults);
    g_free(params->is_used);
    g_clear_pointer(&params->warnings, g_ptr_array_unref);
    g_free(params);
}

/* ---- the values that a row accepts ---- */

static void
append_limit(GString *text, const CtParam *param, gdouble limit)
{
    if (param->kind == CT_PARAM_QUANTITY) {
        g_autofree char *shown = ct_quantity_format(limit, param->unit);
        g_string_append(text, shown);
    } else {
        g_string_append_printf(text, "%.15g", limit);
    }
}

static void
append_range(GString *text, const CtParam *param)
{
    if (!(param->flags & CT_PARAM_RANGED))
        return;
    /* A limit that only keeps an integer from overflowing is not shown. */
    const gdouble largest = param->kind == CT_PARAM_INT ? 1e15 : G_MAXDOUBLE;
    const gboolean low = param->minimum > -largest, high = param->maximum < largest;
    if (low && high) {
        g_string_append(text, " from ");
        append_limit(text, param, param->minimum);
        g_string_append(text, " to ");
        append_limit(text, param, param->maximum);
    } else if (low) {
        g_string_append(text, ", ");
        append_limit(text, param, param->minimum);
        g_string_append(text, " or more");
    } else if (high) {
        g_string_append(text, ", ");
        append_limit(text, param, param->maximum);
        g_string_append(text, " or less");
    }
}

char *
ct_param_describe(const CtParam *param)
{
    GString *text = g_string_new(NULL);
    if (param->flags & CT_PARAM_TABLE)
        g_string_append(text, "rows, each of values that are each ");
    else if (param->flags & CT_PARAM_LIST)
        g_string_append(text, "a list, each item ");
    g_autofree char *quantity =
        param->kind == CT_PARAM_QUANTITY ? ct_quantity_describe(param->unit) : NULL;
    g_autofree char *choices =
        param->kind == CT_PARAM_CHOICE ? g_strjoinv(", ", (char **)param->choices) : NULL;
    static const char *const names[] = {
        [CT_PARAM_INT] = "an integer",
        [CT_PARAM_REAL] = "a number",
        [CT_PARAM_BOOL] = "true or false",
        [CT_PARAM_STRING] = "a text",
        [CT_PARAM_PATH] = "a path",
        [CT_PARAM_TYPE] = "a type such as ci8",
        [CT_PARAM_LAYOUT] = "a layout such as \"ci8[time station pol]\"",
        [CT_PARAM_AXIS] = "an axis name (a-z 0-9 _ and a final ')",
    };
    if (choices)
        g_string_append_printf(text, "one of %s", choices);
    else
        g_string_append(text, quantity ? quantity : names[param->kind]);
    append_range(text, param);
    if (param->flags & CT_PARAM_SAMPLES)
        g_string_append(text, ", or a time such as '1 ms'");
    return g_string_free(text, FALSE);
}

/* ---- reading values ---- */

static gboolean blame(const Asker *asker, const CtPlace *place, GError **error, const char *format,
                      ...) G_GNUC_PRINTF(4, 5);

static gboolean
blame(const Asker *asker, const CtPlace *place, GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *message = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    if (!asker->node) {
        g_set_error_literal(error, CT_ERROR, CT_ERROR_PARAMETER, message);
        return FALSE;
    }
    return ct_place_error(place, CT_ERROR_PARAMETER, error, "%s'%s': %s '%s': %s",
                          asker->stage->name ? "node " : "", asker->node,
                          asker->stage->name ? "parameter" : "key", asker->param->name, message);
}

/* Refuses a value: "wants an integer from 1 to 64, but is given 'many'". `names` are the `n` names
 * that may be meant. */
static gboolean
refuse(const Asker *asker, const CtValue *value, const char *const *names, gsize n, GError **error)
{
    CtParam single = *asker->param;
    if (value->kind == CT_VALUE_SCALAR)
        single.flags &= ~(CT_PARAM_LIST | CT_PARAM_TABLE);
    g_autofree char *wanted = ct_param_describe(&single);
    g_autofree char *given = ct_value_describe(value);
    g_autofree char *remark = value->kind == CT_VALUE_SCALAR
                                  ? ct_suggest_remark(value->text, names, n, NULL)
                                  : g_strdup("");
    return blame(asker, &value->place, error, "wants %s, but is given %s%s", wanted, given, remark);
}

static gboolean
is_in_range(const CtParam *param, gdouble value)
{
    return !(param->flags & CT_PARAM_RANGED) ||
           (value >= param->minimum && value <= param->maximum);
}

static gboolean
read_number(const Asker *asker, const CtValue *value, Cell *cell, GError **error)
{
    const CtParam *param = asker->param;
    const char *unit = param->kind == CT_PARAM_QUANTITY ? param->unit : NULL;
    CtQuantity quantity;
    g_autoptr(GError) cause = NULL;
    if (!ct_quantity_parse(&quantity, value->text, unit, &cause)) {
        if (param->flags & CT_PARAM_SAMPLES &&
            ct_quantity_parse(&cell->time, value->text, "s", NULL) && cell->time.value > 0)
            return TRUE;
        if (param->kind != CT_PARAM_QUANTITY)
            return refuse(asker, value, NULL, 0, error);
        return blame(asker, &value->place, error, "%s%s%s%s", cause->message,
                     value->origin ? " (from '" : "", value->origin ? value->origin : "",
                     value->origin ? "')" : "");
    }
    if (!is_in_range(param, quantity.value) ||
        (param->kind == CT_PARAM_INT && quantity.denominator != 1))
        return refuse(asker, value, NULL, 0, error);
    if (param->kind == CT_PARAM_INT)
        cell->integer = quantity.numerator;
    else
        cell->quantity = quantity;
    return TRUE;
}

static gboolean
read_choice(const Asker *asker, const CtValue *value, Cell *cell, GError **error)
{
    const char *const *choices = asker->param->choices;
    for (guint i = 0; choices[i]; i++)
        if (g_str_equal(choices[i], value->text)) {
            cell->choice = i;
            return TRUE;
        }
    return refuse(asker, value, choices, g_strv_length((char **)choices), error);
}

static gboolean
read_bool(const Asker *asker, const CtValue *value, Cell *cell, GError **error)
{
    cell->truth = g_str_equal(value->text, "true");
    if (cell->truth || g_str_equal(value->text, "false"))
        return TRUE;
    return refuse(asker, value, NULL, 0, error);
}

static gboolean
read_type(const Asker *asker, const CtValue *value, Cell *cell, GError **error)
{
    cell->type = ct_type_from_name(value->text);
    if (cell->type != CT_TYPE_NONE)
        return TRUE;
    const char *names[CT_N_TYPES];
    gsize n = 0;
    for (CtType type = CT_TYPE_NONE + 1; type < CT_N_TYPES; type++)
        names[n++] = ct_type_info(type)->name;
    return refuse(asker, value, names, n, error);
}

static gboolean
read_text(const Asker *asker, const CtValue *value, Cell *cell, GError **error)
{
    const CtParamKind kind = asker->param->kind;
    if ((kind == CT_PARAM_PATH && *value->text == '\0') ||
        (kind == CT_PARAM_AXIS && !ct_layout_is_axis_name(value->text)))
        return refuse(asker, value, NULL, 0, error);
    cell->text = g_strdup(value->text);
    return TRUE;
}

/* The text of a layout. YAML reads an unquoted `[a b]` as a list of one text and `{a b}` as a
 * mapping of one key. */
static char *
find_layout_text(const CtValue *value)
{
    if (value->kind == CT_VALUE_SCALAR)
        return g_strdup(value->text);
    if (value->items->len != 1)
        return NULL;
    const CtValue *item = value->items->pdata[0];
    if (value->kind == CT_VALUE_LIST)
        return item->kind == CT_VALUE_SCALAR && !item->quoted ? g_strdup_printf("[%s]", item->text)
                                                              : NULL;
    const CtValue *key = value->keys->pdata[0];
    return ct_value_is_nothing(item) ? g_strdup_printf("{%s}", key->text) : NULL;
}

static gboolean
read_layout(const Asker *asker, const CtValue *value, Cell *cell, GError **error)
{
    g_autofree char *text = find_layout_text(value);
    if (!text)
        return refuse(asker, value, NULL, 0, error);
    g_autofree CtLayout *layout = g_new0(CtLayout, 1);
    g_autoptr(GError) cause = NULL;
    if (!ct_layout_parse(layout, text, &cause))
        return blame(asker, &value->place, error, "%s", cause->message);
    cell->layout = g_steal_pointer(&layout);
    return TRUE;
}

typedef gboolean (*Reader)(const Asker *asker, const CtValue *value, Cell *cell, GError **error);

static const Reader readers[] = {
    [CT_PARAM_INT] = read_number,      [CT_PARAM_REAL] = read_number,
    [CT_PARAM_QUANTITY] = read_number, [CT_PARAM_BOOL] = read_bool,
    [CT_PARAM_CHOICE] = read_choice,   [CT_PARAM_STRING] = read_text,
    [CT_PARAM_PATH] = read_text,       [CT_PARAM_TYPE] = read_type,
    [CT_PARAM_LAYOUT] = read_layout,   [CT_PARAM_AXIS] = read_text,
};

static gboolean
read_cell(const Asker *asker, const CtValue *value, Entry *entry, GError **error)
{
    const CtParamKind kind = asker->param->kind;
    if ((value->kind != CT_VALUE_SCALAR && kind != CT_PARAM_LAYOUT) || ct_value_is_nothing(value))
        return refuse(asker, value, NULL, 0, error);
    Cell cell = {0};
    if (!readers[kind](asker, value, &cell, error))
        return FALSE;
    g_array_append_val(entry->cells, cell);
    return TRUE;
}

/* `value` is a list of cells, or one cell. */
static gboolean
read_row(const Asker *asker, const CtValue *value, Entry *entry, guint *n_cells, GError **error)
{
    if (value->kind != CT_VALUE_LIST) {
        *n_cells = 1;
        return read_cell(asker, value, entry, error);
    }
    *n_cells = value->items->len;
    if (*n_cells == 0)
        return refuse(asker, value, NULL, 0, error);
    for (guint i = 0; i < *n_cells; i++)
        if (!read_cell(asker, value->items->pdata[i], entry, error))
            return FALSE;
    return TRUE;
}

static gboolean
read_table(const Asker *asker, const CtValue *value, Entry *entry, GError **error)
{
    if (value->kind != CT_VALUE_LIST || value->items->len == 0) {
        g_autofree char *wanted = ct_param_describe(asker->param);
        g_autofree char *given = ct_value_describe(value);
        return blame(asker, &value->place, error, "wants %s, but is given %s", wanted, given);
    }
    entry->n_rows = value->items->len;
    for (guint i = 0; i < entry->n_rows; i++) {
        const CtValue *row = value->items->pdata[i];
        guint n_columns;
        if (!read_row(asker, row, entry, &n_columns, error))
            return FALSE;
        if (i == 0)
            entry->n_columns = n_columns;
        else if (n_columns != entry->n_columns)
            return blame(asker, &row->place, error,
                         "wants rows of equal length, but is given %u values after rows of %u",
                         n_columns, entry->n_columns);
    }
    return TRUE;
}

static gboolean
read_entry(const Asker *asker, const CtValue *value, Entry *entry, GError **error)
{
    entry->has = TRUE;
    entry->place = value->place;
    entry->n_rows = entry->n_columns = 1;
    if (entry->param->flags & CT_PARAM_TABLE)
        return read_table(asker, value, entry, error);
    if (entry->param->flags & CT_PARAM_LIST)
        return read_row(asker, value, entry, &entry->n_rows, error);
    return read_cell(asker, value, entry, error);
}

static gboolean
read_fallback(const Asker *asker, Entry *entry, GError **error)
{
    g_autoptr(CtValue) value =
        ct_value_parse_short(entry->param->fallback, "the stage's own default", error);
    return value && read_entry(asker, value, entry, error);
}

gboolean
ct_param_check_fallback(const CtParam *param, GError **error)
{
    const Asker asker = {NULL, NULL, param};
    Entry entry = {.param = param, .cells = g_array_new(FALSE, TRUE, sizeof(Cell))};
    const gboolean good = !param->fallback || read_fallback(&asker, &entry, error);
    entry_clear(&entry);
    return good;
}

/* ---- all parameters of a node ---- */

const CtParam *
ct_stage_params(const CtStage *stage)
{
    static const CtParam none = {0};
    return stage->params ? stage->params : &none;
}

gboolean
ct_stage_is_live(const CtStage *stage)
{
    for (const CtParam *param = ct_stage_params(stage); param->name; param++)
        if (param->flags & CT_PARAM_LIVE)
            return TRUE;
    return FALSE;
}

static gboolean
refuse_unknown(const char *node, const CtStage *stage, const CtValue *key, GError **error)
{
    static const char *const common[] = {"stage", "from",   "backend", "variant",
                                         "block", "labels", "reread"};
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (const CtParam *param = ct_stage_params(stage); param->name; param++)
        g_ptr_array_add(names, (gpointer)param->name);
    const guint n_own = names->len;
    for (guint i = 0; i < G_N_ELEMENTS(common) && stage->name; i++)
        g_ptr_array_add(names, (gpointer)common[i]);
    const gboolean is_near =
        ct_suggest_name(key->text, (const char *const *)names->pdata, names->len) != NULL;
    g_autofree char *remark = ct_suggest_remark(key->text, (const char *const *)names->pdata,
                                                is_near ? names->len : n_own, "it has");
    if (!stage->name)
        return ct_place_error(&key->place, CT_ERROR_PARAMETER, error, "'%s' has no key '%s'%s",
                              node, key->text, remark);
    return ct_place_error(&key->place, CT_ERROR_PARAMETER, error,
                          "node '%s': stage '%s' has no parameter '%s'%s", node, stage->name,
                          key->text, remark);
}

static const CtParam *
find_param(const CtStage *stage, const char *name)
{
    for (const CtParam *param = ct_stage_params(stage); param->name; param++)
        if (g_str_equal(param->name, name))
            return param;
    return NULL;
}

/* Reads one parameter, or its default. Without `wants_all`, it may be missing. */
static gboolean
read_param(const Asker *asker, const CtPlace *place, const CtValue *values, gboolean wants_all,
           Entry *entry, GError **error)
{
    const CtParam *param = asker->param;
    const CtStage *stage = asker->stage;
    const CtValue *value = values ? ct_value_get(values, param->name) : NULL;
    if (value) {
        entry->is_given = TRUE;
        return read_entry(asker, value, entry, error);
    }
    if (param->fallback) {
        const gboolean good = read_fallback(asker, entry, error);
        entry->place = *place;
        return good;
    }
    if (!(param->flags & CT_PARAM_REQUIRED) || !wants_all)
        return TRUE;
    g_autofree char *wanted = ct_param_describe(param);
    if (stage->name)
        return ct_place_error(place, CT_ERROR_PARAMETER, error,
                              "node '%s': parameter '%s' is missing: stage '%s' wants %s",
                              asker->node, param->name, stage->name, wanted);
    return ct_place_error(place, CT_ERROR_PARAMETER, error, "'%s': key '%s' is missing: wants %s",
                          asker->node, param->name, wanted);
}

static void
check_known(const char *node, const CtStage *stage, const CtValue *values, CtErrors *errors)
{
    for (guint i = 0; values && i < values->keys->len; i++) {
        const CtValue *key = values->keys->pdata[i];
        GError *error = NULL;
        if (!find_param(stage, key->text) && !refuse_unknown(node, stage, key, &error))
            ct_errors_take(errors, error);
    }
}

CtParams *
ct_params_new(const char *node, const CtStage *stage, const CtPlace *place, const CtValue *values,
              GError **error)
{
    g_autoptr(CtErrors) errors = ct_errors_new();
    g_autoptr(CtParams) params = g_new0(CtParams, 1);
    check_known(node, stage, values, errors);
    /* A name that is mistyped leaves its parameter missing. */
    const gboolean wants_all = ct_errors_are_none(errors);
    params->stage = stage;
    params->place = *place;
    params->blame = g_new0(CtPlace, 1);
    params->faults = g_new0(CtParamsFaults, 1);
    const CtParam *table = ct_stage_params(stage);
    while (table[params->n].name)
        params->n++;
    params->entries = g_new0(Entry, params->n);
    params->is_used = g_new0(atomic_bool, params->n + 1);
    params->warnings = ct_warnings_new();
    for (guint i = 0; i < params->n; i++) {
        const Asker asker = {node, stage, &table[i]};
        Entry *entry = &params->entries[i];
        *entry = (Entry){.param = &table[i], .place = *place};
        entry->cells = g_array_new(FALSE, TRUE, sizeof(Cell));
        GError *cause = NULL;
        if (!read_param(&asker, place, values, wants_all, entry, &cause))
            ct_errors_take(errors, cause);
    }
    return ct_errors_finish(errors, error) ? g_steal_pointer(&params) : NULL;
}
