/* SPDX-License-Identifier: BSD-3-Clause */
/* The metadata of SigMF recordings. */
#include "sigmf-meta.h"

#include <cornerturn/error.h>
#include <cornerturn/json.h>
#include <cornerturn/text.h>
#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>

void
sigmf_meta_clear(SigmfMeta *meta)
{
    g_clear_pointer(&meta->dataset, g_free);
    g_clear_pointer(&meta->author, g_free);
    g_clear_pointer(&meta->captures, g_array_unref);
}

/* ---- values ---- */

/* An object of the file, and its name in messages: "global", "captures[2]". */
typedef struct {
    const char *path, *name;
    JsonObject *object;
} Place;

G_GNUC_PRINTF(4, 5)
static gboolean
refuse(const Place *place, const char *key, GError **error, const char *format, ...)
{
    enum { MOST_SHOWN = 60 };
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *wants = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    JsonNode *node = json_object_get_member(place->object, key);
    g_autofree char *whole = node ? json_to_string(node, FALSE) : NULL;
    const gboolean is_long = whole && g_utf8_strlen(whole, -1) > MOST_SHOWN;
    g_autofree char *is = is_long ? g_utf8_substring(whole, 0, MOST_SHOWN) : g_strdup(whole);
    g_set_error(error, CT_ERROR, CT_ERROR_DATA, "%s: %s of %s wants %s, but is %s%s%s", place->path,
                key, place->name, wants, is ? "given " : "not given", is ? is : "",
                is_long ? "…" : "");
    return FALSE;
}

/* The value of a key; NULL if there is none, or it is null. */
static JsonNode *
find(const Place *place, const char *key)
{
    JsonNode *node = json_object_get_member(place->object, key);
    return node && !JSON_NODE_HOLDS_NULL(node) ? node : NULL;
}

static gboolean
is_number(JsonNode *node)
{
    if (!JSON_NODE_HOLDS_VALUE(node))
        return FALSE;
    const GType type = json_node_get_value_type(node);
    return type == G_TYPE_INT64 || (type == G_TYPE_DOUBLE && isfinite(json_node_get_double(node)));
}

/* *value keeps its own, if the key is not there. */
static gboolean
read_real(const Place *place, const char *key, gdouble *value, gboolean *has, GError **error)
{
    JsonNode *node = find(place, key);
    if (!node)
        return TRUE;
    if (!is_number(node))
        return refuse(place, key, error, "a number");
    *value = json_node_get_double(node);
    if (has)
        *has = TRUE;
    return TRUE;
}

static gboolean
read_integer(const Place *place, const char *key, gint64 least, gint64 most, gint64 *value,
             GError **error)
{
    JsonNode *node = find(place, key);
    if (!node)
        return TRUE;
    if (!JSON_NODE_HOLDS_VALUE(node) || json_node_get_value_type(node) != G_TYPE_INT64 ||
        json_node_get_int(node) < least || json_node_get_int(node) > most)
        return refuse(place, key, error,
                      "a whole number from %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT, least, most);
    *value = json_node_get_int(node);
    return TRUE;
}

static gboolean
read_text(const Place *place, const char *key, char **value, GError **error)
{
    JsonNode *node = find(place, key);
    if (!node)
        return TRUE;
    if (!JSON_NODE_HOLDS_VALUE(node) || json_node_get_value_type(node) != G_TYPE_STRING)
        return refuse(place, key, error, "a text");
    *value = g_strdup(json_node_get_string(node));
    return TRUE;
}

/* ---- global ---- */

/* "ci16_le": complex or real, the type of a part, and its order of bytes, if it has several. */
static gboolean
read_type(const Place *place, SigmfMeta *meta, GError **error)
{
    static const char wants[] =
        "c or r and f64, f32, i32, i16 or i8 (real also u32, u8), and _le or "
        "_be, as ci16_le";
    g_autofree char *text = NULL;
    if (!read_text(place, "core:datatype", &text, error))
        return FALSE;
    if (!text)
        return refuse(place, "core:datatype", error, wants);
    char *order = strchr(text, '_');
    if (order)
        *order++ = '\0';
    const gboolean is_real = text[0] == 'r';
    meta->type =
        text[0] == 'r' || text[0] == 'c' ? ct_type_from_name(text + is_real) : CT_TYPE_NONE;
    const CtTypeInfo *info = ct_type_info(meta->type);
    const gboolean is_wide = meta->type != CT_TYPE_NONE && info->part_bits > 8;
    const gboolean is_known = meta->type != CT_TYPE_NONE && info->part_bits >= 8 &&
                              info->is_complex == !is_real && meta->type != CT_F16 &&
                              meta->type != CT_CF16 && meta->type != CT_I64 &&
                              meta->type != CT_CI64;
    meta->is_big = g_strcmp0(order, "be") == 0;
    if (is_known && (is_wide ? meta->is_big || g_strcmp0(order, "le") == 0 : !order))
        return TRUE;
    return refuse(place, "core:datatype", error, wants);
}

/* A point of GeoJSON: degrees east and north, and metres above the ellipsoid. */
static gboolean
read_location(const Place *place, SigmfMeta *meta, GError **error)
{
    static const char key[] = "core:geolocation";
    JsonNode *node = find(place, key);
    gdouble point[3] = {0};
    if (!node)
        return TRUE;
    JsonObject *map = JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
    JsonNode *list = map ? json_object_get_member(map, "coordinates") : NULL;
    JsonArray *numbers = list && JSON_NODE_HOLDS_ARRAY(list) ? json_node_get_array(list) : NULL;
    const guint n = numbers ? json_array_get_length(numbers) : 0;
    gboolean is_point = n == 2 || n == 3;
    for (guint i = 0; i < n && is_point; i++) {
        is_point = is_number(json_array_get_element(numbers, i));
        point[i] = is_point ? json_array_get_double_element(numbers, i) : 0;
    }
    if (!is_point || fabs(point[0]) > 360 || fabs(point[1]) > 90)
        return refuse(place, key, error, "a point, coordinates of longitude, latitude and height");
    meta->has_location = TRUE;
    ct_position_from_geodetic(point[0] * G_PI / 180, point[1] * G_PI / 180, point[2],
                              meta->location);
    return TRUE;
}

static gboolean
read_global(const Place *place, SigmfMeta *meta, GError **error)
{
    gint64 offset = 0;
    JsonNode *alone = find(place, "core:metadata_only");
    meta->n_channels = 1;
    if (!read_type(place, meta, error) ||
        !read_real(place, "core:sample_rate", &meta->rate, NULL, error) ||
        !read_integer(place, "core:num_channels", 1, 1 << 24, &meta->n_channels, error) ||
        !read_integer(place, "core:trailing_bytes", 0, G_MAXINT64, &meta->trailing_bytes, error) ||
        !read_integer(place, "core:offset", 0, G_MAXINT64, &offset, error) ||
        !read_text(place, "core:dataset", &meta->dataset, error) ||
        !read_text(place, "core:author", &meta->author, error) ||
        !read_location(place, meta, error))
        return FALSE;
    if (offset != 0)
        return refuse(place, "core:offset", error, "0, a recording that is whole");
    if (find(place, "core:sample_rate") && !(meta->rate >= 1e-6 && meta->rate <= 1e12))
        return refuse(place, "core:sample_rate", error, "hertz from 1e-6 to 1e12");
    if (alone && JSON_NODE_HOLDS_VALUE(alone) &&
        json_node_get_value_type(alone) == G_TYPE_BOOLEAN && json_node_get_boolean(alone))
        return refuse(place, "core:metadata_only", error, "false, as there are samples");
    return TRUE;
}

/* ---- captures ---- */

/* Reads 2022-06-29T01:30:00.5Z. */
static gboolean
read_time(const Place *place, SigmfCapture *capture, GError **error)
{
    static const char key[] = "core:datetime", form[] = "2022-06-29T01:30:00";
    g_autofree char *text = NULL;
    if (!read_text(place, key, &text, error))
        return FALSE;
    if (!text)
        return TRUE;
    const gsize length = strlen(form);
    char *end = strlen(text) > length ? text + length : NULL;
    if (end && *end == '.')
        capture->fraction = g_ascii_strtod(end, &end);
    if (!end || strcmp(end, "Z") != 0 || !(capture->fraction >= 0 && capture->fraction < 1))
        return refuse(place, key, error, "a time in UTC as %s.5Z", form);
    strcpy(text + length, "Z");
    capture->has_time = ct_utc_parse(text, &capture->second, NULL);
    return capture->has_time || refuse(place, key, error, "a time in UTC as %s.5Z", form);
}

static gboolean
read_captures(const char *path, JsonObject *root, SigmfMeta *meta, GError **error)
{
    JsonNode *node = json_object_get_member(root, "captures");
    meta->captures = g_array_new(FALSE, TRUE, sizeof(SigmfCapture));
    if (node && !JSON_NODE_HOLDS_ARRAY(node)) {
        g_set_error(error, CT_ERROR, CT_ERROR_DATA, "%s: captures wants a list", path);
        return FALSE;
    }
    JsonArray *list = node ? json_node_get_array(node) : NULL;
    const guint n = list ? json_array_get_length(list) : 0;
    gint64 least = 0;
    for (guint i = 0; i < n; i++) {
        JsonNode *item = json_array_get_element(list, i);
        g_autofree char *name = g_strdup_printf("captures[%u]", i);
        if (!JSON_NODE_HOLDS_OBJECT(item)) {
            g_set_error(error, CT_ERROR, CT_ERROR_DATA, "%s: %s wants an object", path, name);
            return FALSE;
        }
        const Place place = {path, name, json_node_get_object(item)};
        SigmfCapture capture = {.start = -1};
        if (!read_integer(&place, "core:sample_start", least, G_MAXINT64 - 1, &capture.start,
                          error) ||
            !read_integer(&place, "core:header_bytes", 0, G_MAXINT64, &capture.header_bytes,
                          error) ||
            !read_real(&place, "core:frequency", &capture.frequency, &capture.has_frequency,
                       error) ||
            !read_time(&place, &capture, error))
            return FALSE;
        if (capture.start < 0)
            return refuse(&place, "core:sample_start", error, "a sample");
        least = capture.start + 1;
        g_array_append_val(meta->captures, capture);
    }
    return TRUE;
}

/* ---- the file ---- */

gboolean
sigmf_meta_parse(SigmfMeta *meta, const char *path, const char *text, gsize n, GError **error)
{
    g_autoptr(JsonParser) parser = json_parser_new();
    g_autoptr(GError) cause = NULL;
    if (ct_json_depth(text, n) > SIGMF_MOST_DEPTH) {
        g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                    "%s: wants at most %d objects and lists in one another, but is given more",
                    path, SIGMF_MOST_DEPTH);
        return FALSE;
    }
    if (n == 0 || !g_utf8_validate(text, (gssize)n, NULL) ||
        !json_parser_load_from_data(parser, text, (gssize)n, &cause)) {
        g_set_error(error, CT_ERROR, CT_ERROR_DATA, "%s: wants JSON: %s", path,
                    cause    ? cause->message
                    : n == 0 ? "it is empty"
                             : "it is not UTF-8");
        return FALSE;
    }
    JsonNode *node = json_parser_get_root(parser);
    JsonObject *root = node && JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
    JsonNode *global = root ? json_object_get_member(root, "global") : NULL;
    if (!global || !JSON_NODE_HOLDS_OBJECT(global)) {
        g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                    "%s: wants an object with an object 'global', as SigMF has it", path);
        return FALSE;
    }
    const Place place = {path, "global", json_node_get_object(global)};
    return read_global(&place, meta, error) && read_captures(path, root, meta, error);
}
