/* SPDX-License-Identifier: BSD-3-Clause */
/* The variants of fir and fft in one. */
#pragma once

#include <cornerturn/stage.h>

extern const CtVariant ct_pfb_cpu_baseline, ct_pfb_cpu_avx2, ct_pfb_cpu_avx512;
extern const CtVariant ct_pfb_cuda, ct_pfb_blocks_cuda;
