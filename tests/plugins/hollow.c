/* SPDX-License-Identifier: BSD-3-Clause */
/* A plugin with a stage without infer. */
#include "pass.h"

static const CtStage stage = {PASS_STAGE("hollow", "Has no infer")};
static const CtVariant variant = {
    .name = "reference",
    .covers = (const char *const[]){"hollow", NULL},
    .rows = pass_rows,
    .work = pass_work,
};

CT_PLUGIN("hollow", ((const CtStage *const[]){&stage, NULL}),
          ((const CtVariant *const[]){&variant, NULL}));
