/* SPDX-License-Identifier: BSD-3-Clause */
/* Three passes in place, the first two of radix 16: pfb.cu includes this file for them.
 *
 * A phase is low + L · (middle + 16 · high), L being the last radix. The first pass transforms the
 * high digits, the second one the middle digits, and the last one the low digits. Each thread
 * writes what it makes of values to the places of these. The 16 threads of a low digit are parts of
 * a warp in the first two passes, so only warps wait between these. A warp has two low digits
 * there.
 *
 * Gaps of two values behind every L and every 16 · L ones put those that threads read or write at
 * once into different banks, and leave pairs aligned. */
#pragma once

static constexpr int last_radix = radices[N_PASSES - 1];
static constexpr int middle_step = last_radix + 2, high_step = 16 * middle_step + 2;
static_assert(N_PASSES == 3 && radices[0] == 16 && radices[1] == 16, "radices are those above");
static_assert(PITCH == 16 * high_step, "a spectrum has the gaps above");

/* The place of a phase in a filtered spectrum. A thread's phases differ in their high digits. */
static_assert(N_CHANNELS / N_SIDES % (16 * last_radix) == 0,
              "places of offsets are those of digits");
__device__ constexpr int
filtered_place(int phase)
{
    const int low = phase % last_radix, middle = phase / last_radix % 16;
    return low + middle * middle_step + phase / (16 * last_radix) * high_step;
}

struct AllPasses {
    static constexpr int n_values = UNIT * AHEAD, n_turns = 0;
    static_assert(n_values % 16 == 0 && n_values % last_radix == 0,
                  "threads have whole transforms");
    Factors<0> first;
    Factors<1> second;
    Factors<2> third;

    /* The digit that a thread has in the first two passes beside a low one, which is two threads'.
     */
    static __device__ int
    digit_of(int thread)
    {
        return thread % 32 / 2;
    }

    __device__ void
    init(const ct_cf32 *table, int thread)
    {
        second.init(table, digit_of(thread));
        third.init(table, thread % 256);
    }

    __device__ void
    await()
    {
        second.await();
        third.await();
    }

    /* Transforms values `step` apart. */
    template <int step, typename Own>
    static __device__ void
    transform(ct_cf32 (&v)[N_VALUES], ct_cf32 *values, const Own &factors)
    {
        constexpr int rows = 16 / UNIT * PITCH;
#pragma unroll
        for (int i = 0; i < n_values; i++)
            v[i] = values[i / 16 * rows + i % 16 * step];
#pragma unroll
        for (int i = 0; i < n_values; i += 16)
            factors.transform(v + i);
#pragma unroll
        for (int i = 0; i < n_values; i++)
            values[i / 16 * rows + i % 16 * step] = v[i / 16 * 16 + Own::place(i % 16)];
    }

    /* Leaves in `v` the values that the last pass makes. */
    __device__ void
    run(ct_cf32 (&v)[N_VALUES], ct_cf32 *values, ct_cf32 *, int thread) const
    {
        constexpr int apart = 16 * last_radix;
        const int digit = digit_of(thread), low = thread % apart / 32 * 2 + thread % 2;
        ct_cf32 *own = values + thread / apart * PITCH + low;
        transform<high_step>(v, own + digit * middle_step, first);
        __syncwarp();
        transform<middle_step>(v, own + digit * high_step, second);
        wait<GROUP_THREADS>();
        run_last(v, values + thread / 256 * PITCH + thread % 16 * high_step +
                        thread % 256 / 16 * middle_step);
    }

    /* The last pass, of values side by side. */
    __device__ void
    run_last(ct_cf32 (&v)[N_VALUES], const ct_cf32 *values) const
    {
        struct alignas(16) Pair {
            ct_cf32 value[2];
        };
        constexpr int rows = last_radix / UNIT * PITCH;
#pragma unroll
        for (int i = 0; i < n_values; i += 2) {
            const Pair pair = *(const Pair *)&values[i / last_radix * rows + i % last_radix];
            v[i] = pair.value[0];
            v[i + 1] = pair.value[1];
        }
#pragma unroll
        for (int i = 0; i < n_values; i += last_radix)
            third.transform(v + i);
    }
};
