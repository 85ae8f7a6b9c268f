/* SPDX-License-Identifier: BSD-3-Clause */
/* The test of a stage: the cases of all its variants, compared with the reference. */
#pragma once

#include "graph/registry.h"

#include <cornerturn/test.h>

/* As ct_test_stage(), with the plugins of the registry. */
gboolean ct_stage_test(CtRegistry *registry, const char *name, const CtStageTest *how,
                       gboolean *passes, GError **error);
