/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks, added up in the cells of a picture. */
#include "show-view.h"

#include <math.h>
#include <string.h>

/* An element of a sample, in the order of the stream's axes without time. */
typedef struct {
    gint64 offset; /* in the block */
    gsize cell;    /* without the cell of its time */
    guint lane;
} Element;

/* The axis of the picture along which time runs; NULL: it is a mean of it. */
static CtShowAxis *
time_axis(CtShowView *view)
{
    const char *time = ct_axis_name("time");
    return view->x.name == time ? &view->x : view->y.name == time ? &view->y : NULL;
}

/* ---- elements ---- */

/* Those that are shown: of axes that the picture does not have, element 0. */
static Element *
list_elements(const CtShowView *view, const CtBlock *block, gsize *n_elements)
{
    const CtStream *stream = &view->stream;
    const guint first = ct_stream_axis(stream, "time") == 0 ? 1 : 0;
    const gsize width = (gsize)ct_stream_width(stream);
    Element *elements = g_new(Element, width);
    gsize n = 0;
    for (gsize e = 0; e < width; e++) {
        Element element = {0};
        gint64 rest = (gint64)e, lane = 0, step = 1;
        gboolean is_shown = TRUE;
        for (guint a = stream->n_axes; a-- > first;) {
            const CtAxis *axis = &stream->axes[a];
            const gint64 i = rest % axis->length;
            rest /= axis->length;
            element.offset += i * block->stride[a];
            if (axis->loses) {
                lane += i * step;
                step *= axis->length;
            }
            const gboolean is_x = axis->name == view->x.name;
            const CtShowAxis *drawn = is_x                         ? &view->x
                                      : axis->name == view->y.name ? &view->y
                                                                   : NULL;
            if (drawn)
                element.cell += (gsize)ct_show_axis_cell(drawn, i) * (is_x ? 1 : view->x.n_cells);
            is_shown &= drawn ? ct_show_axis_has(drawn, i) : i == 0;
        }
        element.lane = (guint)lane;
        if (is_shown)
            elements[n++] = element;
    }
    *n_elements = n;
    return elements;
}

static void
read_value(const guint8 *at, CtType type, gdouble *re, gdouble *im)
{
    *im = 0;
    if (type == CT_F64 || type == CT_CF64) {
        memcpy(re, at, sizeof *re);
        if (type == CT_CF64)
            memcpy(im, at + sizeof *re, sizeof *im);
        return;
    }
    gfloat value;
    memcpy(&value, at, sizeof value);
    *re = value;
    if (type != CT_CF32)
        return;
    memcpy(&value, at + sizeof value, sizeof value);
    *im = value;
}

/* A value that is no number is as good as none. */
static inline void
add_value(CtShowCell *cell, gdouble re, gdouble im, gboolean is_complex)
{
    const gdouble power = re * re + im * im, value = is_complex ? power : re;
    if (!isfinite(power)) {
        cell->n_missing++;
        return;
    }
    cell->most = cell->n_valid == 0 || value > cell->most ? value : cell->most;
    cell->re += re;
    cell->im += im;
    cell->power += power;
    cell->n_valid++;
}

void
ct_show_view_add(CtShowView *view, const CtBlock *block)
{
    gsize n;
    g_autofree Element *elements = list_elements(view, block, &n);
    CtShowAxis *time = time_axis(view);
    const gboolean has_time = ct_stream_axis(&view->stream, "time") == 0;
    const gboolean is_complex = ct_type_info(block->type)->is_complex;
    for (gint64 t = 0; t < block->n_samples; t++, view->n_samples++) {
        CtShowCell *cells = view->cells;
        if (time) {
            /* A stream may be longer than its source knew. */
            const gint64 at = MIN(view->n_samples, time->length - 1);
            cells += (gsize)ct_show_axis_cell(time, at) * (time == &view->x ? 1 : view->x.n_cells);
        }
        const guint8 *sample = block->data + (has_time ? t * block->stride[0] : 0);
        for (gsize e = 0; e < n; e++) {
            const Element *element = &elements[e];
            CtShowCell *cell = &cells[element->cell];
            gdouble re, im;
            if (block->validity && !block->validity[element->lane * block->validity_stride + t]) {
                cell->n_missing++;
                continue;
            }
            read_value(sample + element->offset, block->type, &re, &im);
            add_value(cell, re, im, is_complex);
        }
    }
}

/* ---- the end ---- */

static void
add_cell(CtShowCell *sum, const CtShowCell *cell)
{
    sum->most =
        sum->n_valid == 0 || (cell->n_valid && cell->most > sum->most) ? cell->most : sum->most;
    sum->re += cell->re;
    sum->im += cell->im;
    sum->power += cell->power;
    sum->n_valid += cell->n_valid;
    sum->n_missing += cell->n_missing;
}

void
ct_show_view_end(CtShowView *view)
{
    for (guint y = 0; y < view->y.n_cells; y++)
        for (guint x = 0; x < view->x.n_cells; x++)
            add_cell(&view->profile[view->is_profile_of_x ? x : y],
                     &view->cells[(gsize)y * view->x.n_cells + x]);
}

/* ---- levels of voltages ---- */

enum { N_LEVELS = 256 };

/* Doubles the range; the numbers move to the middle. */
static void
widen(CtShowView *view)
{
    guint64 joined[N_LEVELS] = {0};
    for (guint i = 0; i < N_LEVELS; i++)
        joined[N_LEVELS / 4 + i / 2] += view->levels[i];
    memcpy(view->levels, joined, sizeof joined);
    view->range *= 2;
}

static void
count_value(CtShowView *view, gdouble value)
{
    if (!isfinite(value))
        return;
    while (fabs(value) > view->range || value == view->range)
        widen(view);
    const gdouble place = (value + view->range) / (2 * view->range) * N_LEVELS;
    view->levels[CLAMP((gint)floor(place), 0, N_LEVELS - 1)]++;
}

void
ct_show_view_count(CtShowView *view, const CtStream *stream, const CtBlock *block)
{
    const gsize width = (gsize)ct_stream_width(stream);
    const gboolean is_complex = ct_type_info(block->type)->is_complex;
    const gint64 n_lanes = ct_stream_n_lanes(stream);
    if (!view->levels) {
        view->levels = g_new0(guint64, N_LEVELS);
        view->n_levels = N_LEVELS;
    }
    for (gint64 t = 0; t < block->n_samples; t++) {
        gint64 at[CT_MAX_AXES] = {0};
        for (gsize e = 0; e < width; e++) {
            gint64 offset = t * block->stride[0];
            gint64 lane = 0;
            for (guint a = 1; a < stream->n_axes; a++) {
                offset += at[a] * block->stride[a];
                lane = stream->axes[a].loses ? lane * stream->axes[a].length + at[a] : lane;
            }
            for (guint a = stream->n_axes; a-- > 1 && ++at[a] == stream->axes[a].length;)
                at[a] = 0;
            if (block->validity && lane < n_lanes &&
                !block->validity[lane * block->validity_stride + t])
                continue;
            gdouble re, im;
            read_value(block->data + offset, block->type, &re, &im);
            count_value(view, re);
            if (is_complex)
                count_value(view, im);
        }
    }
}
