/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks of random data on a device, and the rates of a graph that is fed with them. */
#include "gpu-run.h"

#include "../json-at.h"

#include <cornerturn/pipeline.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number of runs of a case, of which the median counts. */
#define N_RUNS 5
/* The number of blocks before the measurement. */
#define N_SKIPPED 8

static gint64
width_of(const GpuCase *one)
{
    gint64 width = 1;
    for (guint a = 0; one->shape[a] != 0; a++)
        width *= one->shape[a] > 0 ? one->shape[a] : 1;
    return width;
}

/* ---- random blocks ---- */

/* Fills memory with values like voltages: integers over most of their range, floats with a standard
 * deviation of about one. */
static void
fill_random(guint8 *memory, gsize bytes, CtType type)
{
    guint64 x = 88172645463325252u;
    const CtTypeInfo *info = ct_type_info(type);
    for (gsize at = 0; at + 8 <= bytes; at += 8) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        if (info->is_float && info->part_bits == 32) {
            gfloat pair[2] = {(gfloat)(gint32)x / 1.2e9f, (gfloat)(gint32)(x >> 32) / 1.2e9f};
            memcpy(memory + at, pair, sizeof pair);
        } else if (info->is_float && info->part_bits == 16) {
            /* exponents from −3 to 0 */
            const guint64 four = (x & 0x8fff8fff8fff8fff) | 0x3000300030003000;
            memcpy(memory + at, &four, sizeof four);
        } else {
            memcpy(memory + at, &x, sizeof x);
        }
    }
}

/* ---- a run ---- */

static char *
graph_text(const GpuCase *one)
{
    GString *shape = g_string_new(NULL);
    for (guint a = 0; one->shape[a] != 0; a++)
        g_string_append_printf(shape, "%s%" G_GINT64_FORMAT, a ? ", " : "", one->shape[a]);
    char *text =
        g_strdup_printf("backend: cuda\nstages:\n"
                        "  source: { stage: input, backend: %s, layout: \"%s[%s]\", "
                        "shape: [%s], block: { time: %" G_GINT64_FORMAT " }%s }\n%s",
                        one->from_host ? "cpu" : "cuda", one->type, one->layout, shape->str,
                        one->n_samples, one->options ? one->options : "", one->stages);
    g_string_free(shape, TRUE);
    return text;
}

/* The number `key` of node `name` in the statistics; NaN if there is none. */
static gdouble
read_number(const char *json, const char *name, const char *key)
{
    g_autoptr(JsonArray) nodes = json_select(json, "$.nodes[*]");
    for (guint i = 0; i < json_array_get_length(nodes); i++) {
        JsonObject *node = json_array_get_object_element(nodes, i);
        if (g_str_equal(json_object_get_string_member(node, "name"), name))
            return json_object_get_double_member_with_default(node, key, NAN);
    }
    return NAN;
}

/* The rate of each node in the statistics while it runs. */
static char *
describe_nodes(const char *json, gdouble elements)
{
    g_autoptr(JsonArray) nodes = json_select(json, "$.nodes[*]");
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < json_array_get_length(nodes); i++) {
        JsonObject *node = json_array_get_object_element(nodes, i);
        const gdouble seconds = json_object_get_double_member(node, "work_seconds");
        if (seconds > 0)
            g_string_append_printf(text, "%s%s %.0f", text->len ? ", " : "",
                                   json_object_get_string_member(node, "name"),
                                   elements / seconds * 1e-9);
    }
    return g_string_free(text, FALSE);
}

static gdouble
now(void)
{
    return (gdouble)g_get_monotonic_time() * 1e-6;
}

/* Appends the time at which a block was read. */
static void
note_time(gpointer data, gpointer user_data)
{
    GArray *times = user_data;
    const gdouble time = now();
    (void)data;
    g_array_append_val(times, time);
}

static gboolean
run_once(const GpuCase *one, gpointer data, GpuFigures *figures, gboolean *described,
         GError **error)
{
    g_autofree char *text = graph_text(one);
    g_autoptr(CtPipeline) pipeline = ct_pipeline_parse(text, -1, one->name, error);
    if (!pipeline || !ct_pipeline_set_fusion(pipeline, !one->no_fusion, error) ||
        !ct_pipeline_plan(pipeline, error))
        return FALSE;
    if (!*described && g_getenv("BENCH_PLAN")) {
        g_autofree char *plan = ct_pipeline_describe(pipeline, "text", NULL);
        printf("%s", plan);
    }
    *described = TRUE;
    if (!ct_pipeline_start(pipeline, error))
        return FALSE;
    g_autoptr(GArray) times = g_array_new(FALSE, FALSE, sizeof(gdouble));
    gboolean fed = TRUE;
    for (guint b = 0; fed && b < one->n_blocks + N_SKIPPED; b++)
        fed = ct_pipeline_feed(pipeline, "source", data, one->n_samples, NULL, note_time, times,
                               NULL);
    ct_pipeline_feed_end(pipeline, "source", NULL);
    ct_pipeline_wait(pipeline, -1);
    if (!ct_pipeline_result(pipeline, error))
        return FALSE;
    const gdouble seconds = g_array_index(times, gdouble, one->n_blocks + N_SKIPPED - 1) -
                            g_array_index(times, gdouble, N_SKIPPED - 1);
    g_autofree char *json = ct_pipeline_stats_json(pipeline);
    if (g_getenv("BENCH_STATS"))
        printf("%s", json);
    const gdouble elements = (gdouble)one->n_samples * (gdouble)width_of(one);
    figures->wall = elements * one->n_blocks / seconds;
    figures->per_firing = seconds / one->n_blocks;
    const gdouble all = elements * (one->n_blocks + N_SKIPPED);
    if (!one->node) {
        figures->nodes = describe_nodes(json, all);
        return TRUE;
    }
    figures->node_seconds = read_number(json, one->node, "work_seconds") / all;
    figures->operations = read_number(json, one->node, "operations") / all;
    figures->node = 1 / figures->node_seconds;
    return TRUE;
}

static gint
by_wall(gconstpointer a, gconstpointer b)
{
    const gdouble x = ((const GpuFigures *)a)->wall, y = ((const GpuFigures *)b)->wall;
    return x < y ? -1 : x > y;
}

static gint
by_node(gconstpointer a, gconstpointer b)
{
    const gdouble x = ((const GpuFigures *)a)->node, y = ((const GpuFigures *)b)->node;
    return x < y ? -1 : x > y;
}

gboolean
gpu_run_case(GpuBench *bench, const GpuCase *one, GpuFigures *figures)
{
    *figures = (GpuFigures){0};
    GError *error = NULL;
    const CtType type = ct_type_from_name(one->type);
    const gsize bytes =
        (gsize)(one->n_samples * width_of(one)) * ct_type_info(type)->bytes / 8 * 8 + 8;
    const CtCudaDriver *driver = ct_device_driver(bench->device);
    void *host = NULL;
    gpointer memory = NULL;
    GpuFigures runs[N_RUNS] = {0};
    gboolean described = FALSE;
    gboolean good =
        ct_device_enter(bench->device, &error) &&
        ct_device_check(bench->device, driver->host_alloc(&host, bytes, 0), &error, "a block");
    if (good) {
        fill_random(host, bytes, type);
        memory = ct_device_alloc(bench->device, bytes, one->name, &error);
        good = memory && ct_device_upload(bench->device, memory, host, bytes, &error);
    }
    for (guint i = 0; good && i < N_RUNS; i++)
        good = run_once(one, one->from_host ? host : memory, &runs[i], &described, &error);
    if (good) {
        qsort(runs, N_RUNS, sizeof runs[0], by_node);
        *figures = runs[N_RUNS / 2];
        qsort(runs, N_RUNS, sizeof runs[0], by_wall);
        figures->wall = runs[N_RUNS / 2].wall;
        figures->per_firing = runs[N_RUNS / 2].per_firing;
    } else {
        printf("%-44s not run: %s\n", one->name, error->message);
        g_string_append_printf(bench->summary, "%-52s not run\n", one->name);
        bench->good = FALSE;
        g_error_free(error);
    }
    ct_device_free(bench->device, memory);
    if (host)
        driver->host_free(host);
    return good;
}
