/* SPDX-License-Identifier: BSD-3-Clause */
/* Elements go through the maps of a chain of stages, which are the epilogue.
 *
 * READ: the type of elements that are read. */
#include <cornerturn/kit/group-kernel.h>

/* The maps have definitions of these names. */
static constexpr int threads = CT_DEVICE_MAP_THREADS;
[[maybe_unused]] static constexpr int blocks = CT_DEVICE_MAP_BLOCKS;
#undef CT_DEVICE_MAP_THREADS
#undef CT_DEVICE_MAP_UNROLL

#include <cornerturn/kit/epilogue-kernel.h>

#ifdef CT_EPILOGUE_GROUPS
/* As the kernels of a group by itself (form-kernel.h). The maps around it take more registers,
 * which the assembler would spill if it chose the number of blocks. */
extern "C" __global__ void
__launch_bounds__(threads, 1)
    ct_chain_planes(const CtDeviceMap map, const CtEpilogueSettings settings)
{
    CtEpilogue epilogue(settings);
    ct_group_planes<READ, CtStored<READ>, CT_EPILOGUE_N_X, CT_EPILOGUE_N_Y>(
        map, settings.x_stride, settings.y_stride,
        [&](const CtGiven<READ> &x, const void *to) { return epilogue.make(to, x); });
    epilogue.end();
}

extern "C" __global__ void
__launch_bounds__(threads, 1)
    ct_chain_together(const CtDeviceMap map, const CtEpilogueSettings settings)
{
    CtEpilogue epilogue(settings);
    ct_group_together<CtGiven<READ>, CtGroup<CtStored<READ>, CT_EPILOGUE_N_Y>>(
        map, [&](const CtGiven<READ> &x, const void *to) { return epilogue.make(to, x); });
    epilogue.end();
}
#else
extern "C" __global__ void
__launch_bounds__(threads, blocks)
    ct_chain(const CtDeviceMap map, const CtEpilogueSettings settings)
{
    CtEpilogue epilogue(settings);
    ct_map_each<READ, CtStored<READ>>(map,
                                      [&](READ x, const void *to) { return epilogue.make(to, x); });
    epilogue.end();
}
#endif
