/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks that the file of a plugin is safe to load. */
#pragma once

#include <glib.h>

/* Describes why the file must not be loaded, allocated; NULL: it may be.
 *
 * The file must be regular, and as long as its ELF headers say: a signal would end the process if
 * the loader read past its end. The file, every folder above it, and every link on the way may be
 * owned and written only by root, by the user, and by the owner of this program. Exceptions:
 * folders above this program itself are not checked, since whoever may write those can change the
 * program; a group may write if the owner is its only member; a folder of root's with the sticky
 * bit, such as /tmp, may be writable for all. So nobody else can change the meaning of the path
 * between this check and the loading. */
char *ct_plugin_file_find_fault(const char *path);
