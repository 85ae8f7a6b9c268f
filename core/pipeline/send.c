/* SPDX-License-Identifier: BSD-3-Clause */
/* Sending captures of packets to the network. */
#include "graph/graph.h"
#include "kit/capture.h"
#include "kit/faults.h"
#include "model/unknown.h"
#include "pipeline-private.h"

#include <cornerturn/json.h>
#include <cornerturn/send.h>
#include <math.h>
#include <string.h>

/* The name of the node that reads the files. */
#define NODE "capture"

/* ---- the source ---- */

/* How a stage reads packets; NULL: it reads none. */
static const CtSource *
find_source(const CtRegistry *registry, const CtStage *stage)
{
    const GPtrArray *variants = ct_registry_variants(registry, stage->name);
    for (guint i = 0; i < variants->len; i++) {
        const CtVariant *variant = variants->pdata[i];
        if (variant->prepare == ct_source_prepare)
            return variant->form;
    }
    return NULL;
}

static gboolean
has_extension(const CtStage *stage, const char *path)
{
    for (guint i = 0; stage->extensions && stage->extensions[i]; i++)
        if (g_str_has_suffix(path, stage->extensions[i]))
            return TRUE;
    return FALSE;
}

/* The stage that reads the files. */
static const CtStage *
find_stage(const CtRegistry *registry, const CtSend *how, GError **error)
{
    const GPtrArray *stages = ct_registry_stages(registry);
    const CtStage *stage = how->stage ? ct_registry_stage(registry, how->stage, error) : NULL;
    if (how->stage && (!stage || find_source(registry, stage))) {
        return stage;
    } else if (how->stage) {
        g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER,
                    "--stage wants a source of packets, as lofar.source, but is given '%s'",
                    how->stage);
        return NULL;
    }
    for (guint i = 0; i < stages->len; i++)
        if (has_extension(stages->pdata[i], how->files[0]) &&
            find_source(registry, stages->pdata[i]))
            return stages->pdata[i];
    g_set_error(
        error, CT_ERROR, CT_ERROR_PARAMETER,
        "%s: wants --stage, as in --stage lofar.source: the end of the name tells no source "
        "of packets",
        how->files[0]);
    return NULL;
}

/* A graph of the source alone, as JSON, which is YAML. */
static char *
make_text(const CtSend *how, const CtStage *stage, const CtSource *source)
{
    CtJson *json = ct_json_new();
    ct_json_begin_object(json, "stages");
    ct_json_begin_object(json, NODE);
    ct_json_add_text(json, "stage", stage->name);
    ct_json_begin_array(json, source->files);
    for (guint i = 0; how->files[i]; i++) {
        /* The name of a file has no expressions. */
        g_autoptr(GString) name = g_string_new(how->files[i]);
        g_string_replace(name, "${", "$${", 0);
        ct_json_add_text(json, NULL, name->str);
    }
    ct_json_end_array(json);
    ct_json_end_object(json);
    ct_json_end_object(json);
    return ct_json_free_to_text(json, FALSE);
}

typedef struct {
    CtRegistry *registry;
    CtConfig *config;
    CtGraph *graph;
    CtCapture *capture;
    CtSenders *senders;
    CtFaults *faults;
    guint n_addresses;
    gint64 begun;   /* nanoseconds of the clock */
    gdouble period; /* nanoseconds a sample, or a packet */
    guint64 n_read; /* packets, of all files */
} Sending;

static void
sending_clear(Sending *self)
{
    ct_faults_free(self->faults);
    ct_senders_free(self->senders);
    ct_capture_close(self->capture);
    ct_graph_free(self->graph);
    ct_config_free(self->config);
    ct_registry_free(self->registry);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Sending, sending_clear)

/* Checks the source as that of a graph, and opens its files. */
static gboolean
open_capture(Sending *self, const CtSend *how, GError **error)
{
    self->registry = ct_registry_new(error);
    const CtStage *stage = self->registry ? find_stage(self->registry, how, error) : NULL;
    if (!stage)
        return FALSE;
    const CtSource *source = find_source(self->registry, stage);
    g_autofree char *text = make_text(how, stage, source);
    g_autoptr(GPtrArray) settings = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; how->settings && how->settings[i]; i++)
        g_ptr_array_add(settings, g_strdup_printf(NODE ".%s", how->settings[i]));
    g_ptr_array_add(settings, NULL);
    self->config = ct_config_parse(text, -1, "send", (const char *const *)settings->pdata, error);
    if (self->config)
        self->graph = ct_graph_new(self->config, self->registry, FALSE, error);
    if (!self->graph)
        return FALSE;
    const CtNode *node = &ct_graph_node(self->graph, 0)->node;
    self->capture = ct_capture_open(source, node->params, error);
    if (!self->capture)
        return FALSE;
    const gdouble rate = ct_stream_sample_rate(&node->outputs[0]);
    self->period = how->rate > 0 ? 1e9 / how->rate : 1e9 / rate / how->speed;
    return TRUE;
}

/* ---- sending ---- */

static gboolean
is_over(const CtSend *how)
{
    return how->is_over && how->is_over(how->user_data);
}

/* When a packet is due. */
static gint64
find_due(const Sending *self, const CtSend *how, guint64 pass, const CtCaptured *packet)
{
    const gdouble n = how->rate > 0 ? (gdouble)self->n_read
                                    : (gdouble)pass * (gdouble)ct_capture_length(self->capture) +
                                          (gdouble)packet->at;
    return self->begun + (gint64)MIN(n * self->period, CT_CLOCK_LONGEST);
}

static gboolean
send_packet(Sending *self, const CtSend *how, guint64 pass, const CtCaptured *packet,
            GError **error)
{
    const CtOutgoing outgoing = {
        .bytes = packet->bytes, .n = packet->n, .offset = packet->offset, .file = packet->file};
    const gint64 due = find_due(self, how, pass, packet);
    /* The memory of the packets before is used again. */
    if (self->n_read++ % CT_CAPTURE_KEPT == 0 && !ct_senders_flush(self->senders, error))
        return FALSE;
    return ct_faults_put(self->faults, self->n_addresses == 1 ? 0 : packet->file, &outgoing, due,
                         error);
}

static gboolean
send_pass(Sending *self, const CtSend *how, guint64 pass, GError **error)
{
    CtCaptured packet;
    gboolean ended = FALSE;
    while (!is_over(how)) {
        if (!ct_capture_next(self->capture, &packet, &ended, error))
            return FALSE;
        if (ended)
            return TRUE;
        if (!send_packet(self, how, pass, &packet, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean
send_all(Sending *self, const CtSend *how, GError **error)
{
    self->begun = ct_clock_now();
    for (guint64 pass = 0; (how->n_passes == 0 || pass < how->n_passes) && !is_over(how); pass++)
        if ((pass > 0 && !ct_capture_rewind(self->capture, error)) ||
            !send_pass(self, how, pass, error))
            return FALSE;
    return TRUE;
}

gboolean
ct_send_check(const CtSend *how, GError **error)
{
    const struct {
        const char *name;
        gdouble value, most;
    } members[] = {{"loss", how->loss, 1},        {"duplicate", how->duplicate, 1},
                   {"reorder", how->reorder, 1},  {"jitter", how->jitter, 3600},
                   {"rate", how->rate, HUGE_VAL}, {"ttl", how->ttl, 255}};
    for (guint i = 0; i < G_N_ELEMENTS(members); i++)
        if (!(members[i].value >= 0 && members[i].value <= members[i].most)) {
            g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER, "%s wants 0 to %g, but is given %g",
                        members[i].name, members[i].most, members[i].value);
            return FALSE;
        }
    if (CT_RESERVED_IS_SET(how) || (how->rate == 0 && !(how->speed > 0)) ||
        (how->rate == HUGE_VAL && how->jitter > 0)) {
        g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER, "%s",
                    CT_RESERVED_IS_SET(how) ? "what is sent " CT_UNKNOWN_FAULT
                    : how->rate == 0        ? "speed wants more than 0"
                                     : "jitter wants packets that have times: a finite rate");
        return FALSE;
    }
    return TRUE;
}

gboolean
ct_send(const CtSend *how, CtSendCount *counts, GError **error)
{
    g_auto(Sending) self = {0};
    self.n_addresses = g_strv_length((char **)how->addresses);
    if (!ct_send_check(how, error) || !ct_senders_check(how->addresses, error) ||
        !open_capture(&self, how, error))
        return FALSE;
    const guint n_files = ct_capture_n_files(self.capture);
    if (self.n_addresses != 1 && self.n_addresses != n_files) {
        g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER,
                    "wants one address, or one for each of %u files, but is given %u", n_files,
                    self.n_addresses);
        return FALSE;
    }
    const CtSenderGroup group = {how->ttl, how->loops};
    self.senders = ct_senders_new(how->addresses, self.n_addresses, &group, error);
    if (!self.senders)
        return FALSE;
    memset(counts, 0, self.n_addresses * sizeof *counts);
    self.faults = ct_faults_new(how, self.senders, self.n_addresses, counts);
    GError *failure = NULL;
    if (send_all(&self, how, &failure))
        return ct_faults_end(self.faults, error);
    ct_faults_end(self.faults, NULL);
    g_propagate_error(error, failure);
    return FALSE;
}
