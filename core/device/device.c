/* SPDX-License-Identifier: BSD-3-Clause */
/* Devices: finding them, their contexts and their memory. */
#include "device.h"

#include "model/quantity.h"
#include "model/topology.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The driver aligns memory to this; a dry device does too. */
#define ALIGNMENT 256

/* Single-precision operations per clock of a multiprocessor: 128 fused multiply-adds. */
static const gdouble operations_per_clock = 2 * 128;

struct CtDevice {
    CtDeviceInfo info;
    const CtCudaDriver *driver; /* NULL: dry */
    CtCuDevice handle;
    CtCuContext context;
    pthread_mutex_t lock;
    GHashTable *sizes; /* address → bytes */
    gsize allocated;
    gboolean reuses;
    GArray *spare; /* of Spare: freed, for later use */
    GHashTable *kernels;
    CtDeviceCosts costs;
};

/* Memory that is free. */
typedef struct {
    gsize bytes;
    gpointer memory;
} Spare;

typedef struct {
    guint n;
    CtDeviceInfo *info;
    const char *reason;
    gdouble seconds; /* the time that the search took */
} Found;

/* ---- the devices of the machine ---- */

static gint
attribute(const CtCudaDriver *driver, CtCuDevice handle, gint which)
{
    int value = 0;
    driver->device_attribute(&value, which, handle);
    return value;
}

static gboolean
describe(const CtCudaDriver *driver, guint index, CtDeviceInfo *info)
{
    CtCuDevice handle;
    char name[256] = "";
    size_t bytes = 0;
    if (driver->device_get(&handle, (int)index) != CT_CUDA_SUCCESS ||
        driver->device_name(name, sizeof name, handle) != CT_CUDA_SUCCESS ||
        driver->device_memory(&bytes, handle) != CT_CUDA_SUCCESS)
        return FALSE;
    const gdouble memory_clock =
        1e3 * attribute(driver, handle, CT_CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
    const gdouble bus = attribute(driver, handle, CT_CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
    const gdouble clock = 1e3 * attribute(driver, handle, CT_CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
    const gint multiprocessors =
        attribute(driver, handle, CT_CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    *info = (CtDeviceInfo){
        .name = g_strdup(name),
        .index = index,
        .architecture =
            (guint)(10 *
                        attribute(driver, handle, CT_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                    attribute(driver, handle, CT_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)),
        .n_multiprocessors = (guint)multiprocessors,
        .shared_bytes = (gsize)attribute(driver, handle,
                                         CT_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
        .multiprocessor_shared = (gsize)attribute(
            driver, handle, CT_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
        .l2_bytes = (gsize)attribute(driver, handle, CT_CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE),
        .memory_bytes = bytes,
        /* Two transfers per clock. */
        .bandwidth = 2 * memory_clock * bus / 8,
        .peak = clock * multiprocessors * operations_per_clock,
    };
    return TRUE;
}

static gpointer
find_devices(G_GNUC_UNUSED gpointer data)
{
    Found *found = g_new0(Found, 1);
    const gint64 from = g_get_monotonic_time();
    const CtCudaDriver *driver = ct_cuda_driver(&found->reason);
    int n = 0;
    if (!driver)
        return found;
    if (driver->device_count(&n) != CT_CUDA_SUCCESS || n <= 0) {
        found->reason = "the driver finds none";
        return found;
    }
    found->info = g_new0(CtDeviceInfo, n);
    /* Devices keep the driver's order without gaps: device i is found->info[i]. */
    while (found->n < (guint)n && describe(driver, found->n, &found->info[found->n]))
        found->n++;
    if (found->n == 0)
        found->reason = "the driver does not describe the one it has";
    /* Without the compiler, devices are of no use. */
    else if (!ct_cuda_nvrtc(&found->reason))
        found->n = 0;
    found->seconds = (gdouble)(g_get_monotonic_time() - from) * 1e-6;
    return found;
}

/* The search is done once. */
static const Found *
found_devices(void)
{
    static GOnce once = G_ONCE_INIT;
    return g_once(&once, find_devices, NULL);
}

guint
ct_devices(const CtDeviceInfo **info, const char **reason)
{
    const Found *found = found_devices();
    if (info)
        *info = found->info;
    if (reason)
        *reason = found->reason;
    return found->n;
}

gboolean
ct_device_are_peers(guint from, guint to)
{
    const CtCudaDriver *driver = ct_cuda_driver(NULL);
    CtCuDevice a, b;
    int can = 0;
    return driver && driver->device_get(&a, (int)from) == CT_CUDA_SUCCESS &&
           driver->device_get(&b, (int)to) == CT_CUDA_SUCCESS &&
           driver->can_access_peer(&can, a, b) == CT_CUDA_SUCCESS && can;
}

gboolean
ct_device_bus(guint index, char bus[CT_BUS_BYTES])
{
    const CtCudaDriver *driver = ct_cuda_driver(NULL);
    CtCuDevice handle;
    return driver && driver->device_get(&handle, (int)index) == CT_CUDA_SUCCESS &&
           driver->device_bus_id(bus, CT_BUS_BYTES, handle) == CT_CUDA_SUCCESS;
}

gint
ct_device_numa(guint index)
{
    char bus[CT_BUS_BYTES];
    return ct_device_bus(index, bus) ? ct_topology_numa_of_bus(bus) : CT_NO_NUMA;
}

/* ---- one device ---- */

CtDevice *
ct_device_open(guint index, GError **error)
{
    const CtDeviceInfo *info;
    const char *reason;
    const guint n = ct_devices(&info, &reason);
    if (index >= n) {
        if (n == 0)
            g_set_error(error, CT_ERROR, CT_ERROR_DEVICE, "cuda is not available: %s", reason);
        else
            g_set_error(error, CT_ERROR, CT_ERROR_DEVICE,
                        "there is no CUDA device %u, only 0 to %u", index, n - 1);
        return NULL;
    }
    const gint64 from = g_get_monotonic_time();
    g_autoptr(CtDevice) device = g_new0(CtDevice, 1);
    pthread_mutex_init(&device->lock, NULL);
    device->sizes = g_hash_table_new(NULL, NULL);
    device->spare = g_array_new(FALSE, FALSE, sizeof(Spare));
    device->kernels = g_hash_table_new(g_str_hash, g_str_equal);
    device->info = info[index];
    device->info.name = g_strdup(info[index].name);
    device->driver = ct_cuda_driver(NULL);
    if (!ct_device_check(device, device->driver->device_get(&device->handle, (int)index), error,
                         "opening it") ||
        !ct_device_check(device, device->driver->context_retain(&device->context, device->handle),
                         error, "opening it") ||
        !ct_device_enter(device, error))
        return NULL;
    device->costs.open = (gdouble)(g_get_monotonic_time() - from) * 1e-6;
    /* Device 0 also bears the time of starting the driver. */
    if (index == 0)
        device->costs.open += found_devices()->seconds;
    return g_steal_pointer(&device);
}

CtDevice *
ct_device_new_dry(guint architecture)
{
    CtDevice *device = g_new0(CtDevice, 1);
    pthread_mutex_init(&device->lock, NULL);
    device->sizes = g_hash_table_new(NULL, NULL);
    device->spare = g_array_new(FALSE, FALSE, sizeof(Spare));
    device->kernels = g_hash_table_new(g_str_hash, g_str_equal);
    /* Architectures with the large shared memory: 8.0, and 9.0 up to 12.0. */
    const gboolean is_large = architecture == 80 || (architecture >= 90 && architecture < 120);
    device->info = (CtDeviceInfo){
        .name = g_strdup_printf("sm_%u", architecture),
        .architecture = architecture,
        .n_multiprocessors = 128,
        .shared_bytes = architecture == 80 ? 163 << 10
                        : is_large         ? 227 << 10
                                           : 99 << 10,
        .multiprocessor_shared = architecture == 80 ? 164 << 10
                                 : is_large         ? 228 << 10
                                                    : 100 << 10,
        .l2_bytes = 32 << 20,
        .memory_bytes = (gsize)16 << 30,
        .bandwidth = 2e12,
        .peak = 20e12,
    };
    return device;
}

void
ct_device_close(CtDevice *device)
{
    if (!device)
        return;
    ct_device_reuse(device, FALSE);
    if (device->context)
        device->driver->context_release(device->handle);
    g_hash_table_unref(device->sizes);
    g_hash_table_unref(device->kernels);
    g_array_unref(device->spare);
    pthread_mutex_destroy(&device->lock);
    g_free(device->info.name);
    g_free(device);
}

GPtrArray *
ct_devices_keep_open(void)
{
    GPtrArray *devices = g_ptr_array_new_with_free_func((GDestroyNotify)ct_device_close);
    const guint n = ct_devices(NULL, NULL);
    for (guint d = 0; d < n; d++) {
        CtDevice *device = ct_device_open(d, NULL);
        if (device)
            g_ptr_array_add(devices, device);
    }
    return devices;
}

const CtDeviceInfo *
ct_device_info(const CtDevice *device)
{
    return &device->info;
}

gboolean
ct_device_is_dry(const CtDevice *device)
{
    return !device->driver;
}

const CtCudaDriver *
ct_device_driver(const CtDevice *device)
{
    return device->driver;
}

CtCuContext
ct_device_context(const CtDevice *device)
{
    return device->context;
}

gboolean
ct_device_check(const CtDevice *device, CtCuResult result, GError **error, const char *doing, ...)
{
    if (result == CT_CUDA_SUCCESS)
        return TRUE;
    const char *name = NULL, *text = NULL;
    device->driver->error_name(result, &name);
    device->driver->error_string(result, &text);
    va_list arguments;
    va_start(arguments, doing);
    g_autofree char *what = g_strdup_vprintf(doing, arguments);
    va_end(arguments);
    g_set_error(error, CT_ERROR,
                result == CT_CUDA_ERROR_OUT_OF_MEMORY ? CT_ERROR_MEMORY : CT_ERROR_DEVICE,
                "device %u (%s): %s: %s (%s)", device->info.index, device->info.name, what,
                name ? name : "unknown error", text ? text : "the driver has no words for it");
    return FALSE;
}

gboolean
ct_device_enter(CtDevice *device, GError **error)
{
    return !device->driver || ct_device_check(device, device->driver->context_set(device->context),
                                              error, "making it current");
}

gboolean
ct_device_has_library(const char *name, char **reason)
{
    const char *lack;
    const gboolean there = ct_cuda_library(name, NULL, 0, NULL, &lack);
    if (!there)
        *reason = g_strdup(lack);
    return there;
}

gboolean
ct_device_library(CtDevice *device, const char *name, const char *const *symbols, guint n,
                  gpointer *functions, GError **error)
{
    const char *reason;
    if (ct_cuda_library(name, symbols, n, functions, &reason))
        return ct_device_enter(device, error);
    g_set_error(error, CT_ERROR, CT_ERROR_DEVICE, "device %u (%s): %s", device->info.index,
                device->info.name, reason);
    return FALSE;
}

GHashTable *
ct_device_lock_kernels(CtDevice *device)
{
    pthread_mutex_lock(&device->lock);
    return device->kernels;
}

void
ct_device_unlock_kernels(CtDevice *device)
{
    pthread_mutex_unlock(&device->lock);
}

/* ---- memory ---- */

/* Takes spare memory of this size; NULL: there is none. */
static gpointer
take_spare(CtDevice *device, gsize bytes)
{
    gpointer memory = NULL;
    pthread_mutex_lock(&device->lock);
    for (guint i = 0; i < device->spare->len && !memory; i++) {
        const Spare *spare = &g_array_index(device->spare, Spare, i);
        if (spare->bytes != bytes)
            continue;
        memory = spare->memory;
        g_array_remove_index_fast(device->spare, i);
    }
    pthread_mutex_unlock(&device->lock);
    return memory;
}

static void
free_spare(CtDevice *device)
{
    pthread_mutex_lock(&device->lock);
    for (guint i = 0; i < device->spare->len; i++)
        device->driver->free(GPOINTER_TO_SIZE(g_array_index(device->spare, Spare, i).memory));
    g_array_set_size(device->spare, 0);
    pthread_mutex_unlock(&device->lock);
}

void
ct_device_reuse(CtDevice *device, gboolean reuses)
{
    device->reuses = reuses && device->driver;
    if (!reuses && device->driver && ct_device_enter(device, NULL))
        free_spare(device);
}

static void
keep_size(CtDevice *device, gpointer memory, gsize bytes)
{
    pthread_mutex_lock(&device->lock);
    g_hash_table_insert(device->sizes, memory, GSIZE_TO_POINTER(bytes));
    device->allocated += bytes;
    pthread_mutex_unlock(&device->lock);
}

static void
say_memory(CtDevice *device, gsize bytes, const char *what, GError **error)
{
    size_t free = 0, total = 0;
    device->driver->memory_info(&free, &total);
    g_autofree char *wanted = ct_format_bytes(bytes);
    g_autofree char *left = ct_format_bytes(free);
    g_autofree char *all = ct_format_bytes(total);
    g_set_error(error, CT_ERROR, CT_ERROR_MEMORY,
                "device %u (%s): memory for %s: wants %s, but %s of %s are free",
                device->info.index, device->info.name, what, wanted, left, all);
}

gpointer
ct_device_alloc(CtDevice *device, gsize bytes, const char *what, GError **error)
{
    bytes = MAX(bytes, 1);
    if (!device->driver) {
        gpointer memory = g_aligned_alloc0(bytes, 1, ALIGNMENT);
        keep_size(device, memory, bytes);
        return memory;
    }
    CtCuAddress address = 0;
    const gint64 from = g_get_monotonic_time();
    if (!ct_device_enter(device, error))
        return NULL;
    CtCuResult result = CT_CUDA_SUCCESS;
    address = GPOINTER_TO_SIZE(take_spare(device, bytes));
    if (!address)
        result = device->driver->alloc(&address, bytes);
    if (result == CT_CUDA_ERROR_OUT_OF_MEMORY && device->reuses) {
        free_spare(device);
        result = device->driver->alloc(&address, bytes);
    }
    if (result == CT_CUDA_ERROR_OUT_OF_MEMORY) {
        say_memory(device, bytes, what, error);
        return NULL;
    }
    if (!ct_device_check(device, result, error, "memory for %s", what))
        return NULL;
    const gpointer memory = GSIZE_TO_POINTER(address);
    keep_size(device, memory, bytes);
    if (!ct_device_check(device, device->driver->fill(address, 0, bytes, NULL), error,
                         "clearing memory for %s", what) ||
        !ct_device_check(device, device->driver->stream_synchronize(NULL), error,
                         "clearing memory for %s", what)) {
        ct_device_free(device, memory);
        return NULL;
    }
    const CtDeviceCosts costs = {.memory = (gdouble)(g_get_monotonic_time() - from) * 1e-6};
    ct_device_add_costs(device, &costs);
    return memory;
}

void
ct_device_free(CtDevice *device, gpointer memory)
{
    if (!memory)
        return;
    pthread_mutex_lock(&device->lock);
    const Spare spare = {GPOINTER_TO_SIZE(g_hash_table_lookup(device->sizes, memory)), memory};
    device->allocated -= spare.bytes;
    g_hash_table_remove(device->sizes, memory);
    if (device->reuses)
        g_array_append_val(device->spare, spare);
    pthread_mutex_unlock(&device->lock);
    if (device->reuses)
        return;
    if (!device->driver)
        g_aligned_free(memory);
    else if (ct_device_enter(device, NULL))
        device->driver->free(GPOINTER_TO_SIZE(memory));
}

gsize
ct_device_allocated(const CtDevice *device)
{
    return device->allocated;
}

CtDeviceCosts
ct_device_costs(CtDevice *device)
{
    pthread_mutex_lock(&device->lock);
    const CtDeviceCosts costs = device->costs;
    pthread_mutex_unlock(&device->lock);
    return costs;
}

void
ct_device_add_costs(CtDevice *device, const CtDeviceCosts *costs)
{
    pthread_mutex_lock(&device->lock);
    device->costs.open += costs->open;
    device->costs.memory += costs->memory;
    device->costs.compile += costs->compile;
    device->costs.load += costs->load;
    device->costs.n_compiled += costs->n_compiled;
    device->costs.n_cached += costs->n_cached;
    pthread_mutex_unlock(&device->lock);
}

gboolean
ct_device_upload(CtDevice *device, gpointer to, gconstpointer from, gsize bytes, GError **error)
{
    if (!device->driver)
        return TRUE;
    return ct_device_enter(device, error) &&
           ct_device_check(
               device,
               device->driver->copy(GPOINTER_TO_SIZE(to), GPOINTER_TO_SIZE(from), bytes, NULL),
               error, "sending %" G_GSIZE_FORMAT " bytes", bytes) &&
           ct_device_check(device, device->driver->stream_synchronize(NULL), error,
                           "sending %" G_GSIZE_FORMAT " bytes", bytes);
}

gboolean
ct_device_reach(CtDevice *device, CtDevice *peer, GError **error)
{
    int can = 0;
    if (!ct_device_enter(device, error) ||
        !ct_device_check(device,
                         device->driver->can_access_peer(&can, device->handle, peer->handle), error,
                         "asking for a way to device %u", peer->info.index))
        return FALSE;
    if (!can)
        return TRUE;
    const CtCuResult result = device->driver->enable_peer(peer->context, 0);
    return result == CT_CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED ||
           ct_device_check(device, result, error, "opening a way to device %u", peer->info.index);
}
