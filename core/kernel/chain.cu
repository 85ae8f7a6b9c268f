/* SPDX-License-Identifier: BSD-3-Clause */
/* Elements go through the maps of a chain of stages, which are the epilogue.
 *
 * READ: the type of elements that are read. */
#include <cornerturn/kit/device-map-kernel.h>

/* The maps have definitions of these names. */
static constexpr int threads = CT_DEVICE_MAP_THREADS, blocks = CT_DEVICE_MAP_BLOCKS;
#undef CT_DEVICE_MAP_THREADS
#undef CT_DEVICE_MAP_UNROLL

#include <cornerturn/kit/epilogue-kernel.h>

extern "C" __global__ void
__launch_bounds__(threads, blocks)
    ct_chain(const CtDeviceMap map, const CtEpilogueSettings settings)
{
    CtEpilogue epilogue(settings);
    ct_map_each<READ, CtStored<READ>>(map,
                                      [&](READ x, const void *to) { return epilogue.make(to, x); });
    epilogue.end();
}
