/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameters of a stage: the table that declares them, and the values that a graph gives them. */
#pragma once

#include <cornerturn/layout.h>

G_BEGIN_DECLS

typedef enum {
    CT_PARAM_INT,      /* 1024 */
    CT_PARAM_REAL,     /* 0.5 */
    CT_PARAM_QUANTITY, /* 200 MHz, in the SI unit of the row; exact if it can be written as a
                          fraction */
    CT_PARAM_BOOL,     /* true, false */
    CT_PARAM_CHOICE,   /* one of `choices` */
    CT_PARAM_STRING,
    CT_PARAM_PATH,   /* of a file, relative to the working directory */
    CT_PARAM_TYPE,   /* ci8 */
    CT_PARAM_LAYOUT, /* ci8[time station pol] */
    CT_PARAM_AXIS    /* the name of an axis: channel */
} CtParamKind;

typedef enum {
    CT_PARAM_REQUIRED = 1 << 0,
    CT_PARAM_LIST = 1 << 1,    /* a list of the kind; a single value is a list of one */
    CT_PARAM_TABLE = 1 << 2,   /* a list of lists of the kind (rows of equal length) */
    CT_PARAM_RANGED = 1 << 3,  /* `minimum` and `maximum` are checked */
    CT_PARAM_WRITTEN = 1 << 4, /* of a path: the stage writes the file; otherwise it reads it */
    CT_PARAM_LIVE = 1 << 5,    /* may change during a run; stage.h says what this asks of a stage */
    CT_PARAM_PIPE = 1 << 6, /* of a path: it may be `-`, standard output (with CT_PARAM_WRITTEN) or
                               input; `fd:3`, an open file of the process; a FIFO; or, of stages
                               that receive or send packets, `udp://ADDRESS:PORT`. These have no
                               `endings` */
    CT_PARAM_SAMPLES = 1 << 7 /* of a single integer: a number of samples of the first input along
                                 time. The graph may give a time in its place, `1 ms`, which must be
                                 a whole number of samples; getters return that number. `minimum`,
                                 with CT_PARAM_RANGED, is at least 1 */
} CtParamFlags;

/* A row of a stage's table; a row without a name ends the table. */
typedef struct {
    const char *name;
    CtParamKind kind;
    CtParamFlags flags;
    const char *unit;           /* of a quantity: "Hz" "s" "m" "rad" "B"; NULL: a number */
    gdouble minimum, maximum;   /* in `unit`; used with CT_PARAM_RANGED */
    const char *fallback;       /* the default as a user would write it; NULL: none */
    const char *const *choices; /* of a choice; NULL-terminated */
    const char *help;           /* one line */
    const char *const *endings; /* of a path: the stage also uses the files whose names are the path
                                   with one of these endings; NULL-terminated. NULL: none */
} CtParam;

/* The checked values of one node. Getters take names from the stage's own table. Items of a list
 * are counted from 0. Asking for another name or kind, or for an item past the end, is a fault of
 * the plugin: the getter returns a harmless value (1, or an empty text or layout), and the node
 * fails when the calling function returns.
 *
 * Getters also note that the parameter is used; ct_params_has does not. The user is warned that a
 * parameter has no effect if the graph gives it and nothing uses it. So get a value only where it
 * has an effect (`beta` only for a Kaiser window). */
typedef struct CtParams CtParams;

/* Notes that a parameter is used before its value is got. */
CT_EXPORT void ct_params_use(const CtParams *params, const char *name);
/* Whether the parameter has a value, from the graph or by default. */
CT_EXPORT gboolean ct_params_has(const CtParams *params, const char *name);
/* Whether the stage's table has the parameter: for code that serves several tables. */
CT_EXPORT gboolean ct_params_knows(const CtParams *params, const char *name);
/* Whether the graph gives a number of samples (CT_PARAM_SAMPLES) as a time. */
CT_EXPORT gboolean ct_params_is_time(const CtParams *params, const char *name);
/* The number of items of a list or of rows of a table; 1 for a single value, 0 without a value. */
CT_EXPORT guint ct_params_count(const CtParams *params, const char *name);
/* The number of columns of a table. */
CT_EXPORT guint ct_params_columns(const CtParams *params, const char *name);
CT_EXPORT gint64 ct_params_int(const CtParams *params, const char *name);
CT_EXPORT gint64 ct_params_int_at(const CtParams *params, const char *name, guint i);
/* The value of a real, or of a quantity in SI units. */
CT_EXPORT gdouble ct_params_real(const CtParams *params, const char *name);
CT_EXPORT gdouble ct_params_real_at(const CtParams *params, const char *name, guint i);
CT_EXPORT gdouble ct_params_real_cell(const CtParams *params, const char *name, guint row,
                                      guint column);
/* The value of a quantity as an exact fraction in lowest terms, or a close one if there is none. */
CT_EXPORT void ct_params_rational(const CtParams *params, const char *name, gint64 *numerator,
                                  gint64 *denominator);
/* Whether that fraction is exact. */
CT_EXPORT gboolean ct_params_is_exact(const CtParams *params, const char *name);
CT_EXPORT gboolean ct_params_bool(const CtParams *params, const char *name);
/* The index of the value in the row's `choices`. */
CT_EXPORT guint ct_params_choice(const CtParams *params, const char *name);
/* The value of a string, path or axis, owned by `params`; NULL if there is none. */
CT_EXPORT const char *ct_params_string(const CtParams *params, const char *name);
CT_EXPORT const char *ct_params_string_at(const CtParams *params, const char *name, guint i);
CT_EXPORT CtType ct_params_type(const CtParams *params, const char *name);
/* NULL if there is no value. */
CT_EXPORT const CtLayout *ct_params_layout(const CtParams *params, const char *name);

/* Sets `error` to "parameter 'NAME': …". The core prefixes it with the place in the graph file.
 * Returns FALSE. */
CT_EXPORT gboolean ct_params_error(const CtParams *params, const char *name, GError **error,
                                   const char *format, ...) G_GNUC_PRINTF(4, 5);

/* For `infer`, `prepare` and `advance`: warns the user, "parameter 'NAME': …", at the place of the
 * parameter in the graph file, or at that of the node if `name` is NULL. */
CT_EXPORT void ct_params_warn(const CtParams *params, const char *name, const char *format, ...)
    G_GNUC_PRINTF(3, 4);

G_END_DECLS
