/* SPDX-License-Identifier: BSD-3-Clause */
/* The state, which comes first in that of each variant of a form, and the functions that all
 * share. */
#pragma once

#include <cornerturn/kit/join.h>

typedef struct {
    const CtForm *form;
    CtFormChoice choice;
    CtBoxes boxes;
    const CtFormKernel *kernel; /* on a device, of any instruction set; NULL: CT_FORM_CONVERT */
    CtType second;              /* of the second input; CT_TYPE_NONE: there is none */
    gint group_in, group_out;   /* axes of the layouts; −1: none */
    CtJoin join;                /* of the inputs, in a variant of a join */
} CtFormState;

static inline gboolean
ct_form_kernel_is_join(const CtFormKernel *kernel)
{
    return kernel->kind == CT_FORM_JOIN || kernel->kind == CT_FORM_MARKED_JOIN;
}

static inline gboolean
ct_form_is_join(const CtFormState *self)
{
    return self->kernel && ct_form_kernel_is_join(self->kernel);
}

/* Kinds of kernels, for ct_form_init. */
#define CT_FORM_MAPS    (1u << CT_FORM_MAP | 1u << CT_FORM_TABLE | 1u << CT_FORM_GROUP)
#define CT_FORM_FOLDS   (1u << CT_FORM_FOLD)
#define CT_FORM_WINDOWS (1u << CT_FORM_WINDOW | 1u << CT_FORM_SHIFT)
#define CT_FORM_JOINS   (1u << CT_FORM_JOIN | 1u << CT_FORM_MARKED_JOIN)

/* Chooses the kernel, of these kinds, and describes the boxes of a firing. The state may be cleared
 * after a failure. */
gboolean ct_form_init(CtFormState *self, const CtPrepare *prepare, CtIsa isa, gint64 n_items,
                      guint kinds, GError **error);
/* The kinds of the variants that ct_form_prepare and ct_form_prepare_device prepare. */
static inline guint
ct_form_kinds(const CtPrepare *prepare)
{
    return prepare->variant->advance == ct_form_advance_join ? CT_FORM_JOINS : CT_FORM_MAPS;
}
void ct_form_clear(CtFormState *self);

/* Copies a box without the axes that it does not use, which are most. */
void ct_box_assign(CtBox *to, const CtBox *from);
/* Zeroes the elements of a box's output, of `bytes` each. */
void ct_box_clear(const CtBox *box, gsize bytes);

/* The walk over a part of a firing: some samples, and of one axis `n` elements. It is the same for
 * all parts of this size. */
typedef struct {
    CtBox box;
    gint64 table_step; /* bytes in the table from an element of the axis to the next */
} CtFormPart;

/* Describes the part that the blocks of `work` hold. Their layouts have no blocks of axes; the axis
 * is interned, and no group is along it; NULL: there is none. */
void ct_form_part_init(CtFormPart *part, gconstpointer state, const CtWork *work, const char *axis,
                       gint64 n);
/* ct_form_work for such a part, whose first element of the axis is number `first`. */
void ct_form_part_work(const CtFormPart *part, gconstpointer state, const CtWork *work,
                       gint64 first);

/* The plugin's first kernel of this name; NULL: it has none. */
const CtFormKernel *ct_form_find(const CtForm *form, const char *name);
/* Fills in a cleared choice, by the form's `choose` or its `kernel` and `set`. */
gboolean ct_form_choose(const CtForm *form, const CtNode *node, CtFormChoice *choice,
                        GError **error);

/* Refuses what this Cornerturn does not know in a form and in its choice. */
gboolean ct_form_check(const CtForm *form, const CtFormChoice *choice, GError **error);
/* The length of an axis of either stream; 0: neither has it. */
gint64 ct_form_axis_length(const CtStream *in, const CtStream *out, const char *axis);

/* Refuses a table whose axes are not those of the streams. */
gboolean ct_form_check_table(const char *plugin, const CtFormTable *table, const CtStream *in,
                             const CtStream *out, GError **error);

/* Refuses the table of a kernel that does not fit the streams or the kernel. */
gboolean ct_form_check_own_table(const CtFormState *self, const CtStream *in, const CtStream *out,
                                 GError **error);

/* Frees what a choice has. */
void ct_form_choice_clear(CtFormChoice *choice);

/* Finds the kernel of a choice that is made; its kind must be one of `kinds`, of bits 1 << kind. */
gboolean ct_form_bind(CtFormState *self, CtIsa isa, guint kinds, GError **error);

/* The entries of the choice's table, of the type of the kernel's w, for all elements of the axes
 * other than time, in the input's order, with `repeat` times at the position of time. NULL on
 * failure. */
guint8 *ct_form_expand(const CtFormState *self, const CtPrepare *prepare, gint64 repeat,
                       gint64 *n_entries, GError **error);

/* The definitions with which the kernel is compiled on a device: strings, without a final NULL. */
GPtrArray *ct_form_defines(const CtFormState *form, guint threads, guint unroll);
/* Compiles kernel NAME`suffix` of the form's file for the types of the graph or, if the form has no
 * kernel, that of shift.cu. `define` is one more definition, or NULL. */
CtKernel *ct_form_compile(const CtFormState *form, CtDevice *device, const char *suffix,
                          guint threads, guint unroll, const char *define, GError **error);
