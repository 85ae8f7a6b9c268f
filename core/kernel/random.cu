/* SPDX-License-Identifier: BSD-3-Clause */
/* Fills a block with random elements. */
#include "cornerturn/kernel.h"

#define MAX_AXES 12

/* As in measure/trial-ends.c. */
struct Shape {
    int64 length[MAX_AXES];
    int64 stride[MAX_AXES];
    int64 n_elements;
    int32 n_axes;
    int32 n_parts; /* of an element */
};

/* Bits of a counter, well mixed. */
static __device__ uint64
mix(uint64 x)
{
    x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdULL;
    x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53ULL;
    return x ^ (x >> 33);
}

/* Writes a part of an element from random bits: numbers of a variance of about 1, or integers of
 * any bits, in 8 bits without −128, which no receiver gives. KIND is the size of the part in bytes,
 * negative for floating-point numbers. */
static __device__ void
write_part(uint8 *to, uint64 bits)
{
#if KIND == -8
    *(double *)to = ((double)(bits >> 11) * 0x1p-53 - 0.5) * 3.4641016151377544;
#elif KIND == -4
    *(float *)to = ((float)(bits >> 40) * 0x1p-24f - 0.5f) * 3.4641016f;
#elif KIND == -2
    *(uint16 *)to = (uint16)((bits & 0x8bff) | 0x3400); /* ±0.25 … 0.5 or ±1 … 2 */
#elif KIND == 1
    *to = (uint8)bits == 0x80 ? 0x81 : (uint8)bits;
#else
    for (int b = 0; b < KIND; b++)
        to[b] = (uint8)(bits >> (8 * b));
#endif
}

extern "C" __global__ void
ct_fill_random(const __grid_constant__ Shape shape, uint8 *data, uint64 seed)
{
    const int64 step = (int64)gridDim.x * blockDim.x;
    for (int64 i = (int64)blockIdx.x * blockDim.x + threadIdx.x; i < shape.n_elements; i += step) {
        int64 left = i, offset = 0;
        for (int a = shape.n_axes; a-- > 0;) {
            offset += left % shape.length[a] * shape.stride[a];
            left /= shape.length[a];
        }
        for (int p = 0; p < shape.n_parts; p++)
            write_part(data + offset + p * (KIND < 0 ? -KIND : KIND),
                       mix(seed + (uint64)i * shape.n_parts + p));
    }
}
