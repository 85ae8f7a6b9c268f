/* SPDX-License-Identifier: BSD-3-Clause */
/* Sinks that send to an address of the network: packets become datagrams, each at its time. */
#include "cornerturn/error.h"
#include "sink-private.h"

#include <string.h>

gboolean
ct_sink_is_address(const CtParams *given)
{
    const char *path = ct_params_string(given, "path");
    return path && ct_sender_is(path);
}

/* Datagrams without a clock are sent as they come. */
static gboolean
check_speed(const CtParams *given, const CtStream *stream, GError **error)
{
    return ct_params_real(given, "speed") == 0 || ct_stream_sample_rate(stream) > 0 ||
           ct_params_error(given, "speed", error,
                           "wants a stream with a clock, or 0, but is given one without");
}

gboolean
ct_sink_send_check(const CtSink *sink, const CtParams *given, const CtStream *stream,
                   GError **error)
{
    const char *path = ct_params_string(given, "path");
    g_autoptr(GError) cause = NULL;
    gboolean is_group;
    if (!sink->sends)
        return ct_params_error(given, "path", error,
                               "wants a file: %s can't be sent to the network, but is given '%s'",
                               sink->name, path);
    if (!ct_params_knows(given, "speed") || !ct_params_knows(given, "ttl") ||
        !ct_params_knows(given, "loop")) {
        g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN,
                    "the plugin for %s is at fault: it lacks CT_SINK_SEND_PARAMS", sink->name);
        return FALSE;
    }
    if (!ct_sender_check(path, &is_group, &cause))
        return ct_params_error(given, "path", error, "%s", cause->message);
    if (is_group) {
        ct_params_use(given, "ttl");
        ct_params_use(given, "loop");
    }
    return check_speed(given, stream, error);
}

gboolean
ct_sink_send_open(CtSinkPart *part, const char *path, const CtSinkSend *send, GError **error)
{
    static const CtSend plain = {0};
    const CtParams *given = part->file.given;
    const gdouble rate = ct_stream_sample_rate(&part->file.stream);
    const gdouble speed = ct_params_real(given, "speed");
    CtSenderGroup group = {.ttl = 1, .loops = TRUE};
    gboolean is_group;
    if (!ct_sender_check(path, &is_group, error))
        return FALSE;
    if (is_group)
        group = (CtSenderGroup){(gint)ct_params_int(given, "ttl"), ct_params_bool(given, "loop")};
    part->pace = speed > 0 ? 1e9 / rate / speed : 0;
    part->senders = ct_senders_new(&path, 1, &group, error);
    if (part->senders)
        part->faults = ct_faults_new(send ? &send->how : &plain, part->senders, 1,
                                     send ? send->count : &part->count);
    return part->senders != NULL;
}

/* When a sample is due. The first one is at once, and so are all without a pace. */
static gint64
find_due(CtSinkPart *part, gint64 sample)
{
    const gint64 after = (gint64)MIN((gdouble)sample * part->pace, CT_CLOCK_LONGEST);
    if (part->pace == 0)
        return 0;
    if (part->begun == 0)
        part->begun = ct_clock_now() - after;
    return part->begun + after;
}

gboolean
ct_sink_packet(CtSinkFile *file, gconstpointer bytes, gint64 n, gint64 sample, GError **error)
{
    CtSinkPart *part = (CtSinkPart *)file;
    if (!part->senders)
        return ct_sink_append(file, bytes, n, error);
    /* The datagrams that have been put are sent before the memory is used again. */
    guint8 *at = ct_sink_room(file, n, error);
    if (!at)
        return FALSE;
    memcpy(at, bytes, (gsize)n);
    const CtOutgoing packet = {
        .bytes = at, .n = (gsize)n, .offset = part->n_written + part->n_buffered - n};
    return ct_faults_put(part->faults, 0, &packet, find_due(part, sample), error);
}
