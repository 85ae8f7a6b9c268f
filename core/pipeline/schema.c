/* SPDX-License-Identifier: BSD-3-Clause */
/* The JSON Schema of graphs, from the tables of the stages and the keys of the language. */
#include "schema.h"

#include "graph/observe.h"
#include "graph/registry.h"
#include "model/node-params.h"

#include <cornerturn/inspect.h>
#include <string.h>

#define NODE_NAME "^(?!replicate$)[A-Za-z_][A-Za-z0-9_-]*$"

/* ---- pieces of the language ---- */

/* Keys whose values are written as JSON Schema here: `types` of JSON, with a space between them;
 * texts match `pattern`; numbers are not below `least`; lists and mappings are not empty. */
typedef struct {
    const char *name, *types, *pattern, *help;
    gint least;
} Key;

static const char backend[] = "^(auto|reference|cpu|cuda(:[0-9]+)?)$|\\$\\{";

static const char whole[] = "^\\s*[0-9]+\\s*$|\\$\\{";

static const Key graph_keys[] = {
    {"description", "string number boolean", NULL, "a text for people", G_MININT},
    {"backend", "string", backend,
     "backend of nodes without one: auto, reference, cpu, cuda, cuda:N", 0},
    {"cpus", "string integer", NULL, "processors of the run: 0-3,8", 0},
    {"numa", "string integer", whole, "the NUMA node of nodes without one", 0},
    {"start", "string number", NULL, "the time with which sources begin: \"2026-11-23T12:00:00Z\"",
     G_MININT},
    {"stop", "string number", NULL, "the time before which sources end", G_MININT},
    {0},
};

static const Key node_keys[] = {
    {"backend", "string", backend, "auto, reference, cpu, cuda, cuda:N", 0},
    {"variant", "string", NULL, "a variant, with values of its tunables: cpu-avx2:rows=4", 0},
    {"numa", "string integer", whole, "the NUMA node on which it runs", 0},
    {"reread", "boolean string", "^(true|false)$|\\$\\{",
     "true: files of parameters are read again when they change", 0},
    {"labels", "object string", "\\$\\{", "of a source: names of the elements of axes", 0},
    {0},
};

static void
add_key(CtJson *json, const Key *key)
{
    ct_json_begin_object(json, key->name);
    ct_json_add_text(json, "description", key->help);
    ct_json_begin_array(json, "type");
    g_auto(GStrv) types = g_strsplit(key->types, " ", -1);
    for (guint i = 0; types[i]; i++)
        ct_json_add_text(json, NULL, types[i]);
    ct_json_end_array(json);
    if (key->pattern)
        ct_json_add_text(json, "pattern", key->pattern);
    if (key->least > G_MININT)
        ct_json_add_integer(json, "minimum", key->least);
    ct_json_add_integer(json, "minItems", 1);
    ct_json_add_integer(json, "minProperties", 1);
    ct_json_end_object(json);
}

static void
add_keys(CtJson *json, const Key *keys)
{
    for (; keys->name; keys++)
        add_key(json, keys);
}

/* An object of the keys that `end_object` ends. */
static void
begin_object(CtJson *json, const char *key)
{
    ct_json_begin_object(json, key);
    ct_json_add_text(json, "type", "object");
    ct_json_begin_object(json, "properties");
}

static void
add_required(CtJson *json, const char *const *names)
{
    ct_json_begin_array(json, "required");
    for (; *names; names++)
        ct_json_add_text(json, NULL, *names);
    ct_json_end_array(json);
}

/* `required`: names of keys; NULL: none. */
static void
end_object(CtJson *json, const char *const *required)
{
    ct_json_end_object(json);
    ct_json_add_boolean(json, "additionalProperties", FALSE);
    if (required)
        add_required(json, required);
    ct_json_end_object(json);
}

/* Adds `key`: the piece `name`, or a list of such. */
static void
add_one_or_list(CtJson *json, const char *key, const char *name)
{
    ct_json_begin_object(json, key);
    ct_json_begin_array(json, "anyOf");
    ct_schema_add_reference(json, NULL, name);
    ct_json_begin_object(json, NULL);
    ct_json_add_text(json, "type", "array");
    ct_json_add_integer(json, "minItems", 1);
    ct_schema_add_reference(json, "items", name);
    ct_json_end_object(json);
    ct_json_end_array(json);
    ct_json_end_object(json);
}

/* Adds `key`: a mapping from names to the piece `name`. */
static void
add_mapping(CtJson *json, const char *key, const char *name)
{
    ct_json_begin_object(json, key);
    ct_json_add_text(json, "type", "object");
    ct_schema_add_reference(json, "additionalProperties", name);
    ct_json_end_object(json);
}

/* Links: the output of a node, a list, or a mapping from ports to these. */
static void
add_links(CtJson *json)
{
    ct_json_begin_object(json, "link");
    ct_json_add_text(json, "type", "string");
    ct_json_end_object(json);
    add_one_or_list(json, "links", "link");
    ct_json_begin_object(json, "from");
    ct_json_begin_array(json, "anyOf");
    ct_schema_add_reference(json, NULL, "links");
    add_mapping(json, NULL, "links");
    ct_json_end_array(json);
    ct_json_end_object(json);
}

static void
add_block(CtJson *json)
{
    static const char *const required[] = {"time", NULL};
    begin_object(json, "block");
    add_key(json,
            &(Key){"time", "number string", NULL, "samples that a source puts in a block", 1});
    end_object(json, required);
}

static void
add_include(CtJson *json)
{
    static const char *const required[] = {"file", NULL};
    ct_json_begin_object(json, "include");
    ct_json_begin_array(json, "anyOf");
    ct_schema_add_reference(json, NULL, "link");
    begin_object(json, NULL);
    ct_schema_add_reference(json, "file", "link");
    ct_schema_add_reference(json, "parameters", "parameters");
    add_key(json, &(Key){"prefix", "string", "^[A-Za-z_][A-Za-z0-9_-]*$",
                         "before the names of its nodes, with a '-'", 0});
    end_object(json, required);
    ct_json_end_array(json);
    ct_json_end_object(json);
}

static void
add_stages(CtJson *json)
{
    static const char *const required[] = {"over", "stages", NULL};
    begin_object(json, "replicate");
    add_key(json, &(Key){"over", "number string array object", NULL,
                         "a number of copies, a list, or a mapping from names", 1});
    add_key(json, &(Key){"as", "string", "^(?!here$)[A-Za-z_][A-Za-z0-9_]*$",
                         "the name of the item in expressions", 0});
    ct_schema_add_reference(json, "stages", "stages");
    end_object(json, required);

    ct_json_begin_object(json, "stages");
    ct_json_add_text(json, "type", "object");
    ct_json_begin_object(json, "properties");
    add_one_or_list(json, "replicate", "replicate");
    ct_json_end_object(json);
    ct_json_begin_object(json, "patternProperties");
    ct_schema_add_reference(json, NODE_NAME, "node");
    ct_json_end_object(json);
    ct_json_add_boolean(json, "additionalProperties", FALSE);
    ct_json_end_object(json);
}

static void
add_table(CtJson *json, const char *key, const CtParam *params)
{
    begin_object(json, key);
    for (; params->name; params++)
        ct_schema_add_param(json, params->name, params);
    end_object(json, NULL);
}

static void
add_pieces(CtJson *json)
{
    ct_schema_add_kinds(json);
    add_links(json);
    add_block(json);
    add_include(json);
    add_stages(json);
    ct_json_begin_object(json, "parameters");
    ct_json_add_text(json, "type", "object");
    ct_json_begin_object(json, "propertyNames");
    ct_json_add_text(json, "pattern", "^(?!here$)[A-Za-z_][A-Za-z0-9_]*$");
    ct_json_end_object(json);
    ct_json_end_object(json);
    add_table(json, "observation", ct_observe_keys());
    add_table(json, "station", ct_observe_station_keys());
    ct_json_begin_object(json, "stations");
    ct_json_begin_array(json, "anyOf");
    ct_schema_add_reference(json, NULL, "link");
    ct_json_begin_object(json, NULL);
    ct_json_add_text(json, "type", "object");
    ct_json_begin_object(json, "additionalProperties");
    ct_json_begin_array(json, "anyOf");
    ct_schema_add_reference(json, NULL, "station");
    ct_json_begin_object(json, NULL);
    ct_json_add_text(json, "type", "null");
    ct_json_end_object(json);
    ct_json_end_array(json);
    ct_json_end_object(json);
    ct_json_end_object(json);
    ct_json_end_array(json);
    ct_json_end_object(json);
}

/* ---- stages ---- */

/* Whether a node of `stage` may have the parameters of `other`: itself, or a format. */
static gboolean
lends(const CtStage *other, const CtStage *stage)
{
    return other == stage || (stage->extensions && !stage->stands_for &&
                              g_strcmp0(other->stands_for, stage->name) == 0);
}

/* The rows of a parameter in a stage and its formats. */
static GPtrArray *
find_rows(const GPtrArray *stages, const CtStage *stage, const char *name)
{
    GPtrArray *rows = g_ptr_array_new();
    for (guint i = 0; i < stages->len; i++) {
        const CtStage *other = stages->pdata[i];
        for (const CtParam *param = ct_stage_params(other); lends(other, stage) && param->name;
             param++)
            if (g_str_equal(param->name, name))
                g_ptr_array_add(rows, (gpointer)param);
    }
    return rows;
}

static void
add_parameter(CtJson *json, const GPtrArray *stages, const CtStage *stage, const char *name)
{
    g_autoptr(GPtrArray) rows = find_rows(stages, stage, name);
    if (rows->len == 1) {
        ct_schema_add_param(json, name, rows->pdata[0]);
        return;
    }
    ct_json_begin_object(json, name);
    ct_json_begin_array(json, "anyOf");
    for (guint i = 0; i < rows->len; i++)
        ct_schema_add_param(json, NULL, rows->pdata[i]);
    ct_json_end_array(json);
    ct_json_end_object(json);
}

/* The parameters that a stage and all its formats want. */
static GPtrArray *
find_required(const GPtrArray *stages, const CtStage *stage)
{
    GPtrArray *required = g_ptr_array_new();
    guint n_formats = 0;
    for (guint i = 0; i < stages->len; i++)
        n_formats += lends(stages->pdata[i], stage);
    g_ptr_array_add(required, (gpointer) "stage");
    for (const CtParam *param = ct_stage_params(stage); param->name; param++) {
        g_autoptr(GPtrArray) rows = find_rows(stages, stage, param->name);
        guint n_wanted = 0;
        for (guint i = 0; i < rows->len; i++)
            n_wanted += (((const CtParam *)rows->pdata[i])->flags & CT_PARAM_REQUIRED) != 0;
        if (n_wanted == n_formats)
            g_ptr_array_add(required, (gpointer)param->name);
    }
    g_ptr_array_add(required, NULL);
    return required;
}

static void
add_stage(CtJson *json, const GPtrArray *stages, const CtStage *stage)
{
    g_autofree char *key = g_strconcat("stage.", stage->name, NULL);
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    begin_object(json, key);
    ct_json_begin_object(json, "stage");
    ct_json_add_text(json, "description", stage->summary);
    ct_json_end_object(json);
    if (stage->inputs && stage->inputs->name)
        ct_schema_add_reference(json, "from", "from");
    ct_schema_add_reference(json, "block", "block");
    add_keys(json, node_keys);
    for (guint i = 0; i < stages->len; i++) {
        const CtStage *other = stages->pdata[i];
        for (const CtParam *param = ct_stage_params(other); lends(other, stage) && param->name;
             param++)
            if (g_hash_table_add(seen, (gpointer)param->name))
                add_parameter(json, stages, stage, param->name);
    }
    g_autoptr(GPtrArray) required = find_required(stages, stage);
    end_object(json, (const char *const *)required->pdata);
}

/* A node: the name of a stage, and the keys that follow from it. */
static void
add_node(CtJson *json, const GPtrArray *stages)
{
    static const char *const required[] = {"stage", NULL};
    ct_json_begin_object(json, "node");
    ct_json_add_text(json, "type", "object");
    add_required(json, required);
    ct_json_begin_object(json, "properties");
    ct_json_begin_object(json, "stage");
    ct_json_begin_array(json, "anyOf");
    ct_json_begin_object(json, NULL);
    ct_json_begin_array(json, "enum");
    for (guint i = 0; i < stages->len; i++)
        ct_json_add_text(json, NULL, ((const CtStage *)stages->pdata[i])->name);
    ct_json_end_array(json);
    ct_json_end_object(json);
    ct_schema_add_reference(json, NULL, "expression");
    ct_json_end_array(json);
    ct_json_end_object(json);
    ct_json_end_object(json);
    ct_json_begin_array(json, "allOf");
    for (guint i = 0; i < stages->len; i++) {
        const char *name = ((const CtStage *)stages->pdata[i])->name;
        g_autofree char *piece = g_strconcat("stage.", name, NULL);
        ct_json_begin_object(json, NULL);
        ct_json_begin_object(json, "if");
        ct_json_begin_object(json, "properties");
        ct_json_begin_object(json, "stage");
        ct_json_add_text(json, "const", name);
        ct_json_end_object(json);
        ct_json_end_object(json);
        add_required(json, required);
        ct_json_end_object(json);
        ct_schema_add_reference(json, "then", piece);
        ct_json_end_object(json);
    }
    ct_json_end_array(json);
    ct_json_end_object(json);
}

char *
ct_inspect_schema(GError **error)
{
    g_autoptr(CtRegistry) registry = ct_registry_new(error);
    if (!registry)
        return NULL;
    const GPtrArray *stages = ct_registry_stages(registry);
    CtJson *json = ct_json_new();
    ct_json_add_text(json, "$schema", "https://json-schema.org/draft/2020-12/schema");
    ct_json_add_text(json, "title", "a graph of Cornerturn");
    ct_json_add_text(json, "type", "object");
    ct_json_begin_object(json, "properties");
    add_keys(json, graph_keys);
    ct_schema_add_reference(json, "block", "block");
    ct_schema_add_reference(json, "parameters", "parameters");
    add_one_or_list(json, "include", "include");
    ct_schema_add_reference(json, "observation", "observation");
    ct_schema_add_reference(json, "stations", "stations");
    ct_schema_add_reference(json, "stages", "stages");
    ct_json_end_object(json);
    ct_json_add_boolean(json, "additionalProperties", FALSE);
    ct_json_begin_array(json, "anyOf");
    for (guint i = 0; i < 2; i++) {
        const char *const required[] = {i ? "include" : "stages", NULL};
        ct_json_begin_object(json, NULL);
        add_required(json, required);
        ct_json_end_object(json);
    }
    ct_json_end_array(json);
    ct_json_begin_object(json, "$defs");
    add_pieces(json);
    for (guint i = 0; i < stages->len; i++)
        add_stage(json, stages, stages->pdata[i]);
    add_node(json, stages);
    ct_json_end_object(json);
    return ct_json_free_to_text(json, TRUE);
}
