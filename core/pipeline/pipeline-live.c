/* SPDX-License-Identifier: BSD-3-Clause */
/* Changes of parameters during a run, and the parameters that can change. */
#include "graph/expand.h"
#include "model/node-params.h"
#include "pipeline-private.h"

#include <cornerturn/json.h>
#include <cornerturn/text.h>

/* Ticks within this have differences that do not overflow. */
#define MAX_TICK ((gint64)1 << 60)

/* Changes a parameter from *tick on, or from the `utc` on unless it is NULL. */
static gboolean
change(CtPipeline *pipeline, const char *function, const char *assignment, const char *utc,
       gint64 *tick, GError **error)
{
    g_autofree char *node = NULL;
    g_autofree char *key = NULL;
    g_autoptr(CtValue) value = ct_assignment_parse(assignment, function, &node, &key, error);
    if (!value || !ct_pipeline_find_entry(pipeline, node, error) ||
        !ct_pipeline_prepare(pipeline, error))
        return FALSE;
    const CtStream *stream = NULL;
    CtUtc time;
    if (utc && !ct_utc_parse_exact(utc, &time, error))
        return FALSE;
    if (utc && !(stream = ct_pipeline_stream(pipeline, node, NULL, error)))
        return FALSE;
    if (utc && !ct_stream_tick_at(stream, &time, tick)) {
        g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER,
                    "node '%s' wants a tick: its stream does not know the time in UTC", node);
        return FALSE;
    }
    return (*tick == CT_CHANGE_NOW ||
            ct_pipeline_is_within(function, (gdouble)*tick, -(gdouble)MAX_TICK, (gdouble)MAX_TICK,
                                  "a tick within ±2^60", error)) &&
           ct_scheduler_change(pipeline->scheduler, node, key, value, assignment, tick, error);
}

gboolean
ct_pipeline_set_at(CtPipeline *pipeline, const char *assignment, gint64 tick, GError **error)
{
    /* The tick that means "now" is out of range here. */
    gint64 given = MAX(tick, CT_CHANGE_NOW + 1);
    return change(pipeline, __func__, assignment, NULL, &given, error);
}

gboolean
ct_pipeline_set_now(CtPipeline *pipeline, const char *assignment, gint64 *tick, GError **error)
{
    gint64 found = CT_CHANGE_NOW;
    if (!change(pipeline, __func__, assignment, NULL, &found, error))
        return FALSE;
    *tick = found;
    return TRUE;
}

gboolean
ct_pipeline_set_at_time(CtPipeline *pipeline, const char *assignment, const char *utc, gint64 *tick,
                        GError **error)
{
    gint64 found = 0;
    if (!change(pipeline, __func__, assignment, utc, &found, error))
        return FALSE;
    *tick = found;
    return TRUE;
}

static void
add_param(CtJson *json, const CtLiveParam *live)
{
    const gboolean has_next = live->next != G_MAXINT64;
    g_autofree char *wants = ct_param_describe(live->param);
    g_autofree char *utc = has_next && live->of ? ct_stream_utc(live->of, live->next) : NULL;
    ct_json_begin_object(json, NULL);
    ct_json_add_text(json, "node", live->node);
    ct_json_add_text(json, "parameter", live->param->name);
    ct_json_add_text(json, "wants", wants);
    ct_json_add_text(json, "about", live->param->help);
    ct_json_add_text(json, "value", live->value);
    ct_json_begin_array(json, "pending");
    for (guint i = 0; i < live->pending->len; i++) {
        const CtChangeStats *change = &g_array_index(live->pending, CtChangeStats, i);
        ct_json_begin_object(json, NULL);
        ct_json_add_text(json, "set", change->shown);
        ct_json_add_integer(json, "tick", change->tick);
        ct_json_end_object(json);
    }
    ct_json_end_array(json);
    if (has_next)
        ct_json_add_integer(json, "next", live->next);
    else
        ct_json_add_text(json, "next", NULL);
    ct_json_add_text(json, "utc", utc);
    ct_json_end_object(json);
}

char *
ct_pipeline_live_json(CtPipeline *pipeline)
{
    g_return_val_if_fail(pipeline->scheduler, NULL);
    g_autoptr(GArray) params = ct_scheduler_live_params(pipeline->scheduler);
    CtJson *json = ct_json_new();
    ct_json_begin_array(json, "parameters");
    for (guint i = 0; i < params->len; i++)
        add_param(json, &g_array_index(params, CtLiveParam, i));
    ct_json_end_array(json);
    return ct_json_free_to_text(json, FALSE);
}

char *
ct_pipeline_graph_json(const CtPipeline *pipeline)
{
    const CtConfig *config = pipeline->config;
    CtJson *json = ct_json_new();
    ct_json_add_text(json, "name", pipeline->name);
    ct_json_add_text(json, "text", config->text);
    ct_json_begin_array(json, "settings");
    for (guint i = 0; config->overrides && config->overrides[i]; i++)
        ct_json_add_text(json, NULL, config->overrides[i]);
    ct_json_end_array(json);
    return ct_json_free_to_text(json, FALSE);
}
