/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that the checks of stages and of variants share. */
#pragma once

#include "plugin-check.h"

/* Rows of a table at most: one that has more lacks the row that ends it. */
#define CT_CHECK_ROWS 1024

/* The check of a plugin, and who is looked at. */
typedef struct {
    GArray *spans; /* what the loader has mapped; NULL where no memory is asked for */
    char *who;     /* "stage 'fir'" */
} CtCheck;

/* Sets "stage 'fir': FIELD: …". Returns FALSE. */
gboolean ct_check_refuse(const CtCheck *check, GError **error, const char *field,
                         const char *format, ...) G_GNUC_PRINTF(4, 5);
/* Bytes from `address` on that an object of this process has; 0: none has it. */
gsize ct_check_mapped(const CtCheck *check, gconstpointer address);
gboolean ct_check_is_text(const CtCheck *check, const char *text);
/* A text, or NULL. */
gboolean ct_check_remark(const CtCheck *check, const char *field, const char *text, GError **error);
/* Counts the rows of a table that ends with a row whose first member, a text, is NULL. */
gboolean ct_check_count_rows(const CtCheck *check, const char *field, gconstpointer table,
                             gsize row_bytes, guint *n, GError **error);
/* Whether `name` is made of letters, digits, _ and these signs. */
gboolean ct_check_name(const CtCheck *check, const char *field, const char *name, const char *signs,
                       GError **error);
/* Whether the name of row `i` is no earlier row's. */
gboolean ct_check_unique(const CtCheck *check, const char *field, gconstpointer table,
                         gsize row_bytes, guint i, GError **error);

#define COUNT_ROWS(check, field, table, n, error)                                                  \
    ct_check_count_rows(check, field, table, sizeof *(table), n, error)

/* The i-th stage, and variant, of the plugin's tables; `who` becomes its name. */
gboolean ct_check_stage(CtCheck *check, const CtStage *stage, guint i, GError **error);
gboolean ct_check_variant(CtCheck *check, const CtVariant *variant, guint i, GError **error);
