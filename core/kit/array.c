/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays over ports: their checks, and their elements in the order and type that a stage wants. */
#include <cornerturn/kit/array.h>
#include <cornerturn/kit/boxes.h>
#include <cornerturn/kit/convert.h>
#include <string.h>

/* Elements that are converted at a time. */
enum { CHUNK = 256 };

/* ---- checks ---- */

gboolean
ct_array_check_alone(const CtNode *node, guint input, const char *param, GError **error)
{
    return !ct_array_is_given(node, input) || !ct_params_has(node->params, param) ||
           ct_params_error(node->params, param, error,
                           "wants to stand alone, but the port '%s' is connected too",
                           node->stage->inputs[input].name);
}

gboolean
ct_array_check_axes(const CtNode *node, guint input, guint of, GError **error)
{
    const CtStream *array = &node->inputs[input], *other = &node->inputs[of];
    gboolean fits = TRUE;
    for (guint a = 0; a < array->n_axes; a++) {
        const CtAxis *axis = &array->axes[a];
        if (strcmp(axis->name, "time") != 0)
            fits = fits && ct_stream_axis(other, axis->name) >= 0 &&
                   (axis->length == 1 || axis->length == ct_stream_length(other, axis->name));
    }
    if (fits)
        return TRUE;
    g_autofree char *wanted = ct_stream_describe(other);
    g_autofree char *given = ct_stream_describe(array);
    g_set_error(
        error, CT_ERROR, CT_ERROR_SHAPE,
        "input '%s' wants axes of input '%s', of the same length or of length 1, %s, but is "
        "given %s",
        node->stage->inputs[input].name, node->stage->inputs[of].name, wanted, given);
    return FALSE;
}

/* ---- reading ---- */

guint
ct_array_axes(const CtNode *node, guint input, const char *axes[CT_MAX_AXES])
{
    const CtStream *stream = &node->inputs[input];
    guint n = 0;
    for (guint a = 0; a < stream->n_axes; a++)
        if (strcmp(stream->axes[a].name, "time") != 0)
            axes[n++] = stream->axes[a].name;
    return n;
}

/* The walk over the elements of a block in the order of the array's axes. */
typedef struct {
    guint n_axes;
    gint64 lengths[CT_MAX_AXES];
    gint64 strides[CT_MAX_AXES]; /* bytes in the block */
    gsize bytes;                 /* of an element */
} Gathering;

/* Copies the elements from axis `a` on, one after another. */
static guint8 *
gather(const Gathering *self, guint a, const guint8 *x, guint8 *to)
{
    const gint64 bytes = (gint64)self->bytes, n = self->lengths[a];
    if (a + 1 == self->n_axes) {
        ct_box_move(x, self->strides[a], to, bytes, self->bytes, (gsize)n);
        return to + n * bytes;
    }
    for (gint64 i = 0; i < n; i++)
        to = gather(self, a + 1, x + i * self->strides[a], to);
    return to;
}

/* Converts the elements, which have as many parts as those of type `to`. */
static void
convert(const guint8 *elements, CtType from, guint8 *data, CtType to, gsize n)
{
    const CtConvert steps = ct_convert_steps(CT_ISA_BASELINE, from, to);
    guint8 scratch[CT_CONVERT_SCRATCH(CHUNK)] __attribute__((aligned(64)));
    for (gsize i = 0; i < n; i += CHUNK)
        ct_convert(&steps, elements + i * ct_type_info(from)->bytes,
                   data + i * ct_type_info(to)->bytes, MIN(n - i, CHUNK), scratch);
}

/* Spreads n real numbers to complex ones, in place. */
static void
add_zeros(guint8 *data, gsize n, gsize part_bytes)
{
    for (gsize i = n; i-- > 0;) {
        memmove(data + 2 * i * part_bytes, data + i * part_bytes, part_bytes);
        memset(data + (2 * i + 1) * part_bytes, 0, part_bytes);
    }
}

CtNpyArray *
ct_array_read(const CtNode *node, guint input, const char *const *axes, guint n_axes, char kind,
              unsigned item_bytes, GError **error)
{
    const CtStream *stream = &node->inputs[input];
    const CtBlock *block = &node->blocks[input];
    const gboolean is_complex = ct_type_info(block->type)->is_complex;
    const gsize part_bytes = kind == 'c' ? item_bytes / 2 : item_bytes;
    g_return_val_if_fail(block->data && (kind == 'c' || !is_complex), NULL);
    g_autoptr(CtNpyArray) array = g_new0(CtNpyArray, 1);
    *array = (CtNpyArray){.kind = kind, .item_bytes = item_bytes, .n_axes = n_axes, .n_items = 1};
    Gathering gathering = {
        .n_axes = MAX(n_axes, 1),
        .lengths = {1},
        .bytes = ct_type_info(block->type)->bytes,
    };
    for (guint a = 0; a < n_axes; a++) {
        const gint from = ct_stream_axis(stream, axes[a]);
        gathering.lengths[a] = block->length[from];
        gathering.strides[a] = block->stride[from];
        array->shape[a] = (gsize)block->length[from];
        array->n_items *= array->shape[a];
    }
    const char *name = node->stage->inputs[input].name;
    array->data = ct_table_new(array->n_items, item_bytes, name, error);
    g_autofree guint8 *elements =
        array->data ? ct_table_new(array->n_items, gathering.bytes, name, error) : NULL;
    if (!elements)
        return NULL;
    gather(&gathering, 0, block->data, elements);
    const CtType real = part_bytes == 4 ? CT_F32 : CT_F64;
    const CtType complex_type = part_bytes == 4 ? CT_CF32 : CT_CF64;
    convert(elements, block->type, array->data, is_complex ? complex_type : real, array->n_items);
    if (kind == 'c' && !is_complex)
        add_zeros(array->data, array->n_items, part_bytes);
    return g_steal_pointer(&array);
}
