/* SPDX-License-Identifier: BSD-3-Clause */
/* The devices of this machine, for `cornerturn inspect`, `check` and `plan`. */
#include "command.h"
#include "device.h"
#include "quantity.h"

void
ct_command_print_lack(void)
{
    const char *reason;
    if (ct_devices(NULL, &reason) == 0)
        g_print("cuda is not available: %s\n", reason);
}

void
ct_command_print_devices(void)
{
    const CtDeviceInfo *devices;
    const guint n = ct_devices(&devices, NULL);
    g_print("\n");
    ct_command_print_lack();
    for (guint i = 0; i < n; i++) {
        const CtDeviceInfo *device = &devices[i];
        g_autofree char *memory = ct_format_bytes(device->memory_bytes);
        g_print("cuda:%u  %s, compute capability %u.%u, %s\n", i, device->name,
                device->architecture / 10, device->architecture % 10, memory);
    }
}
