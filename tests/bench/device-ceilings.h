/* SPDX-License-Identifier: BSD-3-Clause */
/* A device's ceilings at this moment: multiply-adds, copies on it, and copies to and from the
 * host. */
#pragma once

#include "device/device.h"

typedef struct {
    gdouble fma;      /* single-precision operations per second; a multiply-add is two */
    gdouble copy;     /* bytes read and written per second, from memory to memory */
    gdouble to;       /* bytes per second from pinned host memory */
    gdouble from;     /* bytes per second to pinned host memory */
    gdouble both[2];  /* bytes per second to and from the device, at once */
    gdouble copying;  /* share of `copy` that is left during both */
    gdouble fma_left; /* share of `fma` that is left during both */
} DeviceCeilings;

typedef struct DeviceMeter DeviceMeter;

DeviceMeter *device_meter_new(CtDevice *device, GError **error);
void device_meter_free(DeviceMeter *meter);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DeviceMeter, device_meter_free)
/* Measures medians; takes some tenths of a second. */
gboolean device_meter_measure(DeviceMeter *meter, DeviceCeilings *ceilings, GError **error);
