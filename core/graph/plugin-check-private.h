/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions shared by the checks of stages and of variants. */
#pragma once

#include "plugin-check.h"

/* The most rows of a table; a table with more is taken to lack its last, empty row. */
#define CT_CHECK_ROWS 1024

/* The state of a plugin's check. */
typedef struct {
    GArray *spans; /* memory that the loader has mapped; NULL in checks that read no memory */
    char *who;     /* the subject of messages: "stage 'fir'" */
    CtSizes sizes; /* of the plugin's structs */
    GPtrArray *memory;
    const char **before; /* the name of the row before that which is checked; NULL: it is the first.
                            May be NULL itself */
} CtCheck;

/* Sets "stage 'fir': FIELD: …". Returns FALSE. */
gboolean ct_check_refuse(const CtCheck *check, GError **error, const char *field,
                         const char *format, ...) G_GNUC_PRINTF(4, 5);
/* The same for a field that makes no sense: behind the first row of a table, asks whether the table
 * has an end. */
gboolean ct_check_refuse_row(const CtCheck *check, GError **error, const char *field,
                             const char *format, ...) G_GNUC_PRINTF(4, 5);
/* Notes that row `i` of a table is checked, whose first member is a text. */
void ct_check_begin_row(const CtCheck *check, gconstpointer table, gsize row_bytes, guint i);
void ct_check_end_rows(const CtCheck *check);
/* The number of mapped bytes from `address` on; 0: the address is not mapped. */
gsize ct_check_mapped(const CtCheck *check, gconstpointer address);
gboolean ct_check_is_text(const CtCheck *check, const char *text);
/* Whether `text` is NULL or a text; sets an error otherwise. */
gboolean ct_check_remark(const CtCheck *check, const char *field, const char *text, GError **error);
/* Counts the rows of a table. The first member of a row is a text; NULL ends the table. */
gboolean ct_check_count_rows(const CtCheck *check, const char *field, gconstpointer table,
                             gsize row_bytes, guint *n, GError **error);
/* Whether all members of a struct of the plugin, of `given_bytes`, are 0 from `bytes` on, where the
 * core's struct ends. */
gboolean ct_check_known(const CtCheck *check, const char *field, gconstpointer given,
                        gsize given_bytes, gsize bytes, GError **error);
/* A copy of a table of the plugin, whose rows have `given_bytes`, in rows of `bytes`. NULL with an
 * error. */
gpointer ct_check_copy_rows(const CtCheck *check, const char *field, gconstpointer given,
                            gsize given_bytes, gsize bytes, guint *n, GError **error);
/* A copy of struct number `i` of the plugin's stages or variants (`what`), whose first member is a
 * name, in `bytes`. Sets `who` to the name. NULL with an error. */
gpointer ct_check_read(CtCheck *check, const char *what, guint i, gconstpointer given,
                       gsize given_bytes, gsize bytes, GError **error);
/* Whether `name` consists of letters, digits, _ and the characters of `signs`. */
gboolean ct_check_name(const CtCheck *check, const char *field, const char *name, const char *signs,
                       GError **error);
/* Whether the name of row `i` differs from those of the rows before it. */
gboolean ct_check_unique(const CtCheck *check, const char *field, gconstpointer table,
                         gsize row_bytes, guint i, GError **error);

#define COUNT_ROWS(check, field, table, n, error)                                                  \
    ct_check_count_rows(check, field, table, sizeof *(table), n, error)
#define COPY_ROWS(check, field, table, kind, n, error)                                             \
    ct_check_copy_rows(check, field, table, (check)->sizes.kind, sizeof *(table), n, error)

/* Read stage or variant number `i` of the plugin's tables, check it, and set `who` to its name. */
const CtStage *ct_check_stage(CtCheck *check, const CtStage *given, guint i, GError **error);
const CtVariant *ct_check_variant(CtCheck *check, const CtVariant *given, guint i, GError **error);
