/* SPDX-License-Identifier: BSD-3-Clause */
/* The energy that devices use, as NVIDIA's NVML tells it: a library of the driver, opened at run
 * time. Its functions are declared after its documentation. */
#include "device/device.h"
#include "energy.h"
#include "model/environment.h"

#include <gmodule.h>

/* The library in place of NVIDIA's, for tests. */
#define VARIABLE "CORNERTURN_NVML"
#define LIBRARY  "libnvidia-ml.so.1"

enum { SUCCESS = 0 };

typedef int Result;
typedef struct HandleOpaque *Handle;

/* F(type, name, symbol, arguments) */
#define FUNCTIONS(F)                                                                               \
    F(Result, init, nvmlInit_v2, (void))                                                           \
    F(const char *, error_string, nvmlErrorString, (Result result))                                \
    F(Result, by_bus_id, nvmlDeviceGetHandleByPciBusId_v2, (const char *id, Handle *handle))       \
    F(Result, energy, nvmlDeviceGetTotalEnergyConsumption,                                         \
      (Handle handle, unsigned long long *millijoules))

#define DECLARE(type, name, symbol, arguments) type(*name) arguments;
#define SYMBOL(type, name, symbol, arguments)  #symbol,
static const char *const symbols[] = {FUNCTIONS(SYMBOL)};

typedef struct {
    FUNCTIONS(DECLARE)
    const char *reason; /* why there are no functions; NULL: there are */
} Nvml;

static const char *
describe(const Nvml *nvml, const char *doing, Result result)
{
    g_autofree char *text = g_strdup_printf("NVML %s: %s", doing, nvml->error_string(result));
    return g_intern_string(text);
}

static gpointer
open_nvml(G_GNUC_UNUSED gpointer data)
{
    Nvml *nvml = g_new0(Nvml, 1);
    const char *given = ct_environment(VARIABLE);
    const char *library = given && *given ? given : LIBRARY;
    GModule *module = g_module_open(library, G_MODULE_BIND_LAZY | G_MODULE_BIND_LOCAL);
    if (!module) {
        nvml->reason = g_intern_string(g_module_error());
        return nvml;
    }
    g_module_make_resident(module);
    gpointer *functions = (gpointer *)nvml;
    for (guint i = 0; i < G_N_ELEMENTS(symbols) && !nvml->reason; i++)
        if (!g_module_symbol(module, symbols[i], &functions[i]))
            nvml->reason = g_intern_string(g_module_error());
    const Result result = nvml->reason ? SUCCESS : nvml->init();
    if (result != SUCCESS)
        nvml->reason = describe(nvml, "does not start", result);
    return nvml;
}

gboolean
ct_energy_read_device(guint device, guint64 *millijoules, const char **reason)
{
    static GOnce once = G_ONCE_INIT;
    const Nvml *nvml = g_once(&once, open_nvml, NULL);
    char bus[CT_BUS_BYTES];
    Handle handle;
    unsigned long long energy;
    if (nvml->reason) {
        *reason = nvml->reason;
        return FALSE;
    }
    /* NVML numbers devices by their bus, and the driver as it is told. */
    if (!ct_device_bus(device, bus)) {
        *reason = "the driver does not say at which bus the device is";
        return FALSE;
    }
    Result result = nvml->by_bus_id(bus, &handle);
    if (result == SUCCESS)
        result = nvml->energy(handle, &energy);
    if (result != SUCCESS) {
        *reason = describe(nvml, "does not tell the device's energy", result);
        return FALSE;
    }
    *millijoules = energy;
    return TRUE;
}
