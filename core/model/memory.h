/* SPDX-License-Identifier: BSD-3-Clause */
/* Large memory: page-aligned, cleared, in huge pages if the kernel provides them. */
#pragma once

#include <cornerturn/stage.h>

/* `what` names the purpose of the memory in the error. */
guint8 *ct_memory_new(gsize bytes, const char *what, GError **error);
void ct_memory_free(guint8 *memory, gsize bytes);
