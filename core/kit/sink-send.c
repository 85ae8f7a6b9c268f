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
ct_sink_send_open(CtSinkPart *part, const char *path, GError **error)
{
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
    return part->senders != NULL;
}

/* Waits until a sample is due. The first one is at once. */
static gboolean
wait_for(CtSinkPart *part, gint64 sample, GError **error)
{
    const gint64 after = (gint64)((gdouble)sample * part->pace);
    if (part->pace == 0)
        return TRUE;
    if (part->begun == 0)
        part->begun = ct_clock_now() - after;
    return ct_senders_wait(part->senders, part->begun + after, NULL, NULL, error);
}

gboolean
ct_sink_packet(CtSinkFile *file, gconstpointer bytes, gint64 n, gint64 sample, GError **error)
{
    CtSinkPart *part = (CtSinkPart *)file;
    if (!part->senders)
        return ct_sink_append(file, bytes, n, error);
    /* The datagrams that have been put are sent before the memory is used again. */
    guint8 *at = wait_for(part, sample, error) ? ct_sink_room(file, n, error) : NULL;
    if (!at)
        return FALSE;
    memcpy(at, bytes, (gsize)n);
    return ct_senders_put(part->senders, 0, &(CtOutgoing){.bytes = at, .n = (gsize)n}, error);
}
