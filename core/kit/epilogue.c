/* SPDX-License-Identifier: BSD-3-Clause */
/* Epilogues and prologues: the stages that elements go through behind or in front of a kernel, and
 * the argument of the kernel for them. */
#include "epilogue-private.h"
#include "fold-private.h"

#include <string.h>

/* Uploads are rounded up to this. */
enum { UPLOAD_ALIGNMENT = 256 };

/* ---- the stages ---- */

gboolean
ct_epilogue_choose(CtFormState *form, const CtForm *of, const CtNode *node, CtType given,
                   guint kinds, GError **error)
{
    form->form = of;
    form->boxes.in_type = given;
    form->boxes.out_type = node->outputs[0].type;
    return ct_form_choose(of, node, &form->choice, error) &&
           ct_form_check(of, &form->choice, error) &&
           ((!form->choice.kernel && kinds != CT_FORM_FOLDS) ||
            ct_form_bind(form, CT_ISA_BASELINE, kinds, error)) &&
           (!ct_epilogue_is(form, CT_FORM_TABLE) ||
            ct_form_check_own_table(form, &node->inputs[0], &node->outputs[0], error));
}

gsize
ct_epilogue_state_bytes(const CtForm *form, const CtNode *node, CtType made)
{
    CtFormState state = {0};
    const gboolean good = ct_epilogue_choose(&state, form, node, made, CT_FORM_FOLDS, NULL);
    const gsize bytes = good ? state.kernel->fold->state_bytes : 0;
    ct_form_clear(&state);
    return bytes;
}

static gboolean
is_alone(const CtStream *with, const CtStream *without, const char *axis)
{
    return ct_stream_axis(with, axis) >= 0 && ct_stream_axis(without, axis) < 0;
}

gboolean
ct_epilogue_fits_group(const CtFormState *form, const CtNode *node)
{
    const CtStream *in = &node->inputs[0], *out = &node->outputs[0];
    const char *x = form->choice.group_in, *y = form->choice.group_out;
    return x && y && ct_stream_length(in, x) == form->kernel->n_x &&
           ct_stream_length(out, y) == form->kernel->n_y &&
           (g_str_equal(x, y) || (is_alone(in, out, x) && is_alone(out, in, y)));
}

/* ---- the text ---- */

static char **
list_headers(const CtEpilogueState *self)
{
    g_autoptr(GStrvBuilder) builder = g_strv_builder_new();
    g_autoptr(GHashTable) known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (guint k = 0; k < self->n; k++) {
        const CtFormState *form = &self->stages[k].form;
        if (!form->kernel)
            continue;
        char *header =
            g_strdup_printf("/cornerturn/plugins/%s/%s", form->form->plugin, form->kernel->file);
        if (!g_hash_table_contains(known, header))
            g_strv_builder_add(builder, header);
        g_hash_table_add(known, header);
    }
    return g_strv_builder_end(builder);
}

/* ---- the argument ---- */

static gsize
round_up(gsize bytes, gsize to)
{
    return (bytes + to - 1) / to * to;
}

/* Lays out the argument as ct_epilogue_write() does, and writes the settings. */
static void
lay_out(CtEpilogueState *self)
{
    self->index = self->epilogue.checks ? CT_EPILOGUE_ALIGNMENT : 0;
    self->strides = self->index;
    if (self->epilogue.has_tables)
        self->strides += round_up(sizeof(CtEpilogueIndex), CT_EPILOGUE_ALIGNMENT);
    gsize bytes = self->strides;
    if (ct_epilogue_group(&self->epilogue))
        bytes += round_up(2 * sizeof(gint64), CT_EPILOGUE_ALIGNMENT);
    for (guint k = 0; k < self->n; k++) {
        CtEpilogueStage *stage = &self->stages[k];
        if (!stage->form.kernel)
            continue;
        stage->settings = bytes;
        stage->counter = bytes + round_up(stage->form.choice.settings_bytes, sizeof(guint64));
        bytes = stage->counter + sizeof(guint64);
        bytes = round_up(bytes + (stage->table ? sizeof(gpointer) : 0), CT_EPILOGUE_ALIGNMENT);
    }
    self->argument = g_malloc0(MAX(bytes, CT_EPILOGUE_ALIGNMENT));
    for (guint k = 0; k < self->n; k++) {
        const CtEpilogueStage *stage = &self->stages[k];
        if (!stage->form.kernel)
            continue;
        memcpy(self->argument + stage->settings, stage->form.choice.settings.bytes,
               stage->form.choice.settings_bytes);
        if (stage->table)
            memcpy(self->argument + stage->counter + sizeof(guint64), &stage->table,
                   sizeof stage->table);
    }
}

/* The order of the elements of a sample; groups along one of the axes count as one. */
static void
find_order(CtEpilogueState *self, const CtBinding *port)
{
    for (guint a = 0; a < port->layout.n_axes; a++) {
        const CtLayoutAxis *axis = &port->layout.axes[a];
        if (axis->count == 0 && axis->name != ct_axis_name("time") && (gint)a != self->group.out &&
            ct_stream_axis(port->stream, axis->name) >= 0)
            self->order.axes[self->order.n_axes++] = *axis;
    }
}

/* The step of an axis in the order of the elements; 0: it is not among them. */
static gint64
element_step(const CtLayout *order, const CtStream *stream, const char *name)
{
    gint64 step = 1;
    for (guint a = order->n_axes; a-- > 0; step *= ct_stream_length(stream, order->axes[a].name))
        if (order->axes[a].name == name)
            return step;
    return 0;
}

static void
find_steps(CtEpilogueState *self, const CtBinding *port)
{
    const CtLayout *layout = &port->layout;
    find_order(self, port);
    for (guint a = 0; a < layout->n_axes; a++) {
        const char *name = layout->axes[a].name;
        const gint inner = ct_layout_block_axis(layout, name);
        const gint64 count = inner >= 0 && inner != (gint)a ? layout->axes[inner].count : 1;
        const gboolean is_time = name == ct_axis_name("time");
        self->validity_steps[a] = count * (is_time ? -1 : ct_stream_lane_step(port->stream, name));
        self->element_steps[a] = count * element_step(&self->order, port->stream, name);
    }
}

/* Sends the table of stage k, with an entry for each element of a sample; the elements of a group
 * are neighbours. */
static gboolean
send_table(CtEpilogueState *self, guint k, const CtStream *stream, GError **error)
{
    CtEpilogueStage *stage = &self->stages[k];
    CtBinding elements = {.stream = stream, .layout = self->order};
    const CtPrepare prepare = {.inputs = &elements};
    gint64 n;
    if (self->group_stage < self->n) {
        const CtFormChoice *choice = &self->stages[self->group_stage].form.choice;
        const char *axis = k < self->group_stage ? choice->group_in : choice->group_out;
        elements.layout.axes[elements.layout.n_axes++] = (CtLayoutAxis){.name = ct_axis_name(axis)};
    }
    g_autofree guint8 *entries = ct_form_expand(&stage->form, &prepare, 1, &n, error);
    const gsize bytes = (gsize)ct_type_info(stage->form.kernel->w)->bytes;
    if (entries)
        stage->table =
            ct_device_alloc(self->device, (gsize)n * bytes, stage->form.choice.kernel, error);
    return stage->table &&
           ct_device_upload(self->device, stage->table, entries, (gsize)n * bytes, error);
}

/* Sends the validity of the samples that are folded, and their counts. */
static gboolean
send_folded(const CtEpilogueState *self, gint64 n_samples, CtEpilogueValidity *to, CtQueue *queue,
            GError **error)
{
    const gsize n = (gsize)(self->folded.n_lanes * n_samples);
    to->validity =
        ct_queue_upload(queue, self->folded.validity, n * (gsize)self->epilogue.hop, error);
    to->counts = to->validity
                     ? ct_queue_upload(queue, self->folded.counts, n * sizeof(guint32), error)
                     : NULL;
    return to->counts != NULL;
}

/* The index of this block's elements in an array in which the axes of the layout have these steps;
 * they are sorted by their strides. */
static void
find_index(CtEpilogueIndex *index, const CtBlock *block, const gint64 *steps)
{
    index->first = block->data;
    index->n_axes = block->n_axes;
    for (guint a = 0; a < block->n_axes; a++) {
        guint i = a;
        for (; i > 0 && index->axes[i - 1].stride < block->stride[a]; i--)
            index->axes[i] = index->axes[i - 1];
        index->axes[i].stride = block->stride[a];
        index->axes[i].inverse = 1 / (gdouble)block->stride[a];
        index->axes[i].step = steps[a];
    }
}

/* Sends the validity of this block. */
static gboolean
send_validity(const CtEpilogueState *self, const CtBlock *out, CtQueue *queue, GError **error)
{
    CtEpilogueValidity validity = {.validity = out->validity_on_device};
    if (self->epilogue.hop > 0 && !send_folded(self, out->n_samples, &validity, queue, error))
        return FALSE;
    find_index(&validity.index, out, self->validity_steps);
    for (guint a = 0; a < out->n_axes; a++) {
        const gint64 step = validity.index.axes[a].step;
        validity.index.axes[a].step = step < 0 ? -step : step * out->n_samples;
    }
    const gpointer sent = ct_queue_upload(queue, &validity, sizeof validity, error);
    memcpy(self->argument, &sent, sizeof sent);
    return sent != NULL;
}

static void
write_strides(const CtEpilogueState *self, const CtWork *work)
{
    const gint64 strides[2] = {work->inputs[0].stride[self->group.in],
                               work->outputs[0].stride[self->group.out]};
    memcpy(self->argument + self->strides, strides, sizeof strides);
}

gpointer
ct_epilogue_argument(CtEpilogue *epilogue, const CtWork *work, GError **error)
{
    static guint64 none;
    CtEpilogueState *self = (CtEpilogueState *)epilogue;
    if (!self)
        return &none;
    for (guint k = 0; k < self->n; k++) {
        const CtEpilogueStage *stage = &self->stages[k];
        const guint64 *counter = work->counters + stage->n_before;
        if (stage->form.kernel)
            memcpy(self->argument + stage->counter, &counter, sizeof counter);
    }
    if (self->epilogue.has_tables) {
        CtEpilogueIndex index = {0};
        find_index(&index, self->is_prologue ? &work->inputs[0] : &work->outputs[0],
                   self->element_steps);
        memcpy(self->argument + self->index, &index, sizeof index);
    }
    if (ct_epilogue_group(epilogue))
        write_strides(self, work);
    return !self->epilogue.checks || send_validity(self, &work->outputs[0], work->queue, error)
               ? self->argument
               : NULL;
}

const CtGroupAxes *
ct_epilogue_group(const CtEpilogue *epilogue)
{
    const CtEpilogueState *self = (const CtEpilogueState *)epilogue;
    return self && self->group_stage < self->n ? &self->group : NULL;
}

gboolean
ct_epilogue_minds(const CtEpilogue *epilogue)
{
    return epilogue && ((const CtEpilogueState *)epilogue)->minds;
}

void
ct_epilogue_set_folded(CtEpilogue *epilogue, const CtFolded *folded)
{
    ((CtEpilogueState *)epilogue)->folded = *folded;
}

gsize
ct_epilogue_upload(const CtEpilogue *epilogue, gint64 n_lanes, gint64 max_samples)
{
    const gsize n = (gsize)(n_lanes * max_samples);
    const gsize bytes = round_up(sizeof(CtEpilogueValidity), UPLOAD_ALIGNMENT);
    return epilogue->hop == 0 ? bytes
                              : bytes + round_up(n * (gsize)epilogue->hop, UPLOAD_ALIGNMENT) +
                                    round_up(n * sizeof(guint32), UPLOAD_ALIGNMENT);
}

/* ---- both ---- */

void
ct_epilogue_free(CtEpilogue *epilogue)
{
    CtEpilogueState *self = (CtEpilogueState *)epilogue;
    if (!self)
        return;
    for (guint k = 0; k < self->n; k++) {
        ct_form_clear(&self->stages[k].form);
        ct_device_free(self->device, self->stages[k].table);
    }
    g_free(self->stages);
    g_free(self->argument);
    g_free((char *)self->epilogue.text);
    g_strfreev((char **)self->epilogue.headers);
    g_free(self);
}

/* Finds where the group of stage k lies: if it is among them, they are a chain of its own. */
static void
find_group(CtEpilogueState *self, guint k, const CtEpilogueSpec *spec)
{
    const CtFormState *form = &self->stages[k].form;
    self->group_stage = k;
    self->group = (CtGroupAxes){
        .n_x = form->kernel->n_x,
        .n_y = form->kernel->n_y,
        .in = ct_layout_axis(&spec->in->layout, form->choice.group_in),
        .out = ct_layout_axis(&spec->out->layout, form->choice.group_out),
    };
}

static gboolean
choose_stages(CtEpilogueState *self, const CtEpilogueSpec *spec, GError **error)
{
    CtType given = spec->given;
    guint n_counters = spec->n_counters;
    for (guint k = 0; k < self->n; k++) {
        const CtNode *node = &spec->nodes[k];
        CtFormState *form = &self->stages[k].form;
        const gboolean is_fold = spec->folds && k + 1 == self->n;
        if (!ct_epilogue_choose(form, spec->forms[k], node, given,
                                is_fold ? CT_FORM_FOLDS : CT_FORM_MAPS, error))
            return FALSE;
        if (ct_epilogue_is(form, CT_FORM_GROUP))
            find_group(self, k, spec);
        self->epilogue.has_tables |= ct_epilogue_is(form, CT_FORM_TABLE);
        self->minds |= is_fold || ct_epilogue_counts(form);
        self->stages[k].n_before = n_counters;
        n_counters += node->stage->counters ? g_strv_length((char **)node->stage->counters) : 0;
        given = node->outputs[0].type;
    }
    return TRUE;
}

static void
set_fold(CtEpilogueState *self, const CtNode *node)
{
    const CtFormState *fold = &self->stages[self->n - 1].form;
    const CtGroupAxes *group = ct_epilogue_group(&self->epilogue);
    self->epilogue.hop = node->footprint.hop;
    self->epilogue.state_bytes = fold->kernel->fold->state_bytes * (group ? group->n_y : 1);
}

static gboolean
send_tables(CtEpilogueState *self, const CtNode *nodes, GError **error)
{
    for (guint k = 0; k < self->n; k++)
        if (ct_epilogue_is(&self->stages[k].form, CT_FORM_TABLE) &&
            !send_table(self, k, &nodes[k].outputs[0], error))
            return FALSE;
    return TRUE;
}

CtEpilogue *
ct_epilogue_new(const CtEpilogueSpec *spec, CtDevice *device, GError **error)
{
    CtEpilogueState *self = g_new0(CtEpilogueState, 1);
    self->device = device;
    self->is_prologue = spec->is_prologue;
    self->n = self->group_stage = spec->n_nodes;
    self->group.in = self->group.out = -1;
    self->stages = g_new0(CtEpilogueStage, self->n);
    if (!choose_stages(self, spec, error)) {
        ct_epilogue_free(&self->epilogue);
        return NULL;
    }
    if (spec->folds)
        set_fold(self, &spec->nodes[self->n - 1]);
    self->epilogue.checks = spec->checks && self->minds;
    find_steps(self, spec->is_prologue ? spec->in : spec->out);
    if (!send_tables(self, spec->nodes, error)) {
        ct_epilogue_free(&self->epilogue);
        return NULL;
    }
    lay_out(self);
    self->epilogue.text = ct_epilogue_write(self);
    self->epilogue.headers = (const char *const *)list_headers(self);
    return &self->epilogue;
}
