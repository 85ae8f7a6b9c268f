/* SPDX-License-Identifier: BSD-3-Clause */
/* The facts of an observation that streams carry beside their clock and their frequencies:
 * telescope, place, source, stations; and the names of the elements of an axis. Both kinds of
 * objects never change after they are made, and streams share them by reference, on any thread. */
#pragma once

#include <cornerturn/text.h>

G_BEGIN_DECLS

/* ---- the observation ---- */

typedef struct {
    const char *name; /* without spaces */
    gboolean has_position;
    gdouble position[3]; /* metres in the ITRF, geocentric: x, y, z */
    gdouble feeds[2]; /* radians, from north through east, of the first and second polarisation */
    guint64 reserved[4]; /* 0 */
} CtStation;

/* A part of the time, up to the next scan, in which delays follow one source. */
typedef struct {
    CtUtc begin;
    const char *source;     /* NULL: not known */
    gboolean has_direction; /* FALSE: delays follow none */
    gdouble direction[2];   /* of the phase centre, radians in the ICRS */
    guint64 reserved[4];    /* 0 */
} CtScan;

typedef struct {
    const char *telescope, *source, *project, *observer; /* NULL: not known */
    gboolean has_location;
    gdouble location[3]; /* metres in the ITRF: of the telescope, or the middle of its stations */
    gboolean has_direction;
    gdouble direction[2]; /* the phase centre, or where a single dish points: right ascension and
                             declination, radians in the ICRS */
    gint64 start;         /* Unix seconds of tick 0 of sources that know no UTC; G_MININT64: none */
    guint n_polarisations;
    const char *const *polarisations; /* their names, in the order of the axis pol */
    guint n_stations;
    const CtStation *stations; /* all those of the graph, whichever a stream has */
    guint n_scans;
    const CtScan *scans; /* in place of `source` and `direction`, where these change along the
                            stream, by ascending begins; before the first, delays follow none */
    guint64 reserved[6]; /* 0 */
} CtObservationFacts;

typedef struct CtObservation CtObservation;

/* Copies the facts. */
CT_EXPORT CtObservation *ct_observation_new(const CtObservationFacts *facts);
CT_EXPORT CtObservation *ct_observation_ref(CtObservation *observation);
CT_EXPORT void ct_observation_unref(CtObservation *observation);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtObservation, ct_observation_unref)

/* Never NULL: nothing is known if `observation` is NULL. */
CT_EXPORT const CtObservationFacts *ct_observation_facts(const CtObservation *observation);
/* The station of this name; NULL if there is none. */
CT_EXPORT const CtStation *ct_observation_station(const CtObservation *observation,
                                                  const char *name);
/* Whether all facts are the same. Either may be NULL. */
CT_EXPORT gboolean ct_observation_equal(const CtObservation *a, const CtObservation *b);

/* Reads an angle in radians: "83.633 deg", "1.46 rad", or "05:34:31.97", which has hours
 * (`is_hours`) or degrees, minutes and seconds. The message has no place. */
CT_EXPORT gboolean ct_angle_parse(const char *text, gboolean is_hours, gdouble *angle,
                                  GError **error);
/* The position in the ITRF, in metres, of a point of the ellipsoid WGS 84: radians, metres above
 * the ellipsoid. */
CT_EXPORT void ct_position_from_geodetic(gdouble longitude, gdouble latitude, gdouble height,
                                         gdouble position[3]);
/* The longitude, the latitude and the height of a position in the ITRF. */
CT_EXPORT void ct_position_to_geodetic(const gdouble position[3], gdouble *longitude,
                                       gdouble *latitude, gdouble *height);
/* A position `enu` metres east, north and up of `origin`, in the ITRF. */
CT_EXPORT void ct_position_from_enu(const gdouble origin[3], const gdouble enu[3],
                                    gdouble position[3]);
/* The metres east, north and up of `origin` of a position in the ITRF. */
CT_EXPORT void ct_position_to_enu(const gdouble origin[3], const gdouble position[3],
                                  gdouble enu[3]);

/* ---- names of the elements of an axis ---- */

/* Names of stations, polarisations or Stokes parameters; or pairs of names, of baselines. */
typedef struct CtLabels CtLabels;

/* `names` NULL: "0", "1", … */
CT_EXPORT CtLabels *ct_labels_new(const char *const *names, gsize n);
/* Pairs of the names of `of`, as indices; NULL: of each name with itself and all before it, row by
 * row: (0, 0) (1, 0) (1, 1) (2, 0) …, the order of baselines. Takes a reference of `of`, which has
 * names, not pairs. */
CT_EXPORT CtLabels *ct_labels_new_pairs(CtLabels *of, const guint32 (*pairs)[2], gsize n);
/* The labels at `n` indices of others. */
CT_EXPORT CtLabels *ct_labels_pick(CtLabels *labels, const gint64 *indices, gsize n);
/* All labels of `n` objects in a row; NULL if some are pairs, or two names are the same. */
CT_EXPORT CtLabels *ct_labels_join(CtLabels *const *labels, gsize n);
CT_EXPORT CtLabels *ct_labels_ref(CtLabels *labels);
CT_EXPORT void ct_labels_unref(CtLabels *labels);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtLabels, ct_labels_unref)

CT_EXPORT gsize ct_labels_count(const CtLabels *labels);
CT_EXPORT gboolean ct_labels_are_pairs(const CtLabels *labels);
/* The name of element `i`; of a pair, the first (k = 0) or the second one (k = 1). */
CT_EXPORT const char *ct_labels_name(const CtLabels *labels, gsize i, guint k);
/* The names of which there are pairs; `labels` itself if it has names. */
CT_EXPORT const CtLabels *ct_labels_names(const CtLabels *labels);
/* The indices of pair `i` in these names. */
CT_EXPORT void ct_labels_pair(const CtLabels *labels, gsize i, guint32 pair[2]);
/* Whether the pairs are all those that ct_labels_new_pairs makes without indices. */
CT_EXPORT gboolean ct_labels_are_all_pairs(const CtLabels *labels);
/* The index of a name; −1 if there is none. For labels that are no pairs. */
CT_EXPORT gint64 ct_labels_find(const CtLabels *labels, const char *name);
/* Either may be NULL. */
CT_EXPORT gboolean ct_labels_equal(const CtLabels *a, const CtLabels *b);

G_END_DECLS
