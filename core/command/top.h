/* SPDX-License-Identifier: BSD-3-Clause */
/* What `cornerturn top` shows: two statistics of a run, and a table of what happened between. */
#pragma once

#include <json-glib/json-glib.h>

typedef struct {
    JsonNode *state;        /* of the control port's paths; NULL: not read yet */
    JsonNode *before, *now; /* the statistics; `before` NULL: only one was read */
} CtTop;

/* Asks the control port at `address`. FALSE with an error: it does not answer. */
gboolean ct_top_read(CtTop *top, const char *address, GError **error);
/* The table, allocated. */
char *ct_top_to_text(const CtTop *top);
void ct_top_clear(CtTop *top);
