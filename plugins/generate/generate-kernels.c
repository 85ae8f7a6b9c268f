/* SPDX-License-Identifier: BSD-3-Clause */
/* The inner loops of generate in single precision: Philox, Box and Muller, delays, tones. */
#include "generate-kernels.h"

#include <math.h>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

typedef gfloat Floats __attribute__((vector_size(CT_VECTOR_BYTES)));
typedef guint32 Words __attribute__((vector_size(CT_VECTOR_BYTES)));
typedef gint32 Ints __attribute__((vector_size(CT_VECTOR_BYTES)));
typedef guint64 Longs __attribute__((vector_size(CT_VECTOR_BYTES)));
/* at any address */
typedef gfloat Unaligned
    __attribute__((vector_size(CT_VECTOR_BYTES), aligned(sizeof(gfloat)), may_alias));

enum { VECTOR_FLOATS = CT_VECTOR_BYTES / sizeof(gfloat), PAIRS = VECTOR_FLOATS / 2 };

/* The products of the low halves. */
static inline Longs
multiply(Longs a, Longs b)
{
#if defined(__AVX512F__)
    return (Longs)_mm512_mul_epu32((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    return (Longs)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
    return (Longs)_mm_mul_epu32((__m128i)a, (__m128i)b);
#elif defined(__ARM_NEON)
    return (Longs)vmull_u32(vmovn_u64((uint64x2_t)a), vmovn_u64((uint64x2_t)b));
#else
    return (a & 0xffffffffu) * (b & 0xffffffffu);
#endif
}

static inline Floats
square_root(Floats x)
{
#if defined(__AVX512F__)
    return (Floats)_mm512_sqrt_ps((__m512)x);
#elif defined(__AVX__)
    return (Floats)_mm256_sqrt_ps((__m256)x);
#elif defined(__SSE2__)
    return (Floats)_mm_sqrt_ps((__m128)x);
#elif defined(__ARM_NEON)
    return (Floats)vsqrtq_f32((float32x4_t)x);
#else
    for (guint i = 0; i < VECTOR_FLOATS; i++)
        x[i] = sqrtf(x[i]);
    return x;
#endif
}

static inline Floats
select_floats(Ints mask, Floats yes, Floats no)
{
    return (Floats)((mask & (Ints)yes) | (~mask & (Ints)no));
}

/* −ln x for 2⁻²⁴ ≤ x < 1. */
static inline Floats
minus_log(Floats x)
{
    /* x = 2ᵉ m with √½ ≤ m < √2 */
    Words bits = (Words)x;
    Words shifted = bits - 0x3f3504f3u;
    Floats exponent = __builtin_convertvector((Ints)shifted >> 23, Floats);
    Floats m = (Floats)((shifted & 0x007fffffu) + 0x3f3504f3u) - 1;
    /* ln(1 + m) = m − m²/2 + m³ P(m): the coefficients of Cephes' logf */
    Floats p = 7.0376836292e-2f * m - 1.1514610310e-1f;
    p = p * m + 1.1676998740e-1f;
    p = p * m - 1.2420140846e-1f;
    p = p * m + 1.4249322787e-1f;
    p = p * m - 1.6668057665e-1f;
    p = p * m + 2.0000714765e-1f;
    p = p * m - 2.4999993993e-1f;
    p = p * m + 3.3333331174e-1f;
    Floats square = m * m;
    Floats log_m = p * m * square + exponent * -2.12194440e-4f;
    log_m = m - 0.5f * square + log_m;
    return -(exponent * 0.693359375f + log_m);
}

/* cos and sin of 2π · turns, for 0 ≤ turns ≤ 1. */
static inline void
cos_sin(Floats turns, Floats *cosine, Floats *sine)
{
    Ints quarter = __builtin_convertvector(turns * 4 + 0.5f, Ints);
    Floats x = (turns * 4 - __builtin_convertvector(quarter, Floats)) * (gfloat)G_PI_2;
    Floats square = x * x;
    Floats s = square * -1.9515295891e-4f + 8.3321608736e-3f;
    s = s * square - 1.6666654611e-1f;
    s = s * square * x + x;
    Floats c = square * 2.443315711809948e-5f - 1.388731625493765e-3f;
    c = c * square + 4.166664568298827e-2f;
    c = c * square * square - 0.5f * square + 1;
    Ints odd = -(quarter & 1);
    Ints sine_sign = (quarter & 2) << 30, cosine_sign = ((quarter + 1) & 2) << 30;
    *sine = (Floats)((Ints)select_floats(odd, c, s) ^ sine_sign);
    *cosine = (Floats)((Ints)select_floats(odd, s, c) ^ cosine_sign);
}

/* Philox4x32-10 of the counters pair … pair + PAIRS − 1, which differ only in the lowest word. The
 * first two words of a counter are for an even sample, the others for the next one: `radius` and
 * `angle` are in the order of the samples. */
static inline void
philox(guint64 pair, guint32 series, guint32 kind, const guint32 keys[20], Words *radius,
       Words *angle)
{
    Longs c0 = {0};
    for (guint i = 0; i < PAIRS; i++)
        c0[i] = i;
    c0 += pair & 0xffffffffu;
    Longs c1 = (pair >> 32) - (Longs){0}, c2 = (guint64)series - (Longs){0};
    Longs c3 = (guint64)kind - (Longs){0};
    const Longs first = (guint64)0xd2511f53u - (Longs){0};
    const Longs second = (guint64)0xcd9e8d57u - (Longs){0};
    /* garbage in the high halves does no harm: products ignore them */
    for (guint round = 0; round < 10; round++) {
        Longs a = multiply(c0, first), b = multiply(c2, second);
        c0 = (b >> 32) ^ c1 ^ keys[2 * round];
        c1 = b;
        c2 = (a >> 32) ^ c3 ^ keys[2 * round + 1];
        c3 = a;
    }
    *radius = (Words)((c0 & 0xffffffffu) | (c2 << 32));
    *angle = (Words)((c1 & 0xffffffffu) | (c3 << 32));
}

void
CT_ISA(generate_noise)(gfloat *re, gfloat *im, gint64 t, gsize n, const guint32 key[2],
                       guint32 series, guint32 kind, gfloat amplitude)
{
    guint32 keys[20];
    for (guint round = 0; round < 10; round++) {
        keys[2 * round] = key[0] + round * 0x9e3779b9u;
        keys[2 * round + 1] = key[1] + round * 0xbb67ae85u;
    }
    for (gsize i = 0; i < n; i += VECTOR_FLOATS) {
        Words radius_bits, angle_bits;
        philox((guint64)((t + (gint64)i) >> 1), series, kind, keys, &radius_bits, &angle_bits);
        Floats u = __builtin_convertvector((Ints)(radius_bits >> 9 << 1 | 1), Floats) * 0x1p-24f;
        Floats v = __builtin_convertvector((Ints)(angle_bits >> 8), Floats) * 0x1p-24f;
        Floats radius = square_root(minus_log(u)) * amplitude, cosine, sine;
        cos_sin(v, &cosine, &sine);
        *(Unaligned *)(re + i) = radius * cosine;
        *(Unaligned *)(im + i) = radius * sine;
    }
}

void
CT_ISA(generate_mix)(gfloat *second, const gfloat *first, gsize n, gfloat rho, gfloat own)
{
    for (gsize i = 0; i < n; i++)
        second[i] = rho * first[i] + own * second[i];
}

void
CT_ISA(generate_delayed)(gfloat *re, gfloat *im, const gfloat *z_re, const gfloat *z_im, gsize n,
                         const gfloat *taps, guint n_taps, const gfloat rotation[2])
{
    for (gsize i = 0; i < n; i += GENERATE_GROUP) {
        enum { STEPS = GENERATE_GROUP / VECTOR_FLOATS > 4 ? 4 : GENERATE_GROUP / VECTOR_FLOATS };
        for (guint j = 0; j < GENERATE_GROUP / VECTOR_FLOATS; j += STEPS) {
            Floats sum_re[STEPS] = {{0}}, sum_im[STEPS] = {{0}};
            for (guint k = 0; k < n_taps; k++) {
                const gfloat *a = z_re + i + j * VECTOR_FLOATS - k,
                             *b = z_im + i + j * VECTOR_FLOATS - k;
                for (guint step = 0; step < STEPS; step++) {
                    sum_re[step] += taps[k] * *(const Unaligned *)(a + step * VECTOR_FLOATS);
                    sum_im[step] += taps[k] * *(const Unaligned *)(b + step * VECTOR_FLOATS);
                }
            }
            for (guint step = 0; step < STEPS; step++) {
                Unaligned *x = (Unaligned *)(re + i + (j + step) * VECTOR_FLOATS);
                Unaligned *y = (Unaligned *)(im + i + (j + step) * VECTOR_FLOATS);
                *x += sum_re[step] * rotation[0] - sum_im[step] * rotation[1];
                *y += sum_re[step] * rotation[1] + sum_im[step] * rotation[0];
            }
        }
    }
}

void
CT_ISA(generate_phasors)(gfloat *re, gfloat *im, gint64 t, gsize n, guint64 increment)
{
    for (gsize i = 0; i < n; i += VECTOR_FLOATS) {
        Words phase = {0};
        for (guint j = 0; j < VECTOR_FLOATS; j++)
            phase[j] = (guint32)((increment * (guint64)(t + (gint64)(i + j))) >> 32);
        /* a float holds 24 bits */
        Floats turns = __builtin_convertvector((Ints)(phase >> 8), Floats) * 0x1p-24f, cosine, sine;
        cos_sin(turns, &cosine, &sine);
        *(Unaligned *)(re + i) = cosine;
        *(Unaligned *)(im + i) = sine;
    }
}

void
CT_ISA(generate_add)(gfloat *re, gfloat *im, const gfloat *z_re, const gfloat *z_im, gsize n,
                     const gfloat gain[2])
{
    for (gsize i = 0; i < n; i++) {
        re[i] += gain[0] * z_re[i] - gain[1] * z_im[i];
        im[i] += gain[0] * z_im[i] + gain[1] * z_re[i];
    }
}
