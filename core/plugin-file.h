/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether the file of a plugin may be loaded. */
#pragma once

#include <glib.h>

/* What is wrong with it, allocated; NULL: nothing. It must be a regular file, as long as its ELF
 * headers say, for the loader would be ended by a signal where a shorter one stops. Nobody but
 * root, the user, or who owns this program may own it, or write it, nor any folder above it, nor
 * any link on the way; folders that this program stands in, too, are not asked, for who may write
 * those may change the program. The group may write where it is the owner's own, without another
 * member. A folder of root's with the sticky bit, as /tmp, may be anybody's to write. So nobody
 * else can change what the path means between this look at it and the loading. */
char *ct_plugin_file_find_fault(const char *path);
