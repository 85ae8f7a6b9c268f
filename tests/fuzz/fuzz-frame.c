/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target: frames of Ethernet, of which some bytes are in the first buffer. */
#include "fuzz.h"
#include "kit/frame.h"

#include <string.h>

int
LLVMFuzzerTestOneInput(const guint8 *data, gsize size)
{
    if (size < 2)
        return 0;
    /* The first two bytes are how much of the frame is elsewhere. */
    const gsize n = size - 2, length = n + data[0] * 256u + data[1];
    g_autofree guint8 *bytes = g_malloc(n);
    gsize at = 0, n_payload = 0;
    if (n > 0)
        memcpy(bytes, data + 2, n);
    if (!ct_frame_find(bytes, n, length, &at, &n_payload))
        return 0;
    g_assert_cmpuint(at, <=, n);
    g_assert_cmpuint(n_payload, <=, length - at);
    return 0;
}
