/* SPDX-License-Identifier: BSD-3-Clause */
/* The store of costs, an SQLite database. */
#include "model/environment.h"
#include "store-fields.h"

#include <cornerturn/stage.h>
#include <errno.h>
#include <sqlite3.h>
#include <string.h>

/* So that other databases are not taken for a store, nor one of another shape for this. */
static const int application_id = 0x43546331; /* "CTc1" */
static const int schema_version = 1;

/* How long to wait for other processes, which write one measurement at a time. */
enum { READER_WAITS_MS = 2000, WRITER_WAITS_MS = 20000 };

struct CtStore {
    sqlite3 *database; /* NULL: there is no file yet, and nobody writes */
    char *path;
    sqlite3_stmt *put; /* prepared when first wanted */
};

typedef sqlite3_stmt Statement;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Statement, sqlite3_finalize)

/* ---- measurements ---- */

void
ct_measurement_clear(CtMeasurement *measurement)
{
    for (guint f = 0; f < CT_N_FIELDS; f++) {
        if (ct_measurement_fields[f].kind == CT_FIELD_TEXT)
            g_free(*ct_field_text(&ct_measurement_fields[f], measurement));
    }
    *measurement = (CtMeasurement){0};
}

void
ct_measurement_free(CtMeasurement *measurement)
{
    if (!measurement)
        return;
    ct_measurement_clear(measurement);
    g_free(measurement);
}

void
ct_roof_free(CtRoof *roof)
{
    if (!roof)
        return;
    g_free(roof->machine);
    g_free(roof->name);
    g_free(roof);
}

/* ---- errors ---- */

/* What SQLite says, and what to do about it. */
static gboolean
report(const CtStore *store, int result, const char *doing, GError **error)
{
    static const struct {
        int result;
        const char *advice;
    } advices[] = {
        {SQLITE_CORRUPT, "; remove the file to measure anew"},
        {SQLITE_NOTADB, "; --costs or CORNERTURN_COSTS name another file"},
        {SQLITE_READONLY, "; --costs or CORNERTURN_COSTS name another file"},
        {SQLITE_CANTOPEN, "; --costs or CORNERTURN_COSTS name another file"},
        {SQLITE_BUSY, " by another process"},
    };
    const char *advice = "";
    for (guint i = 0; i < G_N_ELEMENTS(advices); i++) {
        if (advices[i].result == (result & 0xff))
            advice = advices[i].advice;
    }
    g_set_error(error, CT_ERROR, CT_ERROR_IO, "the store of costs %s cannot be %s: %s%s",
                store->path, doing, sqlite3_errstr(result), advice);
    return FALSE;
}

static Statement *
prepare(CtStore *store, const char *sql, const char *doing, GError **error)
{
    Statement *statement = NULL;
    const int result = sqlite3_prepare_v2(store->database, sql, -1, &statement, NULL);
    if (result != SQLITE_OK)
        report(store, result, doing, error);
    return statement;
}

/* ---- opening ---- */

char *
ct_store_path(const char *given)
{
    const char *path = given ? given : ct_environment("CORNERTURN_COSTS");
    if (!path || !*path) {
        g_autofree char *cache = ct_cache_folder();
        return g_build_filename(cache, "costs.db", NULL);
    }
    return g_str_equal(path, "off") ? NULL : g_strdup(path);
}

static gboolean
execute(CtStore *store, const char *sql, const char *doing, GError **error)
{
    const int result = sqlite3_exec(store->database, sql, NULL, NULL, NULL);
    return result == SQLITE_OK || report(store, result, doing, error);
}

/* The number that a pragma gives, −1 with an error. */
static gint64
ask(CtStore *store, const char *sql, GError **error)
{
    g_autoptr(Statement) statement = prepare(store, sql, "read", error);
    if (!statement)
        return -1;
    const int result = sqlite3_step(statement);
    if (result == SQLITE_ROW)
        return sqlite3_column_int64(statement, 0);
    report(store, result, "read", error);
    return -1;
}

static char *
schema(void)
{
    static const char *const types[] = {
        [CT_FIELD_TEXT] = "TEXT", [CT_FIELD_INTEGER] = "INTEGER", [CT_FIELD_REAL] = "REAL"};
    g_autoptr(GString) sql = g_string_new("CREATE TABLE costs (");
    for (guint f = 0; f < CT_N_FIELDS; f++)
        g_string_append_printf(sql, "\"%s\" %s%s, ", ct_measurement_fields[f].name,
                               types[ct_measurement_fields[f].kind],
                               ct_measurement_fields[f].is_key ? " NOT NULL" : "");
    g_string_append(sql, "PRIMARY KEY (");
    for (guint f = 0; f < CT_N_KEYS; f++)
        g_string_append_printf(sql, "%s\"%s\"", f ? ", " : "", ct_measurement_fields[f].name);
    g_string_append_printf(sql,
                           ")) WITHOUT ROWID;"
                           "CREATE TABLE roofs (machine TEXT NOT NULL, name TEXT NOT NULL,"
                           " value REAL NOT NULL, time INTEGER NOT NULL,"
                           " PRIMARY KEY (machine, name)) WITHOUT ROWID;"
                           "PRAGMA application_id = %d; PRAGMA user_version = %d;",
                           application_id, schema_version);
    return g_string_free(g_steal_pointer(&sql), FALSE);
}

/* What the file is: a store of this version, or (*empty) nothing yet. */
static gboolean
check(CtStore *store, gboolean *empty, GError **error)
{
    const gint64 n_tables = ask(store, "SELECT count(*) FROM sqlite_schema", error);
    const gint64 id = n_tables < 0 ? -1 : ask(store, "PRAGMA application_id", error);
    const gint64 version = id < 0 ? -1 : ask(store, "PRAGMA user_version", error);
    if (version < 0)
        return FALSE;
    *empty = n_tables == 0;
    if (!*empty && id != application_id) {
        g_set_error(error, CT_ERROR, CT_ERROR_IO, "%s is a database, but no store of costs",
                    store->path);
        return FALSE;
    }
    if (!*empty && version != schema_version) {
        g_set_error(error, CT_ERROR, CT_ERROR_IO,
                    "the store of costs %s was written by another version of Cornerturn (its form "
                    "is %d, wanted is %d); remove it to measure anew",
                    store->path, (int)version, schema_version);
        return FALSE;
    }
    return TRUE;
}

/* Two processes may come at once: the second finds the tables made. */
static gboolean
make_tables(CtStore *store, GError **error)
{
    gboolean empty;
    if (!execute(store, "BEGIN IMMEDIATE", "written", error))
        return FALSE;
    g_autofree char *sql = schema();
    if (!check(store, &empty, error) || (empty && !execute(store, sql, "written", error))) {
        execute(store, "ROLLBACK", "written", NULL);
        return FALSE;
    }
    return execute(store, "COMMIT", "written", error);
}

CtStore *
ct_store_open(const char *path, gboolean writes, GError **error)
{
    g_autoptr(CtStore) store = g_new0(CtStore, 1);
    store->path = g_strdup(path);
    if (!writes && !g_file_test(path, G_FILE_TEST_EXISTS))
        return g_steal_pointer(&store);
    g_autofree char *folder = g_path_get_dirname(path);
    if (writes && g_mkdir_with_parents(folder, 0777) != 0) {
        g_set_error(error, CT_ERROR, CT_ERROR_IO,
                    "the store of costs %s cannot be made: folder %s: %s", path, folder,
                    g_strerror(errno));
        return NULL;
    }
    /* Even a reader may have to undo what a writer that died had begun. */
    const int flags = SQLITE_OPEN_READWRITE | (writes ? SQLITE_OPEN_CREATE : 0);
    const int result = sqlite3_open_v2(path, &store->database, flags, NULL);
    if (result != SQLITE_OK) {
        report(store, result, writes ? "made" : "read", error);
        return NULL;
    }
    sqlite3_extended_result_codes(store->database, 1);
    sqlite3_busy_timeout(store->database, writes ? WRITER_WAITS_MS : READER_WAITS_MS);
    if (writes && sqlite3_db_readonly(store->database, "main") == 1) {
        report(store, SQLITE_READONLY, "written", error);
        return NULL;
    }
    gboolean empty;
    if (!check(store, &empty, error))
        return NULL;
    if (empty && !writes) {
        g_clear_pointer(&store->database, sqlite3_close);
        return g_steal_pointer(&store);
    }
    if (empty && !make_tables(store, error))
        return NULL;
    /* A measurement takes as long as a disk's cache takes to be emptied, so this is left to the
     * system: what a process wrote outlives it, if not the machine. */
    if (writes && !execute(store, "PRAGMA synchronous = OFF", "written", error))
        return NULL;
    return g_steal_pointer(&store);
}

void
ct_store_close(CtStore *store)
{
    if (!store)
        return;
    sqlite3_finalize(store->put);
    sqlite3_close(store->database);
    g_free(store->path);
    g_free(store);
}

/* ---- rows ---- */

static void
bind_field(Statement *statement, int at, const CtField *field, const CtMeasurement *measurement)
{
    if (field->kind == CT_FIELD_TEXT)
        sqlite3_bind_text(statement, at, *ct_field_text(field, measurement), -1, SQLITE_STATIC);
    else if (field->kind == CT_FIELD_INTEGER)
        sqlite3_bind_int64(statement, at, *ct_field_integer(field, measurement));
    else
        sqlite3_bind_double(statement, at, *ct_field_real(field, measurement));
}

/* `is_needed`: the file may be of others, whose table allows NULL. */
static char *
column_text(Statement *statement, guint column, gboolean is_needed)
{
    const char *text = (const char *)sqlite3_column_text(statement, (int)column);
    return g_strdup(text || !is_needed ? text : "");
}

static CtMeasurement *
read_row(Statement *statement)
{
    CtMeasurement *measurement = g_new0(CtMeasurement, 1);
    for (guint f = 0; f < CT_N_FIELDS; f++) {
        const CtField *field = &ct_measurement_fields[f];
        if (field->kind == CT_FIELD_TEXT)
            *ct_field_text(field, measurement) = column_text(statement, f, field->is_key);
        else if (field->kind == CT_FIELD_INTEGER)
            *ct_field_integer(field, measurement) = sqlite3_column_int64(statement, (int)f);
        else
            *ct_field_real(field, measurement) = sqlite3_column_double(statement, (int)f);
    }
    return measurement;
}

/* "\"stages\", \"variant\", …": the order of columns in the file is its own. */
static void
append_columns(GString *sql)
{
    for (guint f = 0; f < CT_N_FIELDS; f++)
        g_string_append_printf(sql, "%s\"%s\"", f ? ", " : "", ct_measurement_fields[f].name);
}

gboolean
ct_store_put(CtStore *store, const CtMeasurement *measurement, GError **error)
{
    if (!store->put) {
        g_autoptr(GString) sql = g_string_new("INSERT OR REPLACE INTO costs (");
        append_columns(sql);
        g_string_append(sql, ") VALUES (?");
        for (guint f = 1; f < CT_N_FIELDS; f++)
            g_string_append(sql, ", ?");
        g_string_append(sql, ")");
        store->put = prepare(store, sql->str, "written", error);
        if (!store->put)
            return FALSE;
    }
    for (guint f = 0; f < CT_N_FIELDS; f++)
        bind_field(store->put, (int)f + 1, &ct_measurement_fields[f], measurement);
    sqlite3_step(store->put);
    const int result = sqlite3_reset(store->put);
    sqlite3_clear_bindings(store->put);
    return result == SQLITE_OK || report(store, result, "written", error);
}

CtMeasurement *
ct_store_get(CtStore *store, const CtMeasurement *key, GError **error)
{
    if (!store->database)
        return NULL;
    g_autoptr(GString) sql = g_string_new("SELECT ");
    append_columns(sql);
    g_string_append(sql, " FROM costs WHERE ");
    for (guint f = 0; f < CT_N_KEYS; f++)
        g_string_append_printf(sql, "%s\"%s\" = ?", f ? " AND " : "",
                               ct_measurement_fields[f].name);
    g_autoptr(Statement) statement = prepare(store, sql->str, "read", error);
    if (!statement)
        return NULL;
    for (guint f = 0; f < CT_N_KEYS; f++)
        bind_field(statement, (int)f + 1, &ct_measurement_fields[f], key);
    const int result = sqlite3_step(statement);
    if (result == SQLITE_ROW)
        return read_row(statement);
    if (result != SQLITE_DONE)
        report(store, result, "read", error);
    return NULL;
}

/* Binds what append_stages has left open. */
static void
bind_stages(Statement *statement, const char *const *stages)
{
    for (int i = 0; stages && stages[i]; i++)
        sqlite3_bind_text(statement, i + 1, stages[i], -1, SQLITE_STATIC);
}

/* Of these stages alone; NULL: of all. */
static void
append_stages(GString *sql, const char *const *stages)
{
    if (!stages)
        return;
    g_string_append(sql, " WHERE stages IN (");
    for (guint i = 0; stages[i]; i++)
        g_string_append(sql, i ? ", ?" : "?");
    g_string_append(sql, ")");
}

GPtrArray *
ct_store_list(CtStore *store, const char *const *stages, GError **error)
{
    g_autoptr(GPtrArray) list = g_ptr_array_new_with_free_func((GDestroyNotify)ct_measurement_free);
    if (!store->database)
        return g_steal_pointer(&list);
    g_autoptr(GString) sql = g_string_new("SELECT ");
    append_columns(sql);
    g_string_append(sql, " FROM costs");
    append_stages(sql, stages);
    g_string_append(sql, " ORDER BY ");
    for (guint f = 0; f < CT_N_KEYS; f++)
        g_string_append_printf(sql, "%s\"%s\"", f ? ", " : "", ct_measurement_fields[f].name);
    g_autoptr(Statement) statement = prepare(store, sql->str, "read", error);
    if (!statement)
        return NULL;
    bind_stages(statement, stages);
    int result;
    while ((result = sqlite3_step(statement)) == SQLITE_ROW)
        g_ptr_array_add(list, read_row(statement));
    if (result != SQLITE_DONE) {
        report(store, result, "read", error);
        return NULL;
    }
    return g_steal_pointer(&list);
}

gboolean
ct_store_forget(CtStore *store, const char *const *stages, guint *n, GError **error)
{
    g_autoptr(GString) sql = g_string_new("DELETE FROM costs");
    append_stages(sql, stages);
    g_autoptr(Statement) statement = prepare(store, sql->str, "written", error);
    if (!statement)
        return FALSE;
    bind_stages(statement, stages);
    const int result = sqlite3_step(statement);
    if (result != SQLITE_DONE)
        return report(store, result, "written", error);
    *n = (guint)sqlite3_changes(store->database);
    return TRUE;
}

/* ---- roofs ---- */

gboolean
ct_store_put_roof(CtStore *store, const CtRoof *roof, GError **error)
{
    g_autoptr(Statement) statement =
        prepare(store, "INSERT OR REPLACE INTO roofs VALUES (?, ?, ?, ?)", "written", error);
    if (!statement)
        return FALSE;
    sqlite3_bind_text(statement, 1, roof->machine, -1, SQLITE_STATIC);
    sqlite3_bind_text(statement, 2, roof->name, -1, SQLITE_STATIC);
    sqlite3_bind_double(statement, 3, roof->value);
    sqlite3_bind_int64(statement, 4, roof->time);
    const int result = sqlite3_step(statement);
    return result == SQLITE_DONE || report(store, result, "written", error);
}

GPtrArray *
ct_store_list_roofs(CtStore *store, GError **error)
{
    g_autoptr(GPtrArray) list = g_ptr_array_new_with_free_func((GDestroyNotify)ct_roof_free);
    if (!store->database)
        return g_steal_pointer(&list);
    g_autoptr(Statement) statement =
        prepare(store, "SELECT machine, name, value, time FROM roofs", "read", error);
    if (!statement)
        return NULL;
    int result;
    while ((result = sqlite3_step(statement)) == SQLITE_ROW) {
        CtRoof *roof = g_new0(CtRoof, 1);
        roof->machine = column_text(statement, 0, TRUE);
        roof->name = column_text(statement, 1, TRUE);
        roof->value = sqlite3_column_double(statement, 2);
        roof->time = sqlite3_column_int64(statement, 3);
        g_ptr_array_add(list, roof);
    }
    if (result != SQLITE_DONE) {
        report(store, result, "read", error);
        return NULL;
    }
    return g_steal_pointer(&list);
}

/* ---- many at once ---- */

static gboolean
put_each(CtStore *store, const GPtrArray *measurements, const GPtrArray *roofs, GError **error)
{
    for (guint i = 0; measurements && i < measurements->len; i++)
        if (!ct_store_put(store, g_ptr_array_index(measurements, i), error))
            return FALSE;
    for (guint i = 0; roofs && i < roofs->len; i++)
        if (!ct_store_put_roof(store, g_ptr_array_index(roofs, i), error))
            return FALSE;
    return TRUE;
}

gboolean
ct_store_put_all(CtStore *store, const GPtrArray *measurements, const GPtrArray *roofs,
                 GError **error)
{
    if (!execute(store, "BEGIN IMMEDIATE", "written", error))
        return FALSE;
    if (put_each(store, measurements, roofs, error) && execute(store, "COMMIT", "written", error))
        return TRUE;
    execute(store, "ROLLBACK", "written", NULL);
    return FALSE;
}
