/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of text for people. */
#pragma once

#include <glib.h>

typedef struct {
    const char *title;
    gboolean is_number; /* aligned to the right */
} CtColumn;

/* Appends a table: the titles, then `rows` of cells (char **, NULL-terminated). */
void ct_table_print(GString *text, const CtColumn *columns, guint n, const GPtrArray *rows);
/* An array for the rows; it frees them and their cells. */
GPtrArray *ct_table_rows_new(void);

/* "31,104", or "1.2e+17" from 1e15 on. Allocated. */
char *ct_table_count(gdouble count);
