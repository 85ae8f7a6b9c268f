/* SPDX-License-Identifier: BSD-3-Clause */
/* A plugin of newer headers may set what is reserved here: what it has filled in for the kit is
 * refused, not misread. */
#include "kit/fold-private.h"

#include <cornerturn/kit/device-rows.h>
#include <cornerturn/kit/window.h>

/* Expects that only the member of `type` was refused, by `call`. */
#define REFUSE(type, call)                                                                         \
    G_STMT_START                                                                                   \
    {                                                                                              \
        g_autoptr(GError) error = NULL;                                                            \
        g_assert_false(call);                                                                      \
        g_assert_error(error, CT_ERROR, CT_ERROR_PLUGIN);                                          \
        g_assert_nonnull(strstr(error->message, "plugin wants a newer one"));                      \
        g_assert_nonnull(strstr(error->message, " sets a member of " #type " that "));             \
    }                                                                                              \
    G_STMT_END

static void
test_form(void)
{
    CtForm form = {.plugin = "newer"};
    CtFormChoice choice = {.kernel = "scale"};
    g_assert_true(ct_form_check(&form, &choice, NULL));
    form.reserved[G_N_ELEMENTS(form.reserved) - 1] = 1;
    REFUSE(CtForm, ct_form_check(&form, &choice, &error));
    form = (CtForm){.plugin = "newer"};
    choice.reserved[0] = 1;
    REFUSE(CtFormChoice, ct_form_check(&form, &choice, &error));
    choice = (CtFormChoice){.table.reserved[1] = 1};
    REFUSE(CtFormTable, ct_form_check(&form, &choice, &error));
}

static void
test_kernel(void)
{
    CtFormKernel kernel = {.name = "scale", .kind = CT_FORM_MAP, .x = CT_F32, .y = CT_F32};
    const CtFormKernel *const kernels[] = {&kernel};
    const CtForm form = {.plugin = "newer", .begin = kernels, .end = kernels + 1};
    CtFormState state = {
        .form = &form,
        .choice.kernel = "scale",
        .boxes = {.in_type = CT_F32, .out_type = CT_F32},
    };
    g_assert_true(ct_form_bind(&state, CT_ISA_BASELINE, CT_FORM_MAPS, NULL));
    kernel.reserved[2] = 1;
    REFUSE(CtFormKernel, ct_form_bind(&state, CT_ISA_BASELINE, CT_FORM_MAPS, &error));
    kernel.reserved[2] = 0;
    kernel.kind = CT_FORM_MARKED_JOIN + 1;
    g_autoptr(GError) error = NULL;
    g_assert_false(ct_form_bind(&state, CT_ISA_BASELINE, CT_FORM_MAPS, &error));
    g_assert_error(error, CT_ERROR, CT_ERROR_PLUGIN);
    g_assert_cmpstr(error->message, ==,
                    "kernel 'scale' of plugin 'newer' has a form that this Cornerturn does not "
                    "know: the plugin wants a newer one");
}

static void
test_fold(void)
{
    CtFold fold = {.form.plugin = "newer", .reserved[0] = 1};
    CtFoldKernel of_fold = {.reserved[3] = 1};
    const CtFormKernel kernel = {.fold = &of_fold};
    const CtPort outputs[] = {{"out", "f32{time}"}, {0}};
    const CtStage stage = {.outputs = outputs};
    const CtNode node = {.stage = &stage};
    const CtVariant variant = {.form = &fold};
    const CtPrepare prepare = {.nodes = &node, .variant = &variant};
    CtFoldState state = {.form.kernel = &kernel};
    REFUSE(CtFold, ct_fold_init(&state, &prepare, &error));
    fold.reserved[0] = 0;
    REFUSE(CtFoldKernel, ct_fold_init(&state, &prepare, &error));
}

static CtWindowChoice chosen;

static gboolean
choose(G_GNUC_UNUSED const CtNode *node, CtWindowChoice *choice, G_GNUC_UNUSED GError **error)
{
    *choice = chosen;
    return TRUE;
}

static void
test_window(void)
{
    CtWindow window = {.form.plugin = "newer", .choose = choose, .reserved[1] = 1};
    const CtStream stream = {.type = CT_F32};
    const CtBinding binding = {.stream = &stream};
    const CtNode node = {0};
    const CtPrepare prepare = {.nodes = &node, .inputs = &binding, .outputs = &binding};
    REFUSE(CtWindow, ct_window_taps_new(&window, &prepare, &error));
    window.reserved[1] = 0;
    chosen = (CtWindowChoice){.reserved[7] = 1};
    REFUSE(CtWindowChoice, ct_window_taps_new(&window, &prepare, &error));
    chosen = (CtWindowChoice){.shifts.reserved[0] = 1};
    REFUSE(CtFormTable, ct_window_taps_new(&window, &prepare, &error));
    chosen = (CtWindowChoice){.form.reserved[0] = 1};
    REFUSE(CtFormChoice, ct_window_taps_new(&window, &prepare, &error));
}

static void
test_device(void)
{
    guint8 sample = 0;
    const CtDeviceMapCall call = {.reserved[3] = 1};
    const CtBox box = {.in = &sample, .out = &sample};
    const CtBlock block = {.data = &sample, .n_samples = 1};
    REFUSE(CtDeviceMapCall, ct_device_map_box(&box, 1, 1, NULL, &call, &error));
    REFUSE(CtDeviceMapCall, ct_device_rows_work(&block, &block, -1, 1, NULL, &call, &error));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/newer/form", test_form);
    g_test_add_func("/newer/kernel", test_kernel);
    g_test_add_func("/newer/fold", test_fold);
    g_test_add_func("/newer/window", test_window);
    g_test_add_func("/newer/device", test_device);
    return g_test_run();
}
