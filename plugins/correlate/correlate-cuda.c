/* SPDX-License-Identifier: BSD-3-Clause */
/* The correlator on a device: its kernels and memory, and the weights.
 *
 * If integrations are enough parallel work, one block sums each tile of each; otherwise
 * integrations are divided along time, and the sums of the parts are added up afterwards. */
#include "correlate-cuda.h"

#include <cornerturn/params.h>

/* The most memory for the sums of parts. */
#define PARTS_BYTES ((gsize)256 << 20)
/* Baselines are counted in 32 bits. */
#define MOST_STATIONS 32768
/* Items whose weights one thread writes. */
#define ALIKE 32

static gint64
triangle(gint64 n)
{
    return n * (n + 1) / 2;
}

/* ---- kernels ---- */

static void
define(GPtrArray *defines, const char *name, gint64 value)
{
    g_ptr_array_add(defines, g_strdup_printf("%s=%" G_GINT64_FORMAT, name, value));
}

static void
define_type(GPtrArray *defines, const char *name, const char *type)
{
    g_ptr_array_add(defines, g_strdup_printf("%s=%s", name, type));
}

static CtKernel *
compile(const CorrelateDevice *self, const char *name, const char *source, GPtrArray *defines,
        GError **error)
{
    static const char *const headers[] = {"/cornerturn/plugins/correlate/correlate-blocks.h",
                                          "/cornerturn/plugins/correlate/correlate-bytes.h",
                                          "/cornerturn/plugins/correlate/correlate-copy.h",
                                          "/cornerturn/plugins/correlate/correlate-device.h",
                                          "/cornerturn/plugins/correlate/correlate-mma-bytes.h",
                                          "/cornerturn/plugins/correlate/correlate-mma-floats.h",
                                          "/cornerturn/plugins/correlate/correlate-mma-limbs.h",
                                          "/cornerturn/plugins/correlate/correlate-mma-words.h",
                                          "/cornerturn/plugins/correlate/correlate-mma.h",
                                          "/cornerturn/plugins/correlate/correlate-piece.h",
                                          "/cornerturn/plugins/correlate/correlate-square.h",
                                          "/cornerturn/plugins/correlate/correlate-warpgroup.h",
                                          "/cornerturn/plugins/correlate/correlate-warpgroup-end.h",
                                          NULL};
    g_autofree char *resource =
        g_strdup_printf("/cornerturn/plugins/correlate/correlate-%s.cu", source);
    g_ptr_array_add(defines, NULL);
    return ct_kernel_new(
        self->device,
        &(CtKernelSpec){
            .name = name,
            .source = resource,
            .headers = headers,
            .defines = (const char *const *)defines->pdata,
            .shared_bytes = self->tile.shared_bytes,
            /* Between jobs, and little of it: not in the loop over spectra. */
            .may_spill = g_str_equal(source, "wgmma-blocks") || g_str_equal(source, "wgmma-halves"),
        },
        error);
}

/* Definitions for all kernels. */
static GPtrArray *
common_defines(const CorrelateDevice *self)
{
    const Correlate *correlate = self->correlate;
    GPtrArray *defines = g_ptr_array_new_with_free_func(g_free);
    define(defines, "N_STATIONS", correlate->n_stations);
    define(defines, "N_POLS", correlate->n_pols);
    define(defines, "N_ITEMS", correlate->n_items);
    define(defines, "TILE", self->tile.tile);
    define(defines, "SQUARE", self->tile.square);
    define(defines, "CHUNK", self->arithmetic->chunk);
    define(defines, "BLOCK", correlate->block);
    define(defines, "SCALE_BITS", correlate->input == CT_CI4 ? 8 : 0);
    define(defines, "EXACT", self->arithmetic->most > 0);
    define_type(defines, "INPUT", ct_kernel_type((gint)correlate->input));
    define_type(defines, "OUTPUT", ct_kernel_type((gint)correlate->output));
    define_type(defines, "SUM", self->arithmetic->sum);
    return defines;
}

static CtKernel *
compile_products(const CorrelateDevice *self, GError **error)
{
    const CorrelateTile *tile = &self->tile;
    const gboolean is_mma = tile->arithmetic >= MMA;
    g_autoptr(GPtrArray) defines = common_defines(self);
    define(defines, "DEPTH", tile->depth);
    define(defines, "STAGES", tile->n_stages);
    if (is_mma)
        define(defines, "IS_NIBBLES", self->correlate->input == CT_CI4);
    if (tile->arithmetic < WGMMA) {
        define(defines, "IS_LIMBS", self->correlate->input == CT_CI16);
        define(defines, is_mma ? "WARP_I" : "ROWS", tile->rows);
        define(defines, is_mma ? "WARP_J" : "COLUMNS", tile->columns);
        define(defines, "UNIT_I", tile->unit_i);
        define(defines, "UNIT_J", tile->unit_j);
        define(defines, "N_UNITS", tile->n_units);
        define(defines, "BLOCKS", tile->n_blocks);
    }
    if (!is_mma) {
        define(defines, "LANES_I", tile->lanes_i);
        define(defines, "LANES_J", tile->lanes_j);
        define(defines, "DIRECT", tile->arithmetic == F32);
        define_type(defines, "REAL", self->arithmetic->real);
        define_type(defines, "VOLTAGE", self->arithmetic->voltage);
    }
    if (tile->arithmetic == WGMMA && self->correlate->block > 1)
        return compile(self, "correlate_wgmma_blocks", "wgmma-blocks", defines, error);
    return compile(self, self->arithmetic->kernel, self->arithmetic->source, defines, error);
}

static CtKernel *
compile_keep(const CorrelateDevice *self, GError **error)
{
    g_autoptr(GPtrArray) defines = common_defines(self);
    return compile(self, "correlate_keep", "keep", defines, error);
}

static CtKernel *
compile_fold(const CorrelateDevice *self, GError **error)
{
    g_autoptr(GPtrArray) defines = common_defines(self);
    define_type(defines, "PART", self->arithmetic->part);
    return compile(self, "correlate_fold", "fold", defines, error);
}

static CtKernel *
compile_weights(const CorrelateDevice *self, GError **error)
{
    g_autoptr(GPtrArray) defines = g_ptr_array_new_with_free_func(g_free);
    define(defines, "N_STATIONS", self->correlate->n_stations);
    define(defines, "N_POLS", self->correlate->weights_have_pol ? self->correlate->n_pols : 1);
    define(defines, "ALIKE", ALIKE);
    return compile(self, "correlate_weights", "weights", defines, error);
}

/* ---- prepare ---- */

/* The use that blocks of equal duration make of a device: the average use of its multiprocessors,
 * whose last round may not be full, and whether each has enough blocks to hide latency. Blocks of
 * one warp, of which many fit, also leave schedulers idle in the last of their turns. */
static gdouble
use_of_device(const CorrelateDevice *self, gdouble n_blocks, guint n_at_once)
{
    const guint n_multiprocessors = ct_device_info(self->device)->n_multiprocessors;
    const gdouble each = n_blocks / n_multiprocessors;
    const gdouble rounds = (gdouble)(gint64)(each + 0.999999);
    return each / rounds * MIN(1, rounds / (self->arithmetic->n_turns * n_at_once));
}

/* Chooses whether integrations are divided, and into what chunks, by the predicted rate. */
static void
choose_chunk(CorrelateDevice *self, gint64 max_samples)
{
    const Correlate *correlate = self->correlate;
    const guint n_at_once =
        ct_kernel_occupancy(self->products, self->tile.n_threads, self->tile.shared_bytes);
    const gint64 longest = MIN(max_samples, correlate->integration);
    const gdouble n_blocks = (gdouble)self->n_tiles * (gdouble)correlate->n_items *
                             (gdouble)MAX(1, max_samples / correlate->integration) /
                             self->tile.n_units;
    const gboolean is_exact = self->arithmetic->most > 0;
    const gint chunk = self->arithmetic->chunk;
    const gint64 most_parts = divide_up(longest, is_exact ? 2 * chunk : chunk);
    gdouble best = use_of_device(self, n_blocks, n_at_once);

    self->chunk = 0;
    self->most_ranges =
        (gint64)(PARTS_BYTES / ((gsize)self->n_elements * self->arithmetic->part_bytes));
    if (self->most_ranges < 2)
        return;
    /* Chunks of floating-point sums have a fixed length. */
    for (gint64 n = is_exact ? 2 : most_parts; n > 1 && n <= most_parts; n += 1 + n / 8) {
        const gdouble use = use_of_device(self, n_blocks * (gdouble)n, n_at_once) /
                            (1 + (gdouble)n * self->arithmetic->part_cost / (gdouble)longest);
        if (use <= best)
            continue;
        best = use;
        self->chunk =
            is_exact ? (gint)(divide_up(longest, n * self->tile.depth) * self->tile.depth) : chunk;
    }
    if (is_exact)
        self->chunk = (gint)MIN(self->chunk, self->arithmetic->most);
}

/* Finds groups of items: within a group, all items have the same validity. */
static gboolean
prepare_weights(CorrelateDevice *self, CtPrepare *prepare, GError **error)
{
    const Correlate *correlate = self->correlate;
    const gint64 n_pols = correlate->weights_have_pol ? correlate->n_pols : 1;
    if (!correlate->has_weights)
        return TRUE;
    self->n_lanes = ct_stream_n_lanes(prepare->inputs[0].stream);
    self->n_pairs = correlate->n_baselines * n_pols * n_pols;
    self->n_groups = self->n_alike = 1;
    for (guint a = 0; a < correlate->n_axes; a++)
        *(correlate->axes[a].lane > 0 ? &self->n_groups : &self->n_alike) *=
            correlate->axes[a].length;
    const gsize bytes = (gsize)(self->n_lanes * divide_up(prepare->inputs[0].max_samples, 32)) * 4;
    self->bits = ct_table_new(bytes, 1, "validity", error);
    if (!self->bits)
        return FALSE;
    prepare->upload_bytes = (bytes + 255) / 256 * 256;
    self->weights = compile_weights(self, error);
    for (guint k = 0; k < 2 && self->weights; k++) {
        self->counts[k] = ct_device_alloc(self->device, (gsize)(self->n_groups * self->n_pairs) * 4,
                                          "the counts of weights", error);
        if (!self->counts[k])
            return FALSE;
    }
    return self->weights != NULL;
}

/* With few inputs, memory and unused products limit tensor cores. */
static gdouble
share(const CtNode *nodes, G_GNUC_UNUSED const CtLayout *inputs,
      G_GNUC_UNUSED const CtLayout *outputs)
{
    const CtType type = nodes[0].inputs[0].type;
    const gdouble n = (gdouble)ct_correlate_n_inputs(nodes);
    return type == CT_CF32 || type == CT_CF64 ? 1 : n / (n + 64);
}

static gboolean
differs_if(const CtNode *nodes, gboolean is_split, const gint64 *tuning)
{
    const CorrelateProblem problem = {
        .input = nodes[0].inputs[0].type,
        .output = nodes[0].outputs[0].type,
        .is_split = is_split,
        .n_inputs = ct_correlate_n_inputs(nodes),
    };
    return ct_correlate_tile_differs(&problem, tuning);
}

static gboolean
differs(const CtNode *nodes, const gint64 *tuning)
{
    return differs_if(nodes, FALSE, tuning);
}

static gboolean
split_differs(const CtNode *nodes, const gint64 *tuning)
{
    return differs_if(nodes, TRUE, tuning);
}

/* Sets `memory` to so many bytes for each element of a matrix. */
static gboolean
allocate_matrix(const CorrelateDevice *self, gpointer *memory, guint bytes, const char *what,
                GError **error)
{
    *memory = ct_device_alloc(self->device, (gsize)self->n_elements * bytes, what, error);
    return *memory != NULL;
}

/* Room for the voltages of an unfinished chunk. */
static gboolean
prepare_left(CorrelateDevice *self, GError **error)
{
    const Correlate *correlate = self->correlate;
    const gsize bytes = ct_type_info(correlate->input)->bytes;
    if (!self->arithmetic->keeps_voltages)
        return TRUE;
    self->keep = compile_keep(self, error);
    if (!self->keep)
        return FALSE;
    self->left = ct_device_alloc(
        self->device,
        (gsize)(correlate->n_items * self->arithmetic->chunk * self->n_inputs) * bytes,
        "the voltages of an unfinished sum", error);
    return self->left != NULL;
}

static gboolean
prepare_with(CtPrepare *prepare, gboolean is_split, gpointer *state, GError **error)
{
    CorrelateDevice *self = *state = g_new0(CorrelateDevice, 1);
    Correlate *correlate = self->correlate = ct_correlate_new(prepare);
    self->device = prepare->device;
    self->n_inputs = correlate->n_stations * correlate->n_pols;
    const CorrelateProblem problem = {correlate->input, correlate->output, is_split, self->n_inputs,
                                      correlate->block > 1};
    ct_correlate_tile(&self->tile, &problem, prepare->tuning, ct_device_info(self->device));
    const CorrelateTile *tile = &self->tile;
    self->arithmetic = &ct_correlate_arithmetics[tile->arithmetic];
    self->n_tiles = triangle(divide_up(self->n_inputs, tile->tile));

    const gdouble n_elements =
        (gdouble)self->n_tiles * (gdouble)correlate->n_items * tile->tile * tile->tile;
    const gdouble most = G_MAXINT * (gdouble)MIN(ELEMENT_THREADS, tile->tile * tile->tile);
    if (correlate->n_stations > MOST_STATIONS || n_elements > most) {
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                    "wants at most %d stations and %.0f sums, but is given %" G_GINT64_FORMAT
                    " and %.0f",
                    MOST_STATIONS, most, correlate->n_stations, n_elements);
        return FALSE;
    }
    self->n_elements = self->n_tiles * correlate->n_items * tile->tile * tile->tile;
    self->products = compile_products(self, error);
    if (!self->products)
        return FALSE;
    choose_chunk(self, prepare->inputs[0].max_samples);
    if (self->chunk > 0) {
        self->fold = compile_fold(self, error);
        if (!self->fold)
            return FALSE;
        /* An integration has one part more where a piece begins within a chunk. */
        const gint64 n_ranges = divide_up(prepare->inputs[0].max_samples, self->chunk) + 1 +
                                prepare->inputs[0].max_samples / correlate->integration;
        self->most_ranges = MIN(self->most_ranges, n_ranges);
        prepare->scratch_bytes =
            (gsize)(self->most_ranges * self->n_elements) * self->arithmetic->part_bytes;
    }
    const ArithmeticInfo *info = self->arithmetic;
    return allocate_matrix(self, &self->sums, info->kept_bytes, "the sums of visibilities",
                           error) &&
           (!info->has_open || allocate_matrix(self, &self->open, info->part_bytes,
                                               "the open sums of visibilities", error)) &&
           prepare_left(self, error) && prepare_weights(self, prepare, error);
}

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    return prepare_with(prepare, FALSE, state, error);
}

static gboolean
split_prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    return prepare_with(prepare, TRUE, state, error);
}

/* ---- work ---- */

/* Bit t of a lane's words is set where spectrum t is valid. */
static void
pack_bits(const CorrelateDevice *self, const CtBlock *in, gint64 n_words)
{
    for (gint64 lane = 0; lane < self->n_lanes; lane++) {
        const guint8 *valid = in->validity + lane * in->validity_stride;
        guint32 *words = self->bits + lane * n_words;
        for (gint64 w = 0; w < n_words; w++) {
            const gint64 n = MIN(32, in->n_samples - 32 * w);
            words[w] = 0;
            for (gint64 t = 0; t < n; t++)
                words[w] |= (guint32)(valid[32 * w + t] != 0) << t;
        }
    }
}

static gboolean
count(CorrelateDevice *self, const CtWork *work, GError **error)
{
    const Correlate *correlate = self->correlate;
    const CtBlock *in = &work->inputs[0], *out = &work->outputs[1];
    CorrelateCounting counting = {
        .words = divide_up(in->n_samples, 32),
        .n_spectra = (int)in->n_samples,
        .ended = work->ended,
        .integration = correlate->integration,
        .done = in->index % correlate->integration,
        .before = self->counts[self->turn],
        .after = self->counts[!self->turn],
        .station_lane = correlate->station_lane,
        .pol_lane = correlate->pol_lane,
        .weights = out->data,
        .to_time = stride(out, correlate->weights_time),
        .to_baseline = stride(out, correlate->weights_baseline),
        .to_p = stride(out, correlate->weights_p),
        .to_q = stride(out, correlate->weights_q),
        .n_groups = self->n_groups,
        .n_alike = self->n_alike,
        .n_axes = (int)correlate->n_axes,
    };
    for (guint a = 0; a < correlate->n_axes; a++)
        counting.n_group_axes += correlate->axes[a].lane > 0;
    int of_groups = 0, others = counting.n_group_axes;
    for (guint a = 0; a < correlate->n_axes; a++) {
        const CorrelateAxis *axis = &correlate->axes[a];
        counting.axes[axis->lane > 0 ? of_groups++ : others++] =
            (CorrelatePieceAxis){axis->length, axis->lane, stride(out, axis->weights)};
    }
    if (in->validity) {
        pack_bits(self, in, counting.words);
        counting.valid = ct_queue_upload(work->queue, self->bits,
                                         (gsize)(self->n_lanes * counting.words) * 4, error);
        if (!counting.valid)
            return FALSE;
    }
    self->turn = !self->turn;
    const gint64 n = self->n_pairs * self->n_groups * divide_up(self->n_alike, ALIKE);
    return launch(work, self->weights, divide_up(n, ELEMENT_THREADS), ELEMENT_THREADS, 0,
                  (gpointer[]){&counting}, error);
}

static gboolean
work(gpointer state, const CtWork *work, GError **error)
{
    CorrelateDevice *self = state;
    const CtBlock *in = &work->inputs[0];
    /* At the end of the stream there may be no input, only a sum that is due. */
    if (in->n_samples == 0 && (!work->ended || in->index % self->correlate->integration == 0))
        return TRUE;
    return (!work->outputs[0].data || ct_correlate_pieces(self, work, error)) &&
           (!work->outputs[1].data || count(self, work, error));
}

static void
finish(gpointer state)
{
    CorrelateDevice *self = state;
    if (!self)
        return;
    ct_kernel_free(self->products);
    ct_kernel_free(self->keep);
    ct_kernel_free(self->fold);
    ct_kernel_free(self->weights);
    ct_device_free(self->device, self->sums);
    ct_device_free(self->device, self->open);
    ct_device_free(self->device, self->left);
    for (guint k = 0; k < 2; k++)
        ct_device_free(self->device, self->counts[k]);
    g_free(self->bits);
    ct_correlate_finish(self->correlate);
    g_free(self);
}

#define ROW(types, voltages, visibilities, efficiency)                                             \
    {                                                                                              \
        "any: " types voltages " -> " visibilities "{time baseline ...}, u32{time baseline ...}",  \
            efficiency                                                                             \
    }

/* All but cf32 and cf64 are multiplied by tensor cores. */
#define ROWS(voltages)                                                                             \
    ROW("ci4|ci8", voltages, "cf32|cf64|ci64", 10), ROW("ci16", voltages, "cf32|cf64|ci64", 2),    \
        ROW("cf16", voltages, "cf32", 6), ROW("cf32", voltages, "cf32|cf64", 0.5),                 \
        ROW("cf16", voltages, "cf64", 0.25), ROW("cf64", voltages, "cf32|cf64", 0.25)

/* Time in blocks, of integers of 8 and 4 bits alone: as fast as without. */
#define BLOCKS_ROW(voltages) ROW("ci4|ci8", voltages " time:16]", "cf32|cf64|ci64", 10)

#define SPLIT_ROW(voltages) ROW("cf32", voltages, "cf32", 1.5)

static gboolean
split_fits(const CtNode *nodes, char **reason)
{
    if (ct_params_choice(nodes[0].params, "precision") == CORRELATE_SPLIT)
        return TRUE;
    *reason = g_strdup("it splits voltages, but `precision` is single");
    return FALSE;
}

const CtVariant ct_correlate_cuda = {
    .name = "cuda",
    .backend = CT_CUDA,
    .covers = (const char *const[]){"correlate", NULL},
    .rows =
        (const CtRow[]){
            ROWS("[... time station pol]"),
            ROWS("[time ... station pol]"),
            ROWS("[... time station]"),
            ROWS("[time ... station]"),
            ROWS("[... time beam pol]"),
            ROWS("[time ... beam pol]"),
            ROWS("[... time beam]"),
            ROWS("[time ... beam]"),
            BLOCKS_ROW("[... time station pol"),
            BLOCKS_ROW("[time ... station pol"),
            BLOCKS_ROW("[... time station"),
            BLOCKS_ROW("[time ... station"),
            BLOCKS_ROW("[... time beam pol"),
            BLOCKS_ROW("[time ... beam pol"),
            BLOCKS_ROW("[... time beam"),
            BLOCKS_ROW("[time ... beam"),
            {NULL},
        },
    .share = share,
    .tunables = ct_correlate_tunables,
    .differs = differs,
    .prepare = prepare,
    .work = work,
    .finish = finish,
};

const CtVariant ct_correlate_split_cuda = {
    .name = "split-cuda",
    .backend = CT_CUDA,
    .covers = (const char *const[]){"correlate", NULL},
    .rows =
        (const CtRow[]){
            SPLIT_ROW("[... time station pol]"),
            SPLIT_ROW("[time ... station pol]"),
            SPLIT_ROW("[... time station]"),
            SPLIT_ROW("[time ... station]"),
            SPLIT_ROW("[... time beam pol]"),
            SPLIT_ROW("[time ... beam pol]"),
            SPLIT_ROW("[... time beam]"),
            SPLIT_ROW("[time ... beam]"),
            {NULL},
        },
    .tunables = ct_correlate_tunables,
    .differs = split_differs,
    .fits = split_fits,
    .prepare = split_prepare,
    .work = work,
    .finish = finish,
};
