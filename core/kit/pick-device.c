/* SPDX-License-Identifier: BSD-3-Clause */
/* Picks elements on a device: copies of a few boxes; or, where the tables of indices are cut into
 * many, a kernel that reads the tables. */
#include "pick-private.h"

/* The most boxes that are copied one by one. */
#define MOST_COPIES 8
/* The most axes of the input whose indices the kernel gets in tables, and entries of the table. */
enum { MOST_INDICES = 4, MOST_ENTRIES = 1 << 24 };

struct PickDevice {
    CtDevice *device;
    CtKernel *copy;
    gint64 element;                 /* bytes */
    gboolean is_table[CT_MAX_AXES]; /* [axis of the output's layout] */
    guint n_indices;                /* 0: boxes are copied */
    guint of[MOST_INDICES];         /* axes of the input's layout */
    gint64 entries[CT_MAX_AXES];    /* [axis of the output's layout] from one index to the next */
    gint32 *table;                  /* on the device: [entry][n_indices] */
    gint64 word;                    /* bytes that move together where that is possible */
    CtKernel *gather[2];            /* of elements, of words */
};

/* Chooses the axes whose indices come in the table, as far as there is room for them. */
static gint64
choose_axes(const Pick *self, PickDevice *device)
{
    gint64 n_entries = 1;
    for (guint a = self->out->layout.n_axes; a-- > 0;) {
        const PickAxis *axis = &self->axes[a];
        const gint64 length = axis->picked ? axis->picked->length : 1;
        if (axis->n_pieces == 1 || device->n_indices + axis->n_of > MOST_INDICES ||
            length > MOST_ENTRIES / n_entries)
            continue;
        device->is_table[a] = TRUE;
        device->entries[a] = n_entries;
        n_entries *= length;
        for (guint k = 0; k < axis->n_of; k++)
            device->of[device->n_indices++] = axis->of[k];
    }
    return n_entries;
}

static gboolean
send_table(const Pick *self, PickDevice *device, gint64 n_entries, GError **error)
{
    const gsize n = (gsize)n_entries * device->n_indices;
    g_autofree gint32 *table = CT_TABLE(gint32, n, "picked indices", error);
    if (!table)
        return FALSE;
    guint first = 0;
    for (guint a = self->out->layout.n_axes; a-- > 0;) {
        const PickAxis *axis = &self->axes[a];
        if (!device->is_table[a])
            continue;
        for (gint64 e = 0; e < n_entries; e++)
            for (guint k = 0; k < axis->n_of; k++)
                table[e * device->n_indices + first + k] =
                    (gint32)axis->picked->index[k][e / device->entries[a] % axis->picked->length];
        first += axis->n_of;
    }
    device->table = ct_device_alloc(device->device, n * sizeof *table, "picked indices", error);
    return device->table &&
           ct_device_upload(device->device, device->table, table, n * sizeof *table, error);
}

/* The bytes that are contiguous on both sides behind the last axis with a table, if memory has no
 * gaps there. */
static gint64
find_word(const Pick *self, const PickDevice *device)
{
    const CtLayout *in = &self->in->layout;
    gint64 run = device->element;
    guint a = self->out->layout.n_axes;
    guint from = in->n_axes;
    while (a-- > 0 && from-- > 0 && !device->is_table[a] && (gint)a != self->time &&
           !self->axes[a].picked && self->axes[a].of[0] == from)
        run *= ct_stream_length(self->out->stream, self->out->layout.axes[a].name);
    run |= 16;
    return run & -run;
}

static CtKernel *
make_gather(const PickDevice *device, gint64 word, GError **error)
{
    g_autofree char *bytes = g_strdup_printf("WORD=%" G_GINT64_FORMAT, word);
    g_autofree char *indices = g_strdup_printf("N_INDICES=%u", device->n_indices);
    const CtKernelSpec spec = {
        .name = "ct_pick_gather",
        .source = "/cornerturn/kernel/pick.cu",
        .defines = (const char *const[]){bytes, indices, NULL},
    };
    return ct_kernel_new(device->device, &spec, error);
}

gboolean
ct_pick_prepare_device(CtPrepare *prepare, gpointer *state, GError **error)
{
    if (!ct_pick_prepare(prepare, state, error))
        return FALSE;
    Pick *self = *state;
    PickDevice *device = self->device = g_new0(PickDevice, 1);
    device->device = prepare->device;
    device->element = (gint64)ct_type_info(self->out->stream->type)->bytes;
    device->copy = ct_device_map_copy_new(prepare->device, (gsize)device->element, error);
    if (!device->copy)
        return FALSE;
    const gint64 n_entries = self->n_boxes > MOST_COPIES ? choose_axes(self, device) : 0;
    if (device->n_indices == 0)
        return TRUE;
    device->word = find_word(self, device);
    return send_table(self, device, n_entries, error) &&
           (device->gather[0] = make_gather(device, device->element, error)) &&
           (device->word == device->element ||
            (device->gather[1] = make_gather(device, device->word, error)));
}

void
ct_pick_device_free(PickDevice *device)
{
    if (!device)
        return;
    ct_kernel_free(device->copy);
    ct_kernel_free(device->gather[0]);
    ct_kernel_free(device->gather[1]);
    ct_device_free(device->device, device->table);
    g_free(device);
}

/* Makes the box that of a gather: the input as the table, and the table of indices as the marks. */
static void
turn_box(const Pick *self, const CtWork *work, const guint *at, CtBox *box)
{
    const PickDevice *device = self->device;
    const CtBlock *out = &work->outputs[0];
    CtBox plain;
    ct_pick_box(self, work, at, 0, out->n_samples, &plain);
    /* Axes with tables are those of the output as a whole, and begin at index 0 of the input. */
    *box = (CtBox){.table = plain.in, .out = plain.out, .marks = (guint8 *)device->table};
    guint next = 0;
    for (guint a = 0; a < self->out->layout.n_axes; a++) {
        const PickAxis *axis = &self->axes[a];
        const PickPiece *piece = &axis->pieces[at[a]];
        const guint n = piece->length[0] > 1 ? 2 : 1;
        for (guint i = 0; i < n && !device->is_table[a]; i++) {
            const CtBoxAxis *was = &plain.axes[next + i];
            box->axes[box->n_axes++] =
                (CtBoxAxis){.length = was->length, .table = was->in, .out = was->out};
        }
        next += n;
        if (!device->is_table[a])
            continue;
        for (guint k = 0; k < axis->n_of; k++)
            box->table -= piece->first[k] * work->inputs[0].stride[axis->of[k]];
        box->axes[box->n_axes++] = (CtBoxAxis){
            .length = axis->picked->length,
            .out = out->stride[a],
            .mark = device->entries[a] * (gint64)(device->n_indices * sizeof(gint32)),
        };
    }
}

/* Changes a simple box of elements to one of words; FALSE: its memory does not allow it. */
static gboolean
widen(const PickDevice *device, const gint64 *strides, CtBox *box)
{
    CtBoxAxis *run = box->n_axes > 0 ? &box->axes[box->n_axes - 1] : NULL;
    const gint64 element = device->element, word = device->word;
    if (!run || run->mark != 0 || run->table != element || run->out != element)
        return FALSE;
    guint64 places = GPOINTER_TO_SIZE(box->table) | GPOINTER_TO_SIZE(box->out) |
                     (guint64)(run->length * element);
    for (guint k = 0; k < device->n_indices; k++)
        places |= (guint64)strides[k];
    for (guint a = 0; a + 1 < box->n_axes; a++)
        places |= (guint64)(box->axes[a].table | box->axes[a].out);
    if (places % (guint64)word != 0)
        return FALSE;
    run->length = run->length * element / word;
    run->table = run->out = word;
    return TRUE;
}

static gboolean
gather(const Pick *self, const CtWork *work, const guint *at, GError **error)
{
    PickDevice *device = self->device;
    gint64 strides[MOST_INDICES] = {0};
    CtBox box;
    turn_box(self, work, at, &box);
    ct_box_simplify(&box);
    for (guint k = 0; k < device->n_indices; k++)
        strides[k] = work->inputs[0].stride[device->of[k]];
    const gboolean is_wide = device->gather[1] && widen(device, strides, &box);
    const CtDeviceMapCall call = {
        .kernel = device->gather[is_wide], .arguments = {strides}, .n_arguments = 1};
    const gsize bytes = (gsize)(is_wide ? device->word : device->element);
    return ct_device_map_box(&box, bytes, bytes, work->queue, &call, error);
}

gboolean
ct_pick_work_device(gpointer state, const CtWork *work, GError **error)
{
    const Pick *self = state;
    const PickDevice *device = self->device;
    const CtDeviceMapCall copy = {.kernel = device->copy};
    const gsize bytes = (gsize)device->element;
    const gint64 n = work->outputs[0].n_samples;
    guint at[CT_MAX_AXES] = {0};
    if (!work->outputs[0].data || n == 0)
        return TRUE;
    do {
        CtBox box;
        if (device->n_indices > 0) {
            if (!gather(self, work, at, error))
                return FALSE;
            continue;
        }
        ct_pick_box(self, work, at, 0, n, &box);
        if (!ct_device_map_box(&box, bytes, bytes, work->queue, &copy, error))
            return FALSE;
    } while (ct_pick_next(self, device->is_table, at));
    return TRUE;
}
