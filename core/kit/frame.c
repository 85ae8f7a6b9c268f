/* SPDX-License-Identifier: BSD-3-Clause */
/* Finding the payload of a frame. Its addresses and protocols have been compared already, by the
 * program of the interface (xdp-program.c); lengths are what it does not read. */
#include "frame.h"

#include <linux/if_ether.h>

enum { TAG = 4, IPV4 = 20, IPV6 = 40, UDP = 8 };

static guint
read_16(const guint8 *bytes)
{
    return (guint)bytes[0] << 8 | bytes[1];
}

/* The type of a frame whose headers of Ethernet have *header bytes, which grows by a tag. */
static guint
read_type(const guint8 *bytes, gsize n, gsize *header)
{
    const guint type = n < ETH_HLEN ? 0 : read_16(bytes + ETH_HLEN - 2);
    if (type != ETH_P_8021Q && type != ETH_P_8021AD)
        return type;
    *header += TAG;
    return n < *header ? 0 : read_16(bytes + *header - 2);
}

gboolean
ct_frame_find(const guint8 *bytes, gsize n, gsize length, gsize *at, gsize *n_payload)
{
    gsize begin = ETH_HLEN;
    const guint type = read_type(bytes, n, &begin);
    const gsize header = type == ETH_P_IP ? IPV4 : IPV6;
    if ((type != ETH_P_IP && type != ETH_P_IPV6) || n < begin + header + UDP || length < n)
        return FALSE;
    const guint8 *packet = bytes + begin;
    /* Behind a short packet, a frame is filled up. */
    const gsize n_packet = type == ETH_P_IP ? read_16(packet + 2) : read_16(packet + 4) + IPV6;
    const gsize n_datagram = read_16(packet + header + 4);
    if (n_packet > length - begin || n_datagram < UDP || header + n_datagram > n_packet)
        return FALSE;
    *at = begin + header + UDP;
    *n_payload = n_datagram - UDP;
    return TRUE;
}
