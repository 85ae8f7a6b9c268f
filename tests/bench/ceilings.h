/* SPDX-License-Identifier: BSD-3-Clause */
/* The machine's ceilings at this moment: multiply-adds and copies, on the processors of the
 * workers. */
#pragma once

#include <glib.h>

typedef struct {
    gdouble fma;  /* single-precision operations per second of all threads; a multiply-add is two */
    gdouble l2;   /* bytes read and written per second by memcpy in the second-level cache */
    gdouble dram; /* the same in memory */
} Ceilings;

typedef struct CeilingMeter CeilingMeter;

/* For at most `n_threads` threads, each pinned to the processor of the worker with its number. */
CeilingMeter *ceiling_meter_new(guint n_threads);
void ceiling_meter_free(CeilingMeter *meter);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CeilingMeter, ceiling_meter_free)
/* Takes a few milliseconds. */
void ceiling_meter_measure(CeilingMeter *meter, guint n_threads, Ceilings *ceilings);
