/* SPDX-License-Identifier: BSD-3-Clause */
/* Layers of a plan's drawing, and the order of the boxes in each of them. */
#include "draw.h"

enum { N_SWEEPS = 24 };

/* ---- layers ---- */

/* The last layer from which the node reaches all its readers; −1: it has none. */
static gint
find_latest(const CtDrawing *drawing, const CtPlanNode *node)
{
    gint latest = -1;
    for (guint o = 0; o < node->n_outputs; o++) {
        if (node->outputs[o] < 0)
            continue;
        const CtPlanLink *link = ct_plan_link(drawing->plan, (guint)node->outputs[o]);
        for (guint r = 0; r < link->readers->len; r++) {
            const guint reader = g_array_index(link->readers, CtPlanReader, r).node;
            const gint layer = (gint)ct_drawing_box(drawing, reader)->layer - 2;
            latest = latest < 0 ? layer : MIN(latest, layer);
        }
    }
    return latest;
}

/* [nodes] whether nothing else reads what the node and those before it read, so that lines do not
 * become longer by moving all of them; allocated. */
static gboolean *
find_free(const CtPlan *plan)
{
    gboolean *is_free = g_new(gboolean, plan->nodes->len + 1);
    for (guint n = 0; n < plan->nodes->len; n++) {
        const CtPlanNode *node = ct_plan_node(plan, n);
        is_free[n] = TRUE;
        for (guint i = 0; i < node->n_inputs; i++) {
            if (node->inputs[i] < 0)
                continue;
            const CtPlanLink *link = ct_plan_link(plan, (guint)node->inputs[i]);
            is_free[n] &= link->readers->len == 1 && is_free[link->writer];
        }
    }
    return is_free;
}

void
ct_drawing_find_layers(CtDrawing *drawing)
{
    const CtPlan *plan = drawing->plan;
    g_autofree gboolean *is_free = find_free(plan);
    for (guint n = 0; n < plan->nodes->len; n++) {
        const CtPlanNode *node = ct_plan_node(plan, n);
        CtDrawnBox *box = ct_drawing_box(drawing, n);
        for (guint i = 0; i < node->n_inputs; i++) {
            if (node->inputs[i] < 0)
                continue;
            const CtPlanLink *link = ct_plan_link(plan, (guint)node->inputs[i]);
            box->layer = MAX(box->layer, ct_drawing_box(drawing, link->writer)->layer + 2);
        }
    }
    /* A source, and what depends on it alone, stands next to its reader. */
    for (guint n = plan->nodes->len; n-- > 0;) {
        const CtPlanNode *node = ct_plan_node(plan, n);
        const gint latest = find_latest(drawing, node);
        CtDrawnBox *box = ct_drawing_box(drawing, n);
        if (latest > (gint)box->layer && is_free[n])
            box->layer = (guint)latest;
    }
}

/* ---- order ---- */

/* [boxes] the place of each box in its layer; allocated. */
static guint *
find_positions(const CtDrawing *drawing)
{
    guint *positions = g_new0(guint, drawing->boxes->len + 1);
    for (guint l = 0; l < drawing->layers->len; l++) {
        const GArray *layer = g_ptr_array_index(drawing->layers, l);
        for (guint i = 0; i < layer->len; i++)
            positions[g_array_index(layer, guint, i)] = i;
    }
    return positions;
}

static guint
count_crossings(const CtDrawing *drawing)
{
    g_autofree guint *positions = find_positions(drawing);
    guint n = 0;
    for (guint i = 0; i < drawing->lines->len; i++) {
        const CtDrawnLine *a = ct_drawing_line(drawing, i);
        for (guint j = 0; j < i; j++) {
            const CtDrawnLine *b = ct_drawing_line(drawing, j);
            const gint above = (gint)positions[a->from] - (gint)positions[b->from];
            const gint below = (gint)positions[a->to] - (gint)positions[b->to];
            n += ct_drawing_box(drawing, a->from)->layer ==
                     ct_drawing_box(drawing, b->from)->layer &&
                 above * below < 0;
        }
    }
    return n;
}

typedef struct {
    guint box;
    gdouble centre;
} Barycentre;

static gint
compare_barycentres(gconstpointer a, gconstpointer b)
{
    const gdouble x = ((const Barycentre *)a)->centre, y = ((const Barycentre *)b)->centre;
    return (x > y) - (x < y);
}

/* Sorts a layer by the mean places of the boxes to which lines lead, above or below. */
static void
sort_layer(CtDrawing *drawing, guint l, gboolean by_above)
{
    GArray *layer = g_ptr_array_index(drawing->layers, l);
    g_autofree guint *positions = find_positions(drawing);
    g_autoptr(GArray) keys = g_array_new(FALSE, FALSE, sizeof(Barycentre));
    for (guint i = 0; i < layer->len; i++) {
        const guint box = g_array_index(layer, guint, i);
        gdouble sum = 0;
        guint n = 0;
        for (guint k = 0; k < drawing->lines->len; k++) {
            const CtDrawnLine *line = ct_drawing_line(drawing, k);
            if ((by_above ? line->to : line->from) != box)
                continue;
            sum += positions[by_above ? line->from : line->to];
            n++;
        }
        const Barycentre key = {box, n ? sum / n : i};
        g_array_append_val(keys, key);
    }
    /* The sort of GLib is stable: equal keys keep their order. */
    g_array_sort(keys, compare_barycentres);
    for (guint i = 0; i < layer->len; i++)
        g_array_index(layer, guint, i) = g_array_index(keys, Barycentre, i).box;
}

static GPtrArray *
copy_layers(const GPtrArray *layers)
{
    GPtrArray *copy = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
    for (guint l = 0; l < layers->len; l++)
        g_ptr_array_add(copy, g_array_copy(g_ptr_array_index(layers, l)));
    return copy;
}

void
ct_drawing_order(CtDrawing *drawing)
{
    g_autoptr(GPtrArray) best = copy_layers(drawing->layers);
    guint least = count_crossings(drawing);
    for (guint sweep = 0; sweep < N_SWEEPS && least > 0; sweep++) {
        const gboolean down = sweep % 2 == 0;
        for (guint l = 1; l < drawing->layers->len; l++)
            sort_layer(drawing, down ? l : drawing->layers->len - 1 - l, down);
        const guint n = count_crossings(drawing);
        if (n >= least)
            continue;
        least = n;
        g_ptr_array_unref(best);
        best = copy_layers(drawing->layers);
    }
    g_ptr_array_unref(drawing->layers);
    drawing->layers = g_steal_pointer(&best);
}
