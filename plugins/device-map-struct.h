/* SPDX-License-Identifier: BSD-3-Clause */
/* A map of elements to elements, as host and kernels see it: the host fills it (device-map.h) and
 * passes it by value, kernels run it (device-map-kernel.h). */
#pragma once

/* Blocks of so many threads, each of which takes so many units, unless a kernel is compiled for
 * others. */
#ifndef DEVICE_MAP_THREADS
#define DEVICE_MAP_THREADS 256
#endif
#ifndef DEVICE_MAP_UNROLL
#define DEVICE_MAP_UNROLL 4
#endif
enum { DEVICE_MAP_AXES = 12 };

/* n / by is (n + (n · multiplier >> 32)) >> shift, for n < 2³¹. */
typedef struct {
    unsigned by, multiplier, shift;
} DeviceDivisor;

typedef struct {
    DeviceDivisor length; /* of the first axis, in units */
    long long in, out;    /* bytes from one to the next */
} DeviceMapAxis;

/* A unit is `width` elements of the first axis, which lie packed on both sides unless it is 1; the
 * last one of a run may be short. */
typedef struct {
    const void *in; /* NULL: zeros */
    void *out;
    unsigned width;
    unsigned run;     /* elements of the first axis */
    unsigned n_units; /* in all */
    unsigned n_axes;
    DeviceMapAxis axes[DEVICE_MAP_AXES]; /* the fastest first */
} DeviceMap;
