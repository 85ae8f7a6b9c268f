/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows and shifts, shared by host and kernels (window.h). */
#pragma once

#include <cornerturn/kit/device-rows-struct.h>

/* Output samples of a firing for which a series' shift is constant and its value linear in time;
 * the span ends where the next one begins. */
typedef struct {
    long long begin;
    long long since; /* the sample at which the line begins, maybe before the firing's first */
    long long shift; /* output sample t is made of input sample t + shift of the firing */
    double first;    /* the value at `since` */
    double step;     /* its increase from sample to sample */
} CtWindowSpan;

enum { CT_WINDOW_SUM_THREADS = 128 };

typedef struct {
    CtDeviceDivisor length;
    long long in, out; /* bytes from one to the next */
    long long table;   /* entries of the tables */
} CtWindowAxis;

/* Sums of shifted samples. A block of threads handles a tile of a run, along one axis (time, or one
 * along which shifts do not differ), for one index of the `outer` axes and a few of the new axis.
 */
typedef struct {
    const void *in; /* the window's first sample */
    void *out;
    long long in_time, out_made; /* bytes from one to the next */
    long long in_term[2];        /* the same of the two axes of the sum */
    long long run_in, run_out;
    unsigned n;                 /* elements of the run */
    unsigned n_terms, n_fast;   /* terms; the length of the sum's second axis */
    unsigned n_made, made_room; /* the length of the new axis; its length in the table of shifts */
    CtDeviceDivisor run_tiles;
    unsigned n_outer;
    CtWindowAxis outer[CT_DEVICE_MAP_AXES]; /* the fastest first */
} CtWindowSums;
