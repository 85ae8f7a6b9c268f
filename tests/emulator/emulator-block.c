/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs the blocks of a launch, one after another: their threads are fibers, each of which runs to
 * its next barrier or to an operation of its warp.
 *
 * To the thread sanitizer every fiber is a thread, and only barriers, operations of warps and the
 * ends of a block order them: so it finds races in shared memory. */
#include "emulator-block.h"

#include "emulator-abi.h"
#include "emulator-fiber.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { PAGE = 4096 };

static Lane *
own(CtLane *lane)
{
    return (Lane *)lane;
}

const char *
emulator_lane_place(const Lane *lane, char buffer[EMULATOR_PLACE_LENGTH])
{
    const CtLane *at = &lane->visible;
    snprintf(buffer, EMULATOR_PLACE_LENGTH, "%s, block (%u %u %u), thread (%u %u %u)",
             lane->runner->launch->kernel->name, at->block.x, at->block.y, at->block.z,
             at->thread.x, at->thread.y, at->thread.z);
    return buffer;
}

void
emulator_lane_fail(const CtLane *lane, const char *file, int line, const char *what)
{
    char buffer[EMULATOR_PLACE_LENGTH];
    emulator_fatal("%s:%d: %s: %s", file, line, emulator_lane_place((const Lane *)lane, buffer),
                   what);
}

void
emulator_suspend(Lane *lane, State state, const char *file, int line)
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
    emulator_suspend(lane, AT_BARRIER, file, line);
    ORDER_AFTER(order);
    return lane->result;
}

/* All threads that have not ended have arrived. */
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
            char one[EMULATOR_PLACE_LENGTH], other[EMULATOR_PLACE_LENGTH];
            emulator_fatal("the threads of a block wait at different barriers: %s:%d: %s; "
                           "%s:%d: %s",
                           first->file, first->line, emulator_lane_place(first, one), lane->file,
                           lane->line, emulator_lane_place(lane, other));
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

/* ---- operations of warps ---- */

/* Does the operation of a mask's threads if all have called it; threads that have ended do not
 * count. */
static void
try_collective(Warp *warp, unsigned mask, char *finished)
{
    const unsigned members = mask & warp->live;
    if (members & ~warp->waiting)
        return;
    void *arguments[CT_WARP] = {NULL};
    const Lane *first = NULL;
    for (unsigned l = 0; l < CT_WARP; l++) {
        if (!(members >> l & 1))
            continue;
        const Lane *lane = warp->lanes[l];
        if (lane->mask != mask)
            return;
        first = first ?: lane;
        if (lane->run != first->run || strcmp(lane->what, first->what) != 0) {
            char one[EMULATOR_PLACE_LENGTH], other[EMULATOR_PLACE_LENGTH];
            emulator_fatal("threads of a warp do different things together: %s:%d: %s: %s; "
                           "%s:%d: %s: %s",
                           first->file, first->line, first->what, emulator_lane_place(first, one),
                           lane->file, lane->line, lane->what, emulator_lane_place(lane, other));
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
    warp->waiting &= ~members;
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
        emulator_lane_fail(visible, file, line, "a thread calls with a mask that leaves it out");
    lane->what = what;
    lane->mask = mask;
    lane->run = run;
    lane->arguments = arguments;
    lane->file = file;
    lane->line = line;
    lane->state = AT_COLLECTIVE;
    warp->waiting |= 1U << visible->lane;
    ORDER_BEFORE(&warp->arrived[visible->lane]);
    try_collective(warp, mask, &warp->finished[visible->lane]);
    if (lane->state != READY)
        emulator_suspend(lane, AT_COLLECTIVE, file, line);
    ORDER_AFTER(lane->woken_by);
}

static unsigned
active(CtLane *lane)
{
    return own(lane)->warp->live;
}

/* ---- threads ---- */

static const CtServices services = {
    .barrier = barrier,
    .collective = collective,
    .shared = emulator_shared_static,
    .dynamic = emulator_shared_dynamic,
    .copy_async = emulator_copy_async,
    .copy_commit = emulator_copy_commit,
    .copy_wait = emulator_copy_wait,
    .phases_begin = emulator_phases_begin,
    .phases_arrive = emulator_phases_arrive,
    .phases_wait = emulator_phases_wait,
    .defer_begin = emulator_defer_begin,
    .defer = emulator_defer,
    .defer_commit = emulator_defer_commit,
    .defer_wait = emulator_defer_wait,
    .active = active,
    .fail = emulator_lane_fail,
};

static void
end_thread(Lane *lane)
{
    Warp *warp = lane->warp;
    emulator_shared_end_thread(&lane->visible);
    emulator_defer_end(&lane->visible);
    lane->state = ENDED;
    lane->runner->n_live--;
    warp->live &= ~(1U << lane->visible.lane);
    for (unsigned l = 0; l < CT_WARP; l++)
        if ((warp->live >> l & 1) && warp->lanes[l]->state == AT_COLLECTIVE)
            try_collective(warp, warp->lanes[l]->mask, &warp->finished[lane->visible.lane]);
    ORDER_BEFORE(&lane->runner->ended);
}

/* The body of a fiber: it is one thread in each block. */
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

/* Runners that no stream uses at the moment, kept because their stacks are expensive. */
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
    }
    emulator_shared_begin_block(runner);
    runner->n_live = runner->n_threads;
    runner->n_at_barrier = 0;
}

/* Writes an order of n things, according to runner->order. */
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

/* ---- signals ---- */

/* The stack pointer at the signal. */
static guintptr
interrupted_stack(const ucontext_t *context)
{
#if defined(__x86_64__)
    return (guintptr)context->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
    return (guintptr)context->uc_mcontext.sp;
#else
    return 0;
#endif
}

/* Prints which kernel it was; the signal is then raised again, with its usual effect. */
static void
report_signal(int signal, siginfo_t *info, void *context)
{
    const guint8 *stack = (const guint8 *)(interrupted_stack(context) & ~(CT_STACK_BYTES - 1));
    const guint8 *at = info->si_addr;
    const Lane *lane = (const Lane *)stack;
    char buffer[EMULATOR_PLACE_LENGTH];
    sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    if (!lane || lane->visible.services != &services)
        return;
    emulator_lane_place(lane, buffer);
    if (signal == SIGFPE)
        fprintf(stderr, "cornerturn-emulator: %s: an integer is divided by zero\n", buffer);
    else if (at >= stack && at < stack + 2 * PAGE)
        fprintf(stderr, "cornerturn-emulator: %s: its stack of %lu bytes is full\n", buffer,
                CT_STACK_BYTES);
    else
        fprintf(stderr, "cornerturn-emulator: %s: nothing can be accessed at %p\n", buffer,
                info->si_addr);
}

/* Handles these signals unless the program does. */
static void
catch_signals(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE};
    for (unsigned s = 0; s < G_N_ELEMENTS(signals); s++) {
        struct sigaction before;
        if (sigaction(signals[s], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
            sigaction(signals[s],
                      &(struct sigaction){.sa_sigaction = report_signal,
                                          .sa_flags = SA_SIGINFO | SA_ONSTACK},
                      NULL);
    }
}

/* Runs the threads of a warp until each waits or has ended; returns whether any ran. */
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
            if (lane && lane->state == AT_PHASE && emulator_phase_has_ended(lane))
                lane->state = READY;
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
        if ((lane->state == AT_COLLECTIVE || lane->state == AT_PHASE) && !waiting)
            waiting = lane;
        if (lane->state == AT_BARRIER && !other)
            other = lane;
    }
    char one[EMULATOR_PLACE_LENGTH],
        two[2 * EMULATOR_PLACE_LENGTH] = "no thread waits at a barrier";
    emulator_lane_place(waiting, one);
    if (other) {
        char buffer[EMULATOR_PLACE_LENGTH];
        snprintf(two, sizeof two, "%s waits at the barrier %s:%d",
                 emulator_lane_place(other, buffer), other->file, other->line);
    }
    if (waiting->state == AT_PHASE)
        emulator_fatal("%s:%d: %s waits for the end of a phase that never comes; %s", waiting->file,
                       waiting->line, one, two);
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
    emulator_shared_end_block(runner);
}

void
emulator_run(Runner *runner, const Launch *launch)
{
    runner->launch = launch;
    runner->n_threads = launch->block[0] * launch->block[1] * launch->block[2];
    const stack_t own_stack = {.ss_sp = runner->signal_stack,
                               .ss_size = sizeof runner->signal_stack};
    stack_t signal_stack;
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, catch_signals);
    /* With a sanitizer, a thread has a signal stack already. */
    sigaltstack(NULL, &signal_stack);
    if (signal_stack.ss_flags & SS_DISABLE)
        sigaltstack(&own_stack, NULL);
    emulator_fiber_own(&runner->own);
    while (runner->n_lanes < runner->n_threads)
        add_lanes(runner);
    emulator_shared_begin_launch(runner);
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
    emulator_shared_end_launch(runner);
    if (signal_stack.ss_flags & SS_DISABLE)
        sigaltstack(&signal_stack, NULL);
}
