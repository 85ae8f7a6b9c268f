/* SPDX-License-Identifier: BSD-3-Clause */
/* Cuts the way from one layout to another into strided boxes. */
#include "form-private.h"

#include <string.h>

/* One piece of an axis: up to three strided axes from a first element. */
typedef struct {
    gint64 in, out; /* offsets of its first element in bytes */
    CtBoxAxis axes[3];
} Piece;

void
ct_boxes_init(CtBoxes *boxes, const CtBinding *in, const CtBinding *out, gint64 n_items)
{
    const CtLayout *from = &in->layout, *to = &out->layout;
    *boxes = (CtBoxes){
        .out_axes = to->n_axes,
        .in_type = ct_layout_type(from),
        .out_type = ct_layout_type(to),
        .chunk = CT_BOXES_CHUNK,
        .n_items = n_items,
    };
    for (guint a = 0; a < in->stream->n_axes; a++) {
        const CtAxis *axis = &in->stream->axes[a];
        if (ct_layout_axis(to, axis->name) < 0)
            continue;
        CtBoxesAxis *both = &boxes->axes[boxes->n_axes++];
        *both = (CtBoxesAxis){
            .name = axis->name,
            .length = axis->name == ct_axis_name("time") ? -1 : axis->length,
            .in = ct_layout_axis(from, axis->name),
            .in_block = ct_layout_block_axis(from, axis->name),
            .out = ct_layout_axis(to, axis->name),
            .out_block = ct_layout_block_axis(to, axis->name),
        };
        both->in_count = both->in_block < 0 ? 0 : from->axes[both->in_block].count;
        both->out_count = both->out_block < 0 ? 0 : to->axes[both->out_block].count;
    }
    const gint in_complex = ct_layout_axis(from, "complex");
    const gint out_complex = ct_layout_axis(to, "complex");
    if (in_complex < 0 && out_complex < 0)
        return;
    boxes->axes[boxes->n_axes++] = (CtBoxesAxis){
        .name = ct_axis_name("complex"),
        .length = 2,
        .in = in_complex,
        .in_block = -1,
        .out = out_complex,
        .out_block = -1,
    };
    if (in_complex < 0)
        boxes->in_type = ct_type_info(boxes->in_type)->part;
    if (out_complex < 0)
        boxes->out_type = ct_type_info(boxes->out_type)->part;
}

gsize
ct_boxes_bytes(const CtBoxes *boxes, const CtBlock *block, CtType type)
{
    gsize bytes = ct_type_info(type)->bytes;
    for (guint a = 0; a < boxes->n_axes; a++)
        bytes *= (gsize)(boxes->axes[a].length < 0 ? block->n_samples : boxes->axes[a].length);
    return bytes;
}

/* The offset in bytes of element `i` of an axis. */
static gint64
place(const CtBlock *block, gint axis, gint inner, gint64 count, gint64 part_bytes, gint64 i)
{
    if (axis < 0)
        return i * part_bytes;
    if (count == 0)
        return i * block->stride[axis];
    return i / count * block->stride[axis] + i % count * block->stride[inner];
}

static gint64
in_place(const CtBoxes *boxes, const CtBoxesAxis *axis, const CtBlock *block, gint64 i)
{
    return place(block, axis->in, axis->in_block, axis->in_count,
                 (gint64)ct_type_info(boxes->in_type)->bytes, i);
}

static gint64
out_place(const CtBoxes *boxes, const CtBoxesAxis *axis, const CtBlock *block, gint64 i)
{
    return place(block, axis->out, axis->out_block, axis->out_count,
                 (gint64)ct_type_info(boxes->out_type)->bytes, i);
}

static gint64
common_divisor(gint64 a, gint64 b)
{
    while (b != 0) {
        const gint64 rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Blocks on the two sides begin together every `period` elements; runs of `grain` elements lie in
 * one block on both sides. */
static void
blocking(const CtBoxesAxis *axis, gint64 *period, gint64 *grain)
{
    const gint64 a = axis->in_count ? axis->in_count : axis->out_count;
    const gint64 b = axis->out_count ? axis->out_count : axis->in_count;
    *grain = common_divisor(a, b);
    *period = a / *grain * b;
}

/* Whether the grains of a period are evenly spaced on both sides. */
static gboolean
is_even(const CtBoxesAxis *axis, gint64 period, gint64 grain)
{
    return (axis->in_count == 0 || axis->in_count == grain || axis->in_count == period) &&
           (axis->out_count == 0 || axis->out_count == grain || axis->out_count == period);
}

static guint
n_pieces(const CtBoxesAxis *axis)
{
    if (axis->in_count == 0 && axis->out_count == 0)
        return 1;
    gint64 period, grain;
    blocking(axis, &period, &grain);
    return is_even(axis, period, grain) ? 3 : (guint)(period / grain) + 1;
}

/* A piece of `periods` by `grains` by `length` elements from element `i`. */
static void
set_piece(Piece *piece, const CtBoxes *boxes, const CtBoxesAxis *axis, const CtWork *work, gint64 i,
          gint64 periods, gint64 grains, gint64 length)
{
    gint64 period = 1, grain = 1;
    if (axis->in_count || axis->out_count)
        blocking(axis, &period, &grain);
    const CtBlock *in = &work->inputs[0], *out = &work->outputs[0];
    const gint64 steps[3] = {period, grain, 1};
    const gint64 lengths[3] = {periods, grains, length};
    piece->in = in_place(boxes, axis, in, i);
    piece->out = out_place(boxes, axis, out, i);
    for (guint k = 0; k < 3; k++)
        piece->axes[k] = (CtBoxAxis){
            lengths[k], in_place(boxes, axis, in, i + steps[k]) - piece->in,
            out_place(boxes, axis, out, i + steps[k]) - piece->out, steps[k] * axis->table};
}

/* Piece `p` of the axis; FALSE where it is empty. */
static gboolean
find_piece(Piece *piece, const CtBoxes *boxes, const CtBoxesAxis *axis, const CtWork *work, guint p)
{
    const gint64 n = axis->length < 0 ? work->outputs[0].n_samples : axis->length;
    if (axis->in_count == 0 && axis->out_count == 0) {
        set_piece(piece, boxes, axis, work, 0, 1, 1, n);
        return n > 0;
    }
    gint64 period, grain;
    blocking(axis, &period, &grain);
    const gint64 grains = n % period / grain;
    const gint64 rest = n % grain;
    if (p + 1 == n_pieces(axis)) {
        set_piece(piece, boxes, axis, work, n - rest, 1, 1, rest);
        return rest > 0;
    }
    if (!is_even(axis, period, grain)) {
        const gint64 periods = n / period + ((gint64)p < grains);
        set_piece(piece, boxes, axis, work, p * grain, periods, 1, grain);
        return periods > 0;
    }
    if (p == 0) {
        set_piece(piece, boxes, axis, work, 0, n / period, period / grain, grain);
        return n >= period;
    }
    set_piece(piece, boxes, axis, work, n / period * period, 1, grains, grain);
    return grains > 0;
}

/* Cuts along the slowest axis of the output that is long enough, else along the longest. */
gboolean
ct_box_share(CtBox *box, gint64 begin, gint64 end, gint64 n_items)
{
    CtBoxAxis *chosen = NULL;
    for (guint a = 0; a < box->n_axes; a++) {
        CtBoxAxis *axis = &box->axes[a];
        if (!chosen ||
            (axis->length >= n_items && chosen->length >= n_items ? axis->out > chosen->out
                                                                  : axis->length > chosen->length))
            chosen = axis;
    }
    if (!chosen)
        return begin == 0;
    const gint64 first = chosen->length * begin / n_items;
    const gint64 last = chosen->length * end / n_items;
    box->in += first * chosen->in;
    box->out += first * chosen->out;
    box->table += first * chosen->table;
    box->marks += first * chosen->mark;
    chosen->length = last - first;
    return last > first;
}

/* The rest of the output's last block, behind the axis's last element, as a box without input;
 * FALSE if there is none. */
static gboolean
find_gap(CtBox *gap, const CtBoxes *boxes, const CtBoxesAxis *axis, const CtBlock *out)
{
    const gint64 n = axis->length < 0 ? out->n_samples : axis->length;
    if (axis->out_count == 0 || n % axis->out_count == 0)
        return FALSE;
    *gap = (CtBox){.out = out->data + n / axis->out_count * out->stride[axis->out] +
                          n % axis->out_count * out->stride[axis->out_block]};
    for (gint a = 0; a < (gint)boxes->out_axes; a++) {
        const gint64 length = a == axis->out         ? 1
                              : a == axis->out_block ? axis->out_count - n % axis->out_count
                                                     : out->length[a];
        if (length > 1)
            gap->axes[gap->n_axes++] = (CtBoxAxis){length, 0, out->stride[a], 0};
    }
    for (guint a = 0; a < boxes->n_axes; a++)
        if (boxes->axes[a].out < 0)
            gap->axes[gap->n_axes++] = (CtBoxAxis){boxes->axes[a].length, 0,
                                                   (gint64)ct_type_info(boxes->out_type)->bytes, 0};
    return TRUE;
}

void
ct_boxes_each_gap(const CtBoxes *boxes, const CtBlock *out, CtBoxesFunction function, gpointer data)
{
    for (guint a = 0; a < boxes->n_axes; a++) {
        CtBox gap;
        if (find_gap(&gap, boxes, &boxes->axes[a], out))
            function(data, &gap, NULL);
    }
}

static void
zero(guint8 *to, const CtBoxAxis *axes, guint n_axes, gsize bytes)
{
    if (n_axes == 0) {
        memset(to, 0, bytes);
        return;
    }
    for (gint64 i = 0; i < axes[0].length; i++)
        zero(to + i * axes[0].out, axes + 1, n_axes - 1, bytes);
}

void
ct_box_clear(const CtBox *box, gsize bytes)
{
    zero(box->out, box->axes, box->n_axes, bytes);
}

static void
zero_gap(gpointer data, const CtBox *gap, G_GNUC_UNUSED gpointer scratch)
{
    const CtBoxes *boxes = data;
    ct_box_clear(gap, ct_type_info(boxes->out_type)->bytes);
}

void
ct_boxes_each_filled(const CtBoxes *boxes, const CtWork *work, CtBoxesFunction function,
                     gpointer data)
{
    guint counts[CT_MAX_AXES + 1], at[CT_MAX_AXES + 1] = {0};
    for (guint a = 0; a < boxes->n_axes; a++)
        counts[a] = n_pieces(&boxes->axes[a]);
    guint a;
    do {
        CtBox box = {
            .in = work->inputs[0].data, .table = boxes->table, .out = work->outputs[0].data};
        gboolean is_empty = FALSE;
        for (a = 0; a < boxes->n_axes && !is_empty; a++) {
            Piece piece;
            is_empty = !find_piece(&piece, boxes, &boxes->axes[a], work, at[a]);
            box.in += piece.in;
            box.out += piece.out;
            for (guint k = 0; k < 3 && !is_empty; k++)
                if (piece.axes[k].length > 1)
                    box.axes[box.n_axes++] = piece.axes[k];
        }
        if (!is_empty && ct_box_share(&box, work->begin, work->end, boxes->n_items))
            function(data, &box, work->scratch);
        for (a = 0; a < boxes->n_axes && ++at[a] == counts[a]; a++)
            at[a] = 0;
    } while (a < boxes->n_axes);
}

void
ct_boxes_each(const CtBoxes *boxes, const CtWork *work, CtBoxesFunction function, gpointer data)
{
    if (work->begin == 0)
        ct_boxes_each_gap(boxes, &work->outputs[0], zero_gap, (gpointer)boxes);
    ct_boxes_each_filled(boxes, work, function, data);
}

void
ct_box_simplify(CtBox *box)
{
    CtBoxAxis *axes = box->axes;
    for (guint i = 1; i < box->n_axes; i++) {
        const CtBoxAxis axis = axes[i];
        guint j = i;
        for (; j > 0 && axes[j - 1].out < axis.out; j--)
            axes[j] = axes[j - 1];
        axes[j] = axis;
    }
    guint kept = 0;
    for (guint i = 0; i < box->n_axes; i++) {
        const CtBoxAxis fast = axes[i];
        CtBoxAxis *slow = kept > 0 ? &axes[kept - 1] : NULL;
        if (fast.length == 1)
            continue;
        if (slow && slow->in == fast.length * fast.in && slow->out == fast.length * fast.out &&
            slow->table == fast.length * fast.table && slow->mark == fast.length * fast.mark)
            *slow =
                (CtBoxAxis){slow->length * fast.length, fast.in, fast.out, fast.table, fast.mark};
        else
            axes[kept++] = fast;
    }
    box->n_axes = kept;
}

gboolean
ct_box_next(CtBox *at, gint64 index[G_N_ELEMENTS(((CtBox *)0)->axes)])
{
    for (guint left = at->n_axes; left > 1; left--) {
        const CtBoxAxis *axis = &at->axes[left - 2];
        gint64 steps = 1;
        if (++index[left - 2] == axis->length) {
            index[left - 2] = 0;
            steps -= axis->length;
        }
        at->in += steps * axis->in;
        at->out += steps * axis->out;
        if (at->table)
            at->table += steps * axis->table;
        if (at->marks)
            at->marks += steps * axis->mark;
        if (steps == 1)
            return TRUE;
    }
    return FALSE;
}

void
ct_box_assign(CtBox *to, const CtBox *from)
{
    to->n_axes = from->n_axes;
    memcpy(to->axes, from->axes, from->n_axes * sizeof *from->axes);
    to->in = from->in;
    to->table = from->table;
    to->out = from->out;
    to->marks = from->marks;
}

void
ct_box_each_run(const CtBox *box, const CtBoxAxis *element, CtBoxRun function, gpointer data)
{
    gint64 index[G_N_ELEMENTS(box->axes)] = {0};
    CtBox at;
    ct_box_assign(&at, box);
    do
        function(data, at.in, at.table, at.out, at.n_axes > 0 ? &at.axes[at.n_axes - 1] : element);
    while (ct_box_next(&at, index));
}

typedef struct {
    CtBoxRun function;
    gpointer data;
    CtBoxAxis element;
} EachRun;

static void
each_run_of_box(gpointer data, const CtBox *box, G_GNUC_UNUSED gpointer scratch)
{
    const EachRun *self = data;
    CtBox simple = *box;
    ct_box_simplify(&simple);
    ct_box_each_run(&simple, &self->element, self->function, self->data);
}

void
ct_boxes_each_run(const CtBoxes *boxes, const CtWork *work, CtBoxRun function, gpointer data)
{
    EachRun self = {function, data, {.length = 1}};
    ct_boxes_each(boxes, work, each_run_of_box, &self);
}

/* With a constant number of bytes, the compiler copies an element by loads and stores, which take
 * less time than a call of memcpy. */
#define MOVE(bytes)                                                                                \
    for (; n > 0; n--, in += in_stride, out += out_stride)                                         \
    memcpy(out, in, bytes)
/* Elements of half + 1 … 2 half bytes by their two ends, which overlap. */
#define MOVE_ENDS(half)                                                                            \
    for (; n > 0; n--, in += in_stride, out += out_stride)                                         \
    move_ends(in, out, bytes, half)

static inline void
move_ends(const guint8 *restrict in, guint8 *restrict out, gsize bytes, gsize half)
{
    memcpy(out, in, half);
    memcpy(out + bytes - half, in + bytes - half, half);
}

void
ct_box_move(const guint8 *restrict in, gint64 in_stride, guint8 *restrict out, gint64 out_stride,
            gsize bytes, gsize n)
{
    if (bytes == 1)
        MOVE(1);
    else if (bytes == 2)
        MOVE(2);
    else if (bytes == 4)
        MOVE(4);
    else if (bytes == 8)
        MOVE(8);
    else if (bytes == 16)
        MOVE(16);
    else if (bytes > 16 && bytes <= 32)
        MOVE_ENDS(16);
    else if (bytes > 32 && bytes <= 64)
        MOVE_ENDS(32);
    else if (bytes > 64 && bytes <= 128)
        MOVE_ENDS(64);
    else
        MOVE(bytes);
}

void
ct_box_copy(CtBox *box, gsize bytes)
{
    gint64 index[G_N_ELEMENTS(box->axes)] = {0};
    CtBoxAxis run = {.length = 1};
    ct_box_simplify(box);
    if (box->n_axes > 0)
        run = box->axes[box->n_axes - 1];
    if (run.in == (gint64)bytes && run.out == (gint64)bytes) {
        bytes *= (gsize)run.length;
        run = --box->n_axes > 0 ? box->axes[box->n_axes - 1] : (CtBoxAxis){.length = 1};
    }
    do
        ct_box_move(box->in, run.in, box->out, run.out, bytes, (gsize)run.length);
    while (ct_box_next(box, index));
}

typedef struct {
    gint64 in_bytes, out_bytes; /* of an element */
    CtBoxesKernel kernel;
    gpointer data;
    gsize chunk;
    guint8 *scratch;
} Map;

static void
map_run(gpointer data, const guint8 *in, G_GNUC_UNUSED const guint8 *table, guint8 *out,
        const CtBoxAxis *run)
{
    const Map *map = data;
    const gint64 chunk = (gint64)map->chunk;
    guint8 *const gathered = map->scratch, *const made = map->scratch + map->chunk * 16;
    const gboolean scattered = run->out != map->out_bytes;
    for (gint64 i = 0; i < run->length; i += chunk) {
        const gsize n = (gsize)MIN(run->length - i, chunk);
        const guint8 *from = in + i * run->in;
        guint8 *to = out + i * run->out;
        if (run->in != map->in_bytes) {
            ct_box_move(from, run->in, gathered, map->in_bytes, (gsize)map->in_bytes, n);
            from = gathered;
        }
        map->kernel(map->data, from, scattered ? made : to, n,
                    map->scratch + CT_BOXES_SCRATCH_OF(map->chunk));
        if (scattered)
            ct_box_move(made, map->out_bytes, to, run->out, (gsize)map->out_bytes, n);
    }
}

static void
map_box(gpointer data, const CtBox *box, gpointer scratch)
{
    Map *map = data;
    CtBox simple = *box;
    const CtBoxAxis element = {1, map->in_bytes, map->out_bytes, 0};
    map->scratch = scratch;
    ct_box_simplify(&simple);
    ct_box_each_run(&simple, &element, map_run, map);
}

void
ct_boxes_map(const CtBoxes *boxes, const CtWork *work, CtBoxesKernel kernel, gpointer data)
{
    Map map = {
        .in_bytes = (gint64)ct_type_info(boxes->in_type)->bytes,
        .out_bytes = (gint64)ct_type_info(boxes->out_type)->bytes,
        .kernel = kernel,
        .data = data,
        .chunk = boxes->chunk,
    };
    ct_boxes_each(boxes, work, map_box, &map);
}
