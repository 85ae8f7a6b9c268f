/* SPDX-License-Identifier: BSD-3-Clause */
/* Sockets of AF_XDP. Each receives the datagrams to one address that come to one queue of an
 * interface. Those of one queue share its memory, and those of one interface its program; each may
 * be used by a thread of its own. */
#pragma once

#include "address.h"
#include "receiver.h"

typedef struct CtXdpSocket CtXdpSocket;

/* The address has an interface. `path` is for messages. */
CtXdpSocket *ct_xdp_socket_new(const CtAddress *address, guint queue, const char *path,
                               GError **error);
void ct_xdp_socket_free(CtXdpSocket *socket);
/* For poll(2): readable when datagrams are there. */
int ct_xdp_socket_fd(const CtXdpSocket *socket);
/* Receives up to n datagrams, without waiting and without a call of the kernel. */
guint ct_xdp_socket_receive(CtXdpSocket *socket, CtDatagram *datagrams, guint n);
/* The datagrams that were lost because no buffer was free, or because those that the socket may
 * have were full; also while another thread receives. */
guint64 ct_xdp_socket_lost(const CtXdpSocket *socket);
