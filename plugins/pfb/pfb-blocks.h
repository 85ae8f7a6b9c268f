/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing blocks of time, behind pfb.cu, which includes this file. A cell is a part of a block:
 * CELL spectra, of which each channel has a run of bytes in the output. Its elements, as they are
 * stored, wait in shared memory until the run is whole. */
#pragma once

/* Behind the end of the stream the last block is filled up with zeros. */
struct Cells {
    typedef CtStored<ct_cf32> Stored;
    struct alignas(16) Word {
        uint64 halves[2];
    };
    static constexpr int RUN = CELL * sizeof(Stored), RUN_WORDS = RUN / sizeof(Word);
    /* The distance of runs in shared memory: those of neighbours begin in other banks. */
    static constexpr int PITCH_BYTES = RUN + (sizeof(Stored) > 8 ? sizeof(Stored) : 8);
    static constexpr int BYTES = N_CHANNELS * PITCH_BYTES; /* of a group */
    static constexpr bool exchanges = false;               /* before take() */
    static_assert(CELL % AHEAD == 0, "spectra that are transformed together are in one cell");
    static_assert(GROUP_THREADS % RUN_WORDS == 0 || RUN_WORDS % GROUP_THREADS == 0,
                  "a thread moves the same words of some runs");

    const PfbCells &cells;
    CtEpilogue &epilogue;
    uint8 *staged; /* [channel] of runs, in shared memory */
    uint8 *own;    /* where the next value of the thread goes, in the first of its channels */
    uint8 *out;    /* of the series */
    uint32 cell;   /* of the firing */
    int32 left;    /* spectra of the chunk from the cell on */

    __device__
    Cells(const PfbCells &all, CtEpilogue &ending, void *memory, int thread, const Place &place,
          uint32, uint32 chunk, int32 n_outputs)
        : cells(all), epilogue(ending), staged((uint8 *)memory),
          own(staged + first_channel(thread) * PITCH_BYTES + thread / apart * sizeof(Stored)),
          out(place.out), cell(chunk * all.of_chunk), left(n_outputs)
    {
    }

    /* Where the cell stands in the output. */
    __device__ uint8 *
    to() const
    {
        return out + cell / N_CELLS * cells.step + cell % N_CELLS * RUN;
    }

    /* Takes AHEAD spectra, from spectrum `first` of the chunk on. */
    __device__ void
    take(const ct_cf32 (&v)[N_VALUES], const ct_cf32 *, int thread, int first)
    {
        constexpr int size = sizeof(Stored);
        const int at = first % CELL;
        const uint8 *const place = to() + first_channel(thread) * cells.channel;
#pragma unroll
        for (int i = 0; i < UNIT * AHEAD; i += of_spectrum) {
            const int time = at + spectrum_of(thread, i);
            uint8 *const staging = own + i / of_spectrum * (GROUP_THREADS / apart * size);
            const uint8 *const to = place + time * size;
            if (time < left) {
#pragma unroll
                for (int k = 0; k < of_spectrum; k++)
                    *(Stored *)(staging + channel_of(thread, k) * PITCH_BYTES) = epilogue.make(
                        to + channel_of(thread, k) * cells.channel, v[place_of(i + k)]);
            } else {
#pragma unroll
                for (int k = 0; k < of_spectrum; k++)
                    *(Stored *)(staging + channel_of(thread, k) * PITCH_BYTES) = {};
            }
        }
        own += AHEAD * size;
        if (at == CELL - AHEAD)
            end(thread);
    }

    /* Writes the cell, if it is part of a block that has begun. */
    __device__ void
    end(int thread)
    {
        wait<GROUP_THREADS>();
        if (left + (int32)(cell % N_CELLS) * CELL > 0)
            write(thread);
        own -= RUN;
        cell++;
        left -= CELL;
    }

    __device__ void
    write(int thread) const
    {
        const int own_channel = thread / RUN_WORDS, own_byte = thread % RUN_WORDS * sizeof(Word);
        const uint8 *const from = staged + own_channel * PITCH_BYTES + own_byte;
        uint8 *const place = to() + own_channel * cells.channel + own_byte;
#pragma unroll
        for (int i = 0; i < N_CHANNELS * RUN_WORDS; i += GROUP_THREADS) {
            const int channel = i / RUN_WORDS, byte = i % RUN_WORDS * sizeof(Word);
            move(place + channel * cells.channel + byte, from + channel * PITCH_BYTES + byte);
        }
    }

    __device__ void
    move(uint8 *to, const uint8 *from) const
    {
        if (cells.aligned) {
            *(Word *)to = {{((const uint64 *)from)[0], ((const uint64 *)from)[1]}};
            return;
        }
#pragma unroll
        for (int k = 0; k < (int)sizeof(Word); k += sizeof(Stored))
            *(Stored *)(to + k) = *(const Stored *)(from + k);
    }
};
