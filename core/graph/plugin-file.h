/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether the file of a plugin may be loaded. */
#pragma once

#include <glib.h>

/* The fault of a plugin's file, allocated; NULL: it has none. It must be a regular file, as long as
 * its ELF headers say: a signal would end the loader where a shorter one stops. Only root, the user
 * and the owner of this program may own or write it, any folder above it, and any link on the way.
 * Folders above this program itself are not asked: whoever may write them may change the program.
 * The group may write where it is the owner's own, without another member. A folder of root's with
 * the sticky bit, as /tmp, may be anybody's to write. So nobody else can change what the path means
 * between this look at it and the loading. */
char *ct_plugin_file_find_fault(const char *path);
