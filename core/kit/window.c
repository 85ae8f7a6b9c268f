/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows and shifts on every backend: footprint, validity, and tables. */
#include "reserved.h"
#include "window-private.h"

#include <cornerturn/kit/convert.h>
#include <string.h>

gboolean
ct_window_footprint(CtNode *node, const char *param, gint64 least, gint64 most, gint64 n_taps,
                    GError **error)
{
    const CtStream *in = &node->inputs[0];
    const gint time = ct_stream_axis(in, "time");
    const gint64 length = time < 0 ? 1 : in->axes[time].length;
    const gint64 window = most - least + n_taps;
    if (n_taps < 1)
        return ct_params_error(node->params, param, error,
                               "wants windows of at least 1 sample, but is given one of "
                               "%" G_GINT64_FORMAT,
                               n_taps);
    if (window > CT_WINDOW_MAX)
        return ct_params_error(node->params, param, error,
                               "wants windows of at most %" G_GINT64_FORMAT
                               " samples, but is given one of %" G_GINT64_FORMAT,
                               CT_WINDOW_MAX, window);
    if (length >= 0 && window > length)
        return ct_params_error(node->params, param, error,
                               "wants windows of at most the %" G_GINT64_FORMAT
                               " samples of the stream, but is given one of %" G_GINT64_FORMAT,
                               length, window);
    node->footprint.window = window;
    node->footprint.offset = -least;
    return TRUE;
}

/* ---- validity ---- */

static gboolean
check_shifts(const CtWindowTaps *self, const CtWindow *window, gint64 length, GError **error)
{
    const CtFormTable *shifts = &self->choice.shifts;
    gint64 n = 1;
    for (guint a = 0; a < shifts->n_axes; a++)
        n *= shifts->lengths[a];
    for (gint64 i = 0; shifts->data && i < n; i++) {
        const gint64 shift = ((const gint64 *)shifts->data)[i];
        if (shift >= -self->before && shift <= length - self->before - self->n)
            continue;
        g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN,
                    "plugin '%s' gives a shift of %" G_GINT64_FORMAT " samples in a window of "
                    "%" G_GINT64_FORMAT " from %" G_GINT64_FORMAT " on",
                    window->form.plugin, shift, length, -self->before);
        return FALSE;
    }
    return TRUE;
}

static gboolean
check_members(const CtWindow *window, const CtWindowChoice *choice, GError **error)
{
    const char *plugin = window->form.plugin;
    return CT_RESERVED_CHECK(plugin, CtWindow, window, error) &&
           CT_RESERVED_CHECK(plugin, CtWindowChoice, choice, error) &&
           CT_RESERVED_CHECK(plugin, CtFormTable, &choice->shifts, error) &&
           ct_form_check(&window->form, &choice->form, error);
}

static gboolean
choose(const CtWindow *window, const CtNode *node, CtWindowChoice *choice, GError **error)
{
    if (window->choose)
        return window->choose(node, choice, error);
    if (window->form.length)
        choice->n_taps = ct_params_int(node->params, window->form.length);
    return ct_form_choose(&window->form, node, &choice->form, error);
}

CtWindowTaps *
ct_window_taps_new(const CtWindow *window, const CtPrepare *prepare, GError **error)
{
    const CtStream *in = prepare->inputs[0].stream, *out = prepare->outputs[0].stream;
    const CtFootprint *footprint = &prepare->nodes[0].footprint;
    CtWindowTaps *self = g_new0(CtWindowTaps, 1);
    const CtFormTable *shifts = &self->choice.shifts;
    self->before = footprint->offset;
    if (!choose(window, &prepare->nodes[0], &self->choice, error) ||
        !check_members(window, &self->choice, error) ||
        !ct_form_check_table(window->form.plugin, shifts, in, out, error) ||
        !ct_form_check_table(window->form.plugin, &self->choice.form.table, in, out, error)) {
        ct_window_taps_free(self);
        return NULL;
    }
    self->n = MAX(self->choice.n_taps, 1);
    self->is_whole = self->n == footprint->window;
    gint64 stride = 1;
    for (guint a = shifts->n_axes; a-- > 0; stride *= shifts->lengths[a])
        self->places[a] = (CtWindowPlace){
            .length = shifts->lengths[a],
            .stride = stride,
            .lane = ct_stream_lane_step(out, shifts->axes[a]),
            .from = ct_stream_lane_step(in, shifts->axes[a]),
        };
    if (!check_shifts(self, window, footprint->window, error)) {
        ct_window_taps_free(self);
        return NULL;
    }
    return self;
}

void
ct_window_taps_free(CtWindowTaps *self)
{
    if (!self)
        return;
    ct_form_choice_clear(&self->choice.form);
    g_free(self->choice.shifts.data);
    if (self->choice.free)
        self->choice.free(self->choice.data);
    g_free(self);
}

/* The k-th entry among those of the two lanes: along axes without lanes, all are used. */
static gboolean
find_taps(gpointer data, gint64 lane, gint64 from, guint k, gint64 tick, CtTaps *taps)
{
    const CtWindowTaps *self = data;
    const CtWindowChoice *choice = &self->choice;
    gint64 entry = 0, rest = k;
    for (guint a = choice->shifts.n_axes; a-- > 0;) {
        const CtWindowPlace *place = &self->places[a];
        if (place->lane == 0 && place->from == 0) {
            entry += rest % place->length * place->stride;
            rest /= place->length;
        } else {
            const gint64 index = place->lane > 0 ? lane / place->lane : from / place->from;
            entry += index % place->length * place->stride;
        }
    }
    if (rest > 0)
        return FALSE;
    *taps = (CtTaps){.n = self->n, .steady = G_MAXINT64};
    if (choice->line) {
        CtWindowLine line;
        choice->line(choice->data, entry, tick, 1 << 16, &line);
        taps->first = self->before + line.shift;
        taps->steady = line.n;
    } else if (choice->shifts.data) {
        taps->first = self->before + ((const gint64 *)choice->shifts.data)[entry];
    }
    return TRUE;
}

gboolean
ct_window_advance(gpointer state, CtAdvance *advance, GError **error)
{
    CtWindowTaps *taps = *(CtWindowTaps **)state;
    return ct_advance_taps(advance, taps->is_whole ? NULL : find_taps, taps, error);
}

/* ---- tables ---- */

static gboolean
table_has(const CtFormTable *table, const char *axis)
{
    for (guint a = 0; a < table->n_axes; a++)
        if (table->axes[a] == axis && table->lengths[a] > 1)
            return TRUE;
    return FALSE;
}

guint
ct_window_place(CtWindowState *self, const CtLayout *layout, gboolean all, gint64 stride,
                const char **axes)
{
    CtBoxes *boxes = &self->form.boxes;
    CtBoxesAxis *found[CT_MAX_AXES];
    guint n = 0;
    for (guint a = 0; a < layout->n_axes; a++)
        for (guint b = 0; b < boxes->n_axes; b++)
            if (boxes->axes[b].in == (gint)a && boxes->axes[b].length >= 0 &&
                (all || ct_window_has_axis(self, boxes->axes[b].name))) {
                axes[n] = boxes->axes[b].name;
                found[n++] = &boxes->axes[b];
            }
    for (guint a = n; a-- > 0; stride *= found[a]->length)
        found[a]->table = stride;
    return n;
}

guint
ct_window_add_sums(const CtWindowState *self, const char **axes, guint n_axes)
{
    for (guint k = 0; k < 2; k++)
        if (self->sum[k] >= 0)
            axes[n_axes++] = ct_axis_name(self->taps->choice.sum[k]);
    return n_axes;
}

gint64
ct_window_stride(const CtBlock *block, gint axis)
{
    return axis < 0 ? 0 : block->stride[axis];
}

gboolean
ct_window_has_axis(const CtWindowState *self, const char *axis)
{
    return table_has(&self->taps->choice.shifts, axis) ||
           table_has(&self->taps->choice.form.table, axis);
}

static void
table_strides(const CtFormTable *table, const char *const *axes, guint n_axes, gint64 *strides)
{
    memset(strides, 0, n_axes * sizeof *strides);
    gint64 stride = 1;
    for (guint t = table->n_axes; t-- > 0; stride *= table->lengths[t])
        for (guint a = 0; a < n_axes && table->lengths[t] > 1; a++)
            if (axes[a] == table->axes[t])
                strides[a] = stride;
}

/* Fills in entry `i`, of entry `shift` of the choice's shifts and `w` of its table. */
static void
fill_entry(const CtWindowState *self, const CtConvert *convert, gint64 shift, gint64 w,
           const CtWindowEntries *entries, gint64 i)
{
    const CtWindowTaps *taps = self->taps;
    const CtFormTable *table = &taps->choice.form.table;
    guint8 scratch[CT_CONVERT_SCRATCH(1)];
    if (entries->series)
        entries->series[i] = (guint32)shift;
    else if (taps->choice.shifts.data)
        entries->shifts[i] = taps->before + ((const gint64 *)taps->choice.shifts.data)[shift];
    if (entries->table)
        ct_convert(
            convert, (const guint8 *)table->data + w * (gint64)ct_type_info(table->type)->bytes,
            entries->table + i * (gint64)ct_type_info(self->form.kernel->w)->bytes, 1, scratch);
}

gboolean
ct_window_expand(const CtWindowState *self, const char *const *axes, guint n_axes,
                 CtWindowEntries *entries, GError **error)
{
    const CtWindowChoice *choice = &self->taps->choice;
    const CtFormTable *table = &choice->form.table;
    gint64 lengths[CT_MAX_AXES + 1], shifts[CT_MAX_AXES + 1], ws[CT_MAX_AXES + 1];
    gint64 index[CT_MAX_AXES + 1] = {0}, shift = 0, w = 0, i = 0;
    entries->n = 1;
    for (guint a = 0; a < n_axes; a++) {
        lengths[a] = ct_form_axis_length(self->in, self->out, axes[a]);
        entries->n *= lengths[a];
    }
    table_strides(&choice->shifts, axes, n_axes, shifts);
    table_strides(table, axes, n_axes, ws);
    CtConvert convert = {0};
    if (choice->line)
        entries->series = CT_TABLE(guint32, entries->n, "series of shifts", error);
    else
        entries->shifts = CT_TABLE(gint64, entries->n, "shifts", error);
    if (!entries->series && !entries->shifts)
        return FALSE;
    if (self->has_table) {
        convert = ct_convert_steps(CT_ISA_BASELINE, table->type, self->form.kernel->w);
        entries->table = ct_table_new((gsize)entries->n, ct_type_info(self->form.kernel->w)->bytes,
                                      choice->form.kernel, error);
        if (!entries->table)
            return FALSE;
    }
    guint left;
    do {
        fill_entry(self, &convert, shift, w, entries, i++);
        for (left = n_axes; left > 0; left--) {
            const guint a = left - 1;
            shift += shifts[a];
            w += ws[a];
            if (++index[a] < lengths[a])
                break;
            shift -= shifts[a] * lengths[a];
            w -= ws[a] * lengths[a];
            index[a] = 0;
        }
    } while (left > 0);
    return TRUE;
}

void
ct_window_entries_clear(CtWindowEntries *entries)
{
    g_clear_pointer(&entries->shifts, g_free);
    g_clear_pointer(&entries->series, g_free);
    g_clear_pointer(&entries->table, g_free);
}

/* ---- the state ---- */

/* Finds the kernel, and refuses one that does not fit the choice. */
static gboolean
bind_kernel(CtWindowState *self, const CtWindow *window, CtIsa isa, GError **error)
{
    const CtWindowChoice *choice = &self->taps->choice;
    const CtBoxes *boxes = &self->form.boxes;
    const gboolean is_single = self->n_terms * self->n_made == 1;
    const char *fault;
    if (!choice->form.kernel) {
        fault = is_single && choice->n_taps == 0 && boxes->in_type == boxes->out_type
                    ? NULL
                    : "wants a kernel for sums, taps or other types, but is given none";
    } else {
        if (!ct_form_bind(&self->form, isa, CT_FORM_WINDOWS, error))
            return FALSE;
        const CtFormKernel *kernel = self->form.kernel;
        const gboolean is_window = kernel->kind == CT_FORM_WINDOW;
        fault = is_window != (choice->n_taps > 0)
                    ? "wants a number of taps for a kernel of windows, and only for these"
                : (is_window || choice->line) && (!is_single || (is_window && choice->shifts.data))
                    ? "wants shifts and sums without taps, and sums without lines"
                : (kernel->w != CT_TYPE_NONE) != self->has_table
                    ? "wants a table if and only if the kernel has one"
                : choice->line && self->has_table && kernel->w != CT_F64
                    ? "wants a kernel with a table of f64 for lines"
                    : NULL;
    }
    if (fault)
        g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN, "the form of plugin '%s' %s",
                    window->form.plugin, fault);
    return !fault;
}

gboolean
ct_window_init(CtWindowState *self, const CtPrepare *prepare, CtIsa isa, gint64 n_items,
               GError **error)
{
    const CtWindow *window = prepare->variant->form;
    const CtBinding *in = &prepare->inputs[0], *out = &prepare->outputs[0];
    self->taps = ct_window_taps_new(window, prepare, error);
    if (!self->taps)
        return FALSE;
    const CtWindowChoice *choice = &self->taps->choice;
    self->in = in->stream;
    self->out = out->stream;
    self->form.form = &window->form;
    self->form.choice = choice->form;
    ct_boxes_init(&self->form.boxes, in, out, n_items);
    self->time_in = ct_layout_axis(&in->layout, "time");
    self->time_out = ct_layout_axis(&out->layout, "time");
    for (guint k = 0; k < 2; k++)
        self->sum[k] = choice->sum[k] ? ct_layout_axis(&in->layout, choice->sum[k]) : -1;
    self->made = choice->made ? ct_layout_axis(&out->layout, choice->made) : -1;
    self->n_fast = choice->sum[1] ? ct_stream_length(in->stream, choice->sum[1]) : 1;
    self->n_terms =
        self->n_fast * (choice->sum[0] ? ct_stream_length(in->stream, choice->sum[0]) : 1);
    self->n_made = choice->made ? ct_stream_length(out->stream, choice->made) : 1;
    self->has_table = choice->form.table.data != NULL;
    const gboolean has_shifts = self->taps->n < prepare->nodes[0].footprint.window;
    for (guint a = 0; a < choice->shifts.n_axes && has_shifts; a++)
        self->shifts_differ |= choice->shifts.lengths[a] > 1 &&
                               ct_stream_axis(in->stream, choice->shifts.axes[a]) >= 0 &&
                               ct_stream_axis(out->stream, choice->shifts.axes[a]) >= 0;
    return bind_kernel(self, window, isa, error);
}

void
ct_window_clear(CtWindowState *self)
{
    g_clear_pointer(&self->taps, ct_window_taps_free);
}
