/* SPDX-License-Identifier: BSD-3-Clause */
/* All that a stage author includes: stages, their variants, and the plugin that brings them.
 *
 * A *stage* says what is computed: ports, parameters, and how the description of its outputs
 * follows from that of its inputs (`infer`). A *variant* is one way of computing it: backend,
 * instruction set, layouts, and the functions. The core parses, checks, plans, allocates,
 * schedules.
 *
 * Per block there are two steps. `advance`, serial and on the host, says what a firing consumes and
 * produces; a stage with a declared footprint needs none. `work` computes a range of the items that
 * the variant declares independent, on any worker, or once on a stream, where it only enqueues.
 * Neither allocates, blocks, or waits for a device (a variant that waits, see below, may).
 *
 * Threads: `infer`, `operations`, `accuracy`, `fits` and `differs` are called by whoever plans, any
 * number of times, and keep nothing. `prepare` is called once, before any thread of the run starts,
 * `finish` once, after all have ended; `advance` on any worker, but once at a time for a node;
 * `work` on many workers at once; `complete` after the last of it. Where nobody reads any output,
 * neither `advance` nor `work` is called.
 *
 * A function that takes an error sets it when it returns FALSE or NULL, and only then: otherwise
 * the core reports a fault of the plugin, by node and function. The core also does so where a
 * function gives an impossible result (more samples than there is room for, a length below 0).
 * Strings and structs in these tables are the plugin's, and constant; what is handed in belongs to
 * the core and holds for the call, but for what prepare gets, which holds until finish.
 *
 * The answer must not depend on where the stream was cut into blocks. */
#pragma once

#include <cornerturn/cuda.h>
#include <cornerturn/isa.h>
#include <cornerturn/params.h>
#include <cornerturn/tensor.h>

G_BEGIN_DECLS

/* Raised whenever a struct of this header changes; plugins of another version are refused. */
#define CT_ABI_VERSION 6

typedef struct CtStage CtStage;
typedef struct CtVariant CtVariant;

#define CT_ERROR ct_error_quark()
CT_EXPORT GQuark ct_error_quark(void);
typedef enum {
    CT_ERROR_CONFIG,    /* the graph's text */
    CT_ERROR_PARAMETER, /* a value that a stage cannot take */
    CT_ERROR_SHAPE,     /* streams that do not fit a port or each other */
    CT_ERROR_LAYOUT,    /* layouts: malformed, or none that fits */
    CT_ERROR_PLUGIN,    /* a shared object that is no plugin, of another ABI, or misbehaves */
    CT_ERROR_IO,        /* files and packets */
    CT_ERROR_MEMORY,
    CT_ERROR_DEVICE,
    CT_ERROR_DATA,      /* what a file or packet holds */
    CT_ERROR_CANCELLED, /* told to stop */
    CT_ERROR_WARNING    /* a warning, where warnings are errors */
} CtError;

/* ---- ports ---- */

typedef enum {
    CT_PORT_OPTIONAL = 1 << 0,
    CT_PORT_STATIC = 1 << 1, /* an input that is read before the stream starts and holds one whole
                                block (no history, nothing to consume); a later block takes effect
                                where its tick stands on the clock of the first input that flows */
    CT_PORT_SHAPE = 1 << 2,  /* an input of which only the description is used: no data flow, and
                                it makes no cycle */
    CT_PORT_MANY = 1 << 3,   /* the stage's one input: takes a list of links */
    CT_PORT_UNREAD = 1 << 4  /* an input that is counted, but whose elements nobody looks at */
} CtPortFlags;

/* A row of a stage's table of inputs or outputs; the table ends with a row without name. */
typedef struct {
    const char *name;
    const char *layout; /* what any variant may rely on: types and axes that must stand, as a
                           pattern in any order, "ci8|cf32{time station ...}" */
    CtPortFlags flags;
    const char *help;
} CtPort;

/* ---- shape rule ---- */

typedef enum {
    CT_FOOTPRINT_WINDOW, /* output sample i is made of input samples i·hop … i·hop + window − 1;
                            only whole windows count */
    CT_FOOTPRINT_SUM, /* output sample i sums input samples i·hop … (i + 1)·hop − 1; the variant
                         carries the partial sum from block to block; the last may be short */
    CT_FOOTPRINT_OWN /* no fixed ratio: infer itself sets the outputs' clock, start and time length
                        (a copy of an input has them), and every variant has an `advance`, which
                        goes by ticks. From the tick of an output sample (less `offset`) on, it
                        needs `window` samples of each input, and no fewer than last as long as the
                        output sample; it makes the sample as soon as they stand, and consumes what
                        ends before the next. An input that has not begun by that tick, or has
                        ended, is not waited for, or the output begins and ends with it. Rings are
                        sized by this, and predictions made */
} CtFootprintKind;

typedef enum {
    CT_LANES_ALL, /* an output is valid where all the lanes that it is made of are */
    CT_LANES_ANY  /* … where any of them is: a beam of the stations that there are */
} CtLanes;

/* What one output sample needs of the input along time. {WINDOW, 1, 1, 0, ALL}, sample by sample,
 * is the default. `window` > `hop` is history: the core keeps it. */
typedef struct {
    CtFootprintKind kind;
    gint64 window;
    gint64 hop;
    gint64 offset; /* the output's start: its window's first sample plus this many samples */
    CtLanes lanes; /* how lanes of validity merge whose axis the output has no more */
    gint64 needs;  /* samples of the window that an output sample is really made of, the most of any
                      lane, where each lane has its own (delays); 0: all. It serves predictions */
    gboolean moves; /* with `needs`: which samples these are changes along the stream */
} CtFootprint;

/* One node of a graph as a stage sees it. Inputs and outputs are in the order of the stage's tables
 * (one input per link for CT_PORT_MANY); type CT_TYPE_NONE marks one that is not connected. */
typedef struct {
    const char *name;
    const CtStage *stage;
    const CtParams *params;
    guint n_inputs;
    const CtStream *inputs;
    const char *const *input_names; /* nodes that feed the inputs, for messages; NULL: none does */
    guint n_outputs;
    CtStream *outputs;
    CtFootprint footprint;
    CtLayout *input_layouts;  /* wishes from the parameters: patterns that every variant's port */
    CtLayout *output_layouts; /* must also match; empty ones ask nothing */
    gint64 block;             /* a source's `block: {time: …}`; 0: the planner chooses */
} CtNode;

/* The elements of a stream, moduli of complex ones, and how far they may be from exact arithmetic.
 */
typedef struct {
    gdouble largest, rms;
    gdouble error;     /* the most that one is off, where the inputs are exact */
    gdouble rms_error; /* in the mean square, with what comes of the inputs' rms_error */
} CtAccuracy;

/* The most counters that a stage may have. */
#define CT_MAX_COUNTERS 16

/* A stage. */
struct CtStage {
    const char *name;            /* "fir", "file.source" */
    const char *summary;         /* one line */
    guint version;               /* of parameters and ports: raised when they change */
    const CtPort *inputs;        /* NULL: none */
    const CtPort *outputs;       /* NULL: none */
    const CtParam *params;       /* NULL: none */
    const char *const *counters; /* names of what it counts, "clipped"; NULL-terminated, or NULL */

    /* Describes the outputs: type, axes and coordinates, from inputs and parameters, and sets the
     * footprint and the node's wishes. Outputs come in as clear streams. Where there is an input
     * with time, the core then fills the outputs' clock, start and time length from the footprint;
     * a source fills them itself. It may read small files (headers, coefficients), and checks
     * whatever can be known without running. */
    gboolean (*infer)(CtNode *node, GError **error);

    /* infer uses every parameter that has an effect with the others, by a getter or ct_params_use,
     * and no other: so a check already warns of those that have none. Otherwise what infer and
     * prepare leave unused is warned of when a run is prepared. */
    gboolean infer_uses_params;

    /* Useful operations per sample (along time) of the first output, of the first input for a sink;
     * NULL: none to speak of. For plans, statistics and benchmarks. */
    gdouble (*operations)(const CtNode *node);

    /* How well a variant of the stage, any of them, computes: sets the errors of the outputs, from
     * what the elements are like (those of inputs without data are 0). By this `cornerturn verify`
     * judges. NULL: elements are only moved, and as good as they come. */
    void (*accuracy)(const CtNode *node, const CtAccuracy *inputs, CtAccuracy *outputs);
    const char *accuracy_rule; /* `error` in a formula: "(n_taps + 1) u Σ|h| |x|, u = 2⁻²⁴" */

    /* The layouts that the field's published codes have for it, as a row of a variant has them
     * (CtRow); NULL: none that is known. For --default-layouts, which compares with them. */
    const char *default_layouts;
};

/* ---- variants ---- */

typedef enum { CT_REFERENCE, CT_CPU, CT_CUDA, CT_N_BACKENDS } CtBackend;

/* Instruction sets; a variant runs where the processor has its own. */
typedef enum { CT_ISA_BASELINE, CT_ISA_AVX2, CT_ISA_AVX512, CT_N_ISAS } CtIsa;

/* The instruction set that this copy of a file is compiled for. */
#if defined(__AVX512F__)
#define CT_ISA_THIS CT_ISA_AVX512
#elif defined(__AVX2__)
#define CT_ISA_THIS CT_ISA_AVX2
#else
#define CT_ISA_THIS CT_ISA_BASELINE
#endif

/* Layouts that a variant can run, one row a choice:
 *
 *     "ci8|cf32[... time] -> cf32[... time phase]"
 *     "cf32[channel time station pol], cf32[channel beam station] -> cf32[channel time beam pol]"
 *
 * inputs, arrow, outputs, each in port order, all ports named (an unconnected optional one is then
 * passed over; a source has nothing before the arrow, a sink nothing after it; a CT_PORT_MANY input
 * is one pattern for all). Between the ports of a row the same name is the same axis and `...`
 * stands for the same axes in the same order; `{a b}` on both sides means that both have the common
 * axes in one order, with the axes that only the output has in the place of those that only the
 * input has (phase and channel, station and baseline, …; pol' behind pol), or last. A row whose
 * order may differ between the ports (transpose) begins with "any: "; there, a pattern of nothing
 * but `...` takes blocks and `complex` too. */
typedef struct {
    const char *layouts;
    gdouble efficiency; /* share of the ceiling (bytes over bandwidth, operations over peak: on the
                           host both, one after the other, on a device the larger) that this row
                           reaches in the model: 0 to 1; above that of the single-precision peak
                           alone, where it computes on other units */
} CtRow;

/* What changes a variant's speed and nothing else: the size of a tile, samples per thread. A row of
 * a variant's table; the table ends with a row without name. */
typedef struct {
    const char *name;     /* "tile": letters, digits and _, as those of parameters */
    const gint64 *values; /* rising; with their number by CT_VALUES */
    guint n_values;
    gint64 fallback; /* one of them: the value where none is asked for, and none measured */
    const char *help;
} CtTunable;

/* {"tile", CT_VALUES(2, 4, 8), 4, "stations along a side"} */
#define CT_VALUES(...)                                                                             \
    (const gint64[]){__VA_ARGS__}, (guint)(sizeof((const gint64[]){__VA_ARGS__}) / sizeof(gint64))

/* The most that a variant may have. */
#define CT_MAX_TUNABLES 8

/* A port as the plan has bound it, for prepare. */
typedef struct {
    const CtStream *stream; /* type CT_TYPE_NONE: not connected */
    CtLayout layout;        /* concrete */
    gint64 max_samples;     /* the most that one firing sees (with history) or makes */
} CtBinding;

/* What prepare gets, and what it may set. */
typedef struct {
    const CtNode
        *nodes; /* what the variant covers, in the order of `covers`; they live until finish */
    guint n_nodes;
    guint n_inputs; /* of the first node */
    const CtBinding *inputs;
    guint n_outputs; /* of the last node */
    const CtBinding *outputs;
    guint n_workers;
    const gint64 *tuning; /* a value of each of the variant's tunables, in the order of its table */
    CtDevice *device;     /* of a cuda variant; NULL: of another */
    gsize scratch_bytes; /* set: bytes of scratch that each worker needs, 64-byte aligned; of a cuda
                            variant, of device memory that each firing needs, 256-byte aligned */
    gsize upload_bytes;  /* set by a cuda variant: bytes that a firing uploads, see cuda.h */
    gint64 n_items;      /* set, with split "*": items of a firing, whatever its length */
} CtPrepare;

/* An input as advance sees it: what has arrived and is not consumed yet. */
typedef struct {
    CtBlock block;   /* n_samples of it stand, contiguous; for a static port the current block */
    gboolean ended;  /* no more will come after these */
    gint64 consumed; /* set: samples that will not be needed again */
    gint64 used;     /* set: samples from the first that work may read (consumed and history) */
} CtArrival;

/* An output as advance sees it. */
typedef struct {
    gint64 room;     /* samples that can be produced now */
    gint64 produced; /* set */
    gint64 start;    /* set: tick of the first sample produced; must follow on what was before */
    guint8
        *validity; /* [lane][room], all 1 beforehand; write zeros where data are invalid, and set */
    gint64 validity_stride;
    gboolean invalid; /* set: some are invalid; otherwise `validity` is not looked at */
} CtDeparture;

typedef struct {
    CtArrival *inputs;
    CtDeparture *outputs;
    gboolean ended;    /* set by a source, with the last samples, and by a stage of
                          CT_FOOTPRINT_OWN that will make no more, whatever its inputs still have;
                          others end when an input does, stages of CT_FOOTPRINT_OWN when all do */
    guint64 *counters; /* in the order of the stage's `counters` */
    gpointer core;     /* the core's own */
} CtAdvance;

/* A firing, or a range of it. Blocks are those that advance decided on: inputs hold `used` samples,
 * outputs `produced`. */
typedef struct {
    const CtBlock *inputs;  /* data NULL: not connected */
    const CtBlock *outputs; /* data NULL: nobody reads this port */
    gint64 begin, end;      /* items */
    gboolean ended;         /* nothing comes after this firing: partial sums are due */
    gpointer scratch;       /* this worker's */
    guint64 *counters;      /* this worker's; in the order of the stage's `counters` */
    CtQueue *queue;         /* of a cuda variant: where to enqueue; NULL: of another */
} CtWork;

struct CtVariant {
    const char *name; /* "reference", "cpu-avx2" */
    CtBackend backend;
    CtIsa isa;
    const char *const
        *covers; /* stages, NULL-terminated: {"fir", NULL}; a fused one {"fir", "fft", NULL} */
    const CtRow *rows; /* in order of preference, ends with a row without layouts */

    /* Of a row's efficiency, what is left in the model where the nodes' axes are short, so that
     * vectors are half empty: more than 0, to 1. The layouts are those of all ports, concrete,
     * empty where nothing is connected. NULL: all of it. */
    gdouble (*share)(const CtNode *nodes, const CtLayout *inputs, const CtLayout *outputs);

    /* Any combination of their values gives the same answer, to rounding: where one cannot be (a
     * tile is larger than all that there is), prepare takes what is nearest to it. NULL: none. */
    const CtTunable *tunables;

    /* Whether a tuning is worth a trial for these nodes: FALSE where it comes to the same as
     * another. The default always is. NULL: every one is. */
    gboolean (*differs)(const CtNode *nodes, const gint64 *tuning);

    /* The axis of the first output (of the first input for a sink) along which work may be split;
     * "time": items are the output's samples (a sink's: the input's); "*": prepare sets n_items;
     * NULL: one item. */
    const char *split;

    /* Source or sink that waits for files or the network: gets a thread of its own, where advance
     * and work may block. */
    gboolean waits;

    /* Whether this variant can do these nodes, beyond types and layouts (NULL: it can). Where it
     * cannot, *reason says why, allocated for the caller. */
    gboolean (*fits)(const CtNode *nodes, char **reason);

    /* May fail and allocate. *state is the variant's own and given to finish even after a failure,
     * NULL where prepare left it so. */
    gboolean (*prepare)(CtPrepare *prepare, gpointer *state, GError **error);

    /* NULL: ct_advance_default. */
    gboolean (*advance)(gpointer state, CtAdvance *advance, GError **error);

    /* NULL: the work is the embedding program's; for the core's own `input` and `output`. */
    gboolean (*work)(gpointer state, const CtWork *work, GError **error);

    /* Sinks: the stream has ended in order, or an interrupt has ended a source that it comes from
     * (`interrupted`): write all that is left, so that as little as possible can fail later. All
     * sinks of a run are closed before the first is completed. Not called after a failure. May be
     * NULL. */
    gboolean (*close)(gpointer state, gboolean interrupted, GError **error);

    /* Sinks: make the result final. Not called after a failure. NULL: there is none, nor is
     * anything closed. */
    gboolean (*complete)(gpointer state, gboolean interrupted, GError **error);

    /* Frees, the half-prepared too; not called where prepare left the state NULL. May be NULL. */
    void (*finish)(gpointer state);
};

/* The rule of the footprint (of a fused variant: of its stages in a row), for variants that only
 * want to add to it. Consumes and produces what the footprint allows; a sink consumes all that
 * stands. Sets each output's validity: of a WINDOW, valid where every sample under the window is;
 * of a SUM, where any sample is. After work, the core zeroes what is invalid. */
CT_EXPORT gboolean ct_advance_default(CtAdvance *advance, GError **error);

/* Memory for a table of `n` items of `bytes` each, all zero, for g_free. NULL and an error that
 * tells `what` it was for where there is none: GLib's own functions end the process there. */
CT_EXPORT gpointer ct_table_new(gsize n, gsize bytes, const char *what, GError **error);
#define CT_TABLE(type, n, what, error) ((type *)ct_table_new((gsize)(n), sizeof(type), what, error))

/* The folder in which plugins and the core keep what saves work the next time, the user's own
 * "…/cornerturn", which may not be there; allocated. In a process with the rights of another
 * account (setuid) that account's, whatever the environment says. */
CT_EXPORT char *ct_cache_folder(void);

/* ---- the plugin ---- */

typedef struct {
    guint32 magic;       /* CT_PLUGIN_MAGIC */
    guint32 abi_version; /* CT_ABI_VERSION */
    const char *name;
    const CtStage *const *stages;     /* NULL-terminated */
    const CtVariant *const *variants; /* NULL-terminated, in order of preference */
} CtPlugin;

#define CT_PLUGIN_MAGIC 0x43546e31u /* "CTn1" */

/* Defines the one symbol that a plugin exports:
 *
 *     CT_PLUGIN("fir", ((const CtStage *const[]){&fir, NULL}), ((const CtVariant *const[]){…,
 * NULL}));
 */
#define CT_PLUGIN_SYMBOL "ct_plugin"
#define CT_PLUGIN(name_, stages_, variants_)                                                       \
    CT_EXPORT extern const CtPlugin ct_plugin;                                                     \
    const CtPlugin ct_plugin = {CT_PLUGIN_MAGIC, CT_ABI_VERSION, name_, stages_, variants_}

G_END_DECLS
