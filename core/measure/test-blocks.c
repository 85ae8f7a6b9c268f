/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks of tests: their sizes, and parts of them. */
#include "test-blocks.h"

gsize
ct_block_span(const CtBlock *block)
{
    gsize bytes = ct_type_info(block->type)->bytes;
    for (guint a = 0; a < block->n_axes; a++) {
        if (block->length[a] == 0)
            return 0;
        bytes += (gsize)((block->length[a] - 1) * block->stride[a]);
    }
    return bytes;
}

gint64
ct_block_granule(const CtLayout *layout)
{
    const gint inner = ct_layout_block_axis(layout, "time");
    return inner < 0 ? 1 : layout->axes[inner].count;
}

CtBlock
ct_block_slice(const CtBlock *block, const CtLayout *layout, gint64 first, gint64 n)
{
    const gint time = ct_layout_axis(layout, "time");
    const gint64 count = ct_block_granule(layout);
    CtBlock slice = *block;
    if (time >= 0) {
        slice.data += first / count * block->stride[time];
        slice.length[time] = (n + count - 1) / count;
    }
    if (slice.validity)
        slice.validity += first;
    slice.n_samples = n;
    return slice;
}

gsize
ct_block_padded(CtBlock *block, const CtLayout *layout, const CtStream *stream, gint64 n_samples,
                gsize padding, gint64 alignment)
{
    const gint time = ct_layout_axis(layout, "time");
    gint64 stride[CT_MAX_AXES];
    *block =
        (CtBlock){.type = ct_layout_type(layout), .n_axes = layout->n_axes, .n_samples = n_samples};
    ct_layout_strides(layout, stream, n_samples, block->length, stride);
    const gint64 element = (gint64)ct_type_info(block->type)->bytes;
    gint64 step = element;
    for (guint a = block->n_axes; a-- > 0;) {
        if ((gint)a < time)
            step = (step + alignment - 1) / alignment * alignment;
        block->stride[a] = step;
        step = step * block->length[a] + (gint64)padding * element;
    }
    return (gsize)step;
}
