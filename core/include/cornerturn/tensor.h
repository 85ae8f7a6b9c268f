/* SPDX-License-Identifier: BSD-3-Clause */
/* Types, axes, streams and blocks: what a tensor that flows through a graph is. */
#pragma once

#include <cornerturn/export.h>
#include <glib.h>

G_BEGIN_DECLS

/* Axes of a layout, the blocked ones counted twice. */
#define CT_MAX_AXES 12

/* Element types. Complex ones are real and imaginary interleaved; ci4 is one byte, the real part in
 * the high nibble, two's complement. Every value of a type is legal. */
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
    gsize bytes;      /* of an element, both parts */
    guint part_bits;  /* of the real part */
    gboolean is_complex;
    gboolean is_float;
    gboolean is_signed;
    CtType part; /* the type of the real part; CT_TYPE_NONE for ci4 */
} CtTypeInfo;

/* The table row of `type`; never NULL. */
CT_EXPORT const CtTypeInfo *ct_type_info(CtType type);
/* "ci8" to CT_CI8; CT_TYPE_NONE where there is no such type. */
CT_EXPORT CtType ct_type_from_name(const char *name);
/* Whether every value of `from` is a value of `to`: what the planner may convert unasked. */
CT_EXPORT gboolean ct_type_is_lossless(CtType from, CtType to);

/* Where the samples of an axis stand: at first + step · i, or at table[i]; with `parent`, counted
 * from the coordinate of the parent axis (affine), or a table of [parent length][length]
 * (absolute). */
typedef struct {
    const char *unit; /* interned, "Hz" "s" "m"; NULL: the axis has no coordinate */
    gdouble first;
    gdouble step;
    GBytes *table;      /* gdouble; NULL: affine */
    const char *parent; /* interned name of an axis without parent; NULL: none */
} CtCoordinate;

typedef struct {
    const char *name; /* interned: compare pointers of ct_axis_name() */
    gint64 length;    /* of `time`: samples in the whole stream, −1 where it is not known */
    CtCoordinate coordinate;
    gboolean loses; /* data is lost separately along this axis: validity has it */
} CtAxis;

/* The interned form of an axis name. */
#define ct_axis_name(name) g_intern_string(name)

/* What flows over a link: fixed before its first block, never changed after.
 *
 * Time is counted in ticks of the source's clock: sample i of the stream is at tick
 * start + i · ticks_per_sample, and tick k is k · rate_den / rate_num seconds after `epoch`.
 * The order of `axes` is the canonical one (ct_stream_add_axis); it says nothing of memory. */
typedef struct {
    CtType type;
    guint n_axes;
    CtAxis axes[CT_MAX_AXES];
    gint64 rate_num; /* ticks per second, a fraction in lowest terms; 0: the stream has no clock */
    gint64 rate_den;
    gint64 ticks_per_sample;
    gint64 start; /* tick of the first sample */
    gint64 epoch; /* unix seconds of tick 0; CT_NO_EPOCH where only differences are known */
    gboolean has_frequency;
    gdouble
        frequency; /* hertz: the centre of a complex time stream, the lower edge of a real one;
                      a subband axis carries frequencies of its own, this one is then not used */
} CtStream;

#define CT_NO_EPOCH G_MININT64

CT_EXPORT void ct_stream_init(CtStream *stream);
CT_EXPORT void ct_stream_clear(CtStream *stream);
/* `copy` is overwritten (it must be clear or zero); tables are shared by reference. */
CT_EXPORT void ct_stream_copy(CtStream *copy, const CtStream *stream);
/* Index of an axis, −1 where there is none. `name` need not be interned. */
CT_EXPORT gint ct_stream_axis(const CtStream *stream, const char *name);
/* Length of an axis, 1 where there is none; not for `time`. */
CT_EXPORT gint64 ct_stream_length(const CtStream *stream, const char *name);
/* Adds an axis, without coordinate, at its canonical place and returns it; NULL when the axis
 * exists or there are too many. The canonical order is time subband tap channel phase, then other
 * axes in the order they come, then beam baseline station pol pol' stokes. */
CT_EXPORT CtAxis *ct_stream_add_axis(CtStream *stream, const char *name, gint64 length);
/* Removes an axis and the coordinates that hang on it; nothing where there is none of that name. */
CT_EXPORT void ct_stream_remove_axis(CtStream *stream, const char *name);
/* Samples of an element of time: the product of the other axes' lengths (G_MAXINT64 where it does
 * not fit). */
CT_EXPORT gint64 ct_stream_width(const CtStream *stream);
/* Lanes of validity: the product of the lengths of the axes that lose data, time left out; lane
 * index row-major in the order of `axes`. */
CT_EXPORT gint64 ct_stream_n_lanes(const CtStream *stream);
/* Samples per second as a number; 0 without clock. */
CT_EXPORT gdouble ct_stream_sample_rate(const CtStream *stream);
/* Coordinate of sample `i`, `parent` being the index on the parent axis (0 without); `i` itself
 * where the axis has no coordinate. */
CT_EXPORT gdouble ct_stream_coordinate(const CtStream *stream, guint axis, gint64 i, gint64 parent);
/* "time 4096, station 16, pol 2", for messages; allocated. */
CT_EXPORT char *ct_stream_describe(const CtStream *stream);

/* A piece of a stream in memory. Lengths and strides follow the axes of the port's layout, slowest
 * first; a blocked axis stands there twice, outside counting blocks. Data and validity belong to
 * the scheduler, for the duration of the call. */
typedef struct {
    guint8 *data; /* index 0 of every axis, the first sample */
    CtType type;
    guint n_axes;
    gint64 length[CT_MAX_AXES]; /* of time: n_samples (blocks of them where time is blocked) */
    gint64 stride[CT_MAX_AXES]; /* bytes */
    gint64 n_samples;           /* along time; 1 for a stream without time */
    gint64 index;               /* of the first sample, counted from the stream's first */
    gint64 start;               /* tick of the first sample */
    guint8 *validity;           /* [lane][n_samples], 1 valid, 0 invalid (the data are zero then);
                                   NULL: all valid */
    gint64 validity_stride;     /* bytes from a lane to the next */
} CtBlock;

G_END_DECLS
