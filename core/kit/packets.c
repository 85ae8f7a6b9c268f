/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of packets back to back: finding where each packet begins. */
#include "packets-private.h"
#include "reserved.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- files ---- */

static gboolean
fail_with_errno(GError **error, const char *path, const char *what)
{
    const int saved = errno;
    g_set_error(error, CT_ERROR, CT_ERROR_IO, "%s: %s: %s", path, what, g_strerror(saved));
    return FALSE;
}

/* Returns the number of bytes read, fewer than `n` only at the end of the file; −1 on failure. */
static gssize
read_at(int fd, gint64 offset, guint8 *bytes, gsize n)
{
    gsize done = 0;
    while (done < n) {
        const gssize given = pread(fd, bytes + done, n - done, offset + done);
        if (given < 0 && errno == EINTR)
            continue;
        if (given < 0)
            return -1;
        if (given == 0)
            break;
        done += given;
    }
    return done;
}

/* Checks that the file's length is known: files of /proc have length 0 but hold bytes. */
static gboolean
check_length(const char *path, int fd, GError **error)
{
    struct stat status;
    guint8 byte;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        g_set_error(error, CT_ERROR, CT_ERROR_IO, "%s: can't be opened: not a file", path);
        return FALSE;
    }
    if (status.st_size > 0 || read_at(fd, 0, &byte, 1) <= 0)
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_IO,
                "%s: wants a file of known length, but is given one that says 0 bytes and holds "
                "more: make a copy of it",
                path);
    return FALSE;
}

int
ct_file_open(const char *path, GError **error)
{
    const int fd = g_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
    if (fd < 0) {
        fail_with_errno(error, path, "can't be opened");
        return -1;
    }
    if (check_length(path, fd, error))
        return fd;
    close(fd);
    return -1;
}

gboolean
ct_file_read(const char *path, int fd, gint64 offset, void *bytes, gsize n, GError **error)
{
    const gssize given = read_at(fd, offset, bytes, n);
    if (given < 0)
        return fail_with_errno(error, path, "can't be read");
    if ((gsize)given < n) {
        g_set_error(error, CT_ERROR, CT_ERROR_IO,
                    "%s: wants %" G_GSIZE_FORMAT " bytes at %" G_GINT64_FORMAT
                    ", but is given %" G_GSSIZE_FORMAT ": the file has become shorter",
                    path, n, offset, given);
        return FALSE;
    }
    return TRUE;
}

/* ---- scanning ---- */

typedef struct {
    const CtPacketFormat *format;
    const char *path;
    int fd;
    gint64 length;   /* of the file */
    guint8 *pattern; /* the stream's header; size 0: not known yet */
    gint64 size;     /* of each packet */
    guint8 *window;  /* a piece of the file, for searching byte by byte */
    gint64 window_begin, window_end;
} Scan;

enum { WINDOW_BYTES = 1 << 20 };

/* The header at `at`. NULL at the end of the file, or with an error if the file cannot be read. */
static const guint8 *
header_in_window(Scan *scan, gint64 at, GError **error)
{
    const gint64 bytes = scan->format->header_bytes;
    if (at + bytes > scan->length)
        return NULL;
    if (at < scan->window_begin || at + bytes > scan->window_end) {
        const gssize given = read_at(scan->fd, at, scan->window, WINDOW_BYTES);
        if (given < bytes) {
            fail_with_errno(error, scan->path, "can't be read");
            return NULL;
        }
        scan->window_begin = at;
        scan->window_end = at + given;
    }
    return scan->window + (at - scan->window_begin);
}

static gboolean
is_of_stream(const Scan *scan, const guint8 *header)
{
    return scan->format->size(header, scan->format->data) == (gsize)scan->size &&
           scan->format->alike(scan->pattern, header, scan->format->data);
}

/* Reads the header at `at`. FALSE if it is not a header of the stream. */
static gboolean
read_header(Scan *scan, gint64 at, guint8 *header, GError **error)
{
    const gsize bytes = scan->format->header_bytes;
    if (at + (gint64)bytes > scan->length)
        return FALSE;
    return ct_file_read(scan->path, scan->fd, at, header, bytes, error) &&
           is_of_stream(scan, header);
}

/* Finds the first header of the stream after `from`, where a packet begins. Returns the length of
 * the file if there is none, −1 with an error. Bytes may look like a header by chance: a header is
 * accepted if it is a whole number of packets after `from`, or if another header or the end of the
 * file follows its packet. Sets `overlaps` if what looks like a header stands in the packet at
 * `from`. */
static gint64
find_header(Scan *scan, gint64 from, gboolean *overlaps, GError **error)
{
    GError *failure = NULL;
    const guint8 *header;
    guint8 next[CT_PACKET_MAX_HEADER];
    gint64 at = from + 1;
    *overlaps = FALSE;
    for (; (header = header_in_window(scan, at, &failure)); at++) {
        if (!is_of_stream(scan, header))
            continue;
        *overlaps |= at - from < scan->size;
        if ((at - from) % scan->size == 0 ||
            at + scan->size + (gint64)scan->format->header_bytes > scan->length ||
            read_header(scan, at + scan->size, next, &failure) || failure)
            break;
    }
    if (failure) {
        g_propagate_error(error, failure);
        return -1;
    }
    return header ? at : scan->length;
}

/* Sets pattern and size from the first header that is followed by another of the same stream, or
 * else from the first whose packet ends with the file. Returns its offset, −1 with an error. */
static gint64
find_stream(Scan *scan, GError **error)
{
    const gsize bytes = scan->format->header_bytes;
    GError *failure = NULL;
    const guint8 *header;
    guint8 next[CT_PACKET_MAX_HEADER], lone[CT_PACKET_MAX_HEADER];
    gint64 lone_at = -1;
    for (gint64 at = 0; (header = header_in_window(scan, at, &failure)); at++) {
        scan->size = scan->format->size(header, scan->format->data);
        if (scan->size == 0)
            continue;
        memcpy(scan->pattern, header, bytes);
        if (read_header(scan, at + scan->size, next, &failure))
            return at;
        if (failure)
            break;
        if (lone_at < 0 && at + scan->size == scan->length) {
            lone_at = at;
            memcpy(lone, header, bytes);
        }
    }
    if (failure) {
        g_propagate_error(error, failure);
        return -1;
    }
    if (lone_at < 0) {
        g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                    "%s: wants %s, but is given %" G_GINT64_FORMAT " bytes without any", scan->path,
                    scan->format->name, scan->length);
        return -1;
    }
    memcpy(scan->pattern, lone, bytes);
    scan->size = scan->length - lone_at;
    return lone_at;
}

/* Finds the first header of the stream: it is a whole number of packets before the one at `at`.
 * Copies it and returns its offset; −1 with an error. */
static gint64
find_first(Scan *scan, gint64 at, guint8 *header, GError **error)
{
    GError *failure = NULL;
    gint64 first = at % scan->size;
    while (!read_header(scan, first, header, &failure) && !failure)
        first += scan->size;
    if (!failure)
        return first;
    g_propagate_error(error, failure);
    return -1;
}

/* Sets `begins` if the file ends within a header at `at` whose bytes, as far as they go, match. */
static gboolean
check_cut_header(const Scan *scan, gint64 at, gboolean *begins, GError **error)
{
    const gint64 header_bytes = scan->format->header_bytes, left = scan->length - at;
    guint8 header[CT_PACKET_MAX_HEADER];
    *begins = FALSE;
    if (left >= header_bytes)
        return TRUE;
    memcpy(header, scan->pattern, header_bytes);
    if (!ct_file_read(scan->path, scan->fd, at, header, left, error))
        return FALSE;
    *begins = is_of_stream(scan, header);
    return TRUE;
}

/* Finds the next header if none follows the packet at `at` directly, and counts the packets lost.
 * Overwritten bytes keep the distances between packets and to the end of the file; lost bytes
 * shorten them. So this packet is whole if the distance is a number of whole packets, or if the
 * file ends within the next header, and if no other packet seems to begin within it. Returns −1
 * with an error. */
static gint64
pass_damage(CtPackets *packets, Scan *scan, gint64 at, gboolean *whole, GError **error)
{
    gboolean overlaps;
    const gint64 found_at = find_header(scan, at, &overlaps, error), distance = found_at - at;
    if (found_at < 0)
        return -1;
    *whole = FALSE;
    if (found_at == scan->length && !overlaps &&
        !check_cut_header(scan, at + scan->size, whole, error))
        return -1;
    if (*whole)
        return at + scan->size;
    *whole = distance % scan->size == 0 && !overlaps;
    packets->counts[CT_PACKETS_TRUNCATED] += !*whole;
    packets->counts[CT_PACKETS_CORRUPT] += (distance - 1) / scan->size;
    return found_at;
}

/* Finds the offset of the packet after the one at `at`, sets whether the one at `at` is whole, and
 * copies the next one's header if there is one. Returns −1 with an error. */
static gint64
find_next(CtPackets *packets, Scan *scan, gint64 at, gboolean *whole, guint8 *header,
          GError **error)
{
    GError *failure = NULL;
    gint64 next = at + scan->size;
    *whole = TRUE;
    if (next < scan->length && !read_header(scan, next, header, &failure) && !failure) {
        next = pass_damage(packets, scan, at, whole, &failure);
        if (!failure)
            read_header(scan, next, header, &failure);
    }
    if (!failure)
        return next;
    g_propagate_error(error, failure);
    return -1;
}

void
ct_packets_add_file(CtPackets *packets, guint file, CtScannedFile scanned)
{
    if (packets->files->len <= file)
        g_array_set_size(packets->files, file + 1);
    g_array_index(packets->files, CtScannedFile, file) = scanned;
}

struct CtPacketScan {
    Scan scan;
    CtPacketFormat format;
    guint file;
    CtPacketFunc found;
    gpointer data;
    gint64 first; /* the offset of the first header */
    gint64 at;    /* that of the next packet, and its header */
    guint8 header[CT_PACKET_MAX_HEADER];
    gint64 peeked; /* the same of the packet that was looked at */
    guint8 peeked_header[CT_PACKET_MAX_HEADER];
    gboolean is_over;
};

void
ct_packet_scan_free(CtPacketScan *scan)
{
    if (!scan)
        return;
    g_free(scan->scan.window);
    g_free(scan);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtPacketScan, ct_packet_scan_free)

CtPacketScan *
ct_packet_scan_new(CtPackets *packets, const char *path, int fd, guint file,
                   const CtPacketFormat *format, CtPacketFunc found, gpointer data, guint8 *pattern,
                   GError **error)
{
    if (!CT_RESERVED_CHECK(format->name, CtPacketFormat, format, error))
        return NULL;
    if (format->header_bytes < 1 || format->header_bytes > CT_PACKET_MAX_HEADER) {
        g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN,
                    "the plugin for %s is at fault: its headers have %" G_GSIZE_FORMAT
                    " bytes, but 1 to %d are possible",
                    format->name, format->header_bytes, CT_PACKET_MAX_HEADER);
        return NULL;
    }
    struct stat status;
    if (fstat(fd, &status) != 0) {
        fail_with_errno(error, path, "can't be read");
        return NULL;
    }
    g_autoptr(CtPacketScan) self = g_new0(CtPacketScan, 1);
    self->format = *format;
    self->file = file;
    self->found = found;
    self->data = data;
    self->scan = (Scan){
        .format = &self->format,
        .path = path,
        .fd = fd,
        .length = status.st_size,
        .pattern = pattern,
        .window = g_malloc(WINDOW_BYTES),
    };
    gint64 at = find_stream(&self->scan, error);
    if (at < 0 || (at = find_first(&self->scan, at, self->header, error)) < 0)
        return NULL;
    self->first = self->at = at;
    packets->counts[CT_PACKETS_CORRUPT] += at > 0 ? MAX(1, at / self->scan.size) : 0;
    ct_packets_add_file(packets, file,
                        (CtScannedFile){path, fd, format->header_bytes, (gsize)self->scan.size});
    return g_steal_pointer(&self);
}

gboolean
ct_packet_scan_more(CtPacketScan *self, CtPackets *packets, GArray *to, guint most, GError **error)
{
    Scan *scan = &self->scan;
    guint8 next_header[CT_PACKET_MAX_HEADER];
    const guint until = most > G_MAXUINT - to->len ? G_MAXUINT : to->len + most;
    while (self->at + scan->size <= scan->length && to->len < until) {
        gboolean whole;
        const gint64 next = find_next(packets, scan, self->at, &whole, next_header, error);
        if (next < 0)
            return FALSE;
        if (whole) {
            CtPacket packet = {.offset = self->at, .file = self->file};
            self->found(self->header, &packet, self->data);
            g_array_append_val(to, packet);
            packets->counts[CT_PACKETS_READ]++;
        }
        memcpy(self->header, next_header, scan->format->header_bytes);
        self->at = next;
    }
    if (self->is_over || self->at + scan->size <= scan->length)
        return TRUE;
    self->is_over = TRUE;
    packets->counts[CT_PACKETS_TRUNCATED] += self->at < scan->length;
    return TRUE;
}

gboolean
ct_packet_scan_is_over(const CtPacketScan *self)
{
    return self->is_over;
}

gint64
ct_packet_scan_count(const CtPacketScan *self)
{
    return (self->scan.length - self->first) / self->scan.size;
}

gboolean
ct_packet_scan_peek(CtPacketScan *self, gint64 i, CtPacket *packet, GError **error)
{
    self->peeked = self->first + i * self->scan.size;
    *packet = (CtPacket){.offset = self->peeked, .file = self->file};
    if (!read_header(&self->scan, self->peeked, self->peeked_header, error))
        return FALSE;
    self->found(self->peeked_header, packet, self->data);
    return TRUE;
}

gboolean
ct_packet_scan_peek_after(CtPacketScan *self, gint64 i, CtPacket *packet, GError **error)
{
    GError *failure = NULL;
    gboolean overlaps;
    if (ct_packet_scan_peek(self, i, packet, &failure))
        return TRUE;
    const gint64 at = failure ? -1 : find_header(&self->scan, self->peeked, &overlaps, &failure);
    if (failure || at == self->scan.length) {
        if (failure)
            g_propagate_error(error, failure);
        return FALSE;
    }
    self->peeked = packet->offset = at;
    if (!read_header(&self->scan, at, self->peeked_header, error))
        return FALSE;
    self->found(self->peeked_header, packet, self->data);
    return TRUE;
}

void
ct_packet_scan_seek(CtPacketScan *self)
{
    self->at = self->peeked;
    self->is_over = FALSE;
    memcpy(self->header, self->peeked_header, self->format.header_bytes);
}

gboolean
ct_packets_scan(CtPackets *packets, const char *path, int fd, guint file,
                const CtPacketFormat *format, CtPacketFunc found, gpointer data, guint8 *pattern,
                GError **error)
{
    g_autoptr(CtPacketScan) scan =
        ct_packet_scan_new(packets, path, fd, file, format, found, data, pattern, error);
    return scan && ct_packet_scan_more(scan, packets, packets->packets, G_MAXUINT, error);
}

CtPackets *
ct_packets_new(void)
{
    CtPackets *packets = g_new0(CtPackets, 1);
    packets->packets = g_array_new(FALSE, FALSE, sizeof(CtPacket));
    packets->files = g_array_new(FALSE, TRUE, sizeof(CtScannedFile));
    return packets;
}

void
ct_packets_free(CtPackets *packets)
{
    if (!packets)
        return;
    g_array_unref(packets->packets);
    g_array_unref(packets->files);
    g_clear_pointer(&packets->flagged, g_array_unref);
    g_free(packets->lane_begin);
    g_free(packets);
}
