/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions for the emulator's tests: its driver, and kernels from a string. */
#pragma once

#include "../core/device/cuda-driver.h"

#include <string.h>

#define EMULATOR_MEMORY  ((gsize)64 << 20)
#define EMULATOR_THREADS 64

static const CtCudaDriver *cu;

#define succeed(call)           g_assert_cmpint(call, ==, CT_CUDA_SUCCESS)
#define fail_with(result, call) g_assert_cmpint(call, ==, result)

/* Makes two devices of 64 MiB, whose operations wait up to 0.3 ms; the thread's context is the
 * first one's. FALSE, and the test is skipped, if the driver is another one. */
static inline gboolean
emulator_test_begin(void)
{
    const char *path = g_getenv("CORNERTURN_CUDA"), *reason;
    if (!path || !strstr(path, "cornerturn-emulator")) {
        g_test_skip("CORNERTURN_CUDA does not name the emulator");
        return FALSE;
    }
    g_setenv("CORNERTURN_EMULATOR_DEVICES", "2", FALSE);
    g_setenv("CORNERTURN_EMULATOR_MEMORY", "67108864", FALSE);
    g_setenv("CORNERTURN_EMULATOR_JITTER", "300", FALSE);
    cu = ct_cuda_driver(&reason);
    g_assert_nonnull(cu);
    CtCuContext context;
    succeed(cu->context_retain(&context, 0));
    succeed(cu->context_set(context));
    return TRUE;
}

static inline void
emulator_test_end(void)
{
    succeed(cu->context_set(NULL));
    cu->context_release(0);
}

/* The image of a source; NULL, with the compiler's messages in *log, if it does not compile. */
static inline char *
emulator_test_compile(const char *source, const char *const *options, int n_options, char **log)
{
    const CtNvrtc *nvrtc = ct_cuda_nvrtc(NULL);
    CtNvrtcProgram program;
    size_t bytes;
    char *image = NULL;
    succeed(nvrtc->create(&program, source, "test.cu", 0, NULL, NULL));
    const gboolean good = nvrtc->compile(program, n_options, options) == 0;
    if (log) {
        succeed(nvrtc->log_bytes(program, &bytes));
        *log = g_malloc(bytes);
        succeed(nvrtc->log(program, *log));
    }
    if (good) {
        succeed(nvrtc->image_bytes(program, &bytes));
        image = g_malloc(bytes);
        succeed(nvrtc->image(program, image));
    }
    succeed(nvrtc->destroy(&program));
    return image;
}

/* The kernel `k` of a source, for the thread's context. */
static inline CtCuFunction
emulator_test_kernel(const char *source, CtCuModule *module)
{
    g_autofree char *log = NULL;
    g_autofree char *image = emulator_test_compile(source, NULL, 0, &log);
    CtCuFunction function;
    if (!image)
        g_error("%s", log);
    succeed(cu->module_load(module, image));
    succeed(cu->module_function(&function, *module, "k"));
    return function;
}

/* Launches a block. */
static inline CtCuResult
emulator_test_launch(CtCuFunction function, CtCuStream stream, CtCuAddress x, int n)
{
    gpointer arguments[] = {&x, &n};
    return cu->launch(function, 1, 1, 1, EMULATOR_THREADS, 1, 1, 0, stream, arguments, NULL);
}
