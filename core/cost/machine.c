/* SPDX-License-Identifier: BSD-3-Clause */
/* The machine's devices, and the names of machines for the cost database. */
#include "cost.h"
#include "device/device.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* "AMD EPYC 9354 32-Core Processor", as the kernel names it, or else the architecture. */
static char *
processor_name(void)
{
    struct utsname system;
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "re");
    g_autofree char *name = NULL;
    while (file && !name && fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');
        if (colon && g_str_has_prefix(line, "model name"))
            name = g_strstrip(g_strdup(colon + 1));
    }
    if (file)
        fclose(file);
    if (!name)
        name = g_strdup(uname(&system) == 0 ? system.machine : "processor");
    return g_steal_pointer(&name);
}

static const char *
instruction_set(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f"))
        return ", avx512";
    if (__builtin_cpu_supports("avx2"))
        return ", avx2";
#endif
    return "";
}

static void
append_cache(GString *text, long bytes, const char *level)
{
    if (bytes > 0)
        g_string_append_printf(text, ", %ld KiB %s", bytes >> 10, level);
}

const char *
ct_machine_host(void)
{
    g_autofree char *processor = processor_name();
    g_autoptr(GString) text = g_string_new(processor);
    append_cache(text, sysconf(_SC_LEVEL2_CACHE_SIZE), "L2");
    append_cache(text, sysconf(_SC_LEVEL3_CACHE_SIZE), "L3");
    g_string_append(text, instruction_set());
    return g_intern_string(text->str);
}

void
ct_machine_find_devices(CtMachine *machine)
{
    machine->n_devices = ct_devices(&machine->devices, &machine->no_device);
    machine->are_peers = ct_device_are_peers;
    machine->numa_of_device = ct_device_numa;
    if (machine->n_devices > 0)
        ct_cuda_driver(NULL)->driver_version(&machine->driver_version);
}

const char *
ct_machine_name(const CtMachine *machine, gint place)
{
    if (place == CT_HOST)
        return machine->name;
    g_autoptr(GString) text = g_string_new(machine->devices[place].name);
    if (machine->driver_version > 0)
        g_string_append_printf(text, ", driver %d.%d", machine->driver_version / 1000,
                               machine->driver_version % 1000 / 10);
    return g_intern_string(text->str);
}

gsize
ct_machine_aim(const CtMachine *machine, gsize given)
{
    return given > 0 ? given : machine->cache_bytes / 2 * machine->n_workers;
}
