/* SPDX-License-Identifier: BSD-3-Clause */
/* Layouts: types and an order of axes, as patterns of variants and as the layout of memory.
 *
 *     layout = [ types ] ( "[" axis { axis } "]" | "{" axis { axis } "}" )
 *     types  = type { "|" type }
 *     axis   = name | "..." | name ":" count          name: a-z 0-9 _ and final '
 *
 * `[a b c]` is this order, slowest first; `{a b c}` is these axes in any order; `...` is any
 * further axes, in their order; `time:16` is the innermost block of 16 of an axis that is also
 * named outside; `complex` is the real and imaginary parts, as an axis of length 2 of the part
 * type.
 *
 * Between `{ }` the blocks come last, and so they do in memory. `...` matches only whole axes of
 * the stream: blocks and `complex` must be named (except in rows with `any:`, see
 * docs/conventions.md). A complex type and its part type with `complex` innermost describe the same
 * memory; a pattern of either form matches a layout of the other. */
#pragma once

#include <cornerturn/tensor.h>

G_BEGIN_DECLS

typedef struct {
    const char *name; /* interned; "..." for further axes */
    gint64 count;     /* of samples in a block; 0: the whole axis */
} CtLayoutAxis;

/* A pattern. It is *concrete* if it has one type, `[ ]` order and no `...`. An empty pattern
 * (n_axes 0) matches all axes. */
typedef struct {
    guint32 types; /* bit 1 << CtType; 0: any */
    gboolean any_order;
    guint n_axes;
    CtLayoutAxis axes[CT_MAX_AXES];
    guint64 reserved[2]; /* 0 */
} CtLayout;

/* Parses `text`. The error shows the text and a caret under the mistake. */
CT_EXPORT gboolean ct_layout_parse(CtLayout *layout, const char *text, GError **error);
/* "ci8[time station pol]", allocated. */
CT_EXPORT char *ct_layout_to_string(const CtLayout *layout);
CT_EXPORT gboolean ct_layout_is_concrete(const CtLayout *layout);
CT_EXPORT gboolean ct_layout_equal(const CtLayout *a, const CtLayout *b);
/* The type of a concrete layout; with an axis `complex`, the part type. */
CT_EXPORT CtType ct_layout_type(const CtLayout *layout);
/* The index of the whole (outer) axis `name`; −1 if there is none. `name` need not be interned. */
CT_EXPORT gint ct_layout_axis(const CtLayout *layout, const char *name);
/* The index of the block of axis `name` (`name:count`); −1 if there is none. */
CT_EXPORT gint ct_layout_block_axis(const CtLayout *layout, const char *name);

/* Whether the concrete `layout` matches `pattern`. */
CT_EXPORT gboolean ct_layout_matches(const CtLayout *pattern, const CtLayout *layout);
/* Whether `pattern` has a place for each axis of `stream`, and no others; types are not compared.
 * The error names the axis that is missing or too many. */
CT_EXPORT gboolean ct_layout_accepts(const CtLayout *pattern, const CtStream *stream,
                                     GError **error);
/* Makes `pattern` concrete for the axes of `stream` and the element `type`. Axes under `...` and in
 * `{ }` take the order of `like` (a neighbour's layout or pattern; if it is NULL or in any order,
 * the stream's canonical order). Axes that `like` lacks come in canonical order at its `...`, or
 * last. If the pattern has `complex`, a complex `type` becomes its part type. Returns FALSE if the
 * pattern cannot hold the stream. */
CT_EXPORT gboolean ct_layout_resolve(CtLayout *concrete, const CtLayout *pattern,
                                     const CtStream *stream, CtType type, const CtLayout *like,
                                     GError **error);
/* Sets `layout` to the stream's type and its axes in canonical order. */
CT_EXPORT void ct_layout_canonical(CtLayout *layout, const CtStream *stream);

/* The lengths and packed strides of `n_samples` of `stream` in a concrete layout. A blocked axis is
 * rounded up to whole blocks. Returns the number of bytes, or G_MAXSIZE if it overflows. */
CT_EXPORT gsize ct_layout_strides(const CtLayout *layout, const CtStream *stream, gint64 n_samples,
                                  gint64 length[CT_MAX_AXES], gint64 stride[CT_MAX_AXES]);

G_END_DECLS
