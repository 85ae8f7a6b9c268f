/* SPDX-License-Identifier: BSD-3-Clause */
/* Folding spectra, behind pfb.cu, which includes this file. Each thread folds all spectra of some
 * channels, in the order of time, into states in shared memory. If the last pass leaves it other
 * values than those, the group exchanges them once more. */
#pragma once

/* The cells of a group. */
struct Cells {
    typedef CtEpilogue::State State;
    static constexpr bool exchanges = of_spectrum != UNIT;
    /* Neighbours among the channels of a thread behind an exchange: these it reads at once. */
    static constexpr int beside = UNIT % 2 == 0 ? 2 : 1;
    static constexpr int BYTES = OUT_CHANNELS * sizeof(State); /* of a group's states */
    const PfbCells &cells;
    CtEpilogue &epilogue;
    State *own;          /* of the thread's first channel */
    uint8 *out;          /* … of the series */
    uint32 series, cell; /* the cell of the firing */
    int32 left;          /* spectra of the chunk from the cell on */
    CtEpilogue::Lane lane;
    CtEpilogue::Element element; /* the thread's first */

    /* The first channel of a thread, and its channel k from there on. */
    static __device__ int
    first_of(int thread)
    {
        return exchanges ? thread * beside : first_channel(thread);
    }

    static __device__ int
    channel(int thread, int k)
    {
        return exchanges ? k / beside * (beside * GROUP_THREADS) + k % beside
                         : channel_of(thread, k);
    }

    __device__
    Cells(const PfbCells &all, CtEpilogue &ending, void *memory, int thread, const Place &place,
          uint32 group, uint32 chunk, int32 n_outputs)
        : cells(all), epilogue(ending), own((State *)memory + first_of(thread)),
          out(place.out + first_of(thread) * sizeof(CtStored<ct_cf32>)),
          series(group % all.n_series), cell(chunk * all.of_chunk), left(n_outputs),
          element(ending.element(out))
    {
        begin(thread);
    }

    __device__ uint8 *
    to() const
    {
        return out + cell / N_CELLS * cells.step;
    }

    __device__ void
    begin(int thread)
    {
        if (left > 0)
            lane = epilogue.lane(to());
#pragma unroll
        for (int k = 0; k < UNIT; k++)
            epilogue.start(own[channel(thread, k)]);
        if (IS_REAL && thread == 0)
            epilogue.start(own[LENGTH / 2]);
    }

    /* Gives each thread its channels of the spectra that were transformed together: value k of
     * spectrum i is v[i · UNIT + k] then. */
    static __device__ void
    exchange(ct_cf32 (&v)[N_VALUES], ct_cf32 *values, int thread)
    {
        ct_cf32 *to = values + thread / apart * PITCH + first_channel(thread);
        wait_to_write<GROUP_THREADS>();
#pragma unroll
        for (int i = 0; i < UNIT * AHEAD; i++)
            to[i / of_spectrum * (GROUP_THREADS / apart) * PITCH + channel_of(thread, i)] =
                v[place_of(i)];
        wait<GROUP_THREADS>();
        struct alignas(beside * sizeof(ct_cf32)) Neighbours {
            ct_cf32 value[beside];
        };
#pragma unroll
        for (int i = 0; i < UNIT * AHEAD; i += beside) {
            const ct_cf32 *from = values + i / UNIT * PITCH;
            const Neighbours read =
                *(const Neighbours *)&from[first_of(thread) + channel(thread, i % UNIT)];
#pragma unroll
            for (int k = 0; k < beside; k++)
                v[i + k] = read.value[k];
        }
    }

    /* Folds those of the spectra that were transformed together which belong to the cell: from
     * `begin` on, less than `end`; the first of all is spectrum `first` of the cell. `from`: where
     * the last pass has read those of real samples. */
    __device__ void
    add(const ct_cf32 (&v)[N_VALUES], const ct_cf32 *from, int thread, int first, int begin,
        int end)
    {
        const int before = (int)(cell % N_CELLS) * CELL + first;
        end = end < left - first ? end : left - first;
#pragma unroll
        for (int k = 0; k < UNIT; k++) {
            const int at = channel(thread, k);
            State state = own[at];
#pragma unroll
            for (int i = 0; i < AHEAD; i++)
                if (begin <= i && i < end)
                    epilogue.add(state, lane, element + at, before + i,
                                 v[exchanges ? i * UNIT + k : place_of(i * UNIT + k)]);
            own[at] = state;
        }
#if IS_REAL
        for (int i = begin; thread == 0 && i < end; i++)
            epilogue.add(own[LENGTH / 2], lane, element + LENGTH / 2, before + i,
                         Passes<N_PASSES>::middle(from, i));
#endif
    }

    /* Ends the cell in a channel. */
    __device__ void
    give(int at, int thread)
    {
        if (N_CELLS == 1)
            epilogue.give(to() + at * sizeof(CtStored<ct_cf32>), own[at],
                          left < CELL ? left : CELL);
        else
            ((State *)cells.states)[((int64)cell * cells.n_series + series) * OUT_CHANNELS +
                                    first_of(thread) + at] = own[at];
    }

    /* Ends the cell and begins the next one. */
    __device__ void
    end(int thread)
    {
#pragma unroll
        for (int k = 0; k < UNIT; k++)
            if (left > 0)
                give(channel(thread, k), thread);
        if (IS_REAL && thread == 0 && left > 0)
            give(LENGTH / 2, thread);
        cell++;
        left -= CELL;
        begin(thread);
    }

    /* Folds AHEAD spectra, from spectrum `first` of the chunk on. `values`: the buffer that the
     * last pass has not read or, of real samples, has read. */
    __device__ void
    take(ct_cf32 (&v)[N_VALUES], ct_cf32 *values, int thread, int first)
    {
        if constexpr (exchanges) {
            exchange(v, values, thread);
        }
        if constexpr (CELL % AHEAD == 0) {
            add(v, values, thread, first % CELL, 0, AHEAD);
            if (first % CELL == CELL - AHEAD)
                end(thread);
        } else {
#pragma unroll 1
            for (int at = 0; at < AHEAD;) {
                const int of_cell = (first + at) / CELL * CELL, next = of_cell + CELL - first;
                add(v, values, thread, first - of_cell, at, next < AHEAD ? next : AHEAD);
                if (next <= AHEAD)
                    end(thread);
                at = next;
            }
        }
    }
};
