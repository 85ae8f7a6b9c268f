/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies of whole blocks from memory to memory, with which transposes of as many bytes are
 * compared. */
#pragma once

#include <cornerturn/cuda.h>

typedef struct CopyMeter CopyMeter;

/* Makes blocks of `bytes` random bytes, on the device or, if that is NULL, in huge pages of the
 * host. */
CopyMeter *copy_meter_new(CtDevice *device, gsize bytes, GError **error);
void copy_meter_free(CopyMeter *meter);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CopyMeter, copy_meter_free)
/* Copies for at least `seconds`; *rate gets the bytes read and written per second, by one thread or
 * by the device. */
gboolean copy_meter_run(CopyMeter *meter, gdouble seconds, gdouble *rate, GError **error);
