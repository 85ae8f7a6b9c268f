/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations shared by the files of stack. */
#pragma once

#include <cornerturn/kit/join.h>

gboolean stack_infer(CtNode *node, GError **error);

extern const CtVariant stack_cuda;
