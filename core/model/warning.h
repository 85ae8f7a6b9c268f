/* SPDX-License-Identifier: BSD-3-Clause */
/* Warnings: facts about a graph, its plan or its run that the user should know, but that do not
 * prevent the run. */
#pragma once

#include "document.h"

#include <cornerturn/json.h>

typedef enum {
    CT_WARNING_STAGE,     /* raised by a stage itself */
    CT_WARNING_PARAMETER, /* a parameter that has no effect */
    CT_WARNING_UNREAD,    /* a node whose outputs nobody reads */
    CT_WARNING_EMPTY,     /* a stream of no samples */
    CT_WARNING_SHORT,     /* a node whose sums are all short */
    CT_WARNING_INVALID,   /* a stream whose samples are all invalid */
    CT_WARNING_EARLY,     /* data before the first block of a static input */
    CT_WARNING_CHANGE,    /* a change of a parameter that has no effect */
    CT_WARNING_CLIPPED,   /* a node that clipped many of its elements */
    CT_WARNING_PLAN       /* a plan that differs from what was asked for */
} CtWarningKind;

typedef struct {
    CtWarningKind kind;
    char *node;    /* NULL: the warning is not about a single node */
    CtPlace place; /* of the node, or of its parameter; file NULL: none */
    char *message;
} CtWarning;

/* A list of CtWarning, for g_ptr_array_unref. */
GPtrArray *ct_warnings_new(void);
/* Adds a warning, unless the list already has one with this node and message. `place` may be
 * NULL. */
void ct_warnings_add(GPtrArray *warnings, CtWarningKind kind, const char *node,
                     const CtPlace *place, const char *format, ...) G_GNUC_PRINTF(5, 6);
/* Warns if a node that sums `hop` samples each time is given only `n` in all, so that its one sum
 * is short. Does not warn for `n` 0. */
void ct_warnings_add_short(GPtrArray *warnings, const char *node, const CtPlace *place, gint64 hop,
                           gint64 n);
/* Adds the warnings of another list. */
void ct_warnings_join(GPtrArray *warnings, const GPtrArray *others);
/* Whether the list has a warning of this kind about the node. */
gboolean ct_warnings_have(const GPtrArray *warnings, CtWarningKind kind, const char *node);

/* "FILE:LINE:COLUMN: node 'NAME': warning: …" */
char *ct_warning_to_string(const CtWarning *warning);
/* Adds the warnings as an array. */
void ct_warnings_add_json(CtJson *json, const char *key, const GPtrArray *warnings);
/* Turns all warnings into one error, one per line. Returns TRUE if there are none. */
gboolean ct_warnings_refuse(const GPtrArray *warnings, GError **error);
