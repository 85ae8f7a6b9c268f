/* SPDX-License-Identifier: BSD-3-Clause */
/* What the emulator (C) and the kernels that it compiles (C++, without any library's header) know
 * of each other. */
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

/* Of a thread, aligned to as much: what a thread knows of itself stands at its foot, so that a
 * frame's address leads there. */
#define CT_STACK_BYTES 262144ul

enum { CT_ABI = 1, CT_WARP = 32 };

typedef struct CtLane CtLane;

/* What the threads of a warp do together, once all of `mask` have come: arguments[lane] are those
 * that each came with. */
typedef void (*CtCollective)(void *const *arguments, unsigned mask);

typedef enum { CT_BARRIER, CT_BARRIER_OR, CT_BARRIER_AND, CT_BARRIER_COUNT } CtBarrier;

/* What kernels ask of the emulator; `file` and `line` say where. */
typedef struct {
    int (*barrier)(CtLane *lane, CtBarrier kind, int predicate, const char *file, int line);
    void (*collective)(CtLane *lane, unsigned mask, const char *what, CtCollective run,
                       void *arguments, const char *file, int line);
    /* Shared memory of the block, one piece per key; that of the launch. */
    void *(*shared)(CtLane *lane, const void *key, size_t bytes, size_t alignment);
    void *(*dynamic)(CtLane *lane);
    void (*copy_async)(CtLane *lane, void *shared, const void *global, unsigned size,
                       unsigned bytes, const char *file, int line);
    void (*copy_commit)(CtLane *lane);
    void (*copy_wait)(CtLane *lane, unsigned groups);
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
