/* SPDX-License-Identifier: BSD-3-Clause */
/* CT_PRODUCT_MAP and CT_PRODUCT_SHIFT_SUM of <cornerturn/kit/kernel.h> on the host: products of
 * complex floats in whole vectors, see form-host.h. Real and imaginary parts stay side by side, as
 * compilers would part them by shuffles across 16 bytes, which take longer than the products. */
#pragma once

#ifdef CT_KERNEL_FILE
#if defined(__AVX512F__)
#include <immintrin.h>
#define CT_PRODUCT_OF(name_) _mm512_##name_
typedef __m512 ct_product_vector;
#elif defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#define CT_PRODUCT_OF(name_) _mm256_##name_
typedef __m256 ct_product_vector;
#endif

#ifdef CT_PRODUCT_OF
/* The parts are rounded as those of ct_multiply_add(x.re, w.re, −(x.im · w.im)) and
 * ct_multiply_add(x.re, w.im, x.im · w.re). `turned` is w with its parts exchanged. */
CT_KERNEL ct_product_vector
ct_product_vectors(ct_product_vector x, ct_product_vector w, ct_product_vector turned)
{
    const ct_product_vector re = CT_PRODUCT_OF(moveldup_ps)(x), im = CT_PRODUCT_OF(movehdup_ps)(x);
    return CT_PRODUCT_OF(fmaddsub_ps)(re, w, CT_PRODUCT_OF(mul_ps)(im, turned));
}

CT_KERNEL size_t
ct_products_of(const float *x, const float *w, const bool w_steps, float *y, size_t n)
{
    enum { N = sizeof(ct_product_vector) / sizeof(float) };
    const size_t n_parts = 2 * n / N * N;
    double one;
    memcpy(&one, w, sizeof one);
    ct_product_vector factor = (ct_product_vector)CT_PRODUCT_OF(set1_pd)(one);
    ct_product_vector turned = CT_PRODUCT_OF(permute_ps)(factor, 0xb1);
#pragma GCC unroll 4
    for (size_t i = 0; i < n_parts; i += N) {
        if (w_steps) {
            factor = CT_PRODUCT_OF(loadu_ps)(w + i);
            turned = CT_PRODUCT_OF(permute_ps)(factor, 0xb1);
        }
        const ct_product_vector from = CT_PRODUCT_OF(loadu_ps)(x + i);
        CT_PRODUCT_OF(storeu_ps)(y + i, ct_product_vectors(from, factor, turned));
    }
    return n_parts / 2;
}
#endif

CT_KERNEL size_t
ct_products_none(const void *x, const void *w, size_t w_step, void *y, size_t n)
{
    return 0;
}

/* Makes the first of n products x[i] · w[w_step · i], and returns how many; none of other types. */
CT_KERNEL size_t
ct_products(const void *x, const void *w, size_t w_step, void *y, size_t n)
{
#ifdef CT_PRODUCT_OF
    if (CT_X_TYPE == CT_CF32 && CT_W_TYPE == CT_CF32 && CT_Y_TYPE == CT_CF32 && n > 0)
        return w_step == 1 ? ct_products_of(x, w, true, y, n) : ct_products_of(x, w, false, y, n);
#endif
    return 0;
}
#endif
