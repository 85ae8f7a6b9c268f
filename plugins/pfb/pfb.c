/* SPDX-License-Identifier: BSD-3-Clause */
/* The polyphase filter bank: variants that do the stages fir and fft in one. */
#include "pfb.h"

CT_PLUGIN("pfb", ((const CtStage *const[]){NULL}),
          ((const CtVariant *const[]){
              CT_ISA_VARIANTS(ct_pfb_cpu),
              &ct_pfb_cuda,
              &ct_pfb_blocks_cuda,
              NULL,
          }));
