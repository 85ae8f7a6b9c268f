/* SPDX-License-Identifier: BSD-3-Clause */
/* The subcommands of `cornerturn`, one file each. */
#pragma once

#include <glib.h>

typedef struct {
    const char *name;
    const char *arguments; /* "FILE", as --help shows them */
    const char *summary;   /* one line */
    /* `argv[0]` is the subcommand. Prints its result; an error is printed by main. */
    gboolean (*run)(int argc, char **argv, GError **error);
} CtCommand;

extern const CtCommand ct_command_check;
extern const CtCommand ct_command_costs;
extern const CtCommand ct_command_inspect;
extern const CtCommand ct_command_new_stage;
extern const CtCommand ct_command_plan;
extern const CtCommand ct_command_run;
extern const CtCommand ct_command_tune;
extern const CtCommand ct_command_verify;

/* Parses the options of `command`; what is left in `argv` are its arguments, of which there must be
 * `least` to `most`. Prints the help and exits where it is asked for. */
gboolean ct_command_parse(const CtCommand *command, const GOptionEntry *entries, int *argc,
                          char ***argv, int least, int most, GError **error);

/* From now on a write to a reader that has gone, or past a file's limit, is an error of the write,
 * and SIGUSR1 asks for statistics. */
void ct_command_catch_requests(void);
/* Whether statistics were asked for since the last call. */
gboolean ct_command_take_request(void);
/* From now on the first of SIGINT, SIGTERM and SIGHUP is kept in place of ending the process; the
 * next ends it at once. Those that are ignored stay so. */
void ct_command_catch_interrupts(void);
/* The one that came; 0: none has. */
int ct_command_interrupt(void);
/* "SIGINT" */
const char *ct_command_signal_name(int number);
