/* SPDX-License-Identifier: BSD-3-Clause */
/* The weights of visibilities: the number of spectra in which both inputs of a pair were valid,
 * from validity as bits.
 *
 * Constants of the compilation: N_STATIONS, N_POLS (whose validity differs), ALIKE (items that a
 * thread writes). */
#include "cornerturn/kernel.h"
#include "correlate-piece.h"

constexpr int n_pairs = N_STATIONS * (N_STATIONS + 1) / 2 * N_POLS * N_POLS;

struct Pair {
    int i, j, p, q;
};

__device__ inline Pair
find_pair(int index)
{
    Pair pair;
    pair.q = index % N_POLS;
    pair.p = index / N_POLS % N_POLS;
    const int b = index / (N_POLS * N_POLS);
    pair.i = (int)((sqrtf(8.0f * (float)b + 1) - 1) / 2);
    while (pair.i * (pair.i + 1) / 2 > b)
        pair.i--;
    while ((pair.i + 1) * (pair.i + 2) / 2 <= b)
        pair.i++;
    pair.j = b - pair.i * (pair.i + 1) / 2;
    return pair;
}

/* The number of bits begin … end − 1 that are set in both. */
__device__ inline unsigned
count_both(const unsigned *a, const unsigned *b, int begin, int end)
{
    unsigned n = 0;
    for (int word = begin / 32; word * 32 < end; word++) {
        unsigned both = a[word] & b[word];
        if (word * 32 < begin)
            both &= ~0u << begin % 32;
        if (word * 32 + 32 > end)
            both &= ~0u >> (32 - end % 32);
        n += __popc(both);
    }
    return n;
}

/* Adds the offsets of element `index` of some axes, slowest first. */
__device__ inline void
add_axes(const CorrelatePieceAxis *axes, int n_axes, int64 index, int64 &lane, int64 &to)
{
    for (int a = n_axes; a-- > 0;) {
        lane += index % axes[a].length * axes[a].from;
        to += index % axes[a].length * axes[a].to;
        index /= axes[a].length;
    }
}

/* Each thread handles a pair of inputs and ALIKE items of a group. */
extern "C" __global__ void
correlate_weights(const CorrelateCounting counting)
{
    const int64 index = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    const int64 group = index / n_pairs % counting.n_groups;
    const int64 first = index / n_pairs / counting.n_groups * ALIKE;
    if (first >= counting.n_alike)
        return;
    const Pair pair = find_pair((int)(index % n_pairs));
    int64 lane = 0, to_group = 0;
    add_axes(counting.axes, counting.n_group_axes, group, lane, to_group);
    const int64 a = lane + pair.i * counting.station_lane + pair.p * counting.pol_lane;
    const int64 b = lane + pair.j * counting.station_lane + pair.q * counting.pol_lane;
    char *to = (char *)counting.weights + to_group +
               (int64)(pair.i * (pair.i + 1) / 2 + pair.j) * counting.to_baseline +
               pair.p * counting.to_p + pair.q * counting.to_q;

    const int64 kept = group * n_pairs + index % n_pairs;
    int64 done = counting.done;
    int begin = 0, end;
    do {
        const int64 left = counting.integration - done;
        end = left < counting.n_spectra - begin ? begin + (int)left : counting.n_spectra;
        unsigned count = done > 0 ? counting.before[kept] : 0;
        if (counting.valid)
            count += count_both(counting.valid + a * counting.words,
                                counting.valid + b * counting.words, begin, end);
        else
            count += end - begin;
        done += end - begin;
        if (done < counting.integration && !counting.ended) {
            if (first == 0)
                counting.after[kept] = count;
            return;
        }
        done = 0;
        for (int64 k = first; k < first + ALIKE && k < counting.n_alike; k++) {
            int64 none = 0, offset = 0;
            add_axes(counting.axes + counting.n_group_axes, counting.n_axes - counting.n_group_axes,
                     k, none, offset);
            *(unsigned *)(to + offset) = count;
        }
        begin = end;
        to += counting.to_time;
    } while (begin < counting.n_spectra);
}
