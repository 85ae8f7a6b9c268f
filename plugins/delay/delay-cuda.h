/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations shared by the host and the kernels of delay. */
#pragma once

/* Samples of a firing for which a series' delay is linear and its shift constant; it ends where the
 * next span begins. */
typedef struct {
    long long begin;
    long long first;   /* sample of the linear piece, which may be before the firing's first */
    long long shift;   /* the input sample of output sample t is t + shift */
    double seconds;    /* at `first` */
    double per_sample; /* seconds */
} DelaySpan;
