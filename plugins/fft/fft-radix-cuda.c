/* SPDX-License-Identifier: BSD-3-Clause */
/* Transforms of lengths with factors 2, 3 and 5 on the device by a kernel of the plugin's own,
 * which reads from one order of axes and writes to another. */
#include "fft-places.h"
#include "fft-radices.h"
#include "fft.h"

#include <cornerturn/kit/prologue.h>
#include <math.h>
#include <string.h>

#define SOURCES "/cornerturn/plugins/fft/"

/* The lengths that a block holds. */
#define LEAST_LENGTH 4
#define MOST_LENGTH  4096

/* Transforms that stand side by side if the samples of one do not, and the most threads for them.
 */
#define WIDE_TRANSFORMS 16
#define MOST_THREADS    512
#define WARP            32

/* The least threads that a multiprocessor shall hold. They are fewer with a third pass, whose
 * factors take registers, with an epilogue or a prologue, and with more values than usual. */
#define ENOUGH_THREADS 768
#define FEWER_THREADS  512
#define USUAL_HELD     16

enum { THREADS, VALUES };
static const CtTunable tunables[] = {
    [THREADS] = {"threads", CT_VALUES(64, 128, 256, 512), 128, "of a block, at least"},
    [VALUES] = {"values", CT_VALUES(8, 16), 16, "of a transform that a thread has, about"},
    {NULL},
};
static const gint64 defaults[] = {[THREADS] = 128, [VALUES] = 16};

/* How a block works. */
typedef struct {
    FftRadices radices;
    guint n_values;
    guint threads, team_threads;
    gboolean across[2]; /* in the input, in the output */
} Way;

typedef struct {
    FftDesign design;
    FftAxes axes;
    Way way;
    CtDevice *device;
    CtKernel *kernel;
    CtEpilogue *epilogue; /* NULL: none */
    CtPrologue *prologue; /* NULL: none */
    gpointer table;       /* of the device, exp(−2πi m / P) */
    gsize shared_bytes;
    guint wave; /* blocks that the device holds at once */
} Radix;

/* The fewest threads that have whole transforms in each pass. */
static guint
count_apart(const FftRadices *radices, gint64 length)
{
    gint64 common = radices->radix[0];

    for (guint pass = 1; pass < radices->n_passes; pass++)
        for (gint64 b = radices->radix[pass]; b > 0;) {
            const gint64 rest = common % b;
            common = b;
            b = rest;
        }
    return (guint)(length / common);
}

/* The threads of a block: about as many as wanted, in whole warps if that is easy. */
static guint
count_threads(guint apart, guint wanted)
{
    const guint least = MIN((wanted + apart - 1) / apart, MOST_THREADS / apart) * apart;

    for (guint threads = least; threads <= MIN(2 * least, MOST_THREADS); threads += apart)
        if (threads % WARP == 0)
            return threads;
    return least;
}

/* Chooses radices that few enough threads can share. Returns how many, or 0: there are none. */
static guint
choose_radices(Way *way, gint64 length, guint usual)
{
    for (guint unit = 1; unit <= usual; unit *= 2) {
        const guint n = ct_fft_radices_choose(&way->radices, length, unit, 1, usual / unit);
        const guint apart = n > 0 ? count_apart(&way->radices, length) : 0;
        way->n_values = n * unit;
        if (n > 0 && apart <= MOST_THREADS)
            return apart;
    }
    return 0;
}

/* FALSE: a block can't hold such transforms. */
static gboolean
choose_way(Way *way, const FftDesign *design, const gint64 *tuning)
{
    const gint64 length = design->length;
    const guint apart = choose_radices(way, length, (guint)MIN(tuning[VALUES], length));
    const guint side = design->inverse ? 0 : way->radices.n_passes - 1;

    if (apart == 0 || (design->shift && way->radices.radix[side] % 2 != 0))
        return FALSE;
    const gboolean across = way->across[0] || way->across[1];
    const guint wanted = across ? MIN(WIDE_TRANSFORMS * apart, MOST_THREADS) : apart;
    way->threads = count_threads(apart, MAX((guint)tuning[THREADS], MAX(wanted, WARP)));
    way->team_threads = !across && WARP % apart == 0 ? WARP : way->threads;
    return TRUE;
}

static gboolean
compile(Radix *self, GError **error)
{
    const Way *way = &self->way;
    const FftDesign *design = &self->design;
    const gsize pitch =
        (gsize)(design->length + design->length / 16) + (way->across[0] || way->across[1]);
    const guint held = ct_fft_radices_held(&way->radices, way->n_values);
    const gboolean is_light = way->radices.n_passes == 2 && !self->epilogue && !self->prologue;
    g_autoptr(GPtrArray) defines = g_ptr_array_new_with_free_func(g_free);
    const struct {
        const char *name;
        guint value;
    } numbers[] = {
        {"N_VALUES", way->n_values},
        {"THREADS", way->threads},
        {"MIN_BLOCKS",
         MAX(1, (is_light && held <= USUAL_HELD ? ENOUGH_THREADS : FEWER_THREADS) / way->threads)},
        {"TEAM_THREADS", way->team_threads},
        {"ACROSS_IN", way->across[0]},
        {"ACROSS_OUT", way->across[1]},
        {"INVERSE", design->inverse},
        {"SHIFT", design->shift},
    };

    for (guint i = 0; i < G_N_ELEMENTS(numbers); i++)
        g_ptr_array_add(defines, g_strdup_printf("%s=%u", numbers[i].name, numbers[i].value));
    g_ptr_array_add(defines, ct_fft_radices_define(&way->radices));
    g_ptr_array_add(defines, g_strdup_printf("LENGTH=%" G_GINT64_FORMAT, design->length));
    g_ptr_array_add(defines, g_strdup_printf("SCALE=(1.0/%" G_GINT64_FORMAT ")", design->length));
    g_ptr_array_add(defines, NULL);
    self->shared_bytes =
        (gsize)(way->threads * way->n_values / (guint)design->length) * pitch * 2 * sizeof(float);
    const CtKernelSpec spec = {
        .name = "fft_radix",
        .source = SOURCES "fft-radix.cu",
        .headers = (const char *const[]){SOURCES "fft-places.h", SOURCES "fft-radix.h", NULL},
        .defines = (const char *const *)defines->pdata,
        .shared_bytes = self->shared_bytes,
        .epilogue = self->epilogue,
        .prologue = self->prologue,
    };
    self->kernel = ct_kernel_new(self->device, &spec, error);
    if (self->kernel == NULL)
        return FALSE;
    self->wave = ct_device_info(self->device)->n_multiprocessors *
                 ct_kernel_occupancy(self->kernel, way->threads, self->shared_bytes);
    return TRUE;
}

static gboolean
send_table(Radix *self, GError **error)
{
    const gint64 n = self->design.length;
    const gsize bytes = (gsize)n * 2 * sizeof(float);
    g_autofree float *table = CT_TABLE(float, 2 * n, "a transform's factors", error);

    if (table == NULL)
        return FALSE;
    for (gint64 m = 0; m < n; m++) {
        table[2 * m] = (float)cos(2 * G_PI * (gdouble)m / (gdouble)n);
        table[2 * m + 1] = (float)-sin(2 * G_PI * (gdouble)m / (gdouble)n);
    }
    self->table = ct_device_alloc(self->device, bytes, "a transform's factors", error);
    return self->table && ct_device_upload(self->device, self->table, table, bytes, error);
}

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    const CtBinding *in = &prepare->inputs[0], *out = &prepare->outputs[0];
    Radix *self = *state = g_new0(Radix, 1);
    FftDesign *design = &self->design;

    self->device = prepare->device;
    self->epilogue = prepare->epilogue;
    self->prologue = prepare->prologue;
    if (!ct_fft_design_init(design, prepare->nodes[0].params, in->stream, error))
        return FALSE;
    ct_fft_axes_init(&self->axes, design, &in->layout, &out->layout);
    const gint64 n_transforms = ct_stream_width(out->stream) / design->length * out->max_samples;
    if (n_transforms > G_MAXINT32) {
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                    "wants at most %d transforms in a firing on the device, but is given "
                    "%" G_GINT64_FORMAT,
                    G_MAXINT32, n_transforms);
        return FALSE;
    }
    self->way.across[0] = self->axes.transformed_in + 1 < in->layout.n_axes;
    self->way.across[1] = self->axes.transformed_out + 1 < out->layout.n_axes;
    if (!choose_way(&self->way, design, prepare->tuning))
        (void)choose_way(&self->way, design, defaults);
    return send_table(self, error) && compile(self, error);
}

/* The axes of the batch. Neighbours come last, as they lie on the side that is read or written
 * across transforms. Axes that lie as one on both sides become one. */
static void
find_places(const Radix *self, const FftBatch *batch, FftPlaces *places)
{
    const gint64 *by = self->way.across[1] ? batch->out : batch->in;
    guint order[CT_MAX_AXES];
    guint n = 0;

    for (guint a = 0; a < batch->n_axes; a++) {
        if (batch->length[a] == 1)
            continue;
        guint at = n++;
        for (; at > 0 && by[order[at - 1]] < by[a]; at--)
            order[at] = order[at - 1];
        order[at] = a;
    }
    *places = (FftPlaces){
        .step_in = batch->step_in,
        .step_out = batch->step_out,
        .length = {1},
        .n_axes = 1,
        .n_transforms = (guint)batch->n_transforms,
    };
    for (guint i = 0, last = 0; i < n; i++) {
        const guint a = order[i];
        const gint64 length = batch->length[a];
        if (i > 0 && places->in[last] == length * batch->in[a] &&
            places->out[last] == length * batch->out[a]) {
            places->length[last] *= (guint)length;
        } else {
            last = i > 0 ? last + 1 : 0;
            places->length[last] = (guint)length;
        }
        places->in[last] = batch->in[a];
        places->out[last] = batch->out[a];
        places->n_axes = last + 1;
    }
}

static gboolean
work(gpointer state, const CtWork *work, GError **error)
{
    const Radix *self = state;
    const Way *way = &self->way;
    const guint8 *in = work->inputs[0].data, *out = work->outputs[0].data;
    const guint tile = way->threads * way->n_values / (guint)self->design.length;
    FftBatch batch;
    FftPlaces places;

    ct_fft_axes_apply(&self->axes, &work->inputs[0], &work->outputs[0], &batch);
    if (batch.n_transforms == 0)
        return TRUE;
    find_places(self, &batch, &places);
    places.n_tiles = (places.n_transforms - 1) / tile + 1;
    gpointer epilogue = ct_epilogue_argument(self->epilogue, work, error);
    gpointer prologue = epilogue ? ct_epilogue_argument(self->prologue, work, error) : NULL;
    gpointer arguments[] = {&in, &out, (gpointer)&self->table, &places, epilogue, prologue};
    const CtLaunch launch = {
        {MIN(places.n_tiles, self->wave), 1, 1}, {way->threads, 1, 1}, self->shared_bytes};
    return prologue && ct_queue_launch(work->queue, self->kernel, &launch, arguments, error);
}

static void
finish(gpointer state)
{
    Radix *self = state;

    if (self == NULL)
        return;
    ct_kernel_free(self->kernel);
    ct_device_free(self->device, self->table);
    g_free(self);
}

static gboolean
fits(const CtNode *nodes, char **reason)
{
    FftDesign design;

    if (!ct_fft_design_init(&design, nodes[0].params, &nodes[0].inputs[0], NULL))
        return FALSE;
    const gint64 n = design.length;
    const char *phase = ct_axis_name("phase"), *channel = ct_axis_name("channel");
    const gboolean usual = (design.axis == phase && design.to == channel) ||
                           (design.axis == channel && design.to == phase);
    Way way = {0};

    if (!usual)
        *reason = g_strdup("it takes phases to channels, or back, alone");
    else if (n < LEAST_LENGTH || n > MOST_LENGTH || !choose_way(&way, &design, defaults))
        *reason = g_strdup_printf("it wants a product of 2, 3 and 5 from %d to %d samples that %d "
                                  "threads can share, if it is shifted, an even one, but is given "
                                  "%" G_GINT64_FORMAT,
                                  LEAST_LENGTH, MOST_LENGTH, MOST_THREADS, n);
    return *reason == NULL;
}

/* Whether blocks work in another way than with the default tuning. */
static gboolean
differs(const CtNode *nodes, const gint64 *tuning)
{
    FftDesign design;
    Way way = {0}, usual = {0};

    if (!ct_fft_design_init(&design, nodes[0].params, &nodes[0].inputs[0], NULL))
        return FALSE;
    return choose_way(&way, &design, tuning) && choose_way(&usual, &design, defaults) &&
           (way.threads != usual.threads || way.n_values != usual.n_values);
}

/* From one order to another, transforms are read or written in pieces: the samples of all
 * transforms that stand side by side. */
#define ROWS(a, b)                                                                                 \
    {"cf32[time ... " a "] -> cf32[time ... " b "]", 0.86},                                        \
        {"cf32[... " a "] -> cf32[... " b "]", 0.86},                                              \
        {"cf32[time ... " a "] -> cf32[time " b " ...]", 0.78},                                    \
        {"cf32[time ... " a "] -> cf32[" b " time ...]", 0.78},                                    \
        {"cf32[... " a "] -> cf32[" b " ...]", 0.78},                                              \
        {"cf32[... time " a "] -> cf32[" b " time ...]", 0.78},                                    \
        {"cf32[time " a " ...] -> cf32[time " b " ...]", 0.78},                                    \
        {"cf32[time " a " ...] -> cf32[" b " time ...]", 0.78},                                    \
        {"cf32[time " a " ...] -> cf32[time ... " b "]", 0.78},                                    \
    {                                                                                              \
        "cf32[" a " ...] -> cf32[" b " ...]", 0.78                                                 \
    }

const CtVariant ct_fft_radix_cuda = {
    .name = "radix-cuda",
    .backend = CT_CUDA,
    .covers = (const char *const[]){"fft", NULL},
    .rows = (const CtRow[]){ROWS("phase", "channel"), ROWS("channel", "phase"), {NULL, 0}},
    .tunables = tunables,
    .flags = CT_VARIANT_EPILOGUE | CT_VARIANT_PROLOGUE,
    .differs = differs,
    .fits = fits,
    .prepare = prepare,
    .work = work,
    .finish = finish,
};
