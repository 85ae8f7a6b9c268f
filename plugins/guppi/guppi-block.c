/* SPDX-License-Identifier: BSD-3-Clause */
/* The samples of GUPPI RAW blocks. */
#include "guppi-block.h"

#include <string.h>

/* The level of a code of 2 bits: the optimal one for noise (Schwab 1986, VLBA Correlator Memo
 * 75). */
static const gfloat levels[] = {3.335875f, 1, -1, -3.335875f};

/* Samples of all channels that are written together, so that they stay in the cache. */
enum { TILE = 64 };

/* The number of a complex value in the block, at polarisation 0. */
static gint64
place(const GuppiHeader *header, gint64 row, gint64 time)
{
    const gint64 rows = header->n_stations * header->n_channels;
    return (header->is_time_first ? time * rows + row : row * header->n_samples + time) *
           header->n_pols;
}

/* The complex value number `i` of 2 bits. */
static void
unpack_2(const guint8 *block, gint64 i, gboolean is_low_first, gfloat value[2])
{
    const guint code = block[i / 2] >> ((i % 2 == 0) == is_low_first ? 0 : 4) & 15;
    value[0] = levels[is_low_first ? code & 3 : code >> 2];
    value[1] = levels[is_low_first ? code >> 2 : code & 3];
}

void
guppi_block_unpack_plain(const GuppiHeader *header, gboolean is_low_first, const guint8 *block,
                         gint64 begin, gint64 end, guint8 *out, const GuppiStrides *strides)
{
    const gsize bytes = header->bits / 4;
    for (gint64 t = begin; t < end; t++)
        for (gint64 s = 0; s < header->n_stations; s++)
            for (gint64 c = 0; c < header->n_channels; c++)
                for (gint64 p = 0; p < header->n_pols; p++) {
                    const gint64 i = place(header, s * header->n_channels + c, t) + p;
                    guint8 *to = out + (t - begin) * strides->time + s * strides->station +
                                 c * strides->channel + p * strides->pol;
                    gfloat value[2];
                    if (header->bits == 2) {
                        unpack_2(block, i, is_low_first, value);
                        memcpy(to, value, sizeof value);
                    } else {
                        memcpy(to, block + i * bytes, bytes);
                    }
                }
}

/* A run of `n` samples of one channel. */
typedef struct {
    const guint8 *block;
    gint64 first, step; /* numbers of complex values in the block */
    gint64 n, n_pols;
    guint8 *out;
    gint64 time, pol; /* strides */
    gboolean is_low_first;
} Run;

static inline void
copy_values(const Run *run, gsize bytes)
{
    const guint8 *from = run->block + run->first * bytes;
    for (gint64 t = 0; t < run->n; t++)
        for (gint64 p = 0; p < run->n_pols; p++)
            memcpy(run->out + t * run->time + p * run->pol, from + (t * run->step + p) * bytes,
                   bytes);
}

/* Copies values of `bytes` bytes; with both polarisations side by side in memory, two at once. */
static inline void
copy_run(const Run *run, gsize bytes)
{
    const gint64 sample_bytes = run->n_pols * bytes;
    if (run->pol != (gint64)bytes && run->n_pols > 1)
        copy_values(run, bytes);
    else if (run->time == sample_bytes && run->step == run->n_pols)
        memcpy(run->out, run->block + run->first * bytes, run->n * sample_bytes);
    else if (run->n_pols == 1)
        copy_values(run, bytes);
    else
        for (gint64 t = 0; t < run->n; t++)
            memcpy(run->out + t * run->time, run->block + (run->first + t * run->step) * bytes,
                   2 * bytes);
}

static void
unpack_run(const Run *run, gint64 bits)
{
    switch (bits) {
    case 4:
        copy_run(run, 1);
        break;
    case 8:
        copy_run(run, 2);
        break;
    case 16:
        copy_run(run, 4);
        break;
    default:
        for (gint64 t = 0; t < run->n; t++)
            for (gint64 p = 0; p < run->n_pols; p++) {
                gfloat value[2];
                unpack_2(run->block, run->first + t * run->step + p, run->is_low_first, value);
                memcpy(run->out + t * run->time + p * run->pol, value, sizeof value);
            }
    }
}

void
guppi_block_unpack(const GuppiHeader *header, gboolean is_low_first, const guint8 *block,
                   gint64 begin, gint64 end, guint8 *out, const GuppiStrides *strides)
{
    const gint64 step = place(header, 0, 1) - place(header, 0, 0);
    for (gint64 t = begin; t < end; t += TILE)
        for (gint64 s = 0; s < header->n_stations; s++)
            for (gint64 c = 0; c < header->n_channels; c++) {
                const Run run = {
                    .block = block,
                    .first = place(header, s * header->n_channels + c, t),
                    .step = step,
                    .n = MIN(TILE, end - t),
                    .n_pols = header->n_pols,
                    .out = out + (t - begin) * strides->time + s * strides->station +
                           c * strides->channel,
                    .time = strides->time,
                    .pol = strides->pol,
                    .is_low_first = is_low_first,
                };
                unpack_run(&run, header->bits);
            }
}
