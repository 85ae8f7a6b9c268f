/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs of a pipeline's graph that measure: verification, tuning and comparison. */
#include "device/device.h"
#include "measure/tune-compare.h"
#include "measure/tune.h"
#include "measure/verify.h"
#include "pipeline-private.h"

#include <cornerturn/text.h>

/* ---- verification ---- */

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

/* ---- tuning ---- */

static char *
report_to_text(const CtTuneReport *report)
{
    const CtTuneProgress *progress = &report->progress;
    g_autofree char *elapsed = ct_format_seconds(progress->elapsed);
    GString *text = g_string_new(NULL);
    g_string_printf(text,
                    "%u ways of running the graph's stages measured, %u repetitions in %s; "
                    "%u were known\n",
                    progress->n_measured, progress->n_repetitions, elapsed, progress->n_kept);
    for (guint i = 0; i < report->failures->len; i++)
        g_string_append_printf(text, "passed over: %s\n",
                               (const char *)g_ptr_array_index(report->failures, i));
    if (report->blocks)
        g_string_append_printf(text, "%s\n", report->blocks);
    return g_string_free(text, FALSE);
}

char *
ct_pipeline_tune(CtPipeline *pipeline, const CtTuneControl *control, gboolean *is_decided,
                 GError **error)
{
    if (!ct_pipeline_is_within(__func__, control->budget, 0, G_MAXDOUBLE,
                               "a finite budget of 0 s or more", error) ||
        !ct_pipeline_check(pipeline, error))
        return NULL;
    ct_pipeline_settle(pipeline);
    const CtTuneOptions options = {
        .graph = pipeline->graph,
        .registry = pipeline->registry,
        .plan = &pipeline->plan_options,
        .budget = control->budget,
        .is_quick = control->is_quick,
        .progress = control->progress,
        .is_over = control->is_over,
        .data = control->user_data,
    };
    g_autoptr(GPtrArray) devices G_GNUC_UNUSED = ct_devices_keep_open();
    g_auto(CtTuneReport) report = {0};
    if (!ct_tune(&options, &report, error))
        return NULL;
    *is_decided = report.is_decided;
    return report_to_text(&report);
}

char *
ct_pipeline_compare(CtPipeline *pipeline, const CtTuneControl *control, GError **error)
{
    if (!ct_pipeline_check_fed(pipeline, error))
        return NULL;
    ct_pipeline_settle(pipeline);
    const CtCompareOptions options = {
        .graph = pipeline->graph,
        .registry = pipeline->registry,
        .plan = &pipeline->plan_options,
        .n_repetitions = control->is_quick ? 3 : 7,
        .seconds = control->is_quick ? 0.3 : 1,
        .is_over = control->is_over,
        .data = control->user_data,
    };
    g_autoptr(GPtrArray) devices G_GNUC_UNUSED = ct_devices_keep_open();
    GError *cause = NULL;
    char *text = ct_compare(&options, &cause);
    if (cause)
        g_propagate_error(error, cause);
    else if (!text)
        g_set_error(error, CT_ERROR, CT_ERROR_CANCELLED, "the comparison was ended early");
    return text;
}
