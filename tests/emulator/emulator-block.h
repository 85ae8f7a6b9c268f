/* SPDX-License-Identifier: BSD-3-Clause */
/* The interface between emulator-block.c, which runs a launch's blocks, and emulator-shared.c,
 * which has their shared memory. Both are built without sanitizers, because the fibers and the
 * thread that switches between them share this state. */
#pragma once

#include "emulator-abi.h"
#include "emulator-fiber.h"
#include "emulator.h"

/* To the thread sanitizer every fiber is a thread, and only these order them. */
#ifdef EMULATOR_TSAN
#include <sanitizer/tsan_interface.h>
#define ORDER_AFTER(what)  __tsan_acquire(what)
#define ORDER_BEFORE(what) __tsan_release(what)
/* Accesses between these two are not reported. */
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
#define UNSEEN_BEGIN() AnnotateIgnoreWritesBegin(__FILE__, __LINE__)
#define UNSEEN_END()   AnnotateIgnoreWritesEnd(__FILE__, __LINE__)
#else
#define ORDER_AFTER(what)  ((void)(what))
#define ORDER_BEFORE(what) ((void)(what))
#define UNSEEN_BEGIN()     ((void)0)
#define UNSEEN_END()       ((void)0)
#endif

enum { MAX_THREADS = 1024 };

typedef enum { READY, AT_BARRIER, AT_COLLECTIVE, AT_PHASE, ENDED } State;

typedef struct Warp Warp;

/* A thread of a block; it is at the lowest address of the thread's stack. */
typedef struct {
    CtLane visible;
    Fiber fiber;
    Runner *runner;
    Warp *warp;
    State state;
    /* the place where it waits */
    const char *file;
    int line;
    CtBarrier kind;
    int predicate, result;
    unsigned n_barriers;
    const char *what;
    unsigned mask;
    CtCollective run;
    void *arguments;
    char *woken_by;     /* the address that orders it after its warp's operation */
    const void *phases; /* the barrier of whose phase it waits for the end */
    unsigned parity;
} Lane;

struct Warp {
    Lane *lanes[CT_WARP];
    unsigned live;         /* bit l: lane l has not ended */
    unsigned waiting;      /* bit l: lane l waits in an operation of the warp */
    char arrived[CT_WARP]; /* addresses that the thread sanitizer orders by */
    char finished[CT_WARP];
};

/* A copy to shared memory that has not been waited for. */
typedef struct {
    void *to;
    const void *from;
    unsigned size, bytes;
    unsigned group;
} Pending;

typedef struct {
    Pending *copies;
    unsigned n, room;
    unsigned group; /* of the next copy */
} Copies;

/* An operation that has not been waited for. */
typedef struct {
    void (*run)(const void *arguments);
    guint64 arguments[10];
    unsigned group;
} Deferred;

typedef struct {
    GArray *all;    /* of Deferred; NULL: none yet */
    unsigned group; /* of the next one */
    gboolean has_begun;
} Deferrals;

/* A piece of shared memory, between guards. */
typedef struct {
    const void *key;
    size_t bytes, reserved;
    guint8 *memory, *data;
} Shared;

struct Runner {
    Fiber own;
    Lane *lanes[MAX_THREADS];
    unsigned n_lanes; /* number of threads with fibers */
    Copies copies[MAX_THREADS];
    Deferrals deferrals[MAX_THREADS];
    Warp warps[MAX_THREADS / CT_WARP];
    GArray *shared; /* of Shared; the first is the launch's */
    size_t static_bytes;
    unsigned random;
    guint8 signal_stack[4 * 16384];

    /* of the current block */
    const Launch *launch;
    unsigned n_threads, n_live, n_at_barrier;
    unsigned order[MAX_THREADS];
    char begun, ended, barrier[2]; /* addresses that the thread sanitizer orders by */
};

#define EMULATOR_PLACE_LENGTH 256

/* "k, block (0 0 0), thread (1 0 0)" */
const char *emulator_lane_place(const Lane *lane, char buffer[EMULATOR_PLACE_LENGTH]);
void emulator_lane_fail(const CtLane *lane, const char *file, int line,
                        const char *what) G_GNUC_NORETURN;
/* Lets other threads run until this one is made ready. */
void emulator_suspend(Lane *lane, State state, const char *file, int line);

/* ---- emulator-shared.c ---- */

/* The services of the same names. */
void *emulator_shared_static(CtLane *lane, const void *key, size_t bytes, size_t alignment);
void *emulator_shared_dynamic(CtLane *lane);
void emulator_copy_async(CtLane *lane, void *shared, const void *global, unsigned size,
                         unsigned bytes, const char *file, int line);
void emulator_copy_commit(CtLane *lane);
void emulator_copy_wait(CtLane *lane, unsigned groups);

/* Whether this asynchronous operation is done at once. */
gboolean emulator_is_early(Runner *runner);

/* Called for a launch, for each of its blocks, and for a thread that ends. */
void emulator_shared_begin_launch(Runner *runner);
void emulator_shared_begin_block(Runner *runner);
void emulator_shared_end_thread(CtLane *lane);
void emulator_shared_end_block(const Runner *runner);
void emulator_shared_end_launch(Runner *runner);

/* ---- emulator-warpgroup.c ---- */

/* The services of the same names. */
void emulator_phases_begin(CtLane *lane, void *barrier, unsigned n_arrivals);
void emulator_phases_arrive(CtLane *lane, void *barrier, const char *file, int line);
void emulator_phases_wait(CtLane *lane, void *barrier, unsigned parity, const char *file, int line);
void emulator_defer_begin(CtLane *lane);
void emulator_defer(CtLane *lane, void (*run)(const void *arguments), const void *arguments,
                    size_t bytes, const char *file, int line);
void emulator_defer_commit(CtLane *lane);
void emulator_defer_wait(CtLane *lane, unsigned groups);

/* Whether the phase for whose end a thread waits has ended. */
gboolean emulator_phase_has_ended(const Lane *lane);
/* Called for a thread that ends. */
void emulator_defer_end(CtLane *lane);
