/* SPDX-License-Identifier: BSD-3-Clause */
/* The options that every command about a graph takes. */
#pragma once

#include "command.h"

#include <cornerturn/pipeline.h>

typedef struct {
    const char *file;
    gdouble duration; /* seconds of stream; 0: as long as the sources last */
    gboolean strict;  /* warnings are errors */
    guint n_printed;  /* of the warnings */
} CtGraphOptions;

/* Parses the options of `command`, `further` ones (NULL: none) among them, and loads and sets up
 * the pipeline of the one argument. */
CtPipeline *ct_graph_options_load(CtGraphOptions *options, const CtCommand *command,
                                  const GOptionEntry *further, int argc, char **argv,
                                  GError **error);

/* A time of more than nothing, in seconds, that `option` is given as `text`. */
gboolean ct_graph_read_time(const char *option, const char *text, gdouble *seconds, GError **error);

/* Prints on standard error what the pipeline warns of, and has not been printed; nothing where an
 * error says so. */
void ct_graph_print_warnings(CtGraphOptions *options, const CtPipeline *pipeline);
