/* SPDX-License-Identifier: BSD-3-Clause */
/* The bytes of an HDF5 file before its samples. */
#include "hdf5-header.h"

#include <cornerturn/packets.h>

/* ---- the bytes ---- */

/* Finds the numbers of a dataset, if there is one, which must be in the first page. */
static gboolean
locate(GBytes *image, hid_t object, Hdf5Places *places)
{
    return object < 0 ||
           (hdf5_image_find(image, object, places) &&
            MAX(places->length, MAX(places->most_length, places->bytes)) + sizeof(guint64) <=
                HDF5_PAGE);
}

static gboolean
make(Hdf5Header *header, CtSinkFile *sink, Hdf5Fill fill, GError **error)
{
    static const char what[] = "the header can't be made";
    g_auto(Hdf5Id) file = hdf5_image_begin(sink->path);
    g_auto(Hdf5Id) data = file < 0 ? H5I_INVALID_HID : fill(file, sink);
    g_auto(Hdf5Id) time = data < 0 ? H5I_INVALID_HID : hdf5_open(file, "time");
    if (data < 0 || !(header->bytes = hdf5_image_take(file)))
        return hdf5_error(error, sink->path, what);
    header->has_time = ct_stream_axis(&sink->stream, "time") >= 0;
    return (locate(header->bytes, data, &header->data) &&
            locate(header->bytes, time, &header->time)) ||
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
