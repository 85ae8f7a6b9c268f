/* SPDX-License-Identifier: BSD-3-Clause */
/* Graphs whose sinks send to the network in place of writing files. */
#include "graph/format.h"
#include "kit/sender.h"
#include "model/node-params.h"
#include "pipeline-private.h"

#include <cornerturn/send.h>
#include <string.h>

/* Whether the stage is a sink that can send: its table has CT_SINK_SEND_PARAMS. */
static gboolean
can_send(const CtStage *stage)
{
    static const char *const names[] = {"path", "speed", "ttl", "loop"};
    guint n = 0;
    for (const CtParam *param = ct_stage_params(stage); param->name; param++)
        for (guint i = 0; i < G_N_ELEMENTS(names); i++)
            n += strcmp(param->name, names[i]) == 0;
    return !stage->outputs && n == G_N_ELEMENTS(names);
}

/* The names of the sinks that can send, in the order of the graph, and of their stages: pairs. NULL
 * with an error. */
static GPtrArray *
find_sinks(CtPipeline *pipeline, GError **error)
{
    g_autoptr(GPtrArray) sinks = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < pipeline->config->stages->len; i++) {
        const CtConfigStage *one = pipeline->config->stages->pdata[i];
        /* The check tells of a stage that is not there. */
        const CtStage *stage = ct_registry_stage(pipeline->registry, one->stage, NULL);
        if (stage && !(stage = ct_format_choose(pipeline->registry, stage, one, error)))
            return NULL;
        if (!stage || !can_send(stage))
            continue;
        g_ptr_array_add(sinks, g_strdup(one->name));
        g_ptr_array_add(sinks, g_strdup(stage->name));
    }
    return g_steal_pointer(&sinks);
}

static gboolean
check_number(const CtPipeline *pipeline, guint n_sinks, guint n_addresses, GError **error)
{
    if (n_sinks > 0 && (n_addresses == 1 || n_addresses == n_sinks))
        return TRUE;
    if (n_sinks > 0)
        g_set_error(
            error, CT_ERROR, CT_ERROR_PARAMETER,
            "%s: wants one address, or one for each of %u sinks that can send, but is given "
            "%u",
            pipeline->name, n_sinks, n_addresses);
    else
        g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER,
                    "%s: wants a sink that can send, as vdif.sink, but has none", pipeline->name);
    return FALSE;
}

static gboolean
set_sink(CtPipeline *pipeline, const char *name, const char *stage, const char *address,
         gdouble speed, gint ttl, gboolean loops, GError **error)
{
    char number[G_ASCII_DTOSTR_BUF_SIZE];
    gboolean is_group;
    if (!ct_sender_check(address, &is_group, error))
        return FALSE;
    g_ascii_dtostr(number, sizeof number, speed);
    g_auto(GStrv) settings = g_new0(char *, 6);
    settings[0] = g_strdup_printf("%s.stage=%s", name, stage);
    settings[1] = g_strdup_printf("%s.path=\"%s\"", name, address);
    settings[2] = g_strdup_printf("%s.speed=%s", name, number);
    if (is_group) {
        settings[3] = g_strdup_printf("%s.ttl=%d", name, ttl);
        settings[4] = g_strdup_printf("%s.loop=%s", name, loops ? "true" : "false");
    }
    for (guint k = 0; settings[k]; k++)
        if (!ct_pipeline_set(pipeline, settings[k], error))
            return FALSE;
    return TRUE;
}

gboolean
ct_pipeline_send_to(CtPipeline *pipeline, const char *const *addresses, gdouble speed, gint ttl,
                    gboolean loops, GError **error)
{
    if (!ct_pipeline_is_before(pipeline, CT_STEP_CHECK, __func__, error) ||
        !ct_senders_check(addresses, error))
        return FALSE;
    if (!pipeline->registry && !(pipeline->registry = ct_registry_new(error)))
        return FALSE;
    g_autoptr(GPtrArray) sinks = find_sinks(pipeline, error);
    const guint n = g_strv_length((char **)addresses);
    if (!sinks || !check_number(pipeline, sinks->len / 2, n, error))
        return FALSE;
    for (guint i = 0; i < sinks->len / 2; i++)
        if (!set_sink(pipeline, sinks->pdata[2 * i], sinks->pdata[2 * i + 1],
                      addresses[n == 1 ? 0 : i], speed, ttl, loops, error))
            return FALSE;
    return TRUE;
}
