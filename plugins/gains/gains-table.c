/* SPDX-License-Identifier: BSD-3-Clause */
/* Factors from a file, or one for all, as a table that is read along with the input. */
#include "gains.h"

#include <complex.h>
#include <string.h>

/* Elements of a run that is worth its overhead. */
#define LONG_RUN 64

/* The axes of the file: the given ones, or those of the usual ones that the stream has. */
static gboolean
find_axes(const CtNode *node, const char *axes[CT_MAX_AXES], guint *n, GError **error)
{
    static const char *const usual[] = {"station", "pol", "channel"};
    const CtStream *in = &node->inputs[0];
    *n = 0;
    if (!ct_params_has(node->params, "axes")) {
        for (guint i = 0; i < G_N_ELEMENTS(usual); i++)
            if (ct_stream_axis(in, usual[i]) >= 0)
                axes[(*n)++] = ct_axis_name(usual[i]);
        return TRUE;
    }
    for (guint i = 0; i < ct_params_count(node->params, "axes"); i++) {
        const char *name = ct_params_string_at(node->params, "axes", i);
        gboolean is_new = strcmp(name, "time") != 0;
        for (guint j = 0; j < *n; j++)
            is_new = is_new && strcmp(axes[j], name) != 0;
        if (!is_new || ct_stream_axis(in, name) < 0) {
            g_autofree char *given = ct_stream_describe(in);
            return ct_params_error(node->params, "axes", error,
                                   "wants different axes of the stream other than time, %s, but is "
                                   "given '%s'",
                                   given, name);
        }
        axes[(*n)++] = ct_axis_name(name);
    }
    return TRUE;
}

CtNpyArray *
ct_gains_load(const CtNode *node, const char *axes[CT_MAX_AXES], GError **error)
{
    const CtStream *in = &node->inputs[0];
    g_autoptr(GError) problem = NULL;
    guint n;
    if (!find_axes(node, axes, &n, error))
        return NULL;
    g_autoptr(CtNpyArray) array =
        ct_npy_load(ct_params_string(node->params, "gains"), 'c', 16, &problem);
    if (!array) {
        ct_params_error(node->params, "gains", error, "%s", problem->message);
        return NULL;
    }
    gboolean fits = array->n_axes == n;
    for (guint a = 0; a < n && fits; a++)
        fits = array->shape[a] == 1 || (gint64)array->shape[a] == ct_stream_length(in, axes[a]);
    if (fits)
        return g_steal_pointer(&array);

    g_autoptr(GString) wanted = g_string_new(NULL);
    for (guint a = 0; a < n; a++)
        g_string_append_printf(wanted, "%s%s", a ? " " : "", axes[a]);
    g_autofree char *shape = ct_npy_shape_string(array);
    g_autofree char *given = ct_stream_describe(in);
    ct_params_error(
        node->params, "gains", error,
        "wants an array of [%s], or 1 in the place of a length, for a stream of %s, but "
        "%s has shape %s",
        wanted->str, given, ct_params_string(node->params, "gains"), shape);
    return NULL;
}

/* 1/g; a gain of 0 stays 0. */
static double complex
inverse(double complex gain)
{
    return gain == 0 ? 0 : 1 / gain;
}

static void
write_factor(guint8 *to, double complex factor, gboolean is_double)
{
    if (is_double)
        *(double complex *)to = factor;
    else
        *(float complex *)to = (float complex)factor;
}

/* Strides, in elements, of the array along the axes of the input's layout; 0 where one factor
 * applies to all. */
static void
find_strides(const CtLayout *layout, const CtNpyArray *array, const char *const *axes,
             gint64 strides[CT_MAX_AXES])
{
    memset(strides, 0, CT_MAX_AXES * sizeof *strides);
    gint64 stride = 1;
    for (guint a = array ? array->n_axes : 0; a-- > 0;) {
        if (array->shape[a] > 1)
            strides[ct_layout_axis(layout, axes[a])] = stride;
        stride *= (gint64)array->shape[a];
    }
}

/* The parameters of expand. */
typedef struct {
    guint n_axes;
    gint64 lengths[CT_MAX_AXES]; /* of the layout's axes; `time` is left out, or repeated */
    gint64 strides[CT_MAX_AXES]; /* in the array of gains */
    gboolean inverts, is_double;
} Expansion;

/* Writes the factors of all elements from axis `a` on, one after another. */
static guint8 *
expand(const Expansion *self, guint a, const double complex *gain, guint8 *to)
{
    if (a == self->n_axes) {
        write_factor(to, self->inverts ? inverse(*gain) : *gain, self->is_double);
        return to + (self->is_double ? 16 : 8);
    }
    for (gint64 i = 0; i < self->lengths[a]; i++)
        to = expand(self, a + 1, gain + i * self->strides[a], to);
    return to;
}

guint8 *
ct_gains_factors(const CtPrepare *prepare, gint64 repeat, gboolean is_double, gint64 *n_factors,
                 GError **error)
{
    const CtNode *node = &prepare->nodes[0];
    const CtParams *params = node->params;
    const CtLayout *layout = &prepare->inputs[0].layout;
    const char *axes[CT_MAX_AXES];
    g_autoptr(CtNpyArray) array = NULL;
    double complex constant = 1;
    if (ct_params_has(params, "gains")) {
        array = ct_gains_load(node, axes, error);
        if (!array)
            return NULL;
    } else {
        constant = ct_params_real_at(params, "gain", 0);
        if (ct_params_count(params, "gain") == 2)
            constant += I * ct_params_real_at(params, "gain", 1);
    }
    Expansion expansion = {
        .n_axes = layout->n_axes,
        .inverts = ct_params_bool(params, "inverse"),
        .is_double = is_double,
    };
    gint64 n = 1;
    for (guint a = 0; a < layout->n_axes; a++) {
        const char *name = layout->axes[a].name;
        expansion.lengths[a] =
            strcmp(name, "time") == 0 ? repeat : ct_stream_length(&node->inputs[0], name);
        n *= expansion.lengths[a];
    }
    find_strides(layout, array, axes, expansion.strides);
    guint8 *factors = ct_table_new((gsize)n, is_double ? 16 : 8, "gains", error);
    if (!factors)
        return NULL;
    expand(&expansion, 0, array ? array->data : &constant, factors);
    *n_factors = n;
    return factors;
}

Gains *
ct_gains_new(CtPrepare *prepare, guint n_workers, gboolean is_double, GError **error)
{
    const CtLayout *layout = &prepare->inputs[0].layout;
    const gint time = ct_layout_axis(layout, "time");
    const gint64 bytes = is_double ? 16 : 8;
    gint64 faster = 1, n_factors;
    for (gint a = time + 1; time >= 0 && a < (gint)layout->n_axes; a++)
        faster *= ct_stream_length(prepare->inputs[0].stream, layout->axes[a].name);

    Gains *self = g_new0(Gains, 1);
    self->repeat = faster > 1 && faster < LONG_RUN ? LONG_RUN / faster : 1;
    self->period = faster * bytes;
    self->factors = ct_gains_factors(prepare, self->repeat, is_double, &n_factors, error);
    if (!self->factors) {
        ct_gains_finish(self);
        return NULL;
    }
    /* Time is the one axis without a stride in the table. */
    ct_boxes_init(&self->boxes, &prepare->inputs[0], &prepare->outputs[0], n_workers);
    self->boxes.table = self->factors;
    gint64 stride = bytes;
    for (gint a = (gint)layout->n_axes - 1; a >= 0; a--) {
        for (guint b = 0; b < self->boxes.n_axes; b++)
            if (self->boxes.axes[b].in == a && a != time)
                self->boxes.axes[b].table = stride;
        stride *= a == time ? self->repeat
                            : ct_stream_length(prepare->inputs[0].stream, layout->axes[a].name);
    }
    return self;
}

void
ct_gains_finish(gpointer state)
{
    Gains *self = state;
    if (self)
        g_free(self->factors);
    g_free(self);
}

typedef struct {
    const Gains *gains;
    CtBoxRun function;
    gpointer data;
} Runs;

static void
each_run_of_box(gpointer data, const CtBox *box, G_GNUC_UNUSED gpointer scratch)
{
    const Runs *runs = data;
    const gint64 repeat = runs->gains->repeat;
    const CtBoxAxis element = {.length = 1};
    CtBox simple = *box;
    guint time = 0;
    while (time < simple.n_axes && simple.axes[time].table != 0)
        time++;
    if (repeat > 1 && time < simple.n_axes) {
        /* Whole repetitions of the table, then the rest. */
        CtBox rest = simple;
        CtBoxAxis *axis = &simple.axes[time];
        const gint64 left = axis->length % repeat;
        rest.axes[time].length = left;
        rest.axes[time].table = runs->gains->period;
        rest.in += (axis->length - left) * axis->in;
        rest.out += (axis->length - left) * axis->out;
        simple.axes[simple.n_axes] = rest.axes[time];
        simple.axes[simple.n_axes++].length = repeat;
        *axis = (CtBoxAxis){axis->length / repeat, axis->in * repeat, axis->out * repeat, 0};
        if (left > 0) {
            ct_box_simplify(&rest);
            ct_box_each_run(&rest, &element, runs->function, runs->data);
        }
        if (axis->length == 0)
            return;
    }
    ct_box_simplify(&simple);
    ct_box_each_run(&simple, &element, runs->function, runs->data);
}

void
ct_gains_each_run(const Gains *self, const CtWork *work, CtBoxRun function, gpointer data)
{
    Runs runs = {self, function, data};
    ct_boxes_each(&self->boxes, work, each_run_of_box, &runs);
}
