/* SPDX-License-Identifier: BSD-3-Clause */
/* What the stage monitor shows: means of a few samples, in bins along the axes of their stream. */
#pragma once

#include <cornerturn/stage.h>

/* An axis of a picture. */
typedef struct {
    guint axis;    /* of the stream */
    gint64 length; /* of the stream's axis */
    gint64 size;   /* elements of a bin, of which the last may have fewer */
    gint64 n_bins;
    gboolean is_picked; /* a bin is its first element alone */
} MonitorAxis;

/* How the elements of a sample fall into bins; both go row-major over the stream's axes without
 * time. */
typedef struct {
    const CtStream *stream;
    guint n_axes;
    MonitorAxis axes[CT_MAX_AXES];
    gsize width;   /* elements of a sample */
    gsize n_bins;  /* of all axes */
    gint64 *bins;  /* [width], −1: in none */
    gint64 *lanes; /* [width], of validity */
} MonitorBins;

/* Sums over samples, by bin. */
typedef struct {
    gdouble re, im, power; /* Σ x, Σ |x|² */
    gdouble valid, all;    /* elements */
} MonitorSum;

enum { MONITOR_LEVELS = 256 };

/* How often each level occurs, in real and imaginary parts alike. */
typedef struct {
    gdouble first, step; /* the middle of the first level, and from one to the next */
    guint n;
    guint64 counts[MONITOR_LEVELS];
} MonitorLevels;

/* Makes bins for a picture of at most `most` elements, if there are so few axes. */
gboolean monitor_bins_init(MonitorBins *bins, const CtStream *stream, gsize most, GError **error);
void monitor_bins_clear(MonitorBins *bins);
/* The coordinate of a bin's middle; `parent` counts bins of the parent axis. */
gdouble monitor_coordinate(const MonitorBins *bins, guint a, gint64 bin, gint64 parent);
/* The axis of the picture on which the coordinates of `a` depend; −1: none. */
gint monitor_parent(const MonitorBins *bins, guint a);

/* Sums n samples, [sample][width] in double precision, of one part or two. `block` has their
 * validity. */
void monitor_sum(const MonitorBins *bins, const CtBlock *block, const gdouble *x, gint64 n,
                 MonitorSum *sums);
/* Counts the levels of the same samples. */
void monitor_count(const MonitorBins *bins, const CtBlock *block, const gdouble *x, gint64 n,
                   MonitorLevels *levels);

/* The picture as JSON, allocated. */
typedef struct {
    guint64 number;
    gint64 tick;      /* of its first sample */
    gint64 n_samples; /* that are averaged */
} MonitorTime;
char *monitor_to_json(const MonitorBins *bins, const MonitorTime *time, const MonitorSum *sums,
                      const MonitorLevels *levels);
