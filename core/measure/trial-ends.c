/* SPDX-License-Identifier: BSD-3-Clause */
/* The ends of a trial: a source whose blocks are ready, and a sink that drops them. */
#include "trial-ends.h"

#include <string.h>

static const char *const counters[] = {"written", NULL};

/* ---- random elements ---- */

/* The bytes of the pattern, which is repeated: a whole number of elements of any type. */
#define PATTERN_BYTES (1 << 16)

static guint64
next_random(guint64 *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* The bytes of a real or imaginary part (of ci4, of both), and whether it is a floating-point
 * number. */
static gsize
part_bytes(CtType type, gboolean *is_float)
{
    const CtTypeInfo *info = ct_type_info(type);
    *is_float = info->is_float;
    return info->is_complex && info->part != CT_TYPE_NONE ? info->bytes / 2 : info->bytes;
}

/* Makes the pattern: numbers of variance 1; integers from their whole range, except −128 of a byte,
 * which no receiver gives. */
static guint8 *
new_pattern(CtType type)
{
    gboolean is_float;
    const gsize bytes = part_bytes(type, &is_float);
    guint8 *pattern = g_malloc(PATTERN_BYTES);
    guint64 state = 0x9e3779b97f4a7c15u;
    for (gsize at = 0; at < PATTERN_BYTES; at += bytes) {
        const guint64 bits = next_random(&state);
        const gdouble value = ((gdouble)(bits >> 11) * 0x1p-53 - 0.5) * 3.4641016;
        const gfloat single = (gfloat)value;
        const guint16 half = (guint16)((bits & 0x8bff) | 0x3400); /* ±0.25 … 2 */
        if (bytes == 1)
            pattern[at] = (guint8)bits == 0x80 ? 0x81 : (guint8)bits;
        else if (is_float && bytes == 2)
            memcpy(pattern + at, &half, bytes);
        else if (is_float)
            memcpy(pattern + at, bytes == 4 ? (gconstpointer)&single : &value, bytes);
        else
            memcpy(pattern + at, &bits, bytes);
    }
    return pattern;
}

typedef struct {
    guint8 *pattern;
    gsize at;
} Filler;

static void
fill_run(Filler *filler, guint8 *to, gsize bytes)
{
    while (bytes > 0) {
        const gsize piece = MIN(bytes, PATTERN_BYTES - filler->at);
        memcpy(to, filler->pattern + filler->at, piece);
        filler->at = (filler->at + piece) % PATTERN_BYTES;
        to += piece;
        bytes -= piece;
    }
}

/* Fills the axes from `axis` on, in the longest contiguous runs. */
static void
fill_axes(Filler *filler, const CtBlock *block, guint axis, guint8 *to)
{
    gint64 run = (gint64)ct_type_info(block->type)->bytes;
    gboolean is_dense = TRUE;
    for (guint a = block->n_axes; a-- > axis;) {
        is_dense &= block->stride[a] == run || block->length[a] == 1;
        run *= block->length[a];
    }
    if (is_dense) {
        fill_run(filler, to, (gsize)run);
        return;
    }
    for (gint64 i = 0; i < block->length[axis]; i++)
        fill_axes(filler, block, axis + 1, to + i * block->stride[axis]);
}

/* ---- the same on a device ---- */

#define FILL_THREADS 256
#define FILL_BLOCKS  4096

/* The same struct as in kernel/random.cu. */
typedef struct {
    gint64 length[CT_MAX_AXES];
    gint64 stride[CT_MAX_AXES];
    gint64 n_elements;
    gint32 n_axes;
    gint32 n_parts;
} FillShape;

static gboolean
fill_on_device(CtQueue *queue, CtKernel *kernel, const CtBlock *block, guint64 *seed,
               GError **error)
{
    gboolean is_float;
    const CtTypeInfo *info = ct_type_info(block->type);
    FillShape shape = {
        .n_elements = 1,
        .n_axes = (gint32)block->n_axes,
        .n_parts = (gint32)(info->bytes / part_bytes(block->type, &is_float)),
    };
    for (guint a = 0; a < block->n_axes; a++) {
        shape.length[a] = block->length[a];
        shape.stride[a] = block->stride[a];
        shape.n_elements *= block->length[a];
    }
    *seed += (guint64)shape.n_elements * (guint64)shape.n_parts;
    gpointer arguments[] = {&shape, (gpointer)&block->data, seed};
    const gint64 blocks = (shape.n_elements + FILL_THREADS - 1) / FILL_THREADS;
    const CtLaunch launch = {
        .grid = {(guint)MIN(blocks, FILL_BLOCKS), 1, 1},
        .block = {FILL_THREADS, 1, 1},
    };
    return ct_queue_launch(queue, kernel, &launch, arguments, error);
}

/* ---- the source ---- */

typedef struct {
    gint64 made;
    gint64 start, ticks;
    gint time;       /* axis of the blocks; −1: none */
    gint64 granule;  /* samples of a block */
    guint8 *low;     /* memory from here … */
    guint8 *high;    /* … to here is filled */
    guint64 written; /* samples, not yet counted */
    Filler filler;
    CtKernel *kernel; /* on a device */
    guint64 seed;
} Source;

static gboolean
source_infer(G_GNUC_UNUSED CtNode *node, G_GNUC_UNUSED GError **error)
{
    return TRUE; /* the creator of the node describes its output */
}

static gboolean
source_prepare(CtPrepare *prepare, gpointer *result, GError **error)
{
    const CtBinding *out = &prepare->outputs[0];
    Source *source = *result = g_new0(Source, 1);
    const gint inner = ct_layout_block_axis(&out->layout, "time");
    const CtType type = ct_layout_type(&out->layout);
    source->start = out->stream->start;
    source->ticks = out->stream->ticks_per_sample;
    source->time = ct_layout_axis(&out->layout, "time");
    source->granule = inner >= 0 ? out->layout.axes[inner].count : 1;
    if (!prepare->device) {
        source->filler.pattern = new_pattern(type);
        return TRUE;
    }
    gboolean is_float;
    const gint bytes = (gint)part_bytes(type, &is_float);
    g_autofree char *kind = g_strdup_printf("KIND=%d", is_float ? -bytes : bytes);
    const CtKernelSpec spec = {
        .name = "ct_fill_random",
        .source = "/cornerturn/kernel/random.cu",
        .defines = (const char *const[]){kind, NULL},
    };
    source->kernel = ct_kernel_new(prepare->device, &spec, error);
    return source->kernel != NULL;
}

static void
give(Source *source, CtAdvance *advance, gint64 most)
{
    CtDeparture *out = &advance->outputs[0];
    out->produced = MIN(out->room, most - source->made);
    out->start = source->start + source->made * source->ticks;
    source->made += out->produced;
    advance->ended = source->made == most;
    advance->counters[CT_TRIAL_WRITTEN] += source->written;
    source->written = 0;
}

static gboolean
source_advance(gpointer state, CtAdvance *advance, G_GNUC_UNUSED GError **error)
{
    give(state, advance, G_MAXINT64);
    return TRUE;
}

static gboolean
once_advance(gpointer state, CtAdvance *advance, G_GNUC_UNUSED GError **error)
{
    give(state, advance, 1);
    return TRUE;
}

/* Fills the memory that is not filled yet. A ring is first written from its beginning on, so that
 * memory follows the filled part. */
static gboolean
source_work(gpointer state, const CtWork *work, GError **error)
{
    Source *source = state;
    CtBlock block = work->outputs[0];
    if (!block.data)
        return TRUE;
    const gint64 step = source->time < 0 ? 0 : block.stride[source->time];
    const gint64 n = source->time < 0 ? 1 : block.length[source->time];
    if (!source->high)
        source->low = source->high = block.data;
    const gint64 known = step > 0 ? CLAMP((source->high - block.data) / step, 0, n) : 0;
    if (block.data < source->low || known == n)
        return TRUE;
    source->high = block.data + n * step;
    source->written += (guint64)(n - known);
    block.data += known * step;
    if (source->time >= 0)
        block.length[source->time] = n - known;
    if (work->queue)
        return fill_on_device(work->queue, source->kernel, &block, &source->seed, error);
    fill_axes(&source->filler, &block, 0, block.data);
    return TRUE;
}

/* Writes every block anew. */
static gboolean
source_write(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    Source *source = state;
    const CtBlock *block = &work->outputs[0];
    if (!block->data)
        return TRUE;
    const gint64 n = source->time < 0 ? 1 : block->length[source->time];
    const guint8 *end = block->data + (source->time < 0 ? 1 : n * block->stride[source->time]);
    /* The trial has warmed up when the source gets memory that it has already seen. */
    if (end > source->high) {
        source->written += (guint64)n;
        source->high = (guint8 *)end;
    }
    fill_axes(&source->filler, block, 0, block->data);
    return TRUE;
}

static void
source_finish(gpointer state)
{
    Source *source = state;
    if (!source)
        return;
    ct_kernel_free(source->kernel);
    g_free(source->filler.pattern);
    g_free(source);
}

/* ---- the sink ---- */

static gboolean
sink_work(G_GNUC_UNUSED gpointer state, G_GNUC_UNUSED const CtWork *work,
          G_GNUC_UNUSED GError **error)
{
    return TRUE;
}

/* The size of a worker's cache, about, and of one of its lines. */
#define OTHER_BYTES ((gsize)4 << 20)
#define LINE_BYTES  64

typedef struct {
    guint8 *other;
    volatile guint64 sum; /* keeps the compiler from dropping reads */
} Sink;

static gboolean
sink_prepare(G_GNUC_UNUSED CtPrepare *prepare, gpointer *result, G_GNUC_UNUSED GError **error)
{
    Sink *sink = *result = g_new0(Sink, 1);
    sink->other = g_malloc0(OTHER_BYTES);
    return TRUE;
}

static guint64
read_run(const guint8 *from, gsize bytes)
{
    guint64 sum = 0;
    for (gsize i = 0; i < bytes; i += LINE_BYTES)
        sum += from[i];
    return sum;
}

/* Reads the axes from `axis` on, in the same way as fill_axes. */
static guint64
read_axes(const CtBlock *block, guint axis, const guint8 *from)
{
    gint64 run = (gint64)ct_type_info(block->type)->bytes;
    gboolean is_dense = TRUE;
    for (guint a = block->n_axes; a-- > axis;) {
        is_dense &= block->stride[a] == run || block->length[a] == 1;
        run *= block->length[a];
    }
    if (is_dense)
        return read_run(from, (gsize)run);
    guint64 sum = 0;
    for (gint64 i = 0; i < block->length[axis]; i++)
        sum += read_axes(block, axis + 1, from + i * block->stride[axis]);
    return sum;
}

static gboolean
sink_read(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    Sink *sink = state;
    const CtBlock *block = &work->inputs[0];
    if (block->data)
        sink->sum += read_axes(block, 0, block->data);
    sink->sum += read_run(sink->other, OTHER_BYTES);
    return TRUE;
}

static void
sink_finish(gpointer state)
{
    Sink *sink = state;
    if (!sink)
        return;
    g_free(sink->other);
    g_free(sink);
}

static const CtPort no_ports[] = {{NULL}};
static const CtParam no_params[] = {{NULL}};

const CtStage ct_trial_source = {
    .name = "trial.source",
    .summary = "random blocks that lie ready",
    .version = 1,
    .inputs = no_ports,
    .outputs = (const CtPort[]){{"out", "{...}", 0, "random elements"}, {NULL}},
    .params = no_params,
    .counters = counters,
    .infer = source_infer,
};

const CtStage ct_trial_sink = {
    .name = "trial.sink",
    .summary = "drops what comes",
    .version = 1,
    .inputs = (const CtPort[]){{"in", "{...}", 0, "anything"}, {NULL}},
    .outputs = no_ports,
    .params = no_params,
    .infer = source_infer,
};

static const char *const covers_source[] = {"trial.source", NULL};
static const char *const covers_sink[] = {"trial.sink", NULL};
static const CtRow source_rows[] = {{"-> {...}", 1}, {NULL}};
static const CtRow sink_rows[] = {{"{...} ->", 1}, {NULL}};

#define SOURCE(name_, backend_, advance_, work_)                                                   \
    {                                                                                              \
        .name = name_, .backend = backend_, .covers = covers_source, .rows = source_rows,          \
        .prepare = source_prepare, .advance = advance_, .work = work_, .finish = source_finish     \
    }

const CtVariant *
ct_trial_source_variant(gboolean on_device, gboolean once, gboolean touches)
{
    static const CtVariant ready = SOURCE("cpu", CT_CPU, source_advance, source_work);
    static const CtVariant writing = SOURCE("cpu-writing", CT_CPU, source_advance, source_write);
    static const CtVariant one = SOURCE("cpu-once", CT_CPU, once_advance, source_work);
    static const CtVariant device = SOURCE("cuda", CT_CUDA, source_advance, source_work);
    static const CtVariant device_one = SOURCE("cuda-once", CT_CUDA, once_advance, source_work);
    if (on_device)
        return once ? &device_one : &device;
    return once ? &one : touches ? &writing : &ready;
}

#define SINK(name_, backend_)                                                                      \
    .name = name_, .backend = backend_, .covers = covers_sink, .rows = sink_rows

const CtVariant *
ct_trial_sink_variant(gboolean on_device, gboolean touches)
{
    static const CtVariant dropping = {SINK("cpu", CT_CPU), .work = sink_work};
    static const CtVariant reading = {
        SINK("cpu-reading", CT_CPU),
        .prepare = sink_prepare,
        .work = sink_read,
        .finish = sink_finish,
    };
    static const CtVariant device = {SINK("cuda", CT_CUDA), .work = sink_work};
    return on_device ? &device : touches ? &reading : &dropping;
}
