/* SPDX-License-Identifier: BSD-3-Clause */
/* Loops that only multiply and add, for each instruction set. */
#pragma once

#include <cornerturn/stage.h>

/* Whether this processor can run the loop of `isa`. */
gboolean ct_peak_is_known(CtIsa isa);
/* Runs the loop, which takes tens of microseconds. Returns the number of its operations in single
 * precision; a multiply-add is two. */
gdouble ct_peak_run(CtIsa isa);
