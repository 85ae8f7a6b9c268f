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
    /* A header is compared with so many before it that say the same length. */
    COMPARED = 16,
    /* `order` is given so many packets of one lane of each address, at least; if they do not
     * suffice, twice as many, up to the most. */
    LEAST_PACKETS = 16,
    MOST_PACKETS = 1 << 16,
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

/* Finds the stream of an address: two of its packets, the newest one among them, are alike and not
 * the same one. */
static void
find_stream(CtReception *reception, guint address, const guint8 *header, gsize bytes)
{
    const CtPacketFormat *format = &reception->format;
    CtReceptionAddress *of = &reception->addresses[address];
    for (guint i = reception->datagrams->len, looks = 0; i-- > 0 && looks < COMPARED;) {
        const CtFirstDatagram *one = &g_array_index(reception->datagrams, CtFirstDatagram, i);
        const guint8 *other = reception->bytes->data + one->at;
        if (one->address != address || one->n != bytes ||
            format->size(other, format->data) != bytes)
            continue;
        looks++;
        if (!format->alike(other, header, format->data) ||
            memcmp(other, header, format->header_bytes) == 0)
            continue;
        memcpy(of->header, other, format->header_bytes);
        of->packet_bytes = bytes;
        reception->found = i;
        return;
    }
}

static void
keep(CtReception *reception, guint address, const CtDatagram *datagram)
{
    const CtPacketFormat *format = &reception->format;
    const guint8 *packet = datagram->bytes + reception->skip;
    const gsize n = datagram->n - MIN(datagram->n, reception->skip);
    const CtFirstDatagram one = {address, reception->bytes->len, n};
    if (reception->addresses[address].packet_bytes == 0 && n >= format->header_bytes &&
        format->size(packet, format->data) == n)
        find_stream(reception, address, packet, n);
    g_byte_array_append(reception->bytes, packet, (guint)MIN(n, datagram->room - reception->skip));
    g_array_append_vals(reception->datagrams, &one, 1);
}

static guint
count_lacking(const CtReception *reception)
{
    guint n = 0;
    for (guint i = 0; i < reception->n_addresses; i++)
        n += reception->addresses[i].packet_bytes == 0;
    return n;
}

static gboolean
receive_first(CtReception *reception, guint address, guint8 *memory, gint64 most, GError **error)
{
    CtDatagram datagrams[FIRST_BATCH];
    for (guint i = 0; i < FIRST_BATCH; i++)
        datagrams[i] = (CtDatagram){memory + (gsize)i * DATAGRAM_BYTES, DATAGRAM_BYTES, 0};
    CtReceiver *receiver = reception->addresses[address].receiver;
    /* Datagrams of several addresses are taken one by one, so that none gets ahead of the others.
     */
    const int n = receiver->kind->receive(receiver, datagrams,
                                          reception->n_addresses == 1 ? FIRST_BATCH : 1, error);
    for (int i = 0; i < n; i++)
        keep(reception, address, &datagrams[i]);
    if (count_bytes(reception) > (gsize)most && count_lacking(reception) > 0)
        forget_half(reception);
    return n >= 0;
}

/* Tells what has come from an address: by this its user finds the fault. */
static char *
describe_wait(const CtReception *reception, guint address)
{
    if (reception->addresses[address].packet_bytes > 0)
        return g_strdup("more packets of its stream are wanted");
    for (guint i = reception->datagrams->len; i-- > 0;) {
        const CtFirstDatagram *one = &g_array_index(reception->datagrams, CtFirstDatagram, i);
        if (one->address == address)
            return g_strdup_printf("it wants two packets of one stream, but the last datagram that "
                                   "came, of %" G_GSIZE_FORMAT " bytes, is not the second",
                                   one->n);
    }
    return g_strdup("no datagram came");
}

/* The wait of a signal names the first address from which nothing has come. */
static gboolean
fail_interrupted(const CtReception *reception, GError **error)
{
    guint address = 0;
    while (address + 1 < reception->n_addresses && reception->addresses[address].packet_bytes > 0)
        address++;
    g_autofree char *what = describe_wait(reception, address);
    g_set_error(error, CT_ERROR, CT_ERROR_CANCELLED,
                "%s: interrupted while it waited for the first packets: %s",
                reception->addresses[address].receiver->path, what);
    return FALSE;
}

/* The memory and the limit of the wait for the first packets. */
typedef struct {
    struct pollfd *readable; /* [address] */
    guint8 *memory;          /* of a batch */
    gint64 most;             /* bytes to be kept */
} First;

/* Waits for datagrams, and keeps them. */
static gboolean
receive_some(CtReception *reception, const First *first, GError **error)
{
    if (ct_pipe_wait(first->readable, reception->n_addresses) < 0 && errno == EINTR)
        return fail_interrupted(reception, error);
    for (guint i = 0; i < reception->n_addresses; i++)
        if (first->readable[i].revents != 0 &&
            !receive_first(reception, i, first->memory, first->most, error))
            return FALSE;
    return TRUE;
}

/* ---- finding their lanes ---- */

/* The packets of each lane, as `found` tells lanes, in datagrams that have been counted. */
typedef struct {
    GHashTable *packets; /* by address and lane */
    guint *fullest;      /* [address] those of its lane that has most */
    guint n_counted;     /* datagrams */
} Lanes;

static void
count_lanes(const CtReception *reception, Lanes *lanes)
{
    for (; lanes->n_counted < reception->datagrams->len; lanes->n_counted++) {
        const CtFirstDatagram *one =
            &g_array_index(reception->datagrams, CtFirstDatagram, lanes->n_counted);
        CtPacket packet;
        if (ct_reception_parse(reception, one->address, reception->bytes->data + one->at, one->n,
                               &packet) != CT_PACKETS_READ)
            continue;
        const gpointer key = GSIZE_TO_POINTER((gsize)one->address << 32 | packet.lane);
        const guint n = GPOINTER_TO_UINT(g_hash_table_lookup(lanes->packets, key)) + 1;
        g_hash_table_insert(lanes->packets, key, GUINT_TO_POINTER(n));
        lanes->fullest[one->address] = MAX(lanes->fullest[one->address], n);
    }
}

/* Receives until from each address `n` packets of one lane have come. Sets *is_last if no more are
 * to be waited for. */
static gboolean
receive_packets(CtReception *reception, const First *first, Lanes *lanes, guint n,
                gboolean *is_last, GError **error)
{
    for (;;) {
        gboolean lacks = FALSE;
        count_lanes(reception, lanes);
        *is_last = n >= MOST_PACKETS || count_bytes(reception) >= (gsize)first->most;
        for (guint i = 0; i < reception->n_addresses; i++) {
            lacks |= lanes->fullest[i] < n;
            *is_last |= lanes->fullest[i] >= MOST_PACKETS;
        }
        if (!lacks || *is_last)
            return TRUE;
        if (!receive_some(reception, first, error))
            return FALSE;
    }
}

/* The lanes are those of the packets since the last address has begun: of those before, some lanes
 * have none. */
static gboolean
find_lanes(CtReception *reception, const First *first, const CtParams *given, GError **error)
{
    g_autoptr(GHashTable) packets = g_hash_table_new(NULL, NULL);
    g_autofree guint *fullest = g_new0(guint, reception->n_addresses);
    Lanes lanes = {packets, fullest, reception->found};
    for (guint n = LEAST_PACKETS;; n *= 2) {
        GError *failure = NULL;
        gboolean is_last;
        if (!receive_packets(reception, first, &lanes, n, &is_last, error))
            return FALSE;
        if (ct_reception_order(reception, reception->found, given, &failure))
            return TRUE;
        if (is_last || g_error_matches(failure, CT_ERROR, CT_ERROR_PARAMETER)) {
            g_propagate_error(error, failure);
            return FALSE;
        }
        g_clear_error(&failure);
    }
}

static gboolean
find_all(CtReception *reception, gint64 most, const CtParams *given, GError **error)
{
    g_autofree struct pollfd *readable = g_new0(struct pollfd, reception->n_addresses);
    g_autofree guint8 *memory = g_malloc((gsize)FIRST_BATCH * DATAGRAM_BYTES);
    const First first = {readable, memory, most};
    for (guint i = 0; i < reception->n_addresses; i++)
        readable[i] = (struct pollfd){.fd = reception->addresses[i].receiver->fd, .events = POLLIN};
    while (count_lacking(reception) > 0)
        if (!receive_some(reception, &first, error))
            return FALSE;
    return reception->ordered || reception->recording.source->is_lane_a_file ||
           find_lanes(reception, &first, given, error);
}

gboolean
ct_reception_find(CtReception *reception, gint64 most, const CtParams *given, GError **error)
{
    pthread_mutex_lock(&reception->lock);
    const gboolean good =
        !reception->bytes || find_all(reception, MIN(most, MOST_FIRST_BYTES), given, error);
    pthread_mutex_unlock(&reception->lock);
    return good;
}

const guint8 *
ct_reception_header(const CtReception *reception, guint address, gsize *packet_bytes)
{
    *packet_bytes = reception->addresses[address].packet_bytes;
    return reception->addresses[address].header;
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
    const guint n_lanes = reception->recording.n_lanes;
    g_autofree gint64 *before = g_new(gint64, n_lanes);
    guint64 n_restamped = 0;
    for (guint i = 0; i < n_lanes; i++)
        before[i] = G_MININT64;
    for (guint i = 0; i < reception->datagrams->len; i++) {
        const CtFirstDatagram *one = &g_array_index(reception->datagrams, CtFirstDatagram, i);
        CtPacket packet;
        if (ct_reception_classify(reception, one->address, reception->bytes->data + one->at, one->n,
                                  &packet, &n_restamped) != CT_PACKETS_READ)
            continue;
        gint64 *last = &before[packet.lane];
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
