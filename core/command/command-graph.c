/* SPDX-License-Identifier: BSD-3-Clause */
/* The options that every command about a graph takes. */
#include "command-graph.h"

#include <cornerturn/text.h>
#include <string.h>

/* The value of a number that is not given. */
#define LEFT_OUT G_MININT

typedef struct {
    char **set;
    char **backends;
    char **variants;
    int workers;
    char *cpus;
    char *duration;
    char *cache;
    char *device_block;
    int in_flight;
    gboolean default_layouts;
    gboolean no_fusion;
    char *costs;
    gboolean no_tuning;
} Given;

static void
given_clear(Given *given)
{
    g_strfreev(given->set);
    g_strfreev(given->backends);
    g_strfreev(given->variants);
    g_free(given->cpus);
    g_free(given->duration);
    g_free(given->cache);
    g_free(given->device_block);
    g_free(given->costs);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Given, given_clear)

static gboolean
apply_backends(CtPipeline *pipeline, char **backends, GError **error)
{
    for (guint i = 0; backends && backends[i]; i++) {
        char *equals = strchr(backends[i], '=');
        if (equals)
            *equals = '\0';
        if (!ct_pipeline_set_backend(pipeline, equals ? backends[i] : NULL,
                                     equals ? equals + 1 : backends[i], error)) {
            g_prefix_error(error, "--backend: ");
            return FALSE;
        }
    }
    return TRUE;
}

static gboolean
apply_variants(CtPipeline *pipeline, char **variants, GError **error)
{
    for (guint i = 0; variants && variants[i]; i++) {
        char *equals = strchr(variants[i], '=');
        if (!equals) {
            g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                        "--variant wants NODE=NAME, but is given '%s'", variants[i]);
            return FALSE;
        }
        *equals = '\0';
        if (!ct_pipeline_set_variant(pipeline, variants[i], equals + 1, error)) {
            g_prefix_error(error, "--variant: ");
            return FALSE;
        }
    }
    return TRUE;
}

static gboolean
apply_cpus(CtPipeline *pipeline, const char *cpus, GError **error)
{
    g_autoptr(GError) cause = NULL;
    if (ct_pipeline_set_cpus(pipeline, cpus, &cause))
        return TRUE;
    g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "--cpus %s", cause->message);
    return FALSE;
}

static gboolean
check_count(const char *option, int given, int most, GError **error)
{
    if (given == LEFT_OUT || (given >= 1 && given <= most))
        return TRUE;
    g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                "%s wants 1 to %d, but is given %d", option, most, given);
    return FALSE;
}

/* Reads a quantity of `unit` that is positive and at most `most`; `bounds` describes this for the
 * error. */
static gboolean
read_quantity(const char *option, const char *text, const char *unit, gdouble most,
              const char *bounds, gdouble *value, GError **error)
{
    CtQuantity quantity;
    g_autoptr(GError) cause = NULL;
    if (ct_quantity_parse(&quantity, text, unit, &cause) && quantity.value > 0 &&
        quantity.value <= most) {
        *value = quantity.value;
        return TRUE;
    }
    if (cause)
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "%s %s", option,
                    cause->message);
    else
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                    "%s wants %s, but is given '%s'", option, bounds, text);
    return FALSE;
}

gboolean
ct_graph_read_time(const char *option, const char *text, gdouble *seconds, GError **error)
{
    return read_quantity(option, text, "s", G_MAXDOUBLE, "more than nothing", seconds, error);
}

/* Sets a number of bytes; `text` NULL: the option is not given. */
static gboolean
apply_bytes(CtPipeline *pipeline, gboolean (*set)(CtPipeline *, gsize bytes, GError **),
            const char *option, const char *text, GError **error)
{
    gdouble bytes;
    if (!text)
        return TRUE;
    if (!read_quantity(option, text, "B", CT_PIPELINE_MAX_BYTES,
                       "more than nothing, and at most 1000 TB", &bytes, error))
        return FALSE;
    return set(pipeline, (gsize)MAX(bytes, 1), error);
}

CtPipeline *
ct_graph_options_load(CtGraphOptions *options, const CtCommand *command,
                      const GOptionEntry *further, int argc, char **argv, GError **error)
{
    g_auto(Given) given = {.workers = LEFT_OUT, .in_flight = LEFT_OUT};
    const GOptionEntry common[] = {
        {"set", 0, 0, G_OPTION_ARG_STRING_ARRAY, &given.set,
         "Replace a parameter of a node, or of the graph", "[NODE.]PARAMETER=VALUE"},
        {"backend", 0, 0, G_OPTION_ARG_STRING_ARRAY, &given.backends,
         "Backend of a node, or of all nodes without one in the graph: auto, reference, cpu, cuda",
         "[NODE=]NAME"},
        {"variant", 0, 0, G_OPTION_ARG_STRING_ARRAY, &given.variants,
         "Variant of a node, and values of its tunables", "NODE=NAME[:TUNABLE=VALUE,…]"},
        {"workers", 0, 0, G_OPTION_ARG_INT, &given.workers,
         "Threads that share the work (default: CORNERTURN_WORKERS, or one for each processor)",
         "N"},
        {"cpus", 0, 0, G_OPTION_ARG_STRING, &given.cpus,
         "Processors of the run, as in 0-3,8 (default: as the graph says, or all)", "LIST"},
        {"duration", 0, 0, G_OPTION_ARG_STRING, &given.duration,
         "End the sources after this time of the stream", "TIME"},
        {"cache", 0, 0, G_OPTION_ARG_STRING, &given.cache,
         "Bytes that a firing should read and write (default: half of the workers' L2 caches)",
         "SIZE"},
        {"device-block", 0, 0, G_OPTION_ARG_STRING, &given.device_block,
         "Bytes of the largest block of a firing on a device (default: as tuned, or 1/256 of its "
         "memory)",
         "SIZE"},
        {"default-layouts", 0, 0, G_OPTION_ARG_NONE, &given.default_layouts,
         "Plan each stage in the layouts of published codes, for comparison", NULL},
        {"no-fusion", 0, 0, G_OPTION_ARG_NONE, &given.no_fusion,
         "Attach no stage behind another, for comparison", NULL},
        {"in-flight", 0, 0, G_OPTION_ARG_INT, &given.in_flight,
         "Blocks that a node on a device works on or waits for at once (default: 3)", "N"},
        {"costs", 0, 0, G_OPTION_ARG_FILENAME, &given.costs,
         "File of measured costs (default: the one in the user's cache)", "FILE"},
        {"no-tuning", 0, 0, G_OPTION_ARG_NONE, &given.no_tuning,
         "Plan with the model alone, without measured costs and tunings", NULL},
        {"strict", 0, 0, G_OPTION_ARG_NONE, &options->strict, "Make every warning an error", NULL},
        {NULL},
    };
    g_autoptr(GArray) entries = g_array_new(TRUE, TRUE, sizeof(GOptionEntry));
    for (const GOptionEntry *entry = common; entry->long_name; entry++)
        g_array_append_val(entries, *entry);
    for (const GOptionEntry *entry = further; entry && entry->long_name; entry++)
        g_array_append_val(entries, *entry);
    if (!ct_command_parse(command, (const GOptionEntry *)(gpointer)entries->data, &argc, &argv, 1,
                          1, error))
        return NULL;
    if (!check_count("--workers", given.workers, CT_PIPELINE_MAX_WORKERS, error) ||
        !check_count("--in-flight", given.in_flight, CT_PIPELINE_MAX_IN_FLIGHT, error))
        return NULL;
    if (given.costs && given.no_tuning) {
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                    "wants one of --costs and --no-tuning, but is given both");
        return NULL;
    }
    /* `tune` creates the file. */
    const gboolean makes = g_str_equal(command->name, "tune");
    if (given.costs && !makes && !g_str_equal(given.costs, "off") &&
        !g_file_test(given.costs, G_FILE_TEST_EXISTS)) {
        g_set_error(error, CT_ERROR, CT_ERROR_IO, "--costs: there is no file %s", given.costs);
        return NULL;
    }
    options->file = argv[1];
    if (given.duration &&
        !ct_graph_read_time("--duration", given.duration, &options->duration, error))
        return NULL;

    g_autoptr(CtPipeline) pipeline =
        ct_pipeline_load_with(options->file, (const char *const *)given.set, error);
    if (!pipeline)
        return NULL;
    if (!apply_bytes(pipeline, ct_pipeline_set_cache, "--cache", given.cache, error) ||
        !apply_bytes(pipeline, ct_pipeline_set_device_block, "--device-block", given.device_block,
                     error) ||
        !apply_backends(pipeline, given.backends, error) ||
        !apply_variants(pipeline, given.variants, error) ||
        !ct_pipeline_set_workers(pipeline, (guint)MAX(given.workers, 0), error) ||
        !apply_cpus(pipeline, given.cpus, error) ||
        !ct_pipeline_set_default_layouts(pipeline, given.default_layouts, error) ||
        !ct_pipeline_set_fusion(pipeline, !given.no_fusion, error) ||
        !ct_pipeline_set_in_flight(pipeline, (guint)MAX(given.in_flight, 0), error) ||
        !ct_pipeline_set_costs(pipeline, given.no_tuning ? "off" : given.costs, error) ||
        !ct_pipeline_set_duration(pipeline, options->duration, error) ||
        !ct_pipeline_set_strict(pipeline, options->strict, error) ||
        !ct_pipeline_set_reads_pipes(pipeline, g_str_equal(command->name, "run"), error))
        return NULL;
    return g_steal_pointer(&pipeline);
}

void
ct_graph_print_warnings(CtGraphOptions *options, const CtPipeline *pipeline)
{
    g_auto(GStrv) lines = ct_pipeline_warnings(pipeline);
    for (; !options->strict && options->n_printed < g_strv_length(lines); options->n_printed++)
        g_printerr("%s\n", lines[options->n_printed]);
}
