/* SPDX-License-Identifier: BSD-3-Clause */
/* The beamformer on a device: the choice of a tile, the order of axes in memory, and the launch. */
#include "beamform-tile.h"
#include "beamform.h"

typedef struct {
    CtDevice *device;
    Beamform *beamform;
    BeamformTile tile;
    CtKernel *kernel;
    gpointer file;      /* weights on the device; NULL: they come from the port */
    gint64 column_pols; /* polarisations in the columns: 1 or 2 */
    gboolean x_pairs;   /* neighbouring columns are contiguous, in the voltages and in the sums */
    gboolean y_pairs;
    gboolean y_beams;  /* neighbouring beams are contiguous in the sums */
    gint64 n_elements; /* of the axes that pass through and are not columns */
    gint64 strides[7 + 3 * (CT_MAX_AXES + 1)]; /* the kernel's argument for a firing */
} State;

/* As in beamform.cu. */
enum { X_TIME, X_STATION, Y_TIME, Y_BEAM, W_BEAM, W_STATION, W_POL, AXES };
enum { X_WIDE = 1, Y_WIDE = 2 };

/* Polarisations that are innermost on both sides are columns; others pass through. */
static void
find_columns(State *self, const CtPrepare *prepare)
{
    Beamform *beamform = self->beamform;
    const gint in_last = (gint)prepare->inputs[0].layout.n_axes - 1;
    const gint out_last = (gint)prepare->outputs[0].layout.n_axes - 1;
    self->column_pols = 1;
    if (beamform->from_pol == in_last && beamform->to_pol == out_last && beamform->n_pols == 2) {
        self->column_pols = 2;
    } else if (beamform->from_pol >= 0) {
        beamform->axes[beamform->n_axes++] = (BeamformAxis){
            .length = beamform->n_pols,
            .from = (guint)beamform->from_pol,
            .to = (guint)beamform->to_pol,
            .weights = beamform->weights_pol,
        };
    }
    self->x_pairs = self->column_pols == 2 || beamform->from_time == in_last;
    self->y_pairs = self->column_pols == 2 || beamform->to_time == out_last;
    self->y_beams = !self->y_pairs && beamform->to_beam == out_last;
    self->n_elements = 1;
    for (guint a = 0; a < beamform->n_axes; a++)
        self->n_elements *= beamform->axes[a].length;
}

static void
define(GPtrArray *defines, const char *name, gint64 value)
{
    g_ptr_array_add(defines, g_strdup_printf("%s=%" G_GINT64_FORMAT, name, value));
}

static CtKernel *
compile(const State *self, GError **error)
{
    const Beamform *beamform = self->beamform;
    const BeamformTile *tile = &self->tile;
    g_autoptr(GPtrArray) defines = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GString) lengths = g_string_new("LENGTHS=");
    for (guint a = 0; a < beamform->n_axes; a++)
        g_string_append_printf(lengths, "%" G_GINT64_FORMAT ",", beamform->axes[a].length);
    g_ptr_array_add(defines, g_strdup(lengths->str));
    g_ptr_array_add(defines, g_strdup_printf("VOLTAGE=%s", ct_kernel_type(beamform->type)));
    define(defines, "VOLTAGE_BYTES", (gint64)ct_type_info(beamform->type)->bytes);
    define(defines, "IS_FLOAT", beamform->type == CT_CF32);
    define(defines, "N_STATIONS", beamform->n_stations);
    define(defines, "N_BEAMS", beamform->n_beams);
    define(defines, "N_POLS", self->column_pols);
    define(defines, "POL_WEIGHTS", self->column_pols == 2 && beamform->weights_have_pol);
    define(defines, "N_AXES", beamform->n_axes);
    define(defines, "X_PAIRS", self->x_pairs);
    define(defines, "X_ALONG", beamform->from_time > beamform->from_station);
    define(defines, "Y_PAIRS", self->y_pairs);
    define(defines, "Y_BEAMS", self->y_beams);
    define(defines, "Y_ALONG", beamform->to_time > beamform->to_beam);
    define(defines, "W_ALONG", beamform->weights_beam > beamform->weights_station);
    define(defines, "TILE_BEAMS", tile->beams);
    define(defines, "TILE_COLUMNS", tile->columns);
    define(defines, "THREAD_BEAMS", tile->thread_beams);
    define(defines, "THREAD_COLUMNS", tile->thread_columns);
    define(defines, "DEPTH", tile->depth);
    define(defines, "STEPS", tile->n_steps);
    define(defines, "N_SLABS", tile->n_slabs);
    define(defines, "N_BLOCKS", tile->n_blocks);
    g_ptr_array_add(defines, NULL);
    return ct_kernel_new(self->device,
                         &(CtKernelSpec){
                             .name = "beamform",
                             .source = "/cornerturn/plugins/beamform/beamform.cu",
                             .defines = (const char *const *)defines->pdata,
                         },
                         error);
}

/* Weights of a file are sent to the device once. */
static gboolean
send_file(State *self, GError **error)
{
    const CtNpyArray *file = self->beamform->file;
    if (!file)
        return TRUE;
    const gsize bytes = file->n_items * 8;
    self->file = ct_device_alloc(self->device, bytes, "weights", error);
    if (!self->file || !ct_device_upload(self->device, self->file, file->data, bytes, error))
        return FALSE;
    self->beamform->file_block.data = self->file;
    g_clear_pointer(&self->beamform->file, ct_npy_array_free);
    return TRUE;
}

static gint64
count_tiles(gint64 n, gint64 tile)
{
    return (n + tile - 1) / tile;
}

/* The number of blocks of threads for this many times. */
static gint64
count_blocks(const State *self, gint64 n_times)
{
    return self->n_elements * count_tiles(self->beamform->n_beams, self->tile.beams) *
           count_tiles(n_times * self->column_pols, self->tile.columns);
}

/* Whether weights differ between polarisations is not known yet; it matters little. */
static gboolean
differs(const CtNode *nodes, const gint64 *tuning)
{
    const BeamformProblem problem = {
        .n_beams = ct_stream_length(&nodes[0].outputs[0], "beam"),
        .is_float = nodes[0].inputs[0].type == CT_CF32,
    };
    return ct_beamform_tile_differs(&problem, tuning);
}

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    State *self = *state = g_new0(State, 1);
    self->device = prepare->device;
    self->beamform = ct_beamform_new(prepare, error);
    if (!self->beamform)
        return FALSE;
    find_columns(self, prepare);
    const BeamformProblem problem = {
        .n_beams = self->beamform->n_beams,
        .has_pol_weights = self->column_pols == 2 && self->beamform->weights_have_pol,
        .is_float = self->beamform->type == CT_CF32,
    };
    ct_beamform_tile(&self->tile, &problem, prepare->tuning);
    if (count_blocks(self, prepare->outputs[0].max_samples) > G_MAXINT) {
        g_set_error(
            error, CT_ERROR, CT_ERROR_SHAPE,
            "wants firings of at most %d tiles of %u × %u sums, but is given %" G_GINT64_FORMAT
            " samples",
            G_MAXINT, self->tile.beams, self->tile.columns, prepare->outputs[0].max_samples);
        return FALSE;
    }
    self->kernel = compile(self, error);
    return self->kernel && send_file(self, error);
}

static gint64
stride(const CtBlock *block, gint axis)
{
    return axis < 0 ? 0 : block->stride[axis];
}

/* Fills in the strides; returns which sides may move pairs at once. */
static int
find_strides(State *self, const CtBlock *in, const CtBlock *weights, const CtBlock *out)
{
    const Beamform *beamform = self->beamform;
    gint64 *strides = self->strides;
    strides[X_TIME] = stride(in, beamform->from_time);
    strides[X_STATION] = stride(in, beamform->from_station);
    strides[Y_TIME] = stride(out, beamform->to_time);
    strides[Y_BEAM] = stride(out, beamform->to_beam);
    strides[W_BEAM] = stride(weights, beamform->weights_beam);
    strides[W_STATION] = stride(weights, beamform->weights_station);
    strides[W_POL] = stride(weights, beamform->weights_pol);

    /* The address of every pair is a sum of these. */
    guint64 x = GPOINTER_TO_SIZE(in->data), y = GPOINTER_TO_SIZE(out->data);
    x |= (guint64)(strides[X_STATION] | strides[X_TIME] * 2 / self->column_pols);
    y |= (guint64)strides[Y_TIME] * (self->y_pairs ? 2 / (guint64)self->column_pols : 1);
    y |= (guint64)strides[Y_BEAM] * (self->y_beams ? 2 : 1);
    const guint step = beamform->n_axes + 1;
    for (guint a = 0; a < beamform->n_axes; a++) {
        const BeamformAxis *axis = &beamform->axes[a];
        strides[AXES + a] = in->stride[axis->from];
        strides[AXES + step + a] = out->stride[axis->to];
        strides[AXES + 2 * step + a] = stride(weights, axis->weights);
        if (axis->length > 1) {
            x |= (guint64)in->stride[axis->from];
            y |= (guint64)out->stride[axis->to];
        }
    }
    const gsize pair = 2 * ct_type_info(beamform->type)->bytes;
    return (!self->x_pairs || x % pair == 0 ? X_WIDE : 0) | (y % 16 == 0 ? Y_WIDE : 0);
}

static gboolean
work(gpointer state, const CtWork *work, GError **error)
{
    State *self = state;
    const CtBlock *in = &work->inputs[0], *out = &work->outputs[0];
    const CtBlock *weights = self->file ? &self->beamform->file_block : &work->inputs[1];
    if (!out->data)
        return TRUE;
    int wide = find_strides(self, in, weights, out);
    int n_times = (int)out->n_samples;
    int n_tiles = (int)count_tiles(out->n_samples * self->column_pols, self->tile.columns);
    gconstpointer x = in->data, w = weights->data, y = out->data;
    const CtLaunch launch = {
        .grid = {(guint)count_blocks(self, out->n_samples), 1, 1},
        .block = {self->tile.n_threads, 1, 1},
    };
    return ct_queue_launch(work->queue, self->kernel, &launch,
                           (gpointer[]){&x, &w, &y, &n_times, &n_tiles, &wide, self->strides},
                           error);
}

static void
finish(gpointer state)
{
    State *self = state;
    if (!self)
        return;
    ct_kernel_free(self->kernel);
    ct_device_free(self->device, self->file);
    ct_beamform_finish(self->beamform);
    g_free(self);
}

#define ROW(voltages, beams, efficiency)                                                           \
    {                                                                                              \
        "any: ci4|ci8|ci16|cf32" voltages ", cf32{beam station ...} -> cf32" beams, efficiency     \
    }

/* A row for each order of the output. */
#define ROWS(voltages)                                                                             \
    ROW(voltages " pol]", "[... time beam pol]", 0.65),                                            \
        ROW(voltages " pol]", "[time ... beam pol]", 0.65),                                        \
        ROW(voltages " pol]", "[... beam time pol]", 0.65),                                        \
        ROW(voltages "]", "[... time beam]", 0.65), ROW(voltages "]", "[time ... beam]", 0.65),    \
        ROW(voltages "]", "[... beam time]", 0.65)

const CtVariant ct_beamform_cuda = {
    .name = "cuda",
    .backend = CT_CUDA,
    .covers = (const char *const[]){"beamform", NULL},
    .rows =
        (const CtRow[]){
            ROWS("[... time station"),
            ROWS("[time ... station"),
            ROWS("[... station time"),
            ROW("[... station pol time]", "[... beam pol time]", 0.7),
            ROW("{time station ...}", "{time beam ...}", 0.1),
            {NULL},
        },
    .tunables = ct_beamform_tunables,
    .differs = differs,
    .prepare = prepare,
    .work = work,
    .finish = finish,
};
