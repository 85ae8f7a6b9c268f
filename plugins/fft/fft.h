/* SPDX-License-Identifier: BSD-3-Clause */
/* The transform that a graph asks for, and where it lies in blocks: shared by the variants of fft.
 */
#pragma once

#include <cornerturn/stage.h>

#define FFT_MAX_LENGTH (1 << 26)

typedef struct {
    const char *axis;    /* interned: the axis transformed */
    const char *to;      /* interned: the axis made */
    gint64 length;       /* samples of a transform */
    gint64 out_length;   /* length / 2 + 1 for real input, else length */
    gboolean along_time; /* `axis` is time, and stays, counting transforms */
    gboolean inverse;    /* positive exponent, divided by the length */
    gboolean shift;      /* zero frequency in the middle */
    gboolean real;       /* real input */
    gboolean wide;       /* double precision */
} FftDesign;

/* The transform that `params` ask for of a stream like `in`. The error says why there is none. */
gboolean ct_fft_design_init(FftDesign *design, const CtParams *params, const CtStream *in,
                            GError **error);

/* Element i of the spectrum that is written (for an inverse transform: read) has this index in
 * FFTW's order, where the zero frequency is first. */
gint64 ct_fft_design_unshift(const FftDesign *design, gint64 i);

/* The axes of a block for the transforms: the one transformed, and those of the batch, slowest
 * first. */
typedef struct {
    guint n_axes;
    gint64 length[CT_MAX_AXES];
    gint64 in[CT_MAX_AXES]; /* bytes from one to the next */
    gint64 out[CT_MAX_AXES];
    gint64 n_transforms;
    gint64 step_in, step_out; /* bytes along a transform */
} FftBatch;

/* The places of the axes in the layouts: found once, then applied to every block. */
typedef struct {
    guint n_axes; /* of the batch, in the output's order */
    guint in_axis[CT_MAX_AXES], out_axis[CT_MAX_AXES];
    guint transformed_in, transformed_out;
    gint64 time_step; /* samples from one transform to the next along time: length, or 1 */
} FftAxes;

void ct_fft_axes_init(FftAxes *axes, const FftDesign *design, const CtLayout *in,
                      const CtLayout *out);
void ct_fft_axes_apply(const FftAxes *axes, const CtBlock *in, const CtBlock *out, FftBatch *batch);
/* Byte offsets of transform `i` in both blocks. */
void ct_fft_batch_offset(const FftBatch *batch, gint64 i, gint64 *in, gint64 *out);

extern const CtVariant ct_fft_reference;
extern const CtVariant ct_fft_cpu_baseline, ct_fft_cpu_avx2, ct_fft_cpu_avx512;
extern const CtVariant ct_fft_cuda, ct_fft_radix_cuda;
