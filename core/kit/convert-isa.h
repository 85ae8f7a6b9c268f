/* SPDX-License-Identifier: BSD-3-Clause */
/* The steps of conversions, of one instruction set. */
#pragma once

#include <cornerturn/kit/convert.h>

CtConvert CT_ISA(ct_convert_steps)(CtType from, CtType to);
