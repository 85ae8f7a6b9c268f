/* SPDX-License-Identifier: BSD-3-Clause */
/* Variants of the stage convert. */
#pragma once

#include <cornerturn/stage.h>

extern const CtVariant ct_convert_cuda, ct_convert_reference;
extern const CtVariant ct_convert_cpu_baseline, ct_convert_cpu_avx2, ct_convert_cpu_avx512;
