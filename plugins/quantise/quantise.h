/* SPDX-License-Identifier: BSD-3-Clause */
/* Variants of the stage quantise. */
#pragma once

#include <cornerturn/stage.h>

/* In the order of the stage's `counters`. */
enum { QUANTISE_CLIPPED };

extern const CtVariant ct_quantise_reference, ct_quantise_cuda;
extern const CtVariant ct_quantise_cpu_baseline, ct_quantise_cpu_avx2, ct_quantise_cpu_avx512;
