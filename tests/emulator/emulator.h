/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations for all files of the emulator: devices, contexts, kinds of memory, streams and their
 * operations.
 *
 * The emulator replaces libcuda, NVRTC and cuFFT: it exports their symbols and computes on the
 * processor. Addresses of a device are addresses of this process. Locks are pthread's, and a
 * stream's thread takes no lock that another stream's thread takes; so the thread sanitizer sees a
 * missing event or barrier as the race that it is on a GPU. */
#pragma once

#include "device/cuda-driver.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#define EMULATOR_EXPORT __attribute__((visibility("default")))

/* The exported functions, as the core declares them. */
#define EMULATOR_DECLARE(name, symbol, arguments) EMULATOR_EXPORT int symbol arguments;
CT_CUDA_DRIVER_FUNCTIONS(EMULATOR_DECLARE)
CT_CUDA_GRAPH_FUNCTIONS(EMULATOR_DECLARE)
CT_NVRTC_FUNCTIONS(EMULATOR_DECLARE)
/* Further functions for programs that have their own data on the device. */
EMULATOR_EXPORT int cuMemcpyHtoD_v2(CtCuAddress to, const void *from, size_t bytes);
EMULATOR_EXPORT int cuMemcpyDtoH_v2(void *to, CtCuAddress from, size_t bytes);

/* values of CUresult */
enum {
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_INITIALIZED = 3,
    INVALID_DEVICE = 101,
    INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    NOT_READY = 600,
    ILLEGAL_ADDRESS = 700,
    PEER_ALREADY_ENABLED = 704,
    HOST_MEMORY_ALREADY_REGISTERED = 712,
    HOST_MEMORY_NOT_REGISTERED = 713,
    LAUNCH_FAILED = 719,
    DEVICE_LOST = 999,
};

typedef struct CtCuContextOpaque Context;
typedef struct CtCuStreamOpaque Stream;
typedef struct Operation Operation;
typedef struct Recording Recording; /* one cuEventRecord: emulator-stream.c */
typedef struct Runner Runner;

/* The primary context of a device; there are no others. */
struct CtCuContextOpaque {
    int device;
    atomic_int uses;
    atomic_int fault;  /* after an asynchronous fault, the error that every call returns; 0: none */
    atomic_uint peers; /* bit d: it has access to device d */
    atomic_size_t used; /* bytes of the device's memory */
    pthread_mutex_t lock;
    GPtrArray *streams; /* guarded by lock; the first is the default stream */
};

/* ---- emulator-driver.c ---- */

/* Settings from the environment. */
typedef struct {
    unsigned n_devices;
    size_t memory_bytes;
    unsigned jitter; /* microseconds */
    unsigned seed;
    enum { ORDER_FORWARD, ORDER_REVERSE, ORDER_RANDOM } order;
} Settings;

const Settings *emulator_settings(void);
/* The error of a call of `symbol` if the environment orders one, otherwise 0. */
int emulator_injected(const char *symbol, int failure);
/* Begins every call with a context: sets the thread's context, or returns an error. */
int emulator_enter(const char *symbol, Context **context);
/* The same for calls that release something, which they do even after a fault, whose error they
 * return. */
int emulator_enter_anyway(const char *symbol, Context **context);
Context *emulator_context(int device);

#define ENTER_BY(enter, context)                                                                   \
    Context *context;                                                                              \
    do {                                                                                           \
        const int entered = enter(__func__, &context);                                             \
        if (entered)                                                                               \
            return entered;                                                                        \
    } while (0)
#define ENTER(context)        ENTER_BY(emulator_enter, context)
#define ENTER_ANYWAY(context) ENTER_BY(emulator_enter_anyway, context)

/* Prints what a program or a kernel did wrong, and ends the process. */
void emulator_fatal(const char *format, ...) G_GNUC_PRINTF(1, 2) G_GNUC_NORETURN;

/* ---- emulator-counts.c ---- */

typedef enum {
    EMULATOR_CONTEXT,
    EMULATOR_ALLOCATION,
    EMULATOR_PINNED,
    EMULATOR_REGISTRATION,
    EMULATOR_RESERVATION,
    EMULATOR_PHYSICAL,
    EMULATOR_MAPPING,
    EMULATOR_STREAM,
    EMULATOR_EVENT,
    EMULATOR_MODULE,
    EMULATOR_GRAPH,
    EMULATOR_GRAPH_EXEC,
    EMULATOR_PROGRAM,
    EMULATOR_PLAN,
    EMULATOR_N_RESOURCES,
} EmulatorResource;

/* Counts a resource that the program takes, or gives back. */
void emulator_count(EmulatorResource resource, int change);
/* The resources that were not given back, "2 events, 1 module", allocated; NULL: there are none.
 * Tests look this function up in the library. */
EMULATOR_EXPORT char *cornerturn_emulator_leaks(void);

/* ---- emulator-graph.c ---- */

/* The number of graphs that were launched. Tests look it up. */
EMULATOR_EXPORT unsigned cornerturn_emulator_graph_launches(void);

/* ---- emulator-memory.c ---- */

typedef enum {
    PLACE_INVALID, /* not entirely within one allocation */
    PLACE_PAGEABLE,
    PLACE_PINNED,
    PLACE_DEVICE,
} Place;

Place emulator_place(CtCuAddress address, size_t bytes);
/* Adds `bytes` to the device's used memory; FALSE: there is not enough. */
gboolean emulator_charge(Context *context, size_t bytes);
void emulator_memory_reset(Context *context);

/* ---- emulator-virtual.c ---- */

/* Whether an address is in a reserved range; *place then tells whether the bytes from there are
 * mapped. */
gboolean emulator_virtual_place(CtCuAddress address, size_t bytes, Place *place);

/* ---- emulator-stream.c ---- */

/* An operation of a stream. It is the first member of a struct allocated by g_malloc. */
struct Operation {
    _Atomic(Operation *) next;
    void (*run)(Operation *operation, Stream *stream);
    void (*release)(
        Operation *operation); /* frees its references after it has run; NULL: there are none */
    gboolean always;           /* it runs even after a fault */
};

/* Finds the stream of a handle; NULL is the context's default stream. */
int emulator_stream(Context *context, CtCuStream handle, gboolean same_context, Stream **stream);
Context *emulator_stream_context(const Stream *stream);
Runner *emulator_stream_runner(Stream *stream);
/* Takes over the operation. */
void emulator_enqueue(Stream *stream, Operation *operation);
/* Waits until all enqueued operations have run. */
void emulator_stream_wait(Stream *stream);
void emulator_context_wait(Context *context);
/* Frees a context's streams. */
void emulator_streams_reset(Context *context);

/* ---- emulator-module.c ---- */

/* Copies the values of a kernel's arguments, with the pointers to them in front. */
void **emulator_copy_arguments(CtCuFunction function, void *const *arguments);

/* ---- emulator-block.c ---- */

struct CtKernelDescription;

typedef struct {
    const struct CtKernelDescription *kernel;
    unsigned grid[3], block[3];
    size_t shared_bytes;
    void *const *arguments;
} Launch;

/* Runs the blocks of launches, one at a time; each stream has one. */
Runner *emulator_runner_new(void);
void emulator_runner_free(Runner *runner);
void emulator_run(Runner *runner, const Launch *launch);
