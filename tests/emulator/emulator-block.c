/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks of a launch, one after the other: their threads are fibers, each run to its next barrier
 * or to what its warp does together.
 *
 * To the thread sanitizer every fiber is a thread, and nothing but barriers, warps' operations and
 * the ends of a block order them: it finds the races in shared memory. This file itself is built
 * without sanitizers: fibers and the thread that switches between them share what stands here. */
#include "emulator-abi.h"
#include "emulator-fiber.h"
#include "emulator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef EMULATOR_TSAN
#include <sanitizer/tsan_interface.h>
#define ORDER_AFTER(what)  __tsan_acquire(what)
#define ORDER_BEFORE(what) __tsan_release(what)
/* What comes between is nobody's access. */
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

enum {
    MAX_THREADS = 1024,
    PAGE = 4096,
    POISON = 0xa5,
    STATIC_SHARED = 48 * 1024,
    SHARED = 227 * 1024,
#ifdef EMULATOR_ASAN
    GUARD = 0,
#else
    GUARD = 64,
#endif
    GUARD_BYTE = 0x5a,
};

typedef enum { READY, AT_BARRIER, AT_COLLECTIVE, ENDED } State;

typedef struct Warp Warp;

/* A thread of a block; at the foot of its stack. */
typedef struct {
    CtLane visible;
    Fiber fiber;
    Runner *runner;
    Warp *warp;
    State state;
    /* where it waits */
    const char *file;
    int line;
    CtBarrier kind;
    int predicate, result;
    unsigned n_barriers;
    const char *what;
    unsigned mask;
    CtCollective run;
    void *arguments;
    char *woken_by; /* what orders it after what its warp did */
} Lane;

struct Warp {
    Lane *lanes[CT_WARP];
    unsigned live;         /* bit l: lane l has not ended */
    char arrived[CT_WARP]; /* addresses that stand for orders */
    char finished[CT_WARP];
};

/* A copy to shared memory that its thread has not waited for. */
typedef struct {
    void *to;
    const void *from;
    unsigned size, bytes;
    unsigned group;
} Pending;

typedef struct {
    Pending *copies;
    unsigned n, room;
    unsigned first_group, group; /* groups below the first have been waited for */
} Copies;

/* A piece of shared memory, between guards. */
typedef struct {
    const void *key;
    size_t bytes, reserved;
    guint8 *memory, *data;
} Shared;

struct Runner {
    Fiber own;
    Lane *lanes[MAX_THREADS];
    unsigned n_lanes; /* that there are fibers for */
    Copies copies[MAX_THREADS];
    Warp warps[MAX_THREADS / CT_WARP];
    GArray *shared; /* of Shared; the first is the launch's */
    size_t static_bytes;
    unsigned random;

    /* the block's */
    const Launch *launch;
    unsigned n_threads, n_live, n_at_barrier;
    unsigned order[MAX_THREADS];
    char begun, ended, barrier[2]; /* addresses that stand for orders */
};

static Lane *
own(CtLane *lane)
{
    return (Lane *)lane;
}

static const char *
place(const Lane *lane, char *buffer, size_t bytes)
{
    const CtLane *at = &lane->visible;
    snprintf(buffer, bytes, "%s, block (%u %u %u), thread (%u %u %u)",
             lane->runner->launch->kernel->name, at->block.x, at->block.y, at->block.z,
             at->thread.x, at->thread.y, at->thread.z);
    return buffer;
}

static void G_GNUC_NORETURN
fail(const CtLane *lane, const char *file, int line, const char *what)
{
    char buffer[256];
    emulator_fatal("%s:%d: %s: %s", file, line, place((const Lane *)lane, buffer, sizeof buffer),
                   what);
}

static void
suspend(Lane *lane, State state, const char *file, int line)
{
    lane->state = state;
    lane->file = file;
    lane->line = line;
    emulator_fiber_switch(&lane->fiber, &lane->runner->own);
}

/* ---- barriers ---- */

static int
barrier(CtLane *visible, CtBarrier kind, int predicate, const char *file, int line)
{
    Lane *lane = own(visible);
    char *order = &lane->runner->barrier[lane->n_barriers++ % 2];
    lane->kind = kind;
    lane->predicate = predicate;
    lane->runner->n_at_barrier++;
    ORDER_BEFORE(order);
    suspend(lane, AT_BARRIER, file, line);
    ORDER_AFTER(order);
    return lane->result;
}

/* All threads that have not ended are there. */
static void
release_barrier(Runner *runner)
{
    const Lane *first = NULL;
    int count = 0, n = 0;
    for (unsigned i = 0; i < runner->n_threads; i++) {
        const Lane *lane = runner->lanes[i];
        if (lane->state == ENDED)
            continue;
        n++;
        count += lane->predicate != 0;
        first = first ?: lane;
        if (lane->line != first->line || lane->kind != first->kind ||
            strcmp(lane->file, first->file) != 0) {
            char one[256], other[256];
            emulator_fatal("the threads of a block wait at different barriers: %s:%d: %s; "
                           "%s:%d: %s",
                           first->file, first->line, place(first, one, sizeof one), lane->file,
                           lane->line, place(lane, other, sizeof other));
        }
    }
    for (unsigned i = 0; i < runner->n_threads; i++) {
        Lane *lane = runner->lanes[i];
        if (lane->state == ENDED)
            continue;
        lane->state = READY;
        lane->result = lane->kind == CT_BARRIER_OR    ? count > 0
                       : lane->kind == CT_BARRIER_AND ? count == n
                                                      : count;
    }
    runner->n_at_barrier = 0;
}

/* ---- what warps do together ---- */

/* Does what the threads of a mask have come for, if all have: those that have ended don't count. */
static void
try_collective(Warp *warp, unsigned mask, char *finished)
{
    const unsigned members = mask & warp->live;
    void *arguments[CT_WARP] = {NULL};
    const Lane *first = NULL;
    for (unsigned l = 0; l < CT_WARP; l++) {
        if (!(members >> l & 1))
            continue;
        const Lane *lane = warp->lanes[l];
        if (lane->state != AT_COLLECTIVE || lane->mask != mask)
            return;
        first = first ?: lane;
        if (lane->run != first->run || strcmp(lane->what, first->what) != 0) {
            char one[256], other[256];
            emulator_fatal("threads of a warp do different things together: %s:%d: %s: %s; "
                           "%s:%d: %s: %s",
                           first->file, first->line, first->what, place(first, one, sizeof one),
                           lane->file, lane->line, lane->what, place(lane, other, sizeof other));
        }
        arguments[l] = lane->arguments;
    }
    if (!first)
        return;
    for (unsigned l = 0; l < CT_WARP; l++)
        if (members >> l & 1)
            ORDER_AFTER(&warp->arrived[l]);
    if (first->run)
        first->run(arguments, members);
    ORDER_BEFORE(finished);
    for (unsigned l = 0; l < CT_WARP; l++)
        if (members >> l & 1) {
            warp->lanes[l]->state = READY;
            warp->lanes[l]->woken_by = finished;
        }
}

static void
collective(CtLane *visible, unsigned mask, const char *what, CtCollective run, void *arguments,
           const char *file, int line)
{
    Lane *lane = own(visible);
    Warp *warp = lane->warp;
    if (!(mask >> visible->lane & 1))
        fail(visible, file, line, "a thread calls with a mask that leaves it out");
    lane->what = what;
    lane->mask = mask;
    lane->run = run;
    lane->arguments = arguments;
    lane->file = file;
    lane->line = line;
    lane->state = AT_COLLECTIVE;
    ORDER_BEFORE(&warp->arrived[visible->lane]);
    try_collective(warp, mask, &warp->finished[visible->lane]);
    if (lane->state != READY)
        suspend(lane, AT_COLLECTIVE, file, line);
    ORDER_AFTER(lane->woken_by);
}

static unsigned
active(CtLane *lane)
{
    return own(lane)->warp->live;
}

/* ---- shared memory ---- */

static void
poison(Shared *shared)
{
    memset(shared->memory, GUARD_BYTE, shared->reserved);
    memset(shared->data, POISON, shared->bytes);
}

static void
check_guards(const Runner *runner, const Shared *shared)
{
    const guint8 *end = shared->memory + shared->reserved;
    for (const guint8 *p = shared->memory; p < end; p++) {
        if (p == shared->data)
            p += shared->bytes;
        if (p < end && *p != GUARD_BYTE)
            emulator_fatal("%s writes beside an array of %zu bytes of shared memory",
                           runner->launch->kernel->name, shared->bytes);
    }
}

/* Aligned to as much as its type and no more, as a kernel may find it on a device. */
static Shared *
add_shared(Runner *runner, const void *key, size_t bytes, size_t alignment)
{
    const size_t shift = alignment < 16 ? alignment : 0;
    Shared shared = {.key = key, .bytes = bytes, .reserved = GUARD + shift + bytes + GUARD};
    void *memory = NULL;
    UNSEEN_BEGIN();
    if (posix_memalign(&memory, MAX(MAX(alignment, 16), (size_t)GUARD), shared.reserved) != 0)
        emulator_fatal("no memory for shared memory");
    shared.memory = memory;
    shared.data = shared.memory + GUARD + shift;
    poison(&shared);
    UNSEEN_END();
    g_array_append_val(runner->shared, shared);
    return &g_array_index(runner->shared, Shared, runner->shared->len - 1);
}

static void *
static_shared(CtLane *visible, const void *key, size_t bytes, size_t alignment)
{
    Runner *runner = own(visible)->runner;
    for (unsigned s = 1; s < runner->shared->len; s++) {
        Shared *shared = &g_array_index(runner->shared, Shared, s);
        if (shared->key == key)
            return shared->data;
    }
    runner->static_bytes += bytes;
    if (runner->static_bytes > STATIC_SHARED)
        emulator_fatal("%s has %zu bytes of static shared memory: more than 48 KiB",
                       runner->launch->kernel->name, runner->static_bytes);
    if (runner->static_bytes + runner->launch->shared_bytes > SHARED)
        emulator_fatal("%s is launched with %zu and has %zu bytes of shared memory: more than "
                       "227 KiB",
                       runner->launch->kernel->name, runner->launch->shared_bytes,
                       runner->static_bytes);
    return add_shared(runner, key, bytes, alignment)->data;
}

static void *
dynamic_shared(CtLane *visible)
{
    return g_array_index(own(visible)->runner->shared, Shared, 0).data;
}

/* ---- copies to shared memory that are not waited for ----
 *
 * They are done when they must be, so that to read without a wait finds what was there before; in
 * reverse order of threads, at once, so that to write what others still read shows as well; in
 * random order, either. */

static Copies *
copies_of(CtLane *visible)
{
    const CtIndex t = visible->thread, n = visible->block_length;
    return &own(visible)->runner->copies[(t.z * n.y + t.y) * n.x + t.x];
}

static void
copy_now(const Pending *copy)
{
    memcpy(copy->to, copy->from, copy->bytes);
    memset((guint8 *)copy->to + copy->bytes, 0, copy->size - copy->bytes);
}

static gboolean
copies_at_once(Runner *runner)
{
    const int order = emulator_settings()->order;
    return order == ORDER_REVERSE || (order == ORDER_RANDOM && rand_r(&runner->random) % 2);
}

static void
copy_async(CtLane *visible, void *shared, const void *global, unsigned size, unsigned bytes,
           const char *file, int line)
{
    if ((guintptr)shared % size || (bytes && (guintptr)global % size))
        fail(visible, file, line, "an asynchronous copy is not aligned to its size");
    if (bytes > size)
        fail(visible, file, line, "an asynchronous copy wants more bytes than its size");
    Copies *copies = copies_of(visible);
    const Pending copy = {shared, global, size, bytes, copies->group};
    if (copies_at_once(own(visible)->runner)) {
        copy_now(&copy);
        return;
    }
    if (copies->n == copies->room) {
        copies->room = MAX(2 * copies->room, 16);
        copies->copies = g_renew(Pending, copies->copies, copies->room);
    }
    copies->copies[copies->n++] = copy;
}

static void
copy_commit(CtLane *visible)
{
    copies_of(visible)->group++;
}

static void
finish_copies(Copies *copies, unsigned end)
{
    unsigned kept = 0;
    for (unsigned c = 0; c < copies->n; c++)
        if (copies->copies[c].group < end)
            copy_now(&copies->copies[c]);
        else
            copies->copies[kept++] = copies->copies[c];
    copies->n = kept;
}

static void
copy_wait(CtLane *visible, unsigned groups)
{
    Copies *copies = copies_of(visible);
    finish_copies(copies, copies->group - MIN(groups, copies->group));
}

/* ---- threads ---- */

static const CtServices services = {
    .barrier = barrier,
    .collective = collective,
    .shared = static_shared,
    .dynamic = dynamic_shared,
    .copy_async = copy_async,
    .copy_commit = copy_commit,
    .copy_wait = copy_wait,
    .active = active,
    .fail = fail,
};

static void
end_thread(Lane *lane)
{
    Warp *warp = lane->warp;
    Copies *copies = copies_of(&lane->visible);
    finish_copies(copies, copies->group + 1);
    lane->state = ENDED;
    lane->runner->n_live--;
    warp->live &= ~(1U << lane->visible.lane);
    for (unsigned l = 0; l < CT_WARP; l++)
        if ((warp->live >> l & 1) && warp->lanes[l]->state == AT_COLLECTIVE)
            try_collective(warp, warp->lanes[l]->mask, &warp->finished[lane->visible.lane]);
    ORDER_BEFORE(&lane->runner->ended);
}

/* A fiber: one thread after another, block by block. */
static void
run_threads(void *data)
{
    Lane *lane = data;
    for (;;) {
        Runner *runner = lane->runner;
        ORDER_AFTER(&runner->begun);
        runner->launch->kernel->call(runner->launch->arguments);
        end_thread(lane);
        emulator_fiber_switch(&lane->fiber, &runner->own);
    }
}

static void
add_lane(Runner *runner, guint8 *stack)
{
    mprotect(stack + PAGE, PAGE, PROT_NONE);
    Lane *lane = (Lane *)stack;
    lane->runner = runner;
    lane->visible.services = &services;
    runner->lanes[runner->n_lanes++] = lane;
    emulator_fiber_begin(&lane->fiber, &runner->own, stack + 2 * PAGE, CT_STACK_BYTES - 2 * PAGE,
                         run_threads, lane);
}

static void
add_lanes(Runner *runner)
{
    const size_t bytes = CT_WARP * CT_STACK_BYTES;
    guint8 *room = mmap(NULL, bytes + CT_STACK_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED)
        emulator_fatal("no memory for the stacks of a block");
    const size_t before = -(guintptr)room % CT_STACK_BYTES;
    if (before)
        munmap(room, before);
    munmap(room + before + bytes, CT_STACK_BYTES - before);
    for (size_t at = before; at < before + bytes; at += CT_STACK_BYTES)
        add_lane(runner, room + at);
}

/* Those that no stream has: stacks are dear. */
static struct {
    pthread_mutex_t lock;
    GPtrArray *runners;
} spare = {PTHREAD_MUTEX_INITIALIZER, NULL};

Runner *
emulator_runner_new(void)
{
    pthread_mutex_lock(&spare.lock);
    Runner *runner = spare.runners && spare.runners->len > 0
                         ? g_ptr_array_steal_index_fast(spare.runners, spare.runners->len - 1)
                         : NULL;
    pthread_mutex_unlock(&spare.lock);
    if (!runner) {
        runner = g_new0(Runner, 1);
        runner->shared = g_array_new(FALSE, FALSE, sizeof(Shared));
        runner->random = emulator_settings()->seed;
    }
    return runner;
}

void
emulator_runner_free(Runner *runner)
{
    pthread_mutex_lock(&spare.lock);
    if (!spare.runners)
        spare.runners = g_ptr_array_new();
    g_ptr_array_add(spare.runners, runner);
    pthread_mutex_unlock(&spare.lock);
}

/* ---- blocks ---- */

static void
begin_block(Runner *runner, CtIndex block)
{
    const Launch *launch = runner->launch;
    const CtIndex length = {launch->block[0], launch->block[1], launch->block[2]};
    const CtIndex grid = {launch->grid[0], launch->grid[1], launch->grid[2]};
    memset(runner->warps, 0, sizeof runner->warps);
    for (unsigned i = 0; i < runner->n_threads; i++) {
        Lane *lane = runner->lanes[i];
        Warp *warp = &runner->warps[i / CT_WARP];
        const CtIndex thread = {i % length.x, i / length.x % length.y, i / length.x / length.y};
        lane->visible.thread = thread;
        lane->visible.block = block;
        lane->visible.block_length = length;
        lane->visible.grid_length = grid;
        lane->visible.lane = i % CT_WARP;
        lane->warp = warp;
        lane->state = READY;
        lane->n_barriers = 0;
        warp->lanes[i % CT_WARP] = lane;
        warp->live |= 1U << i % CT_WARP;
        runner->copies[i].n = runner->copies[i].group = 0;
    }
    for (unsigned s = 0; s < runner->shared->len; s++)
        poison(&g_array_index(runner->shared, Shared, s));
    runner->n_live = runner->n_threads;
    runner->n_at_barrier = 0;
}

/* An order of n things, in runner->order. */
static void
shuffle(Runner *runner, unsigned *order, unsigned n)
{
    const int wanted = emulator_settings()->order;
    for (unsigned i = 0; i < n; i++)
        order[i] = wanted == ORDER_REVERSE ? n - 1 - i : i;
    for (unsigned i = n; wanted == ORDER_RANDOM && i > 1; i--) {
        const unsigned j = (unsigned)rand_r(&runner->random) % i, kept = order[i - 1];
        order[i - 1] = order[j];
        order[j] = kept;
    }
}

/* Runs the threads of a warp until each waits or has ended; whether any ran. */
static gboolean
run_warp(Runner *runner, const Warp *warp)
{
    gboolean ran = FALSE, again;
    unsigned order[CT_WARP];
    shuffle(runner, order, CT_WARP);
    do {
        again = FALSE;
        for (unsigned l = 0; l < CT_WARP; l++) {
            Lane *lane = warp->lanes[order[l]];
            if (!lane || lane->state != READY)
                continue;
            emulator_fiber_switch(&runner->own, &lane->fiber);
            again = ran = TRUE;
        }
    } while (again);
    return ran;
}

static void G_GNUC_NORETURN
report_stuck(const Runner *runner)
{
    const Lane *waiting = NULL, *other = NULL;
    for (unsigned i = 0; i < runner->n_threads; i++) {
        const Lane *lane = runner->lanes[i];
        if (lane->state == AT_COLLECTIVE && !waiting)
            waiting = lane;
        if (lane->state == AT_BARRIER && !other)
            other = lane;
    }
    char one[256], two[256] = "no thread waits at a barrier";
    place(waiting, one, sizeof one);
    if (other) {
        char buffer[160];
        snprintf(two, sizeof two, "%s waits at the barrier %s:%d",
                 place(other, buffer, sizeof buffer), other->file, other->line);
    }
    emulator_fatal("%s:%d: %s: %s waits for threads of its warp (mask %08x) that never come; %s",
                   waiting->file, waiting->line, one, waiting->what, waiting->mask, two);
}

static void
run_block(Runner *runner)
{
    const unsigned n_warps = (runner->n_threads + CT_WARP - 1) / CT_WARP;
    ORDER_BEFORE(&runner->begun);
    while (runner->n_live > 0) {
        gboolean ran = FALSE;
        shuffle(runner, runner->order, n_warps);
        for (unsigned w = 0; w < n_warps; w++)
            ran |= run_warp(runner, &runner->warps[runner->order[w]]);
        if (runner->n_live > 0 && runner->n_at_barrier == runner->n_live)
            release_barrier(runner);
        else if (!ran)
            report_stuck(runner);
    }
    ORDER_AFTER(&runner->ended);
    for (unsigned s = 0; s < runner->shared->len; s++)
        check_guards(runner, &g_array_index(runner->shared, Shared, s));
}

void
emulator_run(Runner *runner, const Launch *launch)
{
    runner->launch = launch;
    runner->n_threads = launch->block[0] * launch->block[1] * launch->block[2];
    runner->static_bytes = 0;
    emulator_fiber_own(&runner->own);
    while (runner->n_lanes < runner->n_threads)
        add_lanes(runner);
    add_shared(runner, NULL, launch->shared_bytes, 1024);
    const guint64 plane = (guint64)launch->grid[0] * launch->grid[1];
    const guint64 n = plane * launch->grid[2];
    const int order = emulator_settings()->order;
    const gboolean back =
        order == ORDER_REVERSE || (order == ORDER_RANDOM && rand_r(&runner->random) % 2);
    for (guint64 i = 0; i < n; i++) {
        const guint64 b = back ? n - 1 - i : i;
        const CtIndex block = {(unsigned)(b % plane % launch->grid[0]),
                               (unsigned)(b % plane / launch->grid[0]), (unsigned)(b / plane)};
        begin_block(runner, block);
        run_block(runner);
    }
    for (unsigned s = 0; s < runner->shared->len; s++)
        free(g_array_index(runner->shared, Shared, s).memory);
    g_array_set_size(runner->shared, 0);
}
