/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations that the files of the stage power share. */
#pragma once

#include <cornerturn/kit/form.h>

/* The values of the parameters `stokes` and `feed`. */
typedef enum { POWER_NONE, POWER_I, POWER_IQUV } PowerStokes;
typedef enum { POWER_LINEAR, POWER_CIRCULAR } PowerFeed;

extern const CtVariant ct_power_reference;
