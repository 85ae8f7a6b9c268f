/* SPDX-License-Identifier: BSD-3-Clause */
/* CT_QUANTISE_MAP of <cornerturn/kit/kernel.h> on the host: the parts of samples in whole vectors,
 * see form-host.h. */
#pragma once

#ifdef CT_KERNEL_FILE
#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#endif

/* Parts that the functions below take at a time. */
enum { CT_QUANTISE_PARTS = 64 };

/* The quantised parts as ct_quantise makes them: rounded by a sum with 1.5 · 2^23, whose low bits
 * are then the integer. A sample, of one part or two, is clipped if its bits differ from those
 * within the limits: both parts are compared as one number. n is a multiple of CT_QUANTISE_PARTS,
 * and `bits` those of a part of the output. */
#if defined(__AVX512BW__)
#define CT_QUANTISE_VECTORS 1

/* 64 levels. Those of bytes: byte k of 32 bits becomes that of vector k. */
CT_KERNEL void
ct_quantise_store(void *y, size_t at, const __m512i *levels, const int bits)
{
    uint8_t *to = (uint8_t *)y + at * (size_t)bits / 8;
    if (bits == 8) {
        const __m512i repeated = _mm512_broadcast_i32x4(
            _mm_setr_epi8(0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12));
        const __m512i in_order = _mm512_broadcast_i32x4(
            _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
        const __m512i lanes =
            _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
        __m512i bytes = levels[0];
        for (int k = 1; k < 4; k++)
            bytes = _mm512_mask_shuffle_epi8(bytes, 0x1111111111111111u << k, levels[k], repeated);
        bytes = _mm512_shuffle_epi8(bytes, in_order);
        _mm512_storeu_si512(to, _mm512_permutexvar_epi32(lanes, bytes));
        return;
    }
    for (int k = 0; k < 4; k++, to += 2 * bits) {
        if (bits == 16) {
            _mm256_storeu_si256((__m256i *)to, _mm512_cvtepi32_epi16(levels[k]));
            continue;
        }
        const __m512i high = _mm512_set1_epi64(0xf0), low = _mm512_set1_epi64(0x0f);
        const __m512i re = _mm512_and_si512(_mm512_slli_epi64(levels[k], 4), high);
        const __m512i im = _mm512_and_si512(_mm512_srli_epi64(levels[k], 32), low);
        _mm_storel_epi64((__m128i *)to, _mm512_cvtepi64_epi8(_mm512_or_si512(re, im)));
    }
}

typedef struct {
    __m512 middle, factor, least, largest;
} ct_quantise_limits;

/* Sets the levels of 64 parts; FALSE: some are NaN, or beyond the limits. As the limits are
 * positive, the bits of sums within them, taken as unsigned numbers, are in the order of the sums,
 * and those of all others are smaller or larger. */
CT_KERNEL bool
ct_quantise_within(const ct_quantise_limits *of, const float *x, __m512i *levels)
{
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++)
        levels[k] = _mm512_castps_si512(
            _mm512_fmadd_ps(_mm512_loadu_ps(x + 16 * k), of->factor, of->middle));
    const __m512i most = _mm512_max_epu32(_mm512_max_epu32(levels[0], levels[1]),
                                          _mm512_max_epu32(levels[2], levels[3]));
    const __m512i least = _mm512_min_epu32(_mm512_min_epu32(levels[0], levels[1]),
                                           _mm512_min_epu32(levels[2], levels[3]));
    return (_mm512_cmpgt_epu32_mask(most, _mm512_castps_si512(of->largest)) |
            _mm512_cmplt_epu32_mask(least, _mm512_castps_si512(of->least))) == 0;
}

/* The same for any parts; adds to the numbers of clipped samples. */
CT_KERNEL __m512i
ct_quantise_any(const ct_quantise_limits *of, const float *x, __m512i *levels, __m512i clipped,
                const int n_parts)
{
    const __m512i one = n_parts == 2 ? _mm512_set1_epi64(1) : _mm512_set1_epi32(1);
    __m512 sums[4];
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++) {
        sums[k] = _mm512_fmadd_ps(_mm512_loadu_ps(x + 16 * k), of->factor, of->middle);
        const __m512 within = _mm512_max_ps(_mm512_min_ps(sums[k], of->largest), of->least);
        const __m512i before = _mm512_castps_si512(sums[k]);
        levels[k] = _mm512_castps_si512(within);
        clipped = n_parts == 2
                      ? _mm512_mask_add_epi64(clipped, _mm512_cmpneq_epi64_mask(before, levels[k]),
                                              clipped, one)
                      : _mm512_mask_add_epi32(clipped, _mm512_cmpneq_epi32_mask(before, levels[k]),
                                              clipped, one);
    }
    const __mmask16 nan = _mm512_cmp_ps_mask(sums[0], sums[1], _CMP_UNORD_Q) |
                          _mm512_cmp_ps_mask(sums[2], sums[3], _CMP_UNORD_Q);
    if (__builtin_expect(nan, 0))
        for (int k = 0; k < 4; k++)
            levels[k] =
                _mm512_maskz_mov_epi32(_mm512_cmp_ps_mask(sums[k], sums[k], _CMP_ORD_Q), levels[k]);
    return clipped;
}

/* Clipped samples come close together: so many parts from one on are computed as if there were
 * others, which is not asked. */
enum { CT_QUANTISE_BEYOND = 1024 };

CT_KERNEL uint32_t
ct_quantise_vectors(const float *x, void *y, size_t n, float scale, int most, const int bits,
                    const int n_parts)
{
    const ct_quantise_limits of = {
        _mm512_set1_ps(0x1.8p23f),
        _mm512_set1_ps(scale),
        _mm512_set1_ps(0x1.8p23f - (float)most),
        _mm512_set1_ps(0x1.8p23f + (float)most),
    };
    __m512i clipped = _mm512_setzero_si512(), levels[4];
    for (size_t i = 0, beyond = 0; i < n; i += 64) {
        if (i < beyond || __builtin_expect(!ct_quantise_within(&of, x + i, levels), 0)) {
            beyond = i < beyond ? beyond : i + CT_QUANTISE_BEYOND;
            clipped = ct_quantise_any(&of, x + i, levels, clipped, n_parts);
        }
        ct_quantise_store(y, i, levels, bits);
    }
    return (uint32_t)(n_parts == 2 ? _mm512_reduce_add_epi64(clipped)
                                   : _mm512_reduce_add_epi32(clipped));
}

#elif defined(__AVX2__) && defined(__FMA__)
#define CT_QUANTISE_VECTORS 1

/* 32 levels, in the order that the packing of halves makes of them. */
CT_KERNEL void
ct_quantise_store(void *y, size_t at, const __m256i *levels, const int bits)
{
    uint8_t *to = (uint8_t *)y + at * (size_t)bits / 8;
    const __m256i words[2] = {_mm256_packs_epi32(levels[0], levels[1]),
                              _mm256_packs_epi32(levels[2], levels[3])};
    if (bits == 16) {
        for (int k = 0; k < 2; k++)
            _mm256_storeu_si256((__m256i *)to + k, _mm256_permute4x64_epi64(words[k], 0xd8));
        return;
    }
    const __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(words[0], words[1]),
                                                      _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    if (bits == 8) {
        _mm256_storeu_si256((__m256i *)to, bytes);
        return;
    }
    const __m256i high = _mm256_set1_epi16(0xf0), low = _mm256_set1_epi16(0x0f);
    const __m256i re = _mm256_and_si256(_mm256_slli_epi16(bytes, 4), high);
    const __m256i im = _mm256_and_si256(_mm256_srli_epi16(bytes, 8), low);
    const __m256i both = _mm256_or_si256(re, im);
    _mm_storeu_si128((__m128i *)to, _mm_packus_epi16(_mm256_castsi256_si128(both),
                                                     _mm256_extracti128_si256(both, 1)));
}

CT_KERNEL uint32_t
ct_quantise_vectors(const float *x, void *y, size_t n, float scale, int most, const int bits,
                    const int n_parts)
{
    const __m256 middle = _mm256_set1_ps(0x1.8p23f), factor = _mm256_set1_ps(scale);
    const __m256 least = _mm256_set1_ps(0x1.8p23f - (float)most);
    const __m256 largest = _mm256_set1_ps(0x1.8p23f + (float)most);
    /* The comparison gives −1 where the numbers are equal. */
    __m256i unclipped = _mm256_setzero_si256();
    for (size_t i = 0; i < n; i += 32) {
        __m256i levels[4];
#pragma GCC unroll 4
        for (int k = 0; k < 4; k++) {
            const __m256 sum = _mm256_fmadd_ps(_mm256_loadu_ps(x + i + 8 * k), factor, middle);
            const __m256 within = _mm256_max_ps(_mm256_min_ps(sum, largest), least);
            const __m256i numbers = _mm256_castps_si256(_mm256_cmp_ps(sum, sum, _CMP_ORD_Q));
            const __m256i before = _mm256_castps_si256(sum), after = _mm256_castps_si256(within);
            unclipped = n_parts == 2
                            ? _mm256_sub_epi64(unclipped, _mm256_cmpeq_epi64(before, after))
                            : _mm256_sub_epi32(unclipped, _mm256_cmpeq_epi32(before, after));
            levels[k] =
                _mm256_and_si256(_mm256_sub_epi32(after, _mm256_castps_si256(middle)), numbers);
        }
        ct_quantise_store(y, i, levels, bits);
    }
    uint32_t parts[8], sum = 0;
    _mm256_storeu_si256((__m256i *)parts, unclipped);
    for (int k = 0; k < 8; k++)
        sum += parts[k];
    return (uint32_t)n / (uint32_t)n_parts - sum;
}
#endif

#ifdef CT_QUANTISE_VECTORS
#define CT_QUANTISE_MAP(name_, settings_)                                                          \
    CT_COUNTED_LOOP(name_, settings_)                                                              \
    static void name_##_run(const CtFormRun *ct_own_run)                                           \
    {                                                                                              \
        const settings_ *ct_own_settings = ct_own_run->settings;                                   \
        const size_t ct_own_step = CT_QUANTISE_PARTS / CT_X_PARTS;                                 \
        const size_t ct_own_whole = ct_own_run->n / ct_own_step * ct_own_step;                     \
        ct_own_run->counters[0] += ct_quantise_vectors(                                            \
            ct_own_run->x[0], ct_own_run->y[0], ct_own_whole * CT_X_PARTS, ct_own_settings->scale, \
            CT_Y_MOST, (int)(8 * sizeof(CT_Y_ELEMENT) / CT_X_PARTS), CT_X_PARTS);                  \
        name_##_loop(ct_own_run, ct_own_whole);                                                    \
    }                                                                                              \
    CT_FORM_KERNEL(name_, CT_FORM_MAP, settings_, 1, 1, 1)
#else
#define CT_QUANTISE_MAP(name_, settings_) CT_COUNTED_MAP(name_, settings_)
#endif
#endif
