/* SPDX-License-Identifier: BSD-3-Clause */
/* fir and fft in one on a device, for numbers of channels with factors 2, 3 and 5 that a block of
 * threads can hold. Filtered samples never leave the multiprocessor. */
#include "../fft/fft-radices.h"
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
 * room for few phases, and many threads leave room for few registers. Other numbers of spectra are
 * taken if all threads then have as many values in each pass. */
typedef struct {
    guint vector, ahead;
    gboolean keeps_samples;
    FftRadices radices;
} Way;

static const struct {
    gint64 n_taps, n_channels; /* at most */
    gsize bytes;
    guint vector, ahead;
    gboolean keeps_samples;
} ways[] = {
    {8, 512, 2, 2, 8, TRUE},   {8, 2048, 2, 4, 4, TRUE}, {8, 512, 8, 2, 8, FALSE},
    {8, 1024, 8, 4, 4, FALSE}, {16, 512, 2, 2, 8, TRUE}, {16, 512, 8, 2, 8, FALSE},
    {32, 256, 8, 1, 8, FALSE},
};

enum { THREADS, VECTOR, AHEAD, KEEPS, BUFFERS };
enum { BY_SIZE, KEEPS_SUMS, KEEPS_SAMPLES };
static const CtTunable tunables[] = {
    [THREADS] = {"threads", CT_VALUES(64, 128, 256), 128, "of a block, if groups are warps"},
    [VECTOR] = {"vector", CT_VALUES(0, 1, 2, 4), 0, "phases of a thread; 0: by the sizes"},
    [AHEAD] = {"ahead", CT_VALUES(0, 2, 4, 5, 8, 10, 16), 0,
               "spectra that are filtered, then transformed; 0: by the sizes"},
    [KEEPS] = {"keeps", CT_VALUES(BY_SIZE, KEEPS_SUMS, KEEPS_SAMPLES), BY_SIZE,
               "from spectrum to spectrum: 1 sums, 2 samples; 0: by the sizes"},
    [BUFFERS] = {"buffers", CT_VALUES(0, 1), 0,
                 "in shared memory, of a group; 0: two if its threads are not a warp and both fit"},
    {NULL},
};

/* The most values of a thread, usually and ever. The most threads of a group. Registers of a
 * multiprocessor. */
#define USUAL_VALUES   16
#define MOST_VALUES    20
#define MOST_THREADS   512
#define SECTOR_VALUES  4 /* of spectra */
#define PASS_COST      0.4
#define PIECES_COST    0.5
#define AHEAD_COST     0.001
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
/* The most threads of groups that wait for each other. The part of the threads of warps that are
 * enough to have work. */
#define MOST_WAITING 256
#define ENOUGH_WORK  0.9
/* Spectra of a cell that is folded by one group, if hops are longer. A hop that can't be divided
 * into such cells may have MOST_WHOLE spectra. */
#define LEAST_CELL 32
#define MOST_CELL  128
#define MOST_WHOLE 1024

typedef struct {
    FirSpread spread;
    CtKernel *kernel;
    CtEpilogue *epilogue; /* NULL: none */
    Way way;
    gpointer table;                /* of the device, exp(−2πi m / P) */
    guint group_threads, n_groups; /* threads of a group; groups of a block */
    guint n_buffers;
    gsize shared_bytes;
    gint64 cell, n_cells; /* spectra of a cell, cells of a hop that the epilogue folds; 0: none */
    CtKernel *merge;      /* of the cells of a hop; NULL: it has one */
} Pfb;

/* The cost of passes of a thread with n_values, and of spectra that are not written in pieces of
 * whole sectors of the cache; measured. */
static gdouble
cost_of(const FftRadices *radices, gint64 n_channels, guint n_values)
{
    const gint64 piece = n_channels / radices->radix[radices->n_passes - 1];
    return PASS_COST * radices->n_passes +
           (gdouble)ct_fft_radices_idle(radices, n_values) / n_values +
           (piece % SECTOR_VALUES != 0 ? PIECES_COST : 0);
}

/* Chooses the number of spectra, about `usual` or less, and radices. FALSE: there are no radices.
 */
static gboolean
choose_ahead(Way *way, gint64 n_channels, guint usual)
{
    const guint most = usual * MOST_VALUES / USUAL_VALUES;
    gdouble least = G_MAXDOUBLE;

    for (guint ahead = LEAST_AHEAD; ahead <= most; ahead++) {
        FftRadices radices;
        if (!ct_fft_radices_find(&radices, n_channels, way->vector, way->vector * ahead))
            continue;
        const gdouble cost = cost_of(&radices, n_channels, way->vector * ahead) +
                             AHEAD_COST * (ahead > usual ? usual : usual - ahead);
        if (cost >= least)
            continue;
        least = cost;
        way->ahead = ahead;
        way->radices = radices;
    }
    return least < G_MAXDOUBLE;
}

/* How a group works by the table, with fewer phases a thread if there are no radices for so many.
 * FALSE: there is no way. */
static gboolean
find_way(Way *way, gint64 n_channels, gint64 n_taps, CtType type)
{
    const gsize bytes = ct_type_info(type)->bytes;
    gsize i = 0;
    while (i < G_N_ELEMENTS(ways) &&
           (n_taps > ways[i].n_taps || n_channels > ways[i].n_channels || bytes > ways[i].bytes))
        i++;
    if (i == G_N_ELEMENTS(ways))
        return FALSE;
    *way = (Way){.keeps_samples = ways[i].keeps_samples};
    for (way->vector = ways[i].vector; way->vector > 0; way->vector /= 2)
        if (n_channels <= MOST_THREADS * way->vector &&
            choose_ahead(way, n_channels, ways[i].vector * ways[i].ahead / way->vector))
            return TRUE;
    return FALSE;
}

static gint64
most_channels(gint64 n_taps, CtType type)
{
    Way way;
    gint64 most = 0;
    for (gint64 n = 2; find_way(&way, n, n_taps, type); n *= 2)
        most = n;
    return most;
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
    return n_taps * way->vector + 2 * (n_taps - 1) * way->vector + 2 * n_values +
           (n_taps < 8 ? 2 : 1) * sample_registers;
}

/* The distance of spectra in shared memory. In the first pass, threads side by side read values
 * side by side of one spectrum, then of the next: these lie in other banks. */
static gint64
find_pitch(gint64 n_channels, const Way *way)
{
    const gint64 apart = n_channels / way->radices.radix[0], n_banks = MIN(n_channels, 16);
    gint64 pitch = n_channels + n_channels / 16;
    while (apart < 16 && pitch % n_banks != apart % n_banks)
        pitch++;
    const gint64 whole = MAX(way->vector, 2);
    return (pitch + whole - 1) / whole * whole;
}

/* Registers of a thread for numbers: those of the filter, those that it transforms, and the factors
 * of the passes behind the first. */
static guint
count_registers(gint64 n_taps, CtType type, const Way *way)
{
    const guint n_values = way->vector * way->ahead;
    guint registers = count_filter_registers((guint)n_taps, type, way);

    /* Samples other than bytes are converted beforehand, and with more than two passes each pass
     * has places of its own. */
    registers +=
        !way->keeps_samples && (type != CT_CI8 || way->radices.n_passes > 2) ? n_values / 2 : 0;
    return registers + 2 * (ct_fft_radices_held(&way->radices, n_values) - n_values) +
           ct_fft_radices_registers(&way->radices);
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
    return way->keeps_samples ? (gsize)(n_channels * ((n_taps + 3) / 4 * 4)) * sizeof(float) : 0;
}

/* The states of what its threads fold: each has those of its values of a spectrum. */
static gsize
states_bytes(const Way *way, gint64 n_channels, gsize state_bytes)
{
    const guint last = way->radices.radix[way->radices.n_passes - 1];
    return (gsize)(n_channels / way->vector * last) * state_bytes;
}

/* ---- the way of groups ---- */

/* How a group works with this tuning, of which the table says `usual`. If that does not fit a
 * multiprocessor, the table decides. */
static Way
choose_way(const Way *usual, const gint64 *tuning, gint64 n_channels, gint64 n_taps, CtType type)
{
    Way way = *usual;
    way.vector = tuning[VECTOR] ? (guint)tuning[VECTOR] : way.vector;
    way.keeps_samples = tuning[KEEPS] ? tuning[KEEPS] == KEEPS_SAMPLES : way.keeps_samples;
    if (tuning[AHEAD])
        way.ahead = (guint)tuning[AHEAD];
    const guint n_values = way.vector * way.ahead;
    if (n_channels % way.vector != 0 || n_channels > MOST_THREADS * way.vector)
        return *usual;
    const gboolean has_radices =
        tuning[AHEAD] ? n_values >= 4 && n_values <= MOST_VALUES &&
                            ct_fft_radices_find(&way.radices, n_channels, way.vector, n_values)
        : tuning[VECTOR] ? choose_ahead(&way, n_channels, MIN(way.ahead, USUAL_VALUES / way.vector))
                         : TRUE;
    if (!has_radices)
        return *usual;
    const gint64 threads = MAX(tuning[THREADS], n_channels / way.vector);
    const gint64 registers = count_registers(n_taps, type, &way) + OTHER_REGISTERS;
    return registers > MOST_REGISTERS || registers * threads > REGISTERS ? *usual : way;
}

/* The groups of a block: several if they are parts of warps, or if they leave threads of their last
 * warp without work. Others would wait for each other. */
static guint
count_groups(const Way *way, gint64 n_channels, gint64 threads)
{
    const gint64 group = n_channels / way->vector;
    gdouble most = 0;
    guint best = 1;
    if (WARP % group == 0)
        return (guint)MAX(1, threads / group);
    for (guint n = 1; most < ENOUGH_WORK && (n == 1 || n * group <= MOST_WAITING); n++) {
        const gdouble warps = ceil((gdouble)(n * group) / WARP);
        const gdouble part = (gdouble)(n * group) / (WARP * warps);
        best = part > most ? n : best;
        most = MAX(part, most);
    }
    return best;
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
    const gint64 threads = tunables[THREADS].fallback;
    Way usual;

    if (!find_way(&usual, n_channels, n_taps, type))
        return FALSE;
    const Way way = choose_way(&usual, tuning, n_channels, n_taps, type);
    return has_effect(tuning[VECTOR], way.vector, usual.vector) &&
           has_effect(tuning[AHEAD], way.ahead, usual.ahead) &&
           has_effect(tuning[KEEPS], way.keeps_samples ? KEEPS_SAMPLES : KEEPS_SUMS,
                      usual.keeps_samples ? KEEPS_SAMPLES : KEEPS_SUMS) &&
           (tuning[BUFFERS] == 0 || WARP % (n_channels / way.vector) != 0) &&
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

/* The bytes of shared memory of a group that transforms as few spectra at a time as it can. */
static gsize
least_bytes(Way way, gint64 n_channels, gint64 n_taps, gsize state_bytes)
{
    while (choose_ahead(&way, n_channels, way.ahead / 2))
        ;
    return buffer_bytes(&way, n_channels) + taps_bytes(&way, n_channels, n_taps) +
           states_bytes(&way, n_channels, state_bytes);
}

static gboolean
folds(const CtNode *nodes, gint64 hop, gsize state_bytes)
{
    const gint64 n_channels = ct_stream_length(&nodes[0].outputs[0], "phase");
    const gint64 n_taps = nodes[0].footprint.window / n_channels;
    Way way;
    const gint channel = ct_stream_axis(&nodes[1].outputs[0], "channel");
    return nodes[0].footprint.hop == n_channels && channel >= 0 &&
           !nodes[1].outputs[0].axes[channel].loses && find_cell(hop, 1) > 0 &&
           find_way(&way, n_channels, n_taps, nodes[0].inputs[0].type) &&
           least_bytes(way, n_channels, n_taps, state_bytes) <= MOST_SHARED;
}

static void
choose_cells(Pfb *self)
{
    if (!self->epilogue || self->epilogue->hop == 0)
        return;
    self->cell = find_cell(self->epilogue->hop, self->way.ahead);
    self->n_cells = self->epilogue->hop / self->cell;
    self->spread.unit = self->cell;
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
    const gsize state_bytes = self->epilogue ? self->epilogue->state_bytes : 0;
    return self->n_groups * (n_buffers * buffer_bytes(&self->way, n_channels) +
                             taps_bytes(&self->way, n_channels, self->spread.n_taps) +
                             states_bytes(&self->way, n_channels, state_bytes));
}

/* With two buffers, a group waits half as often; that counts where it is more than a warp. */
static void
choose_buffers(Pfb *self, gboolean is_one, guint n_blocks)
{
    const CtDeviceInfo *device = ct_device_info(self->spread.device);
    const gsize both = count_shared(self, 2);
    const gboolean fits = both <= device->shared_bytes &&
                          (both + BLOCK_SHARED) * n_blocks <= device->multiprocessor_shared;
    self->n_buffers = !is_one && WARP % self->group_threads != 0 && fits ? 2 : 1;
    self->shared_bytes = count_shared(self, self->n_buffers);
}

/* Decides how groups work. Where shared memory is small, there are fewer groups, and then fewer
 * spectra are transformed together. */
static void
choose_groups(Pfb *self, const gint64 *tuning)
{
    const gint64 n_channels = self->spread.n_channels;
    const gsize most = ct_device_info(self->spread.device)->shared_bytes;
    const gint64 n_taps = self->spread.n_taps;
    const CtType type = self->spread.in_type;
    Way usual = {0};
    (void)find_way(&usual, n_channels, n_taps, type);
    self->way = choose_way(&usual, tuning, n_channels, n_taps, type);
    self->group_threads = (guint)n_channels / self->way.vector;
    self->n_groups = count_groups(&self->way, n_channels, tuning[THREADS]);
    while (self->n_groups > 1 && count_shared(self, 1) > most)
        self->n_groups /= 2;
    while (count_shared(self, 1) > most &&
           choose_ahead(&self->way, n_channels, self->way.ahead / 2))
        ;
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
                                         RESOURCES "fir-window.h", RESOURCES "pfb-cells.h", NULL},
        .shared_bytes = self->shared_bytes,
        .epilogue = self->epilogue,
    };
    self->kernel = ct_fir_spread_compile(&self->spread, &kernel, defines, threads, error);
    if (!self->kernel || self->n_cells <= 1)
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

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    Pfb *self = *state = g_new0(Pfb, 1);
    g_autoptr(GPtrArray) defines = g_ptr_array_new_with_free_func(g_free);

    if (!ct_fir_spread_init(&self->spread, prepare, error) || !send_table(self, error))
        return FALSE;
    const gint64 n_channels = self->spread.n_channels;
    self->epilogue = prepare->epilogue;
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
    ct_fir_define(defines, "TAPS_SHARED", self->way.keeps_samples);
    ct_fir_define(defines, "KEEPS_SAMPLES", self->way.keeps_samples);
    g_ptr_array_add(defines, ct_fft_radices_define(&self->way.radices));
    ct_fir_define(defines, "PITCH", find_pitch(n_channels, &self->way));
    ct_fir_define(defines, "GROUPS", self->n_groups);
    ct_fir_define(defines, "SHIFT", ct_params_bool(prepare->nodes[1].params, "shift"));
    const guint registers =
        count_registers(self->spread.n_taps, self->spread.in_type, &self->way) +
        (self->epilogue ? EPILOGUE_REGISTERS + (self->epilogue->checks ? CHECK_REGISTERS : 0) : 0);
    const guint n_blocks = ct_fir_spread_blocks(&self->spread, threads, registers, is_unusual);
    choose_buffers(self, prepare->tuning[BUFFERS] == 1, n_blocks);
    ct_fir_define(defines, "MIN_BLOCKS", n_blocks);
    ct_fir_define(defines, "BUFFERS", self->n_buffers);
    ct_fir_define(defines, "CELL", self->cell);
    ct_fir_define(defines, "N_CELLS", self->n_cells);
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

/* The cells of a firing; chunks of `axes` are cut later. */
static PfbCells
find_cells(const Pfb *self, FirAxes *axes, gint64 n_series, const CtWork *work)
{
    const PfbCells cells = {work->scratch, axes->output, 0, (guint)n_series};

    if (self->cell > 0) {
        axes->n_outputs =
            work->inputs[0].n_samples / self->spread.n_channels - (self->spread.n_taps - 1);
        axes->output = 0;
    }
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
    Way way;

    if (!is_axis(fft, "axis", "phase") || !is_axis(fft, "to", "channel") ||
        ct_params_choice(fft, "direction") != 0)
        *reason = g_strdup("it makes channels of phases alone, forward");
    else if (!find_way(&way, n_channels, n_taps, type))
        *reason = g_strdup_printf(
            "it wants a product of 2, 3 and 5 that %d threads can share, of at most "
            "%" G_GINT64_FORMAT " channels (8 taps), %" G_GINT64_FORMAT
            " (16 taps) or %" G_GINT64_FORMAT " (32 taps) of %s, but is given %" G_GINT64_FORMAT
            " channels of %" G_GINT64_FORMAT " taps",
            MOST_THREADS, most_channels(8, type), most_channels(16, type), most_channels(32, type),
            ct_type_info(type)->name, n_channels, n_taps);
    else if (n_channels % 2 != 0 && ct_params_bool(fft, "shift"))
        *reason = g_strdup_printf(
            "it shifts an even number of channels alone, but is given %" G_GINT64_FORMAT,
            n_channels);
    else if (n_channels % footprint->hop != 0)
        *reason = g_strdup_printf(
            "it wants a hop that divides the channels, but is given %" G_GINT64_FORMAT
            " of %" G_GINT64_FORMAT,
            footprint->hop, n_channels);
    return *reason == NULL;
}

#define TYPES "ci4|ci8|ci16|cf16|cf32"

const CtVariant ct_pfb_cuda = {
    .name = "fused-cuda",
    .backend = CT_CUDA,
    .covers = (const char *const[]){"fir 2", "fft 1", NULL},
    .rows =
        (const CtRow[]){
            {TYPES "[... time] -> cf32[... time channel]", 0.6},
            {TYPES "[... time] -> cf32[time ... channel]", 0.6},
            {NULL, 0},
        },
    .tunables = tunables,
    .flags = CT_VARIANT_EPILOGUE,
    .differs = differs,
    .fits = fits,
    .prepare = prepare,
    .work = work,
    .finish = finish,
    .folds = folds,
};
