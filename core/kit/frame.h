/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames of Ethernet that carry datagrams. */
#pragma once

#include <glib.h>

/* The payload of the datagram in a frame of `length` bytes, of which `bytes` are the first n: with
 * one tag of a VLAN or none, of IPv4 without options or IPv6 without further headers. Sets where
 * it begins, among these n, and its bytes. FALSE: its headers contradict one another, and the
 * kernel would not use it. */
gboolean ct_frame_find(const guint8 *bytes, gsize n, gsize length, gsize *at, gsize *n_payload);
