/* SPDX-License-Identifier: BSD-3-Clause */
/* The two stages that the core itself brings: where the embedding program's blocks come and go. */
#pragma once

#include "graph.h"

/* `input` and `output`; their variants have no work: the program does it. */
extern const CtPlugin ct_endpoints;

/* Without a program nobody feeds an `input`: an error of the first. */
gboolean ct_endpoints_check_fed(const CtGraph *graph, GError **error);
/* And nobody takes from an `output`. */
gboolean ct_endpoints_check_taken(const CtGraph *graph, GError **error);
