/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target: schedules of sources. The scans of one that is read ascend, and are on the sky. */
#include "fringe-schedule.c" /* the plugin exports only its description */
#include "fuzz.h"

int
LLVMFuzzerTestOneInput(const guint8 *data, gsize size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    FringeSchedule schedule = {g_array_new(FALSE, FALSE, sizeof(FringeScan))};
    CtStream clock;
    g_autoptr(GError) error = NULL;
    ct_stream_init(&clock);
    clock.epoch = 0;
    ct_stream_set_rate(&clock, 10, 3, 1);
    g_array_set_clear_func(schedule.scans, clear_scan);
    const gboolean good = read_text(schedule.scans, "file", &clock, text, strlen(text), &error);
    g_assert_true(good == !error);
    for (guint i = 0; i < schedule.scans->len && good; i++) {
        const FringeScan *scan = &g_array_index(schedule.scans, FringeScan, i);
        g_assert_true(fringe_schedule_at(&schedule, scan->tick) == scan);
        g_assert_true(i == 0 || fringe_schedule_at(&schedule, scan->tick - 1) >= scan - 1);
        g_assert_true(fabs(scan->scan.direction[1]) <= G_PI / 2);
    }
    g_array_unref(schedule.scans);
    ct_stream_clear(&clock);
    return 0;
}
