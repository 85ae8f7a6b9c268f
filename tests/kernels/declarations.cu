/* SPDX-License-Identifier: BSD-3-Clause */
/* Ways to declare shared memory, constants, functions and kernels. */
#include "cornerturn/kernel.h"

#define SHARED_ROW(type, name, n) __shared__ type name[n]

namespace inner
{
template <typename First, typename Second> struct Two {
    First first;
    Second second;
};
} // namespace inner

template <typename T, int n> struct Row {
    T x[n];

    __device__ T
    sum() const
    {
        T total = 0;
        for (int i = 0; i < n; i++)
            total += x[i];
        return total;
    }
};

extern __shared__ __align__(16) unsigned char memory[];

namespace
{
__device__ __forceinline__ float
load(const float *from)
{
    return __ldg(from);
}
} // namespace

__constant__ float table[4] = {1, 2, 3, 4};
static __device__ const int primes[] = {2, 3, 5};

template <int n>
static __device__ void
fill(float (&to)[n], float x)
{
#pragma unroll
    for (int i = 0; i < n; i++)
        to[i] = x;
}

extern "C" __global__ void declarations(float *y, const float *x);

extern "C" {
__global__ void __launch_bounds__(32 * 2, 4) in_block(float *y, const float *x)
{
    y[threadIdx.x] = x[threadIdx.x];
}
}

/* y[t] = x[t ^ 1] + 21; one block of 64 threads with 256 bytes. */
extern "C" __global__ __launch_bounds__(64) void declarations(float *__restrict__ y,
                                                              const float *__restrict__ x)
{
    SHARED_ROW(float, row, 64);
    __shared__ inner::Two<float, Row<int, 3>> pairs[4], single;
    __shared__ union {
        float f[4];
        int i[4];
    } both;
    static __shared__ volatile int flag;
    if (threadIdx.x == 0) {
        __shared__ int nested[2];
        nested[0] = 1;
        flag = nested[0];
        both.f[0] = 1;
        single.first = 4;
        pairs[1].second = {1, 2, 5};
    }
    __syncthreads();
    float local[4];
    fill(local, load(x + threadIdx.x));
    float *floats = reinterpret_cast<float *>(memory);
    floats[threadIdx.x] = local[2];
    row[threadIdx.x] =
        both.f[0] + table[1] + primes[2] + flag + single.first + pairs[1].second.sum();
    __syncthreads();
    const auto add = [=](float a) { return a + row[0]; };
    y[threadIdx.x] = add(floats[threadIdx.x ^ 1]);
}
