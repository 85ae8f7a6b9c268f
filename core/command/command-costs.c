/* SPDX-License-Identifier: BSD-3-Clause */
/* `cornerturn costs`: the store of measured costs. */
#include "command.h"
#include "cost/roofs.h"
#include "cost/store.h"
#include "graph/registry.h"
#include "model/quantity.h"

#include <cornerturn/stage.h>

typedef struct {
    char *costs;
    char *export;
    char *import;
    char **stages;
    gboolean forgets;
    gboolean measures_roofs;
} Given;

static void
given_clear(Given *given)
{
    g_free(given->costs);
    g_free(given->export);
    g_free(given->import);
    g_strfreev(given->stages);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Given, given_clear)

/* ---- the list ---- */

static char *
roof_value(const CtRoof *roof)
{
    if (g_str_has_prefix(roof->name, "block"))
        return ct_format_bytes((gsize)roof->value);
    const gboolean is_share = g_str_has_prefix(roof->name, "share");
    return g_strdup_printf("%8.4g %s", roof->value * (is_share ? 100 : 1e-9),
                           is_share                               ? "%"
                           : g_str_has_prefix(roof->name, "peak") ? "Gop/s"
                                                                  : "GB/s");
}

static void
print_roofs(const GPtrArray *roofs)
{
    const char *machine = NULL;
    for (guint i = 0; i < roofs->len; i++) {
        const CtRoof *roof = g_ptr_array_index(roofs, i);
        if (!machine || !g_str_equal(machine, roof->machine)) {
            g_print("%s\n", roof->machine);
            machine = roof->machine;
        }
        g_autofree char *value = roof_value(roof);
        g_print("    %-22s %s\n", roof->name, value);
    }
    if (roofs->len)
        g_print("\n");
}

static gboolean
is_of_same(const CtMeasurement *a, const CtMeasurement *b)
{
    return a && g_str_equal(a->stages, b->stages) && g_str_equal(a->variant, b->variant);
}

static gboolean
is_laid_out_the_same(const CtMeasurement *a, const CtMeasurement *b)
{
    return is_of_same(a, b) && g_str_equal(a->layouts, b->layouts) &&
           g_str_equal(a->lengths, b->lengths) && g_str_equal(a->parameters, b->parameters) &&
           g_str_equal(a->way, b->way);
}

static void
print_measurement(const CtMeasurement *measurement, const CtMeasurement *before)
{
    g_autoptr(GDateTime) time = g_date_time_new_from_unix_local(measurement->time);
    g_autofree char *day = time ? g_date_time_format(time, "%Y-%m-%d") : g_strdup("");
    if (!is_of_same(before, measurement))
        g_print("%s %s\n", measurement->stages, measurement->variant);
    if (!is_laid_out_the_same(before, measurement))
        g_print("    %s%s%s; %s%s%s\n", measurement->way, *measurement->way ? " " : "",
                measurement->layouts, measurement->lengths, *measurement->parameters ? "; " : "",
                measurement->parameters);
    g_print("        %s%s", measurement->tuning, *measurement->tuning ? "  " : "");
    if (measurement->n_workers > 0)
        g_print("%" G_GINT64_FORMAT " %s  ", measurement->n_workers,
                measurement->n_workers == 1 ? "worker" : "workers");
    if (measurement->failure) {
        g_autofree char *failure = g_strdelimit(g_strdup(measurement->failure), "\n", ' ');
        g_print("%s  failed: %s\n", day, failure);
    } else {
        g_print("%.4g ns a sample ±%.1f%%, %" G_GINT64_FORMAT " times  %s\n",
                measurement->seconds * 1e9, measurement->spread * 100, measurement->n_repetitions,
                day);
    }
}

static gboolean
list(CtStore *store, const char *path, const char *const *stages, GError **error)
{
    g_autoptr(GPtrArray) measurements = ct_store_list(store, stages, error);
    g_autoptr(GPtrArray) roofs = measurements ? ct_store_list_roofs(store, error) : NULL;
    if (!roofs)
        return FALSE;
    guint n_failed = 0;
    for (guint i = 0; i < measurements->len; i++)
        n_failed += ((const CtMeasurement *)g_ptr_array_index(measurements, i))->failure != NULL;
    g_print("%s: %u measurements, %u of them failed\n\n", path, measurements->len, n_failed);
    print_roofs(roofs);
    for (guint i = 0; i < measurements->len; i++)
        print_measurement(g_ptr_array_index(measurements, i),
                          i ? g_ptr_array_index(measurements, i - 1) : NULL);
    return TRUE;
}

/* ---- from store to store ---- */

static gboolean export(CtStore *store, const char *file, const char *const *stages, GError **error)
{
    g_autoptr(GPtrArray) measurements = ct_store_list(store, stages, error);
    g_autoptr(GPtrArray) roofs = measurements ? ct_store_list_roofs(store, error) : NULL;
    if (!roofs)
        return FALSE;
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint i = 0; i < roofs->len; i++) {
        g_autofree char *line = ct_roof_to_json(g_ptr_array_index(roofs, i));
        g_string_append_printf(text, "%s\n", line);
    }
    for (guint i = 0; i < measurements->len; i++) {
        g_autofree char *line = ct_measurement_to_json(g_ptr_array_index(measurements, i));
        g_string_append_printf(text, "%s\n", line);
    }
    if (g_str_equal(file, "-")) {
        g_print("%s", text->str);
        return TRUE;
    }
    /* The file is renamed onto its name: a device there would be replaced, not written. */
    if (g_file_test(file, G_FILE_TEST_EXISTS) && !g_file_test(file, G_FILE_TEST_IS_REGULAR)) {
        g_set_error(error, CT_ERROR, CT_ERROR_IO,
                    "--export: %s: wants a regular file in its place, but is given a folder or "
                    "device",
                    file);
        return FALSE;
    }
    return g_file_set_contents(file, text->str, (gssize)text->len, error);
}

static gboolean
import(CtStore *store, const char *file, const char *const *stages, GError **error)
{
    g_autofree char *text = NULL;
    gsize length;
    const CtStoreFilter filter = {.stages = stages};
    g_autoptr(GPtrArray) measurements =
        g_ptr_array_new_with_free_func((GDestroyNotify)ct_measurement_free);
    g_autoptr(GPtrArray) roofs = g_ptr_array_new_with_free_func((GDestroyNotify)ct_roof_free);
    if (!g_file_get_contents(file, &text, &length, error) ||
        !ct_store_parse(text, length, file, &filter, measurements, roofs, error) ||
        !ct_store_put_all(store, measurements, roofs, error))
        return FALSE;
    g_print("%u measurements and %u roofs imported\n", measurements->len, roofs->len);
    return TRUE;
}

static gboolean
forget(CtStore *store, const char *const *stages, GError **error)
{
    guint n;
    if (!ct_store_forget(store, stages, &n, error))
        return FALSE;
    g_print("%u measurements forgotten\n", n);
    return TRUE;
}

static gboolean
measure_roofs(CtStore *store, GError **error)
{
    CtMachine machine;
    ct_machine_init(&machine, 0);
    ct_machine_find_devices(&machine);
    g_autoptr(GPtrArray) roofs = ct_roofs_measure(&machine, error);
    if (!roofs || !ct_store_put_all(store, NULL, roofs, error))
        return FALSE;
    print_roofs(roofs);
    return TRUE;
}

/* Whether the store has measurements of `name`, or it is made of stages that there are. */
static gboolean
check_stage(CtStore *store, CtRegistry *registry, const char *name, GError **error)
{
    const char *const alone[] = {name, NULL};
    g_autoptr(GPtrArray) measurements = ct_store_list(store, alone, error);
    if (!measurements)
        return FALSE;
    g_auto(GStrv) stages = g_strsplit(name, "+", -1);
    for (guint i = 0; measurements->len == 0 && (i == 0 || stages[i]); i++) {
        if (!ct_registry_stage(registry, stages[i] ? stages[i] : "", error)) {
            g_prefix_error(error, "--stage %s: ", name);
            return FALSE;
        }
    }
    return TRUE;
}

static gboolean
check_stages(CtStore *store, const char *const *stages, GError **error)
{
    g_autoptr(CtRegistry) registry = stages ? ct_registry_new(error) : NULL;
    for (guint i = 0; registry && stages[i]; i++)
        if (!check_stage(store, registry, stages[i], error))
            return FALSE;
    return !stages || registry;
}

static gboolean
run(int argc, char **argv, GError **error)
{
    g_auto(Given) given = {0};
    const GOptionEntry entries[] = {
        {"stage", 0, 0, G_OPTION_ARG_STRING_ARRAY, &given.stages,
         "Of this stage alone, or of several in one, as fir+fft", "NAME"},
        {"export", 0, 0, G_OPTION_ARG_FILENAME, &given.export,
         "Write lines of JSON, to standard output where FILE is -", "FILE"},
        {"import", 0, 0, G_OPTION_ARG_FILENAME, &given.import,
         "Add lines of JSON, in the place of measurements of the same", "FILE"},
        {"forget", 0, 0, G_OPTION_ARG_NONE, &given.forgets, "Remove the measurements", NULL},
        {"measure-roofs", 0, 0, G_OPTION_ARG_NONE, &given.measures_roofs,
         "Measure anew what this machine can do at most", NULL},
        {"costs", 0, 0, G_OPTION_ARG_FILENAME, &given.costs,
         "The store; the one in the user's cache where left out", "FILE"},
        {NULL},
    };
    if (!ct_command_parse(&ct_command_costs, entries, &argc, &argv, 0, 0, error))
        return FALSE;
    if ((given.export != NULL) + (given.import != NULL) + given.forgets + given.measures_roofs >
        1) {
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                    "wants one of --export, --import, --forget and --measure-roofs, but is given "
                    "several");
        return FALSE;
    }
    if (given.measures_roofs && given.stages) {
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                    "wants one of --measure-roofs and --stage, but is given both");
        return FALSE;
    }
    g_autofree char *path = ct_store_path(given.costs);
    if (!path) {
        g_set_error(error, CT_ERROR, CT_ERROR_IO,
                    "the store of costs is off; --costs or CORNERTURN_COSTS name a file");
        return FALSE;
    }
    const char *const *stages = (const char *const *)given.stages;
    const gboolean writes = given.import || given.forgets || given.measures_roofs;
    g_autoptr(CtStore) store = ct_store_open(path, writes, error);
    if (!store || (!given.import && !check_stages(store, stages, error)))
        return FALSE;
    return given.export           ? export(store, given.export, stages, error)
           : given.import         ? import(store, given.import, stages, error)
           : given.forgets        ? forget(store, stages, error)
           : given.measures_roofs ? measure_roofs(store, error)
                                  : list(store, path, stages, error);
}

const CtCommand ct_command_costs = {
    .name = "costs",
    .arguments = "",
    .summary = "List, export or import measured costs",
    .run = run,
};
