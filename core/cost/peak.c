/* SPDX-License-Identifier: BSD-3-Clause */
/* Loops that only multiply and add, for each instruction set. */
#include "peak.h"

#include "model/isa.h"

/* Enough independent chains of multiply-adds hide the latency of one: without fused ones six
 * cycles, in which some processors begin twelve. They start from different numbers, none of them
 * the fixed point: the compiler would merge equal chains. */
enum { N_CHAINS = 12, N_STEPS = 17000 };

#define DEFINE_PEAK(name, target, vector_bytes)                                                    \
    typedef float Vector_##name __attribute__((vector_size(vector_bytes)));                        \
    target static float name(void)                                                                 \
    {                                                                                              \
        Vector_##name sums[N_CHAINS] = {0};                                                        \
        const Vector_##name factor = sums[0] + 0.999f, term = sums[0] + 1e-3f;                     \
        for (guint k = 0; k < N_CHAINS; k++)                                                       \
            sums[k] += 2 + (float)k;                                                               \
        for (guint i = 0; i < N_STEPS; i++) {                                                      \
            _Pragma("GCC unroll 16") for (guint k = 0; k < N_CHAINS; k++) sums[k] =                \
                sums[k] * factor + term;                                                           \
        }                                                                                          \
        float sum = 0;                                                                             \
        for (guint k = 0; k < N_CHAINS; k++)                                                       \
            sum += sums[k][k % 4];                                                                 \
        return sum;                                                                                \
    }

DEFINE_PEAK(run_baseline, , 16)
#if defined(__x86_64__)
DEFINE_PEAK(run_avx2, __attribute__((target("avx2,fma"))), 32)
DEFINE_PEAK(run_avx512, __attribute__((target("avx512f"))), 64)
#endif

static const struct {
    float (*run)(void);
    guint n_floats; /* of a vector */
} peaks[CT_N_ISAS] = {
    [CT_ISA_BASELINE] = {run_baseline, 4},
#if defined(__x86_64__)
    [CT_ISA_AVX2] = {run_avx2, 8},
    [CT_ISA_AVX512] = {run_avx512, 16},
#endif
};

gboolean
ct_peak_is_known(CtIsa isa)
{
    return peaks[isa].run && !ct_isa_missing(isa);
}

gdouble
ct_peak_run(CtIsa isa)
{
    /* Keeps the compiler from dropping the loop. */
    volatile float sum = peaks[isa].run();
    (void)sum;
    return 2.0 * N_CHAINS * N_STEPS * peaks[isa].n_floats;
}
