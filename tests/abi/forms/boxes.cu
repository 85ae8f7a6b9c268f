/* SPDX-License-Identifier: BSD-3-Clause */
/* A kernel by hand over a map of elements. */
#include <cornerturn/kit/device-map-kernel.h>

extern "C" __global__ void
__launch_bounds__(CT_DEVICE_MAP_THREADS, CT_DEVICE_MAP_BLOCKS)
    boxes_map(const CtDeviceMap map, const float factor)
{
    ct_map_each<ct_f32, ct_f32>(map, [&](ct_f32 x) { return factor * x; });
}
