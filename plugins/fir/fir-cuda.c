/* SPDX-License-Identifier: BSD-3-Clause */
/* The filter on a device.
 *
 * Threads are spread over the axes of an output and over chunks of time. If the hop divides P,
 * windows slide from output to output of a thread. Otherwise each output's samples are read anew.
 * So they are if an output is so narrow that threads stand side by side in time. If neighbours in
 * the output are not neighbours in the input, another kernel turns tiles of samples.
 *
 * The layouts decide what a kernel is compiled for: types, taps, vectors, tiles. The lengths and
 * strides of the axes are looked at in each firing, where axes that lie as one become one. */
#include "fir-spread.h"
#include "fir.h"

#include <string.h>

#define RESOURCES "/cornerturn/plugins/fir/"

enum { THREADS, VECTOR, AHEAD, TILE };
static const CtTunable tunables[] = {
    [THREADS] = {"threads", CT_VALUES(64, 128, 256), 128,
                 "of a block, of one that turns samples twice as many"},
    [VECTOR] = {"vector", CT_VALUES(0, 1, 2, 4), 0,
                "neighbouring outputs of a thread, if registers do; 0: those of 16 bytes"},
    [AHEAD] =
        {"ahead", CT_VALUES(0, 2, 4, 8), 0,
         "rows that are read ahead, and filtered together, where windows slide; 0: 4, of many "
         "taps that are not turned 8"},
    [TILE] = {"tile", CT_VALUES(0, 16, 32, 64), 0,
              "samples that a tile reads side by side where it turns; 0: 16 or 32, by their bytes"},
    {NULL},
};

/* The most threads of a block with coefficients in shared memory. The bytes of shared memory that a
 * block has without asking for more. */
#define TAP_THREADS  128
#define SHARED_BYTES 49152

/* With more taps, coefficients are in shared memory. */
#define REGISTER_TAPS 32
/* Registers of a thread that sums and coefficients may take. */
#define SUM_REGISTERS 128
/* The count of registers is close to what assemblers need for the default tuning. Other tunings,
 * and more than MANY_TAPS taps in registers, need so many more. */
#define UNUSUAL_REGISTERS 16
#define MANY_TAPS         24

/* Rows that are read ahead: with so few taps, and with more. Threads that need many registers are
 * few, and wait for memory longer than they compute. */
#define FEW_TAPS   8
#define FEW_AHEAD  4
#define MANY_AHEAD 8

/* The most threads of a block that turns samples: there are no registers for more. */
#define TILE_THREADS 256

/* Threads that stand side by side along narrow outputs and time. */
#define NARROW_THREADS 128

/* Bytes of outputs that a thread writes at once. The least bytes side by side that make a read or a
 * write worthwhile. */
#define VECTOR_BYTES 16
#define DENSE_BYTES  64
/* Samples that would be read in smaller pieces are turned in tiles. */
#define PIECE_BYTES 8

/* Threads of a launch are counted in 32 bits. Windows that overlap more often than MAX_SHARED times
 * may leave too few outputs for threads of their own. */
#define MAX_THREADS ((gint64)1 << 31)
#define MAX_SHARED  64

typedef struct {
    FirSpread spread;
    CtKernel *kernel;
    gint64 tuning[G_N_ELEMENTS(tunables) - 1];
    guint n_threads; /* of a block that does not turn */
    gboolean slides;
    guint vector; /* neighbouring outputs of a thread */
    gboolean phases_apart, shares_taps;
    guint tile_read, tile_write; /* 0: no tiles */
} Cuda;

/* ---- axes ---- */

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

/* Moves an axis to the place before the last one. */
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
    return self->tile_read == 0 ? self->n_threads
                                : self->tile_read * self->tile_write / self->vector;
}

static guint
power_above(gint64 n)
{
    guint power = 1;

    while (power < n)
        power *= 2;
    return power;
}

/* Registers of a thread for coefficients, and for the sums or the samples of `vector` neighbours.
 */
static guint
sum_registers(const Cuda *self, guint vector, gboolean phases_apart)
{
    const guint n_taps = (guint)self->spread.n_taps;
    const guint n_parts = ct_type_info(self->spread.out_type)->is_complex ? 2 : 1;
    const guint coefficients = self->shares_taps ? 0 : n_taps * (phases_apart ? vector : 1);

    return coefficients + vector * (self->slides
                                        ? n_parts * (n_taps + self->spread.ahead - 1)
                                        : n_taps * ct_fir_spread_sample_registers(&self->spread));
}

/* Sets how many outputs stand side by side in time: those whose windows share rows, or as many as
 * make a narrow output wide. `axes` are those of one output of `all` elements. */
static void
choose_times(Cuda *self, const FirAxes *axes, gint64 all)
{
    const FirSpread *spread = &self->spread;
    const gint64 bytes = (gint64)ct_type_info(spread->out_type)->bytes;
    const gint64 n_shared =
        spread->n_channels % spread->hop == 0 ? spread->n_channels / spread->hop : G_MAXINT64;
    gint64 width = 1;

    for (guint a = axes->n_axes; a-- > 0 && axes->out[a] == width * bytes;)
        width *= axes->length[a];
    const gboolean is_narrow = width * bytes < DENSE_BYTES;
    self->slides = !is_narrow && n_shared <= MAX_SHARED && n_shared * all <= MAX_THREADS;
    if (self->slides)
        self->spread.n_times = (guint)n_shared;
    else if (is_narrow && NARROW_THREADS * all <= MAX_THREADS)
        self->spread.n_times = power_above(NARROW_THREADS / width);
}

/* `axes` are not merged. */
static void
choose_vector(Cuda *self, const FirAxes *axes)
{
    const gsize bytes = ct_type_info(self->spread.out_type)->bytes;
    const guint last = axes->n_axes - 1;
    const gboolean dense = axes->out[last] == (gint64)bytes && axes->time != last;

    self->vector = !dense || self->shares_taps ? 1
                   : self->tuning[VECTOR]      ? (guint)self->tuning[VECTOR]
                                               : VECTOR_BYTES / (guint)bytes;
    while (self->vector > 1 &&
           (axes->length[last] % self->vector != 0 ||
            sum_registers(self, self->vector, axes->phase == last) > SUM_REGISTERS))
        self->vector /= 2;
}

/* Bytes of shared memory of a block that turns samples, as in fir-tiles.cu. */
static guint
tile_shared(const Cuda *self)
{
    const guint bytes = (guint)ct_type_info(self->spread.in_type)->bytes;
    const guint padding = self->vector * bytes < 4 ? 4 / bytes : self->vector;
    const guint taps = ((guint)self->spread.n_taps + 3) / 4 * 16;

    return self->spread.ahead * self->tile_read * (self->tile_write + padding) * bytes +
           (self->shares_taps ? taps * block_threads(self) : 0);
}

static void
choose_tiles(Cuda *self, const FirAxes *axes)
{
    const gint64 bytes = (gint64)ct_type_info(self->spread.in_type)->bytes;
    const guint write = axes->n_axes - 1, read = densest_axis(axes);

    if (!self->slides || read == write || read == axes->time || write == axes->time ||
        axes->in[read] != bytes || axes->in[write] <= PIECE_BYTES)
        return;
    const guint threads = self->shares_taps ? self->n_threads : 2 * self->n_threads;
    const guint most = MIN(threads, TILE_THREADS) * self->vector;
    const guint n_read = power_above(axes->length[read]),
                n_write = power_above(axes->length[write]);
    self->tile_read = MIN(n_read, self->tuning[TILE] ? (guint)self->tuning[TILE]
                                                     : CLAMP(DENSE_BYTES / (guint)bytes, 16, 32));
    self->tile_write = MIN(n_write, most / self->tile_read);
    self->tile_read = MIN(MIN(n_read, 64), most / self->tile_write);
    while (tile_shared(self) > SHARED_BYTES && self->spread.ahead > 2)
        self->spread.ahead /= 2;
    while (tile_shared(self) > SHARED_BYTES && self->tile_write > self->vector)
        self->tile_write /= 2;
}

static gboolean
is_usual(const Cuda *self)
{
    gboolean usual = (self->spread.n_taps <= MANY_TAPS || self->spread.n_taps >= REGISTER_TAPS) &&
                     self->spread.ahead < MANY_AHEAD;

    for (guint i = 0; i < G_N_ELEMENTS(self->tuning); i++)
        usual &= self->tuning[i] == tunables[i].fallback;
    return usual;
}

static CtKernel *
compile(Cuda *self, GError **error)
{
    const gboolean tiles = self->tile_read > 0;
    const guint threads = block_threads(self);
    const guint samples =
        self->spread.ahead * self->vector * ct_fir_spread_sample_registers(&self->spread);
    /* If windows are rotated, each phase of a vector has a place of its own. */
    const gboolean rotates = self->spread.hop % self->spread.n_channels != 0;
    const guint places = rotates && self->phases_apart ? 2 * self->vector : 0;
    const guint registers = sum_registers(self, self->vector, self->phases_apart) + places +
                            (guint)self->spread.n_taps / 2 + samples * (tiles ? 2 : 1) +
                            (is_usual(self) ? 0 : UNUSUAL_REGISTERS);
    g_autoptr(GPtrArray) defines = g_ptr_array_new_with_free_func(g_free);

    ct_fir_define(defines, "VECTOR", self->vector);
    ct_fir_define(defines, "PHASES_APART", self->phases_apart);
    ct_fir_define(defines, "TAPS_SHARED", self->shares_taps);
    ct_fir_define(defines, "MIN_BLOCKS",
                  ct_fir_spread_blocks(&self->spread, threads, registers, !self->slides));
    if (tiles) {
        ct_fir_define(defines, "TILE_READ", self->tile_read);
        ct_fir_define(defines, "TILE_WRITE", self->tile_write);
    } else {
        ct_fir_define(defines, "SLIDING", self->slides);
    }
    const CtKernelSpec kernel = {
        .name = tiles ? "fir_tiles" : "fir_rows",
        .source = tiles ? RESOURCES "fir-tiles.cu" : RESOURCES "fir.cu",
        .headers = (const char *const[]){RESOURCES "fir-axes.h", RESOURCES "fir-window.h", NULL},
    };
    return ct_fir_spread_compile(&self->spread, &kernel, defines, threads, error);
}

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    const CtBinding *input = &prepare->inputs[0], *output = &prepare->outputs[0];
    const CtBlock in = ct_fir_usual_block(input), out = ct_fir_usual_block(output);
    Cuda *self = *state = g_new0(Cuda, 1);
    FirAxes axes;

    if (!ct_fir_spread_init(&self->spread, prepare, error))
        return FALSE;
    if (ct_stream_width(output->stream) > MAX_THREADS) {
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                    "wants at most %" G_GINT64_FORMAT
                    " elements in an output sample, but makes %" G_GINT64_FORMAT,
                    MAX_THREADS, ct_stream_width(output->stream));
        return FALSE;
    }
    memcpy(self->tuning, prepare->tuning, sizeof self->tuning);
    self->shares_taps = self->spread.n_taps > REGISTER_TAPS;
    self->n_threads = (guint)self->tuning[THREADS];
    if (self->shares_taps)
        self->n_threads = MIN(self->n_threads, TAP_THREADS);
    self->spread.ahead = self->tuning[AHEAD] ? (guint)self->tuning[AHEAD] : FEW_AHEAD;
    ct_fir_spread_axes(&self->spread, &axes, &in, &out, FALSE);
    choose_times(self, &axes, ct_stream_width(output->stream));
    ct_fir_spread_axes(&self->spread, &axes, &in, &out, TRUE);
    choose_vector(self, &axes);
    ct_fir_spread_axes(&self->spread, &axes, &in, &out, FALSE);
    choose_tiles(self, &axes);
    if (!self->tuning[AHEAD] && self->slides && self->tile_read == 0 &&
        self->spread.n_taps > FEW_TAPS)
        self->spread.ahead = MANY_AHEAD;
    self->phases_apart = self->vector > 1 && axes.phase == axes.n_axes - 1;
    self->kernel = compile(self, error);
    return self->kernel != NULL;
}

/* ---- working ---- */

/* Whether vectors along the last axis are dense and begin at multiples of their bytes. `steps` are
 * the other distances between them. */
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
                                         axes->sample * self->spread.hop |
                                             axes->sample * self->spread.n_channels,
                                         ct_type_info(self->spread.in_type)->bytes, self->vector);
    gint64 n_threads = 1;

    for (guint a = 0; a < axes->n_axes; a++)
        n_threads *= axes->length[a];
    n_threads /= self->vector;
    const gint64 n_chunks = ct_fir_spread_cut(
        &self->spread, axes, (gdouble)n_threads / self->n_threads, MAX_THREADS / n_threads);
    guint32 n_all = (guint32)(n_threads * n_chunks);
    gpointer arguments[] = {&in,    &out,      (gpointer)&self->spread.taps, axes, &n_all,
                            &dense, &dense_out};
    const CtLaunch launch = {{(n_all - 1) / self->n_threads + 1, 1, 1}, {self->n_threads, 1, 1}, 0};
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
    const gint64 n_chunks =
        ct_fir_spread_cut(&self->spread, axes, (gdouble)n_blocks, MAX_THREADS / n_blocks);
    gpointer arguments[] = {&in, &out, (gpointer)&self->spread.taps, axes, &dense_out};
    const CtLaunch launch = {
        {(guint)(n_blocks * n_chunks), 1, 1},
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
    ct_fir_spread_axes(&self->spread, &axes, &work->inputs[0], out, FALSE);
    const gint32 dense_out = is_dense(&axes, out->data, axes.out, axes.output,
                                      ct_type_info(self->spread.out_type)->bytes, self->vector);
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
    ct_fir_spread_clear(&self->spread);
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
            {COMPLEX "[time ...] -> cf32[time phase ...]", 0.74},
            {COMPLEX "[... time] -> cf32[... time phase]", 0.74},
            {COMPLEX "[... time] -> cf32[time ... phase]", 0.74},
            {COMPLEX "[time ...] -> cf32[time ... phase]", 0.65},
            {COMPLEX "[time ...] -> cf32[... time phase]", 0.65},
            {COMPLEX "[time ...] -> cf32[phase time ...]", 0.7},
            {COMPLEX "[... time] -> cf32[time phase ...]", 0.6},
            {COMPLEX "{time ...} -> cf32{time phase ...}", 0.35},
            {REAL "[time ...] -> f32[time phase ...]", 0.74},
            {REAL "[... time] -> f32[... time phase]", 0.74},
            {REAL "[... time] -> f32[time ... phase]", 0.74},
            {REAL "[time ...] -> f32[time ... phase]", 0.65},
            {REAL "[time ...] -> f32[... time phase]", 0.65},
            {REAL "[time ...] -> f32[phase time ...]", 0.7},
            {REAL "[... time] -> f32[time phase ...]", 0.6},
            {REAL "{time ...} -> f32{time phase ...}", 0.35},
            {NULL, 0},
        },
    .tunables = tunables,
    .prepare = prepare,
    .work = work,
    .finish = finish,
};
