/* SPDX-License-Identifier: BSD-3-Clause */
/* The statistics of a run so far, as text and as JSON. */
#include "stats.h"

#include "plan/capacity.h"
#include "stats-private.h"

#include <math.h>
#include <string.h>

/* The figures of a node, computed from its counts. */
typedef struct {
    CtNodeStats counts;
    gdouble bytes;
    gdouble operations;
    gdouble seconds; /* of work, divided by the workers that share it */
} Row;

gdouble
ct_stats_samples(const CtNodeStats *counts)
{
    const CtFootprint *footprint = &counts->node->footprint;
    return footprint->kind == CT_FOOTPRINT_SUM && footprint->hop > 0
               ? (gdouble)counts->consumed / (gdouble)footprint->hop
               : (gdouble)counts->samples;
}

static void
read_row(const CtPlan *plan, CtScheduler *scheduler, guint i, Row *row)
{
    ct_scheduler_stats(scheduler, i, &row->counts);
    const CtPlanNode *node = row->counts.node;
    row->bytes = rint(node->bytes * ct_stats_samples(&row->counts));
    row->operations = node->operations * ct_stats_samples(&row->counts);
    row->seconds = row->counts.work_seconds /
                   (node->variant->waits || node->place != CT_HOST ? 1 : MAX(plan->n_workers, 1));
}

static gdouble
per_second(gdouble amount, gdouble seconds)
{
    return seconds > 0 ? amount / seconds : 0;
}

/* "2.56 s of stream in 1.31 s, 1.95 times real time; 'sky': 0.381 MHz per station" */
static void
print_rates(GString *text, const CtPlan *plan, CtScheduler *scheduler, gdouble seconds)
{
    const gdouble stream = ct_scheduler_stream_seconds(scheduler);
    if (stream <= 0 || seconds <= 0)
        return;
    g_string_append_printf(text, "%.3g s of stream in %.3g s, %.3g times real time", stream,
                           seconds, stream / seconds);
    for (guint n = 0; n < plan->graph->nodes->len; n++) {
        const CtGraphNode *node = g_ptr_array_index(plan->graph->nodes, n);
        const gint output = ct_graph_data_output(plan->graph, n);
        const gdouble bandwidth =
            output >= 0 ? ct_stream_bandwidth(&node->node.outputs[output]) : 0;
        if (bandwidth > 0)
            g_string_append_printf(text, "; '%s': %.4g MHz per station", node->config->name,
                                   bandwidth * 1e-6 * stream / seconds);
    }
    g_string_append_c(text, '\n');
}

/* "running", "complete", "interrupted", or "failed" with the error. */
static const char *
find_state(CtScheduler *scheduler, GError **error)
{
    if (!ct_scheduler_wait(scheduler, 0))
        return "running";
    if (!ct_scheduler_result(scheduler, error))
        return "failed";
    return ct_scheduler_is_interrupted(scheduler) ? "interrupted" : "complete";
}

static void
print_state(GString *text, CtScheduler *scheduler, const GPtrArray *warnings)
{
    g_string_append_printf(text, "%s\n", find_state(scheduler, NULL));
    for (guint i = 0; i < warnings->len; i++) {
        g_autofree char *line = ct_warning_to_string(warnings->pdata[i]);
        g_string_append_printf(text, "%s\n", line);
    }
}

char *
ct_stats_to_text(const CtPlan *plan, CtScheduler *scheduler, const GPtrArray *warnings)
{
    GString *text = g_string_new(NULL);
    guint width = 4;
    for (guint i = 0; i < plan->nodes->len; i++)
        width = MAX(width, (guint)strlen(ct_plan_node(plan, i)->name));
    g_string_append_printf(text, "%-*s  %-14s %9s %9s %11s %9s %9s %9s\n", (int)width, "node",
                           "variant", "work s", "core s", "samples", "Msample/s", "GB/s", "Gop/s");
    for (guint i = 0; i < plan->nodes->len; i++) {
        Row row;
        read_row(plan, scheduler, i, &row);
        const CtNodeStats *counts = &row.counts;
        g_string_append_printf(text,
                               "%-*s  %-14s %9.3f %9.3f %11" G_GINT64_FORMAT " %9.3f %9.3f %9.3f\n",
                               (int)width, counts->node->name, counts->node->variant->name,
                               counts->work_seconds, counts->core_seconds, counts->samples,
                               per_second((gdouble)counts->samples, row.seconds) * 1e-6,
                               per_second(row.bytes, row.seconds) * 1e-9,
                               per_second(row.operations, row.seconds) * 1e-9);
    }
    for (guint i = 0; i < plan->nodes->len; i++) {
        Row row;
        read_row(plan, scheduler, i, &row);
        const CtNodeStats *counts = &row.counts;
        const char *names[CT_MAX_COUNTERS];
        ct_plan_counters(counts->node, names);
        if (counts->invalid > 0)
            g_string_append_printf(text, "%s: %" G_GINT64_FORMAT " invalid samples\n",
                                   counts->node->name, counts->invalid);
        for (guint c = 0; c < counts->n_counters; c++)
            if (counts->counters[c] > 0)
                g_string_append_printf(text, "%s: %" G_GUINT64_FORMAT " %s\n",
                                       ct_plan_counting(counts->node, c)->name, counts->counters[c],
                                       names[c]);
        ct_stats_print_accounts(text, counts->node, scheduler, i);
    }
    guint64 n_dropped;
    g_autoptr(GArray) changes = ct_scheduler_changes(scheduler, &n_dropped);
    if (n_dropped > 0)
        g_string_append_printf(text, "%" G_GUINT64_FORMAT " earlier changes\n", n_dropped);
    for (guint i = 0; i < changes->len; i++) {
        const CtChangeStats *change = &g_array_index(changes, CtChangeStats, i);
        g_string_append_printf(text, "%s from tick %" G_GINT64_FORMAT "\n", change->shown,
                               change->tick);
    }
    CtSetupStats setup;
    ct_scheduler_setup(scheduler, &setup);
    g_string_append_printf(text, "set up in %.3f s", setup.all);
    if (setup.devices > 0)
        g_string_append_printf(
            text,
            ": devices %.3f, memory %.3f, compiling %u kernels %.3f, loading them and %u kept ones "
            "%.3f, stages %.3f",
            setup.devices, setup.memory, setup.n_compiled, setup.compile, setup.n_cached,
            setup.load, setup.stages);
    if (setup.first > 0)
        g_string_append_printf(text, "; first output after %.3f s", setup.first);
    g_string_append_c(text, '\n');
    ct_stats_print_energy(text, plan, scheduler);
    print_rates(text, plan, scheduler, setup.running);
    print_state(text, scheduler, warnings);
    return g_string_free(text, FALSE);
}

/* The most queues on a line. */
#define MAX_QUEUES 4

char *
ct_stats_queues_to_text(const CtPlan *plan, CtScheduler *scheduler)
{
    const guint n = plan->nodes->len;
    g_autofree gdouble *fill = g_new0(gdouble, n);
    for (guint i = 0; i < n; i++) {
        CtNodeStats stats;
        ct_scheduler_stats(scheduler, i, &stats);
        fill[i] = stats.fill;
    }
    GString *text = g_string_new(NULL);
    guint shown = 0;
    for (guint i = 0; i < n && shown < MAX_QUEUES; i++) {
        guint fuller = 0;
        for (guint k = 0; k < n; k++)
            fuller += fill[k] > fill[i];
        if (fill[i] <= 0 || fuller >= MAX_QUEUES)
            continue;
        shown++;
        g_string_append_printf(text, "%s%s %.0f%%", text->len ? " " : "",
                               ct_plan_node(plan, i)->name, 100 * fill[i]);
    }
    return g_string_free(text, FALSE);
}

char *
ct_stats_losses_to_text(const CtPlan *plan, CtScheduler *scheduler)
{
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < plan->nodes->len; i++) {
        const CtPlanNode *node = ct_plan_node(plan, i);
        CtNodeStats stats;
        if (node->n_inputs > 0 || node->n_outputs == 0)
            continue;
        ct_scheduler_stats(scheduler, i, &stats);
        const gint64 n_lanes = ct_stream_n_lanes(&node->nodes[node->n_nodes - 1].outputs[0]);
        if (stats.invalid > 0)
            g_string_append_printf(text, "%s%s %.2g%%", text->len ? " " : "", node->name,
                                   100 * (gdouble)stats.invalid /
                                       ((gdouble)stats.samples * (gdouble)n_lanes));
    }
    return g_string_free(text, FALSE);
}

static void
add_setup(CtJson *json, const CtSetupStats *setup)
{
    ct_json_begin_object(json, "setup");
    ct_json_add_integer(json, "compiled", setup->n_compiled);
    ct_json_add_integer(json, "cached", setup->n_cached);
    ct_json_add_real(json, "seconds", setup->all);
    ct_json_add_real(json, "devices", setup->devices);
    ct_json_add_real(json, "memory", setup->memory);
    ct_json_add_real(json, "compile", setup->compile);
    ct_json_add_real(json, "load", setup->load);
    ct_json_add_real(json, "stages", setup->stages);
    ct_json_add_real(json, "first_output", setup->first);
    ct_json_end_object(json);
}

static void
add_node(CtJson *json, const Row *row, CtScheduler *scheduler, guint i)
{
    const CtNodeStats *counts = &row->counts;
    const CtStage *stage = counts->node->nodes[0].stage;
    ct_json_begin_object(json, NULL);
    ct_json_add_text(json, "name", counts->node->name);
    ct_json_add_text(json, "stage", stage->name);
    ct_json_add_text(json, "variant", counts->node->variant->name);
    ct_json_add_boolean(json, "inserted", counts->node->inserted);
    ct_json_add_boolean(json, "ended", counts->ended);
    ct_json_add_unsigned(json, "firings", counts->firings);
    ct_json_add_integer(json, "samples", counts->samples);
    ct_json_add_integer(json, "invalid", counts->invalid);
    ct_json_add_real(json, "work_seconds", counts->work_seconds);
    ct_json_add_real(json, "core_seconds", counts->core_seconds);
    ct_json_add_real(json, "bytes", row->bytes);
    ct_json_add_real(json, "operations", row->operations);
    ct_json_add_real(json, "queue", counts->fill);
    ct_json_begin_object(json, "counters");
    const char *names[CT_MAX_COUNTERS];
    ct_plan_counters(counts->node, names);
    for (guint c = 0; c < counts->n_counters; c++) {
        const CtNode *own = ct_plan_counting(counts->node, c);
        g_autofree char *name = counts->node->n_nodes > 1
                                    ? g_strdup_printf("%s.%s", own->name, names[c])
                                    : g_strdup(names[c]);
        ct_json_add_unsigned(json, name, counts->counters[c]);
    }
    ct_json_end_object(json);
    guint64 n_pictures;
    g_autoptr(GBytes) picture = ct_scheduler_picture(scheduler, i, &n_pictures);
    if (picture)
        ct_json_add_unsigned(json, "pictures", n_pictures);
    ct_stats_add_accounts(json, counts->node, scheduler, i);
    ct_json_end_object(json);
}

static void
add_changes(CtJson *json, CtScheduler *scheduler)
{
    guint64 n_dropped;
    g_autoptr(GArray) changes = ct_scheduler_changes(scheduler, &n_dropped);
    ct_json_add_unsigned(json, "earlier_changes", n_dropped);
    ct_json_begin_array(json, "changes");
    for (guint i = 0; i < changes->len; i++) {
        const CtChangeStats *change = &g_array_index(changes, CtChangeStats, i);
        ct_json_begin_object(json, NULL);
        ct_json_add_text(json, "set", change->shown);
        ct_json_add_integer(json, "tick", change->tick);
        ct_json_end_object(json);
    }
    ct_json_end_array(json);
}

char *
ct_stats_to_json(const CtPlan *plan, CtScheduler *scheduler, const GPtrArray *warnings,
                 gboolean is_pretty)
{
    g_autoptr(GError) error = NULL;
    CtSetupStats setup;
    CtJson *json = ct_json_new();
    ct_json_add_text(json, "state", find_state(scheduler, &error));
    ct_json_add_text(json, "error", error ? error->message : NULL);
    ct_warnings_add_json(json, "warnings", warnings);
    ct_json_add_integer(json, "workers", plan->n_workers);
    ct_json_add_real(json, "stream_seconds", ct_scheduler_stream_seconds(scheduler));
    ct_scheduler_setup(scheduler, &setup);
    ct_json_add_real(json, "running_seconds", setup.running);
    add_setup(json, &setup);
    ct_stats_add_energy(json, plan, scheduler);
    add_changes(json, scheduler);
    ct_json_begin_array(json, "nodes");
    for (guint i = 0; i < plan->nodes->len; i++) {
        Row row;
        read_row(plan, scheduler, i, &row);
        add_node(json, &row, scheduler, i);
    }
    ct_json_end_array(json);
    return ct_json_free_to_text(json, is_pretty);
}
