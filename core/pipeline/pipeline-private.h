/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of a pipeline that the command uses beyond <cornerturn/pipeline.h>. */
#pragma once

#include "plan/plan.h"

#include <cornerturn/pipeline.h>

/* These work after ct_pipeline_check(). */
const CtGraph *ct_pipeline_graph(const CtPipeline *pipeline);
CtRegistry *ct_pipeline_registry(const CtPipeline *pipeline);
const CtPlanOptions *ct_pipeline_plan_options(const CtPipeline *pipeline);
