/* SPDX-License-Identifier: BSD-3-Clause */
/* Graphs whose sinks send to the network in place of writing files, with faults and accounts. */
#include "graph/format.h"
#include "kit/faults.h"
#include "model/node-params.h"
#include "pipeline-private.h"

#include <math.h>
#include <pthread.h>
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
         const CtSend *how, GError **error)
{
    char number[G_ASCII_DTOSTR_BUF_SIZE];
    gboolean is_group;
    if (!ct_sender_check(address, &is_group, error))
        return FALSE;
    g_ascii_dtostr(number, sizeof number, how->rate > 0 ? 0 : how->speed);
    g_auto(GStrv) settings = g_new0(char *, 6);
    settings[0] = g_strdup_printf("%s.stage=%s", name, stage);
    settings[1] = g_strdup_printf("%s.path=\"%s\"", name, address);
    settings[2] = g_strdup_printf("%s.speed=%s", name, number);
    if (is_group) {
        settings[3] = g_strdup_printf("%s.ttl=%d", name, how->ttl);
        settings[4] = g_strdup_printf("%s.loop=%s", name, how->loops ? "true" : "false");
    }
    for (guint k = 0; settings[k]; k++)
        if (!ct_pipeline_set(pipeline, settings[k], error))
            return FALSE;
    return TRUE;
}

/* ---- accounts ---- */

typedef struct {
    CtSinkSend send; /* the first member */
    CtSinkSends *of;
    guint number;
} Sink;

/* The state that all sinks which send share. */
struct CtSinkSends {
    CtSend how;            /* with an address for each sink */
    char **addresses;      /* [n] */
    char *files[2];        /* the graph */
    Sink *sinks;           /* [n] */
    CtSendCount *counts;   /* [n] */
    GPtrArray *names;      /* of the sinks, and of their stages */
    GHashTable *by_name;   /* → Sink */
    pthread_mutex_t calls; /* of the program's functions */
};

void
ct_sink_sends_free(CtSinkSends *self)
{
    if (!self)
        return;
    pthread_mutex_destroy(&self->calls);
    g_hash_table_unref(self->by_name);
    g_ptr_array_unref(self->names);
    g_strfreev(self->addresses);
    g_free(self->files[0]);
    g_free(self->sinks);
    g_free(self->counts);
    g_free(self);
}

static void
tell_packet(const CtSendPacket *packet, gpointer data)
{
    const Sink *sink = data;
    CtSendPacket told = *packet;
    told.address = sink->number;
    pthread_mutex_lock(&sink->of->calls);
    sink->of->how.packet(&told, sink->of->how.user_data);
    pthread_mutex_unlock(&sink->of->calls);
}

static gboolean
ask_over(gpointer data)
{
    const Sink *sink = data;
    pthread_mutex_lock(&sink->of->calls);
    const gboolean is_over = sink->of->how.is_over(sink->of->how.user_data);
    pthread_mutex_unlock(&sink->of->calls);
    return is_over;
}

/* Each sink draws chances of its own, from the seed and its number. Takes `names`. */
static CtSinkSends *
make_sends(const CtSend *how, GPtrArray *names, const char *graph)
{
    CtSinkSends *self = g_new0(CtSinkSends, 1);
    const guint n = names->len / 2;
    self->names = names;
    self->addresses = g_new0(char *, n + 1);
    self->sinks = g_new0(Sink, n);
    self->counts = g_new0(CtSendCount, n);
    self->by_name = g_hash_table_new(g_str_hash, g_str_equal);
    self->files[0] = g_strdup(graph);
    self->how = *how;
    self->how.addresses = (const char *const *)self->addresses;
    self->how.files = (const char *const *)self->files;
    pthread_mutex_init(&self->calls, NULL);
    for (guint i = 0; i < n; i++) {
        Sink *sink = &self->sinks[i];
        self->addresses[i] = g_strdup(how->addresses[how->addresses[1] ? i : 0]);
        self->counts[i].sink = names->pdata[2 * i];
        *sink = (Sink){{*how, &self->counts[i]}, self, i};
        sink->send.how.seed += i;
        sink->send.how.user_data = sink;
        sink->send.how.packet = how->packet ? tell_packet : NULL;
        sink->send.how.is_over = how->is_over ? ask_over : NULL;
        g_hash_table_insert(self->by_name, names->pdata[2 * i], sink);
    }
    return self;
}

static gboolean
check_how(const CtSend *how, GError **error)
{
    if (!ct_send_check(how, error) || !ct_senders_check(how->addresses, error))
        return FALSE;
    if (how->rate == 0 || how->rate == HUGE_VAL)
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER,
                "rate wants files of packets, or an infinite one, but is given %g for a graph",
                how->rate);
    return FALSE;
}

gboolean
ct_pipeline_send(CtPipeline *pipeline, const CtSend *how, GError **error)
{
    if (!ct_pipeline_is_before(pipeline, CT_STEP_CHECK, __func__, error) || !check_how(how, error))
        return FALSE;
    if (!pipeline->registry && !(pipeline->registry = ct_registry_new(error)))
        return FALSE;
    g_autoptr(GPtrArray) names = find_sinks(pipeline, error);
    if (!names ||
        !check_number(pipeline, names->len / 2, g_strv_length((char **)how->addresses), error))
        return FALSE;
    ct_sink_sends_free(pipeline->sends);
    CtSinkSends *sends = make_sends(how, g_steal_pointer(&names), pipeline->name);
    pipeline->sends = sends;
    pipeline->run_options.sends = sends->by_name;
    for (guint i = 0; sends->addresses[i]; i++)
        if (!set_sink(pipeline, sends->names->pdata[2 * i], sends->names->pdata[2 * i + 1],
                      sends->addresses[i], how, error))
            return FALSE;
    return TRUE;
}

const CtSendCount *
ct_pipeline_sent(const CtPipeline *pipeline, guint *n)
{
    const CtSinkSends *sends = pipeline->sends;
    *n = sends ? g_strv_length(sends->addresses) : 0;
    return sends ? sends->counts : NULL;
}

char *
ct_pipeline_describe_sent(const CtPipeline *pipeline, const char *format, const char *state,
                          const char *error)
{
    static const char *const none[] = {NULL};
    static const CtSend nothing = {.files = none, .addresses = none};
    const CtSinkSends *sends = pipeline->sends;
    return ct_send_describe(sends ? &sends->how : &nothing, sends ? sends->counts : NULL, format,
                            state, error);
}
