/* SPDX-License-Identifier: BSD-3-Clause */
/* Stages whose mathematics is one function of a few elements, written once in NAME.kernel.h
 * (<cornerturn/kit/kernel.h>). From it come the variants for every instruction set and for devices,
 * for all layouts, with conversions of types and work split over workers.
 *
 *     static gboolean
 *     set(const CtNode *node, gpointer settings, GError **error)
 *     {
 *         Scale *self = settings;
 *         self->factor = (float)ct_params_real(node->params, "factor");
 *         return TRUE;
 *     }
 *
 *     static const CtForm form = CT_KERNEL_FORM("scale", "scale", .set = set);
 *
 *     static const CtStage stage = {
 *         .name = "scale",
 *         CT_FORM_STAGE(form),
 *         …
 *     };
 *
 *     CT_STAGE_PLUGIN("scale", stage,
 *                     CT_FORM_VARIANTS(form, "scale", CT_PORT_ROWS(0.9), CT_PORT_ROWS(0.9)),
 *                     &scale_reference);
 *
 * The kernel works on the first input and the first output. */
#pragma once

#include <cornerturn/kit/boxes.h>
#include <cornerturn/kit/device-map.h>

G_BEGIN_DECLS

typedef enum {
    CT_FORM_CONVERT,    /* the same values in the type of the output: no kernel */
    CT_FORM_MAP,        /* y = f(x) */
    CT_FORM_TABLE,      /* y = f(x, w), w of a table over axes other than time */
    CT_FORM_GROUP,      /* y[0 … m) = f(x[0 … n)), along a small axis */
    CT_FORM_FOLD,       /* s = g(s, x) over a hop of time, y = h(s, n): <cornerturn/kit/fold.h> */
    CT_FORM_WINDOW,     /* y[t] = f(x[t … t + n − 1]): <cornerturn/kit/window.h> */
    CT_FORM_SHIFT,      /* y[t] = Σ f(x[t + shift], w): window.h */
    CT_FORM_JOIN,       /* y = f(x, w) of two streams: <cornerturn/kit/join.h> */
    CT_FORM_MARKED_JOIN /* the same; marks y as invalid as well */
} CtFormKind;

/* ---- kernels on the host, registered by the macros of kernel.h ---- */

typedef struct CtFoldKernel CtFoldKernel; /* <cornerturn/kit/fold.h> */

/* The most terms of a sum that a loop adds. */
#define CT_SHIFT_TERMS 8

/* Further arguments of loops of windows and shifts (window.h). */
typedef struct {
    gsize n_terms;       /* of a sum, each with its own x and w; 1: no sum */
    gboolean adds;       /* to what y holds */
    gsize n_taps;        /* of a window */
    gint64 tap_step;     /* elements from tap to tap */
    guint64 reserved[4]; /* 0 */
} CtWindowRun;

/* The arguments of a loop over `n` contiguous elements. */
typedef struct {
    gconstpointer settings;
    const gconstpointer *x; /* [n_x] */
    gboolean x_together;    /* the inputs of a group are contiguous, else each is by itself */
    gconstpointer w;
    gsize w_step;      /* 0: the same for all, or 1 */
    const gpointer *y; /* [n_y] */
    gboolean y_together;
    gsize n; /* below 2³² */
    guint64 *counters;
    const CtWindowRun *window; /* NULL: neither a window nor a shift */
    guint8 *marks;             /* [n] set by CT_FORM_MARKED_JOIN: 1 valid, 0 marked */
    guint64 reserved[2];       /* 0 */
} CtFormRun;

/* The macros fill it in. */
typedef struct {
    const char *name; /* of the function */
    const char *file; /* "scale.kernel.h" */
    CtFormKind kind;
    CtIsa isa;
    CtType x, w, y;
    guint n_x, n_y;
    guint n_counters; /* of the stage, that it adds to: 0 or 1 */
    gsize settings_bytes;
    void (*run)(const CtFormRun *run);
    const CtFoldKernel *fold; /* with CT_FORM_FOLD, instead of `run` */
    guint64 reserved[3];      /* 0 */
} CtFormKernel;

/* ---- what a stage chooses ---- */

#define CT_FORM_SETTINGS  256 /* bytes, at most */
#define CT_FORM_GROUP_MAX 8   /* n and m, at most */

/* An array over some axes of the input, other than time; every element of the input gets the entry
 * at its position. */
typedef struct {
    CtType type;                   /* cf64 or f64; it is converted to the type of the kernel's w */
    guint n_axes;                  /* 0: one entry for all */
    const char *axes[CT_MAX_AXES]; /* as from ct_axis_name() */
    gint64 lengths[CT_MAX_AXES];   /* that of the axis, or 1: the same along it */
    gpointer data;       /* in this order of axes; allocated with GLib, the kit frees it */
    guint64 reserved[2]; /* 0 */
} CtFormTable;

/* Samples of the output of a join (<cornerturn/kit/join.h>) that are invalid whatever its inputs
 * hold: those of some lanes, and of all lanes at some times. */
typedef struct {
    gint64 n_lanes;
    guint8 *lanes; /* [lane of the output] 1: invalid; allocated with GLib; NULL: none */
    guint n_times;
    gint64 (*times)[2]; /* [n_times] ticks, from the first on and before the second; allocated with
                           GLib; NULL: none */
} CtFormMask;

typedef union {
    guint8 bytes[CT_FORM_SETTINGS];
    gdouble alignment;
} CtFormSettings;

/* What `choose` fills in; it is cleared before. */
typedef struct {
    const char *kernel; /* NULL: CT_FORM_CONVERT */
    gsize settings_bytes;
    CtFormSettings settings;
    CtFormTable table;
    const char *group_in, *group_out; /* axes, with CT_FORM_GROUP */
    gpointer too_large;               /* set by ct_form_kernel: settings that the kit refuses */
    CtFormMask mask;                  /* of a join; the kit frees what it has */
    guint64 reserved[3];              /* 0 */
} CtFormChoice;

/* Chooses a kernel; returns its settings, cleared, to be filled in: CT_FORM_SETTINGS bytes at most.
 */
static inline gpointer
ct_form_kernel(CtFormChoice *choice, const char *kernel, gsize settings_bytes)
{
    choice->kernel = kernel;
    choice->settings_bytes = settings_bytes;
    if (settings_bytes <= CT_FORM_SETTINGS)
        return choice->settings.bytes;
    g_free(choice->too_large);
    return choice->too_large = g_malloc0(settings_bytes);
}

/* A const table of the plugin, from CT_FORM. */
typedef struct {
    const char *plugin;
    /* Chooses the kernel of a node and fills in its settings and tables; called in prepare. NULL:
     * the kernel has a name below, or there is none (CT_FORM_CONVERT). */
    gboolean (*choose)(const CtNode *node, CtFormChoice *choice, GError **error);
    const CtFormKernel *const *begin, *const *end; /* the plugin's kernels */
    const char *kernel;                            /* the one for every node */
    /* Fills in the cleared settings of `kernel`; called in ct_form_infer, too, so that it may
     * refuse parameters. NULL: they stay 0. */
    gboolean (*set)(const CtNode *node, gpointer settings, GError **error);
    const char *length;  /* CT_PARAM_INT: samples of a fold's hop, or of a window */
    guint64 reserved[1]; /* 0 */
} CtForm;

/* The linker defines these where a plugin has kernels. */
extern const CtFormKernel *const __start_ct_kernels[] __attribute__((weak, visibility("hidden")));
extern const CtFormKernel *const __stop_ct_kernels[] __attribute__((weak, visibility("hidden")));

/* Initialise a CtForm that chooses, and one that names its kernel, with further members. */
#define CT_FORM(plugin_, choose_)                                                                  \
    {                                                                                              \
        .plugin = plugin_, .choose = choose_, .begin = __start_ct_kernels,                         \
        .end = __stop_ct_kernels                                                                   \
    }
#define CT_KERNEL_FORM(plugin_, kernel_, ...)                                                      \
    {                                                                                              \
        .plugin = plugin_, .kernel = kernel_, .begin = __start_ct_kernels,                         \
        .end = __stop_ct_kernels, __VA_ARGS__                                                      \
    }

/* ---- stages ---- */

/* The infer of a stage whose `form` names its kernel, or none. It sets the footprint of a fold or a
 * window from the parameter `length`, that of a join by ct_join_infer, and describes the first
 * output as a copy of the first input, of the type that the port declares if that is one type. If
 * the output has CT_PORT_MARKED, it loses samples along all axes of a fold, and along those of the
 * second input of a join. The second output of a fold, if there is one, has the numbers of valid
 * samples. All parameters that `set` reads count as used. The caller may then change the first
 * output. Groups and shifts have an infer of their own. */
CT_EXPORT gboolean ct_form_infer(CtNode *node, GError **error);

/* The same, with the type of the first output, which `param` gives: as many parts as the input. */
CT_EXPORT gboolean ct_form_infer_type(CtNode *node, const char *param, CtType type, GError **error);

/* Members of a CtStage whose parameters have no effect but by `set` and `length`. */
#define CT_FORM_STAGE(form_) .infer = ct_form_infer, .infer_uses_params = TRUE, .form = &form_

/* ---- variants ---- */

CT_EXPORT gboolean ct_form_prepare(CtPrepare *prepare, gpointer *state, GError **error);
CT_EXPORT gboolean ct_form_work(gpointer state, const CtWork *work, GError **error);
CT_EXPORT void ct_form_finish(gpointer state);
CT_EXPORT gboolean ct_form_prepare_device(CtPrepare *prepare, gpointer *state, GError **error);
CT_EXPORT gboolean ct_form_work_device(gpointer state, const CtWork *work, GError **error);
CT_EXPORT void ct_form_finish_device(gpointer state);

/* The tunables of variants for devices. */
#define CT_FORM_MAP_TUNABLES ((const CtTunable[]){CT_DEVICE_MAP_TUNABLES, {0}})
#define CT_FORM_TABLE_TUNABLES                                                                     \
    ((const CtTunable[]){                                                                          \
        {"units", CT_VALUES(1, 2, 4, 8), 8, "times per thread; of 16 bytes at most 4"}, {0}})

#define CT_FORM_VARIANT_HOST(form_, stage_, rows_, isa_, name_)                                    \
    &(const CtVariant)                                                                             \
    {                                                                                              \
        .name = name_, .backend = CT_CPU, .isa = isa_,                                             \
        .covers = (const char *const[]){stage_, NULL}, .rows = rows_, .split = "*",                \
        .form = &form_, .prepare = ct_form_prepare, .work = ct_form_work,                          \
        .finish = ct_form_finish,                                                                  \
    }
#define CT_FORM_VARIANT_DEVICE(form_, stage_, rows_, tunables_)                                    \
    &(const CtVariant)                                                                             \
    {                                                                                              \
        .name = "cuda", .backend = CT_CUDA, .covers = (const char *const[]){stage_, NULL},         \
        .rows = rows_, .tunables = tunables_, .form = &form_, .prepare = ct_form_prepare_device,   \
        .work = ct_form_work_device, .finish = ct_form_finish_device,                              \
        .flags = CT_VARIANT_ATTACHABLE,                                                            \
    }

#ifdef __x86_64__
#define CT_FORM_VARIANTS_HOST(form_, stage_, rows_)                                                \
    CT_FORM_VARIANT_HOST(form_, stage_, rows_, CT_ISA_AVX512, "cpu-avx512"),                       \
        CT_FORM_VARIANT_HOST(form_, stage_, rows_, CT_ISA_AVX2, "cpu-avx2"),                       \
        CT_FORM_VARIANT_HOST(form_, stage_, rows_, CT_ISA_BASELINE, "cpu-baseline")
#else
#define CT_FORM_VARIANTS_HOST(form_, stage_, rows_)                                                \
    CT_FORM_VARIANT_HOST(form_, stage_, rows_, CT_ISA_BASELINE, "cpu-baseline")
#endif

/* The variants of a form, in order of preference, with the rows of the host and of devices; the
 * second macro is for forms with a table. */
#define CT_FORM_VARIANTS(form_, stage_, rows_, device_rows_)                                       \
    CT_FORM_VARIANT_DEVICE(form_, stage_, device_rows_, CT_FORM_MAP_TUNABLES),                     \
        CT_FORM_VARIANTS_HOST(form_, stage_, rows_)
#define CT_FORM_TABLE_VARIANTS(form_, stage_, rows_, device_rows_)                                 \
    CT_FORM_VARIANT_DEVICE(form_, stage_, device_rows_, CT_FORM_TABLE_TUNABLES),                   \
        CT_FORM_VARIANTS_HOST(form_, stage_, rows_)

G_END_DECLS
