/* SPDX-License-Identifier: BSD-3-Clause */
/* The polyphase filter bank: variants that do the stages fir and fft in one. */
#include "pfb.h"

CT_PLUGIN("pfb", ((const CtStage *const[]){NULL}),
          ((const CtVariant *const[]){
#ifdef __x86_64__
              &ct_pfb_cpu_avx512,
              &ct_pfb_cpu_avx2,
#endif
              &ct_pfb_cpu_baseline,
              &ct_pfb_cuda,
              NULL,
          }));
