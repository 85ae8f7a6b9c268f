/* SPDX-License-Identifier: BSD-3-Clause */
/* The first packets from the network, by which the stream is described. */
#include "cornerturn/error.h"
#include "reception-private.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

enum {
    /* While the first packets are awaited, so many datagrams are received at once, each of any
     * length. */
    FIRST_BATCH = 16,
    DATAGRAM_BYTES = 1 << 16,
    /* A header is compared with so many before it. */
    COMPARED = 16,
    /* Packets of a lane are neighbours if so many of them have room between their stamps. */
    NEIGHBOURS = 64
};

/* The most bytes that are kept of the datagrams that come before the last of the first packets. */
static const gint64 MOST_FIRST_BYTES = (gint64)1 << 30;

/* ---- finding them ---- */

/* Forgets the older half of what has come. */
static void
forget_half(CtReception *reception)
{
    GArray *datagrams = reception->datagrams;
    const guint n = datagrams->len / 2;
    const gsize from = g_array_index(datagrams, CtFirstDatagram, n).at;
    g_array_remove_range(datagrams, 0, n);
    g_byte_array_remove_range(reception->bytes, 0, (guint)from);
    for (guint i = 0; i < datagrams->len; i++)
        g_array_index(datagrams, CtFirstDatagram, i).at -= from;
}

static gsize
count_bytes(const CtReception *reception)
{
    return reception->bytes->len + reception->datagrams->len * sizeof(CtFirstDatagram);
}

/* Finds the stream of a lane: two of its packets, the newest one among them, are alike and not the
 * same one. */
static void
find_stream(CtReception *reception, guint lane, const guint8 *header, gsize bytes)
{
    const CtPacketFormat *format = &reception->format;
    CtReceptionLane *of = &reception->lanes[lane];
    for (guint i = reception->datagrams->len, looks = 0; i-- > 0 && looks < COMPARED;) {
        const CtFirstDatagram *one = &g_array_index(reception->datagrams, CtFirstDatagram, i);
        if (one->lane != lane)
            continue;
        looks++;
        const guint8 *other = reception->bytes->data + one->at;
        if (one->n != bytes || format->size(other, format->data) != bytes ||
            !format->alike(other, header, format->data) ||
            memcmp(other, header, format->header_bytes) == 0)
            continue;
        memcpy(of->header, other, format->header_bytes);
        of->packet_bytes = bytes;
        return;
    }
}

static void
keep(CtReception *reception, guint lane, const CtDatagram *datagram)
{
    const CtPacketFormat *format = &reception->format;
    const CtFirstDatagram one = {lane, reception->bytes->len, datagram->n};
    if (reception->lanes[lane].packet_bytes == 0 && datagram->n >= format->header_bytes &&
        format->size(datagram->bytes, format->data) == datagram->n)
        find_stream(reception, lane, datagram->bytes, datagram->n);
    g_byte_array_append(reception->bytes, datagram->bytes, (guint)MIN(datagram->n, datagram->room));
    g_array_append_vals(reception->datagrams, &one, 1);
}

static guint
count_lacking(const CtReception *reception)
{
    guint n = 0;
    for (guint i = 0; i < reception->n_lanes; i++)
        n += reception->lanes[i].packet_bytes == 0;
    return n;
}

static gboolean
receive_first(CtReception *reception, guint lane, guint8 *memory, gint64 most, GError **error)
{
    CtDatagram datagrams[FIRST_BATCH];
    for (guint i = 0; i < FIRST_BATCH; i++)
        datagrams[i] = (CtDatagram){memory + (gsize)i * DATAGRAM_BYTES, DATAGRAM_BYTES, 0};
    CtReceiver *receiver = reception->lanes[lane].receiver;
    /* Datagrams of several addresses are taken one by one, so that none gets ahead of the others.
     */
    const int n = receiver->kind->receive(receiver, datagrams,
                                          reception->n_lanes == 1 ? FIRST_BATCH : 1, error);
    for (int i = 0; i < n; i++)
        keep(reception, lane, &datagrams[i]);
    if (count_bytes(reception) > (gsize)most && count_lacking(reception) > 0)
        forget_half(reception);
    return n >= 0;
}

/* The wait of a signal names the first address from which nothing has come. */
static gboolean
fail_interrupted(const CtReception *reception, GError **error)
{
    guint lane = 0;
    while (reception->lanes[lane].packet_bytes > 0)
        lane++;
    g_set_error(error, CT_ERROR, CT_ERROR_CANCELLED,
                "%s: interrupted while it waited for the first packets",
                reception->lanes[lane].receiver->path);
    return FALSE;
}

static gboolean
find_all(CtReception *reception, gint64 most, GError **error)
{
    g_autofree struct pollfd *readable = g_new0(struct pollfd, reception->n_lanes);
    g_autofree guint8 *memory = g_malloc((gsize)FIRST_BATCH * DATAGRAM_BYTES);
    for (guint i = 0; i < reception->n_lanes; i++)
        readable[i] = (struct pollfd){.fd = reception->lanes[i].receiver->fd, .events = POLLIN};
    while (count_lacking(reception) > 0) {
        if (ct_pipe_wait(readable, reception->n_lanes) < 0 && errno == EINTR)
            return fail_interrupted(reception, error);
        for (guint i = 0; i < reception->n_lanes; i++)
            if (readable[i].revents != 0 && !receive_first(reception, i, memory, most, error))
                return FALSE;
    }
    return TRUE;
}

gboolean
ct_reception_find(CtReception *reception, gint64 most, GError **error)
{
    pthread_mutex_lock(&reception->lock);
    const gboolean good =
        !reception->bytes || find_all(reception, MIN(most, MOST_FIRST_BYTES), error);
    pthread_mutex_unlock(&reception->lock);
    return good;
}

const guint8 *
ct_reception_header(const CtReception *reception, guint lane, gsize *packet_bytes)
{
    *packet_bytes = reception->lanes[lane].packet_bytes;
    return reception->lanes[lane].header;
}

/* ---- where the stream begins ---- */

static int
compare_stamps(gconstpointer a, gconstpointer b)
{
    const gint64 x = *(const gint64 *)a, y = *(const gint64 *)b;
    return (x > y) - (x < y);
}

/* The stamps of packets that have a neighbour of their lane before or after them; of all, if none
 * has. */
static GArray *
find_stamps(const CtReception *reception, gint64 n_samples)
{
    GArray *near = g_array_new(FALSE, FALSE, sizeof(gint64));
    g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(gint64));
    g_autofree gint64 *before = g_new(gint64, reception->n_lanes);
    for (guint i = 0; i < reception->n_lanes; i++)
        before[i] = G_MININT64;
    for (guint i = 0; i < reception->datagrams->len; i++) {
        const CtFirstDatagram *one = &g_array_index(reception->datagrams, CtFirstDatagram, i);
        CtPacket packet;
        if (ct_reception_classify(reception, one->lane, reception->bytes->data + one->at, one->n,
                                  &packet) != CT_PACKETS_READ)
            continue;
        gint64 *last = &before[one->lane];
        g_array_append_val(all, packet.stamp);
        if (*last != G_MININT64 && *last != packet.stamp &&
            ABS(packet.stamp - *last) <= NEIGHBOURS * n_samples) {
            g_array_append_vals(near, last, 1);
            g_array_append_val(near, packet.stamp);
        }
        *last = packet.stamp;
    }
    if (near->len == 0)
        g_array_append_vals(near, all->data, all->len);
    g_array_sort(near, compare_stamps);
    return near;
}

gint64
ct_reception_first(CtReception *reception, gint64 n_samples, gint64 max_gap)
{
    pthread_mutex_lock(&reception->lock);
    if (!reception->has_first) {
        g_autoptr(GArray) stamps = find_stamps(reception, n_samples);
        const gint64 *of = (const gint64 *)stamps->data;
        guint i = stamps->len / 2;
        while (i > 0 && of[i] - of[i - 1] <= max_gap + n_samples)
            i--;
        reception->first = of[i];
        reception->has_first = TRUE;
    }
    pthread_mutex_unlock(&reception->lock);
    return reception->first;
}
