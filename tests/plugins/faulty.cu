/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel of faulty.c: copies elements through shared memory, and is wrong as it is told. */
#include "cornerturn/kernel.h"

#define THREADS 64

#if defined(CHANGES_PRODUCTS) && defined(__CUDA_ARCH_FEAT_SM90_ALL)
#include "cornerturn/warpgroup.h"

/* Changes a sum of products before it waits for them. */
__device__ int
change_products()
{
    __shared__ int matrix[1024];
    int d[32] = {};
    const uint64 all = ct_wgmma_matrix(matrix, 128, 256);
    ct_wgmma_begin();
    ct_wgmma_s8<64>(d, all, all);
    d[0] = -d[0];
    ct_wgmma_s8<64>(d, all, all);
    ct_wgmma_commit();
    ct_wgmma_wait<0>();
    return d[0];
}
#define PRODUCTS change_products()
#else
#define PRODUCTS 0
#endif

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
    if (PRODUCTS == 1)
        out[0].re = 0;
}
