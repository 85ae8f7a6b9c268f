/* SPDX-License-Identifier: BSD-3-Clause */
/* Fills the blocks of firings on a device, or their invalid samples, with one byte. */
#include "submission.h"

#define FILL_THREADS 256
#define WARP         32
/* The most blocks of a launch; threads take the rest in turn. */
#define FILL_BLOCKS 4096

/* The same structs as in kernel/fill.cu. */
typedef struct {
    gint64 length;
    gint64 count; /* indices in a block; 1: the axis has no blocks */
    gint64 outer; /* bytes from a block to the next … */
    gint64 inner; /* … and from an index to the next within a block */
} FillAxis;

typedef struct {
    FillAxis axes[CT_MAX_AXES]; /* of the units that are filled or left as a whole */
    FillAxis rest[CT_MAX_AXES]; /* within a unit */
    gint64 n_units;
    gint64 n_elements; /* of a unit */
    gint32 n_axes;
    gint32 n_rest;
    gint32 threads; /* for a unit: a power of 2 */
    gint32 bytes;
} FillShape;

/* Makes every element a unit. */
static void
add_elements(FillShape *shape, const CtBlock *block)
{
    for (guint a = 0; a < block->n_axes; a++) {
        shape->axes[shape->n_axes++] = (FillAxis){block->length[a], 1, block->stride[a], 0};
        shape->n_units *= block->length[a];
    }
}

static void
add_axis(FillShape *shape, const CtBlock *block, const CtLayout *layout, const char *name,
         gint64 length)
{
    const gint outer = ct_layout_axis(layout, name), inner = ct_layout_block_axis(layout, name);
    const gint64 count = inner >= 0 ? layout->axes[inner].count : 1;
    shape->axes[shape->n_axes++] =
        (FillAxis){length, count, block->stride[outer], inner >= 0 ? block->stride[inner] : 0};
    shape->n_units *= length;
}

/* Makes a unit of each sample of each lane, in the order of packed validity. */
static void
add_samples(FillShape *shape, const CtBlock *block, const CtStream *stream, const CtLayout *layout)
{
    const char *time = ct_axis_name("time");
    for (guint a = 0; a < stream->n_axes; a++) {
        const CtAxis *axis = &stream->axes[a];
        if (axis->loses && axis->name != time)
            add_axis(shape, block, layout, axis->name, axis->length);
    }
    if (ct_layout_axis(layout, time) >= 0)
        add_axis(shape, block, layout, time, block->n_samples);
    for (guint a = 0; a < block->n_axes; a++) {
        const gint axis = ct_stream_axis(stream, layout->axes[a].name);
        if (layout->axes[a].name == time || (axis >= 0 && stream->axes[axis].loses))
            continue;
        shape->rest[shape->n_rest++] = (FillAxis){block->length[a], 1, block->stride[a], 0};
        shape->n_elements *= block->length[a];
    }
    while (shape->threads < MIN(shape->n_elements, WARP))
        shape->threads *= 2;
}

CtKernel *
ct_fill_new(CtDevice *device, GError **error)
{
    static const CtKernelSpec fill = {
        .name = "ct_fill_invalid",
        .source = "/cornerturn/kernel/fill.cu",
    };
    return ct_kernel_new(device, &fill, error);
}

gboolean
ct_fill_output(CtRunNode *node, guint o, guint8 value, gconstpointer validity, GError **error)
{
    const CtBinding *binding = &node->plan->output_bindings[o];
    CtBlock *block = &node->output_blocks[o];
    FillShape shape = {
        .n_units = 1,
        .n_elements = 1,
        .threads = 1,
        .bytes = (gint32)ct_type_info(block->type)->bytes,
    };
    if (validity)
        add_samples(&shape, block, binding->stream, &binding->layout);
    else
        add_elements(&shape, block);
    gpointer arguments[] = {&shape, &block->data, &value, &validity};
    const gint64 per_block = FILL_THREADS / shape.threads;
    const gint64 blocks = (shape.n_units + per_block - 1) / per_block;
    const CtLaunch launch = {
        .grid = {(guint)MIN(blocks, FILL_BLOCKS), 1, 1},
        .block = {FILL_THREADS, 1, 1},
    };
    return ct_queue_launch(node->submissions->own, node->submissions->fill, &launch, arguments,
                           error);
}
