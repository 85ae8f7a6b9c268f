/* SPDX-License-Identifier: BSD-3-Clause */
/* The ways to send datagrams, and sending them at their times. */
#include "sender.h"

#include "address.h"
#include "cornerturn/error.h"

#include <time.h>

/* The longest time, in nanoseconds, between two looks at whether a wait is over. */
enum { LOOK_EVERY = 100000000 };

static const CtSenderKind *const kinds[] = {&ct_sender_udp};

typedef struct {
    CtSender *sender;
    CtOutgoing batch[CT_SENDER_BATCH];
    guint n;
} Line;

struct CtSenders {
    Line *lines; /* [n_lines] */
    guint n_lines;
    gint64 now; /* when the clock was read last */
    CtSentFunc sent;
    gpointer data;
};

static const CtSenderKind *
find_kind(const char *path)
{
    for (guint i = 0; i < G_N_ELEMENTS(kinds); i++)
        if (g_str_has_prefix(path, kinds[i]->prefix))
            return kinds[i];
    return NULL;
}

gboolean
ct_sender_is(const char *path)
{
    return find_kind(path) != NULL;
}

gboolean
ct_sender_check(const char *path, gboolean *is_group, GError **error)
{
    CtAddress address = {0};
    if (!ct_address_read(&address, find_kind(path)->prefix, path, error))
        return FALSE;
    *is_group = address.is_group;
    return TRUE;
}

gboolean
ct_senders_check(const char *const *paths, GError **error)
{
    gboolean is_group;
    for (; *paths; paths++) {
        if (ct_sender_is(*paths)) {
            if (!ct_sender_check(*paths, &is_group, error))
                return FALSE;
            continue;
        }
        g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER,
                    "wants udp://ADDRESS:PORT, but is given '%s'", *paths);
        return FALSE;
    }
    return TRUE;
}

CtSenders *
ct_senders_new(const char *const *paths, guint n, const CtSenderGroup *group, GError **error)
{
    g_autoptr(CtSenders) self = g_new0(CtSenders, 1);
    self->lines = g_new0(Line, n);
    self->now = G_MININT64;
    for (; self->n_lines < n; self->n_lines++) {
        const char *path = paths[self->n_lines];
        CtSender *sender = find_kind(path)->open(path, group, error);
        if (!sender)
            return NULL;
        self->lines[self->n_lines].sender = sender;
    }
    return g_steal_pointer(&self);
}

void
ct_senders_free(CtSenders *self)
{
    if (!self)
        return;
    for (guint i = 0; i < self->n_lines; i++)
        self->lines[i].sender->kind->close(self->lines[i].sender);
    g_free(self->lines);
    g_free(self);
}

void
ct_senders_watch(CtSenders *self, CtSentFunc sent, gpointer data)
{
    self->sent = sent;
    self->data = data;
}

/* After a failure, nothing waits any more. */
static gboolean
flush_line(CtSenders *self, guint i, GError **error)
{
    Line *line = &self->lines[i];
    const guint n = line->n;
    line->n = 0;
    if (n == 0)
        return TRUE;
    const guint done = line->sender->kind->send(line->sender, line->batch, n, error);
    if (self->sent)
        self->sent(i, line->batch, done, self->data);
    return done == n;
}

gboolean
ct_senders_flush(CtSenders *self, GError **error)
{
    gboolean good = TRUE;
    for (guint i = 0; i < self->n_lines; i++)
        good = flush_line(self, i, good ? error : NULL) && good;
    return good;
}

gboolean
ct_senders_put(CtSenders *self, guint i, const CtOutgoing *datagram, GError **error)
{
    Line *line = &self->lines[i];
    line->batch[line->n++] = *datagram;
    return line->n < CT_SENDER_BATCH || flush_line(self, i, error);
}

/* ---- the clock ---- */

gint64
ct_clock_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (gint64)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void
sleep_until(gint64 due)
{
    const struct timespec at = {due / 1000000000, due % 1000000000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

gboolean
ct_senders_wait(CtSenders *self, gint64 due, gboolean (*is_over)(gpointer), gpointer data,
                GError **error)
{
    if (due <= self->now || due <= (self->now = ct_clock_now()))
        return TRUE;
    if (!ct_senders_flush(self, error))
        return FALSE;
    while (due > (self->now = ct_clock_now()) && !(is_over && is_over(data)))
        sleep_until(MIN(due, self->now + LOOK_EVERY));
    return TRUE;
}
