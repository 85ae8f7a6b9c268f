/* SPDX-License-Identifier: BSD-3-Clause */
/* What a check has found, as JSON. */
#include "pipeline-private.h"

#include <cornerturn/json.h>

/* An error "FILE:LINE:COLUMN: …"; the place is left out if the message has none. */
static void
add_error(CtJson *json, const char *line)
{
    g_autoptr(GRegex) form =
        g_regex_new("^(.*?):(\\d+):(\\d+): (.*)$", G_REGEX_DOTALL, G_REGEX_MATCH_DEFAULT, NULL);
    g_autoptr(GMatchInfo) match = NULL;
    const gboolean has_place = g_regex_match(form, line, G_REGEX_MATCH_DEFAULT, &match);
    ct_json_begin_object(json, NULL);
    if (has_place) {
        g_autofree char *file = g_match_info_fetch(match, 1), *at = g_match_info_fetch(match, 2),
                        *column = g_match_info_fetch(match, 3);
        ct_json_add_text(json, "file", file);
        ct_json_add_unsigned(json, "line", g_ascii_strtoull(at, NULL, 10));
        ct_json_add_unsigned(json, "column", g_ascii_strtoull(column, NULL, 10));
    }
    g_autofree char *message = has_place ? g_match_info_fetch(match, 4) : g_strdup(line);
    ct_json_add_text(json, "message", message);
    ct_json_end_object(json);
}

/* The errors of a message; a line that begins with a space belongs to the one before it. */
static void
add_errors(CtJson *json, const GError *error)
{
    g_auto(GStrv) lines = g_strsplit(error ? error->message : "", "\n", -1);
    g_autoptr(GString) one = g_string_new(NULL);
    ct_json_begin_array(json, "errors");
    for (guint i = 0; error && lines[i]; i++) {
        g_string_append_printf(one, "%s%s", one->len ? "\n" : "", lines[i]);
        if (lines[i + 1] && g_ascii_isspace(*lines[i + 1]))
            continue;
        add_error(json, one->str);
        g_string_truncate(one, 0);
    }
    ct_json_end_array(json);
}

char *
ct_pipeline_check_json(const CtPipeline *pipeline, const GError *error)
{
    CtJson *json = ct_json_new();
    if (pipeline && pipeline->config->description)
        ct_json_add_text(json, "description", pipeline->config->description);
    add_errors(json, error);
    g_autoptr(GPtrArray) warnings =
        pipeline ? ct_pipeline_collect_warnings(pipeline) : ct_warnings_new();
    ct_warnings_add_json(json, "warnings", warnings);
    ct_pipeline_add_nodes_json(json, pipeline ? pipeline->graph : NULL);
    return ct_json_free_to_text(json, TRUE);
}
