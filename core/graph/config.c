/* SPDX-License-Identifier: BSD-3-Clause */
/* A graph as its file describes it. */
#include "config.h"

#include "expand.h"
#include "model/quantity.h"
#include "model/suggest.h"
#include "model/topology.h"

#include <string.h>

static const char *const top_keys[] = {
    "backend",     "block",      "cpus",   "description", "include",  "numa",
    "observation", "parameters", "stages", "start",       "stations", "stop",
};

static void
link_clear(gpointer item)
{
    CtConfigLink *link = item;
    g_free(link->port);
    g_free(link->node);
    g_free(link->output);
}

static void
stage_free(gpointer item)
{
    CtConfigStage *stage = item;
    g_free(stage->name);
    g_free(stage->stage);
    g_free(stage->variant);
    g_clear_pointer(&stage->links, g_array_unref);
    ct_value_free(stage->labels);
    ct_value_free(stage->params);
    g_free(stage);
}

void
ct_config_free(CtConfig *config)
{
    if (!config)
        return;
    g_clear_pointer(&config->stages, g_ptr_array_unref);
    ct_value_free(config->observation);
    ct_value_free(config->stations);
    ct_value_free(config->start);
    ct_value_free(config->stop);
    g_clear_pointer(&config->cpus, g_array_unref);
    g_free(config->path);
    g_free(config->text);
    g_free(config->description);
    g_clear_pointer(&config->files, g_ptr_array_unref);
    g_clear_pointer(&config->warnings, g_ptr_array_unref);
    g_strfreev(config->overrides);
    g_free(config);
}

const CtConfigStage *
ct_config_find(const CtConfig *config, const char *name)
{
    for (guint i = 0; i < config->stages->len; i++) {
        const CtConfigStage *stage = config->stages->pdata[i];
        if (g_str_equal(stage->name, name))
            return stage;
    }
    return NULL;
}

CtConfig *
ct_config_new(const CtConfig *config)
{
    CtConfig *made = g_memdup2(config, sizeof *config);
    made->path = g_strdup(config->path);
    made->text = g_strdup(config->text);
    made->description = g_strdup(config->description);
    made->files = g_ptr_array_ref(config->files);
    made->warnings = g_ptr_array_ref(config->warnings);
    made->overrides = g_strdupv(config->overrides);
    made->observation = config->observation ? ct_value_copy(config->observation) : NULL;
    made->stations = config->stations ? ct_value_copy(config->stations) : NULL;
    made->start = config->start ? ct_value_copy(config->start) : NULL;
    made->stop = config->stop ? ct_value_copy(config->stop) : NULL;
    made->cpus = config->cpus ? g_array_ref(config->cpus) : NULL;
    made->stages = g_ptr_array_new_with_free_func(stage_free);
    return made;
}

CtConfigStage *
ct_config_add(CtConfig *config, const char *name, const char *stage, const CtPlace *place)
{
    CtConfigStage *made = g_new0(CtConfigStage, 1);
    g_ptr_array_add(config->stages, made);
    made->name = g_strdup(name);
    made->stage = g_strdup(stage);
    made->place = made->stage_place = *place;
    made->backend_place = made->variant_place = made->block_place = *place;
    made->backend = (CtConfigBackend){CT_N_BACKENDS, -1};
    made->links = g_array_new(FALSE, FALSE, sizeof(CtConfigLink));
    g_array_set_clear_func(made->links, link_clear);
    made->params = ct_value_new(CT_VALUE_MAPPING, *place);
    return made;
}

CtConfigStage *
ct_config_add_copy(CtConfig *config, const CtConfigStage *stage, const char *name)
{
    CtConfigStage *made = ct_config_add(config, name, stage->stage, &stage->place);
    ct_value_free(made->params);
    made->params = ct_value_copy(stage->params);
    made->stage_place = stage->stage_place;
    made->backend = stage->backend;
    made->backend_place = stage->backend_place;
    made->variant = g_strdup(stage->variant);
    made->variant_place = stage->variant_place;
    made->block = stage->block;
    made->block_place = stage->block_place;
    made->labels = stage->labels ? ct_value_copy(stage->labels) : NULL;
    made->reread = stage->reread;
    made->reread_place = stage->reread_place;
    made->numa = stage->numa;
    for (guint i = 0; i < stage->links->len; i++) {
        const CtConfigLink *link = &g_array_index(stage->links, CtConfigLink, i);
        const CtConfigLink copy = {
            .port = g_strdup(link->port),
            .node = g_strdup(link->node),
            .output = g_strdup(link->output),
            .place = link->place,
        };
        g_array_append_val(made->links, copy);
    }
    return made;
}

/* ---- pieces ---- */

/* Sets "FILE:LINE:COLUMN: node 'filter': …", or the same without the node if `node` is NULL. */
static gboolean blame(const CtPlace *place, const char *node, GError **error, const char *format,
                      ...) G_GNUC_PRINTF(4, 5);

static gboolean
blame(const CtPlace *place, const char *node, GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *message = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    if (!node)
        return ct_place_error(place, CT_ERROR_CONFIG, error, "%s", message);
    return ct_place_error(place, CT_ERROR_CONFIG, error, "node '%s': %s", node, message);
}

/* Whether the text consists of letters, digits, `_` and `-`, and begins with a letter or `_`. A dot
 * would separate node and port. */
static gboolean
is_node_name(const char *text)
{
    if (!g_ascii_isalpha(*text) && *text != '_')
        return FALSE;
    return text[strspn(text, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_-")] == '\0';
}

/* A port may end in `'`, as axes may. */
static gboolean
is_port_name(const char *text)
{
    return *text != '\0' &&
           text[strspn(text, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_-'")] == '\0';
}

/* The text of a scalar; `what` says in the error which kind of name is wanted. */
static const char *
get_name(const CtValue *value, const char *node, const char *key, const char *what, GError **error)
{
    if (value->kind == CT_VALUE_SCALAR && !ct_value_is_nothing(value) && *value->text != '\0')
        return value->text;
    g_autofree char *given = ct_value_describe(value);
    blame(&value->place, node, error, "'%s' wants %s, but is given %s", key, what, given);
    return NULL;
}

gboolean
ct_config_backend_parse(CtConfigBackend *backend, const char *text, GError **error)
{
    static const char *const names[] = {"reference", "cpu", "cuda"};
    if (g_str_equal(text, "auto")) {
        *backend = (CtConfigBackend){CT_N_BACKENDS, -1};
        return TRUE;
    }
    for (guint i = 0; i < G_N_ELEMENTS(names); i++)
        if (g_str_equal(text, names[i])) {
            *backend = (CtConfigBackend){i, -1};
            return TRUE;
        }
    guint64 device;
    if (g_str_has_prefix(text, "cuda:") &&
        g_ascii_string_to_unsigned(text + strlen("cuda:"), 10, 0, 1023, &device, NULL)) {
        *backend = (CtConfigBackend){CT_CUDA, device};
        return TRUE;
    }
    g_set_error(error, CT_ERROR, CT_ERROR_CONFIG,
                "wants auto, reference, cpu, cuda or cuda:N, but is given '%s'", text);
    return FALSE;
}

static gboolean
read_backend(const CtValue *value, const char *node, CtConfigBackend *backend, GError **error)
{
    const char *text =
        get_name(value, node, "backend", "auto, reference, cpu, cuda or cuda:N", error);
    if (!text)
        return FALSE;
    g_autoptr(GError) cause = NULL;
    if (!ct_config_backend_parse(backend, text, &cause))
        return blame(&value->place, node, error, "'backend' %s", cause->message);
    return TRUE;
}

/* Small enough that sums of blocks do not overflow. */
#define LARGEST_BLOCK (G_GINT64_CONSTANT(1) << 40)

/* `block: { time: 65536 }` */
static gboolean
read_block(const CtValue *value, const char *node, gint64 *block, GError **error)
{
    if (value->kind != CT_VALUE_MAPPING || value->keys->len == 0) {
        g_autofree char *given = ct_value_describe(value);
        return blame(&value->place, node, error, "'block' wants { time: N }, but is given %s",
                     given);
    }
    for (guint i = 0; i < value->keys->len; i++) {
        const CtValue *key = value->keys->pdata[i], *item = value->items->pdata[i];
        if (!g_str_equal(key->text, "time"))
            return blame(&key->place, node, error,
                         "'block' wants the key 'time' alone, but is given '%s'", key->text);
        CtQuantity samples;
        if (item->kind != CT_VALUE_SCALAR || !ct_quantity_parse(&samples, item->text, NULL, NULL) ||
            samples.denominator != 1 || samples.numerator < 1 ||
            samples.numerator > LARGEST_BLOCK) {
            g_autofree char *given = ct_value_describe(item);
            return blame(&item->place, node, error,
                         "'block' wants a number of samples, 1 to %" G_GINT64_FORMAT
                         ", but is given %s",
                         LARGEST_BLOCK, given);
        }
        *block = samples.numerator;
    }
    return TRUE;
}

/* ---- processors ---- */

/* `cpus: 0-3,8` */
static gboolean
read_cpus(const CtValue *value, CtConfig *config, GError **error)
{
    g_autoptr(GError) cause = NULL;
    const char *text = get_name(value, NULL, "cpus", "processors as in 0-3,8", error);
    if (!text)
        return FALSE;
    config->cpus_place = value->place;
    config->cpus = ct_processors_parse(text, &cause);
    return config->cpus || blame(&value->place, NULL, error, "'cpus' %s", cause->message);
}

/* `numa: 1` */
static gboolean
read_numa(const CtValue *value, const char *node, CtConfigNuma *numa, GError **error)
{
    static const char wanted[] = "the number of a NUMA node";
    guint64 number;
    const char *text = get_name(value, node, "numa", wanted, error);
    if (!text)
        return FALSE;
    if (!g_ascii_string_to_unsigned(text, 10, 0, G_MAXINT, &number, NULL))
        return blame(&value->place, node, error, "'numa' wants %s, but is given '%s'", wanted,
                     text);
    *numa = (CtConfigNuma){TRUE, (gint)number, value->place};
    return TRUE;
}

/* ---- links ---- */

static gboolean
add_link(CtConfigStage *stage, const CtValue *value, const char *port, GError **error)
{
    const char *text = get_name(value, stage->name, "from", "node or node.port", error);
    if (!text)
        return FALSE;
    const char *dot = strchr(text, '.');
    g_autofree char *node = dot ? g_strndup(text, dot - text) : g_strdup(text);
    if (!is_node_name(node) || (dot && !is_port_name(dot + 1)))
        return blame(&value->place, stage->name, error,
                     "'from' wants node or node.port, but is given '%s'", text);
    const CtConfigLink link = {
        .port = g_strdup(port),
        .node = g_steal_pointer(&node),
        .output = dot ? g_strdup(dot + 1) : NULL,
        .place = value->place,
    };
    g_array_append_val(stage->links, link);
    return TRUE;
}

static gboolean
add_links(CtConfigStage *stage, const CtValue *value, const char *port, GError **error)
{
    if (value->kind != CT_VALUE_LIST)
        return add_link(stage, value, port, error);
    if (value->items->len == 0)
        return blame(&value->place, stage->name, error, "'from' is an empty list");
    for (guint i = 0; i < value->items->len; i++)
        if (!add_link(stage, value->items->pdata[i], port, error))
            return FALSE;
    return TRUE;
}

static gboolean
read_links(CtConfigStage *stage, const CtValue *value, GError **error)
{
    if (value->kind != CT_VALUE_MAPPING)
        return add_links(stage, value, NULL, error);
    if (value->keys->len == 0)
        return blame(&value->place, stage->name, error, "'from' is an empty mapping");
    for (guint i = 0; i < value->keys->len; i++) {
        const CtValue *key = value->keys->pdata[i];
        if (!add_links(stage, value->items->pdata[i], key->text, error))
            return FALSE;
    }
    return TRUE;
}

/* ---- stages ---- */

static gboolean
read_reread(const CtValue *value, CtConfigStage *stage, GError **error)
{
    stage->reread = value->kind == CT_VALUE_SCALAR && g_str_equal(value->text, "true");
    if (stage->reread || (value->kind == CT_VALUE_SCALAR && g_str_equal(value->text, "false")))
        return TRUE;
    g_autofree char *given = ct_value_describe(value);
    return blame(&value->place, stage->name, error, "'reread' wants true or false, but is given %s",
                 given);
}

/* `labels: { station: [CS001, CS002], pol: [X, Y] }` */
static gboolean
read_labels(const CtValue *value, CtConfigStage *stage, GError **error)
{
    gboolean good = value->kind == CT_VALUE_MAPPING && value->keys->len > 0;
    for (guint i = 0; good && i < value->keys->len; i++) {
        const CtValue *names = value->items->pdata[i];
        good = names->kind == CT_VALUE_LIST;
        for (guint k = 0; good && k < names->items->len; k++)
            good = ((const CtValue *)names->items->pdata[k])->kind == CT_VALUE_SCALAR;
    }
    if (!good) {
        g_autofree char *given = ct_value_describe(value);
        return blame(&value->place, stage->name, error,
                     "'labels' wants { AXIS: [NAME, …], … }, but is given %s", given);
    }
    stage->labels = ct_value_copy(value);
    return TRUE;
}

static gboolean
read_key(CtConfigStage *stage, const CtValue *key, const CtValue *item, GError **error)
{
    if (g_str_equal(key->text, "stage")) {
        stage->stage = g_strdup(get_name(item, stage->name, "stage", "the name of a stage", error));
        stage->stage_place = item->place;
        return stage->stage != NULL;
    }
    if (g_str_equal(key->text, "from"))
        return read_links(stage, item, error);
    if (g_str_equal(key->text, "backend")) {
        stage->backend_place = item->place;
        return read_backend(item, stage->name, &stage->backend, error);
    }
    if (g_str_equal(key->text, "variant")) {
        stage->variant =
            g_strdup(get_name(item, stage->name, "variant", "the name of a variant", error));
        stage->variant_place = item->place;
        return stage->variant != NULL;
    }
    if (g_str_equal(key->text, "block")) {
        stage->block_place = item->place;
        return read_block(item, stage->name, &stage->block, error);
    }
    if (g_str_equal(key->text, "numa"))
        return read_numa(item, stage->name, &stage->numa, error);
    if (g_str_equal(key->text, "labels"))
        return read_labels(item, stage, error);
    if (g_str_equal(key->text, "reread")) {
        stage->reread_place = item->place;
        return read_reread(item, stage, error);
    }
    g_ptr_array_add(stage->params->keys, ct_value_copy(key));
    g_ptr_array_add(stage->params->items, ct_value_copy(item));
    return TRUE;
}

/* Reads the keys of a node; those that are at fault are left out. */
static void
read_keys(CtConfigStage *stage, const CtPlace *place, const CtValue *value, CtErrors *errors)
{
    gboolean has_stage = FALSE;
    for (guint i = 0; i < value->keys->len; i++) {
        const CtValue *key = value->keys->pdata[i];
        GError *error = NULL;
        has_stage |= g_str_equal(key->text, "stage");
        if (!read_key(stage, key, value->items->pdata[i], &error))
            ct_errors_take(errors, error);
    }
    GError *error = NULL;
    if (!has_stage && !blame(place, stage->name, &error, "key 'stage' is missing"))
        ct_errors_take(errors, error);
}

static gboolean
read_stage(CtConfig *config, const CtValue *key, const CtValue *value, CtErrors *errors,
           GError **error)
{
    if (!is_node_name(key->text))
        return blame(&key->place, NULL, error,
                     "a node's name wants letters, digits, _ and -, but is given '%s'", key->text);
    if (value->kind != CT_VALUE_MAPPING) {
        g_autofree char *given = ct_value_describe(value);
        return blame(&value->place, key->text, error, "wants { stage: NAME, … }, but is given %s",
                     given);
    }
    CtConfigStage *stage = ct_config_add(config, key->text, NULL, &key->place);
    stage->params->place = value->place;
    read_keys(stage, &key->place, value, errors);
    return TRUE;
}

static gboolean
read_stages(CtConfig *config, const CtValue *value, CtErrors *errors, GError **error)
{
    if (value->kind != CT_VALUE_MAPPING || (value->keys->len == 0 && ct_errors_are_none(errors))) {
        g_autofree char *given = ct_value_describe(value);
        return blame(&value->place, NULL, error,
                     "'stages' wants a mapping from names to stages, but is given %s",
                     value->kind == CT_VALUE_MAPPING ? "none" : given);
    }
    for (guint i = 0; i < value->keys->len; i++) {
        GError *cause = NULL;
        if (!read_stage(config, value->keys->pdata[i], value->items->pdata[i], errors, &cause))
            ct_errors_take(errors, cause);
    }
    return TRUE;
}

/* A mapping, or for stations the path of a file that has it. */
static gboolean
read_facts(const CtValue *key, const CtValue *value, CtConfig *config, GError **error)
{
    const gboolean are_stations = g_str_equal(key->text, "stations");
    CtValue **to = are_stations ? &config->stations : &config->observation;
    const gboolean is_path = are_stations && value->kind == CT_VALUE_SCALAR &&
                             !ct_value_is_nothing(value) && *value->text;
    *to = is_path ? ct_value_load(value->text, error) : ct_value_copy(value);
    if (!*to) {
        g_autofree char *where = ct_place_to_string(&value->place);
        g_prefix_error(error, "%s: 'stations': ", where);
        return FALSE;
    }
    if ((*to)->kind == CT_VALUE_MAPPING)
        return TRUE;
    g_autofree char *given = ct_value_describe(*to);
    return blame(&(*to)->place, NULL, error, "'%s' wants %s, but is given %s", key->text,
                 are_stations ? "a mapping from names to positions, or the path of a file with one"
                              : "a mapping, as { telescope: NAME, … }",
                 given);
}

/* `start: "2026-11-23T12:00:00Z"` */
static gboolean
read_time(const CtValue *key, const CtValue *value, CtValue **to, GError **error)
{
    if (!get_name(value, NULL, key->text, "a time as \"2026-11-23T12:00:00Z\"", error))
        return FALSE;
    *to = ct_value_copy(value);
    return TRUE;
}

static gboolean
read_description(const CtValue *value, CtConfig *config, GError **error)
{
    config->description = g_strdup(get_name(value, NULL, "description", "a text", error));
    /* Terminals obey control characters. */
    for (const char *at = config->description; at && *at; at = g_utf8_next_char(at))
        if (*at != '\n' && *at != '\t' && g_unichar_iscntrl(g_utf8_get_char(at)))
            return blame(&value->place, NULL, error,
                         "'description' wants a text without control characters");
    return config->description != NULL;
}

static gboolean
read_top_key(CtConfig *config, const CtValue *key, const CtValue *item, CtErrors *errors,
             GError **error)
{
    if (g_str_equal(key->text, "backend")) {
        config->backend_place = item->place;
        return read_backend(item, NULL, &config->backend, error);
    }
    if (g_str_equal(key->text, "block"))
        return read_block(item, NULL, &config->block, error);
    if (g_str_equal(key->text, "cpus"))
        return read_cpus(item, config, error);
    if (g_str_equal(key->text, "description"))
        return read_description(item, config, error);
    if (g_str_equal(key->text, "numa"))
        return read_numa(item, NULL, &config->numa, error);
    if (g_str_equal(key->text, "stages"))
        return read_stages(config, item, errors, error);
    if (g_str_equal(key->text, "observation") || g_str_equal(key->text, "stations"))
        return read_facts(key, item, config, error);
    if (g_str_equal(key->text, "start"))
        return read_time(key, item, &config->start, error);
    if (g_str_equal(key->text, "stop"))
        return read_time(key, item, &config->stop, error);
    g_autofree char *remark =
        ct_suggest_remark(key->text, top_keys, G_N_ELEMENTS(top_keys), "a graph has");
    return blame(&key->place, NULL, error, "there is no key '%s'%s", key->text, remark);
}

static void
read_top(CtConfig *config, const CtValue *top, CtErrors *errors)
{
    for (guint i = 0; i < top->keys->len; i++) {
        GError *error = NULL;
        if (!read_top_key(config, top->keys->pdata[i], top->items->pdata[i], errors, &error))
            ct_errors_take(errors, error);
    }
    GError *error = NULL;
    if (!config->stages->len && ct_errors_are_none(errors) &&
        !blame(&top->place, NULL, &error, "key 'stages' is missing"))
        ct_errors_take(errors, error);
}

/* ---- the whole graph ---- */

static gboolean
check_mapping(const CtValue *top, const char *name, GError **error)
{
    if (top->kind == CT_VALUE_MAPPING)
        return TRUE;
    g_autofree char *given = ct_value_describe(top);
    const CtPlace place = {g_intern_string(name), MAX(top->place.line, 1),
                           MAX(top->place.column, 1)};
    return blame(&place, NULL, error, "wants a graph: { stages: … }, but is given %s", given);
}

/* `path` NULL: the text is in memory. */
static CtConfig *
config_from_value(const CtValue *top, const char *name, const char *path,
                  const char *const *overrides, GString *included, GError **error)
{
    if (!check_mapping(top, name, error))
        return NULL;
    g_autoptr(CtErrors) errors = ct_errors_new();
    g_autoptr(CtExpansion) expansion = ct_expand(top, path, overrides, errors);
    g_autoptr(CtConfig) config = g_new0(CtConfig, 1);
    config->path = g_strdup(path);
    config->place = config->backend_place = top->place;
    config->backend = (CtConfigBackend){CT_N_BACKENDS, -1};
    config->stages = g_ptr_array_new_with_free_func(stage_free);
    config->files = g_ptr_array_ref(expansion->files);
    config->warnings = g_ptr_array_ref(expansion->warnings);
    config->overrides = g_strdupv((char **)overrides);
    read_top(config, expansion->top, errors);
    g_string_append(included, expansion->texts->str);
    return ct_errors_finish(errors, error) ? g_steal_pointer(&config) : NULL;
}

static CtConfig *
config_parse(const char *text, gssize length, const char *name, const char *path,
             const char *const *overrides, GError **error)
{
    g_autoptr(CtValue) top = ct_value_parse(text, length, name, error);
    if (!top)
        return NULL;
    GString *whole = g_string_new_len(text, length);
    CtConfig *config = config_from_value(top, name, path, overrides, whole, error);
    if (config && g_utf8_validate(whole->str, (gssize)whole->len, NULL))
        config->text = g_string_free(whole, FALSE);
    else
        g_string_free(whole, TRUE);
    return config;
}

CtConfig *
ct_config_load(const char *path, const char *const *overrides, GError **error)
{
    g_autoptr(GByteArray) bytes = ct_document_read(path, error);
    /* libyaml needs a text, even an empty one. */
    return bytes ? config_parse(bytes->data ? (const char *)bytes->data : "", bytes->len, path,
                                path, overrides, error)
                 : NULL;
}

CtConfig *
ct_config_parse(const char *text, gssize length, const char *name, const char *const *overrides,
                GError **error)
{
    return config_parse(text, length, name, NULL, overrides, error);
}
