/* SPDX-License-Identifier: BSD-3-Clause */
/* The numbers that headers give stations and channels. */
#include "packet-numbers.h"

#include <string.h>

void
packet_numbers_clear(PacketNumbers *numbers)
{
    g_clear_pointer(&numbers->numbers, g_free);
    g_clear_pointer(&numbers->places, g_free);
    numbers->n = 0;
}

static void
append(PacketNumbers *numbers, guint number)
{
    numbers->places[number] = (gint32)numbers->n;
    numbers->numbers[numbers->n++] = number;
}

/* ---- as the graph lists them ---- */

/* Whole packets: "0..31" of 8 channels are 0, 8, 16 and 24. */
static gboolean
read_range(PacketNumbers *numbers, const CtParams *given, const char *name, guint i, gint64 width,
           GError **error)
{
    const char *text = ct_params_string_at(given, name, i);
    gint64 first, last;
    if (!ct_range_parse(text, &first, &last) || first < 0 || last >= PACKET_MOST_NUMBERS)
        return ct_params_error(given, name, error,
                               "wants numbers and ranges from 0 to %d as 0..7, but is given '%s'",
                               PACKET_MOST_NUMBERS - 1, text);
    if ((last - first + 1) % width != 0)
        return ct_params_error(
            given, name, error,
            "wants whole packets of %" G_GINT64_FORMAT " channels, but is given '%s'", width, text);
    for (gint64 at = first; at <= last; at += width) {
        if (numbers->places[at] >= 0)
            return ct_params_error(
                given, name, error,
                "wants each number once, but is given %" G_GINT64_FORMAT " twice", at);
        append(numbers, (guint)at);
    }
    return TRUE;
}

/* ---- as packets have them ---- */

/* The number of packets with each number. */
static guint
count_packets(const CtRecording *recording, gboolean is_station, guint *counts)
{
    const GArray *packets = recording->packets->packets;
    guint most = 0;
    for (guint i = 0; i < packets->len; i++) {
        const guint32 lane = g_array_index(packets, CtPacket, i).lane;
        const guint number = is_station ? lane >> 16 : lane & 0xffff;
        if (number < PACKET_MOST_NUMBERS)
            most = MAX(most, ++counts[number]);
    }
    return most;
}

/* A damaged header makes a number of its own, with one or a few packets. Such a number is ignored
 * if it has a single packet where another has more than three, or at most a sixteenth of the
 * packets of another. */
static gboolean
is_believed(guint n, guint most)
{
    return n * 16 > most && (n > 1 || most <= 3);
}

/* Whether a sample of the packets shows clearly that it is ignored, or that it is not. */
static gboolean
is_clear(guint n, guint most)
{
    return is_believed(n, most) ? (guint64)n * 4 > most : (guint64)n * 64 <= most;
}

static gboolean
find_in_packets(PacketNumbers *numbers, CtRecording *recording, const CtParams *given,
                const char *name, gint64 width, GError **error)
{
    g_autofree guint *counts = g_new0(guint, PACKET_MOST_NUMBERS);
    const guint most = count_packets(recording, strcmp(name, "stations") == 0, counts);
    gint64 end = 0;
    if (most == 0)
        return ct_params_error(given, name, error,
                               "is wanted, for no packet tells which there are");
    for (guint i = 0; i < PACKET_MOST_NUMBERS; i++) {
        if (counts[i] == 0)
            continue;
        recording->needs_all |= recording->is_sample && !is_clear(counts[i], most);
        if (!is_believed(counts[i], most))
            continue;
        if (i < end)
            return ct_params_error(given, name, error,
                                   "is wanted, for packets of %" G_GINT64_FORMAT
                                   " begin at channels %u and %u",
                                   width, numbers->numbers[numbers->n - 1], i);
        append(numbers, i);
        end = i + width;
    }
    return TRUE;
}

gboolean
packet_numbers_find(PacketNumbers *numbers, CtRecording *recording, const CtParams *given,
                    const char *name, gboolean is_told, gint64 width, GError **error)
{
    const guint n_given = ct_params_count(given, name);
    numbers->numbers = g_new(guint, PACKET_MOST_NUMBERS);
    numbers->places = g_new(gint32, PACKET_MOST_NUMBERS);
    memset(numbers->places, 0xff, PACKET_MOST_NUMBERS * sizeof *numbers->places);
    if (!is_told) {
        append(numbers, 0);
        return TRUE;
    }
    for (guint i = 0; i < n_given; i++)
        if (!read_range(numbers, given, name, i, width, error))
            return FALSE;
    return n_given > 0 || find_in_packets(numbers, recording, given, name, width, error);
}
