/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of parameters: a stage's table, and the values that a graph gives. */
#include "model/node-params.h"

#include <string.h>

static const char *const windows[] = {"hamming", "hann", "none", NULL};
static const CtParam table[] = {
    {"n_taps", CT_PARAM_INT, CT_PARAM_REQUIRED | CT_PARAM_RANGED, NULL, 1, 64, NULL, NULL, "Taps"},
    {"gain", CT_PARAM_REAL, CT_PARAM_RANGED, NULL, 0, G_MAXDOUBLE, "0.5", NULL, "Gain"},
    {"rate", CT_PARAM_QUANTITY, CT_PARAM_RANGED, "Hz", 1, 1e9, "200 MHz/1024", NULL, "Rate"},
    {"angle", CT_PARAM_QUANTITY, 0, "rad", 0, 0, NULL, NULL, "Angle"},
    {"shift", CT_PARAM_BOOL, 0, NULL, 0, 0, "true", NULL, "Shift"},
    {"window", CT_PARAM_CHOICE, 0, NULL, 0, 0, "hann", windows, "Window"},
    {"title", CT_PARAM_STRING, 0, NULL, 0, 0, NULL, NULL, "Title"},
    {"path", CT_PARAM_PATH, 0, NULL, 0, 0, NULL, NULL, "File"},
    {"paths", CT_PARAM_PATH, CT_PARAM_LIST, NULL, 0, 0, NULL, NULL, "Files"},
    {"output", CT_PARAM_TYPE, 0, NULL, 0, 0, "cf32", NULL, "Type"},
    {"layout", CT_PARAM_LAYOUT, 0, NULL, 0, 0, NULL, NULL, "Layout"},
    {"shape", CT_PARAM_INT, CT_PARAM_LIST, NULL, 0, 0, "[2, 3]", NULL, "Shape"},
    {"positions", CT_PARAM_QUANTITY, CT_PARAM_TABLE, "m", 0, 0, NULL, NULL, "Positions"},
    {"length", CT_PARAM_INT, CT_PARAM_RANGED | CT_PARAM_SAMPLES, NULL, 2, 1000, NULL, NULL, "Sum"},
    {0},
};
static const CtPort ports[] = {{0}};

static gboolean
infer(G_GNUC_UNUSED CtNode *node, G_GNUC_UNUSED GError **error)
{
    return TRUE;
}

static const CtStage stage = {
    .name = "filter",
    .summary = "A stage",
    .inputs = ports,
    .outputs = ports,
    .params = table,
    .infer = infer,
};

static CtParams *
parse(const char *text, GError **error)
{
    g_autoptr(CtValue) values = ct_value_parse(text, -1, "g", error);
    g_assert_no_error(error ? *error : NULL);
    const CtPlace place = {"g", 1, 1};
    return ct_params_new("f", &stage, &place, values, error);
}

static void
test_defaults(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(CtParams) params = parse("{ n_taps: 16 }", &error);
    g_assert_no_error(error);
    g_assert_cmpint(ct_params_int(params, "n_taps"), ==, 16);
    g_assert_cmpfloat(ct_params_real(params, "gain"), ==, 0.5);
    g_assert_cmpfloat(ct_params_real(params, "rate"), ==, 195312.5);
    g_assert_true(ct_params_bool(params, "shift"));
    g_assert_cmpuint(ct_params_choice(params, "window"), ==, 1);
    g_assert_cmpint(ct_params_type(params, "output"), ==, CT_CF32);
    g_assert_cmpuint(ct_params_count(params, "shape"), ==, 2);
    g_assert_cmpint(ct_params_int_at(params, "shape", 1), ==, 3);
    g_assert_true(ct_params_has(params, "rate"));

    g_assert_false(ct_params_has(params, "title"));
    g_assert_null(ct_params_string(params, "title"));
    g_assert_null(ct_params_layout(params, "layout"));
    g_assert_cmpuint(ct_params_count(params, "paths"), ==, 0);
    g_assert_cmpuint(ct_params_count(params, "n_taps"), ==, 1);
}

static void
test_values(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(CtParams) params =
        parse("{ n_taps: 1e0, gain: 1/3, rate: 200 MHz/1024, angle: 180 deg, shift: false,\n"
              "  window: none, title: \"\", path: a b, paths: one, output: ci8,\n"
              "  layout: \"ci8|cf32[... time]\", shape: 7, positions: [[0, 1 km], [-2 cm, 3]] }",
              &error);
    g_assert_no_error(error);
    gint64 numerator, denominator;
    ct_params_rational(params, "rate", &numerator, &denominator);
    g_assert_cmpint(numerator, ==, 390625);
    g_assert_cmpint(denominator, ==, 2);
    ct_params_rational(params, "gain", &numerator, &denominator);
    g_assert_cmpint(numerator, ==, 1);
    g_assert_cmpint(denominator, ==, 3);
    ct_params_rational(params, "angle", &numerator, &denominator);
    g_assert_cmpfloat((gdouble)numerator / denominator, ==, G_PI);
    g_assert_false(ct_params_bool(params, "shift"));
    g_assert_cmpuint(ct_params_choice(params, "window"), ==, 2);
    g_assert_cmpstr(ct_params_string(params, "title"), ==, "");
    g_assert_cmpstr(ct_params_string(params, "path"), ==, "a b");
    g_assert_cmpuint(ct_params_count(params, "paths"), ==, 1);
    g_assert_cmpstr(ct_params_string_at(params, "paths", 0), ==, "one");
    g_assert_cmpint(ct_params_type(params, "output"), ==, CT_CI8);
    g_assert_cmpuint(ct_params_layout(params, "layout")->n_axes, ==, 2);
    g_assert_cmpint(ct_params_int_at(params, "shape", 0), ==, 7);
    g_assert_cmpuint(ct_params_count(params, "positions"), ==, 2);
    g_assert_cmpuint(ct_params_columns(params, "positions"), ==, 2);
    g_assert_cmpfloat(ct_params_real_cell(params, "positions", 0, 1), ==, 1000);
    g_assert_cmpfloat(ct_params_real_cell(params, "positions", 1, 0), ==, -0.02);
}

/* YAML's brackets may be those of a layout. */
static void
test_bare_layout(void)
{
    static const char *const texts[][2] = {
        {"{ n_taps: 1, layout: [time channel pol'] }", "[time channel pol']"},
        {"{ n_taps: 1, layout: {time pol} }", "{time pol}"},
        {"{ n_taps: 1, layout: 'ci8[time]' }", "ci8[time]"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(CtParams) params = parse(texts[i][0], &error);
        g_assert_no_error(error);
        g_autofree char *text = ct_layout_to_string(ct_params_layout(params, "layout"));
        g_assert_cmpstr(text, ==, texts[i][1]);
    }
}

static const struct {
    const char *text, *message;
} wrong[] = {
    {"{}", "g:1:1: node 'f': parameter 'n_taps' is missing: stage 'filter' wants an integer from "
           "1 to 64"},
    {"{ n_taps: 1, n_tpas: 2 }",
     "g:1:14: node 'f': stage 'filter' has no parameter 'n_tpas'; did you mean 'n_taps'?"},
    {"{ n_taps: 1, form: 2 }",
     "g:1:14: node 'f': stage 'filter' has no parameter 'form'; did you mean 'from'?"},
    {"{ n_taps: 1, zzzzzz: 2 }",
     "g:1:14: node 'f': stage 'filter' has no parameter 'zzzzzz'; it has n_taps, gain, rate, "
     "angle, shift, window, title, path, paths, output, layout, shape, positions, length"},
    {"{ n_taps: many }", "g:1:11: node 'f': parameter 'n_taps': wants an integer from 1 to 64, but "
                         "is given 'many'"},
    {"{ n_taps: 65 }",
     "g:1:11: node 'f': parameter 'n_taps': wants an integer from 1 to 64, but is given '65'"},
    {"{ n_taps: 1.5 }",
     "g:1:11: node 'f': parameter 'n_taps': wants an integer from 1 to 64, but is given '1.5'"},
    {"{ n_taps: 3 Hz }",
     "g:1:11: node 'f': parameter 'n_taps': wants an integer from 1 to 64, but is given '3 Hz'"},
    {"{ n_taps: }",
     "g:1:11: node 'f': parameter 'n_taps': wants an integer from 1 to 64, but is given nothing"},
    {"{ n_taps: [1, 2] }", "g:1:11: node 'f': parameter 'n_taps': wants an integer from 1 to 64, "
                           "but is given a list of 2"},
    {"{ n_taps: {a: 2} }", "g:1:11: node 'f': parameter 'n_taps': wants an integer from 1 to 64, "
                           "but is given a mapping"},
    {"{ n_taps: 1, gain: -1 }",
     "g:1:20: node 'f': parameter 'gain': wants a number, 0 or more, but is given '-1'"},
    {"{ n_taps: 1, rate: 5 us }", "g:1:20: node 'f': parameter 'rate': wants a frequency such as "
                                  "'200 MHz', but is given '5 us'"},
    {"{ n_taps: 1, rate: 5 ghz }", "g:1:20: node 'f': parameter 'rate': wants a frequency such as "
                                   "'200 MHz', but is given '5 ghz'; did you mean 'GHz'?"},
    {"{ n_taps: 1, rate: 5 GHz }", "g:1:20: node 'f': parameter 'rate': wants a frequency such as "
                                   "'200 MHz' from 1 Hz to 1 GHz, but is given '5 GHz'"},
    {"{ n_taps: 1, shift: yes }",
     "g:1:21: node 'f': parameter 'shift': wants true or false, but is given 'yes'"},
    {"{ n_taps: 1, window: haming }", "g:1:22: node 'f': parameter 'window': wants one of hamming, "
                                      "hann, none, but is given 'haming'; did you mean 'hamming'?"},
    {"{ n_taps: 1, path: '' }",
     "g:1:20: node 'f': parameter 'path': wants a path, but is given ''"},
    {"{ n_taps: 1, paths: [] }",
     "g:1:21: node 'f': parameter 'paths': wants a list, each item a path, but is given a list of "
     "0"},
    {"{ n_taps: 1, paths: [a, [b]] }", "g:1:25: node 'f': parameter 'paths': wants a list, each "
                                       "item a path, but is given a list of 1"},
    {"{ n_taps: 1, output: cf23 }", "g:1:22: node 'f': parameter 'output': wants a type such as "
                                    "ci8, but is given 'cf23'; did you mean 'cf32'?"},
    {"{ n_taps: 1, shape: [1, x] }",
     "g:1:25: node 'f': parameter 'shape': wants an integer, but is given 'x'"},
    {"{ n_taps: 1, layout: [time, pol] }",
     "g:1:22: node 'f': parameter 'layout': wants a layout such as \"ci8[time station pol]\", but "
     "is given a list of 2"},
    {"{ n_taps: 1, positions: [[1, 2], [3]] }",
     "g:1:34: node 'f': parameter 'positions': wants rows of equal length, but is given 1 values "
     "after rows of 2"},
    {"{ n_taps: 1, length: 1 }", "g:1:22: node 'f': parameter 'length': wants an integer from 2 to "
                                 "1000, or a time such as '1 ms', but is given '1'"},
    {"{ n_taps: 1, length: 3 Hz }", "g:1:22: node 'f': parameter 'length': wants an integer from 2 "
                                    "to 1000, or a time such as '1 ms', but is given '3 Hz'"},
    {"{ n_taps: 1, length: -1 ms }", "g:1:22: node 'f': parameter 'length': wants an integer from "
                                     "2 to 1000, or a time such as '1 ms', but is given '-1 ms'"},
    {"{ n_taps: 1, positions: 3 }",
     "g:1:25: node 'f': parameter 'positions': wants rows, each of values that are each a length "
     "such as '1.5 km', but is given '3'"},
};

static void
test_wrong(void)
{
    for (guint i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_null(parse(wrong[i].text, &error));
        g_assert_error(error, CT_ERROR, CT_ERROR_PARAMETER);
        g_assert_cmpstr(error->message, ==, wrong[i].message);
    }
}

static void
test_wrong_layout(void)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(parse("{ n_taps: 1, layout: 'ci8[time' }", &error));
    g_assert_true(g_str_has_prefix(error->message, "g:1:22: node 'f': parameter 'layout': "));
    g_assert_nonnull(strstr(error->message, "ci8[time\n"));
    g_assert_nonnull(strchr(error->message, '^'));
}

static void
test_blame(void)
{
    g_autoptr(CtParams) params = parse("{ n_taps: 16,\n  gain: 2 }", NULL);
    CtPlace place;
    g_assert_false(ct_params_take_blame(params, &place));
    g_autoptr(GError) error = NULL;
    g_assert_false(ct_params_error(params, "gain", &error, "wants %d, but is given 2", 3));
    g_assert_cmpstr(error->message, ==, "parameter 'gain': wants 3, but is given 2");
    g_assert_true(ct_params_take_blame(params, &place));
    g_assert_cmpuint(place.line, ==, 2);
    g_assert_cmpuint(place.column, ==, 9);
    g_assert_false(ct_params_take_blame(params, &place));
}

/* A number of samples may be a time, of a whole number of samples of the stream. */
static void
test_samples(void)
{
    static const struct {
        const char *text;
        gint64 rate_num, rate_den, ticks_per_sample, n;
        const char *message;
    } cases[] = {
        {"{ n_taps: 1, length: 17 }", 0, 1, 1, 17, NULL},
        {"{ n_taps: 1, length: 1 ms }", 200000, 1, 1, 200, NULL},
        {"{ n_taps: 1, length: 1 ms }", 20000000, 1, 512, 0,
         "parameter 'length': wants a whole number of samples at 39.0625 kHz, but is given 1 ms, "
         "39.0625 samples: the nearest are 39 (998.4 us) and 40 (1.024 ms)"},
        {"{ n_taps: 1, length: 1.024 ms }", 20000000, 1, 512, 40, NULL},
        {"{ n_taps: 1, length: 3 s }", 1000, 3, 1, 1000, NULL},
        {"{ n_taps: 1, length: 2 s }", 1000, 1, 1, 0,
         "parameter 'length': wants an integer from 2 to 1000, or a time such as '1 ms', but is "
         "given 2000 samples"},
        {"{ n_taps: 1, length: 1 us }", 1000, 1, 1, 0,
         "parameter 'length': wants a whole number of samples at 1 kHz, but is given 1 us, 0.001 "
         "samples"},
        {"{ n_taps: 1, length: 1 ms }", 0, 1, 1, 0,
         "parameter 'length': wants an input with a sample rate for a time, but is given one "
         "without: give the number of samples"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(CtParams) params = parse(cases[i].text, NULL);
        CtStream stream;
        ct_stream_init(&stream);
        stream.rate_num = cases[i].rate_num;
        stream.rate_den = cases[i].rate_den;
        stream.ticks_per_sample = cases[i].ticks_per_sample;
        g_assert_cmpint(ct_params_is_time(params, "length"), ==, i > 0);
        g_assert_cmpint(ct_params_count_samples(params, &stream, &error), ==, !cases[i].message);
        g_assert_cmpstr(error ? error->message : NULL, ==, cases[i].message);
        if (!error)
            g_assert_cmpint(ct_params_int(params, "length"), ==, cases[i].n);
    }
    g_autoptr(CtParams) params = parse("{ n_taps: 1 }", NULL);
    g_assert_true(ct_params_knows(params, "length"));
    g_assert_false(ct_params_knows(params, "width"));
    g_assert_true(ct_params_count_samples(params, NULL, NULL));
}

/* A default that its own table does not allow is a fault of the stage, and is reported as such. */
static void
test_wrong_default(void)
{
    static const CtParam own_table[] = {
        {"n", CT_PARAM_INT, 0, NULL, 0, 0, "many", NULL, "Count"},
        {0},
    };
    const CtStage own = {.name = "own", .params = own_table};
    const CtPlace place = {"g", 1, 1};
    g_autoptr(GError) error = NULL;
    g_assert_null(ct_params_new("f", &own, &place, NULL, &error));
    g_assert_cmpstr(error->message, ==,
                    "the stage's own default: node 'f': parameter 'n': wants an integer, but is "
                    "given 'many'");
}

/* Takes the fault of asking for the parameter `nothing`, and whether there is one. */
static gboolean
has_fault(const CtParams *params)
{
    g_autofree char *fault = ct_params_take_fault(params);
    return g_strcmp0(fault, "asks for parameter 'nothing', which is not in the table of "
                            "'filter'") == 0;
}

/* A getter for a parameter that does not exist gives a harmless value; the fault is reported
 * once. */
static void
test_asked_in_vain(void)
{
    g_autoptr(CtParams) params = parse("{ n_taps: 16 }", NULL);
    static const struct {
        const char *name;
        guint item;
        const char *fault;
    } cases[] = {
        {"n_tapes", 0, "asks for parameter 'n_tapes', which is not in the table of 'filter'"},
        {"window", 0, "asks for parameter 'window' by the getter of another kind"},
        {"n_taps", 1, "asks for item [1][0] of parameter 'n_taps', which has 1 by 1"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_assert_cmpint(ct_params_int_at(params, cases[i].name, cases[i].item), ==, 1);
        g_autofree char *fault = ct_params_take_fault(params);
        g_assert_cmpstr(fault, ==, cases[i].fault);
        g_assert_null(ct_params_take_fault(params));
    }
    g_assert_cmpstr(ct_params_string(params, "nothing"), ==, "");
    g_assert_cmpint(ct_params_int(params, "n_taps"), ==, 16);
    g_assert_true(has_fault(params));
}

/* Every function that takes a name, for a parameter that does not exist. */
static void
test_every_getter(void)
{
    g_autoptr(CtParams) params = parse("{ n_taps: 16 }", NULL);
    gint64 numerator, denominator;
#define CHECK(type, value, wanted)                                                                 \
    g_assert_cmp##type(value, ==, wanted);                                                         \
    g_assert_true(has_fault(params))
    CHECK(int, ct_params_int(params, "nothing"), 1);
    CHECK(int, ct_params_int_at(params, "nothing", 3), 1);
    CHECK(float, ct_params_real(params, "nothing"), 1);
    CHECK(float, ct_params_real_at(params, "nothing", 3), 1);
    CHECK(float, ct_params_real_cell(params, "nothing", 3, 4), 1);
    CHECK(int, ct_params_bool(params, "nothing"), FALSE);
    CHECK(uint, ct_params_choice(params, "nothing"), 0);
    CHECK(str, ct_params_string(params, "nothing"), "");
    CHECK(str, ct_params_string_at(params, "nothing", 3), "");
    CHECK(int, ct_params_type(params, "nothing"), CT_TYPE_NONE);
    CHECK(uint, ct_params_layout(params, "nothing")->n_axes, 0);
    CHECK(int, ct_params_has(params, "nothing"), FALSE);
    CHECK(uint, ct_params_count(params, "nothing"), 0);
    CHECK(uint, ct_params_columns(params, "nothing"), 0);
    ct_params_rational(params, "nothing", &numerator, &denominator);
    CHECK(int, numerator, denominator);
    ct_params_use(params, "nothing");
    g_assert_true(has_fault(params));
    ct_params_warn(params, "nothing", "has no effect");
    g_assert_true(has_fault(params));
    /* An error about a parameter that was not given has no place in the file. */
    g_autoptr(GError) error = NULL;
    CHECK(int, ct_params_error(params, "nothing", &error, "wants more"), FALSE);
    g_assert_cmpstr(error->message, ==, "parameter 'nothing': wants more");
#undef CHECK
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/params/defaults", test_defaults);
    g_test_add_func("/params/values", test_values);
    g_test_add_func("/params/bare-layout", test_bare_layout);
    g_test_add_func("/params/wrong", test_wrong);
    g_test_add_func("/params/wrong-layout", test_wrong_layout);
    g_test_add_func("/params/samples", test_samples);
    g_test_add_func("/params/wrong-default", test_wrong_default);
    g_test_add_func("/params/blame", test_blame);
    g_test_add_func("/params/asked-in-vain", test_asked_in_vain);
    g_test_add_func("/params/every-getter", test_every_getter);
    return g_test_run();
}
