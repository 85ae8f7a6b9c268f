/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of all pairs of inputs with fused multiply-adds, in tiles held in registers.
 *
 * A unit of threads sums a tile over a range of time: an integration, or a chunk of one. Spectra
 * are loaded into shared memory DEPTH at a time, counted from the start of the integration. A unit
 * is UNIT_I × UNIT_J groups of LANES_I × LANES_J threads, a thread has ROWS × COLUMNS products; if
 * tiles are small, a block has several units.
 *
 * The rows of a thread are spread over the whole tile, and so are its columns: one vector of each
 * stretch of the inputs. So on the diagonal all threads leave out the same products.
 *
 * In floating point, sums of CHUNK spectra are added to a running sum. Where a firing ends within a
 * chunk, both sums are kept, so the order of additions does not depend on where the stream is cut.
 *
 * Further constants: REAL (of registers), VOLTAGE (of shared memory), DIRECT (voltages are copied
 * there unchanged, asynchronously), STAGES, BLOCKS (of a multiprocessor). */
#include "correlate-device.h"

constexpr int group_threads = LANES_I * LANES_J;
constexpr int unit_threads = group_threads * UNIT_I * UNIT_J;
constexpr int n_threads = unit_threads * N_UNITS;
/* The threads along the sides of a tile. */
constexpr int lanes_i = UNIT_I * LANES_I, lanes_j = UNIT_J * LANES_J;
/* Neighbouring inputs that a thread reads at once. */
constexpr int vector = 16 / sizeof(VOLTAGE);
/* A single tile has the same inputs on both sides. */
constexpr int n_sides = n_tiles > 1 ? 2 : 1;
constexpr int side_bytes = DEPTH * TILE * sizeof(VOLTAGE);
/* Units begin in different banks. */
constexpr int unit_bytes = n_sides * side_bytes + (N_UNITS > 1 ? 16 : 0);
constexpr int stage_bytes = N_UNITS * unit_bytes;

static_assert(lanes_i * ROWS == TILE && lanes_j * COLUMNS == TILE, "square");
static_assert(ROWS % vector == 0 && COLUMNS % vector == 0, "whole vectors");

struct alignas(16) Vector {
    VOLTAGE at[vector];
};

/* The work of a unit, in shared memory to save registers for products. */
struct Unit {
    Job job;
    const char *voltages; /* at the first of the range's DEPTH spectra */
    int skip, end; /* spectra skip … end − 1 from there are read; end < 0: there is no work; skip <
                      0: nothing is added, but a sum is due */
    int phase;     /* of the first spectrum, in its chunk */
    bool is_added; /* the range ends a chunk or an integration */
};

/* The part of a tile that a thread holds. */
struct Products {
    ct_complex<REAL> at[ROWS][COLUMNS];
};

__device__ inline int
spread(int lane, int n_lanes, int index)
{
    return vector * (lane + n_lanes * (index / vector)) + index % vector;
}

/* Whether any thread needs its product (r, c) in a tile on the diagonal. */
__device__ constexpr bool
reaches_diagonal(int r, int c)
{
    return lanes_i * (r / vector + 1) > lanes_j * (c / vector);
}

__device__ inline void
clear(Products &products)
{
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int c = 0; c < COLUMNS; c++)
            products.at[r][c] = {0, 0};
}

/* ---- loading ---- */

__device__ inline int64
input_offset(const CorrelatePiece &piece, int m)
{
    return m / N_POLS * piece.from_station + m % N_POLS * piece.from_pol;
}

__device__ inline bool
is_read(const Unit &unit, int t)
{
    return t >= unit.skip && t < unit.end;
}

#if DIRECT
/* Copies spectrum t of inputs m and the next ones, none beyond the last. */
__device__ inline void
copy(const CorrelatePiece &piece, char *to, const char *from, int m, bool is_there)
{
    if (piece.width == 16) {
        const unsigned bytes = is_there && m < n_inputs ? 16 : 0;
        ct_cp_async16_zfill(
            to, bytes ? from + m * (int)sizeof(INPUT) : (const char *)piece.voltages, bytes);
        return;
    }
#pragma unroll
    for (int k = 0; k < vector; k++) {
        const unsigned bytes = is_there && m + k < n_inputs ? sizeof(INPUT) : 0;
        ct_cp_async8_zfill(to + k * sizeof(INPUT),
                           bytes ? from + input_offset(piece, m + k) : (const char *)piece.voltages,
                           bytes);
    }
}

/* The copies of a thread in each DEPTH spectra, if a block has one unit: the same inputs of every
 * `row_step`th spectrum, from both sides. */
constexpr int n_vectors = TILE / vector;
constexpr int row_step = n_threads / n_vectors;

struct Loader {
    const char *from[2]; /* the first of the next spectra to be loaded */
    unsigned bytes[2];   /* 0: no such input */
    bool is_square;      /* both sides have the same inputs */
    int begin, end;      /* all spectra from begin to end − 1 can be read, 16 bytes at once */
};

__device__ inline Loader
make_loader(const CorrelatePiece &piece, const Unit &unit)
{
    Loader loader;
    const int m = threadIdx.x % n_vectors * vector;
    loader.is_square = unit.job.i == unit.job.j;
    for (int side = 0; side < 2; side++) {
        const int first = side == 0 ? unit.job.i : unit.job.j;
        const bool is_there = first + m < n_inputs;
        loader.bytes[side] = is_there ? 16 : 0;
        loader.from[side] = (const char *)piece.voltages;
        if (is_there)
            loader.from[side] = unit.voltages + (first + m) * (int)sizeof(INPUT) +
                                threadIdx.x / n_vectors * piece.from_time;
    }
    loader.begin = unit.skip;
    loader.end = piece.width == 16 ? unit.end : 0;
    return loader;
}

/* Starts the copies of the DEPTH spectra from t on to a stage, some of which do not exist or are
 * not aligned. */
__device__ inline void
load_some(const CorrelatePiece &piece, const Unit &unit, char *to, int t)
{
#pragma unroll 1
    for (int side = 0; side < n_sides; side++) {
        const int m = (side == 0 ? unit.job.i : unit.job.j) + threadIdx.x % n_vectors * vector;
        if (side == 1 && unit.job.i == unit.job.j)
            continue;
#pragma unroll 1
        for (int r = 0; r < DEPTH; r += row_step) {
            const int row = t + r + threadIdx.x / n_vectors;
            copy(piece, to + side * side_bytes + r * TILE * sizeof(INPUT),
                 unit.voltages + row * piece.from_time, m, is_read(unit, row));
        }
    }
}

/* The same for any spectra; called for one step after the other. */
__device__ inline void
load_next(const CorrelatePiece &piece, const Unit &unit, Loader &loader, char *stage, int t)
{
    static_assert(N_UNITS > 1 || DEPTH % row_step == 0, "whole rows");
    char *to = stage + threadIdx.x * 16;
    if (t < loader.begin || t + DEPTH > loader.end) {
        load_some(piece, unit, to, t);
        loader.from[0] += DEPTH * piece.from_time;
        loader.from[1] += DEPTH * piece.from_time;
        return;
    }
    const int64 step = row_step * piece.from_time;
#pragma unroll
    for (int side = 0; side < n_sides; side++) {
        if (side == 1 && loader.is_square)
            continue;
#pragma unroll
        for (int r = 0; r < DEPTH; r += row_step, loader.from[side] += step)
            ct_cp_async16_zfill(to + side * side_bytes + r * TILE * sizeof(INPUT),
                                loader.from[side], loader.bytes[side]);
    }
}

/* The same for several units. */
__device__ inline void
load_all(const CorrelatePiece &piece, const Unit *units, char *stage, int t)
{
    constexpr int n = N_UNITS * n_sides * DEPTH * n_vectors;
#pragma unroll 2
    for (int first = 0; first < n; first += n_threads) {
        const int k = first + threadIdx.x;
        const int v = k % n_vectors * vector, row = k / n_vectors % DEPTH;
        const int side = k / (n_vectors * DEPTH) % n_sides;
        const int u = k / (n_vectors * DEPTH * n_sides);
        const Unit &unit = units[u];
        if ((n % n_threads == 0 || k < n) && !(side == 1 && unit.job.i == unit.job.j))
            copy(piece,
                 stage + u * unit_bytes + side * side_bytes + (row * TILE + v) * sizeof(INPUT),
                 unit.voltages + (t + row) * piece.from_time,
                 (side == 0 ? unit.job.i : unit.job.j) + v, is_read(unit, t + row));
    }
}
#else
/* Voltages in registers before they are stored in shared memory. */
constexpr int n_fetched = (N_UNITS * n_sides * DEPTH * TILE + n_threads - 1) / n_threads;

struct Fetched {
    INPUT at[n_fetched];
};

/* Element k of a stage. */
struct Source {
    int u, side, row, column;
    bool is_there;
};

__device__ inline Source
find_source(const Unit *units, int k)
{
    Source source;
    source.column = k % TILE;
    source.row = k / TILE % DEPTH;
    source.side = k / (TILE * DEPTH) % n_sides;
    source.u = N_UNITS == 1 ? 0 : k / (TILE * DEPTH * n_sides);
    source.is_there = k < N_UNITS * n_sides * DEPTH * TILE &&
                      (source.side == 0 || units[source.u].job.i != units[source.u].job.j);
    return source;
}

__device__ inline void
fetch(const CorrelatePiece &piece, const Unit *units, Fetched &fetched, int t)
{
#pragma unroll
    for (int k = 0; k < n_fetched; k++) {
        const Source source = find_source(units, k * n_threads + threadIdx.x);
        const Unit &unit = units[source.u];
        const int m = (source.side == 0 ? unit.job.i : unit.job.j) + source.column;
        fetched.at[k] = INPUT();
        if (source.is_there && m < n_inputs && is_read(unit, t + source.row))
            fetched.at[k] = *(const INPUT *)(unit.voltages + (t + source.row) * piece.from_time +
                                             input_offset(piece, m));
    }
}

__device__ inline void
store(const Unit *units, const Fetched &fetched, char *stage)
{
#pragma unroll
    for (int k = 0; k < n_fetched; k++) {
        const Source source = find_source(units, k * n_threads + threadIdx.x);
        if (!source.is_there)
            continue;
        const ct_complex<REAL> x = ct_load<REAL>(fetched.at[k]);
        *(VOLTAGE *)(stage + source.u * unit_bytes + source.side * side_bytes +
                     (source.row * TILE + source.column) * sizeof(VOLTAGE)) = {x.re, x.im};
    }
}
#endif

/* ---- multiplying ---- */

/* A thread multiplies these for one spectrum. */
struct Factors {
    Vector a[ROWS / vector], b[COLUMNS / vector];
};

__device__ inline void
read(Factors &factors, const char *rows, const char *columns, int t)
{
#pragma unroll
    for (int r = 0; r < ROWS / vector; r++)
        factors.a[r] = *(const Vector *)(rows + t * TILE * (int)sizeof(VOLTAGE) +
                                         r * lanes_i * (int)sizeof(Vector));
#pragma unroll
    for (int c = 0; c < COLUMNS / vector; c++)
        factors.b[c] = *(const Vector *)(columns + t * TILE * (int)sizeof(VOLTAGE) +
                                         c * lanes_j * (int)sizeof(Vector));
}

/* Multiplies re of a column, or im, by the rows, downwards or upwards: the first multiply-add has
 * its row in common with the last one of the column before. */
template <bool is_square, bool is_im>
__device__ inline void
add_column(Products &products, const Factors &factors, int c)
{
    const VOLTAGE y = factors.b[c / vector].at[c % vector];
#pragma unroll
    for (int k = 0; k < 2 * ROWS; k++) {
        const int at = c % 2 ? k : 2 * ROWS - 1 - k, r = at / 2;
        const VOLTAGE x = factors.a[r / vector].at[r % vector];
        if (is_square && !reaches_diagonal(r, c))
            continue;
        if (is_im && at % 2)
            products.at[r][c].re += x.im * y.im;
        else if (is_im)
            products.at[r][c].im -= x.re * y.im;
        else if (at % 2)
            products.at[r][c].im += x.im * y.re;
        else
            products.at[r][c].re += x.re * y.re;
    }
}

/* `is_square`: of a tile on the diagonal. */
template <bool is_square>
__device__ inline void
add_products(Products &products, const Factors &factors)
{
#pragma unroll
    for (int c = 0; c < COLUMNS; c++)
        add_column<is_square, false>(products, factors, c);
#pragma unroll
    for (int c = 0; c < COLUMNS; c++)
        add_column<is_square, true>(products, factors, c);
}

/* Adds the products of n spectra. Factors of a spectrum are read while those of the one before are
 * multiplied. The compiler must not mix the multiply-adds of two spectra: neighbouring ones share a
 * factor, without which a multiply-add takes two clocks to read its operands. */
template <bool is_square>
__device__ inline void
multiply_some(const char *rows, const char *columns, Products &products, int n)
{
    Factors even, odd;
    read(even, rows, columns, 0);
#pragma unroll 1
    for (int t = 1;; t += 2) {
        read(odd, rows, columns, t < n ? t : 0);
        add_products<is_square>(products, even);
        if (t >= n)
            break;
        read(even, rows, columns, t + 1 < n ? t + 1 : 0);
        add_products<is_square>(products, odd);
        if (t + 1 >= n)
            break;
    }
}

/* Adds the products of a stage; in single precision, if a block has one unit, of n spectra. The
 * others have few multiply-adds, or slow ones, and are faster unrolled. */
template <bool is_square>
__device__ inline void
multiply(const char *rows, const char *columns, Products &products, int n)
{
    if constexpr (DIRECT && N_UNITS == 1) {
        multiply_some<is_square>(rows, columns, products, n);
        return;
    }
#pragma unroll
    for (int t = 0; t < DEPTH; t++) {
        Factors factors;
        read(factors, rows, columns, t);
        add_products<is_square>(products, factors);
    }
}

/* ---- sums ---- */

/* A thread's position in its unit. */
struct Thread {
    int i, j;
};

/* Calls each(r, c, element) for the products that are neighbours in memory; `element` of a tile. */
template <typename Each>
__device__ inline void
for_vectors(const Thread &thread, Each each)
{
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int c = 0; c < COLUMNS; c += vector)
            each(r, c, spread(thread.i, lanes_i, r) * TILE + spread(thread.j, lanes_j, c));
}

__device__ inline Vector
get(const Products &products, int r, int c)
{
    Vector result;
#pragma unroll
    for (int v = 0; v < vector; v++)
        result.at[v] = {products.at[r][c + v].re, products.at[r][c + v].im};
    return result;
}

__device__ inline void
put(Products &products, int r, int c, Vector from)
{
#pragma unroll
    for (int v = 0; v < vector; v++)
        products.at[r][c + v] = {from.at[v].re, from.at[v].im};
}

/* The running sums of a thread, kept outside registers, [vector][thread]. */
__device__ inline void
set_running(Vector *running, const Products &products)
{
    int k = 0;
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int c = 0; c < COLUMNS; c += vector, k++)
            running[k * n_threads] = get(products, r, c);
}

__device__ inline void
add_running(Products &products, const Vector *running)
{
    int k = 0;
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int c = 0; c < COLUMNS; c += vector, k++) {
            const Vector sum = running[k * n_threads];
#pragma unroll
            for (int v = 0; v < vector; v++) {
                products.at[r][c + v].re += sum.at[v].re;
                products.at[r][c + v].im += sum.at[v].im;
            }
        }
}

/* Begins a range with the sums that the last piece kept of it. */
__device__ inline void
resume(const CorrelatePiece &piece, const Unit &unit, const Thread &thread, Products &products,
       Vector *running)
{
    clear(products);
    if (unit.is_added)
        set_running(running, products);
    if (unit.is_added && unit.job.range.position >= CHUNK) {
        const VOLTAGE *sums = (const VOLTAGE *)piece.sums + unit.job.tile * tile_elements;
        int k = 0;
        for_vectors(thread, [&](int, int, int element) {
            running[k++ * n_threads] = *(const Vector *)(sums + element);
        });
    }
    if (unit.job.range.position % CHUNK != 0) {
        const VOLTAGE *open = (const VOLTAGE *)piece.open + unit.job.tile * tile_elements;
        for_vectors(thread, [&](int r, int c, int element) {
            put(products, r, c, *(const Vector *)(open + element));
        });
    }
}

/* Ends a range: `products` are those of its last chunk. */
__device__ inline void
finish(const CorrelatePiece &piece, const Unit &unit, const Thread &thread, Products &products,
       Vector *running)
{
    const int64 end = unit.job.range.position + unit.job.n;
    VOLTAGE *sums = (VOLTAGE *)piece.sums + unit.job.tile * tile_elements;
    VOLTAGE *open = (VOLTAGE *)piece.open + unit.job.tile * tile_elements;
    const bool due = is_due(piece, unit.job.range);
    if (!due && end % CHUNK != 0) {
        for_vectors(thread, [&](int r, int c, int element) {
            *(Vector *)(open + element) = get(products, r, c);
        });
        clear(products);
    }
    if (!unit.is_added)
        return;
    add_running(products, running);
    set_running(running, products);
#pragma unroll 1
    for (int k = 0; k < ROWS * COLUMNS / vector; k++) {
        const Vector sum = running[k * n_threads];
        const int row = spread(thread.i, lanes_i, k / (COLUMNS / vector));
        const int column = spread(thread.j, lanes_j, k % (COLUMNS / vector) * vector);
        if (!due && end >= CHUNK)
            *(Vector *)(sums + row * TILE + column) = sum;
        for (int v = 0; due && v < vector; v++)
            write_product(piece, unit.job.visibilities, unit.job.i + row, unit.job.j + column + v,
                          sum.at[v].re, sum.at[v].im);
    }
}

/* ---- the kernel ---- */

__device__ inline void
find_unit(const CorrelatePiece &piece, unsigned index, Unit &unit)
{
    const Job job = find_job(piece, index);
    const int phase = (int)(job.range.position % CHUNK);
    /* Spectra are read from a multiple of DEPTH of the integration on. */
    unit.skip = (int)(job.range.position % DEPTH);
    unit.phase = phase - unit.skip;
    unit.end = job.is_there ? unit.skip + job.n : -1;
    unit.voltages = job.voltages - unit.skip * piece.from_time;
    unit.is_added = !piece.parts && (phase + job.n >= CHUNK || is_due(piece, job.range));
    unit.job = job;
}

extern "C" __global__ void
__launch_bounds__(n_threads, BLOCKS) correlate_tiles(const CorrelatePiece piece)
{
    extern __shared__ Vector shared_vectors[];
    __shared__ Unit units[N_UNITS];

    char *shared = (char *)shared_vectors;
    const int u = N_UNITS == 1 ? 0 : threadIdx.x / unit_threads;
    const int id = threadIdx.x % unit_threads;
    const int group = id / group_threads, lane = id % group_threads;
    const Thread thread = {group / UNIT_J * LANES_I + lane / LANES_J,
                           group % UNIT_J * LANES_J + lane % LANES_J};
    const Unit &unit = units[u];
    if (id == 0)
        find_unit(piece, blockIdx.x * N_UNITS + u, units[u]);
    __syncthreads();

    /* Whether any of the thread's products is needed; all units of a block run the same loop. */
    const bool is_busy = unit.end >= 0 && unit.job.i + vector * thread.i < n_inputs;
    /* Units that share a warp go the same way. */
    const bool is_square = n_tiles == 1 || (N_UNITS == 1 && unit.job.i == unit.job.j);
    const int n_steps =
        ((N_UNITS == 1 ? unit.end : longest_range(piece) + DEPTH - 1) + DEPTH - 1) / DEPTH;
    Vector *running = (Vector *)(shared + STAGES * stage_bytes) + threadIdx.x;
    Products products;
    if (is_busy)
        resume(piece, unit, thread, products, running);
    const int end = unit.end, phase = unit.phase;

    const int row_offset = u * unit_bytes + thread.i * (int)sizeof(Vector);
    const int column_offset = u * unit_bytes + (unit.job.i == unit.job.j ? 0 : side_bytes) +
                              thread.j * (int)sizeof(Vector);
#if DIRECT
    Loader loader = make_loader(piece, units[0]);
    const auto load = [&](char *stage, int t) {
        if constexpr (N_UNITS == 1)
            load_next(piece, units[0], loader, stage, t);
        else
            load_all(piece, units, stage, t);
    };
#pragma unroll
    for (int s = 0; s < STAGES - 1; s++) {
        if (s < n_steps)
            load(shared + s * stage_bytes, s * DEPTH);
        ct_cp_async_commit();
    }
    int reading = 0, writing = (STAGES - 1) * stage_bytes;
#else
    Fetched fetched;
    fetch(piece, units, fetched, 0);
    store(units, fetched, shared);
#endif
    for (int step = 0; step < n_steps; step++) {
#if DIRECT
        ct_cp_async_wait<STAGES - 2>();
        __syncthreads();
        if (step + STAGES - 1 < n_steps)
            load(shared + writing, (step + STAGES - 1) * DEPTH);
        ct_cp_async_commit();
        const char *stage = shared + reading;
        writing = reading;
        reading = reading + stage_bytes < STAGES * stage_bytes ? reading + stage_bytes : 0;
#else
        __syncthreads();
        const char *stage = shared + step % 2 * stage_bytes;
        if (step + 1 < n_steps)
            fetch(piece, units, fetched, (step + 1) * DEPTH);
#endif
        const int n = smaller(end - step * DEPTH, DEPTH);
        if (is_busy && is_square)
            multiply<true>(stage + row_offset, stage + column_offset, products, n);
        else if (is_busy)
            multiply<false>(stage + row_offset, stage + column_offset, products, n);
#if !DIRECT
        if (step + 1 < n_steps)
            store(units, fetched, shared + (step + 1) % 2 * stage_bytes);
#endif
        const int n_done = (step + 1) * DEPTH;
        if ((phase + n_done) % CHUNK == 0 && n_done <= end && is_busy && !piece.parts) {
            add_running(products, running);
            set_running(running, products);
            clear(products);
        }
    }
    if (!is_busy)
        return;
    if (piece.parts) {
        VOLTAGE *part = (VOLTAGE *)piece.parts + part_of(unit.job);
        for_vectors(thread, [&](int r, int c, int element) {
            if (!is_square || reaches_diagonal(r, c))
                *(Vector *)(part + element) = get(products, r, c);
        });
    } else {
        finish(piece, unit, thread, products, running);
    }
}
