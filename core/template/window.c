/* @STAGE@: the mean of each `length` consecutive samples, y[t] = Σ x[t + k] / length. */
#include "@PLUGIN@.kernel.h"

#include <cornerturn/kit/window.h>

static const CtParam params[] = {{"length", CT_PARAM_INT, CT_PARAM_RANGED | CT_PARAM_SAMPLES, NULL,
                                  1, 1 << 20, "5", .help = "samples of a mean"},
                                 {0}};

/* The rounding of single precision, for `cornerturn verify`. */
static void
accuracy(const CtNode *node, const CtAccuracy *inputs, CtAccuracy *outputs)
{
    const gdouble n = (gdouble)ct_params_int(node->params, "length");
    outputs[0].error = n * 0x1p-24 * inputs[0].largest;
    outputs[0].rms_error = n * 0x1p-24 * inputs[0].rms + inputs[0].rms_error;
}

/* ---- every instruction set and devices, from the kernel ---- */

static const CtWindow window = {
    .form = CT_KERNEL_FORM("@PLUGIN@", "smooth", .length = "length"),
};

static const CtStage stage = {
    .name = "@STAGE@",
    .summary = "the mean of consecutive samples",
    .version = 1,
    .inputs = CT_PORTS({"in", "f32|cf32{time ...}", 0, "samples"}),
    .outputs = CT_PORTS({"out", "f32|cf32{time ...}", 0, "their means"}),
    .params = params,
    CT_FORM_STAGE(window.form),
    .operations_per_part = 1, /* of a sample of the window; plans and statistics use the number */
    .accuracy = accuracy,
    .accuracy_rule = "n u |x|, u = 2⁻²⁴",
};

/* ---- the reference: the same by hand, in double precision, to check the others ---- */

typedef struct {
    CtWindowTaps *taps; /* the samples that an output sample is made of */
    CtBoxes boxes;      /* the walk over any two layouts */
    gint64 length;
    gint time;   /* the axis of the input's layout */
    gint64 step; /* bytes from one time to the next */
    guint n_parts;
} Reference;

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    Reference *self = *state = g_new0(Reference, 1);
    ct_boxes_init(&self->boxes, &prepare->inputs[0], &prepare->outputs[0], 1);
    self->taps = ct_window_taps_new(&window, prepare, error);
    self->length = ct_params_int(prepare->nodes[0].params, "length");
    self->time = ct_layout_axis(&prepare->inputs[0].layout, "time");
    self->n_parts = ct_type_info(self->boxes.in_type)->is_complex ? 2 : 1;
    return self->taps != NULL;
}

/* A run of elements along one axis; strides are bytes. */
static void
reference_run(gpointer data, const guint8 *in, G_GNUC_UNUSED const guint8 *table, guint8 *out,
              const CtBoxAxis *run)
{
    const Reference *self = data;
    for (gint64 i = 0; i < run->length; i++, in += run->in, out += run->out)
        for (guint part = 0; part < self->n_parts; part++) {
            double sum = 0;
            for (gint64 k = 0; k < self->length; k++)
                sum += ((const float *)(in + k * self->step))[part];
            ((float *)out)[part] = (float)(sum / (double)self->length);
        }
}

static void
reference_box(gpointer data, const CtBox *box, G_GNUC_UNUSED gpointer scratch)
{
    static const CtBoxAxis element = {.length = 1};
    CtBox simple = *box;
    ct_box_simplify(&simple);
    ct_box_each_run(&simple, &element, reference_run, data);
}

static gboolean
work(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    Reference *self = state;
    self->step = work->inputs[0].stride[self->time];
    ct_boxes_each(&self->boxes, work, reference_box, self);
    return TRUE;
}

static void
finish(gpointer state)
{
    Reference *self = state;
    if (self)
        ct_window_taps_free(self->taps);
    g_free(self);
}

static const CtVariant reference = {
    .name = "reference",
    .backend = CT_REFERENCE,
    .covers = (const char *const[]){"@STAGE@", NULL},
    .rows = (const CtRow[]){{"any: f32|cf32{...} -> f32|cf32{...}", 0.01}, {0}},
    .prepare = prepare,
    .advance = ct_window_advance,
    .work = work,
    .finish = finish,
};

/* The axes may have any order, the same on both sides. The numbers are the shares of the memory's
 * bandwidth that the variants reach, on the host and on devices, as `cornerturn tune` measures
 * them. */
CT_STAGE_PLUGIN("@PLUGIN@", stage,
                CT_WINDOW_VARIANTS(window, "@STAGE@", CT_PORT_ROWS(0.5), CT_PORT_ROWS(0.5)),
                &reference);
