/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameters of a stage: the table that declares them, and the values that a graph gives. */
#pragma once

#include <cornerturn/layout.h>

G_BEGIN_DECLS

typedef enum {
    CT_PARAM_INT,      /* 1024 */
    CT_PARAM_REAL,     /* 0.5 */
    CT_PARAM_QUANTITY, /* 200 MHz, in the SI unit of the row; rational where it is written so */
    CT_PARAM_BOOL,     /* true, false */
    CT_PARAM_CHOICE,   /* one of `choices` */
    CT_PARAM_STRING,
    CT_PARAM_PATH,   /* a file's, relative to the working directory */
    CT_PARAM_TYPE,   /* ci8 */
    CT_PARAM_LAYOUT, /* ci8[time station pol] */
    CT_PARAM_AXIS    /* the name of one, channel */
} CtParamKind;

typedef enum {
    CT_PARAM_REQUIRED = 1 << 0,
    CT_PARAM_LIST = 1 << 1,   /* a list of the kind; a single value is a list of one */
    CT_PARAM_TABLE = 1 << 2,  /* a list of lists of the kind (rows of equal length) */
    CT_PARAM_RANGED = 1 << 3, /* minimum and maximum hold */
    CT_PARAM_WRITTEN = 1 << 4 /* of a path: the stage writes its files; else it reads them */
} CtParamFlags;

/* A row of a stage's table; the table ends with a row without name. */
typedef struct {
    const char *name;
    CtParamKind kind;
    CtParamFlags flags;
    const char *unit;           /* of a quantity: "Hz" "s" "m" "rad" "B"; NULL: a number */
    gdouble minimum, maximum;   /* in `unit`; with CT_PARAM_RANGED */
    const char *fallback;       /* the default as a user would write it; NULL: none */
    const char *const *choices; /* of a choice; NULL-terminated */
    const char *help;           /* one line */
    const char *const *endings; /* of a path: other files of the same stage are the path with one
                                   of these behind it; NULL-terminated. NULL: there are none */
} CtParam;

/* The checked values of one node. Getters take the names of the stage's own table. A list's items
 * are counted from 0. To ask for another name or kind, or for an item past the end, is a fault of
 * the plugin: the getter returns 1, or an empty text or layout, and the node fails when the
 * function that asked returns.
 *
 * Getters also note that the value is used; ct_params_has does not. Of a parameter that the graph
 * gives and nobody uses the user is warned that it has no effect: so get a value only where it has
 * one (`beta` where the window is a Kaiser window). */
typedef struct CtParams CtParams;

/* Notes that a parameter is used, though its value is got later. */
CT_EXPORT void ct_params_use(const CtParams *params, const char *name);
/* Whether the graph gave a value, or the table has a default. */
CT_EXPORT gboolean ct_params_has(const CtParams *params, const char *name);
/* Items of a list (rows of a table); 1 for a single value, 0 where there is none. */
CT_EXPORT guint ct_params_count(const CtParams *params, const char *name);
/* Columns of a table. */
CT_EXPORT guint ct_params_columns(const CtParams *params, const char *name);
CT_EXPORT gint64 ct_params_int(const CtParams *params, const char *name);
CT_EXPORT gint64 ct_params_int_at(const CtParams *params, const char *name, guint i);
/* Of a real or a quantity (SI). */
CT_EXPORT gdouble ct_params_real(const CtParams *params, const char *name);
CT_EXPORT gdouble ct_params_real_at(const CtParams *params, const char *name, guint i);
CT_EXPORT gdouble ct_params_real_cell(const CtParams *params, const char *name, guint row,
                                      guint column);
/* Of a quantity, exactly: numerator / denominator in lowest terms. */
CT_EXPORT void ct_params_rational(const CtParams *params, const char *name, gint64 *numerator,
                                  gint64 *denominator);
CT_EXPORT gboolean ct_params_bool(const CtParams *params, const char *name);
/* Index in the row's `choices`. */
CT_EXPORT guint ct_params_choice(const CtParams *params, const char *name);
/* Of a string, path or axis, owned by `params`; NULL where there is none. */
CT_EXPORT const char *ct_params_string(const CtParams *params, const char *name);
CT_EXPORT const char *ct_params_string_at(const CtParams *params, const char *name, guint i);
CT_EXPORT CtType ct_params_type(const CtParams *params, const char *name);
/* NULL where there is none. */
CT_EXPORT const CtLayout *ct_params_layout(const CtParams *params, const char *name);

/* Sets `error` to "parameter 'NAME': …" and remembers the place in the graph file, which the core
 * puts in front of the message. Returns FALSE. */
CT_EXPORT gboolean ct_params_error(const CtParams *params, const char *name, GError **error,
                                   const char *format, ...) G_GNUC_PRINTF(4, 5);

/* For `infer` and `prepare`: warns the user of what should be known but is no error, "parameter
 * 'NAME': …" at the place in the graph file, or at that of the node where `name` is NULL. */
CT_EXPORT void ct_params_warn(const CtParams *params, const char *name, const char *format, ...)
    G_GNUC_PRINTF(3, 4);

G_END_DECLS
