/* SPDX-License-Identifier: BSD-3-Clause */
/* The correlator on a device: the choice of a kernel and tile, the division of a firing into
 * pieces, the launches.
 *
 * If integrations are enough parallel work, one block sums each tile of each; otherwise
 * integrations are divided along time, and the sums of the parts are added up afterwards. */
#include "correlate-piece.h"
#include "correlate-tile.h"
#include "correlate.h"

/* The most memory for the sums of parts. */
#define PARTS_BYTES ((gsize)256 << 20)
/* Threads of a block in the kernels with one thread per element. */
#define ELEMENT_THREADS 256
/* Baselines are counted in 32 bits. */
#define MOST_STATIONS 32768
/* Items whose weights one thread writes. */
#define ALIKE 32

typedef struct {
    Correlate *correlate;
    CtDevice *device;
    CorrelateTile tile;
    const ArithmeticInfo *arithmetic;     /* of the tile */
    gint64 n_inputs, n_tiles, n_elements; /* n_elements: of a matrix */
    CtKernel *products, *fold, *weights;
    gint chunk;         /* of a part; 0: integrations are not divided */
    gint64 most_ranges; /* the most ranges of a piece */
    gpointer sums, open;
    gint64 n_summed, n_open; /* integers: spectra of the unfinished integration in each of them */
    gint64 n_lanes, n_groups, n_alike, n_pairs;
    gpointer counts[2]; /* before and after a firing, alternating */
    guint turn;
    guint32 *bits; /* [lane][word], on the host */
} State;

static gint64
divide_up(gint64 n, gint64 by)
{
    return (n + by - 1) / by;
}

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
compile(const State *self, const char *name, const char *source, GPtrArray *defines, GError **error)
{
    static const char *const headers[] = {"/cornerturn/plugins/correlate/correlate-blocks.h",
                                          "/cornerturn/plugins/correlate/correlate-bytes.h",
                                          "/cornerturn/plugins/correlate/correlate-device.h",
                                          "/cornerturn/plugins/correlate/correlate-piece.h",
                                          "/cornerturn/plugins/correlate/correlate-square.h",
                                          "/cornerturn/plugins/correlate/correlate-warpgroup.h",
                                          "/cornerturn/plugins/correlate/correlate-warpgroup-end.h",
                                          NULL};
    g_autofree char *resource =
        g_strdup_printf("/cornerturn/plugins/correlate/correlate-%s.cu", source);
    g_ptr_array_add(defines, NULL);
    return ct_kernel_new(self->device,
                         &(CtKernelSpec){
                             .name = name,
                             .source = resource,
                             .headers = headers,
                             .defines = (const char *const *)defines->pdata,
                             .shared_bytes = self->tile.shared_bytes,
                         },
                         error);
}

/* Definitions for all kernels. */
static GPtrArray *
common_defines(const State *self)
{
    const Correlate *correlate = self->correlate;
    GPtrArray *defines = g_ptr_array_new_with_free_func(g_free);
    define(defines, "N_STATIONS", correlate->n_stations);
    define(defines, "N_POLS", correlate->n_pols);
    define(defines, "N_ITEMS", correlate->n_items);
    define(defines, "TILE", self->tile.tile);
    define(defines, "SQUARE", self->tile.square);
    define(defines, "CHUNK", CHUNK);
    define(defines, "BLOCK", correlate->block);
    define(defines, "SCALE_BITS", correlate->input == CT_CI4 ? 8 : 0);
    define(defines, "EXACT", self->arithmetic->most > 0);
    define_type(defines, "INPUT", ct_kernel_type((gint)correlate->input));
    define_type(defines, "OUTPUT", ct_kernel_type((gint)correlate->output));
    define_type(defines, "SUM", self->arithmetic->sum);
    return defines;
}

static CtKernel *
compile_products(const State *self, GError **error)
{
    const CorrelateTile *tile = &self->tile;
    const gboolean is_mma = tile->arithmetic == MMA || tile->arithmetic == WGMMA;
    g_autoptr(GPtrArray) defines = common_defines(self);
    define(defines, "DEPTH", tile->depth);
    define(defines, "STAGES", tile->n_stages);
    if (is_mma)
        define(defines, "IS_NIBBLES", self->correlate->input == CT_CI4);
    if (tile->arithmetic != WGMMA) {
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
compile_fold(const State *self, GError **error)
{
    g_autoptr(GPtrArray) defines = common_defines(self);
    define_type(defines, "PART", self->arithmetic->part);
    return compile(self, "correlate_fold", "fold", defines, error);
}

static CtKernel *
compile_weights(const State *self, GError **error)
{
    g_autoptr(GPtrArray) defines = g_ptr_array_new_with_free_func(g_free);
    define(defines, "N_STATIONS", self->correlate->n_stations);
    define(defines, "N_POLS", self->correlate->weights_have_pol ? self->correlate->n_pols : 1);
    define(defines, "ALIKE", ALIKE);
    return compile(self, "correlate_weights", "weights", defines, error);
}

/* ---- prepare ---- */

/* The use that blocks of equal duration make of a device: the average use of its multiprocessors,
 * whose last round may not be full, and whether each has enough blocks to hide latency. */
static gdouble
use_of_device(gdouble n_blocks, guint n_multiprocessors, guint n_at_once)
{
    const gdouble each = n_blocks / n_multiprocessors;
    const gdouble rounds = (gdouble)(gint64)(each + 0.999999);
    return each / rounds * MIN(1, 2 * rounds / n_at_once);
}

/* Chooses whether integrations are divided, and into what chunks, by the predicted rate. */
static void
choose_chunk(State *self, gint64 max_samples)
{
    const Correlate *correlate = self->correlate;
    const CtDeviceInfo *info = ct_device_info(self->device);
    const guint n_at_once =
        ct_kernel_occupancy(self->products, self->tile.n_threads, self->tile.shared_bytes);
    const gint64 longest = MIN(max_samples, correlate->integration);
    const gdouble n_blocks = (gdouble)self->n_tiles * (gdouble)correlate->n_items *
                             (gdouble)MAX(1, max_samples / correlate->integration) /
                             self->tile.n_units;
    const gboolean is_exact = self->arithmetic->most > 0;
    const gint64 most_parts = is_exact ? divide_up(longest, 2 * CHUNK) : divide_up(longest, CHUNK);
    gdouble best = use_of_device(n_blocks, info->n_multiprocessors, n_at_once);

    self->chunk = 0;
    self->most_ranges =
        (gint64)(PARTS_BYTES / ((gsize)self->n_elements * self->arithmetic->part_bytes));
    if (self->most_ranges < 2)
        return;
    /* Chunks of floating-point sums have a fixed length. */
    for (gint64 n = is_exact ? 2 : most_parts; n > 1 && n <= most_parts; n += 1 + n / 8) {
        const gdouble use =
            use_of_device(n_blocks * (gdouble)n, info->n_multiprocessors, n_at_once) /
            (1 + (gdouble)n * self->arithmetic->part_cost / (gdouble)longest);
        if (use <= best)
            continue;
        best = use;
        self->chunk =
            is_exact ? (gint)(divide_up(longest, n * self->tile.depth) * self->tile.depth) : CHUNK;
    }
    if (is_exact)
        self->chunk = (gint)MIN(self->chunk, self->arithmetic->most);
}

/* Finds groups of items: within a group, all items have the same validity. */
static gboolean
prepare_weights(State *self, CtPrepare *prepare, GError **error)
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
    return type == CT_CI8 || type == CT_CI4 ? n / (n + 64) : 1;
}

static gboolean
differs(const CtNode *nodes, const gint64 *tuning)
{
    return ct_correlate_tile_differs(nodes[0].inputs[0].type, nodes[0].outputs[0].type,
                                     ct_correlate_n_inputs(nodes), tuning);
}

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    State *self = *state = g_new0(State, 1);
    Correlate *correlate = self->correlate = ct_correlate_new(prepare);
    self->device = prepare->device;
    self->n_inputs = correlate->n_stations * correlate->n_pols;
    ct_correlate_tile(&self->tile, correlate->input, correlate->output, self->n_inputs,
                      correlate->block > 1, prepare->tuning, ct_device_info(self->device));
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
    const gsize kept = (gsize)self->n_elements * self->arithmetic->kept_bytes;
    self->sums = ct_device_alloc(self->device, kept, "the sums of visibilities", error);
    if (!self->sums)
        return FALSE;
    if (self->arithmetic->has_open) {
        const gsize open = (gsize)self->n_elements * self->arithmetic->part_bytes;
        self->open = ct_device_alloc(self->device, open, "the open sums of visibilities", error);
        if (!self->open)
            return FALSE;
    }
    return prepare_weights(self, prepare, error);
}

/* ---- work ---- */

static gint64
stride(const CtBlock *block, gint axis)
{
    return axis < 0 ? 0 : block->stride[axis];
}

/* Describes all of the piece but time: strides and alignments. */
static void
describe(const State *self, const CtWork *work, CorrelatePiece *piece)
{
    const Correlate *correlate = self->correlate;
    const CtBlock *in = &work->inputs[0], *out = &work->outputs[0];
    const gint64 in_bytes = (gint64)ct_type_info(correlate->input)->bytes * correlate->block;
    const gint64 out_bytes = (gint64)ct_type_info(correlate->output)->bytes;
    *piece = (CorrelatePiece){
        .from_time = stride(in, correlate->from_time),
        .from_station = stride(in, correlate->from_station),
        .from_pol = stride(in, correlate->from_pol),
        .to_time = stride(out, correlate->to_time),
        .to_baseline = stride(out, correlate->to_baseline),
        .to_p = stride(out, correlate->to_p),
        .to_q = stride(out, correlate->to_q),
        .n_axes = (int)correlate->n_axes,
        .integration = correlate->integration,
        .sums = self->sums,
        .open = self->open,
    };
    gint64 from = (gint64)GPOINTER_TO_SIZE(in->data) | piece->from_time | self->n_inputs * in_bytes;
    gint64 to = (gint64)GPOINTER_TO_SIZE(out->data) | piece->to_time | piece->to_baseline;
    for (guint a = 0; a < correlate->n_axes; a++) {
        const CorrelateAxis *axis = &correlate->axes[a];
        piece->axes[a] =
            (CorrelatePieceAxis){axis->length, in->stride[axis->from], out->stride[axis->to]};
        if (axis->length > 1) {
            from |= in->stride[axis->from];
            to |= out->stride[axis->to];
        }
    }
    const gboolean is_contiguous =
        (correlate->n_pols == 1 || piece->from_pol == in_bytes) &&
        (correlate->n_stations == 1 || piece->from_station == correlate->n_pols * in_bytes);
    for (int width = 16; is_contiguous && piece->width == 0 && width >= 4; width /= 2)
        piece->width = from % width == 0 ? width : 0;
    piece->are_packed = correlate->n_pols == 2 && piece->to_q == out_bytes &&
                        piece->to_p == 2 * out_bytes && to % 16 == 0;
}

/* The number of ranges of `n` spectra, if the first integration already has `done`. */
static gint64
count_ranges(const State *self, gint64 done, gint64 n)
{
    const gint64 integration = self->correlate->integration;
    if (self->chunk == 0)
        return divide_up(done + n, integration);
    const gint64 whole = (done + n) / integration, rest = (done + n) % integration;
    return whole * divide_up(integration, self->chunk) + divide_up(rest, self->chunk) -
           done / self->chunk;
}

/* The number of `n` spectra that a piece may have. */
static gint64
limit_piece(const State *self, gint64 done, gint64 n)
{
    const gint64 integration = self->correlate->integration;
    const gint64 most = self->arithmetic->most;
    n = MIN(n, 1 << 30);
    /* An integration begun earlier is a piece of its own. */
    if (done > 0)
        n = MIN(n, integration - done);
    if (self->chunk == 0) {
        if (most > 0 && integration > most)
            n = MIN(n, most);
        /* The number of blocks of a launch is limited. */
        const gint64 most_ranges = G_MAXINT / self->n_tiles / self->correlate->n_items;
        return n / integration < most_ranges ? n : most_ranges * integration;
    }
    if (count_ranges(self, done, n) <= self->most_ranges)
        return n;
    const gint64 n_chunks = divide_up(integration, self->chunk);
    if (done == 0 && n_chunks <= self->most_ranges)
        return self->most_ranges / n_chunks * integration;
    return self->most_ranges * self->chunk - done % self->chunk;
}

static gboolean
launch(const CtWork *work, const CtKernel *kernel, gint64 n_blocks, guint n_threads, gsize shared,
       gpointer *arguments, GError **error)
{
    const CtLaunch launch = {
        .grid = {(guint)n_blocks, 1, 1}, .block = {n_threads, 1, 1}, .shared_bytes = shared};
    return ct_queue_launch(work->queue, kernel, &launch, arguments, error);
}

/* Decides where the sums of integers are that the piece goes on with, and where those are kept that
 * it leaves unfinished: with the open ones as long as these fit 32 bits. Parts of 32 bits are added
 * up in 64. */
static void
carry_sums(State *self, CorrelatePiece *piece)
{
    if (piece->done == 0)
        self->n_summed = self->n_open = 0;
    piece->adds_sums = self->n_summed > 0;
    piece->adds_open = self->n_open > 0;
    const gint64 last = piece->done + piece->n_spectra;
    const gint64 unfinished = piece->ended ? 0 : last % piece->integration;
    const gint64 open = self->n_open + MIN(unfinished, piece->n_spectra);
    piece->keeps_open =
        self->arithmetic->has_open && !piece->parts && open < self->arithmetic->most;
    self->n_open = piece->keeps_open && unfinished > 0 ? open : 0;
    self->n_summed = unfinished - self->n_open;
}

static gboolean
correlate_piece(State *self, const CtWork *work, CorrelatePiece *piece, GError **error)
{
    const gint64 n_integrations = divide_up(piece->done + piece->n_spectra, piece->integration);
    /* Integrations of one part need no sums of parts. */
    piece->chunk = self->chunk;
    piece->n_ranges = (int)count_ranges(self, piece->done, piece->n_spectra);
    piece->parts = NULL;
    if (self->chunk > 0 && piece->n_ranges > n_integrations)
        piece->parts = work->scratch;
    else
        piece->n_ranges = (int)n_integrations;
    carry_sums(self, piece);
    const gint64 n_units = self->n_tiles * self->correlate->n_items * piece->n_ranges;
    gint64 n_blocks = divide_up(n_units, self->tile.n_units);
    if (self->tile.multiprocessor_blocks > 0)
        n_blocks = MIN(n_blocks, (gint64)self->tile.multiprocessor_blocks *
                                     ct_device_info(self->device)->n_multiprocessors);
    if (!launch(work, self->products, n_blocks, self->tile.n_threads, self->tile.shared_bytes,
                (gpointer[]){piece}, error))
        return FALSE;
    int n = (int)n_integrations;
    return !piece->parts ||
           launch(work, self->fold, divide_up(self->n_elements * n_integrations, ELEMENT_THREADS),
                  ELEMENT_THREADS, 0, (gpointer[]){piece, &n}, error);
}

static gboolean
correlate(State *self, const CtWork *work, GError **error)
{
    const CtBlock *in = &work->inputs[0];
    const guint8 *voltages = in->data;
    guint8 *visibilities = work->outputs[0].data;
    const gint64 block = self->correlate->block;
    const gint64 lead = (in->index + self->correlate->before_sums) % block;
    gint64 done = in->index % self->correlate->integration;
    CorrelatePiece piece;

    describe(self, work, &piece);
    gint64 t = 0, n;
    do {
        n = limit_piece(self, done, in->n_samples - t);
        piece.voltages = voltages + (lead + t) / block * piece.from_time;
        piece.lead = (int)((lead + t) % block);
        piece.visibilities = visibilities;
        piece.n_spectra = (int)n;
        piece.done = done;
        piece.ended = work->ended && t + n == in->n_samples;
        if (!correlate_piece(self, work, &piece, error))
            return FALSE;
        visibilities += (done + n) / piece.integration * piece.to_time;
        done = (done + n) % piece.integration;
        t += n;
    } while (t < in->n_samples);
    return TRUE;
}

/* Bit t of a lane's words is set where spectrum t is valid. */
static void
pack_bits(const State *self, const CtBlock *in, gint64 n_words)
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
count(State *self, const CtWork *work, GError **error)
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
    State *self = state;
    const CtBlock *in = &work->inputs[0];
    /* At the end of the stream there may be no input, only a sum that is due. */
    if (in->n_samples == 0 && (!work->ended || in->index % self->correlate->integration == 0))
        return TRUE;
    return (!work->outputs[0].data || correlate(self, work, error)) &&
           (!work->outputs[1].data || count(self, work, error));
}

static void
finish(gpointer state)
{
    State *self = state;
    if (!self)
        return;
    ct_kernel_free(self->products);
    ct_kernel_free(self->fold);
    ct_kernel_free(self->weights);
    ct_device_free(self->device, self->sums);
    ct_device_free(self->device, self->open);
    for (guint k = 0; k < 2; k++)
        ct_device_free(self->device, self->counts[k]);
    g_free(self->bits);
    ct_correlate_finish(self->correlate);
    g_free(self);
}

#define ROW(types, voltages, efficiency)                                                           \
    {                                                                                              \
        "any: " types voltages " -> cf32|cf64|ci64{time baseline ...}, u32{time baseline ...}",    \
            efficiency                                                                             \
    }

/* Integers are multiplied by tensor cores. */
#define ROWS(voltages)                                                                             \
    ROW("ci4|ci8", voltages, 10), ROW("cf32", voltages, 0.5), ROW("ci16|cf64", voltages, 0.25)

/* Time in blocks, for kernels on tensor cores alone: as fast as without. */
#define BLOCKS_ROW(voltages) ROW("ci4|ci8", voltages " time:16]", 10)

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
