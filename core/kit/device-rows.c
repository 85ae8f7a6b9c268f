/* SPDX-License-Identifier: BSD-3-Clause */
/* Firings as rows for kernels. */
#include "reserved.h"

#include <cornerturn/kit/device-rows.h>

/* Finds the axes outside time, without those of length 1. FALSE where there are too many groups of
 * rows for a launch. */
static gboolean
find_outer(CtDeviceRows *rows, const CtBlock *in, const CtBlock *out, gint time, gint64 *n_groups)
{
    *n_groups = 1;
    for (gint a = time - 1; a >= 0; a--) {
        if (out->length[a] == 1)
            continue;
        if (out->length[a] > G_MAXINT32 / *n_groups)
            return FALSE;
        *n_groups *= out->length[a];
        rows->outer[rows->n_outer++] = (CtDeviceMapAxis){ct_device_divisor((guint32)out->length[a]),
                                                         in->stride[a], out->stride[a]};
    }
    return TRUE;
}

/* The number of threads for which a group of rows has work. */
static guint
choose_threads(gint64 row, gint64 n_times, guint unroll)
{
    gint64 threads = CT_DEVICE_ROWS_THREADS;
    while (threads > 32 && row * n_times <= threads / 2 * unroll)
        threads /= 2;
    return (guint)threads;
}

/* Fills in rows and launch. FALSE where there are too many tiles for a launch. */
static gboolean
rows_init(CtDeviceRows *rows, CtLaunch *launch, const CtBlock *in, const CtBlock *out, gint time,
          guint unroll)
{
    gint64 row = 1, n_groups;
    for (gint a = time + 1; a < (gint)out->n_axes; a++)
        row *= out->length[a];
    *rows = (CtDeviceRows){
        .in = in->data,
        .out = out->data,
        .n_times = time < 0 ? 1 : out->length[time],
        .in_time = time < 0 ? 0 : in->stride[time],
        .out_time = time < 0 ? 0 : out->stride[time],
        .row = (guint)row,
    };
    if (row > G_MAXINT32 || !find_outer(rows, in, out, time, &n_groups))
        return FALSE;
    const gint64 threads = choose_threads(row, rows->n_times, unroll);
    const gint64 row_tiles = (row + threads - 1) / threads;
    const gint64 row_threads = (row + row_tiles - 1) / row_tiles;
    rows->rows = (guint)(threads / row_threads);
    const gint64 tile = rows->rows * (gint64)unroll;
    const gint64 time_tiles = (rows->n_times + tile - 1) / tile;
    if (time_tiles > G_MAXINT32 / row_tiles || n_groups > G_MAXINT32 / (row_tiles * time_tiles))
        return FALSE;
    rows->row_threads = ct_device_divisor((guint32)row_threads);
    rows->row_tiles = ct_device_divisor((guint32)row_tiles);
    rows->time_tiles = ct_device_divisor((guint32)time_tiles);
    *launch = (CtLaunch){
        .grid = {(guint)(row_tiles * time_tiles * n_groups), 1, 1},
        .block = {(rows->rows * (guint)row_threads + 31) & ~31u, 1, 1},
    };
    return TRUE;
}

gboolean
ct_device_rows_work(const CtBlock *in, const CtBlock *out, gint time, guint unroll, CtQueue *queue,
                    const CtDeviceMapCall *call, GError **error)
{
    CtDeviceRows rows;
    CtLaunch launch;
    if (!CT_RESERVED_CHECK("rows on a device", CtDeviceMapCall, call, error))
        return FALSE;
    if (!out->data || out->n_samples == 0)
        return TRUE;
    if (!rows_init(&rows, &launch, in, out, time, unroll)) {
        g_set_error(error, CT_ERROR, CT_ERROR_DEVICE,
                    "wants at most %d tiles of a firing, but is given more", G_MAXINT32);
        return FALSE;
    }
    gpointer arguments[G_N_ELEMENTS(call->arguments) + 1] = {&rows};
    for (guint i = 0; i < call->n_arguments; i++)
        arguments[1 + i] = call->arguments[i];
    return ct_queue_launch(queue, call->kernel, &launch, arguments, error);
}
