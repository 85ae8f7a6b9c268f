/* SPDX-License-Identifier: BSD-3-Clause */
/* The beamformer on a device: the choice of a tile, the order of axes in memory, and the launch. */
#include "beamform-device.h"
#include "beamform-tile.h"

typedef struct {
    CtDevice *device;
    Beamform *beamform;
    BeamformTile tile;
    CtKernel *kernel;
    BeamformWeights weights;
    BeamformColumns columns;
    gint64 strides[7 + 3 * (CT_MAX_AXES + 1)]; /* the kernel's argument for a firing */
} State;

/* As in beamform.cu. */
enum { X_TIME, X_STATION, Y_TIME, Y_BEAM, W_BEAM, W_STATION, W_POL, AXES };
enum { X_WIDE = 1, Y_WIDE = 2 };

static CtKernel *
compile(const State *self, GError **error)
{
    const Beamform *beamform = self->beamform;
    const BeamformTile *tile = &self->tile;
    g_autoptr(GPtrArray) defines = g_ptr_array_new_with_free_func(g_free);
    ct_beamform_define_lengths(defines, beamform);
    g_ptr_array_add(defines, g_strdup_printf("VOLTAGE=%s", ct_kernel_type(beamform->type)));
    ct_beamform_define(defines, "VOLTAGE_BYTES", (gint64)ct_type_info(beamform->type)->bytes);
    ct_beamform_define(defines, "IS_FLOAT", beamform->type == CT_CF32);
    ct_beamform_define(defines, "N_STATIONS", beamform->n_stations);
    ct_beamform_define(defines, "N_BEAMS", beamform->n_beams);
    ct_beamform_define(defines, "N_POLS", self->columns.n_pols);
    ct_beamform_define(defines, "POL_WEIGHTS",
                       self->columns.n_pols == 2 && beamform->weights_have_pol);
    ct_beamform_define(defines, "X_PAIRS", self->columns.x_pairs);
    ct_beamform_define(defines, "X_ALONG", beamform->from_time > beamform->from_station);
    ct_beamform_define(defines, "Y_PAIRS", self->columns.y_pairs);
    ct_beamform_define(defines, "Y_BEAMS", self->columns.y_beams);
    ct_beamform_define(defines, "Y_ALONG", beamform->to_time > beamform->to_beam);
    ct_beamform_define(defines, "W_ALONG",
                       !self->weights.quantise &&
                           beamform->weights_beam > beamform->weights_station);
    ct_beamform_define(defines, "TILE_BEAMS", tile->beams);
    ct_beamform_define(defines, "TILE_COLUMNS", tile->columns);
    ct_beamform_define(defines, "THREAD_BEAMS", tile->thread_beams);
    ct_beamform_define(defines, "THREAD_COLUMNS", tile->thread_columns);
    ct_beamform_define(defines, "DEPTH", tile->depth);
    ct_beamform_define(defines, "N_SLABS", tile->n_slabs);
    ct_beamform_define(defines, "N_BLOCKS", tile->n_blocks);
    g_ptr_array_add(defines, NULL);
    return ct_kernel_new(self->device,
                         &(CtKernelSpec){
                             .name = "beamform",
                             .source = "/cornerturn/plugins/beamform/beamform.cu",
                             .defines = (const char *const *)defines->pdata,
                         },
                         error);
}

/* The number of blocks of threads for this many times. */
static gint64
count_blocks(const State *self, gint64 n_times)
{
    return self->columns.n_elements *
           ct_beamform_divide_up(self->beamform->n_beams, self->tile.beams) *
           ct_beamform_divide_up(n_times * self->columns.n_pols, self->tile.columns);
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
    if (!ct_beamform_weights_init(&self->weights, self->device, self->beamform,
                                  &(BeamformFragments){0}, error))
        return FALSE;
    ct_beamform_columns(&self->columns, self->beamform, prepare);
    const BeamformProblem problem = {
        .n_beams = self->beamform->n_beams,
        .has_pol_weights = self->columns.n_pols == 2 && self->beamform->weights_have_pol,
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
    return self->kernel != NULL;
}

/* Fills in the strides; returns which sides may move pairs at once. */
static int
find_strides(State *self, const CtBlock *in, const CtBlock *out)
{
    const Beamform *beamform = self->beamform;
    gint64 *strides = self->strides;
    strides[X_TIME] = ct_beamform_stride(in, beamform->from_time);
    strides[X_STATION] = ct_beamform_stride(in, beamform->from_station);
    strides[Y_TIME] = ct_beamform_stride(out, beamform->to_time);
    strides[Y_BEAM] = ct_beamform_stride(out, beamform->to_beam);

    /* The address of every pair is a sum of these. */
    guint64 x = GPOINTER_TO_SIZE(in->data), y = GPOINTER_TO_SIZE(out->data);
    x |= (guint64)(strides[X_STATION] | strides[X_TIME] * 2 / self->columns.n_pols);
    y |= (guint64)strides[Y_TIME] * (self->columns.y_pairs ? 2 / (guint64)self->columns.n_pols : 1);
    y |= (guint64)strides[Y_BEAM] * (self->columns.y_beams ? 2 : 1);
    const guint step = beamform->n_axes + 1;
    for (guint a = 0; a < beamform->n_axes; a++) {
        const BeamformAxis *axis = &beamform->axes[a];
        strides[AXES + a] = in->stride[axis->from];
        strides[AXES + step + a] = out->stride[axis->to];
        if (axis->length > 1) {
            x |= (guint64)in->stride[axis->from];
            y |= (guint64)out->stride[axis->to];
        }
    }
    const gsize pair = 2 * ct_type_info(beamform->type)->bytes;
    return (!self->columns.x_pairs || x % pair == 0 ? X_WIDE : 0) | (y % 16 == 0 ? Y_WIDE : 0);
}

/* Fills in the strides of the weights; returns their address. */
static gconstpointer
find_weights(State *self, const CtWork *work)
{
    const Beamform *beamform = self->beamform;
    const CtBlock *given = ct_beamform_weights_given(&self->weights, work);
    const gint64 set = beamform->n_beams * beamform->n_stations * 8;
    gint64 *strides = self->strides, *axes = strides + AXES + 2 * (beamform->n_axes + 1);
    const gboolean is_given = !self->weights.quantise;
    strides[W_BEAM] =
        is_given ? ct_beamform_stride(given, beamform->weights_beam) : beamform->n_stations * 8;
    strides[W_STATION] = is_given ? ct_beamform_stride(given, beamform->weights_station) : 8;
    strides[W_POL] = is_given                     ? ct_beamform_stride(given, beamform->weights_pol)
                     : beamform->weights_have_pol ? beamform->n_sets * set
                                                  : 0;
    for (guint a = 0; a < beamform->n_axes; a++)
        axes[a] = is_given ? ct_beamform_stride(given, beamform->axes[a].weights)
                           : beamform->axes[a].set * set;
    return is_given ? given->data : self->weights.quantised;
}

static gboolean
work(gpointer state, const CtWork *work, GError **error)
{
    State *self = state;
    const CtBlock *in = &work->inputs[0], *out = &work->outputs[0];
    if (!out->data)
        return TRUE;
    if (!ct_beamform_weights_update(&self->weights, work, error))
        return FALSE;
    int wide = find_strides(self, in, out);
    int n_times = (int)out->n_samples;
    int n_tiles =
        (int)ct_beamform_divide_up(out->n_samples * self->columns.n_pols, self->tile.columns);
    gconstpointer x = in->data, w = find_weights(self, work), y = out->data;
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
    ct_beamform_weights_free(&self->weights);
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
