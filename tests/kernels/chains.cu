/* SPDX-License-Identifier: BSD-3-Clause */
/* The stages of chains.h on a device; elements are i64, with axes time and lane in either order. */
#include "cornerturn/kernel.h"

/* Bytes from one sample to the next, and from one lane to the next. */
struct Steps {
    int64 time, lane;
};

/* The validity of the output, [lane][sample]; samples that `mark` divides become invalid. */
struct Marks {
    uint8 *validity;
    int64 stride, mark;
};

__device__ int64 *
element(void *data, Steps steps, int64 t, int64 lane)
{
    return (int64 *)((char *)data + t * steps.time + lane * steps.lane);
}

__device__ void
put(void *out, Steps steps, Marks marks, int64 t, int64 lane, int64 x)
{
    *element(out, steps, t, lane) = x;
    if (marks.mark > 0 && x % marks.mark == 0)
        marks.validity[lane * marks.stride + t] = 0;
}

/* Sample t is Σ_k (k + 1) x[t·hop + k]; each thread makes one sample of one lane. */
extern "C" __global__ void
chain_window(void *in, Steps in_steps, void *out, Steps out_steps, int64 n, int64 n_lanes,
             int64 hop, int64 window, Marks marks)
{
    const int64 i = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n * n_lanes)
        return;
    const int64 t = i / n_lanes, lane = i % n_lanes;
    int64 sum = 0;
    for (int64 k = 0; k < window; k++)
        sum += (k + 1) * *element(in, in_steps, t * hop + k, lane);
    put(out, out_steps, marks, t, lane, sum);
}

/* Sums of `hop` samples, counted from the stream's first; `index` is the number of the first one
 * here. Each thread makes one lane. */
extern "C" __global__ void
chain_sum(void *in, Steps in_steps, void *out, Steps out_steps, int64 n_in, int64 n_out,
          int64 index, int64 hop, int64 *carry, Marks marks)
{
    const int64 lane = threadIdx.x;
    int64 made = 0, sum = carry[lane];
    for (int64 t = 0; t < n_in; t++) {
        sum += *element(in, in_steps, t, lane);
        if ((index + t + 1) % hop == 0) {
            put(out, out_steps, marks, made++, lane, sum);
            sum = 0;
        }
    }
    carry[lane] = sum;
    if (made < n_out)
        put(out, out_steps, marks, made, lane, sum);
}
