/* SPDX-License-Identifier: BSD-3-Clause */
/* The sink discard: counts samples and drops them. */
#include <cornerturn/stage.h>

static const CtParam params[] = {{NULL}};
enum { SAMPLES, INVALID };
static const char *const counters[] = {"samples", "invalid", NULL};

static gboolean
infer(G_GNUC_UNUSED CtNode *node, G_GNUC_UNUSED GError **error)
{
    return TRUE;
}

/* The state is the number of lanes. */
static gboolean
prepare(CtPrepare *prepare, gpointer *state, G_GNUC_UNUSED GError **error)
{
    gint64 *n_lanes = *state = g_new(gint64, 1);
    *n_lanes = ct_stream_n_lanes(prepare->inputs[0].stream);
    return TRUE;
}

/* The number of samples with at least one invalid lane. */
static guint64
count_invalid(const CtBlock *block, gint64 n, gint64 n_lanes)
{
    guint64 count = 0;
    for (gint64 t = 0; block->validity && t < n; t++) {
        gboolean valid = TRUE;
        for (gint64 lane = 0; lane < n_lanes && valid; lane++)
            valid = block->validity[lane * block->validity_stride + t];
        count += !valid;
    }
    return count;
}

static gboolean
advance(gpointer state, CtAdvance *advance, GError **error)
{
    if (!ct_advance_default(advance, error))
        return FALSE;
    const CtArrival *in = &advance->inputs[0];
    advance->counters[SAMPLES] += (guint64)in->consumed;
    advance->counters[INVALID] += count_invalid(&in->block, in->consumed, *(const gint64 *)state);
    return TRUE;
}

static gboolean
work(G_GNUC_UNUSED gpointer state, G_GNUC_UNUSED const CtWork *work, G_GNUC_UNUSED GError **error)
{
    return TRUE;
}

static const CtStage discard = {
    .name = "discard",
    .summary = "counts samples and drops them",
    .version = 1,
    .inputs = CT_PORTS({"in", "{...}", CT_PORT_UNREAD, "any stream"}),
    .params = params,
    .counters = counters,
    .infer = infer,
};

#define VARIANT(name_, backend_)                                                                   \
    {                                                                                              \
        .name = name_, .backend = backend_, .isa = CT_ISA_BASELINE,                                \
        .covers = (const char *const[]){"discard", NULL},                                          \
        .rows = (const CtRow[]){{"any: [...] ->", 1}, {NULL}}, .prepare = prepare,                 \
        .advance = advance, .work = work, .finish = g_free,                                        \
    }

static const CtVariant reference = VARIANT("reference", CT_REFERENCE);
static const CtVariant cpu = VARIANT("cpu", CT_CPU);
static const CtVariant cuda = VARIANT("cuda", CT_CUDA);

CT_STAGE_PLUGIN("discard", discard, &cuda, &cpu, &reference);
