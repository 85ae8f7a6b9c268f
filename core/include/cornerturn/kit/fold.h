/* SPDX-License-Identifier: BSD-3-Clause */
/* Folds: stages that add the samples of a hop of time to a small state, from which they make one
 * sample, element by element: sums, moments, extremes. The functions are written once, in
 * NAME.kernel.h (<cornerturn/kit/kernel.h>, CT_FOLD), and once more in double precision, for the
 * variant `reference`.
 *
 *     static const CtFold fold = {
 *         .form = CT_KERNEL_FORM("sum", "sum", .length = "length"),
 *         .n_numbers = 2,
 *         .add = reference_add,
 *         .give = reference_give,
 *     };
 *
 *     static const CtStage stage = {
 *         .name = "sum",
 *         CT_FORM_STAGE(fold.form),
 *         …
 *     };
 *
 *     CT_STAGE_PLUGIN("sum", stage,
 *                     CT_FOLD_VARIANTS(fold, "sum", CT_PORT_ROWS(1), CT_PORT_ROWS(0.9)));
 *
 * The first output has the axes of the first input. A second output, if there is one, has the
 * numbers of valid samples (u32). The order of all additions is fixed, whatever the blocks and the
 * workers. */
#pragma once

#include <cornerturn/kit/form.h>

G_BEGIN_DECLS

/* The most bytes of a state: 8 numbers of double precision. */
#define CT_FOLD_STATE_BYTES 64

/* The second output, a row of CtPort; `of_` is a word for what the first has: "sum". */
#define CT_FOLD_WEIGHTS(of_)                                                                       \
    {                                                                                              \
        "weights", "u32{time ...}", 0,                                                             \
            "valid samples of every " of_ ", where they are lost separately"                       \
    }

/* For the infer of a fold whose form has no `length`: describes the outputs of a node whose hop is
 * `length` samples. The first is a copy of the input; the second, if there is one, has the type
 * u32, and the axes time and those along which the input loses data. The caller then changes the
 * type of the first; for marks (CT_PORT_MARKED) it sets `loses` of its axes. */
CT_EXPORT void ct_fold_infer(CtNode *node, gint64 length);

/* ---- kernels on the host, registered by CT_FOLD ---- */

/* Adds m rows of n contiguous elements, `stride` bytes apart, to n states: from first to last. */
typedef struct {
    gconstpointer settings;
    gpointer states;
    gconstpointer x;
    gint64 stride;
    gsize n, m;
    guint64 reserved[2]; /* 0 */
} CtFoldAdd;

/* Rows of so many elements are added in registers. */
#define CT_FOLD_FEW 16

/* Makes n elements. */
typedef struct {
    gconstpointer settings;
    gpointer states;       /* [n_partials][n]; they are merged into the first n */
    gsize n, n_partials;   /* n_partials is a power of two */
    const guint32 *counts; /* valid samples of element i: counts[i · counts_step] */
    gsize counts_step;     /* 0 or 1 */
    gpointer y;
    guint8 *valid;       /* [n]: 0 marks the element */
    guint64 reserved[2]; /* 0 */
} CtFoldGive;

/* Makes `n_hops` samples of whole hops. n divides CT_FOLD_FEW: the CT_FOLD_FEW states belong to the
 * n elements of CT_FOLD_FEW / n consecutive times. */
typedef struct {
    gconstpointer settings;
    gconstpointer x; /* [sample][n], contiguous */
    gsize hop, n_hops, n;
    const guint32 *counts; /* of hop i: counts[i · counts_step] */
    gsize counts_step;
    gpointer y; /* hops are y_stride bytes apart */
    gint64 y_stride;
    guint8 *valid;       /* set to 0 if an element with valid samples is not valid */
    guint64 reserved[1]; /* 0 */
} CtFoldMake;

/* CT_FOLD fills it in. */
struct CtFoldKernel {
    gsize state_bytes;
    gboolean adds_all; /* invalid samples too */
    void (*start)(gconstpointer settings, gpointer states, gsize n);
    void (*add)(const CtFoldAdd *run);
    void (*give)(const CtFoldGive *run);
    void (*make)(const CtFoldMake *run);
    guint64 reserved[4]; /* 0 */
};

/* ---- variants ---- */

/* A form and its reference, whose states are numbers of double precision that begin with 0: a const
 * table that the plugin fills in. */
typedef struct {
    CtForm form;
    guint n_numbers; /* of a state */
    /* Adds a valid sample x of `n_parts`: re and, if it is complex, im; otherwise x[1] is 0. */
    void (*add)(gconstpointer settings, gdouble *state, const gdouble *x, guint n_parts);
    /* Makes y, re and im, of n valid samples. FALSE marks y as invalid; if n is above 0, the output
     * must have CT_PORT_MARKED. */
    gboolean (*give)(gconstpointer settings, const gdouble *state, guint32 n, gdouble *y);
    const char *axis;    /* CT_PARAM_AXIS: the axis along which the fold goes, of the length that
                            the form names; the kernel wants CT_FOLD_ALL. NULL: time */
    guint64 reserved[3]; /* 0 */
} CtFold;

/* The infer of a fold that has `axis`: ct_form_infer, or for another axis than time the same
 * outputs with a shorter axis, whose coordinates are the means of the elements of its sums. The
 * second output, if there is one, then has this axis as well. Elements are counted for each sample
 * by itself. */
CT_EXPORT gboolean ct_fold_infer_axis(CtNode *node, const CtFold *fold, GError **error);

CT_EXPORT gboolean ct_fold_prepare(CtPrepare *prepare, gpointer *state, GError **error);
CT_EXPORT gboolean ct_fold_prepare_device(CtPrepare *prepare, gpointer *state, GError **error);
CT_EXPORT gboolean ct_fold_prepare_reference(CtPrepare *prepare, gpointer *state, GError **error);
CT_EXPORT gboolean ct_fold_advance(gpointer state, CtAdvance *advance, GError **error);
CT_EXPORT gboolean ct_fold_work(gpointer state, const CtWork *work, GError **error);
CT_EXPORT gboolean ct_fold_work_device(gpointer state, const CtWork *work, GError **error);
CT_EXPORT gboolean ct_fold_work_reference(gpointer state, const CtWork *work, GError **error);
CT_EXPORT void ct_fold_finish(gpointer state);
CT_EXPORT void ct_fold_finish_device(gpointer state);
CT_EXPORT void ct_fold_finish_reference(gpointer state);

#define CT_FOLD_VARIANT(fold_, stage_, rows_, backend_, isa_, name_, split_, suffix_)              \
    CT_FOLD_VARIANT_FLAGS(fold_, stage_, rows_, backend_, isa_, name_, split_, suffix_, 0)
#define CT_FOLD_VARIANT_FLAGS(fold_, stage_, rows_, backend_, isa_, name_, split_, suffix_,        \
                              flags_)                                                              \
    &(const CtVariant)                                                                             \
    {                                                                                              \
        .name = name_, .backend = backend_, .isa = isa_,                                           \
        .covers = (const char *const[]){stage_, NULL}, .rows = rows_, .split = split_,             \
        .form = &fold_, .prepare = ct_fold_prepare##suffix_, .advance = ct_fold_advance,           \
        .work = ct_fold_work##suffix_, .finish = ct_fold_finish##suffix_, .flags = flags_,         \
    }
#define CT_FOLD_VARIANT_HOST(fold_, stage_, rows_, isa_, name_)                                    \
    CT_FOLD_VARIANT(fold_, stage_, rows_, CT_CPU, isa_, name_, "*", )

#ifdef __x86_64__
#define CT_FOLD_VARIANTS_HOST(fold_, stage_, rows_)                                                \
    CT_FOLD_VARIANT_HOST(fold_, stage_, rows_, CT_ISA_AVX512, "cpu-avx512"),                       \
        CT_FOLD_VARIANT_HOST(fold_, stage_, rows_, CT_ISA_AVX2, "cpu-avx2"),                       \
        CT_FOLD_VARIANT_HOST(fold_, stage_, rows_, CT_ISA_BASELINE, "cpu-baseline")
#else
#define CT_FOLD_VARIANTS_HOST(fold_, stage_, rows_)                                                \
    CT_FOLD_VARIANT_HOST(fold_, stage_, rows_, CT_ISA_BASELINE, "cpu-baseline")
#endif

/* All variants, in order of preference, with the rows of the host and of devices. The reference
 * takes what the ports declare, in any order of axes on either side. */
#define CT_FOLD_VARIANTS(fold_, stage_, rows_, device_rows_)                                       \
    CT_FOLD_VARIANT_FLAGS(fold_, stage_, device_rows_, CT_CUDA, CT_ISA_BASELINE, "cuda", NULL,     \
                          _device, CT_VARIANT_FOLD),                                               \
        CT_FOLD_VARIANTS_HOST(fold_, stage_, rows_),                                               \
        CT_FOLD_VARIANT(fold_, stage_, CT_REFERENCE_ROWS, CT_REFERENCE, CT_ISA_BASELINE,           \
                        "reference", "*", _reference)

G_END_DECLS
