/* SPDX-License-Identifier: BSD-3-Clause */
/* The description of a stream as JSON, for PATH.json and for programs. */
#pragma once

#include "cornerturn/json.h"
#include "cornerturn/tensor.h"

/* Adds the clock, the frequency and the observation to the open object, as far as they are known.
 */
void ct_stream_json_add_facts(CtJson *json, const CtStream *stream);
/* Adds coordinates and labels of axis `a` to the open object. */
void ct_stream_json_add_axis_facts(CtJson *json, const CtStream *stream, guint a);
