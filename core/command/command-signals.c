/* SPDX-License-Identifier: BSD-3-Clause */
/* Signals for commands that run long: they end the command in order, or ask for statistics. */
#include "command.h"

#include <cornerturn/pipeline.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

/* A signal that is repeated within this many nanoseconds is the same: GNU timeout sends its signal
 * to the command and then to the group that the command is in. */
#define SAME_SIGNAL 300000000

static const struct {
    int number;
    const char *name;
} interrupts[] = {{SIGINT, "SIGINT"}, {SIGTERM, "SIGTERM"}, {SIGHUP, "SIGHUP"}};

/* Written by handlers, on any thread. */
static atomic_int interrupted_by;
static atomic_llong interrupted_at; /* nanoseconds; set before interrupted_by */
static atomic_bool is_requested;

static void
on_interrupt(int number)
{
    static const char text[] = "interrupted again: ended at once; results stay partial\n";
    struct timespec time;
    long long at = 0;
    int first = 0;
    clock_gettime(CLOCK_MONOTONIC, &time);
    const long long now = time.tv_sec * 1000000000LL + time.tv_nsec;
    atomic_compare_exchange_strong(&interrupted_at, &at, now);
    ct_interrupt_waits();
    if (atomic_compare_exchange_strong(&interrupted_by, &first, number))
        return;
    if (first == number && now - atomic_load(&interrupted_at) < SAME_SIGNAL)
        return;
    /* A failure of this write cannot be reported. */
    const ssize_t ignored G_GNUC_UNUSED = write(STDERR_FILENO, text, sizeof text - 1);
    _exit(128 + number);
}

static void
on_request(int number G_GNUC_UNUSED)
{
    atomic_store(&is_requested, TRUE);
}

static void catch (int number, void (*handler)(int))
{
    struct sigaction before, action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    if (sigaction(number, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(number, &action, NULL);
}

void
ct_command_catch_requests(void)
{
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    catch (SIGUSR1, on_request);
}

gboolean
ct_command_take_request(void)
{
    return atomic_exchange(&is_requested, FALSE);
}

void
ct_command_catch_interrupts(void)
{
    for (guint i = 0; i < G_N_ELEMENTS(interrupts); i++)
        catch (interrupts[i].number, on_interrupt);
}

int
ct_command_interrupt(void)
{
    return atomic_load(&interrupted_by);
}

void
ct_command_note_end(void)
{
    int none = 0;
    atomic_compare_exchange_strong(&interrupted_by, &none, SIGTERM);
}

const char *
ct_command_signal_name(int number)
{
    for (guint i = 0; i < G_N_ELEMENTS(interrupts); i++)
        if (interrupts[i].number == number)
            return interrupts[i].name;
    return "a signal";
}
