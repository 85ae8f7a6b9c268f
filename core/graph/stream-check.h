/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether descriptions can be those of a stream. */
#pragma once

#include <cornerturn/stage.h>

/* The fault of a description, "has an axis 'pol' of length 0", allocated; NULL: nothing. */
char *ct_stream_find_fault(const CtStream *stream);
/* "has a window of 1 and a hop of 0 samples", allocated; NULL: nothing is wrong. */
char *ct_footprint_find_fault(const CtFootprint *footprint);
