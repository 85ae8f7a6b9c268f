/* SPDX-License-Identifier: BSD-3-Clause */
/* The canvas: cairo draws pixels; SVG is written here, since that of cairo has no texts. */
#include "canvas.h"

#include <cairo.h>
#include <math.h>

struct CtCanvas {
    guint width, height;
    GString *svg; /* NULL: pixels */
    cairo_surface_t *surface;
    cairo_t *cairo; /* also measures texts for SVG */
};

static gboolean
check(cairo_status_t status, GError **error)
{
    if (status == CAIRO_STATUS_SUCCESS)
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_MEMORY, "the picture can't be made: %s",
                cairo_status_to_string(status));
    return FALSE;
}

CtCanvas *
ct_canvas_new(guint width, guint height, gboolean is_svg, GError **error)
{
    g_autoptr(CtCanvas) canvas = g_new0(CtCanvas, 1);
    canvas->width = width;
    canvas->height = height;
    canvas->surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, is_svg ? 1 : (int)width,
                                                 is_svg ? 1 : (int)height);
    canvas->cairo = cairo_create(canvas->surface);
    if (!check(cairo_status(canvas->cairo), error))
        return NULL;
    if (is_svg) {
        canvas->svg = g_string_new(NULL);
        g_string_append_printf(
            canvas->svg,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
            "viewBox=\"0 0 %u %u\" font-family=\"'DejaVu Sans',sans-serif\">\n",
            width, height, width, height);
    }
    cairo_select_font_face(canvas->cairo, "DejaVu Sans", CAIRO_FONT_SLANT_NORMAL,
                           CAIRO_FONT_WEIGHT_NORMAL);
    return g_steal_pointer(&canvas);
}

void
ct_canvas_free(CtCanvas *canvas)
{
    if (!canvas)
        return;
    if (canvas->svg)
        g_string_free(canvas->svg, TRUE);
    cairo_destroy(canvas->cairo);
    cairo_surface_destroy(canvas->surface);
    g_free(canvas);
}

static void
set_colour(CtCanvas *canvas, guint32 colour)
{
    cairo_set_source_rgb(canvas->cairo, (colour >> 16) / 255.0, (colour >> 8 & 255) / 255.0,
                         (colour & 255) / 255.0);
}

void
ct_canvas_rectangle(CtCanvas *canvas, gdouble x, gdouble y, gdouble width, gdouble height,
                    guint32 colour)
{
    if (canvas->svg) {
        g_string_append_printf(canvas->svg,
                               "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" "
                               "fill=\"#%06x\"/>\n",
                               x, y, width, height, colour);
        return;
    }
    set_colour(canvas, colour);
    cairo_rectangle(canvas->cairo, x, y, width, height);
    cairo_fill(canvas->cairo);
}

void
ct_canvas_line(CtCanvas *canvas, const gdouble (*points)[2], gsize n, gdouble width, guint32 colour)
{
    gboolean is_drawn = FALSE;
    if (canvas->svg)
        g_string_append_printf(canvas->svg,
                               "<path fill=\"none\" stroke=\"#%06x\" stroke-width=\"%g\" "
                               "stroke-linejoin=\"round\" stroke-linecap=\"square\" d=\"",
                               colour, width);
    for (gsize i = 0; i < n; i++) {
        const gboolean is_number = isfinite(points[i][0]) && isfinite(points[i][1]);
        if (is_number && canvas->svg)
            g_string_append_printf(canvas->svg, "%c%.2f %.2f", is_drawn ? 'L' : 'M', points[i][0],
                                   points[i][1]);
        else if (is_number && is_drawn)
            cairo_line_to(canvas->cairo, points[i][0], points[i][1]);
        else if (is_number)
            cairo_move_to(canvas->cairo, points[i][0], points[i][1]);
        is_drawn = is_number;
    }
    if (canvas->svg) {
        g_string_append(canvas->svg, "\"/>\n");
        return;
    }
    set_colour(canvas, colour);
    cairo_set_line_width(canvas->cairo, width);
    cairo_set_line_join(canvas->cairo, CAIRO_LINE_JOIN_ROUND);
    cairo_set_line_cap(canvas->cairo, CAIRO_LINE_CAP_SQUARE);
    cairo_stroke(canvas->cairo);
}

gdouble
ct_canvas_text_width(const CtCanvas *canvas, gdouble size, const char *text)
{
    cairo_text_extents_t extents;
    cairo_set_font_size(canvas->cairo, size);
    cairo_text_extents(canvas->cairo, text, &extents);
    return extents.x_advance;
}

static void
append_text(GString *svg, gdouble x, gdouble y, gdouble size, CtAlign align, guint32 colour,
            const char *text)
{
    static const char *const anchors[] = {"start", "middle", "end", "middle"};
    g_autofree char *escaped = g_markup_escape_text(text, -1);
    g_string_append_printf(svg,
                           "<text x=\"%.2f\" y=\"%.2f\" font-size=\"%g\" text-anchor=\"%s\" "
                           "fill=\"#%06x\"",
                           x, y, size, anchors[align], colour);
    if (align == CT_ALIGN_UPWARDS)
        g_string_append_printf(svg, " transform=\"rotate(-90 %.2f %.2f)\"", x, y);
    g_string_append_printf(svg, ">%s</text>\n", escaped);
}

void
ct_canvas_text(CtCanvas *canvas, gdouble x, gdouble y, gdouble size, CtAlign align, guint32 colour,
               const char *text)
{
    static const gdouble shares[] = {0, 0.5, 1, 0.5};
    if (canvas->svg) {
        append_text(canvas->svg, x, y, size, align, colour, text);
        return;
    }
    const gdouble back = -shares[align] * ct_canvas_text_width(canvas, size, text);
    set_colour(canvas, colour);
    cairo_save(canvas->cairo);
    cairo_translate(canvas->cairo, x, y);
    if (align == CT_ALIGN_UPWARDS)
        cairo_rotate(canvas->cairo, -G_PI / 2);
    cairo_move_to(canvas->cairo, back, 0);
    cairo_show_text(canvas->cairo, text);
    cairo_restore(canvas->cairo);
}

/* ---- images and files ---- */

static cairo_status_t
append_bytes(void *bytes, const unsigned char *data, unsigned int length)
{
    g_byte_array_append(bytes, data, length);
    return CAIRO_STATUS_SUCCESS;
}

static GByteArray *
make_png(cairo_surface_t *surface, GError **error)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    if (!check(cairo_surface_write_to_png_stream(surface, append_bytes, bytes), error))
        return NULL;
    return g_steal_pointer(&bytes);
}

static cairo_surface_t *
make_surface(const guint32 *colours, guint nx, guint ny)
{
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)nx, (int)ny);
    guint8 *data = cairo_image_surface_get_data(surface);
    const int stride = cairo_image_surface_get_stride(surface);
    for (guint y = 0; data && y < ny; y++)
        for (guint x = 0; x < nx; x++)
            ((guint32 *)(gpointer)(data + (gssize)y * stride))[x] = colours[(gsize)y * nx + x];
    cairo_surface_mark_dirty(surface);
    return surface;
}

static gboolean
append_image(CtCanvas *canvas, gdouble x, gdouble y, gdouble width, gdouble height,
             cairo_surface_t *surface, GError **error)
{
    g_autoptr(GByteArray) png = make_png(surface, error);
    if (!png)
        return FALSE;
    g_autofree char *text = g_base64_encode(png->data, png->len);
    g_string_append_printf(canvas->svg,
                           "<image x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" "
                           "preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\" "
                           "href=\"data:image/png;base64,%s\"/>\n",
                           x, y, width, height, text);
    return TRUE;
}

gboolean
ct_canvas_image(CtCanvas *canvas, gdouble x, gdouble y, gdouble width, gdouble height,
                const guint32 *colours, guint nx, guint ny, GError **error)
{
    cairo_surface_t *surface = make_surface(colours, nx, ny);
    gboolean is_good = check(cairo_surface_status(surface), error);
    if (is_good && canvas->svg) {
        is_good = append_image(canvas, x, y, width, height, surface, error);
    } else if (is_good) {
        cairo_save(canvas->cairo);
        cairo_translate(canvas->cairo, x, y);
        cairo_scale(canvas->cairo, width / nx, height / ny);
        cairo_set_source_surface(canvas->cairo, surface, 0, 0);
        cairo_pattern_set_filter(cairo_get_source(canvas->cairo), CAIRO_FILTER_NEAREST);
        cairo_rectangle(canvas->cairo, 0, 0, nx, ny);
        cairo_fill(canvas->cairo);
        cairo_restore(canvas->cairo);
    }
    cairo_surface_destroy(surface);
    return is_good;
}

char *
ct_canvas_end(CtCanvas *canvas, gsize *length, GError **error)
{
    if (canvas->svg) {
        g_string_append(canvas->svg, "</svg>\n");
        *length = canvas->svg->len;
        return g_string_free(g_steal_pointer(&canvas->svg), FALSE);
    }
    if (!check(cairo_status(canvas->cairo), error))
        return NULL;
    g_autoptr(GByteArray) png = make_png(canvas->surface, error);
    if (!png)
        return NULL;
    *length = png->len;
    return (char *)g_byte_array_free(g_steal_pointer(&png), FALSE);
}
