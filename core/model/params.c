/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameters of a node: getting their values by name. */
#include "params-private.h"

#include <stdatomic.h>

#define ANY_KIND       (~0u)
#define KIND(name)     (1u << CT_PARAM_##name)
#define CELL(entry, i) (&g_array_index((entry)->cells, Cell, i))
#define NUMBER_KINDS   (KIND(REAL) | KIND(QUANTITY))
#define STRING_KINDS   (KIND(STRING) | KIND(PATH) | KIND(AXIS))

/* ---- faults of plugins ---- */

static void
keep_first(_Atomic(char *) *slot, char *fault)
{
    char *none = NULL;
    if (!atomic_compare_exchange_strong(slot, &none, fault))
        g_free(fault);
}

char *
ct_params_take_fault(const CtParams *params)
{
    return atomic_load_explicit(&params->faults->asked, memory_order_relaxed)
               ? atomic_exchange(&params->faults->asked, NULL)
               : NULL;
}

void
ct_params_keep_fault(const CtParams *params, char *fault)
{
    keep_first(&params->faults->kept, fault);
}

char *
ct_params_take_kept(const CtParams *params)
{
    return atomic_exchange(&params->faults->kept, NULL);
}

G_GNUC_PRINTF(2, 3)
static void
tell_fault(const CtParams *params, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    keep_first(&params->faults->asked, g_strdup_vprintf(format, arguments));
    va_end(arguments);
}

/* ---- values ---- */

/* NULL, with a fault of the plugin, if the stage's table has no parameter of this name and kind. */
static const Entry *
find_entry(const CtParams *params, const char *name, guint kinds)
{
    for (guint i = 0; i < params->n; i++) {
        const Entry *entry = &params->entries[i];
        if (!g_str_equal(entry->param->name, name))
            continue;
        if (kinds & 1u << entry->param->kind)
            return entry;
        tell_fault(params, "asks for parameter '%s' by the getter of another kind", name);
        return NULL;
    }
    tell_fault(params, "asks for parameter '%s', which is not in the table of '%s'", name,
               params->stage->name);
    return NULL;
}

static void
note_use(const CtParams *params, const Entry *entry)
{
    atomic_store_explicit(&params->is_used[entry - params->entries], TRUE, memory_order_relaxed);
}

void
ct_params_use(const CtParams *params, const char *name)
{
    const Entry *entry = find_entry(params, name, ANY_KIND);
    if (entry)
        note_use(params, entry);
}

/* The value that getters return if a value is missing through the plugin's fault: one that is safe
 * to divide by and to read. */
static const Cell *
stand_in(guint kinds)
{
    static CtLayout no_layout;
    static const Cell integer = {.integer = 1}, number = {.quantity = {1, 1, 1}},
                      text = {.text = ""}, layout = {.layout = &no_layout}, nothing;
    return kinds & KIND(INT)      ? &integer
           : kinds & NUMBER_KINDS ? &number
           : kinds & STRING_KINDS ? &text
           : kinds & KIND(LAYOUT) ? &layout
                                  : &nothing;
}

/* NULL if the parameter has no value. */
static const Cell *
find_cell(const CtParams *params, const char *name, guint kinds, guint row, guint column)
{
    const Entry *entry = find_entry(params, name, kinds);
    if (!entry)
        return stand_in(kinds);
    note_use(params, entry);
    if (!entry->has)
        return NULL;
    if (row < entry->n_rows && column < entry->n_columns)
        return CELL(entry, row * entry->n_columns + column);
    tell_fault(params, "asks for item [%u][%u] of parameter '%s', which has %u by %u", row, column,
               name, entry->n_rows, entry->n_columns);
    return stand_in(kinds);
}

gboolean
ct_params_has(const CtParams *params, const char *name)
{
    const Entry *entry = find_entry(params, name, ANY_KIND);
    return entry ? entry->has : 0;
}

gboolean
ct_params_knows(const CtParams *params, const char *name)
{
    for (guint i = 0; i < params->n; i++)
        if (g_str_equal(params->entries[i].param->name, name))
            return TRUE;
    return FALSE;
}

gboolean
ct_params_is_time(const CtParams *params, const char *name)
{
    const Entry *entry = find_entry(params, name, KIND(INT));
    return entry && entry->has && entry->cells->len > 0 && CELL(entry, 0)->time.value != 0;
}

guint
ct_params_count(const CtParams *params, const char *name)
{
    ct_params_use(params, name);
    const Entry *entry = find_entry(params, name, ANY_KIND);
    return entry ? entry->n_rows : 0;
}

guint
ct_params_columns(const CtParams *params, const char *name)
{
    ct_params_use(params, name);
    const Entry *entry = find_entry(params, name, ANY_KIND);
    return entry ? entry->n_columns : 0;
}

gint64
ct_params_int_at(const CtParams *params, const char *name, guint i)
{
    const Cell *cell = find_cell(params, name, KIND(INT), i, 0);
    return cell ? cell->integer : 0;
}

gint64
ct_params_int(const CtParams *params, const char *name)
{
    return ct_params_int_at(params, name, 0);
}

gdouble
ct_params_real_cell(const CtParams *params, const char *name, guint row, guint column)
{
    const Cell *cell = find_cell(params, name, NUMBER_KINDS, row, column);
    return cell ? cell->quantity.value : 0;
}

gdouble
ct_params_real_at(const CtParams *params, const char *name, guint i)
{
    return ct_params_real_cell(params, name, i, 0);
}

gdouble
ct_params_real(const CtParams *params, const char *name)
{
    return ct_params_real_cell(params, name, 0, 0);
}

void
ct_params_rational(const CtParams *params, const char *name, gint64 *numerator, gint64 *denominator)
{
    const Cell *cell = find_cell(params, name, NUMBER_KINDS, 0, 0);
    *numerator = 0;
    *denominator = 1;
    if (cell && cell->quantity.denominator != 0) {
        *numerator = cell->quantity.numerator;
        *denominator = cell->quantity.denominator;
    } else if (cell) {
        ct_quantity_approximate(cell->quantity.value, 0, numerator, denominator);
    }
}

gboolean
ct_params_is_exact(const CtParams *params, const char *name)
{
    const Cell *cell = find_cell(params, name, NUMBER_KINDS, 0, 0);
    return !cell || cell->quantity.denominator != 0;
}

gboolean
ct_params_bool(const CtParams *params, const char *name)
{
    const Cell *cell = find_cell(params, name, KIND(BOOL), 0, 0);
    return cell && cell->truth;
}

guint
ct_params_choice(const CtParams *params, const char *name)
{
    const Cell *cell = find_cell(params, name, KIND(CHOICE), 0, 0);
    return cell ? cell->choice : 0;
}

const char *
ct_params_string_at(const CtParams *params, const char *name, guint i)
{
    const Cell *cell = find_cell(params, name, STRING_KINDS, i, 0);
    return cell ? cell->text : NULL;
}

const char *
ct_params_string(const CtParams *params, const char *name)
{
    return ct_params_string_at(params, name, 0);
}

CtType
ct_params_type(const CtParams *params, const char *name)
{
    const Cell *cell = find_cell(params, name, KIND(TYPE), 0, 0);
    return cell ? cell->type : CT_TYPE_NONE;
}

const CtLayout *
ct_params_layout(const CtParams *params, const char *name)
{
    const Cell *cell = find_cell(params, name, KIND(LAYOUT), 0, 0);
    return cell ? cell->layout : NULL;
}

/* ---- blame ---- */

gboolean
ct_params_error(const CtParams *params, const char *name, GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *message = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    const Entry *entry = find_entry(params, name, ANY_KIND);
    if (entry)
        *params->blame = entry->place;
    g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER, "parameter '%s': %s", name, message);
    return FALSE;
}

gboolean
ct_params_take_blame(const CtParams *params, CtPlace *place)
{
    if (!params->blame->file)
        return FALSE;
    *place = *params->blame;
    params->blame->file = NULL;
    return TRUE;
}

/* ---- warnings ---- */

void
ct_params_warn(const CtParams *params, const char *name, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *message = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    const Entry *entry = name ? find_entry(params, name, ANY_KIND) : NULL;
    ct_warnings_add(params->warnings, CT_WARNING_STAGE, NULL,
                    entry ? &entry->place : &params->place, "%s%s%s%s", name ? "parameter '" : "",
                    name ? name : "", name ? "': " : "", message);
}

const CtPlace *
ct_params_place(const CtParams *params)
{
    return &params->place;
}

void
ct_params_join_warnings(const CtParams *params, const char *node, GPtrArray *warnings)
{
    for (guint i = 0; i < params->warnings->len; i++) {
        const CtWarning *said = params->warnings->pdata[i];
        ct_warnings_add(warnings, said->kind, node, &said->place, "%s", said->message);
    }
}

void
ct_params_warn_unused(const CtParams *params, const char *node, GPtrArray *warnings)
{
    for (guint i = 0; i < params->n; i++) {
        const Entry *entry = &params->entries[i];
        if (entry->is_given && !atomic_load_explicit(&params->is_used[i], memory_order_relaxed))
            ct_warnings_add(warnings, CT_WARNING_PARAMETER, node, &entry->place,
                            "parameter '%s' has no effect here", entry->param->name);
    }
}
