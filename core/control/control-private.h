/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of the control port. */
#pragma once

#include "control.h"

#include <json-glib/json-glib.h>
#include <libsoup/soup.h>
#include <stdatomic.h>

/* ---- listen.c: the address, and the sockets that listen there ---- */

enum { CT_CONTROL_SOCKETS = 2 };

typedef struct {
    gboolean is_unix;
    char *name;                           /* the path; or the host, without brackets */
    guint port;                           /* over TCP */
    GSocket *sockets[CT_CONTROL_SOCKETS]; /* NULL: there are no more */
    guint64 device, inode;                /* of the Unix socket, so that only this one is removed */
} CtControlListener;

/* `what` names the address in errors. */
gboolean ct_control_listener_parse(CtControlListener *listener, const char *what,
                                   const char *address, GError **error);
gboolean ct_control_listener_open(CtControlListener *listener, GError **error);
/* Whether a client may name the server so: `host` is its header Host. */
gboolean ct_control_listener_is_host(const CtControlListener *listener, const char *host);
/* Also removes the Unix socket. */
void ct_control_listener_clear(CtControlListener *listener);

/* ---- token.c: what a client must know to change something ---- */

typedef struct {
    char *path; /* of its file; NULL: changes need no token */
    char *text;
    gboolean is_made; /* the file is removed at the end */
} CtControlToken;

/* Reads the file at `path`, or makes it; with NULL at `fallback`, which may be there already. */
gboolean ct_control_token_open(CtControlToken *token, const char *path, const char *fallback,
                               GError **error);
/* Whether `given` is the token; takes equally long for all texts of one length. */
gboolean ct_control_token_is(const CtControlToken *token, const char *given);
void ct_control_token_clear(CtControlToken *token);

/* ---- connection.c: clients, and their limits ---- */

/* The most bytes of a request's body. */
enum { CT_CONTROL_MAX_BODY = 65536 };

/* Accepts clients until the server's context ends; on the server's thread. */
void ct_control_accept(CtControl *control);
/* Closes connections, except for those with a request; with `is_now` these, too. */
void ct_control_drop(CtControl *control, gboolean is_now);

/* ---- routes.c: requests ---- */

void ct_control_add_routes(CtControl *control);
/* Answers with a status other than 200, and a JSON object that says why. */
void ct_control_refuse(SoupServerMessage *message, guint status, const char *format, ...)
    G_GNUC_PRINTF(3, 4);

/* ---- documents.c, metrics.c: replies from one snapshot of the statistics ---- */

/* The statistics, no older than a moment; owned by `control`. */
JsonObject *ct_control_stats(CtControl *control);
const char *ct_control_stats_text(CtControl *control);
/* Allocated texts. */
char *ct_control_state(CtControl *control);
char *ct_control_warnings(CtControl *control);
/* NULL: there is no such node. */
char *ct_control_node(CtControl *control, const char *name);
char *ct_control_metrics(CtControl *control);

/* ---- set.c: changes of parameters ---- */

/* Sets the parameter that a body of JSON asks for. Returns the reply, allocated; NULL with *status
 * and an error. */
char *ct_control_set(CtControl *control, const char *body, gsize length, guint *status,
                     GError **error);

struct CtControl {
    CtPipeline *pipeline;
    CtControlListener listener;
    CtControlToken token;
    gint64 opened;                /* µs of the monotonic clock */
    char *plan, *drawing, *graph; /* the documents, which never change */
    atomic_bool is_ended;         /* by a client */
    GThread *thread;
    GMainContext *context;
    GMainLoop *loop;
    /* On the server's thread alone: */
    SoupServer *server;
    GQueue connections; /* the oldest first */
    gboolean is_closing;
    JsonNode *stats; /* the last snapshot; NULL: there is none */
    char *stats_text;
    gint64 stats_time; /* µs of the monotonic clock */
};
