/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens NVIDIA's libraries at run time, so that the same build also runs without them. */
#include "cuda-driver.h"
#include "model/environment.h"
#include "model/own-file.h"

#include <gmodule.h>
#include <string.h>

/* The variable that disables CUDA ("off"), wants the emulator of this installation ("emulator") or
 * the same where the machine has no device ("any"), or names the one library that has all
 * functions.
 */
#define VARIABLE "CORNERTURN_CUDA"

/* Major versions of the toolkit in the names of its libraries, the newest first. */
static const guint versions[] = {14, 13, 12, 11, 10};

/* The symbols' names, from the lists of functions. */
#define SYMBOL(name, symbol, arguments) #symbol,
static const char *const driver_symbols[] = {CT_CUDA_DRIVER_FUNCTIONS(SYMBOL)};
static const char *const graph_symbols[] = {CT_CUDA_GRAPH_FUNCTIONS(SYMBOL)};
static const char *const nvrtc_symbols[] = {CT_NVRTC_FUNCTIONS(SYMBOL)};

/* The result of opening a library: its functions, or the reason why there are none. */
typedef struct {
    gboolean found;
    const char *reason;
    union {
        CtCudaDriver driver;
        CtCudaGraphs graphs;
        CtNvrtc nvrtc;
    };
} Opened;

/* The libraries' full names, and how to install them. */
static const struct {
    const char *name, *title, *advice;
} libraries[] = {
    {"cuda", "NVIDIA's driver", "; for tests, " VARIABLE "=emulator computes on the processor"},
    {"nvrtc", "NVRTC", "; install the CUDA toolkit, or of it cuda-nvrtc"},
    {"cufft", "cuFFT", "; install the CUDA toolkit, or of it libcufft"},
};

/* Opens a file. If that fails, *problem keeps the reason, unless the file does not exist. */
static GModule *
open_in(const char *folder, const char *file, char **problem)
{
    g_autofree char *path = folder ? g_build_filename(folder, file, NULL) : g_strdup(file);
    GModule *module = g_module_open(path, G_MODULE_BIND_LAZY | G_MODULE_BIND_LOCAL);
    if (module || *problem)
        return module;
    const char *said = g_module_error();
    g_autofree char *absent = g_strdup_printf("%s: cannot open shared object file: No such", path);
    if (!g_str_has_prefix(said, absent))
        *problem = g_strdup(said);
    return NULL;
}

/* Opens a library of the toolkit, "nvrtc" as libnvrtc.so.13 and so on. With CUDA_HOME set it tries
 * that folder, then the loader's path; otherwise the loader's path, then /usr/local/cuda. */
static GModule *
open_versioned(const char *name, char **problem)
{
    const char *given = ct_environment("CUDA_HOME"), *home = given && *given ? given : NULL;
    g_autofree char *folder = g_build_filename(home ? home : "/usr/local/cuda", "lib64", NULL);
    const char *const folders[] = {home ? folder : NULL, home ? NULL : folder};
    GModule *module = NULL;
    for (guint f = 0; f < G_N_ELEMENTS(folders) && !module; f++) {
        for (guint v = 0; v < G_N_ELEMENTS(versions) && !module; v++) {
            g_autofree char *file = g_strdup_printf("lib%s.so.%u", name, versions[v]);
            module = open_in(folders[f], file, problem);
        }
    }
    return module;
}

/* Why a library is missing, for *reason. `problem` NULL: there is no such file. */
static const char *
say_why(const char *name, const char *given, const char *problem)
{
    const char *title = name, *advice = "";
    for (guint i = 0; i < G_N_ELEMENTS(libraries); i++) {
        if (!g_str_equal(libraries[i].name, name))
            continue;
        title = libraries[i].title;
        advice = libraries[i].advice;
    }
    g_autofree char *text = NULL;
    g_autofree char *prefix = given ? g_strconcat(given, ": ", NULL) : NULL;
    if (given && problem && g_str_has_prefix(problem, prefix))
        problem += strlen(prefix);
    if (given)
        text = g_strdup_printf(VARIABLE "=%s: %s", given, problem ? problem : "no such file");
    else if (problem)
        text = g_strdup_printf("%s cannot be used: %s%s", title, problem, advice);
    else
        text = g_strdup_printf("%s is not installed%s", title, advice);
    return g_intern_string(text);
}

/* Whether NVIDIA's driver is here and finds a device. */
static gboolean
has_device(void)
{
    int (*init)(unsigned flags), (*device_count)(int *count), count = 0;
    GModule *module = g_module_open("libcuda.so.1", G_MODULE_BIND_LAZY | G_MODULE_BIND_LOCAL);
    if (!module)
        return FALSE;
    g_module_make_resident(module);
    return g_module_symbol(module, "cuInit", (gpointer *)&init) &&
           g_module_symbol(module, "cuDeviceGetCount", (gpointer *)&device_count) &&
           init(0) == CT_CUDA_SUCCESS && device_count(&count) == CT_CUDA_SUCCESS && count > 0;
}

static gpointer
choose_library(G_GNUC_UNUSED gpointer data)
{
    const char *given = ct_environment(VARIABLE);
    if (!given || !*given)
        return NULL;
    const gboolean any = g_str_equal(given, "any");
    if (!any && !g_str_equal(given, "emulator"))
        return g_strdup(given);
    if (any && has_device())
        return NULL;
    g_autofree char *folder = ct_own_folder("tests/emulator", CT_EMULATOR_DIR_FROM_PREFIX);
    return g_build_filename(folder ? folder : "", "libcornerturn-emulator.so", NULL);
}

/* The library that has all functions, "off", or NULL for NVIDIA's. */
static const char *
chosen_library(void)
{
    static GOnce once = G_ONCE_INIT;
    return g_once(&once, choose_library, NULL);
}

/* Opens library `name` ("cuda", "nvrtc", "cufft"), or the `given` one, and looks up its symbols.
 * Otherwise FALSE, and *reason, which is never freed, says what is missing. */
static gboolean
open_library(const char *given, const char *name, const char *const *symbols, guint n,
             gpointer *functions, const char **reason)
{
    if (given && g_str_equal(given, "off")) {
        *reason = VARIABLE "=off forbids it";
        return FALSE;
    }
    g_autofree char *problem = NULL;
    GModule *module = given                       ? open_in(NULL, given, &problem)
                      : g_str_equal(name, "cuda") ? open_in(NULL, "libcuda.so.1", &problem)
                                                  : open_versioned(name, &problem);
    if (!module) {
        *reason = say_why(name, given, problem);
        return FALSE;
    }
    /* The functions stay valid until the process ends. */
    g_module_make_resident(module);
    for (guint i = 0; i < n; i++) {
        if (g_module_symbol(module, symbols[i], &functions[i]))
            continue;
        g_autofree char *lack = g_strdup_printf("it lacks %s", symbols[i]);
        *reason = say_why(name, given, lack);
        return FALSE;
    }
    return TRUE;
}

static gpointer
open_driver(G_GNUC_UNUSED gpointer data)
{
    Opened *opened = g_new0(Opened, 1);
    opened->found =
        open_library(chosen_library(), "cuda", driver_symbols, G_N_ELEMENTS(driver_symbols),
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

/* `data`: the library that takes NVRTC's place, or NULL. */
static gpointer
open_nvrtc(gpointer data)
{
    Opened *opened = g_new0(Opened, 1);
    opened->found = open_library(data, "nvrtc", nvrtc_symbols, G_N_ELEMENTS(nvrtc_symbols),
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

static gpointer
open_graphs(G_GNUC_UNUSED gpointer data)
{
    Opened *opened = g_new0(Opened, 1);
    opened->found =
        open_library(chosen_library(), "cuda", graph_symbols, G_N_ELEMENTS(graph_symbols),
                     (gpointer *)&opened->graphs, &opened->reason);
    return opened;
}

const CtCudaGraphs *
ct_cuda_graphs(void)
{
    static GOnce once = G_ONCE_INIT;
    const Opened *opened = g_once(&once, open_graphs, NULL);
    return opened->found ? &opened->graphs : NULL;
}

static const CtNvrtc *
take_nvrtc(const Opened *opened, const char **reason)
{
    if (reason)
        *reason = opened->reason;
    return opened->found ? &opened->nvrtc : NULL;
}

const CtNvrtc *
ct_cuda_nvrtc(const char **reason)
{
    static GOnce once = G_ONCE_INIT;
    return take_nvrtc(g_once(&once, open_nvrtc, (gpointer)chosen_library()), reason);
}

const CtNvrtc *
ct_cuda_nvidia_nvrtc(const char **reason)
{
    static GOnce once = G_ONCE_INIT;
    const char *given = chosen_library();
    const gboolean is_off = given && g_str_equal(given, "off");
    return take_nvrtc(g_once(&once, open_nvrtc, is_off ? (gpointer)given : NULL), reason);
}

gboolean
ct_cuda_library(const char *name, const char *const *symbols, guint n, gpointer *functions,
                const char **reason)
{
    return open_library(chosen_library(), name, symbols, n, functions, reason);
}
