/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target: tables of the orientation of the Earth. What a table that is read says is finite. */
#include "earth-orientation.c" /* the plugin exports only its description */
#include "fuzz.h"

int
LLVMFuzzerTestOneInput(const guint8 *data, gsize size)
{
    EarthOrientations table = {.path = (char *)"table",
                               .days = g_array_new(FALSE, FALSE, sizeof(Day))};
    if (read_text(table.days, table.path, (const char *)data, size, NULL)) {
        const gdouble first = g_array_index(table.days, Day, 0).mjd;
        EarthOrientation at;
        for (guint i = 0; i <= 2 * table.days->len; i++)
            if (earth_orientations_at(&table, first + 0.5 * i, &at, NULL))
                g_assert_true(isfinite(at.dut1) && isfinite(at.x) && isfinite(at.y));
    }
    g_array_unref(table.days);
    return 0;
}
