/* SPDX-License-Identifier: BSD-3-Clause */
/* Strided copies over any number of axes: what a transpose comes down to once layouts are resolved.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define TRANSPOSE_MAX_AXES      40
#define TRANSPOSE_MAX_TILE      512          /* elements along one side of a tile */
#define TRANSPOSE_TILE_BYTES    (128 * 1024) /* at most */
#define TRANSPOSE_LONG_RUN      512          /* bytes from which a run is copied for itself */
#define TRANSPOSE_SCRATCH_BYTES (256 * 1024)

/* One axis of a strided copy. Strides are bytes, of any sign; an input stride of 0 repeats. */
typedef struct {
    size_t length;
    ptrdiff_t in, out;
} TransposeAxis;

/* A copy ready to be walked: out[Σ i·out] = in[Σ i·in] over all indices i of all axes.
 *
 * Elements move in tiles. Side A of a tile is a list of axes that follow one another in the input,
 * side B one of axes that follow one another in the output, each long enough for whole cache lines;
 * the walk over all tiles is then one odometer over all axes. */
typedef struct {
    size_t
        element; /* bytes that stay together: 1, 2, 4, 8, 16, or a longer run; 0: nothing to do */
    unsigned n_axes;
    TransposeAxis axis[TRANSPOSE_MAX_AXES]; /* slowest of the output first */
    size_t tile[TRANSPOSE_MAX_AXES];        /* elements of each axis in one tile */
    unsigned n_a, n_b;
    unsigned a[TRANSPOSE_MAX_AXES], b[TRANSPOSE_MAX_AXES]; /* axes of the sides, fastest first */
    unsigned order[TRANSPOSE_MAX_AXES];                    /* odometer over tiles, slowest first */
    size_t segment; /* leading elements of side A that are contiguous in the input; 0: none */
    bool packed;    /* side B is contiguous in the output */
    bool stream;    /* the output is better not kept in the caches */
} TransposePlan;

/* Bytes that a tile reads and writes from one place, if it can: a few lines, for the prefetchers
 * and the memory's pages; more costs room in the caches. Bytes of a tile. */
typedef struct {
    size_t run_in, run_out, tile;
} TransposeTuning;

/* Plans a copy of elements of `element` bytes over `n_axes` axes, in any order. Cheap enough to be
 * done for every block. */
void transpose_plan(TransposePlan *plan, size_t element, const TransposeAxis *axes, unsigned n_axes,
                    bool stream, const TransposeTuning *tuning);

/* Does it; `scratch` is TRANSPOSE_SCRATCH_BYTES, aligned to 64. */
typedef void (*TransposeWalk)(const TransposePlan *plan, const void *in, void *out, void *scratch);

void transpose_walk_baseline(const TransposePlan *plan, const void *in, void *out, void *scratch);
void transpose_walk_avx2(const TransposePlan *plan, const void *in, void *out, void *scratch);
void transpose_walk_avx512(const TransposePlan *plan, const void *in, void *out, void *scratch);
