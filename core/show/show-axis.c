/* SPDX-License-Identifier: BSD-3-Clause */
/* Axes of pictures: coordinates of elements, their order, and what is written beside them. */
#include "show-view.h"

#include <math.h>
#include <string.h>

/* Steps that differ by less than this share of a step are equal. */
#define SAME 1e-3

typedef struct {
    gint64 i;
    gdouble at;
} Place;

static gint
compare_places(gconstpointer a, gconstpointer b)
{
    const Place *x = a, *y = b;
    return x->at == y->at ? (x->i > y->i) - (x->i < y->i) : (x->at > y->at) - (x->at < y->at);
}

/* Puts the elements in the order of their coordinates. FALSE if they are not equally far from one
 * another: then they have numbers only. */
static gboolean
order(CtShowAxis *axis, const CtStream *stream, guint a)
{
    const gint64 n = axis->length;
    g_autofree Place *places = g_new(Place, n);
    for (gint64 i = 0; i < n; i++)
        places[i] = (Place){i, ct_stream_coordinate(stream, a, i, 0)};
    qsort(places, (gsize)n, sizeof *places, compare_places);
    const gdouble step = n > 1 ? (places[n - 1].at - places[0].at) / (gdouble)(n - 1)
                               : fabs(stream->axes[a].coordinate.step);
    gboolean is_ordered = TRUE;
    for (gint64 i = 0; i < n; i++) {
        if (fabs(places[i].at - places[0].at - step * (gdouble)i) > SAME * step)
            return FALSE;
        is_ordered &= places[i].i == i;
    }
    if (!isfinite(places[0].at) || !isfinite(step) || (n > 1 && step == 0))
        return FALSE;
    if (!is_ordered) {
        axis->ranks = g_new(gint64, n);
        for (gint64 i = 0; i < n; i++)
            axis->ranks[places[i].i] = i;
    }
    axis->begin = places[0].at - step / 2;
    axis->end = places[n - 1].at + step / 2;
    return TRUE;
}

/* "2026-11-23T12:00:00Z", without zeros at the end of the fraction of the second; NULL: not known.
 */
static char *
describe_start(const CtStream *stream)
{
    g_autofree char *utc = ct_stream_utc(stream, stream->start);
    if (!utc)
        return NULL;
    gsize n = strlen(utc) - 1;
    for (; n > 0 && utc[n - 1] == '0' && strchr(utc, '.'); n--)
        ;
    n -= utc[n - 1] == '.';
    return g_strdup_printf("from %.*sZ", (int)n, utc);
}

static void
set_time(CtShowAxis *axis, const CtStream *stream)
{
    const gdouble rate = ct_stream_sample_rate(stream);
    if (rate > 0) {
        axis->unit = "s";
        axis->begin = 0;
        axis->end = (gdouble)axis->length / rate;
        axis->note = describe_start(stream);
    }
}

void
ct_show_axis_init(CtShowAxis *axis, const CtStream *stream, guint a)
{
    const CtAxis *given = &stream->axes[a];
    const CtCoordinate *coordinate = &given->coordinate;
    *axis = (CtShowAxis){.name = given->name, .length = given->length, .every = 1, .begin = -0.5};
    axis->end = (gdouble)given->length - 0.5;
    axis->labels = given->labels ? ct_labels_ref(given->labels) : NULL;
    if (given->name == ct_axis_name("time"))
        set_time(axis, stream);
    else if (coordinate->unit && !coordinate->parent && !given->labels && order(axis, stream, a))
        axis->unit = coordinate->unit;
    /* The sum of other elements, such as baselines, is nothing that anyone measures. */
    axis->is_averaged =
        axis->unit || given->name == ct_axis_name("time") || ct_show_is_frequency(given->name);
}

void
ct_show_axis_divide(CtShowAxis *axis, guint most)
{
    axis->n_cells = (guint)MIN(axis->length, most);
    if (axis->is_averaged)
        return;
    axis->every = (axis->length + most - 1) / most;
    axis->n_cells = (guint)((axis->length + axis->every - 1) / axis->every);
    axis->begin = -0.5 * (gdouble)axis->every;
    axis->end = axis->begin + (gdouble)axis->every * axis->n_cells;
}

void
ct_show_axis_clear(CtShowAxis *axis)
{
    g_clear_pointer(&axis->labels, ct_labels_unref);
    g_free(axis->ranks);
    g_free(axis->note);
    *axis = (CtShowAxis){0};
}

gboolean
ct_show_axis_is_auto(const CtShowAxis *axis, gint64 rank)
{
    if (axis->name != ct_axis_name("baseline") || !axis->labels || rank < 0 ||
        (gsize)rank >= ct_labels_count(axis->labels) || !ct_labels_are_pairs(axis->labels))
        return FALSE;
    guint32 pair[2];
    ct_labels_pair(axis->labels, (gsize)rank, pair);
    return pair[0] == pair[1];
}

char *
ct_show_axis_label(const CtShowAxis *axis, gint64 rank)
{
    const gsize n = axis->labels ? ct_labels_count(axis->labels) : 0;
    if (rank < 0 || (gsize)rank >= n)
        return g_strdup_printf("%" G_GINT64_FORMAT, rank);
    if (!ct_labels_are_pairs(axis->labels))
        return ct_show_clean(g_strdup(ct_labels_name(axis->labels, (gsize)rank, 0)));
    return ct_show_clean(g_strdup_printf("%s–%s", ct_labels_name(axis->labels, (gsize)rank, 0),
                                         ct_labels_name(axis->labels, (gsize)rank, 1)));
}
