/* SPDX-License-Identifier: BSD-3-Clause */
/* The speed of a machine, for programs; and its figures as JSON. */
#include "bench-report.h"
#include "model/thread.h"
#include "model/unknown.h"
#include "pipeline-private.h"

#include <cornerturn/json.h>
#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>

/* The form of the JSON. */
enum { FORM = 1 };
/* The figures have two; the parser calls itself for each. */
enum { MOST_DEPTH = 64 };

typedef enum { TEXT, REAL, INTEGER } Kind;

/* A member of a struct that is a member of an object. */
typedef struct {
    const char *key;
    Kind kind;
    gsize offset;
} Field;

#define FIELD(type, member, kind)                                                                  \
    {                                                                                              \
#member, kind, offsetof(type, member)                                                      \
    }

static const Field of_bench[] = {
    FIELD(CtBench, version, TEXT),
    FIELD(CtBench, machine, TEXT),
    FIELD(CtBench, workers, INTEGER),
    FIELD(CtBench, energy, TEXT),
};
static const Field of_ceiling[] = {
    FIELD(CtBenchCeiling, place, TEXT), FIELD(CtBenchCeiling, workers, INTEGER),
    FIELD(CtBenchCeiling, name, TEXT),  FIELD(CtBenchCeiling, rate, REAL),
    FIELD(CtBenchCeiling, unit, TEXT),
};
static const Field of_row[] = {
    FIELD(CtBenchRow, group, TEXT),
    FIELD(CtBenchRow, family, TEXT),
    FIELD(CtBenchRow, name, TEXT),
    FIELD(CtBenchRow, place, TEXT),
    FIELD(CtBenchRow, workers, INTEGER),
    FIELD(CtBenchRow, variants, TEXT),
    {"samples_per_second", REAL, offsetof(CtBenchRow, samples)},
    {"operations_per_second", REAL, offsetof(CtBenchRow, operations)},
    {"bytes_per_second", REAL, offsetof(CtBenchRow, bytes)},
    {"multiply_adds_per_second", REAL, offsetof(CtBenchRow, fma)},
    {"copied_bytes_per_second", REAL, offsetof(CtBenchRow, copy)},
    {"transferred_bytes_per_second", REAL, offsetof(CtBenchRow, transfer)},
    {"share_of_multiply_adds", REAL, offsetof(CtBenchRow, of_fma)},
    {"share_of_copies", REAL, offsetof(CtBenchRow, of_copy)},
    {"share_of_transfers", REAL, offsetof(CtBenchRow, of_transfer)},
    {"joules_per_operation", REAL, offsetof(CtBenchRow, joules)},
    {"samples_per_second_of_station", REAL, offsetof(CtBenchRow, of_station)},
    {"planning_seconds", REAL, offsetof(CtBenchRow, planning)},
    {"allocation_seconds", REAL, offsetof(CtBenchRow, allocation)},
    {"whole_samples", REAL, offsetof(CtBenchRow, whole)},
    {"measured_samples", REAL, offsetof(CtBenchRow, stretch)},
    {"whole_seconds", REAL, offsetof(CtBenchRow, run)},
    {"share_of_waiting", REAL, offsetof(CtBenchRow, waited)},
    FIELD(CtBenchRow, beside, TEXT),
    FIELD(CtBenchRow, gain, REAL),
    FIELD(CtBenchRow, published, TEXT),
    FIELD(CtBenchRow, source, TEXT),
    FIELD(CtBenchRow, skipped, TEXT),
};

/* ---- measuring ---- */

CtBench *
ct_bench(const CtBenchHow *how, GError **error)
{
    CtBenchHow own = *how;
    if (CT_RESERVED_IS_SET(how)) {
        g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER, "the benchmark " CT_UNKNOWN_FAULT);
        return NULL;
    }
    if (!ct_pipeline_is_within(__func__, how->seconds, 1e-6, 1e6, "a time from 1 us to 1000000 s",
                               error) ||
        (how->n_workers == 0 && !ct_pipeline_find_workers(&own.n_workers, error)))
        return NULL;
    if (own.n_workers == 0)
        own.n_workers = ct_thread_processors();
    return ct_bench_measure(&own, error);
}

/* ---- choosing ---- */

/* Whether a row is of the group and has one of the names. */
static gboolean
is_chosen(const CtBenchRow *row, const char *group, const char *const *names)
{
    return ct_bench_is_named(names, row->name) &&
           (g_str_equal(group, "all") || g_str_equal(group, row->group));
}

gboolean
ct_bench_choose(CtBench *bench, const char *group, const char *const *names, GError **error)
{
    for (guint n = 0; names && names[n]; n++) {
        const char *const one[] = {names[n], NULL};
        gboolean any = FALSE;
        for (guint i = 0; i < bench->rows->len; i++)
            any |= is_chosen(bench->rows->pdata[i], group, one);
        if (any)
            continue;
        g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER,
                    "the figures have no case of '%s' with '%s' in its name", group, names[n]);
        return FALSE;
    }
    for (guint i = bench->rows->len; i-- > 0;)
        if (!is_chosen(bench->rows->pdata[i], group, names))
            g_ptr_array_remove_index(bench->rows, i);
    return TRUE;
}

/* ---- writing ---- */

static void
add_fields(CtJson *json, const Field *fields, gsize n, gconstpointer object)
{
    for (gsize i = 0; i < n; i++) {
        gconstpointer member = (const guint8 *)object + fields[i].offset;
        if (fields[i].kind == TEXT)
            ct_json_add_text(json, fields[i].key, *(char *const *)member);
        else if (fields[i].kind == REAL)
            ct_json_add_real(json, fields[i].key, *(const gdouble *)member);
        else
            ct_json_add_integer(json, fields[i].key, *(const gint64 *)member);
    }
}

static void
add_objects(CtJson *json, const char *key, const Field *fields, gsize n, const GPtrArray *objects)
{
    ct_json_begin_array(json, key);
    for (guint i = 0; i < objects->len; i++) {
        ct_json_begin_object(json, NULL);
        add_fields(json, fields, n, objects->pdata[i]);
        ct_json_end_object(json);
    }
    ct_json_end_array(json);
}

static char *
bench_to_json(const CtBench *bench)
{
    CtJson *json = ct_json_new();
    ct_json_add_integer(json, "form", FORM);
    add_fields(json, of_bench, G_N_ELEMENTS(of_bench), bench);
    ct_json_add_text(json, "state", bench->is_partial ? "interrupted" : "complete");
    ct_json_begin_array(json, "devices");
    for (guint i = 0; i < bench->devices->len; i++)
        ct_json_add_text(json, NULL, bench->devices->pdata[i]);
    ct_json_end_array(json);
    add_objects(json, "ceilings", of_ceiling, G_N_ELEMENTS(of_ceiling), bench->ceilings);
    add_objects(json, "cases", of_row, G_N_ELEMENTS(of_row), bench->rows);
    return ct_json_free_to_text(json, TRUE);
}

char *
ct_bench_describe(const CtBench *bench, const CtBench *other, const char *format, GError **error)
{
    if (g_str_equal(format, "text"))
        return ct_bench_to_text(bench, other);
    if (g_str_equal(format, "json"))
        return bench_to_json(bench);
    if (g_str_equal(format, "svg"))
        return ct_bench_to_svg(bench);
    g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER,
                "%s wants text, json or svg, but is given '%s'", __func__, format);
    return NULL;
}

/* ---- reading ---- */

/* The place of an object in the document, for messages. */
typedef struct {
    const char *name;
    const char *key; /* of the list; NULL: the document itself */
    guint index;
} Where;

G_GNUC_PRINTF(3, 4)
static gboolean
refuse(const Where *where, GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *fault = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_autofree char *place =
        where->key ? g_strdup_printf("%s[%u]: ", where->key, where->index) : g_strdup("");
    g_set_error(error, CT_ERROR, CT_ERROR_DATA, "%s: %s%s", where->name, place, fault);
    return FALSE;
}

/* A finite number that is not negative: text in a file may be 1e999. */
static gboolean
is_amount(JsonNode *node, GType type)
{
    if (type != G_TYPE_DOUBLE && type != G_TYPE_INT64)
        return FALSE;
    const gdouble value = json_node_get_double(node);
    return isfinite(value) && value >= 0;
}

static gboolean
read_field(JsonObject *object, const Field *field, gpointer to, const Where *where, GError **error)
{
    static const char *const wanted[] = {"a text", "a number from 0", "a whole number from 0"};
    JsonNode *node = json_object_get_member(object, field->key);
    gpointer member = (guint8 *)to + field->offset;
    const GType type =
        node && JSON_NODE_HOLDS_VALUE(node) ? json_node_get_value_type(node) : G_TYPE_NONE;
    const gboolean is_null = node && JSON_NODE_HOLDS_NULL(node);
    if (field->kind == TEXT && (is_null || type == G_TYPE_STRING))
        *(char **)member = is_null ? NULL : json_node_dup_string(node);
    else if (field->kind == REAL && (is_null || is_amount(node, type)))
        *(gdouble *)member = is_null ? NAN : json_node_get_double(node);
    else if (field->kind == INTEGER && type == G_TYPE_INT64 && json_node_get_int(node) >= 0)
        *(gint64 *)member = json_node_get_int(node);
    else
        return refuse(where, error, "'%s' wants %s%s", field->key, wanted[field->kind],
                      node ? "" : ", but is not there");
    return TRUE;
}

static gboolean
read_fields(JsonObject *object, const Field *fields, gsize n, gpointer to, const Where *where,
            GError **error)
{
    for (gsize i = 0; i < n; i++)
        if (!read_field(object, &fields[i], to, where, error))
            return FALSE;
    return TRUE;
}

static JsonArray *
read_list(JsonObject *object, const char *key, const Where *where, GError **error)
{
    JsonNode *node = json_object_get_member(object, key);
    if (node && JSON_NODE_HOLDS_ARRAY(node))
        return json_node_get_array(node);
    refuse(where, error, "'%s' wants a list%s", key, node ? "" : ", but is not there");
    return NULL;
}

/* Reads a list of objects into `to`, of structs of `size` bytes. */
static gboolean
read_objects(JsonObject *object, const char *key, const Field *fields, gsize n, gsize size,
             GPtrArray *to, const Where *document, GError **error)
{
    JsonArray *list = read_list(object, key, document, error);
    for (guint i = 0; list && i < json_array_get_length(list); i++) {
        const Where where = {document->name, key, i};
        JsonNode *node = json_array_get_element(list, i);
        if (!JSON_NODE_HOLDS_OBJECT(node))
            return refuse(&where, error, "wants an object");
        gpointer one = g_malloc0(size);
        g_ptr_array_add(to, one);
        if (!read_fields(json_node_get_object(node), fields, n, one, &where, error))
            return FALSE;
    }
    return list != NULL;
}

static gboolean
read_devices(JsonObject *object, GPtrArray *to, const Where *document, GError **error)
{
    JsonArray *list = read_list(object, "devices", document, error);
    for (guint i = 0; list && i < json_array_get_length(list); i++) {
        const Where where = {document->name, "devices", i};
        JsonNode *node = json_array_get_element(list, i);
        if (!JSON_NODE_HOLDS_VALUE(node) || json_node_get_value_type(node) != G_TYPE_STRING)
            return refuse(&where, error, "wants a text");
        g_ptr_array_add(to, json_node_dup_string(node));
    }
    return list != NULL;
}

static gboolean
read_state(JsonObject *object, CtBench *bench, const Where *document, GError **error)
{
    static const char *const states[] = {"complete", "interrupted"};
    g_autofree char *state = NULL;
    const Field field = {"state", TEXT, 0};
    if (!read_field(object, &field, &state, document, error))
        return FALSE;
    bench->is_partial = g_strcmp0(state, states[1]) == 0;
    return bench->is_partial || g_strcmp0(state, states[0]) == 0 ||
           refuse(document, error, "'state' wants %s or %s", states[0], states[1]);
}

/* Checks the values on which tables and comparisons rely. */
static gboolean
check(const CtBench *bench, const Where *document, GError **error)
{
    for (guint i = 0; i < bench->ceilings->len; i++) {
        const CtBenchCeiling *ceiling = bench->ceilings->pdata[i];
        const Where where = {document->name, "ceilings", i};
        if (!ceiling->place || !ceiling->name || !ceiling->unit)
            return refuse(&where, error, "wants a place, a name and a unit");
    }
    for (guint i = 0; i < bench->rows->len; i++) {
        const CtBenchRow *row = bench->rows->pdata[i];
        const Where where = {document->name, "cases", i};
        if (!row->group || !row->family || !row->name || !row->place)
            return refuse(&where, error, "wants a group, a family, a name and a place");
    }
    return TRUE;
}

CtBench *
ct_bench_parse(const char *text, gssize length, const char *name, GError **error)
{
    const Where document = {.name = name};
    g_autoptr(JsonParser) parser = json_parser_new();
    g_autoptr(GError) cause = NULL;
    const gsize n = length < 0 ? strlen(text) : (gsize)length;
    if (ct_json_depth(text, n) > MOST_DEPTH) {
        refuse(&document, error,
               "wants at most %d objects and lists in one another, but is given more", MOST_DEPTH);
        return NULL;
    }
    if (!json_parser_load_from_data(parser, text, length, &cause)) {
        refuse(&document, error, "is not JSON: %s", cause->message);
        return NULL;
    }
    JsonNode *root = json_parser_get_root(parser);
    JsonObject *object = root && JSON_NODE_HOLDS_OBJECT(root) ? json_node_get_object(root) : NULL;
    JsonNode *form = object ? json_object_get_member(object, "form") : NULL;
    if (!form || !JSON_NODE_HOLDS_VALUE(form) || json_node_get_value_type(form) != G_TYPE_INT64 ||
        json_node_get_int(form) != FORM) {
        refuse(&document, error, "wants what `cornerturn bench --json` prints, with the form %d",
               FORM);
        return NULL;
    }
    g_autoptr(CtBench) bench = ct_bench_new();
    if (!read_state(object, bench, &document, error) ||
        !read_fields(object, of_bench, G_N_ELEMENTS(of_bench), bench, &document, error) ||
        !read_devices(object, bench->devices, &document, error) ||
        !read_objects(object, "ceilings", of_ceiling, G_N_ELEMENTS(of_ceiling),
                      sizeof(CtBenchCeiling), bench->ceilings, &document, error) ||
        !read_objects(object, "cases", of_row, G_N_ELEMENTS(of_row), sizeof(CtBenchRow),
                      bench->rows, &document, error) ||
        !check(bench, &document, error))
        return NULL;
    return g_steal_pointer(&bench);
}
