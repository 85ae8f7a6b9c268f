/* SPDX-License-Identifier: BSD-3-Clause */
/* Forms on every backend: the choice of kernel and types, and tables. */
#include "form-private.h"
#include "group-device.h"
#include "reserved.h"

#include <cornerturn/kit/convert.h>
#include <float.h>
#include <math.h>
#include <string.h>

/* ---- the kernel ---- */

enum { LOSES = 254, UNSUITABLE = 255 };

/* The bits of the integers that a number of this type holds without loss. */
static guint
precision(CtType type)
{
    const CtTypeInfo *info = ct_type_info(type);
    return info->part == CT_F64   ? 53
           : info->part == CT_F32 ? 24
           : info->is_float       ? 11
                                  : info->part_bits;
}

/* 0 if the types of stream and kernel are the same. Otherwise the kernel must compute in floating
 * point; if it does not, it is UNSUITABLE. LOSES: it is not of double precision, and holds the
 * stream's values less precisely. 2: it is of double precision, where single would do. Else 1. */
static guint
misfit(CtType stream, CtType kernel)
{
    const CtTypeInfo *of_stream = ct_type_info(stream), *of_kernel = ct_type_info(kernel);
    if (stream == kernel)
        return 0;
    if (of_stream->is_complex != of_kernel->is_complex || !of_kernel->is_float)
        return UNSUITABLE;
    const guint wanted = precision(stream), given = precision(kernel);
    if (given < wanted && of_kernel->part != CT_F64)
        return LOSES;
    return wanted > 24 || of_kernel->part != CT_F64 ? 1 : 2;
}

/* "f32, f64 -> f32", allocated. */
static char *
describe_types(CtType in, CtType second, CtType out)
{
    return g_strdup_printf(
        "%s%s%s -> %s", ct_type_info(in)->name, second == CT_TYPE_NONE ? "" : ", ",
        second == CT_TYPE_NONE ? "" : ct_type_info(second)->name, ct_type_info(out)->name);
}

/* The kernel that fits best, first the output and then the inputs. `second`: the type of the second
 * input, of a join. */
static const CtFormKernel *
find_kernel(const CtForm *form, const char *name, CtIsa isa, CtType in, CtType second, CtType out,
            GError **error)
{
    const CtFormKernel *best = NULL, *loses = NULL;
    guint least = UNSUITABLE;
    for (const CtFormKernel *const *k = form->begin; k < form->end; k++) {
        const CtFormKernel *kernel = *k;
        if (kernel->isa != isa || strcmp(kernel->name, name) != 0)
            continue;
        const guint of_in = misfit(in, kernel->x), of_out = misfit(out, kernel->y);
        const guint of_w = ct_form_kernel_is_join(kernel) ? misfit(second, kernel->w) : 0;
        const guint score = 16 * of_out + 4 * of_in + of_w, worst = MAX(MAX(of_in, of_out), of_w);
        if (worst == LOSES)
            loses = kernel;
        if (worst >= LOSES || score >= least)
            continue;
        least = score;
        best = kernel;
    }
    if (best)
        return best;
    g_autofree char *wanted = describe_types(in, second, out);
    if (!loses) {
        g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN, "plugin '%s' has no kernel '%s' for %s",
                    form->plugin, name, wanted);
        return NULL;
    }
    g_autofree char *given =
        describe_types(loses->x, ct_form_kernel_is_join(loses) ? loses->w : CT_TYPE_NONE, loses->y);
    g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN,
                "plugin '%s' has no kernel '%s' for %s; %s would lose precision: add it to forms "
                "in meson.build",
                form->plugin, name, wanted, given);
    return NULL;
}

const CtFormKernel *
ct_form_find(const CtForm *form, const char *name)
{
    for (const CtFormKernel *const *kernel = form->begin; kernel < form->end; kernel++)
        if (g_str_equal((*kernel)->name, name))
            return *kernel;
    return NULL;
}

gboolean
ct_form_choose(const CtForm *form, const CtNode *node, CtFormChoice *choice, GError **error)
{
    if (form->choose)
        return form->choose(node, choice, error);
    if (!form->kernel)
        return TRUE;
    const CtFormKernel *kernel = ct_form_find(form, form->kernel);
    if (!kernel) {
        g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN, "plugin '%s' has no kernel '%s'",
                    form->plugin, form->kernel);
        return FALSE;
    }
    gpointer settings = ct_form_kernel(choice, form->kernel, kernel->settings_bytes);
    return !form->set || form->set(node, settings, error);
}

void
ct_form_choice_clear(CtFormChoice *choice)
{
    g_clear_pointer(&choice->table.data, g_free);
    g_clear_pointer(&choice->too_large, g_free);
    ct_join_mask_clear(&choice->mask);
}

gboolean
ct_form_check(const CtForm *form, const CtFormChoice *choice, GError **error)
{
    if (!CT_RESERVED_CHECK(form->plugin, CtForm, form, error) ||
        !CT_RESERVED_CHECK(form->plugin, CtFormChoice, choice, error) ||
        !CT_RESERVED_CHECK(form->plugin, CtFormTable, &choice->table, error))
        return FALSE;
    if (choice->settings_bytes <= CT_FORM_SETTINGS)
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN,
                "kernel '%s' of plugin '%s' wants %d bytes of settings at most, but is given "
                "%" G_GSIZE_FORMAT,
                choice->kernel, form->plugin, CT_FORM_SETTINGS, choice->settings_bytes);
    return FALSE;
}

/* The macro that makes kernels of a kind. */
static const char *
name_macro(const CtFormKernel *kernel)
{
    static const char *const macros[] = {
        [CT_FORM_MAP] = "CT_MAP",       [CT_FORM_TABLE] = "CT_TABLE_MAP",
        [CT_FORM_GROUP] = "CT_GROUP",   [CT_FORM_FOLD] = "CT_FOLD",
        [CT_FORM_WINDOW] = "CT_WINDOW", [CT_FORM_SHIFT] = "CT_SHIFT_SUM",
        [CT_FORM_JOIN] = "CT_JOIN",     [CT_FORM_MARKED_JOIN] = "CT_MARKED_JOIN",
    };
    return kernel->n_counters > 0 ? "CT_COUNTED_MAP" : macros[kernel->kind];
}

static gboolean
check_kind(const CtFormKernel *kernel, guint kinds, GError **error)
{
    if (kinds & 1u << kernel->kind)
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN, "kernel '%s' of %s is made by %s; use %s",
                kernel->name, kernel->file, name_macro(kernel),
                kinds == CT_FORM_WINDOWS ? "CT_WINDOW or CT_SHIFT_SUM"
                : kinds == CT_FORM_FOLDS ? "CT_FOLD or CT_SUMS"
                : kinds == CT_FORM_JOINS ? "CT_JOIN or CT_MARKED_JOIN"
                                         : "CT_MAP, CT_COUNTED_MAP, CT_TABLE_MAP or CT_GROUP");
    return FALSE;
}

gboolean
ct_form_bind(CtFormState *self, CtIsa isa, guint kinds, GError **error)
{
    const CtFormChoice *choice = &self->choice;
    if (!choice->kernel) {
        g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN, "plugin '%s' chooses no kernel",
                    self->form->plugin);
        return FALSE;
    }
    self->kernel = find_kernel(self->form, choice->kernel, isa, self->boxes.in_type, self->second,
                               self->boxes.out_type, error);
    if (!self->kernel || !CT_RESERVED_CHECK(self->form->plugin, CtFormKernel, self->kernel, error))
        return FALSE;
    if (self->kernel->kind > CT_FORM_MARKED_JOIN) {
        g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN,
                    "kernel '%s' of plugin '%s' has a form that this Cornerturn does not know: the "
                    "plugin wants a newer one",
                    choice->kernel, self->form->plugin);
        return FALSE;
    }
    if (!check_kind(self->kernel, kinds, error))
        return FALSE;
    if (self->kernel->settings_bytes == choice->settings_bytes)
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN,
                "kernel '%s' wants %" G_GSIZE_FORMAT " bytes of settings, but is given "
                "%" G_GSIZE_FORMAT,
                choice->kernel, self->kernel->settings_bytes, choice->settings_bytes);
    return FALSE;
}

/* ---- what a plugin gives ---- */

gint64
ct_form_axis_length(const CtStream *in, const CtStream *out, const char *axis)
{
    return ct_stream_axis(in, axis) >= 0    ? ct_stream_length(in, axis)
           : ct_stream_axis(out, axis) >= 0 ? ct_stream_length(out, axis)
                                            : 0;
}

gboolean
ct_form_check_table(const char *plugin, const CtFormTable *table, const CtStream *in,
                    const CtStream *out, GError **error)
{
    if (table->n_axes > CT_MAX_AXES) {
        g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN,
                    "plugin '%s' gives a table with %u axes, but %d are the most", plugin,
                    table->n_axes, CT_MAX_AXES);
        return FALSE;
    }
    for (guint a = 0; a < table->n_axes; a++) {
        const char *axis = table->axes[a];
        gboolean is_new = axis != NULL;
        for (guint k = 0; k < a && is_new; k++)
            is_new = table->axes[k] != axis;
        if (!is_new || axis != ct_axis_name(axis) || axis == ct_axis_name("time")) {
            g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN,
                        "plugin '%s' gives a table with the axis %s, but wants different names "
                        "from ct_axis_name(), and not time",
                        plugin, axis ? axis : "NULL");
            return FALSE;
        }
        const gint64 length = ct_form_axis_length(in, out, axis);
        if (table->lengths[a] == 1 || (length > 0 && table->lengths[a] == length))
            continue;
        g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN,
                    "plugin '%s' gives a table with %" G_GINT64_FORMAT " entries along axis %s of "
                    "length %" G_GINT64_FORMAT,
                    plugin, table->lengths[a], axis, length);
        return FALSE;
    }
    return TRUE;
}

gboolean
ct_form_check_own_table(const CtFormState *self, const CtStream *in, const CtStream *out,
                        GError **error)
{
    const CtFormTable *table = &self->choice.table;
    const CtType w = self->kernel->w;
    const char *plugin = self->form->plugin;
    if (!table->data) {
        g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN, "plugin '%s' gives kernel '%s' no table",
                    plugin, self->kernel->name);
        return FALSE;
    }
    const gboolean is_complex = ct_type_info(w)->is_complex;
    if (table->type != CT_F64 && (table->type != CT_CF64 || !is_complex)) {
        g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN,
                    "plugin '%s' gives kernel '%s' a table of %s, but it wants %s", plugin,
                    self->kernel->name, ct_type_info(table->type)->name,
                    is_complex ? "f64 or cf64" : "f64");
        return FALSE;
    }
    return ct_form_check_table(plugin, table, in, out, error);
}

/* Refuses groups of another size than the kernel's along an axis. */
static gboolean
check_group_length(const CtFormState *self, const CtStream *stream, const char *axis,
                   const char *member, guint wanted, GError **error)
{
    const gint64 given =
        axis && ct_stream_axis(stream, axis) >= 0 ? ct_stream_length(stream, axis) : 0;
    if (given == wanted)
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN,
                "kernel '%s' of plugin '%s' wants %u elements along its axis %s, but '%s' has "
                "%" G_GINT64_FORMAT,
                self->kernel->name, self->form->plugin, wanted, member, axis ? axis : "NULL",
                given);
    return FALSE;
}

/* Finds the axes of groups, which may be one axis of both streams, and leaves them to the kernel.
 */
static gboolean
init_group(CtFormState *self, const CtBinding *in, const CtBinding *out, GError **error)
{
    const char *group_in = self->choice.group_in, *group_out = self->choice.group_out;
    if (!check_group_length(self, in->stream, group_in, "group_in", self->kernel->n_x, error) ||
        !check_group_length(self, out->stream, group_out, "group_out", self->kernel->n_y, error))
        return FALSE;
    self->group_in = ct_layout_axis(&in->layout, group_in);
    self->group_out = ct_layout_axis(&out->layout, group_out);
    if (ct_layout_block_axis(&in->layout, ct_axis_name(group_in)) >= 0 ||
        ct_layout_block_axis(&out->layout, ct_axis_name(group_out)) >= 0) {
        g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN,
                    "plugin '%s' makes groups along an axis in blocks, but wants rows without",
                    self->form->plugin);
        return FALSE;
    }
    const CtBoxes *boxes = &self->boxes;
    for (guint a = 0; a < boxes->n_axes && !g_str_equal(group_in, group_out); a++) {
        const CtBoxesAxis *axis = &boxes->axes[a];
        if (axis->in != self->group_in && axis->out != self->group_out)
            continue;
        g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN,
                    "plugin '%s' makes groups along %s of groups along %s, but wants %s in one "
                    "of the streams alone",
                    self->form->plugin, group_out, group_in, axis->name);
        return FALSE;
    }
    ct_group_leave(&self->boxes, &(CtGroupAxes){.in = self->group_in, .out = self->group_out});
    return TRUE;
}

/* Refuses a kernel that marks without the flag of the port. */
static gboolean
check_marks(const CtFormState *self, const CtPrepare *prepare, GError **error)
{
    const CtStage *stage = prepare->nodes[0].stage;
    if (self->kernel->kind != CT_FORM_MARKED_JOIN || stage->outputs[0].flags & CT_PORT_MARKED)
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN,
                "variant '%s' of '%s' is at fault: it marks samples of output '%s', which has no "
                "CT_PORT_MARKED",
                prepare->variant->name, stage->name, stage->outputs[0].name);
    return FALSE;
}

/* Refuses a kernel that counts in a stage that does not. */
static gboolean
check_counters(const CtFormState *self, const CtPrepare *prepare, GError **error)
{
    const CtStage *stage = prepare->nodes[0].stage;
    const guint n = stage->counters ? g_strv_length((char **)stage->counters) : 0;
    if (self->kernel->n_counters <= n)
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN,
                "stage '%s' lacks .counters, to which kernel '%s' adds", stage->name,
                self->kernel->name);
    return FALSE;
}

gboolean
ct_form_init(CtFormState *self, const CtPrepare *prepare, CtIsa isa, gint64 n_items, guint kinds,
             GError **error)
{
    const CtBinding *in = &prepare->inputs[0], *out = &prepare->outputs[0];
    CtFormChoice *choice = &self->choice;
    self->form = prepare->variant->form;
    self->group_in = self->group_out = -1;
    if (prepare->n_inputs > 1 && prepare->inputs[1].stream->type != CT_TYPE_NONE)
        self->second = ct_layout_type(&prepare->inputs[1].layout);
    ct_boxes_init(&self->boxes, in, out, n_items);
    if (!ct_form_choose(self->form, &prepare->nodes[0], choice, error) ||
        !ct_form_check(self->form, choice, error))
        return FALSE;
    if (kinds == CT_FORM_JOINS) {
        ct_join_init(&self->join, prepare, 0, NULL);
        self->join.mask = &choice->mask;
    }
    if (!choice->kernel && (kinds == CT_FORM_MAPS || self->join.n_inputs == 1))
        return TRUE;
    /* A fold behind maps, which are in its kernel, gets what these make. */
    const CtType read = self->boxes.in_type;
    if (prepare->epilogue)
        self->boxes.in_type = prepare->nodes[0].inputs[0].type;
    const gboolean bound = ct_form_bind(self, isa, kinds, error);
    self->boxes.in_type = read;
    if (!bound)
        return FALSE;
    if (self->kernel->kind == CT_FORM_TABLE &&
        !ct_form_check_own_table(self, in->stream, out->stream, error))
        return FALSE;
    if (self->kernel->kind == CT_FORM_GROUP && !init_group(self, in, out, error))
        return FALSE;
    return check_marks(self, prepare, error) && check_counters(self, prepare, error);
}

void
ct_form_clear(CtFormState *self)
{
    ct_form_choice_clear(&self->choice);
    ct_join_clear(&self->join);
}

gboolean
ct_form_advance_join(gpointer state, CtAdvance *advance, GError **error)
{
    CtFormState *self = state;
    return ct_join_advance(&self->join, advance, error);
}

/* ---- tables ---- */

/* The walk over the elements of a layout. */
typedef struct {
    guint n_axes;
    gint64 lengths[CT_MAX_AXES]; /* of the layout's axes; that of time is the number of times */
    gint64 strides[CT_MAX_AXES]; /* in the table, in bytes */
    gsize bytes;                 /* of an entry */
} Expansion;

/* Writes the entries of all elements from axis `a` on, one after another. */
static guint8 *
expand(const Expansion *self, guint a, const guint8 *entry, guint8 *to)
{
    const gint64 bytes = (gint64)self->bytes, n = self->lengths[a];
    if (a + 1 == self->n_axes) {
        ct_box_move(entry, self->strides[a], to, bytes, self->bytes, (gsize)n);
        return to + n * bytes;
    }
    for (gint64 i = 0; i < n; i++)
        to = expand(self, a + 1, entry + i * self->strides[a], to);
    return to;
}

/* Refuses numbers that would become infinite in the type of the kernel. */
static gboolean
check_range(const CtFormTable *table, gsize n, CtType to, const char *what, GError **error)
{
    const CtTypeInfo *info = ct_type_info(to);
    const gdouble *numbers = table->data;
    if (info->bytes / (info->is_complex ? 2 : 1) >= sizeof(gdouble))
        return TRUE;
    n *= ct_type_info(table->type)->is_complex ? 2 : 1;
    for (gsize i = 0; i < n; i++)
        if (isfinite(numbers[i]) && fabs(numbers[i]) > FLT_MAX) {
            g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER,
                        "%s wants numbers of at most %g for %s, but is given %g", what, FLT_MAX,
                        info->name, numbers[i]);
            return FALSE;
        }
    return TRUE;
}

/* The table's entries in the type of the kernel. */
static guint8 *
convert_table(const CtFormTable *table, CtType to, const char *what, GError **error)
{
    enum { CHUNK = 256 };
    const gsize from_bytes = ct_type_info(table->type)->bytes, to_bytes = ct_type_info(to)->bytes;
    const CtConvert convert = ct_convert_steps(CT_ISA_BASELINE, table->type, to);
    guint8 scratch[CT_CONVERT_SCRATCH(CHUNK)];
    gsize n = 1;
    for (guint a = 0; a < table->n_axes; a++)
        n *= (gsize)table->lengths[a];
    guint8 *entries =
        check_range(table, n, to, what, error) ? ct_table_new(n, to_bytes, what, error) : NULL;
    for (gsize i = 0; entries && i < n; i += CHUNK)
        ct_convert(&convert, (const guint8 *)table->data + i * from_bytes, entries + i * to_bytes,
                   MIN(n - i, CHUNK), scratch);
    return entries;
}

guint8 *
ct_form_expand(const CtFormState *self, const CtPrepare *prepare, gint64 repeat, gint64 *n_entries,
               GError **error)
{
    const CtFormTable *table = &self->choice.table;
    const CtLayout *layout = &prepare->inputs[0].layout;
    const char *what = self->choice.kernel;
    Expansion expansion = {
        .n_axes = MAX(layout->n_axes, 1),
        .lengths = {1},
        .bytes = ct_type_info(self->kernel->w)->bytes,
    };
    gint64 stride = (gint64)expansion.bytes;
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
    g_autofree guint8 *converted = convert_table(table, self->kernel->w, what, error);
    guint8 *entries =
        converted ? ct_table_new((gsize)*n_entries, expansion.bytes, what, error) : NULL;
    if (entries)
        expand(&expansion, 0, converted, entries);
    return entries;
}
