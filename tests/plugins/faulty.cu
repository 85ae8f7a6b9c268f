/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel of faulty.c: copies elements through shared memory, and is wrong as it is told. */
#include "cornerturn/kernel.h"

#define THREADS 64

#ifdef SPILLS
/* Keeps more numbers than there are registers. */
__device__ float
keep_much(const ct_cf32 *in, long long n)
{
    float x[160], sum = 0;
#pragma unroll
    for (int k = 0; k < 160; k++)
        x[k] = in[k % n].re;
#pragma unroll
    for (int round = 1; round < 4; round++)
#pragma unroll
        for (int k = 0; k < 160; k++)
            x[k] = x[k] * x[(k * 7 + round) % 160] + 1;
#pragma unroll
    for (int k = 0; k < 160; k++)
        sum += x[k];
    return sum;
}

extern "C" __global__ void __launch_bounds__(1024)
#else
extern "C" __global__ void
__launch_bounds__(THREADS)
#endif
    faulty(const ct_cf32 *in, ct_cf32 *out, long long n)
{
    __shared__ ct_cf32 turned[THREADS];
    const long long first = (long long)blockIdx.x * THREADS, i = first + threadIdx.x;
    const int other = THREADS - 1 - (int)threadIdx.x;
    if (first + other < n)
        turned[other] = in[first + other];
#ifdef PART_OF_BARRIER
    if (threadIdx.x < THREADS / 2)
        __syncthreads();
#elif !defined(NO_BARRIER)
    __syncthreads();
#endif
#ifdef PART_OF_BARRIER
    /* Threads that have ended need not reach a barrier: these have not. */
    __syncthreads();
#endif
    if (i < n)
        out[i] = turned[threadIdx.x];
#ifdef WRITES_BEHIND
    if (i == n - 1)
        out[n] = turned[0];
#endif
#ifdef SPILLS
    if (keep_much(in, n) == 0.125f)
        out[0].re = 0;
#endif
}
