/* SPDX-License-Identifier: BSD-3-Clause */
/* The cost database, in SQLite. */
#include "database-fields.h"
#include "model/environment.h"

#include <cornerturn/stage.h>
#include <errno.h>
#include <sqlite3.h>
#include <string.h>

/* Identify the file as a cost database, and its version. */
static const int application_id = 0x43546331; /* "CTc1" */
static const int schema_version = 1;

/* The time to wait for other processes, each of which writes one measurement at a time. */
enum { READER_WAITS_MS = 2000, WRITER_WAITS_MS = 20000 };

struct CtDatabase {
    sqlite3 *handle; /* NULL: the file does not exist, and the database is open for reading */
    char *path;
    sqlite3_stmt *put; /* prepared at its first use */
};

typedef sqlite3_stmt Statement;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Statement, sqlite3_finalize)

void
ct_ceiling_free(CtCeiling *ceiling)
{
    if (!ceiling)
        return;
    g_free(ceiling->machine);
    g_free(ceiling->name);
    g_free(ceiling);
}

/* ---- errors ---- */

/* Sets an error with SQLite's message, and advice for the user. */
static gboolean
report(const CtDatabase *database, int result, const char *doing, GError **error)
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
    g_set_error(error, CT_ERROR, CT_ERROR_IO, "the cost database %s cannot be %s: %s%s",
                database->path, doing, sqlite3_errstr(result), advice);
    return FALSE;
}

static Statement *
prepare(CtDatabase *database, const char *sql, const char *doing, GError **error)
{
    Statement *statement = NULL;
    const int result = sqlite3_prepare_v2(database->handle, sql, -1, &statement, NULL);
    if (result != SQLITE_OK)
        report(database, result, doing, error);
    return statement;
}

/* ---- opening ---- */

char *
ct_database_path(const char *given)
{
    const char *path = given ? given : ct_environment("CORNERTURN_COSTS");
    if (!path || !*path) {
        g_autofree char *cache = ct_cache_folder();
        return g_build_filename(cache, "costs.db", NULL);
    }
    return g_str_equal(path, "off") ? NULL : g_strdup(path);
}

static gboolean
execute(CtDatabase *database, const char *sql, const char *doing, GError **error)
{
    const int result = sqlite3_exec(database->handle, sql, NULL, NULL, NULL);
    return result == SQLITE_OK || report(database, result, doing, error);
}

/* The number that the statement returns; −1 with an error. */
static gint64
ask(CtDatabase *database, const char *sql, GError **error)
{
    g_autoptr(Statement) statement = prepare(database, sql, "read", error);
    if (!statement)
        return -1;
    const int result = sqlite3_step(statement);
    if (result == SQLITE_ROW)
        return sqlite3_column_int64(statement, 0);
    report(database, result, "read", error);
    return -1;
}

static char *
schema(void)
{
    g_autoptr(GString) sql = g_string_new("CREATE TABLE costs (");
    for (guint f = 0; f < CT_N_FIELDS; f++) {
        const CtField *field = &ct_measurement_fields[f];
        g_string_append_printf(sql, "\"%s\" %s%s, ", field->name,
                               field->kind == CT_FIELD_INTEGER ? "INTEGER"
                               : field->kind == CT_FIELD_REAL  ? "REAL"
                                                               : "TEXT",
                               f < CT_N_KEYS ? " NOT NULL" : "");
    }
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

/* Checks that the file is a database of this version, or sets *empty if it has no tables yet. */
static gboolean
check(CtDatabase *database, gboolean *empty, GError **error)
{
    const gint64 n_tables = ask(database, "SELECT count(*) FROM sqlite_schema", error);
    const gint64 id = n_tables < 0 ? -1 : ask(database, "PRAGMA application_id", error);
    const gint64 version = id < 0 ? -1 : ask(database, "PRAGMA user_version", error);
    if (version < 0)
        return FALSE;
    *empty = n_tables == 0;
    if (!*empty && id != application_id) {
        g_set_error(error, CT_ERROR, CT_ERROR_IO, "%s is a database, but no cost database",
                    database->path);
        return FALSE;
    }
    if (!*empty && version != schema_version) {
        g_set_error(error, CT_ERROR, CT_ERROR_IO,
                    "the cost database %s was written by another version of Cornerturn (its form "
                    "is %d, wanted is %d); remove it to measure anew",
                    database->path, (int)version, schema_version);
        return FALSE;
    }
    return TRUE;
}

/* If two processes come here at once, the second finds the tables made. */
static gboolean
make_tables(CtDatabase *database, GError **error)
{
    gboolean empty;
    if (!execute(database, "BEGIN IMMEDIATE", "written", error))
        return FALSE;
    g_autofree char *sql = schema();
    if (!check(database, &empty, error) || (empty && !execute(database, sql, "written", error))) {
        execute(database, "ROLLBACK", "written", NULL);
        return FALSE;
    }
    return execute(database, "COMMIT", "written", error);
}

CtDatabase *
ct_database_open(const char *path, gboolean writes, GError **error)
{
    g_autoptr(CtDatabase) database = g_new0(CtDatabase, 1);
    database->path = g_strdup(path);
    if (!writes && !g_file_test(path, G_FILE_TEST_EXISTS))
        return g_steal_pointer(&database);
    g_autofree char *folder = g_path_get_dirname(path);
    if (writes && g_mkdir_with_parents(folder, 0777) != 0) {
        g_set_error(error, CT_ERROR, CT_ERROR_IO,
                    "the cost database %s cannot be made: folder %s: %s", path, folder,
                    g_strerror(errno));
        return NULL;
    }
    /* Even a reader may have to roll back the transaction of a writer that died. */
    const int flags = SQLITE_OPEN_READWRITE | (writes ? SQLITE_OPEN_CREATE : 0);
    const int result = sqlite3_open_v2(path, &database->handle, flags, NULL);
    if (result != SQLITE_OK) {
        report(database, result, writes ? "made" : "read", error);
        return NULL;
    }
    sqlite3_extended_result_codes(database->handle, 1);
    sqlite3_busy_timeout(database->handle, writes ? WRITER_WAITS_MS : READER_WAITS_MS);
    if (writes && sqlite3_db_readonly(database->handle, "main") == 1) {
        report(database, SQLITE_READONLY, "written", error);
        return NULL;
    }
    gboolean empty;
    if (!check(database, &empty, error))
        return NULL;
    if (empty && !writes) {
        g_clear_pointer(&database->handle, sqlite3_close);
        return g_steal_pointer(&database);
    }
    if (empty && !make_tables(database, error))
        return NULL;
    /* Flushing to the disk would take as long as a measurement, so it is left to the system: data
     * survive the process, but perhaps not a crash of the machine. */
    if (writes && !execute(database, "PRAGMA synchronous = OFF", "written", error))
        return NULL;
    return g_steal_pointer(&database);
}

void
ct_database_close(CtDatabase *database)
{
    if (!database)
        return;
    sqlite3_finalize(database->put);
    sqlite3_close(database->handle);
    g_free(database->path);
    g_free(database);
}

/* ---- rows ---- */

static void
bind_field(Statement *statement, guint f, const CtMeasurement *measurement)
{
    const CtField *field = &ct_measurement_fields[f];
    const int at = (int)f + 1;
    if (field->kind == CT_FIELD_INTEGER)
        sqlite3_bind_int64(statement, at, *ct_field_integer(field, measurement));
    else if (field->kind == CT_FIELD_REAL)
        sqlite3_bind_double(statement, at, *ct_field_real(field, measurement));
    else
        sqlite3_bind_text(statement, at, ct_field_text(field, measurement), -1, g_free);
}

/* If `is_needed`, NULL becomes "": another program may have made the table, and may allow NULL. */
static char *
column_text(Statement *statement, guint column, gboolean is_needed)
{
    const char *text = (const char *)sqlite3_column_text(statement, (int)column);
    return g_strdup(text || !is_needed ? text : "");
}

static gboolean
read_field(Statement *statement, guint f, CtMeasurement *measurement)
{
    const CtField *field = &ct_measurement_fields[f];
    if (field->kind == CT_FIELD_INTEGER) {
        *ct_field_integer(field, measurement) = sqlite3_column_int64(statement, (int)f);
    } else if (field->kind == CT_FIELD_REAL) {
        *ct_field_real(field, measurement) = sqlite3_column_double(statement, (int)f);
    } else {
        g_autofree char *text = column_text(statement, f, f < CT_N_KEYS);
        return ct_field_set_text(field, measurement, text);
    }
    return TRUE;
}

/* NULL if the key cannot be parsed. */
static CtMeasurement *
read_row(Statement *statement)
{
    g_autoptr(CtMeasurement) measurement = g_new0(CtMeasurement, 1);
    for (guint f = 0; f < CT_N_FIELDS; f++)
        if (!read_field(statement, f, measurement))
            return NULL;
    return g_steal_pointer(&measurement);
}

/* "\"stages\", \"variant\", …": the columns in the file may have another order. */
static void
append_columns(GString *sql)
{
    for (guint f = 0; f < CT_N_FIELDS; f++)
        g_string_append_printf(sql, "%s\"%s\"", f ? ", " : "", ct_measurement_fields[f].name);
}

gboolean
ct_database_put(CtDatabase *database, const CtMeasurement *measurement, GError **error)
{
    if (!database->put) {
        g_autoptr(GString) sql = g_string_new("INSERT OR REPLACE INTO costs (");
        append_columns(sql);
        g_string_append(sql, ") VALUES (?");
        for (guint f = 1; f < CT_N_FIELDS; f++)
            g_string_append(sql, ", ?");
        g_string_append(sql, ")");
        database->put = prepare(database, sql->str, "written", error);
        if (!database->put)
            return FALSE;
    }
    for (guint f = 0; f < CT_N_FIELDS; f++)
        bind_field(database->put, f, measurement);
    sqlite3_step(database->put);
    const int result = sqlite3_reset(database->put);
    sqlite3_clear_bindings(database->put);
    return result == SQLITE_OK || report(database, result, "written", error);
}

CtMeasurement *
ct_database_get(CtDatabase *database, const CtCostKey *key, GError **error)
{
    if (!database->handle)
        return NULL;
    g_autoptr(GString) sql = g_string_new("SELECT ");
    append_columns(sql);
    g_string_append(sql, " FROM costs WHERE ");
    for (guint f = 0; f < CT_N_KEYS; f++)
        g_string_append_printf(sql, "%s\"%s\" = ?", f ? " AND " : "",
                               ct_measurement_fields[f].name);
    g_autoptr(Statement) statement = prepare(database, sql->str, "read", error);
    if (!statement)
        return NULL;
    for (guint f = 0; f < CT_N_KEYS; f++)
        bind_field(statement, f, &(CtMeasurement){.key = *key});
    const int result = sqlite3_step(statement);
    if (result == SQLITE_ROW)
        return read_row(statement);
    if (result != SQLITE_DONE)
        report(database, result, "read", error);
    return NULL;
}

/* Binds the parameters of append_stages. */
static void
bind_stages(Statement *statement, const char *const *stages)
{
    for (int i = 0; stages && stages[i]; i++)
        sqlite3_bind_text(statement, i + 1, stages[i], -1, SQLITE_STATIC);
}

/* Appends a condition that selects these stages; NULL: all. */
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
ct_database_list(CtDatabase *database, const char *const *stages, GError **error)
{
    g_autoptr(GPtrArray) list = g_ptr_array_new_with_free_func((GDestroyNotify)ct_measurement_free);
    if (!database->handle)
        return g_steal_pointer(&list);
    g_autoptr(GString) sql = g_string_new("SELECT ");
    append_columns(sql);
    g_string_append(sql, " FROM costs");
    append_stages(sql, stages);
    g_string_append(sql, " ORDER BY ");
    for (guint f = 0; f < CT_N_KEYS; f++)
        g_string_append_printf(sql, "%s\"%s\"", f ? ", " : "", ct_measurement_fields[f].name);
    g_autoptr(Statement) statement = prepare(database, sql->str, "read", error);
    if (!statement)
        return NULL;
    bind_stages(statement, stages);
    int result;
    while ((result = sqlite3_step(statement)) == SQLITE_ROW) {
        CtMeasurement *measurement = read_row(statement);
        if (measurement)
            g_ptr_array_add(list, measurement);
    }
    if (result != SQLITE_DONE) {
        report(database, result, "read", error);
        return NULL;
    }
    return g_steal_pointer(&list);
}

gboolean
ct_database_forget(CtDatabase *database, const char *const *stages, guint *n, GError **error)
{
    g_autoptr(GString) sql = g_string_new("DELETE FROM costs");
    append_stages(sql, stages);
    g_autoptr(Statement) statement = prepare(database, sql->str, "written", error);
    if (!statement)
        return FALSE;
    bind_stages(statement, stages);
    const int result = sqlite3_step(statement);
    if (result != SQLITE_DONE)
        return report(database, result, "written", error);
    *n = (guint)sqlite3_changes(database->handle);
    return TRUE;
}

/* ---- ceilings ---- */

gboolean
ct_database_put_ceiling(CtDatabase *database, const CtCeiling *ceiling, GError **error)
{
    g_autoptr(Statement) statement =
        prepare(database, "INSERT OR REPLACE INTO roofs VALUES (?, ?, ?, ?)", "written", error);
    if (!statement)
        return FALSE;
    sqlite3_bind_text(statement, 1, ceiling->machine, -1, SQLITE_STATIC);
    sqlite3_bind_text(statement, 2, ceiling->name, -1, SQLITE_STATIC);
    sqlite3_bind_double(statement, 3, ceiling->value);
    sqlite3_bind_int64(statement, 4, ceiling->time);
    const int result = sqlite3_step(statement);
    return result == SQLITE_DONE || report(database, result, "written", error);
}

GPtrArray *
ct_database_list_ceilings(CtDatabase *database, GError **error)
{
    g_autoptr(GPtrArray) list = g_ptr_array_new_with_free_func((GDestroyNotify)ct_ceiling_free);
    if (!database->handle)
        return g_steal_pointer(&list);
    g_autoptr(Statement) statement =
        prepare(database, "SELECT machine, name, value, time FROM roofs", "read", error);
    if (!statement)
        return NULL;
    int result;
    while ((result = sqlite3_step(statement)) == SQLITE_ROW) {
        CtCeiling *ceiling = g_new0(CtCeiling, 1);
        ceiling->machine = column_text(statement, 0, TRUE);
        ceiling->name = column_text(statement, 1, TRUE);
        ceiling->value = sqlite3_column_double(statement, 2);
        ceiling->time = sqlite3_column_int64(statement, 3);
        g_ptr_array_add(list, ceiling);
    }
    if (result != SQLITE_DONE) {
        report(database, result, "read", error);
        return NULL;
    }
    return g_steal_pointer(&list);
}

/* ---- several at once ---- */

static gboolean
put_each(CtDatabase *database, const GPtrArray *measurements, const GPtrArray *ceilings,
         GError **error)
{
    for (guint i = 0; measurements && i < measurements->len; i++)
        if (!ct_database_put(database, g_ptr_array_index(measurements, i), error))
            return FALSE;
    for (guint i = 0; ceilings && i < ceilings->len; i++)
        if (!ct_database_put_ceiling(database, g_ptr_array_index(ceilings, i), error))
            return FALSE;
    return TRUE;
}

gboolean
ct_database_put_all(CtDatabase *database, const GPtrArray *measurements, const GPtrArray *ceilings,
                    GError **error)
{
    if (!execute(database, "BEGIN IMMEDIATE", "written", error))
        return FALSE;
    if (put_each(database, measurements, ceilings, error) &&
        execute(database, "COMMIT", "written", error))
        return TRUE;
    execute(database, "ROLLBACK", "written", NULL);
    return FALSE;
}
