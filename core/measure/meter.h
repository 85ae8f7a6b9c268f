/* SPDX-License-Identifier: BSD-3-Clause */
/* The machine's ceilings at this moment: multiply-adds and copies, on the processors of the
 * workers. */
#pragma once

#include <cornerturn/stage.h>

typedef struct {
    gdouble fma;  /* single-precision operations per second of all threads; a multiply-add is two */
    gdouble l2;   /* bytes read and written per second by memcpy in the second-level cache */
    gdouble dram; /* the same in memory */
} CtCeilings;

typedef struct CtMeter CtMeter;

/* For at most `n_threads` threads, each pinned to the processor of the worker with its number. */
CtMeter *ct_meter_new(guint n_threads);
void ct_meter_free(CtMeter *meter);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtMeter, ct_meter_free)
/* The best instruction set of this processor. */
CtIsa ct_meter_isa(void);
/* Measures with the multiply-adds of `isa`, in a few milliseconds. FALSE with an error if there is
 * too little memory, or if the threads cannot be started. */
gboolean ct_meter_measure(CtMeter *meter, guint n_threads, CtIsa isa, CtCeilings *ceilings,
                          GError **error);
