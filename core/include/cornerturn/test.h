/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests a stage of any plugin: runs all its variants by themselves, in all layouts, types, sizes,
 * tunings and firings, and compares them with its `reference`. */
#pragma once

#include <cornerturn/error.h>

G_BEGIN_DECLS

/* How to test; 0 in every member is the usual way. */
typedef struct {
    const char *const *settings; /* parameters, "n_taps=8" with the value in YAML; NULL-terminated;
                                    NULL: none */
    const char *const *axes;     /* lengths of axes, "station=5", NULL-terminated; NULL: none */
    const char *type;            /* of the first input, "cf32"; NULL: all that the port takes */
    const char *variant;         /* the only one to test; NULL: all */
    guint32 seed;                /* of the cases; 0: 1 */
    const char *only;            /* the only case to run, as the report of a failure names it;
                                    NULL: all */
    gdouble seconds; /* for which cases are run, except that every row is run once; 0: 30. Compiling
                        kernels takes up to four times as long beside that. */
    /* Gets each line of the report, in the Test Anything Protocol, without its end. */
    void (*line)(const char *line, gpointer user_data);
    gpointer user_data;
    guint64 reserved[8]; /* 0 */
} CtStageTest;

/* Tests the stage `name`. Each variant is one test of the report; a variant that this machine
 * cannot run is skipped, with the reason. *passes: whether none differs. FALSE with an error:
 * nothing could be tested, because there is no such stage, or because it refuses all streams.
 *
 * Devices are those of the process: those of the machine or, if the environment variable
 * CORNERTURN_CUDA names it, the emulator. Variants that access other memory than their blocks are
 * found by faults: during the call, the process handles the signals SIGSEGV, SIGBUS, SIGFPE, SIGILL
 * and SIGABRT. One thread at a time may call this. */
CT_EXPORT gboolean ct_test_stage(const char *name, const CtStageTest *how, gboolean *passes,
                                 GError **error);

G_END_DECLS
