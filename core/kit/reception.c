/* SPDX-License-Identifier: BSD-3-Clause */
/* Receiving the packets of a source from the network: its addresses, and its reader. */
#define _GNU_SOURCE /* cpu_set_t */
#include "cornerturn/error.h"
#include "reception-private.h"
#include "source-private.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <time.h>

/* The receptions that may be got again, by their paths. */
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static GHashTable *table;

/* ---- opening ---- */

/* Ends the thread, if there is one. */
static void
stop(CtReception *reception)
{
    pthread_mutex_lock(&reception->lock);
    atomic_store(&reception->stops, TRUE);
    pthread_cond_signal(&reception->moved);
    pthread_mutex_unlock(&reception->lock);
    if (reception->received)
        pthread_join(reception->thread, NULL);
}

static void
destroy(CtReception *reception)
{
    stop(reception);
    for (guint i = 0; i < reception->n_addresses; i++)
        ct_receiver_close(reception->addresses[i].receiver);
    ct_received_free(reception->received);
    ct_packet_memory_unmap(&reception->memory);
    g_clear_pointer(&reception->bytes, g_byte_array_unref);
    g_clear_pointer(&reception->datagrams, g_array_unref);
    g_clear_error(&reception->failure);
    g_clear_pointer(&reception->ordered, g_array_unref);
    ct_reception_clear_recording(&reception->recording);
    g_free(reception->batch);
    pthread_cond_destroy(&reception->moved);
    pthread_cond_destroy(&reception->more);
    pthread_mutex_destroy(&reception->turn);
    pthread_mutex_destroy(&reception->lock);
    g_free(reception->addresses);
    g_free(reception->key);
    g_free(reception);
}

static gpointer
touch(gpointer data)
{
    ct_packet_memory_touch(data);
    return NULL;
}

/* Before packets come. The memory is near the core of the thread that will receive them. */
static gboolean
map_memory(CtReception *reception, gsize n, GError **error)
{
    pthread_t thread;
    if (!ct_packet_memory_map(&reception->memory, n, error) ||
        !ct_reception_create_thread(reception, touch, &reception->memory, &thread, error))
        return FALSE;
    pthread_join(thread, NULL);
    return TRUE;
}

/* A wait's time is that of a clock that nobody sets. */
static void
init_lock(CtReception *reception)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&reception->lock, NULL);
    pthread_mutex_init(&reception->turn, NULL);
    pthread_cond_init(&reception->more, &monotonic);
    pthread_cond_init(&reception->moved, NULL);
    pthread_condattr_destroy(&monotonic);
}

static gboolean
check_core(const CtParams *given, GError **error)
{
    cpu_set_t cores;
    if (!ct_params_has(given, "core") || sched_getaffinity(0, sizeof cores, &cores) != 0)
        return TRUE;
    const gint64 core = ct_params_int(given, "core");
    return CPU_ISSET((gsize)core, &cores) ||
           ct_params_error(given, "core", error,
                           "wants a core on which this process may run, but is given "
                           "%" G_GINT64_FORMAT,
                           core);
}

static CtReception *
open_all(const CtSource *source, const CtParams *given, const char *const *paths, guint n,
         GError **error)
{
    if (!check_core(given, error))
        return NULL;
    CtReception *reception = g_new0(CtReception, 1);
    init_lock(reception);
    ct_reception_init_recording(reception, source, given, n);
    reception->n_addresses = n;
    reception->addresses = g_new0(CtReceptionAddress, n);
    reception->skip = (gsize)ct_params_int(given, "skip");
    reception->is_busy = ct_params_bool(given, "busy");
    reception->core = ct_params_has(given, "core") ? (gint)ct_params_int(given, "core") : -1;
    reception->bytes = g_byte_array_new();
    reception->datagrams = g_array_new(FALSE, FALSE, sizeof(CtFirstDatagram));
    gboolean good = map_memory(reception, (gsize)ct_params_real(given, "buffer"), error);
    for (guint i = 0; i < n && good; i++) {
        reception->addresses[i].header = reception->recording.headers[i];
        reception->addresses[i].receiver = ct_receiver_open(paths[i], error);
        good = reception->addresses[i].receiver != NULL;
        if (good)
            reception->recording.files[i].path = reception->addresses[i].receiver->path;
    }
    if (good)
        return reception;
    destroy(reception);
    return NULL;
}

static char *
join_paths(const char *const *paths, guint n)
{
    GString *all = g_string_new("");
    for (guint i = 0; i < n; i++)
        g_string_append_printf(all, "%s ", paths[i]);
    return g_string_free(all, FALSE);
}

CtReception *
ct_reception_get(const CtSource *source, const CtParams *given, const char *const *paths, guint n,
                 GError **error)
{
    g_autofree char *key = join_paths(paths, n);
    pthread_mutex_lock(&table_lock);
    if (!table)
        table = g_hash_table_new(g_str_hash, g_str_equal);
    CtReception *reception = g_hash_table_lookup(table, key);
    if (!reception && (reception = open_all(source, given, paths, n, error)) != NULL) {
        reception->key = g_steal_pointer(&key);
        g_hash_table_insert(table, reception->key, reception);
    }
    if (reception)
        reception->n_users++;
    pthread_mutex_unlock(&table_lock);
    return reception;
}

void
ct_reception_free(CtReception *reception)
{
    if (!reception)
        return;
    pthread_mutex_lock(&table_lock);
    reception->n_users--;
    const gboolean is_over = reception->n_users == 0 && reception->is_started;
    if (is_over)
        g_hash_table_remove(table, reception->key);
    pthread_mutex_unlock(&table_lock);
    if (is_over)
        destroy(reception);
}

void
ct_reception_start(CtReception *reception)
{
    if (reception->is_started)
        return;
    pthread_mutex_lock(&table_lock);
    reception->is_started = TRUE;
    pthread_mutex_unlock(&table_lock);
}

/* ---- datagrams ---- */

guint
ct_reception_parse(const CtReception *reception, guint address, const guint8 *bytes, gsize n,
                   CtPacket *packet)
{
    const CtPacketFormat *format = &reception->format;
    const CtReceptionAddress *of = &reception->addresses[address];
    const gsize wanted = n < format->header_bytes ? 0 : format->size(bytes, format->data);
    const gsize there =
        reception->received ? MIN(n, ct_received_room(reception->received) - reception->skip) : n;
    if (wanted == 0 && n > 0 && format->other && format->other(bytes, there, format->data) == n)
        return CT_PACKETS_STRAY;
    if (wanted == 0 || n > wanted)
        return CT_PACKETS_CORRUPT;
    if (n < wanted)
        return CT_PACKETS_TRUNCATED;
    if (n != of->packet_bytes || !format->alike(of->header, bytes, format->data))
        return CT_PACKETS_STRAY;
    *packet = (CtPacket){.file = address};
    reception->recording.source->found(bytes, packet, reception->recording.self);
    return CT_PACKETS_READ;
}

guint
ct_reception_classify(const CtReception *reception, guint address, const guint8 *bytes, gsize n,
                      CtPacket *packet, guint64 *n_restamped)
{
    const guint count = ct_reception_parse(reception, address, bytes, n, packet);
    if (count != CT_PACKETS_READ)
        return count;
    if (reception->ordered)
        return ct_reception_place(reception, packet, n_restamped);
    packet->lane = address;
    return CT_PACKETS_READ;
}

void
ct_reception_put(CtReception *reception, guint address, const CtPacket *packet, guint count)
{
    if (count == CT_PACKETS_READ)
        ct_received_put(reception->received, packet);
    else
        ct_received_refuse(reception->received, address, packet->offset, count);
}

/* Takes the first datagrams in the order in which they came. */
static void
put_first(CtReception *reception)
{
    CtReceived *received = reception->received;
    for (guint i = 0; i < reception->datagrams->len; i++) {
        const CtFirstDatagram *one = &g_array_index(reception->datagrams, CtFirstDatagram, i);
        const guint8 *bytes = reception->bytes->data + one->at;
        gint64 offset;
        CtPacket packet;
        guint64 n_restamped = 0;
        const guint count =
            ct_reception_classify(reception, one->address, bytes, one->n, &packet, &n_restamped);
        ct_received_borrow(received, &offset, 1);
        packet.offset = offset;
        if (count == CT_PACKETS_READ)
            memcpy(ct_received_bytes(received, offset) + reception->skip, bytes, one->n);
        ct_reception_put(reception, one->address, &packet, count);
        ct_received_restamp(received, one->address, n_restamped);
    }
    g_clear_pointer(&reception->bytes, g_byte_array_unref);
    g_clear_pointer(&reception->datagrams, g_array_unref);
}

/* With the lock. */
static gboolean
begin(CtReception *reception, CtReceivedSizes *sizes, gdouble packet_rate, GError **error)
{
    sizes->first = reception->first;
    sizes->memory = reception->memory.bytes;
    CtReceived *received = ct_received_new(sizes, error);
    if (!received)
        return FALSE;
    reception->received = received;
    if (ct_reception_begin(reception, packet_rate, error)) {
        reception->recording.newest = ct_received_newest(received);
        put_first(reception);
        return TRUE;
    }
    g_clear_pointer(&reception->batch, g_free);
    g_clear_pointer(&reception->received, ct_received_free);
    return FALSE;
}

gboolean
ct_reception_run(CtReception *reception, CtReceivedSizes *sizes, gdouble packet_rate,
                 GError **error)
{
    pthread_mutex_lock(&reception->lock);
    const gboolean good = reception->received || begin(reception, sizes, packet_rate, error);
    pthread_mutex_unlock(&reception->lock);
    return good;
}

/* ---- reading ---- */

void
ct_reception_cut(CtReception *reception, gint64 begin)
{
    pthread_mutex_lock(&reception->lock);
    ct_received_cut(reception->received, begin);
    pthread_mutex_unlock(&reception->lock);
}

/* With the lock. Waits while the thread receives. */
static void
wait_for_thread(CtReception *reception)
{
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_nsec += CT_RECEPTION_WAIT_MILLISECONDS * 1000000L;
    end.tv_sec += end.tv_nsec / 1000000000L;
    end.tv_nsec %= 1000000000L;
    while (ct_received_safe(reception->received, reception->wanted) < reception->wanted &&
           !reception->failure &&
           pthread_cond_timedwait(&reception->more, &reception->lock, &end) != ETIMEDOUT)
        continue;
}

gboolean
ct_reception_wait(CtReception *reception, gint64 begin, gint64 most, gint64 *n, GError **error)
{
    CtReceived *received = reception->received;
    pthread_mutex_lock(&reception->lock);
    const gint64 all = MIN(most, ct_received_most(received));
    reception->wanted = begin + MIN(all, ct_received_worth(received));
    if (reception->most_away > 0)
        ct_reception_receive(reception);
    else
        wait_for_thread(reception);
    reception->wanted = G_MAXINT64;
    *n = CLAMP(ct_received_safe(received, G_MININT64) - begin, 0, all);
    const gboolean good = *n > 0 || !reception->failure;
    if (!good)
        g_propagate_error(error, g_error_copy(reception->failure));
    pthread_mutex_unlock(&reception->lock);
    return good;
}

guint64
ct_reception_load(CtReception *reception, CtPackets *packets, gint64 begin, gint64 end,
                  CtReceivedCounts *rows, guint *address)
{
    pthread_mutex_lock(&reception->lock);
    ct_received_load(reception->received, packets, begin, end);
    ct_received_account(reception->received, rows);
    const guint64 n_unused = ct_received_unused(reception->received, address);
    pthread_mutex_unlock(&reception->lock);
    for (guint i = 0; i < reception->n_addresses; i++)
        rows[reception->recording.n_lanes + i].n[CT_PACKETS_OVERRUN] =
            ct_receiver_lost(reception->addresses[i].receiver);
    return n_unused;
}

const guint8 *
ct_reception_bytes(const CtReception *reception, const CtPacket *packet)
{
    return ct_received_bytes(reception->received, packet->offset) + reception->skip;
}

gsize
ct_reception_skip(const CtReception *reception)
{
    return reception->skip;
}
