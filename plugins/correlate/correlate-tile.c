/* SPDX-License-Identifier: BSD-3-Clause */
/* The way in which a block of a device sums a tile: the best tiles without measurements, and their
 * changes by tuning. */
#include "correlate-tile.h"

#include <string.h>

/* The most spectra of a range: powers of two below the limits to which sums of ci8, and of the
 * limbs of ci16, in 32 bits are exact. */
#define MOST_IN_32_BITS (1 << 15)
#define MOST_OF_LIMBS   (1 << 14)

/* Limits of every device: registers of a multiprocessor, and shared memory of a block, of which a
 * unit uses some for its job. */
#define REGISTERS    65536
#define SHARED_BYTES ((gsize)99 << 10)
#define JOB_BYTES    ((gsize)128)
#define BLOCK_BYTES  ((gsize)1024) /* reserved by the driver in each block */
/* The most threads of a unit (threads that sum one tile together). The most elements that a thread
 * loads before it stores them in shared memory. */
#define MOST_THREADS 256
#define MOST_FETCHED 8
/* The depth of a stage on tensor cores if shared memory is short, or if voltages go through
 * registers (ci4 does, to be expanded) and these are short. */
#define LOW_DEPTH 32
/* Warpgroups: the shared memory of stages, the most stages, and the number of inputs up to which
 * products of warps are faster. */
#define WARPGROUP_SHARED ((gsize)224 << 10)
#define MOST_STAGES      5
#define FEW_INPUTS       16

enum { TILE, HEIGHT, WIDTH, THREADS, DEPTH, STAGES, WARPS, N_TUNABLES };
const CtTunable ct_correlate_tunables[] = {
    [TILE] =
        {"tile", CT_VALUES(0, 4, 8, 16, 32, 64, 128), 0,
         "inputs along a side of a tile, on tensor cores 16 to 128 (of a warpgroup 32 to 128), "
         "else 4 to 64; 0: by the number of inputs"},
    [HEIGHT] = {"height", CT_VALUES(0, 2, 4, 8, 16, 32, 64), 0,
                "inputs along one side of a thread's products, 2 to 8, on tensor cores of a "
                "warp's, 16 to 64; 0: by the tile"},
    [WIDTH] = {"width", CT_VALUES(0, 2, 4, 8, 16, 32, 64), 0, "the same along the other side"},
    [THREADS] = {"threads", CT_VALUES(0, 32, 64, 128, 256), 0,
                 "of a block, which has several small tiles; 0: by the tile"},
    [DEPTH] =
        {"depth", CT_VALUES(0, 4, 8, 16, 32, 64, 128), 0,
         "spectra of a stage in shared memory, on tensor cores 16 to 64 (of a warpgroup 64 or "
         "128), else 4 to 16; 0: by the tile"},
    [STAGES] = {"stages", CT_VALUES(0, 2, 3, 4), 0,
                "stages in shared memory, where voltages go there as they are; 0: 3, or 2 "
                "where more blocks fit a multiprocessor so; of a warpgroup as many as fit"},
    [WARPS] =
        {"warps", CT_VALUES(0, 1, 4), 0,
         "that multiply a matrix together on tensor cores, 4 on devices of compute capability "
         "9.0 alone; 0: by the device and the number of inputs"},
    {NULL},
};

const ArithmeticInfo ct_correlate_arithmetics[N_ARITHMETICS] = {
    [F32] = {"correlate_tiles", "tiles", "float", "ct_cf32", "float", "ct_cf32", 8, 8, 8, 128, TRUE,
             FALSE, 0, 25, 2},
    [F64] = {"correlate_tiles", "tiles", "double", "ct_cf64", "double", "ct_cf64", 16, 16, 16, 128,
             TRUE, FALSE, 0, 25, 0.5},
    [MMA] = {"correlate_mma", "mma", "int", "ct_ci8", "int64", "ct_ci32", 2, 16, 8, 128, TRUE,
             FALSE, MOST_IN_32_BITS, 200, 0.5},
    [LIMBS] = {"correlate_mma", "mma", "int", "ct_ci16", "int64", "ct_ci64", 4, 16, 16, 128, FALSE,
               FALSE, MOST_OF_LIMBS, 100, 0.5},
    [NARROW_LIMBS] = {"correlate_mma", "mma", "int", "ct_ci16", "int64", "ct_ci64", 4, 16, 16, 128,
                      FALSE, FALSE, MOST_OF_LIMBS, 100, 0.5},
    [HALVES] = {"correlate_mma", "mma", "float", "ct_cf16", "float", "ct_cf32", 4, 8, 8, 64, FALSE,
                TRUE, 0, 200, 0.5},
    [SPLIT] = {"correlate_mma", "mma", "float", "ct_cf32", "float", "ct_cf32", 8, 8, 8, 64, FALSE,
               TRUE, 0, 60, 0.5},
    [WGMMA] = {"correlate_wgmma", "wgmma", "int", "ct_ci8", "int64", "ct_ci32", 2, 16, 8, 128, TRUE,
               FALSE, MOST_IN_32_BITS, 400, 0.5},
    [WGMMA_HALVES] = {"correlate_wgmma_halves", "wgmma-halves", "float", "ct_cf16", "float",
                      "ct_cf32", 4, 8, 8, 64, FALSE, TRUE, 0, 400, 0.5},
};

/* ---- without tuning ---- */

typedef struct {
    guint tile;
    guint rows, columns;
    guint n_threads;
    guint depth;
    guint n_blocks;
    gdouble diagonal; /* share of a diagonal tile's work that is done */
    gdouble share;    /* of the rate of the best tile; both shares are used to choose */
} Usual;

static const Usual float_tiles[] = {
    {64, 8, 4, 128, 8, 4, 0.75, 0.9}, {32, 8, 4, 32, 8, 13, 0.75, 1}, {16, 4, 4, 128, 8, 4, 1, 0.5},
    {8, 4, 4, 128, 8, 4, 1, 0.4},     {4, 4, 4, 64, 8, 8, 1, 0.3},    {0},
};

static const Usual double_tiles[] = {
    {64, 4, 4, 256, 8, 1, 0.625, 1}, {32, 4, 4, 64, 4, 4, 0.625, 0.9},
    {16, 4, 4, 128, 4, 2, 1, 0.7},   {8, 4, 4, 64, 2, 4, 1, 0.5},
    {4, 4, 4, 32, 1, 4, 1, 0.4},     {0},
};

static const Usual mma_tiles[] = {
    {128, 64, 32, 256, 32, 1, 1, 0.92},
    {64, 32, 32, 128, 64, 4, 0.75, 1},
    {32, 32, 32, 128, 32, 4, 1, 0.5},
    {16, 16, 16, 256, 32, 4, 1, 0.25},
    {0},
};

static const Usual limbs_tiles[] = {
    {64, 32, 32, 128, 32, 2, 0.75, 1},
    {32, 32, 16, 64, 32, 6, 1, 0.95},
    {16, 16, 16, 32, 32, 12, 1, 0.5},
    {0},
};

static const Usual narrow_limbs_tiles[] = {
    {64, 32, 16, 256, 32, 1, 0.75, 1},
    {32, 32, 16, 64, 32, 4, 1, 0.95},
    {16, 16, 16, 32, 32, 12, 1, 0.5},
    {0},
};

static const Usual halves_tiles[] = {
    {64, 32, 32, 128, 32, 3, 0.75, 1},
    {32, 32, 32, 32, 32, 12, 1, 0.8},
    {16, 16, 16, 32, 32, 16, 1, 0.5},
    {0},
};

static const Usual split_tiles[] = {
    {64, 32, 32, 128, 16, 2, 0.75, 1},
    {32, 32, 32, 32, 16, 8, 1, 0.9},
    {16, 16, 16, 32, 16, 16, 1, 0.6},
    {0},
};

static const Usual wgmma_tiles[] = {
    {128, 64, 128, 512, 64, 1, 0.75, 1},
    {64, 32, 64, 512, 64, 1, 0.75, 0.8},
    {32, 32, 32, 512, 64, 1, 1, 0.5},
    {0},
};

static const Usual wgmma_halves_tiles[] = {
    {128, 64, 128, 384, 64, 1, 0.625, 1},
    {64, 32, 64, 384, 64, 1, 0.75, 0.8},
    {0},
};

static const Usual *const usual_tiles[N_ARITHMETICS] = {
    [F32] = float_tiles,
    [F64] = double_tiles,
    [MMA] = mma_tiles,
    [LIMBS] = limbs_tiles,
    [NARROW_LIMBS] = narrow_limbs_tiles,
    [HALVES] = halves_tiles,
    [SPLIT] = split_tiles,
    [WGMMA] = wgmma_tiles,
    [WGMMA_HALVES] = wgmma_halves_tiles,
};

/* Warpgroups multiply 64 rows at once, most of which are empty if there are few inputs. */
static gboolean
uses_warpgroups(gint64 n_inputs, const gint64 *tuning, const CtDeviceInfo *device)
{
    if (device->architecture != 90)
        return FALSE;
    return tuning[WARPS] ? tuning[WARPS] == 4 : n_inputs > FEW_INPUTS;
}

static Arithmetic
find_arithmetic(const CorrelateProblem *problem, const gint64 *tuning, const CtDeviceInfo *device)
{
    if (problem->input == CT_CI4 || problem->input == CT_CI8)
        return uses_warpgroups(problem->n_inputs, tuning, device) ? WGMMA : MMA;
    if (problem->input == CT_CI16)
        return device->architecture > 90 ? NARROW_LIMBS : LIMBS;
    if (problem->output != CT_CF32)
        return F64;
    if (problem->input == CT_CF16)
        return uses_warpgroups(problem->n_inputs, tuning, device) ? WGMMA_HALVES : HALVES;
    return problem->input == CT_CF64 ? F64 : problem->is_split ? SPLIT : F32;
}

/* Whether warps multiply on tensor cores. */
static gboolean
is_matrix(Arithmetic arithmetic)
{
    return arithmetic >= MMA && arithmetic < WGMMA;
}

/* Chooses the tile with the least work, including products that are not needed. */
static const Usual *
choose_tile(Arithmetic arithmetic, gint64 n_inputs)
{
    const Usual *best = NULL;
    gdouble least = G_MAXDOUBLE;
    for (const Usual *tile = usual_tiles[arithmetic]; tile->tile; tile++) {
        const gdouble n = (gdouble)((n_inputs + tile->tile - 1) / tile->tile);
        const gdouble cost =
            (n * tile->diagonal + n * (n - 1) / 2) * tile->tile * tile->tile / tile->share;
        if (cost < least) {
            least = cost;
            best = tile;
        }
    }
    return best;
}

/* The tile of this size, or the next smaller one. */
static const Usual *
find_tile(Arithmetic arithmetic, gint64 size)
{
    const Usual *tile = usual_tiles[arithmetic];
    while (tile->tile > size && tile[1].tile)
        tile++;
    return tile;
}

/* ---- tuning ---- */

/* The most products of a thread or warp for which there are registers; the limits of a side; the
 * most depth and number of stages; on tensor cores, the registers for each product. */
static const struct {
    guint products, least, most, depth, stages, registers;
} cells[WGMMA] = {
    [F32] = {64, 2, 8, 16, 4, 0},
    [F64] = {16, 2, 8, 16, 4, 0},
    [MMA] = {2048, 16, 64, 64, 4, 2},
    [LIMBS] = {1024, 16, 32, 32, 4, 6},
    [NARROW_LIMBS] = {512, 16, 32, 32, 4, 10},
    [HALVES] = {1024, 16, 64, 64, 4, 4},
    [SPLIT] = {1024, 16, 64, 16, 3, 5},
};

static guint
count_unit_threads(const CorrelateTile *tile, Arithmetic arithmetic)
{
    return tile->tile / tile->rows * (tile->tile / tile->columns) *
           (is_matrix(arithmetic) ? 32 : 1);
}

/* Makes both sides fit their limits, and the number of threads that of a block. */
static void
set_cell(CorrelateTile *tile, Arithmetic arithmetic)
{
    const guint most = MIN(cells[arithmetic].most, tile->tile);
    tile->rows = CLAMP(tile->rows, cells[arithmetic].least, most);
    tile->columns = CLAMP(tile->columns, cells[arithmetic].least, most);
    while (tile->rows * tile->columns > cells[arithmetic].products)
        *(tile->rows > tile->columns ? &tile->rows : &tile->columns) /= 2;
    while (count_unit_threads(tile, arithmetic) > MOST_THREADS)
        *(tile->rows < tile->columns ? &tile->rows : &tile->columns) *= 2;
    const guint n_i = tile->tile / tile->rows, n_j = tile->tile / tile->columns;
    tile->lanes_i = is_matrix(arithmetic) ? 1 : MIN(n_i, 4);
    tile->lanes_j = is_matrix(arithmetic) ? 1 : MIN(n_j, 8);
    tile->unit_i = n_i / tile->lanes_i;
    tile->unit_j = n_j / tile->lanes_j;
}

/* Whether voltages are copied to shared memory unchanged and asynchronously. */
static gboolean
is_direct(Arithmetic arithmetic, CtType input)
{
    return arithmetic == F32 || (is_matrix(arithmetic) && input != CT_CI4);
}

/* Bytes of dynamic shared memory, in the layout of the kernels. */
static gsize
count_shared(const CorrelateTile *tile, Arithmetic arithmetic, guint n_sides)
{
    const gsize n_threads = tile->n_units * count_unit_threads(tile, arithmetic);
    const gsize voltage = ct_correlate_arithmetics[arithmetic].voltage_bytes;
    if (is_matrix(arithmetic)) {
        const gsize row = voltage * tile->tile + (arithmetic == MMA ? 16 : 32);
        const gsize stages = (gsize)tile->n_stages * tile->n_units * n_sides * tile->depth * row;
        const gsize results = n_threads / 32 * 16 * (8 * tile->columns + 64);
        return arithmetic == MMA ? MAX(stages, results) : stages;
    }
    const gsize unit = n_sides * tile->depth * tile->tile * voltage + (tile->n_units > 1 ? 16 : 0);
    return tile->n_stages * tile->n_units * unit + n_threads * tile->rows * tile->columns * voltage;
}

/* The fewest spectra of a stage: a block of one unit loads whole rows of it. */
static guint
least_depth(const CorrelateTile *tile, Arithmetic arithmetic, gboolean direct)
{
    const guint vector = 16 / ct_correlate_arithmetics[arithmetic].voltage_bytes;
    const guint least = is_matrix(arithmetic) ? 16 : 1;
    const guint step = count_unit_threads(tile, arithmetic) * vector / tile->tile;
    return direct && tile->n_units == 1 ? MAX(least, step) : least;
}

/* Elements, or vectors of 8 of them, that a thread fetches for a stage. */
static guint
count_fetched(const CorrelateTile *tile, Arithmetic arithmetic)
{
    const guint vector = arithmetic == MMA ? 8 : 1;
    return 2 * tile->depth * tile->tile / vector / count_unit_threads(tile, arithmetic);
}

/* An upper estimate of a thread's registers: products, factors, fetched elements, and the rest; on
 * tensor cores by fragments of 16 rows and 8 columns. */
static guint
count_registers(const CorrelateTile *tile, Arithmetic arithmetic, gboolean direct)
{
    const guint rows = tile->rows, columns = tile->columns;
    const guint fetched = direct ? 0 : count_fetched(tile, arithmetic);
    const guint rest = tile->n_units > 1 ? 64 : 48;
    if (is_matrix(arithmetic))
        return cells[arithmetic].registers * rows * columns / 32 + rows / 2 + columns / 4 +
               2 * fetched + rest + 16;
    if (arithmetic == F32)
        return 2 * rows * columns + 2 * (rows + columns) + rest;
    return 4 * rows * columns + 4 * (rows + columns) + 4 * fetched + rest;
}

/* The blocks of a multiprocessor for which its registers suffice: each quarter of it holds those of
 * whole warps. */
static guint
count_blocks(const CorrelateTile *tile, Arithmetic arithmetic, gboolean direct)
{
    const guint warps = REGISTERS / 4 / 32 / count_registers(tile, arithmetic, direct);
    return CLAMP(4 * warps / (tile->n_threads / 32), 1, 16);
}

static void
fit_shared(CorrelateTile *tile, Arithmetic arithmetic, guint n_sides, gboolean direct)
{
    while (count_shared(tile, arithmetic, n_sides) + tile->n_units * JOB_BYTES > SHARED_BYTES) {
        if (tile->n_stages > 2)
            tile->n_stages--;
        else if (tile->n_units > 1 && tile->n_units * count_unit_threads(tile, arithmetic) > 32)
            tile->n_units /= 2;
        else if (tile->depth > least_depth(tile, arithmetic, direct))
            tile->depth /= 2;
        else
            break;
    }
}

/* On tensor cores and in single precision. Reduces the number and the depth of stages, unless the
 * tuning sets them, until the shared memory of a multiprocessor suffices for as many blocks as its
 * registers do. */
static void
fit_multiprocessor(CorrelateTile *tile, Arithmetic arithmetic, guint n_sides, const gint64 *tuning,
                   gsize bytes)
{
    while (tile->n_blocks * (tile->shared_bytes + tile->n_units * JOB_BYTES + BLOCK_BYTES) >
           bytes) {
        if (tile->n_stages > 2 && tuning[STAGES] == 0)
            tile->n_stages--;
        else if (tile->depth > LOW_DEPTH && tuning[DEPTH] == 0)
            tile->depth /= 2;
        else
            break;
        tile->shared_bytes = count_shared(tile, arithmetic, n_sides);
    }
}

/* The tile of warpgroups. Each of 256 producers transposes 16 spectra of 4 bytes of a side. A stage
 * has two matrices of the inputs of a side, in large tiles three of the columns. */
static void
set_warpgroups(CorrelateTile *tile, CtType input, const Usual *usual, guint n_sides,
               const gint64 *tuning)
{
    const gboolean is_large = usual->tile == 128;
    const gboolean is_narrow = !is_large || (input == CT_CI4 && n_sides == 1);
    const guint deepest = is_narrow ? 128 : 64;
    const guint depth = n_sides == 1 ? deepest : usual->depth;
    *tile = (CorrelateTile){
        .arithmetic = WGMMA,
        .tile = usual->tile,
        .square = 8,
        .rows = usual->rows,
        .columns = usual->columns,
        .n_units = usual->tile == 32 ? 2 : 1,
        .depth = tuning[DEPTH] ? CLAMP((guint)tuning[DEPTH], 64, deepest) : depth,
        .n_blocks = usual->n_blocks,
        .n_threads = usual->n_threads,
        .multiprocessor_blocks = usual->n_blocks,
    };
    const guint n_matrices = 2 * n_sides + is_large;
    const gsize stage = tile->n_units * n_matrices * tile->tile * tile->depth;
    const guint most = (guint)(WARPGROUP_SHARED / stage);
    tile->n_stages = MIN(most, tuning[STAGES] ? (guint)tuning[STAGES] : MOST_STAGES);
    tile->shared_bytes = tile->n_stages * stage;
}

/* The same where time is in blocks: a stage has one matrix of a side, with 64 bytes between halves
 * of blocks, and sums of the columns, of 512 bytes. Each of 256 producers reads 4 halves. */
static void
set_stages_of_blocks(CorrelateTile *tile, guint n_sides, const gint64 *tuning)
{
    tile->depth = tile->tile == 128 ? 64 : 128;
    const gsize stage = (gsize)tile->n_units * n_sides * (2 * tile->tile + 8) * tile->depth + 512;
    const guint most = (guint)(WARPGROUP_SHARED / stage);
    tile->n_stages = MIN(most, tuning[STAGES] ? (guint)tuning[STAGES] : MOST_STAGES);
    tile->shared_bytes = tile->n_stages * stage;
}

/* The same in floating point: a stage is a chunk, as it is in memory, and begins at a multiple of
 * 1024 bytes. */
static void
set_stages_of_halves(CorrelateTile *tile, guint n_sides, const gint64 *tuning)
{
    tile->arithmetic = WGMMA_HALVES;
    tile->depth = (guint)ct_correlate_arithmetics[WGMMA_HALVES].chunk;
    const gsize stage = (gsize)n_sides * tile->depth * tile->tile * 4;
    const guint most = (guint)(WARPGROUP_SHARED / stage);
    tile->n_stages = MIN(most, tuning[STAGES] ? (guint)tuning[STAGES] : MOST_STAGES);
    tile->shared_bytes = tile->n_stages * stage + 1024;
}

void
ct_correlate_tile(CorrelateTile *tile, const CorrelateProblem *problem, const gint64 *tuning,
                  const CtDeviceInfo *device)
{
    const gint64 n_inputs = problem->n_inputs;
    const Arithmetic arithmetic = find_arithmetic(problem, tuning, device);
    const gboolean is_mma = is_matrix(arithmetic), direct = is_direct(arithmetic, problem->input);
    const Usual *usual =
        tuning[TILE] ? find_tile(arithmetic, tuning[TILE]) : choose_tile(arithmetic, n_inputs);
    const guint n_sides = n_inputs > usual->tile ? 2 : 1;
    if (arithmetic >= WGMMA) {
        set_warpgroups(tile, problem->input, usual, n_sides, tuning);
        if (arithmetic == WGMMA_HALVES)
            set_stages_of_halves(tile, n_sides, tuning);
        else if (problem->has_blocks)
            set_stages_of_blocks(tile, n_sides, tuning);
        return;
    }
    const guint usual_depth = is_mma && !direct ? MIN(usual->depth, LOW_DEPTH) : usual->depth;
    *tile = (CorrelateTile){
        .arithmetic = arithmetic,
        .tile = usual->tile,
        .square = usual->tile,
        .rows = tuning[HEIGHT] ? (guint)tuning[HEIGHT] : usual->rows,
        .columns = tuning[WIDTH] ? (guint)tuning[WIDTH] : usual->columns,
        .n_stages = !direct          ? 2
                    : tuning[STAGES] ? (guint)tuning[STAGES]
                                     : 3,
    };
    set_cell(tile, arithmetic);
    const guint n_threads = tuning[THREADS] ? (guint)tuning[THREADS] : usual->n_threads;
    tile->n_units = MAX(1, n_threads / count_unit_threads(tile, arithmetic));
    tile->depth = usual_depth;
    if (tuning[DEPTH])
        tile->depth = CLAMP((guint)tuning[DEPTH], is_mma ? 16 : 4, cells[arithmetic].depth);
    tile->n_stages = MIN(tile->n_stages, cells[arithmetic].stages);
    const guint least = least_depth(tile, arithmetic, direct);
    while (!direct && tile->depth > least && count_fetched(tile, arithmetic) > MOST_FETCHED)
        tile->depth /= 2;
    tile->depth = MAX(tile->depth, least);
    fit_shared(tile, arithmetic, n_sides, direct);

    tile->n_threads = tile->n_units * count_unit_threads(tile, arithmetic);
    tile->shared_bytes = count_shared(tile, arithmetic, n_sides);
    tile->n_blocks = usual->n_blocks;
    if (tile->rows != usual->rows || tile->columns != usual->columns ||
        tile->n_threads != usual->n_threads ||
        (!direct && (tuning[TILE] || tile->depth > usual_depth)))
        tile->n_blocks = count_blocks(tile, arithmetic, direct);
    if (is_mma || arithmetic == F32)
        fit_multiprocessor(tile, arithmetic, n_sides, tuning, device->multiprocessor_shared);
}

static gboolean
differs_with(const CorrelateProblem *problem, const gint64 *tuning, const CtDeviceInfo *device)
{
    CorrelateTile tile, simpler;
    ct_correlate_tile(&tile, problem, tuning, device);
    const gint64 effect[N_TUNABLES] = {
        tile.tile,
        tile.rows,
        tile.columns,
        tile.n_threads,
        tile.depth,
        tile.n_stages,
        tile.arithmetic >= WGMMA ? 4 : 1,
    };
    for (guint k = 0; k < N_TUNABLES; k++) {
        gint64 without[N_TUNABLES];
        if (tuning[k] == 0)
            continue;
        memcpy(without, tuning, sizeof without);
        without[k] = 0;
        ct_correlate_tile(&simpler, problem, without, device);
        if (effect[k] != tuning[k] || memcmp(&tile, &simpler, sizeof tile) == 0)
            return FALSE;
    }
    /* A tile that is more than half empty along each side is not worth a trial. */
    return tuning[TILE] == 0 || tile.tile < 2 * problem->n_inputs || tile.tile == 4;
}

/* The device is not known yet. */
gboolean
ct_correlate_tile_differs(const CorrelateProblem *problem, const gint64 *tuning)
{
    static const CtDeviceInfo devices[] = {
        {.architecture = 80, .multiprocessor_shared = G_MAXSIZE},
        {.architecture = 80, .multiprocessor_shared = 0},
        {.architecture = 90, .multiprocessor_shared = G_MAXSIZE},
        {.architecture = 100, .multiprocessor_shared = G_MAXSIZE},
    };
    for (guint d = 0; d < G_N_ELEMENTS(devices); d++)
        if (differs_with(problem, tuning, &devices[d]))
            return TRUE;
    return FALSE;
}
