/* SPDX-License-Identifier: BSD-3-Clause */
/* The two stages that the core itself brings: where the embedding program's blocks come and go. */
#pragma once

#include <cornerturn/stage.h>

/* `input` and `output`; their variants have no work: the program does it. */
extern const CtPlugin ct_endpoints;
