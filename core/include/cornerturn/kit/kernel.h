/* SPDX-License-Identifier: BSD-3-Clause */
/* The language of *.kernel.h: the common subset of C11 and CUDA C++ in which a stage's mathematics
 * is written once, for every instruction set and for devices.
 *
 *     #include <cornerturn/kit/kernel.h>
 *
 *     typedef struct {
 *         float factor;
 *     } Scale;
 *
 *     #ifdef CT_KERNEL
 *     CT_KERNEL void
 *     scale(const Scale *self, const ct_x *x, ct_y *y)
 *     {
 *         *y = self->factor * *x;
 *     }
 *     CT_MAP(scale, Scale)
 *     #endif
 *
 * The build compiles the file for each combination of types that meson.build lists
 * ("f32 -> f32"), where CT_KERNEL is defined and ct_x, ct_w and ct_y are the types of the input,
 * the table (or the second input) and the output. Streams of other types are converted on the way
 * in and out, unless that would lose precision. On a device the file is compiled for the same
 * combinations, when a graph uses them. Elsewhere it only declares the settings, 256 bytes at most:
 * the struct that the stage fills and that every call of the kernel gets.
 *
 * Forms, each a macro behind the function that it applies to every element:
 *
 *     CT_MAP(f, Settings)          f(settings, &x, &y)
 *     CT_COUNTED_MAP(f, Settings)  f(settings, &x, &y, &count)     uint32_t count: 0; set to 1, it
 *                                                                  adds to the stage's counter 0
 *     CT_QUANTISE_MAP(f, Settings) the same, of floats, if f makes every part of y by
 *                                  ct_quantise(part of x, settings->scale, CT_Y_MOST, &count)
 *     CT_TABLE_MAP(f, Settings)    f(settings, &x, &w, &y)         w: of a table over some axes
 *     CT_PRODUCT_MAP(f, Settings)  the same, if f makes the product y = x w: of complex numbers as
 *                                      y.re = ct_multiply_add(x.re, w.re, -(x.im * w.im))
 *                                      y.im = ct_multiply_add(x.re, w.im, x.im * w.re)
 *     CT_GROUP(f, Settings, n, m)  f(settings, x[n], y[m])         along a small axis
 *     CT_GROUP_BY(f, Settings, n, m, g)  the same; on the host, where the elements of a sample are
 *                                  together on both sides, g(settings, x, y, samples) makes the
 *                                  first samples in a faster way, and returns how many
 *     CT_FOLD(f, Settings, State, samples)                         over a hop of samples of time:
 *         f_start(settings, &state)            the state of no samples
 *         f_add(settings, &state, &x)          adds a sample
 *         f_merge(settings, &state, &other)    adds the samples of another state, which may
 *                                              be earlier or later ones
 *         f_give(settings, &state, n, &y)      makes y of n valid samples; returns whether y is
 *                                              valid: false marks it (CT_PORT_MARKED)
 *     A State is a struct of numbers, 64 bytes at most. `samples` is CT_FOLD_VALID: only valid
 *     samples are added; or CT_FOLD_ALL, faster: invalid ones are added too, which are 0, because
 *     that changes nothing.
 *     CT_SUMS(f, Settings, Sums, samples)          a fold with f_add and f_give only: its state is
 *         a struct of doubles, which begin at 0 and are added to merge two states
 *     CT_WINDOW(f, Settings)       f(settings, &taps, &y)          taps.n samples along time
 *     CT_SHIFT_SUM(f, Settings)    f(settings, &x, &y)             of shifted samples, then summed
 *     CT_TABLE_SHIFT_SUM(f, Settings)  f(settings, &x, &w, &y)     the same with a table
 *     CT_PRODUCT_SHIFT_SUM(f, Settings)  the same, if f makes the product, see CT_PRODUCT_MAP
 *     CT_JOIN(f, Settings)         f(settings, &x, &w, &y)         w: of the second input
 *     CT_MARKED_JOIN(f, Settings)  f(settings, &x, &w, &y, &valid) sets valid to 0: y is invalid
 *
 * A complex number is a struct with the members re and im. CT_X_PARTS, CT_W_PARTS and CT_Y_PARTS
 * are 2 for complex types and 1 for real ones; ct_x_part, ct_w_part and ct_y_part are the types of
 * their parts. The parts of ci4 are of the type int8_t, those of f16 are floats. CT_Y_MOST is the
 * largest integer that y can hold with both signs. A kernel declares no variables outside
 * functions, and calls only functions of its own file (CT_KERNEL) and what this header declares:
 *
 *     ct_multiply_add(a, b, c)     a b + c of floats or of doubles; rounded once where the
 *                                  processor can
 *     ct_add(a, b)                 a + b of the type ct_y, complex or real
 *     ct_round_scaled(x, scale)    x · scale of floats, rounded half to even, once; a product of
 *                                  more than 2²² stays at least as large, NaN stays NaN
 *     ct_absolute(x)               |x| of a float or a double
 *     ct_quantise(x, scale, most, &n)
 *                                  ct_round_scaled(x, scale) as an integer within ±most, which is
 *                                  below 2²²; NaN becomes 0. Sets n to 1 if it was not within
 *     sqrt(x)                      √x, of double precision
 *     ct_tap(taps, k)              sample k of a window of taps->n samples (const ct_taps *)
 */
#pragma once

/* The settings of a kernel that has none. */
typedef struct {
    int none;
} CtNoSettings;

/* The samples that a fold adds. */
enum { CT_FOLD_VALID, CT_FOLD_ALL };
/* Whether an element is valid: 1 before the call, and 0 to mark it. */
typedef unsigned char ct_mark;

#ifdef __cplusplus
#include "cornerturn/kernel.h"

#define CT_QUANTISE_MAP(name_, settings_)                 CT_COUNTED_MAP(name_, settings_)
#define CT_GROUP_BY(name_, settings_, n_x_, n_y_, first_) CT_GROUP(name_, settings_, n_x_, n_y_)
#define CT_PRODUCT_MAP(name_, settings_)                  CT_TABLE_MAP(name_, settings_)
#define CT_PRODUCT_SHIFT_SUM(name_, settings_)            CT_TABLE_SHIFT_SUM(name_, settings_)

#ifdef CT_EPILOGUE_FILE
#include <cornerturn/kit/epilogue-forms-kernel.h>
#else
#include <cornerturn/kit/fold-kernel.h>
#include <cornerturn/kit/form-kernel.h>
#include <cornerturn/kit/window-kernel.h>
#endif
#else
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint8_t nibbles; /* the real part in the high one */
} ct_ci4;
typedef struct {
    int8_t re, im;
} ct_ci8;
typedef struct {
    int16_t re, im;
} ct_ci16;
typedef struct {
    int32_t re, im;
} ct_ci32;
typedef struct {
    int64_t re, im;
} ct_ci64;
typedef struct {
    float re, im;
} ct_cf32;
typedef struct {
    double re, im;
} ct_cf64;
typedef int8_t ct_i8;
typedef int16_t ct_i16;
typedef int32_t ct_i32;
typedef int64_t ct_i64;
typedef uint8_t ct_u8;
typedef uint32_t ct_u32;
typedef float ct_f32;
typedef double ct_f64;

#ifdef CT_KERNEL_FILE
#include <cornerturn/kit/form-host.h>
#include <cornerturn/kit/window-host.h>
#endif
#endif

#define CT_SUMS(name_, settings_, sums_, samples_)                                                 \
    typedef char name_##_sums_are_doubles[sizeof(sums_) % sizeof(double) == 0 ? 1 : -1];           \
    CT_KERNEL void name_##_start(const settings_ *ct_own_self, sums_ *ct_own_sums)                 \
    {                                                                                              \
        (void)ct_own_self;                                                                         \
        for (unsigned ct_own_k = 0; ct_own_k < sizeof(sums_) / sizeof(double); ct_own_k++)         \
            ((double *)ct_own_sums)[ct_own_k] = 0;                                                 \
    }                                                                                              \
    CT_KERNEL void name_##_merge(const settings_ *ct_own_self, sums_ *ct_own_sums,                 \
                                 const sums_ *ct_own_other)                                        \
    {                                                                                              \
        (void)ct_own_self;                                                                         \
        for (unsigned ct_own_k = 0; ct_own_k < sizeof(sums_) / sizeof(double); ct_own_k++)         \
            ((double *)ct_own_sums)[ct_own_k] += ((const double *)ct_own_other)[ct_own_k];         \
    }                                                                                              \
    CT_FOLD(name_, settings_, sums_, samples_)
