/* SPDX-License-Identifier: BSD-3-Clause */
/* The beamformer on a GPU: for each channel a complex matrix product in single precision.
 *
 * Columns are times, or times and both polarisations if these are contiguous. A block of threads
 * makes TILE_BEAMS × TILE_COLUMNS sums of one channel: slabs of DEPTH stations, weights and
 * voltages, are loaded into shared memory while earlier slabs are computed, and every thread keeps
 * THREAD_BEAMS × THREAD_COLUMNS sums in registers. Sums run over the stations in their order, so
 * the result depends neither on the tile nor on the position in the firing.
 *
 * Compiled with
 *   VOLTAGE             type of the voltages; VOLTAGE_BYTES, and IS_FLOAT for ct_cf32
 *   N_STATIONS N_BEAMS
 *   N_POLS              polarisations in the columns: 1 or 2
 *   POL_WEIGHTS         1: each of them has its own weights
 *   N_AXES LENGTHS      the axes that pass through and are not columns
 *   X_PAIRS X_ALONG     1: columns 2i and 2i + 1 are contiguous; 1: a warp reads along columns
 *   Y_PAIRS Y_BEAMS     1: the same of the sums; 1: beams are contiguous
 *   Y_ALONG             1: a warp writes along columns
 *   W_ALONG             1: a warp reads weights along beams
 *   TILE_BEAMS TILE_COLUMNS THREAD_BEAMS THREAD_COLUMNS DEPTH  the tile, powers of two
 *   N_SLABS N_BLOCKS    in shared memory; blocks of a multiprocessor */
#include "cornerturn/kernel.h"

/* Bytes between neighbours. */
struct Strides {
    int64 x_time, x_station, y_time, y_beam, w_beam, w_station, w_pol;
    int64 x[N_AXES + 1], y[N_AXES + 1], w[N_AXES + 1];
};

static constexpr int threads_beams = TILE_BEAMS / THREAD_BEAMS;
static constexpr int threads_columns = TILE_COLUMNS / THREAD_COLUMNS;
static constexpr int n_threads = threads_beams * threads_columns;
static constexpr int beam_tiles = (N_BEAMS + TILE_BEAMS - 1) / TILE_BEAMS;
static constexpr int n_depths = (N_STATIONS + DEPTH - 1) / DEPTH;
static constexpr int weight_pols = POL_WEIGHTS ? 2 : 1;
static constexpr int unit_columns = X_PAIRS ? 2 : 1; /* read at once */
static constexpr int unit_times = unit_columns / N_POLS;
/* Rows are padded so that threads that write along stations use different banks. */
static constexpr int voltage_row = TILE_COLUMNS + 2, weight_row = TILE_BEAMS + 4;
static constexpr int unit_beams = THREAD_BEAMS < 4 ? THREAD_BEAMS : 4; /* read at once */

static_assert(unit_columns % N_POLS == 0, "polarisations in the columns lie side by side");
static_assert(TILE_COLUMNS / unit_columns * DEPTH % n_threads == 0, "threads have units alike");
static_assert(n_threads % 32 == 0 && THREAD_BEAMS % 2 == 0 && THREAD_COLUMNS % 2 == 0, "pairs");

struct Slab {
    /* Real and imaginary parts lie apart: those of neighbouring beams then are in registers of
     * both banks, and fewer multiply-adds wait for their operands. */
    alignas(16) float weights[weight_pols][DEPTH][2][weight_row];
    alignas(16) ct_cf32 voltages[DEPTH][voltage_row];
};

/* Two numbers that are moved at once. */
struct alignas(16) Pair {
    ct_cf32 a, b;
};

/* Parts of weights that are read at once. */
struct alignas(unit_beams * 4) Parts {
    float of[unit_beams];
};

/* The i-th beam of a thread. A thread has two neighbouring beams where these are written at once;
 * otherwise its beams are threads_beams apart. */
__device__ inline int
thread_beam(int lane, int i)
{
    return Y_BEAMS ? (i / 2 * threads_beams + lane) * 2 + i % 2 : i * threads_beams + lane;
}

/* The position in a row of weights of the i-th beam of a thread, which reads unit_beams at once. */
__device__ inline int
weight_place(int lane, int i)
{
    return (i / unit_beams * threads_beams + lane) * unit_beams + i % unit_beams;
}

/* The same of a beam of the tile. */
__device__ inline int
weight_place(int m)
{
    return Y_BEAMS ? weight_place(m / 2 % threads_beams, m / 2 / threads_beams * 2 + m % 2)
                   : weight_place(m % threads_beams, m / threads_beams);
}

/* The weights of a tile. */
struct Weights {
    const uint8 *from; /* of the tile's first beam and station 0 */
    int n_beams;       /* from that beam on */
    int64 beam, station, pol;

    static constexpr int n = TILE_BEAMS * DEPTH * weight_pols;
    static constexpr int n_each = (n + n_threads - 1) / n_threads;

    __device__ static int
    pol_of(int i)
    {
        return W_ALONG ? i / TILE_BEAMS % weight_pols : i % weight_pols;
    }
    __device__ static int
    station_of(int i)
    {
        return W_ALONG ? i / TILE_BEAMS / weight_pols : i / weight_pols % DEPTH;
    }
    __device__ static int
    beam_of(int i)
    {
        return W_ALONG ? i % TILE_BEAMS : i / (weight_pols * DEPTH);
    }
    __device__ int64
    place(int i) const
    {
        return beam_of(i) * beam + station_of(i) * station + pol_of(i) * pol;
    }

    /* Starts the copies of the weights of stations from `s` on. */
    __device__ void
    send(Slab &slab, int s) const
    {
        const int thread = (int)threadIdx.x;
        /* Threads without a copy of their own get a position, too. */
        const int own = thread % (n < n_threads ? n : n_threads);
        const uint8 *w = from + s * station + place(own);
        float *to = &slab.weights[pol_of(own)][station_of(own)][0][weight_place(beam_of(own))];
#pragma unroll
        for (int e = 0; e < n_each; e++) {
            /* The counts are powers of two, so that positions can be added. */
            const int step = e * n_threads;
            if (n % n_threads != 0 && step + thread >= n)
                continue;
            const uint8 *parts = w + place(step);
            float *real = to + (pol_of(step) * DEPTH + station_of(step)) * 2 * weight_row +
                          weight_place(beam_of(step));
            ct_cp_async4(real, parts);
            ct_cp_async4(real + weight_row, parts + sizeof(float));
        }
    }

    /* The same for a tile that is not full. */
    __device__ void
    send_some(Slab &slab, int s) const
    {
#pragma unroll 1
        for (int i = (int)threadIdx.x; i < n; i += n_threads) {
            const bool there = beam_of(i) < n_beams && s + station_of(i) < N_STATIONS;
            const unsigned bytes = there ? sizeof(float) : 0;
            const uint8 *parts = from + s * station + place(i);
            float(&to)[2][weight_row] = slab.weights[pol_of(i)][station_of(i)];
            const int m = weight_place(beam_of(i));
            ct_cp_async4_zfill(&to[0][m], parts, bytes);
            ct_cp_async4_zfill(&to[1][m], parts + sizeof(float), bytes);
        }
    }
};

/* Bits of a unit of voltages, before conversion. */
template <int bytes> struct Bits;
template <> struct Bits<1> {
    typedef uint8 type;
};
template <> struct Bits<2> {
    typedef uint16 type;
};
template <> struct Bits<4> {
    typedef uint32 type;
};
template <> struct Bits<8> {
    typedef uint64 type;
};
template <> struct Bits<16> {
    typedef Pair type;
};
typedef Bits<VOLTAGE_BYTES>::type One;
typedef Bits<VOLTAGE_BYTES * unit_columns>::type Unit;
union Voltages {
    Unit all;
    One ones[unit_columns];
    VOLTAGE values[unit_columns];
};

/* The voltages of a tile. */
struct Columns {
    const uint8 *from; /* of the tile's first column and station 0 */
    int n_times;       /* from that column on */
    int64 time, station;

    static constexpr int n_units = TILE_COLUMNS / unit_columns;
    static constexpr int n = n_units * DEPTH;
    static constexpr int n_each = (n + n_threads - 1) / n_threads;

    __device__ static int
    station_of(int i)
    {
        return X_ALONG ? i / n_units : i % DEPTH;
    }
    __device__ static int
    unit_of(int i)
    {
        return X_ALONG ? i % n_units : i / DEPTH;
    }
    __device__ int64
    place(int i) const
    {
        return (int64)unit_of(i) * unit_times * time + station_of(i) * station;
    }
    /* The number of columns of a unit that exist. */
    __device__ int
    count(int i, int s) const
    {
        const int left = n_times - unit_of(i) * unit_times;
        return s + station_of(i) >= N_STATIONS || left <= 0 ? 0
               : left < unit_times                          ? 1
                                                            : unit_columns;
    }

    /* Starts the copies of the voltages of stations from `s` on, unchanged. */
    __device__ void
    send(Slab &slab, int s) const
    {
        const int thread = (int)threadIdx.x;
        const uint8 *x = from + s * station + place(thread);
        ct_cf32 *to = &slab.voltages[station_of(thread)][unit_of(thread) * unit_columns];
#pragma unroll
        for (int e = 0; e < n_each; e++) {
            const int step = e * n_threads;
            ct_cf32 *slot = to + station_of(step) * voltage_row + unit_of(step) * unit_columns;
            if (unit_columns == 2)
                ct_cp_async16(slot, x + place(step));
            else
                ct_cp_async8(slot, x + place(step));
        }
    }

    /* Reads voltages for `convert`. */
    __device__ void
    read(Voltages (&raw)[n_each], int s) const
    {
        const uint8 *x = from + s * station + place((int)threadIdx.x);
#pragma unroll
        for (int e = 0; e < n_each; e++)
            raw[e].all = *(const Unit *)(x + place(e * n_threads));
    }
    __device__ static void
    convert(Slab &slab, const Voltages (&raw)[n_each])
    {
        const int thread = (int)threadIdx.x;
        ct_cf32 *to = &slab.voltages[station_of(thread)][unit_of(thread) * unit_columns];
#pragma unroll
        for (int e = 0; e < n_each; e++) {
            const int step = e * n_threads;
            put(to + station_of(step) * voltage_row + unit_of(step) * unit_columns, raw[e]);
        }
    }
    __device__ static void
    put(ct_cf32 *to, const Voltages &raw)
    {
        const ct_complex<float> a = ct_load<float>(raw.values[0]);
        const ct_complex<float> b = ct_load<float>(raw.values[unit_columns - 1]);
        if (unit_columns == 2)
            *(Pair *)to = {{a.re, a.im}, {b.re, b.im}};
        else
            *to = {a.re, a.im};
    }

    /* Copies or converts voltages where some do not exist or are not aligned. */
    __device__ void
    fetch_some(Slab &slab, int s) const
    {
#pragma unroll 1
        for (int i = (int)threadIdx.x; i < n; i += n_threads) {
            const int there = count(i, s);
            const uint8 *x = from + s * station + place(i);
            ct_cf32 *to = &slab.voltages[station_of(i)][unit_of(i) * unit_columns];
            if (IS_FLOAT) {
                ct_cp_async8_zfill(to, x, there > 0 ? 8 : 0);
                if (unit_columns == 2)
                    ct_cp_async8_zfill(to + 1, x + 8, there > 1 ? 8 : 0);
                continue;
            }
            Voltages raw;
            raw.all = Unit{};
            if (there > 0)
                raw.ones[0] = *(const One *)x;
            if (unit_columns == 2 && there > 1)
                raw.ones[unit_columns - 1] = *(const One *)(x + VOLTAGE_BYTES);
            put(to, raw);
        }
    }
};

/* Starts the copies of a slab; full slabs of integers are only read and must be converted later. */
__device__ inline void
fetch(const Weights &weights, const Columns &columns, Slab &slab, Voltages (&raw)[Columns::n_each],
      int s, bool full)
{
    if (!full) {
        weights.send_some(slab, s);
        columns.fetch_some(slab, s);
        return;
    }
    weights.send(slab, s);
    if (IS_FLOAT)
        columns.send(slab, s);
    else
        columns.read(raw, s);
}

/* The sums of a thread, and its part of the tile. */
struct Sums {
    ct_cf32 sums[THREAD_BEAMS][THREAD_COLUMNS];
    int lane_beam, lane_column;

    /* A thread multiplies these for one station. */
    struct Factors {
        ct_cf32 x[THREAD_COLUMNS];
        float w[weight_pols][2][THREAD_BEAMS];
    };
    __device__ void
    read(Factors &factors, const Slab &slab, int k) const
    {
#pragma unroll
        for (int j = 0; j < THREAD_COLUMNS; j += 2) {
            const Pair pair =
                *(const Pair *)&slab.voltages[k][(j / 2 * threads_columns + lane_column) * 2];
            factors.x[j] = pair.a;
            factors.x[j + 1] = pair.b;
        }
#pragma unroll
        for (int p = 0; p < weight_pols; p++)
#pragma unroll
            for (int part = 0; part < 2; part++)
#pragma unroll
                for (int i = 0; i < THREAD_BEAMS; i += unit_beams) {
                    const auto *row = slab.weights[p][k][part];
                    const Parts parts = *(const Parts *)(row + weight_place(lane_beam, i));
#pragma unroll
                    for (int u = 0; u < unit_beams; u++)
                        factors.w[p][part][i + u] = parts.of[u];
                }
    }
    __device__ void
    add_products(const float (&w)[2][THREAD_BEAMS], const ct_cf32 (&x)[THREAD_COLUMNS], int p)
    {
#pragma unroll
        for (int i = 0; i < THREAD_BEAMS; i++)
#pragma unroll
            for (int j = p; j < THREAD_COLUMNS; j += weight_pols) {
                sums[i][j].re += w[0][i] * x[j].re;
                sums[i][j].im += w[0][i] * x[j].im;
            }
#pragma unroll
        for (int i = 0; i < THREAD_BEAMS; i++)
#pragma unroll
            for (int j = p; j < THREAD_COLUMNS; j += weight_pols) {
                sums[i][j].re -= w[1][i] * x[j].im;
                sums[i][j].im += w[1][i] * x[j].re;
            }
    }
    __device__ void
    add_products(const Factors &factors)
    {
#pragma unroll
        for (int p = 0; p < weight_pols; p++)
            add_products(factors.w[p], factors.x, p);
    }

    /* Adds the products of n stations; `even` has the factors of the first. Factors of a station
     * are read while those of the one before are multiplied. The compiler must not mix the
     * multiply-adds of two stations: neighbouring ones share a factor, without which a multiply-add
     * takes two clocks to read its operands. */
    __device__ void
    add(const Slab &slab, Factors &even, int n)
    {
        Factors odd;
        ct_keep(n);
#pragma unroll 1
        for (int k = 1;; k += 2) {
            read(odd, slab, k < n ? k : 0);
            add_products(even);
            if (k >= n)
                break;
            read(even, slab, k + 1 < n ? k + 1 : 0);
            add_products(odd);
            if (k + 1 >= n)
                break;
        }
    }
};

/* The sums of a tile. */
struct Beams {
    uint8 *to; /* of the tile's first beam and column */
    int n_beams, n_times;
    int64 time, beam;

    __device__ ct_cf32 *
    place(int m, int n) const
    {
        return (ct_cf32 *)(to + m * beam + n / N_POLS * time) + n % N_POLS;
    }
    __device__ void
    write(int m, int n, const ct_cf32 &a, const ct_cf32 &b, bool full) const
    {
        ct_cf32 *first = place(m, n);
        ct_cf32 *second = Y_BEAMS ? place(m + 1, n) : place(m, n + 1);
        if (full) {
            *(Pair *)first = {a, b};
            return;
        }
        if (m < n_beams && n < n_times * N_POLS)
            *first = a;
        if (Y_BEAMS ? m + 1 < n_beams && n < n_times * N_POLS
                    : m < n_beams && n + 1 < n_times * N_POLS)
            *second = b;
    }
    __device__ void
    write(const Sums &self, bool full) const
    {
#pragma unroll
        for (int j = 0; j < THREAD_COLUMNS; j += 2)
#pragma unroll
            for (int i = 0; i < THREAD_BEAMS; i += 2) {
                const int m = thread_beam(self.lane_beam, i);
                const int n = (j / 2 * threads_columns + self.lane_column) * 2;
                const auto &sums = self.sums;
                if (Y_BEAMS) {
                    write(m, n, sums[i][j], sums[i + 1][j], full);
                    write(m, n + 1, sums[i][j + 1], sums[i + 1][j + 1], full);
                } else {
                    write(m, n, sums[i][j], sums[i][j + 1], full);
                    write(thread_beam(self.lane_beam, i + 1), n, sums[i + 1][j], sums[i + 1][j + 1],
                          full);
                }
            }
    }
};

/* Blocks: [element of the axes that pass through][tile of columns][tile of beams]. `wide`: bit 0,
 * units of voltages are aligned; bit 1, pairs of sums are. */
extern "C" __global__ void
__launch_bounds__(n_threads, N_BLOCKS) beamform(const uint8 *x, const uint8 *w, uint8 *y,
                                                int n_times, int n_tiles, int wide, Strides strides)
{
    __shared__ Slab slabs[N_SLABS];
    const int first_beam = (int)(blockIdx.x % beam_tiles) * TILE_BEAMS;
    const int rest = (int)(blockIdx.x / beam_tiles);
    const int first_time = rest % n_tiles * (TILE_COLUMNS / N_POLS);
    int element = rest / n_tiles;
    constexpr int lengths[N_AXES + 1] = {LENGTHS};
#pragma unroll
    for (int a = 0; a < N_AXES; a++) {
        const int i = element % lengths[a];
        element /= lengths[a];
        x += i * strides.x[a];
        y += i * strides.y[a];
        w += i * strides.w[a];
    }
    const Weights weights = {w + first_beam * strides.w_beam, N_BEAMS - first_beam, strides.w_beam,
                             strides.w_station, strides.w_pol};
    const Columns columns = {x + first_time * strides.x_time, n_times - first_time, strides.x_time,
                             strides.x_station};
    const Beams beams = {y + first_beam * strides.y_beam + first_time * strides.y_time,
                         N_BEAMS - first_beam, n_times - first_time, strides.y_time,
                         strides.y_beam};

    /* Neighbouring threads of a warp follow the axis along which sums are written. */
    constexpr int along = Y_ALONG ? threads_columns : threads_beams;
    constexpr int most = 32 / (Y_ALONG ? threads_beams : threads_columns);
    constexpr int side = most > 8 ? most : along < 8 ? along : 8;
    constexpr int warp_beams = Y_ALONG ? 32 / side : side, warp_columns = 32 / warp_beams;
    static_assert(threads_beams % warp_beams == 0 && threads_columns % warp_columns == 0, "warps");
    constexpr int warps_beams = threads_beams / warp_beams;
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    Sums sums = {};
    sums.lane_beam =
        warp % warps_beams * warp_beams + (Y_ALONG ? lane / warp_columns : lane % warp_beams);
    sums.lane_column =
        warp / warps_beams * warp_columns + (Y_ALONG ? lane % warp_columns : lane / warp_beams);

    const bool inside =
        first_beam + TILE_BEAMS <= N_BEAMS && first_time + TILE_COLUMNS / N_POLS <= n_times;
    const bool full = inside && (wide & 1) != 0;
    Voltages raw[Columns::n_each];
#pragma unroll
    for (int d = 0; d < N_SLABS - 1; d++) {
        const bool is_full = full && (d + 1) * DEPTH <= N_STATIONS;
        if (d < n_depths)
            fetch(weights, columns, slabs[d], raw, d * DEPTH, is_full);
        if (!IS_FLOAT && is_full)
            Columns::convert(slabs[d], raw);
        ct_cp_async_commit();
    }
    int here = 0, next = N_SLABS - 1;
#pragma unroll 1
    for (int d = 0; d < n_depths; d++) {
        ct_cp_async_wait<N_SLABS - 2>();
        __syncthreads();
        Sums::Factors first;
        sums.read(first, slabs[here], 0);
        const int s = (d + N_SLABS - 1) * DEPTH;
        const bool is_full = full && s + DEPTH <= N_STATIONS;
        if (s < N_STATIONS)
            fetch(weights, columns, slabs[next], raw, s, is_full);
        ct_cp_async_commit();
        sums.add(slabs[here], first,
                 d + 1 < n_depths ? DEPTH : N_STATIONS - (n_depths - 1) * DEPTH);
        if (!IS_FLOAT && is_full)
            Columns::convert(slabs[next], raw);
        here = here + 1 == N_SLABS ? 0 : here + 1;
        next = next + 1 == N_SLABS ? 0 : next + 1;
    }
    if ((Y_PAIRS || Y_BEAMS) && inside && (wide & 2) != 0)
        beams.write(sums, true);
    else
        beams.write(sums, false);
}
