/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target: tables of the orientation of the Earth. What a table that is read says is finite. */
#include "fuzz.h"
#include "uvh5-orientation.c" /* the plugin exports only its description */

int
LLVMFuzzerTestOneInput(const guint8 *data, gsize size)
{
    Uvh5Orientations table = {.path = (char *)"table",
                              .days = g_array_new(FALSE, FALSE, sizeof(Day))};
    if (read_text(table.days, table.path, (const char *)data, size, NULL)) {
        const gdouble first = g_array_index(table.days, Day, 0).mjd;
        Uvh5Orientation at;
        for (guint i = 0; i <= 2 * table.days->len; i++)
            if (uvh5_orientations_at(&table, first + 0.5 * i, &at, NULL))
                g_assert_true(isfinite(at.dut1) && isfinite(at.x) && isfinite(at.y));
    }
    g_array_unref(table.days);
    return 0;
}
