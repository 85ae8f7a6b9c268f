/* SPDX-License-Identifier: BSD-3-Clause */
/* All Stokes parameters of samples of cf32, which have 16 bytes before and after: four vectors of
 * them at a time. */
#pragma once

typedef float StokesVector __attribute__((vector_size(CT_VECTOR_BYTES)));
typedef float StokesMemory __attribute__((vector_size(CT_VECTOR_BYTES), aligned(4), may_alias));

/* Shuffles of two vectors within 16 bytes: their first, or last, two elements by turns, or in
 * pairs. */
#if CT_VECTOR_BYTES == 64
#define STOKES_PLACES(a, b, c, d)                                                                  \
    a, b, c, d, a + 4, b + 4, c + 4, d + 4, a + 8, b + 8, c + 8, d + 8, a + 12, b + 12, c + 12,    \
        d + 12
#elif CT_VECTOR_BYTES == 32
#define STOKES_PLACES(a, b, c, d) a, b, c, d, a + 4, b + 4, c + 4, d + 4
#else
#define STOKES_PLACES(a, b, c, d) a, b, c, d
#endif
#define STOKES_FLOATS (CT_VECTOR_BYTES / 4)
#define STOKES_PAIRS(v, w, a, b)                                                                   \
    __builtin_shufflevector(v, w, STOKES_PLACES(a, b, STOKES_FLOATS + a, STOKES_FLOATS + b))
#define STOKES_TURNS(v, w, a, b)                                                                   \
    __builtin_shufflevector(v, w, STOKES_PLACES(a, STOKES_FLOATS + a, b, STOKES_FLOATS + b))

/* Transposes 4 × 4 elements in each 16 bytes of four vectors: four samples become four vectors of
 * a part each, and the other way round. */
CT_KERNEL void
stokes_turn(StokesVector *v)
{
    const StokesVector first = STOKES_TURNS(v[0], v[1], 0, 1);
    const StokesVector last = STOKES_TURNS(v[0], v[1], 2, 3);
    const StokesVector next_first = STOKES_TURNS(v[2], v[3], 0, 1);
    const StokesVector next_last = STOKES_TURNS(v[2], v[3], 2, 3);
    v[0] = STOKES_PAIRS(first, next_first, 0, 1);
    v[1] = STOKES_PAIRS(first, next_first, 2, 3);
    v[2] = STOKES_PAIRS(last, next_last, 0, 1);
    v[3] = STOKES_PAIRS(last, next_last, 2, 3);
}

CT_KERNEL size_t
stokes_vectors_of(const bool is_circular, const void *x, void *y, size_t n)
{
    const StokesMemory *from = x;
    StokesMemory *to = y;
    size_t i = 0;
    for (; i + STOKES_FLOATS <= n; i += STOKES_FLOATS, from += 4, to += 4) {
        StokesVector v[4] = {from[0], from[1], from[2], from[3]};
        stokes_turn(v);
        const StokesVector first = v[0] * v[0] + v[1] * v[1], second = v[2] * v[2] + v[3] * v[3];
        const StokesVector difference = first - second;
        const StokesVector re = 2 * (v[0] * v[2] + v[1] * v[3]);
        const StokesVector im = 2 * (v[1] * v[2] - v[0] * v[3]);
        StokesVector w[4] = {first + second, is_circular ? re : difference, is_circular ? im : re,
                             is_circular ? difference : im};
        stokes_turn(w);
        for (int k = 0; k < 4; k++)
            to[k] = w[k];
    }
    return i;
}

/* Makes the first samples of n, and returns how many; none of other types. */
CT_KERNEL size_t
stokes_vectors(const Stokes *self, const void *x, void *y, size_t n)
{
    if (CT_X_TYPE != CT_CF32)
        return 0;
    return self->is_circular ? stokes_vectors_of(true, x, y, n) : stokes_vectors_of(false, x, y, n);
}
