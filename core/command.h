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

/* Counts SIGINT and SIGTERM from now on, in place of ending the process. */
void ct_command_catch_signals(void);
guint ct_command_n_interrupts(void);

/* The devices of this machine, or why there are none, in lines of their own after an empty one. */
void ct_command_print_devices(void);
/* A line that says why there are none, where there are none. */
void ct_command_print_lack(void);
