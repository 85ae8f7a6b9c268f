/* SPDX-License-Identifier: BSD-3-Clause */
/* The beamformer on matrix units: for each channel a product of real matrices, whose depth are the
 * parts of the stations' voltages. Stages may be attached behind it (cornerturn/kit/epilogue.h).
 *
 * Columns are times, or times and both polarisations if these are innermost. A block of threads
 * makes TILE_BEAMS × TILE_COLUMNS sums of one channel. It goes through the stations in slabs of
 * DEPTH: while it multiplies one from shared memory, the weights of the next are copied there, and
 * its voltages are loaded to registers, where those of 4 bits are expanded to 8 bits. They stay in
 * the high bits, so the sums are 16 times as large. A warp multiplies WARP_BEAMS × WARP_COLUMNS.
 *
 * Weights come as fragments with a scale for each beam, see beamform-weights.cu. From the levels
 * of eight beams, a warp makes sixteen rows of a product: row g is the real part of beam g, that is
 * (re, −im, re, −im, …) · (x, y, x, y, …) of voltages x + iy, and row g + 8 the imaginary part,
 * (im, re, …) · (x, y, …). Levels are at least −127, so their negatives fit. Integers are
 * multiplied with integers: their sums, of at most 65535 stations, fit 32 bits and are exact. For
 * weights of half precision, voltages become half precision in registers, which is exact as well.
 *
 * In shared memory, a row is a column's parts of all stations, or a station's of all columns, as in
 * the voltages.
 *
 * Compiled with the definitions of beamform-matrix.h, and N_BLOCKS of a multiprocessor. */
#include "beamform-matrix.h"

static constexpr int warps_beams = TILE_BEAMS / WARP_BEAMS;
static constexpr int n_threads = 32 * warps_beams * (TILE_COLUMNS / WARP_COLUMNS);

/* Rows of voltages begin in different banks: ldmatrix reads 16 bytes of each of 8 rows. */
static constexpr int row_bytes = 2 * (X_ALONG ? TILE_COLUMNS : DEPTH) + 16;
static constexpr int voltage_bytes = (X_ALONG ? DEPTH : TILE_COLUMNS) * row_bytes;
static constexpr int weight_bytes = weight_pols * TILE_BEAMS / 8 * fragment_bytes;
static constexpr int slab_bytes = voltage_bytes + weight_bytes;

static_assert(row_bytes / 16 % 2 == 1, "different banks");
static_assert(n_b % (is_split ? 4 : 2) == 0, "fragments are loaded in pairs");

/* Starts the copies of a slab's weights. */
__device__ inline void
send_weights(char *slab, const uint8 *fragments, int d)
{
    constexpr int n = weight_bytes / 16, of_fragment = fragment_bytes / 16;
    const uint8 *from = fragments + d * fragment_bytes;
#pragma unroll
    for (int k = 0; k < n; k += n_threads) {
        const int i = k + (int)threadIdx.x;
        const int f = i / of_fragment % (TILE_BEAMS / 8), p = i / of_fragment / (TILE_BEAMS / 8);
        if (n % n_threads == 0 || i < n)
            ct_cp_async16(slab + voltage_bytes + i * 16,
                          from +
                              (p * (int64)POL_SETS * (ROWS / 8) + f) * (N_STEPS * fragment_bytes) +
                              i % of_fragment * 16);
    }
}

/* ---- voltages ---- */

static constexpr int n_vectors = TILE_COLUMNS * DEPTH / vector;
static constexpr int n_each = n_vectors / n_threads;
/* Those of a row in shared memory, and the rows between the vectors of a thread. */
static constexpr int row_vectors = (X_ALONG ? TILE_COLUMNS : DEPTH * N_POLS) / vector;
static constexpr int row_step = n_threads / row_vectors;

static_assert(n_vectors % n_threads == 0 && n_threads % row_vectors == 0, "whole rows");

/* The first station and time of vector i. */
__device__ inline int
station_of(int i)
{
    return X_ALONG ? i / row_vectors : i % row_vectors * vector_stations;
}

__device__ inline int
time_of(int i)
{
    return X_ALONG ? i % row_vectors * vector_times : i / row_vectors;
}

/* Loads the voltages of stations from s on. */
__device__ inline void
fetch(const Voltages &voltages, Vector (&raw)[n_each], int s)
{
    const int thread = (int)threadIdx.x;
    if (voltages.is_full(s)) {
        const int64 row = X_ALONG ? voltages.station : voltages.time;
        const uint8 *own = voltages.from + thread / row_vectors * row +
                           thread % row_vectors * (int)sizeof(Vector) +
                           s * (X_ALONG ? voltages.station : N_POLS * (int)sizeof(Element));
#pragma unroll
        for (int k = 0; k < n_each; k++)
            raw[k] = *(const Vector *)(own + k * row_step * row);
        return;
    }
#pragma unroll
    for (int k = 0; k < n_each; k++) {
        const int i = k * n_threads + thread;
        voltages.gather(raw[k], time_of(i), s + station_of(i));
    }
}

/* The offset of an element in shared memory. */
__device__ inline int
place(int column, int station)
{
    return X_ALONG ? station * row_bytes + 2 * column : column * row_bytes + 2 * station;
}

/* Stores voltages to shared memory. */
__device__ inline void
store(char *slab, const Vector (&raw)[n_each])
{
    const int thread = (int)threadIdx.x;
    const int t = time_of(thread), s = station_of(thread);
    char *own = slab + place(is_split ? t : t * N_POLS, s);
#pragma unroll
    for (int k = 0; k < n_each; k++, own += row_step * row_bytes) {
        const uint4 x = expand(raw[k]);
        if (is_split) {
            *(uint2 *)own = {__byte_perm(x.x, x.y, 0x5410), __byte_perm(x.z, x.w, 0x5410)};
            *(uint2 *)(own + place(tile_times, 0)) = {__byte_perm(x.x, x.y, 0x7632),
                                                      __byte_perm(x.z, x.w, 0x7632)};
        } else {
            *(uint4 *)own = x;
        }
    }
}

/* ---- products ---- */

/* The place of fragment f of a warp's columns: that of its first column in shared memory. */
__device__ constexpr int
fragment_column(int f)
{
    return is_split ? f / (n_b / 2) * tile_times + f % (n_b / 2) * 8 : f * 8;
}

/* Loads pieces k and k + 1 of fragments f and f + 1. Where rows are columns, these follow in an
 * order in which neighbouring threads get neighbouring times. */
__device__ inline void
load_columns(unsigned (&b)[4], const char *slab, int first_column, int f, int k)
{
    const int lane = (int)threadIdx.x % 32, row = lane % 8, i = lane / 8;
    const int column = first_column + fragment_column(f) + i / 2 * 8;
    const int station = (k + i % 2) * piece;
    if (X_ALONG)
        ct_ldmatrix4_transposed(b, slab + place(column, station + row));
    else
        ct_ldmatrix4(b, slab + place(column + (is_split ? row % 2 * 4 + row / 2 : row), station));
}

__device__ inline void
multiply(int (&sums)[4], const unsigned a[4], const unsigned (&b)[2])
{
    ct_mma_s8(sums, a, b);
}

__device__ inline void
multiply(float (&sums)[4], const unsigned a[4], const unsigned (&b)[2])
{
    ct_mma_f16(sums, a, b);
}

/* Multiplies fragments first … first + n − 1 of the columns with weights of one polarisation or of
 * all. */
template <int first, int n>
__device__ inline void
multiply_columns(Sums &sums, const char *slab, const char *weights, int first_column)
{
    unsigned b[n / 2][4];
#pragma unroll
    for (int product = 0; product < 2; product++) {
        if (is_integer || product == 0) {
#pragma unroll
            for (int f = 0; f < n; f += 2)
                load_columns(b[f / 2], slab, first_column, first + f, product * product_pieces);
        }
        unsigned operands[n][2];
#pragma unroll
        for (int f = 0; f < n; f++) {
            const unsigned *pieces = &b[f / 2][f % 2 * 2];
            if (is_integer) {
                operands[f][0] = pieces[0];
                operands[f][1] = pieces[1];
            } else {
                make_halves(operands[f], pieces[product]);
            }
        }
#pragma unroll
        for (int e = 0; e < n_a; e++) {
            unsigned rows[4];
            make_rows(rows,
                      *(const uint2 *)(weights + e * fragment_bytes + product * product_bytes));
#pragma unroll
            for (int f = 0; f < n; f++)
                multiply(sums[e][first + f], rows, operands[f]);
        }
    }
}

/* Multiplies a slab. */
__device__ inline void
multiply_slab(Sums &sums, const char *slab, int first_fragment, int first_column)
{
    const char *weights =
        slab + voltage_bytes + first_fragment * fragment_bytes + (int)threadIdx.x % 32 * 8;
    if (POL_WEIGHTS) {
        multiply_columns<0, n_b / 2>(sums, slab, weights, first_column);
        multiply_columns<n_b / 2, n_b / 2>(sums, slab, weights + weight_bytes / 2, first_column);
    } else {
        multiply_columns<0, n_b>(sums, slab, weights, first_column);
    }
}

/* ---- the kernel ---- */

/* `states`: of cells, if the epilogue folds. `wide`: bit 0, vectors of voltages are aligned; bit 1,
 * pairs of sums are. */
extern "C" __global__ void
__launch_bounds__(n_threads, N_BLOCKS)
    beamform_mma(const uint8 *x, const uint8 *w, const float *scales, uint8 *y, void *states,
                 int n_times, int n_tiles, int wide, Strides strides,
                 const CtEpilogueSettings settings)
{
    extern __shared__ uint4 shared[];
    char *slabs = (char *)shared;
    int block = (int)blockIdx.x;
    const int warp = (int)threadIdx.x / 32;
    const int warp_beam = warp % warps_beams * WARP_BEAMS;
    const int warp_column = warp / warps_beams * (WARP_COLUMNS / (is_split ? 2 : 1));
    const Tile tile = find_tile(block, n_tiles, strides);
    const uint8 *fragments =
        w + (tile.set * (ROWS / 8) + tile.first_beam / 8) * (N_STEPS * fragment_bytes);
    const Voltages voltages = {x + tile.x + tile.first_time * strides.x_time,
                               n_times - tile.first_time, strides.x_time, strides.x_station,
                               (wide & 1) != 0};
    Sums sums = {};
    Vector raw[n_each];
    fetch(voltages, raw, 0);
    send_weights(slabs, fragments, 0);
    ct_cp_async_commit();
    store(slabs, raw);
#pragma unroll 1
    for (int d = 0; d < n_slabs; d++) {
        char *here = slabs + d % 2 * slab_bytes, *next = slabs + (d + 1) % 2 * slab_bytes;
        ct_cp_async_wait<0>();
        __syncthreads();
        if (d + 1 < n_slabs) {
            fetch(voltages, raw, (d + 1) * DEPTH);
            send_weights(next, fragments, d + 1);
            ct_cp_async_commit();
        }
        multiply_slab(sums, here, warp_beam / 8, warp_column);
        if (d + 1 < n_slabs)
            store(next, raw);
    }

    /* The place of the sums is computed again, rather than kept in registers. */
    ct_keep(block);
    const Tile to = find_tile(block, n_tiles, strides);
    CtEpilogue epilogue(settings);
    put({y, states, scales, n_times, (wide & 2) != 0, strides}, epilogue, to, warp_beam,
        is_split ? warp_column : warp_column / N_POLS, sums);
    epilogue.end();
}
