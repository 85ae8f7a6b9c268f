/* SPDX-License-Identifier: BSD-3-Clause */
/* Delays from parameters (a list, a file, or the geometry of a direction) or from the port. */
#include "../geometry.h"
#include "delay.h"

#include <string.h>

static gboolean
table_from_list(DelayTable *table, const CtParams *params, gint64 n_pols, GError **error)
{
    gint64 n = ct_params_count(params, "constant");
    if (n != table->n_stations && n != table->n_stations * n_pols)
        return ct_params_error(
            params, "constant", error,
            "wants a delay for each of %" G_GINT64_FORMAT
            " stations, or for each station and pol, but is given %" G_GINT64_FORMAT,
            table->n_stations, n);
    table->n_pols = n == table->n_stations ? 1 : n_pols;
    table->seconds = CT_TABLE(gdouble, n, "delays", error);
    for (gint64 i = 0; table->seconds && i < n; i++)
        table->seconds[i] = ct_params_real_at(params, "constant", i);
    return table->seconds != NULL;
}

static gboolean
table_from_file(DelayTable *table, const CtParams *params, const CtStream *stream, gint64 n_pols,
                GError **error)
{
    g_autoptr(CtNpyArray) array =
        ct_npy_load(ct_params_string(params, "delays"), 'f', sizeof(gdouble), error);
    if (!array)
        return FALSE;
    gboolean fits = array->n_axes >= 2 && array->n_axes <= 3 && array->shape[0] > 0 &&
                    (gint64)array->shape[1] == table->n_stations &&
                    (array->n_axes == 2 || (gint64)array->shape[2] == n_pols);
    if (!fits) {
        g_autofree char *shape = ct_npy_shape_string(array);
        return ct_params_error(
            params, "delays", error,
            "wants an array [time station] or [time station pol] of %" G_GINT64_FORMAT
            " stations and %" G_GINT64_FORMAT " pols, but is given %s",
            table->n_stations, n_pols, shape);
    }
    table->n_rows = array->shape[0];
    table->n_pols = array->n_axes == 2 ? 1 : n_pols;
    table->seconds = g_steal_pointer(&array->data);
    if (table->n_rows == 1)
        return TRUE;
    if (!ct_params_has(params, "step"))
        return ct_params_error(params, "step", error,
                               "wants the seconds from row to row of the %" G_GINT64_FORMAT
                               " rows of delays, but is not given",
                               table->n_rows);
    gdouble step = ct_params_real(params, "step");
    table->ticks_per_row = step * stream->rate_num / stream->rate_den;
    gint64 length = stream->axes[ct_stream_axis(stream, "time")].length;
    gdouble last = (gdouble)(length - 1) * stream->ticks_per_sample;
    if (length > 0 && last > (table->n_rows - 1) * table->ticks_per_row * (1 + 1e-9))
        return ct_params_error(params, "delays", error,
                               "wants rows up to the stream's end at %g s, but the last of its "
                               "%" G_GINT64_FORMAT " rows is at %g s",
                               last * stream->rate_den / stream->rate_num, table->n_rows,
                               (table->n_rows - 1) * step);
    return TRUE;
}

static gboolean
table_from_direction(DelayTable *table, const CtNode *node, GError **error)
{
    const CtParams *params = node->params;
    gdouble direction[3] = {0};
    if (ct_params_count(params, "direction") != 1)
        return ct_params_error(params, "direction", error,
                               "wants one row, as [[0.1, 0.2]], but is given %u",
                               ct_params_count(params, "direction"));
    if (!geometry_direction(params, "direction", 0, direction, error))
        return FALSE;
    gint64 n_stations = table->n_stations;
    g_autofree gdouble *positions = geometry_positions(node, &n_stations, error);
    if (!positions)
        return FALSE;
    table->seconds = CT_TABLE(gdouble, n_stations, "delays", error);
    for (gint64 s = 0; table->seconds && s < n_stations; s++)
        table->seconds[s] = geometry_lead(positions + 3 * s, direction);
    return table->seconds != NULL;
}

/* ---- the port ---- */

/* Whether the port has no axes but station and pol, as the stream has them, and time. */
static gboolean
check_axes(const CtNode *node, GError **error)
{
    const char *axes[CT_MAX_AXES];
    const guint n = ct_array_axes(node, DELAY_PORT, axes);
    if (!ct_array_check_axes(node, DELAY_PORT, DELAY_IN, error))
        return FALSE;
    for (guint a = 0; a < n; a++)
        if (strcmp(axes[a], "station") != 0 && strcmp(axes[a], "pol") != 0) {
            g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                        "input 'delays' wants axes station, pol and time, but is given %s",
                        axes[a]);
            return FALSE;
        }
    return TRUE;
}

/* Whether ticks of the port are known as ticks of the stream. */
static gboolean
check_ends(const CtNode *node, GError **error)
{
    const CtStream *port = &node->inputs[DELAY_PORT], *stream = &node->inputs[DELAY_IN];
    const char *wanted = ct_stream_length(port, "end") != 2 ? "an axis end of length 2"
                         : ct_stream_axis(port, "time") < 0 ? "the axis time beside the axis end"
                         : port->rate_num == 0 || port->epoch == CT_NO_EPOCH ||
                                 stream->rate_num == 0 || stream->epoch == CT_NO_EPOCH
                             ? "streams that know their UTC, because it has the axis end"
                             : NULL;
    if (!wanted)
        return TRUE;
    g_autofree char *given = ct_stream_describe(port);
    g_set_error(error, CT_ERROR, CT_ERROR_SHAPE, "input 'delays' wants %s, but is given %s", wanted,
                given);
    return FALSE;
}

/* The axis end is the port's own; others are those of the stream. */
static gboolean
check_port(const DelayTable *table, const CtNode *node, GError **error)
{
    if (!table->has_ends)
        return check_axes(node, error);
    CtStream inputs[2] = {node->inputs[DELAY_IN], {0}};
    CtNode rest = *node;
    ct_stream_copy(&inputs[DELAY_PORT], &node->inputs[DELAY_PORT]);
    ct_stream_remove_axis(&inputs[DELAY_PORT], "end");
    rest.inputs = inputs;
    const gboolean good = check_ends(node, error) && check_axes(&rest, error);
    ct_stream_clear(&inputs[DELAY_PORT]);
    return good;
}

/* Where the sample of the port at `tick` is on the clock of the stream. */
static void
place_rows(DelayTable *table, const CtNode *node, gint64 tick)
{
    const CtStream *port = &node->inputs[DELAY_PORT], *stream = &node->inputs[DELAY_IN];
    const gdouble rate = (gdouble)stream->rate_num / (gdouble)stream->rate_den;
    gint64 second, rest, start_second, start_rest;
    table->ticks_per_row = rate / ct_stream_sample_rate(port);
    if (!ct_stream_second(port, tick, &second, &rest) ||
        !ct_stream_tick_at(stream, &(CtUtc){second, rest, port->rate_num}, &table->start) ||
        !ct_stream_second(stream, table->start, &start_second, &start_rest))
        return;
    table->early =
        ((gdouble)(start_second - second) + ((gdouble)start_rest / (gdouble)stream->rate_num -
                                             (gdouble)rest / (gdouble)port->rate_num)) *
        rate;
}

static gboolean
check_values(const DelayTable *table, const CtNode *node, GError **error)
{
    const gdouble rate = table->samples_per_second;
    const gdouble most = rate > 0 ? rint(ct_params_real(node->params, "range") * rate) : INFINITY;
    const gint64 n_series = table->n_stations * table->n_pols;
    for (gint64 i = 0; i < delay_table_length(table); i++)
        if (!(isfinite(table->seconds[i]) && rint(fabs(table->seconds[i]) * rate) <= most)) {
            g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                        "input 'delays' wants finite delays%s, but is given %g s",
                        rate > 0 ? " within 'range'" : "", table->seconds[i]);
            return FALSE;
        }
    const gdouble lasts = 1 / ct_stream_sample_rate(&node->inputs[DELAY_PORT]);
    for (gint64 i = 0; table->has_ends && i < n_series; i++) {
        const gdouble slope = (table->seconds[n_series + i] - table->seconds[i]) / lasts;
        if (fabs(slope) > DELAY_STEEPEST) {
            g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                        "input 'delays' wants delays that change by at most %g s in a second, but "
                        "is given %g s",
                        DELAY_STEEPEST, slope);
            return FALSE;
        }
    }
    return TRUE;
}

static gboolean
table_from_port(DelayTable *table, const CtNode *node, GError **error)
{
    const CtStream *port = &node->inputs[DELAY_PORT];
    const char *const axes[] = {"end", "station", "pol"};
    const char *given[CT_MAX_AXES];
    guint n_axes = 0;
    table->has_ends = ct_stream_axis(port, "end") >= 0;
    if (!check_port(table, node, error))
        return FALSE;
    if (table->samples_per_second > 0 && !ct_params_has(node->params, "range"))
        return ct_params_error(node->params, "range", error,
                               "wants the largest delay of the port 'delays', but is not given");
    table->n_rows = ct_stream_length(port, "end");
    table->n_stations = ct_stream_length(port, "station");
    table->n_pols = ct_stream_length(port, "pol");
    if (table->has_ends)
        place_rows(table, node, node->blocks ? node->blocks[DELAY_PORT].start : port->start);
    if (!node->blocks) {
        table->seconds = CT_TABLE(gdouble, delay_table_length(table), "delays", error);
        return table->seconds != NULL;
    }
    for (guint a = 0; a < G_N_ELEMENTS(axes); a++)
        if (ct_stream_axis(port, axes[a]) >= 0)
            given[n_axes++] = axes[a];
    g_autoptr(CtNpyArray) array =
        ct_array_read(node, DELAY_PORT, given, n_axes, 'f', sizeof(gdouble), error);
    if (!array)
        return FALSE;
    table->seconds = g_steal_pointer(&array->data);
    return check_values(table, node, error);
}

/* ---- all ways ---- */

DelayTable *
delay_table_new(const CtNode *node, GError **error)
{
    const CtParams *params = node->params;
    const CtStream *stream = &node->inputs[DELAY_IN];
    const gboolean has_port = ct_array_is_given(node, DELAY_PORT);
    static const char *const ways[] = {"delays", "constant", "direction"};
    const char *given = NULL;
    for (guint i = 0; i < G_N_ELEMENTS(ways); i++) {
        if (!ct_array_check_alone(node, DELAY_PORT, ways[i], error))
            return NULL;
        if (!ct_params_has(params, ways[i]))
            continue;
        if (given) {
            ct_params_error(params, ways[i], error,
                            "wants to be the only one of delays, constant and direction, but '%s' "
                            "is given too",
                            given);
            return NULL;
        }
        given = ways[i];
    }
    if (!given && !has_port) {
        ct_params_error(params, "delays", error,
                        "wants delays (a file), constant (a list), direction or the port 'delays', "
                        "but is given none");
        return NULL;
    }

    g_autoptr(DelayTable) table = g_new0(DelayTable, 1);
    gint64 n_pols = ct_stream_length(stream, "pol");
    table->n_stations = ct_stream_length(stream, "station");
    table->n_pols = 1;
    table->n_rows = 1;
    table->start = stream->start;
    table->ticks_per_sample = stream->ticks_per_sample;
    table->samples_per_second =
        ct_stream_axis(stream, "channel") < 0 ? ct_stream_sample_rate(stream) : 0;
    gboolean ok = has_port           ? table_from_port(table, node, error)
                  : given == ways[0] ? table_from_file(table, params, stream, n_pols, error)
                  : given == ways[1] ? table_from_list(table, params, n_pols, error)
                                     : table_from_direction(table, node, error);
    if (!ok)
        return NULL;
    for (gint64 i = 0; i < delay_table_length(table); i++)
        if (!isfinite(table->seconds[i])) {
            ct_params_error(params, given, error, "wants finite delays, but is given %g",
                            table->seconds[i]);
            return NULL;
        }
    return g_steal_pointer(&table);
}

void
delay_table_free(DelayTable *table)
{
    if (table)
        g_free(table->seconds);
    g_free(table);
}

/* ---- functions of time ---- */

/* A tick in rows from the first. */
static gdouble
rows_to(const DelayTable *table, gint64 tick)
{
    return ((gdouble)(tick - table->start) + table->early) / table->ticks_per_row;
}

/* The first tick that is not before a row. */
static gint64
tick_of_row(const DelayTable *table, gdouble row)
{
    return table->start + (gint64)ceil(row * table->ticks_per_row - table->early);
}

/* The row in which `tick` lies; at most the last but one. */
static gint64
row_at(const DelayTable *table, gint64 tick)
{
    gdouble row = floor(rows_to(table, tick));
    return row < 0 ? 0 : row > table->n_rows - 2 ? table->n_rows - 2 : (gint64)row;
}

gdouble
delay_table_at(const DelayTable *table, gint64 series, gint64 tick, gdouble *per_tick)
{
    const gint64 n_series = table->n_stations * table->n_pols;
    if (per_tick)
        *per_tick = 0;
    if (table->n_rows == 1)
        return table->seconds[series];
    gint64 row = row_at(table, tick);
    gdouble a = table->seconds[row * n_series + series],
            b = table->seconds[(row + 1) * n_series + series];
    gdouble part = rows_to(table, tick) - row;
    if (part < 0)
        return a;
    if (part >= 1)
        return b;
    if (per_tick)
        *per_tick = (b - a) / table->ticks_per_row;
    return a + part * (b - a);
}

gint64
delay_table_whole(const DelayTable *table, gint64 series, gint64 tick)
{
    return (gint64)rint(delay_table_at(table, series, tick, NULL) * table->samples_per_second);
}

/* The first tick after `tick` at which the slope may change. */
static gint64
next_slope(const DelayTable *table, gint64 tick)
{
    if (table->n_rows == 1 || tick < table->start)
        return table->n_rows == 1 ? G_MAXINT64 : table->start;
    gdouble row = floor(rows_to(table, tick));
    if (row >= table->n_rows - 1)
        return G_MAXINT64;
    gint64 next = tick_of_row(table, row + 1);
    return MAX(next, tick + 1);
}

/* The number of samples from `tick` on, at most `most`, with the shift `whole` and a linear
 * delay. */
static gint64
steady_samples(const DelayTable *table, gint64 series, gint64 tick, gint64 most, gint64 whole)
{
    const gint64 next = next_slope(table, tick), step = table->ticks_per_sample;
    gint64 n = next == G_MAXINT64 ? most : MIN(most, (next - tick + step - 1) / step);
    if (table->samples_per_second == 0 ||
        delay_table_whole(table, series, tick + (n - 1) * step) == whole)
        return n;
    /* The shift is monotonic along a line, so bisection finds its next change. */
    for (gint64 same = 1; n - same > 1;) {
        const gint64 middle = same + (n - same) / 2;
        if (delay_table_whole(table, series, tick + (middle - 1) * step) == whole)
            same = middle;
        else
            n = middle;
    }
    return n - 1;
}

void
delay_table_line(gconstpointer data, gint64 series, gint64 tick, gint64 most, CtWindowLine *line)
{
    const DelayTable *table = data;
    const gint64 step = table->ticks_per_sample;
    gdouble per_tick;
    const gdouble seconds = delay_table_at(table, series, tick, &per_tick);
    const gint64 whole = (gint64)rint(seconds * table->samples_per_second);
    *line = (CtWindowLine){
        .n = steady_samples(table, series, tick, most, whole),
        .shift = -whole,
        .first = seconds,
    };
    if (per_tick == 0)
        return;
    /* Counted from the row's first sample, wherever the firing begins. */
    const gint64 first = tick_of_row(table, (gdouble)row_at(table, tick));
    line->since = (tick - first) / step;
    line->first = delay_table_at(table, series, tick - line->since * step, NULL);
    line->step = per_tick * (gdouble)step;
}

/* One for each linear piece and each whole-sample shift on it; with ends, whatever the values, as
 * those of later samples of the port are not known. */
gint64
delay_table_most_lines(gconstpointer data, gint64 n)
{
    const DelayTable *table = data;
    if (table->has_ends)
        return MIN(n, (gint64)ceil(DELAY_STEEPEST * (gdouble)n) + 4);
    const gint64 n_series = table->n_stations * table->n_pols;
    gint64 shifts = 1;
    for (gint64 i = n_series; i < delay_table_length(table); i++) {
        const gdouble before = rint(table->seconds[i - n_series] * table->samples_per_second);
        const gdouble after = rint(table->seconds[i] * table->samples_per_second);
        shifts = MAX(shifts, (gint64)fabs(after - before) + 1);
    }
    const gdouble lines = floor((gdouble)n * table->ticks_per_sample / table->ticks_per_row) + 3;
    const gdouble most = MIN(lines, (gdouble)table->n_rows + 1) * (gdouble)shifts;
    return most < (gdouble)n ? (gint64)most : n;
}
