/* SPDX-License-Identifier: BSD-3-Clause */
/* What the author of a cuda variant uses: a device, its memory, kernels compiled for it at run
 * time, and the queue on which a firing's work is enqueued.
 *
 * A cuda variant is host code in C (x-cuda.c) and kernels in CUDA C++ (x.cu). Its `prepare` gets
 * the device (CtPrepare.device): there it compiles kernels, allocates what it needs through the run
 * and sends tables. Its `work` is called once a firing, for all items, with blocks whose data are
 * device addresses, and enqueues: launches, copies and fills on CtWork.queue, in order. It never
 * waits; what it enqueues runs later, after all that its inputs depend on. Memory kinds, streams,
 * events and copies between host and device are the planner's and the scheduler's.
 *
 * In `work` of a cuda variant, blocks are device memory; `validity` of a block is host memory, as
 * ever; `scratch` is device memory of scratch_bytes for this firing alone; `counters` is device
 * memory, to which kernels add (atomically). CtBlock lies packed but for the axes outside time,
 * whose strides are multiples of 16 bytes and may change from firing to firing: kernels take those
 * as arguments. A block begins at any sample, so its data are aligned to an element of time only.
 */
#pragma once

#include <cornerturn/export.h>
#include <glib.h>

G_BEGIN_DECLS

/* A GPU that the graph uses; and one that has nothing but an architecture, for compiling kernels
 * where there is none (then memory is not backed and nothing can be enqueued). */
typedef struct CtDevice CtDevice;
/* Where a firing's work is enqueued. */
typedef struct CtQueue CtQueue;
/* A kernel, compiled and loaded. */
typedef struct CtKernel CtKernel;

/* ---- the device ---- */

typedef struct {
    char *name;         /* "NVIDIA H200" */
    guint index;        /* as in `cuda:1` */
    guint architecture; /* compute capability, 90 for 9.0 */
    guint n_multiprocessors;
    gsize shared_bytes;          /* shared memory that a block may have at most */
    gsize multiprocessor_shared; /* shared memory of a multiprocessor */
    gsize l2_bytes;
    gsize memory_bytes;
    gdouble bandwidth; /* of its memory, bytes per second, by clock and width of the bus */
    gdouble peak;      /* single-precision operations per second, by clock */
} CtDeviceInfo;

CT_EXPORT const CtDeviceInfo *ct_device_info(const CtDevice *device);
/* Whether it is only an architecture: libraries have no plans to make then. */
CT_EXPORT gboolean ct_device_is_dry(const CtDevice *device);

/* Memory of the device, zero, aligned to 256 bytes; for `prepare`. `what` names it in the error.
 * Freed by ct_device_free, which accepts NULL. */
CT_EXPORT gpointer ct_device_alloc(CtDevice *device, gsize bytes, const char *what, GError **error);
CT_EXPORT void ct_device_free(CtDevice *device, gpointer memory);
/* Copies from host memory and waits until it is there; for `prepare`. */
CT_EXPORT gboolean ct_device_upload(CtDevice *device, gpointer to, gconstpointer from, gsize bytes,
                                    GError **error);

/* Whether there is a further library of the CUDA toolkit; for `fits` of variants that need it.
 * Where there is none, *reason says why, allocated. */
CT_EXPORT gboolean ct_device_has_library(const char *name, char **reason);
/* Opens a further library of the CUDA toolkit by its name ("cufft") and looks up `n` of its
 * symbols; for `prepare`. The library then finds the device current. */
CT_EXPORT gboolean ct_device_library(CtDevice *device, const char *name, const char *const *symbols,
                                     guint n, gpointer *functions, GError **error);

/* ---- kernels ---- */

/* A kernel to compile. The source is a GResource, compiled as C++17 with the device's architecture;
 * it may include "cornerturn/kernel.h" and the resources in `headers` by their last name. Shapes,
 * types and tuning are constants of the compilation, through `defines`. */
typedef struct {
    const char *name;           /* of the __global__ function, extern "C" */
    const char *source;         /* "/cornerturn/plugins/fir/fir.cu" */
    const char *const *headers; /* resources, NULL-terminated; NULL: none */
    const char *const *defines; /* "N_TAPS=8", NULL-terminated; NULL: none */
    gsize shared_bytes;         /* dynamic shared memory of a launch, at most */
    gboolean may_spill;         /* local memory is no error where tests look for it */
} CtKernelSpec;

/* Compiles, or takes from the cache on disk, and loads; for `prepare`. The error has the words of
 * the compiler. */
CT_EXPORT CtKernel *ct_kernel_new(CtDevice *device, const CtKernelSpec *spec, GError **error);
/* Accepts NULL. */
CT_EXPORT void ct_kernel_free(CtKernel *kernel);
/* Blocks of `threads` threads with `shared_bytes` of dynamic shared memory that a multiprocessor
 * holds at once; at least 1. */
CT_EXPORT guint ct_kernel_occupancy(const CtKernel *kernel, guint threads, gsize shared_bytes);

/* The C name of a type in kernels: "ct_ci8", see cornerturn/kernel.h. `type` is a CtType. */
CT_EXPORT const char *ct_kernel_type(gint type);

/* ---- enqueuing; for `work` ---- */

typedef struct {
    guint grid[3];
    guint block[3];
    gsize shared_bytes; /* dynamic */
} CtLaunch;

/* `arguments` are pointers to the kernel's arguments in their order, read before it returns. A grid
 * with a 0 enqueues nothing. */
CT_EXPORT gboolean ct_queue_launch(CtQueue *queue, const CtKernel *kernel, const CtLaunch *launch,
                                   gpointer *arguments, GError **error);
/* From device memory to device memory. */
CT_EXPORT gboolean ct_queue_copy(CtQueue *queue, gpointer to, gconstpointer from, gsize bytes,
                                 GError **error);
/* `rows` rows of `bytes` bytes each, `to_pitch` and `from_pitch` bytes apart, between any places
 * that the device reaches. */
CT_EXPORT gboolean ct_queue_copy_rows(CtQueue *queue, gpointer to, gsize to_pitch,
                                      gconstpointer from, gsize from_pitch, gsize bytes, gsize rows,
                                      GError **error);
/* Sets every byte of a piece of device memory. */
CT_EXPORT gboolean ct_queue_fill(CtQueue *queue, gpointer to, guint8 value, gsize bytes,
                                 GError **error);
/* Sends a little from host memory, which is read before it returns, to memory of the device that
 * holds it for this firing: returns its address there. CtPrepare.upload_bytes must have said how
 * much a firing sends at most (each piece rounded up to 256 bytes). NULL with an error. */
CT_EXPORT gpointer ct_queue_upload(CtQueue *queue, gconstpointer data, gsize bytes, GError **error);
/* The CUstream, for libraries. */
CT_EXPORT gpointer ct_queue_stream(const CtQueue *queue);

G_END_DECLS
