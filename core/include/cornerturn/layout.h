/* SPDX-License-Identifier: BSD-3-Clause */
/* Layouts: types and an axis order, as patterns that variants accept and as memory has them.
 *
 *     layout = [ types ] ( "[" axis { axis } "]" | "{" axis { axis } "}" )
 *     types  = type { "|" type }
 *     axis   = name | "..." | name ":" count          name: a-z 0-9 _ and final '
 *
 * `[a b c]` this order, slowest first; `{a b c}` these axes in any order; `...` any further axes,
 * in their order; `time:16` the innermost block of 16 of an axis that also stands outside;
 * `complex` the real and imaginary parts as an axis of length 2 of the part type.
 *
 * Between `{ }` the blocks stand last, and memory has them so. `...` stands for whole axes of the
 * stream: blocks and `complex` must be named. A complex type and its part type with `complex`
 * innermost are the same memory, and either form matches where the pattern has the other. */
#pragma once

#include <cornerturn/tensor.h>

G_BEGIN_DECLS

typedef struct {
    const char *name; /* interned; "..." for further axes */
    gint64 count;     /* of a block; 0: the whole axis */
} CtLayoutAxis;

/* A pattern; it is *concrete* when it has one type, `[ ]` order and no `...`. An empty one (n_axes
 * 0) constrains nothing. */
typedef struct {
    guint32 types; /* bit 1 << CtType; 0: any */
    gboolean any_order;
    guint n_axes;
    CtLayoutAxis axes[CT_MAX_AXES];
} CtLayout;

/* Parses `text`; a malformed one is diagnosed with the text and a caret under the offending place.
 */
CT_EXPORT gboolean ct_layout_parse(CtLayout *layout, const char *text, GError **error);
/* "ci8[time station pol]", allocated. */
CT_EXPORT char *ct_layout_to_string(const CtLayout *layout);
CT_EXPORT gboolean ct_layout_is_concrete(const CtLayout *layout);
CT_EXPORT gboolean ct_layout_equal(const CtLayout *a, const CtLayout *b);
/* The one type of a concrete layout (of its elements in memory: i8 where `complex` is an axis). */
CT_EXPORT CtType ct_layout_type(const CtLayout *layout);
/* Index of the whole (outer) axis `name`, −1 where there is none; `name` need not be interned. */
CT_EXPORT gint ct_layout_axis(const CtLayout *layout, const char *name);
/* Index of the block of axis `name` (`name:count`), −1 where there is none. */
CT_EXPORT gint ct_layout_block_axis(const CtLayout *layout, const char *name);

/* Whether memory in the concrete `layout` is what `pattern` asks for. */
CT_EXPORT gboolean ct_layout_matches(const CtLayout *pattern, const CtLayout *layout);
/* Whether `pattern` can hold the axes of `stream`, types aside; the error says which axis is
 * missing or too many. */
CT_EXPORT gboolean ct_layout_accepts(const CtLayout *pattern, const CtStream *stream,
                                     GError **error);
/* Makes `pattern` concrete for the axes of `stream` and element `type`: the axes under `...` and in
 * `{ }` come in the order in which they stand in `like` (a layout of a neighbour, or a pattern of
 * one; NULL or in any order: the stream's canonical order). Axes that `like` lacks come in
 * canonical order where its `...` stands, or last. Where the pattern has `complex`, a complex
 * `type` becomes its part type. FALSE where the pattern cannot hold the stream. */
CT_EXPORT gboolean ct_layout_resolve(CtLayout *concrete, const CtLayout *pattern,
                                     const CtStream *stream, CtType type, const CtLayout *like,
                                     GError **error);
/* The stream's axes in canonical order. */
CT_EXPORT void ct_layout_canonical(CtLayout *layout, const CtStream *stream);

/* Lengths and packed strides of `n_samples` of `stream` in a concrete layout; returns the bytes of
 * the whole, G_MAXSIZE where they do not fit. A blocked axis is rounded up to whole blocks. */
CT_EXPORT gsize ct_layout_strides(const CtLayout *layout, const CtStream *stream, gint64 n_samples,
                                  gint64 length[CT_MAX_AXES], gint64 stride[CT_MAX_AXES]);

G_END_DECLS
