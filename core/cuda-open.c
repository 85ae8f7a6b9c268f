/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens NVIDIA's libraries at run time: the same build runs where they are not. */
#include "cuda-driver.h"

#include <gmodule.h>

/* Where the environment says that CUDA is: "off", or a library that has all of it. */
#define VARIABLE "CORNERTURN_CUDA"

/* Major versions of the toolkit under which a library may go, the newest first. */
static const guint versions[] = {14, 13, 12, 11, 10};

/* What the lists of functions make of one. */
#define SYMBOL(name, symbol, arguments) #symbol,
static const char *const driver_symbols[] = {CT_CUDA_DRIVER_FUNCTIONS(SYMBOL)};
static const char *const nvrtc_symbols[] = {CT_NVRTC_FUNCTIONS(SYMBOL)};

/* A library once looked for: its functions, or why there are none. */
typedef struct {
    gboolean found;
    const char *reason;
    union {
        CtCudaDriver driver;
        CtNvrtc nvrtc;
    };
} Opened;

static GModule *
open_in(const char *folder, const char *file)
{
    g_autofree char *path = folder ? g_build_filename(folder, file, NULL) : g_strdup(file);
    return g_module_open(path, G_MODULE_BIND_LAZY | G_MODULE_BIND_LOCAL);
}

/* "nvrtc" as libnvrtc.so.13 …: where the loader looks, then where the toolkit usually is. */
static GModule *
open_versioned(const char *name)
{
    const char *home = g_getenv("CUDA_HOME");
    g_autofree char *of_home = home ? g_build_filename(home, "lib64", NULL) : NULL;
    const char *const folders[] = {NULL, "/usr/local/cuda/lib64", of_home};
    GModule *module = NULL;
    for (guint f = 0; f < G_N_ELEMENTS(folders) && !module; f++) {
        if (f > 0 && !folders[f])
            continue;
        for (guint v = 0; v < G_N_ELEMENTS(versions) && !module; v++) {
            g_autofree char *file = g_strdup_printf("lib%s.so.%u", name, versions[v]);
            module = open_in(folders[f], file);
        }
    }
    return module;
}

/* Opens library `name` ("cuda", "nvrtc", "cufft") and finds its symbols; otherwise *reason, which
 * stays allocated for the process, says what is not there. */
static gboolean
open_library(const char *name, const char *const *symbols, guint n, gpointer *functions,
             const char **reason)
{
    const char *given = g_getenv(VARIABLE);
    if (given && g_str_equal(given, "off")) {
        *reason = VARIABLE "=off forbids it";
        return FALSE;
    }
    GModule *module = NULL;
    g_autofree char *file = NULL;
    if (given && *given) {
        file = g_strdup(given);
        module = open_in(NULL, given);
    } else if (g_str_equal(name, "cuda")) {
        file = g_strdup("libcuda.so.1");
        module = open_in(NULL, file);
    } else {
        file = g_strdup_printf("lib%s.so", name);
        module = open_versioned(name);
    }
    if (!module) {
        g_autofree char *text = g_strdup_printf("%s cannot be opened: %s", file, g_module_error());
        *reason = g_intern_string(text);
        return FALSE;
    }
    /* What hangs on it lives until the process ends. */
    g_module_make_resident(module);
    for (guint i = 0; i < n; i++) {
        if (!g_module_symbol(module, symbols[i], &functions[i])) {
            g_autofree char *text = g_strdup_printf("%s lacks %s", file, symbols[i]);
            *reason = g_intern_string(text);
            return FALSE;
        }
    }
    return TRUE;
}

static gpointer
open_driver(G_GNUC_UNUSED gpointer data)
{
    Opened *opened = g_new0(Opened, 1);
    opened->found = open_library("cuda", driver_symbols, G_N_ELEMENTS(driver_symbols),
                                 (gpointer *)&opened->driver, &opened->reason);
    if (!opened->found)
        return opened;
    const CtCuResult result = opened->driver.init(0);
    if (result != CT_CUDA_SUCCESS) {
        const char *name = NULL, *text = NULL;
        opened->driver.error_name(result, &name);
        opened->driver.error_string(result, &text);
        g_autofree char *reason =
            g_strdup_printf("the driver does not start: %s (%s)", name ? name : "unknown error",
                            text ? text : "it has no words for it");
        opened->reason = g_intern_string(reason);
        opened->found = FALSE;
    }
    return opened;
}

static gpointer
open_nvrtc(G_GNUC_UNUSED gpointer data)
{
    Opened *opened = g_new0(Opened, 1);
    opened->found = open_library("nvrtc", nvrtc_symbols, G_N_ELEMENTS(nvrtc_symbols),
                                 (gpointer *)&opened->nvrtc, &opened->reason);
    return opened;
}

const CtCudaDriver *
ct_cuda_driver(const char **reason)
{
    static GOnce once = G_ONCE_INIT;
    const Opened *opened = g_once(&once, open_driver, NULL);
    if (reason)
        *reason = opened->reason;
    return opened->found ? &opened->driver : NULL;
}

const CtNvrtc *
ct_cuda_nvrtc(const char **reason)
{
    static GOnce once = G_ONCE_INIT;
    const Opened *opened = g_once(&once, open_nvrtc, NULL);
    if (reason)
        *reason = opened->reason;
    return opened->found ? &opened->nvrtc : NULL;
}

gboolean
ct_cuda_library(const char *name, const char *const *symbols, guint n, gpointer *functions,
                const char **reason)
{
    return open_library(name, symbols, n, functions, reason);
}
