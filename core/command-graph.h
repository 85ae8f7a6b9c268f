/* SPDX-License-Identifier: BSD-3-Clause */
/* What check, plan and run share: the options on a graph, and the way from its file to its plan. */
#pragma once

#include "command.h"
#include "plan.h"

typedef struct {
    char **overrides; /* --set */
    char **backends;  /* --backend */
    char **variants;  /* --variant */
    gint workers;     /* --workers; 0: one for each processor */
    CtPlanOptions plan_options;
    CtConfig *config;
    CtRegistry *registry;
    CtGraph *graph;
    CtPlan *plan;
} CtSession;

void ct_session_clear(CtSession *session);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CtSession, ct_session_clear)

/* Parses the options of `command`, its `own` and those on graphs, of which there must be one in
 * `argv[1]`. */
gboolean ct_session_parse(CtSession *session, const CtCommand *command, const GOptionEntry *own,
                          int *argc, char ***argv, GError **error);
/* Reads the graph, finds its stages, and lets its shapes flow. */
gboolean ct_session_check(CtSession *session, const char *path, GError **error);
/* And plans it. */
gboolean ct_session_plan(CtSession *session, const char *path, GError **error);
