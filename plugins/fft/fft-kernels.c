/* SPDX-License-Identifier: BSD-3-Clause */
/* Transposes, strided copies and scaling, in vectors as wide as the instruction set's. */
#include "fft-kernels.h"

#include <stdint.h>
#include <string.h>

#if defined(__clang__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

#define LIST(...)          __VA_ARGS__
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)

/* A square of n × n elements is transposed by interleaving row i with row i + n/2, log2 n times.
 * The elements left at the edges go one by one. */
#define TRANSPOSE(name, type, n, low, high)                                                        \
    static void name(char *to, ptrdiff_t to_pitch, const char *from, ptrdiff_t from_pitch,         \
                     size_t n_to, size_t n_from)                                                   \
    {                                                                                              \
        typedef type Row __attribute__((vector_size((n) * sizeof(type))));                         \
        size_t whole_to = n_to / n * n, whole_from = n_from / n * n;                               \
        for (size_t j = 0; j < whole_from; j += n)                                                 \
            for (size_t i = 0; i < whole_to; i += n) {                                             \
                Row a[n], b[n];                                                                    \
                UNROLL for (size_t r = 0; r < n; r++) memcpy(                                      \
                    &a[r], from + (ptrdiff_t)(j + r) * from_pitch + i * sizeof(type), sizeof *a);  \
                UNROLL for (size_t stage = 1; stage < n; stage *= 2)                               \
                {                                                                                  \
                    UNROLL for (size_t r = 0; r < n / 2; r++)                                      \
                    {                                                                              \
                        b[2 * r] = SHUFFLE(a[r], a[r + n / 2], low);                               \
                        b[2 * r + 1] = SHUFFLE(a[r], a[r + n / 2], high);                          \
                    }                                                                              \
                    UNROLL for (size_t r = 0; r < n; r++) a[r] = b[r];                             \
                }                                                                                  \
                UNROLL for (size_t r = 0; r < n; r++) memcpy(                                      \
                    to + (ptrdiff_t)(i + r) * to_pitch + j * sizeof(type), &a[r], sizeof *a);      \
            }                                                                                      \
        for (size_t j = 0; j < n_from; j++)                                                        \
            for (size_t i = j < whole_from ? whole_to : 0; i < n_to; i++)                          \
                memcpy(to + (ptrdiff_t)i * to_pitch + j * sizeof(type),                            \
                       from + (ptrdiff_t)j * from_pitch + i * sizeof(type), sizeof(type));         \
    }

TRANSPOSE(transpose_4, uint32_t, 4, LIST(0, 4, 1, 5), LIST(2, 6, 3, 7))
#if CT_VECTOR_BYTES == 64
TRANSPOSE(transpose_8, uint64_t, 8, LIST(0, 8, 1, 9, 2, 10, 3, 11),
          LIST(4, 12, 5, 13, 6, 14, 7, 15))
#elif CT_VECTOR_BYTES == 32
TRANSPOSE(transpose_8, uint64_t, 4, LIST(0, 4, 1, 5), LIST(2, 6, 3, 7))
#else
TRANSPOSE(transpose_8, uint64_t, 2, LIST(0, 2), LIST(1, 3))
#endif

static void
transpose_16(char *to, ptrdiff_t to_pitch, const char *from, ptrdiff_t from_pitch, size_t n_to,
             size_t n_from)
{
    for (size_t j = 0; j < n_from; j++)
        for (size_t i = 0; i < n_to; i++)
            memcpy(to + (ptrdiff_t)i * to_pitch + j * 16, from + (ptrdiff_t)j * from_pitch + i * 16,
                   16);
}

void
CT_ISA(ct_fft_transpose)(void *to, ptrdiff_t to_pitch, const void *from, ptrdiff_t from_pitch,
                         size_t n_to, size_t n_from, size_t element_bytes)
{
    (element_bytes == 4   ? transpose_4
     : element_bytes == 8 ? transpose_8
                          : transpose_16)(to, to_pitch, from, from_pitch, n_to, n_from);
}

#define MOVE(bytes)                                                                                \
    static void move_##bytes(char *to, ptrdiff_t to_step, const char *from, ptrdiff_t from_step,   \
                             size_t n)                                                             \
    {                                                                                              \
        for (size_t i = 0; i < n; i++, to += to_step, from += from_step)                           \
            memcpy(to, from, bytes);                                                               \
    }

MOVE(4)
MOVE(8)
MOVE(16)

void
CT_ISA(ct_fft_move)(void *to, ptrdiff_t to_step, const void *from, ptrdiff_t from_step, size_t n,
                    size_t element_bytes)
{
    if (to_step == (ptrdiff_t)element_bytes && from_step == to_step)
        memcpy(to, from, n * element_bytes);
    else
        (element_bytes == 4   ? move_4
         : element_bytes == 8 ? move_8
                              : move_16)(to, to_step, from, from_step, n);
}

void
CT_ISA(ct_fft_scale_float)(float *x, size_t n, float scale)
{
    for (size_t i = 0; i < n; i++)
        x[i] *= scale;
}

void
CT_ISA(ct_fft_scale_double)(double *x, size_t n, double scale)
{
    for (size_t i = 0; i < n; i++)
        x[i] *= scale;
}
