/* Variants of the stage @STAGE@. */
#pragma once

#include <cornerturn/stage.h>

extern const CtVariant @PLUGIN@_cuda;
extern const CtVariant @PLUGIN@_cpu_baseline, @PLUGIN@_cpu_avx2, @PLUGIN@_cpu_avx512;
