/* SPDX-License-Identifier: BSD-3-Clause */
/* All formats in which a plan is described. */
#include "describe.h"

#include "capacity.h"
#include "explain.h"

static char *
to_text(const CtPlan *plan, GError **error G_GNUC_UNUSED)
{
    return ct_plan_to_text(plan);
}

static char *
to_dot(const CtPlan *plan, GError **error G_GNUC_UNUSED)
{
    return ct_plan_to_dot(plan);
}

static char *
to_svg(const CtPlan *plan, GError **error G_GNUC_UNUSED)
{
    return ct_plan_to_svg(plan);
}

static char *
to_json(const CtPlan *plan, GError **error G_GNUC_UNUSED)
{
    return ct_plan_to_json(plan);
}

char *
ct_plan_describe(const CtPlan *plan, CtRegistry *registry, const CtPlanOptions *options,
                 const char *format, GError **error)
{
    static const struct {
        const char *name;
        char *(*print)(const CtPlan *plan, GError **error);
    } formats[] = {
        {"text", to_text},
        {"dot", to_dot},
        {"svg", to_svg},
        {"json", to_json},
        {"capacity", ct_capacity_to_text},
        {"capacity-json", ct_capacity_to_json},
    };
    for (guint f = 0; f < G_N_ELEMENTS(formats); f++) {
        if (g_str_equal(format, formats[f].name))
            return formats[f].print(plan, error);
    }
    if (g_str_equal(format, "explain"))
        return ct_explain_to_text(plan, registry, options, error);
    if (g_str_equal(format, "explain-json"))
        return ct_explain_to_json(plan, registry, options, error);
    g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER,
                "a plan is described as text, dot, svg, json, explain, explain-json, capacity "
                "or capacity-json, not as '%s'",
                format);
    return NULL;
}
