/* SPDX-License-Identifier: BSD-3-Clause */
/* The fields of a measurement: one table for SQL and JSON, private to the files of the database. */
#pragma once

#include "database.h"

typedef enum { CT_FIELD_TEXT, CT_FIELD_INTEGER, CT_FIELD_REAL } CtFieldKind;

typedef struct {
    const char *name;
    CtFieldKind kind;
    gboolean is_key;
    gsize offset; /* in CtMeasurement */
} CtField;

#define CT_FIELD(name, kind, is_key)                                                               \
    {                                                                                              \
#name, CT_FIELD_##kind, is_key, G_STRUCT_OFFSET(CtMeasurement, name)                       \
    }

/* The key comes first, and in it the tuning last, so that all tunings of a candidate are
 * adjacent. */
static const CtField ct_measurement_fields[] = {
    CT_FIELD(stages, TEXT, TRUE),
    CT_FIELD(variant, TEXT, TRUE),
    CT_FIELD(row, TEXT, TRUE),
    CT_FIELD(way, TEXT, TRUE),
    CT_FIELD(layouts, TEXT, TRUE),
    CT_FIELD(lengths, TEXT, TRUE),
    CT_FIELD(parameters, TEXT, TRUE),
    CT_FIELD(machine, TEXT, TRUE),
    CT_FIELD(n_workers, INTEGER, TRUE),
    CT_FIELD(aim, INTEGER, TRUE),
    CT_FIELD(code, TEXT, TRUE),
    CT_FIELD(tuning, TEXT, TRUE),
    CT_FIELD(operations, REAL, FALSE),
    CT_FIELD(bytes, REAL, FALSE),
    CT_FIELD(seconds, REAL, FALSE),
    CT_FIELD(spread, REAL, FALSE),
    CT_FIELD(n_repetitions, INTEGER, FALSE),
    CT_FIELD(time, INTEGER, FALSE),
    CT_FIELD(failure, TEXT, FALSE),
};

enum { CT_N_FIELDS = G_N_ELEMENTS(ct_measurement_fields), CT_N_KEYS = 12 };

static inline char **
ct_field_text(const CtField *field, const CtMeasurement *measurement)
{
    return (char **)((char *)measurement + field->offset);
}

static inline gint64 *
ct_field_integer(const CtField *field, const CtMeasurement *measurement)
{
    return (gint64 *)((char *)measurement + field->offset);
}

static inline gdouble *
ct_field_real(const CtField *field, const CtMeasurement *measurement)
{
    return (gdouble *)((char *)measurement + field->offset);
}
