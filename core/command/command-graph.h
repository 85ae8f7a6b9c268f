/* SPDX-License-Identifier: BSD-3-Clause */
/* The options that every command about a graph takes. */
#pragma once

#include "command.h"
#include "control/control.h"

#include <cornerturn/pipeline.h>

typedef struct {
    const char *file;
    gdouble duration; /* seconds of stream; 0: as long as the sources last */
    gboolean strict;  /* warnings are errors */
    guint n_printed;  /* number of warnings printed */
} CtGraphOptions;

/* Parses the options of `command`, including the `further` ones (NULL: none), and loads and sets up
 * the pipeline of its argument. */
CtPipeline *ct_graph_options_load(CtGraphOptions *options, const CtCommand *command,
                                  const GOptionEntry *further, int argc, char **argv,
                                  GError **error);

/* How a run is shown and steered. */
typedef struct {
    const char *format; /* of the summary; "none" for none */
    gdouble period;     /* seconds between two statistics during the run; 0: only the summary */
    gboolean quiet;
    CtControlOptions control; /* its address is NULL: there is no control port */
} CtGraphRun;

/* Runs a pipeline that has been set up, and prints its summary. */
gboolean ct_graph_run(CtGraphOptions *options, CtPipeline *pipeline, const CtGraphRun *how,
                      GError **error);
/* Prints a line that overwrites the previous one on a terminal: the share that is done and the time
 * that is left, if the length is known; the time of stream, its rate, losses, the fullest queues.
 * `started` is of the monotonic clock. */
void ct_graph_show_progress(CtPipeline *pipeline, gint64 started);
/* The format of the summary; NULL with an error. `stats` NULL: not given. */
const char *ct_graph_read_format(const char *stats, gboolean quiet, GError **error);

/* Reads the time in seconds, more than zero, that `option` is given as `text`. */
gboolean ct_graph_read_time(const char *option, const char *text, gdouble *seconds, GError **error);

/* Prints the pipeline's new warnings on standard error; nothing where an error reports them. */
void ct_graph_print_warnings(CtGraphOptions *options, const CtPipeline *pipeline);
