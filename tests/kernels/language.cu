/* SPDX-License-Identifier: BSD-3-Clause */
/* The language of kernels, one kernel for each part; tests/device/test-device-language.c has the
 * expected results. Launches have one block unless a comment says otherwise. */
#include "cornerturn/kernel.h"

/* d[16][8] += a[16][DEPTH] b[DEPTH][8], elements of BITS bits in the places that kernel.h
 * documents; one warp. */
#ifdef PRODUCT
extern "C" __global__ void
product(SUM *d, const ELEMENT *a, const ELEMENT *b)
{
    constexpr int n = 4 / sizeof(ELEMENT), half = 4 * n, depth = 8 * n;
    const int g = threadIdx.x / 4, t = threadIdx.x % 4;
    union {
        unsigned registers[4];
        ELEMENT elements[4][n];
    } mine_a;
    union {
        unsigned registers[2];
        ELEMENT elements[2][n];
    } mine_b;
    SUM mine[4];
    for (int i = 0; i < 4; i++)
        for (int e = 0; e < n; e++)
            mine_a.elements[i][e] = a[(g + 8 * (i % 2)) * depth + n * t + e + half * (i / 2)];
    for (int i = 0; i < 2; i++)
        for (int e = 0; e < n; e++)
            mine_b.elements[i][e] = b[(n * t + e + half * i) * 8 + g];
    for (int i = 0; i < 4; i++)
        mine[i] = d[(g + 8 * (i / 2)) * 8 + 2 * t + i % 2];
    PRODUCT(mine, mine_a.registers, mine_b.registers);
    for (int i = 0; i < 4; i++)
        d[(g + 8 * (i / 2)) * 8 + 2 * t + i % 2] = mine[i];
}
#endif

/* out[form][matrix][lane] from in[4][8][8]; one warp. */
extern "C" __global__ void
fragments(unsigned *out, const uint16 *in)
{
    __shared__ alignas(16) uint16 matrices[4][8][8];
    const int lane = threadIdx.x;
    for (int i = lane; i < 256; i += 32)
        (&matrices[0][0][0])[i] = in[i];
    __syncthreads();
    unsigned forms[4][4] = {};
    const uint16 *row = matrices[lane / 8][lane % 8];
    const uint16 *row_of_two = lane < 16 ? row : matrices[0][0] + 1; /* not used */
    ct_ldmatrix4(forms[0], row);
    ct_ldmatrix2(forms[1], row_of_two);
    ct_ldmatrix4_transposed(forms[2], row);
    ct_ldmatrix2_transposed(forms[3], row_of_two);
    for (int f = 0; f < 4; f++)
        for (int m = 0; m < 4; m++)
            out[(f * 4 + m) * 32 + lane] = forms[f][m];
}

/* Sums of 4 neighbours of in[n][256], through three pieces of shared memory that are filled ahead;
 * after the first n_whole rows there are zeros. 64 threads. */
extern "C" __global__ void
ahead(int *out, const int *in, int n, int n_whole)
{
    extern __shared__ int4 pieces[];
    const int t = threadIdx.x;
    const auto fetch = [&](int row) {
        const unsigned bytes = row < n_whole ? 16 : 0;
        if (row < n)
            ct_cp_async16_zfill(&pieces[row % 3 * 64 + t], in + (int64)row * 256 + 4 * t, bytes);
        ct_cp_async_commit();
    };
    fetch(0);
    fetch(1);
    for (int row = 0; row < n; row++) {
        ct_cp_async_wait<1>();
        __syncthreads();
        fetch(row + 2);
        const int4 x = pieces[row % 3 * 64 + 63 - t];
        out[row * 64 + t] = x.x + x.y + x.z + x.w;
    }
}

/* The small copies: out[5][4] of in[4]; one thread. */
extern "C" __global__ void
small_copies(int *out, const int *in)
{
    __shared__ alignas(16) int places[5][4];
    for (int i = 0; i < 20; i++)
        places[i / 4][i % 4] = -1;
    ct_cp_async4(&places[0][1], in + 1);
    ct_cp_async8(&places[1][2], in);
    ct_cp_async16(places[2], in);
    ct_cp_async8_zfill(&places[3][0], in, 4);
    ct_cp_async4_zfill(&places[4][3], in, 0);
    ct_cp_async_commit();
    ct_cp_async_wait<0>();
    for (int i = 0; i < 20; i++)
        out[i] = places[i / 4][i % 4];
}

/* out[16][96] of in[96]; three warps, of which the last has 16 threads. */
extern "C" __global__ void
warps(int *out, const int *in)
{
    const int t = threadIdx.x, lane = t % 32, x = in[t];
    const unsigned all = t < 64 ? 0xffffffff : 0xffff;
    int *to = out + t;
    const auto put = [&](int value) {
        *to = value;
        to += 96;
    };
    put(__shfl_sync(all, x, lane + 5, 16));
    put(__shfl_up_sync(all, x, 3));
    put(__shfl_up_sync(all, x, 3, 8));
    put(t < 64 ? __shfl_down_sync(all, x, 7) : 0);
    put(__shfl_down_sync(all, x, 2, 4));
    put(__shfl_xor_sync(all, x, 9));
    put(__shfl_xor_sync(all, x, 5, 4));
    put((int)__ballot_sync(all, x & 1));
    put(__any_sync(all, x == 7));
    put(__all_sync(all, x > 0));
    put((int)__reduce_add_sync(all, x));
    put(__reduce_max_sync(all, x));
    put((int)__reduce_xor_sync(all, (unsigned)x));
    put((int)__shfl_sync(all, (float)x * 0.5f, 3));
    put((int)(__shfl_sync(all, (long long)x << 33, 4) >> 33));
    /* The odd lanes among themselves do this twice as often as the even ones. */
    int sum = x;
    if (lane % 2) {
        sum += __shfl_xor_sync(all & 0xaaaaaaaa, sum, 2);
        sum += __shfl_xor_sync(all & 0xaaaaaaaa, sum, 4);
    } else {
        sum -= __shfl_xor_sync(all & 0x55555555, sum, 2);
    }
    __syncwarp(all);
    put(sum);
}

/* out[6][threads], for any shape of block. */
template <int n>
__device__ int
neighbour(int t, int x)
{
    __shared__ int row[n];
    row[t] = x;
    __syncthreads();
    return row[(t + 1) % n];
}

extern "C" __global__ void __launch_bounds__(256) blocks(int *out, const int *in)
{
    extern __shared__ int dynamic[];
    const int n = blockDim.x * blockDim.y * blockDim.z;
    const int t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    const int x = in[t];
    dynamic[t] = x;
    const int some = __syncthreads_or(x == 7), all = __syncthreads_and(x > 0);
    const int count = __syncthreads_count(x & 1);
    out[t] = dynamic[n - 1 - t];
    out[n + t] = some;
    out[2 * n + t] = all;
    out[3 * n + t] = count;
    out[4 * n + t] = neighbour<240>(t, x);
    if (t % 3 == 0)
        return; /* The others do not wait for a thread that has ended. */
    dynamic[t] = x + 1;
    __syncthreads();
    out[5 * n + t] = dynamic[t];
}

/* Counters, over many blocks. */
extern "C" __global__ void
atomics(int *sums, unsigned long long *wide, float *real, double *fine, unsigned *turns)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&sums[0], i);
    atomicMax(&sums[1], i);
    atomicMin(&sums[2], -i);
    atomicOr(&sums[3], 1 << i % 31);
    atomicXor(&sums[4], i);
    atomicSub(&sums[5], 1);
    atomicAdd(wide, 1ull << 33);
    atomicMax(wide + 1, (unsigned long long)i << 34);
    atomicAdd(real, 0.5f);
    atomicAdd(fine, 0.25);
    atomicInc(turns, 9);
    int seen = 0, expected;
    do {
        expected = seen;
        seen = atomicCAS(&sums[6], expected, expected + 2);
    } while (seen != expected);
}

/* out[n][16] from x[n] and y[n], bit by bit. */
extern "C" __global__ void
integers(unsigned *out, const unsigned *in, unsigned n)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const unsigned x = in[i], y = in[n + i];
    unsigned *to = out + i * 16;
    to[0] = __popc(x);
    to[1] = __clz(x);
    to[2] = __brev(x);
    to[3] = __ffs(x);
    to[4] = __byte_perm(x, y, y >> 8);
    to[5] = __funnelshift_l(x, y, y & 63);
    to[6] = __funnelshift_r(x, y, y & 63);
    to[7] = __funnelshift_lc(x, y, y & 63);
    to[8] = __umulhi(x, y);
    to[9] = __mulhi((int)x, (int)y);
    to[10] = __dp4a((int)x, (int)y, (int)x);
    to[11] = __dp4a(x, y, x);
    to[12] = min(x, y) ^ (unsigned)max((int)x, (int)y);
    to[13] = __brevll((uint64)x << 32 | y) >> 32;
    to[14] = __mul24(x, y);
    to[15] = __sad(x, y, x);
}

/* out[n][8] from the floats with the bits x[n]. */
extern "C" __global__ void
conversions(unsigned *out, const unsigned *in, unsigned n)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const float x = __uint_as_float(in[i]);
    unsigned *to = out + i * 8;
    to[0] = ct_float_to_half(x);
    to[1] = __float_as_uint(ct_half_to_float((uint16)in[i]));
    to[2] = ct_float_to_tf32(x);
    to[3] = __float2int_rn(x);
    to[4] = __float2uint_rz(x);
    to[5] = (unsigned)(__float2ll_rd(x) >> 16);
    to[6] = __float_as_uint(rintf(x));
    to[7] = __double2int_rn((double)x * 0.5);
}

/* out[n][2]: sine and cosine of π x[n]. */
extern "C" __global__ void
turns(float *out, const float *in, unsigned n)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        sincospif(in[i], out + 2 * i, out + 2 * i + 1);
}
