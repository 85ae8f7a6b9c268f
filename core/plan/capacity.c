/* SPDX-License-Identifier: BSD-3-Clause */
/* Capacity: the rate of the input, divided by the share of time for which it keeps the busiest
 * resource busy. */
#include "capacity.h"

#include "model/table.h"

#include <cornerturn/json.h>

/* A resource that a plan keeps busy. */
typedef struct {
    char *name;
    gdouble seconds; /* for a second of stream */
} Load;

typedef struct {
    const CtPlan *plan;
    GArray *loads; /* of Load */
    guint busiest; /* index in `loads` */
    gdouble ends;  /* seconds of the busiest if sources and sinks cost nothing */
} Capacity;

static void
load_clear(gpointer data)
{
    g_free(((Load *)data)->name);
}

gdouble
ct_stream_bandwidth(const CtStream *stream)
{
    const gdouble share = ct_type_info(stream->type)->is_complex ? 1 : 0.5;
    return share * ct_stream_sample_rate(stream) * (gdouble)ct_stream_length(stream, "subband");
}

/* The stream that source `n` of the graph gives; NULL: the node is not a source, or the stream has
 * no clock. */
static const CtStream *
stream_in(const CtPlan *plan, guint n)
{
    const CtNode *node = &((const CtGraphNode *)ct_graph_node(plan->graph, n))->node;
    const gint output = ct_graph_data_output(plan->graph, n);
    const CtStream *stream = output >= 0 ? &node->outputs[output] : NULL;
    return stream && ct_stream_bandwidth(stream) > 0 ? stream : NULL;
}

static void
add_load(Capacity *capacity, char *name, gdouble seconds)
{
    const Load load = {name, seconds};
    g_array_append_val(capacity->loads, load);
    if (seconds > g_array_index(capacity->loads, Load, capacity->busiest).seconds)
        capacity->busiest = capacity->loads->len - 1;
}

/* Seconds of the busiest resource without the graph's sources and sinks. */
static gdouble
seconds_within(const CtPlan *plan)
{
    g_autofree gdouble *busy = g_new0(gdouble, plan->n_resources + 1);
    gdouble most = 0;
    for (guint n = 0; n < plan->nodes->len; n++) {
        const CtPlanNode *node = ct_plan_node(plan, n);
        if (node->n_inputs == 0 || node->n_outputs == 0)
            continue;
        most = MAX(most, node->cost.alone);
        for (guint p = 0; p < node->cost.n_parts; p++)
            busy[node->cost.parts[p].resource] += node->cost.parts[p].seconds;
    }
    for (guint r = 0; r < plan->n_resources; r++)
        most = MAX(most, busy[r]);
    return most;
}

static gboolean
capacity_init(Capacity *capacity, const CtPlan *plan, GError **error)
{
    gboolean has_clock = FALSE;
    for (guint n = 0; n < plan->graph->nodes->len; n++)
        has_clock |= stream_in(plan, n) != NULL;
    if (!has_clock) {
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                    "capacity wants a source with a sample rate, but the graph has none");
        return FALSE;
    }
    *capacity = (Capacity){.plan = plan, .loads = g_array_new(FALSE, FALSE, sizeof(Load))};
    g_array_set_clear_func(capacity->loads, load_clear);
    for (guint r = 0; r < plan->n_resources; r++) {
        if (r == 0 || plan->busy[r] > 0)
            add_load(capacity, ct_resource_name(r), plan->busy[r]);
    }
    const CtPlanNode *longest = ct_plan_longest_alone(plan);
    if (longest)
        add_load(capacity, g_strdup_printf("one thread, for '%s'", longest->name), plan->alone);
    capacity->ends = seconds_within(plan);
    return TRUE;
}

static void
capacity_clear(Capacity *capacity)
{
    g_clear_pointer(&capacity->loads, g_array_unref);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Capacity, capacity_clear)

static gdouble
times(gdouble seconds)
{
    return 1 / MAX(seconds, 1e-12);
}

/* ---- text ---- */

static void
print_source(GString *text, const Capacity *capacity, guint n, gdouble seconds)
{
    const CtStream *stream = stream_in(capacity->plan, n);
    const gint64 n_stations = ct_stream_length(stream, "station");
    const gdouble megahertz = ct_stream_bandwidth(stream) * 1e-6;
    const CtGraphNode *node = ct_graph_node(capacity->plan->graph, n);
    g_string_append_printf(
        text, "'%s': %" G_GINT64_FORMAT " station%s of %.4g MHz; sustained: %.4g MHz per station",
        node->config->name, n_stations, n_stations == 1 ? "" : "s", megahertz,
        megahertz * times(seconds));
    if (capacity->ends > 0 && capacity->ends < seconds)
        g_string_append_printf(text, ", %.4g if sources and sinks cost nothing",
                               megahertz * times(capacity->ends));
    g_string_append_c(text, '\n');
}

char *
ct_capacity_to_text(const CtPlan *plan, GError **error)
{
    g_auto(Capacity) capacity = {0};
    if (!capacity_init(&capacity, plan, error))
        return NULL;
    const CtColumn columns[] = {
        {"kept busy", FALSE}, {"seconds for a second", TRUE}, {"times real time", TRUE}};
    g_autoptr(GPtrArray) rows = ct_table_rows_new();
    for (guint l = 0; l < capacity.loads->len; l++) {
        const Load *load = &g_array_index(capacity.loads, Load, l);
        char *const cells[] = {
            g_strdup(load->name),
            g_strdup_printf("%.3g", load->seconds),
            g_strdup_printf("%.3g", times(load->seconds)),
            NULL,
        };
        g_ptr_array_add(rows, g_memdup2(cells, sizeof(cells)));
    }
    const Load *busiest = &g_array_index(capacity.loads, Load, capacity.busiest);
    GString *text = g_string_new(NULL);
    ct_table_print(text, columns, G_N_ELEMENTS(columns), rows);
    g_string_append_printf(text, "\n%.3g times real time at most, by: %s\n",
                           times(busiest->seconds), busiest->name);
    for (guint n = 0; n < plan->graph->nodes->len; n++) {
        if (stream_in(plan, n))
            print_source(text, &capacity, n, busiest->seconds);
    }
    return g_string_free(text, FALSE);
}

/* ---- JSON ---- */

static void
add_source(CtJson *json, const CtPlan *plan, guint n, gdouble busiest)
{
    const CtGraphNode *node = ct_graph_node(plan->graph, n);
    const CtStream *stream = stream_in(plan, n);
    const gdouble megahertz = ct_stream_bandwidth(stream) * 1e-6;
    ct_json_begin_object(json, NULL);
    ct_json_add_text(json, "name", node->config->name);
    ct_json_add_integer(json, "stations", ct_stream_length(stream, "station"));
    ct_json_add_real(json, "megahertz", megahertz);
    ct_json_add_real(json, "sustained_megahertz", megahertz * times(busiest));
    ct_json_end_object(json);
}

char *
ct_capacity_to_json(const CtPlan *plan, GError **error)
{
    g_auto(Capacity) capacity = {0};
    if (!capacity_init(&capacity, plan, error))
        return NULL;
    const Load *busiest = &g_array_index(capacity.loads, Load, capacity.busiest);
    CtJson *json = ct_json_new();
    ct_json_add_text(json, "busiest", busiest->name);
    ct_json_add_real(json, "seconds", busiest->seconds);
    ct_json_add_real(json, "times", times(busiest->seconds));
    ct_json_add_real(json, "times_without_ends", times(capacity.ends));
    ct_json_begin_array(json, "resources");
    for (guint l = 0; l < capacity.loads->len; l++) {
        const Load *load = &g_array_index(capacity.loads, Load, l);
        ct_json_begin_object(json, NULL);
        ct_json_add_text(json, "name", load->name);
        ct_json_add_real(json, "seconds", load->seconds);
        ct_json_end_object(json);
    }
    ct_json_end_array(json);
    ct_json_begin_array(json, "sources");
    for (guint n = 0; n < plan->graph->nodes->len; n++) {
        if (stream_in(plan, n))
            add_source(json, plan, n, busiest->seconds);
    }
    ct_json_end_array(json);
    return ct_json_free_to_text(json, TRUE);
}
