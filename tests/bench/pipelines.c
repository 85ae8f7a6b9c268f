/* SPDX-License-Identifier: BSD-3-Clause */
/* The graphs of pipelines/, with sources that cost nothing and sinks that drop their samples. */
#include "bench.h"

#include <string.h>

static const struct {
    const char *name;
    const char *source; /* the node that is replaced */
    const char *with;
} pipelines[] = {
    {"spectrometer", "sky", "type: ci8, axes: [pol], lengths: [2], sample_rate: 20 MHz"},
    {"fx-correlator", "sky",
     "type: ci8, axes: [station, pol], lengths: [16, 2], sample_rate: 20 MHz"},
    {"beamformer", "sky", "type: ci8, axes: [station, pol], lengths: [16, 2], sample_rate: 20 MHz"},
    {"lofar-station", "station",
     "type: ci16, axes: [subband, station, pol], lengths: [366, 1, 2], sample_rate: 195312.5 Hz"},
    {"lofar-imaging", "sky",
     "type: ci8, axes: [station, pol], lengths: [64, 2], sample_rate: 195312.5 Hz"},
    {"lofar-1", "sky",
     "type: ci8, axes: [station, pol], lengths: [64, 2], sample_rate: 195312.5 Hz"},
    {"lofar-2", "sky",
     "type: ci8, axes: [station, pol], lengths: [64, 2], sample_rate: 195312.5 Hz"},
};

/* Replaces the entry of node `node`, which ends where the next entry begins. */
static char *
replace_entry(const char *text, const char *node, const char *entry)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_autofree char *head = g_strdup_printf("  %s:", node);
    GString *result = g_string_new(NULL);
    gboolean inside = FALSE;
    for (guint i = 0; lines[i]; i++) {
        if (g_str_has_prefix(lines[i], head)) {
            inside = TRUE;
            g_string_append_printf(result, "%s { %s }\n", head, entry);
        } else if (!inside || (g_str_has_prefix(lines[i], "  ") && lines[i][2] != ' ')) {
            inside = FALSE;
            g_string_append_printf(result, "%s\n", lines[i]);
        }
    }
    return g_string_free(result, FALSE);
}

/* Makes all sinks drop their samples: without a path, but in the layout that they want. */
static char *
replace_sinks(const char *text)
{
    g_autoptr(GRegex) paths = g_regex_new(", path: [^,}]*", 0, 0, NULL);
    g_autoptr(GRegex) sinks = g_regex_new("stage: (file\\.sink|discard)", 0, 0, NULL);
    g_autofree char *without = g_regex_replace_literal(paths, text, -1, 0, " ", 0, NULL);
    return g_regex_replace_literal(sinks, without, -1, 0, "stage: bench.sink", 0, NULL);
}

void
pipelines_add(GPtrArray *contenders)
{
    const char *root = g_getenv("CORNERTURN_SOURCE_ROOT");
    for (guint i = 0; i < G_N_ELEMENTS(pipelines); i++) {
        g_autofree char *path =
            g_strdup_printf("%s/pipelines/%s.yaml", root ? root : ".", pipelines[i].name);
        g_autofree char *shipped = NULL;
        if (!g_file_get_contents(path, &shipped, NULL, NULL))
            g_error("%s cannot be read; CORNERTURN_SOURCE_ROOT is where the sources are", path);
        g_autofree char *entry = g_strdup_printf("stage: bench.source, %s", pipelines[i].with);
        g_autofree char *fed = replace_entry(shipped, pipelines[i].source, entry);
        g_autofree char *text = replace_sinks(fed);
        for (guint n_workers = 1; n_workers <= 2; n_workers++)
            g_ptr_array_add(contenders,
                            graph_contender_new("pipeline", pipelines[i].name, n_workers, text,
                                                pipelines[i].source, pipelines[i].source, NULL));
    }
}
