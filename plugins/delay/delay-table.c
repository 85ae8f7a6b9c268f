/* SPDX-License-Identifier: BSD-3-Clause */
/* Delays from parameters: a list, a file, or the geometry of a direction. */
#include "../geometry.h"
#include "delay.h"

#include <cornerturn/npy.h>

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
table_from_direction(DelayTable *table, const CtParams *params, GError **error)
{
    gdouble direction[3] = {0};
    if (ct_params_count(params, "direction") != 1)
        return ct_params_error(params, "direction", error, "wants one row, but is given %u",
                               ct_params_count(params, "direction"));
    if (!geometry_direction(params, "direction", 0, direction, error))
        return FALSE;
    gint64 n_stations = table->n_stations;
    g_autofree gdouble *positions = geometry_positions(params, &n_stations, error);
    if (!positions)
        return FALSE;
    table->seconds = CT_TABLE(gdouble, n_stations, "delays", error);
    for (gint64 s = 0; table->seconds && s < n_stations; s++)
        table->seconds[s] = geometry_lead(positions + 3 * s, direction);
    return table->seconds != NULL;
}

DelayTable *
delay_table_new(const CtParams *params, const CtStream *stream, GError **error)
{
    static const char *const ways[] = {"delays", "constant", "direction"};
    const char *given = NULL;
    for (guint i = 0; i < G_N_ELEMENTS(ways); i++) {
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
    if (!given) {
        ct_params_error(params, "delays", error,
                        "wants delays (a file), constant (a list) or direction, but is given none");
        return NULL;
    }

    g_autoptr(DelayTable) table = g_new0(DelayTable, 1);
    gint64 n_pols = ct_stream_length(stream, "pol");
    table->n_stations = ct_stream_length(stream, "station");
    table->n_pols = 1;
    table->n_rows = 1;
    table->start = stream->start;
    gboolean ok = given == ways[0]   ? table_from_file(table, params, stream, n_pols, error)
                  : given == ways[1] ? table_from_list(table, params, n_pols, error)
                                     : table_from_direction(table, params, error);
    if (!ok)
        return NULL;
    for (gint64 i = 0; i < table->n_rows * table->n_stations * table->n_pols; i++)
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
