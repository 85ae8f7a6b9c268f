/* SPDX-License-Identifier: BSD-3-Clause */
/* The loop over items that all variants share, and the storage of weights. */
#include "beamform-quantise.h"
#include "beamform.h"

#include <stdlib.h>
#include <sys/mman.h>

/* Slices have a multiple of this many times, except for the last slice. */
#define SLICE_STEP 8

/* Weights of so many bytes are in huge pages if the kernel provides them. */
#define HUGE_PAGE ((gsize)2 << 20)

/* Reads the file, or takes the port, and finds the positions of the weights' axes. */
static gboolean
find_weights(Beamform *self, const CtPrepare *prepare, CtLayout *layout, GError **error)
{
    if (prepare->inputs[1].stream->type != CT_TYPE_NONE) {
        *layout = prepare->inputs[1].layout;
        return TRUE;
    }
    self->file = ct_beamform_load(&prepare->nodes[0], layout, error);
    if (!self->file)
        return FALSE;
    self->file_block = (CtBlock){.data = self->file->data, .type = CT_CF32, .n_samples = 1};
    gint64 stride = 8;
    for (guint a = self->file->n_axes; a-- > 0;) {
        self->file_block.stride[a] = stride;
        stride *= (gint64)self->file->shape[a];
    }
    return TRUE;
}

Beamform *
ct_beamform_new(const CtPrepare *prepare, GError **error)
{
    const CtStream *in = prepare->inputs[0].stream;
    const CtLayout *from = &prepare->inputs[0].layout;
    const CtLayout *to = &prepare->outputs[0].layout;
    CtLayout weights = {0};
    Beamform *self = g_new0(Beamform, 1);

    if (!find_weights(self, prepare, &weights, error)) {
        ct_beamform_finish(self);
        return NULL;
    }
    self->type = ct_layout_type(from);
    self->weights_as = (int)ct_params_choice(prepare->nodes[0].params, "weights_as");
    self->n_stations = ct_stream_length(in, "station");
    self->n_beams = ct_stream_length(prepare->outputs[0].stream, "beam");
    self->n_pols = ct_stream_length(in, "pol");
    self->from_time = ct_layout_axis(from, "time");
    self->from_station = ct_layout_axis(from, "station");
    self->from_pol = ct_layout_axis(from, "pol");
    self->to_time = ct_layout_axis(to, "time");
    self->to_beam = ct_layout_axis(to, "beam");
    self->to_pol = ct_layout_axis(to, "pol");
    self->weights_beam = ct_layout_axis(&weights, "beam");
    self->weights_station = ct_layout_axis(&weights, "station");
    self->weights_pol = ct_layout_axis(&weights, "pol");
    self->weights_have_pol = self->weights_pol >= 0;
    self->update = -1;

    gint64 n_elements = 1;
    self->n_sets = 1;
    for (guint a = from->n_axes; a-- > 0;) {
        const char *name = from->axes[a].name;
        if ((gint)a == self->from_time || (gint)a == self->from_station ||
            (gint)a == self->from_pol)
            continue;
        BeamformAxis *axis = &self->axes[self->n_axes++];
        *axis = (BeamformAxis){
            .length = ct_stream_length(in, name),
            .from = a,
            .to = (guint)ct_layout_axis(to, name),
            .weights = ct_layout_axis(&weights, name),
        };
        n_elements *= axis->length;
        if (axis->weights >= 0) {
            axis->set = self->n_sets;
            self->n_sets *= axis->length;
        }
    }
    self->n_slices = MAX((prepare->n_items + n_elements - 1) / n_elements, 1);
    return self;
}

/* The position of an element of the passing axes. */
typedef struct {
    gint64 from, to; /* offsets in bytes */
    gint64 set;
} Place;

static Place
find_place(const Beamform *self, const CtWork *work, gint64 element)
{
    Place place = {0};
    for (guint a = 0; a < self->n_axes; a++) {
        const BeamformAxis *axis = &self->axes[a];
        const gint64 i = element % axis->length;
        element /= axis->length;
        place.from += i * work->inputs[0].stride[axis->from];
        place.to += i * work->outputs[0].stride[axis->to];
        place.set += i * axis->set;
    }
    return place;
}

static gint64
stride(const CtBlock *block, gint axis)
{
    return axis < 0 ? 0 : block->stride[axis];
}

/* Packs the weights from `from` on, of one channel and polarisation. */
static void
pack_set(const Beamform *self, const CtBlock *weights, const guint8 *from, gpointer set)
{
    const gint64 beam_stride = stride(weights, self->weights_beam);
    const gint64 station_stride = stride(weights, self->weights_station);
    if (!self->quantised) {
        self->method.pack(self, from, beam_stride, station_stride, set);
        return;
    }
    ct_beamform_quantise(self, from, beam_stride, station_stride, self->quantised);
    self->method.pack(self, (const guint8 *)self->quantised, self->n_stations * 8, 8, set);
}

/* Packs all weights of a block in the form that the variant wants. */
static void
pack(Beamform *self, const CtBlock *weights)
{
    const gint64 n_pols = self->weights_have_pol ? self->n_pols : 1;
    for (gint64 set = 0; set < self->n_sets; set++) {
        gint64 left = set;
        const guint8 *data = weights->data;
        for (guint a = 0; a < self->n_axes; a++) {
            if (self->axes[a].weights < 0)
                continue;
            data += left % self->axes[a].length * weights->stride[self->axes[a].weights];
            left /= self->axes[a].length;
        }
        for (gint64 p = 0; p < n_pols; p++)
            pack_set(self, weights, data + p * stride(weights, self->weights_pol),
                     self->sets + (gsize)(set * n_pols + p) * self->method.set_bytes);
    }
}

gboolean
ct_beamform_holds(const CtNode *nodes, gint64 most, char **reason)
{
    const gint64 n_stations = ct_stream_length(&nodes[0].inputs[0], "station");
    if (n_stations > most)
        *reason = g_strdup_printf("it wants at most %" G_GINT64_FORMAT
                                  " stations, but is given %" G_GINT64_FORMAT,
                                  most, n_stations);
    return n_stations <= most;
}

gboolean
ct_beamform_allocate(Beamform *self, CtPrepare *prepare, GError **error)
{
    const gsize n = (gsize)self->n_sets * (gsize)(self->weights_have_pol ? self->n_pols : 1);
    self->method.set_bytes = (self->method.set_bytes + 63) / 64 * 64;
    const gboolean is_huge = n >= HUGE_PAGE / self->method.set_bytes;
    if (n > G_MAXSIZE / 2 / self->method.set_bytes ||
        posix_memalign((void **)&self->sets, is_huge ? HUGE_PAGE : 64,
                       n * self->method.set_bytes) != 0) {
        self->sets = NULL;
        g_set_error(error, CT_ERROR, CT_ERROR_MEMORY,
                    "wants %" G_GSIZE_FORMAT " bytes for each of %" G_GSIZE_FORMAT
                    " sets of weights, but is given no such memory",
                    self->method.set_bytes, n);
        return FALSE;
    }
    if (is_huge)
        madvise(self->sets, n * self->method.set_bytes, MADV_HUGEPAGE);
    self->pols = CT_TABLE(const void *, self->n_sets * self->n_pols, "sets of weights", error);
    if (!self->pols)
        return FALSE;
    for (gint64 set = 0; set < self->n_sets; set++)
        for (gint64 p = 0; p < self->n_pols; p++) {
            const gint64 i = self->weights_have_pol ? set * self->n_pols + p : set;
            self->pols[set * self->n_pols + p] = self->sets + (gsize)i * self->method.set_bytes;
        }
    if (self->weights_as != BEAMFORM_GIVEN && !self->method.makes_levels) {
        self->quantised =
            CT_TABLE(float, 2 * self->n_beams * self->n_stations, "quantised weights", error);
        if (!self->quantised)
            return FALSE;
    }
    if (self->file) {
        pack(self, &self->file_block);
        g_clear_pointer(&self->file, ct_npy_array_free);
    }

    gint64 n_elements = 1;
    for (guint a = 0; a < self->n_axes; a++)
        n_elements *= self->axes[a].length;
    prepare->n_items = n_elements * self->n_slices;
    prepare->scratch_bytes = self->method.scratch_bytes;
    return TRUE;
}

gboolean
ct_beamform_advance(gpointer state, CtAdvance *advance, GError **error)
{
    Beamform *self = state;
    const CtBlock *weights = &advance->inputs[1].block;
    if (weights->data && weights->index != self->update) {
        pack(self, weights);
        self->update = weights->index;
    }
    return ct_advance_default(advance, error);
}

/* An item: the times of a slice of an element. */
typedef struct {
    Place place;
    gint64 begin, end;
} Part;

static Part
find_part(const Beamform *self, const CtWork *work, gint64 item)
{
    const gint64 n = work->outputs[0].n_samples, n_steps = (n + SLICE_STEP - 1) / SLICE_STEP;
    const gint64 slice = item % self->n_slices;
    return (Part){
        .place = find_place(self, work, item / self->n_slices),
        .begin = n_steps * slice / self->n_slices * SLICE_STEP,
        .end = MIN(n_steps * (slice + 1) / self->n_slices * SLICE_STEP, n),
    };
}

gboolean
ct_beamform_work(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    const Beamform *self = state;
    const CtBlock *in = &work->inputs[0];
    const CtBlock *out = &work->outputs[0];
    const BeamformStrides from = {stride(in, self->from_time), stride(in, self->from_station),
                                  stride(in, self->from_pol)};
    const BeamformStrides to = {stride(out, self->to_time), stride(out, self->to_beam),
                                stride(out, self->to_pol)};
    if (!out->data)
        return TRUE;

    Part part = find_part(self, work, work->begin), next;
    for (gint64 item = work->begin; item < work->end; item++, part = next) {
        next = find_part(self, work, MIN(item + 1, work->end - 1));
        if (part.begin < part.end)
            self->method.sum(self, self->pols + part.place.set * self->n_pols,
                             in->data + part.place.from + part.begin * from.time, &from,
                             out->data + part.place.to + part.begin * to.time, &to,
                             part.end - part.begin,
                             in->data + next.place.from + next.begin * from.time, work->scratch);
    }
    return TRUE;
}

void
ct_beamform_finish(gpointer state)
{
    Beamform *self = state;
    if (!self)
        return;
    ct_npy_array_free(self->file);
    g_free(self->quantised);
    free(self->sets);
    g_free(self->pols);
    g_free(self->own);
    g_free(self);
}
