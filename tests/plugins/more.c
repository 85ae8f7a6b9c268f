/* SPDX-License-Identifier: BSD-3-Clause */
/* A variant, and a fused one, for stages of other plugins. */
#include "pass.h"

static const CtVariant more = {
    .name = "cpu",
    .backend = CT_CPU,
    .covers = (const char *const[]){"fail.work 1", NULL},
    .rows = pass_rows,
    .prepare = pass_prepare,
    .work = pass_work,
};
static const CtVariant fused = {
    .name = "cpu",
    .backend = CT_CPU,
    .covers = (const char *const[]){"fail.work 1", "fail.prepare 1", NULL},
    .rows = pass_rows,
    .prepare = pass_prepare,
    .work = pass_work,
};

CT_PLUGIN("more", ((const CtStage *const[]){NULL}),
          ((const CtVariant *const[]){&more, &fused, NULL}));
