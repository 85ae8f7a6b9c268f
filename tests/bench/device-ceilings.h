/* SPDX-License-Identifier: BSD-3-Clause */
/* What a device can do right now: multiply-adds, copies on it, and copies to and from the host. */
#pragma once

#include "device/device.h"

typedef struct {
    gdouble fma;      /* single-precision operations per second, two a multiply-add */
    gdouble copy;     /* bytes read and written per second, from memory to memory */
    gdouble to;       /* bytes per second from pinned host memory */
    gdouble from;     /* bytes per second to it */
    gdouble both[2];  /* to and from, at once */
    gdouble copying;  /* share of `copy` that is left while both go on */
    gdouble fma_left; /* the same of `fma` */
} DeviceCeilings;

typedef struct DeviceMeter DeviceMeter;

DeviceMeter *device_meter_new(CtDevice *device, GError **error);
void device_meter_free(DeviceMeter *meter);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DeviceMeter, device_meter_free)
/* Medians; some tenths of a second. */
gboolean device_meter_measure(DeviceMeter *meter, DeviceCeilings *ceilings, GError **error);
