/* SPDX-License-Identifier: BSD-3-Clause */
/* A view as a picture: images with colour bars, lines beside them, axes and titles. */
#include "show-picture.h"

#include "canvas.h"

#include <math.h>
#include <string.h>

typedef struct {
    gdouble x, y, width, height;
} Frame;

typedef struct {
    const CtShowView *view;
    const CtShow *show;
    CtCanvas *canvas;
    gdouble font;
    guint n_images;
    Frame images[2]; /* or of the lines */
    Frame bars[2];
    Frame profile; /* without width: there is none */
    Frame levels;  /* likewise */
    guint32 ground, ink, muted;
    const guint32 *series; /* [8] of lines */
} Sheet;

/* Okabe and Ito's colours, which most people can tell apart, on a light and on a dark ground. */
static const guint32 series[2][8] = {
    {0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7, 0xe69f00, 0x56b4e9, 0xbba500, 0x888888},
    {0x56b4e9, 0xe69f00, 0x009e73, 0xcc79a7, 0xd55e00, 0x0072b2, 0xf0e442, 0x888888},
};

/* ---- where things are ---- */

static void
place(Sheet *sheet, const CtShowView *view, const CtShow *show)
{
    const gdouble f = CLAMP(show->height / 58.0, 8, 24);
    Frame area = {7.8 * f, 5.2 * f, show->width - 9.6 * f, show->height - 9.4 * f};
    *sheet = (Sheet){.view = view, .show = show, .font = f, .n_images = view->n_quantities};
    if (view->is_spectrum) {
        sheet->levels = area;
        sheet->levels.height = 0.18 * show->height;
        area.height -= sheet->levels.height + 4.4 * f;
        sheet->levels.y = area.y + area.height + 4.4 * f;
    }
    if (view->has_profile && view->is_profile_of_x) {
        sheet->profile = area;
        sheet->profile.height = 0.25 * area.height;
        area.y += sheet->profile.height + f;
        area.height -= sheet->profile.height + f;
    } else if (view->has_profile) {
        sheet->profile = area;
        sheet->profile.width = 0.18 * area.width;
        area.x += sheet->profile.width + 1.6 * f;
        area.width -= sheet->profile.width + 1.6 * f;
    }
    const gdouble bar = view->is_lines ? 0 : 7.2 * f;
    /* Lines have an axis of values each. */
    const gdouble between = view->is_lines ? 7.8 * f : 0;
    const gdouble each = (area.width - (sheet->n_images - 1) * between) / sheet->n_images;
    for (guint i = 0; i < sheet->n_images; i++) {
        Frame *image = &sheet->images[i];
        *image = area;
        image->width = floor(fmax(each - bar, 10));
        image->height = floor(fmax(area.height, 10));
        image->x = floor(area.x + i * (each + between));
        image->y = floor(area.y);
        sheet->bars[i] = (Frame){image->x + image->width + f, image->y, 1.1 * f, image->height};
    }
    if (view->has_profile && view->is_profile_of_x) {
        sheet->profile.x = sheet->images[0].x;
        sheet->profile.width = sheet->images[0].width;
    } else if (view->has_profile) {
        sheet->profile.y = sheet->images[0].y;
        sheet->profile.height = sheet->images[0].height;
    }
    sheet->ground = show->dark ? 0x12171d : 0xffffff;
    sheet->ink = show->dark ? 0xe6edf3 : 0x1c2128;
    sheet->muted = show->dark ? 0x9aa6b2 : 0x57606a;
    sheet->series = series[show->dark];
}

gboolean
ct_show_picture_divide(CtShowView *view, const CtShow *show, GError **error)
{
    Sheet sheet;
    place(&sheet, view, show);
    return ct_show_view_divide(view, show, (guint)sheet.images[0].width,
                               (guint)sheet.images[0].height, error);
}

/* ---- frames and axes ---- */

static gdouble
x_of(const Frame *frame, const CtShowScale *scale, gdouble value)
{
    return frame->x + (value - scale->begin) / (scale->end - scale->begin) * frame->width;
}

static gdouble
y_of(const Frame *frame, const CtShowScale *scale, gdouble value)
{
    return frame->y + frame->height -
           (value - scale->begin) / (scale->end - scale->begin) * frame->height;
}

static void
draw_stroke(const Sheet *sheet, gdouble x1, gdouble y1, gdouble x2, gdouble y2, guint32 colour)
{
    const gdouble points[2][2] = {{x1, y1}, {x2, y2}};
    ct_canvas_line(sheet->canvas, points, 2, MAX(sheet->font / 13, 0.7), colour);
}

static guint
ticks_across(const Sheet *sheet, const Frame *frame)
{
    return (guint)fmax(frame->width / (6.5 * sheet->font), 2);
}

static guint
ticks_upwards(const Sheet *sheet, const Frame *frame)
{
    return (guint)fmax(frame->height / (3.2 * sheet->font), 2);
}

static void
draw_x_axis(const Sheet *sheet, const Frame *frame, const CtShowScale *scale, gboolean is_labelled)
{
    const gdouble f = sheet->font, bottom = frame->y + frame->height;
    for (guint i = 0; i < scale->ticks->len; i++) {
        const CtShowTick *tick = &g_array_index(scale->ticks, CtShowTick, i);
        const gdouble x = x_of(frame, scale, tick->at);
        draw_stroke(sheet, x, bottom, x, bottom + 0.4 * f, sheet->ink);
        if (is_labelled)
            ct_canvas_text(sheet->canvas, x, bottom + 1.55 * f, f, CT_ALIGN_MIDDLE, sheet->ink,
                           tick->label);
    }
    if (is_labelled)
        ct_canvas_text(sheet->canvas, frame->x + frame->width / 2, bottom + 3 * f, f,
                       CT_ALIGN_MIDDLE, sheet->ink, scale->title);
}

static void
draw_y_axis(const Sheet *sheet, const Frame *frame, const CtShowScale *scale, gboolean is_labelled)
{
    const gdouble f = sheet->font;
    gdouble widest = 0;
    for (guint i = 0; i < scale->ticks->len; i++) {
        const CtShowTick *tick = &g_array_index(scale->ticks, CtShowTick, i);
        const gdouble y = y_of(frame, scale, tick->at);
        draw_stroke(sheet, frame->x - 0.4 * f, y, frame->x, y, sheet->ink);
        if (is_labelled)
            ct_canvas_text(sheet->canvas, frame->x - 0.7 * f, y + 0.36 * f, f, CT_ALIGN_RIGHT,
                           sheet->ink, tick->label);
        widest = fmax(widest, ct_canvas_text_width(sheet->canvas, f, tick->label));
    }
    if (is_labelled)
        ct_canvas_text(sheet->canvas, fmax(frame->x - 1.4 * f - widest, f),
                       frame->y + frame->height / 2, f, CT_ALIGN_UPWARDS, sheet->ink, scale->title);
}

static void
draw_border(const Sheet *sheet, const Frame *frame)
{
    const gdouble r = frame->x + frame->width, b = frame->y + frame->height;
    const gdouble points[5][2] = {
        {frame->x, frame->y}, {r, frame->y}, {r, b}, {frame->x, b}, {frame->x, frame->y}};
    ct_canvas_line(sheet->canvas, points, 5, MAX(sheet->font / 13, 0.7), sheet->ink);
}

/* ---- images ---- */

static gboolean
draw_cells(const Sheet *sheet, guint q, gdouble low, gdouble high, GError **error)
{
    const CtShowView *view = sheet->view;
    const Frame *frame = &sheet->images[q];
    const guint nx = view->x.n_cells, ny = view->y.n_cells;
    g_autofree guint32 *colours = g_new(guint32, (gsize)nx * ny);
    for (guint y = 0; y < ny; y++)
        for (guint x = 0; x < nx; x++)
            colours[(gsize)(ny - 1 - y) * nx + x] = ct_show_cell_colour(
                view, &view->cells[(gsize)y * nx + x], view->quantities[q], sheet->show, low, high);
    return ct_canvas_image(sheet->canvas, frame->x, frame->y, frame->width, frame->height, colours,
                           nx, ny, error);
}

static gboolean
draw_bar(const Sheet *sheet, guint q, gdouble low, gdouble high, GError **error)
{
    enum { N = 256 };
    const Frame *bar = &sheet->bars[q];
    const CtShowQuantity quantity = sheet->view->quantities[q];
    guint32 colours[N];
    for (guint i = 0; i < N; i++)
        colours[N - 1 - i] = ct_show_colour(quantity, (i + 0.5) / N);
    if (!ct_canvas_image(sheet->canvas, bar->x, bar->y, bar->width, bar->height, colours, 1, N,
                         error))
        return FALSE;
    draw_border(sheet, bar);
    g_autofree char *title = ct_show_quantity_title(sheet->view, quantity, sheet->show->decibels);
    g_auto(CtShowScale) scale = {0};
    const gdouble f = sheet->font, right = bar->x + bar->width;
    gdouble widest = 0;
    ct_show_scale_values(&scale, low, high, title, ticks_upwards(sheet, bar));
    if (quantity == CT_SHOW_PHASE) {
        ct_show_scale_clear(&scale);
        ct_show_scale_values(&scale, low / 90, high / 90, title, 4);
        for (guint i = 0; i < scale.ticks->len; i++) {
            CtShowTick *tick = &g_array_index(scale.ticks, CtShowTick, i);
            tick->at *= 90;
            g_free(tick->label);
            tick->label = g_strdup_printf("%s%.0f", tick->at < 0 ? "−" : "", fabs(tick->at));
        }
        scale.begin = low;
        scale.end = high;
    }
    for (guint i = 0; i < scale.ticks->len; i++) {
        const CtShowTick *tick = &g_array_index(scale.ticks, CtShowTick, i);
        const gdouble y = y_of(bar, &scale, tick->at);
        draw_stroke(sheet, right, y, right + 0.4 * f, y, sheet->ink);
        ct_canvas_text(sheet->canvas, right + 0.7 * f, y + 0.36 * f, f, CT_ALIGN_LEFT, sheet->ink,
                       tick->label);
        widest = fmax(widest, ct_canvas_text_width(sheet->canvas, f, tick->label));
    }
    ct_canvas_text(sheet->canvas, right + 2 * f + widest, bar->y + bar->height / 2, f,
                   CT_ALIGN_UPWARDS, sheet->ink, scale.title);
    return TRUE;
}

static gboolean
draw_image(const Sheet *sheet, guint q, GError **error)
{
    const Frame *frame = &sheet->images[q];
    g_auto(CtShowScale) x = {0}, y = {0};
    gdouble low, high;
    ct_show_range(sheet->view, sheet->view->quantities[q], sheet->show->decibels, &low, &high);
    if (!draw_cells(sheet, q, low, high, error) || !draw_bar(sheet, q, low, high, error))
        return FALSE;
    ct_show_scale_axis(&x, &sheet->view->x, ticks_across(sheet, frame));
    ct_show_scale_axis(&y, &sheet->view->y, ticks_upwards(sheet, frame));
    draw_border(sheet, frame);
    draw_x_axis(sheet, frame, &x, TRUE);
    draw_y_axis(sheet, frame, &y,
                q == 0 && (sheet->profile.width == 0 || sheet->view->is_profile_of_x));
    return TRUE;
}

/* ---- lines ---- */

/* The largest value, where cells are of several samples; NaN where the quantity has none. */
static gdouble
largest(const Sheet *sheet, const CtShowCell *cell, CtShowQuantity quantity)
{
    if (cell->n_valid == 0 || (quantity != CT_SHOW_VALUE && quantity != CT_SHOW_POWER))
        return NAN;
    return sheet->show->decibels ? 10 * log10(fmax(cell->most, 0)) : cell->most;
}

/* Widens the range by the values of cells, whose largest samples may be beyond it. */
static void
find_values(const Sheet *sheet, const CtShowCell *cells, gsize n, CtShowQuantity quantity,
            gdouble *low, gdouble *high)
{
    for (gsize i = 0; i < n; i++) {
        const gdouble value =
            ct_show_cell_value(sheet->view, &cells[i], quantity, sheet->show->decibels);
        if (isfinite(value)) {
            *low = fmin(*low, value);
            *high = fmax(*high, value);
        }
    }
}

static void
add_margin(gdouble *low, gdouble *high)
{
    if (!(*high >= *low)) {
        *low = 0;
        *high = 1;
    }
    const gdouble margin = *high > *low ? 0.04 * (*high - *low) : *low == 0 ? 1 : fabs(*low) / 10;
    *low -= margin;
    *high += margin;
}

/* About half of the colour: for what is behind another line. */
static guint32
blend(guint32 colour, guint32 ground)
{
    const guint32 share = ground == 0xffffff ? 2 : 3; /* of five */
    guint32 blended = 0;
    for (gint shift = 16; shift >= 0; shift -= 8)
        blended |= (((colour >> shift & 255) * share + (ground >> shift & 255) * (5 - share)) / 5)
                   << shift;
    return blended;
}

/* Whether the largest samples of some cells are more than their means. */
static gboolean
has_largest(const Sheet *sheet, const CtShowCell *cells, gsize n, CtShowQuantity quantity)
{
    for (gsize i = 0; i < n; i++) {
        const gdouble mean =
            ct_show_cell_value(sheet->view, &cells[i], quantity, sheet->show->decibels);
        const gdouble value = largest(sheet, &cells[i], quantity);
        if (isfinite(value) && value > mean + 1e-9 * fabs(mean))
            return TRUE;
    }
    return FALSE;
}

typedef struct {
    const Frame *frame;
    CtShowQuantity quantity;
    const CtShowScale *along, *values;
    gboolean is_upright; /* the axis is upwards, not across */
    gboolean is_joined;  /* between cells: the axis has coordinates */
} Plot;

static void
add_point(const Plot *plot, GArray *points, gdouble at, gdouble value)
{
    gdouble point[2] = {NAN, NAN};
    if (!isnan(value)) {
        const Frame *frame = plot->frame;
        value = CLAMP(value, plot->values->begin, plot->values->end);
        point[0] =
            plot->is_upright ? x_of(frame, plot->values, value) : x_of(frame, plot->along, at);
        point[1] =
            plot->is_upright ? y_of(frame, plot->along, at) : y_of(frame, plot->values, value);
    }
    g_array_append_val(points, point);
}

/* Draws values of `n` cells along an axis: a line through their middles, which a phase that goes
 * around parts, or a stroke across each cell. */
static void
draw_values(const Sheet *sheet, const Plot *plot, const CtShowCell *cells, guint n,
            gboolean of_largest, guint32 colour)
{
    g_autoptr(GArray) points = g_array_new(FALSE, FALSE, 2 * sizeof(gdouble));
    const gdouble begin = plot->along->begin, step = (plot->along->end - begin) / n;
    gdouble last = NAN;
    if (of_largest && !has_largest(sheet, cells, n, plot->quantity))
        return;
    for (guint i = 0; i < n; i++) {
        const gdouble value =
            of_largest
                ? largest(sheet, &cells[i], plot->quantity)
                : ct_show_cell_value(sheet->view, &cells[i], plot->quantity, sheet->show->decibels);
        if (!plot->is_joined || (plot->quantity == CT_SHOW_PHASE && fabs(value - last) > 180))
            add_point(plot, points, 0, NAN);
        if (plot->is_joined) {
            add_point(plot, points, begin + (i + 0.5) * step, value);
        } else {
            add_point(plot, points, begin + i * step, value);
            add_point(plot, points, begin + (i + 1) * step, value);
        }
        last = value;
    }
    ct_canvas_line(sheet->canvas, (const gdouble(*)[2])(gpointer)points->data, points->len,
                   sheet->font / 10, colour);
}

/* Stripes where no sample is valid. */
static void
draw_gaps(const Sheet *sheet, const Frame *frame, const CtShowCell *cells, guint n,
          gboolean is_upright)
{
    const guint32 colour = ct_show_gap_colour(sheet->show->dark);
    for (guint i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && (cells[end].n_valid == 0) == (cells[i].n_valid == 0); end++)
            ;
        if (cells[i].n_valid > 0)
            continue;
        const gdouble from = (gdouble)i / n, size = (gdouble)(end - i) / n;
        if (is_upright)
            ct_canvas_rectangle(sheet->canvas, frame->x,
                                frame->y + frame->height * (1 - from - size), frame->width,
                                frame->height * size, colour);
        else
            ct_canvas_rectangle(sheet->canvas, frame->x + frame->width * from, frame->y,
                                frame->width * size, frame->height, colour);
    }
}

static void
draw_profile(const Sheet *sheet)
{
    const CtShowView *view = sheet->view;
    const gboolean is_upright = !view->is_profile_of_x;
    const CtShowAxis *axis = is_upright ? &view->y : &view->x;
    const Frame *frame = &sheet->profile;
    const CtShowQuantity quantity = view->quantities[0];
    g_auto(CtShowScale) along = {0}, values = {0};
    gdouble low = HUGE_VAL, high = -HUGE_VAL;
    g_autofree char *title = ct_show_quantity_title(view, quantity, sheet->show->decibels);
    find_values(sheet, view->profile, axis->n_cells, quantity, &low, &high);
    add_margin(&low, &high);
    ct_show_scale_axis(&along, axis,
                       is_upright ? ticks_upwards(sheet, frame) : ticks_across(sheet, frame));
    ct_show_scale_values(&values, low, high, title,
                         is_upright ? ticks_across(sheet, frame) : ticks_upwards(sheet, frame));
    draw_gaps(sheet, frame, view->profile, axis->n_cells, is_upright);
    const Plot plot = {frame, quantity, &along, &values, is_upright, axis->is_averaged};
    draw_values(sheet, &plot, view->profile, axis->n_cells, TRUE,
                blend(sheet->series[1], sheet->ground));
    draw_values(sheet, &plot, view->profile, axis->n_cells, FALSE, sheet->series[0]);
    draw_border(sheet, frame);
    draw_x_axis(sheet, frame, is_upright ? &values : &along, is_upright);
    draw_y_axis(sheet, frame, is_upright ? &along : &values, TRUE);
    const gdouble f = sheet->font;
    ct_canvas_text(sheet->canvas, frame->x, frame->y - 0.6 * f, 0.9 * f, CT_ALIGN_LEFT,
                   sheet->series[0], "mean");
    ct_canvas_text(sheet->canvas, frame->x + 3.6 * f, frame->y - 0.6 * f, 0.9 * f, CT_ALIGN_LEFT,
                   blend(sheet->series[1], sheet->ground), "maximum");
}

/* The names of the lines, above them, and what pale lines are. */
static void
draw_line_names(const Sheet *sheet, const Frame *frame, gboolean has_pale)
{
    const CtShowAxis *axis = &sheet->view->y;
    const gdouble f = sheet->font;
    gdouble x = frame->x;
    for (guint i = 0; axis->name && i < axis->n_cells; i++) {
        g_autofree char *label = ct_show_axis_label(axis, i);
        g_autofree char *text = g_strdup_printf("%s %s", axis->name, label);
        ct_canvas_text(sheet->canvas, x, frame->y - 0.6 * f, 0.9 * f, CT_ALIGN_LEFT,
                       sheet->series[i % 8], text);
        x += ct_canvas_text_width(sheet->canvas, 0.9 * f, text) + f;
    }
    if (has_pale)
        ct_canvas_text(sheet->canvas, x, frame->y - 0.6 * f, 0.9 * f, CT_ALIGN_LEFT,
                       blend(sheet->series[0], sheet->ground), "pale: maximum");
}

static void
draw_lines(const Sheet *sheet, guint q)
{
    const CtShowView *view = sheet->view;
    const Frame *frame = &sheet->images[q];
    const guint nx = view->x.n_cells, ny = view->y.n_cells;
    const CtShowQuantity quantity = view->quantities[q];
    g_auto(CtShowScale) along = {0}, values = {0};
    gdouble low = HUGE_VAL, high = -HUGE_VAL;
    g_autofree char *title = ct_show_quantity_title(view, quantity, sheet->show->decibels);
    find_values(sheet, view->cells, (gsize)nx * ny, quantity, &low, &high);
    add_margin(&low, &high);
    ct_show_scale_axis(&along, &view->x, ticks_across(sheet, frame));
    ct_show_scale_values(&values, low, high, title, ticks_upwards(sheet, frame));
    for (guint y = 0; y < ny; y++)
        draw_gaps(sheet, frame, &view->cells[(gsize)y * nx], nx, FALSE);
    const Plot plot = {frame, quantity, &along, &values, FALSE, view->x.is_averaged};
    for (guint y = 0; y < 2 * ny; y++)
        draw_values(sheet, &plot, &view->cells[(gsize)(y % ny) * nx], nx, y < ny,
                    y < ny ? blend(sheet->series[y % 8], sheet->ground)
                           : sheet->series[(y - ny) % 8]);
    draw_border(sheet, frame);
    draw_x_axis(sheet, frame, &along, TRUE);
    draw_y_axis(sheet, frame, &values, TRUE);
    draw_line_names(sheet, frame, has_largest(sheet, view->cells, (gsize)nx * ny, quantity));
}

/* ---- levels ---- */

static void
draw_levels(const Sheet *sheet)
{
    const CtShowView *view = sheet->view;
    const Frame *frame = &sheet->levels;
    guint64 most = 1, n = 0;
    guint first = view->n_levels, last = 0;
    for (guint i = 0; i < view->n_levels; i++) {
        most = MAX(most, view->levels[i]);
        n += view->levels[i];
        first = view->levels[i] && first == view->n_levels ? i : first;
        last = view->levels[i] ? i : last;
    }
    if (n == 0)
        return;
    /* Rare levels beyond the others are left out: at each end, a ten-thousandth of all. */
    for (guint64 left = view->levels[first]; first < last && left * 10000 < n;)
        left += view->levels[++first];
    for (guint64 right = view->levels[last]; last > first && right * 10000 < n;)
        right += view->levels[--last];
    const gdouble each = 2 * view->range / view->n_levels;
    g_auto(CtShowScale) x = {0}, y = {0};
    ct_show_scale_values(&x, first * each - view->range, (last + 1) * each - view->range,
                         "level of the voltages", ticks_across(sheet, frame));
    ct_show_scale_values(&y, 0, 1.06 * (gdouble)most / (gdouble)n, "share", 3);
    for (guint i = first; i <= last; i++) {
        const gdouble left = x_of(frame, &x, i * each - view->range);
        const gdouble right = x_of(frame, &x, (i + 1) * each - view->range);
        const gdouble top = y_of(frame, &y, (gdouble)view->levels[i] / (gdouble)n);
        ct_canvas_rectangle(sheet->canvas, left, top, right - left, frame->y + frame->height - top,
                            sheet->series[0]);
    }
    draw_border(sheet, frame);
    draw_x_axis(sheet, frame, &x, TRUE);
    draw_y_axis(sheet, frame, &y, TRUE);
}

/* ---- the whole picture ---- */

static void
draw_titles(const Sheet *sheet)
{
    const gdouble f = sheet->font, right = sheet->show->width - 1.8 * f;
    ct_canvas_text(sheet->canvas, 7.8 * f, 1.7 * f, 1.25 * f, CT_ALIGN_LEFT, sheet->ink,
                   sheet->view->title);
    ct_canvas_text(sheet->canvas, 7.8 * f, 3 * f, 0.9 * f, CT_ALIGN_LEFT, sheet->muted,
                   sheet->view->subtitle);
    if (!ct_show_has_gaps(sheet->view))
        return;
    ct_canvas_text(sheet->canvas, right, 1.7 * f, 0.9 * f, CT_ALIGN_RIGHT, sheet->muted, "no data");
    ct_canvas_rectangle(sheet->canvas,
                        right - ct_canvas_text_width(sheet->canvas, 0.9 * f, "no data") - 1.8 * f,
                        0.9 * f, 1.3 * f, 0.9 * f, ct_show_gap_colour(sheet->show->dark));
}

gboolean
ct_show_picture_check(GError **error G_GNUC_UNUSED)
{
    return TRUE;
}

char *
ct_show_picture(const CtShowView *view, const CtShow *show, gsize *length, GError **error)
{
    g_autoptr(CtCanvas) canvas =
        ct_canvas_new(show->width, show->height, show->format == CT_SHOW_SVG, error);
    if (!canvas)
        return NULL;
    Sheet sheet;
    place(&sheet, view, show);
    sheet.canvas = canvas;
    ct_canvas_rectangle(canvas, 0, 0, show->width, show->height, sheet.ground);
    draw_titles(&sheet);
    for (guint q = 0; q < sheet.n_images; q++) {
        if (view->is_lines)
            draw_lines(&sheet, q);
        else if (!draw_image(&sheet, q, error))
            return NULL;
    }
    if (view->has_profile)
        draw_profile(&sheet);
    if (view->is_spectrum)
        draw_levels(&sheet);
    return ct_canvas_end(canvas, length, error);
}
