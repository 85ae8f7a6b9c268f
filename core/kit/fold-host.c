/* SPDX-License-Identifier: BSD-3-Clause */
/* Folds on the processor. An item of the work is a chunk of the fast elements of a group, whose
 * states stay in the L1 cache from one time to the next. If few elements are faster than time,
 * several consecutive times make a row, and each of them has states of its own, which are merged at
 * the end of the hop. Samples are read in place if rows are contiguous and of the kernel's type. */
#include "fold-across.h"

#include <cornerturn/kit/convert.h>
#include <string.h>

#define COLUMNS       512         /* elements of a row, at most */
#define TIMES_COLUMNS 64          /* the same if a row consists of several times */
#define ROWS          4           /* rows that are loaded at once */
#define LEAST_ROWS    ((gint64)4) /* of a hop, if they consist of several times */
#define ELEMENT       16          /* bytes, at most */

typedef struct {
    CtFoldState fold;
    CtConvert load, store;
    gboolean loads, stores; /* whether types are converted */
    gsize in_bytes, x_bytes, y_bytes, out_bytes;
    gint64 n_partials; /* times of a row, a power of two */
    guint log2_partials;
    gint64 chunk;          /* fast elements of an item */
    gint64 n_chunks;       /* of a group */
    guint32 *lanes, *mark; /* [fast element]: the lane, less that of the group; NULL: the same */
    guint8 *states;        /* [group][time of a row][fast element] */
} State;

typedef struct {
    guint8 raw[ROWS][COLUMNS * ELEMENT]; /* elements of the input, gathered */
    guint8 x[ROWS][COLUMNS * ELEMENT];   /* … and converted */
    guint8 steps[CT_CONVERT_SCRATCH(COLUMNS)];
    guint8 y[COLUMNS * ELEMENT];
    guint8 made[COLUMNS * ELEMENT]; /* elements of the output, to be scattered */
    gint64 in[COLUMNS];             /* offsets of elements that are not contiguous */
    gint64 out[COLUMNS];
    guint32 counts[COLUMNS];
    guint8 valid[COLUMNS];
} Scratch;

/* An item of a firing. */
typedef struct {
    const State *state;
    const CtFoldKernel *kernel;
    gconstpointer settings;
    const CtWork *work;
    Scratch *scratch;
    gint64 group, begin, n; /* its fast elements */
    CtFoldPlace place;      /* of the first */
    gboolean in_packed, out_packed;
    gboolean is_run; /* the times of a row are contiguous, too */
    gint64 in_time;
    guint8 *states;
} Item;

/* ---- prepare ---- */

/* The lanes of the fast elements; FALSE: no memory. */
static gboolean
list_lanes(State *self, gboolean of_output, guint32 **lanes, GError **error)
{
    const CtFoldState *fold = &self->fold;
    gboolean any = FALSE;
    for (guint a = fold->n_slow; a < fold->n_axes; a++)
        any |= (of_output ? fold->axes[a].mark : fold->axes[a].lane) > 0;
    if (!any)
        return TRUE;
    if (!(*lanes = CT_TABLE(guint32, fold->n_fast, "lanes", error)))
        return FALSE;
    for (gint64 e = 0; e < fold->n_fast; e++) {
        gint64 rest = e, lane = 0;
        for (guint a = fold->n_axes; a-- > fold->n_slow; rest /= fold->axes[a].length)
            lane +=
                rest % fold->axes[a].length * (of_output ? fold->axes[a].mark : fold->axes[a].lane);
        (*lanes)[e] = (guint32)lane;
    }
    return TRUE;
}

gboolean
ct_fold_prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    if (ct_fold_axis(prepare->variant->form, &prepare->nodes[0]))
        return ct_fold_across_prepare(prepare, state, error);
    State *self = *state = g_new0(State, 1);
    CtFoldState *fold = &self->fold;
    const CtIsa isa = prepare->variant->isa;
    if (!ct_form_init(&fold->form, prepare, isa, 1, CT_FORM_FOLDS, error) ||
        !ct_fold_init(fold, prepare, error))
        return FALSE;
    const CtType in = fold->form.boxes.in_type, out = fold->form.boxes.out_type;
    const CtType x = fold->form.kernel->x, y = fold->form.kernel->y;
    self->loads = in != x;
    self->stores = y != out;
    self->load = ct_convert_steps(isa, in, x);
    self->store = ct_convert_steps(isa, y, out);
    self->in_bytes = ct_type_info(in)->bytes;
    self->x_bytes = ct_type_info(x)->bytes;
    self->y_bytes = ct_type_info(y)->bytes;
    self->out_bytes = ct_type_info(out)->bytes;

    const gsize state_bytes = fold->form.kernel->fold->state_bytes;
    const gboolean is_power = (fold->n_fast & (fold->n_fast - 1)) == 0;
    while ((fold->n_fast << (self->log2_partials + 1)) <=
               (is_power ? CT_FOLD_FEW : TIMES_COLUMNS) &&
           (is_power ? 1 : LEAST_ROWS) << (self->log2_partials + 1) <= fold->hop)
        self->log2_partials++;
    self->n_partials = (gint64)1 << self->log2_partials;
    self->chunk = MIN(COLUMNS, fold->n_fast);
    self->n_chunks = (fold->n_fast + COLUMNS - 1) / COLUMNS;
    self->states = ct_table_new((gsize)(fold->n_groups * self->n_partials * fold->n_fast),
                                state_bytes, "unfinished sums", error);
    prepare->n_items = fold->n_groups * self->n_chunks;
    prepare->scratch_bytes = sizeof(Scratch);
    return self->states && (fold->n_lanes == 1 || list_lanes(self, FALSE, &self->lanes, error)) &&
           (!fold->is_marked || list_lanes(self, TRUE, &self->mark, error));
}

void
ct_fold_finish(gpointer state)
{
    State *self = state;
    if (!self)
        return;
    if (self->fold.is_across) {
        ct_fold_across_finish(state);
        return;
    }
    ct_fold_clear(&self->fold);
    g_free(self->lanes);
    g_free(self->mark);
    g_free(self->states);
    g_free(self);
}

/* ---- rows of samples ---- */

static guint8 *
states_at(const Item *item, gint64 column)
{
    return item->states + (gsize)column * item->kernel->state_bytes;
}

/* The `k` times from `t` on, contiguous and of the kernel's type: in place, or in row `r` of the
 * scratch. */
static const guint8 *
load_row(const Item *item, gint64 t, gint64 k, guint r)
{
    const State *self = item->state;
    const CtBlock *in = &item->work->inputs[0];
    const gsize n = (gsize)(k * item->n), bytes = self->in_bytes;
    const guint8 *from = in->data + item->place.in + t * item->in_time;
    if (!item->in_packed || (k > 1 && !item->is_run)) {
        guint8 *to = item->scratch->raw[r];
        for (gint64 time = 0; time < k; time++, from += item->in_time)
            if (item->in_packed) {
                memcpy(to, from, (gsize)item->n * bytes);
                to += (gsize)item->n * bytes;
            } else {
                for (gint64 e = 0; e < item->n; e++, to += bytes)
                    memcpy(to, from + item->scratch->in[e], bytes);
            }
        from = item->scratch->raw[r];
    }
    if (!self->loads)
        return from;
    ct_convert(&self->load, from, item->scratch->x[r], n, item->scratch->steps);
    return item->scratch->x[r];
}

/* Adds `rows` rows of `k` times each, from `t` on, to the states from `column` on. */
static void
add_rows(const Item *item, gint64 t, gint64 k, gint64 rows, gint64 column)
{
    const State *self = item->state;
    CtFoldAdd run = {
        .settings = item->settings,
        .states = states_at(item, column),
        .stride = k * item->in_time,
        .n = (gsize)(k * item->n),
        .m = (gsize)rows,
    };
    if (!self->loads && item->in_packed && (k == 1 || item->is_run)) {
        run.x = load_row(item, t, k, 0);
        item->kernel->add(&run);
        return;
    }
    run.stride = COLUMNS * ELEMENT;
    for (gint64 i = 0; i < rows; i += ROWS) {
        run.m = (gsize)MIN(ROWS, rows - i);
        for (guint r = 0; r < run.m; r++)
            run.x = load_row(item, t + (i + r) * k, k, r);
        run.x = self->loads ? item->scratch->x[0] : item->scratch->raw[0];
        item->kernel->add(&run);
    }
}

/* Adds m samples from `t` on; `position` is that of the first in its hop. */
static void
add_times(const Item *item, gint64 t, gint64 m, gint64 position)
{
    const gint64 whole = item->state->n_partials;
    for (gint64 k, rows; m > 0; t += k * rows, m -= k * rows, position += k * rows) {
        const gint64 first = position & (whole - 1);
        k = MIN(whole - first, m);
        rows = k == whole ? m >> item->state->log2_partials : 1;
        add_rows(item, t, k, rows, first * item->n);
    }
}

/* Adds the valid elements of sample `t`, which are in several lanes. */
static void
add_elements(const Item *item, gint64 t, gint64 position)
{
    const State *self = item->state;
    const CtBlock *in = &item->work->inputs[0];
    const guint32 *lanes = self->lanes + item->begin;
    const guint8 *valid = in->validity + item->place.lane * in->validity_stride + t;
    const guint8 *x = load_row(item, t, 1, 0);
    const gint64 column = position % self->n_partials * item->n;
    valid -= lanes[0] * in->validity_stride; /* the place is that of the first element */
    for (gint64 e = 0, end; e < item->n; e = end) {
        for (end = e + 1; end < item->n && lanes[end] == lanes[e];)
            end++;
        if (valid[lanes[e] * in->validity_stride])
            item->kernel->add(&(CtFoldAdd){
                .settings = item->settings,
                .states = states_at(item, column + e),
                .x = x + (gsize)e * self->x_bytes,
                .n = (gsize)(end - e),
                .m = 1,
            });
    }
}

static void
add_samples(const Item *item, gint64 t, gint64 m, gint64 position)
{
    const State *self = item->state;
    const CtBlock *in = &item->work->inputs[0];
    if (position == 0)
        item->kernel->start(item->settings, item->states, (gsize)(self->n_partials * item->n));
    if (!in->validity || item->kernel->adds_all) {
        add_times(item, t, m, position);
    } else if (self->lanes) {
        for (gint64 i = 0; i < m; i++)
            add_elements(item, t + i, position + i);
    } else {
        const guint8 *valid = in->validity + item->place.lane * in->validity_stride + t;
        for (gint64 i = 0, end; i < m; i = end) {
            for (end = i + 1; end < m && valid[end] == valid[i];)
                end++;
            if (valid[i])
                add_times(item, t + i, end - i, position + i);
        }
    }
}

/* ---- results ---- */

/* Marks the elements that the kernel refuses. Those without valid samples are marked only with
 * CT_PORT_MARKED: otherwise they are invalid already. */
static void
mark_elements(const Item *item, gint64 o, const CtFoldGive *run)
{
    const CtBlock *out = &item->work->outputs[0];
    const guint32 *lanes = item->state->mark;
    const gboolean is_marked = item->state->fold.is_marked;
    for (gint64 e = 0; e < item->n; e++)
        if (!run->valid[e] && (is_marked || run->counts[(gsize)e * run->counts_step] > 0))
            ct_block_mark(out,
                          item->place.mark +
                              (lanes ? (gint64)lanes[item->begin + e] - lanes[item->begin] : 0),
                          o);
}

/* Writes sample `o` of the firing. */
static void
give(const Item *item, gint64 o)
{
    const State *self = item->state;
    const CtFoldState *fold = &self->fold;
    const CtBlock *out = &item->work->outputs[0];
    Scratch *scratch = item->scratch;
    const gsize n = (gsize)item->n;
    guint8 *to = out->data + o * out->stride[fold->out_time] + item->place.out;
    const guint32 *counts = fold->counts + o * fold->n_lanes + item->place.lane;
    const guint32 *lanes = self->lanes;
    guint8 *made = item->out_packed ? to : scratch->made;
    CtFoldGive run = {
        .settings = item->settings,
        .states = item->states,
        .n = n,
        .n_partials = (gsize)self->n_partials,
        .counts = counts,
        .counts_step = lanes != NULL,
        .y = self->stores ? scratch->y : made,
        .valid = scratch->valid,
    };
    for (gsize e = 0; lanes && e < n; e++)
        scratch->counts[e] = counts[(gint64)lanes[item->begin + (gint64)e] - lanes[item->begin]];
    if (lanes)
        run.counts = scratch->counts;
    item->kernel->give(&run);
    if (self->stores)
        ct_convert(&self->store, scratch->y, made, n, scratch->steps);
    for (gsize e = 0; !item->out_packed && e < n; e++)
        memcpy(to + scratch->out[e], made + e * self->out_bytes, self->out_bytes);
    mark_elements(item, o, &run);
}

/* Makes the whole hops from `t` on at once, if they need not be converted, gathered, selected or
 * marked; returns their number. */
static gint64
make(const Item *item, gint64 t, gint64 o)
{
    const State *self = item->state;
    const CtFoldState *fold = &self->fold;
    const CtBlock *in = &item->work->inputs[0], *out = &item->work->outputs[0];
    const gint64 n_hops = (in->n_samples - t) / fold->hop;
    if (self->n_partials == 1 || self->n_partials * item->n != CT_FOLD_FEW || !item->is_run ||
        !item->out_packed || self->loads || self->stores || self->lanes || fold->is_marked ||
        (in->validity && !item->kernel->adds_all))
        return 0;
    guint8 valid = 1;
    item->kernel->make(&(CtFoldMake){
        .settings = item->settings,
        .x = in->data + item->place.in + t * item->in_time,
        .hop = (gsize)fold->hop,
        .n_hops = (gsize)n_hops,
        .n = (gsize)item->n,
        .counts = fold->counts + o * fold->n_lanes + item->place.lane,
        .counts_step = (gsize)fold->n_lanes,
        .y = out->data + o * out->stride[fold->out_time] + item->place.out,
        .y_stride = out->stride[fold->out_time],
        .valid = &valid,
    });
    if (!valid)
        ct_block_mark(out, 0, o);
    return n_hops;
}

static void
work_on(const Item *item)
{
    const gint64 hop = item->state->fold.hop;
    const CtBlock *in = &item->work->inputs[0];
    gint64 position = in->index % hop, o = 0;
    for (gint64 t = 0, m; t < in->n_samples; t += m) {
        const gint64 whole = position == 0 ? make(item, t, o) : 0;
        if (whole > 0) {
            m = whole * hop;
            o += whole;
            continue;
        }
        m = MIN(hop - position, in->n_samples - t);
        add_samples(item, t, m, position);
        position += m;
        if (position == hop) {
            give(item, o++);
            position = 0;
        }
    }
    if (item->work->ended && position > 0)
        give(item, o);
}

/* Sets the item to number `i` of the work. */
static void
set_item(Item *item, gint64 i)
{
    const State *self = item->state;
    const CtFoldState *fold = &self->fold;
    item->group = i / self->n_chunks;
    item->begin = i % self->n_chunks * self->chunk;
    item->n = MIN(self->chunk, fold->n_fast - item->begin);
    item->place = ct_fold_place(fold, item->work, item->group, item->begin);
    item->states =
        self->states + (gsize)(item->group * self->n_partials * fold->n_fast + item->begin) *
                           item->kernel->state_bytes;
    for (gint64 e = 0; (!item->in_packed || !item->out_packed) && e < item->n; e++) {
        const CtFoldPlace place = ct_fold_place(fold, item->work, item->group, item->begin + e);
        item->scratch->in[e] = place.in - item->place.in;
        item->scratch->out[e] = place.out - item->place.out;
    }
}

gboolean
ct_fold_work(gpointer state, const CtWork *work, GError **error)
{
    const State *self = state;
    const CtFoldState *fold = &self->fold;
    gint64 row, made;
    if (fold->is_across)
        return ct_fold_across_work(state, work, error);
    if (work->begin == 0)
        ct_fold_write_weights(fold, work);
    if (!work->outputs[0].data)
        return TRUE;
    Item item = {
        .state = self,
        .kernel = fold->form.kernel->fold,
        .settings = fold->form.choice.settings.bytes,
        .work = work,
        .scratch = work->scratch,
        .in_packed = ct_fold_is_packed(fold, &work->inputs[0], TRUE, &row),
        .out_packed = ct_fold_is_packed(fold, &work->outputs[0], FALSE, &made),
        .in_time = work->inputs[0].stride[fold->in_time],
    };
    item.is_run = item.in_packed && item.in_time == row;
    for (gint64 i = work->begin; i < work->end; i++) {
        set_item(&item, i);
        work_on(&item);
    }
    return TRUE;
}
