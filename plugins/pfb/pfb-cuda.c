/* SPDX-License-Identifier: BSD-3-Clause */
/* fir and fft in one on a device, for numbers of channels with factors 2, 3 and 5 that a block of
 * threads can hold. Filtered samples never leave the multiprocessor. */
#include "../fir/fir-spread.h"
#include "pfb-cells.h"
#include "pfb-fits.h"
#include "pfb-way.h"
#include "pfb.h"

#include <cornerturn/kit/epilogue.h>
#include <math.h>

#define RESOURCES "/cornerturn/plugins/pfb/"

/* The phases of a thread from which on coefficients that are not in shared memory take more
 * registers than there are. */
#define MANY_PHASES 8

/* Registers for an epilogue that stores, and for looking up what is valid. */
#define EPILOGUE_REGISTERS 6
#define CHECK_REGISTERS    16
/* Shared memory that each block takes beside its own. */
#define BLOCK_SHARED 1024

typedef struct {
    FirSpread spread;
    CtKernel *kernel;
    CtEpilogue *epilogue; /* NULL: none */
    PfbBank bank;
    PfbWay way;
    gpointer table;                /* of the device, as pfb.cu has it */
    guint group_threads, n_groups; /* threads of a group; groups of a block */
    guint n_buffers;
    gboolean is_far; /* coefficients that do not fit shared memory are read where they are used */
    gsize shared_bytes;
    gint64 cell, n_cells; /* spectra of a cell, cells of a hop that the epilogue folds or of a block
                             of time; 0: none */
    CtKernel *merge;      /* of the cells of a hop; NULL: it has one */
    gsize element_bytes;  /* in blocks of time; 0: time does not come in blocks */
    guint channel;        /* the axis of the output */
} Pfb;

static gboolean
send_table(Pfb *self, GError **error)
{
    const gint64 n = self->bank.length, n_real = self->bank.parts > 1 ? n / 2 : 0;
    const gsize bytes = (gsize)(n + n_real) * 2 * sizeof(float);
    g_autofree float *table = CT_TABLE(float, 2 * (n + n_real), "a transform's factors", error);

    if (table == NULL)
        return FALSE;
    for (gint64 m = 0; m < n; m++) {
        table[2 * m] = (float)cos(2 * G_PI * (gdouble)m / (gdouble)n);
        table[2 * m + 1] = (float)-sin(2 * G_PI * (gdouble)m / (gdouble)n);
    }
    for (gint64 m = 0; m < n_real; m++) {
        table[2 * (n + m)] = (float)(-0.5 * sin(G_PI * (gdouble)m / (gdouble)n));
        table[2 * (n + m) + 1] = (float)(-0.5 * cos(G_PI * (gdouble)m / (gdouble)n));
    }
    self->table = ct_device_alloc(self->spread.device, bytes, "a transform's factors", error);
    return self->table && ct_device_upload(self->spread.device, self->table, table, bytes, error);
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
        self->cell = ct_pfb_cell(self->epilogue->hop, self->way.ahead);
        self->n_cells = self->epilogue->hop / self->cell;
        self->spread.unit = self->cell;
        /* Cells that end anywhere take registers; samples of one or two bytes take fewer than sums.
         */
        self->way.keeps_samples |=
            self->cell % self->way.ahead != 0 && self->way.shares_taps && self->bank.parts == 1;
    } else if (self->element_bytes > 0) {
        self->cell = ct_pfb_together(&self->way, self->element_bytes);
        self->n_cells = PFB_BLOCK / self->cell;
        self->spread.unit = PFB_BLOCK;
    }
}

/* Whether ct_pfb_registers() is known to be close for this number of taps. */
static gboolean
is_usual_count(gint64 n_taps)
{
    return n_taps == 8 || n_taps == 16 || n_taps == 32 || n_taps == 64;
}

/* Bytes of shared memory of a block. */
static gsize
count_shared(const Pfb *self, guint n_buffers)
{
    const PfbBank *bank = &self->bank;
    const PfbWay *way = &self->way;
    const gsize kept = is_folded(self) ? ct_pfb_states_bytes(bank, self->epilogue->state_bytes)
                       : self->element_bytes > 0
                           ? ct_pfb_staged_bytes(bank, way, self->element_bytes)
                           : 0;
    return self->n_groups * (n_buffers * ct_pfb_buffer_bytes(bank, way) +
                             (self->is_far ? 0 : ct_pfb_taps_bytes(bank, way)) + kept);
}

/* With two buffers, a group waits half as often; that counts where it is more than a warp. */
static void
choose_buffers(Pfb *self, gboolean is_one, guint n_blocks)
{
    const CtDeviceInfo *device = ct_device_info(self->spread.device);
    const gsize both = count_shared(self, 2);
    const gboolean fits = both <= device->shared_bytes &&
                          (both + BLOCK_SHARED) * n_blocks <= device->multiprocessor_shared;
    self->n_buffers = !is_one && PFB_WARP % self->group_threads != 0 && fits ? 2 : 1;
    self->shared_bytes = count_shared(self, self->n_buffers);
}

/* Chooses the number of spectra, about `usual` or less. */
static gboolean
choose_ahead(const Pfb *self, PfbWay *way, guint usual)
{
    return self->element_bytes > 0 ? ct_pfb_way_divide(way, self->bank.length, usual)
                                   : ct_pfb_way_ahead(way, self->bank.length, usual);
}

/* The way by the table and by the tuning, if it can divide blocks of time where these come. */
static void
choose_way(Pfb *self, const gint64 *tuning)
{
    PfbWay usual = {0};
    (void)ct_pfb_way_find(&usual, &self->bank);
    if (self->element_bytes > 0)
        (void)choose_ahead(self, &usual, usual.ahead);
    self->way = ct_pfb_way_choose(&usual, tuning, &self->bank);
    if (self->element_bytes > 0 && !choose_ahead(self, &self->way, self->way.ahead))
        self->way = usual;
}

/* Decides how groups work. Where shared memory is small, there are fewer groups, then fewer spectra
 * are transformed together, and then there are no coefficients in it. */
static void
choose_groups(Pfb *self, const gint64 *tuning)
{
    const gsize most = ct_device_info(self->spread.device)->shared_bytes;
    const gint64 length = self->bank.length;
    choose_way(self, tuning);
    self->group_threads = (guint)length / self->way.vector;
    self->n_groups = ct_pfb_groups(&self->way, length, tuning[PFB_THREADS]);
    while (self->n_groups > 1 && count_shared(self, 1) > most)
        self->n_groups /= 2;
    while (count_shared(self, 1) > most && choose_ahead(self, &self->way, self->way.ahead / 2))
        ;
    self->is_far = count_shared(self, 1) > most;
    if (is_folded(self) && self->bank.parts == 1)
        ct_pfb_way_fold(&self->way, length);
}

/* Compiles the kernel, and that which merges cells, if hops have several: their states are scratch
 * memory. A thread of many phases may spill registers where shared memory has no room for the
 * coefficients. */
static gboolean
compile(Pfb *self, CtPrepare *prepare, GPtrArray *defines, guint threads, GError **error)
{
    CtKernelSpec kernel = {
        .name = "pfb",
        .source = RESOURCES "pfb.cu",
        .headers = (const char *const[]){RESOURCES "fft-radix.h", RESOURCES "fir-axes.h",
                                         RESOURCES "fir-window.h", RESOURCES "pfb-blocks.h",
                                         RESOURCES "pfb-cells.h", RESOURCES "pfb-fold.h",
                                         RESOURCES "pfb-in-place.h", NULL},
        .shared_bytes = self->shared_bytes,
        .epilogue = self->epilogue,
        .may_spill = self->is_far && self->way.vector >= MANY_PHASES,
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

/* The registers of the epilogue. In blocks of time, an entry of a table is found for each element.
 */
static guint
count_registers(const Pfb *self)
{
    const CtEpilogue *epilogue = self->epilogue;
    const gboolean looks_up =
        epilogue && (epilogue->checks || (epilogue->has_tables && self->element_bytes > 0));
    return (epilogue && !is_folded(self) ? EPILOGUE_REGISTERS : 0) +
           (looks_up ? CHECK_REGISTERS : 0);
}

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    Pfb *self = *state = g_new0(Pfb, 1);
    g_autoptr(GPtrArray) defines = g_ptr_array_new_with_free_func(g_free);

    self->bank = ct_pfb_bank(prepare->nodes);
    if (!ct_fir_spread_init(&self->spread, prepare, error) || !send_table(self, error))
        return FALSE;
    const PfbBank *bank = &self->bank;
    self->spread.out_type = bank->parts > 1 ? CT_F32 : CT_CF32;
    self->epilogue = prepare->epilogue;
    look_at_output(self, &prepare->outputs[0]);
    choose_groups(self, prepare->tuning);
    self->spread.n_times = (guint)(bank->n_phases / self->spread.hop);
    self->spread.ahead = self->way.ahead;
    const guint threads = self->group_threads * self->n_groups;
    choose_cells(self);

    const gboolean is_power = (bank->length & (bank->length - 1)) == 0;
    gboolean is_unusual = !is_usual_count(bank->n_taps) || bank->parts > 1 ||
                          (!is_power && (!self->way.keeps_samples || self->cell > 0));
    for (guint i = 0; i < PFB_KEEPS; i++)
        is_unusual |= prepare->tuning[i] != ct_pfb_tunables[i].fallback;

    ct_fir_define(defines, "VECTOR", self->way.vector * bank->parts);
    ct_fir_define(defines, "PHASES_APART", self->way.vector * bank->parts > 1);
    ct_fir_define(defines, "TAPS_SHARED", self->way.shares_taps && !self->is_far);
    ct_fir_define(defines, "TAPS_FAR", self->way.shares_taps && self->is_far);
    ct_fir_define(defines, "KEEPS_SAMPLES", self->way.keeps_samples);
    g_ptr_array_add(defines, ct_fft_radices_define(&self->way.radices));
    ct_fir_define(defines, "IS_REAL", bank->parts > 1);
    ct_fir_define(defines, "OUT_CHANNELS", bank->n_channels);
    ct_fir_define(defines, "PITCH", ct_pfb_pitch(bank, &self->way));
    ct_fir_define(defines, "IN_PLACE", ct_pfb_in_place(bank, &self->way));
    ct_fir_define(defines, "GROUPS", self->n_groups);
    ct_fir_define(defines, "SHIFT", ct_params_bool(prepare->nodes[1].params, "shift"));
    const guint registers = ct_pfb_registers(bank, &self->way) + count_registers(self);
    const guint n_blocks = ct_fir_spread_blocks(&self->spread, threads, registers, is_unusual);
    choose_buffers(self, prepare->tuning[PFB_BUFFERS] == 1, n_blocks);
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
    return axes->sample == (gint64)bytes &&
           bits % (bytes * self->way.vector * self->bank.parts) == 0;
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
    const gint64 n = work->outputs[0].n_samples * cells->n_series * self->bank.n_channels;
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

#define COMPLEX "ci4|ci8|ci16|cf16|cf32"
#define TYPES   COMPLEX "|i8|i16|u8|f16|f32"

#define FUSED                                                                                      \
    .backend = CT_CUDA, .covers = (const char *const[]){"fir 2", "fft 1", NULL},                   \
    .tunables = ct_pfb_tunables, .flags = CT_VARIANT_EPILOGUE, .differs = ct_pfb_differs,          \
    .prepare = prepare, .work = work, .finish = finish

const CtVariant ct_pfb_cuda = {
    FUSED,
    .name = "fused-cuda",
    .rows =
        (const CtRow[]){
            {TYPES "[... time] -> cf32[... time channel]", 0.6},
            {TYPES "[... time] -> cf32[time ... channel]", 0.6},
            {NULL, 0},
        },
    .fits = ct_pfb_fits,
    .folds = ct_pfb_folds,
};

const CtVariant ct_pfb_blocks_cuda = {
    FUSED,
    .name = "fused-blocks-cuda",
    .rows =
        (const CtRow[]){
            {COMPLEX "[... time] -> cf32[channel time ... time:16]", 0.55},
            {NULL, 0},
        },
    .fits = ct_pfb_fits_blocks,
};
