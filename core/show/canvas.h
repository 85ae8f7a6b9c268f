/* SPDX-License-Identifier: BSD-3-Clause */
/* What pictures are drawn on: pixels, or elements of SVG, whose texts remain texts. Lengths are in
 * pixels, from the upper left corner; colours are 0xRRGGBB. */
#pragma once

#include <cornerturn/error.h>

typedef struct CtCanvas CtCanvas;

typedef enum { CT_ALIGN_LEFT, CT_ALIGN_MIDDLE, CT_ALIGN_RIGHT, CT_ALIGN_UPWARDS } CtAlign;

/* NULL with an error: this build can't draw. */
CtCanvas *ct_canvas_new(guint width, guint height, gboolean is_svg, GError **error);
void ct_canvas_free(CtCanvas *canvas);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtCanvas, ct_canvas_free)

void ct_canvas_rectangle(CtCanvas *canvas, gdouble x, gdouble y, gdouble width, gdouble height,
                         guint32 colour);
/* A line through points (x, y); one that is no number parts it. */
void ct_canvas_line(CtCanvas *canvas, const gdouble (*points)[2], gsize n, gdouble width,
                    guint32 colour);
/* `y` is that of the base line. CT_ALIGN_UPWARDS: turned, around its middle. */
void ct_canvas_text(CtCanvas *canvas, gdouble x, gdouble y, gdouble size, CtAlign align,
                    guint32 colour, const char *text);
/* About the width of a text. */
gdouble ct_canvas_text_width(const CtCanvas *canvas, gdouble size, const char *text);
/* Colours [ny][nx], the uppermost first, each as an equal part of the rectangle. */
gboolean ct_canvas_image(CtCanvas *canvas, gdouble x, gdouble y, gdouble width, gdouble height,
                         const guint32 *colours, guint nx, guint ny, GError **error);
/* The file: PNG or SVG, allocated. Ends the canvas. */
char *ct_canvas_end(CtCanvas *canvas, gsize *length, GError **error);
