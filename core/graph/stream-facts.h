/* SPDX-License-Identifier: BSD-3-Clause */
/* A text for people about a stream, in seconds, hertz and names. */
#pragma once

#include <cornerturn/tensor.h>

/* Lines for people, each begins with four spaces and ends with a line feed: the sample rate, the
 * duration and the UTC of the start; the frequencies; the names of stations and of other axes.
 * Empty if nothing is known. Allocated. */
char *ct_stream_facts(const CtStream *stream);
