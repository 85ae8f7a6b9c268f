/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams that a node joins by their ticks: which samples of them belong together, which never
 * come, and the form y = f(x, w) of two streams.
 *
 * In the form, x is the first input and w the second. The output has the time and the axes of x.
 * For each of its samples, w is the sample that lasts at the tick of x: that holds from its own
 * tick until the next sample. So w may have longer samples than x, of any number of ticks; shorter
 * ones are refused. w may lack axes of x: one value holds along them. Where w has no sample, before
 * it begins or after it has ended, y is invalid, as it is where x or w is, and where the mask of
 * the form's choice says so (CtFormMask).
 *
 * w may be a port with CT_PORT_OPTIONAL. If it is not connected, the form chooses no kernel, and y
 * is x.
 *
 *     static const CtForm form = CT_KERNEL_FORM("flag", "flag", .set = set);
 *
 * with CT_FORM_STAGE(form) in the stage and, among the plugin's variants, CT_JOIN_VARIANTS(form,
 * "flag", rows, rows), CT_JOIN_REFERENCE("flag", any_rows, work). */
#pragma once

#include <cornerturn/kit/form.h>

G_BEGIN_DECLS

/* ---- which samples belong together, and validity ---- */

typedef struct {
    gint64 start, end;       /* ticks; end G_MAXINT64: not known */
    gint64 ticks;            /* of a sample */
    gint64 offset, length;   /* its part of the output along the axis of ct_join_init() */
    gint place[CT_MAX_AXES]; /* [axis of the output's layout] its place in the input's; −1: none */
    gint64 first_lane;       /* the first lane of the output that the input's validity concerns */
    guint n_lanes;           /* entries of `lanes`: axes along which the output loses samples */
    CtBoxAxis lanes[CT_MAX_AXES]; /* in, out: the steps of its lanes, and of the output's */
    guint64 reserved[2];          /* 0 */
} CtJoinInput;

/* The state of a join from firing to firing. */
typedef struct {
    guint n_inputs;
    CtJoinInput *inputs;
    gint lead;    /* the input with which the output begins and ends; −1: it spans all of them */
    gint64 tick;  /* of the next sample of the output */
    gint64 ticks; /* of a sample of the output */
    gint time, axis;           /* in the output's layout; axis −1: none is joined */
    gint64 lanes[CT_MAX_AXES]; /* [axis of the output's layout] the step of the lane along it */
    gint64 n_items;            /* into which a firing is divided */
    const CtFormMask *mask;    /* set by the stage after ct_join_init, and kept by it; NULL: none */
    guint64 reserved[3];       /* 0 */
} CtJoin;

/* Frees what a mask has. */
CT_EXPORT void ct_join_mask_clear(CtFormMask *mask);

/* Sets up the join of all inputs into the first output, with the `lead` above. Inputs that are not
 * connected must come last, and take no part. `axis`: the inputs are parts of the output along this
 * axis, or have one index of it each; NULL: every input concerns all of the output. The streams
 * must have passed the checks below. */
CT_EXPORT void ct_join_init(CtJoin *join, const CtPrepare *prepare, gint lead, const char *axis);
CT_EXPORT void ct_join_clear(CtJoin *join);

/* The advance of a stage of CT_FOOTPRINT_OWN that joins its inputs. A firing ends where an input
 * begins or ends, so that each of them either has all its samples in it or is missing: then its
 * block has no samples, and its part of the output is invalid. An output sample is valid if the
 * samples of all inputs of which it is made are valid, and the mask does not name it. Without a
 * lead, there is no firing as long as no sample has arrived and no input of known length is still
 * to begin: until then, all inputs may turn out to be empty. */
CT_EXPORT gboolean ct_join_advance(CtJoin *join, CtAdvance *advance, GError **error);

/* The box from input `i` to its part of the output, with the axes of the output's layout (without
 * blocks) in their order; the strides are 0 along axes that the input lacks, and all of them, and
 * `in` is NULL, where it is missing. */
CT_EXPORT void ct_join_box(const CtJoin *join, const CtWork *work, guint i, CtBox *box);

/* The tick after the last sample; G_MAXINT64: it is not known. */
CT_EXPORT gint64 ct_join_end(const CtStream *stream);

/* ---- checks for infer ---- */

/* Sets the error that the first input and input `i` differ in something; returns FALSE. */
CT_EXPORT gboolean ct_join_differ(const CtNode *node, guint i, GError **error, const char *format,
                                  ...) G_GNUC_PRINTF(4, 5);
/* Whether the first input and input `i` count the same ticks and, with `same_samples`, have samples
 * of the same length. */
CT_EXPORT gboolean ct_join_check_clock(const CtNode *node, guint i, gboolean same_samples,
                                       GError **error);
CT_EXPORT gboolean ct_join_same_coordinate(const CtCoordinate *a, const CtCoordinate *b);
/* Whether they have the same length along an axis that both have. */
CT_EXPORT gboolean ct_join_check_length(const CtNode *node, guint i, const char *axis,
                                        GError **error);
/* Adds the axes along which inputs lose samples to those along which the output does. */
CT_EXPORT void ct_join_add_losses(CtNode *node);

/* ---- y = f(x, w) ---- */

/* For infer: checks the inputs, and describes the first output as x, with the lanes of both. The
 * stage may change the type. If work marks samples, or there is a mask, it sets further axes'
 * `loses`. ct_form_infer does all this, for a form that names its kernel. */
CT_EXPORT gboolean ct_join_infer(CtNode *node, GError **error);

/* Calls `function` for the boxes of the work's items: from x to y, with w as the table, and with
 * the output's validity, where it has any, as the marks. There are none where w is missing. */
CT_EXPORT void ct_join_each(const CtJoin *join, const CtWork *work, CtBoxesFunction function,
                            gpointer data);

/* The state of a reference variant, which has only its work to add. */
typedef struct {
    CtJoin join;
    const CtNode *node;
    guint64 reserved[2]; /* 0 */
} CtJoinReference;

CT_EXPORT gboolean ct_join_reference_prepare(CtPrepare *prepare, gpointer *state, GError **error);
CT_EXPORT gboolean ct_join_reference_advance(gpointer state, CtAdvance *advance, GError **error);
CT_EXPORT void ct_join_reference_finish(gpointer state);

#define CT_JOIN_REFERENCE(stage_, rows_, work_)                                                    \
    &(const CtVariant)                                                                             \
    {                                                                                              \
        .name = "reference", .backend = CT_REFERENCE,                                              \
        .covers = (const char *const[]){stage_, NULL}, .rows = rows_,                              \
        .prepare = ct_join_reference_prepare, .advance = ct_join_reference_advance, .work = work_, \
        .finish = ct_join_reference_finish,                                                        \
    }

CT_EXPORT gboolean ct_form_advance_join(gpointer state, CtAdvance *advance, GError **error);

#define CT_JOIN_VARIANT_HOST(form_, stage_, rows_, isa_, name_)                                    \
    &(const CtVariant)                                                                             \
    {                                                                                              \
        .name = name_, .backend = CT_CPU, .isa = isa_,                                             \
        .covers = (const char *const[]){stage_, NULL}, .rows = rows_, .split = "*",                \
        .form = &form_, .prepare = ct_form_prepare, .advance = ct_form_advance_join,               \
        .work = ct_form_work, .finish = ct_form_finish,                                            \
    }
#define CT_JOIN_VARIANT_DEVICE(form_, stage_, rows_)                                               \
    &(const CtVariant)                                                                             \
    {                                                                                              \
        .name = "cuda", .backend = CT_CUDA, .covers = (const char *const[]){stage_, NULL},         \
        .rows = rows_, .tunables = CT_FORM_MAP_TUNABLES, .form = &form_,                           \
        .prepare = ct_form_prepare_device, .advance = ct_form_advance_join,                        \
        .work = ct_form_work_device, .finish = ct_form_finish_device,                              \
    }

/* The variants of a join, in order of preference, with the rows of the host and of devices. */
#ifdef __x86_64__
#define CT_JOIN_VARIANTS(form_, stage_, rows_, device_rows_)                                       \
    CT_JOIN_VARIANT_DEVICE(form_, stage_, device_rows_),                                           \
        CT_JOIN_VARIANT_HOST(form_, stage_, rows_, CT_ISA_AVX512, "cpu-avx512"),                   \
        CT_JOIN_VARIANT_HOST(form_, stage_, rows_, CT_ISA_AVX2, "cpu-avx2"),                       \
        CT_JOIN_VARIANT_HOST(form_, stage_, rows_, CT_ISA_BASELINE, "cpu-baseline")
#else
#define CT_JOIN_VARIANTS(form_, stage_, rows_, device_rows_)                                       \
    CT_JOIN_VARIANT_DEVICE(form_, stage_, device_rows_),                                           \
        CT_JOIN_VARIANT_HOST(form_, stage_, rows_, CT_ISA_BASELINE, "cpu-baseline")
#endif

G_END_DECLS
