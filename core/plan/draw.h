/* SPDX-License-Identifier: BSD-3-Clause */
/* A plan as a drawing: boxes in layers, joined by lines; the texts are those of the drawing for
 * Graphviz as well. Samples flow downwards. Lengths are in pixels. */
#pragma once

#include "plan.h"

typedef enum {
    CT_DRAWN_NODE, /* a node of the plan */
    CT_DRAWN_LINK, /* the text of a link, at the right of its line */
    CT_DRAWN_BEND  /* the line of a link on its way through a layer */
} CtDrawnKind;

typedef struct {
    CtDrawnKind kind;
    guint index; /* of the plan's node or link */
    guint layer;
    gdouble x, y, width, height; /* of the upper left corner, and the size */
} CtDrawnBox;

/* A line between boxes of neighbouring layers. */
typedef struct {
    guint from, to;      /* boxes */
    gdouble exit, entry; /* where the line meets them, from their left edges */
} CtDrawnLine;

/* The lines from the writer of a link to one of its readers. */
typedef struct {
    guint link, reader; /* index of the plan's link, and of its reader */
    GArray *lines;      /* of guint */
} CtDrawnWay;

typedef struct {
    const CtPlan *plan;
    GArray *boxes;           /* of CtDrawnBox; the first are the plan's nodes, in their order */
    GArray *lines;           /* of CtDrawnLine */
    GPtrArray *ways;         /* of CtDrawnWay */
    GPtrArray *layers;       /* of GArray of guint: boxes, from left to right */
    gdouble *tops, *bottoms; /* [layers] */
    gdouble width, height;
} CtDrawing;

/* Where everything is, without overlaps. */
CtDrawing *ct_drawing_new(const CtPlan *plan);
void ct_drawing_free(CtDrawing *drawing);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtDrawing, ct_drawing_free)

static inline CtDrawnBox *
ct_drawing_box(const CtDrawing *drawing, guint b)
{
    return &g_array_index(drawing->boxes, CtDrawnBox, b);
}

static inline CtDrawnLine *
ct_drawing_line(const CtDrawing *drawing, guint l)
{
    return &g_array_index(drawing->lines, CtDrawnLine, l);
}

/* ---- the steps, in this order ---- */

/* Sets the layers of the plan's nodes: two apart, since the texts of links are between them. */
void ct_drawing_find_layers(CtDrawing *drawing);
/* Orders the boxes of each layer so that few lines cross. */
void ct_drawing_order(CtDrawing *drawing);
/* Sets places, sizes of bends, and where lines meet boxes. Wants the sizes of the other boxes. */
void ct_drawing_place(CtDrawing *drawing);

/* The sizes of the drawn node and of the link's text: draw-svg.c. */
void ct_node_size(const CtPlan *plan, const CtPlanNode *node, gdouble *width, gdouble *height);
void ct_link_size(const CtPlan *plan, const CtPlanLink *link, gdouble *width, gdouble *height);

/* ---- texts ---- */

/* What a drawing says of a node; one line each. */
typedef struct {
    char *stages;        /* "fir + fft" */
    char *variant;       /* "fused-avx512 · cpu · host", "cuda:tile=4 · cuda:0" */
    char *share;         /* "busy 62.3%" */
    gdouble busy;        /* the share of the plan's time */
    gboolean is_busiest; /* it needs the busiest resource */
    gboolean is_fused;   /* several nodes of the graph */
} CtNodeText;

void ct_node_text_init(CtNodeText *text, const CtPlan *plan, const CtPlanNode *node);
void ct_node_text_clear(CtNodeText *text);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CtNodeText, ct_node_text_clear)

/* Lines of text, NULL-terminated: the layout that is written; the layouts that are read, if others;
 * lengths of axes, and bytes. Free with g_strfreev. */
char **ct_link_texts(const CtPlan *plan, const CtPlanLink *link);
/* The seconds for which each resource is busy for a second of stream, "workers 0.31 s",
 * NULL-terminated, the busiest first. Free with g_strfreev. */
char **ct_plan_busy_texts(const CtPlan *plan);
