/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel of a stage that fails. */
#include "cornerturn/kernel.h"

/* Copies bytes. */
extern "C" __global__ void
lame(const unsigned char *in, unsigned char *out, int64 n)
{
#ifdef IS_BROKEN
    not_declared = n;
#endif
#ifdef IS_ASTRAY
    __trap();
#endif
    const int64 i = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = in[i];
}
