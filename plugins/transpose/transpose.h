/* SPDX-License-Identifier: BSD-3-Clause */
/* Variants of the stage transpose. */
#pragma once

#include <cornerturn/stage.h>

extern const CtVariant ct_transpose_cuda, ct_transpose_reference;
extern const CtVariant ct_transpose_cpu_baseline, ct_transpose_cpu_avx2, ct_transpose_cpu_avx512;
