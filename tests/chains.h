/* SPDX-License-Identifier: BSD-3-Clause */
/* Stages and plans for tests of rings, firings and workers: random chains of windows and sums, in
 * blocks of any lengths, must give one answer. */
#include "run/scheduler.h"

#include <string.h>

#define N_LANES 3

/* ---- stages; the stream is i64 with the axes time and lane ---- */

typedef struct {
    gint64 n_samples; /* of the source */
    gint64 loss;      /* sample i of lane l is lost where (7 i + l) % loss == 0; 0: none */
    guint32 seed;     /* for the lengths of blocks */
    GArray *values;   /* of gint64, the samples that the sink got, [time][lane] */
    GArray *validity;
    gint64 first_tick; /* of the source */
    gint64 seen_tick;  /* of the sink */
    gint64 fail_at;    /* the source fails at this sample; −1: never */
    gboolean completed;
    gboolean interrupted; /* the argument of complete */
} Test;

typedef struct {
    Test *test;
    GRand *random;
    gint64 made;
    gint64 hop;
    gint64 window;
    gint64 mark; /* work marks samples that this divides; 0: none */
    gint64 carry[N_LANES];
} State;

static const CtPort in_port[] = {{.name = "in"}, {0}};
static const CtPort marked_port[] = {{.name = "out", .flags = CT_PORT_MARKED}, {0}};
static const CtStage source_stage = {.name = "count"};
static const CtStage window_stage = {.name = "window", .inputs = in_port};
static const CtStage sum_stage = {.name = "sum", .inputs = in_port};
static const CtStage marking_stage = {.name = "mark", .inputs = in_port, .outputs = marked_port};
static const CtStage sink_stage = {.name = "collect", .inputs = in_port};

static inline gint64
value(gint64 i, gint64 lane)
{
    return i * 10 + lane + (i * i) % 7;
}

static inline gboolean
is_lost(const Test *test, gint64 i, gint64 lane)
{
    return test->loss > 0 && (7 * i + lane) % test->loss == 0;
}

/* The element of sample `t` in a lane; the axes are time and lane, in either order. */
static inline gint64 *
element(const CtBlock *block, const CtBinding *binding, gint64 t, gint64 lane)
{
    const gint time = ct_layout_axis(&binding->layout, "time");
    const gint inner = ct_layout_block_axis(&binding->layout, "time");
    const gint other = ct_layout_axis(&binding->layout, "lane");
    const gint64 count = inner >= 0 ? binding->layout.axes[inner].count : 1;
    guint8 *at = block->data + t / count * block->stride[time] + lane * block->stride[other];
    if (inner >= 0)
        at += t % count * block->stride[inner];
    return (gint64 *)(gpointer)at;
}

typedef struct {
    State state;
    CtBinding in, out;
} Node;

static inline gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error G_GNUC_UNUSED)
{
    Node *node = (gpointer)prepare->nodes[0].input_names; /* the test passes its state here */
    if (prepare->n_inputs > 0)
        node->in = prepare->inputs[0];
    if (prepare->n_outputs > 0)
        node->out = prepare->outputs[0];
    *state = node;
    return TRUE;
}

static inline gboolean
source_advance(gpointer data, CtAdvance *advance, GError **error)
{
    Node *node = data;
    Test *test = node->state.test;
    CtDeparture *out = &advance->outputs[0];
    gint64 n = MIN(out->room, test->n_samples - node->state.made);
    if (node->state.random)
        n = g_rand_int_range(node->state.random, 0, (gint32)n + 1);
    if (test->fail_at >= 0 && node->state.made + n > test->fail_at) {
        g_set_error(error, CT_ERROR, CT_ERROR_IO, "the disk is on fire");
        return FALSE;
    }
    out->produced = n;
    out->start = test->first_tick + 2 * node->state.made;
    for (gint64 t = 0; t < n; t++)
        for (gint64 l = 0; l < N_LANES; l++)
            if (is_lost(test, node->state.made + t, l)) {
                out->validity[l * out->validity_stride + t] = 0;
                out->invalid = TRUE;
            }
    node->state.made += n;
    advance->ended = node->state.made == test->n_samples;
    return TRUE;
}

static inline gboolean
source_work(gpointer data, const CtWork *work, GError **error G_GNUC_UNUSED)
{
    Node *node = data;
    for (gint64 t = work->begin; t < work->end; t++)
        for (gint64 l = 0; l < N_LANES; l++)
            *element(&work->outputs[0], &node->out, t, l) = value(work->outputs[0].index + t, l);
    return TRUE;
}

/* Writes a sample of the output, and marks it if it is divisible. */
static inline void
put(const Node *node, const CtBlock *out, gint64 t, gint64 lane, gint64 x)
{
    *element(out, &node->out, t, lane) = x;
    if (node->state.mark > 0 && x % node->state.mark == 0)
        ct_block_mark(out, lane, t);
}

static inline gboolean
window_work(gpointer data, const CtWork *work, GError **error G_GNUC_UNUSED)
{
    Node *node = data;
    for (gint64 t = work->begin; t < work->end; t++)
        for (gint64 l = 0; l < N_LANES; l++) {
            gint64 sum = 0;
            for (gint64 k = 0; k < node->state.window; k++)
                sum += (k + 1) * *element(&work->inputs[0], &node->in, t * node->state.hop + k, l);
            put(node, &work->outputs[0], t, l, sum);
        }
    return TRUE;
}

static inline gboolean
sum_work(gpointer data, const CtWork *work, GError **error G_GNUC_UNUSED)
{
    Node *node = data;
    const CtBlock *in = &work->inputs[0];
    for (gint64 l = work->begin; l < work->end; l++) {
        gint64 made = 0;
        for (gint64 t = 0; t < in->n_samples; t++) {
            node->state.carry[l] += *element(in, &node->in, t, l);
            if ((in->index + t + 1) % node->state.hop == 0) {
                put(node, &work->outputs[0], made++, l, node->state.carry[l]);
                node->state.carry[l] = 0;
            }
        }
        if (made < work->outputs[0].n_samples)
            put(node, &work->outputs[0], made, l, node->state.carry[l]);
    }
    return TRUE;
}

static inline gboolean
sink_work(gpointer data, const CtWork *work, GError **error G_GNUC_UNUSED)
{
    Node *node = data;
    Test *test = node->state.test;
    const CtBlock *in = &work->inputs[0];
    if (in->index == 0 && in->n_samples > 0)
        test->seen_tick = in->start;
    for (gint64 t = 0; t < in->n_samples; t++)
        for (gint64 l = 0; l < N_LANES; l++) {
            const guint8 valid = in->validity ? in->validity[l * in->validity_stride + t] : 1;
            g_array_append_val(test->values, *element(in, &node->in, t, l));
            g_array_append_val(test->validity, valid);
        }
    return TRUE;
}

static inline gboolean
sink_complete(gpointer data, gboolean interrupted, GError **error G_GNUC_UNUSED)
{
    ((Node *)data)->state.test->completed = TRUE;
    ((Node *)data)->state.test->interrupted = interrupted;
    return TRUE;
}

static const CtVariant source_variant = {.name = "test",
                                         .split = "time",
                                         .prepare = prepare,
                                         .advance = source_advance,
                                         .work = source_work};
static const CtVariant waiting_source_variant = {.name = "test",
                                                 .split = "time",
                                                 .waits = TRUE,
                                                 .prepare = prepare,
                                                 .advance = source_advance,
                                                 .work = source_work};
static const CtVariant window_variant = {
    .name = "test", .split = "time", .prepare = prepare, .work = window_work};
static const CtVariant sum_variant = {
    .name = "test", .split = "lane", .prepare = prepare, .work = sum_work};
static const CtVariant sink_variant = {.name = "test",
                                       .waits = TRUE,
                                       .prepare = prepare,
                                       .work = sink_work,
                                       .complete = sink_complete};

/* ---- plans, without the planner ---- */

typedef struct {
    CtPlan plan;
    GPtrArray *streams;
    GPtrArray *states; /* of Node */
} Chain;

static inline CtStream *
new_stream(Chain *chain)
{
    CtStream *stream = g_new0(CtStream, 1);
    ct_stream_init(stream);
    stream->type = CT_I64;
    ct_stream_add_axis(stream, "time", -1);
    ct_stream_add_axis(stream, "lane", N_LANES)->loses = TRUE;
    g_ptr_array_add(chain->streams, stream);
    return stream;
}

static inline CtLayout
layout(const char *text)
{
    CtLayout parsed;
    g_autoptr(GError) error = NULL;
    ct_layout_parse(&parsed, text, &error);
    g_assert_no_error(error);
    return parsed;
}

/* Adds a node that reads `input` (−1: it is a source), with an output that nothing reads yet;
 * returns it. */
static inline guint
add_node(Chain *chain, const char *name, const CtStage *stage, const CtVariant *variant, gint input,
         CtFootprint footprint, Test *test)
{
    Node *state = g_new0(Node, 1);
    state->state.test = test;
    state->state.window = footprint.window;
    state->state.hop = footprint.hop;
    g_ptr_array_add(chain->states, state);
    CtPlanNode *node = g_new0(CtPlanNode, 1);
    node->place = CT_HOST;
    node->queue = -1;
    node->numa = CT_NO_NUMA;
    node->name = g_strdup(name);
    node->variant = variant;
    node->nodes = g_new0(CtNode, 1);
    node->nodes[0] = (CtNode){.name = node->name, .stage = stage, .input_names = (gpointer)state};
    node->n_nodes = 1;
    node->footprint = footprint;
    const guint index = chain->plan.nodes->len;
    if (input >= 0) {
        CtPlanLink *link = chain->plan.links->pdata[input];
        node->n_inputs = 1;
        node->inputs = g_new(gint, 1);
        node->inputs[0] = input;
        node->input_bindings = g_new0(CtBinding, 1);
        node->input_bindings[0] = (CtBinding){.stream = link->stream, .layout = link->layout};
        const CtPlanReader reader = {index, 0};
        g_array_append_val(link->readers, reader);
    }
    g_ptr_array_add(chain->plan.nodes, node);
    return index;
}

/* Makes the stage of the node mark samples that `mark` divides. */
static inline void
mark_node(Chain *chain, guint node, gint64 mark)
{
    CtPlanNode *planned = chain->plan.nodes->pdata[node];
    planned->nodes[0].stage = &marking_stage;
    ((Node *)chain->states->pdata[node])->state.mark = mark;
}

static inline gint
add_output(Chain *chain, guint writer, const char *text, gint64 max_samples, gint64 ticks)
{
    CtPlanNode *node = chain->plan.nodes->pdata[writer];
    CtPlanLink *link = g_new0(CtPlanLink, 1);
    link->place = CT_HOST;
    link->numa = CT_NO_NUMA;
    CtStream *stream = new_stream(chain);
    stream->ticks_per_sample = ticks;
    link->writer = writer;
    link->stream = stream;
    link->layout = layout(text);
    link->granule = strstr(text, "time:4") ? 4 : 1;
    link->max_samples = (max_samples + link->granule - 1) / link->granule * link->granule;
    link->readers = g_array_new(FALSE, TRUE, sizeof(CtPlanReader));
    node->n_outputs = 1;
    node->outputs = g_new(gint, 1);
    node->outputs[0] = (gint)chain->plan.links->len;
    node->output_bindings = g_new0(CtBinding, 1);
    node->output_bindings[0] =
        (CtBinding){.stream = stream, .layout = link->layout, .max_samples = link->max_samples};
    g_ptr_array_add(chain->plan.links, link);
    return node->outputs[0];
}

/* Gives the rings the least size that the planner's rule allows. */
static inline void
size_rings(Chain *chain)
{
    for (guint l = 0; l < chain->plan.links->len; l++) {
        CtPlanLink *link = chain->plan.links->pdata[l];
        gint64 most = 1;
        for (guint r = 0; r < link->readers->len; r++) {
            const CtPlanReader *reader = &g_array_index(link->readers, CtPlanReader, r);
            CtPlanNode *node = chain->plan.nodes->pdata[reader->node];
            gint64 want = 1;
            if (node->n_outputs > 0) {
                const CtPlanLink *out = chain->plan.links->pdata[node->outputs[0]];
                const CtFootprint *rule = &node->footprint;
                const gboolean is_sum = rule->kind == CT_FOOTPRINT_SUM;
                const gint64 one = is_sum ? 1 : MAX(rule->window, rule->hop);
                const gint64 firing = is_sum ? out->granule : out->max_samples;
                want = (firing - 1) * rule->hop + one;
                link->history = MAX(link->history, (out->granule - 1) * rule->hop + one - 1);
            }
            most = MAX(most, want);
        }
        link->history = (link->history + link->granule - 1) / link->granule * link->granule;
        link->capacity = 2 * link->max_samples + most;
        link->capacity = (link->capacity + link->granule - 1) / link->granule * link->granule;
        for (guint r = 0; r < link->readers->len; r++) {
            const CtPlanReader *reader = &g_array_index(link->readers, CtPlanReader, r);
            CtPlanNode *node = chain->plan.nodes->pdata[reader->node];
            node->input_bindings[0].max_samples = link->history + link->capacity;
        }
    }
}

static inline void
chain_init(Chain *chain, guint n_workers)
{
    *chain = (Chain){
        .plan = {.n_workers = n_workers,
                 .processors = {.processors = ct_topology_processors(), .n_numas = 1},
                 .nodes = g_ptr_array_new(),
                 .links = g_ptr_array_new(),
                 .queues = g_array_new(FALSE, FALSE, sizeof(CtPlanQueue)),
                 .n_in_flight = 3},
        .streams = g_ptr_array_new_with_free_func(g_free),
        .states = g_ptr_array_new_with_free_func(g_free),
    };
    CtPlanProcessors *found = &chain->plan.processors;
    found->workers = g_array_new(FALSE, FALSE, sizeof(CtProcessor));
    for (guint w = 0; w < n_workers; w++)
        g_array_append_vals(
            found->workers,
            &g_array_index(found->processors, CtProcessor, w % found->processors->len), 1);
}

static inline void
chain_clear(Chain *chain)
{
    for (guint i = 0; i < chain->plan.nodes->len; i++) {
        CtPlanNode *node = chain->plan.nodes->pdata[i];
        g_free(node->name);
        g_free(node->nodes);
        g_free(node->inputs);
        g_free(node->outputs);
        g_free(node->input_bindings);
        g_free(node->output_bindings);
        g_free(node);
    }
    for (guint i = 0; i < chain->plan.links->len; i++) {
        CtPlanLink *link = chain->plan.links->pdata[i];
        g_array_free(link->readers, TRUE);
        g_free(link);
    }
    g_ptr_array_free(chain->plan.nodes, TRUE);
    g_ptr_array_free(chain->plan.links, TRUE);
    g_array_free(chain->plan.queues, TRUE);
    g_array_free(chain->plan.processors.processors, TRUE);
    g_array_free(chain->plan.processors.workers, TRUE);
    for (guint i = 0; i < chain->streams->len; i++)
        ct_stream_clear(chain->streams->pdata[i]);
    g_ptr_array_free(chain->streams, TRUE);
    for (guint i = 0; i < chain->states->len; i++) {
        Node *node = chain->states->pdata[i];
        g_clear_pointer(&node->state.random, g_rand_free);
    }
    g_ptr_array_free(chain->states, TRUE);
}

static inline void
test_init(Test *test, gint64 n_samples)
{
    *test = (Test){
        .n_samples = n_samples,
        .fail_at = -1,
        .first_tick = 1000,
        .values = g_array_new(FALSE, FALSE, sizeof(gint64)),
        .validity = g_array_new(FALSE, FALSE, 1),
    };
}

static inline void
test_clear(Test *test)
{
    g_array_free(test->values, TRUE);
    g_array_free(test->validity, TRUE);
}

/* ---- expected outputs ---- */

static inline void
expect(GArray *values, GArray *validity, gint64 n, const CtFootprint *rule)
{
    const gint64 *x = (gpointer)values->data;
    const guint8 *valid = (gpointer)validity->data;
    g_autoptr(GArray) y = g_array_new(FALSE, FALSE, sizeof(gint64));
    g_autoptr(GArray) ok = g_array_new(FALSE, FALSE, 1);
    const gboolean is_sum = rule->kind == CT_FOOTPRINT_SUM;
    for (gint64 from = 0; is_sum ? from < n : from + rule->window <= n; from += rule->hop)
        for (gint64 l = 0; l < N_LANES; l++) {
            const gint64 end = MIN(n, from + (is_sum ? rule->hop : rule->window));
            gint64 sum = 0;
            guint8 all = 1, any = 0;
            for (gint64 t = from; t < end; t++) {
                sum += (is_sum ? 1 : t - from + 1) * x[t * N_LANES + l];
                all &= valid[t * N_LANES + l];
                any |= valid[t * N_LANES + l];
            }
            const guint8 good = is_sum ? any : all;
            sum = good ? sum : 0;
            g_array_append_val(y, sum);
            g_array_append_val(ok, good);
        }
    g_array_set_size(values, 0);
    g_array_append_vals(values, y->data, y->len);
    g_array_set_size(validity, 0);
    g_array_append_vals(validity, ok->data, ok->len);
}

/* Marks samples that `mark` divides. */
static inline void
expect_marks(GArray *values, GArray *validity, gint64 mark)
{
    for (guint i = 0; i < values->len; i++)
        if (g_array_index(values, gint64, i) % mark == 0)
            g_array_index(values, gint64, i) = g_array_index(validity, guint8, i) = 0;
}

static inline void
expect_source(const Test *test, GArray *values, GArray *validity)
{
    for (gint64 t = 0; t < test->n_samples; t++)
        for (gint64 l = 0; l < N_LANES; l++) {
            const guint8 good = !is_lost(test, t, l);
            const gint64 x = good ? value(t, l) : 0;
            g_array_append_val(values, x);
            g_array_append_val(validity, good);
        }
}

static inline void
run(Chain *chain, gboolean poison, GError **error)
{
    size_rings(chain);
    const CtRunOptions options = {.poison = poison};
    g_autoptr(CtScheduler) scheduler = ct_scheduler_new(&chain->plan, &options, error);
    g_assert_nonnull(scheduler);
    g_assert_true(ct_scheduler_start(scheduler, NULL));
    g_assert_true(ct_scheduler_wait(scheduler, 60));
    ct_scheduler_result(scheduler, error);
}

static const char *const layouts[] = {"i64[time lane]", "i64[lane time]", "i64[lane time time:4]",
                                      "i64[time lane time:4]"};

static const CtFootprint sample = {.window = 1, .hop = 1};
