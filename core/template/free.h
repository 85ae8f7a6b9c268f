/* Variants of the stage @STAGE@. */
#pragma once

#include <cornerturn/stage.h>

extern const CtVariant times_cuda;
extern const CtVariant times_cpu_baseline, times_cpu_avx2, times_cpu_avx512;
