/* SPDX-License-Identifier: BSD-3-Clause */
/* Images are the emulator's form of cubins: a shared object after a header with its length. */
#pragma once

#include <glib.h>

/* Takes over the object. */
GBytes *emulator_image_new(const void *object, gsize bytes);
/* The object in an image; NULL: it is not an image. */
const void *emulator_image_object(const void *image, gsize *bytes);
/* A new name for a file that exists at most as long as the process. */
char *emulator_image_path(void);
/* A new folder, in the cache's folder or among temporary files; NULL: it can't be made. */
char *emulator_folder(const char *prefix);

/* Rewrites a kernel's preprocessed source for g++: shared memory becomes calls of the emulator, and
 * a table of the kernels follows. Lines keep their numbers. */
char *emulator_rewrite(const char *source);
