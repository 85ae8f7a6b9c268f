/* SPDX-License-Identifier: BSD-3-Clause */
/* Quantisation: y = clip(round(scale · x)), for real and imaginary part each.
 *
 * IN, OUT: types of elements; PARTS: 2 for complex ones; MOST: the limit to which values are
 * clipped. */
#include <cornerturn/kit/device-map-kernel.h>

/* The value nearest to x within ±MOST; sets `clipped` if x is beyond. The product is exact in the
 * fused multiply-add, and the sum has no fractional bits: the fraction is rounded half to even,
 * once. Too large a product stays too large; NaN becomes 0. */
__device__ inline int
quantised(float x, float scale, bool &clipped)
{
    const float rounded = fmaf(x, scale, 0x1.8p23f) - 0x1.8p23f;
    clipped |= !(fabsf(rounded) <= MOST);
    /* both return the other operand if one is NaN */
    const float number = rounded == rounded ? rounded : 0;
    return (int)fminf(fmaxf(number, -(float)MOST), (float)MOST);
}

template <typename Real>
__device__ inline void
put(Real &y, int re, int)
{
    y = (Real)re;
}

__device__ inline void
put(ct_ci4 &y, int re, int im)
{
    y.nibbles = (uint8)((uint32)re << 4 | ((uint32)im & 15));
}

__device__ inline void
put(ct_ci8 &y, int re, int im)
{
    y = {(int8)re, (int8)im};
}

__device__ inline void
put(ct_ci16 &y, int re, int im)
{
    y = {(int16)re, (int16)im};
}

extern "C" __global__ void
__launch_bounds__(CT_DEVICE_MAP_THREADS, CT_DEVICE_MAP_BLOCKS)
    quantise(const CtDeviceMap map, const float scale, uint64 *n_clipped)
{
    __shared__ uint32 block_clipped;
    uint32 n = 0;
    if (threadIdx.x == 0)
        block_clipped = 0;
    __syncthreads();
    ct_map_each<IN, OUT>(map, [&](IN x) {
        const ct_complex<float> number = ct_load<float>(x);
        bool clipped = false;
        const int re = quantised(number.re, scale, clipped);
        const int im = PARTS == 2 ? quantised(number.im, scale, clipped) : 0;
        n += clipped;
        OUT y;
        put(y, re, im);
        return y;
    });
    if (n > 0)
        atomicAdd(&block_clipped, n);
    __syncthreads();
    if (threadIdx.x == 0 && block_clipped > 0)
        atomicAdd(n_clipped, (uint64)block_clipped);
}
