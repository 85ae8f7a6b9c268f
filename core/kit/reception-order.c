/* SPDX-License-Identifier: BSD-3-Clause */
/* The lanes of packets from the network, by a recording of the first ones: where `order` finds
 * them, `place` gives each packet its own. */
#include "reception-private.h"
#include "source-private.h"

#include <string.h>

void
ct_reception_init_recording(CtReception *reception, const CtSource *source, const CtParams *given,
                            guint n)
{
    CtRecording *recording = &reception->recording;
    recording->source = source;
    recording->self = g_malloc0(MAX(source->self_bytes, 1));
    recording->n_files = recording->n_lanes = n;
    recording->files = g_new0(CtSourceFile, n);
    for (guint i = 0; i < n; i++)
        recording->files[i].fd = -1;
    recording->packets = ct_packets_new();
    recording->headers = g_malloc0(n * sizeof *recording->headers);
    if (source->begin)
        source->begin(recording->self, given);
    reception->format = ct_source_format(source, recording->self);
}

/* What `order` has set, and what the plugin's struct has. */
static void
forget_order(CtRecording *recording)
{
    if (recording->source->clear)
        recording->source->clear(recording->self);
    memset(recording->self, 0, MAX(recording->source->self_bytes, 1));
    g_clear_pointer(&recording->widths, g_free);
    g_clear_pointer(&recording->packets, ct_packets_free);
}

void
ct_reception_clear_recording(CtRecording *recording)
{
    forget_order(recording);
    g_free(recording->files);
    g_free(recording->headers);
    g_free(recording->self);
}

/* The packets of the first datagrams from number `from` on; their offsets follow one another. */
static GArray *
find_packets(const CtReception *reception, guint from)
{
    GArray *packets = g_array_new(FALSE, FALSE, sizeof(CtPacket));
    for (guint i = from; i < reception->datagrams->len; i++) {
        const CtFirstDatagram *one = &g_array_index(reception->datagrams, CtFirstDatagram, i);
        CtPacket packet;
        if (ct_reception_parse(reception, one->address, reception->bytes->data + one->at, one->n,
                               &packet) != CT_PACKETS_READ)
            continue;
        packet.offset = (gint64)one->at;
        g_array_append_val(packets, packet);
    }
    return packets;
}

/* Begins a recording of these packets. */
static void
begin_order(CtReception *reception, const GArray *packets, const CtParams *given)
{
    CtRecording *recording = &reception->recording;
    const CtSource *source = recording->source;
    forget_order(recording);
    recording->n_lanes = 0;
    recording->n_samples = recording->max_gap = recording->overlap = 0;
    recording->newest = NULL;
    recording->lane_step = 0;
    recording->packets = ct_packets_new();
    recording->packets->counts[CT_PACKETS_READ] = packets->len;
    g_array_append_vals(recording->packets->packets, packets->data, packets->len);
    for (guint i = 0; i < recording->n_files; i++) {
        const CtReceptionAddress *address = &reception->addresses[i];
        recording->files[i].packet_bytes = address->packet_bytes;
        ct_source_take_header(recording, i, address->header, reception->format.header_bytes);
    }
    if (source->begin)
        source->begin(recording->self, given);
}

static gint
compare_stamps(gconstpointer a, gconstpointer b)
{
    const gint64 x = ((const CtPacket *)a)->stamp, y = ((const CtPacket *)b)->stamp;
    return (x > y) - (x < y);
}

/* The median of the times of packets that are ordered: a few wrong ones do not matter. */
static gint64
find_middle(GArray *packets)
{
    g_array_sort(packets, compare_stamps);
    return packets->len > 0 ? g_array_index(packets, CtPacket, packets->len / 2).stamp : 0;
}

gboolean
ct_reception_order(CtReception *reception, guint from, const CtParams *given, GError **error)
{
    CtRecording *recording = &reception->recording;
    g_autoptr(GArray) packets = find_packets(reception, from);
    begin_order(reception, packets, given);
    if (!ct_source_order(recording, given, error))
        return FALSE;
    reception->middle = find_middle(recording->packets->packets);
    recording->newest = &reception->middle;
    g_array_set_size(recording->packets->packets, 0);
    reception->ordered = g_steal_pointer(&packets);
    return TRUE;
}

void
ct_reception_ordered(const CtReception *reception, GArray *packets)
{
    if (reception->ordered)
        g_array_append_vals(packets, reception->ordered->data, reception->ordered->len);
}

guint
ct_reception_place(const CtReception *reception, CtPacket *packet, guint64 *n_restamped)
{
    static const guint reasons[] = {CT_PACKETS_CORRUPT, CT_PACKETS_MISTIMED, CT_PACKETS_FLAGGED,
                                    CT_PACKETS_DUPLICATE};
    const CtRecording *recording = &reception->recording;
    guint64 counts[CT_PACKETS_N_COUNTS] = {0};
    const gboolean is_used = ct_source_place(recording, packet, counts);
    *n_restamped += counts[CT_PACKETS_RESTAMPED];
    if (is_used && packet->lane < recording->n_lanes)
        return CT_PACKETS_READ;
    for (guint i = 0; i < G_N_ELEMENTS(reasons); i++)
        if (counts[reasons[i]] > 0)
            return reasons[i];
    return CT_PACKETS_STRAY;
}
