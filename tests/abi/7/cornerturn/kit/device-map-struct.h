/* SPDX-License-Identifier: BSD-3-Clause */
/* A map of elements to elements, shared by host and kernels: the host fills it (device-map.h) and
 * passes it by value, kernels run it (device-map-kernel.h). */
#pragma once

/* The usual number of threads of a block, and of units of a thread. */
#ifndef CT_DEVICE_MAP_THREADS
#define CT_DEVICE_MAP_THREADS 256
#endif
#ifndef CT_DEVICE_MAP_UNROLL
#define CT_DEVICE_MAP_UNROLL 4
#endif
enum { CT_DEVICE_MAP_AXES = 12 };

/* n / by is (n + (n · multiplier >> 32)) >> shift, for n < 2³¹. Plugins pass it to their kernels,
 * so it never changes. */
typedef struct {
    unsigned by, multiplier, shift;
} CtDeviceDivisor;

typedef struct {
    CtDeviceDivisor length; /* of the first axis, in units */
    long long in, out;      /* bytes from one to the next */
    long long table, mark;  /* the same in the table and the marks of a box */
} CtDeviceMapAxis;

/* A unit is `width` elements of the first axis, which are contiguous on both sides if `width` > 1;
 * the last unit of a run may be short. */
typedef struct {
    const void *in; /* NULL: zeros */
    void *out;
    const void *table; /* with the marks, those of the box, for kernels that use them */
    unsigned char *marks;
    unsigned width;
    unsigned run;     /* elements of the first axis */
    unsigned n_units; /* in all */
    unsigned n_axes;
    CtDeviceMapAxis axes[CT_DEVICE_MAP_AXES]; /* the fastest first */
} CtDeviceMap;
