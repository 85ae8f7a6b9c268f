/* SPDX-License-Identifier: BSD-3-Clause */
/* In the place of NVML: the energy of the device at bus FFFF:01:00.0 is what the file of
 * CORNERTURN_TEST_NVML says, in millijoules. A file without a number is an error, as of devices
 * that do not count. */
#include <glib.h>

enum { SUCCESS = 0, NOT_SUPPORTED = 3, NOT_FOUND = 6 };

__attribute__((visibility("default"))) int nvmlInit_v2(void);
__attribute__((visibility("default"))) const char *nvmlErrorString(int result);
__attribute__((visibility("default"))) int nvmlDeviceGetHandleByPciBusId_v2(const char *id,
                                                                            gpointer *handle);
__attribute__((visibility("default"))) int
nvmlDeviceGetTotalEnergyConsumption(gpointer handle, unsigned long long *millijoules);

int
nvmlInit_v2(void)
{
    return SUCCESS;
}

const char *
nvmlErrorString(int result)
{
    return result == NOT_SUPPORTED ? "Not Supported" : "Not Found";
}

int
nvmlDeviceGetHandleByPciBusId_v2(const char *id, gpointer *handle)
{
    *handle = (gpointer)g_getenv("CORNERTURN_TEST_NVML");
    return g_str_equal(id, "FFFF:01:00.0") ? SUCCESS : NOT_FOUND;
}

int
nvmlDeviceGetTotalEnergyConsumption(gpointer handle, unsigned long long *millijoules)
{
    g_autofree char *text = NULL;
    guint64 number;
    if (!g_file_get_contents(handle, &text, NULL, NULL) ||
        !g_ascii_string_to_unsigned(g_strstrip(text), 10, 0, G_MAXUINT64, &number, NULL))
        return NOT_SUPPORTED;
    *millijoules = number;
    return SUCCESS;
}
