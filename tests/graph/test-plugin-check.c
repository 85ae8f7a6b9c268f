/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the check of a plugin when it is loaded: each field gets invalid values. All structs are
 * in static memory, like a plugin's tables. */
#include "graph/plugin-check.h"

#include <cornerturn/kit/window.h>
#include <math.h>
#include <string.h>

/* A table without an empty row at its end. */
typedef struct {
    CtParam row;
    gsize garbage[16];
} EndlessParams;

static const CtPort inputs[] = {{"in", "cf32{time station ...}", 0, "samples"}, {0}};
static const CtPort outputs[] = {{"out", "cf32{time station ...}", 0, "samples"}, {0}};
static const CtPort two_of_a_name[] = {{"in", ""}, {"in", ""}, {0}};
static const CtPort dotted_port[] = {{"in.put", ""}, {0}};
static const CtPort torn_port[] = {{"in", "cf32{time"}, {0}};
static const CtPort unknown_flag[] = {{"in", "", (CtPortFlags)128}, {0}};
static const CtPort static_output[] = {{"out", "", CT_PORT_STATIC}, {0}};
static const CtPort marked_input[] = {{"in", "", CT_PORT_MARKED}, {0}};
static const CtPort many_and_more[] = {{"in", "", CT_PORT_MANY}, {"more", ""}, {0}};
static const CtPort no_ports[] = {{0}};
static const CtPort many_ports[] = {{"a", ""}, {"b", ""}, {"c", ""}, {"d", ""}, {"e", ""},
                                    {"f", ""}, {"g", ""}, {"h", ""}, {"i", ""}, {0}};
static const CtPort prepared_alone[] = {
    {"in", "", CT_PORT_STATIC | CT_PORT_PREPARED}, {"more", ""}, {0}};
static const CtPort prepared_flows[] = {{"in", ""}, {"more", "", CT_PORT_PREPARED}, {0}};
static const CtPort prepared_before[] = {
    {"in", ""}, {"factor", "", CT_PORT_STATIC | CT_PORT_PREPARED}, {"more", ""}, {0}};
static const CtPort endless_ports[] = {{"in", ""}, {"cuda", (const char *)8}, {0}};
static const CtPort shape_only[] = {{"like", "", CT_PORT_SHAPE}, {0}};

static const CtParam params[] = {{"factor", CT_PARAM_REAL, .fallback = "1"}, {0}};
static const EndlessParams endless = {{"factor", CT_PARAM_REAL}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1}};
static const char *const choices[] = {"one", "other", NULL};
static const char *const same_choices[] = {"one", "one", NULL};
static const char *const no_choices[] = {NULL};
static const CtParam bad_params[][3] = {
    {{"factor", CT_PARAM_REAL}, {"factor", CT_PARAM_REAL}},
    {{"a factor", CT_PARAM_REAL}},
    {{"from", CT_PARAM_AXIS}},
    {{"factor", (CtParamKind)99}},
    {{"factor", CT_PARAM_REAL, (CtParamFlags)256}},
    {{"factor", CT_PARAM_REAL, CT_PARAM_LIST | CT_PARAM_TABLE}},
    {{"factor", CT_PARAM_REAL, .fallback = "many"}},
    {{"factor", CT_PARAM_REAL, CT_PARAM_RANGED, NULL, 2, 1}},
    {{"factor", CT_PARAM_REAL, CT_PARAM_RANGED, NULL, NAN, 1}},
    {{"factor", CT_PARAM_REAL, CT_PARAM_RANGED, NULL, 0, 1, "2"}},
    {{"name", CT_PARAM_STRING, CT_PARAM_RANGED, NULL, 0, 1}},
    {{"factor", CT_PARAM_REAL, CT_PARAM_REQUIRED, .fallback = "1"}},
    {{"way", CT_PARAM_CHOICE}},
    {{"way", CT_PARAM_CHOICE, .choices = no_choices}},
    {{"way", CT_PARAM_CHOICE, .choices = same_choices}},
    {{"way", CT_PARAM_CHOICE, .fallback = "third", .choices = choices}},
    {{"factor", CT_PARAM_REAL, .help = (const char *)8}},
    {{"rate", CT_PARAM_QUANTITY, 0, "Hz", .fallback = "5 us"}},
    {{"name", CT_PARAM_STRING, CT_PARAM_WRITTEN}},
    {{"name", CT_PARAM_STRING, .endings = choices}},
    {{"origin", CT_PARAM_REAL}, {"cuda", CT_PARAM_REAL, .help = (const char *)8}},
    {{"origin", CT_PARAM_REAL}, {"cuda", (CtParamKind)99}},
    {{"name", CT_PARAM_STRING, CT_PARAM_PIPE}},
    {{"factor", CT_PARAM_REAL, CT_PARAM_SAMPLES}},
    {{"factor", CT_PARAM_INT, CT_PARAM_SAMPLES | CT_PARAM_LIST}},
};

static const char *const many_counters[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i",
                                            "j", "k", "l", "m", "n", "o", "p", "q", NULL};
static const char *const own[] = {"twice", NULL};
static const char *const own_version[] = {"twice 1", NULL};
static const char *const other_version[] = {"twice 2", NULL};
static const char *const word_version[] = {"twice one", NULL};
static const char *const wide_version[] = {"twice  1", NULL};
static const char *const foreign_version[] = {"twice", "thrice 4", NULL};
static const char *const foreign[] = {"twice", "thrice", NULL};
static const char *const nobody[] = {NULL};
static const char *const odd_stage[] = {"a+b", NULL};
static const char *const endless_covers[] = {"twice", (const char *)1, NULL};

static const CtRow rows[] = {{"cf32[time station ...] -> cf32[time station ...]", 0.5}, {0}};
static const CtRow no_rows[] = {{0}};
static const CtRow bad_rows[][2] = {
    {{"cf32[time station ...]", 0.5}},
    {{"[time station ...] -> [time station ...]", 0}},
    {{"[time station ...] -> [time station ...]", -1}},
    {{"[time station ...] -> [time station ...]", NAN}},
    {{"[time station ...] -> [time station ...]", 1e9}},
    {{"[time station ...], [time] -> [time station ...]", 0.5}},
    {{"[time] -> [time]", 0.5}},
    {{"i8[time station ...] -> i8[time station ...]", 0.5}},
};
static const CtRow other_order[][2] = {
    {{"any: {time station ...} -> {time station ...}", 0.5}},
    {{"[time station ...] -> [station time ...]", 0.5}},
};
static const CtRow source_rows[] = {{"-> [time station ...]", 0.5}, {0}};
static const CtRow closed_rows[] = {{"cf32[time station] -> cf32[time station]", 0.5}, {0}};
static const CtTunable no_values[] = {{"tile", NULL, 3, 1, "a tile"}, {0}};
static const CtTunable zero_values[] = {{"tile", NULL, 0, 1, "a tile"}, {0}};
static const CtTunable helpless[] = {{"tile", CT_VALUES(1), 1, NULL}, {0}};
static const CtTunable twice_tunable[] = {
    {"tile", CT_VALUES(1), 1, "a"}, {"tile", CT_VALUES(1), 1, "b"}, {0}};
static const CtTunable falling[] = {{"tile", CT_VALUES(2, 1), 1, "a tile"}, {0}};
static const CtTunable many_tunables[] = {
    {"a", CT_VALUES(1), 1, ""}, {"b", CT_VALUES(1), 1, ""},
    {"c", CT_VALUES(1), 1, ""}, {"d", CT_VALUES(1), 1, ""},
    {"e", CT_VALUES(1), 1, ""}, {"f", CT_VALUES(1), 1, ""},
    {"g", CT_VALUES(1), 1, ""}, {"h", CT_VALUES(1), 1, ""},
    {"i", CT_VALUES(1), 1, ""}, {0},
};

static const CtTunable window_tunables[] = {CT_WINDOW_UNITS, {0}};
static const CtTunable sum_tunables[] = {CT_WINDOW_UNITS, {"made", CT_VALUES(1), 1, ""}, {0}};
static const CtTunable map_tunables[] = {CT_DEVICE_MAP_TUNABLES, {0}};
static const CtTunable *const tunables_of_forms[] = {window_tunables, sum_tunables, window_tunables,
                                                     map_tunables};

static gboolean
infer(G_GNUC_UNUSED CtNode *node, G_GNUC_UNUSED GError **error)
{
    return TRUE;
}

static gboolean
prepare(G_GNUC_UNUSED CtPrepare *prepare, G_GNUC_UNUSED gpointer *state,
        G_GNUC_UNUSED GError **error)
{
    return TRUE;
}

static gboolean
work(G_GNUC_UNUSED gpointer state, G_GNUC_UNUSED const CtWork *work, G_GNUC_UNUSED GError **error)
{
    return TRUE;
}

/* The structs without a fault, from which each case begins. */
static const CtStage good_stage = {
    .name = "twice",
    .summary = "samples times a factor",
    .version = 1,
    .inputs = inputs,
    .outputs = outputs,
    .params = params,
    .infer = infer,
};
static gboolean
advance(G_GNUC_UNUSED gpointer state, CtAdvance *arrivals, GError **error)
{
    return ct_advance_default(arrivals, error);
}

static gboolean
folds(G_GNUC_UNUSED const CtNode *nodes, G_GNUC_UNUSED gint64 hop, G_GNUC_UNUSED gsize state_bytes)
{
    return TRUE;
}

static gdouble
operations(G_GNUC_UNUSED const CtNode *node)
{
    return 1;
}

static const CtVariant good_variant = {
    .name = "cpu",
    .backend = CT_CPU,
    .covers = own,
    .rows = rows,
    .split = "station",
    .prepare = prepare,
    .work = work,
};

static const char *const one_extension[] = {".two", NULL};
static const char *const torn_extension[] = {".one", (const char *)8, NULL};
static const char *const pointless_extension[] = {".one", "two", NULL};

static CtStage stage;
static CtVariant variant;
static const CtStage *stages[2];
static const CtVariant *variants[2];
static CtPlugin plugin;
static const CtSizes *const sizes = CT_SIZES;
static const CtSizes odd_sizes = {sizeof(CtSizes),   sizeof(CtPlugin),   sizeof(CtStage),
                                  sizeof(CtVariant), sizeof(CtPort) + 1, sizeof(CtParam),
                                  sizeof(CtRow),     sizeof(CtTunable)};
static const CtSizes few_sizes = {4 * sizeof(guint32), sizeof(CtPlugin), sizeof(CtStage),
                                  sizeof(CtVariant)};
static const CtSizes huge_sizes = {sizeof(CtSizes), 1u << 31};

/* A field, its new value, and the message that must follow. */
typedef struct {
    gpointer field;
    gconstpointer value; /* NULL: zeros */
    gsize bytes;
    const char *message; /* NULL: there is no fault */
} Case;

#define CASE(field_, type, value_, message_)                                                       \
    {                                                                                              \
        &(field_), &(const type){value_}, sizeof(type), message_                                   \
    }
#define TEXT(field, value, message)  CASE(field, char *, (char *)value, message)
#define TABLE(field, value, message) CASE(field, void *, (void *)value, message)
#define OF_PARAMS(i, message)        TABLE(stage.params, bad_params[i], "stage 'twice': params" message)
#define OF_ROWS(i, message)          TABLE(variant.rows, bad_rows[i], VARIANT "rows" message)
#define VARIANT                      "variant 'cpu' of 'twice': "
#define STAGE                        "stage 'twice': "

static const Case cases[] = {
    CASE(plugin.magic, guint32, 7, "is not a plugin of Cornerturn"),
    TABLE(plugin.sizes, NULL, "plugin: sizes: wants CT_SIZES, but is given others"),
    TABLE(plugin.sizes, 8, "plugin: sizes: wants CT_SIZES, but is given others"),
    TABLE(plugin.sizes, &huge_sizes, "plugin: sizes: wants CT_SIZES, but is given others"),
    TABLE(plugin.sizes, &odd_sizes, "plugin: sizes: wants multiples of 8, but is given 33"),
    TABLE(plugin.sizes, &few_sizes, "plugin: sizes: wants multiples of 8, but is given 0"),
    TEXT(plugin.name, NULL, "plugin: name: wants a text, but is given none"),
    TABLE(plugin.stages, NULL, "plugin: stages: wants a table, but is given none"),
    TABLE(plugin.variants, NULL, "plugin: variants: wants a table, but is given none"),
    TABLE(stages[0], 8, "stage 1: stages: wants a stage, or NULL at its end, but has neither"),
    TABLE(variants[0], 8,
          "variant 1: variants: wants a variant, or NULL at its end, but has neither"),

    TEXT(stage.name, NULL, "stage 1: name: wants a text, but is given none"),
    TEXT(stage.name, 8, "stage 1: name: wants a text, but is given none"),
    TEXT(stage.name, "twice+fft",
         "stage 'twice+fft': name: wants letters, digits, _ and .-, but is given 'twice+fft'"),
    TEXT(stage.name, "", "stage '': name: wants letters, digits, _ and .-, but is given ''"),
    TEXT(stage.summary, NULL, STAGE "summary: wants a text, but is given none"),
    TABLE(stage.infer, NULL, STAGE "infer: wants a function, but is given none"),
    CASE(stage.operations_per_part, gdouble, -1,
         STAGE "operations_per_part: wants 0 or more, but is given -1"),
    CASE(stage.operations_per_part, gdouble, NAN,
         STAGE "operations_per_part: wants 0 or more, but is given nan"),
    CASE(stage.operations_per_part, gdouble, 2, NULL),
    TABLE(stage.inputs, two_of_a_name, STAGE "inputs: 'in' stands twice"),
    TABLE(stage.inputs, dotted_port,
          STAGE "inputs 'in.put': wants letters, digits, _ and -, but is given 'in.put'"),
    TABLE(stage.inputs, torn_port, STAGE "inputs 'in': layout: "),
    TABLE(stage.inputs, unknown_flag,
          STAGE "inputs 'in': wants flags of an input, but is given 0x80"),
    TABLE(stage.inputs, marked_input,
          STAGE "inputs 'in': wants flags of an input, but is given 0x20"),
    TABLE(stage.outputs, static_output,
          STAGE "outputs 'out': wants flags of an output, but is given 0x2"),
    TABLE(stage.inputs, many_and_more,
          STAGE "inputs 'in': CT_PORT_MANY is for a stage's one input"),
    TABLE(stage.inputs, prepared_alone,
          STAGE "inputs 'in': CT_PORT_PREPARED is for static inputs that are not the first"),
    TABLE(stage.inputs, prepared_flows,
          STAGE "inputs 'more': CT_PORT_PREPARED is for static inputs that are not the first"),
    TABLE(stage.inputs, prepared_before,
          STAGE "inputs 'more': wants its place before the inputs with CT_PORT_PREPARED"),
    TABLE(stage.inputs, many_ports, STAGE "inputs: wants 8 ports at most, but has 9"),
    TABLE(stage.params, NULL, NULL),
    TABLE(stage.params, 8, STAGE "params: wants an empty row at its end, but has none"),
    TABLE(stage.params, &endless,
          STAGE "params: wants a name in row 2, or an empty row at its end, but has neither"),
    OF_PARAMS(0, ": 'factor' stands twice"),
    OF_PARAMS(1, " 'a factor': wants letters, digits, _, but is given 'a factor'"),
    OF_PARAMS(2, " 'from': is a key that graphs give every node"),
    OF_PARAMS(3, " 'factor': wants a kind of CtParamKind, but is given 99"),
    OF_PARAMS(4, " 'factor': wants flags of CtParamFlags, but is given 0x100"),
    OF_PARAMS(5, " 'factor': wants flags of CtParamFlags, but is given 0x6"),
    OF_PARAMS(6, " 'factor': fallback: wants a number, but is given 'many'"),
    OF_PARAMS(7, " 'factor': wants a minimum up to the maximum, but is given 2 and 1"),
    OF_PARAMS(8, " 'factor': wants a minimum up to the maximum, but is given nan and 1"),
    OF_PARAMS(9, " 'factor': fallback: wants a number from 0 to 1, but is given '2'"),
    OF_PARAMS(10, " 'name': CT_PARAM_RANGED is for numbers"),
    OF_PARAMS(11, " 'factor': is required, but has a fallback"),
    OF_PARAMS(12, " 'way': wants choices, but is given none"),
    OF_PARAMS(13, " 'way': wants choices, but is given none"),
    OF_PARAMS(14, " 'way', choices: 'one' stands twice"),
    OF_PARAMS(15, " 'way': fallback: wants one of one, other, but is given 'third'"),
    OF_PARAMS(16, " 'factor': is no text"),
    OF_PARAMS(17, " 'rate': fallback: wants a frequency such as '200 MHz', but is given '5 us'"),
    OF_PARAMS(18, " 'name': CT_PARAM_WRITTEN, CT_PARAM_PIPE and endings are for paths"),
    OF_PARAMS(19, " 'name': CT_PARAM_WRITTEN, CT_PARAM_PIPE and endings are for paths"),
    OF_PARAMS(20, " 'cuda': is no text, after 'origin': does the table end with {0}?"),
    OF_PARAMS(21, " 'cuda': wants a kind of CtParamKind, but is given 99, after 'origin': does the "
                  "table end with {0}?"),
    OF_PARAMS(22, " 'name': CT_PARAM_WRITTEN, CT_PARAM_PIPE and endings are for paths"),
    OF_PARAMS(23, " 'factor': CT_PARAM_SAMPLES is for single integers"),
    OF_PARAMS(24, " 'factor': CT_PARAM_SAMPLES is for single integers"),
    TABLE(stage.inputs, endless_ports,
          STAGE "inputs 'cuda': is no text, after 'in': does the table end with {0}?"),
    TABLE(stage.counters, many_counters, STAGE "counters: wants 16 at most, but has 17"),
    TABLE(stage.counters, 8, STAGE "counters: wants an empty row at its end, but has none"),
    TEXT(stage.accuracy_rule, 8, STAGE "accuracy_rule: is no text"),
    TEXT(stage.default_layouts, "[time station ...] ->",
         STAGE "default_layouts: wants a layout for each of 1 "),
    TEXT(stage.default_layouts, "[time station ...] -> [time station ...]", NULL),

    TABLE(stage.extensions, 8, STAGE "extensions: wants an empty row at its end, but has none"),
    TABLE(stage.extensions, torn_extension,
          STAGE "extensions: wants a name in row 2, "
                "or an empty row at its end, but has neither"),
    TABLE(stage.extensions, pointless_extension,
          STAGE "extensions: wants names that begin with '.', but has 'two'"),
    TABLE(stage.extensions, one_extension,
          STAGE "extensions: wants a parameter 'path' of CT_PARAM_PATH, but there is none"),
    TEXT(stage.stands_for, "a family",
         STAGE "stands_for: wants letters, digits, _ and .-, but is "),
    TEXT(stage.stands_for, "family", STAGE "extensions: wants one at least, but has none"),
    TEXT(stage.missing, 8, STAGE "missing: is no text"),

    TEXT(variant.name, NULL, "variant 1: name: wants a text, but is given none"),
    TEXT(variant.name, "cpu:2",
         "variant 'cpu:2': name: wants letters, digits, _ and .-, but is given 'cpu:2'"),
    CASE(variant.backend, CtBackend, (CtBackend)9,
         VARIANT "backend: wants one of CtBackend, but is given 9"),
    CASE(variant.isa, CtIsa, (CtIsa)9, VARIANT "isa: wants one of CtIsa, but is given 9"),
    TABLE(variant.covers, NULL, "variant 'cpu': covers: wants stages, but is given none"),
    TABLE(variant.covers, nobody, "variant 'cpu': covers: wants 1 to 16 stages, but is given 0"),
    TABLE(variant.covers, odd_stage, "variant 'cpu': covers: wants letters, digits, _ and .-"),
    TABLE(variant.covers, own_version, NULL),
    TABLE(variant.covers, other_version,
          VARIANT "covers: wants version 2 of stage 'twice', but is given version 1"),
    TABLE(variant.covers, word_version,
          "variant 'cpu': covers: wants a version after the name, as 'fir 1', but is given 'twice "
          "one'"),
    TABLE(variant.covers, wide_version, "variant 'cpu': covers: wants a version after the name"),
    TABLE(variant.covers, foreign_version, NULL),
    TABLE(
        variant.covers, foreign,
        "variant 'cpu' of 'twice+thrice': covers: wants the version of a stage of another plugin, "
        "as 'thrice 1', but is given 'thrice'"),
    TABLE(variant.covers, endless_covers, "variant 'cpu': covers: wants a name in row 2"),
    TABLE(variant.rows, NULL, VARIANT "rows: wants layouts, but is given none"),
    TABLE(variant.rows, no_rows, VARIANT "rows: wants layouts, but is given none"),
    OF_ROWS(0, ": wants '->' between the inputs and the outputs"),
    OF_ROWS(1, " '[time station ...] -> [time station ...]', efficiency: wants more than 0"),
    OF_ROWS(2, " '[time station ...] -> [time station ...]', efficiency: wants more than 0"),
    OF_ROWS(3, " '[time station ...] -> [time station ...]', efficiency: wants more than 0"),
    OF_ROWS(4, " '[time station ...] -> [time station ...]', efficiency: wants more than 0"),
    OF_ROWS(5, ": '[time station ...], [time] -> [time station ...]': wants a layout for each"),
    TABLE(variant.rows, bad_rows[6],
          VARIANT "split: wants an axis of '[time] -> [time]', but is given 'station'"),
    OF_ROWS(7, ": 'i8[time station ...] -> i8[time station ...]': input 'in' wants types of"),
    TEXT(variant.split, NULL, NULL),
    TEXT(variant.split, "time", NULL),
    TEXT(variant.split, "*", NULL),
    TEXT(variant.split, "channel", NULL), /* `...` may contain this axis */
    TEXT(variant.split, "a station",
         VARIANT "split: wants the name of an axis, or '*', but is given 'a station'"),
    TEXT(variant.split, 8, VARIANT "split: is no text"),
    TABLE(variant.work, NULL, VARIANT "work: wants a function, but is given none"),
    TABLE(variant.tunables, 8, VARIANT "tunables: wants an empty row at its end, but has none"),
    TABLE(variant.tunables, no_values,
          VARIANT "tunables 'tile': values: wants 1 to 1024, but is given none that can be read"),
    TABLE(variant.tunables, zero_values,
          VARIANT "tunables 'tile': values: wants 1 to 1024, but is given none"),
    TABLE(variant.tunables, helpless,
          VARIANT "tunables 'tile': help: wants a text, but is given none"),
    TABLE(variant.tunables, twice_tunable, VARIANT "tunables: 'tile' stands twice"),
    TABLE(variant.tunables, falling, VARIANT "tunables: 'tile' wants values that rise"),
    TABLE(variant.tunables, many_tunables, VARIANT "tunables: wants 8 at most, but has 9"),
};

static void
reset(void)
{
    stage = good_stage;
    variant = good_variant;
    stages[0] = &stage;
    variants[0] = &variant;
    plugin = (CtPlugin){CT_PLUGIN_MAGIC, CT_ABI_VERSION, sizes, "test", stages, variants};
}

static void
check(const char *message)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) memory = g_ptr_array_new_with_free_func(g_free);
    const CtPlugin *read = ct_plugin_read(&plugin, memory, &error);
    g_assert_cmpint(read != NULL, ==, error == NULL);
    if (!message)
        g_assert_no_error(error);
    else if (!error || !g_str_has_prefix(error->message, message))
        g_assert_cmpstr(error ? error->message : "nothing", ==, message);
}

static void
test_fields(void)
{
    reset();
    check(NULL);
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        reset();
        memcpy(cases[i].field, cases[i].value, cases[i].bytes);
        g_test_message("case %u", i);
        check(cases[i].message);
    }
}

/* Faults in two fields. */
static void
test_pairs(void)
{
    reset();
    plugin.abi_version++;
    plugin.name = (const char *)8;
    check("is of ABI version ");

    reset();
    stage.inputs = stage.outputs = no_ports;
    check("stage 'twice': inputs: wants a port on one side at least, but has none");

    reset();
    stage.inputs = NULL;
    variant.rows = source_rows;
    check("variant 'cpu' of 'twice': advance: wants a function for a source, but is given none");

    reset();
    stage.inputs = shape_only;
    check("variant 'cpu' of 'twice': advance: wants a function for a source, but is given none");

    reset();
    stage.operations = operations;
    stage.operations_per_part = 2;
    check("stage 'twice': operations_per_part: stands in place of .operations, but both are given");

    reset();
    variant.split = "*";
    variant.prepare = NULL;
    check("variant 'cpu' of 'twice': split: wants a prepare, which gets n_items, for '*'");

    reset();
    variant.backend = CT_CUDA;
    variant.waits = TRUE;
    check("variant 'cpu' of 'twice': waits: a variant for devices cannot wait");

    reset();
    variant.flags = CT_VARIANT_EPILOGUE;
    check("variant 'cpu' of 'twice': flags: are for variants for devices");

    reset();
    variant.backend = CT_CUDA;
    variant.flags = 17;
    check("variant 'cpu' of 'twice': flags: wants CtVariantFlags, but is given 0x11");

    reset();
    variant.backend = CT_CUDA;
    variant.split = NULL;
    variant.flags = CT_VARIANT_PROLOGUE;
    variant.advance = advance;
    check("variant 'cpu' of 'twice': flags: CT_VARIANT_PROLOGUE is for variants of one stage and "
          "without advance");

    reset();
    variant.folds = folds;
    check("variant 'cpu' of 'twice': folds: is for variants with CT_VARIANT_EPILOGUE and without "
          "advance");

    reset();
    variant.backend = CT_CUDA;
    variant.split = "time";
    check("variant 'cpu' of 'twice': split: wants nothing, since a device's firing is enqueued as "
          "a whole, but is given 'time'");

    reset();
    variant.split = "channel";
    variant.rows = closed_rows;
    check("variant 'cpu' of 'twice': split: wants an axis of 'cf32[time station] -> cf32[time "
          "station]', but is given 'channel'");
}

/* The row leaves open which axes there are, but the stage's port does not. */
static void
test_split_of_port(void)
{
    static const CtPort closed_inputs[] = {{"in", "cf32{time station}"}, {0}};
    static const CtPort closed_outputs[] = {{"out", "cf32{time station}"}, {0}};
    static const CtRow open_rows[] = {{"cf32[...] -> cf32[...]", 0.5}, {0}};
    reset();
    stage.inputs = closed_inputs;
    stage.outputs = closed_outputs;
    variant.rows = open_rows;
    check(NULL);
    variant.split = "channel";
    check(
        "variant 'cpu' of 'twice': split: wants an axis of output 'out' (cf32{time station}), but "
        "is given 'channel'");
}

/* Rows that stand for the patterns of the ports get them; the checks of other rows hold. */
static void
test_port_rows(void)
{
    static const CtPort closed[] = {{"in", "cf32[time station]"}, {0}};
    static const CtPort more[] = {{"in", "f32{time ...}"},
                                  {"w", ""},
                                  {"g", "f32{...}", CT_PORT_STATIC | CT_PORT_PREPARED},
                                  {0}};
    static const CtPort turned[] = {{"out", "cf32[station time]"}, {0}};
    static const CtRow both[] = {{"ports", 0.5}, {"any: ports", 0.1}, {0}};
    static const CtRow slow[] = {{"ports", 0}, {0}};
    g_autoptr(GPtrArray) memory = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GError) error = NULL;
    reset();
    stage.inputs = more;
    variant.rows = both;
    const CtPlugin *read = ct_plugin_read(&plugin, memory, &error);
    g_assert_no_error(error);
    const CtRow *made = read->variants[0]->rows;
    g_assert_cmpstr(made[0].layouts, ==, "f32{time ...}, {...} -> cf32{time station ...}");
    g_assert_cmpstr(made[1].layouts, ==, "any: f32{time ...}, {...} -> cf32{time station ...}");
    g_assert_cmpfloat(made[1].efficiency, ==, 0.1);
    g_assert_null(made[2].layouts);
    g_assert_cmpstr(both[0].layouts, ==, "ports");

    reset();
    variant.rows = slow;
    check("variant 'cpu' of 'twice': rows 'ports', efficiency: wants more than 0, up to 100, but "
          "is given 0");

    reset();
    stage.inputs = closed;
    stage.outputs = turned;
    variant.rows = both;
    variant.split = "channel";
    check("variant 'cpu' of 'twice': split: wants an axis of 'cf32[time station] -> cf32[station "
          "time]', but is given 'channel'");

    reset();
    stage.inputs = closed;
    stage.outputs = turned;
    variant.name = "cuda";
    variant.backend = CT_CUDA;
    variant.split = NULL;
    variant.rows = both;
    variant.prepare = ct_window_prepare_device;
    variant.tunables = tunables_of_forms[0];
    check("variant 'cuda' of 'twice': rows: 'cf32[time station] -> cf32[station time]': on "
          "devices, this form wants the same axes in the same order on both sides");
}

/* Kernels that go along rows on devices take one order of axes; those of maps and sums any. */
static void
test_orders(void)
{
    for (guint i = 0; i < G_N_ELEMENTS(other_order); i++)
        for (guint form = 0; form < 4; form++) {
            reset();
            variant.name = "cuda";
            variant.backend = CT_CUDA;
            variant.split = NULL;
            variant.rows = other_order[i];
            variant.prepare = form < 2 ? ct_window_prepare_device : ct_form_prepare_device;
            variant.tunables = tunables_of_forms[form];
            g_autofree char *message =
                g_strdup_printf("variant 'cuda' of 'twice': rows: '%s': on devices, this form "
                                "wants the same axes in the same order on both sides",
                                other_order[i][0].layouts);
            check(form % 2 == 0 ? message : NULL);
        }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/plugin-check/fields", test_fields);
    g_test_add_func("/plugin-check/pairs", test_pairs);
    g_test_add_func("/plugin-check/split-of-port", test_split_of_port);
    g_test_add_func("/plugin-check/port-rows", test_port_rows);
    g_test_add_func("/plugin-check/orders", test_orders);
    return g_test_run();
}
