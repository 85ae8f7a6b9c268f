/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of stages, for programs. */
#include "graph/registry.h"
#include "measure/test-stage.h"
#include "model/unknown.h"

gboolean
ct_test_stage(const char *name, const CtStageTest *how, gboolean *passes, GError **error)
{
    if (CT_RESERVED_IS_SET(how)) {
        g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER, "the test of a stage " CT_UNKNOWN_FAULT);
        return FALSE;
    }
    g_autoptr(CtRegistry) registry = ct_registry_new(error);
    return registry && ct_stage_test(registry, name, how, passes, error);
}
