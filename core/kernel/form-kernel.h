/* SPDX-License-Identifier: BSD-3-Clause */
/* The forms of <cornerturn/kit/kernel.h> on devices.
 *
 * CT_IN and CT_OUT are the types of elements in memory; CT_X, CT_Y and CT_W, their parts and their
 * numbers of parts are as on the host. */
#pragma once

#include <cornerturn/kit/convert-kernel.h>
#include <cornerturn/kit/device-map-kernel.h>
#include <cornerturn/kit/device-rows-kernel.h>

typedef CT_X ct_x;
typedef CT_X_PART ct_x_part;
typedef CT_Y ct_y;
typedef CT_Y_PART ct_y_part;
#ifdef CT_W
typedef CT_W ct_w;
typedef CT_W_PART ct_w_part;
#else
typedef CT_Y ct_w;
#endif
typedef int8 int8_t;
typedef uint8 uint8_t;
typedef int16 int16_t;
typedef uint16 uint16_t;
typedef int32 int32_t;
typedef uint32 uint32_t;
typedef int64 int64_t;
typedef uint64 uint64_t;

#define CT_KERNEL __device__ __forceinline__

/* ---- functions for kernels ---- */

__device__ inline float
ct_multiply_add(float a, float b, float c)
{
    return fmaf(a, b, c);
}

__device__ inline double
ct_multiply_add(double a, double b, double c)
{
    return fma(a, b, c);
}

/* A sum with 1.5 · 2^23 has no fractional bits, and is rounded once. */
__device__ inline float
ct_round_scaled(float x, float scale)
{
    return fmaf(x, scale, 0x1.8p23f) - 0x1.8p23f;
}

__device__ inline float
ct_absolute(float x)
{
    return fabsf(x);
}

__device__ inline double
ct_absolute(double x)
{
    return fabs(x);
}

/* ---- elements in memory ---- */

#ifdef CT_Y_IS_CI4
/* The kernel keeps within CT_Y_MOST, as on the host. */
template <typename Out>
__device__ inline Out
ct_form_store(ct_y y)
{
    return {(uint8)((uint32)y.re << 4 | ((uint32)y.im & 15))};
}
#else
template <typename Out>
__device__ inline Out
ct_form_store(ct_y y)
{
    return ct_convert<Out>(y);
}
#endif

/* ---- maps ---- */

#define CT_FORM_BOUNDS __launch_bounds__(CT_DEVICE_MAP_THREADS, CT_DEVICE_MAP_BLOCKS)

#define CT_MAP(name_, settings_)                                                                   \
    extern "C" __global__ void CT_FORM_BOUNDS name_##_map(const CtDeviceMap map,                   \
                                                          const settings_ settings)                \
    {                                                                                              \
        ct_map_each<CT_IN, CT_OUT>(map, [&](CT_IN in) {                                            \
            const ct_x x = ct_convert<ct_x>(in);                                                   \
            ct_y y;                                                                                \
            name_(&settings, &x, &y);                                                              \
            return ct_form_store<CT_OUT>(y);                                                       \
        });                                                                                        \
    }

#define CT_COUNTED_MAP(name_, settings_)                                                           \
    extern "C" __global__ void CT_FORM_BOUNDS name_##_map(                                         \
        const CtDeviceMap map, const settings_ settings, uint64 *counters)                         \
    {                                                                                              \
        __shared__ uint32 block_sum;                                                               \
        uint32 sum = 0;                                                                            \
        if (threadIdx.x == 0)                                                                      \
            block_sum = 0;                                                                         \
        __syncthreads();                                                                           \
        ct_map_each<CT_IN, CT_OUT>(map, [&](CT_IN in) {                                            \
            const ct_x x = ct_convert<ct_x>(in);                                                   \
            uint32 count = 0;                                                                      \
            ct_y y;                                                                                \
            name_(&settings, &x, &y, &count);                                                      \
            sum += count;                                                                          \
            return ct_form_store<CT_OUT>(y);                                                       \
        });                                                                                        \
        if (sum > 0)                                                                               \
            atomicAdd(&block_sum, sum);                                                            \
        __syncthreads();                                                                           \
        if (threadIdx.x == 0 && block_sum > 0)                                                     \
            atomicAdd(counters, (uint64)block_sum);                                                \
    }

/* ---- maps with a table: a thread reads an entry once for several times ---- */

#define CT_TABLE_MAP(name_, settings_)                                                             \
    extern "C" __global__ void __launch_bounds__(CT_DEVICE_ROWS_THREADS)                           \
        name_##_table(const CtDeviceRows rows, const settings_ settings, const ct_w *table)        \
    {                                                                                              \
        const CtRowsPlace place = ct_rows_place<CT_IN, CT_OUT, CT_DEVICE_ROWS_UNROLL>(rows);       \
        if (place.n_times == 0)                                                                    \
            return;                                                                                \
        const uint8 *in = place.in + place.time * rows.in_time;                                    \
        uint8 *out = place.out + place.time * rows.out_time;                                       \
        const int64 in_step = rows.rows * rows.in_time, out_step = rows.rows * rows.out_time;      \
        CT_IN from[CT_DEVICE_ROWS_UNROLL];                                                         \
        _Pragma("unroll") for (int k = 0; k < CT_DEVICE_ROWS_UNROLL; k++) if (k < place.n_times)   \
            from[k] = *(const CT_IN *)(in + k * in_step);                                          \
        const ct_w w = table[place.element];                                                       \
        _Pragma("unroll") for (int k = 0; k < CT_DEVICE_ROWS_UNROLL; k++) if (k < place.n_times)   \
        {                                                                                          \
            const ct_x x = ct_convert<ct_x>(from[k]);                                              \
            ct_y y;                                                                                \
            name_(&settings, &x, &w, &y);                                                          \
            *(CT_OUT *)(out + k * out_step) = ct_form_store<CT_OUT>(y);                            \
        }                                                                                          \
    }

/* ---- groups ---- */

template <typename Element, int N> struct CtGroup {
    Element element[N];
};

template <> struct alignas(16) CtMapWord<32> {
    uint32 x, y, z, w, a, b, c, d;
};

/* Inputs `x_stride` bytes apart, outputs `y_stride`. */
template <int N_X, int N_Y, int WIDTH, typename Function>
__device__ inline void
ct_group_units(const CtDeviceMap &map, int64 x_stride, int64 y_stride, Function function)
{
    typedef CtMapWord<sizeof(CT_IN) * WIDTH> InWord;
    typedef CtMapWord<sizeof(CT_OUT) * WIDTH> OutWord;
    CtMapUnit<CT_IN, WIDTH> from[CT_DEVICE_MAP_UNROLL][N_X];
    CtMapPlace place[CT_DEVICE_MAP_UNROLL];
#pragma unroll
    for (int k = 0; k < CT_DEVICE_MAP_UNROLL; k++) {
        const uint32 unit =
            (blockIdx.x * CT_DEVICE_MAP_UNROLL + k) * CT_DEVICE_MAP_THREADS + threadIdx.x;
        for (int j = 0; j < N_X; j++)
            from[k][j].word = {};
        place[k].n = 0;
        if (unit >= map.n_units)
            continue;
        place[k] = ct_map_place(map, unit);
        for (int j = 0; j < N_X; j++) {
            const uint8 *in = place[k].in + j * x_stride;
            if (place[k].n == WIDTH)
                from[k][j].word = *(const InWord *)in;
            else
                for (uint32 i = 0; i < WIDTH; i++)
                    if (i < place[k].n)
                        from[k][j].element[i] = ((const CT_IN *)in)[i];
        }
    }
#pragma unroll
    for (int k = 0; k < CT_DEVICE_MAP_UNROLL; k++) {
        CtMapUnit<CT_OUT, WIDTH> to[N_Y];
#pragma unroll
        for (int i = 0; i < WIDTH; i++) {
            CtGroup<CT_IN, N_X> group;
            for (int j = 0; j < N_X; j++)
                group.element[j] = from[k][j].element[i];
            const CtGroup<CT_OUT, N_Y> made = function(group);
            for (int j = 0; j < N_Y; j++)
                to[j].element[i] = made.element[j];
        }
#pragma unroll
        for (int j = 0; j < N_Y; j++) {
            CT_OUT *out = (CT_OUT *)(place[k].out + j * y_stride);
            if (place[k].n == WIDTH)
                *(OutWord *)out = to[j].word;
            else
                for (uint32 i = 0; i < WIDTH; i++)
                    if (i < place[k].n)
                        out[i] = to[j].element[i];
        }
    }
}

/* The function on elements in memory. */
#define CT_GROUP_FUNCTION(name_, n_x_, n_y_)                                                       \
    const auto function = [&](const CtGroup<CT_IN, n_x_> &from) {                                  \
        ct_x x[n_x_];                                                                              \
        ct_y y[n_y_];                                                                              \
        CtGroup<CT_OUT, n_y_> to;                                                                  \
        for (int j = 0; j < n_x_; j++)                                                             \
            x[j] = ct_convert<ct_x>(from.element[j]);                                              \
        name_(&settings, x, y);                                                                    \
        for (int j = 0; j < n_y_; j++)                                                             \
            to.element[j] = ct_form_store<CT_OUT>(y[j]);                                           \
        return to;                                                                                 \
    };

template <int BYTES> struct CtIsWord {
    static constexpr bool value = BYTES <= 32 && (BYTES & (BYTES - 1)) == 0;
};

template <typename From, typename To, typename Function>
__device__ inline void
ct_group_together(const CtDeviceMap &map, Function function)
{
    if constexpr (!CtIsWord<sizeof(From)>::value || !CtIsWord<sizeof(To)>::value)
        return; /* the host does not launch it */
    else if constexpr (sizeof(From) > 16 || sizeof(To) > 16)
        ct_map_units<From, To, 1>(map, function);
    else
        ct_map_each<From, To>(map, function);
}

/* NAME_planes: inputs and outputs anywhere. NAME_together: those of a group are contiguous, and
 * aligned as a whole. */
#define CT_GROUP(name_, settings_, n_x_, n_y_)                                                     \
    extern "C" __global__ void CT_FORM_BOUNDS name_##_planes(                                      \
        const CtDeviceMap map, const settings_ settings, int64 x_stride, int64 y_stride)           \
    {                                                                                              \
        constexpr int width =                                                                      \
            16 / (sizeof(CT_IN) > sizeof(CT_OUT) ? sizeof(CT_IN) : sizeof(CT_OUT));                \
        CT_GROUP_FUNCTION(name_, n_x_, n_y_)                                                       \
        if (width > 1 && map.width == 1)                                                           \
            ct_group_units<n_x_, n_y_, 1>(map, x_stride, y_stride, function);                      \
        else                                                                                       \
            ct_group_units<n_x_, n_y_, width>(map, x_stride, y_stride, function);                  \
    }                                                                                              \
    extern "C" __global__ void CT_FORM_BOUNDS name_##_together(                                    \
        const CtDeviceMap map, const settings_ settings, int64, int64)                             \
    {                                                                                              \
        CT_GROUP_FUNCTION(name_, n_x_, n_y_)                                                       \
        ct_group_together<CtGroup<CT_IN, n_x_>, CtGroup<CT_OUT, n_y_>>(map, function);             \
    }

#include <cornerturn/kit/join-kernel.h>
