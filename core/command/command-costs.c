/* SPDX-License-Identifier: BSD-3-Clause */
/* `cornerturn costs`: the database of measured costs. */
#include "command.h"
#include "cost/ceilings.h"
#include "cost/database.h"
#include "graph/registry.h"
#include "model/quantity.h"

#include <cornerturn/stage.h>

typedef struct {
    char *costs;
    char *export;
    char *import;
    char **stages;
    gboolean forgets;
    gboolean measures_ceilings;
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
ceiling_value(const CtCeiling *ceiling)
{
    if (g_str_has_prefix(ceiling->name, "block"))
        return ct_format_bytes((gsize)ceiling->value);
    const gboolean is_share = g_str_has_prefix(ceiling->name, "share");
    return g_strdup_printf("%8.4g %s", ceiling->value * (is_share ? 100 : 1e-9),
                           is_share                                  ? "%"
                           : g_str_has_prefix(ceiling->name, "peak") ? "Gop/s"
                                                                     : "GB/s");
}

static void
print_ceilings(const GPtrArray *ceilings)
{
    const char *machine = NULL;
    for (guint i = 0; i < ceilings->len; i++) {
        const CtCeiling *ceiling = g_ptr_array_index(ceilings, i);
        if (!machine || !g_str_equal(machine, ceiling->machine)) {
            g_print("%s\n", ceiling->machine);
            machine = ceiling->machine;
        }
        g_autofree char *value = ceiling_value(ceiling);
        g_print("    %-22s %s\n", ceiling->name, value);
    }
    if (ceilings->len)
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
list(CtDatabase *database, const char *path, const char *const *stages, GError **error)
{
    g_autoptr(GPtrArray) measurements = ct_database_list(database, stages, error);
    g_autoptr(GPtrArray) ceilings =
        measurements ? ct_database_list_ceilings(database, error) : NULL;
    if (!ceilings)
        return FALSE;
    guint n_failed = 0;
    for (guint i = 0; i < measurements->len; i++)
        n_failed += ((const CtMeasurement *)g_ptr_array_index(measurements, i))->failure != NULL;
    g_print("%s: %u measurements, %u of them failed\n\n", path, measurements->len, n_failed);
    print_ceilings(ceilings);
    for (guint i = 0; i < measurements->len; i++)
        print_measurement(g_ptr_array_index(measurements, i),
                          i ? g_ptr_array_index(measurements, i - 1) : NULL);
    return TRUE;
}

/* ---- from database to database ---- */

static gboolean export(CtDatabase *database, const char *file, const char *const *stages,
                       GError **error)
{
    g_autoptr(GPtrArray) measurements = ct_database_list(database, stages, error);
    g_autoptr(GPtrArray) ceilings =
        measurements ? ct_database_list_ceilings(database, error) : NULL;
    if (!ceilings)
        return FALSE;
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint i = 0; i < ceilings->len; i++) {
        g_autofree char *line = ct_ceiling_to_json(g_ptr_array_index(ceilings, i));
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
    /* The file is written under another name and renamed, which would replace a device. */
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
import(CtDatabase *database, const char *file, const char *const *stages, GError **error)
{
    g_autofree char *text = NULL;
    gsize length;
    const CtStoreFilter filter = {.stages = stages};
    g_autoptr(GPtrArray) measurements =
        g_ptr_array_new_with_free_func((GDestroyNotify)ct_measurement_free);
    g_autoptr(GPtrArray) ceilings = g_ptr_array_new_with_free_func((GDestroyNotify)ct_ceiling_free);
    if (!g_file_get_contents(file, &text, &length, error) ||
        !ct_database_parse(text, length, file, &filter, measurements, ceilings, error) ||
        !ct_database_put_all(database, measurements, ceilings, error))
        return FALSE;
    g_print("%u measurements and %u ceilings imported\n", measurements->len, ceilings->len);
    return TRUE;
}

static gboolean
forget(CtDatabase *database, const char *const *stages, GError **error)
{
    guint n;
    if (!ct_database_forget(database, stages, &n, error))
        return FALSE;
    g_print("%u measurements forgotten\n", n);
    return TRUE;
}

static gboolean
measure_ceilings(CtDatabase *database, GError **error)
{
    CtMachine machine;
    ct_machine_init(&machine, 0);
    ct_machine_find_devices(&machine);
    g_autoptr(GPtrArray) ceilings = ct_ceilings_measure(&machine, error);
    if (!ceilings || !ct_database_put_all(database, NULL, ceilings, error))
        return FALSE;
    print_ceilings(ceilings);
    return TRUE;
}

/* Whether the cost database has measurements of the stages `name`, or all of these stages exist. */
static gboolean
check_stage(CtDatabase *database, CtRegistry *registry, const char *name, GError **error)
{
    const char *const alone[] = {name, NULL};
    g_autoptr(GPtrArray) measurements = ct_database_list(database, alone, error);
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
check_stages(CtDatabase *database, const char *const *stages, GError **error)
{
    g_autoptr(CtRegistry) registry = stages ? ct_registry_new(error) : NULL;
    for (guint i = 0; registry && stages[i]; i++)
        if (!check_stage(database, registry, stages[i], error))
            return FALSE;
    return !stages || registry;
}

static gboolean
run(int argc, char **argv, GError **error)
{
    g_auto(Given) given = {0};
    const GOptionEntry entries[] = {
        {"stage", 0, 0, G_OPTION_ARG_STRING_ARRAY, &given.stages,
         "Only this stage, or several stages in one variant, such as fir+fft", "NAME"},
        {"export", 0, 0, G_OPTION_ARG_FILENAME, &given.export,
         "Write lines of JSON; - is standard output", "FILE"},
        {"import", 0, 0, G_OPTION_ARG_FILENAME, &given.import,
         "Add lines of JSON; they replace measurements with the same key", "FILE"},
        {"forget", 0, 0, G_OPTION_ARG_NONE, &given.forgets, "Remove the measurements", NULL},
        {"measure-ceilings", 0, 0, G_OPTION_ARG_NONE, &given.measures_ceilings,
         "Measure the ceilings of this machine again", NULL},
        {"costs", 0, 0, G_OPTION_ARG_FILENAME, &given.costs,
         "The cost database (default: the one in the user's cache)", "FILE"},
        {NULL},
    };
    if (!ct_command_parse(&ct_command_costs, entries, &argc, &argv, 0, 0, error))
        return FALSE;
    if ((given.export != NULL) + (given.import != NULL) + given.forgets + given.measures_ceilings >
        1) {
        g_set_error(
            error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
            "wants one of --export, --import, --forget and --measure-ceilings, but is given "
            "several");
        return FALSE;
    }
    if (given.measures_ceilings && given.stages) {
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                    "wants one of --measure-ceilings and --stage, but is given both");
        return FALSE;
    }
    g_autofree char *path = ct_database_path(given.costs);
    if (!path) {
        g_set_error(error, CT_ERROR, CT_ERROR_IO,
                    "the cost database is off; --costs or CORNERTURN_COSTS name a file");
        return FALSE;
    }
    const char *const *stages = (const char *const *)given.stages;
    const gboolean writes = given.import || given.forgets || given.measures_ceilings;
    g_autoptr(CtDatabase) database = ct_database_open(path, writes, error);
    if (!database || (!given.import && !check_stages(database, stages, error)))
        return FALSE;
    return given.export              ? export(database, given.export, stages, error)
           : given.import            ? import(database, given.import, stages, error)
           : given.forgets           ? forget(database, stages, error)
           : given.measures_ceilings ? measure_ceilings(database, error)
                                     : list(database, path, stages, error);
}

const CtCommand ct_command_costs = {
    .name = "costs",
    .arguments = "",
    .summary = "List, export or import measured costs",
    .run = run,
};
