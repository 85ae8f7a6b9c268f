/* SPDX-License-Identifier: BSD-3-Clause */
/* Types, axes, streams and blocks: the description of the tensors that flow through a graph. */
#pragma once

#include <cornerturn/export.h>
#include <cornerturn/observation.h>
#include <cornerturn/text.h>
#include <glib.h>

G_BEGIN_DECLS

/* The most axes of a layout; a blocked axis counts twice. */
#define CT_MAX_AXES 12

/* Element types. Complex types interleave the real and the imaginary part. ci4 is one byte, with
 * the real part in the high nibble, in two's complement. Every value of a type is legal. */
typedef enum {
    CT_TYPE_NONE,
    CT_CI4,
    CT_CI8,
    CT_CI16,
    CT_CI32,
    CT_CI64,
    CT_CF16,
    CT_CF32,
    CT_CF64,
    CT_I8,
    CT_I16,
    CT_I32,
    CT_I64,
    CT_U8,
    CT_U32,
    CT_F16,
    CT_F32,
    CT_F64,
    CT_N_TYPES
} CtType;

typedef struct {
    const char *name; /* "ci8" */
    gsize bytes;      /* of an element, with both parts */
    guint part_bits;  /* of the real part */
    gboolean is_complex;
    gboolean is_float;
    gboolean is_signed;
    CtType part; /* the type of the real part; CT_TYPE_NONE for ci4 */
} CtTypeInfo;

/* Describes a type; never NULL. */
CT_EXPORT const CtTypeInfo *ct_type_info(CtType type);
/* "ci8" to CT_CI8; CT_TYPE_NONE if there is no such type. */
CT_EXPORT CtType ct_type_from_name(const char *name);
/* Whether every value of `from` is a value of `to`. The planner inserts only such conversions. */
CT_EXPORT gboolean ct_type_is_lossless(CtType from, CtType to);

/* The coordinates of an axis: first + step · i, or table[i]. With `parent`, they are relative to
 * the coordinate of the parent axis (affine), or in a table of [parent length][length]
 * (absolute). */
typedef struct {
    const char *unit; /* interned, "Hz" "s" "m"; NULL: the axis has no coordinate */
    gdouble first;
    gdouble step;
    GBytes *table;      /* gdouble; NULL: affine */
    const char *parent; /* interned name of an axis that has no parent itself; NULL: none */
} CtCoordinate;

typedef struct {
    const char *name; /* interned: compare with ct_axis_name() by pointer */
    gint64 length;    /* of `time`: samples in the whole stream, −1 if not known */
    CtCoordinate coordinate;
    gboolean loses;      /* data are lost separately along this axis, so that validity has it */
    CtLabels *labels;    /* names of its elements; NULL: none. The core drops those whose number is
                            not `length` */
    guint64 reserved[1]; /* 0 */
} CtAxis;

/* The interned form of an axis name. */
#define ct_axis_name(name) g_intern_string(name)

/* The description of a stream, fixed before its first block.
 *
 * Time is counted in ticks of the source's clock: sample i of the stream is at tick start + i ·
 * ticks_per_sample, and tick k is k · rate_den / rate_num seconds after `epoch`. `axes` are in
 * canonical order (ct_stream_add_axis), whatever their order in memory. */
typedef struct {
    CtType type;
    guint n_axes;
    CtAxis axes[CT_MAX_AXES];
    gint64 rate_num; /* ticks per second, a fraction in lowest terms; 0: the stream has no clock */
    gint64 rate_den;
    gint64 ticks_per_sample;
    gint64 start; /* tick of the first sample */
    gint64 epoch; /* Unix seconds of tick 0; CT_NO_EPOCH if only differences are known */
    gboolean has_frequency;
    gdouble frequency; /* hertz: the centre of a complex time stream, the lower edge of a real one;
                          not used if there is a subband axis, which has its own frequencies */
    CtObservation *observation; /* NULL: nothing is known. The core gives an output that has none
                                   that of the first input that has one */
    guint64 reserved[3];        /* 0 */
} CtStream;

#define CT_NO_EPOCH G_MININT64

CT_EXPORT void ct_stream_init(CtStream *stream);
CT_EXPORT void ct_stream_clear(CtStream *stream);
/* Overwrites `copy`, which must be clear or zero; shares tables, labels and the observation by
 * reference. */
CT_EXPORT void ct_stream_copy(CtStream *copy, const CtStream *stream);
/* The index of an axis; −1 if there is none. `name` need not be interned. */
CT_EXPORT gint ct_stream_axis(const CtStream *stream, const char *name);
/* The length of an axis other than `time`; 1 if there is none. */
CT_EXPORT gint64 ct_stream_length(const CtStream *stream, const char *name);
/* Adds an axis without coordinates at its canonical place and returns it; NULL if the axis exists
 * or there are too many. The canonical order is time subband tap channel phase, then other axes in
 * the order in which they are added, then beam baseline station pol pol' stokes. */
CT_EXPORT CtAxis *ct_stream_add_axis(CtStream *stream, const char *name, gint64 length);
/* Removes an axis, if it exists, and the coordinates that depend on it. */
CT_EXPORT void ct_stream_remove_axis(CtStream *stream, const char *name);
/* Sets the observation, or the labels of an axis: takes the reference, and drops the old one. */
CT_EXPORT void ct_stream_take_observation(CtStream *stream, CtObservation *observation);
CT_EXPORT void ct_axis_take_labels(CtAxis *axis, CtLabels *labels);
/* The number of samples at one point in time: the product of the lengths of the other axes
 * (G_MAXINT64 if it overflows). */
CT_EXPORT gint64 ct_stream_width(const CtStream *stream);
/* The number of lanes of validity: the product of the lengths of the axes, other than time, that
 * lose data. Lanes are numbered row-major in the order of `axes`. */
CT_EXPORT gint64 ct_stream_n_lanes(const CtStream *stream);
/* The lanes from one index of an axis to the next; 0: the stream does not have the axis, or loses
 * no data along it. */
CT_EXPORT gint64 ct_stream_lane_step(const CtStream *stream, const char *name);
/* Sets the clock: numerator / denominator samples per second, of `ticks` ticks each; all are at
 * least 1. FALSE if 63 bits do not count the ticks. */
CT_EXPORT gboolean ct_stream_set_rate(CtStream *stream, gint64 numerator, gint64 denominator,
                                      gint64 ticks);
/* Samples per second; 0 without a clock. */
CT_EXPORT gdouble ct_stream_sample_rate(const CtStream *stream);
/* The UTC of a tick to the nanosecond, "2022-06-29T01:30:00.000000000Z", allocated; NULL if the
 * stream does not know it, or the year is not one of four digits. */
CT_EXPORT char *ct_stream_utc(const CtStream *stream, gint64 tick);
/* The whole Unix second of a tick, and the rest of it in units of 1 / rate_num seconds; exact.
 * FALSE with zeros if the stream does not know its UTC, or 63 bits do not hold the second. */
CT_EXPORT gboolean ct_stream_second(const CtStream *stream, gint64 tick, gint64 *second,
                                    gint64 *rest);
/* The modified Julian date of a Unix second, and the second of that day. */
CT_EXPORT void ct_utc_day(gint64 unix_second, gint64 *day, gint64 *second);
/* The first tick of the clock that is not before a time; exact. FALSE if the stream does not know
 * its UTC, or 62 bits do not hold the tick. */
CT_EXPORT gboolean ct_stream_tick_at(const CtStream *stream, const CtUtc *utc, gint64 *tick);
/* The coordinate of sample `i`; `parent` is the index on the parent axis (0 if there is none).
 * Returns `i` if the axis has no coordinates. */
CT_EXPORT gdouble ct_stream_coordinate(const CtStream *stream, guint axis, gint64 i, gint64 parent);
/* "time 4096, station 16, pol 2", for messages; allocated. */
CT_EXPORT char *ct_stream_describe(const CtStream *stream);

/* A piece of a stream in memory. Lengths and strides are in the order of the port's layout, slowest
 * first; a blocked axis has two entries, and the outer one counts blocks. Data and validity belong
 * to the scheduler, and are valid during the call. */
typedef struct {
    guint8 *data; /* address of the first sample, index 0 of every axis */
    CtType type;
    guint n_axes;
    gint64 length[CT_MAX_AXES]; /* of time: n_samples, or the number of blocks if time is blocked */
    gint64 stride[CT_MAX_AXES]; /* bytes */
    gint64 n_samples;           /* along time; 1 for a stream without time */
    gint64 index;               /* of the first sample, counted from the stream's first */
    gint64 start;               /* tick of the first sample */
    guint8 *validity; /* [lane][n_samples], 1 valid, 0 invalid (then the data are zero); NULL: all
                         valid */
    gint64 validity_stride; /* bytes from a lane to the next */
    guint8 *refused;        /* private to the core: where ct_block_mark notes that the output has no
                               CT_PORT_MARKED; NULL: it has it */
    const guint8 *validity_on_device; /* of an output of a cuda variant, in work: [lane][n_samples]
                                         as advance has set it, in the device's memory; NULL: all
                                         samples are valid */
    guint64 reserved[2];              /* 0 */
} CtBlock;

G_END_DECLS
