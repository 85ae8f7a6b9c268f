/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of packets back to back: finding where each packet begins. */
#include "packets-private.h"
#include "reserved.h"

#include <string.h>
#include <sys/stat.h>

typedef struct {
    const CtPacketFormat *format; /* NULL: packets are found by a function of the format */
    const char *path;
    int fd;
    gint64 length;    /* of the file; of a pipe, of what is there and below the limit */
    CtPipe *pipe;     /* NULL: it is a file */
    gint64 limit;     /* of a pipe */
    gboolean is_open; /* more may follow */
    gboolean waits;   /* the last function lacked some of it */
    guint8 *pattern;  /* the stream's header; size 0: not known yet */
    gint64 size;      /* of each packet */
    guint8 *window;   /* a piece of the file, for searching byte by byte */
    gint64 window_begin, window_end;
    /* The search for a header after `from` that waits for bytes; −1: none does. */
    struct {
        gint64 from, at;
        gboolean overlaps;
    } waiting;
} Scan;

enum { WINDOW_BYTES = 1 << 20 };

/* Whether the file has the bytes before `end`. FALSE with an error if a pipe may yet have them. */
static gboolean
reaches(Scan *scan, gint64 end, GError **error)
{
    if (end > scan->length && scan->is_open) {
        gboolean ended;
        const gint64 length = ct_pipe_length(scan->pipe, &ended);
        scan->length = MIN(length, scan->limit);
        scan->is_open = !ended || length > scan->limit;
    }
    if (end > scan->length && scan->is_open) {
        scan->waits = TRUE;
        g_set_error(error, CT_ERROR, CT_ERROR_IO,
                    "%s: wants the bytes up to %" G_GINT64_FORMAT ", but is given those up to "
                    "%" G_GINT64_FORMAT,
                    scan->path, end, scan->length);
    }
    return end <= scan->length;
}

/* The header at `at`. NULL at the end of the file, or with an error if the file cannot be read. */
static const guint8 *
header_in_window(Scan *scan, gint64 at, GError **error)
{
    const gint64 bytes = scan->format->header_bytes;
    if (!reaches(scan, at + bytes, error))
        return NULL;
    if (at < scan->window_begin || at + bytes > scan->window_end) {
        if (!scan->window)
            scan->window = g_malloc(WINDOW_BYTES);
        const gssize given = ct_file_read_some(scan->fd, at, scan->window, WINDOW_BYTES);
        if (given < bytes) {
            ct_file_error(error, scan->path, "can't be read");
            return NULL;
        }
        scan->window_begin = at;
        scan->window_end = at + given;
    }
    return scan->window + (at - scan->window_begin);
}

/* Searches are rare, and the files of a recording may be many. */
static void
drop_window(Scan *scan)
{
    g_clear_pointer(&scan->window, g_free);
    scan->window_begin = scan->window_end = 0;
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
    return reaches(scan, at + (gint64)bytes, error) &&
           ct_file_read(scan->path, scan->fd, at, header, bytes, error) &&
           is_of_stream(scan, header);
}

/* Packets of the protocol that are not of the stream, which stand between those that are. */
typedef struct {
    guint n_whole, n_cut;
    gint64 bytes;
} Others;

/* The bytes of such a packet at `at`; 0: there is none. */
static gint64
find_other(Scan *scan, gint64 at, GError **error)
{
    GError *failure = NULL;
    guint8 header[CT_PACKET_LONGEST_HEADER];
    gint64 n = (gint64)scan->format->header_bytes;
    if (!scan->format->other)
        return 0;
    if (!reaches(scan, at + n, &failure))
        n = scan->length - at;
    if (failure || n <= 0 || !ct_file_read(scan->path, scan->fd, at, header, (gsize)n, &failure)) {
        if (failure)
            g_propagate_error(error, failure);
        return 0;
    }
    if (n == (gint64)scan->format->header_bytes && is_of_stream(scan, header))
        return 0;
    return (gint64)scan->format->other(header, (gsize)n, scan->format->data);
}

/* The first place from `at` on where no such packet stands; −1 with an error. */
static gint64
pass_others(Scan *scan, gint64 at, Others *others, GError **error)
{
    GError *failure = NULL;
    for (gint64 bytes; (bytes = find_other(scan, at, &failure)) > 0 && !failure;) {
        const gboolean is_whole = reaches(scan, at + bytes, &failure);
        bytes = is_whole ? bytes : scan->length - at;
        others->n_whole += is_whole;
        others->n_cut += !is_whole;
        others->bytes += bytes;
        at += bytes;
    }
    if (!failure)
        return at;
    g_propagate_error(error, failure);
    return -1;
}

static void
count_others(CtPackets *packets, const Others *others)
{
    packets->counts[CT_PACKETS_READ] += others->n_whole;
    packets->counts[CT_PACKETS_STRAY] += others->n_whole;
    packets->counts[CT_PACKETS_TRUNCATED] += others->n_cut;
}

/* Whether a header at `at` is one by its place, or by what follows its packet. */
static gboolean
is_confirmed(Scan *scan, gint64 from, gint64 at, GError **error)
{
    GError *failure = NULL;
    guint8 next[CT_PACKET_LONGEST_HEADER];
    const gint64 end = at + scan->size;
    if ((at - from) % scan->size == 0)
        return TRUE;
    const gboolean is_last =
        !reaches(scan, end + (gint64)scan->format->header_bytes, &failure) && !failure;
    const gboolean follows = !failure && !is_last && read_header(scan, end, next, &failure);
    if (failure)
        g_propagate_error(error, failure);
    return is_last || follows;
}

/* Finds the first header of the stream after `from`, where a packet begins, and before `until`.
 * Returns the length of the file if there is none, −1 with an error. Bytes may look like a header
 * by chance: a header is accepted if it is a whole number of packets after `from`, or if another
 * header or the end of the file follows its packet. Sets `overlaps` if what looks like a header
 * stands in the packet at `from`. */
static gint64
find_header(Scan *scan, gint64 from, gint64 until, gboolean *overlaps, GError **error)
{
    GError *failure = NULL;
    const guint8 *header = NULL;
    const gboolean goes_on = scan->waiting.from == from;
    gint64 at = goes_on ? scan->waiting.at : from + 1;
    *overlaps = goes_on && scan->waiting.overlaps;
    for (; at < until && (header = header_in_window(scan, at, &failure)); at++) {
        if (!is_of_stream(scan, header))
            continue;
        *overlaps |= at - from < scan->size;
        if (is_confirmed(scan, from, at, &failure) || failure)
            break;
    }
    scan->waiting.from = failure ? from : -1;
    scan->waiting.at = at;
    scan->waiting.overlaps = *overlaps;
    if (failure) {
        g_propagate_error(error, failure);
        return -1;
    }
    return header && at < until ? at : scan->length;
}

/* Whether a header of the stream follows the packet at `at`. */
static gboolean
is_followed(Scan *scan, gint64 at, GError **error)
{
    guint8 next[CT_PACKET_LONGEST_HEADER];
    Others others = {0};
    const gint64 end = pass_others(scan, at + scan->size, &others, error);
    return end >= 0 && read_header(scan, end, next, error);
}

/* Sets pattern and size from the first header that is followed by another of the same stream, or
 * else from the first whose packet ends with the file. Returns its offset, −1 with an error. */
static gint64
find_stream(Scan *scan, Others *others, GError **error)
{
    const gsize bytes = scan->format->header_bytes;
    GError *failure = NULL;
    const guint8 *header;
    guint8 lone[CT_PACKET_LONGEST_HEADER];
    gint64 lone_at = -1;
    for (gint64 at = 0, step; (header = header_in_window(scan, at, &failure)); at += step) {
        step = 1;
        scan->size = scan->format->size(header, scan->format->data);
        if (scan->size == 0 && scan->format->other &&
            (step = (gint64)scan->format->other(header, bytes, scan->format->data)) > 0) {
            others->n_whole++;
            others->bytes += step;
        }
        step = MAX(step, 1);
        if (scan->size == 0)
            continue;
        memcpy(scan->pattern, header, bytes);
        if (is_followed(scan, at, &failure))
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
    guint8 header[CT_PACKET_LONGEST_HEADER];
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
    const gint64 found_at = find_header(scan, at, G_MAXINT64, &overlaps, error),
                 distance = found_at - at;
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
    Others others = {0};
    gint64 next = pass_others(scan, at + scan->size, &others, &failure);
    *whole = TRUE;
    if (!failure && !read_header(scan, next, header, &failure) && !failure && next < scan->length) {
        next = pass_damage(packets, scan, at, whole, &failure);
        if (!failure)
            read_header(scan, next, header, &failure);
    }
    if (!failure) {
        count_others(packets, &others);
        return next;
    }
    g_propagate_error(error, failure);
    return -1;
}

struct CtPacketScan {
    Scan scan;
    CtPacketFormat format;
    guint file;
    CtPacketFunc found;
    CtPacketNext next; /* NULL: headers are searched */
    gpointer data;
    const char *name; /* of the packets, for messages */
    gint64 first;     /* the offset of the first header */
    gint64 at;        /* that of the next packet, and its header */
    guint8 header[CT_PACKET_LONGEST_HEADER];
    gint64 peeked; /* the same of the packet that was looked at */
    guint8 peeked_header[CT_PACKET_LONGEST_HEADER];
    gint64 n_passed; /* packets that `next` has passed, and those before */
    gboolean has_some;
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

static CtPacketScan *
new_scan(const CtScanWhere *where, gpointer data, GError **error)
{
    struct stat status;
    if (fstat(where->fd, &status) != 0) {
        ct_file_error(error, where->path, "can't be read");
        return NULL;
    }
    CtPacketScan *self = g_new0(CtPacketScan, 1);
    self->file = where->file;
    self->data = data;
    self->scan = (Scan){
        .path = where->path,
        .fd = where->fd,
        .length = where->pipe ? 0 : status.st_size,
        .pipe = where->pipe,
        .limit = where->limit,
        .is_open = where->pipe != NULL,
        .waiting = {.from = -1},
    };
    return self;
}

CtPacketScan *
ct_packet_scan_new(CtPackets *packets, const CtScanWhere *where, const CtPacketFormat *format,
                   CtPacketFunc found, gpointer data, guint8 *pattern, GError **error)
{
    if (!CT_RESERVED_CHECK(format->name, CtPacketFormat, format, error))
        return NULL;
    if (format->header_bytes < 1 || format->header_bytes > CT_PACKET_LONGEST_HEADER) {
        g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN,
                    "the plugin for %s is at fault: its headers have %" G_GSIZE_FORMAT
                    " bytes, but 1 to %d are possible",
                    format->name, format->header_bytes, CT_PACKET_LONGEST_HEADER);
        return NULL;
    }
    g_autoptr(CtPacketScan) self = new_scan(where, data, error);
    if (!self)
        return NULL;
    self->format = *format;
    self->name = format->name;
    self->found = found;
    self->scan.format = &self->format;
    self->scan.pattern = pattern;
    Others others = {0};
    gint64 at = find_stream(&self->scan, &others, error);
    if (at < 0 || (at = find_first(&self->scan, at, self->header, error)) < 0)
        return NULL;
    self->first = self->at = at;
    drop_window(&self->scan);
    const gint64 lost = MAX(0, at - others.bytes);
    packets->counts[CT_PACKETS_CORRUPT] += lost > 0 ? MAX(1, lost / self->scan.size) : 0;
    count_others(packets, &others);
    ct_packets_add_file(
        packets, where->file,
        (CtScannedFile){where->path, where->fd, format->header_bytes, (gsize)self->scan.size});
    return g_steal_pointer(&self);
}

CtPacketScan *
ct_packet_scan_new_next(CtPackets *packets, const CtScanWhere *where, const char *name,
                        CtPacketNext next, gpointer data, gint64 n_before, GError **error)
{
    CtPacketScan *self = new_scan(where, data, error);
    if (!self)
        return NULL;
    self->name = name;
    self->next = next;
    self->n_passed = n_before;
    ct_packets_add_file(packets, where->file, (CtScannedFile){where->path, where->fd, 0, 0});
    return self;
}

/* ---- going on ---- */

static void
add_packet(CtPacketScan *self, CtPackets *packets, GArray *to, const CtPacket *packet)
{
    g_array_append_vals(to, packet, 1);
    packets->counts[CT_PACKETS_READ]++;
    self->has_some = TRUE;
}

/* Passes one packet. */
static gboolean
pass_header(CtPacketScan *self, CtPackets *packets, GArray *to, GError **error)
{
    gboolean whole;
    guint8 next_header[CT_PACKET_LONGEST_HEADER];
    const gint64 next = find_next(packets, &self->scan, self->at, &whole, next_header, error);
    if (next < 0)
        return FALSE;
    if (whole) {
        CtPacket packet = {.offset = self->at, .file = self->file};
        self->found(self->header, &packet, self->data);
        add_packet(self, packets, to, &packet);
    }
    memcpy(self->header, next_header, self->format.header_bytes);
    self->at = next;
    return TRUE;
}

/* The file has ended, or begins with something else. */
static gboolean
check_end(CtPacketScan *self, CtPackets *packets, GError **error)
{
    self->is_over = TRUE;
    drop_window(&self->scan);
    if (!self->next)
        packets->counts[CT_PACKETS_TRUNCATED] += self->at < self->scan.length;
    if (!self->next || self->has_some)
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                "%s: wants %s, but is given %" G_GINT64_FORMAT " bytes without a whole one",
                self->scan.path, self->name, self->scan.length);
    return FALSE;
}

/* Passes one packet, or a place where one should be. */
static gboolean
pass_next(CtPacketScan *self, CtPackets *packets, GArray *to, GError **error)
{
    GError *failure = NULL;
    CtPacket packet = {.file = self->file, .offset = self->at, .stamp = self->n_passed};
    gint64 at = self->at;
    gboolean found = FALSE;
    if (!self->next(self->data, self->file, &at, &packet, &found, error))
        return FALSE;
    const gboolean is_there = reaches(&self->scan, at, &failure);
    if (failure) {
        g_propagate_error(error, failure);
        return FALSE;
    }
    self->n_passed++;
    self->at = MIN(at, self->scan.length);
    if (found && is_there)
        add_packet(self, packets, to, &packet);
    else
        packets->counts[found ? CT_PACKETS_TRUNCATED : CT_PACKETS_CORRUPT]++;
    return found || self->has_some || check_end(self, packets, error);
}

gboolean
ct_packet_scan_more(CtPacketScan *self, CtPackets *packets, GArray *to, guint most, GError **error)
{
    const guint until = most > G_MAXUINT - to->len ? G_MAXUINT : to->len + most;
    const gint64 wanted = self->next ? 1 : self->scan.size;
    GError *failure = NULL;
    self->scan.waits = FALSE;
    while (!failure && to->len < until && reaches(&self->scan, self->at + wanted, &failure))
        (self->next ? pass_next : pass_header)(self, packets, to, &failure);
    if (self->scan.waits) {
        g_clear_error(&failure);
        return TRUE;
    }
    if (failure) {
        g_propagate_error(error, failure);
        return FALSE;
    }
    const gboolean ends = !self->scan.is_open && self->at + wanted > self->scan.length;
    return self->is_over || !ends || check_end(self, packets, error);
}

gboolean
ct_packet_scan_waits(const CtPacketScan *self)
{
    return self->scan.waits;
}

void
ct_packet_scan_unlimit(CtPacketScan *self)
{
    self->scan.limit = G_MAXINT64;
}

gint64
ct_packet_scan_at(const CtPacketScan *self)
{
    return self->at;
}

gint64
ct_packet_scan_n_passed(const CtPacketScan *self)
{
    return self->n_passed;
}

gboolean
ct_packet_scan_read(CtPacketScan *self, gint64 offset, guint8 *bytes, gsize n, gsize *given,
                    GError **error)
{
    GError *failure = NULL;
    if (!reaches(&self->scan, offset + (gint64)n, &failure) && failure) {
        g_propagate_error(error, failure);
        return FALSE;
    }
    *given = (gsize)CLAMP(self->scan.length - offset, 0, (gint64)n);
    return ct_file_read(self->scan.path, self->scan.fd, offset, bytes, *given, error);
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
    const gint64 until = self->peeked + MAX(2 * self->scan.size, WINDOW_BYTES);
    const gint64 at =
        failure ? -1 : find_header(&self->scan, self->peeked, until, &overlaps, &failure);
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
    const CtScanWhere where = {.path = path, .fd = fd, .file = file};
    g_autoptr(CtPacketScan) scan =
        ct_packet_scan_new(packets, &where, format, found, data, pattern, error);
    return scan && ct_packet_scan_more(scan, packets, packets->packets, G_MAXUINT, error);
}
