/* SPDX-License-Identifier: BSD-3-Clause */
/* Quantisation of contiguous samples, of one instruction set. */
#pragma once

#include <cornerturn/isa.h>
#include <cornerturn/tensor.h>

/* Quantises n samples and returns how many were clipped, in either part. */
typedef gsize (*QuantiseRun)(const float *x, float scale, void *y, gsize n);

QuantiseRun CT_ISA(quantise_run)(CtType type);
