/* SPDX-License-Identifier: BSD-3-Clause */
/* What the machine can do right now: multiply-adds and copies, on the processors that workers use.
 */
#pragma once

#include <glib.h>

typedef struct {
    gdouble fma;  /* single-precision operations per second of all threads, two a multiply-add */
    gdouble l2;   /* bytes read and written per second by memcpy in the second cache */
    gdouble dram; /* the same in memory */
} Ceilings;

typedef struct CeilingMeter CeilingMeter;

/* For at most `n_threads` threads, each pinned where the worker of that number is. */
CeilingMeter *ceiling_meter_new(guint n_threads);
void ceiling_meter_free(CeilingMeter *meter);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CeilingMeter, ceiling_meter_free)
/* A few milliseconds. */
void ceiling_meter_measure(CeilingMeter *meter, guint n_threads, Ceilings *ceilings);
