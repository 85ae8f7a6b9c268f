/* SPDX-License-Identifier: BSD-3-Clause */
/* Interrupts of commands that take their time: they end them in order. */
#include "command.h"

#include <signal.h>

/* Raised by SIGINT and SIGTERM. */
static volatile sig_atomic_t interrupts;

static void
on_signal(int number G_GNUC_UNUSED)
{
    interrupts++;
}

void
ct_command_catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    /* A reader that has gone, or a file past its limit, shows as an error of the write. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}

guint
ct_command_n_interrupts(void)
{
    return (guint)interrupts;
}
