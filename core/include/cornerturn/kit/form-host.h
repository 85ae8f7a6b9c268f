/* SPDX-License-Identifier: BSD-3-Clause */
/* The forms of <cornerturn/kit/kernel.h> on the host: loops over contiguous elements, compiled for
 * each instruction set and each combination of types.
 *
 * The build defines CT_KERNEL_FILE, the name of the file, and for X, Y and, with a table, W: CT_X,
 * the type with which kernels work; CT_X_ELEMENT, that in memory; CT_X_PART and CT_X_PARTS, type
 * and number of its parts; CT_X_TYPE, its enumerator; and CT_Y_MOST. */
#pragma once

#ifdef CT_KERNEL_FILE
#include <cornerturn/isa.h>
#include <cornerturn/kit/form.h>
#include <math.h>
#include <string.h>

typedef CT_X ct_x;
typedef CT_X_PART ct_x_part;
typedef CT_Y ct_y;
typedef CT_Y_PART ct_y_part;
#ifdef CT_W
typedef CT_W ct_w;
typedef CT_W_PART ct_w_part;
#else
typedef CT_Y ct_w;
#define CT_W_TYPE CT_TYPE_NONE
#endif

#define CT_KERNEL static inline __attribute__((always_inline))

/* Not every function of a kernel needs its settings. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* ---- functions for kernels ---- */

#if defined(__FMA__) || defined(__FP_FAST_FMAF)
#define ct_multiply_add(a, b, c)                                                                   \
    _Generic((a), float : __builtin_fmaf, default : __builtin_fma)(a, b, c)
/* A sum with 1.5 · 2^23 has no fractional bits, and is rounded once. */
#define ct_round_scaled(x, scale) (__builtin_fmaf((x), (scale), 0x1.8p23f) - 0x1.8p23f)
#else
#define ct_multiply_add(a, b, c)  ((a) * (b) + (c))
/* The product is exact in double precision. */
#define ct_round_scaled(x, scale) ((float)((double)(x) * (double)(scale) + 0x1.8p52 - 0x1.8p52))
#endif
#define ct_absolute(x) _Generic((x), float : __builtin_fabsf, default : __builtin_fabs)(x)

/* Selections, so that the compiler makes vectors of them. */
static inline int32_t
ct_quantise(float y, float scale, float most, uint32_t *clipped)
{
#ifdef __FMA__
    /* The low bits of a sum with 1.5 · 2^23 are the integer, and sums are in the order of their
     * bits. */
    const int32_t middle = 0x4b400000, limit = (int32_t)most;
    const float sum = __builtin_fmaf(y, scale, 0x1.8p23f);
    int32_t bits;
    memcpy(&bits, &sum, sizeof bits);
    const int32_t low = bits < middle - limit ? middle - limit : bits;
    const int32_t within = low > middle + limit ? middle + limit : low;
    *clipped |= within != bits;
    return sum == sum ? within - middle : 0;
#else
    const float x = ct_round_scaled(y, scale);
    const float number = x == x ? x : 0;
    const float low = number < -most ? -most : number;
    *clipped |= !(ct_absolute(x) <= most);
    return (int32_t)(low > most ? most : low);
#endif
}

/* ---- elements in memory ---- */

static inline ct_ci8
ct_load_ci4(ct_ci4 x)
{
    return (ct_ci8){(int8_t)((int8_t)x.nibbles >> 4),
                    (int8_t)((int8_t)(uint8_t)(x.nibbles << 4) >> 4)};
}

static inline ct_ci4
ct_store_ci4(ct_ci8 y)
{
    return (ct_ci4){(uint8_t)((unsigned)y.re << 4 | ((unsigned)y.im & 15))};
}

/* ---- forms ---- */

/* The names of the macros' own variables begin with ct_own_, so that a function or a type of the
 * author's may have any other. */

#include <cornerturn/kit/product-host.h>

/* In front of a loop whose iterations are independent. */
#ifdef __clang__
#define CT_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define CT_INDEPENDENT _Pragma("GCC ivdep")
#endif

/* Registers a kernel: the linker gathers the pointers of a plugin in one array. The last argument
 * initialises the function, or functions. */
#define CT_FORM_REGISTER(name_, kind_, settings_, n_x_, n_y_, n_counters_, ...)                    \
    _Static_assert(sizeof(settings_) <= CT_FORM_SETTINGS,                                          \
                   "the settings of kernel " #name_ " have more than 256 bytes");                  \
    static const CtFormKernel name_##_kernel = {                                                   \
        .name = #name_,                                                                            \
        .file = CT_KERNEL_FILE,                                                                    \
        .kind = kind_,                                                                             \
        .isa = CT_ISA_THIS,                                                                        \
        .x = CT_X_TYPE,                                                                            \
        .w = CT_W_TYPE,                                                                            \
        .y = CT_Y_TYPE,                                                                            \
        .n_x = n_x_,                                                                               \
        .n_y = n_y_,                                                                               \
        .n_counters = n_counters_,                                                                 \
        .settings_bytes = sizeof(settings_),                                                       \
        __VA_ARGS__,                                                                               \
    };                                                                                             \
    __attribute__((used,                                                                           \
                   section("ct_kernels"))) static const CtFormKernel *const name_##_registered =   \
        &name_##_kernel;
#define CT_FORM_KERNEL(name_, kind_, settings_, n_x_, n_y_, n_counters_)                           \
    CT_FORM_REGISTER(name_, kind_, settings_, n_x_, n_y_, n_counters_, .run = name_##_run)

#define CT_MAP(name_, settings_)                                                                   \
    static void name_##_run(const CtFormRun *ct_own_run)                                           \
    {                                                                                              \
        const size_t ct_own_n = ct_own_run->n;                                                     \
        const settings_ ct_own_settings = *(const settings_ *)ct_own_run->settings;                \
        const CT_X_ELEMENT *restrict ct_own_x = ct_own_run->x[0];                                  \
        CT_Y_ELEMENT *restrict ct_own_y = ct_own_run->y[0];                                        \
        for (size_t ct_own_i = 0; ct_own_i < ct_own_n; ct_own_i++) {                               \
            const ct_x ct_own_from = CT_X_LOAD(ct_own_x[ct_own_i]);                                \
            ct_y ct_own_to;                                                                        \
            name_(&ct_own_settings, &ct_own_from, &ct_own_to);                                     \
            ct_own_y[ct_own_i] = CT_Y_STORE(ct_own_to);                                            \
        }                                                                                          \
    }                                                                                              \
    CT_FORM_KERNEL(name_, CT_FORM_MAP, settings_, 1, 1, 0)

/* From element `begin` on. */
#define CT_COUNTED_LOOP(name_, settings_)                                                          \
    CT_KERNEL void name_##_loop(const CtFormRun *ct_own_run, size_t ct_own_begin)                  \
    {                                                                                              \
        const size_t ct_own_n = ct_own_run->n;                                                     \
        const settings_ ct_own_settings = *(const settings_ *)ct_own_run->settings;                \
        const CT_X_ELEMENT *restrict ct_own_x = ct_own_run->x[0];                                  \
        CT_Y_ELEMENT *restrict ct_own_y = ct_own_run->y[0];                                        \
        uint32_t ct_own_sum = 0;                                                                   \
        for (size_t ct_own_i = ct_own_begin; ct_own_i < ct_own_n; ct_own_i++) {                    \
            const ct_x ct_own_from = CT_X_LOAD(ct_own_x[ct_own_i]);                                \
            uint32_t ct_own_count = 0;                                                             \
            ct_y ct_own_to;                                                                        \
            name_(&ct_own_settings, &ct_own_from, &ct_own_to, &ct_own_count);                      \
            ct_own_y[ct_own_i] = CT_Y_STORE(ct_own_to);                                            \
            ct_own_sum += ct_own_count;                                                            \
        }                                                                                          \
        ct_own_run->counters[0] += ct_own_sum;                                                     \
    }

#define CT_COUNTED_MAP(name_, settings_)                                                           \
    CT_COUNTED_LOOP(name_, settings_)                                                              \
    static void name_##_run(const CtFormRun *ct_own_run)                                           \
    {                                                                                              \
        name_##_loop(ct_own_run, 0);                                                               \
    }                                                                                              \
    CT_FORM_KERNEL(name_, CT_FORM_MAP, settings_, 1, 1, 1)

/* From element `begin` on. */
#define CT_TABLE_LOOP(name_, settings_)                                                            \
    CT_KERNEL void name_##_loop(const CtFormRun *ct_own_run, const size_t ct_own_begin,            \
                                const size_t ct_own_w_step)                                        \
    {                                                                                              \
        const size_t ct_own_n = ct_own_run->n;                                                     \
        const settings_ ct_own_settings = *(const settings_ *)ct_own_run->settings;                \
        const CT_X_ELEMENT *restrict ct_own_x = ct_own_run->x[0];                                  \
        const CT_W_ELEMENT *restrict ct_own_w = ct_own_run->w;                                     \
        CT_Y_ELEMENT *restrict ct_own_y = ct_own_run->y[0];                                        \
        for (size_t ct_own_i = ct_own_begin; ct_own_i < ct_own_n; ct_own_i++) {                    \
            const ct_x ct_own_from = CT_X_LOAD(ct_own_x[ct_own_i]);                                \
            ct_y ct_own_to;                                                                        \
            name_(&ct_own_settings, &ct_own_from, &ct_own_w[ct_own_w_step * ct_own_i],             \
                  &ct_own_to);                                                                     \
            ct_own_y[ct_own_i] = CT_Y_STORE(ct_own_to);                                            \
        }                                                                                          \
    }

/* `first_` makes the first elements, and returns how many. */
#define CT_TABLE_MAP_BY(name_, settings_, first_)                                                  \
    CT_TABLE_LOOP(name_, settings_)                                                                \
    static void name_##_run(const CtFormRun *ct_own_run)                                           \
    {                                                                                              \
        const size_t ct_own_made = first_(ct_own_run->x[0], ct_own_run->w, ct_own_run->w_step,     \
                                          ct_own_run->y[0], ct_own_run->n);                        \
        if (ct_own_run->w_step == 0)                                                               \
            name_##_loop(ct_own_run, ct_own_made, 0);                                              \
        else                                                                                       \
            name_##_loop(ct_own_run, ct_own_made, 1);                                              \
    }                                                                                              \
    CT_FORM_KERNEL(name_, CT_FORM_TABLE, settings_, 1, 1, 0)

#define CT_TABLE_MAP(name_, settings_)   CT_TABLE_MAP_BY(name_, settings_, ct_products_none)
#define CT_PRODUCT_MAP(name_, settings_) CT_TABLE_MAP_BY(name_, settings_, ct_products)

/* The elements of a group are in planes, or together. With AVX-512 compilers do not make vectors of
 * a loop that stores together: there, the outputs of some samples are made in planes on the stack
 * and put together by a second loop, of which they do. */
#if CT_VECTOR_BYTES == 64
enum { CT_GROUP_SAMPLES = 64 };
#define CT_GROUP_PLANES 1
#else
enum { CT_GROUP_SAMPLES = 1 };
#define CT_GROUP_PLANES 0
#endif

/* Makes no samples: all are left for the loops. */
CT_KERNEL size_t
ct_group_none(const void *settings, const void *x, void *y, size_t n)
{
    return 0;
}

#define CT_GROUP(name_, settings_, n_x_, n_y_)                                                     \
    CT_GROUP_BY(name_, settings_, n_x_, n_y_, ct_group_none)

#define CT_GROUP_BY(name_, settings_, n_x_, n_y_, first_)                                          \
    _Static_assert((n_x_) >= 1 && (n_x_) <= CT_FORM_GROUP_MAX && (n_y_) >= 1 &&                    \
                       (n_y_) <= CT_FORM_GROUP_MAX,                                                \
                   "kernel " #name_ " wants groups of 1 to 8 elements");                           \
    CT_KERNEL void name_##_loop(const CtFormRun *ct_own_run, const size_t ct_own_begin,            \
                                const size_t ct_own_n, CT_Y_ELEMENT *const *ct_own_y,              \
                                const bool ct_own_x_together, const bool ct_own_y_together)        \
    {                                                                                              \
        const settings_ ct_own_settings = *(const settings_ *)ct_own_run->settings;                \
        const CT_X_ELEMENT *ct_own_x[n_x_];                                                        \
        for (size_t ct_own_k = 0; ct_own_k < n_x_; ct_own_k++)                                     \
            ct_own_x[ct_own_k] = (const CT_X_ELEMENT *)ct_own_run->x[ct_own_k] +                   \
                                 ct_own_begin * (ct_own_x_together ? n_x_ : 1);                    \
        CT_INDEPENDENT                                                                             \
        for (size_t ct_own_i = 0; ct_own_i < ct_own_n; ct_own_i++) {                               \
            ct_x ct_own_from[n_x_];                                                                \
            ct_y ct_own_to[n_y_];                                                                  \
            for (size_t ct_own_k = 0; ct_own_k < n_x_; ct_own_k++)                                 \
                ct_own_from[ct_own_k] =                                                            \
                    CT_X_LOAD(*(ct_own_x_together ? &ct_own_x[0][n_x_ * ct_own_i + ct_own_k]       \
                                                  : &ct_own_x[ct_own_k][ct_own_i]));               \
            name_(&ct_own_settings, ct_own_from, ct_own_to);                                       \
            for (size_t ct_own_k = 0; ct_own_k < n_y_; ct_own_k++)                                 \
                *(ct_own_y_together ? &ct_own_y[0][n_y_ * ct_own_i + ct_own_k]                     \
                                    : &ct_own_y[ct_own_k][ct_own_i]) =                             \
                    CT_Y_STORE(ct_own_to[ct_own_k]);                                               \
        }                                                                                          \
    }                                                                                              \
    CT_KERNEL void name_##_all(const CtFormRun *ct_own_run, const bool ct_own_x_together,          \
                               const bool ct_own_y_together)                                       \
    {                                                                                              \
        CT_Y_ELEMENT *ct_own_y[n_y_];                                                              \
        size_t ct_own_i = 0;                                                                       \
        if (ct_own_x_together && ct_own_y_together)                                                \
            ct_own_i =                                                                             \
                first_(ct_own_run->settings, ct_own_run->x[0], ct_own_run->y[0], ct_own_run->n);   \
        for (;                                                                                     \
             CT_GROUP_PLANES && ct_own_y_together && ct_own_i + CT_GROUP_SAMPLES <= ct_own_run->n; \
             ct_own_i += CT_GROUP_SAMPLES) {                                                       \
            CT_Y_ELEMENT ct_own_planes[n_y_][CT_GROUP_SAMPLES];                                    \
            CT_Y_ELEMENT *restrict ct_own_to = (CT_Y_ELEMENT *)ct_own_run->y[0] + n_y_ * ct_own_i; \
            for (size_t ct_own_k = 0; ct_own_k < n_y_; ct_own_k++)                                 \
                ct_own_y[ct_own_k] = ct_own_planes[ct_own_k];                                      \
            name_##_loop(ct_own_run, ct_own_i, CT_GROUP_SAMPLES, ct_own_y, ct_own_x_together,      \
                         false);                                                                   \
            for (size_t ct_own_j = 0; ct_own_j < CT_GROUP_SAMPLES; ct_own_j++)                     \
                for (size_t ct_own_k = 0; ct_own_k < n_y_; ct_own_k++)                             \
                    ct_own_to[n_y_ * ct_own_j + ct_own_k] = ct_own_planes[ct_own_k][ct_own_j];     \
        }                                                                                          \
        for (size_t ct_own_k = 0; ct_own_k < n_y_; ct_own_k++)                                     \
            ct_own_y[ct_own_k] = (CT_Y_ELEMENT *)ct_own_run->y[ct_own_k] +                         \
                                 ct_own_i * (ct_own_y_together ? n_y_ : 1);                        \
        name_##_loop(ct_own_run, ct_own_i, ct_own_run->n - ct_own_i, ct_own_y, ct_own_x_together,  \
                     ct_own_y_together);                                                           \
    }                                                                                              \
    static void name_##_run(const CtFormRun *ct_own_run)                                           \
    {                                                                                              \
        if (!ct_own_run->x_together && !ct_own_run->y_together)                                    \
            name_##_all(ct_own_run, false, false);                                                 \
        else if (!ct_own_run->y_together)                                                          \
            name_##_all(ct_own_run, true, false);                                                  \
        else if (!ct_own_run->x_together)                                                          \
            name_##_all(ct_own_run, false, true);                                                  \
        else                                                                                       \
            name_##_all(ct_own_run, true, true);                                                   \
    }                                                                                              \
    CT_FORM_KERNEL(name_, CT_FORM_GROUP, settings_, n_x_, n_y_, 0)

#include <cornerturn/kit/fold-host.h>
#include <cornerturn/kit/join-host.h>
#include <cornerturn/kit/quantise-host.h>
#endif
