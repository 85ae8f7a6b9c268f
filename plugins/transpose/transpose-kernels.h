/* SPDX-License-Identifier: BSD-3-Clause */
/* Strided copies over any number of axes, to which a transpose is reduced once layouts are
 * resolved. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define TRANSPOSE_MAX_AXES      40
#define TRANSPOSE_MAX_A         4096         /* elements of a tile's side A, at most */
#define TRANSPOSE_MAX_B         512          /* of side B */
#define TRANSPOSE_TILE_BYTES    (256 * 1024) /* at most */
#define TRANSPOSE_LONG_RUN      512          /* bytes from which a run is copied by itself */
#define TRANSPOSE_SCRATCH_BYTES (1024 * 1024)

/* One axis of a strided copy. Strides are bytes, of any sign; an input stride of 0 repeats. */
typedef struct {
    size_t length;
    ptrdiff_t in, out;
} TransposeAxis;

/* A planned copy: out[Σ i·out] = in[Σ i·in] over all indices i of all axes.
 *
 * Elements move in tiles. Side A of a tile is a list of axes that are contiguous in the input, side
 * B one of axes that are contiguous in the output, each long enough for whole cache lines; the
 * tiles are then visited by one odometer over all axes. */
typedef struct {
    size_t element; /* bytes that are copied together: 1, 2, 4, 8, 16, or a longer run; 0: nothing
                       to do */
    unsigned n_axes;
    TransposeAxis axis[TRANSPOSE_MAX_AXES]; /* slowest of the output first */
    size_t tile[TRANSPOSE_MAX_AXES];        /* elements of each axis in one tile */
    unsigned n_a, n_b;
    unsigned a[TRANSPOSE_MAX_AXES], b[TRANSPOSE_MAX_AXES]; /* axes of the sides, fastest first */
    unsigned order[TRANSPOSE_MAX_AXES];                    /* odometer over tiles, slowest first */
    size_t segment; /* leading elements of side A that are contiguous in the input; 0: none */
    bool packed;    /* side B is contiguous in the output */
    bool stream;    /* the output should bypass the caches */
} TransposePlan;

/* Bytes that a tile should read and write contiguously: a few lines, for the prefetchers and the
 * memory's pages; more would need room in the caches. Bytes of a tile. */
typedef struct {
    size_t run_in, run_out, tile;
} TransposeTuning;

/* Whether axis `i` is one of n of a side. */
static inline bool
transpose_holds(const unsigned *axes, unsigned n, unsigned i)
{
    for (unsigned j = 0; j < n; j++)
        if (axes[j] == i)
            return true;
    return false;
}

/* Plans a copy of elements of `element` bytes over `n_axes` axes, in any order. Fast enough to be
 * called for every block. */
void transpose_plan(TransposePlan *plan, size_t element, const TransposeAxis *axes, unsigned n_axes,
                    bool stream, const TransposeTuning *tuning);

/* Runs a plan; `scratch` is TRANSPOSE_SCRATCH_BYTES, aligned to 64. */
typedef void (*TransposeWalk)(const TransposePlan *plan, const void *in, void *out, void *scratch);

void transpose_walk_baseline(const TransposePlan *plan, const void *in, void *out, void *scratch);
void transpose_walk_avx2(const TransposePlan *plan, const void *in, void *out, void *scratch);
void transpose_walk_avx512(const TransposePlan *plan, const void *in, void *out, void *scratch);
