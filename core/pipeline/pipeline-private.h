/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of a pipeline, for the files that implement <cornerturn/pipeline.h>. */
#pragma once

#include "plan/plan.h"
#include "run/scheduler.h"

#include <cornerturn/json.h>
#include <cornerturn/send.h>

typedef struct CtSinkSends CtSinkSends;

struct CtPipeline {
    char *path; /* path of the file; NULL: the graph is `text` */
    char *text;
    gsize length;
    char *name;
    GPtrArray *overrides;  /* of char, NULL-terminated */
    char *costs;           /* the cost database that the options point to */
    guint default_workers; /* that the environment names; 0: it names none */
    guint n_workers;       /* that the caller or the environment names; 0: neither does */
    GArray *cpus;          /* of guint: processors that the caller names; NULL: it names none */
    gboolean leaves_pipes; /* refuses to read them */
    gboolean is_verified;  /* for ct_pipeline_verify(), which reads all outputs */
    CtPlanOptions plan_options;
    CtRunOptions run_options;
    GHashTable *offers; /* node name → guint8 * */
    CtRegistry *registry;
    CtConfig *config;
    CtGraph *graph;
    GPtrArray *warnings;      /* of CtWarning: of the graph; NULL: it is not checked yet */
    GPtrArray *late_warnings; /* … and of the run or the verification */
    CtPlan *plan;
    CtScheduler *scheduler; /* NULL: not prepared yet */
    gboolean is_started;
    guint8 **memory;    /* [link] */
    CtSinkSends *sends; /* of ct_pipeline_send(); NULL: none */
};

/* (send-graph.c) NULL is none. */
void ct_sink_sends_free(CtSinkSends *sends);
/* Checks the numbers of `how` (send.c). */
gboolean ct_send_check(const CtSend *how, GError **error);

/* The steps of a pipeline, in their order. Each takes those before it if necessary. */
typedef enum {
    CT_STEP_CHECK,
    CT_STEP_PLAN,
    CT_STEP_PREPARE,
    CT_STEP_START,
    CT_N_STEPS
} CtPipelineStep;

/* Whether the pipeline has not taken `step` yet. Otherwise the error says that `function` comes too
 * late. */
gboolean ct_pipeline_is_before(const CtPipeline *pipeline, CtPipelineStep step,
                               const char *function, GError **error);
/* Whether the pipeline has taken `step`. Otherwise the error says that `function` comes too
 * early. */
gboolean ct_pipeline_is_after(const CtPipeline *pipeline, CtPipelineStep step, const char *function,
                              GError **error);

/* Whether least ≤ given ≤ most. Otherwise the error says that `function` wants what `wanted`
 * describes. */
gboolean ct_pipeline_is_within(const char *function, gdouble given, gdouble least, gdouble most,
                               const char *wanted, GError **error);

/* The node's entry in the graph's file; NULL with an error. */
const CtConfigStage *ct_pipeline_find_entry(const CtPipeline *pipeline, const char *node,
                                            GError **error);
/* The number of workers that the environment names; 0: it names none. */
gboolean ct_pipeline_find_workers(guint *n_workers, GError **error);
/* Reads the text and checks its syntax, so that errors in the file are reported when it is loaded.
 * After an error the pipeline is unchanged. */
gboolean ct_pipeline_configure(CtPipeline *pipeline, GError **error);
/* Settles the options of plans that depend on the graph, which is checked. */
void ct_pipeline_settle(CtPipeline *pipeline);
/* (pipeline-streams.c) Adds the nodes with their streams, as ct_pipeline_streams_json() has them;
 * none if `graph` is NULL. */
void ct_pipeline_add_nodes_json(CtJson *json, const CtGraph *graph);
/* Begins a new list of the warnings of a run or a verification. */
void ct_pipeline_renew_late_warnings(CtPipeline *pipeline);
/* All warnings until now: an array of CtWarning, for g_ptr_array_unref. */
GPtrArray *ct_pipeline_collect_warnings(const CtPipeline *pipeline);
/* The node of the plan that is the `input` or `output` (`stage`; NULL: either) named `name`; −1
 * with an error. Plans first if necessary. */
gint ct_pipeline_find_endpoint(CtPipeline *pipeline, const char *name, const char *stage,
                               GError **error);
