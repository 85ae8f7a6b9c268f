/* SPDX-License-Identifier: BSD-3-Clause */
/* Stages of forms whose plugins are at fault, each in a way of its own; and right ones whose
 * kernels have names that the macros might use. */
#include "misuse.kernel.h"
#include "names.kernel.h"

#include <cornerturn/kit/fold.h>
#include <cornerturn/kit/join.h>
#include <cornerturn/kit/window.h>
#include <string.h>

static const CtParam params[] = {{0}};
static const CtPort inputs[] = {{"in", "{time ...}", 0, "samples"}, {0}};
static const CtPort both[] = {
    {"in", "{time ...}", 0, "samples"}, {"w", "{time ...}", 0, "limits"}, {0}};
static const CtPort outputs[] = {{"out", "{time ...}", 0, "samples"}, {0}};
static const CtRow rows[] = {{"f32{time ...} -> f32{time ...}", 0.5}, {0}};
static const CtRow join_rows[] = {{"f32{time ...}, f32{time ...} -> f32{time ...}", 0.5}, {0}};

static gboolean
infer(CtNode *node, G_GNUC_UNUSED GError **error)
{
    ct_stream_copy(&node->outputs[0], &node->inputs[0]);
    return TRUE;
}

#define STAGE(name_, inputs_, infer_)                                                              \
    {                                                                                              \
        .name = name_, .summary = "Is misused", .version = 1, .inputs = inputs_,                   \
        .outputs = outputs, .params = params, .infer = infer_,                                     \
    }

/* ---- marks without CT_PORT_MARKED ---- */

static gboolean
infer_fold(CtNode *node, G_GNUC_UNUSED GError **error)
{
    ct_fold_infer(node, 4);
    return TRUE;
}

static gboolean
choose_fold(G_GNUC_UNUSED const CtNode *node, CtFormChoice *choice, G_GNUC_UNUSED GError **error)
{
    ct_form_kernel(choice, "total", sizeof(CtNoSettings));
    return TRUE;
}

static void
total_add(G_GNUC_UNUSED gconstpointer settings, gdouble *state, const gdouble *x,
          G_GNUC_UNUSED guint n_parts)
{
    state[0] += x[0];
}

static gboolean
total_give(G_GNUC_UNUSED gconstpointer settings, const gdouble *state, G_GNUC_UNUSED guint32 n,
           gdouble *y)
{
    y[0] = state[0];
    return state[0] >= 0;
}

static gboolean
choose_mark(G_GNUC_UNUSED const CtNode *node, CtFormChoice *choice, G_GNUC_UNUSED GError **error)
{
    ct_form_kernel(choice, "mark", sizeof(CtNoSettings));
    return TRUE;
}

/* ---- other mistakes in maps and windows ---- */

/* A stage of the form map whose kernel is `kernel_`, with so many bytes of settings. */
#define MAP(id_, kernel_, bytes_)                                                                  \
    static gboolean choose_##id_(G_GNUC_UNUSED const CtNode *node, CtFormChoice *choice,           \
                                 G_GNUC_UNUSED GError **error)                                     \
    {                                                                                              \
        memset(ct_form_kernel(choice, kernel_, bytes_), 0, bytes_);                                \
        return TRUE;                                                                               \
    }                                                                                              \
    static const CtStage id_##_stage = STAGE("misuse." #id_, inputs, infer);                       \
    static const CtForm id_##_form = CT_FORM("misuse", choose_##id_)

MAP(tally, "tally", sizeof(CtNoSettings));
MAP(large, "copy", CT_FORM_SETTINGS + 8);
MAP(types, "copy", sizeof(CtNoSettings));
MAP(folded, "total", sizeof(CtNoSettings));
MAP(joined, "mark", sizeof(CtNoSettings));

static const CtRow wide_rows[] = {{"i32|f64{...} -> i32|f64{...}", 0.5}, {0}};

static gboolean
choose_window(G_GNUC_UNUSED const CtNode *node, CtWindowChoice *choice,
              G_GNUC_UNUSED GError **error)
{
    ct_form_kernel(&choice->form, "copy", sizeof(CtNoSettings));
    choice->n_taps = 1;
    return TRUE;
}

static const CtStage window_stage = STAGE("misuse.window", inputs, infer);
static const CtWindow window = CT_WINDOW_FORM("misuse", choose_window);

static const CtFold types_fold = {CT_FORM("misuse", choose_types), 1, total_add, total_give};
static const CtStage unfolded_stage = STAGE("misuse.unfolded", inputs, infer_fold);
static const CtStage unjoined_stage = STAGE("misuse.unjoined", both, ct_join_infer);

/* ---- tables and groups that do not fit ---- */

#define FAULTY(id_, params_)                                                                       \
    static const CtStage id_##_stage = {                                                           \
        .name = "misuse." #id_,                                                                    \
        .summary = "Is misused",                                                                   \
        .version = 1,                                                                              \
        .inputs = inputs,                                                                          \
        .outputs = outputs,                                                                        \
        .params = params_,                                                                         \
        .infer = infer,                                                                            \
    }

static const char *const table_faults[] = {"none",    "data", "name",    "axis", "short",
                                           "long",    "zero", "twice",   "many", "type",
                                           "complex", "time", "foreign", NULL};
static const CtParam table_params[] = {
    {"fault", CT_PARAM_CHOICE, .choices = table_faults, .fallback = "none", .help = "of the table"},
    {0}};

static gboolean
choose_weigh(const CtNode *node, CtFormChoice *choice, G_GNUC_UNUSED GError **error)
{
    static const char foreign[] = "channel";
    const char *fault = table_faults[ct_params_choice(node->params, "fault")];
    const gboolean is_short = g_str_equal(fault, "short"), is_long = g_str_equal(fault, "long");
    CtFormTable *table = &choice->table;
    ct_form_kernel(choice, "weigh", sizeof(CtNoSettings));
    *table = (CtFormTable){
        .type = g_str_equal(fault, "type")      ? CT_F32
                : g_str_equal(fault, "complex") ? CT_CF64
                                                : CT_F64,
        .n_axes = g_str_equal(fault, "twice")  ? 2
                  : g_str_equal(fault, "many") ? 100
                                               : 1,
        .axes = {ct_axis_name(g_str_equal(fault, "axis")   ? "beam"
                              : g_str_equal(fault, "time") ? "time"
                                                           : "channel"),
                 ct_axis_name("channel")},
        .lengths = {is_short                     ? 2
                    : is_long                    ? 500
                    : g_str_equal(fault, "zero") ? 0
                                                 : 3,
                    1},
        .data = g_str_equal(fault, "data") ? NULL : g_new0(gdouble, 1000),
    };
    if (g_str_equal(fault, "name") || g_str_equal(fault, "foreign"))
        table->axes[0] = g_str_equal(fault, "name") ? NULL : foreign;
    return TRUE;
}

FAULTY(weigh, table_params);
static const CtForm weigh = CT_FORM("misuse", choose_weigh);

static const char *const group_faults[] = {"none", "in", "out", "absent", "other", NULL};
static const CtParam group_params[] = {
    {"fault", CT_PARAM_CHOICE, .choices = group_faults, .fallback = "none", .help = "of the group"},
    {0}};

static gboolean
choose_swap(const CtNode *node, CtFormChoice *choice, G_GNUC_UNUSED GError **error)
{
    const char *fault = group_faults[ct_params_choice(node->params, "fault")];
    ct_form_kernel(choice, "swap", sizeof(CtNoSettings));
    choice->group_in = g_str_equal(fault, "in") ? NULL : ct_axis_name("channel");
    choice->group_out = g_str_equal(fault, "out")      ? NULL
                        : g_str_equal(fault, "absent") ? ct_axis_name("beam")
                        : g_str_equal(fault, "other")  ? ct_axis_name("pol")
                                                       : ct_axis_name("channel");
    return TRUE;
}

FAULTY(swap, group_params);
FAULTY(blocked, group_params);
static const CtRow block_rows[] = {
    {"f32[channel time channel:2] -> f32[channel time channel:2]", 0.5}, {0}};
static const CtForm swap = CT_FORM("misuse", choose_swap);

/* ---- forms that say too little for ct_form_infer ---- */

static const CtForm absent_form = CT_KERNEL_FORM("misuse", "absent", );
static const CtForm shifted_form = CT_KERNEL_FORM("misuse", "shift", );
static const CtFold endless_fold = {
    .form = CT_KERNEL_FORM("misuse", "total", ),
    .n_numbers = 1,
    .add = total_add,
    .give = total_give,
};

static const CtFold long_fold = {
    .form = CT_KERNEL_FORM("misuse", "total", .length = "length"),
    .n_numbers = 1,
    .add = total_add,
    .give = total_give,
};
static const CtForm copy_form = CT_KERNEL_FORM("misuse", "copy", );
static const CtParam length_params[] = {
    {"length", CT_PARAM_INT, .fallback = "4", .help = "of a hop"}, {0}};
static const CtParam list_params[] = {
    {"length", CT_PARAM_INT, CT_PARAM_LIST, .fallback = "4", .help = "of a hop"}, {0}};
static const CtPort timeless_inputs[] = {{"in", "{...}", 0, "samples"}, {0}};

#define FORMED(id_, form_, inputs_, params_)                                                       \
    static const CtStage id_##_stage = {                                                           \
        .name = "misuse." #id_,                                                                    \
        .summary = "Is misused",                                                                   \
        .inputs = inputs_,                                                                         \
        .outputs = outputs,                                                                        \
        .params = params_,                                                                         \
        .infer = ct_form_infer,                                                                    \
        .form = form_,                                                                             \
    }
FORMED(formless, NULL, inputs, params);
FORMED(choosing, &types_form, inputs, params);
FORMED(absent, &absent_form, inputs, params);
FORMED(shifted, &shifted_form, inputs, params);
FORMED(endless, &endless_fold, inputs, params);
FORMED(long, &long_fold, timeless_inputs, length_params);
FORMED(listed, &long_fold, inputs, list_params);
FORMED(unnamed, &long_fold, inputs, params);
FORMED(surplus, &copy_form, both, params);

/* ---- names ---- */

#define NAMED(id_, counters_)                                                                      \
    static gboolean choose_##id_(G_GNUC_UNUSED const CtNode *node, CtFormChoice *choice,           \
                                 G_GNUC_UNUSED GError **error)                                     \
    {                                                                                              \
        *(settings *)ct_form_kernel(choice, #id_, sizeof(settings)) = (settings){2};               \
        return TRUE;                                                                               \
    }                                                                                              \
    static const CtStage id_##_stage = {                                                           \
        .name = "misuse." #id_,                                                                    \
        .summary = "y = 2 x",                                                                      \
        .version = 1,                                                                              \
        .inputs = inputs,                                                                          \
        .outputs = outputs,                                                                        \
        .params = params,                                                                          \
        .counters = counters_,                                                                     \
        .infer = infer,                                                                            \
    };                                                                                             \
    static const CtForm id_##_form = CT_FORM("misuse", choose_##id_)

static const char *const counters[] = {"all", NULL};
NAMED(sum, counters);
NAMED(run, NULL);
NAMED(x, NULL);
NAMED(n, NULL);
NAMED(i, NULL);
NAMED(in, NULL);
NAMED(map, NULL);

static gboolean
choose_shift(G_GNUC_UNUSED const CtNode *node, CtWindowChoice *choice, G_GNUC_UNUSED GError **error)
{
    *(settings *)ct_form_kernel(&choice->form, "shift", sizeof(settings)) = (settings){2};
    return TRUE;
}

static const CtStage shift_stage = STAGE("misuse.shift", inputs, infer);
static const CtWindow shift = CT_WINDOW_FORM("misuse", choose_shift);

static gboolean
choose_table(G_GNUC_UNUSED const CtNode *node, CtFormChoice *choice, G_GNUC_UNUSED GError **error)
{
    const gdouble one = 1;
    *(settings *)ct_form_kernel(choice, "table", sizeof(settings)) = (settings){2};
    choice->table = (CtFormTable){.type = CT_F64, .data = g_memdup2(&one, sizeof one)};
    return TRUE;
}

static const CtStage table_stage = STAGE("misuse.table", inputs, infer);
static const CtForm table = CT_FORM("misuse", choose_table);

/* ---- tables ---- */

static const CtStage fold_stage = STAGE("misuse.fold", inputs, infer_fold);
static const CtFold fold = {CT_FORM("misuse", choose_fold), 1, total_add, total_give};
static const CtStage mark_stage = STAGE("misuse.mark", both, ct_join_infer);
static const CtForm mark = CT_FORM("misuse", choose_mark);

#define MAPS(id_, rows_) CT_FORM_VARIANTS(id_##_form, "misuse." #id_, rows_, rows_)

CT_PLUGIN("misuse",
          ((const CtStage *const[]){
              &fold_stage,     &mark_stage,     &tally_stage,   &large_stage,
              &types_stage,    &folded_stage,   &joined_stage,  &window_stage,
              &unfolded_stage, &unjoined_stage, &sum_stage,     &run_stage,
              &x_stage,        &n_stage,        &i_stage,       &in_stage,
              &map_stage,      &shift_stage,    &table_stage,   &formless_stage,
              &choosing_stage, &absent_stage,   &shifted_stage, &endless_stage,
              &long_stage,     &listed_stage,   &unnamed_stage, &surplus_stage,
              &weigh_stage,    &swap_stage,     &blocked_stage, NULL}),
          ((const CtVariant *const[]){
              CT_FOLD_VARIANTS(fold, "misuse.fold", rows, rows),
              CT_JOIN_VARIANTS(mark, "misuse.mark", join_rows, join_rows),
              MAPS(tally, rows),
              MAPS(large, rows),
              MAPS(types, wide_rows),
              MAPS(folded, rows),
              MAPS(joined, rows),
              CT_WINDOW_VARIANTS(window, "misuse.window", rows, rows),
              CT_FOLD_VARIANTS(types_fold, "misuse.unfolded", rows, rows),
              CT_JOIN_VARIANTS(types_form, "misuse.unjoined", join_rows, join_rows),
              MAPS(sum, rows),
              MAPS(run, rows),
              MAPS(x, rows),
              MAPS(n, rows),
              MAPS(i, rows),
              MAPS(in, rows),
              MAPS(map, rows),
              CT_WINDOW_VARIANTS(shift, "misuse.shift", rows, rows),
              CT_FORM_TABLE_VARIANTS(table, "misuse.table", rows, rows),
              CT_FORM_TABLE_VARIANTS(weigh, "misuse.weigh", rows, rows),
              CT_FORM_VARIANTS(swap, "misuse.swap", rows, rows),
              CT_FORM_VARIANTS(swap, "misuse.blocked", block_rows, block_rows),
              CT_FORM_VARIANTS(types_form, "misuse.formless", rows, rows),
              CT_FORM_VARIANTS(types_form, "misuse.choosing", rows, rows),
              CT_FORM_VARIANTS(absent_form, "misuse.absent", rows, rows),
              CT_FORM_VARIANTS(shifted_form, "misuse.shifted", rows, rows),
              CT_FOLD_VARIANTS(endless_fold, "misuse.endless", rows, rows),
              CT_FOLD_VARIANTS(long_fold, "misuse.long", rows, rows),
              CT_FOLD_VARIANTS(long_fold, "misuse.listed", rows, rows),
              CT_FOLD_VARIANTS(long_fold, "misuse.unnamed", rows, rows),
              CT_FORM_VARIANTS(copy_form, "misuse.surplus", join_rows, join_rows),
              NULL}));
