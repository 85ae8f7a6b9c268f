/* SPDX-License-Identifier: BSD-3-Clause */
/* The samples of GUPPI RAW blocks. */
#pragma once

#include "guppi-header.h"

/* The memory for samples: bytes from one to the next along each axis. */
typedef struct {
    gint64 time, channel, station, pol;
} GuppiStrides;

/* Writes samples begin … end − 1 of a block: 4 bits as ci4, 8 as ci8, 16 (little-endian) as ci16,
 * and 2 as cf32: codes 0, 1, 2, 3 are +3.335875, +1, −1, −3.335875. Of 2 bits, the high half of a
 * byte has the first sample and, in its high half, the real part; if `is_low_first`, all halves are
 * the low ones. */
void guppi_block_unpack(const GuppiHeader *header, gboolean is_low_first, const guint8 *block,
                        gint64 begin, gint64 end, guint8 *out, const GuppiStrides *strides);

/* The same, value by value. */
void guppi_block_unpack_plain(const GuppiHeader *header, gboolean is_low_first, const guint8 *block,
                              gint64 begin, gint64 end, guint8 *out, const GuppiStrides *strides);
