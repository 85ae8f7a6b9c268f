/* SPDX-License-Identifier: BSD-3-Clause */
/* The forms of <cornerturn/kit/kernel.h> where a file of kernels is included for an epilogue or a
 * prologue: each map, with a table or without, each group and each fold becomes a struct
 * NAME_epilogue, in the namespace of its stage. The other forms become nothing. */
#pragma once

#include <cornerturn/kit/convert-kernel.h>
#include <cornerturn/kit/epilogue-struct.h>
#include <cornerturn/kit/functions-kernel.h>

/* The index of the element that is stored at `to`. A quotient of doubles is at most one off, and
 * takes fewer registers than a division. */
__device__ inline int64
ct_epilogue_index(const CtEpilogueIndex &of, const void *to)
{
    int64 rest = (const uint8 *)to - of.first, at = 0;
#pragma unroll 1
    for (uint32 a = 0; a < of.n_axes; a++) {
        int64 i = (int64)((double)rest * of.axes[a].inverse);
        rest -= i * of.axes[a].stride;
        const int off = rest < 0 ? -1 : rest >= of.axes[a].stride;
        i += off;
        rest -= off * of.axes[a].stride;
        at += i * of.axes[a].step;
    }
    return at;
}

/* Whether the element that is stored at `to` is valid: others are zeroed later, and not counted. */
__device__ inline bool
ct_epilogue_is_valid(const CtEpilogueValidity *of, const void *to)
{
    return of->validity[ct_epilogue_index(of->index, to)];
}

/* Adds what the threads of a block have counted, less than 2³² together, to a counter in memory:
 * once for a block, since additions to one place follow one another. All threads call this. */
__device__ inline void
ct_epilogue_count(uint64 *counter, uint32 count)
{
    __shared__ uint32 sum;
    if (threadIdx.x == 0)
        sum = 0;
    __syncthreads();
    if (count > 0)
        atomicAdd(&sum, count);
    __syncthreads();
    if (threadIdx.x == 0 && sum > 0)
        atomicAdd(counter, (uint64)sum);
    __syncthreads();
}

template <typename Number>
__device__ inline void
ct_epilogue_keep(Number &)
{
}

__device__ inline void
ct_epilogue_keep(ct_f32 &x)
{
    ct_keep(x);
}

__device__ inline void
ct_epilogue_keep(ct_f64 &x)
{
    ct_keep(x);
}

template <int bytes> struct CtEpilogueWord {
    typedef uint8 type;
};
template <> struct CtEpilogueWord<4> {
    typedef uint32 type;
};
template <> struct CtEpilogueWord<8> {
    typedef uint2 type;
};
template <> struct CtEpilogueWord<16> {
    typedef uint4 type;
};

/* An entry of a table. Nothing writes it, so it may be read before other elements are stored. */
template <typename Entry>
__device__ inline Entry
ct_epilogue_entry(const Entry *entry)
{
    typedef typename CtEpilogueWord<sizeof(Entry)>::type Word;
    union {
        Word words[sizeof(Entry) / sizeof(Word)];
        Entry entry;
    } read;
#pragma unroll
    for (int i = 0; i < (int)(sizeof(Entry) / sizeof(Word)); i++)
        read.words[i] = __ldg((const Word *)entry + i);
    return read.entry;
}

/* The element, whose numbers the compiler takes as they are: it joins no operation that has made
 * them with one that uses them. */
template <typename Element>
__device__ inline Element
ct_epilogue_made(Element x)
{
    auto parts = ct_parts_of(x);
    ct_epilogue_keep(parts.re);
    ct_epilogue_keep(parts.im);
    ct_put_parts(x, parts);
    return x;
}

/* `call_` adds to ct_own_count what it counts, and may look up element ct_own_element in what
 * `table_` declares. */
#define CT_EPILOGUE_MAP(name_, settings_, table_, call_)                                           \
    struct name_##_epilogue {                                                                      \
        settings_ ct_own_settings;                                                                 \
        uint64 *ct_own_counter;                                                                    \
        table_;                                                                                    \
        template <typename Out, typename In>                                                       \
        __device__ __forceinline__ Out                                                             \
        make(In ct_own_in, uint32 &ct_own_count, uint32 ct_own_element = 0) const                  \
        {                                                                                          \
            const ct_x ct_own_x = ct_convert<ct_x>(ct_epilogue_made(ct_own_in));                   \
            ct_y ct_own_y;                                                                         \
            call_;                                                                                 \
            return ct_convert<Out>(ct_own_y);                                                      \
        }                                                                                          \
    };

#define CT_MAP(name_, settings_)                                                                   \
    CT_EPILOGUE_MAP(                                                                               \
        name_, settings_, ,                                                                        \
        ((void)ct_own_count, (void)ct_own_element, name_(&ct_own_settings, &ct_own_x, &ct_own_y)))
#define CT_TABLE_MAP(name_, settings_)                                                             \
    CT_EPILOGUE_MAP(name_, settings_, const ct_w *ct_own_table, (void)ct_own_count;                \
                    const ct_w ct_own_w = ct_epilogue_entry(ct_own_table + ct_own_element);        \
                    name_(&ct_own_settings, &ct_own_x, &ct_own_w, &ct_own_y))
#define CT_COUNTED_MAP(name_, settings_)                                                           \
    CT_EPILOGUE_MAP(name_, settings_, , (void)ct_own_element; uint32 ct_own_now = 0;               \
                    name_(&ct_own_settings, &ct_own_x, &ct_own_y, &ct_own_now);                    \
                    ct_own_count += ct_own_now)

#define CT_FOLD(name_, settings_, state_, samples_)                                                \
    struct name_##_epilogue {                                                                      \
        typedef state_ State;                                                                      \
        settings_ ct_own_settings;                                                                 \
        uint64 *ct_own_counter;                                                                    \
        __device__ __forceinline__ void                                                            \
        start(State &ct_own_state) const                                                           \
        {                                                                                          \
            name_##_start(&ct_own_settings, &ct_own_state);                                        \
        }                                                                                          \
        template <typename In>                                                                     \
        __device__ __forceinline__ void                                                            \
        add(State &ct_own_state, In ct_own_in) const                                               \
        {                                                                                          \
            const ct_x ct_own_x = ct_convert<ct_x>(ct_epilogue_made(ct_own_in));                   \
            name_##_add(&ct_own_settings, &ct_own_state, &ct_own_x);                               \
        }                                                                                          \
        __device__ __forceinline__ void                                                            \
        merge(State &ct_own_state, const State &ct_own_other) const                                \
        {                                                                                          \
            name_##_merge(&ct_own_settings, &ct_own_state, &ct_own_other);                         \
        }                                                                                          \
        template <typename Out>                                                                    \
        __device__ __forceinline__ Out                                                             \
        give(const State &ct_own_state, uint32 ct_own_n) const                                     \
        {                                                                                          \
            ct_y ct_own_y;                                                                         \
            name_##_give(&ct_own_settings, &ct_own_state, ct_own_n, &ct_own_y);                    \
            return ct_convert<Out>(ct_own_y);                                                      \
        }                                                                                          \
    };

#define CT_GROUP(name_, settings_, n_x_, n_y_)                                                     \
    struct name_##_epilogue {                                                                      \
        settings_ ct_own_settings;                                                                 \
        uint64 *ct_own_counter;                                                                    \
        template <typename Out, typename In>                                                       \
        __device__ __forceinline__ void                                                            \
        make(const In (&ct_own_in)[n_x_], Out (&ct_own_out)[n_y_]) const                           \
        {                                                                                          \
            ct_x ct_own_x[n_x_];                                                                   \
            ct_y ct_own_y[n_y_];                                                                   \
            for (int ct_own_j = 0; ct_own_j < n_x_; ct_own_j++)                                    \
                ct_own_x[ct_own_j] = ct_convert<ct_x>(ct_epilogue_made(ct_own_in[ct_own_j]));      \
            name_(&ct_own_settings, ct_own_x, ct_own_y);                                           \
            for (int ct_own_j = 0; ct_own_j < n_y_; ct_own_j++)                                    \
                ct_own_out[ct_own_j] = ct_convert<Out>(ct_own_y[ct_own_j]);                        \
        }                                                                                          \
    };

#define CT_WINDOW(name_, settings_)
#define CT_SHIFT_SUM(name_, settings_)
#define CT_TABLE_SHIFT_SUM(name_, settings_)
#define CT_JOIN(name_, settings_)
#define CT_MARKED_JOIN(name_, settings_)
