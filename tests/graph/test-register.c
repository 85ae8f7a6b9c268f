/* SPDX-License-Identifier: BSD-3-Clause */
/* Plugins that a program registers: their stages run, replace earlier ones, and are refused if they
 * are wrong or stand in other plugins. */
#include <cornerturn/inspect.h>
#include <cornerturn/pipeline.h>
#include <cornerturn/stage.h>
#include <string.h>

static gboolean
infer(CtNode *node, G_GNUC_UNUSED GError **error)
{
    ct_stream_copy(&node->outputs[0], &node->inputs[0]);
    return TRUE;
}

static void
multiply(const CtWork *work, gfloat factor)
{
    const CtBlock *in = &work->inputs[0], *out = &work->outputs[0];
    for (gint64 t = work->begin; t < work->end; t++) {
        const gfloat *x = (const gfloat *)(gconstpointer)(in->data + t * in->stride[0]);
        *(gfloat *)(gpointer)(out->data + t * out->stride[0]) = factor * *x;
    }
}

static gboolean
twice(G_GNUC_UNUSED gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    multiply(work, 2);
    return TRUE;
}

static gboolean
thrice(G_GNUC_UNUSED gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    multiply(work, 3);
    return TRUE;
}

#define STAGE(name_)                                                                               \
    {                                                                                              \
        .name = name_, .summary = "samples times a factor", .version = 1, .infer = infer,          \
        .inputs = CT_PORTS({"in", "f32[time]", 0, "samples"}),                                     \
        .outputs = CT_PORTS({"out", "f32[time]", 0, "products"}),                                  \
    }
static const CtStage times = STAGE("times"), other = STAGE("copy");

#define VARIANT(stage_, work_)                                                                     \
    {                                                                                              \
        .name = "cpu", .backend = CT_CPU, .covers = (const char *const[]){stage_, NULL},           \
        .rows = CT_PORT_ROWS(0.1), .split = "time", .work = work_,                                 \
    }
static const CtVariant by_two = VARIANT("times", twice), by_three = VARIANT("times", thrice),
                       of_copy = VARIANT("copy", twice);

#define PLUGIN(magic_, name_, stage_, variant_)                                                    \
    {                                                                                              \
        magic_, CT_ABI_VERSION, CT_SIZES, name_, (const CtStage *const[]){&stage_, NULL},          \
            (const CtVariant *const[]){&variant_, NULL},                                           \
    }
static const CtPlugin first = PLUGIN(CT_PLUGIN_MAGIC, "times", times, by_two),
                      second = PLUGIN(CT_PLUGIN_MAGIC, "times", times, by_three),
                      rival = PLUGIN(CT_PLUGIN_MAGIC, "rival", times, by_three),
                      taken = PLUGIN(CT_PLUGIN_MAGIC, "mine", other, of_copy),
                      strange = PLUGIN(17, "strange", times, by_two);

static CtPipeline *
parse(void)
{
    g_autoptr(GError) error = NULL;
    CtPipeline *pipeline =
        ct_pipeline_parse("stages:\n"
                          "  x: { stage: input, layout: 'f32[time]', shape: [-1] }\n"
                          "  t: { stage: times, from: x }\n"
                          "  y: { stage: output, from: t }\n",
                          -1, "graph", &error);
    g_assert_no_error(error);
    return pipeline;
}

/* The value that the stage makes of 1. */
static gfloat
run(CtPipeline *pipeline)
{
    static gfloat one[] = {1};
    g_autoptr(GError) error = NULL;
    CtBlock block;
    ct_pipeline_start(pipeline, &error);
    g_assert_no_error(error);
    g_assert_true(ct_pipeline_feed(pipeline, "x", one, 1, NULL, NULL, NULL, &error));
    g_assert_true(ct_pipeline_feed_end(pipeline, "x", &error));
    g_assert_true(ct_pipeline_take(pipeline, "y", -1, &block, &error));
    const gfloat product = *(const gfloat *)(gconstpointer)block.data;
    ct_pipeline_give_back(pipeline, "y");
    g_assert_true(ct_pipeline_take(pipeline, "y", -1, &block, &error));
    g_assert_true(ct_pipeline_wait(pipeline, -1));
    return product;
}

static void
test_registered(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(CtPipeline) before = parse();
    g_assert_true(ct_register_plugin(&first, &error));
    g_assert_no_error(error);
    g_assert_true(ct_pipeline_check(before, &error));

    /* A plugin of the same name takes its place, but not in pipelines that are checked. */
    g_assert_true(ct_register_plugin(&second, &error));
    g_autoptr(CtPipeline) after = parse();
    g_assert_cmpfloat(run(before), ==, 2);
    g_assert_cmpfloat(run(after), ==, 3);

    g_autofree char *shown = ct_inspect("times", NULL, &error);
    g_assert_nonnull(strstr(shown, "the program (times)"));
}

static void
test_refused(void)
{
    g_autoptr(GError) error = NULL;
    g_assert_true(ct_register_plugin(&first, &error));
    g_assert_false(ct_register_plugin(&strange, &error));
    g_assert_error(error, CT_ERROR, CT_ERROR_PLUGIN);
    g_clear_error(&error);
    g_assert_false(ct_register_plugin(&rival, &error));
    g_assert_error(error, CT_ERROR, CT_ERROR_PLUGIN);
    g_assert_cmpstr(error->message, ==,
                    "stage 'times' stands in two plugins: the program (times) and the program "
                    "(rival)");
    g_clear_error(&error);
    g_assert_false(ct_register_plugin(&taken, &error));
    g_assert_error(error, CT_ERROR, CT_ERROR_PLUGIN);

    /* What was there stays. */
    g_autoptr(CtPipeline) pipeline = parse();
    g_assert_cmpfloat(run(pipeline), ==, 2);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/register/registered", test_registered);
    g_test_add_func("/register/refused", test_refused);
    return g_test_run();
}
