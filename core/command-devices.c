/* SPDX-License-Identifier: BSD-3-Clause */
/* The devices of this machine, for `cornerturn inspect` and `cornerturn check`. */
#include "command.h"
#include "device.h"
#include "quantity.h"

void
ct_command_print_devices(void)
{
    const CtDeviceInfo *devices;
    const char *reason;
    const guint n = ct_devices(&devices, &reason);
    if (n == 0)
        g_print("\ncuda is not available: %s\n", reason);
    else
        g_print("\n");
    for (guint i = 0; i < n; i++) {
        const CtDeviceInfo *device = &devices[i];
        g_autofree char *memory = ct_format_bytes(device->memory_bytes);
        g_print("cuda:%u  %s, compute capability %u.%u, %s\n", i, device->name,
                device->architecture / 10, device->architecture % 10, memory);
    }
}
