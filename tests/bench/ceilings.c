/* SPDX-License-Identifier: BSD-3-Clause */
/* Loops that only multiply and add, or only copy. */
#include "ceilings.h"

#include "clock.h"
#include "model/thread.h"

#include <pthread.h>
#include <string.h>

/* Each takes a millisecond or two. */
#define FMA_RUNS   200
#define L2_RUNS    150
#define DRAM_RUNS  3
#define L2_BYTES   (384u << 10) /* the copy has as many */
#define DRAM_BYTES (128u << 20) /* the copy has as many; one piece is copied at a time */
#define DRAM_PIECE (8u << 20)

/* ---- multiply-adds ---- */

/* Independent sums, enough for two units with a latency of five. */
#define N_SUMS   12
#define N_ROUNDS 2000

#define EACH_SUM(i) _Pragma("GCC unroll 12") for (guint i = 0; i < N_SUMS; i++)

#define DEFINE_FMA(name, bytes, attributes)                                                        \
    attributes static gfloat name(gfloat seed)                                                     \
    {                                                                                              \
        typedef gfloat Vector __attribute__((vector_size(bytes)));                                 \
        Vector sum[N_SUMS];                                                                        \
        const Vector a = seed - (Vector){0}, b = 1 - a;                                            \
        EACH_SUM(i) sum[i] = (gfloat)i - (Vector){0};                                              \
        for (guint round = 0; round < N_ROUNDS; round++)                                           \
            EACH_SUM(i) sum[i] = sum[i] * a + b;                                                   \
        gfloat total = 0;                                                                          \
        EACH_SUM(i) total += sum[i][0];                                                            \
        return total;                                                                              \
    }

#if defined(__x86_64__)
DEFINE_FMA(fma_avx512, 64, __attribute__((target("avx512f,fma"))))
DEFINE_FMA(fma_avx2, 32, __attribute__((target("avx2,fma"))))
#endif
DEFINE_FMA(fma_baseline, 16, )

typedef struct {
    gfloat (*run)(gfloat seed);
    guint n_floats; /* of a vector */
} Fma;

static Fma
pick_fma(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f"))
        return (Fma){fma_avx512, 16};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return (Fma){fma_avx2, 8};
#endif
    return (Fma){fma_baseline, 4};
}

/* ---- threads ---- */

typedef struct {
    guint index;
    pthread_barrier_t *barrier;
    guint8 *memory; /* of this thread: source and destination of both copies */
    gsize piece;    /* the next one of the copy in memory */
    Ceilings result;
} Runner;

static gdouble
per_second(const Moment *from, gdouble amount)
{
    const Moment to = moment_of_thread();
    return amount / (gdouble)moments_between(from, &to, 1) * 1e9;
}

static gpointer
run(gpointer data)
{
    Runner *runner = data;
    const Fma fma = pick_fma();
    volatile gfloat sink = 0;
    g_autoptr(GArray) processors = ct_topology_processors();
    const guint place = runner->index % processors->len;
    ct_thread_bind(&g_array_index(processors, CtProcessor, place), 1, CT_NO_NUMA);

    pthread_barrier_wait(runner->barrier);
    Moment from = moment_of_thread();
    for (guint i = 0; i < FMA_RUNS; i++)
        sink = sink + fma.run(0.999f);
    runner->result.fma = per_second(&from, 2.0 * FMA_RUNS * N_ROUNDS * N_SUMS * fma.n_floats);

    guint8 *small = runner->memory, *large = runner->memory + 2 * L2_BYTES;
    memcpy(small + L2_BYTES, small, L2_BYTES);
    pthread_barrier_wait(runner->barrier);
    from = moment_of_thread();
    for (guint i = 0; i < L2_RUNS; i++)
        memcpy(small + L2_BYTES, small, L2_BYTES);
    runner->result.l2 = per_second(&from, 2.0 * L2_RUNS * L2_BYTES);

    pthread_barrier_wait(runner->barrier);
    from = moment_of_thread();
    for (guint i = 0; i < DRAM_RUNS; i++) {
        memcpy(large + DRAM_BYTES + runner->piece, large + runner->piece, DRAM_PIECE);
        runner->piece = (runner->piece + DRAM_PIECE) % DRAM_BYTES;
    }
    runner->result.dram = per_second(&from, 2.0 * DRAM_RUNS * DRAM_PIECE);
    return NULL;
}

struct CeilingMeter {
    guint n_runners;
    Runner runners[];
};

CeilingMeter *
ceiling_meter_new(guint n_threads)
{
    CeilingMeter *meter = g_malloc0(sizeof *meter + n_threads * sizeof *meter->runners);
    meter->n_runners = n_threads;
    for (guint i = 0; i < n_threads; i++) {
        const gsize bytes = 2 * (gsize)L2_BYTES + 2 * (gsize)DRAM_BYTES;
        meter->runners[i].index = i;
        meter->runners[i].memory = g_malloc(bytes);
        for (gsize k = 0; k < bytes; k++)
            meter->runners[i].memory[k] = (guint8)(k * 2654435761u >> 7);
    }
    return meter;
}

void
ceiling_meter_free(CeilingMeter *meter)
{
    for (guint i = 0; meter && i < meter->n_runners; i++)
        g_free(meter->runners[i].memory);
    g_free(meter);
}

void
ceiling_meter_measure(CeilingMeter *meter, guint n_threads, Ceilings *ceilings)
{
    g_autofree GThread **threads = g_new0(GThread *, meter->n_runners);
    pthread_barrier_t barrier;
    n_threads = MIN(n_threads, meter->n_runners);
    pthread_barrier_init(&barrier, NULL, n_threads);
    for (guint i = 0; i < n_threads; i++) {
        meter->runners[i].barrier = &barrier;
        threads[i] = g_thread_new("ceiling", run, &meter->runners[i]);
    }
    *ceilings = (Ceilings){0};
    for (guint i = 0; i < n_threads; i++) {
        g_thread_join(threads[i]);
        ceilings->fma += meter->runners[i].result.fma;
        ceilings->l2 += meter->runners[i].result.l2;
        ceilings->dram += meter->runners[i].result.dram;
    }
    pthread_barrier_destroy(&barrier);
}
