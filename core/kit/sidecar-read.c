/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading PATH.json, a file beside an array that describes its axes. */
#include "sidecar-read.h"

#include "cornerturn/error.h"
#include "cornerturn/packets.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml.h>

/* ---- values: a JSON file is a YAML file ---- */

typedef struct {
    const char *path;
    yaml_document_t document;
    /* The first value that is not what its key wants, and what that is; NULL if there is none. */
    const yaml_node_t *wrong;
    const char *wrong_key, *wanted;
} Json;

static gboolean
malformed(const Json *json, yaml_mark_t at, GError **error, const char *what)
{
    g_set_error(error, CT_ERROR, CT_ERROR_DATA, "%s:%zu:%zu: %s", json->path, at.line + 1,
                at.column + 1, what);
    return FALSE;
}

static yaml_node_t *
item(Json *json, yaml_node_t *list, guint i)
{
    return yaml_document_get_node(&json->document, list->data.sequence.items.start[i]);
}

static guint
n_items(const yaml_node_t *list)
{
    return list->data.sequence.items.top - list->data.sequence.items.start;
}

static gboolean
is_null(const yaml_node_t *node)
{
    return node->type == YAML_SCALAR_NODE && node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
           strcmp((const char *)node->data.scalar.value, "null") == 0;
}

/* The value of a key; NULL if there is none, or null. */
static yaml_node_t *
any_value(Json *json, yaml_node_t *map, const char *key)
{
    if (!map || map->type != YAML_MAPPING_NODE)
        return NULL;
    for (yaml_node_pair_t *pair = map->data.mapping.pairs.start; pair < map->data.mapping.pairs.top;
         pair++) {
        const yaml_node_t *name = yaml_document_get_node(&json->document, pair->key);
        yaml_node_t *found = yaml_document_get_node(&json->document, pair->value);
        if (name->type == YAML_SCALAR_NODE &&
            strcmp((const char *)name->data.scalar.value, key) == 0)
            return is_null(found) ? NULL : found;
    }
    return NULL;
}

static void
note_wrong(Json *json, const yaml_node_t *found, const char *key, const char *wanted)
{
    if (json->wrong)
        return;
    json->wrong = found;
    json->wrong_key = key;
    json->wanted = wanted;
}

/* The value of a key; NULL if there is none of that kind. */
static yaml_node_t *
value(Json *json, yaml_node_t *map, const char *key, yaml_node_type_t type)
{
    static const char *const kinds[] = {[YAML_SCALAR_NODE] = "a text or number",
                                        [YAML_SEQUENCE_NODE] = "a list",
                                        [YAML_MAPPING_NODE] = "a mapping"};
    yaml_node_t *found = any_value(json, map, key);
    if (!found || found->type == type)
        return found;
    note_wrong(json, found, key, kinds[type]);
    return NULL;
}

static const char *
text_value(Json *json, yaml_node_t *map, const char *key)
{
    const yaml_node_t *found = value(json, map, key, YAML_SCALAR_NODE);
    return found ? (const char *)found->data.scalar.value : NULL;
}

static gboolean
read_real(const char *text, gdouble *number)
{
    char *end;
    const gdouble read = text ? g_ascii_strtod(text, &end) : 0;
    if (!text || end == text || *end != '\0' || !isfinite(read))
        return FALSE;
    *number = read;
    return TRUE;
}

static gboolean
read_integer(const char *text, gint64 *number)
{
    return text && g_ascii_string_to_signed(text, 10, G_MININT64, G_MAXINT64, number, NULL);
}

/* Reads the number of a key, which may be missing; returns whether it is there. */
static gboolean
integer_value(Json *json, yaml_node_t *map, const char *key, gint64 *number)
{
    const yaml_node_t *found = value(json, map, key, YAML_SCALAR_NODE);
    const gboolean good = found && read_integer((const char *)found->data.scalar.value, number);
    if (found && !good)
        note_wrong(json, found, key, "a whole number");
    return good;
}

static gboolean
real_value(Json *json, yaml_node_t *map, const char *key, gdouble *number)
{
    const yaml_node_t *found = value(json, map, key, YAML_SCALAR_NODE);
    const gboolean good = found && read_real((const char *)found->data.scalar.value, number);
    if (found && !good)
        note_wrong(json, found, key, "a number");
    return good;
}

static gboolean
truth_value(Json *json, yaml_node_t *map, const char *key)
{
    const yaml_node_t *found = value(json, map, key, YAML_SCALAR_NODE);
    const char *text = found ? (const char *)found->data.scalar.value : "false";
    if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
        note_wrong(json, found, key, "true or false");
    return strcmp(text, "true") == 0;
}

static gboolean
read_table(Json *json, yaml_node_t *list, CtCoordinate *coordinate)
{
    const guint n = n_items(list);
    g_autofree gdouble *values = g_new(gdouble, n);
    for (guint i = 0; i < n; i++) {
        const yaml_node_t *node = item(json, list, i);
        if (node->type != YAML_SCALAR_NODE ||
            !read_real((const char *)node->data.scalar.value, &values[i]))
            return FALSE;
    }
    coordinate->table = g_bytes_new(values, n * sizeof *values);
    return TRUE;
}

/* The texts of a list, which belong to the document; NULL if some items are none. */
static GPtrArray *
read_texts(Json *json, yaml_node_t *list)
{
    g_autoptr(GPtrArray) texts = g_ptr_array_new();
    for (guint i = 0; i < n_items(list); i++) {
        const yaml_node_t *node = item(json, list, i);
        if (node->type != YAML_SCALAR_NODE)
            return NULL;
        g_ptr_array_add(texts, node->data.scalar.value);
    }
    return g_steal_pointer(&texts);
}

/* Reads a list of indices, or `all`. */
static CtLabels *
read_pairs(Json *json, yaml_node_t *list, CtLabels *names)
{
    if (list->type == YAML_SCALAR_NODE && strcmp((char *)list->data.scalar.value, "all") == 0)
        return ct_labels_new_pairs(names, NULL, 0);
    if (list->type != YAML_SEQUENCE_NODE)
        return NULL;
    const guint n = n_items(list) / 2;
    if (n_items(list) % 2 != 0)
        return NULL;
    g_autofree guint32(*pairs)[2] = g_malloc_n(n, sizeof *pairs);
    for (guint i = 0; i < 2 * n; i++) {
        const yaml_node_t *node = item(json, list, i);
        gint64 index;
        if (node->type != YAML_SCALAR_NODE ||
            !read_integer((const char *)node->data.scalar.value, &index) || index < 0 ||
            (guint64)index >= ct_labels_count(names))
            return NULL;
        pairs[i / 2][i % 2] = (guint32)index;
    }
    return ct_labels_new_pairs(names, pairs, n);
}

static gboolean
read_labels(Json *json, yaml_node_t *map, CtAxis *axis, GError **error)
{
    yaml_node_t *list = value(json, map, "labels", YAML_SEQUENCE_NODE);
    if (!list)
        return TRUE;
    g_autoptr(GPtrArray) texts = read_texts(json, list);
    yaml_node_t *pairs = any_value(json, map, "pairs");
    if (texts) {
        g_autoptr(CtLabels) names = ct_labels_new((const char *const *)texts->pdata, texts->len);
        axis->labels = pairs ? read_pairs(json, pairs, names) : ct_labels_ref(names);
    }
    if (axis->labels && (gint64)ct_labels_count(axis->labels) == axis->length)
        return TRUE;
    return malformed(json, list->start_mark, error,
                     "wants a label of each element, or pairs of indices of labels");
}

static gboolean
read_axis(Json *json, yaml_node_t *map, CtStream *stream, GError **error)
{
    const char *name = text_value(json, map, "name");
    gint64 length;
    if (!name || !integer_value(json, map, "length", &length) || length < 0)
        return malformed(json, map->start_mark, error, "wants a name and a length of each axis");
    if (strcmp(name, "complex") == 0)
        return TRUE;
    CtAxis *axis = ct_stream_add_axis(stream, name, length);
    if (!axis)
        return malformed(json, map->start_mark, error, "has an axis twice, or too many");
    if (!read_labels(json, map, axis, error))
        return FALSE;
    const char *unit = text_value(json, map, "unit");
    /* The seconds of time follow from the clock. */
    if (!unit || strcmp(name, "time") == 0)
        return TRUE;
    CtCoordinate *coordinate = &axis->coordinate;
    const char *parent = text_value(json, map, "parent");
    coordinate->unit = g_intern_string(unit);
    coordinate->parent = parent ? ct_axis_name(parent) : NULL;
    yaml_node_t *table = value(json, map, "table", YAML_SEQUENCE_NODE);
    if (table ? !read_table(json, table, coordinate)
              : !real_value(json, map, "first", &coordinate->first) ||
                    !real_value(json, map, "step", &coordinate->step))
        return malformed(json, map->start_mark, error,
                         "wants first and step, or a table, of an axis with a unit");
    return TRUE;
}

/* Whether an axis's table has a value for each element, and its parent is an axis that has no
 * parent. */
static gboolean
coordinate_fits(const CtStream *stream, guint axis)
{
    const CtCoordinate *coordinate = &stream->axes[axis].coordinate;
    const gint parent = coordinate->parent ? ct_stream_axis(stream, coordinate->parent) : -1;
    if (coordinate->parent && (parent < 0 || stream->axes[parent].coordinate.parent))
        return FALSE;
    const gint64 n_parents = parent < 0 ? 1 : stream->axes[parent].length;
    gint64 n;
    return !coordinate->table ||
           (!__builtin_mul_overflow(stream->axes[axis].length, n_parents, &n) &&
            (gint64)(g_bytes_get_size(coordinate->table) / sizeof(gdouble)) == n);
}

static gboolean
read_clock(Json *json, yaml_node_t *root, CtStream *stream, GError **error)
{
    yaml_node_t *rate = value(json, root, "ticks_per_second", YAML_SEQUENCE_NODE);
    const gboolean has_ticks =
        integer_value(json, root, "ticks_per_sample", &stream->ticks_per_sample);
    const gboolean has_start = integer_value(json, root, "start", &stream->start);
    stream->epoch = CT_NO_EPOCH;
    if (has_ticks && stream->ticks_per_sample < 1)
        return malformed(json, any_value(json, root, "ticks_per_sample")->start_mark, error,
                         "wants ticks_per_sample above 0");
    if (!rate)
        return TRUE;
    const char *parts[2] = {NULL, NULL};
    for (guint i = 0; i < 2 && n_items(rate) == 2; i++)
        if (item(json, rate, i)->type == YAML_SCALAR_NODE)
            parts[i] = (const char *)item(json, rate, i)->data.scalar.value;
    if (!read_integer(parts[0], &stream->rate_num) || !read_integer(parts[1], &stream->rate_den) ||
        !has_ticks || !has_start || stream->rate_num < 1 || stream->rate_den < 1)
        return malformed(json, rate->start_mark, error,
                         "wants ticks_per_second as a fraction, with ticks_per_sample and start");
    integer_value(json, root, "epoch", &stream->epoch);
    return TRUE;
}

static gboolean
read_reals(Json *json, yaml_node_t *map, const char *key, guint n, gdouble *numbers, gboolean *has,
           GError **error)
{
    yaml_node_t *list = value(json, map, key, YAML_SEQUENCE_NODE);
    if (has)
        *has = list != NULL;
    if (!list)
        return TRUE;
    gboolean good = n_items(list) == n;
    for (guint i = 0; i < n && good; i++) {
        const yaml_node_t *node = item(json, list, i);
        good = node->type == YAML_SCALAR_NODE &&
               read_real((const char *)node->data.scalar.value, &numbers[i]) &&
               isfinite(numbers[i]);
    }
    if (good)
        return TRUE;
    g_autofree char *what = g_strdup_printf("wants %u numbers of '%s'", n, key);
    return malformed(json, list->start_mark, error, what);
}

static gboolean
read_station(Json *json, yaml_node_t *map, CtStation *station, GError **error)
{
    *station = (CtStation){.name = text_value(json, map, "name")};
    if (!station->name)
        return malformed(json, map->start_mark, error, "wants the name of each station");
    return read_reals(json, map, "position", 3, station->position, &station->has_position, error) &&
           read_reals(json, map, "feeds", 2, station->feeds, NULL, error);
}

/* `begin` is [seconds, numerator, denominator]. */
static gboolean
read_scan(Json *json, yaml_node_t *map, CtScan *scan, GError **error)
{
    const gint64 most = G_GINT64_CONSTANT(1000000000000000000);
    yaml_node_t *begin = value(json, map, "begin", YAML_SEQUENCE_NODE);
    gint64 parts[3] = {0};
    gboolean good = begin && n_items(begin) == G_N_ELEMENTS(parts);
    for (guint i = 0; i < G_N_ELEMENTS(parts) && good; i++) {
        const yaml_node_t *node = item(json, begin, i);
        good = node->type == YAML_SCALAR_NODE &&
               read_integer((const char *)node->data.scalar.value, &parts[i]);
    }
    if (!good || parts[1] < 0 || parts[1] >= parts[2] || parts[2] > most)
        return malformed(json, begin ? begin->start_mark : map->start_mark, error,
                         "wants 'begin' of each scan, seconds and a fraction of a second");
    *scan = (CtScan){.begin = {parts[0], parts[1], parts[2]},
                     .source = text_value(json, map, "source")};
    return read_reals(json, map, "phase_centre", 2, scan->direction, &scan->has_direction, error);
}

static gboolean
read_observation(Json *json, yaml_node_t *root, CtStream *stream, GError **error)
{
    yaml_node_t *map = value(json, root, "observation", YAML_MAPPING_NODE);
    if (!map)
        return TRUE;
    CtObservationFacts facts = *ct_observation_facts(NULL);
    facts.telescope = text_value(json, map, "telescope");
    facts.source = text_value(json, map, "source");
    facts.project = text_value(json, map, "project");
    facts.observer = text_value(json, map, "observer");
    integer_value(json, map, "start", &facts.start);
    yaml_node_t *names = value(json, map, "polarisations", YAML_SEQUENCE_NODE);
    g_autoptr(GPtrArray) texts = names ? read_texts(json, names) : g_ptr_array_new();
    if (!texts)
        return malformed(json, names->start_mark, error, "wants names of polarisations");
    facts.n_polarisations = texts->len;
    facts.polarisations = (const char *const *)texts->pdata;
    yaml_node_t *list = value(json, map, "stations", YAML_SEQUENCE_NODE);
    facts.n_stations = list ? n_items(list) : 0;
    g_autofree CtStation *stations = g_new0(CtStation, facts.n_stations + 1);
    for (guint i = 0; i < facts.n_stations; i++)
        if (!read_station(json, item(json, list, i), &stations[i], error))
            return FALSE;
    facts.stations = stations;
    list = value(json, map, "scans", YAML_SEQUENCE_NODE);
    facts.n_scans = list ? n_items(list) : 0;
    g_autofree CtScan *scans = g_new0(CtScan, facts.n_scans + 1);
    for (guint i = 0; i < facts.n_scans; i++)
        if (!read_scan(json, item(json, list, i), &scans[i], error))
            return FALSE;
    facts.scans = scans;
    if (!read_reals(json, map, "position", 3, facts.location, &facts.has_location, error) ||
        !read_reals(json, map, "phase_centre", 2, facts.direction, &facts.has_direction, error))
        return FALSE;
    stream->observation = ct_observation_new(&facts);
    return TRUE;
}

static gboolean
read_root(Json *json, CtStream *stream, CtLayout *layout, GError **error)
{
    yaml_node_t *root = yaml_document_get_root_node(&json->document);
    const yaml_mark_t at = root ? root->start_mark : (yaml_mark_t){0};
    yaml_node_t *axes = value(json, root, "axes", YAML_SEQUENCE_NODE);
    const char *name = text_value(json, root, "layout");
    if (!name)
        return malformed(json, at, error, "wants the layout, a text");
    if (!axes)
        return malformed(json, at, error, "wants the axes, a list");
    g_autoptr(GError) cause = NULL;
    if (!ct_layout_parse(layout, name, &cause))
        return malformed(json, value(json, root, "layout", YAML_SCALAR_NODE)->start_mark, error,
                         cause->message);
    const char *type = text_value(json, root, "type");
    stream->type = type ? ct_type_from_name(type) : CT_TYPE_NONE;
    if (stream->type == CT_TYPE_NONE)
        return malformed(json, at, error, "wants the type of its elements");
    for (guint i = 0; i < n_items(axes); i++)
        if (!read_axis(json, item(json, axes, i), stream, error))
            return FALSE;
    for (guint a = 0; a < stream->n_axes; a++)
        if (!coordinate_fits(stream, a))
            return malformed(json, axes->start_mark, error,
                             "has a table of another length than its axis, or an axis "
                             "whose parent is none, or has one itself");
    stream->has_frequency = real_value(json, root, "frequency", &stream->frequency);
    return read_observation(json, root, stream, error) && read_clock(json, root, stream, error);
}

/* Whether PATH.json describes a complete array of `bytes` bytes. Files that no sink has written may
 * lack the length. */
static gboolean
check_array(Json *json, gint64 bytes, GError **error)
{
    yaml_node_t *root = yaml_document_get_root_node(&json->document);
    yaml_node_t *said = value(json, root, "bytes", YAML_SCALAR_NODE);
    yaml_node_t *written = value(json, root, "written", YAML_SCALAR_NODE);
    gint64 wanted;
    if (said && !read_integer((const char *)said->data.scalar.value, &wanted))
        return malformed(json, said->start_mark, error, "wants the array's length in bytes");
    if (written)
        return malformed(json, written->start_mark, error,
                         "wants a whole array, but describes one that is not finished");
    if (!said || wanted == bytes)
        return TRUE;
    g_autofree char *what = g_strdup_printf("wants an array of %" G_GINT64_FORMAT
                                            " bytes, but is given one of %" G_GINT64_FORMAT
                                            ": it belongs to another array",
                                            wanted, bytes);
    return malformed(json, said->start_mark, error, what);
}

/* Reads item 2 i and the next of a list: where a run begins, and its length. */
static gboolean
read_run(Json *json, yaml_node_t *list, guint i, gint64 run[2])
{
    for (guint k = 0; k < 2; k++) {
        const yaml_node_t *node = 2 * i + k < n_items(list) ? item(json, list, 2 * i + k) : NULL;
        if (!node || node->type != YAML_SCALAR_NODE ||
            !read_integer((const char *)node->data.scalar.value, &run[k]) || run[k] < (gint64)k)
            return FALSE;
    }
    return TRUE;
}

/* Reads the runs of invalid samples that some lanes have. */
static gboolean
read_gap(Json *json, yaml_node_t *map, gint64 n_samples, CtGaps *gaps, GError **error)
{
    yaml_node_t *lanes = value(json, map, "lanes", YAML_SEQUENCE_NODE);
    yaml_node_t *samples = value(json, map, "samples", YAML_SEQUENCE_NODE);
    const gint64 n_lanes = ct_gaps_n_lanes(gaps);
    if (!lanes || !samples)
        return malformed(json, map->start_mark, error, "wants lanes and samples of each gap");
    for (guint i = 0; 2 * i < n_items(lanes); i++) {
        gint64 run[2], of[2];
        if (!read_run(json, lanes, i, run) || run[1] > n_lanes - run[0])
            return malformed(json, lanes->start_mark, error,
                             "wants runs of lanes of the array: the first, and their number");
        for (gint64 lane = run[0]; lane < run[0] + run[1]; lane++)
            for (guint k = 0; 2 * k < n_items(samples); k++)
                if (!read_run(json, samples, k, of) || of[1] > n_samples - of[0] ||
                    !ct_gaps_add(gaps, lane, of[0], of[1]))
                    return malformed(json, samples->start_mark, error,
                                     "wants runs of samples of the array, in their order: the "
                                     "first, and their number");
    }
    return TRUE;
}

static gboolean
read_gaps(Json *json, yaml_node_t *validity, const CtStream *stream, CtSidecar *facts,
          GError **error)
{
    yaml_node_t *list = value(json, validity, "gaps", YAML_SEQUENCE_NODE);
    const gint time = ct_stream_axis(stream, "time");
    if (!list)
        return TRUE;
    facts->gaps = ct_gaps_new(ct_stream_n_lanes(stream), error);
    for (guint i = 0; facts->gaps && i < n_items(list); i++)
        if (!read_gap(json, item(json, list, i), time < 0 ? 1 : stream->axes[time].length,
                      facts->gaps, error))
            return FALSE;
    return facts->gaps != NULL;
}

/* The invalid samples of files that do not say which these are. */
static gboolean
read_invalid(Json *json, yaml_node_t *lanes, CtSidecar *facts, GError **error)
{
    for (guint lane = 0; lane < n_items(lanes); lane++) {
        const yaml_node_t *node = item(json, lanes, lane);
        gint64 n;
        if (node->type != YAML_SCALAR_NODE ||
            !read_integer((const char *)node->data.scalar.value, &n) || n < 0 ||
            __builtin_add_overflow(facts->invalid, n, &facts->invalid))
            return malformed(json, node->start_mark, error,
                             "wants the number of invalid samples of each lane");
    }
    return TRUE;
}

static gboolean
read_validity(Json *json, CtStream *stream, CtSidecar *facts, GError **error)
{
    yaml_node_t *root = yaml_document_get_root_node(&json->document);
    yaml_node_t *validity = value(json, root, "validity", YAML_MAPPING_NODE);
    yaml_node_t *axes = value(json, validity, "axes", YAML_SEQUENCE_NODE);
    yaml_node_t *invalid = value(json, validity, "invalid_samples", YAML_SEQUENCE_NODE);
    facts->interrupted = truth_value(json, root, "interrupted");
    for (guint i = 0; axes && i < n_items(axes); i++) {
        const yaml_node_t *node = item(json, axes, i);
        const gint axis = node->type == YAML_SCALAR_NODE
                              ? ct_stream_axis(stream, (const char *)node->data.scalar.value)
                              : -1;
        if (axis < 0 || strcmp(stream->axes[axis].name, "time") == 0)
            return malformed(json, node->start_mark, error,
                             "wants axes of the array other than time");
        stream->axes[axis].loses = TRUE;
    }
    return read_gaps(json, validity, stream, facts, error) &&
           (facts->gaps || !invalid || read_invalid(json, invalid, facts, error));
}

/* Fails if a key was there, but of another kind than it wants, and so was read as missing. */
static gboolean
check_kinds(const Json *json, GError **error)
{
    if (!json->wrong)
        return TRUE;
    g_autofree char *what = g_strdup_printf("wants %s for %s", json->wanted, json->wrong_key);
    return malformed(json, json->wrong->start_mark, error, what);
}

/* Reads a file to memory; *text is NULL if there is no file. */
static gboolean
read_text(const char *path, guint8 **text, gsize *length, GError **error)
{
    struct stat status;
    *text = NULL;
    if (stat(path, &status) != 0 && errno == ENOENT)
        return TRUE;
    const int fd = ct_file_open(path, error);
    if (fd < 0)
        return FALSE;
    /* A size that can't be had reads as an empty text, which is malformed. */
    *length = fstat(fd, &status) == 0 ? (gsize)status.st_size : 0;
    guint8 *bytes = g_try_malloc(*length + 1);
    if (!bytes)
        g_set_error(error, CT_ERROR, CT_ERROR_MEMORY, "%s: no memory to read it", path);
    const gboolean good = bytes && ct_file_read(path, fd, 0, bytes, *length, error);
    close(fd);
    if (good)
        *text = g_steal_pointer(&bytes);
    g_free(bytes);
    return good;
}

void
ct_sidecar_clear(CtSidecar *facts)
{
    g_clear_pointer(&facts->layout, g_free);
    g_clear_pointer(&facts->gaps, ct_gaps_free);
}

gboolean
ct_sidecar_read(const char *array_path, gint64 bytes, CtStream *stream, CtSidecar *facts,
                GError **error)
{
    g_autofree char *path = g_strconcat(array_path, ".json", NULL);
    g_autofree guint8 *text = NULL;
    gsize length;
    if (!read_text(path, &text, &length, error))
        return FALSE;
    if (!text)
        return TRUE;
    Json json = {.path = path};
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser)) {
        g_set_error(error, CT_ERROR, CT_ERROR_MEMORY, "%s: no memory to read it", path);
        return FALSE;
    }
    yaml_parser_set_input_string(&parser, text, length);
    const gboolean loaded = yaml_parser_load(&parser, &json.document);
    const yaml_mark_t failed = parser.problem_mark;
    yaml_parser_delete(&parser);
    if (!loaded)
        return malformed(&json, failed, error, "not JSON");
    facts->layout = g_new0(CtLayout, 1);
    const gboolean good = check_array(&json, bytes, error) &&
                          read_root(&json, stream, facts->layout, error) &&
                          read_validity(&json, stream, facts, error) && check_kinds(&json, error);
    yaml_document_delete(&json.document);
    return good;
}

gboolean
ct_sidecar_check_file(const char *path, int fd, GError **error)
{
    struct stat opened, there;
    if (fstat(fd, &opened) != 0 || stat(path, &there) != 0)
        return ct_file_error(error, path, "can't be read");
    if (opened.st_dev == there.st_dev && opened.st_ino == there.st_ino)
        return TRUE;
    g_set_error(
        error, CT_ERROR, CT_ERROR_IO,
        "%s: wants an array that does not change, but it has been replaced while it was opened",
        path);
    return FALSE;
}
