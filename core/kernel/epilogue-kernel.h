/* SPDX-License-Identifier: BSD-3-Clause */
/* Storing elements through the stages that are attached behind a kernel
 * (cornerturn/kit/epilogue.h). */
#pragma once

#include "cornerturn/kernel.h"

/* An element of a sample of the output, for epilogues that have no table. */
struct CtNoElement {
    __device__ CtNoElement
    operator+(int32) const
    {
        return {};
    }
};

#ifdef CT_EPILOGUE
#include "cornerturn/epilogue.h"
#else
struct CtEpilogueSettings {
    int none;
};

template <typename Made> using CtStored = Made;

struct CtEpilogue {
    typedef CtNoElement Element;
    __device__ explicit CtEpilogue(const CtEpilogueSettings &)
    {
    }
    __device__ Element
    element(const void *) const
    {
        return {};
    }
    template <typename Made>
    __device__ Made
    make(const void *, Made made)
    {
        return made;
    }
    template <typename Made>
    __device__ void
    store(void *to, Made made, Element = {})
    {
        *(Made *)to = make(to, made);
    }
    __device__ void
    end()
    {
    }
};
#endif
