/* SPDX-License-Identifier: BSD-3-Clause */
/* The test of a stage. */
#include "test-stage.h"

#include "device/device.h"
#include "graph/graph.h"
#include "graph/plugin-call.h"
#include "graph/tuning.h"
#include "model/node-params.h"
#include "model/row.h"
#include "test-case.h"
#include "test-judge.h"

#include <string.h>

/* A variant is given up after so many failures. */
enum { MOST_FAILURES = 3 };
/* A row is given up if none of its first cases could be drawn. */
enum { MOST_TRIES = 40 };
/* Compiling kernels may take this multiple of the time in which cases run. */
enum { MOST_COMPILING = 4 };

/* The cases and results of a variant. */
typedef struct {
    const CtVariant *variant;
    GArray *choices; /* of CtTestChoice: its rows */
    char *skipped;   /* why it is not tested; NULL: it is */
    char *refusal;   /* the first reason for which a case was not run */
    CtCaseState why; /* its kind */
    guint n_run, n_skipped, n_failed;
    GHashTable *seen; /* what was run: types "t…", layouts "l…", tunings "u…", rows "r…" */
    gdouble seconds, compiling; /* the time for its cases, and beside that for compiling kernels */
    guint next;                 /* the row of the next case */
    gboolean is_cut_short;      /* compiling took all the time that it may take */
} Subject;

typedef struct {
    const CtStageTest *how;
    CtRegistry *registry;
    CtTestFixed fixed;
    CtParams *owned;
    const CtVariant *reference;
    GPtrArray *subjects;
    CtDevice *device;
    guint architecture;         /* for which kernels are compiled; 0: none are */
    guint n_compiled;           /* cases whose kernels were */
    char *refusal;              /* the first message of infer */
    gdouble seconds, compiling; /* of all variants */
} Test;

G_GNUC_PRINTF(2, 3)
static void
say(const Test *test, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    if (test->how->line)
        test->how->line(text, test->how->user_data);
}

static gdouble
seconds_since(gint64 from)
{
    return (gdouble)(g_get_monotonic_time() - from) * 1e-6;
}

/* ---- a case ---- */

/* Compiles the kernels of the case for a real device: the problem, allocated; NULL: there is none.
 */
static char *
check_registers(Test *test, const CtTestCase *one, const CtTestChoice *choice)
{
    const guint n_in = one->node.n_inputs, n_out = one->node.n_outputs;
    CtBlock inputs[CT_TEST_PORTS + 1] = {{0}}, outputs[CT_TEST_PORTS + 1] = {{0}};
    g_autoptr(GError) error = NULL;
    for (guint i = 0; i < n_in; i++)
        if (one->layouts[i].n_axes > 0)
            ct_block_padded(&inputs[i], &one->layouts[i], &one->inputs[i], one->n_samples[i], 0,
                            16);
    for (guint o = 0; o < n_out; o++) {
        const gint time = ct_stream_axis(&one->outputs[o], "time");
        if (one->outputs[o].type != CT_TYPE_NONE)
            ct_block_padded(&outputs[o], &one->layouts[n_in + o], &one->outputs[o],
                            time < 0 ? 1 : MAX(0, one->outputs[o].axes[time].length), 0, 16);
    }
    /* Nothing is read or written, but ports with data are connected. */
    for (guint i = 0; i < n_in + n_out; i++) {
        CtBlock *block = i < n_in ? &inputs[i] : &outputs[i - n_in];
        block->data = block->type == CT_TYPE_NONE ? NULL : (guint8 *)block;
    }
    const CtTestRun run = {
        .nodes = &one->node,
        .n_nodes = 1,
        .variant = choice->variant,
        .tuning = one->tuning,
        .inputs = one->layouts,
        .outputs = &one->layouts[n_in],
        .n_workers = 1,
    };
    test->n_compiled++;
    return ct_test_compile(&run, inputs, outputs, test->architecture, &error)
               ? NULL
               : g_strdup(error->message);
}

/* Arguments of ct_test_case_init. */
typedef struct {
    const Test *test;
    const CtTestChoice *choice;
    guint32 round;
    GRand *random;
    CtTestCase *one;
    CtCaseState state;
    char *reason;
} Draw;

static gboolean
draw(gpointer data, G_GNUC_UNUSED GError **error)
{
    Draw *self = data;
    self->state = ct_test_case_init(self->one, &self->test->fixed, self->choice, self->round,
                                    self->random, &self->reason);
    char *kept = ct_params_take_kept(self->test->fixed.params);
    if (kept) {
        g_free(self->reason);
        self->reason = kept;
        self->state = CT_CASE_FAULTY;
    }
    return TRUE;
}

/* ---- the report ---- */

/* The command line that runs the case again. */
static char *
again(const Test *test, const char *label)
{
    g_autoptr(GString) text = g_string_new("cornerturn test-stage ");
    g_string_append(text, test->fixed.stage->name);
    for (guint i = 0; test->how->settings && test->how->settings[i]; i++) {
        g_autofree char *quoted = g_shell_quote(test->how->settings[i]);
        g_string_append_printf(text, " --set %s", quoted);
    }
    for (guint i = 0; test->how->axes && test->how->axes[i]; i++)
        g_string_append_printf(text, " --axis %s", test->how->axes[i]);
    if (test->how->type)
        g_string_append_printf(text, " --type %s", test->how->type);
    g_string_append_printf(text, " --seed %u --case %s", test->fixed.seed, label);
    return g_string_free(g_steal_pointer(&text), FALSE);
}

static void
note(Subject *subject, char kind, char *what)
{
    g_hash_table_add(subject->seen, g_strdup_printf("%c%s", kind, what));
    g_free(what);
}

static guint
count(const Subject *subject, char kind)
{
    GHashTableIter iter;
    gpointer key;
    guint n = 0;
    g_hash_table_iter_init(&iter, subject->seen);
    while (g_hash_table_iter_next(&iter, &key, NULL))
        n += *(const char *)key == kind;
    return n;
}

/* A fault is the reason to tell, whatever came before; and that the variant does not fit, rather
 * than that `infer` refuses some cases of any variant. */
static gboolean
tells_more(CtCaseState state, CtCaseState than)
{
    return state == CT_CASE_FAULTY ? than != CT_CASE_FAULTY
                                   : state == CT_CASE_UNFIT && than == CT_CASE_REFUSED;
}

/* Notes a case that cannot be run. It is a failure if that is a fault of the plugin. */
static void
leave_out(Test *test, Subject *subject, const Draw *drawn, const char *label, const char *line)
{
    subject->n_skipped++;
    if (drawn->state == CT_CASE_FAULTY) {
        subject->n_failed++;
        say(test, "# %s: %s", label, drawn->reason);
        say(test, "#   %s", line);
    }
    if (drawn->state == CT_CASE_REFUSED && !test->refusal)
        test->refusal = g_strdup(drawn->reason);
    if (!subject->refusal || tells_more(drawn->state, subject->why)) {
        g_free(subject->refusal);
        subject->refusal = g_strdup(drawn->reason);
        subject->why = drawn->state;
    }
}

/* Draws and runs a case of a row of the variant. The kernels of a case are compiled while it runs
 * and, for a real device, by check_registers. */
static void
run_case(Test *test, Subject *subject, CtTestChoice *choice, guint32 round)
{
    g_autofree char *label =
        g_strdup_printf("%s/%u/%u", subject->variant->name, choice->index, round);
    const guint32 seeds[] = {test->fixed.seed, g_str_hash(subject->variant->name), choice->index,
                             round};
    g_autoptr(GRand) random = g_rand_new_with_seed_array(seeds, G_N_ELEMENTS(seeds));
    g_autoptr(GError) fault = NULL;
    CtTestCase one = {0};
    Draw drawn = {test, choice, round, random, &one, CT_CASE_REFUSED, NULL};
    if (!ct_guard_call(draw, &drawn, &fault)) {
        drawn.reason = g_strdup_printf("its infer or fits %s", fault->message);
        drawn.state = CT_CASE_FAULTY;
    }
    g_autofree char *line = again(test, label);
    if (drawn.state != CT_CASE_GOOD) {
        leave_out(test, subject, &drawn, label, line);
        g_free(drawn.reason);
        ct_test_case_clear(&one);
        return;
    }
    g_autofree char *tuning = ct_tuning_name(subject->variant, one.tuning);
    g_autofree char *tuned = g_strconcat("u", tuning, NULL);
    g_autofree char *last = g_strdup_printf("Bail out! this case ends the process: %s\n", line);
    ct_guard_note(last);
    g_autofree char *problem = ct_test_judge(&one, choice, test->reference, test->device, random);
    ct_guard_note(NULL);
    if (!problem && test->architecture > 0 && subject->variant->backend == CT_CUDA &&
        !g_hash_table_contains(subject->seen, tuned)) {
        const gint64 from = g_get_monotonic_time();
        problem = check_registers(test, &one, choice);
        subject->compiling += seconds_since(from);
    }
    subject->n_run++;
    note(subject, 't',
         g_strdup(
             ct_type_info(one.node.n_inputs > 0 ? one.narrow[0].type : one.outputs[0].type)->name));
    note(subject, 'l', ct_layout_to_string(&one.layouts[0]));
    note(subject, 'u', ct_tuning_name(subject->variant, one.tuning));
    note(subject, 'r', g_strdup_printf("%u", choice->index));
    if (problem) {
        g_autofree char *described = ct_test_case_describe(&one, choice);
        g_auto(GStrv) lines = g_strsplit(g_strchomp(problem), "\n", -1);
        g_autofree char *joined = g_strjoinv("\n#     ", lines);
        subject->n_failed++;
        say(test, "# %s: %s", label, joined);
        say(test, "#   %s", described);
        say(test, "#   %s", line);
    }
    ct_test_case_clear(&one);
}

/* Runs a case, and counts the time that it takes, with and without the compiling of kernels. */
static void
try_case(Test *test, Subject *subject, CtTestChoice *choice, guint32 round)
{
    const gint64 from = g_get_monotonic_time();
    const gdouble seconds = subject->seconds, compiling = subject->compiling;
    const gdouble compiled = test->device ? ct_device_costs(test->device).compile : 0;
    run_case(test, subject, choice, round);
    if (test->device)
        subject->compiling += ct_device_costs(test->device).compile - compiled;
    subject->seconds += seconds_since(from) - (subject->compiling - compiling);
    test->seconds += subject->seconds - seconds;
    test->compiling += subject->compiling - compiling;
}

static gboolean
is_tested(const Subject *subject)
{
    return !subject->skipped && subject->n_failed < MOST_FAILURES;
}

/* Whether each row has been run, or given up. */
static gboolean
has_begun(const Subject *subject)
{
    for (guint c = 0; c < subject->choices->len; c++) {
        const CtTestChoice *choice = &g_array_index(subject->choices, CtTestChoice, c);
        g_autofree char *row = g_strdup_printf("r%u", choice->index);
        if (choice->n_tried < MOST_TRIES && !g_hash_table_contains(subject->seen, row))
            return FALSE;
    }
    return TRUE;
}

static gdouble
limit(const Test *test)
{
    return test->how->seconds > 0 ? test->how->seconds : 30;
}

/* The variant that has had the least time, first those of which a row has not run; NULL: the time
 * is over. */
static Subject *
find_next(const Test *test)
{
    const gboolean is_over = test->seconds > limit(test);
    const gboolean is_compiled = test->compiling > MOST_COMPILING * limit(test);
    Subject *next = NULL;
    for (guint i = 0; i < test->subjects->len; i++) {
        Subject *subject = test->subjects->pdata[i];
        const gboolean begun = has_begun(subject);
        if (!is_tested(subject) || subject->choices->len == 0 || (subject->n_run == 0 && begun) ||
            (is_over && begun))
            continue;
        if (begun && is_compiled && subject->compiling > 0) {
            subject->is_cut_short = TRUE;
            continue;
        }
        if (!next || subject->seconds < next->seconds)
            next = subject;
    }
    return next;
}

static void
report(const Test *test, guint number, const Subject *subject)
{
    const char *name = subject->variant->name;
    g_autofree char *covers = g_strjoinv(" + ", (char **)subject->variant->covers);
    if (subject->skipped) {
        say(test, "ok %u - %s of %s # SKIP %s", number, name, covers, subject->skipped);
        return;
    }
    if (subject->n_run == 0) {
        const gboolean fits = subject->why == CT_CASE_UNFIT;
        say(test, "%s %u - %s of %s%s no case could be run: %s", fits ? "ok" : "not ok", number,
            name, covers, fits ? " # SKIP" : ":", subject->refusal);
        return;
    }
    g_autofree char *skipped = subject->n_skipped > 0
                                   ? g_strdup_printf("; %u not run, the first because: %s",
                                                     subject->n_skipped, subject->refusal)
                                   : g_strdup("");
    if (subject->is_cut_short)
        say(test,
            "# %s: no more cases, as compiling kernels took %.0f s; they are kept, and the next "
            "test goes on from there",
            name, subject->compiling);
    say(test,
        "%s %u - %s of %s: %u cases, %u wrong; rows %u of %u, tunings %u, layouts %u, types %u%s",
        subject->n_failed ? "not ok" : "ok", number, name, covers, subject->n_run,
        subject->n_failed, count(subject, 'r'), subject->choices->len, count(subject, 'u'),
        count(subject, 'l'), count(subject, 't'), skipped);
}

/* ---- the whole ---- */

static char *
find_skip(const Test *test, const CtVariant *variant)
{
    const char *reason = NULL;
    if (variant->covers[1])
        return g_strdup("it covers several stages: `verify` compares it in a graph");
    if (!variant->work || variant->waits)
        return g_strdup("it waits for files, the network or the program");
    const char *refusal = ct_registry_isa_refusal(test->registry, variant->isa);
    if (refusal)
        return g_strdup(refusal);
    if (variant->backend == CT_CUDA && ct_devices(NULL, &reason) == 0)
        return g_strdup(reason);
    return NULL;
}

static void
subject_free(gpointer data)
{
    Subject *subject = data;
    g_array_unref(subject->choices);
    g_free(subject->skipped);
    g_free(subject->refusal);
    g_hash_table_unref(subject->seen);
    g_free(subject);
}

/* Lists the axes that streams may have besides those of the ports: the usual ones, and those that
 * rows of any variant name. */
static void
find_axes(Test *test, const GPtrArray *variants)
{
    static const char *const usual[] = {"station", "pol", "channel"};
    GPtrArray *names = test->fixed.further = g_ptr_array_new();
    for (guint k = 0; k < G_N_ELEMENTS(usual); k++)
        g_ptr_array_add(names, (gpointer)ct_axis_name(usual[k]));
    for (guint v = 0; v < variants->len; v++)
        for (const CtRow *row = ((const CtVariant *)variants->pdata[v])->rows; row->layouts;
             row++) {
            CtRowPatterns patterns;
            ct_row_parse(&patterns, row->layouts, NULL);
            for (guint a = 0; patterns.n_inputs > 0 && a < patterns.inputs[0].n_axes; a++) {
                const char *name = patterns.inputs[0].axes[a].name;
                if (!g_str_equal(name, "...") && !g_str_equal(name, "complex") &&
                    !g_ptr_array_find(names, name, NULL))
                    g_ptr_array_add(names, (gpointer)name);
            }
        }
}

static gboolean
find_subjects(Test *test, GError **error)
{
    const GPtrArray *variants = ct_registry_variants(test->registry, test->fixed.stage->name);
    gboolean uses_device = FALSE;
    find_axes(test, variants);
    test->subjects = g_ptr_array_new_with_free_func(subject_free);
    for (guint v = 0; v < variants->len; v++) {
        const CtVariant *variant = variants->pdata[v];
        if (variant->backend == CT_REFERENCE && !variant->covers[1])
            test->reference = variant;
        if (test->how->variant && !g_str_equal(test->how->variant, variant->name))
            continue;
        Subject *subject = g_new0(Subject, 1);
        subject->variant = variant;
        subject->choices = g_array_new(FALSE, FALSE, sizeof(CtTestChoice));
        subject->seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        subject->skipped = find_skip(test, variant);
        for (guint r = 0; variant->rows[r].layouts; r++) {
            const CtTestChoice choice = {variant, &variant->rows[r], r, 0};
            g_array_append_val(subject->choices, choice);
        }
        uses_device |= variant->backend == CT_CUDA && !subject->skipped;
        g_ptr_array_add(test->subjects, subject);
    }
    if (test->subjects->len == 0) {
        g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER, "stage '%s' has no variant '%s'",
                    test->fixed.stage->name, test->how->variant ? test->how->variant : "reference");
        return FALSE;
    }
    if (!test->reference) {
        g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN,
                    "stage '%s' has no variant 'reference' with which others could be compared",
                    test->fixed.stage->name);
        return FALSE;
    }
    test->device = uses_device ? ct_device_open(0, error) : NULL;
    return !uses_device || test->device;
}

/* Finds out for which device kernels can be compiled to see whether they spill registers. */
static void
find_architecture(Test *test)
{
    const char *reason;
    const CtDeviceInfo *devices;
    if (!test->device)
        return;
    if (ct_cuda_nvidia_nvrtc(&reason) && ct_devices(&devices, NULL) > 0)
        test->architecture = devices[0].architecture;
    else
        say(test, "# registers that kernels spill are not looked at: %s", reason);
}

static gboolean
parse_axis(Test *test, const char *text, GError **error)
{
    g_auto(GStrv) parts = g_strsplit(text, "=", 2);
    gint64 length = 0;
    if (parts[0] && *parts[0] && parts[1] &&
        g_ascii_string_to_signed(parts[1], 10, 1, 1 << 20, &length, NULL)) {
        g_hash_table_insert(test->fixed.lengths, g_strdup(parts[0]), GINT_TO_POINTER((gint)length));
        return TRUE;
    }
    g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER,
                "an axis wants NAME=LENGTH with a length from 1 to 1048576, but is given '%s'",
                text);
    return FALSE;
}

static gboolean
parse_setting(CtValue *values, const char *text, GError **error)
{
    g_auto(GStrv) parts = g_strsplit(text, "=", 2);
    if (!parts[0] || !*parts[0] || !parts[1]) {
        g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER,
                    "a parameter wants NAME=VALUE, but is given '%s'", text);
        return FALSE;
    }
    g_autofree char *place = g_strdup_printf("--set %s", parts[0]);
    CtValue *value = ct_value_parse_short(parts[1], place, error);
    if (!value)
        return FALSE;
    ct_value_set(values, parts[0], value);
    return TRUE;
}

static gboolean
read_how(Test *test, const char *name, GError **error)
{
    const CtStageTest *how = test->how;
    const CtPlace place = {g_intern_string("test-stage"), 0, 0};
    g_autoptr(CtValue) values = ct_value_new(CT_VALUE_MAPPING, place);
    test->fixed.lengths = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    test->fixed.seed = how->seed ? how->seed : 1;
    if (!(test->fixed.stage = ct_registry_stage(test->registry, name, error)))
        return FALSE;
    for (guint i = 0; how->settings && how->settings[i]; i++)
        if (!parse_setting(values, how->settings[i], error))
            return FALSE;
    for (guint i = 0; how->axes && how->axes[i]; i++)
        if (!parse_axis(test, how->axes[i], error))
            return FALSE;
    if (how->type && !(test->fixed.type = ct_type_from_name(how->type))) {
        g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER, "there is no type '%s'", how->type);
        return FALSE;
    }
    test->owned = ct_params_new(name, test->fixed.stage, &place, values, error);
    test->fixed.params = test->owned;
    return test->owned != NULL;
}

/* Whether the stage has inputs and outputs, and no more of them than a test can have. */
static gboolean
check_stage(const Test *test, GError **error)
{
    const CtStage *stage = test->fixed.stage;
    guint n_in = 0, n_out = 0;
    while (stage->inputs && stage->inputs[n_in].name)
        n_in++;
    while (stage->outputs && stage->outputs[n_out].name)
        n_out++;
    if (n_in > 0 && n_out > 0 && n_in <= CT_TEST_PORTS - 2 && n_out <= CT_TEST_PORTS)
        return TRUE;
    g_set_error(
        error, CT_ERROR, CT_ERROR_PARAMETER,
        "stage '%s' cannot be tested by itself: it has %u inputs and %u outputs, where 1 to "
        "%d are wanted; a graph tests it",
        stage->name, n_in, n_out, CT_TEST_PORTS - 2);
    return FALSE;
}

/* Runs the case "cpu-avx2/0/17". */
static gboolean
run_only(Test *test, const char *label, GError **error)
{
    g_auto(GStrv) parts = g_strsplit(label, "/", 3);
    guint64 row, round;
    for (guint i = 0; g_strv_length(parts) == 3 && i < test->subjects->len; i++) {
        Subject *subject = test->subjects->pdata[i];
        if (!g_str_equal(subject->variant->name, parts[0]) || subject->variant->covers[1] ||
            !g_ascii_string_to_unsigned(parts[1], 10, 0, G_MAXUINT32, &row, NULL) ||
            !g_ascii_string_to_unsigned(parts[2], 10, 0, G_MAXUINT32, &round, NULL) ||
            row >= subject->choices->len)
            continue;
        if (!subject->skipped)
            try_case(test, subject, &g_array_index(subject->choices, CtTestChoice, row),
                     (guint32)round);
        return TRUE;
    }
    g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER,
                "a case wants VARIANT/ROW/NUMBER, as a failure shows it, but is given '%s'", label);
    return FALSE;
}

static gboolean
run_all(Test *test)
{
    guint n_run = 0;
    for (Subject *subject; (subject = find_next(test));) {
        CtTestChoice *choice =
            &g_array_index(subject->choices, CtTestChoice, subject->next++ % subject->choices->len);
        try_case(test, subject, choice, choice->n_tried);
        choice->n_tried++;
    }
    for (guint i = 0; i < test->subjects->len; i++)
        n_run += ((const Subject *)test->subjects->pdata[i])->n_run;
    return n_run > 0;
}

static gboolean
report_all(const Test *test, gboolean is_one, gboolean *passes)
{
    guint n = 0;
    *passes = TRUE;
    for (guint i = 0; i < test->subjects->len; i++) {
        const Subject *subject = test->subjects->pdata[i];
        if (is_one && subject->n_run + subject->n_skipped == 0)
            continue;
        report(test, ++n, subject);
        *passes &= subject->n_failed == 0 &&
                   (subject->skipped || subject->n_run > 0 || subject->why == CT_CASE_UNFIT);
    }
    if (test->n_compiled > 0)
        say(test,
            "# the kernels of %u cases were compiled for sm_%u, to see whether registers spill",
            test->n_compiled, test->architecture);
    say(test, "1..%u", n);
    return n > 0;
}

gboolean
ct_stage_test(CtRegistry *registry, const char *name, const CtStageTest *how, gboolean *passes,
              GError **error)
{
    Test test = {.how = how, .registry = registry};
    gboolean good =
        read_how(&test, name, error) && check_stage(&test, error) && find_subjects(&test, error);
    if (good) {
        say(&test, "# seed %u", test.fixed.seed);
        find_architecture(&test);
    }
    if (good && how->only)
        good = run_only(&test, how->only, error);
    else if (good && !run_all(&test) && test.refusal) {
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                    "stage '%s' refuses all streams that were tried: %s", name, test.refusal);
        good = FALSE;
    }
    if (good)
        report_all(&test, how->only != NULL, passes);
    ct_device_close(test.device);
    if (test.fixed.further)
        g_ptr_array_unref(test.fixed.further);
    if (test.subjects)
        g_ptr_array_unref(test.subjects);
    g_hash_table_unref(test.fixed.lengths);
    ct_params_free(test.owned);
    g_free(test.refusal);
    return good;
}
