/* SPDX-License-Identifier: BSD-3-Clause */
/* The bytes of an HDF5 file before its samples. */
#include "hdf5-header.h"

#include <cornerturn/packets.h>

/* ---- where the numbers are ---- */

enum { PAGE = 4096 };

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

static gboolean
locate(const Image *image, hid_t object, Hdf5Places *places)
{
    enum { VERSION_PLACE = 8, ADDRESS_BYTES_PLACE = 13, PREFIX = 16, LENGTH_PLACE = 8 };
    H5O_info_t info;
    if (object < 0)
        return TRUE;
    if (H5Oget_info2(object, &info, H5O_INFO_BASIC) < 0 || number(image, VERSION_PLACE, 1) != 0 ||
        number(image, ADDRESS_BYTES_PLACE, 2) != 0x0808 || number(image, info.addr, 1) != 1)
        return FALSE;
    scan_messages(image, info.addr + PREFIX, number(image, info.addr + LENGTH_PLACE, 4), 0, places);
    return places->length && places->address && places->bytes &&
           MAX(places->length, MAX(places->most_length, places->bytes)) + sizeof(guint64) <= PAGE;
}

/* ---- the bytes ---- */

static GBytes *
take_image(hid_t file)
{
    if (H5Fflush(file, H5F_SCOPE_GLOBAL) < 0)
        return NULL;
    const gssize n = H5Fget_file_image(file, NULL, 0);
    if (n < 0)
        return NULL;
    const gsize whole = ((gsize)n + PAGE - 1) / PAGE * PAGE;
    guint8 *bytes = g_malloc0(whole);
    if (H5Fget_file_image(file, bytes, (gsize)n) == n)
        return g_bytes_new_take(bytes, whole);
    g_free(bytes);
    return NULL;
}

static gboolean
make(Hdf5Header *header, CtSinkFile *sink, Hdf5Fill fill, GError **error)
{
    enum { STEP = 1 << 16, METADATA_BYTES = 1 << 14 };
    static const char what[] = "the header can't be made";
    g_auto(Hdf5Id) access = H5Pcreate(H5P_FILE_ACCESS);
    g_auto(Hdf5Id) creation = H5Pcreate(H5P_FILE_CREATE);
    H5Pset_fapl_core(access, STEP, FALSE);
    /* In one piece: what comes first has its places in its first page. */
    H5Pset_meta_block_size(access, METADATA_BYTES);
    H5Pset_libver_bounds(access, H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST);
    g_auto(Hdf5Id) file = H5Fcreate(sink->path, H5F_ACC_TRUNC, creation, access);
    g_auto(Hdf5Id) data = file < 0 ? H5I_INVALID_HID : fill(file, sink);
    g_auto(Hdf5Id) time = data < 0 ? H5I_INVALID_HID : hdf5_open(file, "time");
    if (data < 0 || !(header->bytes = take_image(file)))
        return hdf5_error(error, sink->path, what);
    header->has_time = ct_stream_axis(&sink->stream, "time") >= 0;
    Image image;
    image.bytes = g_bytes_get_data(header->bytes, &image.n);
    return (locate(&image, data, &header->data) && locate(&image, time, &header->time)) ||
           hdf5_error(error, sink->path, "the header has no places that are known");
}

gboolean
hdf5_header_append(Hdf5Header *header, CtSinkFile *sink, Hdf5Fill fill, GError **error)
{
    gsize n = 0;
    hdf5_begin();
    const gboolean good = make(header, sink, fill, error);
    hdf5_end();
    const guint8 *bytes = good ? g_bytes_get_data(header->bytes, &n) : NULL;
    return good && ct_sink_append(sink, bytes, (gint64)n, error);
}

void
hdf5_header_clear(Hdf5Header *header)
{
    g_clear_pointer(&header->bytes, g_bytes_unref);
}

/* ---- the numbers of the header ---- */

/* Writes a number at a place of the header. It is within a page, so that it is written whole or not
 * at all, whenever the process ends. */
static gboolean
put(CtSinkFile *file, gsize place, gint64 value, GError **error)
{
    const guint64 bytes = GUINT64_TO_LE((guint64)value);
    return place == 0 || ct_file_write(file->path, file->fd, (gint64)place, &bytes, sizeof bytes,
                                       error) == sizeof bytes;
}

static gboolean
put_length(CtSinkFile *file, const Hdf5Places *places, gint64 n, GError **error)
{
    return put(file, places->most_length, n, error) && put(file, places->length, n, error);
}

/* Room is told of first, then what is in it. */
gboolean
hdf5_header_mark(const Hdf5Header *header, CtSinkFile *file, GError **error)
{
    const Hdf5Places *data = &header->data, *time = &header->time;
    const gint64 bytes = file->n_samples * file->sample_bytes;
    if (file->n_samples == 0)
        return TRUE;
    if (!put(file, HDF5_END_PLACE, file->header_bytes + bytes, error) ||
        !put(file, data->bytes, bytes, error) ||
        !put(file, data->address, file->header_bytes, error))
        return FALSE;
    return (time->length == 0 || put_length(file, time, file->n_samples, error)) &&
           (!header->has_time || put_length(file, data, file->n_samples, error));
}

/* Writes the seconds of all samples behind them, in pieces. */
static gboolean
write_times(CtSinkFile *file, gint64 at, GError **error)
{
    enum { PIECE = 1 << 16 };
    const CtStream *stream = &file->stream;
    g_autofree gdouble *times = g_new(gdouble, PIECE);
    for (gint64 first = 0; first < file->n_samples; first += PIECE) {
        const gint64 n = MIN(PIECE, file->n_samples - first);
        const gint64 bytes = n * (gint64)sizeof *times;
        for (gint64 i = 0; i < n; i++)
            times[i] = stream->rate_num == 0
                           ? (gdouble)(first + i)
                           : (gdouble)((__int128)(first + i) * stream->ticks_per_sample *
                                       stream->rate_den) /
                                 (gdouble)stream->rate_num;
        if (ct_file_write(file->path, file->fd, at + first * (gint64)sizeof *times, times, bytes,
                          error) != bytes)
            return FALSE;
    }
    return TRUE;
}

gboolean
hdf5_header_close(const Hdf5Header *header, CtSinkFile *file, GError **error)
{
    const Hdf5Places *time = &header->time;
    const gint64 end = file->header_bytes + file->n_samples * file->sample_bytes;
    const gint64 at = (end + 7) / 8 * 8, bytes = file->n_samples * (gint64)sizeof(gdouble);
    if (!hdf5_header_mark(header, file, error))
        return FALSE;
    if (time->length == 0 || file->n_samples == 0)
        return TRUE;
    return write_times(file, at, error) && put(file, HDF5_END_PLACE, at + bytes, error) &&
           put(file, time->bytes, bytes, error) && put(file, time->address, at, error);
}
