/* SPDX-License-Identifier: BSD-3-Clause */
/* The beams of a warp, if the epilogue folds them along time.
 *
 * Times are folded in cells of CELL, a divisor of the hop and of the times of a warp, both
 * multiples of 8. Of each beam and polarisation, four threads have the times of a cell in turn:
 * each folds its own in the order of time, and then their states are merged in the order of the
 * threads. If a hop has several cells, their states go to memory, and beamform-merge.cu merges
 * them. So the order of all additions depends on places in the hop alone, wherever the stream is
 * cut.
 *
 * Compiled with the definitions of beamform-matrix.h, which includes this file, and CELL. */
#pragma once

typedef CtEpilogue::State State;

static constexpr int n_cells = (int)(CT_EPILOGUE_HOP / CELL); /* of a hop */
/* Fragments of the columns of a cell; if polarisations lie apart, of one of them. */
static constexpr int cell_fragments = CELL * (is_split ? 1 : N_POLS) / 8;

static_assert(CELL % 8 == 0 && warp_times % CELL == 0 && CT_EPILOGUE_HOP % CELL == 0, "cells");
static_assert(sizeof(State) % 4 == 0, "states are exchanged by words");

/* Merges the states of two threads of the warp; both get the result. */
template <int bit>
__device__ inline void
merge_threads(const CtEpilogue &epilogue, State &state)
{
    union {
        State state;
        unsigned words[sizeof(State) / 4];
    } other = {state};
#pragma unroll
    for (int i = 0; i < (int)sizeof(State) / 4; i++)
        other.words[i] = __shfl_xor_sync(~0u, other.words[i], bit);
    const bool is_second = (threadIdx.x & bit) != 0;
    const State first = is_second ? other.state : state;
    const State second = is_second ? state : other.state;
    state = first;
    epilogue.merge(state, second);
}

struct Folds {
    uint8 *to;            /* of the warp's first beam, sum 0 */
    State *states;        /* of that beam, cell 0; [cell][element][beam][pol] */
    int n_beams, n_times; /* from the warp's first ones on */
    int first_cell;       /* of the warp, in the firing */
    int64 time, beam;
    CtEpilogue &epilogue;

    /* The place of the sum to which a cell of the warp belongs. */
    __device__ uint8 *
    place(int cell, int b, int pol) const
    {
        return to + (first_cell + cell) / n_cells * time + b * beam +
               pol * (int)sizeof(CtStored<ct_cf32>);
    }

    /* The times of a cell that exist, of beam b; 0 or less: none. */
    __device__ int
    count(int cell, int b) const
    {
        return b < n_beams ? n_times - cell * CELL : 0;
    }

    /* Folds those times of a cell that the thread has. */
    template <bool is_whole>
    __device__ void
    fold(State &state, const Sum (&sums)[n_b][4], int cell, int b, int pol,
         CtEpilogue::Element element, float scale)
    {
        const int left = count(cell, b);
        const int before = (first_cell + cell) % n_cells * CELL;
        CtEpilogue::Lane lane = {};
        if (is_whole || left > 0)
            lane = epilogue.lane(place(cell, b, pol));
#pragma unroll
        for (int k = 0; k < cell_fragments; k++)
#pragma unroll
            for (int i = 0; i < 2; i++) {
                const int f = (is_split ? pol * (n_b / 2) : 0) + cell * cell_fragments + k;
                const int t = time_of_sum(k, i);
                if ((is_split || N_POLS == 1 || i == pol) && (is_whole || t < left))
                    epilogue.add(state, lane, element, before + t, scaled(sums[f], i, scale));
            }
    }

    /* Gives the sum of a hop of one cell, or keeps the state of a cell. */
    __device__ void
    give(const State &state, int cell, int b, int pol)
    {
        constexpr int64 of_cell = (int64)n_elements * ROWS * N_POLS;
        const int left = count(cell, b);
        if (left <= 0)
            return;
        if (n_cells == 1)
            epilogue.give(place(cell, b, pol), state, left < CELL ? left : CELL);
        else
            states[(first_cell + cell) * of_cell + b * N_POLS + pol] = state;
    }

    /* Folds the sums of a beam. Thread by thread, four neighbours give what they have folded. */
    template <bool is_whole>
    __device__ void
    put_beam(const Sum (&sums)[n_b][4], int b, const float *scales)
    {
        constexpr int n = warp_times / CELL * N_POLS;
        const int thread = (int)threadIdx.x % 4;
        const CtEpilogue::Element element = epilogue.element(to + b * beam);
        const float scale[2] = {scales[b], scales[POL_WEIGHTS ? (int64)POL_SETS * ROWS + b : b]};
        State own;
#pragma unroll
        for (int m = 0; m < n; m++) {
            State state;
            epilogue.start(state);
            fold<is_whole>(state, sums, m / N_POLS, b, m % N_POLS, element + m % N_POLS,
                           scale[m % N_POLS]);
            merge_threads<1>(epilogue, state);
            merge_threads<2>(epilogue, state);
            if (m % 4 == thread)
                own = state;
            const int given = m / 4 * 4 + thread;
            if ((m % 4 == 3 || m + 1 == n) && given < n)
                give(own, given / N_POLS, b, given % N_POLS);
        }
    }

    template <bool is_whole>
    __device__ void
    put_all(const Sums &sums, const float *scales)
    {
#pragma unroll
        for (int e = 0; e < n_a; e++)
            put_beam<is_whole>(sums[e], e * 8 + (int)threadIdx.x % 32 / 4, scales);
    }
};
