/* SPDX-License-Identifier: BSD-3-Clause */
/* A firing of a fold, shared by host and kernels: the host fills it (kit/fold-device.c) and passes
 * it by value, kernels run it (fold-kernel.h). */
#pragma once

enum {
    CT_FOLD_AXES = 12,
    CT_FOLD_ROW_THREADS = 256,
    CT_FOLD_STAGE_THREADS = 128,
    CT_FOLD_MERGE_THREADS = 256
};

/* A hop is cut into cells, the last one short, counted from the hop's first sample. States are
 * [cell or partial state][element]. */
typedef struct {
    const void *x;
    void *y;
    const void *before, *parts_before; /* the unfinished cell, and the partial states, before it */
    void *after, *parts_after;         /* … and after it */
    void *cells;                       /* complete cells of the firing */
    const unsigned *counts;            /* [hop][lane]: valid samples; NULL: all are valid */
    const unsigned char *validity;     /* of the input, [lane][sample]; NULL: all are valid */
    unsigned char *marks;              /* of the output, [lane][sample]; NULL: none */
    long long validity_stride, marks_stride;
    long long position; /* samples of the first hop that came before the firing */
    int n_samples;
    unsigned first_cell;         /* its first cell, counted in its hop */
    unsigned n_cells;            /* cells that it adds to */
    unsigned n_complete;         /* … and of these, cells that it completes */
    unsigned ended;              /* unfinished hops are complete */
    unsigned n_lanes;            /* of the input's validity */
    long long in_time, out_time; /* strides */
    long long in[CT_FOLD_AXES], out[CT_FOLD_AXES];
} CtFoldFiring;
