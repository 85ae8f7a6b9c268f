/* SPDX-License-Identifier: BSD-3-Clause */
/* The polyphase filter's sums of integers of 16 bits, all outputs rotated alike. */
#include <stdint.h>
#if defined(__AVX2__)
#define ROWS                                CT_ISA(ct_fir_rows_i16)
#define SAMPLE                              int16_t
#define LOAD(x)                             load_i16(x)
#define STORE(y, sum, n_floats, rows, t, e) memcpy(y, &(sum), (n_floats) * sizeof(float))
#include "fir-sums.h"
#endif
