/* SPDX-License-Identifier: BSD-3-Clause */
/* Stores samples of any type, given in single precision with separate real and imaginary parts. */
#include "generate-kernels.h"

#include <string.h>

/* Rounds half to even: adding 1.5 · 2²³ leaves no fractional bits. Floats beyond 2²² lose their
 * last bit or two, which do not matter in noise of that size. */
static inline gfloat
round_level(gfloat x)
{
    return (x + 12582912.0f) - 12582912.0f;
}

static inline gfloat
clip(gfloat x, gfloat limit)
{
    x = x > limit ? limit : x;
    return x < -limit ? -limit : x;
}

/* Rounds and clips in place; returns the number of elements of which a part was clipped. */
static guint64
quantise(gfloat *re, gfloat *im, gsize n, gfloat limit)
{
    guint32 clipped = 0;
    for (gsize i = 0; i < n; i++) {
        gfloat x = round_level(re[i]), y = round_level(im[i]);
        gfloat a = clip(x, limit), b = clip(y, limit);
        clipped += (a != x) | (b != y);
        re[i] = a;
        im[i] = b;
    }
    return clipped;
}

/* The bits of the half nearest to `value`, ties to even; infinite if it is too large. Without
 * branches, so that loops over it vectorise. */
static inline guint16
half_bits(gfloat value)
{
    guint32 bits, sign;
    memcpy(&bits, &value, sizeof bits);
    sign = bits & 0x80000000u;
    bits ^= sign;

    /* below 2⁻¹⁴ the sum with ½ rounds to a multiple of 2⁻²⁴, the step of subnormals */
    gfloat small = 0;
    memcpy(&small, &bits, sizeof small);
    small += 0.5f;
    guint32 subnormal;
    memcpy(&subnormal, &small, sizeof subnormal);
    subnormal -= 0x3f000000u;

    guint32 normal = (bits + 0xc8000fffu + ((bits >> 13) & 1)) >> 13;
    guint32 infinite = bits > 0x7f800000u ? 0x7e00u : 0x7c00u;
    guint32 half = bits >= 0x47800000u ? infinite : bits < 0x38800000u ? subnormal : normal;
    return (guint16)(half | sign >> 16);
}

typedef void (*Store)(guint8 *out, gint64 stride, const gfloat *re, const gfloat *im, gsize n);

/* Stores elements of PART, complex and real; LEVEL converts a float to a part. Packed elements have
 * a separate loop, which vectorises. */
#define STORE(NAME, PART, LEVEL)                                                                   \
    static void store_complex_##NAME(guint8 *out, gint64 stride, const gfloat *re,                 \
                                     const gfloat *im, gsize n)                                    \
    {                                                                                              \
        PART *packed = (PART *)out;                                                                \
        if (stride == 2 * (gint64)sizeof(PART)) {                                                  \
            for (gsize i = 0; i < n; i++) {                                                        \
                packed[2 * i] = LEVEL(re[i]);                                                      \
                packed[2 * i + 1] = LEVEL(im[i]);                                                  \
            }                                                                                      \
            return;                                                                                \
        }                                                                                          \
        for (gsize i = 0; i < n; i++, out += stride) {                                             \
            ((PART *)out)[0] = LEVEL(re[i]);                                                       \
            ((PART *)out)[1] = LEVEL(im[i]);                                                       \
        }                                                                                          \
    }                                                                                              \
    static void store_real_##NAME(guint8 *out, gint64 stride, const gfloat *re,                    \
                                  G_GNUC_UNUSED const gfloat *im, gsize n)                         \
    {                                                                                              \
        PART *packed = (PART *)out;                                                                \
        if (stride == (gint64)sizeof(PART)) {                                                      \
            for (gsize i = 0; i < n; i++)                                                          \
                packed[i] = LEVEL(re[i]);                                                          \
            return;                                                                                \
        }                                                                                          \
        for (gsize i = 0; i < n; i++, out += stride)                                               \
            *(PART *)out = LEVEL(re[i]);                                                           \
    }

#define AS_I8(x)  ((gint8)(gint32)(x))
#define AS_I16(x) ((gint16)(gint32)(x))
#define AS_I32(x) ((gint32)(x))
#define AS_I64(x) ((gint64)(x))
#define AS_U8(x)  ((guint8)((gint32)(x) + 128))
#define AS_U32(x) ((guint32)(gint32)(x) + 0x80000000u)
#define AS_F32(x) (x)
#define AS_F64(x) ((gdouble)(x))

STORE(i8, gint8, AS_I8)
STORE(i16, gint16, AS_I16)
STORE(i32, gint32, AS_I32)
STORE(i64, gint64, AS_I64)
STORE(f16, guint16, half_bits)
STORE(f32, gfloat, AS_F32)
STORE(f64, gdouble, AS_F64)

static void
store_complex_i4(guint8 *out, gint64 stride, const gfloat *re, const gfloat *im, gsize n)
{
    for (gsize i = 0; i < n; i++)
        out[(gint64)i * stride] = (guint8)((guint32)(gint32)re[i] << 4 | ((gint32)im[i] & 15));
}

static void
store_real_u8(guint8 *out, gint64 stride, const gfloat *re, G_GNUC_UNUSED const gfloat *im, gsize n)
{
    for (gsize i = 0; i < n; i++)
        out[(gint64)i * stride] = AS_U8(re[i]);
}

static void
store_real_u32(guint8 *out, gint64 stride, const gfloat *re, G_GNUC_UNUSED const gfloat *im,
               gsize n)
{
    for (gsize i = 0; i < n; i++)
        *(guint32 *)(out + (gint64)i * stride) = AS_U32(re[i]);
}

/* Limits are the largest floats that fit an integer type; 0: a float type. */
static const struct {
    Store store;
    gfloat limit;
} writers[CT_N_TYPES] = {
    [CT_CI4] = {store_complex_i4, 7},
    [CT_CI8] = {store_complex_i8, 127},
    [CT_CI16] = {store_complex_i16, 32767},
    [CT_CI32] = {store_complex_i32, 2147483520.0f},
    [CT_CI64] = {store_complex_i64, 9223371487098961920.0f},
    [CT_CF16] = {store_complex_f16, 0},
    [CT_CF32] = {store_complex_f32, 0},
    [CT_CF64] = {store_complex_f64, 0},
    [CT_I8] = {store_real_i8, 127},
    [CT_I16] = {store_real_i16, 32767},
    [CT_I32] = {store_real_i32, 2147483520.0f},
    [CT_I64] = {store_real_i64, 9223371487098961920.0f},
    [CT_U8] = {store_real_u8, 127},
    [CT_U32] = {store_real_u32, 2147483520.0f},
    [CT_F16] = {store_real_f16, 0},
    [CT_F32] = {store_real_f32, 0},
    [CT_F64] = {store_real_f64, 0},
};

guint64
CT_ISA(generate_write)(guint8 *out, gint64 stride, CtType type, gfloat *re, gfloat *im, gsize n)
{
    gfloat limit = writers[type].limit;
    guint64 clipped = limit > 0 ? quantise(re, im, n, limit) : 0;
    writers[type].store(out, stride, re, im, n);
    return clipped;
}
