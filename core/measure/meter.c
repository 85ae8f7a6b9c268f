/* SPDX-License-Identifier: BSD-3-Clause */
/* Loops that only multiply and add, or only copy. */
#include "meter.h"

#include "cost/peak.h"
#include "model/thread.h"
#include "moment.h"

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

/* ---- threads ---- */

typedef struct {
    guint index;
    CtIsa isa;
    pthread_barrier_t *barrier;
    guint8 *memory; /* source and destination of both copies, near the thread's processor; NULL: not
                       allocated yet */
    gsize large;    /* bytes of the source in memory */
    gsize piece;    /* the next one of the copy in memory */
    CtCeilings result;
} Runner;

static void
allocate(Runner *runner)
{
    const gsize bytes = 2 * (gsize)L2_BYTES + 2 * runner->large;
    runner->memory = g_malloc(bytes);
    for (gsize k = 0; k < bytes; k++)
        runner->memory[k] = (guint8)(k * 2654435761u >> 7);
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
    g_autoptr(GArray) processors = ct_topology_processors();
    const guint place = runner->index % processors->len;
    ct_thread_bind(&g_array_index(processors, CtProcessor, place), 1, CT_NO_NUMA);
    if (!runner->memory)
        allocate(runner);

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
    meter->n_runners = n_threads;
    const gsize n_pieces = DRAM_BYTES / MAX(n_threads, 4) / DRAM_PIECE;
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

void
ct_meter_measure(CtMeter *meter, guint n_threads, CtIsa isa, CtCeilings *ceilings)
{
    g_autofree GThread **threads = g_new0(GThread *, meter->n_runners);
    pthread_barrier_t barrier;
    n_threads = MIN(n_threads, meter->n_runners);
    pthread_barrier_init(&barrier, NULL, n_threads);
    for (guint i = 0; i < n_threads; i++) {
        meter->runners[i].barrier = &barrier;
        meter->runners[i].isa = isa;
        threads[i] = g_thread_new("ceiling", run, &meter->runners[i]);
    }
    *ceilings = (CtCeilings){0};
    for (guint i = 0; i < n_threads; i++) {
        g_thread_join(threads[i]);
        ceilings->fma += meter->runners[i].result.fma;
        ceilings->l2 += meter->runners[i].result.l2;
        ceilings->dram += meter->runners[i].result.dram;
    }
    pthread_barrier_destroy(&barrier);
}
