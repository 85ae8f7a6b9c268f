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
} CtDeviceCeilings;

typedef struct CtDeviceMeter CtDeviceMeter;

CtDeviceMeter *ct_device_meter_new(CtDevice *device, GError **error);
void ct_device_meter_free(CtDeviceMeter *meter);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtDeviceMeter, ct_device_meter_free)
/* Measures medians, in some tens of milliseconds: multiply-adds and copies on the device and, with
 * `transfers`, all. */
gboolean ct_device_meter_measure(CtDeviceMeter *meter, gboolean transfers,
                                 CtDeviceCeilings *ceilings, GError **error);
