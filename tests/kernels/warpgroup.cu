/* SPDX-License-Identifier: BSD-3-Clause */
/* A product of half precision of a warpgroup; tests/device/test-device-warpgroup.c has the expected
 * results. Constants: COLUMNS, the rows of b; MAJOR; IN_GROUPS, of pieces of b; ADDS. */
#include "cornerturn/warpgroup.h"

/* Pieces, and groups of them, are apart; the distances along both directions differ. */
constexpr int to_rows = IN_GROUPS ? 3 * 1024 : 2 * 144, to_depth = IN_GROUPS ? 1024 : 144;

/* The place of element k of a row of b. */
__device__ inline int
place_of(int row, int k)
{
    if (IN_GROUPS)
        return row / 64 * to_rows + k / 8 * to_depth + k % 8 * 128 + (row % 64 / 8 ^ k % 8) * 16 +
               row % 8 * 2;
    const int inner = MAJOR == CT_ALONG_DEPTH ? k % 8 : row % 8,
              outer = MAJOR == CT_ALONG_DEPTH ? row % 8 : k % 8;
    return row / 8 * to_rows + k / 8 * to_depth + outer * 16 + inner * 2;
}

/* d[64][COLUMNS] += a[64][16] b[COLUMNS][16]; 128 threads. */
extern "C" __global__ void __launch_bounds__(128)
    product(float *d, const uint16 *a, const uint16 *b)
{
    extern __shared__ uint4 shared[];
    const int l = threadIdx.x, g = l % 32 / 4, t = l % 4, first = l / 32 * 16 + g;
    char *matrix = (char *)shared + (-ct_shared_address(shared) & 1023);
    for (int i = l; i < COLUMNS * 16; i += 128)
        *(uint16 *)(matrix + place_of(i / 16, i % 16)) = b[i];
    unsigned rows[4];
    for (int i = 0; i < 4; i++)
        rows[i] = *(const unsigned *)(a + (first + i % 2 * 8) * 16 + i / 2 * 8 + 2 * t);
    float mine[COLUMNS / 2];
    for (int i = 0; i < COLUMNS / 2; i++)
        mine[i] = d[(first + i / 2 % 2 * 8) * COLUMNS + i / 4 * 8 + 2 * t + i % 2];
    ct_wgmma_publish();
    __syncthreads();
    ct_wgmma_begin();
    ct_wgmma_f16<COLUMNS, MAJOR>(mine, rows,
                                 IN_GROUPS ? ct_wgmma_matrix_of_groups(matrix, to_depth, to_rows)
                                           : ct_wgmma_matrix(matrix, to_depth, to_rows),
                                 ADDS);
    ct_wgmma_commit();
    ct_wgmma_wait<0>();
    for (int i = 0; i < COLUMNS / 2; i++)
        d[(first + i / 2 % 2 * 8) * COLUMNS + i / 4 * 8 + 2 * t + i % 2] = mine[i];
}
