/* SPDX-License-Identifier: BSD-3-Clause */
/* The loop over items and sums that all variants share, and the counts of valid samples. */
#include "integrate.h"

#include <string.h>

/* Fills in the axes: slow ones, then fast ones. */
static void
find_axes(Integrate *self, const CtPrepare *prepare)
{
    const CtStream *in = prepare->inputs[0].stream;
    const CtLayout *from = &prepare->inputs[0].layout, *to = &prepare->outputs[0].layout;
    const gboolean has_weights = prepare->outputs[1].stream->type != CT_TYPE_NONE;
    const CtLayout *weights = &prepare->outputs[1].layout;
    self->in_time = ct_layout_axis(from, "time");
    self->out_time = ct_layout_axis(to, "time");
    self->weights_time = has_weights ? ct_layout_axis(weights, "time") : -1;
    self->n_groups = self->n_fast = self->n_lanes = 1;
    for (guint a = 0; a < from->n_axes; a++) {
        const char *name = from->axes[a].name;
        if ((gint)a == self->in_time)
            continue;
        const gint64 length = ct_stream_length(in, name);
        self->axes[self->n_axes++] = (IntegrateAxis){
            .length = length,
            .in = (gint)a,
            .out = ct_layout_axis(to, name),
            .weights = has_weights ? ct_layout_axis(weights, name) : -1,
        };
        if ((gint)a < self->in_time) {
            self->n_slow++;
            self->n_groups *= length;
        } else {
            self->n_fast *= length;
        }
    }
    for (guint a = in->n_axes; a-- > 0;) {
        if (!in->axes[a].loses || in->axes[a].name == ct_axis_name("time"))
            continue;
        for (guint b = 0; b < self->n_axes; b++)
            if (self->axes[b].in == ct_layout_axis(from, in->axes[a].name))
                self->axes[b].lane = self->n_lanes;
        self->n_lanes *= in->axes[a].length;
    }
}

Integrate *
ct_integrate_new(CtPrepare *prepare, const IntegrateMethod *method, GError **error)
{
    Integrate *self = g_new0(Integrate, 1);
    const CtParams *params = prepare->nodes[0].params;
    self->type = ct_layout_type(&prepare->inputs[0].layout);
    self->integration = ct_params_int(params, "length");
    self->averages = ct_params_bool(params, "average");
    if (method)
        self->method = *method;
    find_axes(self, prepare);
    self->n_parts = ct_type_info(self->type)->is_complex ? 2 : 1;
    self->part_bytes = ct_type_info(self->type)->bytes / self->n_parts;
    self->n_chunks = (self->n_fast + INTEGRATE_CHUNK - 1) / INTEGRATE_CHUNK;

    const gint64 numbers = self->n_fast * self->n_parts;
    self->in_partials =
        self->method.partials && numbers <= INTEGRATE_PARTIALS && INTEGRATE_PARTIALS % numbers == 0;
    const gsize n_sums =
        (gsize)(self->n_groups * (self->in_partials ? INTEGRATE_PARTIALS : numbers));
    /* Either port may have no reader. */
    self->max_sums = MAX(prepare->outputs[0].max_samples, prepare->outputs[1].max_samples);
    const gsize n_counts = (gsize)((self->max_sums + 2) * self->n_lanes);
    if ((method && !(self->sums = CT_TABLE(double, n_sums, "sums", error))) ||
        !(self->counts = CT_TABLE(guint32, n_counts, "counts", error))) {
        ct_integrate_finish(self);
        return NULL;
    }
    prepare->n_items = self->n_groups * self->n_chunks;
    return self;
}

void
ct_integrate_finish(gpointer state)
{
    Integrate *self = state;
    if (!self)
        return;
    g_free(self->sums);
    g_free(self->counts);
    g_free(self);
}

/* ---- counts ---- */

/* Adds the number of valid samples among m from `t` on to every lane's count. */
static void
count(const Integrate *self, const CtBlock *block, gint64 t, gint64 m, guint32 *counts)
{
    for (gint64 lane = 0; lane < self->n_lanes; lane++) {
        guint32 n = (guint32)m;
        if (block->validity) {
            const guint8 *valid = block->validity + lane * block->validity_stride + t;
            n = 0;
            for (gint64 i = 0; i < m; i++)
                n += valid[i] != 0;
        }
        counts[lane] += n;
    }
}

gboolean
ct_integrate_advance(gpointer state, CtAdvance *advance, GError **error)
{
    Integrate *self = state;
    if (!ct_advance_default(advance, error))
        return FALSE;
    const gsize row = (gsize)self->n_lanes * sizeof *self->counts;
    const CtArrival *in = &advance->inputs[0];
    if (self->making > 0)
        memcpy(self->counts, self->counts + self->making * self->n_lanes, row);
    self->making = 0;
    gint64 position = in->block.index % self->integration;
    for (gint64 t = 0, m; t < in->consumed; t += m) {
        m = MIN(self->integration - position, in->consumed - t);
        count(self, &in->block, t, m, self->counts + self->making * self->n_lanes);
        position += m;
        if (position == self->integration) {
            position = 0;
            self->making++;
            memset(self->counts + self->making * self->n_lanes, 0, row);
        }
    }
    return TRUE;
}

/* ---- sums ---- */

/* The position of an element of some axes, and its lane. */
typedef struct {
    gint64 in, out, weights, lane;
} Place;

static void
add_place(Place *place, const IntegrateAxis *axes, guint n_axes, const CtWork *work, gint64 element)
{
    for (guint a = n_axes; a-- > 0;) {
        const gint64 i = element % axes[a].length;
        element /= axes[a].length;
        place->in += i * work->inputs[0].stride[axes[a].in];
        place->out += i * work->outputs[0].stride[axes[a].out];
        if (axes[a].weights >= 0)
            place->weights += i * work->outputs[1].stride[axes[a].weights];
        place->lane += i * axes[a].lane;
    }
}

static Place
find_place(const Integrate *self, const CtWork *work, gint64 group, gint64 element)
{
    Place place = {0};
    add_place(&place, self->axes, self->n_slow, work, group);
    add_place(&place, self->axes + self->n_slow, self->n_axes - self->n_slow, work, element);
    return place;
}

/* Whether the fast axes of a block are contiguous in their order. */
static gboolean
is_packed(const Integrate *self, const CtBlock *block, gboolean is_input)
{
    gint64 bytes = (gint64)(self->n_parts * self->part_bytes);
    for (guint a = self->n_axes; a-- > self->n_slow;) {
        const gint axis = is_input ? self->axes[a].in : self->axes[a].out;
        if (self->axes[a].length > 1 && block->stride[axis] != bytes)
            return FALSE;
        bytes *= self->axes[a].length;
    }
    return TRUE;
}

static double
read_part(const Integrate *self, const guint8 *x)
{
    return self->part_bytes == 4 ? (double)*(const gfloat *)x : *(const gdouble *)x;
}

static void
write_part(const Integrate *self, guint8 *to, double value)
{
    if (self->part_bytes == 4)
        *(gfloat *)to = (gfloat)value;
    else
        *(gdouble *)to = value;
}

/* The part of an item in a firing. */
typedef struct {
    const Integrate *self;
    const CtWork *work;
    gint64 group, begin, end; /* elements of the fast axes */
    gboolean in_packed, out_packed;
    const guint8 *in; /* at the first element; only if they are contiguous */
    double *sums;     /* of the first element; if sums are divided (in_partials), of the group */
    gsize n_numbers;
} Item;

/* Adds m samples from `t` on; `position` is that of the first in its sum. */
static void
add_samples(const Item *item, gint64 t, gint64 m, gint64 position)
{
    const Integrate *self = item->self;
    const CtBlock *in = &item->work->inputs[0];
    const gint64 stride = in->stride[self->in_time];
    if (position == 0)
        memset(item->sums, 0,
               (self->in_partials ? INTEGRATE_PARTIALS : item->n_numbers) * sizeof *item->sums);
    if (item->in_packed && self->in_partials &&
        stride == (gint64)(item->n_numbers * self->part_bytes)) {
        self->method.partials(item->in + t * stride, item->sums, (gsize)position * item->n_numbers,
                              (gsize)m * item->n_numbers);
        return;
    }
    if (item->in_packed && !self->in_partials && self->method.rows) {
        self->method.rows(item->in + t * stride, stride, item->sums, item->n_numbers, (gsize)m);
        return;
    }
    for (gint64 element = item->begin; element < item->end; element++) {
        const guint8 *x = in->data + find_place(self, item->work, item->group, element).in;
        for (gint64 i = 0; i < m; i++)
            for (guint part = 0; part < self->n_parts; part++) {
                const gsize number = (gsize)(element - item->begin) * self->n_parts + part;
                const gsize sum =
                    self->in_partials
                        ? ((gsize)(position + i) * item->n_numbers + number) % INTEGRATE_PARTIALS
                        : number;
                item->sums[sum] += read_part(self, x + (t + i) * stride + part * self->part_bytes);
            }
    }
}

static double
finished_sum(const Item *item, gsize number)
{
    if (!item->self->in_partials)
        return item->sums[number];
    double sum = 0;
    for (gsize partial = number; partial < INTEGRATE_PARTIALS; partial += item->n_numbers)
        sum += item->sums[partial];
    return sum;
}

static void
write_element(const Item *item, gint64 element, guint8 *to, guint32 n)
{
    const Integrate *self = item->self;
    for (guint part = 0; part < self->n_parts; part++) {
        const double sum =
            finished_sum(item, (gsize)(element - item->begin) * self->n_parts + part);
        write_part(self, to + part * self->part_bytes, !self->averages ? sum : n > 0 ? sum / n : 0);
    }
}

/* Writes sum `o` of the firing. */
static void
write_sums(const Item *item, gint64 o)
{
    const Integrate *self = item->self;
    const CtBlock *out = &item->work->outputs[0];
    const guint32 *counts = self->counts + o * self->n_lanes;
    guint8 *sum = out->data + o * out->stride[self->out_time];
    if (item->out_packed) {
        sum += find_place(self, item->work, item->group, item->begin).out;
        for (gint64 element = item->begin; element < item->end; element++) {
            write_element(item, element, sum, counts[0]);
            sum += self->n_parts * self->part_bytes;
        }
        return;
    }
    for (gint64 element = item->begin; element < item->end; element++) {
        const Place place = find_place(self, item->work, item->group, element);
        write_element(item, element, sum + place.out, counts[place.lane]);
    }
}

static void
write_weights(const Integrate *self, const CtWork *work)
{
    const CtBlock *out = &work->outputs[1];
    for (gint64 group = 0; group < self->n_groups; group++)
        for (gint64 element = 0; element < self->n_fast; element++) {
            const Place place = find_place(self, work, group, element);
            for (gint64 o = 0; o < out->n_samples; o++)
                memcpy(out->data + place.weights + o * out->stride[self->weights_time],
                       self->counts + o * self->n_lanes + place.lane, sizeof *self->counts);
        }
}

static void
work_on(const Item *item)
{
    const Integrate *self = item->self;
    const CtBlock *in = &item->work->inputs[0];
    gint64 position = in->index % self->integration, o = 0;
    for (gint64 t = 0, m; t < in->n_samples; t += m) {
        m = MIN(self->integration - position, in->n_samples - t);
        add_samples(item, t, m, position);
        position += m;
        if (position == self->integration) {
            write_sums(item, o++);
            position = 0;
        }
    }
    if (item->work->ended && position > 0)
        write_sums(item, o);
}

gboolean
ct_integrate_work(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    const Integrate *self = state;
    const CtBlock *in = &work->inputs[0], *out = &work->outputs[0];
    if (work->begin == 0 && work->outputs[1].data)
        write_weights(self, work);
    if (!out->data)
        return TRUE;
    Item item = {.self = self, .work = work};
    item.in_packed = self->method.rows && is_packed(self, in, TRUE);
    item.out_packed = self->n_lanes == 1 && is_packed(self, out, FALSE);
    for (gint64 i = work->begin; i < work->end; i++) {
        item.group = i / self->n_chunks;
        item.begin = i % self->n_chunks * INTEGRATE_CHUNK;
        item.end = MIN(item.begin + INTEGRATE_CHUNK, self->n_fast);
        item.n_numbers = (gsize)(item.end - item.begin) * self->n_parts;
        item.in = in->data + find_place(self, work, item.group, item.begin).in;
        item.sums = self->in_partials
                        ? self->sums + item.group * INTEGRATE_PARTIALS
                        : self->sums + (item.group * self->n_fast + item.begin) * self->n_parts;
        work_on(&item);
    }
    return TRUE;
}
