/* SPDX-License-Identifier: BSD-3-Clause */
/* The variants on devices share these functions; see the header. */
#include "beamform-device.h"

#include "beamform-quantise.h"

#define SOURCES "/cornerturn/plugins/beamform/"

/* As in beamform-weights.cu. */
enum { W_BEAM, W_STATION, W_POL, W_AXES };
enum { THREADS = 256, WARP = 32 };

void
ct_beamform_columns(BeamformColumns *columns, Beamform *beamform, const CtPrepare *prepare)
{
    const gint in_last = (gint)prepare->inputs[0].layout.n_axes - 1;
    const gint out_last = (gint)prepare->outputs[0].layout.n_axes - 1;
    columns->n_pols = 1;
    if (beamform->from_pol == in_last && beamform->to_pol == out_last && beamform->n_pols == 2) {
        columns->n_pols = 2;
    } else if (beamform->from_pol >= 0) {
        beamform->axes[beamform->n_axes++] = (BeamformAxis){
            .length = beamform->n_pols,
            .from = (guint)beamform->from_pol,
            .to = (guint)beamform->to_pol,
            .weights = beamform->weights_pol,
            .set = beamform->weights_have_pol ? beamform->n_sets : 0,
        };
    }
    columns->x_pairs = columns->n_pols == 2 || beamform->from_time == in_last;
    columns->y_pairs = columns->n_pols == 2 || beamform->to_time == out_last;
    columns->y_beams = !columns->y_pairs && beamform->to_beam == out_last;
    columns->n_elements = 1;
    for (guint a = 0; a < beamform->n_axes; a++)
        columns->n_elements *= beamform->axes[a].length;
}

void
ct_beamform_define(GPtrArray *defines, const char *name, gint64 value)
{
    g_ptr_array_add(defines, g_strdup_printf("%s=%" G_GINT64_FORMAT, name, value));
}

void
ct_beamform_define_lengths(GPtrArray *defines, const Beamform *beamform)
{
    GString *lengths = g_string_new("LENGTHS=");
    for (guint a = 0; a < beamform->n_axes; a++)
        g_string_append_printf(lengths, "%" G_GINT64_FORMAT ",", beamform->axes[a].length);
    g_ptr_array_add(defines, g_string_free(lengths, FALSE));
    ct_beamform_define(defines, "N_AXES", beamform->n_axes);
}

gint64
ct_beamform_stride(const CtBlock *block, gint axis)
{
    return axis < 0 ? 0 : block->stride[axis];
}

gint64
ct_beamform_divide_up(gint64 a, gint64 b)
{
    return (a + b - 1) / b;
}

/* Weights of a file are sent to the device once. */
static gboolean
send_file(BeamformWeights *self, Beamform *beamform, GError **error)
{
    const CtNpyArray *file = beamform->file;
    if (!file)
        return TRUE;
    const gsize bytes = file->n_items * 8;
    self->file = ct_device_alloc(self->device, bytes, "weights", error);
    if (!self->file || !ct_device_upload(self->device, self->file, file->data, bytes, error))
        return FALSE;
    beamform->file_block.data = self->file;
    g_clear_pointer(&beamform->file, ct_npy_array_free);
    return TRUE;
}

/* The number of sets of one beam's weights each, of all polarisations. */
static gint64
count_rows(const BeamformWeights *self)
{
    const Beamform *beamform = self->beamform;
    return self->n_rows * beamform->n_sets * (beamform->weights_have_pol ? beamform->n_pols : 1);
}

static gboolean
compile(BeamformWeights *self, const BeamformFragments *fragments, gint64 n_steps, GError **error)
{
    const Beamform *beamform = self->beamform;
    Beamform weighted = *beamform; /* with the axes that the weights have */
    g_autoptr(GPtrArray) defines = g_ptr_array_new_with_free_func(g_free);
    weighted.n_axes = 0;
    for (guint a = 0; a < beamform->n_axes; a++)
        if (beamform->axes[a].weights >= 0)
            weighted.axes[weighted.n_axes++] = beamform->axes[a];
    ct_beamform_define_lengths(defines, &weighted);
    ct_beamform_define(defines, "WEIGHTS_AS", beamform->weights_as);
    ct_beamform_define(defines, "IS_FRAGMENTS", fragments->beams > 0);
    ct_beamform_define(defines, "N_BEAMS", beamform->n_beams);
    ct_beamform_define(defines, "ROWS", self->n_rows);
    ct_beamform_define(defines, "N_STATIONS", beamform->n_stations);
    ct_beamform_define(defines, "N_STEPS", n_steps);
    ct_beamform_define(defines, "N_SETS", beamform->n_sets);
    ct_beamform_define(defines, "N_POLS", beamform->weights_have_pol ? beamform->n_pols : 1);
    g_ptr_array_add(defines, NULL);
    self->quantise =
        ct_kernel_new(self->device,
                      &(CtKernelSpec){
                          .name = "beamform_weights",
                          .source = SOURCES "beamform-weights.cu",
                          .headers = (const char *const[]){SOURCES "beamform-quantise.h", NULL},
                          .defines = (const char *const *)defines->pdata,
                      },
                      error);
    return self->quantise != NULL;
}

gboolean
ct_beamform_weights_init(BeamformWeights *self, CtDevice *device, Beamform *beamform,
                         const BeamformFragments *fragments, GError **error)
{
    const gboolean is_fragments = fragments->beams > 0;
    *self = (BeamformWeights){.device = device, .beamform = beamform, .update = -1};
    if (!send_file(self, beamform, error))
        return FALSE;
    if (beamform->weights_as == BEAMFORM_GIVEN)
        return TRUE;
    self->n_rows =
        is_fragments ? ct_beamform_divide_up(beamform->n_beams, fragments->beams) * fragments->beams
                     : beamform->n_beams;
    const gint64 n_stations =
        is_fragments
            ? ct_beamform_divide_up(beamform->n_stations, fragments->stations) * fragments->stations
            : beamform->n_stations;
    const gint64 n_steps = is_fragments ? n_stations / fragments->stations : 0;
    const gsize bytes = (gsize)(is_fragments ? n_steps * 64 : n_stations * 8);
    const gint64 n_rows = count_rows(self);
    if (n_rows > G_MAXINT) {
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                    "wants weights of at most %d beams, but is given %" G_GINT64_FORMAT
                    " with those of other axes",
                    G_MAXINT, n_rows);
        return FALSE;
    }
    self->quantised = ct_device_alloc(device, (gsize)n_rows * bytes, "quantised weights", error);
    if (self->quantised && is_fragments)
        self->scales = ct_device_alloc(device, (gsize)n_rows * 4, "scales of weights", error);
    return self->quantised && (self->scales || !is_fragments) &&
           compile(self, fragments, n_steps, error);
}

void
ct_beamform_weights_free(BeamformWeights *self)
{
    ct_kernel_free(self->quantise);
    ct_device_free(self->device, self->scales);
    ct_device_free(self->device, self->quantised);
    ct_device_free(self->device, self->file);
}

const CtBlock *
ct_beamform_weights_given(const BeamformWeights *self, const CtWork *work)
{
    return self->file ? &self->beamform->file_block : &work->inputs[1];
}

gboolean
ct_beamform_weights_update(BeamformWeights *self, const CtWork *work, GError **error)
{
    const Beamform *beamform = self->beamform;
    const CtBlock *given = ct_beamform_weights_given(self, work);
    if (!self->quantise || given->index == self->update)
        return TRUE;
    gint64 strides[W_AXES + CT_MAX_AXES] = {
        [W_BEAM] = ct_beamform_stride(given, beamform->weights_beam),
        [W_STATION] = ct_beamform_stride(given, beamform->weights_station),
        [W_POL] = ct_beamform_stride(given, beamform->weights_pol),
    };
    guint n = W_AXES;
    for (guint a = 0; a < beamform->n_axes; a++) {
        const BeamformAxis *axis = &beamform->axes[a];
        if (axis->weights >= 0 && axis->weights != beamform->weights_pol)
            strides[n++] = given->stride[axis->weights];
    }
    gconstpointer from = given->data;
    const CtLaunch launch = {
        .grid = {(guint)ct_beamform_divide_up(count_rows(self), THREADS / WARP), 1, 1},
        .block = {THREADS, 1, 1},
    };
    if (!ct_queue_launch(work->queue, self->quantise, &launch,
                         (gpointer[]){&from, &self->quantised, &self->scales, strides}, error))
        return FALSE;
    self->update = given->index;
    return TRUE;
}
