/* SPDX-License-Identifier: BSD-3-Clause */
/* Converts elements.
 *
 * CT_IN, CT_OUT: their types, both real or both complex. */
#include <cornerturn/kit/convert-kernel.h>
#include <cornerturn/kit/device-map-kernel.h>

extern "C" __global__ void
__launch_bounds__(CT_DEVICE_MAP_THREADS, CT_DEVICE_MAP_BLOCKS) ct_convert_map(const CtDeviceMap map)
{
    ct_map_each<CT_IN, CT_OUT>(map, [](CT_IN x) { return ct_convert<CT_OUT>(x); });
}
