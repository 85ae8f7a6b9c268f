/* SPDX-License-Identifier: BSD-3-Clause */
/* What a SIGPROC header says of the stream, in files of every kind that has one. */
#pragma once

#include "sigproc-header.h"

#include <cornerturn/kit/array-source.h>

extern const char *const sigproc_products[];

/* The parameter of sources that says what the IFs are. */
#define SIGPROC_PRODUCTS_PARAM                                                                     \
    {                                                                                              \
        .name = "products", .kind = CT_PARAM_CHOICE, .choices = sigproc_products,                  \
        .fallback = "auto", .help = "what the IFs are; auto: intensity for one, pol for two"       \
    }

/* Describes power over time, IFs and channels, in this order: axes, with a time of length 0,
 * frequencies, clock and observation. */
gboolean sigproc_stream_describe(CtArrayFile *file, const CtParams *given,
                                 const SigprocHeader *header, CtStream *stream, GError **error);
