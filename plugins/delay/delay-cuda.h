/* SPDX-License-Identifier: BSD-3-Clause */
/* What host and kernels of delay share. */
#pragma once

/* Samples of a firing for which a lane's delay lies on a line and its shift is one; up to the next
 * such piece. */
typedef struct {
    long long begin;
    long long first;   /* the line's, which may be before the firing's */
    long long shift;   /* the input sample of output sample t is t + shift */
    double seconds;    /* at `first` */
    double per_sample; /* seconds */
} DelaySpan;
