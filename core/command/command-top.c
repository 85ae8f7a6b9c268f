/* SPDX-License-Identifier: BSD-3-Clause */
/* `cornerturn top`: shows a run in a terminal, by its control port. */
#include "command.h"
#include "control/control.h"
#include "top.h"

#include <curses.h>
#include <unistd.h>

enum { MILLISECONDS = 1000 };

static void
draw(const CtTop *top)
{
    g_autofree char *text = ct_top_to_text(top);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    erase();
    for (int i = 0; lines[i] && i < LINES; i++)
        mvaddnstr(i, 0, lines[i], -1);
    refresh();
}

/* Waits for a key, or until the next statistics are due; whether to go on. */
static gboolean
wait_for_key(void)
{
    const int key = getch();
    return key != 'q' && key != 'Q' && !ct_command_interrupt();
}

static gboolean
show(const char *address, CtTop *top, GError **error)
{
    g_autoptr(GError) gone = NULL;
    if (!ct_top_read(top, address, error))
        return FALSE;
    initscr();
    noecho();
    curs_set(0);
    scrollok(stdscr, FALSE);
    timeout(MILLISECONDS);
    do
        draw(top);
    while (wait_for_key() && ct_top_read(top, address, &gone));
    endwin();
    if (gone)
        g_print("%s: the run has ended\n", address);
    return TRUE;
}

static gboolean
run(int argc, char **argv, GError **error)
{
    const GOptionEntry entries[] = {{NULL}};
    if (!ct_command_parse(&ct_command_top, entries, &argc, &argv, 1, 1, error))
        return FALSE;
    if (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO)) {
        g_set_error(error, CT_ERROR, CT_ERROR_IO, "top wants a terminal");
        return FALSE;
    }
    ct_command_catch_interrupts();
    CtTop top = {0};
    const gboolean good = show(argv[1], &top, error);
    ct_top_clear(&top);
    return good;
}

const CtCommand ct_command_top = {
    .name = "top",
    .arguments = "ADDRESS",
    .summary = "Show a run in a terminal, by its control port",
    .run = run,
};
