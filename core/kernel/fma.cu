/* SPDX-License-Identifier: BSD-3-Clause */
/* The multiply-adds of a device, in single precision. */
#include "cornerturn/kernel.h"

#define CHAINS 8

/* Each thread does 2 · CHAINS · n_rounds operations in independent chains. */
extern "C" __global__ void
ct_fma(float *out, float a, float b, int n_rounds)
{
    float x[CHAINS];
    for (int i = 0; i < CHAINS; i++)
        x[i] = (float)(threadIdx.x + i);
#pragma unroll 16
    for (int round = 0; round < n_rounds; round++)
        for (int i = 0; i < CHAINS; i++)
            x[i] = x[i] * a + b;
    float sum = 0;
    for (int i = 0; i < CHAINS; i++)
        sum += x[i];
    /* This is never true, but the compiler cannot know that. */
    if (sum == 0.12345f)
        out[blockIdx.x] = sum;
}
