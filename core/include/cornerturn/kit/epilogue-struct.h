/* SPDX-License-Identifier: BSD-3-Clause */
/* The places of elements that a kernel stores or loads, and their validity, shared by host and
 * kernels: the host sends the latter (kit/epilogue.c) with firings that have invalid samples,
 * kernels look elements up (epilogue-forms-kernel.h). */
#pragma once

enum { CT_EPILOGUE_AXES = 12 };

/* From the place of an element to its index in another array. */
typedef struct {
    const unsigned char *first; /* the block's first element */
    struct {
        long long stride; /* of the block, in bytes, falling */
        long long step;   /* of the index */
        double inverse;   /* 1 / stride */
    } axes[CT_EPILOGUE_AXES];
    unsigned n_axes;
} CtEpilogueIndex;

typedef struct {
    const unsigned char *validity; /* of the output, [lane][sample]; if samples are folded, of
                                      these, [lane][sample][sample of the hop] */
    const unsigned *counts;        /* if samples are folded: valid ones, [lane][sample] */
    CtEpilogueIndex index;         /* [lane][sample] */
} CtEpilogueValidity;
