/* SPDX-License-Identifier: BSD-3-Clause */
/* The phase centres of a stream, by time. */
#include "uvh5-centres.h"

#include <cornerturn/error.h>
#include <cornerturn/observation.h>
#include <string.h>

/* The number of a centre, which is new or known. There is room. */
static guint
take_centre(Uvh5Centres *self, const Uvh5Centre *centre)
{
    for (guint k = 0; k < self->n_centres; k++) {
        const Uvh5Centre *known = &self->centres[k];
        if (g_str_equal(known->name, centre->name) && known->is_tracked == centre->is_tracked &&
            memcmp(known->direction, centre->direction, sizeof known->direction) == 0)
            return k;
    }
    self->centres[self->n_centres] = *centre;
    return self->n_centres++;
}

static gboolean
add_scans(Uvh5Centres *self, const CtStream *stream, GError **error)
{
    const CtObservationFacts *facts = ct_observation_facts(stream->observation);
    for (guint i = 0; i < facts->n_scans; i++) {
        const CtScan *scan = &facts->scans[i];
        Uvh5Centre centre = {.name = scan->has_direction ? "unknown" : "none",
                             .is_tracked = scan->has_direction};
        Uvh5Change *change = &self->changes[self->n_changes++];
        if (scan->source)
            centre.name = scan->source;
        if (scan->has_direction)
            memcpy(centre.direction, scan->direction, sizeof centre.direction);
        if (!ct_stream_tick_at(stream, &scan->begin, &change->tick)) {
            g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                        "wants scans that begin at times which 62 bits count in ticks, but scan %u "
                        "begins %" G_GINT64_FORMAT " s after 1970",
                        i, scan->begin.seconds);
            return FALSE;
        }
        change->centre = take_centre(self, &centre);
    }
    /* The last one, so that the numbers of the others do not depend on it. */
    self->changes[0] = (Uvh5Change){G_MININT64, take_centre(self, &(Uvh5Centre){.name = "none"})};
    return TRUE;
}

static gboolean
is_any_tracked(const CtObservationFacts *facts)
{
    gboolean found = facts->has_direction;
    for (guint i = 0; i < facts->n_scans; i++)
        found |= facts->scans[i].has_direction;
    return found;
}

Uvh5Centres *
uvh5_centres_new(const CtStream *stream, const CtParams *given, GError **error)
{
    const CtObservationFacts *facts = ct_observation_facts(stream->observation);
    const gboolean is_tracked =
        ct_params_has(given, "tracked") ? ct_params_bool(given, "tracked") : is_any_tracked(facts);
    if (is_tracked && !is_any_tracked(facts)) {
        ct_params_error(given, "tracked", error,
                        "wants a phase centre: give the graph 'observation: { phase_centre: […, "
                        "…] }'");
        return NULL;
    }
    Uvh5Centres *self = g_new0(Uvh5Centres, 1);
    self->centres = g_new0(Uvh5Centre, (gsize)facts->n_scans + 1);
    self->changes = g_new0(Uvh5Change, (gsize)facts->n_scans + 1);
    self->n_changes = 1;
    if (is_tracked && facts->n_scans > 0) {
        if (add_scans(self, stream, error))
            return self;
        uvh5_centres_free(self);
        return NULL;
    }
    Uvh5Centre only = {.name = facts->source ? facts->source : "unknown", .is_tracked = is_tracked};
    if (is_tracked)
        memcpy(only.direction, facts->direction, sizeof only.direction);
    self->changes[0] = (Uvh5Change){G_MININT64, take_centre(self, &only)};
    return self;
}

void
uvh5_centres_free(Uvh5Centres *self)
{
    if (!self)
        return;
    g_free(self->centres);
    g_free(self->changes);
    g_free(self);
}

/* The last change that is not after a tick. */
static guint
change_at(const Uvh5Centres *self, gint64 tick)
{
    guint first = 0, end = self->n_changes;
    while (end - first > 1) {
        const guint middle = first + (end - first) / 2;
        if (self->changes[middle].tick <= tick)
            first = middle;
        else
            end = middle;
    }
    return first;
}

guint
uvh5_centres_at(const Uvh5Centres *self, const CtStream *stream, gint64 i, gboolean *is_mixed)
{
    const gint64 begin = stream->start + i * stream->ticks_per_sample;
    const guint first = change_at(self, begin);
    const guint last = change_at(self, begin + stream->ticks_per_sample - 1);
    const guint centre = self->changes[first].centre;
    *is_mixed = FALSE;
    for (guint k = first + 1; k <= last; k++)
        *is_mixed |= self->changes[k].centre != centre;
    return centre;
}
