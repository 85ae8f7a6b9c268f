/* SPDX-License-Identifier: BSD-3-Clause */
/* A fold of what the maps of a chain make of elements: the chain, with the fold at its end, is the
 * epilogue. With a stage of groups, an element of the fold is a group.
 *
 * READ: the type of elements that are read. The definitions of fold-cells-kernel.h. */
#include <cornerturn/kit/epilogue-kernel.h>

typedef CtGiven<READ> CtFoldRead;

#include <cornerturn/kit/fold-cells-kernel.h>

struct Fold {
    typedef CtEpilogue::State CtState;
    static constexpr bool ADDS_ALL = false;
    CtEpilogue &epilogue;

    __device__ void
    start(CtState &state) const
    {
        epilogue.start(state);
    }
    __device__ CtFoldRead
    read(const uint8 *from) const
    {
        return epilogue.read<READ>(from);
    }
    __device__ void
    add(CtState &state, const CtFoldRead &element) const
    {
        epilogue.add(state, {}, {}, 0, element);
    }
    __device__ void
    merge(CtState &state, const CtState &other) const
    {
        epilogue.merge(state, other);
    }
    __device__ bool
    give(void *to, const CtState &state, uint32 n) const
    {
        epilogue.give(to, state, n);
        return true;
    }
};

extern "C" __global__ void
__launch_bounds__(CT_FOLD_ROW_THREADS, 1)
    ct_chain_rows(const CtFoldFiring firing, const CtEpilogueSettings settings)
{
    CtEpilogue epilogue(settings);
    ct_fold_rows(Fold{epilogue}, firing);
}

#if CT_FOLD_IS_STAGED
extern "C" __global__ void
__launch_bounds__(CT_FOLD_THREADS, 8)
    ct_chain_stage(const CtFoldFiring firing, const CtEpilogueSettings settings, uint32 block_cells,
                   uint32 block_groups)
{
    CtEpilogue epilogue(settings);
    ct_fold_stage(Fold{epilogue}, firing, block_cells, block_groups);
}
#endif

extern "C" __global__ void
__launch_bounds__(CT_FOLD_MERGE_THREADS)
    ct_chain_merges(const CtFoldFiring firing, const CtEpilogueSettings settings)
{
    CtEpilogue epilogue(settings);
    ct_fold_merge(Fold{epilogue}, firing);
}
