/* SPDX-License-Identifier: BSD-3-Clause */
/* A stage with a name that another plugin already has. */
#include "pass.h"

static const CtStage stage = {PASS_STAGE("fail.work", "Stands twice"), .infer = pass_infer};

CT_PLUGIN("double", ((const CtStage *const[]){&stage, NULL}), ((const CtVariant *const[]){NULL}));
