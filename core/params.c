/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameters of a node, got by name. */
#include "params-private.h"

#define ANY_KIND       (~0u)
#define KIND(name)     (1u << CT_PARAM_##name)
#define CELL(entry, i) (&g_array_index((entry)->cells, Cell, i))
#define NUMBER_KINDS   (KIND(REAL) | KIND(QUANTITY))
#define STRING_KINDS   (KIND(STRING) | KIND(PATH) | KIND(AXIS))

/* Asking for what the stage's own table has not is a programming mistake. */
static const Entry *
find_entry(const CtParams *params, const char *name, guint kinds)
{
    for (guint i = 0; i < params->n; i++) {
        const Entry *entry = &params->entries[i];
        if (!g_str_equal(entry->param->name, name))
            continue;
        if (!(kinds & 1u << entry->param->kind))
            g_error("parameter '%s' of stage '%s' is got as another kind than its table says", name,
                    params->stage->name);
        return entry;
    }
    g_error("stage '%s' has no parameter '%s' in its table", params->stage->name, name);
}

/* NULL where there is no value; an index past the list is a programming mistake. */
static const Cell *
find_cell(const CtParams *params, const char *name, guint kinds, guint row, guint column)
{
    const Entry *entry = find_entry(params, name, kinds);
    if (!entry->has)
        return NULL;
    g_assert(row < entry->n_rows && column < entry->n_columns);
    return CELL(entry, row * entry->n_columns + column);
}

gboolean
ct_params_has(const CtParams *params, const char *name)
{
    return find_entry(params, name, ANY_KIND)->has;
}

guint
ct_params_count(const CtParams *params, const char *name)
{
    return find_entry(params, name, ANY_KIND)->n_rows;
}

guint
ct_params_columns(const CtParams *params, const char *name)
{
    return find_entry(params, name, ANY_KIND)->n_columns;
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
        ct_quantity_approximate(cell->quantity.value, numerator, denominator);
    }
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
    *params->blame = find_entry(params, name, ANY_KIND)->place;
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
