/* SPDX-License-Identifier: BSD-3-Clause */
/* A variant of another plugin's stage that has more outputs than the stage, and one whose second
 * stage has another version. */
#include "pass.h"

static const CtVariant unfit = {
    .name = "unfit",
    .backend = CT_CPU,
    .covers = (const char *const[]){"fail.work 1", NULL},
    .rows = (const CtRow[]){{"[...] -> [...], [...]", 0.5}, {0}},
    .prepare = pass_prepare,
    .work = pass_work,
};

static const CtVariant stale = {
    .name = "stale",
    .backend = CT_CPU,
    .covers = (const char *const[]){"fail.work 1", "fail.prepare 2", "fail.work 1", NULL},
    .rows = pass_rows,
    .prepare = pass_prepare,
    .work = pass_work,
};

CT_PLUGIN("unfit", ((const CtStage *const[]){NULL}),
          ((const CtVariant *const[]){&unfit, &stale, NULL}));
