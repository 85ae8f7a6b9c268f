/* SPDX-License-Identifier: BSD-3-Clause */
/* Transforms on the processor, in batches that stay in cache.
 *
 * One plan of FFTW serves every layout that the plugin's own passes leave. It is for a batch of
 * transforms that lie one after another in aligned arrays. Blocks that lie so are transformed
 * without a copy. Batches that are not aligned are copied to scratch and back, which is faster than
 * a plan for them, since FFTW has vectors for aligned arrays alone. Other layouts are transposed
 * into scratch and back, many transforms at a time; FFTW's own strides take two to seven times as
 * long.
 *
 * Transforms of the usual lengths in single precision do without FFTW and without a transpose:
 * those that lie one after another go line by line, neighbouring series that lie side by side
 * column by column, many columns in a vector. The same numbers come out wherever a block was cut.
 */
#include "fft-columns-plan.h"
#include "fft-kernels.h"
#include "fft-lines-plan.h"
#include "fft-plan.h"

#include <string.h>

/* Bytes of a batch's input and output, which fit the first-level cache. */
#define BATCH_BYTES 32768
/* Transforms that are transposed together: elements of 8 bytes in a cache line. */
#define GROUP       8
#define GROUP_BYTES (1 << 20)
/* Spectra of real transforms that lie one after another are not all aligned. From this length on
 * such transforms go one at a time, which saves more than the calls cost. Odd lengths gain nothing.
 */
#define LEAST_ALONE 128
#define LINE        64
/* With fewer neighbouring series, transposes are faster than columns. */
#define LEAST_COLUMNS 4
/* Bytes of a firing on one worker, about. */
#define FIRING_BYTES (1 << 19)
/* Lines that go together, for their lengths of less than a square of the vector. */
#define MOST_LINES 64
/* With 16 registers, two passes of radix 4 are faster than one of radix 16. */
#define MOST_RADIX (CT_VECTOR_BYTES == 32 ? 8 : 16)

typedef struct {
    FftDesign design;
    FftAxes axes;
    FftPlan *plan;
    gint64 n_batch; /* transforms of the plan */
    gint64 n_group; /* transforms that go through scratch together, a multiple of n_batch */
    gsize in_bytes, out_bytes;  /* of an element */
    gint64 pitch_in, pitch_out; /* bytes from a transform in scratch to the next; every batch there
                                   begins aligned */
    gsize in_scratch;           /* bytes of scratch before the output's */
    gint64 n_items;
    FftColumns columns;
    FftLines lines;
    gboolean has_columns, has_lines;
    gboolean time_last; /* time is the fastest axis */
} Fft;

static gsize
round_up(gsize n, gsize unit)
{
    return (n + unit - 1) / unit * unit;
}

/* Trailing axes that follow each other at one step in both blocks. */
typedef struct {
    gint64 length, step_in, step_out;
} Run;

static Run
find_run(const FftBatch *batch, gboolean time_last)
{
    Run run = {.length = 1};
    gboolean found = FALSE;

    for (guint axis = batch->n_axes; axis-- > 0; run.length *= batch->length[axis]) {
        /* A later block may have more samples of time. */
        if (batch->length[axis] == 1 && !(time_last && axis == batch->n_axes - 1))
            continue;
        if (found && (batch->in[axis] != run.length * run.step_in ||
                      batch->out[axis] != run.length * run.step_out))
            break;
        if (!found) {
            run.step_in = batch->in[axis];
            run.step_out = batch->out[axis];
            found = TRUE;
        }
    }
    return run;
}

/* Whether a run is transformed as columns. A run along time is as long as the block, so that its
 * length and the strides that follow from it must not decide: a stream gives the same bits wherever
 * it was cut. */
static gboolean
use_columns(const Fft *self, const FftBatch *batch, const Run *run)
{
    if (!self->has_columns || run->step_in != (gint64)self->in_bytes ||
        run->step_out != (gint64)self->out_bytes)
        return FALSE;
    return self->time_last || (run->length >= LEAST_COLUMNS && batch->step_in != run->step_in &&
                               batch->step_out != run->step_out);
}

/* Whether transforms lie one after another, for which the length of a block must not decide. */
static gboolean
use_lines(const Fft *self, const FftBatch *batch)
{
    return self->has_lines && batch->step_in == (gint64)self->in_bytes &&
           batch->step_out == (gint64)self->out_bytes;
}

/* Whether the length of a block has no part in the steps along an axis. */
static gboolean
is_steady(const CtLayout *layout, const char *axis)
{
    return ct_layout_axis(layout, "time") <= ct_layout_axis(layout, axis);
}

/* Whether packed blocks in these layouts will be transformed without FFTW. */
static gboolean
expect_own(const Fft *self, const CtBinding *input, const CtBinding *output)
{
    CtBlock in = {.n_axes = input->layout.n_axes, .n_samples = MAX(1, input->max_samples)};
    CtBlock out = {.n_axes = output->layout.n_axes, .n_samples = MAX(1, output->max_samples)};
    FftBatch batch;

    ct_layout_strides(&input->layout, input->stream, in.n_samples, in.length, in.stride);
    ct_layout_strides(&output->layout, output->stream, out.n_samples, out.length, out.stride);
    ct_fft_axes_apply(&self->axes, &in, &out, &batch);
    Run run = find_run(&batch, self->time_last);
    return use_columns(self, &batch, &run) || use_lines(self, &batch);
}

/* Sets how many transforms go together: as many as fit the first-level cache, at most `most`. The
 * plan is for all of them, or for one if some of their arrays were not aligned. */
static void
set_batch(Fft *self, gint64 most)
{
    const FftDesign *design = &self->design;
    const gsize in = (gsize)design->length * self->in_bytes;
    const gsize out = (gsize)design->out_length * self->out_bytes;
    gint64 n = 1;

    while (2 * n <= most && 2 * (gsize)n * (in + out) <= BATCH_BYTES)
        n *= 2;
    const gboolean gains = design->real && design->length % 2 == 0 &&
                           design->length >= LEAST_ALONE && !ct_fft_plan_is_aligned(out);
    const gboolean alone =
        gains || !ct_fft_plan_is_aligned((gsize)n * in) || !ct_fft_plan_is_aligned((gsize)n * out);
    self->n_batch = alone ? 1 : n;
    self->pitch_in = (gint64)(self->n_batch == 1 ? round_up(in, LINE) : in);
    self->pitch_out = (gint64)(self->n_batch == 1 ? round_up(out, LINE) : out);
    self->n_group = n;
    while (self->n_group < GROUP && 2 * (gsize)self->n_group * (in + out) <= GROUP_BYTES)
        self->n_group *= 2;
}

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    const CtBinding *input = &prepare->inputs[0], *output = &prepare->outputs[0];
    Fft *self = *state = g_new0(Fft, 1);
    FftDesign *design = &self->design;

    if (!ct_fft_design_init(design, prepare->nodes[0].params, input->stream, error))
        return FALSE;
    ct_fft_axes_init(&self->axes, design, &input->layout, &output->layout);
    self->time_last = ct_layout_axis(&output->layout, "time") == (gint)output->layout.n_axes - 1;
    self->in_bytes = ct_type_info(input->stream->type)->bytes;
    self->out_bytes = ct_type_info(output->stream->type)->bytes;

    set_batch(self, MAX(1, ct_stream_width(output->stream) / design->out_length *
                               MAX(1, output->max_samples)));
    self->has_columns = ct_fft_columns_plan_init(&self->columns, design, MOST_RADIX);
    if (CT_VECTOR_BYTES == 64 && is_steady(&input->layout, design->axis) &&
        is_steady(&output->layout, design->to) &&
        !ct_fft_lines_plan_init(&self->lines, design, error))
        return FALSE;
    self->has_lines = self->lines.n > 0;
    self->plan = ct_fft_plan_new(design, self->n_batch, expect_own(self, input, output), error);
    if (self->plan == NULL)
        return FALSE;

    self->in_scratch = round_up((gsize)(self->n_group * self->pitch_in), LINE);
    prepare->scratch_bytes = self->in_scratch + (gsize)(self->n_group * self->pitch_out);
    if (self->has_columns)
        prepare->scratch_bytes =
            MAX(prepare->scratch_bytes, self->columns.n * FFT_MAX_COLUMNS * 2 * sizeof(float));
    if (self->has_lines)
        prepare->scratch_bytes =
            MAX(prepare->scratch_bytes, fft_line_scratch(self->lines.n) * 2 * sizeof(float));
    self->n_items = prepare->n_items;
    return TRUE;
}

/* Copies `n` transforms' input at x, `step` bytes apart, to scratch. */
static void
pack(const Fft *self, const FftBatch *batch, guint8 *scratch, const guint8 *x, gint64 step,
     gint64 n)
{
    gsize bytes = self->in_bytes, length = (gsize)self->design.length;
    gint64 pitch = self->pitch_in;
    /* An inverse transform's spectrum may come with its zero frequency in the middle. */
    gsize first = self->design.inverse ? (gsize)ct_fft_design_unshift(&self->design, 0) : 0;
    const guint8 *rest = x + (gint64)(length - first) * batch->step_in;

    if (step == (gint64)bytes && batch->step_in != step) {
        CT_ISA(ct_fft_transpose)
        (scratch + first * bytes, pitch, x, batch->step_in, (gsize)n, length - first, bytes);
        CT_ISA(ct_fft_transpose)(scratch, pitch, rest, batch->step_in, (gsize)n, first, bytes);
        return;
    }
    for (gint64 i = 0; i < n; i++, scratch += pitch, x += step, rest += step) {
        CT_ISA(ct_fft_move)
        (scratch + first * bytes, (gint64)bytes, x, batch->step_in, length - first, bytes);
        CT_ISA(ct_fft_move)(scratch, (gint64)bytes, rest, batch->step_in, first, bytes);
    }
}

/* Copies `n` transforms' output from scratch to y, `step` bytes apart. */
static void
unpack(const Fft *self, const FftBatch *batch, guint8 *y, gint64 step, const guint8 *scratch,
       gint64 n)
{
    gsize bytes = self->out_bytes, length = (gsize)self->design.out_length;
    gint64 pitch = self->pitch_out;
    gsize first = self->design.inverse ? 0 : (gsize)ct_fft_design_unshift(&self->design, 0);
    guint8 *rest = y + (gint64)(length - first) * batch->step_out;

    if (step == (gint64)bytes && batch->step_out != step) {
        CT_ISA(ct_fft_transpose)
        (y, batch->step_out, scratch + first * bytes, pitch, length - first, (gsize)n, bytes);
        CT_ISA(ct_fft_transpose)(rest, batch->step_out, scratch, pitch, first, (gsize)n, bytes);
        return;
    }
    for (gint64 i = 0; i < n; i++, scratch += pitch, y += step, rest += step) {
        CT_ISA(ct_fft_move)
        (y, batch->step_out, scratch + first * bytes, (gint64)bytes, length - first, bytes);
        CT_ISA(ct_fft_move)(rest, batch->step_out, scratch, (gint64)bytes, first, bytes);
    }
}

static void
scale(const Fft *self, void *spectra)
{
    gsize n_values = 2 * (gsize)(self->n_batch * self->design.out_length);

    if (self->design.wide)
        CT_ISA(ct_fft_scale_double)(spectra, n_values, 1 / (gdouble)self->design.length);
    else
        CT_ISA(ct_fft_scale_float)(spectra, n_values, 1 / (float)self->design.length);
}

/* Whether the transforms of a side lie as those of a batch, `step` bytes apart. */
static gboolean
lies(const Fft *self, gint64 element_step, gint64 step, gsize bytes, gint64 length)
{
    return element_step == (gint64)bytes && (self->n_batch == 1 || step == length * (gint64)bytes);
}

/* Transforms a batch from x to y. Scratch takes the place of those that are not aligned. */
static void
transform_batch(const Fft *self, const FftBatch *batch, const Run *run, const guint8 *x, guint8 *y,
                guint8 *scratch)
{
    const guint8 *from = x;
    guint8 *to = y;

    if (!ct_fft_plan_is_aligned(GPOINTER_TO_SIZE(x))) {
        pack(self, batch, scratch, x, run->step_in, self->n_batch);
        from = scratch;
    }
    if (!ct_fft_plan_is_aligned(GPOINTER_TO_SIZE(y)))
        to = scratch + self->in_scratch;
    ct_fft_plan_execute(self->plan, from, to);
    if (self->design.inverse)
        scale(self, to);
    if (to != y)
        unpack(self, batch, y, run->step_out, to, self->n_batch);
}

/* Transforms `first` to `first` + n, at most n_group of them. */
static void
transform(const Fft *self, const FftBatch *batch, const Run *run, const CtBlock *in,
          const CtBlock *out, gint64 first, gint64 n, guint8 *scratch)
{
    const FftDesign *design = &self->design;
    gboolean whole = n % self->n_batch == 0 && first % run->length + n <= run->length;
    gboolean direct_in = whole && !(design->inverse && design->shift) &&
                         lies(self, batch->step_in, run->step_in, self->in_bytes, design->length);
    gboolean direct_out =
        whole && (design->inverse || !design->shift) &&
        lies(self, batch->step_out, run->step_out, self->out_bytes, design->out_length);
    gint64 step_in = direct_in ? run->step_in : self->pitch_in;
    gint64 step_out = direct_out ? run->step_out : self->pitch_out;
    gint64 x, y;

    ct_fft_batch_offset(batch, first, &x, &y);
    const guint8 *from = direct_in ? in->data + x : scratch;
    guint8 *to = direct_out ? out->data + y : scratch + self->in_scratch;
    for (gint64 i = 0, part; i < n && !direct_in; i += part) {
        part = MIN(n - i, run->length - (first + i) % run->length);
        ct_fft_batch_offset(batch, first + i, &x, &y);
        pack(self, batch, scratch + i * self->pitch_in, in->data + x, run->step_in, part);
    }
    if (n % self->n_batch != 0)
        memset(scratch + n * self->pitch_in, 0,
               (gsize)((self->n_batch - n % self->n_batch) * self->pitch_in));
    for (gint64 i = 0; i < n; i += self->n_batch)
        transform_batch(self, batch, run, from + i * step_in, to + i * step_out, scratch);
    for (gint64 i = 0, part; i < n && !direct_out; i += part) {
        part = MIN(n - i, run->length - (first + i) % run->length);
        ct_fft_batch_offset(batch, first + i, &x, &y);
        unpack(self, batch, out->data + y, run->step_out,
               scratch + self->in_scratch + i * self->pitch_out, part);
    }
}

static gboolean
work(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    const Fft *self = state;
    const CtBlock *in = &work->inputs[0], *out = &work->outputs[0];
    FftBatch batch;

    ct_fft_axes_apply(&self->axes, in, out, &batch);
    Run run = find_run(&batch, self->time_last);

    gint64 group = self->n_group, runs = 1;
    gboolean columns = use_columns(self, &batch, &run), lines = !columns && use_lines(self, &batch);
    if (columns || lines) {
        group = columns ? FFT_MAX_COLUMNS : MOST_LINES;
        runs = batch.n_transforms / run.length;
    }

    /* All items have equally many groups of transforms. A group of columns or lines stays within a
     * run. */
    gint64 length = batch.n_transforms / runs, per_run = (length + group - 1) / group;
    gint64 end = work->end * runs * per_run / self->n_items;
    for (gint64 i = work->begin * runs * per_run / self->n_items; i < end; i++) {
        gint64 first = i / per_run * length + i % per_run * group;
        gint64 n = MIN(group, length - i % per_run * group), x, y;
        ct_fft_batch_offset(&batch, first, &x, &y);
        if (columns)
            CT_ISA(ct_fft_columns)
        (&self->columns, in->data + x, batch.step_in, out->data + y, batch.step_out, (gsize)n,
         work->scratch);
#if CT_VECTOR_BYTES == 64
        else if (lines) CT_ISA(ct_fft_lines)(&self->lines, in->data + x, run.step_in, out->data + y,
                                             run.step_out, (gsize)n, work->scratch);
#endif
        else transform(self, &batch, &run, in, out, first, n, work->scratch);
    }
    return TRUE;
}

static void
finish(gpointer state)
{
    Fft *self = state;

    if (self == NULL)
        return;
    ct_fft_plan_free(self->plan);
    ct_fft_columns_plan_clear(&self->columns);
    ct_fft_lines_plan_clear(&self->lines);
    g_free(self);
}

#define TRANSPOSED 0.4

/* Series along time are columns one by one: as many as a firing has samples, which are few if they
 * are long. */
static gdouble
share_along_time(const CtStream *stream)
{
    const gint64 bytes = ct_stream_width(stream) * (gint64)ct_type_info(stream->type)->bytes;
    const gint64 n_columns = FIRING_BYTES / bytes;
    return n_columns >= FFT_MAX_COLUMNS ? 1 : n_columns >= FFT_MAX_COLUMNS / 2 ? 0.5 : 0.08;
}

/* Columns fill a vector, or only a part of it. Series with others between them are gathered.
 * Lengths that are not transformed as columns are transposed before and after FFTW. */
static gdouble
share(const CtNode *nodes, const CtLayout *inputs, G_GNUC_UNUSED const CtLayout *outputs)
{
    const CtStream *stream = &nodes[0].inputs[0];
    const CtLayout *layout = &inputs[0];
    FftDesign design;
    if (stream->type != CT_CF32 || !ct_fft_design_init(&design, nodes[0].params, stream, NULL))
        return 1;
    const gint axis = ct_layout_axis(layout, design.axis);
    const gint time = ct_layout_axis(layout, "time");
    if (axis < (gint)layout->n_axes - 1 && !ct_fft_columns_can(&design, MOST_RADIX))
        return TRANSPOSED;
    if (design.along_time)
        return 1;
    if (time == (gint)layout->n_axes - 1)
        return share_along_time(stream);
    gdouble inside = 1, outside = 1;
    for (gint a = 0; a < (gint)layout->n_axes; a++) {
        const gdouble length =
            a == time ? FFT_MAX_COLUMNS : (gdouble)ct_stream_length(stream, layout->axes[a].name);
        inside *= a > axis ? length : 1;
        outside *= a < axis && a != time ? length : 1;
    }
    if (inside == 1 || inside >= FFT_MAX_COLUMNS)
        return 1;
    return outside > 1 ? 0.2 : 0.35 + 0.65 * inside / FFT_MAX_COLUMNS;
}

/* Transforms that lie one after another are not copied. Of neighbouring series, only complex ones
 * of single precision are transformed as columns. If time is the first axis, the samples of a
 * transform lie close together. */
#define ROWS(types, to, packed, along_time, columns, turned, others)                               \
    {types "[... phase] -> " to "[... channel]", packed},                                          \
        {types "[... channel] -> " to "[... phase]", packed},                                      \
        {types "[... time] -> " to "[... time channel]", along_time},                              \
        {types "[time ...] -> " to "[time ...]", columns},                                         \
        {types "[time ... phase] -> " to "[time channel ...]", turned},                            \
    {                                                                                              \
        types "{...} -> " to "{...}", others                                                       \
    }

const CtVariant CT_ISA(ct_fft_cpu) = {
    .name = "cpu-" CT_ISA_NAME,
    .backend = CT_CPU,
    .isa = CT_ISA_THIS,
    .covers = (const char *const[]){"fft", NULL},
    .rows = (const CtRow[]){ROWS("cf32", "cf32", 0.65, 0.45, 0.82, 0.58, 0.72),
                            ROWS("f32", "cf32", 0.32, 0.21, 0.23, 0.3, 0.16),
                            ROWS("cf64|f64", "cf64", 0.55, 0.4, 0.27, 0.31, 0.2),
                            {NULL, 0}},
    .share = share,
    .split = "*",
    .prepare = prepare,
    .work = work,
    .finish = finish,
};
