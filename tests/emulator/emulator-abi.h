/* SPDX-License-Identifier: BSD-3-Clause */
/* The interface between the emulator (C) and the kernels that it compiles (C++, without any
 * library's header). */
#pragma once

#ifdef __cplusplus
#include "emulator-vectors.h"
typedef uint3 CtIndex;
extern "C" {
#else
#include <stddef.h>
typedef struct {
    unsigned x, y, z;
} CtIndex;
#endif

/* Size and alignment of a thread's stack. The thread's state is at its lowest address, so that it
 * can be found from the address of a frame. */
#define CT_STACK_BYTES 262144ul

enum { CT_ABI = 2, CT_WARP = 32 };

typedef struct CtLane CtLane;

/* An operation of a warp, done when all threads of `mask` have called it: arguments[lane] are those
 * of each thread. */
typedef void (*CtCollective)(void *const *arguments, unsigned mask);

typedef enum { CT_BARRIER, CT_BARRIER_OR, CT_BARRIER_AND, CT_BARRIER_COUNT } CtBarrier;

/* The emulator's functions for kernels; `file` and `line` are those of the call in the kernel. */
typedef struct {
    int (*barrier)(CtLane *lane, CtBarrier kind, int predicate, const char *file, int line);
    void (*collective)(CtLane *lane, unsigned mask, const char *what, CtCollective run,
                       void *arguments, const char *file, int line);
    /* The block's shared memory, one piece for each key; and the launch's dynamic one. */
    void *(*shared)(CtLane *lane, const void *key, size_t bytes, size_t alignment);
    void *(*dynamic)(CtLane *lane);
    void (*copy_async)(CtLane *lane, void *shared, const void *global, unsigned size,
                       unsigned bytes, const char *file, int line);
    void (*copy_commit)(CtLane *lane);
    void (*copy_wait)(CtLane *lane, unsigned groups);
    void (*phases_begin)(CtLane *lane, void *barrier, unsigned n_arrivals);
    void (*phases_arrive)(CtLane *lane, void *barrier, const char *file, int line);
    void (*phases_wait)(CtLane *lane, void *barrier, unsigned parity, const char *file, int line);
    /* Operations that are done later, in groups: `run` gets a copy of the arguments. */
    void (*defer_begin)(CtLane *lane);
    void (*defer)(CtLane *lane, void (*run)(const void *arguments), const void *arguments,
                  size_t bytes, const char *file, int line);
    void (*defer_commit)(CtLane *lane);
    void (*defer_wait)(CtLane *lane, unsigned groups);
    unsigned (*active)(CtLane *lane);
    /* Ends the process. */
    void (*fail)(const CtLane *lane, const char *file, int line, const char *what);
} CtServices;

struct CtLane {
    CtIndex thread, block, block_length, grid_length;
    unsigned lane; /* within the warp */
    const CtServices *services;
};

typedef struct CtKernelDescription {
    const char *name;
    unsigned n_parameters;
    const size_t *parameter_bytes;
    unsigned max_threads; /* __launch_bounds__; 0: none */
    void (*call)(void *const *arguments);
} CtKernelDescription;

/* The symbol ct_emulated_module of a compiled program. */
typedef struct {
    unsigned abi;
    unsigned n_kernels;
    const CtKernelDescription *kernels;
} CtModuleDescription;

#ifdef __cplusplus
}
#endif
