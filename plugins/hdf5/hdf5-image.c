/* SPDX-License-Identifier: BSD-3-Clause */
/* HDF5 files that the library makes in memory. */
#include "hdf5-image.h"

/* ---- the bytes ---- */

hid_t
hdf5_image_begin(const char *path)
{
    enum { STEP = 1 << 16, METADATA_BYTES = 1 << 14 };
    g_auto(Hdf5Id) access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_core(access, STEP, FALSE);
    H5Pset_meta_block_size(access, METADATA_BYTES);
    H5Pset_libver_bounds(access, H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST);
    return H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
}

GBytes *
hdf5_image_take(hid_t file)
{
    if (H5Fflush(file, H5F_SCOPE_GLOBAL) < 0)
        return NULL;
    const gssize n = H5Fget_file_image(file, NULL, 0);
    if (n < 0)
        return NULL;
    const gsize whole = ((gsize)n + HDF5_PAGE - 1) / HDF5_PAGE * HDF5_PAGE;
    guint8 *bytes = g_malloc0(whole);
    if (H5Fget_file_image(file, bytes, (gsize)n) == n)
        return g_bytes_new_take(bytes, whole);
    g_free(bytes);
    return NULL;
}

/* ---- where the numbers are ---- */

typedef struct {
    const guint8 *bytes;
    gsize n;
} Image;

/* A little-endian number of up to 8 bytes; G_MAXUINT64 beyond the end. */
static guint64
number(const Image *image, guint64 at, guint n_bytes)
{
    guint64 value = 0;
    if (at > image->n || image->n - at < n_bytes)
        return G_MAXUINT64;
    for (guint i = 0; i < n_bytes; i++)
        value |= (guint64)image->bytes[at + i] << 8 * i;
    return value;
}

static void
take_message(const Image *image, guint64 type, guint64 at, Hdf5Places *places)
{
    enum { DATASPACE = 1, LAYOUT = 8, CONTIGUOUS = 1, PREFIX = 8 };
    if (type == DATASPACE && number(image, at, 1) == 1) {
        const guint64 rank = number(image, at + 1, 1);
        places->length = at + PREFIX;
        if (number(image, at + 2, 1) & 1)
            places->most_length = at + PREFIX + rank * 8;
    } else if (type == LAYOUT && number(image, at, 1) == 3 &&
               number(image, at + 1, 1) == CONTIGUOUS) {
        places->address = at + 2;
        places->bytes = at + 10;
    }
}

/* Goes over the messages of a piece of an object header, and of those that continue it. */
static void
scan_messages(const Image *image, guint64 at, guint64 n, guint depth, Hdf5Places *places)
{
    enum { CONTINUATION = 16, PREFIX = 8, MOST_PIECES = 100 };
    while (n >= PREFIX && at < image->n && depth < MOST_PIECES) {
        const guint64 type = number(image, at, 2), bytes = number(image, at + 2, 2);
        take_message(image, type, at + PREFIX, places);
        if (type == CONTINUATION)
            scan_messages(image, number(image, at + PREFIX, 8), number(image, at + PREFIX + 8, 8),
                          depth + 1, places);
        if (bytes > n - PREFIX)
            return;
        at += PREFIX + bytes;
        n -= PREFIX + bytes;
    }
}

gboolean
hdf5_image_find(GBytes *bytes, hid_t object, Hdf5Places *places)
{
    enum { VERSION_PLACE = 8, ADDRESS_BYTES_PLACE = 13, PREFIX = 16, LENGTH_PLACE = 8 };
    H5O_info_t info;
    Image image;
    image.bytes = g_bytes_get_data(bytes, &image.n);
    if (H5Oget_info2(object, &info, H5O_INFO_BASIC) < 0 || number(&image, VERSION_PLACE, 1) != 0 ||
        number(&image, ADDRESS_BYTES_PLACE, 2) != 0x0808 || number(&image, info.addr, 1) != 1)
        return FALSE;
    scan_messages(&image, info.addr + PREFIX, number(&image, info.addr + LENGTH_PLACE, 4), 0,
                  places);
    return places->length && places->address && places->bytes;
}
