/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays in NumPy's .npy files, versions 1 to 3: headers, and loading small files as a whole. */
#pragma once

#include <cornerturn/export.h>
#include <glib.h>

#define CT_NPY_MAX_AXES 32

#define CT_NPY_ERROR (ct_npy_error_quark())
CT_EXPORT GQuark ct_npy_error_quark(void);

typedef enum {
    CT_NPY_ERROR_HEADER, /* not an .npy file, or its header is malformed */
    CT_NPY_ERROR_TYPE,   /* an .npy file with elements of an unsuitable type */
    CT_NPY_ERROR_LENGTH, /* less data than the header promises */
} CtNpyError;

typedef struct {
    char kind;           /* 'i' signed, 'u' unsigned, 'f' floating, 'c' complex, 'b' boolean */
    unsigned item_bytes; /* of one element; a complex one counts both of its parts */
    gboolean big_endian;
    gboolean fortran; /* the first axis is the fastest */
    unsigned n_axes;
    guint64 shape[CT_NPY_MAX_AXES];
    guint64 n_items;    /* the product of the shape; the bytes fit in 63 bits */
    gsize header_bytes; /* offset of the data */
} CtNpyHeader;

/* Parses the header at the beginning of `bytes`, which may hold the data too. On failure `header`
 * is unchanged. Messages begin with "not an .npy file", unless it is one and its elements have an
 * unsuitable type. */
CT_EXPORT gboolean ct_npy_header_parse(const guint8 *bytes, gsize length, CtNpyHeader *header,
                                       GError **error);

/* Formats a header of version 1 with the kind, item_bytes, byte order, axis order and shape of
 * `header`; other fields are ignored. Its length depends only on the number of axes, so that a
 * shape can be patched in later. */
CT_EXPORT GBytes *ct_npy_header_format(const CtNpyHeader *header);

/* Opens a file, and reads and checks its header; messages begin with "PATH: ". Fails also if the
 * file is shorter than its header promises. *fd, unless `fd` is NULL, is positioned at the data;
 * the caller closes it. */
CT_EXPORT gboolean ct_npy_open(const char *path, CtNpyHeader *header, int *fd, GError **error);

/* The same for an open file, which is positioned at its beginning, and afterwards at the data. */
CT_EXPORT gboolean ct_npy_read_header(const char *path, int fd, CtNpyHeader *header,
                                      GError **error);

typedef struct {
    char kind;           /* 'f' or 'c' */
    unsigned item_bytes; /* 4 or 8, 8 or 16 */
    unsigned n_axes;
    gsize shape[CT_NPY_MAX_AXES];
    gsize n_items;
    gpointer data; /* in native byte order, last axis fastest */
} CtNpyArray;

/* Loads a whole file, converted to float ('f', 4), double ('f', 8), complex float ('c', 8) or
 * complex double ('c', 16). Real elements can become complex, but not the reverse. */
CT_EXPORT CtNpyArray *ct_npy_load(const char *path, char kind, unsigned item_bytes, GError **error);
CT_EXPORT void ct_npy_array_free(CtNpyArray *array);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtNpyArray, ct_npy_array_free)

/* "(3, 4)", as NumPy prints a shape: for messages; allocated. */
CT_EXPORT char *ct_npy_shape_string(const CtNpyArray *array);

/* Reverses the bytes of each of `n` values of 1, 2, 4 or 8 bytes, in place. */
CT_EXPORT void ct_npy_swap(void *values, gsize n, unsigned value_bytes);
