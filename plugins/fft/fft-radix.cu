/* SPDX-License-Identifier: BSD-3-Clause */
/* Transforms of lengths with factors 2, 3 and 5 that a block of threads can hold. Every value is
 * read once and written once; between the passes it goes through shared memory.
 *
 * A team of threads takes TEAM_TRANSFORMS transforms, and each thread N_VALUES values in each pass
 * (fft-radix.h), or so many that its radix divides them; then some threads have less. If samples
 * lie side by side, the threads that read or write them do, too. If transforms lie side by side,
 * neighbouring threads have the same sample of different transforms.
 *
 * Constants of the compilation beside those of fft-radix.h: N_VALUES; THREADS of a block, of which
 * a multiprocessor shall hold MIN_BLOCKS, and TEAM_THREADS of a team; ACROSS_IN, ACROSS_OUT;
 * INVERSE, with which parts change places on both sides, since swap(F(swap(x))) is the inverse
 * transform of x but for the factor SCALE; SHIFT, whether channel 0 stands in the middle.
 */
#include "fft-places.h"
#include "fft-radix.h"

#include <cornerturn/kit/prologue-kernel.h>

#define TEAM_TRANSFORMS (TEAM_THREADS * N_VALUES / LENGTH)
#define TILE            (THREADS * N_VALUES / LENGTH)
/* Values of a transform in shared memory. One is left free behind every 16, so that neighbours that
 * write far apart write to different banks. One more is left free so that transforms begin in
 * different banks. */
#define PITCH (LENGTH + LENGTH / 16 + (ACROSS_IN || ACROSS_OUT))

/* The most values of a thread, in a pass or in those from it on. */
__device__ constexpr int
count_held(int pass)
{
    const int own = ((N_VALUES - 1) / radices[pass] + 1) * radices[pass];
    const int next = pass + 1 < N_PASSES ? count_held(pass + 1) : 0;
    return own > next ? own : next;
}

#define HELD (count_held(0))

/* The values of a thread in a pass: numbers first + i·apart of `transform`, then those of the
 * transform `rows` behind it, and so on. */
template <int pass> struct Share {
    static constexpr int radix = radices[pass], apart = LENGTH / radix;
    static constexpr int rows = TEAM_THREADS / apart;
    static constexpr int n_values = ((N_VALUES - 1) / radix + 1) * radix;
    static_assert(TEAM_THREADS % apart == 0, "a team has whole transforms in each pass");
    static constexpr bool across = (pass == 0 && ACROSS_IN) || (pass == N_PASSES - 1 && ACROSS_OUT);
    int first, transform;

    __device__
    Share(int thread)
        : first(across ? thread / rows : thread % apart),
          transform(across ? thread % rows : thread / apart)
    {
    }

    /* Whether the thread has value i; the value's transform, and its place in it. */
    __device__ bool
    has(int i) const
    {
        return i / radix < N_VALUES / radix || transform_of(i) < TEAM_TRANSFORMS;
    }

    __device__ int
    transform_of(int i) const
    {
        return transform + i / radix * rows;
    }

    __device__ int
    place_of(int i) const
    {
        return first + i % radix * apart;
    }
};

/* Passes from `pass` on. The caller has read the values of the first pass, and writes those of the
 * last. */
template <int pass> struct Passes {
    typedef Factors<pass> Own;
    static constexpr int radix = Own::radix, span = Own::span;
    Own factors;
    Passes<pass + 1> next;

    __device__ void
    init(const ct_cf32 *table, int thread)
    {
        if (pass > 0)
            factors.init(table, Share<pass>(thread).first);
        next.init(table, thread);
    }

    __device__ void
    run(ct_cf32 (&v)[HELD], ct_cf32 *memory, int thread) const
    {
        const Share<pass> share(thread);

        if constexpr (pass > 0) {
#pragma unroll
            for (int i = 0; i < share.n_values; i++) {
                const int at = share.place_of(i);
                if (share.has(i))
                    v[i] = memory[share.transform_of(i) * PITCH + padded<pass - 1>(at)];
            }
        }
#pragma unroll
        for (int i = 0; i < share.n_values; i += radix)
            if (share.has(i))
                factors.transform(v + i);
        if constexpr (pass + 1 < N_PASSES) {
            wait<TEAM_THREADS>();
#pragma unroll
            for (int i = 0; i < share.n_values; i++) {
                const int at =
                    share.first % span + i % radix * span + share.first / span * span * radix;
                if (share.has(i))
                    memory[share.transform_of(i) * PITCH + padded<pass>(at)] =
                        v[i / radix * radix + Own::place(i % radix)];
            }
            wait<TEAM_THREADS>();
            next.run(v, memory, thread);
        }
    }
};

template <> struct Passes<N_PASSES> {
    __device__ void
    init(const ct_cf32 *, int)
    {
    }
};

__device__ inline int64
offset(const FftPlaces &places, const long long *apart, uint32 transform)
{
    int64 sum = 0;

    for (uint32 axis = places.n_axes; axis-- > 1; transform /= places.length[axis])
        sum += transform % places.length[axis] * apart[axis];
    return sum + transform * apart[0];
}

/* The number of value i of a thread if channel 0 stands in the middle. */
template <int radix>
__device__ constexpr int
shifted(int i)
{
    return i / radix * radix + (i + radix / 2) % radix;
}

static_assert(!SHIFT || radices[INVERSE ? 0 : N_PASSES - 1] % 2 == 0,
              "half of the channels are some values of a thread");
static_assert(N_VALUES % radices[N_PASSES - 1] == 0, "all threads write as many values");

__device__ inline void
read(const CtPrologue &prologue, ct_cf32 (&v)[HELD], const uint8 *in, const FftPlaces &places,
     uint32 tile, int thread)
{
    typedef Share<0> Own;
    const Own share(thread);
    const int64 step = ACROSS_IN ? places.step_in : (int64)sizeof(CtLoaded<ct_cf32>);

#pragma unroll
    for (int b = 0; b < Own::n_values; b += Own::radix) {
        const uint32 transform = tile + share.transform_of(b);
        const bool is_there = share.has(b) && transform < places.n_transforms;
        const uint8 *from = in + share.first * step;
        if (is_there)
            from += offset(places, places.in, transform);
        const CtPrologue::Element element = prologue.element(from);
#pragma unroll
        for (int i = 0; i < Own::radix; i++, from += Own::apart * step) {
            ct_cf32 x = {0, 0};
            if (is_there)
                x = prologue.load<ct_cf32>(from, ACROSS_IN ? prologue.element(from)
                                                           : element + i * Own::apart);
            v[SHIFT && INVERSE ? shifted<Own::radix>(b + i) : b + i] =
                INVERSE ? ct_cf32{x.im, x.re} : x;
        }
    }
}

__device__ inline void
write(CtEpilogue &epilogue, const ct_cf32 (&v)[HELD], uint8 *out, const FftPlaces &places,
      uint32 tile, int thread)
{
    typedef Share<N_PASSES - 1> Own;
    const Own share(thread);
    const int64 step = ACROSS_OUT ? places.step_out : (int64)sizeof(CtStored<ct_cf32>);

#pragma unroll
    for (int b = 0; b < N_VALUES; b += Own::radix) {
        const uint32 transform = tile + share.transform_of(b);
        if (transform >= places.n_transforms)
            continue;
        uint8 *to = out + offset(places, places.out, transform) + share.first * step;
        const CtEpilogue::Element element = epilogue.element(to);
#pragma unroll
        for (int i = 0; i < Own::radix; i++, to += Own::apart * step) {
            const int value = SHIFT && !INVERSE ? shifted<Own::radix>(i) : i;
            const ct_cf32 x = v[b + Factors<N_PASSES - 1>::place(value)];
            epilogue.store(to, INVERSE ? ct_cf32{x.im * (float)(SCALE), x.re * (float)(SCALE)} : x,
                           ACROSS_OUT ? epilogue.element(to) : element + i * Own::apart);
        }
    }
}

/* `table`: exp(−2πi m / P), m < P. */
extern "C" __global__ void
__launch_bounds__(THREADS, MIN_BLOCKS)
    fft_radix(const uint8 *__restrict__ in, uint8 *__restrict__ out,
              const ct_cf32 *__restrict__ table, FftPlaces places,
              const CtEpilogueSettings settings, const CtPrologueSettings loading)
{
    extern __shared__ ct_cf32 values[]; /* [team] [transform] [PITCH] */
    const int team = threadIdx.x / TEAM_THREADS, thread = threadIdx.x % TEAM_THREADS;
    ct_cf32 *memory = values + team * (TEAM_TRANSFORMS * PITCH);
    Passes<0> passes;
    CtEpilogue epilogue(settings);
    const CtPrologue prologue(loading);

    passes.init(table, thread);
    for (uint32 tile = blockIdx.x; tile < places.n_tiles; tile += gridDim.x) {
        const uint32 first = tile * TILE + team * TEAM_TRANSFORMS;
        ct_cf32 v[HELD];
        read(prologue, v, in, places, first, thread);
        passes.run(v, memory, thread);
        write(epilogue, v, out, places, first, thread);
    }
    epilogue.end();
}
