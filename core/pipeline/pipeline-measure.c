/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs of a pipeline's graph that measure. */
#include "measure/verify.h"
#include "pipeline-private.h"

char *
ct_pipeline_verify(CtPipeline *pipeline, const char *against, const char *node, gboolean *agrees,
                   GError **error)
{
    CtConfigBackend backend;
    if (!ct_config_backend_parse(&backend, against, error)) {
        g_prefix_error(error, "against: ");
        return NULL;
    }
    pipeline->is_verified = TRUE;
    if (!ct_pipeline_plan(pipeline, error))
        return NULL;
    ct_pipeline_renew_late_warnings(pipeline);
    pipeline->run_options.warned = pipeline->warnings;
    const CtVerifyOptions options = {
        .graph = pipeline->graph,
        .registry = pipeline->registry,
        .plan = &pipeline->plan_options,
        .run = &pipeline->run_options,
        .against = backend,
        .node = node,
        .warnings = pipeline->late_warnings,
    };
    g_autoptr(GPtrArray) rows = ct_verify(&options, error);
    if (!rows ||
        (pipeline->run_options.strict && !ct_warnings_refuse(pipeline->late_warnings, error)))
        return NULL;
    return ct_verify_to_text(rows, agrees);
}
