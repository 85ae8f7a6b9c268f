/* SPDX-License-Identifier: BSD-3-Clause */
/* Paths of this program's file and of the files that belong to it. */
#pragma once

#include <glib.h>

/* The file of the program or library that holds this function, with links resolved; allocated. NULL
 * if it cannot be found. */
char *ct_own_file(void);
/* A folder that belongs to this program; allocated. In a build tree it is `in_build` under the
 * tree's root; in an installation it is `from_prefix` under the prefix (or absolute). NULL if the
 * program is in neither. */
char *ct_own_folder(const char *in_build, const char *from_prefix);
