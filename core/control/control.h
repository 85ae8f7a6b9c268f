/* SPDX-License-Identifier: BSD-3-Clause */
/* The control port of a run: HTTP over a Unix socket, or over TCP on this machine. It shows the
 * run, sets its parameters and ends it; docs/watching.md describes it for users.
 *
 * The server has its own thread. It answers from snapshots, so that no client holds the run up. */
#pragma once

#include <cornerturn/pipeline.h>

typedef struct CtControl CtControl;

typedef struct {
    const char *address; /* "unix:PATH", "tcp:localhost:PORT"; port 0: any that is free */
    const char *token;   /* the file of the token that changes need; NULL: over TCP one is made */
} CtControlOptions;

/* Whether the address can be one; an error also if the program is built without the server. */
gboolean ct_control_check(const CtControlOptions *options, GError **error);
/* Opens the port for a pipeline that is prepared. NULL with an error. */
CtControl *ct_control_open(CtPipeline *pipeline, const CtControlOptions *options, GError **error);
/* Where the port is, "http://localhost:8080" or "unix:PATH", and where its token; for people,
 * allocated. */
char *ct_control_describe(const CtControl *control);
/* Whether a client has asked for the end of the run. */
gboolean ct_control_was_ended(const CtControl *control);
/* What the port at an address answers to GET, allocated; NULL with an error. Waits at most some
 * seconds. */
char *ct_control_fetch(const char *address, const char *path, GError **error);
/* Closes the port, and frees it. Replies that are being sent have a moment to complete. Accepts
 * NULL. */
void ct_control_free(CtControl *control);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtControl, ct_control_free)
