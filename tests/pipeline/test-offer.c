/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of outputs in memory of the program. */
#include <cornerturn/pipeline.h>
#include <string.h>

#define GRAPH                                                                                      \
    "stages:\n"                                                                                    \
    "  x: { stage: input, layout: \"i16[time station]\", shape: [-1, 2] }\n"                       \
    "  z: { stage: convert, from: x, type: f32 }\n"                                                \
    "  a: { stage: output, from: z }\n"                                                            \
    "  b: { stage: output, from: z }\n"                                                            \
    "  fed: { stage: output, from: x }\n"

enum { N_SAMPLES = 300 };

typedef struct {
    CtPipeline *pipeline;
    guint8 *memory; /* aligned, in `all` */
    gpointer all;
    gsize bytes;
} Program;

static void
start(Program *program)
{
    g_autoptr(GError) error = NULL;
    program->pipeline = ct_pipeline_parse(GRAPH, -1, "graph", &error);
    g_assert_no_error(error);
    program->bytes = ct_pipeline_memory_bytes(program->pipeline, "a", &error);
    g_assert_no_error(error);
    g_assert_cmpuint(program->bytes, >, 0);
    program->all = g_malloc(program->bytes + 128);
    program->memory = (guint8 *)((GPOINTER_TO_SIZE(program->all) + 63) / 64 * 64);
}

static void
end(Program *program)
{
    ct_pipeline_free(program->pipeline);
    g_free(program->all);
}

static void
refuse(const Program *program, const char *node, gpointer memory, gsize bytes, const char *why)
{
    g_autoptr(GError) error = NULL;
    g_assert_false(ct_pipeline_offer(program->pipeline, node, memory, bytes, &error));
    g_assert_nonnull(error);
    g_assert_nonnull(strstr(error->message, why));
}

static void
test_refused(void)
{
    Program program;
    g_autoptr(GError) error = NULL;
    start(&program);
    refuse(&program, "c", program.memory, program.bytes, "has no node 'c'");
    refuse(&program, "a", program.memory, program.bytes - 1, "node 'a' wants");
    refuse(&program, "a", program.memory + 32, program.bytes, "at a multiple of 64");
    refuse(&program, "fed", program.memory, 4 * program.bytes,
           "reads what the program feeds, which lies in memory of its own");
    g_assert_true(ct_pipeline_offer(program.pipeline, "a", program.memory, program.bytes, &error));
    g_assert_no_error(error);
    refuse(&program, "b", program.memory, program.bytes, "node 'b' reads the same as 'a'");
    /* Other memory can be offered for the same output. */
    g_assert_true(
        ct_pipeline_offer(program.pipeline, "a", program.memory + 64, program.bytes, &error));
    g_assert_no_error(error);
    end(&program);
}

/* Both outputs of a ring get the samples in that memory. */
static void
test_written_there(void)
{
    static const char *const names[] = {"a", "b"};
    Program program;
    g_autoptr(GError) error = NULL;
    gint16 samples[N_SAMPLES][2];
    for (guint t = 0; t < N_SAMPLES; t++)
        samples[t][0] = (gint16)t, samples[t][1] = (gint16)-t;
    start(&program);
    ct_pipeline_offer(program.pipeline, "a", program.memory, program.bytes, &error);
    g_assert_no_error(error);
    g_assert_true(ct_pipeline_start(program.pipeline, &error));
    ct_pipeline_feed(program.pipeline, "x", samples, N_SAMPLES, NULL, NULL, NULL, &error);
    g_assert_no_error(error);
    ct_pipeline_feed_end(program.pipeline, "x", &error);
    gint64 done[2] = {0};
    for (gboolean more = TRUE; more;) {
        CtBlock block;
        more = FALSE;
        for (guint i = 0; i < 2; i++) {
            g_assert_true(ct_pipeline_take(program.pipeline, names[i], -1, &block, &error));
            if (block.n_samples == 0)
                continue;
            more = TRUE;
            g_assert_true(block.data >= program.memory &&
                          block.data < program.memory + program.bytes);
            for (gint64 t = 0; t < block.n_samples; t++) {
                const gfloat *pair = (const gfloat *)(block.data + t * block.stride[0]);
                g_assert_cmpfloat(pair[0], ==, (gfloat)(done[i] + t));
                g_assert_cmpfloat(pair[1], ==, (gfloat) - (done[i] + t));
            }
            done[i] += block.n_samples;
            ct_pipeline_give_back(program.pipeline, names[i]);
        }
        CtBlock own = {0};
        ct_pipeline_take(program.pipeline, "fed", 0, &own, &error);
        if (own.n_samples > 0)
            ct_pipeline_give_back(program.pipeline, "fed");
    }
    g_assert_cmpint(done[0], ==, N_SAMPLES);
    g_assert_cmpint(done[1], ==, N_SAMPLES);
    ct_pipeline_interrupt(program.pipeline);
    ct_pipeline_wait(program.pipeline, -1);
    end(&program);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/offer/refused", test_refused);
    g_test_add_func("/offer/written-there", test_written_there);
    return g_test_run();
}
