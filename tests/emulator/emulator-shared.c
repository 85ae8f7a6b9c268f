/* SPDX-License-Identifier: BSD-3-Clause */
/* The shared memory of the block that runs, each variable in a piece of its own, and asynchronous
 * copies to it. */
#include "emulator-block.h"

#include <stdlib.h>
#include <string.h>

enum {
    POISON = 0xff, /* NaN, in any type */
    STATIC_SHARED = 48 * 1024,
    SHARED = 227 * 1024,
#ifdef EMULATOR_ASAN
    GUARD = 0, /* the sanitizer's guards are better */
#else
    GUARD = 64,
#endif
    GUARD_BYTE = 0x5a,
};

static Runner *
runner_of(const CtLane *lane)
{
    return ((const Lane *)lane)->runner;
}

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

/* Aligns a piece no better than its type requires, as may happen on a device. */
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

void *
emulator_shared_static(CtLane *visible, const void *key, size_t bytes, size_t alignment)
{
    Runner *runner = runner_of(visible);
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

void *
emulator_shared_dynamic(CtLane *visible)
{
    return g_array_index(runner_of(visible)->shared, Shared, 0).data;
}

/* ---- asynchronous copies to shared memory ----
 *
 * A copy is done as late as possible, so that a read without a wait gets the old contents. With the
 * reverse order of threads it is done at once, so that a write to memory which others still read is
 * noticed as well; with the random order, either. */

static Copies *
copies_of(CtLane *visible)
{
    const CtIndex t = visible->thread, n = visible->block_length;
    return &runner_of(visible)->copies[(t.z * n.y + t.y) * n.x + t.x];
}

static void
copy_now(const Pending *copy)
{
    memcpy(copy->to, copy->from, copy->bytes);
    memset((guint8 *)copy->to + copy->bytes, 0, copy->size - copy->bytes);
}

gboolean
emulator_is_early(Runner *runner)
{
    const int order = emulator_settings()->order;
    return order == ORDER_REVERSE || (order == ORDER_RANDOM && rand_r(&runner->random) % 2);
}

void
emulator_copy_async(CtLane *visible, void *shared, const void *global, unsigned size,
                    unsigned bytes, const char *file, int line)
{
    if ((guintptr)shared % size || (bytes && (guintptr)global % size))
        emulator_lane_fail(visible, file, line, "an asynchronous copy is not aligned to its size");
    if (bytes > size)
        emulator_lane_fail(visible, file, line,
                           "an asynchronous copy wants more bytes than its size");
    Copies *copies = copies_of(visible);
    const Pending copy = {shared, global, size, bytes, copies->group};
    if (emulator_is_early(runner_of(visible))) {
        copy_now(&copy);
        return;
    }
    if (copies->n == copies->room) {
        copies->room = MAX(2 * copies->room, 16);
        copies->copies = g_renew(Pending, copies->copies, copies->room);
    }
    copies->copies[copies->n++] = copy;
}

void
emulator_copy_commit(CtLane *visible)
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

void
emulator_copy_wait(CtLane *visible, unsigned groups)
{
    Copies *copies = copies_of(visible);
    finish_copies(copies, copies->group - MIN(groups, copies->group));
}

/* ---- launches and blocks ---- */

void
emulator_shared_begin_launch(Runner *runner)
{
    runner->static_bytes = 0;
    add_shared(runner, NULL, runner->launch->shared_bytes, 1024);
}

void
emulator_shared_begin_block(Runner *runner)
{
    for (unsigned s = 0; s < runner->shared->len; s++)
        poison(&g_array_index(runner->shared, Shared, s));
    for (unsigned i = 0; i < runner->n_threads; i++)
        runner->copies[i].n = runner->copies[i].group = 0;
}

void
emulator_shared_end_thread(CtLane *visible)
{
    Copies *copies = copies_of(visible);
    finish_copies(copies, copies->group + 1);
}

void
emulator_shared_end_block(const Runner *runner)
{
    for (unsigned s = 0; s < runner->shared->len; s++)
        check_guards(runner, &g_array_index(runner->shared, Shared, s));
}

void
emulator_shared_end_launch(Runner *runner)
{
    for (unsigned s = 0; s < runner->shared->len; s++)
        free(g_array_index(runner->shared, Shared, s).memory);
    g_array_set_size(runner->shared, 0);
}
