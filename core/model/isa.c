/* SPDX-License-Identifier: BSD-3-Clause */
/* Instruction sets: their names, how they contain one another, and which of them this process may
 * use. */
#include "isa.h"

#include <pthread.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

static const struct {
    const char *name;
    CtIsa extends; /* itself: no other set */
    gboolean is_for_integers;
} sets[CT_N_ISAS] = {
    [CT_ISA_BASELINE] = {"baseline", CT_ISA_BASELINE, FALSE},
    [CT_ISA_AVX2] = {"avx2", CT_ISA_BASELINE, FALSE},
    [CT_ISA_AVX512] = {"avx512", CT_ISA_AVX2, FALSE},
    [CT_ISA_AVXVNNI] = {"avxvnni", CT_ISA_AVX2, TRUE},
    [CT_ISA_AVX512VNNI] = {"avx512vnni", CT_ISA_AVX512, TRUE},
    [CT_ISA_AMX] = {"amx", CT_ISA_AVX512VNNI, TRUE},
};

const char *
ct_isa_name(CtIsa isa)
{
    return sets[isa].name;
}

char *
ct_isa_names(void)
{
    GString *text = g_string_new(sets[0].name);
    for (CtIsa isa = 1; isa < CT_N_ISAS; isa++)
        g_string_append_printf(text, "%s%s", isa == CT_N_ISAS - 1 ? " or " : ", ", sets[isa].name);
    return g_string_free(text, FALSE);
}

gboolean
ct_isa_from_name(const char *name, CtIsa *isa)
{
    for (CtIsa i = 0; i < CT_N_ISAS; i++)
        if (g_str_equal(name, sets[i].name)) {
            *isa = i;
            return TRUE;
        }
    return FALSE;
}

gboolean
ct_isa_contains(CtIsa isa, CtIsa part)
{
    while (isa != part && isa != sets[isa].extends)
        isa = sets[isa].extends;
    return isa == part;
}

CtIsa
ct_isa_vectors(CtIsa isa)
{
    while (sets[isa].is_for_integers)
        isa = sets[isa].extends;
    return isa;
}

/* ---- this processor ---- */

#if defined(__x86_64__)

/* Leaf 7 of CPUID, whose subleaf 1 has AVX-VNNI; state components in XCR0; what Linux calls the
 * request for a state component. */
#define AVXVNNI_EAX         (1u << 4)
#define AMX_EDX             (1u << 24 | 1u << 25) /* tiles, and products of bytes */
#define AMX_STATE           (1u << 17 | 1u << 18) /* their configuration, and their data */
#define OSXSAVE_ECX         (1u << 27)
#define ARCH_REQ_XCOMP_PERM 0x1023
#define XFEATURE_XTILEDATA  18

static gboolean
has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}

static gboolean
has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}

static gboolean
has_avxvnni(void)
{
    guint eax, ebx, ecx, edx;
    return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) && (eax & AVXVNNI_EAX);
}

static gboolean
has_avx512vnni(void)
{
    return __builtin_cpu_supports("avx512vnni");
}

static gboolean
has_amx(void)
{
    guint eax, ebx, ecx, edx;
    return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (edx & AMX_EDX) == AMX_EDX;
}

/* Whether the system saves the registers, and lets this process use them. */
static gboolean
is_amx_granted(void)
{
    guint eax, ebx, ecx, edx;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & OSXSAVE_ECX))
        return FALSE;
    __asm__ volatile("xgetbv" : "=a"(eax), "=d"(edx) : "c"(0));
    return (eax & AMX_STATE) == AMX_STATE &&
           syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
}

#define LACKS(instructions) "this processor lacks " instructions

static const struct {
    gboolean (*is_there)(void);
    const char *otherwise;
} needs[CT_N_ISAS][2] = {
    [CT_ISA_AVX2] = {{has_avx2, LACKS("AVX2 or FMA")}},
    [CT_ISA_AVX512] = {{has_avx512, LACKS("AVX-512")}},
    [CT_ISA_AVXVNNI] = {{has_avxvnni, LACKS("AVX-VNNI")}},
    [CT_ISA_AVX512VNNI] = {{has_avx512vnni, LACKS("AVX-512 VNNI")}},
    [CT_ISA_AMX] = {{has_amx, LACKS("AMX")}, {is_amx_granted, "AMX is not granted by the kernel"}},
};

static const char *
find_missing(CtIsa isa)
{
    const char *missing = isa == sets[isa].extends ? NULL : find_missing(sets[isa].extends);
    for (guint i = 0; i < G_N_ELEMENTS(needs[isa]) && needs[isa][i].is_there && !missing; i++)
        missing = needs[isa][i].is_there() ? NULL : needs[isa][i].otherwise;
    return missing;
}

#else

static const char *
find_missing(CtIsa isa)
{
    return isa == CT_ISA_BASELINE ? NULL : "this processor has other instructions";
}

#endif

static const char *amx_missing;

static void
find_amx(void)
{
    amx_missing = find_missing(CT_ISA_AMX);
}

const char *
ct_isa_missing(CtIsa isa)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (isa != CT_ISA_AMX)
        return find_missing(isa);
    pthread_once(&once, find_amx);
    return amx_missing;
}
