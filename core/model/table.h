/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of text for people. */
#pragma once

#include <glib.h>

typedef struct {
    const char *title;
    gboolean is_number; /* stands on the right */
} CtColumn;

/* Rows of cells (char **, NULL-terminated), under the titles. */
void ct_table_print(GString *text, const CtColumn *columns, guint n, const GPtrArray *rows);
/* For the rows: frees them with their cells. */
GPtrArray *ct_table_rows_new(void);

/* "31,104"; beyond what is exact, "1.2e+17". Allocated. */
char *ct_table_count(gdouble count);
