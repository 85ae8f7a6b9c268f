/* SPDX-License-Identifier: BSD-3-Clause */
/* Stages of the form window, with everything that it offers:
 *
 *     window.median    y[t] = scale · the median of x[t − before … t − before + length − 1]
 *     window.weigh     y[t, m, s] = scale · Σ_c w[c, s] · x[t + shift[m, c, s], c, s],
 *                      shift = spread · m · c − s, w = 1 + c + 2 · s; the sum, and the axis m, are
 *                      optional
 */
#include "../../../plugins/parts.h"
#include "../../../plugins/places.h"
#include "window.kernel.h"

#include <cornerturn/kit/half.h>
#include <cornerturn/kit/window.h>
#include <string.h>

static const char *const faults[] = {"none", "beyond", "axis",     "kernel",
                                     "taps", "table",  "settings", NULL};
typedef enum { NONE, BEYOND, AXIS, KERNEL, TAPS, TABLE, SETTINGS } Fault;

static const CtParam params[] = {
    {"length", CT_PARAM_INT, .fallback = "1", .help = "samples of a median"},
    {"before", CT_PARAM_INT, .fallback = "0", .help = "samples before the first of a window"},
    {"scale", CT_PARAM_REAL, .fallback = "1", .help = "a factor"},
    {"sums", CT_PARAM_BOOL, .fallback = "false", .help = "over the axis channel"},
    {"n_trials", CT_PARAM_INT, .fallback = "0", .help = "of the new axis; 0: it has none"},
    {"spread", CT_PARAM_INT, .fallback = "1", .help = "of the shifts of neighbouring trials"},
    {"type", CT_PARAM_TYPE, .fallback = "f32", .help = "of the output"},
    {"fault", CT_PARAM_CHOICE, .fallback = "none", .choices = faults, .help = "of the plugin"},
    {NULL},
};
static const CtPort inputs[] = {{"in", "i16|f32{time ...}", 0, "samples"}, {NULL}};
static const CtPort outputs[] = {{"out", "f16|f32{time ...}", 0, "results"}, {NULL}};

static gboolean
is_median(const CtNode *node)
{
    return g_str_equal(node->stage->name, "window.median");
}

static gint64
shift_of(const CtNode *node, gint64 trial, gint64 channel, gint64 station)
{
    return ct_params_int(node->params, "spread") * trial * channel - station;
}

static gboolean
infer(CtNode *node, GError **error)
{
    const CtParams *params = node->params;
    const CtStream *in = &node->inputs[0];
    CtStream *out = &node->outputs[0];
    const gint64 before = ct_params_int(params, "before"), n = ct_params_int(params, "n_trials");
    ct_stream_copy(out, in);
    out->type = ct_params_type(params, "type");
    if (is_median(node))
        return ct_window_footprint(node, "length", -before, -before,
                                   ct_params_int(params, "length"), error);
    const gint64 most = n > 0 ? shift_of(node, n - 1, ct_stream_length(in, "channel") - 1, 0) : 0;
    if (ct_params_bool(params, "sums"))
        ct_stream_remove_axis(out, "channel");
    if (n > 0)
        ct_stream_add_axis(out, "trial", n)->loses = TRUE;
    return ct_window_footprint(node, "n_trials", 1 - ct_stream_length(in, "station"), most, 1,
                               error);
}

static const CtStage median = {
    .name = "window.median",
    .summary = "medians of consecutive samples",
    .version = 1,
    .inputs = inputs,
    .outputs = outputs,
    .params = params,
    .infer = infer,
};
static const CtStage weigh = {
    .name = "window.weigh",
    .summary = "weighted and shifted samples, summed",
    .version = 1,
    .inputs = inputs,
    .outputs = outputs,
    .params = params,
    .infer = infer,
};

static void
add_axis(CtFormTable *table, const char *name, gint64 length)
{
    table->axes[table->n_axes] = ct_axis_name(name);
    table->lengths[table->n_axes++] = length;
}

static void
fill_tables(const CtNode *node, CtWindowChoice *choice)
{
    CtFormTable *shifts = &choice->shifts, *weights = &choice->form.table;
    const gint64 n_trials = MAX(ct_params_int(node->params, "n_trials"), 1);
    const gint64 n_channels = ct_stream_length(&node->inputs[0], "channel");
    const gint64 n_stations = ct_stream_length(&node->inputs[0], "station");
    add_axis(shifts, "trial", n_trials);
    add_axis(shifts, "channel", n_channels);
    add_axis(shifts, "station", n_stations);
    add_axis(weights, "channel", n_channels);
    add_axis(weights, "station", n_stations);
    weights->type = CT_F64;
    gint64 *shift = shifts->data = g_new(gint64, n_trials * n_channels * n_stations);
    gdouble *weight = weights->data = g_new(gdouble, n_channels * n_stations);
    for (gint64 i = 0; i < n_trials * n_channels * n_stations; i++)
        shift[i] = shift_of(node, i / n_stations / n_channels, i / n_stations % n_channels,
                            i % n_stations);
    for (gint64 i = 0; i < n_channels * n_stations; i++)
        weight[i] = 1 + (gdouble)(i / n_stations) + 2 * (gdouble)(i % n_stations);
    const Fault fault = ct_params_choice(node->params, "fault");
    if (fault == BEYOND)
        shift[0]++;
    if (fault == AXIS)
        shifts->lengths[1] = 2;
}

static gboolean
choose(const CtNode *node, CtWindowChoice *choice, G_GNUC_UNUSED GError **error)
{
    const Fault fault = ct_params_choice(node->params, "fault");
    Scale *settings = ct_form_kernel(&choice->form,
                                     fault == KERNEL   ? "mean"
                                     : is_median(node) ? "median"
                                                       : "weigh",
                                     fault == SETTINGS ? 8 : sizeof(Scale));
    settings->scale = (gfloat)ct_params_real(node->params, "scale");
    if (is_median(node) != (fault == TAPS))
        choice->n_taps = ct_params_int(node->params, "length");
    if (is_median(node))
        return TRUE;
    choice->sum[1] = ct_params_bool(node->params, "sums") ? "channel" : NULL;
    choice->made = ct_params_int(node->params, "n_trials") > 0 ? "trial" : NULL;
    fill_tables(node, choice);
    if (fault == TABLE)
        g_clear_pointer(&choice->form.table.data, g_free);
    return TRUE;
}

static const CtWindow window = CT_WINDOW_FORM("window", choose);

/* ---- the reference, element by element ---- */

typedef struct {
    CtWindowTaps *taps;
    const CtNode *node;
    gint time, trial, channel,
        station; /* axes of the layouts of the output or, of the sum, input */
    gint in_axes[CT_MAX_AXES];
} Reference;

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    const CtLayout *in = &prepare->inputs[0].layout, *out = &prepare->outputs[0].layout;
    Reference *self = *state = g_new0(Reference, 1);
    self->node = &prepare->nodes[0];
    self->time = ct_layout_axis(out, "time");
    self->trial = ct_layout_axis(out, "trial");
    self->channel =
        ct_layout_axis(ct_params_bool(self->node->params, "sums") ? in : out, "channel");
    self->station = ct_layout_axis(out, "station");
    for (guint a = 0; a < out->n_axes; a++)
        self->in_axes[a] = ct_layout_axis(in, out->axes[a].name);
    self->taps = ct_window_taps_new(&window, prepare, error);
    return self->taps != NULL;
}

static int
compare(gconstpointer a, gconstpointer b)
{
    const gdouble x = *(const gdouble *)a, y = *(const gdouble *)b;
    return (x > y) - (x < y);
}

static gdouble
median_of(const guint8 *x, CtType type, gint64 step, gint64 n)
{
    g_autofree gdouble *sorted = g_new(gdouble, n);
    for (gint64 k = 0; k < n; k++)
        sorted[k] = part_read(x + k * step, type, 0);
    qsort(sorted, (gsize)n, sizeof *sorted, compare);
    return sorted[n / 2];
}

static gint64
at(const gint64 *index, gint axis)
{
    return axis < 0 ? 0 : index[axis];
}

static gdouble
value_of(const Reference *self, const CtBlock *in, const guint8 *x, const gint64 *index)
{
    const CtParams *params = self->node->params;
    const gint64 step = in->stride[self->in_axes[self->time]], station = at(index, self->station);
    const gboolean sums = ct_params_bool(params, "sums");
    const gint64 first = sums ? 0 : at(index, self->channel);
    const gint64 end = sums ? in->length[self->channel] : first + 1;
    gdouble sum = 0;
    if (is_median(self->node))
        return median_of(x, in->type, step, ct_params_int(params, "length"));
    for (gint64 c = first; c < end; c++) {
        const gint64 shift =
            self->node->footprint.offset + shift_of(self->node, at(index, self->trial), c, station);
        sum +=
            (1 + (gdouble)c + 2 * (gdouble)station) *
            part_read(x + shift * step + (sums ? c * in->stride[self->channel] : 0), in->type, 0);
    }
    return sum;
}

static gboolean
work(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    const Reference *self = state;
    const CtBlock *in = &work->inputs[0], *out = &work->outputs[0];
    gint64 index[CT_MAX_AXES] = {0};
    if (!out->data || work->begin >= work->end)
        return TRUE;
    index[self->time] = work->begin;
    do {
        const guint8 *x = in->data;
        guint8 *y = out->data;
        for (guint a = 0; a < out->n_axes; a++) {
            x += self->in_axes[a] < 0 ? 0 : index[a] * in->stride[self->in_axes[a]];
            y += index[a] * out->stride[a];
        }
        const gdouble value =
            ct_params_real(self->node->params, "scale") * value_of(self, in, x, index);
        const gfloat wide = (gfloat)value;
        const guint16 narrow = ct_half_from_double(value);
        if (out->type == CT_F16)
            memcpy(y, &narrow, sizeof narrow);
        else
            memcpy(y, &wide, sizeof wide);
    } while (places_next(out, self->time, work->begin, work->end, index));
    return TRUE;
}

static void
finish(gpointer state)
{
    Reference *self = state;
    if (self)
        ct_window_taps_free(self->taps);
    g_free(self);
}

static const CtRow any_rows[] = {{"any: i16|f32{...} -> f16|f32{...}", 0.1}, {NULL}};
static const CtRow rows[] = {{"i16|f32{...} -> f16|f32{...}", 0.1}, {NULL}};

#define REFERENCE(stage_)                                                                          \
    &(const CtVariant)                                                                             \
    {                                                                                              \
        .name = "reference", .backend = CT_REFERENCE,                                              \
        .covers = (const char *const[]){stage_, NULL}, .rows = any_rows, .split = "time",          \
        .prepare = prepare, .advance = ct_window_advance, .work = work, .finish = finish,          \
    }

CT_PLUGIN("window", ((const CtStage *const[]){&median, &weigh, NULL}),
          ((const CtVariant *const[]){
              CT_WINDOW_VARIANTS(window, "window.median", any_rows, rows),
              CT_WINDOW_SUM_VARIANTS(window, "window.weigh", any_rows, rows),
              REFERENCE("window.median"), REFERENCE("window.weigh"), NULL}));
