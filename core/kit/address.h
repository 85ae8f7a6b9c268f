/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses of the network, as paths name them: udp://ADDRESS:PORT, and udp://GROUP:PORT@INTERFACE.
 */
#pragma once

#include <glib.h>
#include <netinet/in.h>

typedef struct {
    gboolean is_6;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
    gboolean is_group;
    struct in_addr local; /* the address of the group's interface; 0: by its index */
    guint interface;      /* the interface's index; 0: the kernel chooses */
} CtAddress;

/* Reads the address behind the prefix ("udp://") of a path, into one that is all 0. */
gboolean ct_address_read(CtAddress *address, const char *prefix, const char *path, GError **error);
/* The same, of any address with its interface by name: ADDRESS:PORT@INTERFACE. */
gboolean ct_address_read_at(CtAddress *address, const char *prefix, const char *path,
                            GError **error);
/* The address as bind(2) and connect(2) take it; sets *length. */
const struct sockaddr *ct_address_socket(const CtAddress *address, socklen_t *length);
