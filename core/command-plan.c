/* SPDX-License-Identifier: BSD-3-Clause */
/* `cornerturn plan`: the variants and layouts that a graph would run with. */
#include "command-graph.h"

static gboolean
run(int argc, char **argv, GError **error)
{
    g_auto(CtSession) session = {0};
    gboolean dot = FALSE, json = FALSE;
    const GOptionEntry entries[] = {
        {"dot", 0, 0, G_OPTION_ARG_NONE, &dot, "Print a drawing for Graphviz", NULL},
        {"json", 0, 0, G_OPTION_ARG_NONE, &json, "Print for programs", NULL},
        G_OPTION_ENTRY_NULL,
    };
    if (!ct_session_parse(&session, &ct_command_plan, entries, &argc, &argv, error))
        return FALSE;
    if (dot && json) {
        g_set_error_literal(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                            "wants --dot or --json, but is given both");
        return FALSE;
    }
    if (!ct_session_plan(&session, argv[1], error))
        return FALSE;
    g_autofree char *text = dot    ? ct_plan_to_dot(session.plan)
                            : json ? ct_plan_to_json(session.plan)
                                   : ct_plan_to_text(session.plan);
    g_print("%s", text);
    return TRUE;
}

const CtCommand ct_command_plan = {
    .name = "plan",
    .arguments = "FILE",
    .summary = "Show how a graph would run: variants, layouts, inserted nodes, memory",
    .run = run,
};
