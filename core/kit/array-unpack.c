/* SPDX-License-Identifier: BSD-3-Clause */
/* Sources of arrays: elements of 1, 2 or 4 bits. */
#include "array-source-private.h"

void
ct_array_unpack_plain(const CtArrayFile *file, const guint8 *bytes, guint first, gsize n,
                      guint8 *to)
{
    const guint bits = file->bits, in_byte = 8 / bits;
    for (gsize i = 0; i < n; i++) {
        const gsize at = first + i;
        const guint place = (guint)(at % in_byte);
        const guint shift = bits * (file->is_high_first ? in_byte - 1 - place : place);
        to[i] = bytes[at / in_byte] >> shift & ((1u << bits) - 1);
    }
}

/* The elements of whole bytes: of constant numbers of bits, so that compilers unroll them. */
static inline void
unpack_bytes(guint bits, gboolean is_high_first, const guint8 *bytes, gsize n_bytes, guint8 *to)
{
    const guint in_byte = 8 / bits;
    for (gsize i = 0; i < n_bytes; i++)
        for (guint k = 0; k < in_byte; k++)
            to[i * in_byte + k] =
                (guint8)(bytes[i] >> bits * (is_high_first ? in_byte - 1 - k : k)) &
                ((1u << bits) - 1);
}

void
ct_array_unpack(const CtArrayFile *file, const guint8 *bytes, guint first, gsize n, guint8 *to)
{
    const guint in_byte = 8 / file->bits;
    const gsize head = MIN(n, (in_byte - first) % in_byte);
    ct_array_unpack_plain(file, bytes, first, head, to);
    bytes += head > 0;
    to += head;
    n -= head;
    const gsize whole = n / in_byte;
    if (file->bits == 1 && file->is_high_first)
        unpack_bytes(1, TRUE, bytes, whole, to);
    else if (file->bits == 1)
        unpack_bytes(1, FALSE, bytes, whole, to);
    else if (file->bits == 2 && file->is_high_first)
        unpack_bytes(2, TRUE, bytes, whole, to);
    else if (file->bits == 2)
        unpack_bytes(2, FALSE, bytes, whole, to);
    else if (file->is_high_first)
        unpack_bytes(4, TRUE, bytes, whole, to);
    else
        unpack_bytes(4, FALSE, bytes, whole, to);
    ct_array_unpack_plain(file, bytes + whole, 0, n - whole * in_byte, to + whole * in_byte);
}
