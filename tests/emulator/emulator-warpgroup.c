/* SPDX-License-Identifier: BSD-3-Clause */
/* Barriers with phases, and operations of a thread that are done later than they are called: the
 * products of warpgroups. */
#include "emulator-block.h"

#include <string.h>

/* A barrier as it is in shared memory. */
typedef struct {
    guint16 expected, left; /* arrivals of a phase */
    guint32 n_ended;        /* phases */
} Phases;

static Runner *
runner_of(const CtLane *lane)
{
    return ((const Lane *)lane)->runner;
}

/* ---- barriers with phases ---- */

void
emulator_phases_begin(G_GNUC_UNUSED CtLane *visible, void *barrier, unsigned n_arrivals)
{
    const Phases begun = {(guint16)n_arrivals, (guint16)n_arrivals, 0};
    memcpy(barrier, &begun, sizeof begun);
}

/* Memory that no thread has begun as a barrier has other bytes. */
static Phases *
find_phases(const CtLane *visible, void *barrier, const char *file, int line)
{
    Phases *phases = barrier;
    if (phases->left == 0 || phases->left > phases->expected || phases->expected > MAX_THREADS)
        emulator_lane_fail(visible, file, line, "a barrier was not begun");
    return phases;
}

void
emulator_phases_arrive(CtLane *visible, void *barrier, const char *file, int line)
{
    Phases *phases = find_phases(visible, barrier, file, line);
    ORDER_BEFORE(barrier);
    if (--phases->left > 0)
        return;
    phases->left = phases->expected;
    phases->n_ended++;
}

gboolean
emulator_phase_has_ended(const Lane *lane)
{
    return (((const Phases *)lane->phases)->n_ended & 1) != lane->parity;
}

void
emulator_phases_wait(CtLane *visible, void *barrier, unsigned parity, const char *file, int line)
{
    Lane *lane = (Lane *)visible;
    find_phases(visible, barrier, file, line);
    lane->phases = barrier;
    lane->parity = parity;
    if (!emulator_phase_has_ended(lane))
        emulator_suspend(lane, AT_PHASE, file, line);
    ORDER_AFTER(barrier);
}

/* ---- deferred operations ----
 *
 * As copies to shared memory are, they are done as late as possible or at once. */

static Deferrals *
deferrals_of(CtLane *visible)
{
    const CtIndex t = visible->thread, n = visible->block_length;
    return &runner_of(visible)->deferrals[(t.z * n.y + t.y) * n.x + t.x];
}

void
emulator_defer_begin(CtLane *visible)
{
    deferrals_of(visible)->has_begun = TRUE;
}

void
emulator_defer(CtLane *visible, void (*run)(const void *arguments), const void *arguments,
               size_t bytes, const char *file, int line)
{
    Deferrals *deferrals = deferrals_of(visible);
    if (!deferrals->has_begun)
        emulator_lane_fail(visible, file, line, "a product of a warpgroup has no ct_wgmma_begin");
    if (emulator_is_early(runner_of(visible))) {
        run(arguments);
        return;
    }
    if (!deferrals->all)
        deferrals->all = g_array_new(FALSE, FALSE, sizeof(Deferred));
    Deferred deferred = {.run = run, .group = deferrals->group};
    g_assert(bytes <= sizeof deferred.arguments);
    memcpy(deferred.arguments, arguments, bytes);
    g_array_append_val(deferrals->all, deferred);
}

void
emulator_defer_commit(CtLane *visible)
{
    Deferrals *deferrals = deferrals_of(visible);
    deferrals->has_begun = FALSE;
    deferrals->group++;
}

void
emulator_defer_wait(CtLane *visible, unsigned groups)
{
    Deferrals *deferrals = deferrals_of(visible);
    const unsigned end = deferrals->group - MIN(groups, deferrals->group);
    guint n = 0;
    for (; deferrals->all && n < deferrals->all->len; n++) {
        const Deferred *deferred = &g_array_index(deferrals->all, Deferred, n);
        if (deferred->group >= end)
            break;
        deferred->run(deferred->arguments);
    }
    if (n > 0)
        g_array_remove_range(deferrals->all, 0, n);
}

void
emulator_defer_end(CtLane *visible)
{
    Deferrals *deferrals = deferrals_of(visible);
    if (deferrals->all && deferrals->all->len > 0)
        emulator_lane_fail(visible, "", 0, "a thread ends before its products");
    deferrals->group = 0;
    deferrals->has_begun = FALSE;
}
