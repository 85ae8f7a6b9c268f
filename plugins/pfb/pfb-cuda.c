/* SPDX-License-Identifier: BSD-3-Clause */
/* fir and fft in one on a device, for powers of two that a block of threads can hold. Filtered
 * samples never leave the multiprocessor. */
#include "../fir/fir-spread.h"
#include "pfb-cells.h"
#include "pfb.h"

#include <cornerturn/kit/epilogue.h>
#include <math.h>
#include <string.h>

#define RESOURCES "/cornerturn/plugins/pfb/"

/* How a group of threads works, for filters and transforms up to a size and samples of so many
 * bytes: each thread filters `vector` phases of `ahead` spectra at a time, and keeps from one time
 * to the next either sums or samples (fir-window.h). Sums and coefficients of long filters leave
 * room for few phases, and many threads leave room for few registers. */
typedef struct {
    gint64 n_taps, n_channels; /* at most */
    gsize bytes;
    guint vector, ahead;
    gboolean keeps_samples, shares_taps; /* shares_taps: coefficients are in shared memory */
} Way;

static const Way ways[] = {
    {7, 512, 2, 2, 8, TRUE, TRUE},    {8, 512, 2, 2, 8, FALSE, TRUE},
    {8, 2048, 2, 4, 4, TRUE, TRUE},   {8, 512, 8, 2, 8, FALSE, FALSE},
    {8, 1024, 8, 4, 4, FALSE, FALSE}, {16, 512, 2, 2, 8, TRUE, TRUE},
    {16, 512, 8, 2, 8, FALSE, FALSE}, {32, 256, 8, 1, 8, FALSE, FALSE},
};

enum { THREADS, VECTOR, AHEAD, KEEPS, BUFFERS };
enum { BY_SIZE, KEEPS_SUMS, KEEPS_SAMPLES };
static const CtTunable tunables[] = {
    [THREADS] = {"threads", CT_VALUES(64, 128, 256), 128, "of a block, if groups are warps"},
    [VECTOR] = {"vector", CT_VALUES(0, 1, 2, 4), 0, "phases of a thread; 0: by the sizes"},
    [AHEAD] = {"ahead", CT_VALUES(0, 2, 4, 8, 16), 0,
               "spectra that are filtered, then transformed; 0: by the sizes"},
    [KEEPS] = {"keeps", CT_VALUES(BY_SIZE, KEEPS_SUMS, KEEPS_SAMPLES), BY_SIZE,
               "from spectrum to spectrum: 1 sums, 2 samples; 0: by the sizes"},
    [BUFFERS] = {"buffers", CT_VALUES(0, 1), 0,
                 "in shared memory, of a group; 0: two if its threads are not a warp and both fit"},
    {NULL},
};

/* The most values of a thread. Registers of a multiprocessor. */
#define MOST_VALUES    16
#define REGISTERS      65536
#define MOST_REGISTERS 255 /* of a thread */
/* Registers that a thread needs beside those for numbers, on any device and with any number of
 * taps. */
#define OTHER_REGISTERS 52
/* Registers for the epilogue, and for looking up what is valid. */
#define EPILOGUE_REGISTERS 6
#define CHECK_REGISTERS    16
/* Shared memory that each block takes beside its own. */
#define BLOCK_SHARED 1024
/* Bytes of shared memory of a block that every device has. */
#define MOST_SHARED ((gsize)96 << 10)
#define LEAST_AHEAD 2
#define WARP        32
/* Spectra of a cell that is folded by one group, if hops are longer. A hop that can't be divided
 * into such cells may have MOST_WHOLE spectra. */
#define LEAST_CELL 32
#define MOST_CELL  128
#define MOST_WHOLE 1024
/* Spectra of a block of time. The bytes of a channel in a cell that it is written in, at least: a
 * sector of memory. Those that lie between two in shared memory. */
#define BLOCK        16
#define SECTOR_BYTES 32
#define GAP_BYTES    8

typedef struct {
    FirSpread spread;
    CtKernel *kernel;
    CtEpilogue *epilogue; /* NULL: none */
    Way way;
    gpointer table;                /* of the device, exp(−2πi m / P) */
    guint group_threads, n_groups; /* threads of a group; groups of a block */
    guint n_buffers;
    gsize shared_bytes;
    gint64 cell, n_cells; /* spectra of a cell, cells of a hop that the epilogue folds or of a block
                             of time; 0: none */
    CtKernel *merge;      /* of the cells of a hop; NULL: it has one */
    gsize element_bytes;  /* in blocks of time; 0: time does not come in blocks */
    guint channel;        /* the axis of the output */
} Pfb;

static const Way *
find_way(gint64 n_channels, gint64 n_taps, CtType type)
{
    const gsize bytes = ct_type_info(type)->bytes;
    for (gsize i = 0; i < G_N_ELEMENTS(ways); i++)
        if (n_taps <= ways[i].n_taps && n_channels <= ways[i].n_channels && bytes <= ways[i].bytes)
            return &ways[i];
    return NULL;
}

static gint64
most_channels(gint64 n_taps, CtType type)
{
    gint64 most = 0;
    for (gint64 n = 2; find_way(n, n_taps, type); n *= 2)
        most = n;
    return most;
}

static guint
log2_of(gint64 n)
{
    return (guint)g_bit_nth_msf((gulong)n, -1);
}

/* The logarithm of the radix of a pass, as in fft-radix.h. */
static guint
radix_bits(guint n_bits, guint n_passes, guint pass)
{
    return n_bits / n_passes + (pass < n_bits % n_passes);
}

/* Registers for what a thread keeps, filters and has read ahead. */
static guint
count_filter_registers(guint n_taps, CtType type, const Way *way)
{
    const guint n_values = way->vector * way->ahead, bytes = (guint)ct_type_info(type)->bytes;
    const guint sample_registers = n_values * MAX(bytes, 2) / 4;
    if (way->keeps_samples)
        /* Those kept, sums, and coefficients and samples of some phases, converted. */
        return (n_taps - 1) * way->vector * MAX(bytes, 2) / 4 + 2 * n_values + n_taps + 7 +
               2 * sample_registers;
    /* If sums take few registers, samples that are read ahead are kept beside those that are
     * filtered. */
    return n_taps * (way->shares_taps ? 1 : way->vector) + 2 * (n_taps - 1) * way->vector +
           2 * n_values + (n_taps < 8 ? 2 : 1) * sample_registers;
}

/* The logarithm of the largest radix. Of few channels, a thread does not have all: with two passes,
 * threads side by side write channels side by side. No radix is below the phases of a thread, since
 * a group has at most as many threads as a pass has transforms of a spectrum. */
static guint
largest_radix(gint64 n_channels, const Way *way)
{
    const guint n_bits = log2_of(n_channels), most = log2_of(way->vector * way->ahead);
    guint radix = MIN(most, MAX(1, (n_bits + 1) / 2));
    while (radix < most && n_bits / ((n_bits - 1) / radix + 1) < log2_of(way->vector))
        radix++;
    return radix;
}

static guint
count_passes(gint64 n_channels, const Way *way)
{
    return (log2_of(n_channels) - 1) / largest_radix(n_channels, way) + 1;
}

/* The distance of spectra in shared memory. In the first pass, threads side by side read values
 * side by side of one spectrum, then of the next: these lie in other banks. */
static gint64
find_pitch(gint64 n_channels, const Way *way)
{
    const guint n_passes = count_passes(n_channels, way);
    const gint64 apart = n_channels >> ((log2_of(n_channels) + n_passes - 1) / n_passes);
    return n_channels + MAX(n_channels / 16, apart < 16 ? MAX(apart, way->vector) : 0);
}

/* Registers of a thread for numbers: those of the filter, those that it transforms, and the factors
 * of the passes behind the first. */
static guint
count_registers(gint64 n_channels, gint64 n_taps, CtType type, const Way *way)
{
    const guint n_values = way->vector * way->ahead, n_bits = log2_of(n_channels);
    const guint n_passes = count_passes(n_channels, way);
    guint registers = count_filter_registers((guint)n_taps, type, way);

    /* Samples other than bytes are converted beforehand, and with more than two passes each pass
     * has places of its own. */
    registers += !way->keeps_samples && (type != CT_CI8 || n_passes > 2) ? n_values / 2 : 0;
    for (guint pass = 1; pass < n_passes; pass++) {
        const guint radix = 1u << radix_bits(n_bits, n_passes, pass);
        registers += 2 * (MIN(radix, 4) + MAX(radix / 4, 1) - 2);
    }
    return registers;
}

/* ---- shared memory of a group ---- */

/* A buffer of spectra. */
static gsize
buffer_bytes(const Way *way, gint64 n_channels)
{
    return way->ahead * (gsize)find_pitch(n_channels, way) * 2 * sizeof(float);
}

static gsize
taps_bytes(const Way *way, gint64 n_channels, gint64 n_taps)
{
    return way->shares_taps ? (gsize)(n_channels * ((n_taps + 3) / 4 * 4)) * sizeof(float) : 0;
}

/* The states of what its threads fold: each has those of its values of a spectrum. */
static gsize
states_bytes(const Way *way, gint64 n_channels, gsize state_bytes)
{
    const guint n_passes = count_passes(n_channels, way);
    const guint bits = radix_bits(log2_of(n_channels), n_passes, n_passes - 1);
    return ((gsize)(n_channels / way->vector) << bits) * state_bytes;
}

/* The spectra of a block of time that are written together: those that are transformed together, or
 * as many as fill a sector. */
static gint64
count_together(const Way *way, gsize element_bytes)
{
    return MAX(way->ahead, MIN(BLOCK, SECTOR_BYTES / (gint64)element_bytes));
}

/* These spectra. */
static gsize
staged_bytes(const Way *way, gint64 n_channels, gsize element_bytes)
{
    const gsize run = (gsize)count_together(way, element_bytes) * element_bytes;
    return (gsize)n_channels * (run + MAX(GAP_BYTES, element_bytes));
}

/* What a group has in any case, with one buffer. */
static gsize
group_bytes(const Way *way, gint64 n_channels, gint64 n_taps)
{
    return buffer_bytes(way, n_channels) + taps_bytes(way, n_channels, n_taps);
}

/* ---- the way of groups ---- */

/* How a group works with this tuning. If that does not fit a multiprocessor, the table decides. */
static Way
choose_way(const gint64 *tuning, gint64 n_channels, gint64 n_taps, CtType type)
{
    const Way *usual = find_way(n_channels, n_taps, type);
    Way way = *usual;
    way.vector = tuning[VECTOR] ? (guint)tuning[VECTOR] : way.vector;
    way.ahead = tuning[AHEAD] ? (guint)tuning[AHEAD] : MIN(way.ahead, MOST_VALUES / way.vector);
    way.keeps_samples = tuning[KEEPS] ? tuning[KEEPS] == KEEPS_SAMPLES : way.keeps_samples;
    way.shares_taps = way.keeps_samples || (!usual->keeps_samples && usual->shares_taps);
    const guint n_values = way.vector * way.ahead;
    if (n_values > MOST_VALUES || n_values < 4 || n_channels < way.vector ||
        n_channels / way.vector > 512)
        return *usual;
    const gint64 threads = MAX(tuning[THREADS], n_channels / way.vector);
    const gint64 registers = count_registers(n_channels, n_taps, type, &way) + OTHER_REGISTERS;
    return registers > MOST_REGISTERS || registers * threads > REGISTERS ? *usual : way;
}

/* The groups of a block: several if they are parts of warps. Larger ones would wait for each
 * other. */
static guint
count_groups(const Way *way, gint64 n_channels, gint64 threads)
{
    const gint64 group = n_channels / way->vector;
    return group > WARP ? 1 : (guint)MAX(1, threads / group);
}

/* Whether a value has its effect, and another one than the usual value. */
static gboolean
has_effect(gint64 wanted, gint64 value, gint64 usual)
{
    return wanted == 0 || (wanted == value && value != usual);
}

static gboolean
differs(const CtNode *nodes, const gint64 *tuning)
{
    const gint64 n_channels = ct_stream_length(&nodes[0].outputs[0], "phase");
    const gint64 n_taps = nodes[0].footprint.window / n_channels;
    const CtType type = nodes[0].inputs[0].type;
    const Way *usual = find_way(n_channels, n_taps, type);
    const gint64 threads = tunables[THREADS].fallback;

    if (!usual)
        return FALSE;
    const Way way = choose_way(tuning, n_channels, n_taps, type);
    return has_effect(tuning[VECTOR], way.vector, usual->vector) &&
           has_effect(tuning[AHEAD], way.ahead, usual->ahead) &&
           has_effect(tuning[KEEPS], way.keeps_samples ? KEEPS_SAMPLES : KEEPS_SUMS,
                      usual->keeps_samples ? KEEPS_SAMPLES : KEEPS_SUMS) &&
           (tuning[BUFFERS] == 0 || n_channels / way.vector > WARP) &&
           (tuning[THREADS] == threads || count_groups(&way, n_channels, tuning[THREADS]) !=
                                              count_groups(&way, n_channels, threads));
}

static gboolean
send_table(Pfb *self, GError **error)
{
    const gint64 n = self->spread.n_channels;
    const gsize bytes = (gsize)n * 2 * sizeof(float);
    g_autofree float *table = CT_TABLE(float, 2 * n, "a transform's factors", error);

    if (table == NULL)
        return FALSE;
    for (gint64 m = 0; m < n; m++) {
        table[2 * m] = (float)cos(2 * G_PI * (gdouble)m / (gdouble)n);
        table[2 * m + 1] = (float)-sin(2 * G_PI * (gdouble)m / (gdouble)n);
    }
    self->table = ct_device_alloc(self->spread.device, bytes, "a transform's factors", error);
    return self->table && ct_device_upload(self->spread.device, self->table, table, bytes, error);
}

/* ---- folding ---- */

/* The spectra of a cell: of the divisors of the hop the largest one that is a multiple of `ahead`,
 * or else the largest one; 0: the hop has no cells. */
static gint64
find_cell(gint64 hop, gint64 ahead)
{
    gint64 best = hop <= MOST_CELL ? hop : 0;
    for (gint64 cell = LEAST_CELL; cell <= MOST_CELL && best < hop; cell++)
        if (hop % cell == 0 && (cell % ahead == 0 || best % ahead != 0))
            best = cell;
    return best > 0 || hop > MOST_WHOLE ? best : hop;
}

/* How a group transforms as few spectra at a time as it can. */
static Way
least_way(const Way *usual)
{
    Way way = *usual;
    way.ahead = LEAST_AHEAD;
    return way;
}

static gboolean
folds(const CtNode *nodes, gint64 hop, gsize state_bytes)
{
    const gint64 n_channels = ct_stream_length(&nodes[0].outputs[0], "phase");
    const gint64 n_taps = nodes[0].footprint.window / n_channels;
    const Way *usual = find_way(n_channels, n_taps, nodes[0].inputs[0].type);
    const gint channel = ct_stream_axis(&nodes[1].outputs[0], "channel");
    if (!usual || channel < 0 || nodes[1].outputs[0].axes[channel].loses)
        return FALSE;
    const Way way = least_way(usual);
    return nodes[0].footprint.hop == n_channels && find_cell(hop, 1) > 0 &&
           group_bytes(&way, n_channels, n_taps) + states_bytes(&way, n_channels, state_bytes) <=
               MOST_SHARED;
}

static gboolean
is_folded(const Pfb *self)
{
    return self->epilogue && self->epilogue->hop > 0;
}

static void
choose_cells(Pfb *self)
{
    if (is_folded(self)) {
        self->cell = find_cell(self->epilogue->hop, self->way.ahead);
        self->n_cells = self->epilogue->hop / self->cell;
        self->spread.unit = self->cell;
        /* Cells that end anywhere take registers; samples take fewer than sums. */
        self->way.keeps_samples |= self->cell % self->way.ahead != 0 && self->way.shares_taps;
    } else if (self->element_bytes > 0) {
        self->cell = count_together(&self->way, self->element_bytes);
        self->n_cells = BLOCK / self->cell;
        self->spread.unit = BLOCK;
    }
}

/* Whether count_registers() is known to be close for this number of taps. */
static gboolean
is_usual_count(gint64 n_taps)
{
    return n_taps == 8 || n_taps == 16 || n_taps == 32;
}

/* Bytes of shared memory of a block. */
static gsize
count_shared(const Pfb *self, guint n_buffers)
{
    const gint64 n_channels = self->spread.n_channels;
    const gsize kept =
        is_folded(self) ? states_bytes(&self->way, n_channels, self->epilogue->state_bytes)
        : self->element_bytes > 0 ? staged_bytes(&self->way, n_channels, self->element_bytes)
                                  : 0;
    return self->n_groups * (group_bytes(&self->way, n_channels, self->spread.n_taps) +
                             (n_buffers - 1) * buffer_bytes(&self->way, n_channels) + kept);
}

/* With two buffers, a group waits half as often; that counts where it is more than a warp. */
static void
choose_buffers(Pfb *self, gboolean is_one, guint n_blocks)
{
    const CtDeviceInfo *device = ct_device_info(self->spread.device);
    const gsize both = count_shared(self, 2);
    const gboolean fits = both <= device->shared_bytes &&
                          (both + BLOCK_SHARED) * n_blocks <= device->multiprocessor_shared;
    self->n_buffers = !is_one && self->group_threads > WARP && fits ? 2 : 1;
    self->shared_bytes = count_shared(self, self->n_buffers);
}

/* Decides how groups work. Where shared memory is small, there are fewer groups, and then fewer
 * spectra are transformed together. */
static void
choose_groups(Pfb *self, const gint64 *tuning)
{
    const gint64 n_channels = self->spread.n_channels;
    const gsize most = ct_device_info(self->spread.device)->shared_bytes;
    self->way = choose_way(tuning, n_channels, self->spread.n_taps, self->spread.in_type);
    self->group_threads = (guint)n_channels / self->way.vector;
    self->n_groups = count_groups(&self->way, n_channels, tuning[THREADS]);
    while (self->n_groups > 1 && count_shared(self, 1) > most)
        self->n_groups /= 2;
    while (self->way.ahead > LEAST_AHEAD && count_shared(self, 1) > most)
        self->way.ahead /= 2;
}

/* Compiles the kernel, and that which merges cells, if hops have several: their states are scratch
 * memory. */
static gboolean
compile(Pfb *self, CtPrepare *prepare, GPtrArray *defines, guint threads, GError **error)
{
    CtKernelSpec kernel = {
        .name = "pfb",
        .source = RESOURCES "pfb.cu",
        .headers = (const char *const[]){RESOURCES "fft-radix.h", RESOURCES "fir-axes.h",
                                         RESOURCES "fir-window.h", RESOURCES "pfb-blocks.h",
                                         RESOURCES "pfb-cells.h", NULL},
        .shared_bytes = self->shared_bytes,
        .epilogue = self->epilogue,
    };
    self->kernel = ct_fir_spread_compile(&self->spread, &kernel, defines, threads, error);
    if (!self->kernel || !is_folded(self) || self->n_cells == 1)
        return self->kernel != NULL;
    const CtStream *out = prepare->outputs[0].stream;
    prepare->scratch_bytes = (gsize)(prepare->outputs[0].max_samples * self->n_cells) *
                             (gsize)ct_stream_width(out) * self->epilogue->state_bytes;
    kernel.name = "pfb_merge";
    kernel.source = RESOURCES "pfb-merge.cu";
    kernel.shared_bytes = 0;
    kernel.defines = (const char *const *)defines->pdata;
    self->merge = ct_kernel_new(self->spread.device, &kernel, error);
    return self->merge != NULL;
}

static void
look_at_output(Pfb *self, const CtBinding *out)
{
    self->channel = (guint)ct_layout_axis(&out->layout, "channel");
    self->element_bytes = ct_layout_block_axis(&out->layout, "time") >= 0
                              ? ct_type_info(out->stream->type)->bytes
                              : 0;
}

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    Pfb *self = *state = g_new0(Pfb, 1);
    g_autoptr(GPtrArray) defines = g_ptr_array_new_with_free_func(g_free);

    if (!ct_fir_spread_init(&self->spread, prepare, error) || !send_table(self, error))
        return FALSE;
    const gint64 n_channels = self->spread.n_channels;
    self->epilogue = prepare->epilogue;
    look_at_output(self, &prepare->outputs[0]);
    choose_groups(self, prepare->tuning);
    self->spread.n_times = (guint)(n_channels / self->spread.hop);
    self->spread.ahead = self->way.ahead;
    const guint threads = self->group_threads * self->n_groups;
    choose_cells(self);

    gboolean is_unusual = !is_usual_count(self->spread.n_taps);
    for (guint i = 0; i < KEEPS; i++)
        is_unusual |= prepare->tuning[i] != tunables[i].fallback;

    ct_fir_define(defines, "VECTOR", self->way.vector);
    ct_fir_define(defines, "PHASES_APART", self->way.vector > 1);
    ct_fir_define(defines, "TAPS_SHARED", self->way.shares_taps);
    ct_fir_define(defines, "KEEPS_SAMPLES", self->way.keeps_samples);
    ct_fir_define(defines, "N_BITS", log2_of(n_channels));
    ct_fir_define(defines, "RADIX_BITS", largest_radix(n_channels, &self->way));
    ct_fir_define(defines, "PITCH", find_pitch(n_channels, &self->way));
    ct_fir_define(defines, "GROUPS", self->n_groups);
    ct_fir_define(defines, "SHIFT", ct_params_bool(prepare->nodes[1].params, "shift"));
    const guint registers =
        count_registers(n_channels, self->spread.n_taps, self->spread.in_type, &self->way) +
        (self->epilogue ? EPILOGUE_REGISTERS + (self->epilogue->checks ? CHECK_REGISTERS : 0) : 0);
    const guint n_blocks = ct_fir_spread_blocks(&self->spread, threads, registers, is_unusual);
    choose_buffers(self, prepare->tuning[BUFFERS] == 1, n_blocks);
    ct_fir_define(defines, "MIN_BLOCKS", n_blocks);
    ct_fir_define(defines, "BUFFERS", self->n_buffers);
    ct_fir_define(defines, "CELL", self->cell);
    ct_fir_define(defines, "N_CELLS", self->n_cells);
    ct_fir_define(defines, "BLOCKS", self->element_bytes > 0);
    return compile(self, prepare, defines, threads, error);
}

/* Whether vectors of samples begin at multiples of their bytes. */
static gboolean
is_aligned(const Pfb *self, const FirAxes *axes, const guint8 *in)
{
    const gsize bytes = ct_type_info(self->spread.in_type)->bytes;
    gsize bits = GPOINTER_TO_SIZE(in) | (gsize)(axes->sample * self->spread.hop);

    for (guint a = 0; a < axes->n_axes; a++)
        bits |= (gsize)axes->in[a];
    return axes->sample == (gint64)bytes && bits % (bytes * self->way.vector) == 0;
}

/* Whether blocks of time begin at multiples of 16 bytes. */
static gboolean
are_blocks_aligned(const CtBlock *out)
{
    gsize bits = GPOINTER_TO_SIZE(out->data);

    for (guint a = 0; a + 1 < out->n_axes; a++)
        bits |= (gsize)out->stride[a];
    return bits % 16 == 0;
}

/* The cells of a firing; chunks of `axes` are cut later. */
static PfbCells
find_cells(const Pfb *self, FirAxes *axes, gint64 n_series, const CtWork *work)
{
    const CtBlock *out = &work->outputs[0];
    const PfbCells cells = {
        .states = work->scratch,
        .step = axes->output,
        .channel = out->stride[self->channel],
        .n_series = (guint)n_series,
        .aligned = are_blocks_aligned(out),
    };

    if (is_folded(self))
        axes->n_outputs =
            work->inputs[0].n_samples / self->spread.n_channels - (self->spread.n_taps - 1);
    if (self->cell > 0)
        axes->output = 0;
    return cells;
}

/* Merges the cells of each hop. */
static gboolean
merge(const Pfb *self, const CtWork *work, FirAxes *axes, PfbCells *cells, gpointer epilogue,
      GError **error)
{
    const gint64 n = work->outputs[0].n_samples * cells->n_series * self->spread.n_channels;
    gpointer out = work->outputs[0].data;
    const CtLaunch launch = {
        {(guint)((n - 1) / PFB_MERGE_THREADS + 1), 1, 1}, {PFB_MERGE_THREADS, 1, 1}, 0};
    return ct_queue_launch(work->queue, self->merge, &launch,
                           (gpointer[]){&out, axes, cells, epilogue}, error);
}

static gboolean
work(gpointer state, const CtWork *work, GError **error)
{
    const Pfb *self = state;
    const CtBlock *in_block = &work->inputs[0], *out_block = &work->outputs[0];
    const guint8 *in = in_block->data, *out = out_block->data;
    gint64 n_groups = 1;
    FirAxes axes;

    if (out_block->n_samples == 0)
        return TRUE;
    ct_fir_spread_axes(&self->spread, &axes, in_block, out_block, FALSE);
    for (guint a = 0; a < axes.n_axes; a++)
        n_groups *= axes.length[a];
    PfbCells cells = find_cells(self, &axes, n_groups, work);
    n_groups *= ct_fir_spread_cut(&self->spread, &axes, (gdouble)n_groups / self->n_groups,
                                  G_MAXINT32 / n_groups);
    cells.of_chunk = self->cell > 0 ? (guint)(axes.chunk / self->cell) : 0;
    guint32 n_all = (guint32)n_groups;
    gint32 dense = is_aligned(self, &axes, in);
    gpointer epilogue = ct_epilogue_argument(self->epilogue, work, error);
    gpointer arguments[] = {&in,
                            &out,
                            (gpointer)&self->spread.taps,
                            (gpointer)&self->table,
                            &axes,
                            &n_all,
                            &dense,
                            &cells,
                            epilogue};
    const CtLaunch launch = {
        {(n_all - 1) / self->n_groups + 1, 1, 1},
        {self->group_threads * self->n_groups, 1, 1},
        self->shared_bytes,
    };
    return epilogue && ct_queue_launch(work->queue, self->kernel, &launch, arguments, error) &&
           (!self->merge || merge(self, work, &axes, &cells, epilogue, error));
}

static void
finish(gpointer state)
{
    Pfb *self = state;

    if (self == NULL)
        return;
    ct_kernel_free(self->kernel);
    ct_kernel_free(self->merge);
    ct_device_free(self->spread.device, self->table);
    ct_fir_spread_clear(&self->spread);
    g_free(self);
}

/* Whether a parameter that names an axis leaves it at its default. */
static gboolean
is_axis(const CtParams *params, const char *name, const char *fallback)
{
    return !ct_params_has(params, name) || strcmp(ct_params_string(params, name), fallback) == 0;
}

static gboolean
fits(const CtNode *nodes, char **reason)
{
    const CtParams *fft = nodes[1].params;
    const CtFootprint *footprint = &nodes[0].footprint;
    const gint64 n_channels = ct_stream_length(&nodes[0].outputs[0], "phase");
    const gint64 n_taps = footprint->window / n_channels;
    const CtType type = nodes[0].inputs[0].type;

    if (!is_axis(fft, "axis", "phase") || !is_axis(fft, "to", "channel") ||
        ct_params_choice(fft, "direction") != 0)
        *reason = g_strdup("it makes channels of phases alone, forward");
    else if (n_channels < 2 || (n_channels & (n_channels - 1)) != 0 ||
             find_way(n_channels, n_taps, type) == NULL)
        *reason = g_strdup_printf(
            "it wants a power of two of at most %" G_GINT64_FORMAT
            " channels (8 taps), %" G_GINT64_FORMAT " (16 taps) or %" G_GINT64_FORMAT
            " (32 taps) of %s, but is given %" G_GINT64_FORMAT " channels of %" G_GINT64_FORMAT
            " taps",
            most_channels(8, type), most_channels(16, type), most_channels(32, type),
            ct_type_info(type)->name, n_channels, n_taps);
    else if (n_channels % footprint->hop != 0)
        *reason = g_strdup_printf(
            "it wants a hop that divides the channels, but is given %" G_GINT64_FORMAT
            " of %" G_GINT64_FORMAT,
            footprint->hop, n_channels);
    return *reason == NULL;
}

/* Whether there can be blocks of time in the output. */
static gboolean
fits_blocks(const CtNode *nodes, char **reason)
{
    const gint64 n_channels = ct_stream_length(&nodes[0].outputs[0], "phase");
    const gint64 hop = nodes[0].footprint.hop, n_taps = nodes[0].footprint.window / n_channels;

    if (!fits(nodes, reason))
        return FALSE;
    const Way way = least_way(find_way(n_channels, n_taps, nodes[0].inputs[0].type));
    const gsize bytes =
        group_bytes(&way, n_channels, n_taps) + (gsize)n_channels * (SECTOR_BYTES + GAP_BYTES);
    if (hop != n_channels)
        *reason = g_strdup_printf("it wants a hop of all channels, but is given %" G_GINT64_FORMAT
                                  " of %" G_GINT64_FORMAT,
                                  hop, n_channels);
    else if (bytes > MOST_SHARED)
        *reason = g_strdup_printf(
            "it has %" G_GSIZE_FORMAT
            " KiB of shared memory for spectra, but these need %" G_GSIZE_FORMAT " KiB",
            MOST_SHARED >> 10, (bytes + 1023) >> 10);
    return *reason == NULL;
}

#define TYPES "ci4|ci8|ci16|cf16|cf32"

#define FUSED                                                                                      \
    .backend = CT_CUDA, .covers = (const char *const[]){"fir 2", "fft 1", NULL},                   \
    .tunables = tunables, .flags = CT_VARIANT_EPILOGUE, .differs = differs, .prepare = prepare,    \
    .work = work, .finish = finish

const CtVariant ct_pfb_cuda = {
    FUSED,
    .name = "fused-cuda",
    .rows =
        (const CtRow[]){
            {TYPES "[... time] -> cf32[... time channel]", 0.6},
            {TYPES "[... time] -> cf32[time ... channel]", 0.6},
            {NULL, 0},
        },
    .fits = fits,
    .folds = folds,
};

const CtVariant ct_pfb_blocks_cuda = {
    FUSED,
    .name = "fused-blocks-cuda",
    .rows =
        (const CtRow[]){
            {TYPES "[... time] -> cf32[channel time ... time:16]", 0.55},
            {NULL, 0},
        },
    .fits = fits_blocks,
};
