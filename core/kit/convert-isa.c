/* SPDX-License-Identifier: BSD-3-Clause */
/* Conversions between all pairs of types; compiled once per instruction set. */
#include "convert-isa.h"

#include <cornerturn/kit/half.h>
#include <math.h>
#include <stdint.h>
#ifdef __F16C__
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

/* Clips integers to the limits of another integer type. */
#define CLIP(wide, least, most)                                                                    \
    (to[i] = (wide)from[i] < (least) ? (least) : (wide)from[i] > (most) ? (most) : (wide)from[i])

/* Rounds a float to an integer half to even, within the limits of the integer type; NaN becomes
 * 0. */
#define ROUND(real, least, most)                                                                   \
    const real x = from[i] != from[i] ? 0 : from[i];                                               \
    to[i] = x <= (real)(least) ? (least) : x >= (real)(most) ? (most) : rint(x)

#define DEFINE(name, from_type, to_type, ...)                                                      \
    static void name(const void *restrict source, void *restrict target, gsize n)                  \
    {                                                                                              \
        const from_type *from = source;                                                            \
        to_type *to = target;                                                                      \
        for (gsize i = 0; i < n; i++) {                                                            \
            __VA_ARGS__;                                                                           \
        }                                                                                          \
    }

#define FROM_INTEGER(type, from_type, wide)                                                        \
    DEFINE(type##_to_i8, from_type, int8_t, CLIP(wide, INT8_MIN, INT8_MAX))                        \
    DEFINE(type##_to_i16, from_type, int16_t, CLIP(wide, INT16_MIN, INT16_MAX))                    \
    DEFINE(type##_to_i32, from_type, int32_t, CLIP(int64_t, INT32_MIN, INT32_MAX))                 \
    DEFINE(type##_to_i64, from_type, int64_t, to[i] = from[i])                                     \
    DEFINE(type##_to_u8, from_type, uint8_t, CLIP(wide, 0, UINT8_MAX))                             \
    DEFINE(type##_to_u32, from_type, uint32_t, CLIP(int64_t, 0, UINT32_MAX))                       \
    DEFINE(type##_to_f32, from_type, float, to[i] = from[i])                                       \
    DEFINE(type##_to_f64, from_type, double, to[i] = from[i])

#define FROM_FLOAT(type, from_type)                                                                \
    DEFINE(type##_to_i8, from_type, int8_t, ROUND(from_type, INT8_MIN, INT8_MAX))                  \
    DEFINE(type##_to_i16, from_type, int16_t, ROUND(from_type, INT16_MIN, INT16_MAX))              \
    DEFINE(type##_to_i32, from_type, int32_t, ROUND(double, INT32_MIN, INT32_MAX))                 \
    DEFINE(type##_to_i64, from_type, int64_t, ROUND(double, INT64_MIN, INT64_MAX))                 \
    DEFINE(type##_to_u8, from_type, uint8_t, ROUND(from_type, 0, UINT8_MAX))                       \
    DEFINE(type##_to_u32, from_type, uint32_t, ROUND(double, 0, UINT32_MAX))                       \
    DEFINE(type##_to_f32, from_type, float, to[i] = (float)from[i])                                \
    DEFINE(type##_to_f64, from_type, double, to[i] = from[i])

FROM_INTEGER(i8, int8_t, int32_t)
FROM_INTEGER(i16, int16_t, int32_t)
FROM_INTEGER(i32, int32_t, int64_t)
FROM_INTEGER(i64, int64_t, int64_t)
FROM_INTEGER(u8, uint8_t, int32_t)
FROM_INTEGER(u32, uint32_t, int64_t)
FROM_FLOAT(f32, float)
FROM_FLOAT(f64, double)

#define ROW(type, name)                                                                            \
    [type] = {[CT_I8] = name##_to_i8,   [CT_I16] = name##_to_i16, [CT_I32] = name##_to_i32,        \
              [CT_I64] = name##_to_i64, [CT_U8] = name##_to_u8,   [CT_U32] = name##_to_u32,        \
              [CT_F32] = name##_to_f32, [CT_F64] = name##_to_f64}

static const CtConvertStep runs[CT_N_TYPES][CT_N_TYPES] = {
    ROW(CT_I8, i8), ROW(CT_I16, i16), ROW(CT_I32, i32), ROW(CT_I64, i64),
    ROW(CT_U8, u8), ROW(CT_U32, u32), ROW(CT_F32, f32), ROW(CT_F64, f64),
};

static void
unpack_half(const void *from, void *to, gsize n)
{
    const uint16_t *x = from;
    float *y = to;
    gsize i = 0;
#ifdef __F16C__
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(y + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(x + i))));
#elif defined(__ARM_NEON)
    for (; i + 4 <= n; i += 4)
        vst1q_f32(y + i, vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(x + i))));
#endif
    for (; i < n; i++)
        y[i] = ct_half_to_float(x[i]);
}

static void
pack_half(const void *from, void *to, gsize n)
{
    const double *x = from;
    uint16_t *y = to;
    for (gsize i = 0; i < n; i++)
        y[i] = ct_half_from_double(x[i]);
}

/* f32 to f16 directly: through f64 it would be rounded twice. */
static void
pack_half_float(const void *from, void *to, gsize n)
{
    const float *x = from;
    uint16_t *y = to;
    gsize i = 0;
#ifdef __F16C__
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((__m128i *)(y + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT));
#elif defined(__ARM_NEON)
    for (; i + 4 <= n; i += 4)
        vst1_u16(y + i, vreinterpret_u16_f16(vcvt_f16_f32(vld1q_f32(x + i))));
#endif
    for (; i < n; i++)
        y[i] = ct_half_from_double((double)x[i]);
}

static void
unpack_nibbles(const void *from, void *to, gsize n)
{
    const uint8_t *x = from;
    int8_t *y = to;
    for (gsize i = 0; i < n; i++) {
        y[2 * i] = (int8_t)((int8_t)x[i] >> 4);
        y[2 * i + 1] = (int8_t)((int8_t)(uint8_t)(x[i] << 4) >> 4);
    }
}

static void
pack_nibbles(const void *from, void *to, gsize n)
{
    const int8_t *x = from;
    uint8_t *y = to;
    for (gsize i = 0; i < n; i++) {
        const int real = x[2 * i] < -8 ? -8 : x[2 * i] > 7 ? 7 : x[2 * i];
        const int imaginary = x[2 * i + 1] < -8 ? -8 : x[2 * i + 1] > 7 ? 7 : x[2 * i + 1];
        y[i] = (uint8_t)((unsigned)real << 4 | ((unsigned)imaginary & 15));
    }
}

CtConvert
CT_ISA(ct_convert_steps)(CtType from, CtType to)
{
    const gsize n_parts = ct_type_info(from)->is_complex ? 2 : 1;
    CtConvert steps = {
        .unpack = from == CT_CI4 ? unpack_nibbles : NULL,
        .pack = to == CT_CI4 ? pack_nibbles : NULL,
        .n_parts = n_parts,
        .n_unpack = from == CT_CI4 ? 1 : n_parts,
        .n_pack = to == CT_CI4 ? 1 : n_parts,
    };
    CtType source = from == CT_CI4 ? CT_I8 : ct_type_info(from)->part;
    CtType target = to == CT_CI4 ? CT_I8 : ct_type_info(to)->part;
    if (source == CT_F16) {
        steps.unpack = unpack_half;
        source = CT_F32;
    }
    if (target == CT_F16) {
        target = source == CT_F32 || source == CT_I8 || source == CT_U8 || source == CT_I16
                     ? CT_F32
                     : CT_F64;
        steps.pack = target == CT_F32 ? pack_half_float : pack_half;
    }
    steps.run = source == target && (steps.unpack || steps.pack) ? NULL : runs[source][target];
    return steps;
}
