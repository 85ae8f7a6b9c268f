/* SPDX-License-Identifier: BSD-3-Clause */
/* The variants of generate. */
#pragma once

#include <cornerturn/stage.h>

extern const CtVariant generate_reference;
extern const CtVariant generate_cpu_baseline, generate_cpu_avx2, generate_cpu_avx512;
extern const CtVariant generate_cuda;
