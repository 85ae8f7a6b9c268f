/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks that the tables of a stage are consistent. */
#include "model/node-params.h"
#include "model/row.h"
#include "plugin-check-private.h"

#include <string.h>

/* ---- ports ---- */

static gboolean
check_port_flags(const CtCheck *check, const char *field, const CtPort *ports, guint n, guint i,
                 gboolean is_input, GError **error)
{
    const guint known = CT_PORT_OPTIONAL | CT_PORT_STATIC | CT_PORT_SHAPE | CT_PORT_MANY |
                        CT_PORT_UNREAD | CT_PORT_PREPARED;
    const guint of_outputs = CT_PORT_OPTIONAL | CT_PORT_MARKED;
    const guint flags = ports[i].flags;
    if (flags & ~(is_input ? known : of_outputs))
        return ct_check_refuse_row(check, error, field, "wants flags of an %s, but is given 0x%x",
                                   is_input ? "input" : "output", flags);
    if (flags & CT_PORT_MANY && (n > 1 || flags & (CT_PORT_STATIC | CT_PORT_SHAPE)))
        return ct_check_refuse(
            check, error, field,
            "CT_PORT_MANY is for a stage's one input, through which data stream");
    if (flags & CT_PORT_PREPARED && !(flags & CT_PORT_STATIC && i > 0))
        return ct_check_refuse(check, error, field,
                               "CT_PORT_PREPARED is for static inputs that are not the first");
    if (is_input && i > 0 && ports[i - 1].flags & CT_PORT_PREPARED && !(flags & CT_PORT_PREPARED))
        return ct_check_refuse(check, error, field,
                               "wants its place before the inputs with CT_PORT_PREPARED");
    return TRUE;
}

static gboolean
check_ports(const CtCheck *check, const char *side, const CtPort **table, guint *n, GError **error)
{
    const gboolean is_input = g_str_equal(side, "inputs");
    *n = 0;
    if (!*table)
        return TRUE;
    const CtPort *ports = *table = COPY_ROWS(check, side, *table, port, n, error);
    if (!ports)
        return FALSE;
    if (*n > CT_MAX_ROW_PORTS)
        return ct_check_refuse(check, error, side, "wants %d ports at most, but has %u",
                               CT_MAX_ROW_PORTS, *n);
    for (guint i = 0; i < *n; i++) {
        g_autofree char *field = g_strdup_printf("%s '%s'", side, ports[i].name);
        g_autoptr(GError) cause = NULL;
        CtLayout layout;
        ct_check_begin_row(check, ports, sizeof *ports, i);
        if (!ct_check_name(check, field, ports[i].name, "-", error) ||
            !ct_check_unique(check, side, ports, sizeof *ports, i, error) ||
            !ct_check_remark(check, field, ports[i].layout, error) ||
            !ct_check_remark(check, field, ports[i].help, error) ||
            !check_port_flags(check, field, ports, *n, i, is_input, error))
            return FALSE;
        if (ports[i].layout && *ports[i].layout &&
            !ct_layout_parse(&layout, ports[i].layout, &cause))
            return ct_check_refuse_row(check, error, field, "layout: %s", cause->message);
    }
    ct_check_end_rows(check);
    return TRUE;
}

/* ---- parameters ---- */

static gboolean
check_range(const CtCheck *check, const char *field, const CtParam *param, GError **error)
{
    const gboolean is_number = param->kind == CT_PARAM_INT || param->kind == CT_PARAM_REAL ||
                               param->kind == CT_PARAM_QUANTITY;
    if (!(param->flags & CT_PARAM_RANGED))
        return TRUE;
    if (!is_number)
        return ct_check_refuse(check, error, field, "CT_PARAM_RANGED is for numbers");
    return param->minimum <= param->maximum ||
           ct_check_refuse(check, error, field,
                           "wants a minimum up to the maximum, but is given %g and %g",
                           param->minimum, param->maximum);
}

static gboolean
check_choices(const CtCheck *check, const char *field, const CtParam *param, GError **error)
{
    guint n;
    if (param->kind != CT_PARAM_CHOICE)
        return TRUE;
    if (!param->choices)
        return ct_check_refuse(check, error, field, "wants choices, but is given none");
    g_autofree char *choices = g_strconcat(field, ", choices", NULL);
    if (!COUNT_ROWS(check, choices, param->choices, &n, error))
        return FALSE;
    for (guint i = 0; i < n; i++)
        if (!ct_check_unique(check, choices, param->choices, sizeof *param->choices, i, error))
            return FALSE;
    return n > 0 || ct_check_refuse(check, error, field, "wants choices, but is given none");
}

static gboolean
check_files(const CtCheck *check, const char *field, const CtParam *param, GError **error)
{
    guint n;
    if (param->kind != CT_PARAM_PATH &&
        (param->flags & (CT_PARAM_WRITTEN | CT_PARAM_PIPE) || param->endings))
        return ct_check_refuse(check, error, field,
                               "CT_PARAM_WRITTEN, CT_PARAM_PIPE and endings are for paths");
    if (!param->endings)
        return TRUE;
    g_autofree char *endings = g_strconcat(field, ", endings", NULL);
    return COUNT_ROWS(check, endings, param->endings, &n, error);
}

static gboolean
check_param(const CtCheck *check, const CtParam *param, GError **error)
{
    static const char *const of_graphs[] = {"stage", "from", "backend", "variant",
                                            "block", "numa", "reread",  NULL};
    const guint known = CT_PARAM_REQUIRED | CT_PARAM_LIST | CT_PARAM_TABLE | CT_PARAM_RANGED |
                        CT_PARAM_WRITTEN | CT_PARAM_LIVE | CT_PARAM_PIPE | CT_PARAM_SAMPLES;
    g_autofree char *field = g_strdup_printf("params '%s'", param->name);
    if (!ct_check_name(check, field, param->name, "", error) ||
        !ct_check_remark(check, field, param->help, error) ||
        !ct_check_remark(check, field, param->fallback, error) ||
        !ct_check_remark(check, field, param->unit, error))
        return FALSE;
    if (g_strv_contains(of_graphs, param->name))
        return ct_check_refuse(check, error, field, "is a key that graphs give every node");
    if ((guint)param->kind > CT_PARAM_AXIS)
        return ct_check_refuse_row(
            check, error, field, "wants a kind of CtParamKind, but is given %d", (int)param->kind);
    if (param->flags & CT_PARAM_SAMPLES &&
        (param->kind != CT_PARAM_INT || param->flags & (CT_PARAM_LIST | CT_PARAM_TABLE)))
        return ct_check_refuse(check, error, field, "CT_PARAM_SAMPLES is for single integers");
    if (param->flags & ~known || (param->flags & CT_PARAM_LIST && param->flags & CT_PARAM_TABLE))
        return ct_check_refuse_row(check, error, field,
                                   "wants flags of CtParamFlags, but is given 0x%x",
                                   (guint)param->flags);
    if (param->fallback && param->flags & CT_PARAM_REQUIRED)
        return ct_check_refuse(check, error, field, "is required, but has a fallback");
    if (!check_range(check, field, param, error) || !check_choices(check, field, param, error) ||
        !check_files(check, field, param, error))
        return FALSE;
    g_autoptr(GError) cause = NULL;
    if (ct_param_check_fallback(param, &cause))
        return TRUE;
    if (!g_error_matches(cause, CT_ERROR, CT_ERROR_MEMORY))
        return ct_check_refuse(check, error, field, "fallback: %s", cause->message);
    g_propagate_error(error, g_steal_pointer(&cause));
    return FALSE;
}

static gboolean
check_params(const CtCheck *check, const CtParam **table, GError **error)
{
    guint n;
    if (!*table)
        return TRUE;
    const CtParam *params = *table = COPY_ROWS(check, "params", *table, param, &n, error);
    if (!params)
        return FALSE;
    for (guint i = 0; i < n; i++) {
        ct_check_begin_row(check, params, sizeof *params, i);
        if (!check_param(check, &params[i], error) ||
            !ct_check_unique(check, "params", params, sizeof *params, i, error))
            return FALSE;
    }
    ct_check_end_rows(check);
    return TRUE;
}

/* ---- stages ---- */

static gboolean
check_counters(const CtCheck *check, const char *const *counters, GError **error)
{
    guint n;
    if (!counters)
        return TRUE;
    if (!COUNT_ROWS(check, "counters", counters, &n, error))
        return FALSE;
    return n <= CT_MAX_COUNTERS ||
           ct_check_refuse(check, error, "counters", "wants %d at most, but has %u",
                           CT_MAX_COUNTERS, n);
}

static gboolean
check_operations(const CtCheck *check, const CtStage *stage, GError **error)
{
    if (!(stage->operations_per_part >= 0 && stage->operations_per_part <= G_MAXINT32))
        return ct_check_refuse(check, error, "operations_per_part",
                               "wants 0 or more, but is given %g", stage->operations_per_part);
    return !stage->operations || stage->operations_per_part == 0 ||
           ct_check_refuse(check, error, "operations_per_part",
                           "stands in place of .operations, but both are given");
}

static gboolean
check_default_layouts(const CtCheck *check, const CtStage *stage, GError **error)
{
    CtRowPatterns patterns;
    g_autoptr(GError) cause = NULL;
    if (!ct_check_remark(check, "default_layouts", stage->default_layouts, error))
        return FALSE;
    return !stage->default_layouts ||
           (ct_row_parse(&patterns, stage->default_layouts, &cause) &&
            ct_row_check(&patterns, stage->inputs, stage->outputs, &cause)) ||
           ct_check_refuse(check, error, "default_layouts", "%s", cause->message);
}

static gboolean
check_extensions(const CtCheck *check, const CtStage *stage, GError **error)
{
    guint n;
    const CtParam *path = stage->params;
    if (!ct_check_remark(check, "missing", stage->missing, error) ||
        (stage->stands_for && !ct_check_name(check, "stands_for", stage->stands_for, ".-", error)))
        return FALSE;
    if (!stage->extensions)
        return !stage->stands_for ||
               ct_check_refuse(check, error, "extensions", "wants one at least, but has none");
    if (!COUNT_ROWS(check, "extensions", stage->extensions, &n, error))
        return FALSE;
    for (guint i = 0; i < n; i++)
        if (stage->extensions[i][0] != '.')
            return ct_check_refuse(check, error, "extensions",
                                   "wants names that begin with '.', but has '%s'",
                                   stage->extensions[i]);
    while (path && path->name && !g_str_equal(path->name, "path"))
        path++;
    return (path && path->name && path->kind == CT_PARAM_PATH) || stage->missing ||
           ct_check_refuse(check, error, "extensions",
                           "wants a parameter 'path' of CT_PARAM_PATH, but there is none");
}

static gboolean
check_stage(const CtCheck *check, CtStage *stage, const CtStage *given, GError **error)
{
    guint n_inputs, n_outputs;
    if (!ct_check_name(check, "name", stage->name, ".-", error) ||
        !ct_check_known(check, "CtStage", given, check->sizes.stage, sizeof *given, error))
        return FALSE;
    if (!stage->summary || !ct_check_is_text(check, stage->summary))
        return ct_check_refuse(check, error, "summary", "wants a text, but is given none");
    if (!stage->infer && !stage->missing)
        return ct_check_refuse(check, error, "infer", "wants a function, but is given none");
    if (!check_ports(check, "inputs", &stage->inputs, &n_inputs, error) ||
        !check_ports(check, "outputs", &stage->outputs, &n_outputs, error))
        return FALSE;
    if (n_inputs + n_outputs == 0)
        return ct_check_refuse(check, error, "inputs",
                               "wants a port on one side at least, but has none");
    return check_params(check, &stage->params, error) &&
           check_counters(check, stage->counters, error) && check_operations(check, stage, error) &&
           ct_check_remark(check, "accuracy_rule", stage->accuracy_rule, error) &&
           check_default_layouts(check, stage, error) && check_extensions(check, stage, error);
}

const CtStage *
ct_check_stage(CtCheck *check, const CtStage *given, guint i, GError **error)
{
    CtStage *stage =
        ct_check_read(check, "stage", i, given, check->sizes.stage, sizeof *given, error);
    return stage && check_stage(check, stage, given, error) ? stage : NULL;
}
