/* SPDX-License-Identifier: BSD-3-Clause */
/* The emulator's driver: settings, ordered failures, devices and contexts. */
#include "emulator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEVICES = 16, MAX_RULES = 8 };

/* CORNERTURN_EMULATOR_FAIL="cuMemAlloc_v2:3,cuMemHostAlloc:1+,launch:1,lost:40" */
typedef struct {
    char *symbol;
    atomic_int left;
    gboolean stays; /* all later calls fail as well */
} Rule;

static struct {
    pthread_once_t once;
    atomic_bool initialised;
    Settings settings;
    Rule rules[MAX_RULES];
    unsigned n_rules;
    Context contexts[MAX_DEVICES];
} emulator = {.once = PTHREAD_ONCE_INIT};

/* This is in memory that every thread has from its beginning, because the address sanitizer of gcc
 * 12 may confuse what the loader allocates later, and fails when it looks for leaks. */
static __thread Context *current __attribute__((tls_model("initial-exec")));

static guint64
number(const char *name, guint64 fallback)
{
    const char *text = g_getenv(name);
    return text && *text ? g_ascii_strtoull(text, NULL, 10) : fallback;
}

static void
read_rules(void)
{
    g_auto(GStrv) words = g_strsplit(g_getenv("CORNERTURN_EMULATOR_FAIL") ?: "", ",", MAX_RULES);
    for (unsigned w = 0; words[w]; w++) {
        g_auto(GStrv) parts = g_strsplit(words[w], ":", 2);
        if (!parts[0] || !parts[1])
            continue;
        Rule *rule = &emulator.rules[emulator.n_rules++];
        rule->symbol = g_strdup(parts[0]);
        rule->left = atoi(parts[1]);
        rule->stays = g_str_has_suffix(parts[1], "+");
    }
}

static void
begin(void)
{
    const char *order = g_getenv("CORNERTURN_EMULATOR_ORDER");
    emulator.settings = (Settings){
        .n_devices = (unsigned)MIN(number("CORNERTURN_EMULATOR_DEVICES", 1), MAX_DEVICES),
        .memory_bytes = number("CORNERTURN_EMULATOR_MEMORY", (guint64)2 << 30),
        .jitter = (unsigned)number("CORNERTURN_EMULATOR_JITTER", 0),
        .seed = (unsigned)number("CORNERTURN_EMULATOR_SEED", 1),
        .order = g_strcmp0(order, "reverse") == 0  ? ORDER_REVERSE
                 : g_strcmp0(order, "random") == 0 ? ORDER_RANDOM
                                                   : ORDER_FORWARD,
    };
    read_rules();
    for (int d = 0; d < MAX_DEVICES; d++) {
        emulator.contexts[d].device = d;
        pthread_mutex_init(&emulator.contexts[d].lock, NULL);
        emulator.contexts[d].streams = g_ptr_array_new();
    }
}

const Settings *
emulator_settings(void)
{
    pthread_once(&emulator.once, begin);
    return &emulator.settings;
}

int
emulator_injected(const char *symbol, int failure)
{
    emulator_settings();
    for (unsigned r = 0; r < emulator.n_rules; r++) {
        Rule *rule = &emulator.rules[r];
        if (strcmp(rule->symbol, symbol) != 0)
            continue;
        const int left = atomic_fetch_sub(&rule->left, 1);
        if (left == 1 || (left < 1 && rule->stays))
            return failure;
    }
    return 0;
}

void
emulator_fatal(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fputs("cornerturn-emulator: ", stderr);
    vfprintf(stderr, format, list);
    fputs("\n", stderr);
    va_end(list);
    abort();
}

static gboolean
allocates(const char *symbol)
{
    return strcmp(symbol, "cuMemAlloc_v2") == 0 || strcmp(symbol, "cuMemHostAlloc") == 0 ||
           strcmp(symbol, "cuMemCreate") == 0;
}

/* The checks of all calls, before a context is needed. */
static int
enter(const char *symbol)
{
    const int failure =
        emulator_injected(symbol, allocates(symbol) ? OUT_OF_MEMORY : LAUNCH_FAILED);
    return failure ? failure : emulator.initialised ? 0 : NOT_INITIALIZED;
}

int
emulator_enter_anyway(const char *symbol, Context **context)
{
    const int failure = enter(symbol);
    if (failure)
        return failure;
    if (!current || !current->uses)
        return INVALID_CONTEXT;
    *context = current;
    if (emulator_injected("lost", TRUE))
        current->fault = DEVICE_LOST;
    return 0;
}

int
emulator_enter(const char *symbol, Context **context)
{
    return emulator_enter_anyway(symbol, context) ?: (*context)->fault;
}

Context *
emulator_context(int device)
{
    return &emulator.contexts[device];
}

static gboolean
is_device(int device)
{
    return device >= 0 && (unsigned)device < emulator.settings.n_devices;
}

int
cuInit(unsigned flags)
{
    const int failure = emulator_injected(__func__, LAUNCH_FAILED);
    if (failure)
        return failure;
    if (flags)
        return INVALID_VALUE;
    if (emulator_settings()->n_devices == 0)
        return 100; /* CUDA_ERROR_NO_DEVICE */
    emulator.initialised = TRUE;
    return 0;
}

int
cuDriverGetVersion(int *version)
{
    *version = 13000;
    return 0;
}

static const struct {
    int result;
    const char *name, *text;
} errors[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {PEER_ALREADY_ENABLED, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED",
     "peer access is already enabled"},
    {HOST_MEMORY_ALREADY_REGISTERED, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
     "part or all of the requested memory range is already mapped"},
    {HOST_MEMORY_NOT_REGISTERED, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
     "pointer does not correspond to a registered memory region"},
    {LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {DEVICE_LOST, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

int
cuGetErrorName(CtCuResult result, const char **name)
{
    for (unsigned e = 0; e < G_N_ELEMENTS(errors); e++)
        if (errors[e].result == result) {
            *name = errors[e].name;
            return 0;
        }
    *name = NULL;
    return INVALID_VALUE;
}

int
cuGetErrorString(CtCuResult result, const char **text)
{
    for (unsigned e = 0; e < G_N_ELEMENTS(errors); e++)
        if (errors[e].result == result) {
            *text = errors[e].text;
            return 0;
        }
    *text = NULL;
    return INVALID_VALUE;
}

int
cuDeviceGetCount(int *count)
{
    const int failure = enter(__func__);
    if (!failure)
        *count = (int)emulator.settings.n_devices;
    return failure;
}

int
cuDeviceGet(CtCuDevice *device, int index)
{
    const int failure = enter(__func__);
    if (failure)
        return failure;
    if (!is_device(index))
        return INVALID_DEVICE;
    *device = index;
    return 0;
}

int
cuDeviceGetName(char *name, int length, CtCuDevice device)
{
    const int failure = enter(__func__);
    if (failure)
        return failure;
    if (!is_device(device))
        return INVALID_DEVICE;
    g_strlcpy(name, "Cornerturn Emulator", (gsize)length);
    return 0;
}

/* At a bus where no machine has a device. */
int
cuDeviceGetPCIBusId(char *id, int length, CtCuDevice device)
{
    const int failure = enter(__func__);
    if (failure)
        return failure;
    if (!is_device(device))
        return INVALID_DEVICE;
    g_snprintf(id, (gulong)length, "FFFF:%02X:00.0", (guint)device + 1);
    return 0;
}

/* The values of an H200, by the numbers in cuda.h. */
static const struct {
    int attribute, value;
} attributes[] = {
    {1, 1024},       /* the most threads of a block */
    {2, 1024},       /* the most along x */
    {3, 1024},       /* the most along y */
    {4, 64},         /* the most along z */
    {5, 2147483647}, /* the most blocks of a grid along x */
    {6, 65535},      /* the most along y */
    {7, 65535},      /* the most along z */
    {8, 49152},      /* bytes of shared memory of a block, unless it asks for more */
    {9, 65536},      /* bytes of constant memory */
    {10, 32},        /* threads of a warp */
    {12, 65536},     /* registers of a block */
    {CT_CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1980000},
    {CT_CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132},
    {CT_CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 3201000},
    {CT_CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 6144},
    {CT_CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 62914560},
    {39, 2048}, /* threads of a multiprocessor */
    {40, 3},    /* engines that copy */
    {41, 1},    /* host and device share addresses */
    {CT_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
    {CT_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
    {CT_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 233472},
    {82, 65536}, /* registers of a multiprocessor */
    {CT_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448},
    {CT_CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1},
    {106, 32}, /* blocks of a multiprocessor */
};

int
cuDeviceGetAttribute(int *value, int attribute, CtCuDevice device)
{
    const int failure = enter(__func__);
    if (failure)
        return failure;
    if (!is_device(device))
        return INVALID_DEVICE;
    for (unsigned a = 0; a < G_N_ELEMENTS(attributes); a++)
        if (attributes[a].attribute == attribute) {
            *value = attributes[a].value;
            return 0;
        }
    return INVALID_VALUE;
}

int
cuDeviceTotalMem_v2(size_t *bytes, CtCuDevice device)
{
    const int failure = enter(__func__);
    if (failure)
        return failure;
    if (!is_device(device))
        return INVALID_DEVICE;
    *bytes = emulator.settings.memory_bytes;
    return 0;
}

int
cuDevicePrimaryCtxRetain(CtCuContext *context, CtCuDevice device)
{
    const int failure = enter(__func__);
    if (failure)
        return failure;
    if (!is_device(device))
        return INVALID_DEVICE;
    atomic_fetch_add(&emulator.contexts[device].uses, 1);
    emulator_count(EMULATOR_CONTEXT, 1);
    *context = &emulator.contexts[device];
    return 0;
}

int
cuDevicePrimaryCtxRelease_v2(CtCuDevice device)
{
    const int failure = enter(__func__);
    if (failure)
        return failure;
    if (!is_device(device))
        return INVALID_DEVICE;
    Context *context = &emulator.contexts[device];
    if (!context->uses)
        return INVALID_CONTEXT;
    emulator_count(EMULATOR_CONTEXT, -1);
    if (atomic_fetch_sub(&context->uses, 1) == 1) {
        emulator_context_wait(context);
        emulator_streams_reset(context);
        emulator_memory_reset(context);
        context->fault = 0;
        context->peers = 0;
    }
    return 0;
}

int
cuCtxSetCurrent(CtCuContext context)
{
    const int failure = enter(__func__);
    if (failure)
        return failure;
    if (context && !context->uses)
        return INVALID_CONTEXT;
    current = context;
    return 0;
}

int
cuCtxSynchronize(void)
{
    ENTER(context);
    emulator_context_wait(context);
    return context->fault;
}

int
cuDeviceCanAccessPeer(int *can, CtCuDevice device, CtCuDevice peer)
{
    const int failure = enter(__func__);
    if (failure)
        return failure;
    if (!is_device(device) || !is_device(peer))
        return INVALID_DEVICE;
    *can = device != peer;
    return 0;
}

int
cuCtxEnablePeerAccess(CtCuContext peer, unsigned flags)
{
    ENTER(context);
    if (flags)
        return INVALID_VALUE;
    if (!peer || !peer->uses || peer == context)
        return INVALID_CONTEXT;
    const unsigned bit = 1U << peer->device;
    return atomic_fetch_or(&context->peers, bit) & bit ? PEER_ALREADY_ENABLED : 0;
}
