/* SPDX-License-Identifier: BSD-3-Clause */
/* Images: what the emulator's compiler gives in place of a cubin: a shared object behind a head
 * that says how long it is. */
#pragma once

#include <glib.h>

/* Takes the object. */
GBytes *emulator_image_new(const void *object, gsize bytes);
/* The object in an image, or NULL where it is none. */
const void *emulator_image_object(const void *image, gsize *bytes);
/* A new name for a file that lasts as long as the process at most. */
char *emulator_image_path(void);
/* A new folder: in that of the cache, else where temporary files belong; NULL if there can be
 * none. */
char *emulator_folder(const char *prefix);

/* What g++ makes of a kernel's preprocessed source: shared memory becomes requests to the emulator,
 * and a table of the kernels follows. Lines stay where they were. */
char *emulator_rewrite(const char *source);
