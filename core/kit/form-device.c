/* SPDX-License-Identifier: BSD-3-Clause */
/* Forms on a device: kernels compiled for the types of the graph. */
#include "form-private.h"
#include "group-device.h"

#include <cornerturn/kit/device-rows.h>
#include <string.h>

typedef struct {
    CtFormState form;
    CtDevice *device;
    CtKernel *kernel;
    CtKernel *together; /* of a group whose elements are contiguous; NULL: they are not */
    CtKernel *zero;     /* fills the rest of blocks; NULL: the output has none */
    gpointer table;     /* on the device */
    gint time;
    guint threads, unroll;
} State;

/* ---- prepare ---- */

/* The type with which a kernel works. */
static CtType
number_type(CtType type)
{
    return type == CT_CI4 ? CT_CI8 : type == CT_F16 ? CT_F32 : type == CT_CF16 ? CT_CF32 : type;
}

/* Adds the definitions of X, Y or W. */
static void
define_type(GPtrArray *defines, char letter, CtType type)
{
    const CtTypeInfo *number = ct_type_info(number_type(type));
    g_ptr_array_add(defines, g_strdup_printf("CT_%c=ct_%s", letter, number->name));
    g_ptr_array_add(defines,
                    g_strdup_printf("CT_%c_PART=ct_%s", letter, ct_type_info(number->part)->name));
    g_ptr_array_add(defines, g_strdup_printf("CT_%c_PARTS=%d", letter, number->is_complex ? 2 : 1));
    if (!number->is_float)
        g_ptr_array_add(defines,
                        g_strdup_printf("CT_%c_MOST=%" G_GINT64_FORMAT, letter,
                                        G_MAXINT64 >> (64 - ct_type_info(type)->part_bits)));
}

GPtrArray *
ct_form_defines(const CtFormState *form, guint threads, guint unroll)
{
    const CtFormKernel *kernel = form->kernel;
    const CtType in = form->boxes.in_type, out = form->boxes.out_type;
    const CtType y = kernel ? kernel->y : out;
    GPtrArray *defines = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_add(defines, g_strdup_printf("CT_IN=%s", ct_kernel_type((gint)in)));
    g_ptr_array_add(defines, g_strdup_printf("CT_OUT=%s", ct_kernel_type((gint)out)));
    g_ptr_array_add(defines, g_strdup_printf("CT_DEVICE_MAP_THREADS=%u", threads));
    g_ptr_array_add(defines, g_strdup_printf("CT_DEVICE_MAP_UNROLL=%u", unroll));
    g_ptr_array_add(defines, g_strdup_printf("CT_DEVICE_ROWS_UNROLL=%u", unroll));
    define_type(defines, 'X', kernel ? kernel->x : out);
    define_type(defines, 'Y', y);
    if (y == CT_CI4)
        g_ptr_array_add(defines, g_strdup("CT_Y_IS_CI4"));
    if (kernel && kernel->w != CT_TYPE_NONE)
        define_type(defines, 'W', kernel->w);
    /* The file of a kernel with a table may contain joins, which need the definition. */
    if (kernel && kernel->w != CT_TYPE_NONE)
        g_ptr_array_add(defines,
                        g_strdup_printf("CT_W_ELEMENT=%s",
                                        ct_kernel_type(ct_form_is_join(form) ? (gint)form->second
                                                                             : (gint)kernel->w)));
    return defines;
}

/* Compiles function NAME`suffix` of a source; `define` is one more definition, or NULL. */
static CtKernel *
compile_source(const CtFormState *form, CtDevice *device, const char *source, const char *name,
               const char *suffix, guint threads, guint unroll, const char *define, GError **error)
{
    g_autofree char *function = g_strconcat(name, suffix, NULL);
    g_autoptr(GPtrArray) defines = ct_form_defines(form, threads, unroll);
    if (define)
        g_ptr_array_add(defines, g_strdup(define));
    g_ptr_array_add(defines, NULL);
    return ct_kernel_new(device,
                         &(CtKernelSpec){
                             .name = function,
                             .source = source,
                             .defines = (const char *const *)defines->pdata,
                         },
                         error);
}

CtKernel *
ct_form_compile(const CtFormState *form, CtDevice *device, const char *suffix, guint threads,
                guint unroll, const char *define, GError **error)
{
    const CtFormKernel *kernel = form->kernel;
    if (!kernel)
        return compile_source(form, device, "/cornerturn/kernel/shift.cu", "ct_move", suffix,
                              threads, unroll, define, error);
    g_autofree char *source =
        g_strdup_printf("/cornerturn/plugins/%s/%s", form->form->plugin, kernel->file);
    return compile_source(form, device, source, kernel->name, suffix, threads, unroll, define,
                          error);
}

static CtKernel *
compile(const State *self, const char *suffix, GError **error)
{
    return ct_form_compile(&self->form, self->device, suffix, self->threads, self->unroll, NULL,
                           error);
}

static gboolean
send_table(State *self, const CtPrepare *prepare, GError **error)
{
    gint64 n;
    g_autofree guint8 *entries = ct_form_expand(&self->form, prepare, 1, &n, error);
    if (!entries)
        return FALSE;
    const gsize bytes = (gsize)n * ct_type_info(self->form.kernel->w)->bytes;
    self->table = ct_device_alloc(self->device, bytes, self->form.choice.kernel, error);
    return self->table && ct_device_upload(self->device, self->table, entries, bytes, error);
}

static CtGroupAxes
group_of(const CtFormState *form)
{
    return (CtGroupAxes){form->kernel->n_x, form->kernel->n_y, form->group_in, form->group_out};
}

static gboolean
compile_kernels(State *self, const CtPrepare *prepare, GError **error)
{
    static const char *const suffixes[] = {
        [CT_FORM_MAP] = "_map",   [CT_FORM_TABLE] = "_table",      [CT_FORM_GROUP] = "_planes",
        [CT_FORM_JOIN] = "_join", [CT_FORM_MARKED_JOIN] = "_join",
    };
    const CtFormKernel *kernel = self->form.kernel;
    if (!kernel) {
        self->kernel =
            compile_source(&self->form, self->device, "/cornerturn/kernel/convert.cu", "ct_convert",
                           "_map", self->threads, self->unroll, NULL, error);
        return self->kernel != NULL;
    }
    self->kernel = compile(self, suffixes[kernel->kind], error);
    if (!self->kernel)
        return FALSE;
    if (kernel->kind == CT_FORM_TABLE)
        return send_table(self, prepare, error);
    const CtGroupAxes group = group_of(&self->form);
    if (kernel->kind != CT_FORM_GROUP || !ct_group_is_together(&self->form.boxes, &group, prepare))
        return TRUE;
    self->together = compile(self, "_together", error);
    return self->together != NULL;
}

/* Whether the tunables are those of the kernel: a table has others than the other forms. */
static gboolean
check_tunables(const CtFormState *form, const CtVariant *variant, GError **error)
{
    const CtFormKernel *kernel = form->kernel;
    const gboolean is_table = kernel && kernel->kind == CT_FORM_TABLE;
    const CtTunable *tunables = variant->tunables;
    if (tunables && tunables[0].name && is_table == !tunables[1].name)
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN,
                "kernel '%s' wants variants of CT_FORM%s_VARIANTS, but is given others",
                kernel ? kernel->name : "convert", is_table ? "_TABLE" : "");
    return FALSE;
}

static void
set_tuning(State *self, const gint64 *tuning)
{
    const gint64 bytes = (gint64)MAX(ct_type_info(self->form.boxes.in_type)->bytes,
                                     ct_type_info(self->form.boxes.out_type)->bytes);
    if (self->form.kernel && self->form.kernel->kind == CT_FORM_TABLE) {
        self->threads = CT_DEVICE_ROWS_THREADS;
        self->unroll = (guint)(bytes == 16 ? MIN(tuning[0], 4) : tuning[0]);
    } else {
        self->threads = (guint)tuning[CT_DEVICE_MAP_TUNABLE_THREADS];
        self->unroll = (guint)tuning[CT_DEVICE_MAP_TUNABLE_UNROLL];
    }
}

gboolean
ct_form_prepare_device(CtPrepare *prepare, gpointer *state, GError **error)
{
    State *self = *state = g_new0(State, 1);
    self->device = prepare->device;
    self->time = ct_layout_axis(&prepare->inputs[0].layout, "time");
    /* The kernels of all instruction sets are the same on a device. */
    if (!ct_form_init(&self->form, prepare, CT_ISA_BASELINE, 1, ct_form_kinds(prepare), error) ||
        !check_tunables(&self->form, prepare->variant, error))
        return FALSE;
    set_tuning(self, prepare->tuning);
    if (ct_form_is_join(&self->form))
        self->form.join.n_items = 1;
    if (!compile_kernels(self, prepare, error))
        return FALSE;
    gboolean has_gaps = FALSE;
    for (guint a = 0; a < self->form.boxes.n_axes; a++)
        has_gaps |= self->form.boxes.axes[a].out_count > 0;
    if (has_gaps)
        self->zero = ct_device_map_copy_new(self->device,
                                            ct_type_info(self->form.boxes.out_type)->bytes, error);
    return !has_gaps || self->zero;
}

void
ct_form_finish_device(gpointer state)
{
    State *self = state;
    if (!self)
        return;
    ct_form_clear(&self->form);
    ct_kernel_free(self->kernel);
    ct_kernel_free(self->together);
    ct_kernel_free(self->zero);
    ct_device_free(self->device, self->table);
    g_free(self);
}

/* ---- work ---- */

typedef struct {
    CtDeviceMapCall call;
    gsize in_bytes, out_bytes;
    CtQueue *queue;
    gboolean ok;
    GError **error;
} Job;

static void
enqueue_box(gpointer data, const CtBox *box, G_GNUC_UNUSED gpointer scratch)
{
    Job *job = data;
    job->ok = job->ok && ct_device_map_box(box, job->in_bytes, job->out_bytes, job->queue,
                                           &job->call, job->error);
}

static gboolean
work_group(State *self, const CtWork *work, GError **error)
{
    const CtGroupAxes group = group_of(&self->form);
    gint64 x_stride = work->inputs[0].stride[group.in];
    gint64 y_stride = work->outputs[0].stride[group.out];
    gpointer settings = self->form.choice.settings.bytes;
    const CtDeviceMapCall call = {
        self->kernel, {settings, &x_stride, &y_stride}, 3, self->threads, self->unroll};
    return ct_group_work(&self->form.boxes, &group, work, &call, self->together, error);
}

static gboolean
work_join(const State *self, const CtWork *work, const CtDeviceMapCall *call, GError **error)
{
    Job job = {
        .call = *call,
        .in_bytes = ct_type_info(self->form.boxes.in_type)->bytes,
        .out_bytes = ct_type_info(self->form.boxes.out_type)->bytes,
        .queue = work->queue,
        .ok = TRUE,
        .error = error,
    };
    ct_join_each(&self->form.join, work, enqueue_box, &job);
    return job.ok;
}

gboolean
ct_form_work_device(gpointer state, const CtWork *work, GError **error)
{
    State *self = state;
    gpointer settings = self->form.choice.settings.bytes;
    guint64 *counters = work->counters;
    const CtFormKernel *kernel = self->form.kernel;
    const guint n_arguments = kernel ? 1 + kernel->n_counters : 0;
    const CtDeviceMapCall call = {
        self->kernel, {settings, &counters}, n_arguments, self->threads, self->unroll};
    const CtDeviceMapCall with_table = {self->kernel, {settings, &self->table}, 2};
    if (!work->outputs[0].data)
        return TRUE;
    if (kernel && kernel->kind == CT_FORM_TABLE)
        return ct_device_rows_work(&work->inputs[0], &work->outputs[0], self->time, self->unroll,
                                   work->queue, &with_table, error);
    if (kernel && kernel->kind == CT_FORM_GROUP)
        return work_group(self, work, error);
    if (ct_form_is_join(&self->form))
        return work_join(self, work, &call, error);
    return ct_device_map_work(&self->form.boxes, work, &call, self->zero, error);
}
