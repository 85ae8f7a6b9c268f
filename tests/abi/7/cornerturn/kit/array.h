/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays that a stage reads from an input with CT_PORT_PREPARED, not from a parameter. The stream
 * of such an input has the axes of the array, and may have time: each sample is an array, which
 * takes effect at its tick.
 *
 *     static const CtPort inputs[] = {
 *         {"in", "cf32{...}", 0, "samples"},
 *         {"gains", "{...}", CT_PORT_OPTIONAL | CT_PORT_STATIC | CT_PORT_PREPARED, "factors"},
 *         {0},
 *     };
 *
 * infer checks the stream, and prepare, or the `choose` of a form, reads the array. */
#pragma once

#include <cornerturn/npy.h>
#include <cornerturn/stage.h>

G_BEGIN_DECLS

/* Whether the input is connected. */
static inline gboolean
ct_array_is_given(const CtNode *node, guint input)
{
    return node->inputs[input].type != CT_TYPE_NONE;
}

/* For infer. Fails if both the input and the parameter that it replaces are given. */
CT_EXPORT gboolean ct_array_check_alone(const CtNode *node, guint input, const char *param,
                                        GError **error);
/* For infer. Whether each axis of the input, other than time, is one of input `of` and has the
 * length that it has there, or 1. */
CT_EXPORT gboolean ct_array_check_axes(const CtNode *node, guint input, guint of, GError **error);

/* The axes of the input, other than time. Returns their number. */
CT_EXPORT guint ct_array_axes(const CtNode *node, guint input, const char *axes[CT_MAX_AXES]);
/* For prepare. The array, in this order of its axes, converted to float ('f', 4), double ('f', 8),
 * complex float ('c', 8) or complex double ('c', 16). Real elements can become complex, but not the
 * reverse: if the stage wants real ones, the port's layout must list real types only. May be called
 * on any thread. NULL if there is not enough memory. */
CT_EXPORT CtNpyArray *ct_array_read(const CtNode *node, guint input, const char *const *axes,
                                    guint n_axes, char kind, unsigned item_bytes, GError **error);

G_END_DECLS
