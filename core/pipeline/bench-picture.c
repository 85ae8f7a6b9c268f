/* SPDX-License-Identifier: BSD-3-Clause */
/* A picture of stages below the ceilings of their machine: operations for each byte against
 * operations a second, both axes logarithmic. */
#include "bench-report.h"
#include "measure/tune-private.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 1100, LEFT = 80, RIGHT = 640, TOP = 50, BOTTOM = 560, LINE = 14 };

/* The frame, in powers of ten. */
typedef struct {
    gdouble left, right, bottom, top;
} Frame;

/* The ceilings of a place. */
typedef struct {
    const char *name;
    gdouble fma, copy, cache; /* per second; of the second-level cache; NaN: not known */
} Place;

static const char *const colours[] = {"#1f6fb4", "#d1661a", "#3a8f3a", "#8a4fb0"};

static gdouble
x_of(const Frame *frame, gdouble intensity)
{
    return LEFT + (log10(intensity) - frame->left) / (frame->right - frame->left) * (RIGHT - LEFT);
}

static gdouble
y_of(const Frame *frame, gdouble rate)
{
    return BOTTOM - (log10(rate) - frame->bottom) / (frame->top - frame->bottom) * (BOTTOM - TOP);
}

static gboolean
is_point(const CtBenchRow *row)
{
    const gdouble intensity = row->operations / row->bytes;
    return isfinite(row->operations) && row->operations > 0 && isfinite(intensity) && intensity > 0;
}

/* ---- ceilings ---- */

/* The ceiling of a place with the most workers, of those whose names begin so the highest. */
static gdouble
find_ceiling(const CtBench *bench, const char *place, const char *name)
{
    gdouble rate = NAN;
    gint64 workers = -1;
    for (guint i = 0; i < bench->ceilings->len; i++) {
        const CtBenchCeiling *one = bench->ceilings->pdata[i];
        if (!g_str_equal(one->place, place) || !g_str_has_prefix(one->name, name) ||
            one->workers < workers)
            continue;
        rate = one->workers > workers ? one->rate : fmax(rate, one->rate);
        workers = one->workers;
    }
    return rate;
}

/* The median of a member of the rows of a place. */
static gdouble
median_beside(const CtBench *bench, const char *place, gsize offset)
{
    g_autoptr(GArray) values = g_array_new(FALSE, FALSE, sizeof(gdouble));
    for (guint i = 0; i < bench->rows->len; i++) {
        const CtBenchRow *row = bench->rows->pdata[i];
        const gdouble value = *(const gdouble *)((const guint8 *)row + offset);
        if (g_str_equal(row->place, place) && isfinite(value))
            g_array_append_val(values, value);
    }
    return values->len ? ct_tune_median(values) : NAN;
}

static void
add_place(GArray *places, const CtBench *bench, const char *name)
{
    for (guint i = 0; i < places->len; i++)
        if (g_str_equal(g_array_index(places, Place, i).name, name))
            return;
    Place place = {
        .name = name,
        .fma = find_ceiling(bench, name, "multiply-adds"),
        .copy = find_ceiling(bench, name, "copies in memory"),
        .cache = find_ceiling(bench, name, "copies in L2"),
    };
    if (isnan(place.fma))
        place.fma = median_beside(bench, name, offsetof(CtBenchRow, fma));
    if (isnan(place.copy))
        place.copy = median_beside(bench, name, offsetof(CtBenchRow, copy));
    g_array_append_val(places, place);
}

/* The places that have ceilings or cases: a Place each. */
static GArray *
find_places(const CtBench *bench)
{
    GArray *places = g_array_new(FALSE, FALSE, sizeof(Place));
    for (guint i = 0; i < bench->ceilings->len; i++)
        add_place(places, bench, ((const CtBenchCeiling *)bench->ceilings->pdata[i])->place);
    for (guint i = 0; i < bench->rows->len; i++)
        add_place(places, bench, ((const CtBenchRow *)bench->rows->pdata[i])->place);
    return places;
}

/* A frame of whole powers of ten around all points and ceilings. */
static Frame
find_frame(const CtBench *bench, const GArray *places)
{
    Frame frame = {.left = -1, .right = 2, .bottom = 12, .top = 9};
    for (guint i = 0; i < places->len; i++) {
        const Place *place = &g_array_index(places, Place, i);
        if (place->fma > 0)
            frame.top = fmax(frame.top, ceil(log10(place->fma) + 0.1));
    }
    for (guint i = 0; i < bench->rows->len; i++) {
        const CtBenchRow *row = bench->rows->pdata[i];
        if (!is_point(row))
            continue;
        const gdouble x = log10(row->operations / row->bytes), y = log10(row->operations);
        frame.left = fmin(frame.left, floor(x));
        frame.right = fmax(frame.right, ceil(x));
        frame.bottom = fmin(frame.bottom, floor(y));
        frame.top = fmax(frame.top, ceil(y + 0.1));
    }
    frame.bottom = fmin(frame.bottom, frame.top - 3);
    return frame;
}

/* ---- drawing ---- */

static void
append_text(GString *svg, gdouble x, gdouble y, const char *how, const char *text)
{
    g_autofree char *escaped = g_markup_escape_text(text, -1);
    g_string_append_printf(svg, "<text x=\"%.1f\" y=\"%.1f\" %s>%s</text>\n", x, y, how, escaped);
}

static void
append_line(GString *svg, gdouble x1, gdouble y1, gdouble x2, gdouble y2, const char *how)
{
    g_string_append_printf(svg, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x1,
                           y1, x2, y2, how);
}

static void
append_axes(GString *svg, const Frame *frame)
{
    for (gdouble p = frame->left; p <= frame->right; p++) {
        const gdouble x = x_of(frame, pow(10, p));
        g_autofree char *label = g_strdup_printf("%g", pow(10, p));
        append_line(svg, x, TOP, x, BOTTOM, "stroke=\"#ddd\"");
        append_text(svg, x, BOTTOM + 18, "text-anchor=\"middle\"", label);
    }
    for (gdouble p = frame->bottom; p <= frame->top; p++) {
        const gdouble y = y_of(frame, pow(10, p));
        g_autofree char *label = g_strdup_printf("%g G", pow(10, p - 9));
        append_line(svg, LEFT, y, RIGHT, y, "stroke=\"#ddd\"");
        append_text(svg, LEFT - 6, y + 4, "text-anchor=\"end\"", label);
    }
    append_text(svg, (LEFT + RIGHT) / 2.0, BOTTOM + 38, "text-anchor=\"middle\"",
                "useful operations for each byte read or written");
    append_text(svg, LEFT, TOP - 10, "", "useful operations a second");
}

/* A roof: as fast as copies of `copy` bytes a second give data, up to the multiply-adds. */
static void
append_roof(GString *svg, const Frame *frame, gdouble copy, gdouble fma, const char *colour,
            const char *dash)
{
    if (!(copy > 0) || !(fma > 0))
        return;
    /* It begins where it enters the frame from the left or from below. */
    const gdouble least = fmax(pow(10, frame->left), pow(10, frame->bottom) / copy);
    const gdouble most = pow(10, frame->right), ridge = CLAMP(fma / copy, least, most);
    g_autofree char *how = g_strdup_printf("stroke=\"%s\" stroke-width=\"2\"%s", colour, dash);
    append_line(svg, x_of(frame, least), y_of(frame, fmin(fma, copy * least)), x_of(frame, ridge),
                y_of(frame, fmin(fma, copy * ridge)), how);
    append_line(svg, x_of(frame, ridge), y_of(frame, fmin(fma, copy * ridge)), x_of(frame, most),
                y_of(frame, fmin(fma, copy * most)), how);
}

static const char *
colour_of(const GArray *places, const char *name)
{
    guint i = 0;
    while (!g_str_equal(g_array_index(places, Place, i).name, name))
        i++;
    return colours[i % G_N_ELEMENTS(colours)];
}

/* The points, with a number each, and their names beside the frame. Returns where the next line may
 * stand. */
static gdouble
append_points(GString *svg, const Frame *frame, const CtBench *bench, const GArray *places)
{
    guint n = 0;
    gdouble at = TOP;
    for (guint i = 0; i < bench->rows->len; i++) {
        const CtBenchRow *row = bench->rows->pdata[i];
        if (!is_point(row))
            continue;
        const gdouble x = x_of(frame, row->operations / row->bytes);
        const gdouble y = y_of(frame, row->operations);
        const char *colour = colour_of(places, row->place);
        g_autofree char *how = g_strdup_printf("fill=\"%s\"", colour);
        g_autofree char *number = g_strdup_printf("%u", ++n);
        g_autofree char *name = g_strdup_printf("%u  %s, %s", n, row->name, row->place);
        g_string_append_printf(svg, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" %s/>\n", x, y, how);
        append_text(svg, x + 5, y - 4, how, number);
        append_text(svg, RIGHT + 20, at, how, name);
        at += LINE;
    }
    return at;
}

char *
ct_bench_to_svg(const CtBench *bench)
{
    g_autoptr(GArray) places = find_places(bench);
    const Frame frame = find_frame(bench, places);
    g_autoptr(GString) inner = g_string_new(NULL);
    append_axes(inner, &frame);
    append_text(inner, LEFT, 22, "font-size=\"14\"", bench->machine ? bench->machine : "");
    gdouble at = append_points(inner, &frame, bench, places) + LINE;
    for (guint i = 0; i < places->len; i++) {
        const Place *place = &g_array_index(places, Place, i);
        const char *colour = colours[i % G_N_ELEMENTS(colours)];
        if (isnan(place->fma) && isnan(place->copy))
            continue; /* all of its cases were skipped */
        append_roof(inner, &frame, place->copy, place->fma, colour, "");
        append_roof(inner, &frame, place->cache, place->fma, colour, " stroke-dasharray=\"6 4\"");
        g_autofree char *how = g_strdup_printf("fill=\"%s\"", colour);
        g_autofree char *text =
            g_strdup_printf("%s: multiply-adds, copies in memory%s", place->name,
                            isnan(place->cache) ? "" : "; dashed: in L2");
        append_text(inner, RIGHT + 20, at, how, text);
        at += LINE;
    }
    return g_strdup_printf("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" "
                           "font-family=\"sans-serif\" font-size=\"11\">\n"
                           "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n%s</svg>\n",
                           WIDTH, fmax(BOTTOM + 60, at + LINE), inner->str);
}
