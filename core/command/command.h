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

extern const CtCommand ct_command_bench;
extern const CtCommand ct_command_check;
extern const CtCommand ct_command_costs;
extern const CtCommand ct_command_inspect;
extern const CtCommand ct_command_new_stage;
extern const CtCommand ct_command_plan;
extern const CtCommand ct_command_run;
extern const CtCommand ct_command_schema;
extern const CtCommand ct_command_send;
extern const CtCommand ct_command_show;
extern const CtCommand ct_command_test_stage;
extern const CtCommand ct_command_top;
extern const CtCommand ct_command_tune;
extern const CtCommand ct_command_verify;

/* Parses the options of `command`. The remaining elements of `argv` are its arguments, whose number
 * must be `least` to `most`. Prints the help and exits if that is requested. */
gboolean ct_command_parse(const CtCommand *command, const GOptionEntry *entries, int *argc,
                          char ***argv, int least, int most, GError **error);

/* Whether the file at `path`, which `option` names, can be written: nothing is there or a regular
 * file, and new files can be made beside it. Commands that run long ask before. */
gboolean ct_command_check_output(const char *option, const char *path, GError **error);
/* Replaces the file at once by `length` bytes; −1: by a text that ends with a NUL. */
gboolean ct_command_write_output(const char *option, const char *path, const char *bytes,
                                 gssize length, GError **error);

/* Sends lines such as "READY=1" to the service manager, if one has started the command. */
void ct_command_notify(const char *format, ...) G_GNUC_PRINTF(1, 2);
/* The µs within which the service manager wants to hear "WATCHDOG=1"; 0: it does not. */
gint64 ct_command_watchdog(void);

/* Makes a write to a reader that is gone, or past a file's size limit, an error of the write, and
 * SIGUSR1 a request for statistics. */
void ct_command_catch_requests(void);
/* Whether statistics were asked for since the last call. */
gboolean ct_command_take_request(void);
/* Makes the first SIGINT, SIGTERM or SIGHUP be noted instead of ending the process; the next one
 * ends it at once. Signals that are ignored stay so. */
void ct_command_catch_interrupts(void);
/* The signal that was noted; 0: none was. */
int ct_command_interrupt(void);
/* Notes an interrupt that came over the control port: the exit status is that of SIGTERM. */
void ct_command_note_end(void);
/* "SIGINT" */
const char *ct_command_signal_name(int number);
