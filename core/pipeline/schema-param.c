/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameters in the JSON Schema of graphs. */
#include "model/node-params.h"
#include "model/quantity.h"
#include "schema.h"

#include <string.h>

/* "5", "-1.5e3", "200/1024" */
#define NUMBER   "[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?"
#define FRACTION NUMBER "(\\s*/\\s*" NUMBER ")?"

void
ct_schema_add_reference(CtJson *json, const char *key, const char *name)
{
    g_autofree char *path = g_strdup_printf("#/$defs/%s", name);
    ct_json_begin_object(json, key);
    ct_json_add_text(json, "$ref", path);
    ct_json_end_object(json);
}

static void
begin_type(CtJson *json, const char *type)
{
    ct_json_begin_object(json, NULL);
    ct_json_add_text(json, "type", type);
}

static void
add_type(CtJson *json, const char *type)
{
    begin_type(json, type);
    ct_json_end_object(json);
}

static void
add_pattern(CtJson *json, const char *pattern)
{
    begin_type(json, "string");
    ct_json_add_text(json, "pattern", pattern);
    ct_json_end_object(json);
}

/* A number of `type`, within the range of the parameter. */
static void
add_number(CtJson *json, const CtParam *param, const char *type)
{
    begin_type(json, type);
    if (param->flags & CT_PARAM_RANGED && param->minimum > -G_MAXDOUBLE)
        ct_json_add_real(json, "minimum", param->minimum);
    if (param->flags & CT_PARAM_RANGED && param->maximum < G_MAXDOUBLE)
        ct_json_add_real(json, "maximum", param->maximum);
    ct_json_end_object(json);
}

static void
add_quantity(CtJson *json, const char *unit)
{
    g_autofree char *units = unit ? ct_quantity_units(unit, "|") : NULL;
    g_autofree char *pattern =
        units ? g_strdup_printf("^\\s*" FRACTION "\\s*(%s)?(\\s*/\\s*" NUMBER ")?\\s*$", units)
              : g_strdup("^\\s*" FRACTION "\\s*$");
    add_pattern(json, pattern);
}

/* The choices, also as YAML reads their unquoted texts. */
static void
add_choices(CtJson *json, const CtParam *param)
{
    gboolean has_number = FALSE, has_truth = FALSE;
    ct_json_begin_object(json, NULL);
    ct_json_begin_array(json, "enum");
    for (const char *const *choice = param->choices; *choice; choice++) {
        static const char *const truths[] = {"y", "n", "yes", "no", "on", "off", "true", "false"};
        for (guint i = 0; i < G_N_ELEMENTS(truths); i++)
            has_truth |= g_ascii_strcasecmp(*choice, truths[i]) == 0;
        has_number |= g_ascii_isdigit(**choice);
        ct_json_add_text(json, NULL, *choice);
    }
    ct_json_end_array(json);
    ct_json_end_object(json);
    if (has_number)
        add_type(json, "number");
    if (has_truth)
        add_type(json, "boolean");
}

static void
add_types(CtJson *json)
{
    ct_json_begin_object(json, NULL);
    ct_json_begin_array(json, "enum");
    for (CtType type = CT_TYPE_NONE + 1; type < CT_N_TYPES; type++)
        ct_json_add_text(json, NULL, ct_type_info(type)->name);
    ct_json_end_array(json);
    ct_json_end_object(json);
}

/* The alternatives of one value. */
static void
add_alternatives(CtJson *json, const CtParam *param)
{
    switch (param->kind) {
    case CT_PARAM_INT:
    case CT_PARAM_REAL:
    case CT_PARAM_QUANTITY:
        add_number(json, param, param->kind == CT_PARAM_INT ? "integer" : "number");
        add_quantity(json, param->kind == CT_PARAM_QUANTITY ? param->unit : NULL);
        if (param->flags & CT_PARAM_SAMPLES)
            add_quantity(json, "s");
        break;
    case CT_PARAM_BOOL:
        add_type(json, "boolean");
        break;
    case CT_PARAM_CHOICE:
        add_choices(json, param);
        break;
    case CT_PARAM_TYPE:
        add_types(json);
        break;
    case CT_PARAM_AXIS:
        add_pattern(json, "^[a-z0-9_]+'?$");
        break;
    case CT_PARAM_LAYOUT:
        ct_schema_add_reference(json, NULL, "layout");
        break;
    case CT_PARAM_STRING:
    case CT_PARAM_PATH:
        ct_schema_add_reference(json, NULL, "text");
        break;
    }
    ct_schema_add_reference(json, NULL, "expression");
}

/* One value, as an item of an array or under `key`. */
static void
add_value(CtJson *json, const char *key, const CtParam *param)
{
    ct_json_begin_object(json, key);
    ct_json_begin_array(json, "anyOf");
    add_alternatives(json, param);
    ct_json_end_array(json);
    ct_json_end_object(json);
}

/* A list of values. */
static void
add_list(CtJson *json, const CtParam *param)
{
    begin_type(json, "array");
    ct_json_add_integer(json, "minItems", 1);
    add_value(json, "items", param);
    ct_json_end_object(json);
}

/* Rows of values. */
static void
add_table(CtJson *json, const CtParam *param)
{
    begin_type(json, "array");
    ct_json_add_integer(json, "minItems", 1);
    ct_json_begin_object(json, "items");
    ct_json_begin_array(json, "anyOf");
    add_alternatives(json, param);
    add_list(json, param);
    ct_json_end_array(json);
    ct_json_end_object(json);
    ct_json_end_object(json);
}

void
ct_schema_add_param(CtJson *json, const char *key, const CtParam *param)
{
    g_autofree char *wanted = ct_param_describe(param);
    g_autofree char *text = g_strdup_printf("%s: %s%s%s", param->help ? param->help : param->name,
                                            wanted, param->fallback ? "; default " : "",
                                            param->fallback ? param->fallback : "");
    ct_json_begin_object(json, key);
    ct_json_add_text(json, "description", text);
    ct_json_begin_array(json, "anyOf");
    if (param->flags & CT_PARAM_TABLE) {
        add_table(json, param);
        ct_schema_add_reference(json, NULL, "expression");
    } else {
        add_alternatives(json, param);
        if (param->flags & CT_PARAM_LIST)
            add_list(json, param);
    }
    ct_json_end_array(json);
    ct_json_end_object(json);
}

void
ct_schema_add_kinds(CtJson *json)
{
    ct_json_begin_object(json, "expression");
    ct_json_add_text(json, "type", "string");
    ct_json_add_text(json, "pattern", "\\$\\{");
    ct_json_end_object(json);
    ct_json_begin_object(json, "text");
    ct_json_begin_array(json, "type");
    ct_json_add_text(json, NULL, "string");
    ct_json_add_text(json, NULL, "number");
    ct_json_add_text(json, NULL, "boolean");
    ct_json_end_array(json);
    ct_json_end_object(json);
    /* YAML reads an unquoted `[a b]` as a list, and `{a b}` as a mapping. */
    ct_json_begin_object(json, "layout");
    ct_json_begin_array(json, "type");
    ct_json_add_text(json, NULL, "string");
    ct_json_add_text(json, NULL, "array");
    ct_json_add_text(json, NULL, "object");
    ct_json_end_array(json);
    ct_json_end_object(json);
}
