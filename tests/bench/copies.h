/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies of whole blocks from memory to memory: what a turn of as many bytes stands beside. */
#pragma once

#include <cornerturn/cuda.h>

typedef struct CopyMeter CopyMeter;

/* Blocks of `bytes` random bytes on the device or, where it is NULL, in huge pages of the host. */
CopyMeter *copy_meter_new(CtDevice *device, gsize bytes, GError **error);
void copy_meter_free(CopyMeter *meter);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CopyMeter, copy_meter_free)
/* Bytes read and written per second, of one thread or of the device, for at least so long. */
gboolean copy_meter_run(CopyMeter *meter, gdouble seconds, gdouble *rate, GError **error);
