/* SPDX-License-Identifier: BSD-3-Clause */
/* Variants of the stage copy. */
#pragma once

#include <cornerturn/stage.h>

extern const CtVariant ct_copy_cuda, ct_copy_reference;
extern const CtVariant ct_copy_cpu_baseline, ct_copy_cpu_avx2, ct_copy_cpu_avx512;
