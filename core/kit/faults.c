/* SPDX-License-Identifier: BSD-3-Clause */
/* Faults of the network by chance, and the account of all packets. */
#include "faults.h"

#include <string.h>

/* The copies of packets that wait to be sent, before all is sent. */
enum { MOST_COPIES = 256 };

/* A packet that is delayed, which owns its bytes. */
typedef struct {
    CtOutgoing packet;
    guint address;
    gint64 due;
    gint64 jitter;
    guint64 behind; /* of the address's packets, the one behind which it comes */
    guint64 order;  /* of packets that go at once */
    gboolean twice;
} Delayed;

typedef struct {
    GSequence *behind;  /* of Delayed, by the packet behind which they come */
    guint64 newest;     /* 1 + the number of the newest packet that was sent; 0: none was */
    gint64 first, last; /* when datagrams were sent */
} Line;

struct CtFaults {
    const CtSend *how;
    CtSenders *senders;
    CtSendCount *counts;
    Line *lines; /* [n_lines] */
    guint n_lines;
    GRand *random;
    GSequence *late;   /* of Delayed, by their times */
    GPtrArray *copies; /* bytes that the senders may still have */
    guint64 order;
    gint64 due; /* of the last packet */
};

static void
delayed_free(gpointer data)
{
    Delayed *delayed = data;
    g_free((gpointer)delayed->packet.bytes);
    g_free(delayed);
}

static gint
compare_times(gconstpointer a, gconstpointer b, G_GNUC_UNUSED gpointer data)
{
    const Delayed *x = a, *y = b;
    if (x->due != y->due)
        return x->due < y->due ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

static gint
compare_numbers(gconstpointer a, gconstpointer b, G_GNUC_UNUSED gpointer data)
{
    const Delayed *x = a, *y = b;
    if (x->behind != y->behind)
        return x->behind < y->behind ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

/* The first one; NULL: there is none. */
static const Delayed *
first_of(GSequence *sequence)
{
    return g_sequence_is_empty(sequence) ? NULL
                                         : g_sequence_get(g_sequence_get_begin_iter(sequence));
}

/* The first one, to be freed, which the sequence no longer has. */
static Delayed *
take_first(GSequence *sequence)
{
    GSequenceIter *first = g_sequence_get_begin_iter(sequence);
    Delayed *delayed = g_sequence_get(first), *taken = g_memdup2(delayed, sizeof *delayed);
    delayed->packet.bytes = NULL;
    g_sequence_remove(first);
    return taken;
}

/* ---- the account ---- */

static void
tell(const CtFaults *self, guint address, const CtOutgoing *packet, CtSendFate fate)
{
    const CtSendPacket told = {address,        packet->number, packet->file,
                               packet->offset, packet->n,      fate};
    if (self->how->packet)
        self->how->packet(&told, self->how->user_data);
}

static void
note_sent(guint address, const CtOutgoing *sent, guint n, gpointer data)
{
    CtFaults *self = data;
    CtSendCount *count = &self->counts[address];
    Line *line = &self->lines[address];
    if (n > 0)
        line->last = ct_clock_now();
    if (count->sent == 0)
        line->first = line->last;
    for (guint i = 0; i < n; i++) {
        count->sent++;
        count->bytes += sent[i].n;
        count->duplicated += sent[i].again;
        count->reordered += !sent[i].again && sent[i].number + 1 < line->newest;
        line->newest = MAX(line->newest, sent[i].number + 1);
        tell(self, address, &sent[i], sent[i].again ? CT_SEND_AGAIN : CT_SEND_SENT);
    }
}

CtFaults *
ct_faults_new(const CtSend *how, CtSenders *senders, guint n_addresses, CtSendCount *counts)
{
    CtFaults *self = g_new0(CtFaults, 1);
    self->how = how;
    self->senders = senders;
    self->counts = counts;
    self->lines = g_new0(Line, n_addresses);
    self->n_lines = n_addresses;
    for (guint i = 0; i < n_addresses; i++)
        self->lines[i].behind = g_sequence_new(delayed_free);
    self->random = g_rand_new_with_seed(how->seed);
    self->late = g_sequence_new(delayed_free);
    self->copies = g_ptr_array_new_with_free_func(g_free);
    ct_senders_watch(senders, note_sent, self);
    return self;
}

void
ct_faults_free(CtFaults *self)
{
    if (!self)
        return;
    for (guint i = 0; i < self->n_lines; i++)
        g_sequence_free(self->lines[i].behind);
    g_free(self->lines);
    g_rand_free(self->random);
    g_sequence_free(self->late);
    g_ptr_array_unref(self->copies);
    g_free(self);
}

/* ---- sending ---- */

static gboolean
send_at(CtFaults *self, guint address, const CtOutgoing *packet, gint64 due, gboolean twice,
        GError **error)
{
    const CtSend *how = self->how;
    CtOutgoing again = *packet;
    again.again = TRUE;
    return ct_senders_wait(self->senders, due, how->is_over, how->user_data, error) &&
           ct_senders_put(self->senders, address, packet, error) &&
           (!twice || ct_senders_put(self->senders, address, &again, error));
}

/* Sends a packet that was delayed; takes it. */
static gboolean
send_delayed(CtFaults *self, Delayed *delayed, gint64 due, GError **error)
{
    g_ptr_array_add(self->copies, (gpointer)delayed->packet.bytes);
    gboolean good = send_at(self, delayed->address, &delayed->packet, due, delayed->twice, error);
    if (good && self->copies->len >= MOST_COPIES) {
        good = ct_senders_flush(self->senders, error);
        g_ptr_array_set_size(self->copies, 0);
    }
    g_free(delayed);
    return good;
}

/* Sends the late ones whose time comes before. */
static gboolean
send_late(CtFaults *self, gint64 before, GError **error)
{
    const Delayed *first;
    while ((first = first_of(self->late)) && first->due <= before) {
        Delayed *delayed = take_first(self->late);
        if (!send_delayed(self, delayed, delayed->due, error))
            return FALSE;
    }
    return TRUE;
}

static Delayed *
copy_packet(guint address, const CtOutgoing *packet)
{
    Delayed *delayed = g_new0(Delayed, 1);
    delayed->address = address;
    delayed->packet = *packet;
    delayed->packet.bytes = g_memdup2(packet->bytes, packet->n);
    return delayed;
}

static void
add_late(CtFaults *self, Delayed *delayed, gint64 due)
{
    delayed->due = due + delayed->jitter;
    delayed->order = self->order++;
    g_sequence_insert_sorted(self->late, delayed, compare_times, NULL);
}

/* Sends those that have been overtaken, or all. */
static gboolean
send_overtaken(CtFaults *self, guint address, guint64 number, gint64 due, GError **error)
{
    GSequence *behind = self->lines[address].behind;
    const Delayed *first;
    while ((first = first_of(behind)) && first->behind <= number) {
        Delayed *delayed = take_first(behind);
        if (delayed->jitter > 0)
            add_late(self, delayed, due);
        else if (!send_delayed(self, delayed, due, error))
            return FALSE;
    }
    return TRUE;
}

/* All chances of a packet, drawn in one order whether they are wanted or not: so a seed loses the
 * same packets whatever else happens to them. */
typedef struct {
    gboolean is_lost, is_double, is_behind;
    guint64 by;
    gint64 jitter;
} Chance;

static Chance
draw(CtFaults *self)
{
    const CtSend *how = self->how;
    Chance chance;
    chance.is_lost = g_rand_double(self->random) < how->loss;
    chance.is_double = g_rand_double(self->random) < how->duplicate;
    chance.is_behind = g_rand_double(self->random) < how->reorder;
    chance.by = 1 + (guint64)(g_rand_double(self->random) * how->reorder_by);
    chance.jitter = (gint64)(g_rand_double(self->random) * how->jitter * 1e9);
    return chance;
}

gboolean
ct_faults_put(CtFaults *self, guint address, const CtOutgoing *packet, gint64 due, GError **error)
{
    CtOutgoing numbered = *packet;
    numbered.number = self->counts[address].read++;
    const Chance chance = draw(self);
    self->due = due;
    if (!send_late(self, due, error))
        return FALSE;
    if (chance.is_lost) {
        self->counts[address].lost++;
        tell(self, address, &numbered, CT_SEND_LOST);
    } else if (chance.is_behind || chance.jitter > 0) {
        Delayed *delayed = copy_packet(address, &numbered);
        delayed->twice = chance.is_double;
        delayed->jitter = chance.jitter;
        delayed->behind = numbered.number + chance.by;
        if (chance.is_behind) {
            delayed->order = self->order++;
            g_sequence_insert_sorted(self->lines[address].behind, delayed, compare_numbers, NULL);
        } else {
            add_late(self, delayed, due);
        }
    } else if (!send_at(self, address, &numbered, due, chance.is_double, error)) {
        return FALSE;
    }
    return send_overtaken(self, address, numbered.number, due, error);
}

gboolean
ct_faults_end(CtFaults *self, GError **error)
{
    gboolean good = error != NULL;
    for (guint i = 0; good && i < self->n_lines; i++)
        good = send_overtaken(self, i, G_MAXUINT64, self->due, error);
    good = good && send_late(self, G_MAXINT64, error) && ct_senders_flush(self->senders, error);
    for (guint i = 0; i < self->n_lines; i++) {
        CtSendCount *count = &self->counts[i];
        count->unsent = count->read - count->lost - (count->sent - count->duplicated);
        count->seconds = (gdouble)(self->lines[i].last - self->lines[i].first) / 1e9;
    }
    return good;
}
