/* SPDX-License-Identifier: BSD-3-Clause */
/* Places of the boxes of a plan's drawing, and of the ends of its lines. */
#include "draw.h"

#include <math.h>

enum { N_ROUNDS = 40, GAP = 26, MARGIN = 20, LEAST_RISE = 20, MOST_RISE = 56 };

/* ---- where lines meet boxes ---- */

typedef struct {
    guint line;
    guint position; /* of the box at the other end, in its layer */
} End;

static gint
compare_ends(gconstpointer a, gconstpointer b)
{
    const End *x = a, *y = b;
    return x->position == y->position ? (x->line > y->line) - (x->line < y->line)
                                      : (x->position > y->position) - (x->position < y->position);
}

/* Lines come to a node side by side, in the order of the boxes from which they come. They run along
 * the left edge of a text. */
static void
spread_ends(CtDrawing *drawing, guint b, gboolean at_top, const guint *positions)
{
    const CtDrawnBox *box = ct_drawing_box(drawing, b);
    g_autoptr(GArray) ends = g_array_new(FALSE, FALSE, sizeof(End));
    for (guint l = 0; l < drawing->lines->len; l++) {
        const CtDrawnLine *line = ct_drawing_line(drawing, l);
        if ((at_top ? line->to : line->from) == b) {
            const End end = {l, positions[at_top ? line->from : line->to]};
            g_array_append_val(ends, end);
        }
    }
    g_array_sort(ends, compare_ends);
    for (guint e = 0; e < ends->len; e++) {
        CtDrawnLine *line = ct_drawing_line(drawing, g_array_index(ends, End, e).line);
        gdouble *x = at_top ? &line->entry : &line->exit;
        *x = box->kind == CT_DRAWN_NODE ? box->width * (e + 1) / (ends->len + 1) : 0;
    }
}

static void
spread_all(CtDrawing *drawing)
{
    g_autofree guint *positions = g_new0(guint, drawing->boxes->len + 1);
    for (guint l = 0; l < drawing->layers->len; l++) {
        const GArray *layer = g_ptr_array_index(drawing->layers, l);
        for (guint i = 0; i < layer->len; i++)
            positions[g_array_index(layer, guint, i)] = i;
    }
    for (guint b = 0; b < drawing->boxes->len; b++) {
        spread_ends(drawing, b, TRUE, positions);
        spread_ends(drawing, b, FALSE, positions);
    }
}

/* ---- along the layers ---- */

/* Boxes that touch and are moved as one. */
typedef struct {
    gdouble weight, wanted; /* of the left edge of the first box */
    guint n;
} Group;

/* Where the lines, or those from above, would be straight, as the left edge of the box; *weight 0:
 * it has no lines. */
static gdouble
find_wanted(const CtDrawing *drawing, guint b, gboolean from_above, gdouble *weight)
{
    gdouble sum = 0;
    *weight = 0;
    for (guint l = 0; l < drawing->lines->len; l++) {
        const CtDrawnLine *line = ct_drawing_line(drawing, l);
        if (line->to != b && (from_above || line->from != b))
            continue;
        const gboolean is_upper = line->from == b;
        const CtDrawnBox *other = ct_drawing_box(drawing, is_upper ? line->to : line->from);
        const gdouble x =
            is_upper ? other->x + line->entry - line->exit : other->x + line->exit - line->entry;
        /* Long lines shall be straight before all others. */
        const gdouble w = other->kind == CT_DRAWN_NODE ? 1 : 2;
        sum += w * x;
        *weight += w;
    }
    return *weight > 0 ? sum / *weight : ct_drawing_box(drawing, b)->x;
}

/* Moves the boxes of a layer as near as possible to where they want to be, in their order and
 * without overlaps: least squares, by joining neighbours that would overlap. */
static void
place_layer(CtDrawing *drawing, const GArray *layer, gboolean from_above)
{
    g_autofree Group *groups = g_new(Group, layer->len + 1);
    guint n = 0;
    gdouble offset = 0;
    for (guint i = 0; i < layer->len; i++) {
        const guint b = g_array_index(layer, guint, i);
        gdouble weight;
        const gdouble wanted = find_wanted(drawing, b, from_above, &weight) - offset;
        groups[n++] = (Group){.weight = MAX(weight, 0.01), .wanted = wanted, .n = 1};
        offset += ct_drawing_box(drawing, b)->width + GAP;
        for (; n > 1 && groups[n - 2].wanted > groups[n - 1].wanted; n--) {
            Group *left = &groups[n - 2], *right = &groups[n - 1];
            const gdouble sum = left->weight + right->weight;
            left->wanted = (left->weight * left->wanted + right->weight * right->wanted) / sum;
            left->weight = sum;
            left->n += right->n;
        }
    }
    guint i = 0;
    offset = 0;
    for (guint g = 0; g < n; g++) {
        for (guint k = 0; k < groups[g].n; k++, i++) {
            CtDrawnBox *box = ct_drawing_box(drawing, g_array_index(layer, guint, i));
            box->x = groups[g].wanted + offset;
            offset += box->width + GAP;
        }
    }
}

static void
place_along(CtDrawing *drawing)
{
    const guint n = drawing->layers->len;
    for (guint round = 0; round < N_ROUNDS; round++) {
        for (guint l = 0; l < n; l++)
            place_layer(drawing, g_ptr_array_index(drawing->layers, round % 2 == 0 ? l : n - 1 - l),
                        FALSE);
    }
    /* What is nearly straight becomes so. */
    for (guint l = 0; l < n; l++)
        place_layer(drawing, g_ptr_array_index(drawing->layers, l), TRUE);
    gdouble left = HUGE_VAL, right = -HUGE_VAL;
    for (guint b = 0; b < drawing->boxes->len; b++) {
        left = MIN(left, ct_drawing_box(drawing, b)->x);
        right = MAX(right, ct_drawing_box(drawing, b)->x + ct_drawing_box(drawing, b)->width);
    }
    for (guint b = 0; b < drawing->boxes->len; b++)
        ct_drawing_box(drawing, b)->x += MARGIN - left;
    drawing->width = right - left + 2 * MARGIN;
}

/* ---- from layer to layer ---- */

/* The height in which lines bend between a layer and the next one: the more, the farther. */
static gdouble
find_rise(const CtDrawing *drawing, guint layer)
{
    gdouble farthest = 0;
    for (guint l = 0; l < drawing->lines->len; l++) {
        const CtDrawnLine *line = ct_drawing_line(drawing, l);
        const CtDrawnBox *from = ct_drawing_box(drawing, line->from);
        if (from->layer == layer)
            farthest = MAX(farthest, fabs(from->x + line->exit - line->entry -
                                          ct_drawing_box(drawing, line->to)->x));
    }
    return CLAMP(farthest / 4, LEAST_RISE, MOST_RISE);
}

static void
place_down(CtDrawing *drawing)
{
    gdouble y = MARGIN;
    drawing->tops = g_new(gdouble, drawing->layers->len + 1);
    drawing->bottoms = g_new(gdouble, drawing->layers->len + 1);
    for (guint l = 0; l < drawing->layers->len; l++) {
        const GArray *layer = g_ptr_array_index(drawing->layers, l);
        gdouble height = 0;
        for (guint i = 0; i < layer->len; i++)
            height = MAX(height, ct_drawing_box(drawing, g_array_index(layer, guint, i))->height);
        for (guint i = 0; i < layer->len; i++) {
            CtDrawnBox *box = ct_drawing_box(drawing, g_array_index(layer, guint, i));
            box->height = box->kind == CT_DRAWN_BEND ? height : box->height;
            box->y = y + (height - box->height) / 2;
        }
        drawing->tops[l] = y;
        drawing->bottoms[l] = y + height;
        y += height + find_rise(drawing, l);
    }
    drawing->height =
        (drawing->layers->len ? drawing->bottoms[drawing->layers->len - 1] : MARGIN) + MARGIN;
}

void
ct_drawing_place(CtDrawing *drawing)
{
    spread_all(drawing);
    place_along(drawing);
    place_down(drawing);
}
