/* SPDX-License-Identifier: BSD-3-Clause */
/* What the command sees of a pipeline beyond <cornerturn/pipeline.h>. */
#pragma once

#include "plan/plan.h"

#include <cornerturn/pipeline.h>

/* After a check. */
const CtGraph *ct_pipeline_graph(const CtPipeline *pipeline);
CtRegistry *ct_pipeline_registry(const CtPipeline *pipeline);
const CtPlanOptions *ct_pipeline_plan_options(const CtPipeline *pipeline);
