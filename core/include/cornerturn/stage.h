/* SPDX-License-Identifier: BSD-3-Clause */
/* The interface for stage authors: stages, their variants, and the plugin that contains them.
 *
 * A *stage* declares what is computed: ports, parameters, and a function that describes its outputs
 * from its inputs (`infer`). A *variant* is one way of computing it: backend, instruction set,
 * layouts, and functions. The core parses, checks, plans, allocates and schedules.
 *
 * A firing has two steps. `advance` runs serially on the host and decides how many samples the
 * firing consumes and produces; a stage with a declared footprint needs none. `work` computes a
 * range of the items that the variant declares independent, on any worker; on a device it is called
 * once, and only enqueues. Neither may allocate, block, or wait for a device (except in a variant
 * that `waits`).
 *
 * Threads: `infer`, `operations`, `accuracy`, `share`, `fits` and `differs` are called during
 * planning, any number of times, and keep no state. `prepare` is called before any thread of the
 * run starts, and `finish` after all have ended; a change of a parameter calls both during the run
 * as well. `advance` is called on any worker, but never twice at a time for one node; `work` is
 * called on many workers at once; `complete` after the last call of `work`. If nothing reads any
 * output of a node, neither `advance` nor `work` is called.
 *
 * Changes of parameters (CT_PARAM_LIVE): the core calls `infer` with the new values, which must
 * describe the same outputs, footprint and wishes, and then `prepare` for a second state. It does
 * so on a thread that no samples wait for, while the first state works. From the tick of the change
 * on the second state takes the place of the first between two firings: all output samples whose
 * tick is at least that of the change are made with the new values, and all others with the old
 * ones. A window uses one set of values for all its samples, those before the tick too. `finish`
 * frees the first state when no work uses it any more, also on another thread. So only a stage
 * whose footprint is a WINDOW has such parameters, and its variants (fused ones too) keep nothing
 * in their states that an output depends on but what `prepare` makes from parameters and streams.
 *
 * Arrays over ports (CT_PORT_PREPARED): where such an input is connected, each of its blocks is
 * like a change of a parameter, by the same rules for windows, footprints and states. The core
 * calls `prepare` for the block in effect, on the thread that is about to begin the firing, and the
 * samples of this node wait for it. The first `prepare`, before the run, gets a block of zeros, and
 * so does that of a changed parameter; no firing works with their states, but they must succeed,
 * and no later block may need more scratch memory or uploads.
 *
 * A function that takes an error sets it if and only if it returns FALSE or NULL; otherwise the
 * core reports a fault of the plugin, with node and function. It also does so if a function gives
 * an impossible result (more samples than there is room for, a length below 0). Strings and structs
 * in the tables belong to the plugin and are constant. Arguments belong to the core and are valid
 * during the call; those of prepare are valid until finish.
 *
 * The result must not depend on where the stream is cut into blocks.
 *
 * Versions: a plugin loads with every Cornerturn of the same CT_ABI_VERSION, older or newer than
 * its headers. In the structs of tables (those that CtSizes names), new members come last. The core
 * copies tables into structs of its own, in which a member that the plugin's headers lack is 0. All
 * other structs keep their sizes: new members take the place of `reserved`, and a struct without
 * `reserved` never changes. 0 in a new member means what held before. Enumerations grow at their
 * ends. Functions are added, and never change. If a plugin sets a member, a flag or a kind that
 * this Cornerturn does not know, or calls a function that it lacks, it is refused, or its node
 * fails. The same holds for the kit (cornerturn/kit). Its headers *-struct.h are for kernels, which
 * the Cornerturn that runs compiles with its own headers: names keep their meaning, and layouts may
 * change. */
#pragma once

#include <cornerturn/cuda.h>
#include <cornerturn/error.h>
#include <cornerturn/isa.h>
#include <cornerturn/params.h>
#include <cornerturn/tensor.h>

G_BEGIN_DECLS

/* Raised only if plugins must be compiled again. Plugins of another version are refused. */
#define CT_ABI_VERSION 7

typedef struct CtStage CtStage;
typedef struct CtVariant CtVariant;
typedef struct CtEpilogue CtEpilogue; /* <cornerturn/kit/epilogue.h> */
typedef struct CtEpilogue CtPrologue; /* <cornerturn/kit/prologue.h> */

/* ---- ports ---- */

typedef enum {
    CT_PORT_OPTIONAL = 1 << 0,
    CT_PORT_STATIC = 1 << 1, /* an input that is read before the stream starts, one whole block at a
                                time (no history, nothing to consume); a later block takes effect
                                when the first streaming input reaches its tick */
    CT_PORT_SHAPE = 1 << 2, /* an input of which only the description is used: no data flow over it,
                               and it makes no cycle */
    CT_PORT_MANY = 1 << 3,  /* the stage's only input, which takes a list of links */
    CT_PORT_UNREAD = 1 << 4,  /* an input whose samples are counted, but not read */
    CT_PORT_MARKED = 1 << 5,  /* an output of which work may mark samples as invalid, see CtWork */
    CT_PORT_PREPARED = 1 << 6 /* a CT_PORT_STATIC input whose blocks `prepare` reads, and nothing
                                 else: an array in place of a parameter, see CtNode.blocks */
} CtPortFlags;

/* A row of a stage's table of inputs or outputs. Inputs with CT_PORT_PREPARED come last. A row
 * without a name ends the table. */
typedef struct {
    const char *name;
    const char *layout; /* the types and axes that every variant may rely on, as a pattern in any
                           order: "ci8|cf32{time station ...}" */
    CtPortFlags flags;
    const char *help;
} CtPort;

/* A table of ports, whose last, empty row the macro adds:
 *
 *     .inputs = CT_PORTS({"in", "cf32{time ...}", 0, "samples"}), */
#define CT_PORTS(...) ((const CtPort[]){__VA_ARGS__, {0}})

/* ---- footprints ---- */

typedef enum {
    CT_FOOTPRINT_WINDOW, /* output sample i is made of input samples i·hop … i·hop + window − 1;
                            only whole windows count */
    CT_FOOTPRINT_SUM, /* output sample i sums input samples i·hop … (i + 1)·hop − 1; the variant
                         carries the partial sum from block to block; the last sum may be short */
    CT_FOOTPRINT_OWN /* no fixed ratio: infer itself sets the clock, start and length in time of the
                        outputs (a copy of an input has them), and every variant has an `advance`,
                        which works with ticks. From the tick of an output sample (less `offset`)
                        on, the output sample needs `window` samples of each input, or as many as
                        last as long as the output sample if these are more. advance makes the
                        output sample as soon as these are there, and consumes the input samples
                        that end before the next one. It does not wait for an input that has not
                        begun by that tick, or all of whose samples it has consumed, unless the
                        output begins and ends with that input. Rings are sized, and predictions
                        made, by this rule */
} CtFootprintKind;

typedef enum {
    CT_LANES_ALL, /* an output is valid if all the lanes that it is made of are */
    CT_LANES_ANY  /* an output is valid if any of them is: a beam of the stations that are there */
} CtLanes;

/* The input samples, along time, that an output sample is made of. The default is {WINDOW, 1, 1, 0,
 * ALL}, sample by sample. If `window` > `hop`, the core keeps the history. */
typedef struct {
    CtFootprintKind kind;
    gint64 window;
    gint64 hop;
    gint64 offset;  /* of a window: the start of the output is the first sample of its window, plus
                       this many samples. Of a sum, at least 0 and less than the hop: so many samples
                       of the stream come before the first sum. They are left out, and `index` of the
                       blocks that advance and work see counts samples from there */
    CtLanes lanes;  /* how lanes of validity merge along axes that the output does not have */
    gint64 needs;   /* how many samples of the window an output sample is really made of, at most in
                       any lane, if each lane has its own (delays); 0: all. Used for predictions */
    gboolean moves; /* with `needs`: which samples these are changes along the stream */
    guint64 is_unmarked; /* 1: work of this node marks no samples, though an output of its stage has
                            CT_PORT_MARKED; readers need not wait for marks. Else 0 */
    guint64 reserved[1]; /* 0 */
} CtFootprint;

/* The keys of the graph beside its nodes. */
typedef struct {
    CtObservation *observation; /* of its keys `observation` and `stations`; NULL: it has neither.
                                   That of a stream (CtStream) also has what its files say */
    CtLabels *stations;         /* that `labels` of the node names; NULL: none */
    guint64 reserved[6];        /* 0 */
} CtGraphFacts;

/* A node of a graph as its stage sees it. Inputs and outputs are in the order of the stage's tables
 * (with CT_PORT_MANY, one input per link). Type CT_TYPE_NONE marks a port that is not connected. */
typedef struct {
    const char *name;
    const CtStage *stage; /* the core's copy; the rows of its tables may be longer than in the
                             plugin's headers */
    const CtParams *params;
    guint n_inputs;
    const CtStream *inputs;
    const char *const *input_names; /* the nodes that feed the inputs, for messages; NULL: none */
    guint n_outputs;
    CtStream *outputs;
    CtFootprint footprint;
    CtLayout *input_layouts;  /* wishes: patterns, set from parameters, that the ports of every */
    CtLayout *output_layouts; /* variant must match as well; an empty one matches everything */
    gint64 block;             /* a source's `block: {time: …}`; 0: the planner chooses */
    const CtBlock *blocks;    /* [n_inputs] during prepare: of the inputs with CT_PORT_PREPARED that
                                 are    connected, the block to prepare for, in host memory, of the
                                 stream's    type and with the axes in the stream's order, that of time
                                 with length    1; of others, no data. Elsewhere NULL */
    gboolean seeks; /* set by the infer of a source: `prepare` and `advance` heed `skip`, and
                       the length of the bound stream where it is less than infer says */
    gboolean stops; /* during prepare: the graph's `stop` has made the stream shorter */
    gint64 skip;    /* during prepare: samples that infer has described, and that come before
                       the first one that is wanted: the bound stream starts later by as many */
    const CtGraphFacts *graph; /* NULL: the node is of no graph */
} CtNode;

/* The size of a stream's elements (of complex ones, of their moduli), and the bounds of their
 * errors. */
typedef struct {
    gdouble largest, rms;
    gdouble error;       /* bound of an element's error if the inputs are exact */
    gdouble rms_error;   /* root mean square of the error, including the inputs' rms_error */
    guint64 n;           /* elements that the size is of; 0: unknown */
    guint64 reserved[1]; /* 0 */
} CtAccuracy;

/* The root mean square of the error of `output` if its values, which were off by `error` levels
 * (root mean square), are rounded to levels: a share of at most `error` of them goes to another
 * level, and of few values, by chance, some more. */
CT_EXPORT gdouble ct_accuracy_rounded(const CtAccuracy *output, gdouble error);

/* The most counters that a stage may have. */
#define CT_MAX_COUNTERS 16

struct CtStage {
    const char *name;            /* "fir", "file.source" */
    const char *summary;         /* one line */
    guint version;               /* of parameters and ports: raise it when they change, so that
                                    variants in other plugins are refused (`covers`) */
    const CtPort *inputs;        /* NULL: none */
    const CtPort *outputs;       /* NULL: none */
    const CtParam *params;       /* NULL: none */
    const char *const *counters; /* names of its counters; NULL-terminated, or NULL. "clipped"
                                    counts elements of the first input that is not static (of the
                                    first output of a source): the user is warned if they are more
                                    than a hundredth, and told of the parameter "scale", if any */

    /* Describes the outputs: sets type, axes and coordinates from inputs and parameters, and sets
     * the footprint and the node's wishes. For an output with CT_PORT_MARKED it also sets `loses`
     * of the axes along which work marks samples. The outputs are clear beforehand. If there is an
     * input along time, the core then sets the clock, start and length in time of the outputs from
     * the footprint; a source sets them itself. infer may read small files (headers, coefficients),
     * and should check everything that can be checked without running. */
    gboolean (*infer)(CtNode *node, GError **error);

    /* Set if infer uses, by a getter or ct_params_use, every parameter that has an effect with the
     * given values, and no other: a check can then warn of parameters without effect. Otherwise the
     * warning comes when a run is prepared, for parameters that neither infer nor prepare has used.
     */
    gboolean infer_uses_params;

    /* Useful operations per sample (along time) of the first output or, for a sink, of the first
     * input. NULL: see operations_per_part; 0 there means practically none. Used for plans,
     * statistics and benchmarks. */
    gdouble (*operations)(const CtNode *node);

    /* The accuracy of every variant of the stage: sets the errors of the outputs from the
     * properties of the inputs (which are 0 for inputs without data). `cornerturn verify` uses it.
     * NULL: elements are only moved, and their errors do not change. */
    void (*accuracy)(const CtNode *node, const CtAccuracy *inputs, CtAccuracy *outputs);
    const char *accuracy_rule; /* the formula of `error`: "(n_taps + 1) u Σ|h| |x|, u = 2⁻²⁴" */

    /* The layouts of published codes for this stage, as a row of layouts (CtRow), for the
     * comparison by --default-layouts. NULL: none is known. */
    const char *default_layouts;

    /* In place of `operations`: a number for each part (a real number, or one of the two of a
     * complex one) of each sample of the first input of which an output sample is made. */
    gdouble operations_per_part;

    /* The form of the kit that ct_form_infer describes (cornerturn/kit/form.h); NULL: none. */
    gconstpointer form;

    /* Stages of files: the extensions of the names of their files (the parameter `path`), each with
     * its point: ".fil"; NULL-terminated. A node of the stage that `stands_for` names becomes a
     * node of this one if its path has one of them: "file.sink" with "beam.fil". `stands_for` NULL:
     * for itself alone. */
    const char *const *extensions;
    const char *stands_for;
    /* Why the stage can't be used: a library that was not there when the plugin was built, as
     * "HDF5 (libhdf5-dev)". The stage then needs no infer and no variants. NULL: it can. */
    const char *missing;
};

/* ---- variants ---- */

typedef enum { CT_REFERENCE, CT_CPU, CT_CUDA, CT_N_BACKENDS } CtBackend;

/* Instruction sets; a variant runs on processors that have its own. */
typedef enum {
    CT_ISA_BASELINE,
    CT_ISA_AVX2,
    CT_ISA_AVX512,
    CT_ISA_AVXVNNI,    /* AVX2, and products of bytes in vectors of 32 bytes */
    CT_ISA_AVX512VNNI, /* AVX-512, and the same in vectors of 64 */
    CT_ISA_AMX,        /* AVX-512 VNNI, and products of matrices of bytes, if the system allows */
    CT_N_ISAS
} CtIsa;

/* The instruction set that this copy of a file is compiled for. */
#if defined(__AMX_INT8__)
#define CT_ISA_THIS CT_ISA_AMX
#elif defined(__AVX512VNNI__)
#define CT_ISA_THIS CT_ISA_AVX512VNNI
#elif defined(__AVXVNNI__)
#define CT_ISA_THIS CT_ISA_AVXVNNI
#elif defined(__AVX512F__)
#define CT_ISA_THIS CT_ISA_AVX512
#elif defined(__AVX2__)
#define CT_ISA_THIS CT_ISA_AVX2
#else
#define CT_ISA_THIS CT_ISA_BASELINE
#endif

/* The layouts that a variant can run, one row per choice:
 *
 *     "ci8|cf32[... time] -> cf32[... time phase]"
 *     "cf32[channel time station pol], cf32[channel beam station] -> cf32[channel time beam pol]"
 *
 * A row has the patterns of all inputs, an arrow, and the patterns of all outputs, each in the
 * order of the ports. The pattern of an unconnected optional port is skipped; a source has nothing
 * before the arrow, a sink nothing after it; a CT_PORT_MANY input has one pattern for all its
 * links. Throughout a row, the same name is the same axis, and `...` stands for the same axes in
 * the same order. A CT_PORT_PREPARED input has no pattern. `{a b}` on both sides means that both
 * sides have the common axes in one order; axes that only the output has take the places of axes
 * that only the input has (phase and channel, station and baseline, …; pol' comes after pol), or
 * come last. A row that begins with "any: " allows the ports to have different orders (transpose);
 * in it, the pattern `...` alone also matches blocks and `complex`. "ports" and "any: ports" stand
 * for the patterns that the stage's ports declare. */
typedef struct {
    const char *layouts;
    gdouble efficiency; /* share of the ceiling that this row reaches in the model, 0 to 1. The
                           ceiling is bytes over bandwidth and operations over peak: their sum on
                           the host, the larger on a device. Above 1 if the row computes on other
                           units than those of the single-precision peak */
} CtRow;

/* Tables of one row: the patterns of the ports; for reference variants, in any order of axes. */
#define CT_PORT_ROWS(efficiency_) ((const CtRow[]){{"ports", efficiency_}, {0}})
#define CT_REFERENCE_ROWS         ((const CtRow[]){{"any: ports", 0.01}, {0}})

/* A property of a variant that changes its speed and not its result: the size of a tile, samples
 * per thread. A row of a variant's table; a row without a name ends the table. */
typedef struct {
    const char *name;     /* "tile": a-z, 0-9 and _ */
    const gint64 *values; /* rising; CT_VALUES gives them with their number */
    guint n_values;
    gint64 fallback; /* one of them: the value if none is given and none was measured */
    const char *help;
} CtTunable;

/* {"tile", CT_VALUES(2, 4, 8), 4, "stations along a side"} */
#define CT_VALUES(...)                                                                             \
    (const gint64[]){__VA_ARGS__}, (guint)(sizeof((const gint64[]){__VA_ARGS__}) / sizeof(gint64))

/* The most tunables of a variant. */
#define CT_MAX_TUNABLES 8

/* A port as the plan has bound it to a stream and a layout, for prepare. */
typedef struct {
    const CtStream *stream; /* type CT_TYPE_NONE: not connected */
    CtLayout layout;        /* concrete */
    gint64 max_samples;     /* the most that one firing reads (with history) or writes */
    guint64 reserved[4];    /* 0 */
} CtBinding;

/* The arguments of prepare, and the members that it may set. */
typedef struct {
    const CtNode *nodes; /* in the order of the variant's `covers`; valid until finish */
    guint n_nodes;
    guint n_inputs; /* of the first node */
    const CtBinding *inputs;
    guint n_outputs; /* of the last node */
    const CtBinding *outputs;
    guint n_workers;
    const gint64 *tuning; /* a value for each tunable, in the order of the variant's table */
    CtDevice *device;     /* for a cuda variant; otherwise NULL */
    gsize scratch_bytes;  /* set: bytes of scratch memory that each worker needs, 64-byte aligned;
                             for a cuda variant, bytes of device memory that each firing needs,
                             256-byte aligned */
    gsize upload_bytes;   /* set by a cuda variant: bytes that a firing uploads, see cuda.h */
    gint64 n_items;       /* with split "*", the items of a firing, whatever its length: given, as
                             many as keep the workers busy; set where the work has other parts */
    const CtVariant *variant;    /* the one that is prepared: the core's copy */
    const char *graph;           /* the text of the graph; NULL: not known */
    const char *const *settings; /* "node.key=value": what was set beside it, in this order;
                                    NULL-terminated. NULL: nothing */
    CtEpilogue *epilogue; /* with CT_VARIANT_EPILOGUE: what kernels do with elements before they
                             store them; NULL: nothing */
    CtPrologue *prologue; /* with CT_VARIANT_PROLOGUE: what they do with elements when they load
                             them; NULL: nothing */
    gconstpointer send;   /* the core's, for sinks of <cornerturn/kit/sink.h>: faults and account of
                             what is sent; NULL: none */
    guint64 reserved[3];  /* 0 */
} CtPrepare;

/* An input as advance sees it: the samples that have arrived and are not consumed yet. */
typedef struct {
    CtBlock block;   /* holds n_samples, contiguous; for a static port, the current block */
    gboolean ended;  /* no samples will follow these */
    gint64 consumed; /* set: the number of samples that will not be needed again */
    gint64 used; /* set: the number of samples that work may read, from the first on (consumed and
                    history) */
    guint64 reserved[2]; /* 0 */
} CtArrival;

/* An output as advance sees it. */
typedef struct {
    gint64 room;      /* samples that can be produced now */
    gint64 produced;  /* set */
    gint64 start;     /* set: tick of the first sample produced; must follow the samples before it
                         without a gap */
    guint8 *validity; /* [lane][room], all 1 beforehand; if data are invalid, write zeros and set */
    gint64 validity_stride;
    gboolean invalid;    /* set: some samples are invalid; otherwise `validity` is not read */
    guint64 reserved[4]; /* 0 */
} CtDeparture;

typedef struct {
    CtArrival *inputs;
    CtDeparture *outputs;
    gboolean ended;    /* set by a source with its last samples, and by a stage of CT_FOOTPRINT_OWN
                          that will produce no more, whatever its inputs still hold. Other stages end
                          when an input ends, stages of CT_FOOTPRINT_OWN when all inputs end */
    guint64 *counters; /* in the order of the stage's `counters` */
    gpointer core;     /* private to the core */
    guint64 reserved[4]; /* 0 */
} CtAdvance;

/* A firing, or a range of its items. The blocks are as advance has decided: inputs hold `used`
 * samples, outputs `produced`.
 *
 * If a stage that the variant covers has an output with CT_PORT_MARKED, work may mark samples of
 * every output of the variant as invalid: it writes 0 into the output's `validity`, [lane][sample],
 * which is as advance has set it, and NULL only if nothing reads the output. It never writes 1, and
 * marks only samples of its own items, unless it uses ct_block_mark. For a cuda variant this
 * validity is in the device's memory, and its kernels write there. After work, the core clears
 * invalid samples, and only then may readers see the block. */
typedef struct {
    const CtBlock *inputs;  /* data NULL: not connected, or CT_PORT_PREPARED */
    const CtBlock *outputs; /* data NULL: nothing reads this port */
    gint64 begin, end;      /* the range of items */
    gboolean ended;         /* no firing follows: write partial sums */
    gpointer scratch;       /* of this worker */
    guint64 *counters;      /* of this worker; in the order of the stage's `counters` */
    CtQueue *queue;         /* of a cuda variant: the queue on which to enqueue; otherwise NULL */
    gpointer core;          /* private to the core */
    guint64 reserved[3];    /* 0 */
} CtWork;

/* Marks sample `t` of `lane` of an output as invalid (CT_PORT_MARKED), in a variant on the host.
 * Any number of workers may mark the same sample. If nothing reads the output, this does nothing;
 * if the variant has no output with CT_PORT_MARKED, the run fails. */
static inline void
ct_block_mark(const CtBlock *block, gint64 lane, gint64 t)
{
    if (block->refused)
        __atomic_store_n(block->refused, (guint8)1, __ATOMIC_RELAXED);
    else if (block->validity)
        __atomic_store_n(&block->validity[lane * block->validity_stride + t], (guint8)0,
                         __ATOMIC_RELAXED);
}

typedef enum {
    /* Stages may be attached behind the variant, a cuda one of one output: its kernels store
     * through <cornerturn/kit/epilogue.h>. */
    CT_VARIANT_EPILOGUE = 1 << 0,
    /* The stage may be attached to another variant: a macro of <cornerturn/kit/form.h> makes this
     * one, a cuda variant. */
    CT_VARIANT_ATTACHABLE = 1 << 1,
    /* The stage may be attached as the last one behind another variant: a macro of
     * <cornerturn/kit/fold.h> makes this one, a cuda variant. */
    CT_VARIANT_FOLD = 1 << 2,
    /* Stages may be attached in front of the variant, a cuda one of one stage and without advance:
     * its kernels load through <cornerturn/kit/prologue.h>. */
    CT_VARIANT_PROLOGUE = 1 << 3
} CtVariantFlags;

struct CtVariant {
    const char *name; /* "reference", "cpu-avx2" */
    CtBackend backend;
    CtIsa isa;
    const char *const *covers; /* stages, NULL-terminated: {"fir", NULL}; of a fused variant {"fir",
                                  "fft", NULL}. Stages of other plugins have the version for which
                                  the variant is written: {"fir 1", NULL} */
    const CtRow *rows;         /* in order of preference; a row without layouts ends the table */

    /* The share of a row's efficiency that is left, in the model, if axes of the nodes are short,
     * so that vectors are partly empty: above 0, up to 1. The layouts are those of all ports,
     * concrete, and empty for unconnected ports. NULL: 1. */
    gdouble (*share)(const CtNode *nodes, const CtLayout *inputs, const CtLayout *outputs);

    /* Every combination of values must give the same result up to rounding. If a combination is
     * impossible (a tile is larger than the data), prepare uses the nearest possible one. NULL:
     * none. */
    const CtTunable *tunables;

    /* Whether a tuning is worth a trial for these nodes; FALSE if it has the same effect as
     * another. The default always is worth one. NULL: every tuning is. */
    gboolean (*differs)(const CtNode *nodes, const gint64 *tuning);

    /* The axis of the first output (for a sink, of the first input) along which work may be split.
     * "time": items are the samples of the output (for a sink, of the input). "*": those
     * of CtPrepare.n_items. NULL: one item. */
    const char *split;

    /* Set for a source or sink that waits for files or the network: it gets a thread of its own, on
     * which advance and work may block. */
    gboolean waits;

    /* Whether the variant can run these nodes, apart from types and layouts. If not, *reason says
     * why, allocated for the caller. NULL: it always can. */
    gboolean (*fits)(const CtNode *nodes, char **reason);

    /* May fail and allocate. *state belongs to the variant; it is passed to finish even after a
     * failure, unless it is NULL. */
    gboolean (*prepare)(CtPrepare *prepare, gpointer *state, GError **error);

    /* NULL: ct_advance_default. */
    gboolean (*advance)(gpointer state, CtAdvance *advance, GError **error);

    /* NULL only for the core's own `input` and `output`: the embedding program does their work. */
    gboolean (*work)(gpointer state, const CtWork *work, GError **error);

    /* For sinks: called when the stream has ended, or when an interrupt has ended a source that
     * feeds it (`interrupted`). Writes everything that is left, so that as little as possible can
     * fail later. All sinks of a run are closed before the first is completed. Not called after a
     * failure. May be NULL. */
    gboolean (*close)(gpointer state, gboolean interrupted, GError **error);

    /* For sinks: makes the result final. Not called after a failure. NULL: nothing to do; close is
     * then not called either. */
    gboolean (*complete)(gpointer state, gboolean interrupted, GError **error);

    /* Frees the state, even if prepare failed halfway. Not called if prepare left the state NULL.
     * May be NULL. */
    void (*finish)(gpointer state);

    /* How a form of the kit computes the variant; NULL: written by hand. */
    gconstpointer form;

    guint64 flags; /* of CtVariantFlags */

    /* With CT_VARIANT_EPILOGUE: whether the last stage of an epilogue may also be a fold over `hop`
     * samples that the variant makes of these nodes, with states of so many bytes
     * (<cornerturn/kit/epilogue.h>). NULL: it may not. */
    gboolean (*folds)(const CtNode *nodes, gint64 hop, gsize state_bytes);
};

/* The counters of one part of a node's data, as a lane of packets, so far: in the order of the
 * `counters` of the first stage that its variant covers. */
typedef struct {
    const char *name; /* interned */
    guint64 faults;   /* how much went wrong: if there are many parts, those with most are shown */
    guint64 counters[CT_MAX_COUNTERS];
} CtAccount;

/* Tells in advance the accounts of all parts, always the same parts; statistics of the run show
 * them. They are copied. */
CT_EXPORT void ct_advance_account(CtAdvance *advance, const CtAccount *accounts, guint n);

/* Shows a picture of the node's stream, as JSON, to whoever watches the run: it takes the place of
 * the one before. For variants on the host; never waits. Owns `picture`, an allocated text. */
CT_EXPORT void ct_work_show(const CtWork *work, char *picture);

/* Advances by the rule of the footprint (for a fused variant, of its stages in a row), for variants
 * that only add to it. Consumes and produces what the footprint allows; a sink consumes all
 * samples. Sets the validity of each output: a sample of a WINDOW is valid if every sample in the
 * window is, one of a SUM if any sample is. After work, the core clears invalid samples. */
CT_EXPORT gboolean ct_advance_default(CtAdvance *advance, GError **error);

/* The windows that a firing sums. */
typedef struct {
    guint8 *validity;    /* given: memory for [lane][sum][window of the sum], as many lanes, and at
                            most    as many sums, as the output has */
    gint64 n;            /* windows; those that the last sum lacks are invalid */
    gboolean invalid;    /* there are invalid ones; otherwise `validity` is not set */
    guint64 reserved[3]; /* 0 */
} CtSummedWindows;

/* As ct_advance_default, for a variant whose last stage has the footprint of a SUM, and the others
 * together that of a WINDOW, if it keeps nothing from firing to firing: all windows of a sum are in
 * one firing. The core plans such firings for the variants that it makes itself, those with an
 * epilogue that folds. */
CT_EXPORT gboolean ct_advance_summed(CtAdvance *advance, CtSummedWindows *windows, GError **error);

/* Samples of a window that are used: `n` of them, from the window's sample `first` on. */
typedef struct {
    gint64 first;
    gint64 n;
    gint64 steady; /* they are the same for this number of output samples in a row; at least 1 */
} CtTaps;

/* Sets *taps to the k-th run of those samples in lane `from` of an input of which the output sample
 * at `tick` is made in its lane `lane`; FALSE: there are only k runs. `first` and `steady` may
 * depend on the tick, the number of runs may not. */
typedef gboolean (*CtFindTaps)(gpointer state, gint64 lane, gint64 from, guint k, gint64 tick,
                               CtTaps *taps);

/* As ct_advance_default, for a WINDOW in which each lane is made of a few samples only (delays,
 * dedispersion): only these make it invalid. `find` is called while the firing has invalid input,
 * with `state`. */
CT_EXPORT gboolean ct_advance_taps(CtAdvance *advance, CtFindTaps find, gpointer state,
                                   GError **error);

/* Allocates a table of `n` items of `bytes` each, cleared, to be freed with g_free. NULL with an
 * error that names `what` if there is no memory; GLib's own functions would end the process. */
CT_EXPORT gpointer ct_table_new(gsize n, gsize bytes, const char *what, GError **error);
#define CT_TABLE(type, n, what, error) ((type *)ct_table_new((gsize)(n), sizeof(type), what, error))

/* The folder for caches of plugins and of the core: "…/cornerturn" in the user's cache folder,
 * allocated. It may not exist yet. In a process with the rights of another account (setuid) it is
 * in that account's home, whatever the environment says. */
CT_EXPORT char *ct_cache_folder(void);

/* Locks and unlocks a library for this process: for the functions of libraries that two threads
 * must not call at a time, whichever plugins call them. All plugins that use the library lock it by
 * the same name, "fftw" for the planner of FFTW. The lock is not recursive. */
CT_EXPORT void ct_library_lock(const char *library);
CT_EXPORT void ct_library_unlock(const char *library);

/* ---- the plugin ---- */

/* The bytes of each struct of tables, in the headers with which a plugin is compiled. */
typedef struct {
    guint32 sizes; /* of this struct */
    guint32 plugin;
    guint32 stage;
    guint32 variant;
    guint32 port;
    guint32 param;
    guint32 row;
    guint32 tunable;
} CtSizes;

typedef struct {
    guint32 magic;       /* CT_PLUGIN_MAGIC */
    guint32 abi_version; /* CT_ABI_VERSION */
    const CtSizes *sizes;
    const char *name;
    const CtStage *const *stages;     /* NULL-terminated */
    const CtVariant *const *variants; /* NULL-terminated, in order of preference */
} CtPlugin;

#define CT_PLUGIN_MAGIC 0x43546e31u /* "CTn1" */

/* The sizes of these headers; for the file's scope. */
#define CT_SIZES                                                                                   \
    (&(const CtSizes){sizeof(CtSizes), sizeof(CtPlugin), sizeof(CtStage), sizeof(CtVariant),       \
                      sizeof(CtPort), sizeof(CtParam), sizeof(CtRow), sizeof(CtTunable)})

/* Defines the one symbol that a plugin exports:
 *
 *     CT_PLUGIN("fir", ((const CtStage *const[]){&fir, NULL}),
 *               ((const CtVariant *const[]){…, NULL})); */
#define CT_PLUGIN_SYMBOL "ct_plugin"
#define CT_PLUGIN(name_, stages_, variants_)                                                       \
    CT_EXPORT extern const CtPlugin ct_plugin;                                                     \
    const CtPlugin ct_plugin = {CT_PLUGIN_MAGIC, CT_ABI_VERSION, CT_SIZES,                         \
                                name_,           stages_,        variants_}

/* The same for a plugin of one stage, with its variants in order of preference:
 *
 *     CT_STAGE_PLUGIN("fir", fir, &cuda, …); */
#define CT_STAGE_PLUGIN(name_, stage_, ...)                                                        \
    CT_PLUGIN(name_, ((const CtStage *const[]){&stage_, NULL}),                                    \
              ((const CtVariant *const[]){__VA_ARGS__, NULL}))

/* Registers a plugin that is a part of the program, or that the program has loaded itself:
 * pipelines that are checked later have its stages and variants, as those of files, and so have the
 * functions of <cornerturn/inspect.h>. A plugin takes the place of an earlier one of the same name;
 * there, pipelines that are checked already keep the earlier one. So its tables and functions,
 * those of an earlier plugin as well, must stay valid until the process ends. FALSE with an error,
 * and nothing is changed: its tables are not consistent, or another plugin has one of its stages or
 * variants. */
CT_EXPORT gboolean ct_register_plugin(const CtPlugin *plugin, GError **error);

G_END_DECLS
