/* SPDX-License-Identifier: BSD-3-Clause */
/* Moves elements of a fixed size, or writes zeros. */
#include <cornerturn/kit/device-map-kernel.h>

extern "C" __global__ void
__launch_bounds__(CT_DEVICE_MAP_THREADS) ct_device_map_copy(const CtDeviceMap map)
{
    typedef CtMapWord<ELEMENT_BYTES> Element;
    ct_map_each<Element, Element>(map, [](Element x) { return x; });
}
