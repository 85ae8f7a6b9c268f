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
/* For poll(2): readable when datagrams are there, or the interface is gone. */
int ct_xdp_socket_fd(const CtXdpSocket *socket);
/* Receives up to n datagrams, without waiting and without a call of the kernel. */
guint ct_xdp_socket_receive(CtXdpSocket *socket, CtDatagram *datagrams, guint n);
