/* SPDX-License-Identifier: BSD-3-Clause */
/* Samples become floats, and neighbouring series are gathered. */
#include "fir-kernels.h"

#include "fir-vectors.h"

#include <stdint.h>

/* Conversion. */

/* Defines the loop over rows. `row` is the loop over one row, which is inlined. */
#define CONVERT_ROWS(name, row)                                                                    \
    static void name(void *to, const void *x, ptrdiff_t x_row, size_t n_rows, size_t n_floats)     \
    {                                                                                              \
        float *restrict y = to;                                                                    \
        for (size_t i = 0; i < n_rows; i++, y += n_floats)                                         \
            row(y, (const char *)x + (ptrdiff_t)i * x_row, n_floats);                              \
    }

#define CONVERTER(name, type)                                                                      \
    INLINE void name##_row(float *restrict y, const void *x, size_t n_floats)                      \
    {                                                                                              \
        const type *from = x;                                                                      \
        for (size_t i = 0; i < n_floats; i++)                                                      \
            y[i] = (float)from[i];                                                                 \
    }                                                                                              \
    CONVERT_ROWS(name, name##_row)

CONVERTER(convert_i8, int8_t)
CONVERTER(convert_u8, uint8_t)
CONVERTER(convert_i16, int16_t)
CONVERTER(convert_f32, float)

/* Real part in the high nibble, imaginary in the low one, both two's complement. */
INLINE void
convert_i4_row(float *restrict y, const void *x, size_t n_floats)
{
    const uint8_t *from = x;
    size_t n = n_floats / 2;

    for (size_t i = 0; i < n; i++) {
        y[2 * i] = (float)((int8_t)from[i] >> 4);
        y[2 * i + 1] = (float)((int8_t)(uint8_t)(from[i] << 4) >> 4);
    }
}

CONVERT_ROWS(convert_i4, convert_i4_row)

/* An IEEE half: exponent and fraction move to their places in a float, which is then scaled by
 * 2^112. This is right for subnormal numbers, too. Infinities and NaN keep the largest exponent. */
INLINE float
half_to_float(uint16_t half)
{
    uint32_t bits = (uint32_t)(half & 0x7fff) << 13;
    float magnitude;
    memcpy(&magnitude, &bits, sizeof magnitude);
    magnitude *= 0x1p112f;
    memcpy(&bits, &magnitude, sizeof bits);
    bits |= (half & 0x7c00) == 0x7c00 ? 0x7f800000u : 0;
    bits |= (uint32_t)(half & 0x8000) << 16;
    memcpy(&magnitude, &bits, sizeof magnitude);
    return magnitude;
}

INLINE void
convert_f16_row(float *restrict y, const void *x, size_t n_floats)
{
    const uint16_t *from = x;
    size_t i = 0;

#if defined(__AVX512F__)
    for (; i + 16 <= n_floats; i += 16)
        _mm512_storeu_ps(y + i, _mm512_cvtph_ps(_mm256_loadu_si256((const void *)(from + i))));
#elif defined(__F16C__)
    for (; i + 8 <= n_floats; i += 8)
        _mm256_storeu_ps(y + i, _mm256_cvtph_ps(_mm_loadu_si128((const void *)(from + i))));
#elif defined(__ARM_NEON)
    for (; i + 4 <= n_floats; i += 4)
        vst1q_f32(y + i, vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(from + i))));
#endif
    for (; i < n_floats; i++)
        y[i] = half_to_float(from[i]);
}

CONVERT_ROWS(convert_f16, convert_f16_row)

#define COPIER(name, bytes)                                                                        \
    static void name(void *to, const void *x, ptrdiff_t x_row, size_t n_rows, size_t n_floats)     \
    {                                                                                              \
        char *y = to;                                                                              \
        for (size_t i = 0; i < n_rows; i++, y += n_floats * (bytes))                               \
            memcpy(y, (const char *)x + (ptrdiff_t)i * x_row, n_floats * (bytes));                 \
    }

COPIER(copy_1, 1)
COPIER(copy_2, 2)

const FirConverters CT_ISA(ct_fir_converters) = {
    .i4 = convert_i4,
    .i8 = convert_i8,
    .i16 = convert_i16,
    .u8 = convert_u8,
    .f16 = convert_f16,
    .f32 = convert_f32,
    .copy_1 = copy_1,
    .copy_2 = copy_2,
};

/* Gathering: squares of 16 bytes by 16 / unit samples are transposed by interleaving row i with row
 * i + n/2, log2 n times. */

#define GATHER(name, type, n, low, high)                                                           \
    static void name(char *raw, size_t raw_unit, const char *x, ptrdiff_t x_sample,                \
                     size_t n_samples, size_t n_units)                                             \
    {                                                                                              \
        typedef type Row __attribute__((vector_size(16)));                                         \
        size_t whole_units = n_units / n * n, whole_samples = n_samples / n * n;                   \
        for (size_t u = 0; u < whole_units; u += n)                                                \
            for (size_t s = 0; s < whole_samples; s += n) {                                        \
                Row from[n], to[n];                                                                \
                UNROLL for (size_t i = 0; i < n; i++)                                              \
                    memcpy(&from[i], x + (ptrdiff_t)(s + i) * x_sample + u * sizeof(type), 16);    \
                UNROLL for (size_t stage = 1; stage < n; stage *= 2)                               \
                {                                                                                  \
                    UNROLL for (size_t i = 0; i < n / 2; i++)                                      \
                    {                                                                              \
                        to[2 * i] = SHUFFLE(from[i], from[i + n / 2], low);                        \
                        to[2 * i + 1] = SHUFFLE(from[i], from[i + n / 2], high);                   \
                    }                                                                              \
                    UNROLL for (size_t i = 0; i < n; i++) from[i] = to[i];                         \
                }                                                                                  \
                UNROLL for (size_t i = 0; i < n; i++)                                              \
                    memcpy(raw + (u + i) * raw_unit + s * sizeof(type), &from[i], 16);             \
            }                                                                                      \
        for (size_t s = 0; s < n_samples; s++)                                                     \
            for (size_t u = s < whole_samples ? whole_units : 0; u < n_units; u++)                 \
                memcpy(raw + u * raw_unit + s * sizeof(type),                                      \
                       x + (ptrdiff_t)s * x_sample + u * sizeof(type), sizeof(type));              \
    }

#define LIST(...)          __VA_ARGS__
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#define LOW8               LIST(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define HIGH8              LIST(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define LOW16              LIST(0, 8, 1, 9, 2, 10, 3, 11)
#define HIGH16             LIST(4, 12, 5, 13, 6, 14, 7, 15)
#define LOW32              LIST(0, 4, 1, 5)
#define HIGH32             LIST(2, 6, 3, 7)

GATHER(gather_1, uint8_t, 16, LIST(LOW8), LIST(HIGH8))
GATHER(gather_2, uint16_t, 8, LIST(LOW16), LIST(HIGH16))
GATHER(gather_4, uint32_t, 4, LIST(LOW32), LIST(HIGH32))
GATHER(gather_8, uint64_t, 2, LIST(0, 2), LIST(1, 3))

/* Elements are as wide as a row, so that nothing is interleaved. */
static void
gather_16(char *raw, size_t raw_unit, const char *x, ptrdiff_t x_sample, size_t n_samples,
          size_t n_units)
{
    for (size_t s = 0; s < n_samples; s++)
        for (size_t u = 0; u < n_units; u++)
            memcpy(raw + u * raw_unit + s * 16, x + (ptrdiff_t)s * x_sample + u * 16, 16);
}

void
CT_ISA(ct_fir_gather)(void *raw, size_t raw_unit, const void *x, ptrdiff_t x_sample,
                      size_t n_samples, size_t n_units, size_t unit_bytes)
{
    (unit_bytes == 1   ? gather_1
     : unit_bytes == 2 ? gather_2
     : unit_bytes == 4 ? gather_4
     : unit_bytes == 8 ? gather_8
                       : gather_16)(raw, raw_unit, x, x_sample, n_samples, n_units);
}
