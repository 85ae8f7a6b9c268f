/* SPDX-License-Identifier: BSD-3-Clause */
/* The program that an interface runs for each frame: it gives the datagrams of some addresses to
 * sockets of AF_XDP, and all other frames to the kernel. */
#pragma once

#include "address.h"

typedef struct CtXdpProgram CtXdpProgram;

/* Attaches a program that takes nothing yet; the kernel detaches it when the process ends, however
 * it does. Frames of more than `most` bytes go to the kernel; 0: frames of several buffers are
 * taken, too. `path` is for messages. */
CtXdpProgram *ct_xdp_program_new(guint interface, guint most, const char *path, GError **error);
void ct_xdp_program_free(CtXdpProgram *program);
/* From now on, a queue's datagrams to this address go to the socket `fd`, which is bound to it.
 * Returns a slot, −1 with an error. */
int ct_xdp_program_add(CtXdpProgram *program, const CtAddress *address, guint queue, int fd,
                       const char *path, GError **error);
void ct_xdp_program_remove(CtXdpProgram *program, const CtAddress *address, guint queue, int slot);
/* Sets an error that says what fails, or which privileges lack, by errno. Returns FALSE. */
gboolean ct_xdp_fail(GError **error, const char *path, const char *what);
