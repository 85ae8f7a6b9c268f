/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows and shifts in all variants, without planner and scheduler: the same numbers to the bit in
 * all layouts and types, with and without sums and new axes, also in short firings. */
#include "variant-test.h"

/* Small integers: products and sums are exact. */
static void
fill_part(guint8 *part, gsize count, gpointer type)
{
    const gint16 value = (gint16)((count * 2654435761u >> 9) % 64 - 32);

    if (GPOINTER_TO_INT(type) == CT_I16)
        *(gint16 *)(gpointer)part = value;
    else
        *(gfloat *)(gpointer)part = value;
}

typedef struct {
    const char *stage, *parameters, *axes;
    gint64 longest;        /* block of the output, in samples */
    const char *orders[6]; /* of the input, that of the output, … */
} Case;

static const Case cases[] = {
    {"window.median",
     "{ length: 5 }",
     "time:-1 station:3 pol:2",
     700,
     {"time station pol", "time station pol", "station pol time", "station pol time",
      "station time pol", "station time pol"}},
    {"window.median",
     "{ length: 14, before: 3, scale: 2 }",
     "time:-1 channel:37",
     700,
     {"time channel", "time channel", "channel time", "channel time", "time channel",
      "channel time"}},
    {"window.median",
     "{ length: 300 }",
     "time:-1",
     700,
     {"time", "time", "time", "time", "time", "time"}},
    /* shifts alone */
    {"window.weigh",
     "{ scale: 0.5 }",
     "time:-1 channel:5 station:4",
     700,
     {"time channel station", "time channel station", "station channel time",
      "station channel time", "channel time station", "channel time station"}},
    {"window.weigh",
     "{ }",
     "time:-1 channel:3 station:1 beam:33",
     700,
     {"time channel station beam", "time channel station beam", "channel beam station time",
      "channel beam station time", "beam channel time station", "station beam channel time"}},
    /* a sum */
    {"window.weigh",
     "{ sums: true }",
     "time:-1 channel:19 station:4",
     700,
     {"time channel station", "time station", "station channel time", "station time",
      "channel time station", "station time"}},
    /* a new axis */
    {"window.weigh",
     "{ n_trials: 3 }",
     "time:-1 channel:5 station:2",
     700,
     {"time channel station", "trial time channel station", "station channel time",
      "station channel trial time", "channel time station", "time station channel trial"}},
    /* both */
    {"window.weigh",
     "{ sums: true, n_trials: 21 }",
     "time:-1 channel:35 station:2 pol:2",
     700,
     {"time channel station pol", "time trial station pol", "pol station channel time",
      "station pol trial time", "channel time pol station", "trial pol time station"}},
    {"window.weigh",
     "{ sums: true, n_trials: 2 }",
     "time:-1 channel:9 station:1 beam:40",
     700,
     {"time channel beam station", "time trial beam station", "channel station time beam",
      "trial station time beam", "beam station channel time", "beam station trial time"}},
    /* shifts that differ much, and for which samples are staged in parts */
    {"window.weigh",
     "{ sums: true, n_trials: 70, spread: 11 }",
     "time:-1 channel:3 station:2",
     2100,
     {"time channel station", "time trial station", "station channel time", "station trial time",
      "channel time station", "trial time station"}},
    {"window.weigh",
     "{ sums: true, n_trials: 70, spread: 300 }",
     "time:-1 channel:3 station:2",
     2100,
     {"time channel station", "time trial station", "station channel time", "trial station time",
      "channel time station", "trial time station"}},
};

static void
test_cases(void)
{
    const guint32 seed = 11;
    g_autoptr(GRand) random = g_rand_new_with_seed(seed);

    g_test_message("seed %u", seed);
    for (guint i = 0; i < G_N_ELEMENTS(cases) * 12; i++) {
        const Case *given = &cases[i / 12];
        const CtType type = i % 4 < 2 ? CT_F32 : CT_I16;
        const char *const *order = given->orders + 2 * (i % 3);
        g_autofree char *parameters =
            g_strdup_printf("{ type: %s, %s", i % 2 ? "f16" : "f32", given->parameters + 2);
        VariantTest *test = variant_test_new(given->stage, parameters, type, given->axes);
        const CtLayout layout = variant_test_layout(type, order[0]);
        const gint64 lengths[] = {1, 67, given->longest}, n = lengths[i / 4 % 3], first = i % 5;
        const gint64 used = n + test->node.footprint.window - 1;
        CtBlock out = variant_test_block(&test->out, order[1], n, 0, 0);
        const CtBlock whole = variant_test_block(&test->in, order[0], first + used + i % 2, 0, 0);
        variant_test_visit(&whole, fill_part, GINT_TO_POINTER(type));
        const CtBlock in = ct_block_slice(&whole, &layout, first, used);
        variant_test_same(test, order, &in, &out, 100, given->parameters, random);
        g_aligned_free(whole.data);
        g_aligned_free(out.data);
        variant_test_free(test);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_autofree char *path = g_strdup_printf("%s:%s/window", g_getenv("CORNERTURN_PLUGIN_PATH"),
                                            g_getenv("CORNERTURN_TEST_PLUGINS"));
    g_setenv("CORNERTURN_PLUGIN_PATH", path, TRUE);
    g_test_add_func("/window-variants/cases", test_cases);
    return g_test_run();
}
