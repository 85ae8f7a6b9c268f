/* SPDX-License-Identifier: BSD-3-Clause */
/* The scheduler: fires the nodes of a plan on pinned workers until the sources end. This file has
 * its creation and its interface; its threads are in scheduler-work.c, and the steps of a firing in
 * scheduler-firing.c.
 *
 * One lock guards rings and node states; it is not held while plugins work or samples are copied. A
 * node begins one firing at a time: a thread gathers what its inputs hold and its outputs can take,
 * and lets it advance; the work is then given out in ranges to the workers that are free. Workers
 * serve the node nearest to the sinks first, so that a block is finished while it is in the cache
 * and rings stay short. Each node whose variant `waits` (for files or the network), and each
 * device, has a thread of its own, which runs the same steps alone. */
#include "change.h"
#include "model/memory.h"
#include "model/thread.h"
#include "scheduler-private.h"

#include <errno.h>
#include <string.h>
#include <time.h>

gint64
ct_scheduler_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (gint64)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- set-up ---- */

static CtRing *
new_ring(const CtScheduler *scheduler, guint link, GError **error)
{
    const CtPlanLink *planned = ct_plan_link(scheduler->plan, link);
    const CtPlanNode *writer = ct_plan_node(scheduler->plan, planned->writer);
    const gboolean on_host = planned->place == CT_HOST;
    if (!writer->variant->work)
        return ct_ring_new_fed(planned,
                               on_host ? NULL : scheduler->devices->devices[planned->place], error);
    guint8 *const *offered = scheduler->options.memory;
    if (offered && offered[link])
        return ct_ring_new(planned, offered[link], error);
    return ct_ring_new(planned, on_host ? NULL : ct_run_devices_memory(scheduler->devices, planned),
                       error);
}

/* Finds the nodes that serve static inputs only. Goes from the sinks to the sources, which are
 * first. */
static void
find_static(CtScheduler *scheduler)
{
    for (guint i = scheduler->n_nodes; i-- > 0;) {
        CtRunNode *node = &scheduler->nodes[i];
        guint n_readers = 0;
        gboolean all = TRUE;
        for (guint o = 0; o < node->n_outputs; o++) {
            const CtRing *ring = node->outputs[o].ring;
            for (guint r = 0; ring && r < ring->n_readers; r++, n_readers++) {
                const CtPlanReader *reader = &g_array_index(ring->link->readers, CtPlanReader, r);
                const CtRunNode *other = &scheduler->nodes[reader->node];
                all &= other->inputs[reader->port].is_static || other->serves_static;
            }
        }
        node->serves_static = all && n_readers > 0;
    }
}

static void
add_tuning_warnings(CtScheduler *scheduler)
{
    for (guint i = 0; i < scheduler->n_nodes; i++) {
        const CtPlanNode *node = scheduler->nodes[i].plan;
        const CtPlace *place = node->graph_node ? &node->graph_node->config->place : NULL;
        if (scheduler->nodes[i].warning)
            ct_warnings_add(scheduler->warnings, CT_WARNING_PLAN, node->name, place, "%s",
                            scheduler->nodes[i].warning);
    }
}

static gboolean
create_rings(CtScheduler *scheduler, GError **error)
{
    const CtPlan *plan = scheduler->plan;
    scheduler->rings = g_new0(CtRing *, plan->links->len + 1);
    for (; scheduler->n_rings < plan->links->len; scheduler->n_rings++) {
        GError *cause = NULL;
        CtRing *ring = new_ring(scheduler, scheduler->n_rings, &cause);
        if (!ring) {
            const CtPlanLink *link = ct_plan_link(plan, scheduler->n_rings);
            const CtRunNode writer = {.plan = ct_plan_node(plan, link->writer)};
            return ct_run_node_blame(&writer, error, cause);
        }
        scheduler->rings[scheduler->n_rings] = ring;
        ct_scheduler_bind_ring(scheduler, ring);
    }
    return TRUE;
}

static gboolean
create_nodes(CtScheduler *scheduler, GError **error)
{
    const GPtrArray *planned = scheduler->plan->nodes;
    scheduler->n_nodes = scheduler->unfinished = planned->len;
    scheduler->nodes = g_new0(CtRunNode, planned->len + 1);
    scheduler->own = g_new0(CtRunner *, planned->len + 1);
    scheduler->endpoints = g_new0(CtEndpoint *, planned->len + 1);
    for (guint i = 0; i < planned->len; i++) {
        CtRunNode *node = &scheduler->nodes[i];
        node->team = ct_scheduler_team_of_node(scheduler, planned->pdata[i]);
        if (!ct_run_node_init(node, planned->pdata[i], i, scheduler->rings, &scheduler->options,
                              node->team ? node->team->n_workers : scheduler->n_workers, error))
            return FALSE;
        node->config = scheduler->plan->graph ? scheduler->plan->graph->config : NULL;
        node->place = node->plan->queue < 0 ? &ct_place_host : &ct_place_device;
        scheduler->n_external += node->status == CT_NODE_EXTERNAL;
    }
    find_static(scheduler);
    return TRUE;
}

CtRunner *
ct_scheduler_add_runner(CtScheduler *scheduler)
{
    CtRunner *runner = &scheduler->runners[scheduler->n_runners];
    runner->scheduler = scheduler;
    runner->index = scheduler->n_runners++;
    runner->serves = runner->index >= scheduler->n_workers;
    runner->generation = runner->serves ? &runner->own_generation : &scheduler->generation;
    runner->team = runner->serves ? NULL : ct_scheduler_team_of_worker(scheduler, runner->index);
    runner->joint = g_ptr_array_sized_new(scheduler->n_nodes);
    pthread_cond_init(&runner->wake, NULL);
    return runner;
}

/* Adds the workers and the threads of devices; nodes that wait add their own. */
static void
create_runners(CtScheduler *scheduler)
{
    const CtPlan *plan = scheduler->plan;
    const guint n = scheduler->n_workers + (plan->queues->len > 0 ? plan->n_devices : 0);
    scheduler->runners = g_new0(CtRunner, n + scheduler->n_nodes);
    for (guint r = 0; r < n; r++)
        ct_scheduler_add_runner(scheduler);
}

static gboolean
prepare_nodes(CtScheduler *scheduler, GError **error)
{
    const gint64 from = ct_scheduler_now();
    CtVisit visit = {0};
    gboolean good = TRUE;
    for (guint i = 0; i < scheduler->n_nodes && good; i++) {
        ct_scheduler_visit(scheduler, &visit, (gint)i);
        good = scheduler->nodes[i].place->prepare(scheduler, i, error);
    }
    ct_scheduler_return(&visit);
    if (!good)
        return FALSE;
    add_tuning_warnings(scheduler);
    scheduler->setup.stages = (gdouble)(ct_scheduler_now() - from) * 1e-9;
    return TRUE;
}

/* Allocates the memory that the threads and the queues of devices need for the prepared nodes. */
static gboolean
allocate_scratch(CtScheduler *scheduler, GError **error)
{
    for (guint r = 0; r < scheduler->n_runners; r++) {
        CtRunner *runner = &scheduler->runners[r];
        runner->counters = g_new0(guint64, CT_MAX_COUNTERS);
        if (scheduler->scratch_bytes == 0)
            continue;
        runner->scratch = ct_memory_new(scheduler->scratch_bytes, "the scratch of a worker", error);
        if (!runner->scratch)
            return FALSE;
    }
    return !scheduler->devices || ct_run_devices_allocate_scratch(scheduler->devices, error);
}

static gboolean
set_up(CtScheduler *scheduler, GError **error)
{
    if (!ct_scheduler_open_devices(scheduler, error) || !create_rings(scheduler, error) ||
        !create_nodes(scheduler, error))
        return FALSE;
    create_runners(scheduler);
    scheduler->reread = ct_reread_new(scheduler);
    ct_scheduler_connect_devices(scheduler);
    return prepare_nodes(scheduler, error) && allocate_scratch(scheduler, error);
}

/* Sums up the preparation. Changes of parameters add to the costs of devices later. */
static void
count_setup(CtScheduler *scheduler)
{
    CtSetupStats *setup = &scheduler->setup;
    setup->all = (gdouble)(ct_scheduler_now() - scheduler->begun) * 1e-9;
    for (guint n = 0; scheduler->devices && n < scheduler->devices->n_devices; n++) {
        if (!scheduler->devices->devices[n])
            continue;
        const CtDeviceCosts costs = ct_device_costs(scheduler->devices->devices[n]);
        setup->devices += costs.open;
        setup->memory += costs.memory;
        setup->compile += costs.compile;
        setup->load += costs.load;
        setup->stages -= costs.compile + costs.load;
        setup->n_compiled += costs.n_compiled;
        setup->n_cached += costs.n_cached;
    }
    setup->stages = MAX(setup->stages, 0);
}

CtScheduler *
ct_scheduler_new(const CtPlan *plan, const CtRunOptions *options, GError **error)
{
    g_autoptr(CtScheduler) scheduler = g_new0(CtScheduler, 1);
    scheduler->begun = ct_scheduler_now();
    scheduler->plan = plan;
    scheduler->options = *options;
    scheduler->n_workers = plan->n_workers;
    /* With one processor, they only keep others waiting. */
    scheduler->spins = plan->processors.processors->len > 1;
    scheduler->warnings = ct_warnings_new();
    pthread_mutex_init(&scheduler->lock, NULL);
    pthread_mutex_init(&scheduler->changing, NULL);
    ct_thread_init_timed(&scheduler->over);
    ct_thread_init_timed(&scheduler->program);
    ct_scheduler_create_teams(scheduler);
    if (!set_up(scheduler, error))
        return NULL;
    ct_scheduler_reuse_memory(scheduler);
    count_setup(scheduler);
    return g_steal_pointer(&scheduler);
}

/* ---- from outside ---- */

static gboolean
start_runner(CtScheduler *scheduler, CtRunner *runner, GError **error)
{
    const char *kind = runner->serves ? "device" : "worker";
    GError *cause = NULL;
    runner->thread = ct_thread_start(runner->node ? runner->node->plan->name : kind,
                                     ct_scheduler_run, runner, &cause);
    scheduler->alive += runner->thread != NULL;
    if (runner->thread)
        return TRUE;
    if (runner->node)
        return ct_run_node_blame(runner->node, error, cause);
    g_propagate_prefixed_error(error, cause, "%s %u of %u: ", kind,
                               runner->index - (runner->serves ? scheduler->n_workers : 0) + 1,
                               runner->serves ? scheduler->plan->n_devices : scheduler->n_workers);
    return FALSE;
}

static void
begin_energy(CtScheduler *scheduler)
{
    const CtRunDevices *devices = scheduler->devices;
    const guint n = devices ? devices->n_devices : 0;
    g_autofree gboolean *uses = g_new0(gboolean, n);
    for (guint i = 0; i < n; i++)
        uses[i] = devices->devices[i] != NULL;
    if (scheduler->options.counts_energy)
        scheduler->energy = ct_energy_begin(uses, n);
}

gboolean
ct_scheduler_start(CtScheduler *scheduler, GError **error)
{
    GError *cause = NULL;
    CtVisit visit = {0};
    ct_scheduler_visit(scheduler, &visit, -1);
    pthread_mutex_lock(&scheduler->lock);
    scheduler->started = TRUE;
    scheduler->running = ct_scheduler_now();
    scheduler->stop = scheduler->unfinished == 0;
    scheduler->rests = scheduler->options.steps;
    begin_energy(scheduler);
    gboolean good = TRUE;
    for (guint r = 0; r < scheduler->n_runners && good; r++)
        good = start_runner(scheduler, &scheduler->runners[r], &cause);
    good = good && ct_scheduler_start_watchers(scheduler, &cause) &&
           ct_reread_start(scheduler->reread, &cause);
    if (!good) {
        ct_scheduler_fail(scheduler, g_error_copy(cause));
        g_propagate_error(error, cause);
    }
    pthread_mutex_unlock(&scheduler->lock);
    ct_scheduler_return(&visit);
    return good;
}

void
ct_scheduler_stop(CtScheduler *scheduler, GError *error)
{
    pthread_mutex_lock(&scheduler->lock);
    ct_scheduler_fail(scheduler, error);
    pthread_mutex_unlock(&scheduler->lock);
}

void
ct_scheduler_interrupt(CtScheduler *scheduler)
{
    pthread_mutex_lock(&scheduler->lock);
    scheduler->interrupted = TRUE;
    for (guint i = 0; i < scheduler->n_nodes; i++) {
        CtRunNode *node = &scheduler->nodes[i];
        if (!ct_run_node_is_source(node))
            continue;
        if (node->status == CT_NODE_EXTERNAL) {
            node->interrupted = TRUE;
            ct_scheduler_end_node(scheduler, node);
        } else {
            ct_scheduler_wake(scheduler, i);
        }
    }
    pthread_mutex_unlock(&scheduler->lock);
}

void
ct_scheduler_deadline(struct timespec *until, gdouble seconds)
{
    const gint64 ns = ct_scheduler_now() + (gint64)(MAX(seconds, 0) * 1e9);
    *until = (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
}

/* Frees the states of a run that is over, so that a fault of finish is an error of the run. */
static void
finish_states(CtScheduler *scheduler)
{
    pthread_mutex_lock(&scheduler->changing);
    for (guint i = 0; i < scheduler->n_nodes; i++) {
        CtRunNode *node = &scheduler->nodes[i];
        GError *cause = NULL;
        if (ct_run_node_finish(node, &cause))
            continue;
        pthread_mutex_lock(&scheduler->lock);
        ct_scheduler_fail_node(scheduler, node, cause);
        pthread_mutex_unlock(&scheduler->lock);
    }
    pthread_mutex_unlock(&scheduler->changing);
}

gboolean
ct_scheduler_wait(CtScheduler *scheduler, gdouble seconds)
{
    struct timespec until;
    ct_scheduler_deadline(&until, seconds);
    pthread_mutex_lock(&scheduler->lock);
    gboolean in_time = TRUE;
    while (scheduler->alive + scheduler->n_watching > 0 && in_time) {
        if (seconds < 0)
            pthread_cond_wait(&scheduler->over, &scheduler->lock);
        else
            in_time = pthread_cond_timedwait(&scheduler->over, &scheduler->lock, &until) == 0;
    }
    const gboolean over = scheduler->started && scheduler->alive + scheduler->n_watching == 0;
    const gboolean good = !scheduler->error;
    pthread_mutex_unlock(&scheduler->lock);
    if (over && good)
        finish_states(scheduler);
    return over;
}

gboolean
ct_scheduler_step(CtScheduler *scheduler, guint i, gint64 n, gdouble seconds)
{
    struct timespec until;
    ct_scheduler_deadline(&until, seconds);
    pthread_mutex_lock(&scheduler->lock);
    scheduler->stepper = i;
    scheduler->step_end = ct_scheduler_progress(&scheduler->nodes[i]) + n;
    scheduler->rests = FALSE;
    ct_scheduler_wake_all(scheduler);
    while (!scheduler->stop && !ct_scheduler_is_at_rest(scheduler)) {
        if (scheduler->rests)
            pthread_cond_wait(&scheduler->over, &scheduler->lock);
        else if (pthread_cond_timedwait(&scheduler->over, &scheduler->lock, &until) == ETIMEDOUT)
            scheduler->rests = TRUE;
    }
    const gboolean goes_on = !scheduler->stop;
    pthread_mutex_unlock(&scheduler->lock);
    return goes_on;
}

gboolean
ct_scheduler_result(CtScheduler *scheduler, GError **error)
{
    pthread_mutex_lock(&scheduler->lock);
    const gboolean good = !scheduler->error;
    if (!good && error)
        *error = g_error_copy(scheduler->error);
    pthread_mutex_unlock(&scheduler->lock);
    return good;
}

gboolean
ct_scheduler_is_interrupted(CtScheduler *scheduler)
{
    gboolean any = FALSE;
    pthread_mutex_lock(&scheduler->lock);
    for (guint i = 0; i < scheduler->n_nodes; i++)
        any |= scheduler->nodes[i].interrupted;
    pthread_mutex_unlock(&scheduler->lock);
    return any;
}

void
ct_scheduler_join_warnings(CtScheduler *scheduler, GPtrArray *warnings)
{
    pthread_mutex_lock(&scheduler->lock);
    ct_warnings_join(warnings, scheduler->warnings);
    pthread_mutex_unlock(&scheduler->lock);
}

void
ct_scheduler_stats(CtScheduler *scheduler, guint i, CtNodeStats *stats)
{
    const CtRunNode *node = &scheduler->nodes[i];
    pthread_mutex_lock(&scheduler->lock);
    *stats = (CtNodeStats){
        .node = node->plan,
        .firings = node->totals.firings,
        .samples = node->totals.samples,
        .consumed = node->totals.consumed,
        .invalid = node->totals.invalid,
        .work_seconds = (gdouble)node->totals.work_ns * 1e-9,
        .core_seconds = (gdouble)node->totals.core_ns * 1e-9,
        .ended = node->status == CT_NODE_ENDED,
        .n_counters = MIN(node->n_counters, G_N_ELEMENTS(stats->counters)),
    };
    memcpy(stats->counters, node->counters, stats->n_counters * sizeof *stats->counters);
    for (guint k = 0; k < node->n_inputs; k++) {
        const CtRing *ring = node->inputs[k].ring;
        if (ring && node->status != CT_NODE_ENDED)
            stats->fill =
                MAX(stats->fill, (gdouble)ct_ring_fill(ring) / (gdouble)MAX(ring->capacity, 1));
    }
    pthread_mutex_unlock(&scheduler->lock);
}

CtAccount *
ct_scheduler_accounts(CtScheduler *scheduler, guint i, guint *n)
{
    const CtRunAccounts *of = &scheduler->nodes[i].accounts;
    pthread_mutex_lock(&scheduler->lock);
    *n = of->n;
    CtAccount *accounts = g_memdup2(of->accounts, of->n * sizeof *accounts);
    pthread_mutex_unlock(&scheduler->lock);
    return accounts;
}

static void
clear_change(gpointer stats)
{
    g_free(((CtChangeStats *)stats)->shown);
}

GArray *
ct_scheduler_changes(CtScheduler *scheduler, guint64 *n_dropped)
{
    GArray *changes = g_array_new(FALSE, FALSE, sizeof(CtChangeStats));
    g_array_set_clear_func(changes, clear_change);
    *n_dropped = 0;
    pthread_mutex_lock(&scheduler->lock);
    for (guint i = 0; i < scheduler->n_nodes; i++) {
        *n_dropped += scheduler->nodes[i].changes.n_dropped;
        for (const CtChange *change = scheduler->nodes[i].changes.oldest; change;
             change = change->next) {
            const CtChangeStats stats = {g_strdup(change->shown), change->tick};
            g_array_append_val(changes, stats);
        }
    }
    pthread_mutex_unlock(&scheduler->lock);
    return changes;
}

static gdouble
seconds_running(const CtScheduler *scheduler)
{
    if (!scheduler->started)
        return 0;
    const gint64 end = scheduler->finished ? scheduler->finished : ct_scheduler_now();
    return (gdouble)(end - scheduler->running) * 1e-9;
}

void
ct_scheduler_setup(CtScheduler *scheduler, CtSetupStats *setup)
{
    pthread_mutex_lock(&scheduler->lock);
    *setup = scheduler->setup;
    setup->first = scheduler->first ? (gdouble)(scheduler->first - scheduler->begun) * 1e-9 : 0;
    setup->running = seconds_running(scheduler);
    pthread_mutex_unlock(&scheduler->lock);
}

void
ct_scheduler_energy(CtScheduler *scheduler, gint place, CtEnergy *energy)
{
    *energy = (CtEnergy){.missing = "it is not counted"};
    if (scheduler->energy && place == CT_HOST)
        ct_energy_of_processor(scheduler->energy, energy);
    else if (scheduler->energy)
        ct_energy_of_device(scheduler->energy, (guint)place, energy);
}

/* The sample rate of a source that does not serve static inputs; 0 for other rings, and without a
 * clock. */
static gdouble
source_rate(const CtScheduler *scheduler, const CtRing *ring)
{
    const CtRunNode *writer = &scheduler->nodes[ring->link->writer];
    return ct_run_node_is_source(writer) && !writer->serves_static
               ? ct_stream_sample_rate(ring->link->stream)
               : 0;
}

gdouble
ct_scheduler_stream_seconds(CtScheduler *scheduler)
{
    gdouble farthest = 0;
    pthread_mutex_lock(&scheduler->lock);
    for (guint r = 0; r < scheduler->n_rings; r++) {
        const CtRing *ring = scheduler->rings[r];
        const gdouble rate = source_rate(scheduler, ring);
        if (rate > 0)
            farthest = MAX(farthest, (gdouble)ring->written / rate);
    }
    pthread_mutex_unlock(&scheduler->lock);
    return farthest;
}

gdouble
ct_scheduler_length_seconds(const CtScheduler *scheduler)
{
    const gdouble duration = scheduler->options.duration;
    gdouble longest = 0;
    for (guint r = 0; r < scheduler->n_rings; r++) {
        const CtRing *ring = scheduler->rings[r];
        const CtStream *stream = ring->link->stream;
        const gdouble rate = source_rate(scheduler, ring);
        const gint time = ct_stream_axis(stream, "time");
        const gint64 length = time < 0 ? 0 : stream->axes[time].length;
        if (rate > 0 && length < 0)
            return duration;
        if (rate > 0)
            longest = MAX(longest, (gdouble)length / rate);
    }
    return duration > 0 ? MIN(longest, duration) : longest;
}

void
ct_scheduler_free(CtScheduler *scheduler)
{
    if (!scheduler)
        return;
    pthread_mutex_lock(&scheduler->lock);
    scheduler->stop = TRUE;
    ct_scheduler_wake_all(scheduler);
    pthread_mutex_unlock(&scheduler->lock);
    for (guint r = 0; r < scheduler->n_runners; r++) {
        CtRunner *runner = &scheduler->runners[r];
        if (runner->thread)
            g_thread_join(runner->thread);
        pthread_cond_destroy(&runner->wake);
        ct_memory_free(runner->scratch, scheduler->scratch_bytes);
        g_free(runner->counters);
        g_ptr_array_unref(runner->joint);
    }
    ct_reread_free(scheduler->reread);
    ct_energy_free(scheduler->energy);
    ct_scheduler_clear_devices(scheduler);
    for (guint i = 0; i < scheduler->n_nodes; i++)
        ct_run_node_clear(&scheduler->nodes[i]);
    if (scheduler->devices)
        ct_run_devices_unpin(scheduler->devices);
    for (guint r = 0; r < scheduler->n_rings; r++)
        ct_ring_free(scheduler->rings[r]);
    ct_run_devices_free(scheduler->devices);
    ct_scheduler_free_teams(scheduler);
    g_free(scheduler->runners);
    g_free(scheduler->own);
    g_free(scheduler->endpoints);
    g_free(scheduler->nodes);
    g_free(scheduler->rings);
    g_clear_error(&scheduler->error);
    g_ptr_array_unref(scheduler->warnings);
    pthread_mutex_destroy(&scheduler->lock);
    pthread_mutex_destroy(&scheduler->changing);
    pthread_cond_destroy(&scheduler->over);
    pthread_cond_destroy(&scheduler->program);
    g_free(scheduler);
}
