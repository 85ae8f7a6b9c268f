/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts that the variants on a device share: coefficients, and the spreading of threads over
 * the axes of a firing and over chunks of its time. */
#pragma once

#include "fir-axes.h"

#include <cornerturn/stage.h>

typedef struct {
    CtDevice *device;
    gpointer taps; /* of the device, [tap phase] */
    gint64 n_channels, n_taps, hop;
    const CtStream *in;
    CtType in_type, out_type;
    guint time_in, time_out;
    gint series_in[CT_MAX_AXES]; /* by axis of the output; −1: time, phase */
    gboolean over_phases;        /* threads are spread over phases, too */
    guint n_times;               /* outputs side by side: the variant's to set */
    guint ahead;                 /* rows that are read ahead and filtered together; its, too */
    gint64 unit;                 /* a chunk has a multiple of so many outputs; 0: any number */
    gdouble wave;                /* blocks that the device holds at once */
} FirSpread;

/* Looks at the first node, and at the ports of the whole; sends the coefficients. */
gboolean ct_fir_spread_init(FirSpread *spread, const CtPrepare *prepare, GError **error);
void ct_fir_spread_clear(FirSpread *spread);

/* The axes of two blocks in the output's order; series that lie as one in both become one, unless
 * they shall stay `apart`. */
void ct_fir_spread_axes(const FirSpread *spread, FirAxes *axes, const CtBlock *in,
                        const CtBlock *out, gboolean apart);

/* A packed block of a port, without data. */
CtBlock ct_fir_usual_block(const CtBinding *binding);

/* Registers that a sample takes as it is read. */
guint ct_fir_spread_sample_registers(const FirSpread *spread);
/* How many blocks of `threads` threads with so many registers for numbers a multiprocessor shall
 * hold. Assemblers differ in what they need beside; `is_large`: of a kernel that needs much. */
guint ct_fir_spread_blocks(const FirSpread *spread, guint threads, guint registers,
                           gboolean is_large);

/* NAME=value, owned by the array. */
void ct_fir_define(GPtrArray *defines, const char *name, gint64 value);
/* Compiles `kernel`, whose source includes fir-window.h. The constants for types, taps and times
 * are added to those in `defines`. Finds how many blocks of `threads` threads the device holds. */
CtKernel *ct_fir_spread_compile(FirSpread *spread, const CtKernelSpec *kernel, GPtrArray *defines,
                                guint threads, GError **error);

/* Sets the chunk such that the device is busy to the end and little is read twice; `blocks` are
 * those of one chunk, of which there are at most `most`. Returns how many chunks there are. */
gint64 ct_fir_spread_cut(const FirSpread *spread, FirAxes *axes, gdouble blocks, gint64 most);
