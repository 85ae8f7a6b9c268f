/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations that the files of the stage quantise share. */
#pragma once

#include <cornerturn/kit/form.h>

/* In the order of the stage's `counters`. */
enum { QUANTISE_CLIPPED };

extern const CtVariant ct_quantise_reference;
