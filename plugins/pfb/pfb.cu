/* SPDX-License-Identifier: BSD-3-Clause */
/* Polyphase filter and Fourier transform in one on the GPU: X[t][c] = Σ_p y[t][p] exp(−2πi pc / P),
 * y as fir.cu makes it, for P with factors 2, 3 and 5, and H a divisor of it. Filtered samples
 * never leave the multiprocessor. Stages may be attached behind it (cornerturn/kit/epilogue.h).
 *
 * A group of P / VECTOR threads takes a series in a chunk of time. Its threads filter VECTOR phases
 * each, AHEAD spectra at a time, by windows that slide (fir-window.h). Then the group transforms
 * these spectra. Each thread has some of a pass's transforms; between passes the values go through
 * shared memory. If a radix does not divide VECTOR · AHEAD, some threads have a transform less.
 *
 * Of real samples, phases 2m and 2m + 1 are the parts of value m of a transform of half the length,
 * Z. After one more exchange, a thread has pairs of Z[c] and Z[P/2 − c], of which it makes
 *   X[c] = (Z[c] + conj Z[P/2 − c]) / 2 − i/2 · exp(−2πi c / P) · (Z[c] − conj Z[P/2 − c])
 * and X[P/2 − c], the conjugate of the same with the other sign.
 *
 * Constants of the compilation beside those of fir-window.h and fft-radix.h: IS_REAL, whether
 * samples are; PITCH, of spectra in shared memory; IN_PLACE, whether passes are those
 * of pfb-in-place.h; GROUPS, of a block; BUFFERS, of a group;
 * KEEPS_SAMPLES, whether threads keep samples from spectrum to spectrum, not sums; SHIFT, whether
 * channel 0 stands in the middle; OUT_CHANNELS. Threads are spread over series, by groups.
 *
 * If the epilogue folds, a hop of its spectra is N_CELLS cells of CELL spectra; a chunk is so many
 * cells (pfb-fold.h). If a hop has several cells, pfb-merge.cu merges these. The order of all
 * additions is that of the spectra in the hop, wherever the chunk begins.
 *
 * If time comes in blocks, BLOCKS is 1, and a block is N_CELLS cells (pfb-blocks.h). Otherwise, and
 * if nothing is folded, CELL is 0. */

/* Phases that a thread writes at once to shared memory, in 16 bytes. If it has more, the others are
 * a part of the spectrum further on, so that neighbours write side by side, to all banks. */
#define MOST_SIDE (16 / (int)sizeof(OUT))
#define SIDE      (VECTOR < MOST_SIDE ? VECTOR : MOST_SIDE)

/* Samples that are kept are converted more often than others. */
#define SPARES_CONVERSIONS (KEEPS_SAMPLES && (N_CHANNELS & (N_CHANNELS - 1)) == 0)

#include "fir-window.h"
#include "pfb-cells.h"

#include <cornerturn/kit/epilogue-kernel.h>

#define GROUP_THREADS (N_CHANNELS / VECTOR)
#define LENGTH        (IS_REAL ? N_CHANNELS / 2 : N_CHANNELS)
#define UNIT          (IS_REAL ? VECTOR / 2 : VECTOR) /* values of a thread in a spectrum */

#define FUSES_FACTORS 1
/* Samples of 8 phases leave few registers. */
#define TURNS_FACTORS (VECTOR > 4)
#include "fft-radix.h"

/* The transforms of a thread in a pass. */
__device__ constexpr int
count_transforms(int pass)
{
    return (UNIT * AHEAD - 1) / radices[pass] + 1;
}

/* The most values of a thread, in a pass or in those from it on. */
__device__ constexpr int
count_values(int pass)
{
    const int own = count_transforms(pass) * radices[pass];
    const int next = pass + 1 < N_PASSES ? count_values(pass + 1) : 0;
    return own > next ? own : next;
}

#define N_VALUES (count_values(0))

/* Spectra of a group in shared memory: one buffer, or two that are written in turn. With two, a
 * group waits once for each time it writes; with one, before that too. */
#define BUFFER (AHEAD * PITCH)

template <int n>
__device__ inline void
wait_to_write()
{
    if constexpr (BUFFERS == 1)
        wait<n>();
}

/* Whether the threads of a spectrum in this pass have it in the next one too, and are parts of a
 * warp: then they exchange its values in place, and no others wait. */
__device__ constexpr bool
stays(int pass)
{
    return pass + 1 < N_PASSES && radices[pass] == radices[pass + 1] &&
           32 % (LENGTH / radices[pass]) == 0;
}

/* The times that the group goes on to the other buffer, from `pass` on. */
__device__ constexpr int
count_turns(int pass = 0)
{
    return pass + 1 < N_PASSES + IS_REAL ? !stays(pass) + count_turns(pass + 1) : 0;
}

/* Passes from `pass` on, of AHEAD spectra at `from`, whose values lie one after another before the
 * first pass. `to` is the other buffer. */
template <int pass> struct Passes {
    typedef Factors<pass> Own;
    static constexpr int n_turns = count_turns(pass);
    static constexpr int radix = Own::radix, span = Own::span, apart = LENGTH / radix;
    static_assert(radix % UNIT == 0, "a thread begins at one place in each spectrum");
    static constexpr int n_values = count_transforms(pass) * radix;
    static constexpr int rows = radix / UNIT; /* spectra that the group transforms at a time */
    Own factors;
    Passes<pass + 1> next;

    __device__ void
    init(const ct_cf32 *table, int thread)
    {
        if (pass > 0)
            factors.init(table, thread % apart);
        next.init(table, thread);
    }

    __device__ void
    await()
    {
        if (pass > 0)
            factors.await();
        next.await();
    }

    /* Whether a thread that begins with this spectrum has value i. */
    static __device__ bool
    has(int spectrum, int i)
    {
        return i / radix < AHEAD / rows || spectrum + i / radix * rows < AHEAD;
    }

    static __device__ constexpr int
    place(int spectrum, int at)
    {
        return spectrum * PITCH + (pass == 0 ? at : padded<pass - 1>(at));
    }

    /* Writes the values of the thread, whose first is at `own`, for the next pass. */
    __device__ void
    give(const ct_cf32 (&v)[N_VALUES], ct_cf32 *own, int spectrum) const
    {
#pragma unroll
        for (int i = 0; i < n_values; i++)
            if (has(spectrum, i))
                own[next.place(i / radix * rows, i % radix * span)] =
                    v[i / radix * radix + Own::place(i % radix)];
    }

    /* Leaves in `v` the values that the last pass makes. */
    __device__ void
    run(ct_cf32 (&v)[N_VALUES], ct_cf32 *from, ct_cf32 *to, int thread) const
    {
        const int first = thread % apart, spectrum = thread / apart;
        const int last = first % span + first / span * span * radix;

        const ct_cf32 *own = from + place(spectrum, first);
#pragma unroll
        for (int i = 0; i < n_values; i++)
            if (has(spectrum, i))
                v[i] = own[place(i / radix * rows, i % radix * apart)];
#pragma unroll
        for (int i = 0; i < n_values; i += radix)
            if (has(spectrum, i))
                factors.transform(v + i);
        if constexpr (stays(pass)) {
            __syncwarp();
            give(v, from + next.place(spectrum, last), spectrum);
            __syncwarp();
            next.run(v, from, to, thread);
        } else if constexpr (pass + 1 < N_PASSES + IS_REAL) {
            wait_to_write<GROUP_THREADS>();
            give(v, to + next.place(spectrum, last), spectrum);
            wait<GROUP_THREADS>();
            next.run(v, to, from, thread);
        }
    }
};

#if IN_PLACE
#include "pfb-in-place.h"
#else
typedef Passes<0> AllPasses;

/* The place of a phase in a filtered spectrum. */
__device__ constexpr int
filtered_place(int phase)
{
    return phase;
}
#endif

#if IS_REAL
/* The values of a spectrum that a thread has at the end, and the threads that have them all. */
static constexpr int of_spectrum = UNIT, apart = GROUP_THREADS;

/* Makes the channels of real samples. */
template <> struct Passes<N_PASSES> {
    static_assert(UNIT % 2 == 0, "a thread has pairs");
    ct_cf32 factors[UNIT / 2];

    __device__ void
    init(const ct_cf32 *table, int thread)
    {
#pragma unroll
        for (int i = 0; i < UNIT / 2; i++)
            factors[i] = table[LENGTH + thread + i * GROUP_THREADS];
    }

    __device__ void
    await()
    {
#pragma unroll
        for (int i = 0; i < UNIT / 2; i++) {
            ct_await(factors[i].re);
            ct_await(factors[i].im);
        }
    }

    static __device__ constexpr int
    place(int spectrum, int at)
    {
        return spectrum * PITCH + at;
    }

    __device__ void
    run(ct_cf32 (&v)[N_VALUES], const ct_cf32 *from, ct_cf32 *, int thread) const
    {
#pragma unroll
        for (int i = 0; i < UNIT * AHEAD; i += 2) {
            const int pair = i % UNIT / 2, at = thread + pair * GROUP_THREADS;
            const ct_cf32 *spectrum = from + place(i / UNIT, 0);
            const ct_cf32 a = spectrum[at], b = spectrum[at == 0 ? 0 : LENGTH - at];
            const ct_cf32 sum = {a.re + b.re, a.im - b.im};
            const ct_cf32 turned = multiply({a.re - b.re, a.im + b.im}, factors[pair]);
            v[i] = {fmaf(0.5f, sum.re, turned.re), fmaf(0.5f, sum.im, turned.im)};
            v[i + 1] = {fmaf(0.5f, sum.re, -turned.re), fmaf(-0.5f, sum.im, turned.im)};
        }
    }

    /* The channel in the middle, of which a pair would be twice the same. */
    static __device__ ct_cf32
    middle(const ct_cf32 *from, int spectrum)
    {
        const ct_cf32 z = from[place(spectrum, LENGTH / 2)];
        return {z.re, -z.im};
    }
};

/* The spectrum of value i of a thread, of those that the group has transformed; its channel, from
 * the first channel of the thread on; where it stands. */
__device__ constexpr int
spectrum_of(int, int i)
{
    return i / UNIT;
}

__device__ constexpr int
first_channel(int)
{
    return 0;
}

__device__ inline int
channel_of(int thread, int i)
{
    const int at = thread + i % UNIT / 2 * GROUP_THREADS;
    return i % 2 == 0 ? at : LENGTH - at;
}

__device__ constexpr int
place_of(int i)
{
    return i;
}

#else
template <> struct Passes<N_PASSES> {
    __device__ void
    init(const ct_cf32 *, int)
    {
    }
    __device__ void
    await()
    {
    }
};

typedef Factors<N_PASSES - 1> Last;

/* The values of a spectrum that a thread has at the end, and their distance. */
static constexpr int of_spectrum = Last::radix, apart = LENGTH / of_spectrum;
static_assert(UNIT * AHEAD % of_spectrum == 0, "all threads have as many values");
static_assert(!SHIFT || of_spectrum % 2 == 0, "half of the channels are some values of a thread");

/* The spectrum of value i of a thread, of those that the group has transformed; its channel, from
 * the first channel of the thread on; where it stands. */
__device__ inline int
spectrum_of(int thread, int i)
{
    return (thread + i / of_spectrum * GROUP_THREADS) / apart;
}

__device__ inline int
first_channel(int thread)
{
    return thread % apart;
}

__device__ constexpr int
channel_of(int, int i)
{
    return (i + (SHIFT ? of_spectrum / 2 : 0)) % of_spectrum * apart;
}

__device__ constexpr int
place_of(int i)
{
    return i / of_spectrum * of_spectrum + Last::place(i % of_spectrum);
}
#endif

__device__ inline void
swap(ct_cf32 *&a, ct_cf32 *&b)
{
    ct_cf32 *c = a;
    a = b;
    b = c;
}

/* Puts SIDE filtered phases from `phase` and `offset` on, modulo P, to their places in a spectrum.
 */
__device__ inline void
put(ct_cf32 *values_of_spectrum, int phase, int offset, const OUT *values)
{
    OUT *spectrum = (OUT *)values_of_spectrum;
    struct alignas(SIDE * sizeof(OUT)) Whole {
        OUT value[SIDE];
    } whole;
#pragma unroll
    for (int i = 0; i < SIDE; i++) {
        if (ROTATES)
            spectrum[filtered_place((uint32)(phase + offset + i) % N_CHANNELS)] = values[i];
        else
            whole.value[i] = values[i];
    }
    if (!ROTATES)
        *(Whole *)&spectrum[filtered_place(phase) + filtered_place(offset)] = whole;
}

#if KEEPS_SAMPLES
/* A thread keeps this from rows to rows. */
struct Filter {
    Windows windows;

    /* Puts the outputs of AHEAD rows into `spectra`, those of few phases at a time: more would need
     * more registers. */
    __device__ void
    run(ct_cf32 *spectra, int phase, const Samples (&samples)[AHEAD], const Taps &taps)
    {
#pragma unroll
        for (int i = 0; i < VECTOR; i += SIDE) {
            OUT made[SIDE][AHEAD];
            taps.forget();
#pragma unroll
            for (int k = 0; k < SIDE; k++)
                windows.filter(made[k], samples, taps, i + k);
#pragma unroll
            for (int row = 0; row < AHEAD; row++) {
                OUT values[SIDE];
#pragma unroll
                for (int k = 0; k < SIDE; k++)
                    values[k] = made[k][row];
                put(spectra + row * PITCH, phase, OFFSET(i), values);
            }
        }
        windows.move(samples);
    }
};
#else
struct Filter {
    Sums sums;

    __device__ void
    run(ct_cf32 *spectra, int phase, const Samples (&samples)[AHEAD], const Taps &taps)
    {
        Outputs made[AHEAD];
        sums.add(made, samples, taps);
#pragma unroll
        for (int row = 0; row < AHEAD; row++)
#pragma unroll
            for (int i = 0; i < VECTOR; i += SIDE)
                put(spectra + row * PITCH, phase, OFFSET(i), made[row].item + i);
    }
};
#endif

/* Reads those of AHEAD rows from `row` on that are among the first n_rows. `dense`: their samples
 * lie side by side and aligned. */
__device__ inline void
fetch(Samples (&samples)[AHEAD], const uint8 *from, bool dense, int row, int n_rows, int64 sample)
{
    if (dense && row >= 0 && row + AHEAD <= n_rows) {
#pragma unroll
        for (int i = 0; i < AHEAD; i++)
            load(samples[i], from + i * (N_CHANNELS * sizeof(IN)));
        return;
    }
#pragma unroll
    for (int i = 0; i < AHEAD; i++)
        if ((uint32)(row + i) < (uint32)n_rows)
            gather(samples[i], from + i * (N_CHANNELS * sample), sample);
}

#if BLOCKS
#include "pfb-blocks.h"
#elif CELL
#include "pfb-fold.h"
#else
struct Cells {
    static constexpr bool exchanges = false;
};
#endif

/* `table`: exp(−2πi m / LENGTH), m < LENGTH; of real samples, −i/2 · exp(−2πi m / P) then.
 * `dense`: vectors are aligned in the input. */
extern "C" __global__ void
__launch_bounds__(THREADS, MIN_BLOCKS)
    pfb(const uint8 *__restrict__ in, uint8 *__restrict__ out, const float *__restrict__ taps,
        const ct_cf32 *__restrict__ table, FirAxes axes, uint32 n_groups, int32 dense,
        const PfbCells cells, const CtEpilogueSettings settings)
{
    typedef CtStored<ct_cf32> Stored;
    extern __shared__ Outputs shared[];
    TapGroups &groups = *(TapGroups *)((ct_cf32 *)shared + GROUPS * BUFFERS * BUFFER);
    ct_cf32 *memory = (ct_cf32 *)shared + threadIdx.x / GROUP_THREADS * (BUFFERS * BUFFER);
    ct_cf32 *other = memory + (BUFFERS - 1) * BUFFER;
    const int thread = threadIdx.x % GROUP_THREADS;
    const uint32 group = blockIdx.x * GROUPS + threadIdx.x / GROUP_THREADS;
    const bool is_used = group < n_groups;
    Place place = {in, out, 0, 0};

    const uint32 chunk = place.move_outside(axes, 0, is_used ? group : 0);
    const int n_outputs = is_used ? count_outputs(axes, chunk, place.time) : 0;
    const int n_rows = n_outputs > 0 ? n_outputs + N_TAPS - 1 : 0;
    /* All groups of a block go through the same number of rows, since they wait for each other. */
    const int n_most = (int)(axes.chunk / N_TIMES) + N_TAPS - 1;
    const int64 step_out = axes.output * N_TIMES;
    /* Rows before the chunk's, of which nothing is read, so that the first spectrum of a cell is
     * the first of those that are transformed together. */
    constexpr int early = CELL ? AHEAD - 1 - (N_TAPS - 2 + AHEAD) % AHEAD : 0;
    const uint8 *from = place.in + (thread * SIDE - early * N_CHANNELS) * axes.sample;
    uint8 *to = place.out - (N_TAPS - 1) * step_out + first_channel(thread) * sizeof(Stored);
    Taps own(taps, thread * SIDE, groups);
    const int phase = (ROTATES ? (int)place.rotated(axes, chunk) : 0) + thread * SIDE;
    Samples ahead[AHEAD] = {};
    AllPasses passes;
    Filter filter;
    CtEpilogue epilogue(settings);
    [[maybe_unused]] const CtEpilogue::Element element =
        epilogue.element(place.out + first_channel(thread) * sizeof(Stored));

#if CELL
    Cells taken(cells, epilogue,
                (uint8 *)(TAPS_SHARED ? &groups + 1 : &groups) +
                    threadIdx.x / GROUP_THREADS * Cells::BYTES,
                thread, place, group, chunk, n_outputs);
#endif

    passes.init(table, thread);
    own.await();
    passes.await();
    fetch(ahead, from, dense, -early, n_rows, axes.sample);
    for (int row = -early; row < n_most; row += AHEAD, to += AHEAD * step_out) {
        ct_cf32 v[N_VALUES];
        wait_to_write<GROUP_THREADS>();
        filter.run(memory, phase, ahead, own);
        /* The next samples arrive while these are transformed. */
        from += AHEAD * axes.sample * N_CHANNELS;
        fetch(ahead, from, dense, row + AHEAD, n_rows, axes.sample);
        if (row + AHEAD < N_TAPS)
            continue;
        wait<GROUP_THREADS>();
        passes.run(v, memory, other, thread);
        /* The buffer from which the last pass of real samples has read, or which that of complex
         * samples has not read. */
        [[maybe_unused]] ct_cf32 *last = (AllPasses::n_turns + !IS_REAL) % 2 == 0 ? memory : other;
        /* The buffer that was read last is not written next. */
        if ((AllPasses::n_turns + Cells::exchanges) % 2 == 0)
            swap(memory, other);
#if CELL
        taken.take(v, last, thread, row - (N_TAPS - 1));
#else
#pragma unroll
        for (int first = 0; first < UNIT * AHEAD; first += of_spectrum) {
            const int spectrum = spectrum_of(thread, first);
            if (row + spectrum < N_TAPS - 1 || row + spectrum >= n_rows)
                continue;
#pragma unroll
            for (int i = first; i < first + of_spectrum; i++)
                epilogue.store(to + spectrum * step_out + channel_of(thread, i) * sizeof(Stored),
                               v[place_of(i)], element + channel_of(thread, i));
#if IS_REAL
            if (thread == 0)
                epilogue.store(to + spectrum * step_out + LENGTH / 2 * sizeof(Stored),
                               Passes<N_PASSES>::middle(last, spectrum), element + LENGTH / 2);
#endif
        }
#endif
    }
    epilogue.end();
}
