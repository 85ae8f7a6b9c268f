/* SPDX-License-Identifier: BSD-3-Clause */
/* The polyphase filter's sums, all outputs rotated alike. */
#define ROWS                                CT_ISA(ct_fir_rows)
#define SAMPLE                              float
#define LOAD(x)                             load(x)
#define STORE(y, sum, n_floats, rows, t, e) memcpy(y, &(sum), (n_floats) * sizeof(float))
#include "fir-sums.h"
