/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of a device's arena: which links share bytes, and that sharing loses no samples and stops
 * no node, by counting samples through graphs in any order. */
#include "plan/plan-sizes.h"
#include "planning.h"

/* Blocks are 1 MiB: 2048 samples of 8 channels, 4 stations, 2 pols, cf32. */
static const CtPlanOptions with_device = {
    .n_workers = 2,
    .backend = CT_N_BACKENDS,
    .cache_bytes = 1 << 20,
    .device_bytes = 1 << 20,
    .n_devices = 2,
    .devices = devices,
};

static const CtPlanLink *
link_at(const CtPlan *plan, guint i)
{
    return g_ptr_array_index(plan->links, i);
}

static const CtPlanNode *
node_at(const CtPlan *plan, guint i)
{
    return g_ptr_array_index(plan->nodes, i);
}

/* ---- shared bytes ---- */

/* The first and the last of three links in a row share bytes; links with a history, or between
 * queues, have bytes of their own. */
static void
test_transient(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    plan(fixture,
         "  s: {stage: test.source, samples: -1, backend: cuda}\n"
         "  a: {stage: test.pass, from: s, backend: cuda}\n"
         "  b: {stage: test.pass, from: a, backend: cuda}\n"
         "  c: {stage: test.window, from: b, backend: cuda}\n"
         "  w: {stage: test.window, from: c, window: 3, backend: cuda}\n"
         "  v: {stage: test.window, from: w, hop: 50, sum: true, backend: cuda}\n"
         "  o: {stage: test.sink, from: v}\n",
         &with_device);
    const CtPlanLink *s = link_of(fixture, "s", 0), *a = link_of(fixture, "a", 0);
    const CtPlanLink *b = link_of(fixture, "b", 0), *c = link_of(fixture, "c", 0);
    const CtPlanLink *w = link_of(fixture, "w", 0), *v = link_of(fixture, "v", 0);
    g_assert_true(s->transient && a->transient && b->transient && w->transient);
    g_assert_false(c->transient || v->transient);
    g_assert_cmpint(a->group, ==, s->group);
    g_assert_cmpint(b->group, ==, s->group);
    g_assert_cmpint(w->group, !=, s->group);
    g_assert_cmpuint(s->offset, ==, 0);
    g_assert_cmpuint(a->offset, ==, 1 << 20);
    g_assert_cmpuint(b->offset, ==, 0);
    g_assert_cmpuint(c->offset, ==, 2 << 20);
    g_assert_cmpuint(w->offset, >=, c->offset + c->bytes);
    g_assert_cmpuint(v->offset, >=, w->offset + w->bytes);
    g_assert_cmpuint(fixture->plan->device_bytes[0], >=, v->offset + v->bytes);
    g_assert_cmpuint(fixture->plan->device_bytes[0], <, v->offset + v->bytes + 256);
}

static guint
last_reader(const CtPlanLink *link)
{
    guint last = link->writer;
    for (guint r = 0; r < link->readers->len; r++)
        last = MAX(last, g_array_index(link->readers, CtPlanReader, r).node);
    return last;
}

/* Whether both are in use while some node fires. */
static gboolean
live_together(const CtPlan *plan, const CtPlanLink *a, const CtPlanLink *b)
{
    for (guint n = 0; n < plan->nodes->len; n++) {
        if (a->writer <= n && n <= last_reader(a) && b->writer <= n && n <= last_reader(b))
            return TRUE;
    }
    return FALSE;
}

static gboolean
overlap(const CtPlanLink *a, const CtPlanLink *b)
{
    return a->place != CT_HOST && a->place == b->place && a->offset < b->offset + b->bytes &&
           b->offset < a->offset + a->bytes;
}

/* Checks that links on devices only share bytes if they may; returns the number of pairs that
 * share. */
static guint
check_arena(const CtPlan *plan)
{
    guint n_shared = 0;
    for (guint l = 0; l < plan->links->len; l++) {
        const CtPlanLink *link = link_at(plan, l);
        if (link->place == CT_HOST) {
            g_assert_false(link->transient);
            continue;
        }
        g_assert_cmpuint(link->offset % 256, ==, 0);
        g_assert_cmpuint(link->offset + link->bytes, <=, plan->device_bytes[link->place]);
        gint64 length[CT_MAX_AXES], stride[CT_MAX_AXES];
        ct_layout_strides(&link->layout, link->stream, link->history + link->capacity, length,
                          stride);
        for (gint axis = 0; axis < ct_layout_axis(&link->layout, "time"); axis++)
            g_assert_cmpint(stride[axis] % 16, ==, 0);
        for (guint k = 0; k < l; k++) {
            const CtPlanLink *other = link_at(plan, k);
            if (!overlap(link, other))
                continue;
            n_shared++;
            g_assert_true(link->transient && other->transient);
            g_assert_cmpint(link->group, ==, other->group);
            g_assert_false(live_together(plan, link, other));
        }
    }
    return n_shared;
}

/* ---- a scheduler that only counts ---- */

typedef struct {
    const CtPlan *plan;
    gint64 length; /* of each source */
    gint64 *written;
    gint64 *left;    /* [node] for a source: samples left; for a sum: samples summed so far */
    gboolean *ended; /* [node] */
    gint64 **read;   /* [link][reader] */
} Count;

/* Whether a reader of the link has not read all samples yet; a node that has ended needs none. */
static gboolean
wants(const Count *count, guint l, guint r)
{
    const CtPlanLink *link = link_at(count->plan, l);
    const guint node = g_array_index(link->readers, CtPlanReader, r).node;
    return !count->ended[node] && count->read[l][r] < count->written[l];
}

static gint64
slowest(const Count *count, guint l)
{
    gint64 least = count->written[l];
    for (guint r = 0; r < link_at(count->plan, l)->readers->len; r++) {
        if (wants(count, l, r))
            least = MIN(least, count->read[l][r]);
    }
    return least;
}

static guint
next_reader(const Count *count, guint l)
{
    const CtPlanLink *link = link_at(count->plan, l);
    guint next = G_MAXUINT;
    for (guint r = 0; r < link->readers->len; r++) {
        if (wants(count, l, r))
            next = MIN(next, g_array_index(link->readers, CtPlanReader, r).node);
    }
    return next;
}

static gint64 *
position(const Count *count, guint n, guint port)
{
    const guint l = (guint)node_at(count->plan, n)->inputs[port];
    const CtPlanLink *link = link_at(count->plan, l);
    for (guint r = 0; r < link->readers->len; r++) {
        const CtPlanReader *reader = &g_array_index(link->readers, CtPlanReader, r);
        if (reader->node == n && reader->port == port)
            return &count->read[l][r];
    }
    g_assert_not_reached();
}

/* Whether the outputs have room, and the rule for transient links allows the node to write them. */
static gboolean
may_write(const Count *count, guint n)
{
    const CtPlanNode *node = node_at(count->plan, n);
    for (guint o = 0; o < node->n_outputs; o++) {
        if (node->outputs[o] < 0)
            continue;
        const guint l = (guint)node->outputs[o];
        const CtPlanLink *link = link_at(count->plan, l);
        const gint64 stands = count->written[l] - slowest(count, l);
        if (stands + link->max_samples > link->capacity + link->history)
            return FALSE;
        for (guint k = 0; link->transient && k < count->plan->links->len; k++) {
            const CtPlanLink *other = link_at(count->plan, k);
            if (other->transient && other->group == link->group &&
                slowest(count, k) < count->written[k] &&
                (other->writer >= n || next_reader(count, k) < n))
                return FALSE;
        }
    }
    return TRUE;
}

static void
write(Count *count, guint n, gint64 samples)
{
    const CtPlanNode *node = node_at(count->plan, n);
    for (guint o = 0; o < node->n_outputs && samples > 0; o++) {
        if (node->outputs[o] < 0)
            continue;
        const guint l = (guint)node->outputs[o];
        for (guint k = 0; k < count->plan->links->len; k++) {
            /* All samples in these bytes have been read. */
            if (k != l && overlap(link_at(count->plan, l), link_at(count->plan, k)))
                g_assert_cmpint(slowest(count, k), ==, count->written[k]);
        }
        count->written[l] += samples;
    }
}

/* The most samples that the outputs take; 0: nothing reads them. */
static gint64
most(const Count *count, const CtPlanNode *node)
{
    gint64 samples = G_MAXINT64;
    for (guint o = 0; o < node->n_outputs; o++) {
        if (node->outputs[o] >= 0)
            samples = MIN(samples, link_at(count->plan, (guint)node->outputs[o])->max_samples);
    }
    return samples < G_MAXINT64 ? samples : 0;
}

/* The samples that all inputs of the node have, and whether no more will come. FALSE: weights have
 * not come yet. */
static gboolean
look(const Count *count, guint n, gint64 *stands, gboolean *is_source, gboolean *over)
{
    const CtPlanNode *node = node_at(count->plan, n);
    *stands = G_MAXINT64;
    *is_source = TRUE;
    *over = FALSE;
    for (guint i = 0; i < node->n_inputs; i++) {
        if (node->inputs[i] < 0)
            continue;
        const guint l = (guint)node->inputs[i];
        if (!ct_plan_flows(count->plan, node, i)) {
            *is_source = FALSE;
            if (ct_stream_axis(link_at(count->plan, l)->stream, "time") >= 0)
                continue;
            if (count->written[l] == 0)
                return FALSE;
            continue;
        }
        *is_source = FALSE;
        const gint64 here = count->written[l] - *position(count, n, i);
        *stands = MIN(*stands, MIN(here, node->input_bindings[i].max_samples));
        *over |= count->ended[link_at(count->plan, l)->writer] &&
                 here <= node->input_bindings[i].max_samples;
    }
    return TRUE;
}

static void
take(Count *count, guint n, gint64 samples)
{
    const CtPlanNode *node = node_at(count->plan, n);
    for (guint i = 0; i < node->n_inputs; i++) {
        if (node->inputs[i] >= 0)
            *position(count, n, i) += samples;
    }
}

/* Fires the node; returns whether that had any effect. */
static gboolean
fire(Count *count, guint n, GRand *random)
{
    const CtPlanNode *node = node_at(count->plan, n);
    gint64 stands;
    gboolean is_source, over;
    if (count->ended[n] || !look(count, n, &stands, &is_source, &over) || !may_write(count, n))
        return FALSE;
    const gint64 room = most(count, node);
    if (is_source) {
        const gint64 samples = room ? g_rand_int_range(random, 1, (gint32)room + 1) : 1000;
        write(count, n, MIN(count->left[n], samples));
        count->left[n] -= MIN(count->left[n], samples);
        count->ended[n] = count->left[n] == 0;
        return TRUE;
    }
    /* A stream without time is one block. */
    if (stands == G_MAXINT64) {
        take(count, n, 1);
        write(count, n, 1);
        count->ended[n] = TRUE;
        return TRUE;
    }
    /* Weights may change at any sample. */
    gboolean has_weights = FALSE;
    for (guint i = 0; i < node->n_inputs; i++)
        has_weights |= node->inputs[i] >= 0 && !ct_plan_flows(count->plan, node, i);
    if (has_weights && stands > 1 && g_rand_boolean(random)) {
        stands = g_rand_int_range(random, 1, (gint32)stands);
        over = FALSE;
    }
    const CtFootprint *rule = &node->footprint;
    gint64 made = 0, taken = stands;
    if (room == 0) {
        /* A sink takes all samples. */
    } else if (rule->kind == CT_FOOTPRINT_SUM) {
        taken = MIN(stands, room * rule->hop - count->left[n]);
        made = (count->left[n] + taken) / rule->hop;
        count->left[n] = (count->left[n] + taken) % rule->hop;
        over &= taken == stands;
        if (over && count->left[n] > 0 && made < room) {
            made++;
            count->left[n] = 0;
        }
        over &= count->left[n] == 0;
    } else {
        const gint64 one = MAX(rule->window, rule->hop);
        made = MIN(stands >= one ? (stands - one) / rule->hop + 1 : 0, room);
        taken = made * rule->hop;
        over &= stands - taken < one;
    }
    take(count, n, over ? stands : taken);
    write(count, n, made);
    count->ended[n] = over;
    return over || taken > 0;
}

/* Fires nodes in any order until all have ended; fails if they can't. */
static void
count_through(const CtPlan *plan, GRand *random, const char *graph)
{
    const guint n = plan->nodes->len;
    Count count = {plan,
                   0,
                   g_new0(gint64, plan->links->len + 1),
                   g_new0(gint64, n + 1),
                   g_new0(gboolean, n + 1),
                   g_new0(gint64 *, plan->links->len + 1)};
    for (guint l = 0; l < plan->links->len; l++)
        count.read[l] = g_new0(gint64, link_at(plan, l)->readers->len + 1);
    for (guint i = 0; i < n; i++) {
        const CtPlanNode *node = node_at(plan, i);
        if (node->n_inputs == 0)
            count.left[i] = 5000;
        else if (node->footprint.kind != CT_FOOTPRINT_SUM)
            count.left[i] = 1;
    }
    for (guint idle = 0; idle < 50 * n;) {
        const guint node = (guint)g_rand_int_range(random, 0, (gint32)n);
        idle = fire(&count, node, random) ? 0 : idle + 1;
    }
    for (guint i = 0; i < n; i++) {
        if (!count.ended[i])
            g_error("'%s' stands still: %s", node_at(plan, i)->name, graph);
    }
    for (guint l = 0; l < plan->links->len; l++)
        g_free(count.read[l]);
    g_free(count.read);
    g_free(count.written);
    g_free(count.left);
    g_free(count.ended);
}

/* Nodes on any place, each with one or two inputs from earlier nodes. */
static char *
random_graph(GRand *random)
{
    static const char *const backends[] = {"cuda", "cuda", "cuda", "cuda", "'cuda:1'", "cpu"};
    static const char *const layouts[] = {"[time channel station pol]",
                                          "[channel time station pol]"};
    const guint n = (guint)g_rand_int_range(random, 3, 16);
    GString *text = g_string_new(NULL);
    g_string_append_printf(text, "  n0: {stage: test.source, samples: 5000, backend: %s}\n",
                           backends[g_rand_int_range(random, 0, 6)]);
    g_string_append(text, "  weights: {stage: test.weights, from: n0}\n");
    for (guint i = 1; i < n; i++) {
        const gint from =
            g_rand_int_range(random, 0, 4) ? (gint)i - 1 : g_rand_int_range(random, 0, (gint)i);
        const gint other = g_rand_int_range(random, 0, (gint)i);
        const char *backend = backends[g_rand_int_range(random, 0, 6)];
        switch (g_rand_int_range(random, 0, 10)) {
        case 0:
            g_string_append_printf(text,
                                   "  n%u: {stage: test.many, from: [n%d, n%d], backend: %s}\n", i,
                                   from, other, backend);
            break;
        case 1:
            g_string_append_printf(text,
                                   "  n%u: {stage: test.two, from: [n%d, weights], backend: %s}\n",
                                   i, from, backend);
            break;
        case 2:
        case 3:
            g_string_append_printf(
                text, "  n%u: {stage: test.window, from: n%d, window: %d, backend: %s}\n", i, from,
                g_rand_int_range(random, 1, 12), backend);
            break;
        case 4:
            g_string_append_printf(text,
                                   "  n%u: {stage: test.channel-first, from: n%d, backend: %s}\n",
                                   i, from, backend);
            break;
        case 5:
            g_string_append_printf(
                text, "  t%u: {stage: test.window, from: n%d, hop: %d, sum: %s, backend: %s}\n", i,
                from, g_rand_int_range(random, 1, 50), g_rand_boolean(random) ? "true" : "false",
                backend);
            g_string_append_printf(text, "  e%u: {stage: test.sink, from: t%u}\n", i, i);
            /* fall through */
        default:
            g_string_append_printf(text, "  n%u: {stage: test.pass, from: n%d, backend: %s}\n", i,
                                   from, backend);
        }
    }
    g_string_append_printf(text, "  o: {stage: test.sink, from: n%u, layout: '%s'}\n", n - 1,
                           layouts[g_rand_int_range(random, 0, 2)]);
    return g_string_free(text, FALSE);
}

static void
test_random(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    g_autoptr(GRand) random = g_rand_new_with_seed((guint32)g_test_rand_int());
    guint n_shared = 0, n_graphs = 0;
    for (guint trial = 0; trial < 400; trial++) {
        CtPlanOptions options = with_device;
        options.device_bytes = 100000;
        options.cache_bytes = 30000;
        options.n_in_flight = (guint)g_rand_int_range(random, 1, 5);
        options.no_peers = g_rand_boolean(random);
        g_autofree char *text = random_graph(random);
        plan(fixture, text, &options);
        const guint shared = check_arena(fixture->plan);
        n_shared += shared;
        n_graphs += shared > 0;
        count_through(fixture->plan, random, text);
    }
    g_test_message("%u pairs of links share bytes in %u graphs", n_shared, n_graphs);
    g_assert_cmpuint(n_graphs, >, 5);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/plan-arena/transient", Fixture, NULL, set_up, test_transient, tear_down);
    g_test_add("/plan-arena/random", Fixture, NULL, set_up, test_random, tear_down);
    return g_test_run();
}
