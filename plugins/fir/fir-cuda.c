/* SPDX-License-Identifier: BSD-3-Clause */
/* The filter on a device.
 *
 * Threads are spread over the axes of an output and over chunks of time. Where the hop divides P,
 * windows slide from output to output of a thread; elsewhere, and where an output is so narrow that
 * threads had better stand side by side in time, each output's samples are read anew. Where
 * neighbours in the output are none in the input, a kernel of its own turns tiles of samples.
 *
 * What a kernel is compiled for (types, taps, vectors, tiles) follows from the layouts. Lengths and
 * strides of the axes are seen in each firing: axes that lie there as one are taken as one. */
#include "fir-axes.h"
#include "fir.h"

#include <math.h>

#define THREADS 128

/* With more taps, coefficients are in shared memory. */
#define REGISTER_TAPS 32
/* Rows that are read ahead, as in fir-device.h. */
#define AHEAD 4

/* Bytes of outputs that a thread writes at once; bytes of neighbours that make a read or a write
 * worth its while. */
#define VECTOR_BYTES 16
#define DENSE_BYTES  64
/* What is read in pieces smaller than this is turned in tiles. */
#define PIECE_BYTES 8

/* Registers of a multiprocessor; those of a thread that sums and coefficients may take, and those
 * that it needs beside them. More threads than ENOUGH_THREADS bring nothing. */
#define REGISTERS       65536
#define SUM_REGISTERS   128
#define OTHER_REGISTERS 26
#define ENOUGH_THREADS  768

/* Sizing chunks: the waves of blocks that are tried, the part of a wave that is lost at the end,
 * and the outputs that a thread's start costs beside its window. */
#define MAX_WAVES     16
#define LOST_WAVE     0.3
#define START_OUTPUTS 4
/* Threads of a launch, and outputs of a thread, are counted in 32 bits. */
#define MAX_THREADS ((gint64)1 << 31)
#define MAX_ROWS    ((gint64)1 << 30)

typedef struct {
    CtDevice *device;
    CtKernel *kernel;
    gpointer taps; /* of the device, [tap phase] */
    gint64 n_channels, n_taps, hop;
    CtType in_type, out_type;
    guint time_in, time_out;
    gint series_in[CT_MAX_AXES]; /* by axis of the output; −1: time, phase */
    gboolean slides;
    guint n_times; /* outputs side by side */
    guint vector;  /* neighbouring outputs of a thread */
    gboolean shares_taps;
    guint min_blocks;
    guint tile_read, tile_write; /* 0: no tiles */
    gdouble wave;                /* blocks that the device holds at once */
} Cuda;

/* ---- axes ---- */

static void
add_axis(FirAxes *axes, gint64 length, gint64 in, gint64 out)
{
    axes->length[axes->n_axes] = (unsigned)length;
    axes->in[axes->n_axes] = in;
    axes->out[axes->n_axes++] = out;
}

/* The axes of two blocks in the output's order; series that lie as one in both become one, unless
 * they shall stay `apart`. */
static void
axes_init(FirAxes *axes, const Cuda *self, const CtBlock *in, const CtBlock *out, gboolean apart)
{
    gboolean follows_series = FALSE;

    *axes = (FirAxes){
        .sample = in->stride[self->time_in],
        .output = out->stride[self->time_out],
        .n_outputs = out->n_samples,
        .phase = G_MAXUINT,
        .time = G_MAXUINT,
    };
    for (guint a = 0; a < out->n_axes; a++) {
        const gint from = self->series_in[a];
        const gint64 length = a == self->time_out ? self->n_times : out->length[a];
        if (length == 1)
            continue;
        const guint last = axes->n_axes - 1;
        if (from < 0) {
            const gint64 step = a == self->time_out ? self->hop : 1;
            *(a == self->time_out ? &axes->time : &axes->phase) = axes->n_axes;
            add_axis(axes, length, step * axes->sample, out->stride[a]);
        } else if (follows_series && !apart && axes->in[last] == length * in->stride[from] &&
                   axes->out[last] == length * out->stride[a]) {
            axes->length[last] *= (unsigned)length;
            axes->in[last] = in->stride[from];
            axes->out[last] = out->stride[a];
        } else {
            add_axis(axes, length, in->stride[from], out->stride[a]);
        }
        follows_series = from >= 0;
    }
    if (axes->n_axes == 0)
        add_axis(axes, 1, 0, 0);
}

/* The axis that is densest in the input. */
static guint
densest_axis(const FirAxes *axes)
{
    guint densest = axes->n_axes - 1;

    for (guint a = 0; a < axes->n_axes; a++)
        if (axes->in[a] < axes->in[densest])
            densest = a;
    return densest;
}

/* Brings an axis to the place before the last one. */
static void
move_axis(FirAxes *axes, guint from)
{
    const FirAxes was = *axes;
    const guint to = axes->n_axes - 2;

    for (guint a = from; a < to; a++) {
        axes->length[a] = was.length[a + 1];
        axes->in[a] = was.in[a + 1];
        axes->out[a] = was.out[a + 1];
    }
    axes->length[to] = was.length[from];
    axes->in[to] = was.in[from];
    axes->out[to] = was.out[from];
    if (axes->phase < axes->n_axes && axes->phase != to + 1)
        axes->phase = axes->phase == from ? to : axes->phase - (axes->phase > from);
    if (axes->time < axes->n_axes)
        axes->time -= axes->time > from;
}

/* ---- preparing ---- */

/* Threads of a block. */
static guint
block_threads(const Cuda *self)
{
    return self->tile_read == 0 ? THREADS : self->tile_read * self->tile_write / self->vector;
}

static guint
power_above(gint64 n)
{
    guint power = 1;

    while (power < n)
        power *= 2;
    return power;
}

/* Registers that a sample takes as it is read. */
static guint
sample_registers(const Cuda *self)
{
    return MAX(1, (guint)ct_type_info(self->in_type)->bytes / 4);
}

/* Registers of a thread for coefficients, and for the sums or the samples of `vector` neighbours.
 */
static guint
sum_registers(const Cuda *self, guint vector, gboolean phases_apart)
{
    const guint n_taps = (guint)self->n_taps;
    const guint n_parts = ct_type_info(self->out_type)->is_complex ? 2 : 1;
    const guint coefficients = self->shares_taps ? 0 : n_taps * (phases_apart ? vector : 1);

    return coefficients + vector * (self->slides ? n_parts * (n_taps + AHEAD - 1)
                                                 : n_taps * sample_registers(self));
}

/* How many outputs stand side by side in time: those that share windows' rows, or as many as make a
 * narrow output wide. `axes` are those of one output. */
static void
choose_times(Cuda *self, const FirAxes *axes)
{
    const gint64 bytes = (gint64)ct_type_info(self->out_type)->bytes;
    gint64 width = 1;

    for (guint a = axes->n_axes; a-- > 0 && axes->out[a] == width * bytes;)
        width *= axes->length[a];
    const gboolean is_narrow = width * bytes < DENSE_BYTES;
    self->slides = self->n_channels % self->hop == 0 && !is_narrow;
    self->n_times = self->slides ? (guint)(self->n_channels / self->hop)
                    : is_narrow  ? power_above(THREADS / width)
                                 : 1;
}

/* `axes`: none of them merged. */
static void
choose_vector(Cuda *self, const FirAxes *axes)
{
    const gsize bytes = ct_type_info(self->out_type)->bytes;
    const guint last = axes->n_axes - 1;
    const gboolean dense = axes->out[last] == (gint64)bytes && axes->time != last;

    self->vector = dense && !self->shares_taps ? VECTOR_BYTES / (guint)bytes : 1;
    while (self->vector > 1 &&
           (axes->length[last] % self->vector != 0 ||
            sum_registers(self, self->vector, axes->phase == last) > SUM_REGISTERS))
        self->vector /= 2;
}

static void
choose_tiles(Cuda *self, const FirAxes *axes)
{
    const gint64 bytes = (gint64)ct_type_info(self->in_type)->bytes;
    const guint write = axes->n_axes - 1, read = densest_axis(axes);

    if (!self->slides || read == write || read == axes->time || write == axes->time ||
        axes->in[read] != bytes || axes->in[write] <= PIECE_BYTES)
        return;
    const guint most = (self->shares_taps ? THREADS : 2 * THREADS) * self->vector;
    const guint n_read = power_above(axes->length[read]),
                n_write = power_above(axes->length[write]);
    self->tile_read = MIN(n_read, CLAMP(DENSE_BYTES / (guint)bytes, 16, 32));
    self->tile_write = MIN(n_write, most / self->tile_read);
    self->tile_read = MIN(MIN(n_read, 64), most / self->tile_write);
}

/* Blocks that a multiprocessor shall hold: as many as need no more registers than there are.
 * Assemblers differ in what they need beside those for numbers. */
static void
choose_blocks(Cuda *self, gboolean phases_apart)
{
    const guint n_ahead = AHEAD * self->vector * sample_registers(self);
    const guint registers =
        sum_registers(self, self->vector, phases_apart) + (guint)self->n_taps / 2 +
        n_ahead * (self->tile_read > 0 ? 2 : 1) +
        (ct_device_info(self->device)->architecture < 100 && self->slides ? OTHER_REGISTERS
                                                                          : 2 * OTHER_REGISTERS);
    const guint threads = block_threads(self);

    self->min_blocks =
        MAX(1, MIN(REGISTERS / (registers * threads), ENOUGH_THREADS / MAX(threads, 32)));
}

static void
define(GPtrArray *defines, const char *name, gint64 value)
{
    g_ptr_array_add(defines, g_strdup_printf("%s=%" G_GINT64_FORMAT, name, value));
}

static CtKernel *
compile(const Cuda *self, gboolean phases_apart, GError **error)
{
    const gboolean tiles = self->tile_read > 0;
    g_autoptr(GPtrArray) defines = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_add(defines, g_strdup_printf("IN=%s", ct_kernel_type((gint)self->in_type)));
    g_ptr_array_add(defines, g_strdup_printf("OUT=%s", ct_kernel_type((gint)self->out_type)));
    define(defines, "N_TAPS", self->n_taps);
    define(defines, "N_CHANNELS", self->n_channels);
    define(defines, "HOP", self->hop);
    define(defines, "N_TIMES", self->n_times);
    define(defines, "VECTOR", self->vector);
    define(defines, "PHASES_APART", phases_apart);
    define(defines, "TAPS_SHARED", self->shares_taps);
    define(defines, "THREADS", block_threads(self));
    define(defines, "MIN_BLOCKS", self->min_blocks);
    if (tiles) {
        define(defines, "TILE_READ", self->tile_read);
        define(defines, "TILE_WRITE", self->tile_write);
    } else {
        define(defines, "SLIDING", self->slides);
    }
    g_ptr_array_add(defines, NULL);
    return ct_kernel_new(
        self->device,
        &(CtKernelSpec){
            .name = tiles ? "fir_tiles" : "fir_rows",
            .source =
                tiles ? "/cornerturn/plugins/fir/fir-tiles.cu" : "/cornerturn/plugins/fir/fir.cu",
            .headers = (const char *const[]){"/cornerturn/plugins/fir/fir-axes.h",
                                             "/cornerturn/plugins/fir/fir-device.h", NULL},
            .defines = (const char *const *)defines->pdata,
        },
        error);
}

static gboolean
send_taps(Cuda *self, const CtNode *node, GError **error)
{
    FirDesign design;

    if (!ct_fir_design_init(&design, node->params, error))
        return FALSE;
    const gsize bytes = (gsize)(design.n_taps * design.n_channels) * sizeof *design.taps;
    self->n_channels = design.n_channels;
    self->n_taps = design.n_taps;
    self->hop = design.hop;
    self->shares_taps = design.n_taps > REGISTER_TAPS;
    self->taps = ct_device_alloc(self->device, bytes, "coefficients", error);
    const gboolean sent =
        self->taps && ct_device_upload(self->device, self->taps, design.taps, bytes, error);
    ct_fir_design_clear(&design);
    return sent;
}

static void
find_axes(Cuda *self, const CtLayout *in, const CtLayout *out)
{
    self->time_in = (guint)ct_layout_axis(in, "time");
    self->time_out = (guint)ct_layout_axis(out, "time");
    for (guint a = 0; a < out->n_axes; a++)
        self->series_in[a] = a == self->time_out ? -1 : ct_layout_axis(in, out->axes[a].name);
}

/* A packed block as it may come. */
static CtBlock
usual_block(const CtBinding *binding)
{
    CtBlock block = {.n_axes = binding->layout.n_axes, .n_samples = binding->max_samples};

    ct_layout_strides(&binding->layout, binding->stream, block.n_samples, block.length,
                      block.stride);
    return block;
}

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    const CtBinding *input = &prepare->inputs[0], *output = &prepare->outputs[0];
    const CtBlock in = usual_block(input), out = usual_block(output);
    Cuda *self = *state = g_new0(Cuda, 1);
    FirAxes axes;

    self->device = prepare->device;
    self->in_type = input->stream->type;
    self->out_type = output->stream->type;
    if (!send_taps(self, &prepare->nodes[0], error))
        return FALSE;
    if (ct_stream_width(output->stream) > MAX_THREADS) {
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                    "wants at most %" G_GINT64_FORMAT
                    " elements in an output sample, but makes %" G_GINT64_FORMAT,
                    MAX_THREADS, ct_stream_width(output->stream));
        return FALSE;
    }
    find_axes(self, &input->layout, &output->layout);
    self->n_times = 1;
    axes_init(&axes, self, &in, &out, FALSE);
    choose_times(self, &axes);
    axes_init(&axes, self, &in, &out, TRUE);
    choose_vector(self, &axes);
    axes_init(&axes, self, &in, &out, FALSE);
    choose_tiles(self, &axes);
    const gboolean phases_apart = self->vector > 1 && axes.phase == axes.n_axes - 1;
    choose_blocks(self, phases_apart);
    self->kernel = compile(self, phases_apart, error);
    if (!self->kernel)
        return FALSE;
    self->wave = (gdouble)ct_device_info(self->device)->n_multiprocessors *
                 ct_kernel_occupancy(self->kernel, block_threads(self), 0);
    return TRUE;
}

/* ---- working ---- */

/* Outputs of a chunk, such that the device is busy to the end and little is read twice. `blocks`
 * are those of one chunk. */
static gint64
choose_chunk(const Cuda *self, gint64 n_outputs, gdouble blocks, gint64 most_chunks)
{
    const gint64 n_times = self->n_times, n = (n_outputs + n_times - 1) / n_times;
    const gdouble start = START_OUTPUTS + (gdouble)self->n_taps;
    gdouble least = G_MAXDOUBLE;
    gint64 best = n;

    for (gint wave = 1; wave <= MAX_WAVES; wave++) {
        const gint64 wanted = (gint64)(wave * self->wave / blocks);
        const gint64 rows = (n - 1) / CLAMP(wanted, 1, MIN(n, most_chunks)) + 1;
        const gint64 n_chunks = (n - 1) / rows + 1;
        const gdouble waves = ceil((gdouble)n_chunks * blocks / self->wave);
        const gdouble cost = (waves + LOST_WAVE) * ((gdouble)rows + start);
        if (cost < least) {
            least = cost;
            best = rows;
        }
    }
    return MIN(best, MAX_ROWS) * n_times;
}

static gint64
n_chunks(const FirAxes *axes)
{
    return (axes->n_outputs - 1) / axes->chunk + 1;
}

/* Whether vectors along the last axis are dense and begin at multiples of their bytes; `steps`:
 * other distances between them. */
static gboolean
is_dense(const FirAxes *axes, const guint8 *data, const long long stride[FIR_AXES], gint64 steps,
         gsize bytes, gsize vector)
{
    const guint last = axes->n_axes - 1;
    gsize bits = GPOINTER_TO_SIZE(data) | (gsize)steps;

    for (guint a = 0; a < last; a++)
        bits |= (gsize)stride[a];
    return (stride[last] == (long long)bytes || vector == 1) && bits % (bytes * vector) == 0;
}

static gboolean
launch_rows(const Cuda *self, const CtWork *work, FirAxes *axes, gint32 dense_out, GError **error)
{
    const guint8 *in = work->inputs[0].data, *out = work->outputs[0].data;
    gint32 dense = dense_out && is_dense(axes, in, axes->in,
                                         axes->sample * self->hop | axes->sample * self->n_channels,
                                         ct_type_info(self->in_type)->bytes, self->vector);
    gint64 n_threads = 1;

    for (guint a = 0; a < axes->n_axes; a++)
        n_threads *= axes->length[a];
    n_threads /= self->vector;
    axes->chunk =
        choose_chunk(self, axes->n_outputs, (gdouble)n_threads / THREADS, MAX_THREADS / n_threads);
    guint32 n_all = (guint32)(n_threads * n_chunks(axes));
    gpointer arguments[] = {&in, &out, (gpointer)&self->taps, axes, &n_all, &dense, &dense_out};
    const CtLaunch launch = {{(n_all - 1) / THREADS + 1, 1, 1}, {THREADS, 1, 1}, 0};
    return ct_queue_launch(work->queue, self->kernel, &launch, arguments, error);
}

static gboolean
launch_tiles(const Cuda *self, const CtWork *work, FirAxes *axes, gint32 dense_out, GError **error)
{
    const guint8 *in = work->inputs[0].data, *out = work->outputs[0].data;
    gint64 n_blocks = 1;

    move_axis(axes, densest_axis(axes));
    const guint write = axes->n_axes - 1, read = axes->n_axes - 2;
    for (guint a = 0; a < read; a++)
        n_blocks *= axes->length[a];
    n_blocks *= (axes->length[read] - 1) / self->tile_read + 1;
    n_blocks *= (axes->length[write] - 1) / self->tile_write + 1;
    axes->chunk = choose_chunk(self, axes->n_outputs, (gdouble)n_blocks, MAX_THREADS / n_blocks);
    gpointer arguments[] = {&in, &out, (gpointer)&self->taps, axes, &dense_out};
    const CtLaunch launch = {
        {(guint)(n_blocks * n_chunks(axes)), 1, 1},
        {block_threads(self), 1, 1},
        0,
    };
    return ct_queue_launch(work->queue, self->kernel, &launch, arguments, error);
}

static gboolean
work(gpointer state, const CtWork *work, GError **error)
{
    const Cuda *self = state;
    const CtBlock *out = &work->outputs[0];
    FirAxes axes;

    if (out->n_samples == 0)
        return TRUE;
    axes_init(&axes, self, &work->inputs[0], out, FALSE);
    const gint32 dense_out = is_dense(&axes, out->data, axes.out, axes.output,
                                      ct_type_info(self->out_type)->bytes, self->vector);
    return self->tile_read > 0 ? launch_tiles(self, work, &axes, dense_out, error)
                               : launch_rows(self, work, &axes, dense_out, error);
}

static void
finish(gpointer state)
{
    Cuda *self = state;

    if (self == NULL)
        return;
    ct_kernel_free(self->kernel);
    ct_device_free(self->device, self->taps);
    g_free(self);
}

#define COMPLEX "ci4|ci8|ci16|ci32|ci64|cf16|cf32|cf64"
#define REAL    "i8|i16|i32|i64|u8|u32|f16|f32|f64"

const CtVariant ct_fir_cuda = {
    .name = "cuda",
    .backend = CT_CUDA,
    .covers = (const char *const[]){"fir", NULL},
    .rows =
        (const CtRow[]){
            {COMPLEX "[time ...] -> cf32[time phase ...]", 0.85},
            {COMPLEX "[... time] -> cf32[... time phase]", 0.85},
            {COMPLEX "[... time] -> cf32[time ... phase]", 0.85},
            {COMPLEX "[time ...] -> cf32[time ... phase]", 0.75},
            {COMPLEX "[time ...] -> cf32[... time phase]", 0.75},
            {COMPLEX "[time ...] -> cf32[phase time ...]", 0.8},
            {COMPLEX "[... time] -> cf32[time phase ...]", 0.7},
            {COMPLEX "{time ...} -> cf32{time phase ...}", 0.4},
            {REAL "[time ...] -> f32[time phase ...]", 0.85},
            {REAL "[... time] -> f32[... time phase]", 0.85},
            {REAL "[... time] -> f32[time ... phase]", 0.85},
            {REAL "[time ...] -> f32[time ... phase]", 0.75},
            {REAL "[time ...] -> f32[... time phase]", 0.75},
            {REAL "[time ...] -> f32[phase time ...]", 0.8},
            {REAL "[... time] -> f32[time phase ...]", 0.7},
            {REAL "{time ...} -> f32{time phase ...}", 0.4},
            {NULL, 0},
        },
    .prepare = prepare,
    .work = work,
    .finish = finish,
};
