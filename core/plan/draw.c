/* SPDX-License-Identifier: BSD-3-Clause */
/* Boxes and lines of a plan's drawing. */
#include "draw.h"

static guint
add_box(CtDrawing *drawing, CtDrawnKind kind, guint index, guint layer, gdouble width,
        gdouble height)
{
    const CtDrawnBox box = {
        .kind = kind, .index = index, .layer = layer, .width = width, .height = height};
    g_array_append_val(drawing->boxes, box);
    return drawing->boxes->len - 1;
}

static guint
add_line(CtDrawing *drawing, guint from, guint to)
{
    const CtDrawnLine line = {.from = from, .to = to};
    g_array_append_val(drawing->lines, line);
    return drawing->lines->len - 1;
}

/* The text of a link is below its writer; the lines from there to its readers bend in every layer
 * that they pass. */
static void
add_link(CtDrawing *drawing, guint l)
{
    const CtPlanLink *link = ct_plan_link(drawing->plan, l);
    const guint layer = ct_drawing_box(drawing, link->writer)->layer + 1;
    gdouble width, height;
    if (link->readers->len == 0)
        return;
    ct_link_size(drawing->plan, link, &width, &height);
    const guint text = add_box(drawing, CT_DRAWN_LINK, l, layer, width, height);
    const guint first = add_line(drawing, link->writer, text);
    for (guint r = 0; r < link->readers->len; r++) {
        const guint reader = g_array_index(link->readers, CtPlanReader, r).node;
        CtDrawnWay *way = g_new0(CtDrawnWay, 1);
        way->link = l;
        way->reader = r;
        way->lines = g_array_new(FALSE, FALSE, sizeof(guint));
        g_array_append_val(way->lines, first);
        guint from = text;
        for (guint at = layer + 1; at < ct_drawing_box(drawing, reader)->layer; at++) {
            const guint bend = add_box(drawing, CT_DRAWN_BEND, l, at, 0, 0);
            const guint line = add_line(drawing, from, bend);
            g_array_append_val(way->lines, line);
            from = bend;
        }
        const guint last = add_line(drawing, from, reader);
        g_array_append_val(way->lines, last);
        g_ptr_array_add(drawing->ways, way);
    }
}

static void
way_free(gpointer data)
{
    CtDrawnWay *way = data;
    g_array_unref(way->lines);
    g_free(way);
}

static void
fill_layers(CtDrawing *drawing)
{
    for (guint b = 0; b < drawing->boxes->len; b++) {
        const CtDrawnBox *box = ct_drawing_box(drawing, b);
        while (drawing->layers->len <= box->layer)
            g_ptr_array_add(drawing->layers, g_array_new(FALSE, FALSE, sizeof(guint)));
        g_array_append_val((GArray *)g_ptr_array_index(drawing->layers, box->layer), b);
    }
}

CtDrawing *
ct_drawing_new(const CtPlan *plan)
{
    g_autoptr(CtDrawing) drawing = g_new0(CtDrawing, 1);
    drawing->plan = plan;
    drawing->boxes = g_array_new(FALSE, FALSE, sizeof(CtDrawnBox));
    drawing->lines = g_array_new(FALSE, FALSE, sizeof(CtDrawnLine));
    drawing->ways = g_ptr_array_new_with_free_func(way_free);
    drawing->layers = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
    for (guint n = 0; n < plan->nodes->len; n++) {
        gdouble width, height;
        ct_node_size(plan, ct_plan_node(plan, n), &width, &height);
        add_box(drawing, CT_DRAWN_NODE, n, 0, width, height);
    }
    ct_drawing_find_layers(drawing);
    for (guint l = 0; l < plan->links->len; l++)
        add_link(drawing, l);
    fill_layers(drawing);
    ct_drawing_order(drawing);
    ct_drawing_place(drawing);
    return g_steal_pointer(&drawing);
}

void
ct_drawing_free(CtDrawing *drawing)
{
    if (!drawing)
        return;
    g_array_unref(drawing->boxes);
    g_array_unref(drawing->lines);
    g_ptr_array_unref(drawing->ways);
    g_ptr_array_unref(drawing->layers);
    g_free(drawing->tops);
    g_free(drawing->bottoms);
    g_free(drawing);
}
