/* SPDX-License-Identifier: BSD-3-Clause */
/* Stages of the kit that are attached in front of a variant for devices: its kernel passes each
 * element through their functions when it loads it, so that no pass through memory lies between
 * them. These functions are the kernel's *prologue*, the twin of an epilogue
 * (<cornerturn/kit/epilogue.h>).
 *
 * A variant of one stage takes a prologue if it has the flag CT_VARIANT_PROLOGUE. The planner then
 * offers it, beside the variant by itself, with the stages before it that are maps of the kit
 * (CT_MAP, CT_TABLE_MAP) or conversions and that it alone reads. In `prepare` the variant sees its
 * own node, whose first input has the type that its kernel computes with; the bound input has the
 * type of the first map's. The variant keeps CtPrepare.prologue, which is NULL where nothing is
 * attached, gives it to its CtKernelSpec, and passes ct_epilogue_argument(self->prologue, …) to the
 * kernel, which includes <cornerturn/kit/prologue-kernel.h>, and loads through it, in all cases:
 *
 *     extern "C" __global__ void
 *     half(const uint8 *in, ct_f32 *out, int32 n, const CtPrologueSettings settings)
 *     {
 *         const CtPrologue prologue(settings);
 *         const int32 i = blockIdx.x * blockDim.x + threadIdx.x;
 *         if (i < n)
 *             out[i] = prologue.load<ct_f32>(in + i * sizeof(CtLoaded<ct_f32>)) / 2;
 *     }
 *
 * CtLoaded<T> is the element in memory where the kernel computes with T. The values are those that
 * the stages would make one after another. Entries of a table are found by the place, as those of
 * an epilogue, and by number where a kernel knows neighbours along the last axis of the input:
 *
 *     const CtPrologue::Element element = prologue.element(from);
 *     prologue.load<ct_f32>(from + i * sizeof(CtLoaded<ct_f32>), element + i);
 *
 * The kernel loads each element once, or few times: the maps compute it each time. What the maps
 * make of an invalid sample may be any value. So all of the kernel's output that it would reach
 * must be invalid, too, as it is by the rule of the footprint if the kernel leaves nothing out.
 * Maps that count are not attached. */
#pragma once

#include <cornerturn/kit/epilogue.h>
