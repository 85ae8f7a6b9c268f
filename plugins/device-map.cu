/* SPDX-License-Identifier: BSD-3-Clause */
/* Moves elements of a fixed size, or writes zeros. */
#include "device-map-kernel.h"

extern "C" __global__ void
__launch_bounds__(DEVICE_MAP_THREADS) device_map_copy(const DeviceMap map)
{
    typedef MapWord<ELEMENT_BYTES> Element;
    map_each<Element, Element>(map, [](Element x) { return x; });
}
