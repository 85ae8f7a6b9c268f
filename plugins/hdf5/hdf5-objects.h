/* SPDX-License-Identifier: BSD-3-Clause */
/* Objects of the HDF5 library: the lock, types, attributes, errors.
 *
 * The library is for one thread at a time: its functions, and these, are called between hdf5_begin
 * and hdf5_end. After a failure, functions give H5I_INVALID_HID or FALSE, and hdf5_error tells what
 * the library says. */
#pragma once

#include <cornerturn/tensor.h>
#include <hdf5.h>

/* An object of any kind that is closed at the end of its scope; below 0: none. */
typedef hid_t Hdf5Id;
void hdf5_close(Hdf5Id id);
G_DEFINE_AUTO_CLEANUP_FREE_FUNC(Hdf5Id, hdf5_close, H5I_INVALID_HID)

/* Locks the library for this process, and silences its own messages. */
void hdf5_begin(void);
void hdf5_end(void);
/* Sets "PATH: WHAT: what the library says". Returns FALSE. */
gboolean hdf5_error(GError **error, const char *path, const char *what);

/* The library's type of the elements of a stream, in this machine's byte order: complex ones are
 * structs of r and i; ci4 is a byte. To be closed. */
hid_t hdf5_type(CtType type);
/* A string of any length in UTF-8. To be closed. */
hid_t hdf5_text_type(void);

/* Writes an attribute: an array of `n` numbers, or a single one (n 0), of a type of the library. */
gboolean hdf5_set(hid_t object, const char *name, hid_t type, gconstpointer values, gsize n);
/* Writes a text; nothing if it is NULL. */
gboolean hdf5_set_text(hid_t object, const char *name, const char *text);

/* Creates a dataset with these dimensions and all its values, or, with `values` NULL, without room
 * for them: they read as `fill` (NULL: 0). To be closed. */
hid_t hdf5_add(hid_t group, const char *name, hid_t type, guint n_dims, const hsize_t *dims,
               gconstpointer values, gconstpointer fill);
