/* SPDX-License-Identifier: BSD-3-Clause */
/* Modules, their kernels, and launches. */
#include "emulator-abi.h"
#include "emulator-image.h"
#include "emulator.h"

#include <dlfcn.h>
#include <glib/gstdio.h>
#include <string.h>

enum {
    MAX_THREADS = 1024,
    MAX_LENGTH_Z = 64,
    MAX_GRID = 65535,
    UNASKED_SHARED = 48 * 1024,
    SHARED = 227 * 1024,
    SHARED_OF_MULTIPROCESSOR = 228 * 1024,
    SHARED_RESERVED = 1024, /* of each block, for the system */
    THREADS_OF_MULTIPROCESSOR = 2048,
    BLOCKS_OF_MULTIPROCESSOR = 32,
    REGISTERS = 32,
};

struct CtCuFunctionOpaque {
    Context *context;
    const CtKernelDescription *kernel;
    int shared_limit; /* the most bytes of dynamic shared memory */
};

struct CtCuModuleOpaque {
    Context *context;
    void *library;
    char *path;
    struct CtCuFunctionOpaque *functions;
    unsigned n_functions;
};

typedef struct {
    Operation operation;
    const CtKernelDescription *kernel;
    unsigned grid[3], block[3];
    size_t shared_bytes;
    gboolean faults;
    void **arguments; /* pointers, followed by the values */
} LaunchOperation;

static void
module_free(CtCuModule module)
{
    if (module->library)
        dlclose(module->library);
    g_unlink(module->path);
    g_free(module->path);
    g_free(module->functions);
    g_free(module);
}

int
cuModuleLoadData(CtCuModule *result, const void *image)
{
    ENTER(context);
    gsize bytes;
    const void *object = emulator_image_object(image, &bytes);
    if (!object)
        return INVALID_IMAGE;
    CtCuModule module = g_new0(struct CtCuModuleOpaque, 1);
    module->context = context;
    module->path = emulator_image_path();
    if (g_file_set_contents(module->path, object, (gssize)bytes, NULL))
        module->library = dlopen(module->path, RTLD_NOW | RTLD_LOCAL);
    const CtModuleDescription *description =
        module->library ? dlsym(module->library, "ct_emulated_module") : NULL;
    if (!description || description->abi != CT_ABI) {
        const char *reason = module->library ? NULL : dlerror();
        g_printerr("cornerturn-emulator: a kernel does not load: %s\n", reason ?: "of old");
        module_free(module);
        return INVALID_IMAGE;
    }
    module->n_functions = description->n_kernels;
    module->functions = g_new(struct CtCuFunctionOpaque, module->n_functions);
    for (unsigned f = 0; f < module->n_functions; f++)
        module->functions[f] = (struct CtCuFunctionOpaque){
            .context = context, .kernel = &description->kernels[f], .shared_limit = UNASKED_SHARED};
    *result = module;
    emulator_count(EMULATOR_MODULE, 1);
    return 0;
}

int
cuModuleUnload(CtCuModule module)
{
    ENTER_ANYWAY(context);
    if (!module || module->context != context)
        return INVALID_HANDLE;
    emulator_context_wait(context);
    module_free(module);
    emulator_count(EMULATOR_MODULE, -1);
    return context->fault;
}

int
cuModuleGetFunction(CtCuFunction *function, CtCuModule module, const char *name)
{
    ENTER(context);
    if (!module || module->context != context)
        return INVALID_HANDLE;
    for (unsigned f = 0; f < module->n_functions; f++)
        if (strcmp(module->functions[f].kernel->name, name) == 0) {
            *function = &module->functions[f];
            return 0;
        }
    return NOT_FOUND;
}

static int
max_threads(CtCuFunction function)
{
    return function->kernel->max_threads ? (int)function->kernel->max_threads : MAX_THREADS;
}

int
cuFuncGetAttribute(int *value, int attribute, CtCuFunction function)
{
    ENTER(context);
    if (!function || function->context != context)
        return INVALID_HANDLE;
    switch (attribute) {
    case CT_CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = max_threads(function);
        return 0;
    case CT_CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: /* these are known only when it runs */
    case CT_CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
        *value = 0;
        return 0;
    case CT_CU_FUNC_ATTRIBUTE_NUM_REGS:
        *value = REGISTERS;
        return 0;
    case CT_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = function->shared_limit;
        return 0;
    default:
        return INVALID_VALUE;
    }
}

int
cuFuncSetAttribute(CtCuFunction function, int attribute, int value)
{
    ENTER(context);
    if (!function || function->context != context)
        return INVALID_HANDLE;
    if (attribute != CT_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value < 0 ||
        value > SHARED)
        return INVALID_VALUE;
    function->shared_limit = value;
    return 0;
}

int
cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CtCuFunction function, int threads,
                                            size_t shared_bytes)
{
    ENTER(context);
    if (!function || function->context != context)
        return INVALID_HANDLE;
    if (threads <= 0)
        return INVALID_VALUE;
    const int warps = (threads + CT_WARP - 1) / CT_WARP;
    int most = MIN(THREADS_OF_MULTIPROCESSOR / (warps * CT_WARP), BLOCKS_OF_MULTIPROCESSOR);
    most = MIN(most, (int)(SHARED_OF_MULTIPROCESSOR / (shared_bytes + SHARED_RESERVED)));
    if (threads > max_threads(function) || shared_bytes > (size_t)function->shared_limit)
        most = 0;
    *blocks = most;
    return 0;
}

static void
run_launch(Operation *operation, Stream *stream)
{
    const LaunchOperation *launch = (const LaunchOperation *)operation;
    if (launch->faults) {
        emulator_stream_context(stream)->fault = ILLEGAL_ADDRESS;
        return;
    }
    const Launch wanted = {
        .kernel = launch->kernel,
        .grid = {launch->grid[0], launch->grid[1], launch->grid[2]},
        .block = {launch->block[0], launch->block[1], launch->block[2]},
        .shared_bytes = launch->shared_bytes,
        .arguments = launch->arguments,
    };
    emulator_run(emulator_stream_runner(stream), &wanted);
}

static void
release_launch(Operation *operation)
{
    g_free(((LaunchOperation *)operation)->arguments);
}

/* Copies the values of the arguments. */
static void **
copy_arguments(const CtKernelDescription *kernel, void *const *arguments)
{
    enum { ALIGNMENT = 16 };
    const unsigned n = kernel->n_parameters;
    size_t bytes = 0;
    for (unsigned p = 0; p < n; p++)
        bytes += (kernel->parameter_bytes[p] + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    const size_t pointers = (n * sizeof(void *) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    void **copy = g_malloc0(pointers + bytes + 1);
    guint8 *at = (guint8 *)copy + pointers;
    for (unsigned p = 0; p < n; p++) {
        copy[p] = at;
        memcpy(at, arguments[p], kernel->parameter_bytes[p]);
        at += (kernel->parameter_bytes[p] + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    return copy;
}

void **
emulator_copy_arguments(CtCuFunction function, void *const *arguments)
{
    return copy_arguments(function->kernel, arguments);
}

int
cuFuncGetParamInfo(CtCuFunction function, size_t index, size_t *offset, size_t *bytes)
{
    ENTER(context);
    if (!function || function->context != context)
        return INVALID_HANDLE;
    if (index >= function->kernel->n_parameters)
        return INVALID_VALUE;
    *offset = 0;
    for (size_t p = 0; p < index; p++)
        *offset += function->kernel->parameter_bytes[p];
    *bytes = function->kernel->parameter_bytes[index];
    return 0;
}

int
cuLaunchKernel(CtCuFunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
               unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
               CtCuStream handle, void **arguments, void **extra)
{
    ENTER(context);
    Stream *stream;
    const int failure = emulator_stream(context, handle, TRUE, &stream);
    if (failure)
        return failure;
    if (!function || function->context != context)
        return INVALID_HANDLE;
    const guint64 threads = (guint64)block_x * block_y * block_z;
    if (grid_x == 0 || grid_y == 0 || grid_z == 0 || threads == 0 || grid_x > G_MAXINT32 ||
        grid_y > MAX_GRID || grid_z > MAX_GRID || block_x > MAX_THREADS || block_y > MAX_THREADS ||
        block_z > MAX_LENGTH_Z || threads > (guint64)max_threads(function) ||
        shared_bytes > (unsigned)function->shared_limit || extra)
        return INVALID_VALUE;
    LaunchOperation *launch = g_new(LaunchOperation, 1);
    *launch = (LaunchOperation){
        .operation = {.run = run_launch, .release = release_launch},
        .kernel = function->kernel,
        .grid = {grid_x, grid_y, grid_z},
        .block = {block_x, block_y, block_z},
        .shared_bytes = shared_bytes,
        .faults = emulator_injected("launch", TRUE),
        .arguments = copy_arguments(function->kernel, arguments),
    };
    emulator_enqueue(stream, &launch->operation);
    return 0;
}
