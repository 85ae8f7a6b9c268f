/* SPDX-License-Identifier: BSD-3-Clause */
/* Stages that fail, each in another function. */
#include "pass.h"

static gboolean
fail_infer(G_GNUC_UNUSED CtNode *node, GError **error)
{
    g_set_error_literal(error, CT_ERROR, CT_ERROR_SHAPE, "wants to fail in infer, and does");
    return FALSE;
}

static gboolean
fail_prepare(G_GNUC_UNUSED CtPrepare *prepare, G_GNUC_UNUSED gpointer *state, GError **error)
{
    g_set_error_literal(error, CT_ERROR, CT_ERROR_PARAMETER, "wants to fail in prepare, and does");
    return FALSE;
}

/* It fails with one of the two sizes. */
static gboolean
fail_prepare_for_size(CtPrepare *prepare, G_GNUC_UNUSED gpointer *state, GError **error)
{
    if (prepare->tuning[0] == 1)
        return TRUE;
    g_set_error_literal(error, CT_ERROR, CT_ERROR_PARAMETER, "wants size=1");
    return FALSE;
}

static gboolean
fail_prepare_for_memory(G_GNUC_UNUSED CtPrepare *prepare, G_GNUC_UNUSED gpointer *state,
                        GError **error)
{
    gpointer memory = g_try_malloc(G_MAXSIZE / 2);
    if (!memory) {
        g_set_error_literal(error, CT_ERROR, CT_ERROR_MEMORY, "no memory for 8 EiB");
        return FALSE;
    }
    g_free(memory);
    return TRUE;
}

static gboolean
fail_advance(G_GNUC_UNUSED gpointer state, G_GNUC_UNUSED CtAdvance *advance, GError **error)
{
    g_set_error_literal(error, CT_ERROR, CT_ERROR_DATA, "wants to fail in advance, and does");
    return FALSE;
}

/* The second firing fails, so that the sinks have samples by then. */
static gboolean
fail_work(G_GNUC_UNUSED gpointer state, const CtWork *work, GError **error)
{
    if (work->inputs[0].index == 0)
        return TRUE;
    g_set_error_literal(error, CT_ERROR, CT_ERROR_DATA, "wants to fail in work, and does");
    return FALSE;
}

static const CtStage infer_stage = {PASS_STAGE("fail.infer", "Fails in infer"),
                                    .infer = fail_infer};
static const CtStage prepare_stage = {PASS_STAGE("fail.prepare", "Fails in prepare"),
                                      .infer = pass_infer};
static const CtStage memory_stage = {PASS_STAGE("fail.memory", "Finds no memory in prepare"),
                                     .infer = pass_infer};
static const CtStage size_stage = {PASS_STAGE("fail.size", "Fails in prepare with one tuning"),
                                   .infer = pass_infer};
static const CtStage advance_stage = {PASS_STAGE("fail.advance", "Fails in advance"),
                                      .infer = pass_infer};
static const CtStage work_stage = {PASS_STAGE("fail.work", "Fails in the second firing"),
                                   .infer = pass_infer};
static const CtStage choice_stage = {PASS_STAGE("fail.choice", "Has two ways, one of which fails"),
                                     .infer = pass_infer};
static const CtStage no_variant_stage = {PASS_STAGE("fail.variant", "Has no variant"),
                                         .infer = pass_infer};

static const CtVariant infer_variant = {
    .name = "reference",
    .backend = CT_REFERENCE,
    .covers = (const char *const[]){"fail.infer", NULL},
    .rows = pass_rows,
    .prepare = pass_prepare,
    .work = pass_work,
};
static const CtVariant prepare_variant = {
    .name = "reference",
    .backend = CT_REFERENCE,
    .covers = (const char *const[]){"fail.prepare", NULL},
    .rows = pass_rows,
    .prepare = fail_prepare,
    .work = pass_work,
};
static const CtVariant size_variant = {
    .name = "reference",
    .backend = CT_REFERENCE,
    .covers = (const char *const[]){"fail.size", NULL},
    .rows = pass_rows,
    .tunables = (const CtTunable[]){{"size", CT_VALUES(1, 2), 1, "of nothing"}, {NULL}},
    .prepare = fail_prepare_for_size,
    .work = pass_work,
};
static const CtVariant memory_variant = {
    .name = "reference",
    .backend = CT_REFERENCE,
    .covers = (const char *const[]){"fail.memory", NULL},
    .rows = pass_rows,
    .prepare = fail_prepare_for_memory,
    .work = pass_work,
};
static const CtVariant advance_variant = {
    .name = "reference",
    .backend = CT_REFERENCE,
    .covers = (const char *const[]){"fail.advance", NULL},
    .rows = pass_rows,
    .prepare = pass_prepare,
    .advance = fail_advance,
    .work = pass_work,
};
static const CtVariant work_variant = {
    .name = "reference",
    .backend = CT_REFERENCE,
    .covers = (const char *const[]){"fail.work", NULL},
    .rows = pass_rows,
    .prepare = pass_prepare,
    .work = fail_work,
};

static const CtVariant refusing_variant = {
    .name = "refusing",
    .backend = CT_CPU,
    .covers = (const char *const[]){"fail.choice", NULL},
    .rows = pass_rows,
    .prepare = fail_prepare,
    .work = pass_work,
};
static const CtVariant accepting_variant = {
    .name = "accepting",
    .backend = CT_CPU,
    .covers = (const char *const[]){"fail.choice", NULL},
    .rows = pass_rows,
    .prepare = pass_prepare,
    .work = pass_work,
};

CT_PLUGIN("fail",
          ((const CtStage *const[]){&infer_stage, &prepare_stage, &size_stage, &memory_stage,
                                    &advance_stage, &work_stage, &choice_stage, &no_variant_stage,
                                    NULL}),
          ((const CtVariant *const[]){&infer_variant, &prepare_variant, &size_variant,
                                      &memory_variant, &advance_variant, &work_variant,
                                      &refusing_variant, &accepting_variant, NULL}));
