/* SPDX-License-Identifier: BSD-3-Clause */
/* The emulator's forms of the functions that cornerturn/warpgroup.h has as assembly. */
#pragma once

/* Addresses of shared memory as instructions have them: in the launch's dynamic memory. */
inline unsigned
ct_shared_address(const void *shared)
{
    return (unsigned)((const char *)shared - (const char *)ct_emulated_dynamic());
}

inline void
ct_phases_begin(unsigned long long *barrier, unsigned n_arrivals)
{
    ct_lane()->services->phases_begin(ct_lane(), barrier, n_arrivals);
}
inline void
ct_phases_arrive(unsigned long long *barrier, CT_HERE)
{
    ct_lane()->services->phases_arrive(ct_lane(), barrier, file, line);
}
inline void
ct_phases_wait(unsigned long long *barrier, unsigned parity, CT_HERE)
{
    ct_lane()->services->phases_wait(ct_lane(), barrier, parity, file, line);
}

template <int n>
inline void
ct_registers_take()
{
    static_assert(n % 8 == 0 && n >= 24 && n <= 256, "registers");
}
template <int n>
inline void
ct_registers_give()
{
    static_assert(n % 8 == 0 && n >= 24 && n <= 256, "registers");
}

inline void
ct_wgmma_publish()
{
    ct_fence();
}
inline void
ct_wgmma_begin()
{
    ct_lane()->services->defer_begin(ct_lane());
}
inline void
ct_wgmma_commit()
{
    ct_lane()->services->defer_commit(ct_lane());
}
template <int n_groups>
inline void
ct_wgmma_wait()
{
    ct_lane()->services->defer_wait(ct_lane(), n_groups);
}

struct CtWarpgroupProduct {
    int *d;
    unsigned long long a, b;
};

/* A piece of a matrix, counted along its rows and its depth. */
inline const signed char *
ct_matrix_piece(unsigned long long matrix, unsigned rows, unsigned depth)
{
    const unsigned long long first = (matrix & 0x3fff) << 4,
                             to_depth = (matrix >> 16 & 0x3fff) << 4,
                             to_rows = (matrix >> 32 & 0x3fff) << 4;
    return (const signed char *)ct_emulated_dynamic() + first + depth * to_depth + rows * to_rows;
}

/* Byte k of a row of a matrix along the depth. */
inline const signed char *
ct_matrix_element(unsigned long long matrix, unsigned row, unsigned k)
{
    return ct_matrix_piece(matrix, row / 8, k / 16) + row % 8 * 16 + k % 16;
}

enum CtMajor { CT_ALONG_DEPTH, CT_ALONG_ROWS };

/* Element k of a row of a matrix of half precision. */
inline float
ct_matrix_half(unsigned long long matrix, CtMajor major, unsigned row, unsigned k)
{
    if (matrix >> 62 == 1) {
        const char *shared = (const char *)ct_emulated_dynamic();
        const unsigned address = ct_shared_address(ct_matrix_piece(matrix, k / 8, row / 64)) +
                                 k % 8 * 128 + row % 64 * 2;
        /* As the device does, whether or not the groups are aligned. */
        return ct_half_to_float(
            *(const unsigned short *)(shared + (address ^ (address >> 7 & 7) << 4)));
    }
    const unsigned outer = major == CT_ALONG_DEPTH ? row % 8 : k % 8,
                   inner = major == CT_ALONG_DEPTH ? k % 8 : row % 8;
    return ct_half_to_float(
        ((const unsigned short *)ct_matrix_piece(matrix, row / 8, k / 8))[8 * outer + inner]);
}

/* The thread's place in its warpgroup. */
inline unsigned
ct_warpgroup_lane()
{
    const CtIndex &thread = ct_lane()->thread, &block = ct_lane()->block_length;
    return ((thread.z * block.y + thread.y) * block.x + thread.x) % 128;
}

/* The elements of a thread, of its rows. Sums wrap around. */
template <int n>
inline void
ct_multiply_rows(int *d, const signed char a[2][32], unsigned long long matrix)
{
    const unsigned l = ct_warpgroup_lane();
    for (unsigned c = 0; c < n; c += 8)
        for (unsigned x = 0; x < 2; x++) {
            int sums[2] = {0, 0};
            for (unsigned k = 0; k < 32; k += 16) {
                const signed char *b = ct_matrix_element(matrix, c + l % 4 * 2 + x, k);
                for (unsigned e = 0; e < 16; e++) {
                    sums[0] += a[0][k + e] * b[e];
                    sums[1] += a[1][k + e] * b[e];
                }
            }
            for (unsigned h = 0; h < 2; h++) {
                int *sum = &d[c / 2 + 2 * h + x];
                *sum = (int)((unsigned)*sum + (unsigned)sums[h]);
            }
        }
}

template <int n>
inline void
ct_multiply_matrices(const void *arguments)
{
    const auto &product = *(const CtWarpgroupProduct *)arguments;
    const unsigned l = ct_warpgroup_lane(), first = l / 32 * 16 + l % 32 / 4;
    signed char a[2][32];
    for (unsigned h = 0; h < 2; h++)
        for (unsigned k = 0; k < 32; k += 16)
            memcpy(a[h] + k, ct_matrix_element(product.a, first + 8 * h, k), 16);
    ct_multiply_rows<n>(product.d, a, product.b);
}

/* The rows of a thread, from the registers of the four threads that have them. */
struct CtWarpgroupRows {
    const unsigned *a;
    signed char (*rows)[32];
    const char *file;
    int line;
};

inline void
ct_gather_rows(void *const *arguments, unsigned mask)
{
    const auto &any = ct_of_lane<CtWarpgroupRows>(arguments, (unsigned)__builtin_ctz(mask));
    if (mask != 0xffffffff)
        ct_fail("a product of a warpgroup wants all 32 threads of a warp", any.file, any.line);
    for (unsigned l = 0; l < CT_WARP; l++)
        for (unsigned h = 0; h < 2; h++)
            for (unsigned w = 0; w < 8; w++)
                memcpy(ct_of_lane<CtWarpgroupRows>(arguments, l).rows[h] + 4 * w,
                       &ct_of_lane<CtWarpgroupRows>(arguments, l / 4 * 4 + w % 4).a[w / 4 * 2 + h],
                       4);
}

template <typename Sum> struct CtRowsProduct {
    Sum *d;
    unsigned long long b;
    signed char rows[2][32];
};

template <int n>
inline void
ct_multiply_registers(const void *arguments)
{
    const auto &product = *(const CtRowsProduct<int> *)arguments;
    ct_multiply_rows<n>(product.d, product.rows, product.b);
}

template <int n>
inline void
ct_wgmma_s8(int *d, unsigned long long a, unsigned long long b, CT_HERE)
{
    const CtWarpgroupProduct product = {d, a, b};
    ct_lane()->services->defer(ct_lane(), ct_multiply_matrices<n>, &product, sizeof product, file,
                               line);
}

template <int n>
inline void
ct_wgmma_s8(int *d, const unsigned a[4], unsigned long long b, CT_HERE)
{
    CtRowsProduct<int> product = {d, b, {}};
    CtWarpgroupRows rows = {a, product.rows, file, line};
    ct_emulated_collective(0xffffffff, "ct_wgmma_s8", ct_gather_rows, rows, file, line);
    ct_lane()->services->defer(ct_lane(), ct_multiply_registers<n>, &product, sizeof product, file,
                               line);
}

/* In half precision, a sum is rounded once for all its products. */
template <int n, CtMajor b_major, bool adds>
inline void
ct_multiply_halves(const void *arguments)
{
    const auto &product = *(const CtRowsProduct<float> *)arguments;
    const unsigned t = ct_warpgroup_lane() % 4;
    unsigned short a[2][16];
    memcpy(a, product.rows, sizeof a);
    for (unsigned c = 0; c < n; c += 8)
        for (unsigned x = 0; x < 2; x++) {
            double sums[2] = {0, 0};
            for (unsigned k = 0; k < 16; k++) {
                const double b = ct_matrix_half(product.b, b_major, c + 2 * t + x, k);
                sums[0] += ct_half_to_float(a[0][k]) * b;
                sums[1] += ct_half_to_float(a[1][k]) * b;
            }
            for (unsigned h = 0; h < 2; h++) {
                float *sum = &product.d[c / 2 + 2 * h + x];
                *sum = (float)(sums[h] + (adds ? *sum : 0));
            }
        }
}

template <int n, CtMajor b_major>
inline void
ct_wgmma_f16(float *d, const unsigned a[4], unsigned long long b, bool adds = true, CT_HERE)
{
    CtRowsProduct<float> product = {d, b, {}};
    CtWarpgroupRows rows = {a, product.rows, file, line};
    ct_emulated_collective(0xffffffff, "ct_wgmma_f16", ct_gather_rows, rows, file, line);
    ct_lane()->services->defer(ct_lane(),
                               adds ? ct_multiply_halves<n, b_major, true>
                                    : ct_multiply_halves<n, b_major, false>,
                               &product, sizeof product, file, line);
}
