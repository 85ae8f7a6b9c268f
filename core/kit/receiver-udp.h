/* SPDX-License-Identifier: BSD-3-Clause */
/* Sockets of UDP, also for what another way to receive leaves to the kernel. */
#pragma once

#include "address.h"
#include "receiver.h"

/* The receiver of an address, however its path is written. */
CtReceiver *ct_receiver_udp_new(const CtAddress *address, const char *path, GError **error);
