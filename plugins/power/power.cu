/* SPDX-License-Identifier: BSD-3-Clause */
/* Powers: squared moduli, or Stokes parameters of two polarisations.
 *
 * IN, OUT: types of elements; N_PARAMETERS: 0 (squared moduli), 1 (I) or 4; IS_CIRCULAR: 1 where
 * pol is R, L. */
#include <cornerturn/kit/device-map-kernel.h>

__device__ inline OUT
square(const ct_complex<OUT> &x)
{
    return x.re * x.re + x.im * x.im;
}

#if N_PARAMETERS == 0
extern "C" __global__ void
__launch_bounds__(CT_DEVICE_MAP_THREADS, CT_DEVICE_MAP_BLOCKS) power_square(const CtDeviceMap map)
{
    ct_map_each<IN, OUT>(map, [](const IN &x) { return square(ct_load<OUT>(x)); });
}

#else
/* I Q U V; see README.md for the signs. */
struct Parameters {
    OUT parameters[N_PARAMETERS];
};

/* Both polarisations of a sample, contiguous. */
struct Pair {
    IN x, y;
};

template <> struct alignas(16) CtMapWord<32> {
    uint32 x, y, z, w, a, b, c, d;
};

__device__ inline Parameters
find_parameters(const IN &first, const IN &second)
{
    const ct_complex<OUT> x = ct_load<OUT>(first), y = ct_load<OUT>(second);
    Parameters found;
    found.parameters[0] = square(x) + square(y);
    if constexpr (N_PARAMETERS == 4) {
        const OUT difference = square(x) - square(y);
        const OUT re = 2 * (x.re * y.re + x.im * y.im), im = 2 * (x.im * y.re - x.re * y.im);
        found.parameters[1] = IS_CIRCULAR ? re : difference;
        found.parameters[2] = IS_CIRCULAR ? im : re;
        found.parameters[3] = IS_CIRCULAR ? difference : im;
    }
    return found;
}

/* Polarisations and parameters innermost. */
extern "C" __global__ void
__launch_bounds__(CT_DEVICE_MAP_THREADS, CT_DEVICE_MAP_BLOCKS) power_pairs(const CtDeviceMap map)
{
    constexpr bool is_wide = sizeof(Pair) > 16 || sizeof(Parameters) > 16;
    const auto function = [](const Pair &pair) { return find_parameters(pair.x, pair.y); };
    if constexpr (is_wide)
        ct_map_units<Pair, Parameters, 1>(map, function);
    else
        ct_map_each<Pair, Parameters>(map, function);
}

template <int WIDTH>
__device__ inline void
find_planes(const CtDeviceMap &map, int64 pol, int64 stokes)
{
    typedef CtMapWord<sizeof(IN) * WIDTH> InWord;
    typedef CtMapWord<sizeof(OUT) * WIDTH> OutWord;
    CtMapUnit<IN, WIDTH> x[CT_DEVICE_MAP_UNROLL], y[CT_DEVICE_MAP_UNROLL];
    CtMapPlace place[CT_DEVICE_MAP_UNROLL];
#pragma unroll
    for (int k = 0; k < CT_DEVICE_MAP_UNROLL; k++) {
        const uint32 unit = (blockIdx.x * CT_DEVICE_MAP_UNROLL + k) * CT_DEVICE_MAP_THREADS + threadIdx.x;
        x[k].word = y[k].word = {};
        place[k].n = 0;
        if (unit >= map.n_units)
            continue;
        place[k] = ct_map_place(map, unit);
        const uint8 *in = place[k].in;
        if (place[k].n == WIDTH) {
            x[k].word = *(const InWord *)in;
            y[k].word = *(const InWord *)(in + pol);
            continue;
        }
        for (uint32 i = 0; i < WIDTH; i++)
            if (i < place[k].n) {
                x[k].element[i] = ((const IN *)in)[i];
                y[k].element[i] = ((const IN *)(in + pol))[i];
            }
    }
#pragma unroll
    for (int k = 0; k < CT_DEVICE_MAP_UNROLL; k++) {
        Parameters found[WIDTH];
#pragma unroll
        for (int i = 0; i < WIDTH; i++)
            found[i] = find_parameters(x[k].element[i], y[k].element[i]);
#pragma unroll
        for (int s = 0; s < N_PARAMETERS; s++) {
            OUT *out = (OUT *)(place[k].out + s * stokes);
            CtMapUnit<OUT, WIDTH> to;
#pragma unroll
            for (int i = 0; i < WIDTH; i++)
                to.element[i] = found[i].parameters[s];
            if (place[k].n == WIDTH)
                *(OutWord *)out = to.word;
            else
                for (uint32 i = 0; i < WIDTH; i++)
                    if (i < place[k].n)
                        out[i] = to.element[i];
        }
    }
}

/* Polarisations `pol` bytes apart, parameters `stokes` bytes. */
extern "C" __global__ void
__launch_bounds__(CT_DEVICE_MAP_THREADS, CT_DEVICE_MAP_BLOCKS)
    power_planes(const CtDeviceMap map, int64 pol, int64 stokes)
{
    constexpr int width = 16 / (sizeof(IN) > sizeof(OUT) ? sizeof(IN) : sizeof(OUT));
    if (width > 1 && map.width == 1)
        find_planes<1>(map, pol, stokes);
    else
        find_planes<width>(map, pol, stokes);
}
#endif
