/* SPDX-License-Identifier: BSD-3-Clause */
/* Whole graphs as contenders, fed with random blocks. */
#include "runs.h"

#include "measure/moment.h"
#include "run/scheduler.h"

#include <math.h>
#include <string.h>

/* The number of blocks before the measurement: by then rings have been filled and kernels
 * compiled. */
#define N_SKIPPED 4
/* The least number of blocks in a run. */
#define N_LEAST 4

Run *
run_new(const Choices *choices, const char *name, const char *stages, GHashTable *fixed,
        const char *counted, gint64 n_samples, GError **error)
{
    g_autoptr(Run) run = g_new0(Run, 1);
    CtPlanOptions options = choices->options;
    options.fixed = fixed;
    run->name = g_strdup(name);
    run->fixed = fixed;
    run->counted = counted;
    run->n_samples = n_samples;
    run->wall = g_array_new(FALSE, FALSE, sizeof(gdouble));
    run->costs = g_array_new(FALSE, FALSE, sizeof(gdouble));
    run->nodes = g_array_new(FALSE, TRUE, sizeof(GArray *));
    run->parsed = parsed_graph_new(choices, stages, error);
    if (run->parsed)
        run->plan = ct_plan_new(run->parsed->graph, choices->registry, &options, error);
    if (!run->plan)
        return NULL;
    for (guint i = 0; i < run->plan->nodes->len; i++) {
        GArray *seconds = g_array_new(FALSE, FALSE, sizeof(gdouble));
        g_array_append_val(run->nodes, seconds);
    }
    return g_steal_pointer(&run);
}

void
run_free(Run *run)
{
    if (!run)
        return;
    ct_plan_free(run->plan);
    parsed_graph_free(run->parsed);
    if (run->fixed)
        g_hash_table_unref(run->fixed);
    for (guint i = 0; i < run->nodes->len; i++)
        g_array_unref(g_array_index(run->nodes, GArray *, i));
    g_array_unref(run->nodes);
    g_array_unref(run->wall);
    g_array_unref(run->costs);
    g_free(run->failure);
    g_free(run->name);
    g_free(run);
}

static const CtPlanNode *
node_at(const Run *run, guint i)
{
    return g_ptr_array_index(run->plan->nodes, i);
}

static guint
find_node(const Run *run, const char *name)
{
    for (guint i = 0; i < run->plan->nodes->len; i++)
        if (g_str_equal(node_at(run, i)->name, name))
            return i;
    g_error("no node '%s' in the plan", name);
}

/* ---- blocks ---- */

/* Random bytes in the memory of the source's place. */
typedef struct {
    CtDevice *device; /* NULL: on the host */
    gpointer memory;
    void *pinned;
} Bytes;

static void
bytes_clear(Bytes *bytes)
{
    if (!bytes->device)
        g_free(bytes->memory);
    else if (bytes->pinned)
        ct_device_driver(bytes->device)->host_free(bytes->pinned);
    else
        ct_device_free(bytes->device, bytes->memory);
}

static void
fill(guint64 *words, gsize n_bytes)
{
    guint64 x = 88172645463325252u;
    for (gsize i = 0; i < n_bytes / sizeof *words; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        words[i] = x;
    }
}

/* Makes the memory that the source's node reads, on its place; on the host it is pinned if the data
 * go to a device. */
static gboolean
bytes_init(Bytes *bytes, const Choices *choices, gint place, gsize n_bytes, GError **error)
{
    CtDevice *device = choices->device;
    *bytes = (Bytes){.device = device};
    if (!device) {
        bytes->memory = g_malloc(n_bytes);
        fill(bytes->memory, n_bytes);
        return TRUE;
    }
    const CtCudaDriver *driver = ct_device_driver(device);
    if (!ct_device_enter(device, error) ||
        !ct_device_check(device, driver->host_alloc(&bytes->pinned, n_bytes, 0), error, "a block"))
        return FALSE;
    fill(bytes->pinned, n_bytes);
    bytes->memory = bytes->pinned;
    if (place == CT_HOST)
        return TRUE;
    bytes->memory = ct_device_alloc(device, n_bytes, "a block", error);
    const gboolean there =
        bytes->memory && ct_device_upload(device, bytes->memory, bytes->pinned, n_bytes, error);
    driver->host_free(g_steal_pointer(&bytes->pinned));
    return there;
}

/* ---- a run ---- */

typedef struct {
    CtMoment moment;
    gdouble consumed;
    gdouble *seconds; /* [node] */
} Mark;

static void
mark(const Run *run, CtScheduler *scheduler, Mark *mark)
{
    CtNodeStats stats;
    mark->moment = ct_moment_of_process();
    mark->seconds = g_new0(gdouble, run->plan->nodes->len);
    for (guint i = 0; i < run->plan->nodes->len; i++) {
        ct_scheduler_stats(scheduler, i, &stats);
        const gboolean on_host = node_at(run, i)->place == CT_HOST;
        mark->seconds[i] = stats.work_seconds + (on_host ? stats.core_seconds : 0);
    }
    ct_scheduler_stats(scheduler, find_node(run, run->counted), &stats);
    mark->consumed = (gdouble)stats.consumed;
}

static gboolean
feed(const Run *run, const Choices *choices, CtScheduler *scheduler, gpointer memory, Mark *begin,
     Mark *end, GError **error)
{
    const guint source = find_node(run, "source");
    const CtBinding *binding = &node_at(run, source)->output_bindings[0];
    CtBlock block = {
        .data = memory,
        .type = binding->stream->type,
        .n_axes = binding->layout.n_axes,
        .n_samples = run->n_samples,
    };
    ct_layout_strides(&binding->layout, binding->stream, block.n_samples, block.length,
                      block.stride);
    const gint64 wanted = (gint64)(choices->seconds * 1e6);
    gint64 started = 0;
    if (!ct_scheduler_start(scheduler, error))
        return FALSE;
    for (guint b = 0;; b++) {
        if (b == N_SKIPPED) {
            mark(run, scheduler, begin);
            started = g_get_monotonic_time();
        }
        if (b >= N_SKIPPED + N_LEAST && g_get_monotonic_time() - started >= wanted)
            break;
        if (!ct_scheduler_feed(scheduler, source, &block, &(CtFeed){.seconds = -1}, error))
            break;
    }
    ct_scheduler_feed_end(scheduler, source);
    ct_scheduler_wait(scheduler, -1);
    mark(run, scheduler, end);
    return begin->seconds && ct_scheduler_result(scheduler, error);
}

static void
note(Run *run, const Mark *begin, const Mark *end)
{
    const guint n_workers = run->plan->n_workers;
    const gdouble samples = end->consumed - begin->consumed;
    const gdouble wall =
        (gdouble)ct_moments_between(&begin->moment, &end->moment, n_workers) * 1e-9 / samples;
    gdouble all = 0;
    for (guint i = 0; i < run->nodes->len; i++) {
        const gdouble seconds = (end->seconds[i] - begin->seconds[i]) / samples;
        g_array_append_val(g_array_index(run->nodes, GArray *, i), seconds);
        all += seconds / n_workers;
    }
    const gdouble cost = run->plan->n_devices > 0 ? wall : all;
    g_array_append_val(run->wall, wall);
    g_array_append_val(run->costs, cost);
}

gboolean
run_measure(Run *run, const Choices *choices)
{
    const CtRunOptions options = {.pin = TRUE, .processor_time = TRUE};
    const CtPlanNode *source = node_at(run, find_node(run, "source"));
    const CtBinding *binding = &source->output_bindings[0];
    const gsize sample =
        (gsize)ct_stream_width(binding->stream) * ct_type_info(binding->stream->type)->bytes;
    g_autoptr(GError) error = NULL;
    Bytes bytes;
    Mark begin = {0}, end = {0};
    g_autoptr(CtScheduler) scheduler = NULL;
    if (run->failure)
        return FALSE;
    gboolean good =
        bytes_init(&bytes, choices, source->place, (gsize)run->n_samples * sample, &error);
    if (good)
        scheduler = ct_scheduler_new(run->plan, &options, &error);
    good = scheduler && feed(run, choices, scheduler, bytes.memory, &begin, &end, &error);
    if (good)
        note(run, &begin, &end);
    else
        run->failure = g_strdup(error ? error->message : "it ended too early");
    g_clear_pointer(&scheduler, ct_scheduler_free);
    bytes_clear(&bytes);
    g_free(begin.seconds);
    g_free(end.seconds);
    return good;
}

/* ---- results ---- */

gdouble
run_wall(const Run *run)
{
    return choices_median(run->wall);
}

gdouble
run_cost(const Run *run)
{
    return choices_median(run->costs);
}

gdouble
run_node(const Run *run, guint i)
{
    return choices_median(g_array_index(run->nodes, GArray *, i));
}

char *
run_describe(const Run *run)
{
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < run->plan->nodes->len; i++) {
        const CtPlanNode *node = node_at(run, i);
        if (node->n_outputs == 0)
            continue;
        CtLayout layout = node->output_bindings[0].layout;
        layout.types = 0;
        g_autofree char *order = ct_layout_to_string(&layout);
        if (node->n_inputs > 0)
            g_string_append_printf(text, " %s%s%s", node->inserted ? "+" : "",
                                   node->nodes[0].stage->name,
                                   node->place == CT_HOST ? "" : " (device)");
        if (node->n_inputs == 0 || !g_str_equal(node->name, run->counted))
            g_string_append_printf(text, "%s%s", text->len ? " " : "", order);
    }
    return g_string_free(text, FALSE);
}

guint
run_count_inserted(const Run *run, const char *stage)
{
    guint n = 0;
    for (guint i = 0; i < run->plan->nodes->len; i++)
        n += node_at(run, i)->inserted &&
             (!stage || g_str_equal(node_at(run, i)->nodes[0].stage->name, stage));
    return n;
}
