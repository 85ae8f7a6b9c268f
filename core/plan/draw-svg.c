/* SPDX-License-Identifier: BSD-3-Clause */
/* A plan as a drawing in SVG, without references to anything outside. */
#include "draw.h"

#include <math.h>

/* Sizes of texts, and their classes. */
typedef struct {
    const char *name; /* of the class */
    gdouble size;     /* of the font */
    gdouble advance;  /* of a character, in sizes: what wide fonts need */
} Font;

static const Font name_font = {"name", 13, 0.70}, stage_font = {"stage", 12, 0.62},
                  small_font = {"small", 11, 0.62}, layout_font = {"layout", 11, 0.61},
                  port_font = {"port", 10, 0.62}, head_font = {"head", 12, 0.62};

enum { PAD = 12, ROW = 16, BAR = 4, LEAST_WIDTH = 130, TEXT_LEFT = 9, PART_GAP = 6, LEGEND = 26 };

/* Light, and dark where the reader prefers it. */
static const struct {
    const char *rule, *light, *dark;
} styles[] = {
    {".ground", "fill:#ffffff", "fill:#12171d"},
    {"text", "fill:#1c2128", "fill:#e6edf3"},
    {".small,.cornerturn-plan .port", "fill:#57606a", "fill:#9aa6b2"},
    {".box", "fill:#f6f8fa;stroke:#8c959f", "fill:#1d252e;stroke:#66717d"},
    {".fused .box", "fill:#eaf3fc;stroke:#1f6fb4", "fill:#14293d;stroke:#4f9ae0"},
    {".inserted .box", "fill:#fdf6e0;stroke:#9a6b00;stroke-dasharray:5 3",
     "fill:#2d2611;stroke:#d0a02c;stroke-dasharray:5 3"},
    {".part", "fill:#ffffff;stroke:#1f6fb4", "fill:#12171d;stroke:#4f9ae0"},
    {".track", "fill:#dde2e7", "fill:#323c47"},
    {".bar", "fill:#8c959f", "fill:#8793a0"},
    {".busiest .bar", "fill:#d1661a", "fill:#f0883e"},
    {".line", "stroke:#57606a", "stroke:#9aa6b2"},
    {".point", "fill:#57606a", "fill:#9aa6b2"},
};

static gdouble
text_width(const Font *font, const char *text)
{
    return (gdouble)g_utf8_strlen(text, -1) * font->size * font->advance;
}

static void
append_text(GString *svg, const Font *font, gdouble x, gdouble y, const char *more,
            const char *text)
{
    g_autofree char *escaped = g_markup_escape_text(text, -1);
    g_string_append_printf(svg, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\"%s>%s</text>\n",
                           font->name, x, y, more, escaped);
}

static void
append_rectangle(GString *svg, const char *class, gdouble x, gdouble y, gdouble width,
                 gdouble height, gdouble radius)
{
    g_string_append_printf(
        svg,
        "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"%g\"/>\n",
        class, x, y, width, height, radius);
}

/* ---- nodes ---- */

static guint
count_connected(const CtPlanNode *node)
{
    guint n = 0;
    for (guint i = 0; i < node->n_inputs; i++)
        n += node->inputs[i] >= 0;
    return n;
}

static gdouble
parts_width(const CtPlanNode *node)
{
    gdouble width = 0;
    for (guint k = 0; k < node->n_nodes; k++)
        width += text_width(&stage_font, node->nodes[k].stage->name) + PAD + (k ? PART_GAP : 0);
    return width;
}

/* The width that the names of its inputs need above the node. */
static gdouble
ports_width(const CtPlanNode *node)
{
    gdouble widest = 0;
    for (guint i = 0; i < node->n_inputs; i++)
        widest = fmax(widest, text_width(&port_font, ct_node_input_port(node->nodes, i)->name));
    return (count_connected(node) + 1) * (widest + 4);
}

void
ct_node_size(const CtPlan *plan, const CtPlanNode *node, gdouble *width, gdouble *height)
{
    g_auto(CtNodeText) text = {0};
    ct_node_text_init(&text, plan, node);
    gdouble widest = fmax(text_width(&name_font, node->name), parts_width(node));
    widest = fmax(widest, text_width(&small_font, text.variant));
    widest = fmax(widest, text_width(&small_font, text.share)) + 2 * PAD;
    if (count_connected(node) > 1)
        widest = fmax(widest, ports_width(node));
    *width = fmax(widest, LEAST_WIDTH);
    *height = 4 * ROW + PAD + 3 * BAR + (count_connected(node) > 1 ? ROW - 4 : 0);
}

/* The stage, or those that run as one, in a frame each. */
static void
append_parts(GString *svg, const CtPlanNode *node, gdouble x, gdouble y)
{
    x -= parts_width(node) / 2;
    for (guint k = 0; k < node->n_nodes; k++) {
        const char *name = node->nodes[k].stage->name;
        const gdouble width = text_width(&stage_font, name) + PAD;
        if (node->n_nodes > 1)
            append_rectangle(svg, "part", x, y - 12.5, width, 17, 4);
        append_text(svg, &stage_font, x + width / 2, y, "", name);
        x += width + PART_GAP;
    }
}

static void
append_ports(GString *svg, const CtDrawing *drawing, guint b, const CtPlanNode *node)
{
    const CtDrawnBox *box = ct_drawing_box(drawing, b);
    for (guint w = 0; w < drawing->ways->len; w++) {
        const CtDrawnWay *way = g_ptr_array_index(drawing->ways, w);
        const CtPlanReader *reader = &g_array_index(ct_plan_link(drawing->plan, way->link)->readers,
                                                    CtPlanReader, way->reader);
        const guint last = g_array_index(way->lines, guint, way->lines->len - 1);
        if (reader->node == b)
            append_text(svg, &port_font, box->x + ct_drawing_line(drawing, last)->entry,
                        box->y + 12, "", ct_node_input_port(node->nodes, reader->port)->name);
    }
}

static void
append_node(GString *svg, const CtDrawing *drawing, guint b)
{
    const CtDrawnBox *box = ct_drawing_box(drawing, b);
    const CtPlanNode *node = ct_plan_node(drawing->plan, b);
    g_auto(CtNodeText) text = {0};
    ct_node_text_init(&text, drawing->plan, node);
    g_autofree char *name = g_markup_escape_text(node->name, -1);
    g_autofree char *place = ct_plan_place_name(node->place, node->numa);
    const gdouble middle = box->x + box->width / 2, wide = box->width - 2 * PAD;
    gdouble y = box->y + ROW + (count_connected(node) > 1 ? ROW - 4 : 0);
    g_string_append_printf(svg, "<g id=\"node-%s\" class=\"node%s%s%s\" data-place=\"%s\">\n", name,
                           node->inserted ? " inserted" : "", text.is_fused ? " fused" : "",
                           text.is_busiest ? " busiest" : "", place);
    g_string_append_printf(svg, "<title>%s: %s, %s, %s</title>\n", name, text.stages, text.variant,
                           text.share);
    append_rectangle(svg, "box", box->x, box->y, box->width, box->height, 6);
    if (count_connected(node) > 1)
        append_ports(svg, drawing, b, node);
    append_text(svg, &name_font, middle, y + 2, "", node->name);
    append_parts(svg, node, middle, y + 5 + ROW);
    append_text(svg, &small_font, middle, y + 7 + 2 * ROW, "", text.variant);
    append_text(svg, &small_font, middle, y + 7 + 3 * ROW, "", text.share);
    y = box->y + box->height - PAD / 2 - BAR - 1;
    append_rectangle(svg, "track", box->x + PAD, y, wide, BAR, 2);
    append_rectangle(svg, "bar", box->x + PAD, y, wide * CLAMP(text.busy, 0, 1), BAR, 2);
    g_string_append(svg, "</g>\n");
}

/* ---- links ---- */

void
ct_link_size(const CtPlan *plan, const CtPlanLink *link, gdouble *width, gdouble *height)
{
    g_auto(GStrv) lines = ct_link_texts(plan, link);
    *width = 0;
    for (guint i = 0; lines[i]; i++)
        *width = fmax(*width, TEXT_LEFT + text_width(&layout_font, lines[i]));
    *height = g_strv_length(lines) * (ROW - 2) + 4;
}

/* Straight down beside the boxes of a layer, and bent between two layers. */
static void
append_way(GString *svg, const CtDrawing *drawing, const CtDrawnWay *way)
{
    const CtPlan *plan = drawing->plan;
    const CtPlanLink *link = ct_plan_link(plan, way->link);
    const CtPlanReader *reader = &g_array_index(link->readers, CtPlanReader, way->reader);
    const CtPlanNode *node = ct_plan_node(plan, reader->node);
    g_autofree char *from = g_markup_escape_text(ct_plan_node(plan, link->writer)->name, -1);
    g_autofree char *to = g_markup_escape_text(node->name, -1);
    gdouble x = 0, y = 0;
    g_string_append_printf(
        svg, "<path class=\"line\" data-from=\"%s\" data-to=\"%s\" data-input=\"%s\" d=\"", from,
        to, ct_node_input_port(node->nodes, reader->port)->name);
    for (guint i = 0; i < way->lines->len; i++) {
        const CtDrawnLine *line = ct_drawing_line(drawing, g_array_index(way->lines, guint, i));
        const CtDrawnBox *above = ct_drawing_box(drawing, line->from);
        const CtDrawnBox *below = ct_drawing_box(drawing, line->to);
        const gdouble top = drawing->bottoms[above->layer], bottom = drawing->tops[below->layer];
        const gdouble middle = (top + bottom) / 2;
        x = above->x + line->exit;
        y = i ? y : above->y + above->height;
        if (i == 0)
            g_string_append_printf(svg, "M%.1f %.1f", x, y);
        g_string_append_printf(svg, "V%.1f", top);
        x = below->x + line->entry;
        g_string_append_printf(svg, "C%.1f %.1f %.1f %.1f %.1f %.1f", above->x + line->exit, middle,
                               x, middle, x, bottom);
        y = below->y;
    }
    g_string_append_printf(svg, "V%.1f\"/>\n<path class=\"point\" d=\"M%.1f %.1fl-4 -8h8z\"/>\n", y,
                           x, y);
}

static void
append_link(GString *svg, const CtDrawing *drawing, const CtDrawnBox *box)
{
    const CtPlanLink *link = ct_plan_link(drawing->plan, box->index);
    g_auto(GStrv) lines = ct_link_texts(drawing->plan, link);
    g_autofree char *title = g_strjoinv("\n", lines);
    g_autofree char *link_name = ct_plan_link_name(drawing->plan, link);
    g_autofree char *name = g_markup_escape_text(link_name, -1);
    g_autofree char *said = g_markup_escape_text(title, -1);
    g_string_append_printf(svg, "<g id=\"link-%s\" class=\"link\">\n<title>%s\n%s</title>\n", name,
                           name, said);
    for (guint w = 0; w < drawing->ways->len; w++) {
        const CtDrawnWay *way = g_ptr_array_index(drawing->ways, w);
        if (way->link == box->index)
            append_way(svg, drawing, way);
    }
    const guint n_layouts = g_strv_length(lines) - 2;
    for (guint i = 0; lines[i]; i++)
        append_text(svg, i < n_layouts ? &layout_font : &small_font, box->x + TEXT_LEFT,
                    box->y + (i + 1) * (ROW - 2), " text-anchor=\"start\"", lines[i]);
    g_string_append(svg, "</g>\n");
}

/* ---- around them ---- */

static void
append_style(GString *svg)
{
    g_string_append(svg, "<style>\n"
                         ".cornerturn-plan text{font-family:system-ui,-apple-system,'Segoe UI',"
                         "'DejaVu Sans',sans-serif;text-anchor:middle}\n"
                         ".cornerturn-plan .link text,.cornerturn-plan text.head,.cornerturn-plan "
                         ".legend text{text-anchor:start}\n"
                         ".cornerturn-plan .line{fill:none;stroke-width:1.3}\n"
                         ".cornerturn-plan .box{stroke-width:1.3}\n"
                         ".cornerturn-plan .name{font-weight:600}\n"
                         ".cornerturn-plan text.layout{font-family:ui-monospace,'DejaVu Sans "
                         "Mono',monospace}\n");
    const Font *const fonts[] = {&name_font,   &stage_font, &small_font,
                                 &layout_font, &port_font,  &head_font};
    for (guint f = 0; f < G_N_ELEMENTS(fonts); f++)
        g_string_append_printf(svg, ".cornerturn-plan .%s{font-size:%gpx}\n", fonts[f]->name,
                               fonts[f]->size);
    for (guint s = 0; s < G_N_ELEMENTS(styles); s++)
        g_string_append_printf(svg, ".cornerturn-plan %s{%s}\n", styles[s].rule, styles[s].light);
    g_string_append(svg, "@media (prefers-color-scheme:dark){\n");
    for (guint s = 0; s < G_N_ELEMENTS(styles); s++)
        g_string_append_printf(svg, ".cornerturn-plan %s{%s}\n", styles[s].rule, styles[s].dark);
    g_string_append(svg, "}\n</style>\n");
}

/* What looks different in this drawing. */
static void
append_legend(GString *svg, const CtDrawing *drawing, gdouble y)
{
    gboolean has_inserted = FALSE, has_fused = FALSE;
    for (guint n = 0; n < drawing->plan->nodes->len; n++) {
        has_inserted |= ct_plan_node(drawing->plan, n)->inserted;
        has_fused |= ct_plan_node(drawing->plan, n)->n_nodes > 1;
    }
    const struct {
        const char *class, *shape, *text;
        gboolean is_shown;
    } rows[] = {
        {"busiest", "bar", "on what is busy longest", TRUE},
        {"fused", "box", "run as one", has_fused},
        {"inserted", "box", "inserted", has_inserted},
    };
    gdouble x = PAD + 8;
    for (guint r = 0; r < G_N_ELEMENTS(rows); r++) {
        if (!rows[r].is_shown)
            continue;
        const gboolean is_bar = *rows[r].shape == 'b' && rows[r].shape[1] == 'a';
        g_string_append_printf(svg, "<g class=\"legend %s\">\n", rows[r].class);
        append_rectangle(svg, rows[r].shape, x, y + (is_bar ? 4 : 0), 18, is_bar ? BAR : 12, 2);
        append_text(svg, &small_font, x + 24, y + 10, "", rows[r].text);
        g_string_append(svg, "</g>\n");
        x += 24 + text_width(&small_font, rows[r].text) + PAD;
    }
}

char *
ct_plan_to_svg(const CtPlan *plan)
{
    g_autoptr(CtDrawing) drawing = ct_drawing_new(plan);
    g_auto(GStrv) busy = ct_plan_busy_texts(plan);
    g_autoptr(GString) svg = g_string_new(NULL);
    const gdouble head = g_strv_length(busy) * ROW + PAD;
    gdouble width = fmax(drawing->width, 380);
    for (guint i = 0; busy[i]; i++)
        width = fmax(width, text_width(&head_font, busy[i]) + 4 * PAD);
    const gdouble height = head + drawing->height + LEGEND;
    g_string_append_printf(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"cornerturn-plan\" "
        "width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" role=\"img\">\n"
        "<title>Plan of a graph</title>\n",
        ceil(width), ceil(height), ceil(width), ceil(height));
    append_style(svg);
    append_rectangle(svg, "ground", 0, 0, ceil(width), ceil(height), 0);
    for (guint i = 0; busy[i]; i++)
        append_text(svg, &head_font, PAD + 8, PAD + (i + 1) * ROW - 4, "", busy[i]);
    g_string_append_printf(svg, "<g transform=\"translate(%.1f %.1f)\">\n",
                           (width - drawing->width) / 2, head);
    for (guint b = 0; b < drawing->boxes->len; b++) {
        const CtDrawnBox *box = ct_drawing_box(drawing, b);
        if (box->kind == CT_DRAWN_LINK)
            append_link(svg, drawing, box);
    }
    for (guint n = 0; n < plan->nodes->len; n++)
        append_node(svg, drawing, n);
    g_string_append(svg, "</g>\n");
    append_legend(svg, drawing, height - LEGEND);
    g_string_append(svg, "</svg>\n");
    return g_string_free(g_steal_pointer(&svg), FALSE);
}
