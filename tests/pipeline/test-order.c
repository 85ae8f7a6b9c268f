/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of a program that come too late or too early, and values that are out of range. */
#include <cornerturn/pipeline.h>
#include <math.h>
#include <string.h>

#define GRAPH                                                                                      \
    "stages:\n"                                                                                    \
    "  x: { stage: input, layout: \"i16[time station]\", shape: [-1, 2], sample_rate: 1 Hz }\n"    \
    "  z: { stage: convert, from: x, type: f32 }\n"                                                \
    "  y: { stage: output, from: z }\n"

typedef gboolean (*Call)(CtPipeline *pipeline, GError **error);

static CtPipeline *
parse(void)
{
    g_autoptr(GError) error = NULL;
    CtPipeline *pipeline = ct_pipeline_parse(GRAPH, -1, "graph", &error);
    g_assert_no_error(error);
    return pipeline;
}

/* ---- too late ---- */

/* Each setter with a value that it takes. */
#define CALL(name, ...)                                                                            \
    static gboolean name(CtPipeline *pipeline, GError **error)                                     \
    {                                                                                              \
        return ct_pipeline_##name(pipeline, __VA_ARGS__, error);                                   \
    }

CALL(set, "z.type=f64")
CALL(set_duration, 1)
CALL(set_strict, TRUE)
CALL(set_backend, "z", "reference")
CALL(set_variant, "z", "reference")
CALL(set_workers, 1)
CALL(set_cache, 1000)
CALL(set_device_block, 1000)
CALL(set_in_flight, 2)
CALL(set_costs, "off")
CALL(set_default_layouts, TRUE)
CALL(set_missing, 3)
CALL(set_poison, TRUE)

/* The order is checked before the memory, so this memory is never used. */
CALL(offer, "y", NULL, 0)

/* The steps, and which of them a setter must precede. */
enum { CHECK, PLAN, PREPARE, START, N_STEPS };

static const struct {
    const char *name;
    Call take;
} steps[N_STEPS] = {
    {"ct_pipeline_check", ct_pipeline_check},
    {"ct_pipeline_plan", ct_pipeline_plan},
    {"ct_pipeline_prepare", ct_pipeline_prepare},
    {"ct_pipeline_start", ct_pipeline_start},
};

static const struct {
    const char *name;
    Call set;
    guint before;
} setters[] = {
    {"ct_pipeline_set", set, CHECK},
    {"ct_pipeline_set_duration", set_duration, CHECK},
    {"ct_pipeline_set_strict", set_strict, CHECK},
    {"ct_pipeline_set_backend", set_backend, PLAN},
    {"ct_pipeline_set_variant", set_variant, PLAN},
    {"ct_pipeline_set_workers", set_workers, PLAN},
    {"ct_pipeline_set_cache", set_cache, PLAN},
    {"ct_pipeline_set_device_block", set_device_block, PLAN},
    {"ct_pipeline_set_in_flight", set_in_flight, PLAN},
    {"ct_pipeline_set_costs", set_costs, PLAN},
    {"ct_pipeline_set_default_layouts", set_default_layouts, PLAN},
    {"ct_pipeline_set_missing", set_missing, PLAN},
    {"ct_pipeline_set_poison", set_poison, PREPARE},
};

static void
refuse_late(CtPipeline *pipeline, const char *name, Call call, guint before, guint after)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *message =
        g_strdup_printf("%s comes too late: it wants to come before %s, but comes after %s", name,
                        steps[before].name, steps[after].name);
    g_assert_false(call(pipeline, &error));
    g_assert_error(error, CT_ERROR, CT_ERROR_ORDER);
    g_assert_cmpstr(error->message, ==, message);
}

static void
test_late_setters(void)
{
    g_autoptr(CtPipeline) pipeline = parse();
    for (guint after = 0; after <= N_STEPS; after++) {
        g_autoptr(GError) error = NULL;
        for (guint i = 0; i < G_N_ELEMENTS(setters); i++) {
            if (setters[i].before < after) {
                refuse_late(pipeline, setters[i].name, setters[i].set, setters[i].before,
                            after - 1);
            } else {
                g_assert_true(setters[i].set(pipeline, &error));
                g_assert_no_error(error);
            }
        }
        if (after < N_STEPS)
            steps[after].take(pipeline, &error);
        g_assert_no_error(error);
    }
}

/* A refused setter changes nothing. */
static void
test_nothing_is_changed(void)
{
    g_autoptr(CtPipeline) pipeline = parse();
    g_autoptr(GError) error = NULL;
    g_autofree char *before = ct_pipeline_describe(pipeline, "json", &error);
    g_assert_no_error(error);
    for (guint i = 0; i < G_N_ELEMENTS(setters); i++)
        setters[i].set(pipeline, NULL);
    g_autofree char *after = ct_pipeline_describe(pipeline, "json", &error);
    g_assert_no_error(error);
    g_assert_cmpstr(before, ==, after);
}

static void
test_late_memory(void)
{
    g_autoptr(CtPipeline) pipeline = parse();
    g_autoptr(GError) error = NULL;
    for (guint step = PREPARE; step <= START; step++) {
        g_assert_true(steps[step].take(pipeline, &error));
        refuse_late(pipeline, "ct_pipeline_offer", offer, PREPARE, step);
    }
}

static void
test_second_start(void)
{
    g_autoptr(CtPipeline) pipeline = parse();
    g_autoptr(GError) error = NULL;
    g_assert_true(ct_pipeline_start(pipeline, &error));
    g_assert_false(ct_pipeline_start(pipeline, &error));
    g_assert_error(error, CT_ERROR, CT_ERROR_ORDER);
    g_assert_cmpstr(error->message, ==, "ct_pipeline_start comes too late: a pipeline runs once");
}

/* ---- too early ---- */

static gboolean
take(CtPipeline *pipeline, GError **error)
{
    CtBlock block;
    return ct_pipeline_take(pipeline, "y", 0, &block, error);
}

CALL(feed, "x", "abcd", 1, NULL, NULL, NULL)
CALL(feed_end, "x")
CALL(set_stream, "x", NULL)

static void
test_early(void)
{
    static const struct {
        const char *name;
        Call call;
    } calls[] = {
        {"ct_pipeline_feed", feed},
        {"ct_pipeline_feed_end", feed_end},
        {"ct_pipeline_set_stream", set_stream},
        {"ct_pipeline_take", take},
        {"ct_pipeline_result", ct_pipeline_result},
    };
    g_autoptr(CtPipeline) pipeline = parse();
    for (guint step = CHECK; step <= PREPARE; step++) {
        g_autoptr(GError) failure = NULL;
        for (guint i = 0; i < G_N_ELEMENTS(calls); i++) {
            g_autoptr(GError) error = NULL;
            g_autofree char *message = g_strdup_printf(
                "%s comes too early: it wants to come after ct_pipeline_prepare, but comes before "
                "it",
                calls[i].name);
            g_assert_false(calls[i].call(pipeline, &error));
            g_assert_error(error, CT_ERROR, CT_ERROR_ORDER);
            g_assert_cmpstr(error->message, ==, message);
        }
        steps[step].take(pipeline, &failure);
        g_assert_no_error(failure);
    }
}

/* ---- values ---- */

#define REFUSE(pipeline, name, value, wanted)                                                      \
    do {                                                                                           \
        g_autoptr(GError) refused = NULL;                                                          \
        g_assert_false(ct_pipeline_##name(pipeline, value, &refused));                             \
        g_assert_error(refused, CT_ERROR, CT_ERROR_PARAMETER);                                     \
        g_assert_cmpstr(refused->message, ==, "ct_pipeline_" #name " wants " wanted);              \
    } while (0)

#define ACCEPT(pipeline, name, value)                                                              \
    do {                                                                                           \
        g_autoptr(GError) failure = NULL;                                                          \
        ct_pipeline_##name(pipeline, value, &failure);                                             \
        g_assert_no_error(failure);                                                                \
    } while (0)

static void
test_ranges(void)
{
    g_autoptr(CtPipeline) pipeline = parse();
    REFUSE(pipeline, set_workers, 4097, "0 to 4096 workers, but is given 4097");
    REFUSE(pipeline, set_in_flight, 17, "0 to 16 blocks, but is given 17");
    REFUSE(pipeline, set_missing, 0, "1 to 281474976710656 samples, but is given 0");
    REFUSE(pipeline, set_missing, -1, "1 to 281474976710656 samples, but is given -1");
    REFUSE(pipeline, set_missing, CT_PIPELINE_MAX_MISSING + 1,
           "1 to 281474976710656 samples, but is given 281474976710657");
    REFUSE(pipeline, set_cache, (gsize)CT_PIPELINE_MAX_BYTES + 1,
           "0 to 1000000000000000 bytes, but is given 1000000000000001");
    REFUSE(pipeline, set_device_block, (gsize)CT_PIPELINE_MAX_BYTES + 1,
           "0 to 1000000000000000 bytes, but is given 1000000000000001");
    REFUSE(pipeline, set_duration, -1, "a finite number of seconds, 0 or more, but is given -1");
    REFUSE(pipeline, set_duration, INFINITY,
           "a finite number of seconds, 0 or more, but is given inf");
    REFUSE(pipeline, set_duration, (gdouble)NAN,
           "a finite number of seconds, 0 or more, but is given nan");
    ACCEPT(pipeline, set_workers, 4096);
    ACCEPT(pipeline, set_workers, 0);
    ACCEPT(pipeline, set_in_flight, 16);
    ACCEPT(pipeline, set_missing, CT_PIPELINE_MAX_MISSING);
    ACCEPT(pipeline, set_cache, CT_PIPELINE_MAX_BYTES);
    ACCEPT(pipeline, set_device_block, CT_PIPELINE_MAX_BYTES);
    ACCEPT(pipeline, set_duration, G_MAXDOUBLE);
    ACCEPT(pipeline, set_duration, 0);
    ACCEPT(pipeline, set_costs, "off");
    ACCEPT(pipeline, set_costs, NULL);
}

static void
test_empty_block(void)
{
    g_autoptr(CtPipeline) pipeline = parse();
    g_autoptr(GError) error = NULL;
    g_assert_true(ct_pipeline_start(pipeline, &error));
    g_assert_false(ct_pipeline_feed(pipeline, "x", NULL, 0, NULL, NULL, NULL, &error));
    g_assert_error(error, CT_ERROR, CT_ERROR_PARAMETER);
    g_assert_cmpstr(error->message, ==,
                    "ct_pipeline_feed wants 1 sample or more for 'x', but is given 0");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/order/late-setters", test_late_setters);
    g_test_add_func("/order/nothing-is-changed", test_nothing_is_changed);
    g_test_add_func("/order/late-memory", test_late_memory);
    g_test_add_func("/order/second-start", test_second_start);
    g_test_add_func("/order/early", test_early);
    g_test_add_func("/order/ranges", test_ranges);
    g_test_add_func("/order/empty-block", test_empty_block);
    return g_test_run();
}
