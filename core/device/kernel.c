/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels: compiled by NVRTC for one graph, cached on disk, loaded on a device. */
#include "device.h"
#include "model/environment.h"
#include "model/unknown.h"

#include <cornerturn/kit/epilogue.h>
#include <gio/gio.h>
#include <stdatomic.h>
#include <string.h>

/* The headers that every kernel may include, and the folders in which they seem to be. */
static const struct {
    const char *folder, *resources, *name;
} common_headers[] = {
    {"cornerturn", "/cornerturn/kernel", "kernel.h"},
    {"cornerturn", "/cornerturn/kernel", "warpgroup.h"},
    {"cornerturn/kit", "/cornerturn/kit", "convert-kernel.h"},
    {"cornerturn/kit", "/cornerturn/kit", "device-map-kernel.h"},
    {"cornerturn/kit", "/cornerturn/kit", "device-map-struct.h"},
    {"cornerturn/kit", "/cornerturn/kit", "device-rows-kernel.h"},
    {"cornerturn/kit", "/cornerturn/kit", "device-rows-struct.h"},
    {"cornerturn/kit", "/cornerturn/kit", "epilogue-forms-kernel.h"},
    {"cornerturn/kit", "/cornerturn/kit", "epilogue-kernel.h"},
    {"cornerturn/kit", "/cornerturn/kit", "epilogue-struct.h"},
    {"cornerturn/kit", "/cornerturn/kit", "fold-cells-kernel.h"},
    {"cornerturn/kit", "/cornerturn/kit", "fold-kernel.h"},
    {"cornerturn/kit", "/cornerturn/kit", "fold-struct.h"},
    {"cornerturn/kit", "/cornerturn/kit", "form-kernel.h"},
    {"cornerturn/kit", "/cornerturn/kit", "functions-kernel.h"},
    {"cornerturn/kit", "/cornerturn/kit", "group-kernel.h"},
    {"cornerturn/kit", "/cornerturn/kit", "join-kernel.h"},
    {"cornerturn/kit", "/cornerturn/kit", "kernel.h"},
    {"cornerturn/kit", "/cornerturn/kit", "prologue-kernel.h"},
    {"cornerturn/kit", "/cornerturn/kit", "types-kernel.h"},
    {"cornerturn/kit", "/cornerturn/kit", "window-kernel.h"},
    {"cornerturn/kit", "/cornerturn/kit", "window-struct.h"},
};

/* Part of the key of a compiled kernel. Raise it when the compilation changes in a way that the
 * other parts of the key do not show. */
#define CACHE_VERSION "2"

struct CtKernel {
    CtDevice *device;
    CtCuModule module;
    CtCuFunction function;
    char *name;
    char *key;  /* all on which the loaded code depends */
    guint uses; /* by variants that asked for the same code */
    guint serial;
    GArray *arguments; /* of gsize: their sizes; NULL: not known */
};

/* All inputs of a compilation. */
typedef struct {
    const CtKernelSpec *spec;
    GPtrArray *texts;   /* of GBytes: the source, then the headers */
    GPtrArray *names;   /* of the headers, as they are included */
    GPtrArray *options; /* of char *; as they are passed to the compiler */
} Unit;

static void
unit_clear(Unit *unit)
{
    g_clear_pointer(&unit->texts, g_ptr_array_unref);
    g_clear_pointer(&unit->names, g_ptr_array_unref);
    g_clear_pointer(&unit->options, g_ptr_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Unit, unit_clear)

static gboolean
add_text(Unit *unit, const char *resource, const char *name, GError **error)
{
    GBytes *bytes = g_resources_lookup_data(resource, G_RESOURCE_LOOKUP_FLAGS_NONE, NULL);
    if (!bytes) {
        g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN, "kernel '%s': there is no resource %s",
                    unit->spec->name, resource);
        return FALSE;
    }
    g_ptr_array_add(unit->texts, bytes);
    if (name)
        g_ptr_array_add(unit->names, g_strdup(name));
    return TRUE;
}

static gboolean
has_name(const Unit *unit, const char *name)
{
    return g_ptr_array_find_with_equal_func(unit->names, name, g_str_equal, NULL);
}

/* The header that passes elements through the attached stages, and their files of kernels, which
 * epilogue and prologue may share. */
static gboolean
add_attached(Unit *unit, const CtEpilogue *attached, const char *header, const char *option,
             GError **error)
{
    if (!attached)
        return TRUE;
    g_ptr_array_add(unit->texts, g_bytes_new_static(attached->text, strlen(attached->text) + 1));
    g_ptr_array_add(unit->names, g_strdup(header));
    for (guint i = 0; attached->headers[i]; i++) {
        const char *resource = attached->headers[i];
        g_autofree char *folder = g_path_get_dirname(resource);
        g_autofree char *plugin = g_path_get_basename(folder);
        g_autofree char *file = g_path_get_basename(resource);
        g_autofree char *name = g_build_filename(plugin, file, NULL);
        if (!has_name(unit, name) && !add_text(unit, resource, name, error))
            return FALSE;
    }
    g_ptr_array_add(unit->options, g_strdup(option));
    return TRUE;
}

static gboolean
unit_init(Unit *unit, const CtKernelSpec *spec, guint architecture, GError **error)
{
    *unit = (Unit){.spec = spec};
    unit->texts = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
    unit->names = g_ptr_array_new_with_free_func(g_free);
    unit->options = g_ptr_array_new_with_free_func(g_free);
    if (!add_text(unit, spec->source, NULL, error))
        return FALSE;
    for (guint i = 0; i < G_N_ELEMENTS(common_headers); i++) {
        const char *name = common_headers[i].name;
        g_autofree char *resource = g_build_filename(common_headers[i].resources, name, NULL);
        g_autofree char *included = g_build_filename(common_headers[i].folder, name, NULL);
        if (!add_text(unit, resource, included, error))
            return FALSE;
    }
    for (guint i = 0; spec->headers && spec->headers[i]; i++) {
        g_autofree char *name = g_path_get_basename(spec->headers[i]);
        if (!add_text(unit, spec->headers[i], name, error))
            return FALSE;
    }
    if (!add_attached(unit, spec->epilogue, "cornerturn/epilogue.h", "-DCT_EPILOGUE", error) ||
        !add_attached(unit, spec->prologue, "cornerturn/prologue.h", "-DCT_PROLOGUE", error))
        return FALSE;
    /* 9.0 has instructions that only code for 9.0 alone may use (cornerturn/warpgroup.h). */
    g_ptr_array_add(unit->options, g_strdup_printf("--gpu-architecture=sm_%u%s", architecture,
                                                   architecture == 90 ? "a" : ""));
    g_ptr_array_add(unit->options, g_strdup("--std=c++17"));
    /* Reports registers and local memory in the log. */
    g_ptr_array_add(unit->options, g_strdup("--ptxas-options=-v"));
    for (guint i = 0; spec->defines && spec->defines[i]; i++)
        g_ptr_array_add(unit->options, g_strdup_printf("-D%s", spec->defines[i]));
    return TRUE;
}

/* ---- the cache on disk ---- */

/* The path of the cached image of this unit; an image has all kernels of its source. */
static char *
cache_path(const Unit *unit, const CtNvrtc *nvrtc)
{
    g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
    int major = 0, minor = 0, driver_version = 0;
    const CtCudaDriver *driver = ct_cuda_driver(NULL);
    nvrtc->version(&major, &minor);
    if (driver)
        driver->driver_version(&driver_version);
    const char *given = ct_environment("CORNERTURN_CUDA");
    g_autofree char *versions = g_strdup_printf(CACHE_VERSION " %d.%d %d %s", major, minor,
                                                driver_version, given ? given : "");
    g_checksum_update(sum, (const guchar *)versions, -1);
    for (guint i = 0; i < unit->options->len; i++) {
        const char *option = g_ptr_array_index(unit->options, i);
        g_checksum_update(sum, (const guchar *)option, (gssize)strlen(option) + 1);
    }
    for (guint i = 0; i < unit->texts->len; i++) {
        gsize bytes;
        const guchar *data = g_bytes_get_data(g_ptr_array_index(unit->texts, i), &bytes);
        g_checksum_update(sum, data, (gssize)bytes);
        g_checksum_update(sum, (const guchar *)"", 1);
    }
    g_autofree char *source = g_path_get_basename(unit->spec->source);
    g_autofree char *file = g_strdup_printf("%s-%.24s", source, g_checksum_get_string(sum));
    g_autofree char *cache = ct_cache_folder();
    return g_build_filename(cache, "kernels", file, NULL);
}

/* Reads a cached image. It has two files: the image, and a text whose first line is the image's
 * checksum. The checksum guards against a truncated image, since the driver is not told its
 * length. */
static GBytes *
read_cache(const char *path, char **log)
{
    g_autofree char *image = NULL;
    g_autofree char *log_path = g_strconcat(path, ".log", NULL);
    g_autofree char *image_path = g_strconcat(path, ".cubin", NULL);
    g_autofree char *text = NULL;
    gsize bytes;
    if (!g_file_get_contents(image_path, &image, &bytes, NULL) ||
        !g_file_get_contents(log_path, &text, NULL, NULL))
        return NULL;
    g_autofree char *sum =
        g_compute_checksum_for_data(G_CHECKSUM_SHA256, (const guchar *)image, bytes);
    const gsize length = strlen(sum);
    if (!g_str_has_prefix(text, sum) || text[length] != '\n')
        return NULL;
    *log = g_strdup(text + length + 1);
    return g_bytes_new_take(g_steal_pointer(&image), bytes);
}

/* A failure to write is not an error: the kernel is then compiled again the next time. */
static void
write_cache(const char *path, GBytes *image, const char *log)
{
    g_autofree char *folder = g_path_get_dirname(path);
    g_autofree char *log_path = g_strconcat(path, ".log", NULL);
    g_autofree char *image_path = g_strconcat(path, ".cubin", NULL);
    g_autofree char *sum = g_compute_checksum_for_bytes(G_CHECKSUM_SHA256, image);
    g_autofree char *text = g_strconcat(sum, "\n", log, NULL);
    gsize bytes;
    const char *data = g_bytes_get_data(image, &bytes);
    if (g_mkdir_with_parents(folder, 0777) != 0 || !g_file_set_contents(log_path, text, -1, NULL) ||
        !g_file_set_contents(image_path, data, (gssize)bytes, NULL))
        g_debug("compiled kernels cannot be kept in %s", folder);
}

/* ---- compiling ---- */

static char *
take_log(const CtNvrtc *nvrtc, CtNvrtcProgram program)
{
    size_t bytes = 0;
    if (nvrtc->log_bytes(program, &bytes) != 0 || bytes == 0)
        return g_strdup("");
    char *log = g_malloc0(bytes + 1);
    nvrtc->log(program, log);
    return log;
}

static GBytes *
compile(const Unit *unit, const CtNvrtc *nvrtc, char **log, GError **error)
{
    g_autofree const char **headers = g_new0(const char *, unit->texts->len);
    for (guint i = 1; i < unit->texts->len; i++)
        headers[i - 1] = g_bytes_get_data(unit->texts->pdata[i], NULL);
    CtNvrtcProgram program = NULL;
    if (nvrtc->create(&program, g_bytes_get_data(unit->texts->pdata[0], NULL), unit->spec->source,
                      (int)unit->names->len, headers,
                      (const char *const *)unit->names->pdata) != 0) {
        g_set_error(error, CT_ERROR, CT_ERROR_DEVICE, "kernel '%s': NVRTC takes no program",
                    unit->spec->name);
        return NULL;
    }
    const gboolean good = nvrtc->compile(program, (int)unit->options->len,
                                         (const char *const *)unit->options->pdata) == 0;
    *log = take_log(nvrtc, program);
    size_t bytes = 0;
    g_autofree char *image = NULL;
    if (good && nvrtc->image_bytes(program, &bytes) == 0 && bytes > 0) {
        image = g_malloc(bytes);
        if (nvrtc->image(program, image) != 0)
            g_clear_pointer(&image, g_free);
    }
    nvrtc->destroy(&program);
    if (!image) {
        g_autofree char *options = g_strjoinv(" ", (char **)unit->options->pdata);
        g_set_error(error, CT_ERROR, CT_ERROR_DEVICE,
                    "kernel '%s' of %s does not compile (%s):\n%s", unit->spec->name,
                    unit->spec->source, options, g_strchomp(*log));
        g_clear_pointer(log, g_free);
        return NULL;
    }
    return g_bytes_new_take(g_steal_pointer(&image), bytes);
}

/* *compiled is set to whether the image was not in the cache, where it is kept under `path`. */
static GBytes *
find_image(const Unit *unit, const CtNvrtc *nvrtc, const char *path, char **log, gboolean *compiled,
           GError **error)
{
    GBytes *image = read_cache(path, log);
    *compiled = !image;
    if (!image) {
        g_ptr_array_add(unit->options, NULL);
        unit->options->len--;
        image = compile(unit, nvrtc, log, error);
        if (image)
            write_cache(path, image, *log);
    }
    return image;
}

/* ---- loading ---- */

/* Looks for "12 bytes spill stores" in the assembler's log. */
static gboolean
finds_spills(const char *log)
{
    static const char wanted[] = " bytes spill stores";
    for (const char *found = strstr(log, wanted); found; found = strstr(found + 1, wanted)) {
        const char *number = found;
        while (number > log && g_ascii_isdigit(number[-1]))
            number--;
        if (g_ascii_strtoull(number, NULL, 10) > 0)
            return TRUE;
    }
    return FALSE;
}

/* Looks for messages that the assembler has serialised products of warpgroups, or has added a wait
 * for them. */
static gboolean
finds_waits(const char *log)
{
    return strstr(log, "wgmma.mma_async instructions are serialized") ||
           strstr(log, "warpgroup.wait is injected");
}

/* Refuses kernels that are slow for a reason that is in the assembler's log. Only dry devices do
 * so, for tests. */
static gboolean
check_log(const CtKernelSpec *spec, guint architecture, const char *log, GError **error)
{
    const char *fault = !spec->may_spill && finds_spills(log) ? "spills registers"
                        : finds_waits(log)                    ? "lets products of warpgroups wait"
                                                              : NULL;
    if (!fault)
        return TRUE;
    g_autofree char *defines =
        spec->defines ? g_strjoinv(" ", (char **)spec->defines) : g_strdup("");
    g_set_error(error, CT_ERROR, CT_ERROR_DEVICE, "kernel '%s' of %s (%s) %s on sm_%u:\n%s",
                spec->name, spec->source, defines, fault, architecture, log);
    return FALSE;
}

static void
find_arguments(CtKernel *self)
{
    static atomic_uint n_kernels;
    const CtCudaGraphs *graphs = ct_cuda_graphs();
    CtCuResult result = CT_CUDA_SUCCESS;
    gsize offset, bytes;
    self->serial = atomic_fetch_add(&n_kernels, 1);
    self->arguments = g_array_new(FALSE, FALSE, sizeof(gsize));
    while (graphs && result == CT_CUDA_SUCCESS) {
        result = graphs->parameter(self->function, self->arguments->len, &offset, &bytes);
        if (result == CT_CUDA_SUCCESS)
            g_array_append_val(self->arguments, bytes);
    }
    /* The driver refuses the number after the last. */
    if (!graphs || result != CT_CUDA_ERROR_INVALID_VALUE)
        g_clear_pointer(&self->arguments, g_array_unref);
}

static gboolean
load(CtKernel *self, const CtKernelSpec *spec, GBytes *image, GError **error)
{
    const CtCudaDriver *driver = ct_device_driver(self->device);
    const CtDeviceInfo *info = ct_device_info(self->device);
    if (spec->shared_bytes > info->shared_bytes) {
        g_set_error(error, CT_ERROR, CT_ERROR_DEVICE,
                    "device %u (%s): kernel '%s' wants %" G_GSIZE_FORMAT
                    " bytes of shared memory, but a block has at most %" G_GSIZE_FORMAT,
                    info->index, info->name, spec->name, spec->shared_bytes, info->shared_bytes);
        return FALSE;
    }
    if (!ct_device_enter(self->device, error) ||
        !ct_device_check(self->device,
                         driver->module_load(&self->module, g_bytes_get_data(image, NULL)), error,
                         "loading kernel '%s'", spec->name))
        return FALSE;
    if (!ct_device_check(self->device,
                         driver->module_function(&self->function, self->module, spec->name), error,
                         "finding kernel '%s'", spec->name))
        return FALSE;
    find_arguments(self);
    /* Above 48 KiB, static shared memory included, shared memory must be requested. */
    return spec->shared_bytes == 0 ||
           ct_device_check(self->device,
                           driver->function_set(self->function,
                                                CT_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                                (int)spec->shared_bytes),
                           error, "%" G_GSIZE_FORMAT " bytes of shared memory for kernel '%s'",
                           spec->shared_bytes, spec->name);
}

static void
destroy(CtKernel *kernel)
{
    if (kernel->module && ct_device_enter(kernel->device, NULL))
        ct_device_driver(kernel->device)->module_unload(kernel->module);
    if (kernel->arguments)
        g_array_unref(kernel->arguments);
    g_free(kernel->name);
    g_free(kernel->key);
    g_free(kernel);
}

/* ---- sharing, between all stages of the device and their threads ---- */

/* A kernel that is loaded already, with one more use; or NULL. */
static CtKernel *
find_loaded(CtDevice *device, const char *key)
{
    CtKernel *loaded = g_hash_table_lookup(ct_device_lock_kernels(device), key);
    if (loaded)
        loaded->uses++;
    ct_device_unlock_kernels(device);
    return loaded;
}

/* Lets others find the kernel. Returns the one that another thread has loaded meanwhile, if there
 * is one. */
static CtKernel *
share(CtKernel *kernel)
{
    GHashTable *kernels = ct_device_lock_kernels(kernel->device);
    CtKernel *other = g_hash_table_lookup(kernels, kernel->key);
    if (other)
        other->uses++;
    else
        g_hash_table_insert(kernels, kernel->key, kernel);
    ct_device_unlock_kernels(kernel->device);
    if (!other)
        return kernel;
    destroy(kernel);
    return other;
}

CtKernel *
ct_kernel_new(CtDevice *device, const CtKernelSpec *spec, GError **error)
{
    const guint architecture = ct_device_info(device)->architecture;
    const char *reason;
    const CtNvrtc *nvrtc =
        ct_device_is_dry(device) ? ct_cuda_nvidia_nvrtc(&reason) : ct_cuda_nvrtc(&reason);
    if (!nvrtc) {
        g_set_error(error, CT_ERROR, CT_ERROR_DEVICE, "kernel '%s' cannot be compiled: %s",
                    spec->name, reason);
        return NULL;
    }
    g_auto(Unit) unit = {0};
    if (!unit_init(&unit, spec, architecture, error))
        return NULL;
    g_autofree char *path = cache_path(&unit, nvrtc);
    g_autofree char *key =
        g_strdup_printf("%s %s %" G_GSIZE_FORMAT, path, spec->name, spec->shared_bytes);
    CtKernel *loaded_before = find_loaded(device, key);
    if (loaded_before)
        return loaded_before;
    g_autofree char *log = NULL;
    gboolean compiled;
    if (CT_RESERVED_IS_SET(spec)) {
        g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN, "kernel '%s' " CT_UNKNOWN_FAULT, spec->name);
        return NULL;
    }
    const gint64 from = g_get_monotonic_time();
    g_autoptr(GBytes) image = find_image(&unit, nvrtc, path, &log, &compiled, error);
    if (!image)
        return NULL;
    const gint64 found = g_get_monotonic_time();
    if (ct_device_is_dry(device) && !check_log(spec, architecture, log, error))
        return NULL;
    CtKernel *self = g_new0(CtKernel, 1);
    self->device = device;
    self->name = g_strdup(spec->name);
    self->key = g_steal_pointer(&key);
    self->uses = 1;
    const gboolean loaded = ct_device_is_dry(device) || load(self, spec, image, error);
    const gdouble to_find = (gdouble)(found - from) * 1e-6;
    const CtDeviceCosts costs = {
        .compile = compiled ? to_find : 0,
        .load = (compiled ? 0 : to_find) + (gdouble)(g_get_monotonic_time() - found) * 1e-6,
        .n_compiled = compiled,
        .n_cached = !compiled,
    };
    ct_device_add_costs(device, &costs);
    if (loaded)
        return share(self);
    destroy(self);
    return NULL;
}

void
ct_kernel_free(CtKernel *kernel)
{
    if (!kernel)
        return;
    GHashTable *kernels = ct_device_lock_kernels(kernel->device);
    const gboolean is_last = --kernel->uses == 0;
    if (is_last)
        g_hash_table_remove(kernels, kernel->key);
    ct_device_unlock_kernels(kernel->device);
    if (is_last)
        destroy(kernel);
}

guint
ct_kernel_occupancy(const CtKernel *kernel, guint threads, gsize shared_bytes)
{
    int blocks = 1;
    const CtCudaDriver *driver = ct_device_driver(kernel->device);
    if (driver && (!ct_device_enter(kernel->device, NULL) ||
                   driver->occupancy(&blocks, kernel->function, (int)threads, shared_bytes) !=
                       CT_CUDA_SUCCESS))
        blocks = 1;
    return (guint)MAX(blocks, 1);
}

CtCuFunction
ct_kernel_function(const CtKernel *kernel)
{
    return kernel->function;
}

guint
ct_kernel_serial(const CtKernel *kernel)
{
    return kernel->serial;
}

gint
ct_kernel_arguments(const CtKernel *kernel, const gsize **bytes)
{
    if (!kernel->arguments)
        return -1;
    *bytes = (const gsize *)kernel->arguments->data;
    return (gint)kernel->arguments->len;
}

const char *
ct_kernel_name(const CtKernel *kernel)
{
    return kernel->name;
}

const char *
ct_kernel_type(gint type)
{
    g_autofree char *name = g_strconcat("ct_", ct_type_info((CtType)type)->name, NULL);
    return g_intern_string(name);
}
