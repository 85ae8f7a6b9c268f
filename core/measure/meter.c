/* SPDX-License-Identifier: BSD-3-Clause */
/* Loops that only multiply and add, or only copy. */
#include "meter.h"

#include "cost/cost.h"
#include "cost/peak.h"
#include "model/quantity.h"
#include "model/thread.h"
#include "moment.h"

#include <cornerturn/error.h>
#include <pthread.h>
#include <string.h>

/* Each takes a millisecond or two. */
#define FMA_RUNS  25
#define L2_RUNS   150
#define DRAM_RUNS 3
#define L2_BYTES  (384u << 10) /* the copy has as many */
#define DRAM_BYTES                                                                                 \
    ((gsize)512 << 20) /* of all threads, at most a quarter each; the copy has as many */
#define DRAM_PIECE ((gsize)8 << 20) /* is copied at a time */

/* All threads may have this part of the machine's memory; the sources of their copies in memory are
 * the other one at most, unless they are as small as they can be. */
#define LARGEST_PART  2
#define SMALLEST_PART 8

/* ---- threads ---- */

/* A gate, at which threads wait until all of them are started. */
typedef enum { STARTING, STARTED, FAILED } GateState;

typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t opens;
    GateState state;
} Gate;

typedef struct {
    guint index;
    CtIsa isa;
    Gate *gate;
    pthread_barrier_t *barrier;
    guint8 *memory;     /* source and destination of both copies; NULL: not allocated yet */
    gboolean is_filled; /* by the thread, so that they are near its processor */
    gsize large;        /* bytes of the source in memory */
    gsize piece;        /* the next one of the copy in memory */
    CtCeilings result;
} Runner;

static gsize
bytes_of(const Runner *runner)
{
    return 2 * (gsize)L2_BYTES + 2 * runner->large;
}

static void
fill(Runner *runner)
{
    for (gsize k = 0; k < bytes_of(runner); k++)
        runner->memory[k] = (guint8)(k * 2654435761u >> 7);
    runner->is_filled = TRUE;
}

/* FALSE: a thread could not be started, so nothing is measured. */
static gboolean
pass(Gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    while (gate->state == STARTING)
        pthread_cond_wait(&gate->opens, &gate->lock);
    const gboolean passes = gate->state == STARTED;
    pthread_mutex_unlock(&gate->lock);
    return passes;
}

static void
open_gate(Gate *gate, GateState state)
{
    pthread_mutex_lock(&gate->lock);
    gate->state = state;
    pthread_cond_broadcast(&gate->opens);
    pthread_mutex_unlock(&gate->lock);
}

static gdouble
per_second(const CtMoment *from, gdouble amount)
{
    const CtMoment to = ct_moment_of_thread();
    return amount / (gdouble)ct_moments_between(from, &to, 1) * 1e9;
}

static gpointer
run(gpointer data)
{
    Runner *runner = data;
    gdouble operations = 0;
    if (!pass(runner->gate))
        return NULL;
    g_autoptr(GArray) processors = ct_topology_processors();
    const guint place = runner->index % processors->len;
    ct_thread_bind(&g_array_index(processors, CtProcessor, place), 1, CT_NO_NUMA);
    if (!runner->is_filled)
        fill(runner);

    pthread_barrier_wait(runner->barrier);
    CtMoment from = ct_moment_of_thread();
    for (guint i = 0; i < FMA_RUNS; i++)
        operations += ct_peak_run(runner->isa);
    runner->result.fma = per_second(&from, operations);

    guint8 *small = runner->memory, *large = runner->memory + 2 * L2_BYTES;
    memcpy(small + L2_BYTES, small, L2_BYTES);
    pthread_barrier_wait(runner->barrier);
    from = ct_moment_of_thread();
    for (guint i = 0; i < L2_RUNS; i++)
        memcpy(small + L2_BYTES, small, L2_BYTES);
    runner->result.l2 = per_second(&from, 2.0 * L2_RUNS * L2_BYTES);

    pthread_barrier_wait(runner->barrier);
    from = ct_moment_of_thread();
    for (guint i = 0; i < DRAM_RUNS; i++) {
        memcpy(large + runner->large + runner->piece, large + runner->piece, DRAM_PIECE);
        runner->piece = (runner->piece + DRAM_PIECE) % runner->large;
    }
    runner->result.dram = per_second(&from, 2.0 * DRAM_RUNS * DRAM_PIECE);
    return NULL;
}

struct CtMeter {
    guint n_runners;
    Runner runners[];
};

CtMeter *
ct_meter_new(guint n_threads)
{
    CtMeter *meter = g_malloc0(sizeof *meter + n_threads * sizeof *meter->runners);
    CtMachine machine;
    ct_machine_init(&machine, n_threads);
    meter->n_runners = n_threads;
    const gsize most = machine.memory_bytes > 0 ? machine.memory_bytes / SMALLEST_PART : G_MAXSIZE;
    const gsize n_pieces = MIN(DRAM_BYTES, most) / MAX(n_threads, 4) / DRAM_PIECE;
    for (guint i = 0; i < n_threads; i++) {
        meter->runners[i].index = i;
        meter->runners[i].large = MAX(n_pieces, 2) * DRAM_PIECE;
    }
    return meter;
}

void
ct_meter_free(CtMeter *meter)
{
    for (guint i = 0; meter && i < meter->n_runners; i++)
        g_free(meter->runners[i].memory);
    g_free(meter);
}

CtIsa
ct_meter_isa(void)
{
    CtIsa isa = CT_N_ISAS - 1;
    while (!ct_peak_is_known(isa))
        isa--;
    return isa;
}

/* Allocates what the threads copy. */
static gboolean
allocate(CtMeter *meter, guint n_threads, GError **error)
{
    CtMachine machine;
    ct_machine_init(&machine, n_threads);
    const gsize bytes = n_threads * bytes_of(&meter->runners[0]);
    if (machine.memory_bytes > 0 && bytes > machine.memory_bytes / LARGEST_PART) {
        g_autofree char *wanted = ct_format_bytes(bytes);
        g_autofree char *there = ct_format_bytes(machine.memory_bytes / LARGEST_PART);
        g_set_error(error, CT_ERROR, CT_ERROR_MEMORY,
                    "ceilings of %u worker%s want %s of memory, but half of the machine's is %s",
                    n_threads, n_threads == 1 ? "" : "s", wanted, there);
        return FALSE;
    }
    for (guint i = 0; i < n_threads; i++) {
        Runner *runner = &meter->runners[i];
        if (!runner->memory)
            runner->memory = g_try_malloc(bytes_of(runner));
        if (runner->memory)
            continue;
        g_autofree char *wanted = ct_format_bytes(bytes);
        g_set_error(error, CT_ERROR, CT_ERROR_MEMORY,
                    "ceilings of %u worker%s want %s of memory, but there is less", n_threads,
                    n_threads == 1 ? "" : "s", wanted);
        return FALSE;
    }
    return TRUE;
}

/* Runs the threads to their ends; FALSE: one could not be started. */
static gboolean
run_threads(CtMeter *meter, guint n_threads, CtIsa isa, GError **error)
{
    g_autofree GThread **threads = g_new0(GThread *, n_threads);
    Gate gate = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, STARTING};
    pthread_barrier_t barrier;
    guint n = 0;
    pthread_barrier_init(&barrier, NULL, n_threads);
    for (gboolean good = TRUE; good && n < n_threads; n += good) {
        meter->runners[n].gate = &gate;
        meter->runners[n].barrier = &barrier;
        meter->runners[n].isa = isa;
        threads[n] = ct_thread_start("ceiling", run, &meter->runners[n], error);
        good = threads[n] != NULL;
    }
    open_gate(&gate, n == n_threads ? STARTED : FAILED);
    for (guint i = 0; i < n; i++)
        g_thread_join(threads[i]);
    pthread_barrier_destroy(&barrier);
    pthread_cond_destroy(&gate.opens);
    pthread_mutex_destroy(&gate.lock);
    return n == n_threads;
}

gboolean
ct_meter_measure(CtMeter *meter, guint n_threads, CtIsa isa, CtCeilings *ceilings, GError **error)
{
    n_threads = MIN(n_threads, meter->n_runners);
    if (!allocate(meter, n_threads, error) || !run_threads(meter, n_threads, isa, error))
        return FALSE;
    *ceilings = (CtCeilings){0};
    for (guint i = 0; i < n_threads; i++) {
        ceilings->fma += meter->runners[i].result.fma;
        ceilings->l2 += meter->runners[i].result.l2;
        ceilings->dram += meter->runners[i].result.dram;
    }
    return TRUE;
}
