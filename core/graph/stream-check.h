/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks that descriptions of streams are consistent. */
#pragma once

#include <cornerturn/stage.h>

/* The fault of a description, "has an axis 'pol' of length 0", allocated; NULL: there is none. */
char *ct_stream_find_fault(const CtStream *stream);
/* "has a window of 1 and a hop of 0 samples", allocated; NULL: there is no fault. */
char *ct_footprint_find_fault(const CtFootprint *footprint);
