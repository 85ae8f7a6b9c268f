/* SPDX-License-Identifier: BSD-3-Clause */
/* The file of this program, and the files that belong to it. */
#pragma once

#include <glib.h>

/* The file of the program or library that holds this function, links resolved; allocated. NULL
 * where it cannot be told. */
char *ct_own_file(void);
/* A folder of this very build, `in_build` under its root, or of the installation, `from_prefix`
 * under its prefix (or absolute); allocated. NULL where this program stands in no known place. */
char *ct_own_folder(const char *in_build, const char *from_prefix);
