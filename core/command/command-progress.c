/* SPDX-License-Identifier: BSD-3-Clause */
/* The line on a terminal that shows how far a run is. */
#include "command-graph.h"

#include <cornerturn/text.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { BAR = 20, NARROW = 80 };

/* "[########------------] 40%" */
static void
append_bar(GString *line, gdouble share)
{
    const gint done = (gint)(CLAMP(share, 0, 1) * BAR);
    g_string_append_c(line, '[');
    for (gint i = 0; i < BAR; i++)
        g_string_append_c(line, i < done ? '#' : '-');
    g_string_append_printf(line, "] %.0f%%, ", 100 * share);
}

static gint
terminal_width(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : NARROW;
}

/* At most `width` - 1 characters, allocated. */
static char *
describe(CtPipeline *pipeline, gdouble wall, gint width)
{
    const gdouble length = ct_pipeline_length_seconds(pipeline);
    const gdouble stream = ct_pipeline_stream_seconds(pipeline);
    g_autofree char *queue = ct_pipeline_queue_text(pipeline);
    g_autofree char *loss = ct_pipeline_loss_text(pipeline);
    g_autoptr(GString) line = g_string_new(NULL);
    if (length > 0)
        append_bar(line, stream / length);
    if (length > 0 && stream > 0) {
        g_autofree char *left = ct_format_seconds(MAX(length / stream - 1, 0) * wall);
        g_string_append_printf(line, "%s left, ", left);
    }
    g_string_append_printf(line, "%.3f s of stream, %.3g × real time", stream,
                           wall > 0 ? stream / wall : 0);
    if (*loss)
        g_string_append_printf(line, ", lost %s", loss);
    if (*queue)
        g_string_append_printf(line, ", queues %s", queue);
    /* A longer line would not be overwritten. */
    return g_utf8_strlen(line->str, -1) < width ? g_strdup(line->str)
                                                : g_utf8_substring(line->str, 0, width - 1);
}

void
ct_graph_show_progress(CtPipeline *pipeline, gint64 started)
{
    const gdouble wall = (gdouble)(g_get_monotonic_time() - started) / G_USEC_PER_SEC;
    g_autofree char *line = describe(pipeline, wall, terminal_width());
    g_printerr("\r\033[K%s", line);
}
