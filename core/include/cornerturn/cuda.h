/* SPDX-License-Identifier: BSD-3-Clause */
/* The interface for cuda variants: a device, its memory, kernels compiled for it at run time, and
 * the queue on which the work of a firing is enqueued.
 *
 * A cuda variant is host code in C (x-cuda.c) and kernels in CUDA C++ (x.cu). Its `prepare` gets
 * the device (CtPrepare.device): it compiles kernels, allocates memory for the whole run and
 * uploads tables. Its `work` is called once per firing, for all items, with blocks whose data are
 * device addresses. It enqueues launches, copies and fills on CtWork.queue, which run in order. It
 * never waits: the enqueued work runs later, after everything that its inputs depend on. The
 * planner and the scheduler take care of kinds of memory, streams, events, and copies between host
 * and device.
 *
 * In `work` of a cuda variant, blocks are in device memory, but the `validity` of a block is in
 * host memory; `scratch` is scratch_bytes of device memory for this firing alone; `counters` are in
 * device memory, and kernels add to them atomically. Blocks are packed, except that the strides of
 * axes slower than time are multiples of 16 bytes and may change from firing to firing: pass them
 * to kernels as arguments. A block may begin at any sample, so its data are aligned only to one
 * step along time. */
#pragma once

#include <cornerturn/export.h>
#include <glib.h>

G_BEGIN_DECLS

/* A GPU that the graph uses. A *dry* device is only an architecture, for compiling kernels without
 * a GPU: its memory is on the host, and nothing can be enqueued. */
typedef struct CtDevice CtDevice;
/* The queue on which the work of a firing is enqueued. */
typedef struct CtQueue CtQueue;
/* A kernel that is compiled and loaded. */
typedef struct CtKernel CtKernel;

/* ---- the device ---- */

typedef struct {
    char *name;         /* "NVIDIA H200" */
    guint index;        /* as in `cuda:1` */
    guint architecture; /* compute capability: 90 for 9.0 */
    guint n_multiprocessors;
    gsize shared_bytes;          /* the most shared memory of a block */
    gsize multiprocessor_shared; /* shared memory of a multiprocessor */
    gsize l2_bytes;
    gsize memory_bytes;
    gdouble bandwidth;   /* of its memory, in bytes per second, computed from clock and width of the
                            bus */
    gdouble peak;        /* single-precision operations per second, computed from the clock */
    guint64 reserved[8]; /* 0 */
} CtDeviceInfo;

CT_EXPORT const CtDeviceInfo *ct_device_info(const CtDevice *device);
/* Whether the device is only an architecture: then create no plans of libraries such as
 * cuFFT. */
CT_EXPORT gboolean ct_device_is_dry(const CtDevice *device);

/* Allocates device memory, cleared, aligned to 256 bytes; for `prepare`. `what` names its purpose
 * in the error. Freed by ct_device_free, which accepts NULL. */
CT_EXPORT gpointer ct_device_alloc(CtDevice *device, gsize bytes, const char *what, GError **error);
CT_EXPORT void ct_device_free(CtDevice *device, gpointer memory);
/* Copies from host memory and waits for the end of the copy; for `prepare`. */
CT_EXPORT gboolean ct_device_upload(CtDevice *device, gpointer to, gconstpointer from, gsize bytes,
                                    GError **error);

/* Whether this library of the CUDA toolkit exists; for `fits` of variants that need it. If not,
 * *reason says why, allocated. */
CT_EXPORT gboolean ct_device_has_library(const char *name, char **reason);
/* Opens a library of the CUDA toolkit by its name ("cufft") and looks up `n` of its symbols; for
 * `prepare`. The device is then current, as the library needs it. */
CT_EXPORT gboolean ct_device_library(CtDevice *device, const char *name, const char *const *symbols,
                                     guint n, gpointer *functions, GError **error);

/* ---- kernels ---- */

/* A kernel to be compiled. The source is a GResource, compiled as C++17 for the device's
 * architecture; it may include "cornerturn/kernel.h", the headers of the kit for kernels
 * (<cornerturn/kit/device-map-kernel.h>, …) and the resources in `headers` by the last part of
 * their names. The library has its own copies of the first two; for reading, they are installed in
 * the folder that `pkg-config --variable=kerneldir cornerturn` prints. Shapes, types and tuning
 * become constants through `defines`. */
typedef struct {
    const char *name;                  /* of the __global__ function, extern "C" */
    const char *source;                /* "/cornerturn/plugins/fir/fir.cu" */
    const char *const *headers;        /* resources, NULL-terminated; NULL: none */
    const char *const *defines;        /* "N_TAPS=8", NULL-terminated; NULL: none */
    gsize shared_bytes;                /* the most dynamic shared memory of a launch */
    gboolean may_spill;                /* tests for spilled registers ignore this kernel */
    const struct CtEpilogue *epilogue; /* CtPrepare.epilogue; NULL: none */
    const struct CtEpilogue *prologue; /* CtPrepare.prologue; NULL: none */
    guint64 reserved[2];               /* 0 */
} CtKernelSpec;

/* Compiles a kernel, or reads it from the cache on disk, and loads it; for `prepare`. The error
 * contains the compiler's messages. */
CT_EXPORT CtKernel *ct_kernel_new(CtDevice *device, const CtKernelSpec *spec, GError **error);
/* Accepts NULL. */
CT_EXPORT void ct_kernel_free(CtKernel *kernel);
/* The number of blocks of `threads` threads with `shared_bytes` of dynamic shared memory that a
 * multiprocessor holds at once; at least 1. */
CT_EXPORT guint ct_kernel_occupancy(const CtKernel *kernel, guint threads, gsize shared_bytes);

/* The C name of a type in kernels: "ct_ci8", see cornerturn/kernel.h. `type` is a CtType. */
CT_EXPORT const char *ct_kernel_type(gint type);

/* ---- enqueuing; for `work` ---- */

typedef struct {
    guint grid[3];
    guint block[3];
    gsize shared_bytes;  /* dynamic shared memory */
    guint64 reserved[4]; /* 0 */
} CtLaunch;

/* Launches a kernel. `arguments` are pointers to the kernel's arguments in order; they are read
 * before the function returns. A grid with a 0 enqueues nothing. */
CT_EXPORT gboolean ct_queue_launch(CtQueue *queue, const CtKernel *kernel, const CtLaunch *launch,
                                   gpointer *arguments, GError **error);
/* Copies from device memory to device memory. */
CT_EXPORT gboolean ct_queue_copy(CtQueue *queue, gpointer to, gconstpointer from, gsize bytes,
                                 GError **error);
/* Copies `rows` rows of `bytes` bytes each, which are `to_pitch` and `from_pitch` bytes apart. Both
 * may be in any memory that the device can access. */
CT_EXPORT gboolean ct_queue_copy_rows(CtQueue *queue, gpointer to, gsize to_pitch,
                                      gconstpointer from, gsize from_pitch, gsize bytes, gsize rows,
                                      GError **error);
/* Sets every byte of some device memory. */
CT_EXPORT gboolean ct_queue_fill(CtQueue *queue, gpointer to, guint8 value, gsize bytes,
                                 GError **error);
/* Uploads a small amount of host memory, which is read before the function returns. Returns its
 * address in device memory, valid for this firing; NULL with an error. CtPrepare.upload_bytes must
 * be at least the sum of a firing's uploads, each rounded up to 256 bytes. */
CT_EXPORT gpointer ct_queue_upload(CtQueue *queue, gconstpointer data, gsize bytes, GError **error);
/* The CUstream of the queue, for libraries. */
CT_EXPORT gpointer ct_queue_stream(const CtQueue *queue);

G_END_DECLS
