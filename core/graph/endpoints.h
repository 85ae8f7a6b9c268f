/* SPDX-License-Identifier: BSD-3-Clause */
/* The stages `input` and `output`, through which an embedding program feeds and takes blocks. They
 * are part of the core. */
#pragma once

#include "graph.h"

/* A plugin with `input` and `output`. Their variants have no work: the program does it. */
extern const CtPlugin ct_endpoints;

/* Sets an error if the graph has an `input`, which nothing feeds without an embedding program. */
gboolean ct_endpoints_check_fed(const CtGraph *graph, GError **error);
/* Sets an error if the graph has an `output`, from which nothing takes without a program. */
gboolean ct_endpoints_check_taken(const CtGraph *graph, GError **error);
