/* SPDX-License-Identifier: BSD-3-Clause */
/* Warnings: what should be known of a graph, its plan or its run, but keeps none of them from going
 * on. */
#pragma once

#include "document.h"

typedef enum {
    CT_WARNING_STAGE,     /* what a stage says itself */
    CT_WARNING_PARAMETER, /* one that has no effect */
    CT_WARNING_UNREAD,    /* a node whose outputs nobody reads */
    CT_WARNING_EMPTY,     /* a stream of no samples */
    CT_WARNING_SHORT,     /* sums that are all short */
    CT_WARNING_INVALID,   /* a stream whose samples are all invalid */
    CT_WARNING_EARLY,     /* data before the first block of a static input */
    CT_WARNING_PLAN       /* a plan other than what was asked for */
} CtWarningKind;

typedef struct {
    CtWarningKind kind;
    char *node;    /* NULL: no single one */
    CtPlace place; /* of the node, or its parameter; file NULL: none */
    char *message;
} CtWarning;

/* A list of CtWarning, for g_ptr_array_unref. */
GPtrArray *ct_warnings_new(void);
/* Adds one, unless the list has it already. `place` may be NULL. */
void ct_warnings_add(GPtrArray *warnings, CtWarningKind kind, const char *node,
                     const CtPlace *place, const char *format, ...) G_GNUC_PRINTF(5, 6);
/* Warns of sums of `hop` samples each, where no more than `n` come in: where that is fewer, every
 * sum is short. */
void ct_warnings_add_short(GPtrArray *warnings, const char *node, const CtPlace *place, gint64 hop,
                           gint64 n);
/* Adds those of another list. */
void ct_warnings_join(GPtrArray *warnings, const GPtrArray *others);
/* Whether there is one of this kind about the node. */
gboolean ct_warnings_have(const GPtrArray *warnings, CtWarningKind kind, const char *node);

/* "FILE:LINE:COLUMN: node 'NAME': warning: …" */
char *ct_warning_to_string(const CtWarning *warning);
/* Appends them as a JSON array. */
void ct_warnings_append_json(GString *text, const GPtrArray *warnings);
/* Makes an error of them all, one a line; TRUE: there are none. */
gboolean ct_warnings_refuse(const GPtrArray *warnings, GError **error);
