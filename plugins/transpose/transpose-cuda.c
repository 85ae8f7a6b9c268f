/* SPDX-License-Identifier: BSD-3-Clause */
/* The transpose on a device: boxes are transposed in shared memory, or copied if runs are long on
 * both sides. */
#include "transpose-turn.h"
#include "transpose.h"

#include <cornerturn/kit/device-map.h>

/* Kernels by form. The forms in use depend on layouts and lengths, and are found by planning the
 * possible firings. */
typedef struct {
    CtBoxes boxes;
    CtKernel *copy;
    CtKernel *turns[TURN_UNITS_OF][TURN_GROUPS_OF];
    TurnForms forms; /* that have a kernel */
    guint ahead;
} Transpose;

/* Words have at most 8 bytes, unless units are larger. */
static const TurnForms all_forms = {.has = {
                                        {TRUE, TRUE, TRUE},
                                        {TRUE, TRUE, TRUE},
                                        {TRUE, TRUE, FALSE},
                                        {TRUE, FALSE, FALSE},
                                        {TRUE, FALSE, FALSE},
                                    }};

enum { TILE, THREADS, AHEAD };
static const CtTunable tunables[] = {
    [TILE] = {"tile", CT_VALUES(8, 16, 32), 32, "the most KiB of a tile in shared memory"},
    [THREADS] = {"threads", CT_VALUES(128, 256, 512), 256, "of a block"},
    [AHEAD] = {"ahead", CT_VALUES(4, 8, 16), 8, "words that a thread reads before it writes"},
    {NULL},
};

/* In rings, axes outside time begin at multiples of this many bytes. */
#define RING_ALIGNMENT 16

/* A block of `n` samples with the strides of a ring. */
static CtBlock
likely_block(const CtBinding *binding, gint64 n)
{
    const CtLayout *layout = &binding->layout;
    const gint time = ct_layout_axis(layout, "time");
    CtBlock block = {
        .data = GSIZE_TO_POINTER(1 << 20), /* never accessed, only its alignment matters */
        .type = ct_layout_type(layout),
        .n_axes = layout->n_axes,
        .n_samples = time < 0 ? 1 : n,
    };
    gint64 bytes = (gint64)ct_type_info(block.type)->bytes;
    for (gint a = (gint)layout->n_axes; a-- > 0;) {
        const char *name = layout->axes[a].name;
        const gint inner = ct_layout_block_axis(layout, name);
        const gint64 whole = a == time ? n
                             : name == ct_axis_name("complex")
                                 ? 2
                                 : ct_stream_length(binding->stream, name);
        const gint64 count = inner < 0 ? 1 : layout->axes[inner].count;
        if (a < time)
            bytes = (bytes + RING_ALIGNMENT - 1) / RING_ALIGNMENT * RING_ALIGNMENT;
        block.length[a] = a == inner ? count : (whole + count - 1) / count;
        block.stride[a] = bytes;
        bytes *= block.length[a];
    }
    return block;
}

static void
note_form(gpointer data, const CtBox *box, G_GNUC_UNUSED gpointer scratch)
{
    Transpose *self = data;
    CtBox simple = *box;
    TurnForms forms = all_forms;
    Turn turn;
    TurnForm form;
    guint n_tiles;
    const guint8 *in;
    guint8 *out;
    forms.tile_bits = self->forms.tile_bits;
    forms.thread_bits = self->forms.thread_bits;
    ct_box_simplify(&simple);
    if (turn_plan(&turn, &form, &n_tiles, &in, &out, &simple,
                  (gint64)ct_type_info(self->boxes.in_type)->bytes, &forms))
        self->forms.has[form.unit_bits][form.group_bits] = TRUE;
}

static gboolean
make_turn(Transpose *self, CtDevice *device, TurnForm form, GError **error)
{
    g_autofree char *unit = g_strdup_printf("UNIT_BYTES=%u", 1u << form.unit_bits);
    g_autofree char *group = g_strdup_printf("GROUP=%u", 1u << form.group_bits);
    g_autofree char *tile = g_strdup_printf("TILE_BYTES=%u", 1u << self->forms.tile_bits);
    g_autofree char *threads = g_strdup_printf("THREADS=%u", 1u << self->forms.thread_bits);
    g_autofree char *ahead = g_strdup_printf("AHEAD=%u", self->ahead);
    CtKernel *kernel =
        ct_kernel_new(device,
                      &(CtKernelSpec){
                          .name = "transpose",
                          .source = "/cornerturn/plugins/transpose/transpose.cu",
                          .headers =
                              (const char *const[]){
                                  "/cornerturn/plugins/transpose/transpose-turn-struct.h", NULL},
                          .defines = (const char *const[]){unit, group, tile, threads, ahead, NULL},
                      },
                      error);
    self->turns[form.unit_bits][form.group_bits] = kernel;
    return kernel != NULL;
}

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    Transpose *self = *state = g_new0(Transpose, 1);
    const CtBinding *in = &prepare->inputs[0], *out = &prepare->outputs[0];
    self->forms.tile_bits = (guint)g_bit_nth_msf((gulong)prepare->tuning[TILE] << 10, -1);
    self->forms.thread_bits = (guint)g_bit_nth_msf((gulong)prepare->tuning[THREADS], -1);
    self->ahead = (guint)prepare->tuning[AHEAD];
    ct_boxes_init(&self->boxes, in, out, 1);
    const guint bytes = (guint)ct_type_info(self->boxes.in_type)->bytes;
    self->copy = ct_device_map_copy_new(prepare->device, bytes, error);
    if (!self->copy)
        return FALSE;
    /* A full firing, and one that leaves blocks short. */
    for (gint64 n = MAX(in->max_samples - 1, 1); n <= MAX(in->max_samples, 1); n++) {
        const CtBlock from = likely_block(in, n), to = likely_block(out, n);
        const CtWork work = {.inputs = &from, .outputs = &to, .begin = 0, .end = 1};
        ct_boxes_each_filled(&self->boxes, &work, note_form, self);
    }
    /* A form that always fits. */
    self->forms.has[g_bit_nth_msf(bytes, -1)][0] = TRUE;
    for (guint unit_bits = 0; unit_bits < TURN_UNITS_OF; unit_bits++)
        for (guint group_bits = 0; group_bits < TURN_GROUPS_OF; group_bits++)
            if (self->forms.has[unit_bits][group_bits] &&
                !make_turn(self, prepare->device, (TurnForm){unit_bits, group_bits}, error))
                return FALSE;
    return TRUE;
}

typedef struct {
    const Transpose *self;
    CtQueue *queue;
    gboolean ok;
    GError **error;
} Job;

static gboolean
move_box(const Transpose *self, const CtBox *box, CtQueue *queue, GError **error)
{
    const gsize bytes = ct_type_info(self->boxes.in_type)->bytes;
    const CtDeviceMapCall copy = {.kernel = self->copy};
    CtBox simple = *box;
    Turn turn;
    TurnForm form;
    guint n_tiles;
    const guint8 *in;
    guint8 *out;
    ct_box_simplify(&simple);
    if (!box->in ||
        !turn_plan(&turn, &form, &n_tiles, &in, &out, &simple, (gint64)bytes, &self->forms))
        return ct_device_map_box(&simple, bytes, bytes, queue, &copy, error);
    const CtLaunch launch = {.grid = {n_tiles, 1, 1},
                             .block = {1u << self->forms.thread_bits, 1, 1}};
    gpointer arguments[] = {&turn, &in, &out};
    return ct_queue_launch(queue, self->turns[form.unit_bits][form.group_bits], &launch, arguments,
                           error);
}

static void
enqueue_box(gpointer data, const CtBox *box, G_GNUC_UNUSED gpointer scratch)
{
    Job *job = data;
    job->ok = job->ok && move_box(job->self, box, job->queue, job->error);
}

static gboolean
work(gpointer state, const CtWork *work, GError **error)
{
    const Transpose *self = state;
    Job job = {self, work->queue, TRUE, error};
    ct_boxes_each_gap(&self->boxes, &work->outputs[0], enqueue_box, &job);
    ct_boxes_each_filled(&self->boxes, work, enqueue_box, &job);
    return job.ok;
}

static void
finish(gpointer state)
{
    Transpose *self = state;
    if (!self)
        return;
    ct_kernel_free(self->copy);
    for (guint unit_bits = 0; unit_bits < TURN_UNITS_OF; unit_bits++)
        for (guint group_bits = 0; group_bits < TURN_GROUPS_OF; group_bits++)
            ct_kernel_free(self->turns[unit_bits][group_bits]);
    g_free(self);
}

const CtVariant ct_transpose_cuda = {
    .name = "cuda",
    .backend = CT_CUDA,
    .covers = (const char *const[]){"transpose", NULL},
    .rows =
        (const CtRow[]){
            {"any: [...] -> [...]", 0.9},
            {NULL},
        },
    .tunables = tunables,
    .prepare = prepare,
    .work = work,
    .finish = finish,
};
