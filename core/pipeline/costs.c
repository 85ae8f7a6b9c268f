/* SPDX-License-Identifier: BSD-3-Clause */
/* The cost database for programs: lists, lines of JSON, and the ceilings of this machine. */
#include "cost/ceilings.h"
#include "cost/database.h"
#include "graph/registry.h"
#include "model/quantity.h"

#include <cornerturn/costs.h>

/* ---- opening ---- */

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
        g_autoptr(GError) cause = NULL;
        if (!ct_registry_stage(registry, stages[i] ? stages[i] : "", &cause)) {
            g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER, "%s: %s", name, cause->message);
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

/* Opens the database in *path, which is set to that of `given`, allocated. */
static CtDatabase *
open_database(const char *given, gboolean writes, const char *const *stages, char **path,
              GError **error)
{
    *path = ct_database_path(given);
    if (!*path) {
        g_set_error(error, CT_ERROR, CT_ERROR_IO,
                    "the cost database is off; a path or CORNERTURN_COSTS names a file");
        return NULL;
    }
    g_autoptr(CtDatabase) database = ct_database_open(*path, writes, error);
    return database && check_stages(database, stages, error) ? g_steal_pointer(&database) : NULL;
}

/* Reads what is selected; the arrays are as of ct_database_list() and
 * ct_database_list_ceilings(). */
static gboolean
read_database(CtDatabase *database, const char *const *stages, GPtrArray **measurements,
              GPtrArray **ceilings, GError **error)
{
    *measurements = ct_database_list(database, stages, error);
    *ceilings = *measurements ? ct_database_list_ceilings(database, error) : NULL;
    return *ceilings != NULL;
}

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
append_ceilings(GString *text, const GPtrArray *ceilings)
{
    const char *machine = NULL;
    for (guint i = 0; i < ceilings->len; i++) {
        const CtCeiling *ceiling = g_ptr_array_index(ceilings, i);
        if (!machine || !g_str_equal(machine, ceiling->machine)) {
            g_string_append_printf(text, "%s\n", ceiling->machine);
            machine = ceiling->machine;
        }
        g_autofree char *value = ceiling_value(ceiling);
        g_string_append_printf(text, "    %-22s %s\n", ceiling->name, value);
    }
    if (ceilings->len)
        g_string_append_printf(text, "\n");
}

static gboolean
is_of_same(const CtMeasurement *a, const CtMeasurement *b)
{
    return a && a->key.stages == b->key.stages && a->key.variant == b->key.variant;
}

/* "to device cf32[time] -> cf32[time]; 0 -> 0; window=3" */
static char *
describe_candidate(const CtCostKey *key)
{
    g_autofree char *layouts = ct_cost_key_print(key, CT_KEY_LAYOUTS);
    g_autofree char *lengths = ct_cost_key_print(key, CT_KEY_LENGTHS);
    g_autofree char *parameters = ct_cost_key_print(key, CT_KEY_PARAMETERS);
    return g_strdup_printf("%s%s%s; %s%s%s", key->way, *key->way ? " " : "", layouts, lengths,
                           *parameters ? "; " : "", parameters);
}

static void
append_measurement(GString *text, const CtMeasurement *measurement, const CtMeasurement *before)
{
    g_autoptr(GDateTime) time = g_date_time_new_from_unix_local(measurement->time);
    g_autofree char *day = time ? g_date_time_format(time, "%Y-%m-%d") : g_strdup("");
    g_autofree char *candidate = describe_candidate(&measurement->key);
    g_autofree char *tuning = ct_cost_key_print(&measurement->key, CT_KEY_TUNING);
    const gboolean is_same = is_of_same(before, measurement);
    g_autofree char *candidate_before = is_same ? describe_candidate(&before->key) : NULL;
    if (!is_same)
        g_string_append_printf(text, "%s %s\n", measurement->key.stages, measurement->key.variant);
    if (g_strcmp0(candidate, candidate_before) != 0)
        g_string_append_printf(text, "    %s\n", candidate);
    g_string_append_printf(text, "        %s%s", tuning, *tuning ? "  " : "");
    if (measurement->key.n_workers > 0)
        g_string_append_printf(text, "%" G_GINT64_FORMAT " %s  ", measurement->key.n_workers,
                               measurement->key.n_workers == 1 ? "worker" : "workers");
    if (measurement->failure) {
        g_autofree char *failure = g_strdelimit(g_strdup(measurement->failure), "\n", ' ');
        g_string_append_printf(text, "%s  failed: %s\n", day, failure);
    } else {
        g_string_append_printf(text, "%.4g ns a sample ±%.1f%%, %" G_GINT64_FORMAT " times  %s\n",
                               measurement->seconds * 1e9, measurement->spread * 100,
                               measurement->n_repetitions, day);
    }
}

char *
ct_costs_list(const char *given, const char *const *stages, GError **error)
{
    g_autofree char *path = NULL;
    g_autoptr(CtDatabase) database = open_database(given, FALSE, stages, &path, error);
    g_autoptr(GPtrArray) measurements = NULL, ceilings = NULL;
    if (!database || !read_database(database, stages, &measurements, &ceilings, error))
        return NULL;
    guint n_failed = 0;
    for (guint i = 0; i < measurements->len; i++)
        n_failed += ((const CtMeasurement *)g_ptr_array_index(measurements, i))->failure != NULL;
    GString *text = g_string_new(NULL);
    g_string_printf(text, "%s: %u measurements, %u of them failed\n\n", path, measurements->len,
                    n_failed);
    append_ceilings(text, ceilings);
    for (guint i = 0; i < measurements->len; i++)
        append_measurement(text, g_ptr_array_index(measurements, i),
                           i ? g_ptr_array_index(measurements, i - 1) : NULL);
    return g_string_free(text, FALSE);
}

/* ---- from database to database ---- */

char *
ct_costs_export(const char *given, const char *const *stages, GError **error)
{
    g_autofree char *path = NULL;
    g_autoptr(CtDatabase) database = open_database(given, FALSE, stages, &path, error);
    g_autoptr(GPtrArray) measurements = NULL, ceilings = NULL;
    if (!database || !read_database(database, stages, &measurements, &ceilings, error))
        return NULL;
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < ceilings->len; i++) {
        g_autofree char *line = ct_ceiling_to_json(g_ptr_array_index(ceilings, i));
        g_string_append_printf(text, "%s\n", line);
    }
    for (guint i = 0; i < measurements->len; i++) {
        g_autofree char *line = ct_measurement_to_json(g_ptr_array_index(measurements, i));
        g_string_append_printf(text, "%s\n", line);
    }
    return g_string_free(text, FALSE);
}

gboolean
ct_costs_import(const char *given, const char *text, gsize length, const char *name,
                const char *const *stages, guint *n_measurements, guint *n_ceilings, GError **error)
{
    g_autofree char *path = NULL;
    g_autoptr(CtDatabase) database = open_database(given, TRUE, NULL, &path, error);
    const CtStoreFilter filter = {.stages = stages};
    g_autoptr(GPtrArray) measurements =
        g_ptr_array_new_with_free_func((GDestroyNotify)ct_measurement_free);
    g_autoptr(GPtrArray) ceilings = g_ptr_array_new_with_free_func((GDestroyNotify)ct_ceiling_free);
    if (!database ||
        !ct_database_parse(text, length, name, &filter, measurements, ceilings, error) ||
        !ct_database_put_all(database, measurements, ceilings, error))
        return FALSE;
    *n_measurements = measurements->len;
    *n_ceilings = ceilings->len;
    return TRUE;
}

gboolean
ct_costs_forget(const char *given, const char *const *stages, guint *n, GError **error)
{
    g_autofree char *path = NULL;
    g_autoptr(CtDatabase) database = open_database(given, TRUE, stages, &path, error);
    return database && ct_database_forget(database, stages, n, error);
}

char *
ct_costs_measure_ceilings(const char *given, GError **error)
{
    g_autofree char *path = NULL;
    g_autoptr(CtDatabase) database = open_database(given, TRUE, NULL, &path, error);
    if (!database)
        return NULL;
    CtMachine machine;
    ct_machine_init(&machine, 0);
    ct_machine_find_devices(&machine);
    g_autoptr(GPtrArray) ceilings = ct_ceilings_measure(&machine, error);
    if (!ceilings || !ct_database_put_all(database, NULL, ceilings, error))
        return NULL;
    GString *text = g_string_new(NULL);
    append_ceilings(text, ceilings);
    return g_string_free(text, FALSE);
}
