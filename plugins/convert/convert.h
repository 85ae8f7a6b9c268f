/* SPDX-License-Identifier: BSD-3-Clause */
/* Variants of the stage convert. */
#pragma once

#include <cornerturn/kit/form.h>

extern const CtVariant ct_convert_reference;
