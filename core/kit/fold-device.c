/* SPDX-License-Identifier: BSD-3-Clause */
/* Folds on a device: the division into cells, unfinished cells, the launches. */
#include "epilogue-private.h"
#include "fold-across.h"

#include <cornerturn/kit/fold-struct.h>
#include <string.h>

/* If the fast elements of a group have fewer bytes, cells are staged in shared memory. */
#define STAGED_BYTES 64
/* Threads that keep a device busy. */
#define MANY_THREADS (1 << 17)

/* As in fold.cu. */
typedef struct {
    gconstpointer counts;
    gpointer to;
    guint32 n, n_lanes;
    gint64 time;
    gint64 axes[CT_FOLD_AXES];
} Weights;

typedef struct {
    CtFoldState fold;
    CtEpilogue *chain; /* maps that elements go through first, and the fold; NULL: none. Owned */
    CtDevice *device;
    gint64 n_elements;
    gint64 cell;      /* samples of a cell; the last cell of a hop may have fewer */
    gint64 n_cells;   /* of a hop */
    guint n_partials; /* partial states, into which its cells are merged */
    gboolean is_staged;
    guint stage_threads;                       /* of a block that stages cells */
    CtKernel *rows, *stage, *merges, *weights; /* NULL: not needed */
    gpointer carried[2];                       /* [element]: the unfinished cell, before and after a
                                                  firing */
    gpointer partials[2];                      /* [partial state][element] */
    guint carry, partial;                      /* index of those before the firing */
    guint8 *validity; /* [lane][sample of a firing]; NULL: the kernel adds invalid samples too */
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

/* Cells are long if there are many elements; with few, short cells give enough parallel work. They
 * do not depend on the maps before the fold, nor on groups: so its order of additions is the same
 * without fusion. If these read larger elements than they make, fewer threads have room for what
 * they stage. */
static void
choose_cells(State *self, const CtPrepare *prepare)
{
    const CtFoldState *fold = &self->fold;
    const CtGroupAxes *group = ct_epilogue_group(self->chain);
    const CtType element =
        self->chain ? prepare->nodes[0].inputs[0].type : fold->form.boxes.in_type;
    const gint64 bytes = (gint64)ct_type_info(element)->bytes;
    const gint64 read_bytes =
        (gint64)ct_type_info(fold->form.boxes.in_type)->bytes * (group ? group->n_x : 1);
    const gint64 of_group = group ? group->n_y : 1;
    self->n_elements = fold->n_fast * fold->n_groups;
    const gint64 n_added = self->n_elements * of_group;
    const gint64 n_fast = fold->n_fast * (group && group->out > fold->out_time ? of_group : 1);
    self->is_staged = n_fast * bytes < STAGED_BYTES;
    self->stage_threads = (guint)(CT_FOLD_STAGE_THREADS * bytes / MAX(bytes, read_bytes));
    const gint64 most = self->is_staged               ? 256 / bytes
                        : n_added >= 2 * MANY_THREADS ? 1024
                        : n_added >= MANY_THREADS / 2 ? 256
                                                      : 64;
    self->n_cells = (fold->hop + most - 1) / most;
    self->cell = (fold->hop + self->n_cells - 1) / self->n_cells;
    self->n_cells = (fold->hop + self->cell - 1) / self->cell;

    /* A warp that merges reads neighbouring elements. */
    const guint side = MIN(32, power_below(2 * n_added - 1));
    const guint wanted = MIN(power_below(MANY_THREADS / n_added), CT_FOLD_MERGE_THREADS / side);
    self->n_partials = MIN(wanted, power_below(2 * self->n_cells - 1));
}

/* An upper bound of the cells that a firing of `n_samples` adds to, including the one begun
 * before. */
static gint64
most_cells(const State *self, gint64 n_samples)
{
    return n_samples / self->cell + n_samples / self->fold.hop + 3;
}

/* ---- prepare ---- */

static void
define(GPtrArray *defines, const char *name, gint64 value)
{
    g_ptr_array_add(defines, g_strdup_printf("CT_FOLD_%s=%" G_GINT64_FORMAT, name, value));
}

static GPtrArray *
list_defines(const State *self)
{
    const CtFoldState *fold = &self->fold;
    GPtrArray *defines = self->chain ? g_ptr_array_new_with_free_func(g_free)
                                     : ct_form_defines(&fold->form, CT_DEVICE_MAP_THREADS, 1);
    g_autoptr(GString) lengths = g_string_new("CT_FOLD_LENGTHS=");
    g_autoptr(GString) lanes = g_string_new("CT_FOLD_LANES=");
    g_autoptr(GString) marks = g_string_new("CT_FOLD_MARKS=");
    for (guint a = 0; a < fold->n_axes; a++) {
        g_string_append_printf(lengths, "%" G_GINT64_FORMAT ",", fold->axes[a].length);
        g_string_append_printf(lanes, "%" G_GINT64_FORMAT ",", fold->axes[a].lane);
        g_string_append_printf(marks, "%" G_GINT64_FORMAT ",", fold->axes[a].mark);
    }
    g_ptr_array_add(defines, g_strdup(lengths->str));
    g_ptr_array_add(defines, g_strdup(lanes->str));
    g_ptr_array_add(defines, g_strdup(marks->str));
    if (self->chain)
        g_ptr_array_add(defines,
                        g_strdup_printf("READ=%s", ct_kernel_type((gint)fold->form.boxes.in_type)));
    define(defines, "HOP", fold->hop);
    define(defines, "CELL", self->cell);
    define(defines, "FAST", fold->n_fast);
    define(defines, "ELEMENTS", self->n_elements);
    define(defines, "N_AXES", fold->n_axes);
    define(defines, "PARTIALS", self->n_partials);
    define(defines, "IS_STAGED", self->is_staged);
    define(defines, "THREADS", self->stage_threads);
    define(defines, "IS_GROUP", ct_epilogue_group(self->chain) != NULL);
    g_ptr_array_add(defines, NULL);
    return defines;
}

static gboolean
compile(const State *self, const GPtrArray *defines, const char *source, const char *name,
        CtEpilogue *chain, CtKernel **kernel, GError **error)
{
    *kernel = ct_kernel_new(self->device,
                            &(CtKernelSpec){
                                .name = name,
                                .source = source,
                                .defines = (const char *const *)defines->pdata,
                                .epilogue = chain,
                            },
                            error);
    return *kernel != NULL;
}

/* Compiles the kernel with this suffix: that of chains, or the plugin's. */
static gboolean
compile_fold(const State *self, const GPtrArray *defines, const char *suffix, CtKernel **kernel,
             GError **error)
{
    const CtFormState *form = &self->fold.form;
    g_autofree char *name =
        g_strconcat(self->chain ? "ct_chain" : form->kernel->name, suffix, NULL);
    g_autofree char *source = self->chain ? g_strdup("/cornerturn/kernel/chain-fold.cu")
                                          : g_strdup_printf("/cornerturn/plugins/%s/%s",
                                                            form->form->plugin, form->kernel->file);
    return compile(self, defines, source, name, self->chain, kernel, error);
}

static gboolean
compile_all(State *self, GError **error)
{
    g_autoptr(GPtrArray) defines = list_defines(self);
    return compile_fold(self, defines, "_rows", &self->rows, error) &&
           (!self->is_staged || compile_fold(self, defines, "_stage", &self->stage, error)) &&
           (self->n_cells == 1 || compile_fold(self, defines, "_merges", &self->merges, error)) &&
           (self->fold.weights_time < 0 || compile(self, defines, "/cornerturn/kernel/fold.cu",
                                                   "ct_fold_weights", NULL, &self->weights, error));
}

static gboolean
allocate(State *self, CtPrepare *prepare, GError **error)
{
    const CtFoldState *fold = &self->fold;
    const gsize bytes =
        (gsize)self->n_elements *
        (self->chain ? self->chain->state_bytes : fold->form.kernel->fold->state_bytes);
    const gint64 max_samples = prepare->inputs[0].max_samples;
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
    if (self->n_cells > 1)
        prepare->scratch_bytes = (gsize)most_cells(self, max_samples) * bytes;
    prepare->upload_bytes =
        ((gsize)(fold->max_made * fold->n_lanes) * sizeof(guint32) + 255) & ~(gsize)255;
    /* Maps may make something else of the zeros in invalid samples. */
    if (fold->form.kernel->fold->adds_all && !self->chain)
        return TRUE;
    const gsize n_valid = (gsize)(fold->n_lanes * max_samples);
    prepare->upload_bytes += n_valid;
    self->validity = CT_TABLE(guint8, n_valid, "validity", error);
    return self->validity != NULL;
}

gboolean
ct_fold_prepare_device(CtPrepare *prepare, gpointer *state, GError **error)
{
    if (ct_fold_axis(prepare->variant->form, &prepare->nodes[0]))
        return ct_fold_across_prepare(prepare, state, error);
    State *self = *state = g_new0(State, 1);
    self->device = prepare->device;
    self->chain = prepare->epilogue;
    /* The kernels of all instruction sets are the same on a device. */
    if (!ct_form_init(&self->fold.form, prepare, CT_ISA_BASELINE, 1, CT_FORM_FOLDS, error) ||
        !ct_fold_init(&self->fold, prepare, error))
        return FALSE;
    choose_cells(self, prepare);
    if (self->n_elements > G_MAXINT / most_cells(self, prepare->inputs[0].max_samples)) {
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                    "wants firings of fewer samples than %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT
                    " elements",
                    prepare->inputs[0].max_samples, self->n_elements);
        return FALSE;
    }
    prepare->n_items = 1;
    return compile_all(self, error) && allocate(self, prepare, error);
}

void
ct_fold_finish_device(gpointer state)
{
    State *self = state;
    if (!self)
        return;
    if (self->fold.is_across) {
        ct_fold_across_finish(state);
        return;
    }
    ct_kernel_free(self->rows);
    ct_kernel_free(self->stage);
    ct_kernel_free(self->merges);
    ct_kernel_free(self->weights);
    for (guint i = 0; i < 2; i++) {
        ct_device_free(self->device, self->carried[i]);
        ct_device_free(self->device, self->partials[i]);
    }
    ct_fold_clear(&self->fold);
    ct_epilogue_free(self->chain);
    g_free(self->validity);
    g_free(self);
}

/* ---- work ---- */

/* The range of cells of a firing. */
static CtFoldFiring
find_firing(const State *self, const CtWork *work)
{
    const CtFoldState *fold = &self->fold;
    const CtBlock *in = &work->inputs[0], *out = &work->outputs[0];
    const gint64 hop = fold->hop;
    CtFoldFiring firing = {
        .x = in->data,
        .y = out->data,
        .before = self->carried[self->carry],
        .after = self->carried[1 - self->carry],
        .parts_before = self->partials[self->partial],
        .parts_after = self->partials[1 - self->partial],
        .cells = work->scratch,
        .marks = fold->is_marked ? out->validity : NULL,
        .marks_stride = out->validity_stride,
        .position = in->index % hop,
        .n_samples = (gint32)in->n_samples,
        .ended = work->ended,
        .n_lanes = (guint32)fold->n_lanes,
        .in_time = in->stride[fold->in_time],
        .out_time = out->stride[fold->out_time],
    };
    const gint64 begin = firing.position, end = begin + in->n_samples;
    /* Cells that begin before the end, counted from the first cell of the first hop; and complete
     * ones. */
    const gint64 begun = end / hop * self->n_cells + (end % hop + self->cell - 1) / self->cell;
    const gint64 done = end / hop * self->n_cells + end % hop / self->cell;
    firing.first_cell = (guint32)(begin / self->cell);
    firing.n_cells = (guint32)(begun - firing.first_cell);
    firing.n_complete = work->ended ? firing.n_cells : (guint32)(done - firing.first_cell);
    for (guint a = 0; a < fold->n_axes; a++) {
        firing.in[a] = in->stride[fold->axes[a].in];
        firing.out[a] = out->stride[fold->axes[a].out];
    }
    return firing;
}

static gboolean
launch(const State *self, const CtWork *work, const CtKernel *kernel, gint64 n_blocks,
       guint n_threads, CtFoldFiring *firing, guint *block_cells, guint *block_groups,
       GError **error)
{
    const CtLaunch launch = {.grid = {(guint)n_blocks, 1, 1}, .block = {n_threads, 1, 1}};
    gpointer settings = self->chain ? ct_epilogue_argument(self->chain, work, error)
                                    : (gpointer)self->fold.form.choice.settings.bytes;
    return settings &&
           ct_queue_launch(work->queue, kernel, &launch,
                           (gpointer[]){firing, settings, block_cells, block_groups}, error);
}

static gboolean
launch_cells(const State *self, const CtWork *work, CtFoldFiring *firing, GError **error)
{
    const CtFoldState *fold = &self->fold;
    gint64 bytes;
    const gboolean is_packed = ct_fold_is_packed(fold, &work->inputs[0], TRUE, &bytes);
    if (!self->is_staged || !is_packed || firing->in_time != bytes)
        return launch(self, work, self->rows,
                      (self->n_elements * firing->n_cells + CT_FOLD_ROW_THREADS - 1) /
                          CT_FOLD_ROW_THREADS,
                      CT_FOLD_ROW_THREADS, firing, NULL, NULL, error);
    const guint most = self->stage_threads / (guint)fold->n_fast;
    guint block_cells = CLAMP(firing->n_cells, 1, most);
    guint block_groups = most / block_cells;
    const gint64 n_groups = (fold->n_groups + block_groups - 1) / block_groups;
    const gint64 n_spans = (firing->n_cells + block_cells - 1) / block_cells;
    return launch(self, work, self->stage, n_groups * n_spans, self->stage_threads, firing,
                  &block_cells, &block_groups, error);
}

static gboolean
launch_merges(const State *self, const CtWork *work, CtFoldFiring *firing, GError **error)
{
    /* The hops of complete cells, and the hop that ends here without any cell of this firing. */
    const gint64 done = firing->first_cell + (gint64)firing->n_complete;
    const gint64 n_hops = (done + self->n_cells - 1) / self->n_cells;
    const gint64 n = CT_FOLD_MERGE_THREADS / self->n_partials;
    return launch(self, work, self->merges, n_hops * ((self->n_elements + n - 1) / n),
                  CT_FOLD_MERGE_THREADS, firing, NULL, NULL, error);
}

static gboolean
launch_weights(const State *self, const CtWork *work, gconstpointer counts, GError **error)
{
    const CtFoldState *fold = &self->fold;
    const CtBlock *out = &work->outputs[1];
    Weights weights = {
        .counts = counts,
        .to = out->data,
        .n = (guint32)(out->n_samples * fold->n_lanes),
        .n_lanes = (guint32)fold->n_lanes,
        .time = out->stride[fold->weights_time],
    };
    for (guint a = 0; a < fold->n_axes; a++)
        if (fold->axes[a].weights >= 0)
            weights.axes[a] = out->stride[fold->axes[a].weights];
    const CtLaunch launch = {
        .grid = {(weights.n + CT_FOLD_ROW_THREADS - 1) / CT_FOLD_ROW_THREADS, 1, 1},
        .block = {CT_FOLD_ROW_THREADS, 1, 1},
    };
    return ct_queue_launch(work->queue, self->weights, &launch, (gpointer[]){&weights}, error);
}

/* Whether every sample of the `made` hops is valid: the counts need not be sent. */
static gboolean
are_full(const State *self, const CtWork *work, gint64 made)
{
    const CtFoldState *fold = &self->fold;
    const CtBlock *in = &work->inputs[0];
    const gint64 seen = in->index % fold->hop + in->n_samples;
    for (gint64 o = 0; o < made; o++)
        for (gint64 lane = 0; lane < fold->n_lanes; lane++)
            if (fold->counts[o * fold->n_lanes + lane] != MIN(fold->hop, seen - o * fold->hop))
                return FALSE;
    return TRUE;
}

static gboolean
send_validity(State *self, const CtWork *work, CtFoldFiring *firing, GError **error)
{
    const CtBlock *in = &work->inputs[0];
    const gint64 n_lanes = self->fold.n_lanes;
    if (!self->validity || !in->validity)
        return TRUE;
    for (gint64 lane = 0; lane < n_lanes; lane++)
        memcpy(self->validity + lane * in->n_samples, in->validity + lane * in->validity_stride,
               (gsize)in->n_samples);
    firing->validity =
        ct_queue_upload(work->queue, self->validity, (gsize)(n_lanes * in->n_samples), error);
    firing->validity_stride = in->n_samples;
    return firing->validity != NULL;
}

gboolean
ct_fold_work_device(gpointer state, const CtWork *work, GError **error)
{
    State *self = state;
    const CtFoldState *fold = &self->fold;
    const CtBlock *out = &work->outputs[0];
    const gboolean has_weights = fold->weights_time >= 0 && work->outputs[1].data;
    const gint64 made = MAX(out->n_samples, has_weights ? work->outputs[1].n_samples : 0);
    gpointer counts = NULL;
    if (fold->is_across)
        return ct_fold_across_work(state, work, error);
    if (made > 0 && (has_weights || !are_full(self, work, made))) {
        counts = ct_queue_upload(work->queue, fold->counts,
                                 (gsize)(made * fold->n_lanes) * sizeof(guint32), error);
        if (!counts)
            return FALSE;
    }
    if (counts && has_weights && !launch_weights(self, work, counts, error))
        return FALSE;
    if (!out->data)
        return TRUE;

    CtFoldFiring firing = find_firing(self, work);
    firing.counts = counts;
    if (!send_validity(self, work, &firing, error) || !launch_cells(self, work, &firing, error))
        return FALSE;
    self->carry = 1 - self->carry;
    if (self->n_cells == 1 || (firing.n_complete == 0 && !work->ended))
        return TRUE;
    if (!launch_merges(self, work, &firing, error))
        return FALSE;
    self->partial = 1 - self->partial;
    return TRUE;
}
