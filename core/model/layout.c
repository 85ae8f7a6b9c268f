/* SPDX-License-Identifier: BSD-3-Clause */
/* Layouts: matching them against patterns, making patterns concrete, strides. */
#include "layout-private.h"

#include <cornerturn/stage.h>
#include <string.h>

/* Interned names are compared by pointer, except these two: they are compared so seldom that strcmp
 * serves. */
static gboolean
is_further(const CtLayoutAxis *axis)
{
    return strcmp(axis->name, "...") == 0;
}

static gboolean
is_complex_axis(const CtLayoutAxis *axis)
{
    return strcmp(axis->name, "complex") == 0;
}

char *
ct_layout_to_string(const CtLayout *layout)
{
    GString *text = g_string_new(NULL);
    for (CtType type = 1; type < CT_N_TYPES; type++)
        if (layout->types & 1u << type)
            g_string_append_printf(text, "%s%s", text->len ? "|" : "", ct_type_info(type)->name);
    if (layout->n_axes == 0) {
        g_string_append(text, "{...}");
        return g_string_free(text, FALSE);
    }
    g_string_append_c(text, layout->any_order ? '{' : '[');
    for (guint a = 0; a < layout->n_axes; a++) {
        g_string_append_printf(text, "%s%s", a ? " " : "", layout->axes[a].name);
        if (layout->axes[a].count)
            g_string_append_printf(text, ":%" G_GINT64_FORMAT, layout->axes[a].count);
    }
    g_string_append_c(text, layout->any_order ? '}' : ']');
    return g_string_free(text, FALSE);
}

gboolean
ct_layout_is_concrete(const CtLayout *layout)
{
    if (layout->any_order || layout->n_axes == 0 || ct_layout_type(layout) == CT_TYPE_NONE)
        return FALSE;
    for (guint a = 0; a < layout->n_axes; a++)
        if (is_further(&layout->axes[a]))
            return FALSE;
    return TRUE;
}

gboolean
ct_layout_equal(const CtLayout *a, const CtLayout *b)
{
    if (a->types != b->types || a->any_order != b->any_order || a->n_axes != b->n_axes)
        return FALSE;
    for (guint i = 0; i < a->n_axes; i++)
        if (a->axes[i].name != b->axes[i].name || a->axes[i].count != b->axes[i].count)
            return FALSE;
    return TRUE;
}

CtType
ct_layout_type(const CtLayout *layout)
{
    const guint32 types = layout->types;
    return types && (types & (types - 1)) == 0 ? (CtType)__builtin_ctz(types) : CT_TYPE_NONE;
}

static gint
find_axis(const CtLayout *layout, const char *name, gboolean block)
{
    for (guint a = 0; a < layout->n_axes; a++)
        if ((layout->axes[a].count > 0) == block && strcmp(layout->axes[a].name, name) == 0)
            return a;
    return -1;
}

gint
ct_layout_axis(const CtLayout *layout, const char *name)
{
    return find_axis(layout, name, FALSE);
}

gint
ct_layout_block_axis(const CtLayout *layout, const char *name)
{
    return find_axis(layout, name, TRUE);
}

static gboolean
same_axis(const CtLayoutAxis *a, const CtLayoutAxis *b)
{
    return a->name == b->name && a->count == b->count;
}

/* Whether `...` of a pattern may stand for the axis. Blocks and `complex` must be named. */
static gboolean
may_be_further(const CtLayoutAxis *axis)
{
    return axis->count == 0 && !is_complex_axis(axis);
}

static gboolean
matches_in_order(const CtLayout *pattern, const CtLayout *layout)
{
    guint head = 0;
    while (head < pattern->n_axes && !is_further(&pattern->axes[head])) {
        if (head >= layout->n_axes || !same_axis(&pattern->axes[head], &layout->axes[head]))
            return FALSE;
        head++;
    }
    if (head == pattern->n_axes)
        return layout->n_axes == head;
    const guint tail = pattern->n_axes - head - 1;
    if (layout->n_axes < head + tail)
        return FALSE;
    for (guint a = head; a < layout->n_axes - tail; a++)
        if (!may_be_further(&layout->axes[a]))
            return FALSE;
    for (guint a = 0; a < tail; a++)
        if (!same_axis(&pattern->axes[head + 1 + a], &layout->axes[layout->n_axes - tail + a]))
            return FALSE;
    return TRUE;
}

/* Whether the layout has the pattern's whole axes in any order, then its blocks in their order. */
static gboolean
matches_in_any_order(const CtLayout *pattern, const CtLayout *layout)
{
    guint n_blocks = 0;
    gboolean has_further = FALSE;
    for (guint a = 0; a < pattern->n_axes; a++) {
        n_blocks += pattern->axes[a].count > 0;
        has_further |= is_further(&pattern->axes[a]);
    }
    if (layout->n_axes < n_blocks)
        return FALSE;
    const CtLayoutAxis *blocks = &layout->axes[layout->n_axes - n_blocks];
    for (guint a = 0; a < n_blocks; a++)
        if (!same_axis(&pattern->axes[pattern->n_axes - n_blocks + a], &blocks[a]))
            return FALSE;

    for (guint a = 0; a < pattern->n_axes - n_blocks; a++)
        if (!is_further(&pattern->axes[a]) && ct_layout_axis(layout, pattern->axes[a].name) < 0)
            return FALSE;
    for (const CtLayoutAxis *axis = layout->axes; axis < blocks; axis++) {
        if (axis->count)
            return FALSE;
        if (ct_layout_axis(pattern, axis->name) < 0 && !(has_further && may_be_further(axis)))
            return FALSE;
    }
    return TRUE;
}

/* The other form of `layout`: its complex type becomes an innermost axis of the part type, or the
 * reverse. Both describe the same memory. FALSE if there is no other form. */
static gboolean
other_form(const CtLayout *layout, CtLayout *other)
{
    *other = *layout;
    const CtTypeInfo *info = ct_type_info(ct_layout_type(layout));
    if (info->is_complex) {
        if (info->part == CT_TYPE_NONE || layout->n_axes == CT_MAX_AXES)
            return FALSE;
        other->types = 1u << info->part;
        other->axes[other->n_axes++] = (CtLayoutAxis){ct_axis_name("complex"), 0};
        return TRUE;
    }
    if (layout->n_axes < 2 || !is_complex_axis(&layout->axes[layout->n_axes - 1]))
        return FALSE;
    other->n_axes--;
    for (CtType type = 1; type < CT_N_TYPES; type++)
        if (ct_type_info(type)->is_complex && ct_type_info(type)->part == ct_layout_type(layout)) {
            other->types = 1u << type;
            return TRUE;
        }
    return FALSE;
}

static gboolean
matches_as_written(const CtLayout *pattern, const CtLayout *layout)
{
    if (pattern->types && !(pattern->types & layout->types))
        return FALSE;
    if (pattern->n_axes == 0)
        return TRUE;
    return pattern->any_order ? matches_in_any_order(pattern, layout)
                              : matches_in_order(pattern, layout);
}

gboolean
ct_layout_match_form(CtLayout *form, const CtLayout *pattern, const CtLayout *layout)
{
    if (!ct_layout_is_concrete(layout))
        return FALSE;
    if (matches_as_written(pattern, layout)) {
        *form = *layout;
        return TRUE;
    }
    CtLayout other;
    if (!other_form(layout, &other) || !matches_as_written(pattern, &other))
        return FALSE;
    *form = other;
    return TRUE;
}

gboolean
ct_layout_matches(const CtLayout *pattern, const CtLayout *layout)
{
    CtLayout form;
    return ct_layout_match_form(&form, pattern, layout);
}

static gboolean
has_further(const CtLayout *pattern)
{
    return pattern->n_axes == 0 || ct_layout_axis(pattern, "...") >= 0;
}

gboolean
ct_layout_accepts(const CtLayout *pattern, const CtStream *stream, GError **error)
{
    for (guint a = 0; a < pattern->n_axes; a++) {
        const CtLayoutAxis *axis = &pattern->axes[a];
        if (is_further(axis) || axis->count)
            continue;
        if (is_complex_axis(axis)) {
            const CtTypeInfo *info = ct_type_info(stream->type);
            if (stream->type == CT_TYPE_NONE || (info->is_complex && info->part != CT_TYPE_NONE))
                continue;
            g_autofree char *wanted = ct_layout_to_string(pattern);
            g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                        "%s wants a complex type with parts of whole bytes, but is given %s",
                        wanted, info->name);
            return FALSE;
        }
        if (ct_stream_axis(stream, axis->name) < 0) {
            g_autofree char *wanted = ct_layout_to_string(pattern);
            g_autofree char *given = ct_stream_describe(stream);
            g_set_error(error, CT_ERROR, CT_ERROR_SHAPE, "%s wants an axis '%s', but is given %s",
                        wanted, axis->name, given);
            return FALSE;
        }
    }
    if (has_further(pattern))
        return TRUE;
    for (guint a = 0; a < stream->n_axes; a++)
        if (ct_layout_axis(pattern, stream->axes[a].name) < 0) {
            g_autofree char *wanted = ct_layout_to_string(pattern);
            g_autofree char *given = ct_stream_describe(stream);
            g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                        "%s has no place for the axis '%s': it is given %s", wanted,
                        stream->axes[a].name, given);
            return FALSE;
        }
    return TRUE;
}

/* Lists the axes of `stream` in memory, slowest first, in the order of `like`. Axes that `like`
 * does not name come in canonical order at its `...`, or last. Returns their number. */
static guint
order_axes(const CtStream *stream, gboolean with_complex, const CtLayout *like,
           const char *names[CT_MAX_AXES + 1])
{
    const char *rest[CT_MAX_AXES + 1];
    guint n_rest = 0, n = 0;
    const gboolean is_alike = like && !like->any_order;
    for (guint a = 0; a < stream->n_axes; a++)
        if (!is_alike || ct_layout_axis(like, stream->axes[a].name) < 0)
            rest[n_rest++] = stream->axes[a].name;
    if (with_complex && (!is_alike || ct_layout_axis(like, "complex") < 0))
        rest[n_rest++] = ct_axis_name("complex");

    for (guint a = 0; is_alike && a < like->n_axes; a++) {
        const CtLayoutAxis *axis = &like->axes[a];
        if (is_further(axis)) {
            memcpy(names + n, rest, n_rest * sizeof *rest);
            n += n_rest;
            n_rest = 0;
        } else if (axis->count == 0 && (ct_stream_axis(stream, axis->name) >= 0 ||
                                        (with_complex && is_complex_axis(axis)))) {
            names[n++] = axis->name;
        }
    }
    memcpy(names + n, rest, n_rest * sizeof *rest);
    return n + n_rest;
}

gboolean
ct_layout_resolve(CtLayout *concrete, const CtLayout *pattern, const CtStream *stream, CtType type,
                  const CtLayout *like, GError **error)
{
    if (!ct_layout_accepts(pattern, stream, error))
        return FALSE;
    const gboolean with_complex = ct_layout_axis(pattern, "complex") >= 0;
    const CtTypeInfo *info = ct_type_info(type);
    const CtType element = with_complex && info->is_complex ? info->part : type;
    if (element == CT_TYPE_NONE || (pattern->types && !(pattern->types & 1u << element))) {
        g_autofree char *wanted = ct_layout_to_string(pattern);
        g_set_error(error, CT_ERROR, CT_ERROR_LAYOUT, "wants %s, but is given the type %s", wanted,
                    info->name);
        return FALSE;
    }

    const char *order[CT_MAX_AXES + 1];
    const guint n_order = order_axes(stream, with_complex, like, order);
    CtLayoutAxis axes[3 * CT_MAX_AXES];
    guint n = 0;
    if (pattern->any_order || pattern->n_axes == 0)
        for (guint i = 0; i < n_order; i++)
            axes[n++] = (CtLayoutAxis){order[i], 0};
    for (guint a = 0; a < pattern->n_axes; a++) {
        const CtLayoutAxis *axis = &pattern->axes[a];
        if (pattern->any_order ? axis->count > 0 : !is_further(axis))
            axes[n++] = *axis;
        for (guint i = 0; !pattern->any_order && is_further(axis) && i < n_order; i++)
            if (ct_layout_axis(pattern, order[i]) < 0)
                axes[n++] = (CtLayoutAxis){order[i], 0};
    }
    if (n > CT_MAX_AXES) {
        g_autofree char *wanted = ct_layout_to_string(pattern);
        g_set_error(error, CT_ERROR, CT_ERROR_LAYOUT,
                    "%s wants %u axes in memory for this stream, but there may be %d at most",
                    wanted, n, CT_MAX_AXES);
        return FALSE;
    }
    *concrete = (CtLayout){.types = 1u << element, .n_axes = n};
    memcpy(concrete->axes, axes, n * sizeof *axes);
    return TRUE;
}

void
ct_layout_canonical(CtLayout *layout, const CtStream *stream)
{
    *layout = (CtLayout){.n_axes = stream->n_axes};
    if (stream->type != CT_TYPE_NONE)
        layout->types = 1u << stream->type;
    for (guint a = 0; a < stream->n_axes; a++)
        layout->axes[a] = (CtLayoutAxis){stream->axes[a].name, 0};
}

/* The product of two numbers that are not negative; the largest number if it overflows. */
static gint64
product(gint64 a, gint64 b)
{
    gint64 result;
    return __builtin_mul_overflow(a, b, &result) ? G_MAXINT64 : result;
}

gsize
ct_layout_strides(const CtLayout *layout, const CtStream *stream, gint64 n_samples,
                  gint64 length[CT_MAX_AXES], gint64 stride[CT_MAX_AXES])
{
    gint64 bytes = ct_type_info(ct_layout_type(layout))->bytes;
    gboolean is_empty = FALSE;
    for (guint a = layout->n_axes; a-- > 0;) {
        const CtLayoutAxis *axis = &layout->axes[a];
        if (axis->count)
            length[a] = axis->count;
        else if (is_complex_axis(axis))
            length[a] = 2;
        else if (strcmp(axis->name, "time") == 0)
            length[a] = n_samples;
        else
            length[a] = ct_stream_length(stream, axis->name);
        const gint block = axis->count ? -1 : ct_layout_block_axis(layout, axis->name);
        if (block >= 0)
            length[a] =
                length[a] / layout->axes[block].count + (length[a] % layout->axes[block].count > 0);
        stride[a] = bytes;
        is_empty |= length[a] == 0;
        bytes = product(bytes, MAX(length[a], 1));
    }
    return is_empty ? 0 : bytes == G_MAXINT64 ? G_MAXSIZE : (gsize)bytes;
}
