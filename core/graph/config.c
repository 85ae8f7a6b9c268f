/* SPDX-License-Identifier: BSD-3-Clause */
/* A graph as its file describes it. */
#include "config.h"

#include "model/quantity.h"
#include "model/suggest.h"
#include "model/topology.h"

#include <string.h>

static const char *const top_keys[] = {"backend", "block", "cpus",     "numa", "observation",
                                       "stages",  "start", "stations", "stop"};

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
    made->params = ct_value_new_mapping(place);
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

static gboolean
read_stage(CtConfig *config, const CtValue *key, const CtValue *value, GError **error)
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
    for (guint i = 0; i < value->keys->len; i++)
        if (!read_key(stage, value->keys->pdata[i], value->items->pdata[i], error))
            return FALSE;
    if (!stage->stage)
        return blame(&key->place, stage->name, error, "key 'stage' is missing");
    return TRUE;
}

static gboolean
read_stages(CtConfig *config, const CtValue *value, GError **error)
{
    if (value->kind != CT_VALUE_MAPPING || value->keys->len == 0) {
        g_autofree char *given = ct_value_describe(value);
        return blame(&value->place, NULL, error,
                     "'stages' wants a mapping from names to stages, but is given %s",
                     value->kind == CT_VALUE_MAPPING ? "none" : given);
    }
    for (guint i = 0; i < value->keys->len; i++)
        if (!read_stage(config, value->keys->pdata[i], value->items->pdata[i], error))
            return FALSE;
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
read_top(CtConfig *config, const CtValue *top, GError **error)
{
    for (guint i = 0; i < top->keys->len; i++) {
        const CtValue *key = top->keys->pdata[i], *item = top->items->pdata[i];
        gboolean ok;
        if (g_str_equal(key->text, "backend")) {
            config->backend_place = item->place;
            ok = read_backend(item, NULL, &config->backend, error);
        } else if (g_str_equal(key->text, "block"))
            ok = read_block(item, NULL, &config->block, error);
        else if (g_str_equal(key->text, "cpus"))
            ok = read_cpus(item, config, error);
        else if (g_str_equal(key->text, "numa"))
            ok = read_numa(item, NULL, &config->numa, error);
        else if (g_str_equal(key->text, "stages"))
            ok = read_stages(config, item, error);
        else if (g_str_equal(key->text, "observation") || g_str_equal(key->text, "stations"))
            ok = read_facts(key, item, config, error);
        else if (g_str_equal(key->text, "start"))
            ok = read_time(key, item, &config->start, error);
        else if (g_str_equal(key->text, "stop"))
            ok = read_time(key, item, &config->stop, error);
        else {
            g_autofree char *remark =
                ct_suggest_remark(key->text, top_keys, G_N_ELEMENTS(top_keys), "a graph has");
            return blame(&key->place, NULL, error, "there is no key '%s'%s", key->text, remark);
        }
        if (!ok)
            return FALSE;
    }
    if (!config->stages->len)
        return blame(&top->place, NULL, error, "key 'stages' is missing");
    return TRUE;
}

/* ---- overrides ---- */

static CtValue *
find_node(const CtValue *top, const char *override, const char *name, GError **error)
{
    const CtPlace place = {g_intern_string(override), 0, 0};
    const CtValue *stages = ct_value_get(top, "stages");
    if (!stages || stages->kind != CT_VALUE_MAPPING) {
        blame(&top->place, NULL, error, "key 'stages' is missing");
        return NULL;
    }
    CtValue *node = ct_value_get(stages, name);
    if (node && node->kind == CT_VALUE_MAPPING)
        return node;
    g_autofree const char **names = g_new(const char *, stages->keys->len);
    for (guint i = 0; i < stages->keys->len; i++)
        names[i] = ((const CtValue *)stages->keys->pdata[i])->text;
    g_autofree char *remark =
        ct_suggest_remark(name, names, node ? 0 : stages->keys->len, node ? NULL : "there is");
    blame(&place, NULL, error, "there is no node '%s'%s", name, remark);
    return NULL;
}

CtValue *
ct_config_parse_assignment(const char *assignment, const char *name, char **node, char **key,
                           GError **error)
{
    const CtPlace place = {g_intern_string(name), 0, 0};
    const char *equals = strchr(assignment, '=');
    const char *dot = equals ? memchr(assignment, '.', equals - assignment) : NULL;
    if (!dot || dot == assignment || dot + 1 == equals) {
        blame(&place, NULL, error, "wants node.parameter=value");
        return NULL;
    }
    CtValue *value = ct_value_parse_short(equals + 1, name, error);
    if (!value)
        return NULL;
    *node = g_strndup(assignment, dot - assignment);
    *key = g_strndup(dot + 1, equals - dot - 1);
    return value;
}

static gboolean
apply_override(CtValue *top, const char *assignment, GError **error)
{
    g_autofree char *override = g_strconcat("--set ", assignment, NULL);
    g_autofree char *name = NULL;
    g_autofree char *key = NULL;
    g_autoptr(CtValue) value = ct_config_parse_assignment(assignment, override, &name, &key, error);
    CtValue *node = value ? find_node(top, override, name, error) : NULL;
    if (!node)
        return FALSE;
    ct_value_set(node, key, g_steal_pointer(&value));
    return TRUE;
}

/* ---- the whole graph ---- */

static CtConfig *
config_from_value(CtValue *top, const char *name, const char *const *overrides, GError **error)
{
    if (top->kind != CT_VALUE_MAPPING) {
        g_autofree char *given = ct_value_describe(top);
        const CtPlace place = {g_intern_string(name), MAX(top->place.line, 1),
                               MAX(top->place.column, 1)};
        blame(&place, NULL, error, "wants a graph: { stages: … }, but is given %s", given);
        return NULL;
    }
    for (guint i = 0; overrides && overrides[i]; i++)
        if (!apply_override(top, overrides[i], error))
            return NULL;
    g_autoptr(CtConfig) config = g_new0(CtConfig, 1);
    config->place = config->backend_place = top->place;
    config->backend = (CtConfigBackend){CT_N_BACKENDS, -1};
    config->stages = g_ptr_array_new_with_free_func(stage_free);
    if (!read_top(config, top, error))
        return NULL;
    return g_steal_pointer(&config);
}

CtConfig *
ct_config_load(const char *path, const char *const *overrides, GError **error)
{
    g_autoptr(GByteArray) bytes = ct_document_read(path, error);
    if (!bytes)
        return NULL;
    /* libyaml needs a text, even an empty one. */
    CtConfig *config = ct_config_parse(bytes->data ? (const char *)bytes->data : "", bytes->len,
                                       path, overrides, error);
    if (config)
        config->path = g_strdup(path);
    return config;
}

CtConfig *
ct_config_parse(const char *text, gssize length, const char *name, const char *const *overrides,
                GError **error)
{
    g_autoptr(CtValue) top = ct_value_parse(text, length, name, error);
    CtConfig *config = top ? config_from_value(top, name, overrides, error) : NULL;
    if (config && g_utf8_validate(text, length, NULL))
        config->text = length < 0 ? g_strdup(text) : g_strndup(text, (gsize)length);
    if (config)
        config->overrides = g_strdupv((char **)overrides);
    return config;
}
