/* SPDX-License-Identifier: BSD-3-Clause */
/* The beamformer on a device's matrix units, for quantised weights: the choice of a tile, and the
 * launch. */
#include "beamform-device.h"
#include "beamform-quantise.h"

#include <cornerturn/kit/epilogue.h>

#define SOURCES "/cornerturn/plugins/beamform/"

/* As in beamform-mma.cu. */
enum { X_TIME, X_STATION, Y_TIME, Y_BEAM, AXES };
enum { X_WIDE = 1, Y_WIDE = 2 };

/* Times of a cell, at least: shorter ones take more registers, and memory for their states. */
#define LEAST_CELL 16
/* Threads of a block of beamform-merge.cu. */
#define MERGE_THREADS 256

/* Sums of products of −128 and −127, or of 16 times −8, fit 32 bits. */
#define MOST_STATIONS 65535

/* ---- tiles ---- */

enum { BEAMS, COLUMNS, WIDTH, WARPS, N_TUNABLES };
static const CtTunable tunables[] = {
    [BEAMS] = {"beams", CT_VALUES(0, 16, 32, 64, 128), 0, "of a tile; 0: by their number"},
    [COLUMNS] = {"columns", CT_VALUES(64, 128, 256), 128,
                 "times, or times and polarisations, of a tile"},
    [WIDTH] =
        {"width", CT_VALUES(0, 64), 0,
         "columns of a warp in tiles of 64 beams and more; 0: 64 for ci8 weights and stations "
         "innermost, otherwise 32"},
    [WARPS] = {"warps", CT_VALUES(0, 1, 4), 0,
               "that multiply together; 4: the warpgroups of compute capability 9.0, for stations "
               "innermost, with tiles of 64 x 256 or 128 x 128; 0: those for more than 48 beams"},
    {NULL},
};

typedef struct {
    guint beams, columns;           /* of a block */
    guint warp_beams, warp_columns; /* of a warp */
    guint depth;
    guint n_threads, n_blocks; /* of a block, of a multiprocessor */
    gsize shared_bytes;
    guint n_stages;          /* of shared memory; of warpgroups */
    gboolean has_warpgroups; /* by beamform-wgmma.cu */
} Tile;

/* The sums of a warp, and the threads that a multiprocessor has registers for. */
static const struct {
    guint beams, warp_beams, warp_columns, threads;
} usual[] = {{128, 32, 64, 256}, {64, 32, 64, 256}, {32, 32, 32, 384}, {16, 16, 32, 512}};

/* Half as many sums of a thread, and twice as many threads. */
#define NARROW_COLUMNS 32
#define NARROW_THREADS 512

#define MOST_BLOCKS  4
#define MOST_THREADS 256 /* of a block */

/* Tiles of warpgroups, as in beamform-wgmma.cu: wide ones, and high ones, which load voltages half
 * as often, but multiply by instructions of half as many columns. */
typedef struct {
    guint beams, columns, warp_beams, threads, stages;
} GroupTile;

static const GroupTile wide_tile = {64, 256, 8, 384, 8}, high_tile = {128, 128, 16, 512, 16};
#define ENOUGH_BEAMS 48

/* The properties of a node that its tile depends on. */
typedef struct {
    guint architecture;
    gint64 n_beams;
    gboolean has_pol_weights; /* the two polarisations' columns have weights of their own */
    gboolean x_along;         /* columns are contiguous in the voltages */
    gboolean folds, checks;   /* the epilogue does: see cornerturn/kit/epilogue.h */
    int weights_as;
} Problem;

static guint
choose_beams(const Problem *problem, guint wanted)
{
    guint best = G_N_ELEMENTS(usual) - 1;
    for (guint i = 0; i < G_N_ELEMENTS(usual); i++) {
        if (wanted == usual[i].beams)
            return i;
        /* The largest that is at least three quarters full, 128 only if wanted. */
        if (wanted == 0 && i > 0 && i < best && 4 * problem->n_beams > 3 * usual[i].beams)
            best = i;
    }
    return best;
}

/* Bytes of two slabs, computed as in the kernel. */
static gsize
count_shared(const Tile *tile, const Problem *problem)
{
    const guint row = 2 * (problem->x_along ? tile->columns : tile->depth) + 16;
    const guint voltages = (problem->x_along ? tile->depth : tile->columns) * row;
    const guint weights = (problem->has_pol_weights ? 2 : 1) * tile->beams * 64;
    return 2 * (gsize)(voltages + weights);
}

static gboolean
uses_warpgroups(const Problem *problem, const gint64 *tuning)
{
    const gboolean has_other_tile =
        tuning[BEAMS] != 0 || tuning[COLUMNS] != 128 || tuning[WIDTH] != 0;
    return problem->architecture == 90 && !problem->x_along &&
           (tuning[WARPS] == 4 ||
            (tuning[WARPS] == 0 && problem->n_beams > ENOUGH_BEAMS && !has_other_tile));
}

/* The stations of a slab: those of two products. */
static guint
find_depth(const Problem *problem)
{
    return problem->weights_as == BEAMFORM_CI8 ? 32 : 16;
}

/* Products of half precision, and folds, take longer than the voltages do. The sums of a high tile,
 * with the rows of two polarisations' weights or with places to look up, are too many registers. */
static gboolean
is_high(const Problem *problem)
{
    const gint64 beyond = high_tile.beams - 1 - (problem->n_beams - 1) % high_tile.beams;
    return problem->weights_as == BEAMFORM_CI8 && !problem->folds && !problem->checks &&
           !problem->has_pol_weights && beyond < wide_tile.beams;
}

static void
find_group_tile(Tile *tile, const Problem *problem)
{
    const GroupTile *group = is_high(problem) ? &high_tile : &wide_tile;
    *tile = (Tile){
        .beams = group->beams,
        .columns = group->columns,
        .warp_beams = group->warp_beams,
        .warp_columns = group->columns,
        .depth = find_depth(problem),
        .n_threads = group->threads,
        .n_blocks = 1,
        .n_stages = group->stages,
        .shared_bytes = group->stages * 4 * (group->columns * 16 + 32),
        .has_warpgroups = TRUE,
    };
}

static void
find_tile(Tile *tile, const Problem *problem, const gint64 *tuning)
{
    if (uses_warpgroups(problem, tuning)) {
        find_group_tile(tile, problem);
        return;
    }
    const guint i = choose_beams(problem, (guint)tuning[BEAMS]);
    *tile = (Tile){
        .beams = usual[i].beams,
        .columns = (guint)tuning[COLUMNS],
        .warp_beams = usual[i].warp_beams,
        .warp_columns = usual[i].warp_columns,
        .depth = find_depth(problem),
    };
    guint threads = usual[i].threads;
    if (tuning[WIDTH] == 0 && tile->warp_columns > NARROW_COLUMNS &&
        (problem->x_along || problem->weights_as != BEAMFORM_CI8)) {
        tile->warp_columns = NARROW_COLUMNS;
        threads = NARROW_THREADS;
    }
    const guint warps_beams = tile->beams / tile->warp_beams;
    while (32 * warps_beams * (tile->columns / tile->warp_columns) > MOST_THREADS)
        tile->columns /= 2;
    tile->n_threads = 32 * warps_beams * (tile->columns / tile->warp_columns);
    tile->shared_bytes = count_shared(tile, problem);
    tile->n_blocks = CLAMP(threads / tile->n_threads, 1, MOST_BLOCKS);
}

/* Whether weights differ between polarisations, the order of the voltages, and the device are not
 * known yet: orders and devices without warpgroups make `warps` trials of the same tile. */
static gboolean
differs(const CtNode *nodes, const gint64 *tuning)
{
    const Problem problem = {
        .architecture = 90,
        .n_beams = ct_stream_length(&nodes[0].outputs[0], "beam"),
        .weights_as = (int)ct_params_choice(nodes[0].params, "weights_as"),
    };
    Tile tile, usual_tile;
    const gint64 chosen[N_TUNABLES] = {0, tuning[COLUMNS], tuning[WIDTH], 1};
    if (tuning[WARPS] != 0)
        return tuning[BEAMS] == 0 && tuning[COLUMNS] == 128 && tuning[WIDTH] == 0;
    find_tile(&tile, &problem, tuning);
    find_tile(&usual_tile, &problem, chosen);
    if (tile.columns != tuning[COLUMNS] ||
        (tuning[WIDTH] != 0 && tile.warp_columns != tuning[WIDTH]))
        return FALSE;
    /* A tile that is more than half empty is not worth a trial. */
    return tuning[BEAMS] == 0 || (tile.beams != usual_tile.beams &&
                                  (tile.beams < 2 * problem.n_beams || tile.beams == 16));
}

/* ---- the state ---- */

typedef struct {
    CtDevice *device;
    Beamform *beamform;
    BeamformWeights weights;
    BeamformColumns columns;
    Tile tile;
    CtEpilogue *epilogue; /* NULL: none */
    gint64 hop, cell; /* times that the epilogue folds, those of a cell of them; 0: it does not */
    gint64 n_sums;    /* of a sample, with those of beams beyond the last */
    gsize pair_bytes; /* of two elements of the output, or 16 if they are more */
    CtKernel *kernel;
    CtKernel *merge;                              /* of the cells of a hop; NULL: it has one */
    gint64 strides[AXES + 3 * (CT_MAX_AXES + 1)]; /* the kernel's argument for a firing */
} State;

/* Compiles the kernel, and that which merges cells, if hops have several. */
static gboolean
compile(State *self, GError **error)
{
    const Beamform *beamform = self->beamform;
    const Tile *tile = &self->tile;
    g_autoptr(GPtrArray) defines = g_ptr_array_new_with_free_func(g_free);
    const gboolean has_pol_weights = self->columns.n_pols == 2 && beamform->weights_have_pol;
    const struct {
        const char *name;
        gint64 value;
    } numbers[] = {
        {"WEIGHTS_AS", beamform->weights_as},
        {"IS_NIBBLES", beamform->type == CT_CI4},
        {"N_STATIONS", beamform->n_stations},
        {"N_BEAMS", beamform->n_beams},
        {"ROWS", self->weights.n_rows},
        {"N_STEPS", ct_beamform_divide_up(beamform->n_stations, tile->depth)},
        {"N_POLS", self->columns.n_pols},
        {"POL_WEIGHTS", has_pol_weights},
        {"POL_SETS", beamform->n_sets},
        {"X_ALONG", beamform->from_time > beamform->from_station},
        {"Y_PAIRS", self->columns.y_pairs},
        {"TILE_BEAMS", tile->beams},
        {"TILE_COLUMNS", tile->columns},
        {"WARP_BEAMS", tile->warp_beams},
        {"WARP_COLUMNS", tile->warp_columns},
        {"DEPTH", tile->depth},
        {"N_BLOCKS", tile->n_blocks},
        {"STAGES", tile->n_stages},
        {"CELL", self->cell},
        {"MERGE_THREADS", MERGE_THREADS},
    };
    for (guint i = 0; i < G_N_ELEMENTS(numbers); i++)
        ct_beamform_define(defines, numbers[i].name, numbers[i].value);
    ct_beamform_define_lengths(defines, beamform);
    g_ptr_array_add(defines, NULL);
    CtKernelSpec kernel = {
        .name = tile->has_warpgroups ? "beamform_wgmma" : "beamform_mma",
        .source = tile->has_warpgroups ? SOURCES "beamform-wgmma.cu" : SOURCES "beamform-mma.cu",
        .headers = (const char *const[]){SOURCES "beamform-fold.h", SOURCES "beamform-matrix.h",
                                         SOURCES "beamform-quantise.h", NULL},
        .defines = (const char *const *)defines->pdata,
        .shared_bytes = tile->shared_bytes,
        .epilogue = self->epilogue,
    };
    self->kernel = ct_kernel_new(self->device, &kernel, error);
    if (!self->kernel || self->cell == self->hop)
        return self->kernel != NULL;
    kernel.name = "beamform_merge";
    kernel.source = SOURCES "beamform-merge.cu";
    kernel.shared_bytes = 0;
    self->merge = ct_kernel_new(self->device, &kernel, error);
    return self->merge != NULL;
}

/* ---- folding ---- */

static gboolean
folds(G_GNUC_UNUSED const CtNode *nodes, gint64 hop, gsize state_bytes)
{
    return hop % LEAST_CELL == 0 && state_bytes % sizeof(guint32) == 0;
}

/* A cell is as long as hop and warp allow. Those of hops that have several are scratch memory. */
static void
choose_cell(State *self, CtPrepare *prepare)
{
    self->hop = self->epilogue ? self->epilogue->hop : 0;
    if (self->hop == 0)
        return;
    self->cell = self->tile.warp_columns / self->columns.n_pols;
    while (self->hop % self->cell != 0)
        self->cell /= 2;
    self->n_sums = self->columns.n_elements * self->weights.n_rows * self->columns.n_pols;
    if (self->cell < self->hop)
        prepare->scratch_bytes =
            (gsize)(prepare->outputs[0].max_samples * (self->hop / self->cell) * self->n_sums) *
            self->epilogue->state_bytes;
}

/* Merges the cells of each hop. */
static gboolean
merge(State *self, const CtWork *work, gpointer epilogue, GError **error)
{
    gpointer out = work->outputs[0].data;
    int n_times = (int)work->inputs[0].n_samples;
    const gint64 n = work->outputs[0].n_samples * self->n_sums;
    const CtLaunch launch = {
        .grid = {(guint)ct_beamform_divide_up(n, MERGE_THREADS), 1, 1},
        .block = {MERGE_THREADS, 1, 1},
    };
    return ct_queue_launch(
        work->queue, self->merge, &launch,
        (gpointer[]){(gpointer)&work->scratch, &out, &n_times, self->strides, epilogue}, error);
}

/* ---- the variant ---- */

/* The number of tiles for this many times. */
static gint64
count_tiles(const State *self, gint64 n_times)
{
    return self->columns.n_elements * (self->weights.n_rows / self->tile.beams) *
           ct_beamform_divide_up(n_times * self->columns.n_pols, self->tile.columns);
}

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    State *self = *state = g_new0(State, 1);
    self->device = prepare->device;
    self->epilogue = prepare->epilogue;
    Beamform *beamform = self->beamform = ct_beamform_new(prepare, error);
    if (!beamform)
        return FALSE;
    const gboolean pol_last = (gint)prepare->inputs[0].layout.n_axes - 1 == beamform->from_pol;
    const Problem problem = {
        .architecture = ct_device_info(self->device)->architecture,
        .n_beams = beamform->n_beams,
        .has_pol_weights = pol_last && beamform->n_pols == 2 && beamform->weights_have_pol,
        .x_along = beamform->from_time > beamform->from_station,
        .folds = prepare->epilogue && prepare->epilogue->hop > 0,
        .checks = prepare->epilogue && prepare->epilogue->checks != 0,
        .weights_as = beamform->weights_as,
    };
    find_tile(&self->tile, &problem, prepare->tuning);
    const BeamformFragments fragments = {self->tile.beams, self->tile.depth};
    if (!ct_beamform_weights_init(&self->weights, self->device, beamform, &fragments, error))
        return FALSE;
    ct_beamform_columns(&self->columns, beamform, prepare);
    self->pair_bytes =
        MIN(2 * ct_type_info(ct_layout_type(&prepare->outputs[0].layout))->bytes, 16);
    choose_cell(self, prepare);
    const gint64 n_times = prepare->outputs[0].max_samples * MAX(self->hop, 1);
    if (count_tiles(self, n_times) > G_MAXINT) {
        g_set_error(
            error, CT_ERROR, CT_ERROR_SHAPE,
            "wants firings of at most %d tiles of %u × %u sums, but is given %" G_GINT64_FORMAT
            " samples",
            G_MAXINT, self->tile.beams, self->tile.columns, n_times);
        return FALSE;
    }
    return compile(self, error);
}

/* Fills in the strides; returns which sides may move several elements at once. */
static int
find_strides(State *self, const CtBlock *in, const CtBlock *out)
{
    const Beamform *beamform = self->beamform;
    gint64 *strides = self->strides;
    strides[X_TIME] = ct_beamform_stride(in, beamform->from_time);
    strides[X_STATION] = ct_beamform_stride(in, beamform->from_station);
    strides[Y_TIME] = ct_beamform_stride(out, beamform->to_time);
    strides[Y_BEAM] = ct_beamform_stride(out, beamform->to_beam);

    /* The address of every vector and pair is a sum of these. */
    const gboolean x_along = beamform->from_time > beamform->from_station;
    guint64 x = GPOINTER_TO_SIZE(in->data), y = GPOINTER_TO_SIZE(out->data);
    x |= (guint64)strides[x_along ? X_STATION : X_TIME];
    y |= (guint64)strides[Y_TIME] * (2 / (guint64)self->columns.n_pols);
    y |= (guint64)strides[Y_BEAM];
    const guint step = beamform->n_axes + 1;
    for (guint a = 0; a < beamform->n_axes; a++) {
        const BeamformAxis *axis = &beamform->axes[a];
        strides[AXES + a] = in->stride[axis->from];
        strides[AXES + step + a] = out->stride[axis->to];
        strides[AXES + 2 * step + a] = axis->set;
        if (axis->length > 1) {
            x |= (guint64)in->stride[axis->from];
            y |= (guint64)out->stride[axis->to];
        }
    }
    const gint64 bytes = (gint64)ct_type_info(beamform->type)->bytes;
    const gboolean is_packed =
        strides[x_along ? X_TIME : X_STATION] == self->columns.n_pols * bytes &&
        (self->columns.n_pols == 1 || in->stride[beamform->from_pol] == bytes);
    return (is_packed && x % (8 * (guint64)bytes) == 0 ? X_WIDE : 0) |
           (y % self->pair_bytes == 0 ? Y_WIDE : 0);
}

static gboolean
work(gpointer state, const CtWork *work, GError **error)
{
    State *self = state;
    const CtBlock *in = &work->inputs[0], *out = &work->outputs[0];
    if (!out->data)
        return TRUE;
    gpointer epilogue = ct_epilogue_argument(self->epilogue, work, error);
    if (!epilogue || !ct_beamform_weights_update(&self->weights, work, error))
        return FALSE;
    int wide = find_strides(self, in, out);
    int n_times = (int)in->n_samples;
    int n_tiles =
        (int)ct_beamform_divide_up(in->n_samples * self->columns.n_pols, self->tile.columns);
    gconstpointer x = in->data, y = out->data;
    /* Blocks with warpgroups stay on their multiprocessor. */
    const gint64 most =
        self->tile.has_warpgroups ? ct_device_info(self->device)->n_multiprocessors : G_MAXINT;
    const CtLaunch launch = {
        .grid = {(guint)MIN(count_tiles(self, in->n_samples), most), 1, 1},
        .block = {self->tile.n_threads, 1, 1},
        .shared_bytes = self->tile.shared_bytes,
    };
    return ct_queue_launch(work->queue, self->kernel, &launch,
                           (gpointer[]){&x, &self->weights.quantised, &self->weights.scales, &y,
                                        (gpointer)&work->scratch, &n_times, &n_tiles, &wide,
                                        self->strides, epilogue},
                           error) &&
           (!self->merge || merge(self, work, epilogue, error));
}

static void
finish(gpointer state)
{
    State *self = state;
    if (!self)
        return;
    ct_kernel_free(self->kernel);
    ct_kernel_free(self->merge);
    ct_beamform_weights_free(&self->weights);
    ct_beamform_finish(self->beamform);
    g_free(self);
}

static gboolean
fits(const CtNode *nodes, char **reason)
{
    const guint as = ct_params_choice(nodes[0].params, "weights_as");
    if (as != BEAMFORM_GIVEN)
        return as != BEAMFORM_CI8 || ct_beamform_holds(nodes, MOST_STATIONS, reason);
    *reason = g_strdup("it wants quantised weights, but `weights_as` is given");
    return FALSE;
}

/* Products of half precision take twice as long. */
static gdouble
share(const CtNode *nodes, G_GNUC_UNUSED const CtLayout *inputs,
      G_GNUC_UNUSED const CtLayout *outputs)
{
    return ct_params_choice(nodes[0].params, "weights_as") == BEAMFORM_CI8 ? 1 : 0.5;
}

#define ROW(voltages, beams)                                                                       \
    {                                                                                              \
        "any: ci4|ci8" voltages ", cf32{beam station ...} -> cf32" beams, 6                        \
    }

/* A row for each order of the output. */
#define ROWS(voltages)                                                                             \
    ROW(voltages " pol]", "[... time beam pol]"), ROW(voltages " pol]", "[time ... beam pol]"),    \
        ROW(voltages " pol]", "[... beam time pol]"), ROW(voltages "]", "[... time beam]"),        \
        ROW(voltages "]", "[time ... beam]"), ROW(voltages "]", "[... beam time]")

const CtVariant ct_beamform_mma_cuda = {
    .name = "mma-cuda",
    .backend = CT_CUDA,
    .covers = (const char *const[]){"beamform", NULL},
    .rows =
        (const CtRow[]){
            ROWS("[... time station"),
            ROWS("[time ... station"),
            ROWS("[... station time"),
            ROW("[... station pol time]", "[... beam pol time]"),
            {NULL},
        },
    .share = share,
    .tunables = tunables,
    .differs = differs,
    .fits = fits,
    .prepare = prepare,
    .work = work,
    .finish = finish,
    .flags = CT_VARIANT_EPILOGUE,
    .folds = folds,
};
