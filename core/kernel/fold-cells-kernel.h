/* SPDX-License-Identifier: BSD-3-Clause */
/* The loops of folds on devices, around a struct Fold of an author's functions.
 *
 * A hop is cut into cells of CT_FOLD_CELL samples, the last one short, counted from the hop's first
 * sample. A thread adds up a cell of one element in the order of time; a cell that a firing leaves
 * unfinished is carried to the next firing. If a hop has more than one cell, cell j is then merged
 * into partial state j modulo CT_FOLD_PARTIALS, in the order of time, and the partial states are
 * merged when the hop is complete. So the order of all additions is fixed, wherever the stream is
 * cut.
 *
 * Elements are counted along all axes but time, in the input's order; those inside time, the fast
 * ones, are contiguous.
 *
 * Compiled with the type CtFoldRead of elements in memory and the definitions
 *   CT_FOLD_HOP CT_FOLD_CELL           samples of a hop, of a cell
 *   CT_FOLD_FAST CT_FOLD_ELEMENTS      elements inside time; all of them
 *   CT_FOLD_N_AXES CT_FOLD_LENGTHS     the axes but time
 *   CT_FOLD_LANES CT_FOLD_MARKS        the step of the lane along each, of input and output
 *   CT_FOLD_PARTIALS                   partial states
 *   CT_FOLD_IS_STAGED                  1: cells may be staged in shared memory
 *   CT_FOLD_THREADS                    threads of a block that does so
 *   CT_FOLD_IS_GROUP                   1: an element is a group of elements in memory, which need
 *                                      not lie side by side */
#pragma once

#include "cornerturn/kernel.h"

#include <cornerturn/kit/fold-struct.h>

static constexpr int64 ct_fold_hop = CT_FOLD_HOP;
static constexpr uint32 ct_fold_n_cells = (uint32)((ct_fold_hop + CT_FOLD_CELL - 1) / CT_FOLD_CELL);

struct CtFoldPlace {
    int64 in, out, mark;
    uint32 lane;
};

/* The position of an element. */
__device__ inline CtFoldPlace
ct_fold_place(const CtFoldFiring &firing, uint32 element)
{
    constexpr uint32 lengths[CT_FOLD_N_AXES + 1] = {CT_FOLD_LENGTHS};
    constexpr uint32 lanes[CT_FOLD_N_AXES + 1] = {CT_FOLD_LANES};
    constexpr uint32 marks[CT_FOLD_N_AXES + 1] = {CT_FOLD_MARKS};
    CtFoldPlace place = {0, 0, 0, 0};
#pragma unroll
    for (int a = CT_FOLD_N_AXES; a-- > 0;) {
        const uint32 i = element % lengths[a];
        element /= lengths[a];
        place.in += i * firing.in[a];
        place.out += i * firing.out[a];
        place.lane += i * lanes[a];
        place.mark += i * marks[a];
    }
    return place;
}

/* The samples of a cell in a firing. */
struct CtFoldCell {
    uint32 hop;
    int32 begin, end; /* samples */
    bool is_continued, is_complete;
};

__device__ inline CtFoldCell
ct_fold_cell(const CtFoldFiring &firing, uint32 cell)
{
    const uint32 hop = (firing.first_cell + cell) / ct_fold_n_cells;
    const uint32 j = (firing.first_cell + cell) % ct_fold_n_cells;
    const int64 begin = hop * ct_fold_hop + (int64)j * CT_FOLD_CELL - firing.position;
    const int64 last = (hop + 1) * ct_fold_hop - firing.position;
    const int64 end = begin + CT_FOLD_CELL < last ? begin + CT_FOLD_CELL : last;
    return {hop, begin < 0 ? 0 : (int32)begin,
            end < firing.n_samples ? (int32)end : firing.n_samples, begin < 0,
            end <= firing.n_samples || firing.ended != 0};
}

/* Fold has CtState; ADDS_ALL, whether it adds invalid samples too; start(state); read(from), of the
 * element at this place; add(state, element read); merge(state, other); and give(to, state, n),
 * which stores the element of the output and tells whether it is valid. */

template <typename Fold>
__device__ inline typename Fold::CtState
ct_fold_begin(const Fold &fold, const CtFoldFiring &firing, const CtFoldCell &cell, uint32 element)
{
    typename Fold::CtState state;
    if (cell.is_continued)
        state = ((const typename Fold::CtState *)firing.before)[element];
    else
        fold.start(state);
    return state;
}

/* Writes an element of sample `hop` of the firing, of `length` samples. */
template <typename Fold>
__device__ inline void
ct_fold_give(const Fold &fold, const CtFoldFiring &firing, uint32 hop, uint32 length,
             const CtFoldPlace &place, const typename Fold::CtState &state)
{
    const uint32 n = firing.counts ? firing.counts[hop * firing.n_lanes + place.lane] : length;
    const bool is_valid =
        fold.give((uint8 *)firing.y + hop * firing.out_time + place.out, state, n);
    if (firing.marks && !is_valid)
        firing.marks[place.mark * firing.marks_stride + hop] = 0;
}

/* Ends cell i of the firing: carries it to the next firing, writes its sample, or keeps it to be
 * merged. */
template <typename Fold>
__device__ inline void
ct_fold_end(const Fold &fold, const CtFoldFiring &firing, const CtFoldCell &cell, uint32 i,
            uint32 element, const CtFoldPlace &place, const typename Fold::CtState &state)
{
    typedef typename Fold::CtState State;
    if (!cell.is_complete)
        ((State *)firing.after)[element] = state;
    else if (ct_fold_n_cells == 1)
        ct_fold_give(fold, firing, cell.hop,
                     (uint32)(cell.end - cell.begin) +
                         (cell.is_continued ? (uint32)firing.position : 0),
                     place, state);
    else
        ((State *)firing.cells)[(int64)i * CT_FOLD_ELEMENTS + element] = state;
}

template <typename Fold>
__device__ inline void
ct_fold_add(const Fold &fold, typename Fold::CtState &state, const CtFoldRead &in,
            const uint8 *valid, int32 t)
{
    if (Fold::ADDS_ALL || !valid || valid[t])
        fold.add(state, in);
}

/* The validity of an element's samples, from the firing's first on; NULL: all are valid. */
__device__ inline const uint8 *
ct_fold_valid(const CtFoldFiring &firing, const CtFoldPlace &place)
{
    return firing.validity ? firing.validity + place.lane * firing.validity_stride : nullptr;
}

/* Threads: [group][cell][fast element]. */
template <typename Fold>
__device__ inline void
ct_fold_rows(const Fold &fold, const CtFoldFiring &firing)
{
    constexpr int side = sizeof(CtFoldRead) > 16 ? 4 : 8;
    const uint32 thread = blockIdx.x * CT_FOLD_ROW_THREADS + threadIdx.x;
    const uint32 i = thread / CT_FOLD_FAST % firing.n_cells;
    const uint32 group = thread / CT_FOLD_FAST / firing.n_cells;
    const uint32 element = group * CT_FOLD_FAST + thread % CT_FOLD_FAST;
    if (element >= CT_FOLD_ELEMENTS)
        return;
    const CtFoldCell cell = ct_fold_cell(firing, i);
    const CtFoldPlace place = ct_fold_place(firing, element);
    const uint8 *valid = ct_fold_valid(firing, place);
    const uint8 *x = (const uint8 *)firing.x + place.in + cell.begin * firing.in_time;
    typename Fold::CtState state = ct_fold_begin(fold, firing, cell, element);
    int32 t = cell.begin;
    for (; t + side <= cell.end; t += side, x += side * firing.in_time) {
        CtFoldRead in[side];
#pragma unroll
        for (int k = 0; k < side; k++)
            in[k] = fold.read(x + k * firing.in_time);
#pragma unroll
        for (int k = 0; k < side; k++)
            ct_fold_add(fold, state, in[k], valid, t + k);
    }
    for (; t < cell.end; t++, x += firing.in_time)
        ct_fold_add(fold, state, fold.read(x), valid, t);
    ct_fold_end(fold, firing, cell, i, element, place, state);
}

#if CT_FOLD_IS_STAGED
/* The run of a group in shared memory is padded so that threads that are a cell apart use different
 * banks: after each cell, or if the last cell of a hop is shorter than the others, at regular
 * distances. */
static constexpr bool ct_fold_is_even = CT_FOLD_HOP % CT_FOLD_CELL == 0;

__device__ constexpr uint32
ct_fold_every(void)
{
    return ct_fold_is_even ? CT_FOLD_CELL * CT_FOLD_FAST : 128 / sizeof(CtFoldRead);
}

__device__ constexpr uint32
ct_fold_pad(void)
{
    constexpr uint32 word = sizeof(CtFoldRead) < 4 ? 4 / sizeof(CtFoldRead) : 1;
    constexpr uint32 unit = CT_FOLD_FAST > word ? CT_FOLD_FAST : word;
    return !ct_fold_is_even ? word : ct_fold_every() % (2 * unit) == 0 ? unit : 0;
}

/* The place of element i of a block's run. */
__device__ inline uint32
ct_fold_stage_place(uint32 i)
{
    return i + i / ct_fold_every() * ct_fold_pad();
}

/* Copies `Bytes` bytes to shared memory, if there is an instruction for so many, without waiting.
 */
template <uint32 Bytes>
__device__ inline void
ct_fold_send(CtFoldRead *to, const CtFoldRead *from)
{
    if constexpr (Bytes == 4)
        ct_cp_async4(to, from);
    else if constexpr (Bytes == 8)
        ct_cp_async8(to, from);
    else if constexpr (Bytes == 16)
        ct_cp_async16(to, from);
    else
        *to = *from;
}

/* All threads of a block copy `n` elements, from element `first` of the block's run on, `Bytes`
 * bytes at a time. */
template <uint32 Bytes>
__device__ inline void
ct_fold_send_run(CtFoldRead *stage, uint32 first, const CtFoldRead *from, uint32 n)
{
    constexpr uint32 width = Bytes / sizeof(CtFoldRead);
    for (uint32 i = threadIdx.x * width; i < n; i += CT_FOLD_THREADS * width)
        ct_fold_send<Bytes>(&stage[ct_fold_stage_place(first + i)], from + i);
}

/* The same for elements that the fold reads, `step` bytes apart. */
template <typename Fold>
__device__ inline void
ct_fold_read_run(const Fold &fold, CtFoldRead *stage, uint32 first, const uint8 *from, uint32 n,
                 int64 step)
{
#pragma unroll 4
    for (uint32 i = threadIdx.x; i < n; i += CT_FOLD_THREADS)
        stage[ct_fold_stage_place(first + i)] = fold.read(from + i * step);
}

/* The bytes of the widest copy that divide those of a sample; those of an element if there is
 * none. */
__device__ constexpr uint32
ct_fold_send_bytes(void)
{
    uint32 bytes = sizeof(CtFoldRead);
    while (ct_fold_is_even && bytes < 16 && CT_FOLD_FAST * sizeof(CtFoldRead) % (2 * bytes) == 0)
        bytes *= 2;
    return bytes < 4 ? (uint32)sizeof(CtFoldRead) : bytes;
}

/* Used for few fast elements: a block adds up one contiguous run of memory for each group, staged
 * in shared memory. A block has `block_cells` cells of `block_groups` groups. */
template <typename Fold>
__device__ inline void
ct_fold_stage(const Fold &fold, const CtFoldFiring &firing, uint32 block_cells, uint32 block_groups)
{
    constexpr uint32 room = CT_FOLD_THREADS / CT_FOLD_FAST * CT_FOLD_FAST * CT_FOLD_CELL;
    constexpr uint32 n_groups = CT_FOLD_ELEMENTS / CT_FOLD_FAST, wide = ct_fold_send_bytes();
    constexpr uint32 padded = room + (room / ct_fold_every() + 1) * ct_fold_pad();
    __shared__ alignas(16) uint8 bytes[padded * sizeof(CtFoldRead)];
    CtFoldRead *stage = (CtFoldRead *)bytes;
    const uint32 n_spans = (firing.n_cells + block_cells - 1) / block_cells;
    const uint32 first_cell = blockIdx.x % n_spans * block_cells;
    const uint32 first_group = blockIdx.x / n_spans * block_groups;
    const uint32 last_cell = first_cell + block_cells < firing.n_cells
                                 ? first_cell + block_cells - 1
                                 : firing.n_cells - 1;
    const int32 begin = ct_fold_cell(firing, first_cell).begin;
    const int32 end = ct_fold_cell(firing, last_cell).end;
    /* The firing may begin within its first cell. */
    const uint32 skipped =
        ct_fold_is_even && first_cell == 0 ? (uint32)(firing.position % CT_FOLD_CELL) : 0;
    const uint32 stretch = block_cells * CT_FOLD_CELL * CT_FOLD_FAST;
    for (uint32 g = 0; g < block_groups && first_group + g < n_groups; g++) {
        const CtFoldPlace place = ct_fold_place(firing, (first_group + g) * CT_FOLD_FAST);
        const CtFoldRead *from =
            (const CtFoldRead *)((const uint8 *)firing.x + place.in + begin * firing.in_time);
        const uint32 first = g * stretch + skipped * CT_FOLD_FAST;
        const uint32 n = (uint32)(end - begin) * CT_FOLD_FAST;
        if (CT_FOLD_IS_GROUP)
            ct_fold_read_run(fold, stage, first, (const uint8 *)from, n,
                             firing.in_time / CT_FOLD_FAST);
        else if (wide > sizeof(CtFoldRead) && (uint64)from % wide == 0)
            ct_fold_send_run<wide>(stage, first, from, n);
        else
            ct_fold_send_run<sizeof(CtFoldRead)>(stage, first, from, n);
    }
    ct_cp_async_commit();
    ct_cp_async_wait<0>();
    __syncthreads();

    const uint32 fast = threadIdx.x % CT_FOLD_FAST;
    const uint32 i = first_cell + threadIdx.x / CT_FOLD_FAST % block_cells;
    const uint32 g = threadIdx.x / CT_FOLD_FAST / block_cells;
    if (g >= block_groups || first_group + g >= n_groups || i > last_cell)
        return;
    const uint32 element = (first_group + g) * CT_FOLD_FAST + fast;
    const CtFoldCell cell = ct_fold_cell(firing, i);
    const CtFoldPlace place = ct_fold_place(firing, element);
    const uint8 *valid = ct_fold_valid(firing, place);
    const int32 n = cell.end - cell.begin;
    /* The loop counts from 0: with another beginning, each sample costs one more addition. */
    const uint32 first =
        g * stretch + (skipped + (uint32)(cell.begin - begin)) * CT_FOLD_FAST + fast;
    const uint32 at = ct_fold_stage_place(first);
    typename Fold::CtState state = ct_fold_begin(fold, firing, cell, element);
#pragma unroll 8
    for (int32 t = 0; t < n; t++)
        ct_fold_add(fold, state,
                    stage[ct_fold_is_even ? at + (uint32)t * CT_FOLD_FAST
                                          : ct_fold_stage_place(first + (uint32)t * CT_FOLD_FAST)],
                    valid, cell.begin + t);
    ct_fold_end(fold, firing, cell, i, element, place, state);
}
#endif

/* Merges complete cells into the partial states. Blocks: [hop][elements], threads: [partial
 * state][element]. */
template <typename Fold>
__device__ inline void
ct_fold_merge(const Fold &fold, const CtFoldFiring &firing)
{
    typedef typename Fold::CtState State;
    constexpr uint32 block_elements = CT_FOLD_MERGE_THREADS / CT_FOLD_PARTIALS;
    constexpr uint32 n_chunks = (CT_FOLD_ELEMENTS + block_elements - 1) / block_elements;
    __shared__ alignas(16) uint8 bytes[CT_FOLD_MERGE_THREADS * sizeof(State)];
    State *states = (State *)bytes;
    const uint32 hop = blockIdx.x / n_chunks, partial = threadIdx.x / block_elements;
    const uint32 element = blockIdx.x % n_chunks * block_elements + threadIdx.x % block_elements;
    const bool is_element = element < CT_FOLD_ELEMENTS;

    /* The cells of this hop, counted in it. */
    const int64 first = (int64)hop * ct_fold_n_cells;
    const int64 last = (int64)firing.first_cell + firing.n_complete - first;
    const uint32 begin = hop == 0 ? firing.first_cell : 0;
    const uint32 end = last < ct_fold_n_cells ? (uint32)last : ct_fold_n_cells;
    const int64 part = (int64)partial * CT_FOLD_ELEMENTS + element;
    State state;
    if (is_element && begin > 0)
        state = ((const State *)firing.parts_before)[part];
    else
        fold.start(state);
    if (is_element) {
        const State *from =
            (const State *)firing.cells + (first - firing.first_cell) * CT_FOLD_ELEMENTS + element;
#pragma unroll 4
        for (uint32 j =
                 begin + (partial + CT_FOLD_PARTIALS - begin % CT_FOLD_PARTIALS) % CT_FOLD_PARTIALS;
             j < end; j += CT_FOLD_PARTIALS)
            fold.merge(state, from[(int64)j * CT_FOLD_ELEMENTS]);
    }
    if ((hop + 1) * ct_fold_hop > firing.position + firing.n_samples && !firing.ended) {
        if (is_element)
            ((State *)firing.parts_after)[part] = state;
        return;
    }
    states[threadIdx.x] = state;
    for (uint32 half = CT_FOLD_PARTIALS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (partial < half)
            fold.merge(states[threadIdx.x], states[threadIdx.x + half * block_elements]);
    }
    const int64 hop_end = (hop + 1) * ct_fold_hop, seen = firing.position + firing.n_samples;
    const uint32 length = (uint32)(ct_fold_hop - (hop_end > seen ? hop_end - seen : 0));
    if (is_element && partial == 0)
        ct_fold_give(fold, firing, hop, length, ct_fold_place(firing, element),
                     states[threadIdx.x]);
}
