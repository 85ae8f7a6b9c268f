/* SPDX-License-Identifier: BSD-3-Clause */
/* Forms on every backend: the choice of kernel and types, and tables. */
#include "form-private.h"

#include <cornerturn/kit/convert.h>
#include <string.h>

/* ---- the kernel ---- */

enum { UNSUITABLE = 255 };

/* 0 if the types of stream and kernel are the same; otherwise the kernel computes in floating
 * point: 1 if it has the precision of the stream, 2 if not. */
static guint
misfit(CtType stream, CtType kernel)
{
    const CtTypeInfo *of_stream = ct_type_info(stream), *of_kernel = ct_type_info(kernel);
    if (stream == kernel)
        return 0;
    if (of_stream->is_complex != of_kernel->is_complex || !of_kernel->is_float)
        return UNSUITABLE;
    const gboolean is_wide = of_stream->part_bits > 16 && of_stream->part != CT_F32;
    return (of_kernel->part == CT_F64) == is_wide ? 1 : 2;
}

/* The kernel that fits best, first the output and then the input. */
static const CtFormKernel *
find_kernel(const CtForm *form, const char *name, CtIsa isa, CtType in, CtType out, GError **error)
{
    const CtFormKernel *best = NULL;
    guint least = UNSUITABLE;
    for (const CtFormKernel *const *k = form->begin; k < form->end; k++) {
        const CtFormKernel *kernel = *k;
        if (kernel->isa != isa || strcmp(kernel->name, name) != 0)
            continue;
        const guint of_in = misfit(in, kernel->x), of_out = misfit(out, kernel->y);
        if (of_in == UNSUITABLE || of_out == UNSUITABLE || 8 * of_out + of_in >= least)
            continue;
        least = 8 * of_out + of_in;
        best = kernel;
    }
    if (!best)
        g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN, "plugin '%s' has no kernel '%s' for %s -> %s",
                    form->plugin, name, ct_type_info(in)->name, ct_type_info(out)->name);
    return best;
}

gboolean
ct_form_init(CtFormState *self, const CtPrepare *prepare, CtIsa isa, guint n_workers,
             GError **error)
{
    const CtBinding *in = &prepare->inputs[0], *out = &prepare->outputs[0];
    CtFormChoice *choice = &self->choice;
    self->form = prepare->variant->form;
    self->group_in = self->group_out = -1;
    ct_boxes_init(&self->boxes, in, out, n_workers);
    if (!self->form->choose)
        return TRUE;
    if (!self->form->choose(&prepare->nodes[0], choice, error))
        return FALSE;
    self->kernel = find_kernel(self->form, choice->kernel, isa, self->boxes.in_type,
                               self->boxes.out_type, error);
    if (!self->kernel)
        return FALSE;
    if (self->kernel->settings_bytes != choice->settings_bytes) {
        g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN,
                    "kernel '%s' wants %" G_GSIZE_FORMAT " bytes of settings, but is given "
                    "%" G_GSIZE_FORMAT,
                    choice->kernel, self->kernel->settings_bytes, choice->settings_bytes);
        return FALSE;
    }
    if (self->kernel->kind == CT_FORM_GROUP) {
        self->group_in = ct_layout_axis(&in->layout, choice->group_in);
        self->group_out = ct_layout_axis(&out->layout, choice->group_out);
    }
    return TRUE;
}

void
ct_form_clear(CtFormState *self)
{
    g_clear_pointer(&self->choice.table.data, g_free);
}

/* ---- tables ---- */

/* The walk over the elements of a layout. */
typedef struct {
    guint n_axes;
    gint64 lengths[CT_MAX_AXES]; /* of the layout's axes; that of time is the number of times */
    gint64 strides[CT_MAX_AXES]; /* in the table, in entries */
    gsize from_bytes, to_bytes;
    CtConvert convert;
} Expansion;

/* Writes the entries of all elements from axis `a` on, one after another. */
static guint8 *
expand(const Expansion *self, guint a, const guint8 *entry, guint8 *to)
{
    guint8 scratch[CT_CONVERT_SCRATCH(1)];
    if (a == self->n_axes) {
        ct_convert(&self->convert, entry, to, 1, scratch);
        return to + self->to_bytes;
    }
    for (gint64 i = 0; i < self->lengths[a]; i++)
        to = expand(self, a + 1, entry + i * self->strides[a] * (gint64)self->from_bytes, to);
    return to;
}

guint8 *
ct_form_expand(const CtFormState *self, const CtPrepare *prepare, gint64 repeat, gint64 *n_entries,
               GError **error)
{
    const CtFormTable *table = &self->choice.table;
    const CtLayout *layout = &prepare->inputs[0].layout;
    Expansion expansion = {
        .n_axes = layout->n_axes,
        .from_bytes = ct_type_info(table->type)->bytes,
        .to_bytes = ct_type_info(self->kernel->w)->bytes,
        .convert = ct_convert_steps(CT_ISA_BASELINE, table->type, self->kernel->w),
    };
    gint64 stride = 1;
    for (guint a = table->n_axes; a-- > 0; stride *= table->lengths[a])
        if (table->lengths[a] > 1)
            expansion.strides[ct_layout_axis(layout, table->axes[a])] = stride;
    *n_entries = 1;
    for (guint a = 0; a < layout->n_axes; a++) {
        const char *name = layout->axes[a].name;
        expansion.lengths[a] = name == ct_axis_name("time")
                                   ? repeat
                                   : ct_stream_length(prepare->inputs[0].stream, name);
        *n_entries *= expansion.lengths[a];
    }
    guint8 *entries =
        ct_table_new((gsize)*n_entries, expansion.to_bytes, self->choice.kernel, error);
    if (entries)
        expand(&expansion, 0, table->data, entries);
    return entries;
}
