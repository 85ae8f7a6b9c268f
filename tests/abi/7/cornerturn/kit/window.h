/* SPDX-License-Identifier: BSD-3-Clause */
/* Stages that make each output sample of several samples along time, or of shifted ones, written
 * once in NAME.kernel.h (<cornerturn/kit/kernel.h>):
 *
 *     CT_WINDOW     y[t] = f(x[t … t + n − 1])
 *     CT_SHIFT_SUM  y[t, m, …] = Σ_c f(x[t + shift[m, c, …], c, …], w[c, …])
 *
 * The sum over an axis c, the new axis m and the table w are optional; without a sum the second is
 * a shift. From the function come the variants for every instruction set and for devices, for all
 * orders of axes, with conversions of types and work split over workers. A lost sample makes only
 * those output samples invalid that are made of it.
 *
 *     static const CtWindow window = {
 *         .form = CT_KERNEL_FORM("smooth", "smooth", .length = "length"),
 *     };
 *
 * with CT_FORM_STAGE(window.form) in the stage and CT_WINDOW_VARIANTS(window, "smooth", rows,
 * device_rows) among the plugin's variants. A stage with shifts has a `choose` and an `infer`,
 * which sets the footprint by ct_window_footprint. The kernel works on the first input and
 * output. */
#pragma once

#include <cornerturn/kit/form.h>

G_BEGIN_DECLS

/* The longest window, in samples. */
#define CT_WINDOW_MAX ((gint64)1 << 29)

/* Output samples for which the shift is constant and a value is linear in time: at sample i, the
 * value is first + (since + i) · step. No member will be added: more would need another function
 * beside `line`. */
typedef struct {
    gint64 n;     /* samples; at least 1 */
    gint64 shift; /* the input sample of output sample t is t + shift */
    gint64 since; /* samples since the line's first, wherever the firing begins */
    gdouble first, step;
} CtWindowLine;

/* What `choose` fills in; it is cleared before. */
typedef struct {
    CtFormChoice form;  /* kernel, settings; `table`: w, over axes of the input other than time */
    gint64 n_taps;      /* of CT_WINDOW: the samples that the function gets; else 0 */
    const char *sum[2]; /* axes of the input that are summed, the slower first; NULL: none */
    const char *made;   /* axis that only the output has; NULL: none */

    /* Shifts, of type i64, over the new axis and axes of the input other than time, in any order:
     * output sample t is made of the input sample t + shift. Without data, it is made of its
     * window from the first sample on. */
    CtFormTable shifts;

    /* Shifts that change along time, for stages without a sum; `shifts` then has no data. A series
     * is an entry of a table with the axes and lengths of `shifts`. `line` describes, in *line, at
     * most `most` samples of a series from the output sample at `tick` on. If the kernel has a
     * table, w is of type f64: the value times the entry of form.table. `most_lines` returns the
     * most lines of a series in `n` consecutive samples. Both are called on many threads at once.
     */
    void (*line)(gconstpointer data, gint64 series, gint64 tick, gint64 most, CtWindowLine *line);
    gint64 (*most_lines)(gconstpointer data, gint64 n);
    gpointer data;
    GDestroyNotify free; /* of `data`, by the kit; may be NULL */
    guint64 reserved[8]; /* 0 */
} CtWindowChoice;

/* A const table of the plugin, from CT_WINDOW_FORM. */
typedef struct {
    CtForm form; /* without its own choice */
    /* Chooses a kernel and fills in its settings and tables; called once, when a run is prepared.
     * NULL: the kernel and the length that the form names. */
    gboolean (*choose)(const CtNode *node, CtWindowChoice *choice, GError **error);
    guint64 reserved[4]; /* 0 */
} CtWindow;

/* Initialises a CtWindow. */
#define CT_WINDOW_FORM(plugin_, choose_)                                                           \
    {                                                                                              \
        .form = CT_FORM(plugin_, NULL), .choose = choose_                                          \
    }

/* For `infer`: the footprint of a node whose output sample t is made of the `n_taps` (1 for shifts)
 * input samples from t + shift on, with shifts of `least` to `most`. Refuses, as a mistake in
 * `param`, windows longer than the stream or CT_WINDOW_MAX. */
CT_EXPORT gboolean ct_window_footprint(CtNode *node, const char *param, gint64 least, gint64 most,
                                       gint64 n_taps, GError **error);

/* ---- variants ---- */

CT_EXPORT gboolean ct_window_prepare(CtPrepare *prepare, gpointer *state, GError **error);
CT_EXPORT gboolean ct_window_work(gpointer state, const CtWork *work, GError **error);
CT_EXPORT void ct_window_finish(gpointer state);
CT_EXPORT gboolean ct_window_prepare_device(CtPrepare *prepare, gpointer *state, GError **error);
CT_EXPORT gboolean ct_window_work_device(gpointer state, const CtWork *work, GError **error);
CT_EXPORT void ct_window_finish_device(gpointer state);

/* The samples of which output samples are made. A reference variant keeps this as the first member
 * of its state, and its advance is ct_window_advance. NULL on failure. */
typedef struct CtWindowTaps CtWindowTaps;
CT_EXPORT CtWindowTaps *ct_window_taps_new(const CtWindow *window, const CtPrepare *prepare,
                                           GError **error);
CT_EXPORT void ct_window_taps_free(CtWindowTaps *taps);
CT_EXPORT gboolean ct_window_advance(gpointer state, CtAdvance *advance, GError **error);

/* The tunables of variants for devices, of windows and shifts, and of sums. */
#define CT_WINDOW_UNITS                                                                            \
    {                                                                                              \
        "units", CT_VALUES(1, 2, 4, 8), 8, "times per thread; of 16 bytes at most 4"               \
    }
#define CT_WINDOW_TUNABLES ((const CtTunable[]){CT_WINDOW_UNITS, {0}})
#define CT_WINDOW_SUM_TUNABLES                                                                     \
    ((const CtTunable[]){CT_WINDOW_UNITS,                                                          \
                         {"made", CT_VALUES(1, 2, 4, 8), 8, "indices of the new axis per thread"}, \
                         {0}})

#define CT_WINDOW_VARIANT_HOST(window_, stage_, rows_, isa_, name_)                                \
    &(const CtVariant)                                                                             \
    {                                                                                              \
        .name = name_, .backend = CT_CPU, .isa = isa_,                                             \
        .covers = (const char *const[]){stage_, NULL}, .rows = rows_, .split = "*",                \
        .form = &window_, .prepare = ct_window_prepare, .advance = ct_window_advance,              \
        .work = ct_window_work, .finish = ct_window_finish,                                        \
    }
#define CT_WINDOW_VARIANT_DEVICE(window_, stage_, rows_, tunables_)                                \
    &(const CtVariant)                                                                             \
    {                                                                                              \
        .name = "cuda", .backend = CT_CUDA, .covers = (const char *const[]){stage_, NULL},         \
        .rows = rows_, .tunables = tunables_, .form = &window_,                                    \
        .prepare = ct_window_prepare_device, .advance = ct_window_advance,                         \
        .work = ct_window_work_device, .finish = ct_window_finish_device,                          \
    }

#ifdef __x86_64__
#define CT_WINDOW_VARIANTS_HOST(window_, stage_, rows_)                                            \
    CT_WINDOW_VARIANT_HOST(window_, stage_, rows_, CT_ISA_AVX512, "cpu-avx512"),                   \
        CT_WINDOW_VARIANT_HOST(window_, stage_, rows_, CT_ISA_AVX2, "cpu-avx2"),                   \
        CT_WINDOW_VARIANT_HOST(window_, stage_, rows_, CT_ISA_BASELINE, "cpu-baseline")
#else
#define CT_WINDOW_VARIANTS_HOST(window_, stage_, rows_)                                            \
    CT_WINDOW_VARIANT_HOST(window_, stage_, rows_, CT_ISA_BASELINE, "cpu-baseline")
#endif

/* The variants in order of preference, with the rows of the host and of devices; the second macro
 * is for sums and for outputs with a new axis. Rows of devices have the same order of axes on both
 * sides, except those of the second macro. */
#define CT_WINDOW_VARIANTS(window_, stage_, rows_, device_rows_)                                   \
    CT_WINDOW_VARIANT_DEVICE(window_, stage_, device_rows_, CT_WINDOW_TUNABLES),                   \
        CT_WINDOW_VARIANTS_HOST(window_, stage_, rows_)
#define CT_WINDOW_SUM_VARIANTS(window_, stage_, rows_, device_rows_)                               \
    CT_WINDOW_VARIANT_DEVICE(window_, stage_, device_rows_, CT_WINDOW_SUM_TUNABLES),               \
        CT_WINDOW_VARIANTS_HOST(window_, stage_, rows_)

G_END_DECLS
