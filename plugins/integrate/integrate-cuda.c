/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums along time on a device: the division into cells, unfinished cells, the launches. */
#include "integrate.h"

#include <string.h>

/* As in integrate.cu. */
#define ROW_THREADS   256
#define STAGE_THREADS 128
#define SUM_THREADS   256

/* Fast numbers with fewer bytes are staged in shared memory. */
#define STAGED_BYTES 64
/* Threads that keep a device busy. */
#define MANY_THREADS (1 << 17)

/* The kernels' argument. */
typedef struct {
    gint64 position;
    gint32 n_samples;
    guint32 first_cell, n_cells, n_complete, ended, n_lanes;
    gint64 strides[2 + 2 * (CT_MAX_AXES + 1)]; /* of time; of the axes; of input and output */
} Firing;

typedef struct {
    gconstpointer before;
    gpointer after, cells, y;
    gconstpointer counts;
} Cells;

typedef struct {
    CtDevice *device;
    Integrate *integrate;
    gint64 n_fast, n_numbers; /* numbers inside time, and all numbers */
    gint64 cell;              /* samples of a cell; the last cell of a sum may have fewer */
    gint64 n_cells;           /* of a sum */
    guint n_partials;         /* partial sums, to which its cells are added */
    gboolean is_staged;
    CtKernel *rows, *stage, *sums, *weights; /* NULL: not needed */
    gpointer carried[2];  /* [number]: the unfinished cell, before and after a firing */
    gpointer partials[2]; /* [partial sum][number] */
    guint carry, partial; /* index of those before the firing */
} State;

/* ---- sizes ---- */

/* The largest power of two that is at most `x`, at least 1. */
static guint
power_below(gint64 x)
{
    guint power = 1;
    while (2 * (gint64)power <= x)
        power *= 2;
    return power;
}

/* Cells are long if there are many numbers; with few, short cells give enough parallel work. */
static void
choose_cells(State *self)
{
    const Integrate *integrate = self->integrate;
    self->n_fast = integrate->n_fast * integrate->n_parts;
    self->n_numbers = self->n_fast * integrate->n_groups;
    self->is_staged = self->n_fast * (gint64)integrate->part_bytes < STAGED_BYTES;
    const gint64 most = self->is_staged                       ? 256 / (gint64)integrate->part_bytes
                        : self->n_numbers >= 2 * MANY_THREADS ? 1024
                        : self->n_numbers >= MANY_THREADS / 2 ? 256
                                                              : 64;
    self->n_cells = (integrate->integration + most - 1) / most;
    self->cell = (integrate->integration + self->n_cells - 1) / self->n_cells;
    self->n_cells = (integrate->integration + self->cell - 1) / self->cell;

    /* A warp of integrate_sums reads neighbouring numbers. */
    const guint side = MIN(32, power_below(2 * self->n_numbers - 1));
    const guint wanted = MIN(power_below(MANY_THREADS / self->n_numbers), SUM_THREADS / side);
    self->n_partials = MIN(wanted, power_below(2 * self->n_cells - 1));
}

/* An upper bound of the cells that a firing of `n_samples` adds to, including the one begun
 * before. */
static gint64
most_cells(const State *self, gint64 n_samples)
{
    return n_samples / self->cell + n_samples / self->integrate->integration + 3;
}

/* ---- prepare ---- */

static void
define(GPtrArray *defines, const char *name, gint64 value)
{
    g_ptr_array_add(defines, g_strdup_printf("%s=%" G_GINT64_FORMAT, name, value));
}

static GPtrArray *
list_defines(const State *self)
{
    const Integrate *integrate = self->integrate;
    GPtrArray *defines = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GString) lengths = g_string_new("LENGTHS=");
    g_autoptr(GString) steps = g_string_new("STEPS=");
    for (guint a = 0; a < integrate->n_axes; a++) {
        g_string_append_printf(lengths, "%" G_GINT64_FORMAT ",", integrate->axes[a].length);
        g_string_append_printf(steps, "%" G_GINT64_FORMAT ",", integrate->axes[a].lane);
    }
    g_ptr_array_add(defines, g_strdup(lengths->str));
    g_ptr_array_add(defines, g_strdup(steps->str));
    g_ptr_array_add(defines,
                    g_strdup(integrate->part_bytes == 4 ? "NUMBER=float" : "NUMBER=double"));
    define(defines, "PARTS", integrate->n_parts);
    define(defines, "INTEGRATION", integrate->integration);
    define(defines, "CELL", self->cell);
    define(defines, "AVERAGES", integrate->averages);
    define(defines, "N_FAST", self->n_fast);
    define(defines, "N_NUMBERS", self->n_numbers);
    define(defines, "N_AXES", integrate->n_axes);
    define(defines, "N_PARTIALS", self->n_partials);
    define(defines, "IS_STAGED", self->is_staged);
    g_ptr_array_add(defines, NULL);
    return defines;
}

static gboolean
compile(const State *self, const GPtrArray *defines, const char *name, CtKernel **kernel,
        GError **error)
{
    *kernel = ct_kernel_new(self->device,
                            &(CtKernelSpec){
                                .name = name,
                                .source = "/cornerturn/plugins/integrate/integrate.cu",
                                .defines = (const char *const *)defines->pdata,
                            },
                            error);
    return *kernel != NULL;
}

static gboolean
compile_all(State *self, GError **error)
{
    g_autoptr(GPtrArray) defines = list_defines(self);
    return compile(self, defines, "integrate_rows", &self->rows, error) &&
           (!self->is_staged || compile(self, defines, "integrate_stage", &self->stage, error)) &&
           (self->n_cells == 1 || compile(self, defines, "integrate_sums", &self->sums, error)) &&
           (self->integrate->weights_time < 0 ||
            compile(self, defines, "integrate_weights", &self->weights, error));
}

static gboolean
allocate(State *self, GError **error)
{
    const gsize bytes = (gsize)self->n_numbers * sizeof(gdouble);
    for (guint i = 0; i < 2; i++) {
        self->carried[i] = ct_device_alloc(self->device, bytes, "unfinished sums", error);
        if (!self->carried[i])
            return FALSE;
        if (self->n_cells == 1)
            continue;
        self->partials[i] =
            ct_device_alloc(self->device, bytes * self->n_partials, "unfinished sums", error);
        if (!self->partials[i])
            return FALSE;
    }
    return TRUE;
}

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    State *self = *state = g_new0(State, 1);
    self->device = prepare->device;
    self->integrate = ct_integrate_new(prepare, NULL, error);
    if (!self->integrate)
        return FALSE;
    choose_cells(self);
    const gint64 n_cells = most_cells(self, prepare->inputs[0].max_samples);
    if (self->n_numbers > G_MAXINT / n_cells) {
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                    "wants firings of fewer samples than %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT
                    " numbers",
                    prepare->inputs[0].max_samples, self->n_numbers);
        return FALSE;
    }
    if (self->n_cells > 1)
        prepare->scratch_bytes = (gsize)(n_cells * self->n_numbers) * sizeof(gdouble);
    prepare->upload_bytes =
        (gsize)(self->integrate->max_sums * self->integrate->n_lanes) * sizeof(guint32);
    prepare->n_items = 1;
    return compile_all(self, error) && allocate(self, error);
}

/* ---- work ---- */

/* The range of cells of a firing. */
static Firing
find_firing(const State *self, const CtWork *work)
{
    const Integrate *integrate = self->integrate;
    const CtBlock *in = &work->inputs[0], *out = &work->outputs[0];
    const gint64 integration = integrate->integration;
    Firing firing = {
        .position = in->index % integration,
        .n_samples = (gint32)in->n_samples,
        .ended = work->ended,
        .n_lanes = (guint32)integrate->n_lanes,
    };
    const gint64 begin = firing.position, end = begin + in->n_samples;
    /* Cells that begin before the end, counted from the first cell of the first sum; and complete
     * ones. */
    const gint64 begun =
        end / integration * self->n_cells + (end % integration + self->cell - 1) / self->cell;
    const gint64 done = end / integration * self->n_cells + end % integration / self->cell;
    firing.first_cell = (guint32)(begin / self->cell);
    firing.n_cells = (guint32)(begun - firing.first_cell);
    firing.n_complete = work->ended ? firing.n_cells : (guint32)(done - firing.first_cell);

    firing.strides[0] = in->stride[integrate->in_time];
    firing.strides[1] = out->stride[integrate->out_time];
    const guint step = integrate->n_axes + 1;
    for (guint a = 0; a < integrate->n_axes; a++) {
        firing.strides[2 + a] = in->stride[integrate->axes[a].in];
        firing.strides[2 + step + a] = out->stride[integrate->axes[a].out];
    }
    return firing;
}

/* Whether the fast numbers of consecutive times are contiguous. */
static gboolean
is_stretch(const State *self, const CtBlock *in)
{
    const Integrate *integrate = self->integrate;
    gint64 bytes = (gint64)(integrate->n_parts * integrate->part_bytes);
    for (guint a = integrate->n_axes; a-- > integrate->n_slow;) {
        if (integrate->axes[a].length > 1 && in->stride[integrate->axes[a].in] != bytes)
            return FALSE;
        bytes *= integrate->axes[a].length;
    }
    return in->stride[integrate->in_time] == bytes;
}

static gboolean
launch_cells(const State *self, const CtWork *work, Firing *firing, Cells *cells, GError **error)
{
    gconstpointer x = work->inputs[0].data;
    if (!self->is_staged || !is_stretch(self, &work->inputs[0])) {
        const gint64 n_threads = self->n_numbers * firing->n_cells;
        const CtLaunch launch = {
            .grid = {(guint)((n_threads + ROW_THREADS - 1) / ROW_THREADS), 1, 1},
            .block = {ROW_THREADS, 1, 1},
        };
        return ct_queue_launch(work->queue, self->rows, &launch, (gpointer[]){&x, cells, firing},
                               error);
    }
    const guint most = STAGE_THREADS / (guint)self->n_fast;
    guint block_cells = CLAMP(firing->n_cells, 1, most);
    guint block_groups = most / block_cells;
    const gint64 n_groups = (self->integrate->n_groups + block_groups - 1) / block_groups;
    const gint64 n_spans = (firing->n_cells + block_cells - 1) / block_cells;
    const CtLaunch launch = {
        .grid = {(guint)(n_groups * n_spans), 1, 1},
        .block = {STAGE_THREADS, 1, 1},
    };
    return ct_queue_launch(work->queue, self->stage, &launch,
                           (gpointer[]){&x, cells, firing, &block_cells, &block_groups}, error);
}

static gboolean
launch_sums(const State *self, const CtWork *work, Firing *firing, const Cells *cells,
            GError **error)
{
    /* The sums of complete cells, and the sum that ends here without any cell of this firing. */
    const gint64 done = firing->first_cell + (gint64)firing->n_complete;
    const gint64 n_sums = (done + self->n_cells - 1) / self->n_cells;
    const gint64 n_numbers = SUM_THREADS / self->n_partials;
    const CtLaunch launch = {
        .grid = {(guint)(n_sums * ((self->n_numbers + n_numbers - 1) / n_numbers)), 1, 1},
        .block = {SUM_THREADS, 1, 1},
    };
    gconstpointer before = self->partials[self->partial];
    gpointer after = self->partials[1 - self->partial];
    return ct_queue_launch(work->queue, self->sums, &launch,
                           (gpointer[]){(gpointer)&cells->cells, &before, &after,
                                        (gpointer)&cells->y, (gpointer)&cells->counts, firing},
                           error);
}

static gboolean
launch_weights(const State *self, const CtWork *work, gconstpointer counts, GError **error)
{
    const Integrate *integrate = self->integrate;
    const CtBlock *out = &work->outputs[1];
    gint64 strides[CT_MAX_AXES + 2] = {out->stride[integrate->weights_time]};
    for (guint a = 0; a < integrate->n_axes; a++)
        if (integrate->axes[a].weights >= 0)
            strides[1 + a] = out->stride[integrate->axes[a].weights];
    guint32 n_lanes = (guint32)integrate->n_lanes, n = (guint32)(out->n_samples * n_lanes);
    gpointer weights = out->data;
    const CtLaunch launch = {
        .grid = {(n + ROW_THREADS - 1) / ROW_THREADS, 1, 1},
        .block = {ROW_THREADS, 1, 1},
    };
    return ct_queue_launch(work->queue, self->weights, &launch,
                           (gpointer[]){&counts, &weights, &n, &n_lanes, strides}, error);
}

static gboolean
work(gpointer state, const CtWork *work, GError **error)
{
    State *self = state;
    const CtBlock *out = &work->outputs[0], *weights = &work->outputs[1];
    const gboolean averages = self->integrate->averages && out->data;
    const gsize n_counts =
        (gsize)(MAX(out->n_samples, weights->n_samples) * self->integrate->n_lanes);
    gpointer counts = NULL;
    if (n_counts > 0 && (weights->data || averages)) {
        counts = ct_queue_upload(work->queue, self->integrate->counts, n_counts * sizeof(guint32),
                                 error);
        if (!counts)
            return FALSE;
    }
    if (counts && weights->data && !launch_weights(self, work, counts, error))
        return FALSE;
    if (!out->data)
        return TRUE;

    Firing firing = find_firing(self, work);
    Cells cells = {
        .before = self->carried[self->carry],
        .after = self->carried[1 - self->carry],
        .cells = work->scratch,
        .y = out->data,
        .counts = counts,
    };
    if (!launch_cells(self, work, &firing, &cells, error))
        return FALSE;
    self->carry = 1 - self->carry;
    if (self->n_cells == 1 || (firing.n_complete == 0 && !work->ended))
        return TRUE;
    if (!launch_sums(self, work, &firing, &cells, error))
        return FALSE;
    self->partial = 1 - self->partial;
    return TRUE;
}

static void
finish(gpointer state)
{
    State *self = state;
    if (!self)
        return;
    ct_kernel_free(self->rows);
    ct_kernel_free(self->stage);
    ct_kernel_free(self->sums);
    ct_kernel_free(self->weights);
    for (guint i = 0; i < 2; i++) {
        ct_device_free(self->device, self->carried[i]);
        ct_device_free(self->device, self->partials[i]);
    }
    ct_integrate_finish(self->integrate);
    g_free(self);
}

static gboolean
advance(gpointer state, CtAdvance *advance, GError **error)
{
    State *self = state;
    return ct_integrate_advance(self->integrate, advance, error);
}

const CtVariant ct_integrate_cuda = {
    .name = "cuda",
    .backend = CT_CUDA,
    .covers = (const char *const[]){"integrate", NULL},
    .rows =
        (const CtRow[]){
            {"f32|f64|cf32|cf64{time ...} -> f32|f64|cf32|cf64{time ...}, u32{time ...}", 0.85},
            {NULL},
        },
    .prepare = prepare,
    .advance = advance,
    .work = work,
    .finish = finish,
};
