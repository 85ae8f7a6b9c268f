/* SPDX-License-Identifier: BSD-3-Clause */
/* Pipes in place of files: `-` (standard input or output), `fd:3` (an open file of the process), or
 * a FIFO. */
#pragma once

#include <glib.h>
#include <poll.h>

/* Whether a path names a pipe. */
gboolean ct_pipe_is(const char *path);
/* How messages call it. */
const char *ct_pipe_name(const char *path, gboolean is_written);
/* Opens a pipe for writing, and waits for a FIFO's reader; or for reading, and waits for nobody.
 * −1 with an error. */
int ct_pipe_open(const char *path, gboolean is_written, GError **error);

/* Waits, as poll(2), until one of the descriptors can be read; −1 with EINTR: a signal that asks
 * for the end, or ct_interrupt_waits() before or meanwhile. */
int ct_pipe_wait(struct pollfd *readable, guint n);

/* ---- reading ---- */

/* A pipe that is read. It can be read only once, but its header is wanted several times: when the
 * graph is checked and when it is prepared. So the process keeps the first bytes, the head, from
 * the first ct_pipe_get of a path until a run has read more and frees its pipe; until then, every
 * ct_pipe_get of the path gives the same pipe. All functions but ct_pipe_read may be called by any
 * thread. */
typedef struct CtPipe CtPipe;

/* Opens the pipe, or finds it among those that are open. To be freed with ct_pipe_free. */
CtPipe *ct_pipe_get(const char *path, GError **error);
void ct_pipe_free(CtPipe *pipe);

/* Reads until the head has `n` bytes, or the pipe ends. A signal that asks for the end (SIGINT,
 * SIGTERM, SIGHUP) ends the wait with an error. */
gboolean ct_pipe_need(CtPipe *pipe, gint64 n, GError **error);
/* A file that holds the head, for pread(2), to be closed; sets *length. −1 with an error. */
int ct_pipe_head(CtPipe *pipe, gint64 *length, GError **error);

/* Reads up to `n` bytes from behind the head on, as many as are there; waits for the first one at
 * most `milliseconds`. Sets *given; 0 with *ended unset: none has come. For the one thread of a
 * run. */
gboolean ct_pipe_read(CtPipe *pipe, guint8 *to, gsize n, int milliseconds, gsize *given,
                      gboolean *ended, GError **error);

/* ---- reading packets ---- */

/* Another way to read a pipe: all bytes go to the file of the head, where each has the offset that
 * it has in the pipe, until they are dropped. One pipe is read in one of both ways. */

/* Reads what is there of those of n pipes that hold fewer than `most` bytes, and waits for the
 * first ones at most `milliseconds`; −1: until some come, or until a signal that asks for the end,
 * which is an error. Sets *filled to whether bytes or an end have come. */
gboolean ct_pipes_fill(CtPipe *const *pipes, guint n, gint64 most, int milliseconds,
                       gboolean *filled, GError **error);
/* The bytes that the pipe has given so far; sets *ended if none follow. */
gint64 ct_pipe_length(CtPipe *pipe, gboolean *ended);
/* The bytes that are held. */
gint64 ct_pipe_held(CtPipe *pipe);
/* Nobody wants the bytes before `offset` any more. */
void ct_pipe_drop(CtPipe *pipe, gint64 offset);
/* A run has begun to read: when it frees the pipe, nobody else gets it. */
void ct_pipe_start(CtPipe *pipe);
