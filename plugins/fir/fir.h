/* SPDX-License-Identifier: BSD-3-Clause */
/* The filter's numbers and coefficients, which the variants of fir share. */
#pragma once

#include <cornerturn/stage.h>

#define FIR_MAX_TAPS     64
#define FIR_MAX_CHANNELS (1 << 24)

typedef struct {
    gint64 n_channels; /* P */
    gint64 n_taps;
    gint64 hop;  /* H, input samples from one output to the next */
    float *taps; /* [tap phase]; owned */
} FirDesign;

/* The inputs. */
enum { FIR_IN, FIR_COEFFICIENTS };

/* Reads the parameters, and the coefficients from the port or the file, or computes the windowed
 * sinc. Before prepare, the coefficients of the port are not known: `taps` is NULL. */
gboolean ct_fir_design_init(FirDesign *design, const CtNode *node, GError **error);
void ct_fir_design_clear(FirDesign *design);

/* How many phases the sums of a window are rotated by. It is n mod P, where n is the number of the
 * window's first sample on the source's clock, so that all samples of a phase have the same number
 * modulo P. It is 0 if P divides the hop. */
typedef struct {
    gint64 n_channels;
    gint64 step;  /* from one output to the next, less than P */
    gint64 first; /* of a block's first output */
} FirRotation;

/* The rotation of the window at `tick`, a block's first. */
FirRotation ct_fir_rotation(gint64 n_channels, gint64 hop, const CtStream *in, gint64 tick);

/* The rotation of the block's output t ≥ 0. */
static inline gint64
fir_rotation_at(const FirRotation *rotation, gint64 t)
{
    const gint64 n_channels = rotation->n_channels;

    return (rotation->first + t % n_channels * rotation->step) % n_channels;
}

/* Tunables of the variants on the processor, with which a variant's table may begin. `block` is the
 * default for the instruction set. */
enum { FIR_OUTPUTS, FIR_ROW, FIR_FLOATS, FIR_BLOCK, FIR_N_TUNABLES };
#define FIR_TUNABLES(block)                                                                        \
    [FIR_OUTPUTS] = {"outputs", CT_VALUES(32, 64, 128, 256), 64, "outputs of a tile"},             \
    [FIR_ROW] = {"row", CT_VALUES(32, 64, 128), 128, "floats of a tile's row, at least"},          \
    [FIR_FLOATS] = {"floats", CT_VALUES(2048, 4096, 8192, 16384, 32768), 8192,                     \
                    "floats of all rows of a tile, which a cache should hold"},                    \
    [FIR_BLOCK] = {"block", CT_VALUES(4, 8, 16), block,                                            \
                   "outputs whose sums are in registers at the same time"}

extern const CtVariant ct_fir_cuda, ct_fir_reference;
extern const CtVariant ct_fir_cpu_baseline, ct_fir_cpu_avx2, ct_fir_cpu_avx512;
