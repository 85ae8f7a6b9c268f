/* SPDX-License-Identifier: BSD-3-Clause */
/* The fields of a measurement, and their texts. */
#include "database-fields.h"

#define AT(member) .offset = G_STRUCT_OFFSET(CtMeasurement, member)

const CtField ct_measurement_fields[CT_N_FIELDS] = {
    {"stages", CT_FIELD_NAME, AT(key.stages)},
    {"variant", CT_FIELD_NAME, AT(key.variant)},
    {"row", CT_FIELD_NAME, AT(key.row)},
    {"way", CT_FIELD_NAME, AT(key.way)},
    {"layouts", CT_FIELD_PART, .part = CT_KEY_LAYOUTS,
     .wanted = "layouts, cf32[time pol] -> cf32[pol time]"},
    {"lengths", CT_FIELD_PART, .part = CT_KEY_LENGTHS,
     .wanted = "the lengths of all axes, 0 2 -> 2 0"},
    {"parameters", CT_FIELD_PART, .part = CT_KEY_PARAMETERS,
     .wanted = "NAME=VALUE, separated by spaces"},
    {"machine", CT_FIELD_NAME, AT(key.machine)},
    {"n_workers", CT_FIELD_INTEGER, AT(key.n_workers)},
    {"aim", CT_FIELD_INTEGER, AT(key.aim)},
    {"code", CT_FIELD_NAME, AT(key.code)},
    {"tuning", CT_FIELD_PART, .part = CT_KEY_TUNING, .wanted = "NAME=VALUE, separated by commas"},
    {"operations", CT_FIELD_REAL, AT(operations)},
    {"bytes", CT_FIELD_REAL, AT(bytes)},
    {"seconds", CT_FIELD_REAL, AT(seconds)},
    {"spread", CT_FIELD_REAL, AT(spread)},
    {"n_repetitions", CT_FIELD_INTEGER, AT(n_repetitions)},
    {"time", CT_FIELD_INTEGER, AT(time)},
    {"failure", CT_FIELD_TEXT, AT(failure)},
};

static char **
text_at(const CtField *field, const CtMeasurement *measurement)
{
    return (char **)((char *)measurement + field->offset);
}

char *
ct_field_text(const CtField *field, const CtMeasurement *measurement)
{
    return field->kind == CT_FIELD_PART ? ct_cost_key_print(&measurement->key, field->part)
                                        : g_strdup(*text_at(field, measurement));
}

gboolean
ct_field_set_text(const CtField *field, CtMeasurement *measurement, const char *text)
{
    if (field->kind == CT_FIELD_PART)
        return ct_cost_key_parse(&measurement->key, field->part, text);
    *text_at(field, measurement) =
        field->kind == CT_FIELD_NAME ? (char *)g_intern_string(text) : g_strdup(text);
    return TRUE;
}

void
ct_measurement_clear(CtMeasurement *measurement)
{
    ct_cost_key_clear(&measurement->key);
    g_free(measurement->failure);
    *measurement = (CtMeasurement){0};
}

void
ct_measurement_free(CtMeasurement *measurement)
{
    if (!measurement)
        return;
    ct_measurement_clear(measurement);
    g_free(measurement);
}
