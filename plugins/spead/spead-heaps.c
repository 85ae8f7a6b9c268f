/* SPDX-License-Identifier: BSD-3-Clause */
/* The parameters of heaps that source and sink share: their items, and the axes of their samples.
 */
#include "spead-heaps.h"

static gboolean
read_item(const CtParams *given, const char *name, gint *item, GError **error)
{
    const char *text = ct_params_string(given, name);
    const gboolean is_hex = g_str_has_prefix(text, "0x");
    guint64 number;
    *item = -1;
    if (g_str_equal(text, "none"))
        return TRUE;
    if (!g_ascii_string_to_unsigned(is_hex ? text + 2 : text, is_hex ? 16 : 10, SPEAD_FIRST_ITEM,
                                    SPEAD_LAST_ITEM, &number, NULL))
        return ct_params_error(given, name, error,
                               "wants the number of an item from %d to 0x%x, but is given '%s'",
                               SPEAD_FIRST_ITEM, SPEAD_LAST_ITEM, text);
    *item = (gint)number;
    return TRUE;
}

/* A number that two items have would say two things. */
static gboolean
check_items(const SpeadItems *items, const CtParams *given, GError **error)
{
    static const char *const names[] = {"timestamp_item", "station_item", "channel_item",
                                        "samples_item"};
    const gint numbers[] = {items->timestamp, items->station, items->channel, items->samples};
    for (guint i = 1; i < G_N_ELEMENTS(names); i++)
        for (guint k = 0; k < i; k++)
            if (numbers[i] >= 0 && numbers[i] == numbers[k])
                return ct_params_error(given, names[i], error,
                                       "wants a number of its own, but is given 0x%x, that of '%s'",
                                       numbers[i], names[k]);
    return TRUE;
}

gboolean
spead_heaps_read(PacketStream *stream, SpeadItems *items, const CtParams *given, CtType type,
                 GError **error)
{
    if (!packet_stream_read(stream, given, type, TRUE, error) ||
        !read_item(given, "timestamp_item", &items->timestamp, error) ||
        !read_item(given, "station_item", &items->station, error) ||
        !read_item(given, "channel_item", &items->channel, error) ||
        !read_item(given, "samples_item", &items->samples, error))
        return FALSE;
    const char *first = stream->payload.names[0];
    if (!g_str_equal(first, "time") && !g_str_equal(first, stream->channel_axis))
        return ct_params_error(given, "payload", error,
                               "wants heaps that packets divide along time or channel, but is "
                               "given '%s'",
                               first);
    if (items->timestamp < 0 || items->samples < 0)
        return ct_params_error(given, items->samples < 0 ? "samples_item" : "timestamp_item", error,
                               "wants the number of an item, but is given none");
    if (items->station >= 0 && packet_payload_axis(&stream->payload, "station") >= 0)
        return ct_params_error(given, "station_item", error,
                               "wants heaps of one station, but 'payload' has several");
    return check_items(items, given, error);
}

gboolean
spead_divides_time(const PacketStream *stream)
{
    return stream->payload.time == 0;
}
