/* SPDX-License-Identifier: BSD-3-Clause */
/* Pieces of the JSON Schema of graphs. */
#pragma once

#include <cornerturn/json.h>
#include <cornerturn/params.h>

/* Adds `key`: a reference to a piece of "$defs". `key` NULL: an item of an array. */
void ct_schema_add_reference(CtJson *json, const char *key, const char *name);
/* Adds `key`: what a parameter takes. */
void ct_schema_add_param(CtJson *json, const char *key, const CtParam *param);
/* Adds the pieces that parameters refer to. */
void ct_schema_add_kinds(CtJson *json);
