/* SPDX-License-Identifier: BSD-3-Clause */
/* Comparison of placements. */
#include "placement.h"

CtType
ct_layout_stream_type(const CtLayout *layout)
{
    const CtType element = ct_layout_type(layout);
    if (ct_layout_axis(layout, "complex") < 0)
        return element;
    for (CtType type = CT_TYPE_NONE + 1; type < CT_N_TYPES; type++) {
        if (ct_type_info(type)->is_complex && ct_type_info(type)->part == element)
            return type;
    }
    return element;
}

/* The normal form of a layout, which all layouts with the same memory share: an innermost `complex`
 * axis belongs to the type, and axes of length 1 are left out. */
static CtLayout
memory_form(const CtLayout *layout, const CtStream *stream)
{
    CtLayout form = {.types = layout->types};
    for (guint a = 0; a < layout->n_axes; a++) {
        const CtLayoutAxis *axis = &layout->axes[a];
        const gboolean is_last = a + 1 == layout->n_axes;
        if (g_str_equal(axis->name, "complex") && is_last) {
            form.types = 1u << ct_layout_stream_type(layout);
            continue;
        }
        if (axis->count == 0 && !g_str_equal(axis->name, "time") &&
            ct_stream_axis(stream, axis->name) >= 0 && ct_stream_length(stream, axis->name) == 1 &&
            ct_layout_block_axis(layout, axis->name) < 0)
            continue;
        form.axes[form.n_axes++] = *axis;
    }
    return form;
}

gboolean
ct_layout_same_memory(const CtLayout *a, const CtLayout *b, const CtStream *stream)
{
    if (ct_layout_equal(a, b))
        return TRUE;
    const CtLayout x = memory_form(a, stream), y = memory_form(b, stream);
    return ct_layout_equal(&x, &y);
}

gboolean
ct_placement_same_memory(const CtPlacement *a, const CtPlacement *b, const CtStream *stream)
{
    return a->place == b->place && ct_layout_same_memory(&a->layout, &b->layout, stream);
}
