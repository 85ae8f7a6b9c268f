/* SPDX-License-Identifier: BSD-3-Clause */
/* The emulator reports the errors of programs and kernels, and makes calls fail as ordered. */
#include "emulator-test.h"
#include "sanitized.h"

enum { N = EMULATOR_THREADS };

/* ---- kernels that end the process ---- */

static const struct {
    const char *name;
    const char *source; /* the kernel's body */
    const char *words;  /* expected on standard error */
    const char *kind;   /* a sanitizer that reports it in other words */
} mistakes[] = {
    {"divergent",
     "if (threadIdx.x < 32)\n __syncthreads();\nelse {\n x[threadIdx.x] = 1;\n __syncthreads();\n}",
     "*wait at different barriers: test.cu:4: k, block (0 0 0), thread (0 0 0); test.cu:7*", NULL},
    {"stuck", "if (threadIdx.x % 2)\n __syncwarp();\nelse\n __syncthreads();",
     "*test.cu:4*__syncwarp waits for threads of its warp (mask ffffffff) that never come*", NULL},
    {"mismatch",
     "if (threadIdx.x % 2)\n __syncwarp();\nelse\n x[threadIdx.x] = __ballot_sync(0xffffffff, 1);",
     "*threads of a warp do different things together*", NULL},
    {"mask", "__syncwarp(1);", "*a mask that leaves it out*", NULL},
    {"misaligned", "*(long long *)(x + 1 + 2 * (threadIdx.x % 31)) = 1;",
     "*test.cu:3: k*not aligned to its type*", "undefined"},
    {"unaligned-shared", "__shared__ int s[64];\n((int4 *)s)->x = 1;",
     "*test.cu:4: k*not aligned to its type*", "undefined"},
    {"bounds", "int y[4] = {};\ny[n + 4] = 1;\nx[threadIdx.x] = y[threadIdx.x % 4];",
     "*test.cu:4: k*an index is out of bounds*", "undefined"},
    {"shared", "__shared__ char s[63];\nchar *p = s;\np[threadIdx.x] = 1;",
     "*k writes beside an array of 63 bytes of shared memory*", "address"},
    {"too-much-shared", "__shared__ char s[49153];\ns[0] = 1;", "*more than 48 KiB*", NULL},
    {"beside", "x[threadIdx.x + 1] = 0;", "*wrote beside an allocation of 256 bytes*", "address"},
    {"copy", "__shared__ alignas(16) int s[8];\nct(s + 1, x);",
     "*an asynchronous copy is not aligned*", NULL},
    {"no-phase", "__shared__ unsigned long long b;\nct_phases_wait(&b, 1);",
     "*test.cu:4: k*a barrier was not begun*", NULL},
    {"phase",
     "__shared__ unsigned long long b;\nif (threadIdx.x == 0)\n ct_phases_begin(&b, 65);\n"
     "__syncthreads();\nct_phases_arrive(&b);\nct_phases_wait(&b, 0);",
     "*test.cu:8: k*waits for the end of a phase that never comes*", NULL},
    {"product", "int d[32] = {};\nct_wgmma_s8<64>(d, 0ull, 0ull);",
     "*test.cu:4: k*a product of a warpgroup has no ct_wgmma_begin*", NULL},
    {"no-wait",
     "int d[32] = {};\nct_wgmma_begin();\nct_wgmma_s8<64>(d, 0ull, 0ull);\nct_wgmma_commit();",
     "*a thread ends before its products*", NULL},
    {"nowhere", "((volatile int *)16)[threadIdx.x] = 1;",
     "*k, block (0 0 0), thread (0 0 0): nothing can be accessed at 0x10*",
     "address|undefined|thread"},
    {"stack", "volatile char y[300000];\ny[0] = 1;",
     "*k, block (0 0 0), thread (0 0 0): its stack of 262144 bytes is full*", "address|thread"},
    {"zero", "x[threadIdx.x] = 7 % n;", "*an integer is divided by zero*",
     "address|undefined|thread"},
    {"assert", "assert(n > 0);", "*test.cu:3: k*the assertion `n > 0' fails*", NULL},
};

/* Launches k with memory for N ints and n = 0, and frees the memory. */
static void
run_body(const char *body)
{
    g_autofree char *source =
        g_strdup_printf("inline void ct(void *to, const void *from) { ct_cp_async16(to, from); }\n"
                        "extern \"C\" __global__ void k(int *x, int n) {\n%s\n}\n",
                        body);
    CtCuModule module;
    CtCuAddress x;
    const CtCuFunction function = emulator_test_kernel(source, &module);
    succeed(cu->alloc(&x, 4 * N));
    succeed(emulator_test_launch(function, NULL, x, 0));
    succeed(cu->free(x));
    succeed(cu->module_unload(module));
}

static void
test_mistake(gconstpointer data)
{
    const guint m = GPOINTER_TO_UINT(data);
    if (g_test_subprocess()) {
        if (emulator_test_begin())
            run_body(mistakes[m].source);
        return;
    }
    if (!emulator_test_begin())
        return;
    g_test_trap_subprocess(NULL, 0, 0);
    g_test_trap_assert_failed();
    g_auto(GStrv) kinds = g_strsplit(mistakes[m].kind ?: "", "|", 0);
    gboolean otherwise = FALSE;
    for (guint k = 0; kinds[k]; k++)
        otherwise |= is_sanitized(kinds[k]);
    if (!otherwise)
        g_test_trap_assert_stderr(mistakes[m].words);
}

/* ---- orders of threads ---- */

/* In a race, different orders of the threads give different results. */
static void
test_order(void)
{
    static const char body[] = "__shared__ int s[64];\n"
                               "s[threadIdx.x] = n;\n"
                               "__syncthreads();\n"
                               "s[threadIdx.x] = (int)threadIdx.x;\n"
                               "x[threadIdx.x] = s[63 - threadIdx.x];\n"
                               "if (threadIdx.x == 0 && x[0] != 0) __trap();\n";
    if (is_sanitized("thread")) {
        g_test_skip("the thread sanitizer tells at once");
        return;
    }
    if (g_test_subprocess()) {
        g_setenv("CORNERTURN_EMULATOR_ORDER", g_getenv("ORDER"), TRUE);
        if (emulator_test_begin())
            run_body(body);
        return;
    }
    if (!emulator_test_begin())
        return;
    g_setenv("ORDER", "", TRUE);
    g_test_trap_subprocess(NULL, 0, 0);
    g_test_trap_assert_passed();
    g_setenv("ORDER", "reverse", TRUE);
    g_test_trap_subprocess(NULL, 0, 0);
    g_test_trap_assert_failed();
}

/* ---- ordered failures ---- */

static void
fail_to_allocate(void)
{
    CtCuAddress x;
    gpointer pinned;
    succeed(cu->alloc(&x, 64));
    fail_with(CT_CUDA_ERROR_OUT_OF_MEMORY, cu->alloc(&x, 64));
    succeed(cu->alloc(&x, 64));
    fail_with(CT_CUDA_ERROR_OUT_OF_MEMORY, cu->host_alloc(&pinned, 64, 0));
    fail_with(719, cu->context_synchronize());
    succeed(cu->context_synchronize());
}

/* All calls fail after an asynchronous fault. */
static void
fail_to_run(void)
{
    CtCuModule module;
    CtCuAddress x, y;
    CtCuStream stream;
    CtCuEvent event;
    const CtCuFunction function = emulator_test_kernel(
        "extern \"C\" __global__ void k(int *x, int n) { x[threadIdx.x] = n; }", &module);
    succeed(cu->alloc(&x, 4 * N));
    succeed(cu->stream_create(&stream, CT_CU_STREAM_NON_BLOCKING));
    succeed(cu->event_create(&event, 0));
    succeed(emulator_test_launch(function, stream, x, 1));
    succeed(cu->stream_synchronize(stream));
    succeed(emulator_test_launch(function, stream, x, 2));
    succeed(cu->event_record(event, stream));
    fail_with(700, cu->event_synchronize(event));
    fail_with(700, cu->stream_synchronize(stream));
    fail_with(700, cu->alloc(&y, 4));
    fail_with(700, cu->context_synchronize());
    /* These release their resources although they fail. */
    fail_with(700, cu->free(x));
    fail_with(700, cu->event_destroy(event));
    fail_with(700, cu->stream_destroy(stream));
    fail_with(700, cu->module_unload(module));
    emulator_test_end();
    succeed(cu->init(0));
    g_assert_true(emulator_test_begin());
    succeed(cu->alloc(&x, EMULATOR_MEMORY));
    succeed(cu->free(x));
    emulator_test_end();
}

/* All calls fail after a device is lost. */
static void
lose_device(void)
{
    CtCuAddress x;
    CtCuStream stream;
    succeed(cu->alloc(&x, 64));
    fail_with(999, cu->stream_create(&stream, CT_CU_STREAM_NON_BLOCKING));
    fail_with(999, cu->fill(x, 0, 64, NULL));
    fail_with(999, cu->free(x));
}

/* Resources count until they are given back, or for good if their context is released first. */
static void
leave_things(void)
{
    CtCuAddress x, y;
    static CtCuEvent
        event; /* static, because a sanitizer only reports leaks that nothing points to */
    succeed(cu->alloc(&x, 64));
    succeed(cu->alloc(&y, 64));
    succeed(cu->event_create(&event, 0));
    succeed(cu->free(y));
    fail_with(719, cu->free(x));
    emulator_test_end();
    /* The emulator prints the leaks when the program ends. */
    g_setenv("CORNERTURN_EMULATOR_LEAKS", "1", TRUE);
}

static const struct {
    const char *name, *failures;
    void (*run)(void);
    const char *words; /* expected on standard error; NULL: anything */
} orders[] = {
    {"allocations", "cuMemAlloc_v2:2,cuMemHostAlloc:1,cuCtxSynchronize:1", fail_to_allocate},
    {"launch", "launch:2", fail_to_run},
    {"lost", "lost:2", lose_device},
    {"leaks", "cuMemFree_v2:2", leave_things,
     "cornerturn-emulator: not given back: 1 allocation, 1 event*"},
};

static void
test_failure(gconstpointer data)
{
    const guint o = GPOINTER_TO_UINT(data);
    if (g_test_subprocess()) {
        g_setenv("CORNERTURN_EMULATOR_FAIL", orders[o].failures, TRUE);
        if (emulator_test_begin())
            orders[o].run();
        return;
    }
    if (!emulator_test_begin())
        return;
    g_test_trap_subprocess(NULL, 0, 0);
    g_test_trap_assert_passed();
    if (orders[o].words)
        g_test_trap_assert_stderr(orders[o].words);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (guint m = 0; m < G_N_ELEMENTS(mistakes); m++) {
        g_autofree char *path = g_strconcat("/emulator-faults/mistake/", mistakes[m].name, NULL);
        g_test_add_data_func(path, GUINT_TO_POINTER(m), test_mistake);
    }
    g_test_add_func("/emulator-faults/order", test_order);
    for (guint o = 0; o < G_N_ELEMENTS(orders); o++) {
        g_autofree char *path = g_strconcat("/emulator-faults/failure/", orders[o].name, NULL);
        g_test_add_data_func(path, GUINT_TO_POINTER(o), test_failure);
    }
    return g_test_run();
}
