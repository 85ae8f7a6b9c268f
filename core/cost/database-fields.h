/* SPDX-License-Identifier: BSD-3-Clause */
/* The fields of a measurement: one table for SQL and JSON, private to the files of the database. */
#pragma once

#include "database.h"

typedef enum {
    CT_FIELD_NAME, /* interned */
    CT_FIELD_PART, /* of the key, as text */
    CT_FIELD_TEXT, /* owned; may be NULL */
    CT_FIELD_INTEGER,
    CT_FIELD_REAL
} CtFieldKind;

typedef struct {
    const char *name;
    CtFieldKind kind;
    gsize offset; /* in CtMeasurement; not of a part */
    CtKeyPart part;
    const char *wanted; /* the form of a part, for errors */
} CtField;

/* The first CT_N_KEYS are the key, and the last of these is the tuning, so that all tunings of a
 * candidate are adjacent. */
enum { CT_N_FIELDS = 19, CT_N_KEYS = 12 };
extern const CtField ct_measurement_fields[CT_N_FIELDS];

/* The text of a field that is no number, allocated; NULL if it has none. */
char *ct_field_text(const CtField *field, const CtMeasurement *measurement);
/* Sets a field that is no number. FALSE if the text has another form. */
gboolean ct_field_set_text(const CtField *field, CtMeasurement *measurement, const char *text);

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
