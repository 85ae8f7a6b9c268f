/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench.h"
gboolean
floors_measure(CeilingMeter *meter, guint n_slices, char *const *patterns)
{
    (void)meter;
    (void)n_slices;
    (void)patterns;
    return TRUE;
}
