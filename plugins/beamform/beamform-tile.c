/* SPDX-License-Identifier: BSD-3-Clause */
/* The tile of sums that a block of threads makes: the best one without measurements, and its
 * changes by tuning. */
#include "beamform-tile.h"

#include <string.h>

enum { BEAMS, COLUMNS, HEIGHT, WIDTH, DEPTH, SLABS, N_TUNABLES };
const CtTunable ct_beamform_tunables[] = {
    [BEAMS] = {"beams", CT_VALUES(0, 2, 8, 16, 32, 64), 0, "of a tile; 0: by their number"},
    [COLUMNS] = {"columns", CT_VALUES(0, 64, 128, 256), 0,
                 "times, or times and polarisations, of a tile; 0: 128"},
    [HEIGHT] = {"height", CT_VALUES(0, 2, 4, 8), 0, "beams of a thread; 0: by the tile"},
    [WIDTH] = {"width", CT_VALUES(0, 2, 4, 8), 0, "columns of a thread; 0: by the tile"},
    [DEPTH] = {"depth", CT_VALUES(0, 4, 8, 16), 0, "stations of a slab in shared memory; 0: 8"},
    [SLABS] = {"slabs", CT_VALUES(0, 2, 3, 4), 0, "in shared memory; 0: by the tile"},
    {NULL},
};

typedef struct {
    guint beams, thread_beams, thread_columns;
    guint n_slabs, n_blocks;
    gdouble share; /* of the rate of the best tile; used to choose */
} Usual;

static const Usual usual_tiles[] = {
    {64, 8, 8, 2, 2, 1},  {32, 8, 4, 2, 3, 0.85}, {16, 4, 4, 3, 4, 0.7},
    {8, 4, 2, 3, 4, 0.5}, {2, 2, 2, 3, 8, 0.2},
};

#define USUAL_COLUMNS 128
#define USUAL_DEPTH   8

/* Limits of a block: threads, and static shared memory; of a thread: sums; of a multiprocessor:
 * registers. */
#define MOST_THREADS  256
#define LEAST_THREADS 32
#define SHARED_BYTES  49152
#define MOST_SUMS     64
#define REGISTERS     65536

/* Chooses the tile with the least work, including work for beams beyond the last. */
static const Usual *
choose_tile(gint64 n_beams)
{
    const Usual *best = NULL;
    gdouble least = G_MAXDOUBLE;
    for (guint i = 0; i < G_N_ELEMENTS(usual_tiles); i++) {
        const Usual *tile = &usual_tiles[i];
        const gint64 n_tiles = (n_beams + tile->beams - 1) / tile->beams;
        const gdouble cost = (gdouble)n_tiles * tile->beams / tile->share;
        if (cost < least) {
            least = cost;
            best = tile;
        }
    }
    return best;
}

static const Usual *
find_tile(gint64 n_beams, gint64 wanted)
{
    for (guint i = 0; i < G_N_ELEMENTS(usual_tiles); i++)
        if (usual_tiles[i].beams == wanted)
            return &usual_tiles[i];
    return choose_tile(n_beams);
}

static guint
count_threads(const BeamformTile *tile)
{
    return tile->beams / tile->thread_beams * (tile->columns / tile->thread_columns);
}

static void
fit_threads(BeamformTile *tile)
{
    tile->thread_beams = MIN(tile->thread_beams, tile->beams);
    while (tile->thread_beams * tile->thread_columns > MOST_SUMS)
        tile->thread_columns /= 2;
    while (count_threads(tile) > MOST_THREADS) {
        if (tile->thread_beams < MIN(8, tile->beams))
            tile->thread_beams *= 2;
        else if (tile->thread_columns < 8)
            tile->thread_columns *= 2;
        else
            tile->columns /= 2;
    }
    while (count_threads(tile) < LEAST_THREADS) {
        if (tile->thread_columns > 2)
            tile->thread_columns /= 2;
        else if (tile->thread_beams > 2)
            tile->thread_beams /= 2;
        else
            tile->columns *= 2;
    }
}

/* Bytes of shared memory, computed as in the kernel. */
static guint
count_shared(const BeamformTile *tile, const BeamformProblem *problem)
{
    const guint n_weights = problem->has_pol_weights ? 2 : 1;
    return tile->n_slabs * tile->depth * (tile->columns + 2 + n_weights * (tile->beams + 4)) * 8;
}

/* The fewest stations of a slab with which each thread has voltages to load, in units of two
 * columns. */
static guint
least_depth(const BeamformTile *tile)
{
    return MAX(2 * count_threads(tile) / tile->columns, 1);
}

static void
fit_shared(BeamformTile *tile, const BeamformProblem *problem)
{
    tile->depth = MAX(tile->depth, least_depth(tile));
    while (count_shared(tile, problem) > SHARED_BYTES) {
        if (tile->n_slabs > 2)
            tile->n_slabs--;
        else if (tile->depth > least_depth(tile))
            tile->depth /= 2;
        else
            tile->columns /= 2;
    }
}

/* An upper estimate of a thread's registers: sums, factors, loads on their way, and the rest. */
static guint
count_registers(const BeamformTile *tile, const BeamformProblem *problem)
{
    const guint sums = tile->thread_beams * tile->thread_columns;
    const guint fetched =
        problem->is_float ? 0 : 2 * tile->columns * tile->depth / 2 / tile->n_threads;
    const guint factors =
        (problem->has_pol_weights ? 4 : 2) * tile->thread_beams + 2 * tile->thread_columns;
    return 2 * sums + factors + fetched + 64;
}

void
ct_beamform_tile(BeamformTile *tile, const BeamformProblem *problem, const gint64 *tuning)
{
    const Usual *usual = find_tile(problem->n_beams, tuning[BEAMS]);
    *tile = (BeamformTile){
        .beams = usual->beams,
        .columns = tuning[COLUMNS] ? (guint)tuning[COLUMNS] : USUAL_COLUMNS,
        .thread_beams = tuning[HEIGHT] ? (guint)tuning[HEIGHT] : usual->thread_beams,
        .thread_columns = tuning[WIDTH] ? (guint)tuning[WIDTH] : usual->thread_columns,
        .depth = tuning[DEPTH] ? (guint)tuning[DEPTH] : USUAL_DEPTH,
        .n_slabs = tuning[SLABS] ? (guint)tuning[SLABS] : usual->n_slabs,
        .n_blocks = usual->n_blocks,
    };
    fit_threads(tile);
    fit_shared(tile, problem);
    fit_threads(tile);
    tile->n_threads = count_threads(tile);
    gboolean is_usual = TRUE;
    for (guint k = 0; k < N_TUNABLES; k++)
        is_usual &= tuning[k] == ct_beamform_tunables[k].fallback;
    /* Each quarter of a multiprocessor has the registers of whole warps. */
    if (!is_usual)
        tile->n_blocks = CLAMP(4 * (REGISTERS / 4 / 32 / count_registers(tile, problem)) /
                                   (tile->n_threads / 32),
                               1, 16);
}

gboolean
ct_beamform_tile_differs(const BeamformProblem *problem, const gint64 *tuning)
{
    BeamformTile tile, simpler;
    ct_beamform_tile(&tile, problem, tuning);
    const gint64 effect[N_TUNABLES] = {tile.beams,          tile.columns, tile.thread_beams,
                                       tile.thread_columns, tile.depth,   tile.n_slabs};
    for (guint k = 0; k < N_TUNABLES; k++) {
        gint64 without[N_TUNABLES];
        if (tuning[k] == ct_beamform_tunables[k].fallback)
            continue;
        memcpy(without, tuning, sizeof without);
        without[k] = ct_beamform_tunables[k].fallback;
        ct_beamform_tile(&simpler, problem, without);
        simpler.n_blocks = tile.n_blocks;
        if (effect[k] != tuning[k] || memcmp(&tile, &simpler, sizeof tile) == 0)
            return FALSE;
    }
    /* A tile that is more than half empty is not worth a trial. */
    return tuning[BEAMS] == 0 || tile.beams < 2 * problem->n_beams || tile.beams == 2;
}
