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
/* The type whose values elements of a type of the library are, in either byte order; those of 16
 * bits without a sign are f32. Complex ones may also be structs of real and imag. CT_TYPE_NONE:
 * there is none. */
CtType hdf5_find_type(hid_t given);
/* The type in memory, of the project, to which the library reads such elements. To be closed. */
hid_t hdf5_memory_type(hid_t given, CtType type);
/* The complex type of these parts; CT_TYPE_NONE: there is none. */
CtType hdf5_complex_type(CtType part);
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

/* A dataset or a group of this name in `group`; H5I_INVALID_HID: there is none. To be closed. */
hid_t hdf5_open(hid_t group, const char *name);
/* Whether a dataset has `n` numbers. */
gboolean hdf5_has_numbers(hid_t dataset, gsize n);
/* Reads all `n` numbers of a dataset or an attribute, in the order of memory, as a type of the
 * library. FALSE: it has others, or is H5I_INVALID_HID. */
gboolean hdf5_read(hid_t object, hid_t type, gsize n, gpointer values);
/* The same of `n` texts, in UTF-8, without spaces at their end; NULL: there are none, or others. To
 * be freed by g_strfreev. */
char **hdf5_read_texts(hid_t object, gsize n);
/* Reads an attribute of `n` numbers, or of a single one (n 0 or 1). FALSE: there is none like
 * it. */
gboolean hdf5_get(hid_t object, const char *name, hid_t type, gpointer values, gsize n);
/* The same of whole numbers, which the file has as integers: the library would cut 1.9 to 1. */
gboolean hdf5_get_whole(hid_t object, const char *name, gint64 *values, gsize n);
/* An attribute of one text, allocated; NULL: there is none. */
char *hdf5_get_text(hid_t object, const char *name);
/* The texts of an attribute, to be freed by g_strfreev; NULL: there is none. */
char **hdf5_get_texts(hid_t object, const char *name);
