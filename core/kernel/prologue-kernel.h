/* SPDX-License-Identifier: BSD-3-Clause */
/* Loading elements through the stages that are attached in front of a kernel
 * (cornerturn/kit/prologue.h). */
#pragma once

#include <cornerturn/kit/epilogue-kernel.h>

#ifdef CT_PROLOGUE
#include "cornerturn/prologue.h"
#else
struct CtPrologueSettings {
    int none;
};

template <typename Wanted> using CtLoaded = Wanted;

struct CtPrologue {
    typedef CtNoElement Element;
    __device__ explicit CtPrologue(const CtPrologueSettings &)
    {
    }
    __device__ Element
    element(const void *) const
    {
        return {};
    }
    template <typename Wanted>
    __device__ Wanted
    load(const void *from, Element = {}) const
    {
        return *(const Wanted *)from;
    }
};
#endif
