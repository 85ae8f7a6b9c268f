/* SPDX-License-Identifier: BSD-3-Clause */
/* Instructions on the four bytes of a register. */
#pragma once

#include "cornerturn/kernel.h"

#ifdef CT_EMULATED
__device__ inline unsigned
pick_bytes(unsigned low, unsigned high, unsigned which)
{
    const uint64 bytes = (uint64)high << 32 | low;
    unsigned result = 0;
    for (int k = 0; k < 4; k++)
        result |= (unsigned)(bytes >> 8 * (which >> 4 * k & 7) & 0xff) << 8 * k;
    return result;
}

/* sum + a₀ + a₂, sum + a₁ + a₃, and sum + a₀ + a₁ + a₂ + a₃, of four signed bytes */
__device__ inline int
add_even_bytes(unsigned a, int sum)
{
    return sum + (int8)a + (int8)(a >> 16);
}

__device__ inline int
add_odd_bytes(unsigned a, int sum)
{
    return add_even_bytes(a >> 8, sum);
}

__device__ inline int
add_bytes(unsigned a, int sum)
{
    return add_even_bytes(a, add_odd_bytes(a, sum));
}
#else
__device__ inline unsigned
pick_bytes(unsigned low, unsigned high, unsigned which)
{
    return __byte_perm(low, high, which);
}

__device__ inline int
add_even_bytes(unsigned a, int sum)
{
    return __dp4a((int)a, 0x00010001, sum);
}

__device__ inline int
add_odd_bytes(unsigned a, int sum)
{
    return __dp4a((int)a, 0x01000100, sum);
}

__device__ inline int
add_bytes(unsigned a, int sum)
{
    return __dp4a((int)a, 0x01010101, sum);
}
#endif
