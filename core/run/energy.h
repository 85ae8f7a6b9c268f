/* SPDX-License-Identifier: BSD-3-Clause */
/* The energy that the processor and the devices use during a run, by their own counters: RAPL,
 * which the kernel shows as powercap, and NVML. They count all that uses the processor or the
 * device, not the run alone. */
#pragma once

#include <glib.h>

typedef struct {
    gdouble joules;
    guint n_packages;    /* of the processor; of a device 1 */
    const char *missing; /* why it is not known, as long as the meter lives; NULL: it is */
} CtEnergy;

typedef struct CtEnergyMeter CtEnergyMeter;

/* Begins to count, also of the devices, if `uses` [n_devices] says so, by their numbers. */
CtEnergyMeter *ct_energy_begin(const gboolean *uses, guint n_devices);
/* The counts stand still from here on. On any thread. */
void ct_energy_end(CtEnergyMeter *meter);
/* Accepts NULL. */
void ct_energy_free(CtEnergyMeter *meter);

/* From the beginning to the end, or until now. On any thread. */
void ct_energy_of_processor(CtEnergyMeter *meter, CtEnergy *energy);
void ct_energy_of_device(CtEnergyMeter *meter, guint device, CtEnergy *energy);

/* ---- devices: energy-device.c ---- */

/* The millijoules that a device has used since a time before the run. FALSE: it cannot be known,
 * and *reason, which is never freed, says why. */
gboolean ct_energy_read_device(guint device, guint64 *millijoules, const char **reason);
