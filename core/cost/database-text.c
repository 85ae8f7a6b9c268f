/* SPDX-License-Identifier: BSD-3-Clause */
/* Measurements as lines of JSON, for export, import and shipping. */
#include "database-fields.h"
#include "model/document.h"

#include <cornerturn/json.h>
#include <cornerturn/stage.h>
#include <math.h>
#include <string.h>

char *
ct_measurement_to_json(const CtMeasurement *measurement)
{
    CtJson *json = ct_json_new();
    for (guint f = 0; f < CT_N_FIELDS; f++) {
        const CtField *field = &ct_measurement_fields[f];
        if (field->kind == CT_FIELD_INTEGER) {
            ct_json_add_integer(json, field->name, *ct_field_integer(field, measurement));
        } else if (field->kind == CT_FIELD_REAL) {
            ct_json_add_real(json, field->name, *ct_field_real(field, measurement));
        } else {
            g_autofree char *text = ct_field_text(field, measurement);
            if (text)
                ct_json_add_text(json, field->name, text);
        }
    }
    return ct_json_free_to_text(json, FALSE);
}

char *
ct_ceiling_to_json(const CtCeiling *ceiling)
{
    CtJson *json = ct_json_new();
    ct_json_add_text(json, "machine", ceiling->machine);
    ct_json_add_text(json, "roof", ceiling->name);
    ct_json_add_real(json, "value", ceiling->value);
    ct_json_add_integer(json, "time", ceiling->time);
    return ct_json_free_to_text(json, FALSE);
}

/* The line that is being read. */
typedef struct {
    const CtValue *values;
    const char *name; /* of the file */
    guint number;
} Line;

static gboolean
blame(const Line *line, GError **error, const char *key, const char *wanted, const char *given)
{
    g_set_error(error, CT_ERROR, CT_ERROR_DATA, "%s:%u: '%s' wants %s, but is given %s%s%s",
                line->name, line->number, key, wanted, given ? "'" : "", given ? given : "nothing",
                given ? "'" : "");
    return FALSE;
}

static const char *
find_text(const Line *line, const char *key)
{
    const CtValue *value = ct_value_get(line->values, key);
    return value && value->kind == CT_VALUE_SCALAR ? value->text : NULL;
}

static gboolean
read_text(const Line *line, const char *key, char **text, GError **error)
{
    const char *given = find_text(line, key);
    if (!given)
        return blame(line, error, key, "a text", NULL);
    *text = g_strdup(given);
    return TRUE;
}

static gboolean
read_integer(const Line *line, const char *key, gint64 *integer, GError **error)
{
    const char *given = find_text(line, key);
    char *end = NULL;
    const gint64 value = given ? g_ascii_strtoll(given, &end, 10) : 0;
    if (!given || end == given || *end || value < 0)
        return blame(line, error, key, "an integer, 0 or more", given);
    *integer = value;
    return TRUE;
}

static gboolean
read_real(const Line *line, const char *key, gdouble *real, GError **error)
{
    const char *given = find_text(line, key);
    char *end = NULL;
    const gdouble value = given ? g_ascii_strtod(given, &end) : 0;
    if (!given || end == given || *end || !isfinite(value) || value < 0)
        return blame(line, error, key, "a number, 0 or more", given);
    *real = value;
    return TRUE;
}

static gboolean
read_field(const Line *line, guint f, CtMeasurement *measurement, GError **error)
{
    const CtField *field = &ct_measurement_fields[f];
    const char *given = find_text(line, field->name);
    if (field->kind == CT_FIELD_INTEGER)
        return read_integer(line, field->name, ct_field_integer(field, measurement), error);
    if (field->kind == CT_FIELD_REAL)
        return read_real(line, field->name, ct_field_real(field, measurement), error);
    if (!given)
        return f >= CT_N_KEYS || blame(line, error, field->name, "a text", NULL);
    return ct_field_set_text(field, measurement, given) ||
           blame(line, error, field->name, field->wanted, given);
}

static gboolean
read_measurement(const Line *line, GPtrArray *measurements, GError **error)
{
    g_autoptr(CtMeasurement) measurement = g_new0(CtMeasurement, 1);
    for (guint f = 0; f < CT_N_FIELDS; f++)
        if (!read_field(line, f, measurement, error))
            return FALSE;
    g_ptr_array_add(measurements, g_steal_pointer(&measurement));
    return TRUE;
}

static gboolean
read_ceiling(const Line *line, GPtrArray *ceilings, GError **error)
{
    g_autoptr(CtCeiling) ceiling = g_new0(CtCeiling, 1);
    if (!read_text(line, "machine", &ceiling->machine, error) ||
        !read_text(line, "roof", &ceiling->name, error) ||
        !read_real(line, "value", &ceiling->value, error) ||
        !read_integer(line, "time", &ceiling->time, error))
        return FALSE;
    g_ptr_array_add(ceilings, g_steal_pointer(&ceiling));
    return TRUE;
}

/* Whether the filter accepts the line's value of `key`. */
static gboolean
is_wanted(const Line *line, const char *key, const char *const *wanted)
{
    const char *given = wanted ? find_text(line, key) : NULL;
    return !given || g_strv_contains(wanted, given);
}

/* The same test on the text of a line, without parsing it; TRUE if in doubt. Parsing all lines of a
 * large file would be slow. */
static gboolean
may_be_wanted(const char *text, const char *key, const char *const *wanted)
{
    g_autofree char *quoted = g_strdup_printf("\"%s\":", key);
    const char *found = wanted ? strstr(text, quoted) : NULL;
    if (!found)
        return TRUE;
    found += strlen(quoted);
    found += strspn(found, " ");
    const gsize length = *found == '"' ? strcspn(found + 1, "\"\\") : 0;
    if (*found != '"' || found[1 + length] != '"')
        return TRUE;
    g_autofree char *value = g_strndup(found + 1, length);
    return g_strv_contains(wanted, value);
}

static gboolean
read_line(const char *text, const char *name, guint number, const CtStoreFilter *filter,
          GPtrArray *measurements, GPtrArray *ceilings, GError **error)
{
    g_autofree char *place = g_strdup_printf("%s:%u", name, number);
    g_autoptr(CtValue) values = ct_value_parse_short(text, place, error);
    if (!values)
        return FALSE;
    const Line line = {values, name, number};
    if (values->kind != CT_VALUE_MAPPING) {
        g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                    "%s: wants a measurement or a roof, {\"stages\": …} or {\"machine\": …, "
                    "\"roof\": …}",
                    place);
        return FALSE;
    }
    if (filter && (!is_wanted(&line, "machine", filter->machines) ||
                   !is_wanted(&line, "stages", filter->stages)))
        return TRUE;
    if (find_text(&line, "roof"))
        return !ceilings || read_ceiling(&line, ceilings, error);
    return !measurements || read_measurement(&line, measurements, error);
}

gboolean
ct_database_parse(const char *text, gsize length, const char *name, const CtStoreFilter *filter,
                  GPtrArray *measurements, GPtrArray *ceilings, GError **error)
{
    guint number = 0;
    for (gsize at = 0; at < length;) {
        const char *end = memchr(text + at, '\n', length - at);
        const gsize n = end ? (gsize)(end - text) - at : length - at;
        g_autofree char *line = g_strndup(text + at, n);
        number++;
        if (strlen(line) < n) {
            g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                        "%s:%u: wants a line of JSON, but is given a NUL byte", name, number);
            return FALSE;
        }
        at += n + 1;
        g_strstrip(line);
        if (!*line || (filter && (!may_be_wanted(line, "stages", filter->stages) ||
                                  !may_be_wanted(line, "machine", filter->machines))))
            continue;
        if (!read_line(line, name, number, filter, measurements, ceilings, error))
            return FALSE;
    }
    return TRUE;
}
