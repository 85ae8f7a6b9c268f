/* SPDX-License-Identifier: BSD-3-Clause */
/* Recordings of VDIF frames: which frames there are, of which threads, and when. */
#include "vdif-recording.h"

#include <string.h>
#include <unistd.h>

/* Frames carry their second and number until the rate is known: stamp = second << 24 | number. */
enum { NUMBER_BITS = 24, NUMBER_MASK = (1 << NUMBER_BITS) - 1 };

void
vdif_recording_free(VdifRecording *recording)
{
    if (!recording)
        return;
    for (guint i = 0; i < recording->n_files; i++)
        if (recording->fds[i] >= 0)
            close(recording->fds[i]);
    g_free(recording->fds);
    g_free(recording->paths);
    ct_packets_free(recording->packets);
    g_free(recording);
}
static void
frame_found(const guint8 *bytes, CtPacket *packet, gpointer data)
{
    const VdifRecording *recording = data;
    VdifHeader header;
    g_assert(!vdif_header_parse(bytes, recording->bits, &header));
    packet->stamp = vdif_unix_time(header.ref_epoch, header.seconds) << NUMBER_BITS | header.frame;
    packet->lane = header.station << 10 | header.thread;
    packet->flagged = header.invalid;
}

/* Says what is wrong with a file without frames: why its first bytes are no header. */
static void
explain(const VdifRecording *recording, guint i, GError **error)
{
    guint8 bytes[VDIF_HEADER_BYTES];
    VdifHeader header;
    if (!g_error_matches(*error, CT_ERROR, CT_ERROR_DATA) ||
        !ct_file_read(recording->paths[i], recording->fds[i], 0, bytes, sizeof bytes, NULL))
        return;
    const char *reason = vdif_header_parse(bytes, recording->bits, &header);
    if (!reason)
        return;
    g_autofree char *message =
        g_strdup_printf("%s: its first header says %s", (*error)->message, reason);
    g_clear_error(error);
    g_set_error_literal(error, CT_ERROR, CT_ERROR_DATA, message);
}

static gboolean
scan_files(VdifRecording *recording, GError **error)
{
    const CtPacketFormat format = {
        .name = "VDIF frames",
        .header_bytes = VDIF_HEADER_BYTES,
        .size = vdif_header_size,
        .alike = vdif_header_alike,
        .data = &recording->bits,
    };
    guint8 first[VDIF_HEADER_BYTES], pattern[VDIF_HEADER_BYTES];
    for (guint i = 0; i < recording->n_files; i++) {
        const char *path = recording->paths[i];
        recording->fds[i] = ct_file_open(path, error);
        if (recording->fds[i] < 0)
            return FALSE;
        GError *failure = NULL;
        if (!ct_packets_scan(recording->packets, path, recording->fds[i], i, &format, frame_found,
                             recording, pattern, &failure)) {
            explain(recording, i, &failure);
            g_propagate_error(error, failure);
            return FALSE;
        }
        if (i == 0)
            memcpy(first, pattern, sizeof first);
        if (!vdif_header_alike(first, pattern, &recording->bits)) {
            g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                        "%s: wants frames like those of %s, but is given others", path,
                        recording->paths[0]);
            return FALSE;
        }
    }
    g_assert(!vdif_header_parse(first, recording->bits, &recording->header));
    return TRUE;
}

static gint
compare_lanes(gconstpointer a, gconstpointer b)
{
    const guint32 x = *(const guint32 *)a, y = *(const guint32 *)b;
    return (x > y) - (x < y);
}

/* The lanes that are read: those of `thread_ids`, else all that hold a fair share of the frames
 * (one with a sixteenth of the fullest is a damaged header's). */
static GArray *
choose_lanes(const VdifRecording *recording, const CtParams *given)
{
    const GArray *frames = recording->packets->packets;
    g_autofree guint32 *sorted = g_new(guint32, frames->len);
    for (guint i = 0; i < frames->len; i++)
        sorted[i] = g_array_index(frames, CtPacket, i).lane;
    qsort(sorted, frames->len, sizeof *sorted, compare_lanes);
    g_autoptr(GArray) lanes = g_array_new(FALSE, FALSE, sizeof(guint32));
    g_autoptr(GArray) counts = g_array_new(FALSE, FALSE, sizeof(guint));
    guint fullest = 0;
    for (guint begin = 0, i = 0; begin < frames->len; begin = i) {
        while (i < frames->len && sorted[i] == sorted[begin])
            i++;
        g_array_append_val(lanes, sorted[begin]);
        g_array_append_vals(counts, &(guint){i - begin}, 1);
        fullest = MAX(fullest, i - begin);
    }
    GArray *chosen = g_array_new(FALSE, FALSE, sizeof(guint32));
    const guint n_ids = ct_params_count(given, "thread_ids");
    for (guint i = 0; i < MAX(n_ids, 1); i++)
        for (guint j = 0; j < lanes->len; j++) {
            const guint32 lane = g_array_index(lanes, guint32, j);
            if (n_ids ? (lane & 1023) == ct_params_int_at(given, "thread_ids", i)
                      : g_array_index(counts, guint, j) * 16 > fullest)
                g_array_append_val(chosen, lane);
        }
    return chosen;
}

/* Gives frames the index of their lane, and drops those of lanes that are not read. */
static gboolean
number_lanes(VdifRecording *recording, const CtParams *given, GError **error)
{
    CtPackets *packets = recording->packets;
    GArray *frames = packets->packets;
    g_autoptr(GArray) lanes = choose_lanes(recording, given);
    if (lanes->len == 0)
        return ct_params_error(given, "thread_ids", error,
                               "wants threads of %s, but is given none that it has",
                               recording->paths[0]);
    guint kept = 0;
    for (guint i = 0; i < frames->len; i++) {
        CtPacket frame = g_array_index(frames, CtPacket, i);
        guint lane = 0;
        while (lane < lanes->len && g_array_index(lanes, guint32, lane) != frame.lane)
            lane++;
        frame.lane = lane;
        if (lane < lanes->len)
            g_array_index(frames, CtPacket, kept++) = frame;
    }
    packets->counts[CT_PACKETS_STRAY] += frames->len - kept;
    g_array_set_size(frames, kept);
    recording->n_threads = lanes->len;
    return TRUE;
}

static gint
compare_seconds(gconstpointer a, gconstpointer b)
{
    const gint64 x = *(const gint64 *)a, y = *(const gint64 *)b;
    return (x > y) - (x < y);
}

/* Some samplers write a wrong second in some threads, for ever the same amount wrong. A thread that
 * stands farther than `max_gap` from the recording's first one is set right, as a whole, by the
 * median of its distances to the frames of that thread before its own. */
static void
mend_seconds(VdifRecording *recording, gint64 max_gap)
{
    GArray *frames = recording->packets->packets;
    if (frames->len == 0)
        return;
    const guint reference = g_array_index(frames, CtPacket, 0).lane;
    for (guint lane = 0; lane < recording->n_threads; lane++) {
        g_autoptr(GArray) distances = g_array_new(FALSE, FALSE, sizeof(gint64));
        gint64 second = 0;
        for (guint i = 0; i < frames->len; i++) {
            const CtPacket *frame = &g_array_index(frames, CtPacket, i);
            if (frame->lane == reference)
                second = frame->stamp >> NUMBER_BITS;
            if (frame->lane == lane)
                g_array_append_vals(distances, &(gint64){(frame->stamp >> NUMBER_BITS) - second},
                                    1);
        }
        if (distances->len == 0)
            continue;
        g_array_sort(distances, compare_seconds);
        const gint64 wrong = g_array_index(distances, gint64, distances->len / 2);
        if (ABS(wrong) <= max_gap)
            continue;
        recording->packets->counts[CT_PACKETS_RESTAMPED] += distances->len;
        for (guint i = 0; i < frames->len; i++) {
            CtPacket *frame = &g_array_index(frames, CtPacket, i);
            if (frame->lane == lane)
                frame->stamp -= wrong * (1 << NUMBER_BITS);
        }
    }
}

/* Frames per second as the highest number of a second says, that is followed by another; 0 where
 * there is none. */
static gint64
count_frame_rate(const VdifRecording *recording)
{
    const GArray *frames = recording->packets->packets;
    g_autofree gint64 *last = g_new(gint64, recording->n_threads);
    for (guint lane = 0; lane < recording->n_threads; lane++)
        last[lane] = -1;
    gint64 rate = 0;
    for (guint i = 0; i < frames->len; i++) {
        const CtPacket *frame = &g_array_index(frames, CtPacket, i);
        gint64 *before = &last[frame->lane];
        if (*before >= 0 && frame->stamp >> NUMBER_BITS == (*before >> NUMBER_BITS) + 1)
            rate = MAX(rate, (*before & NUMBER_MASK) + 1);
        *before = frame->stamp;
    }
    return rate;
}

static gboolean
find_rate(VdifRecording *recording, const CtParams *given, GError **error)
{
    const VdifHeader *header = &recording->header;
    if (ct_params_has(given, "sample_rate")) {
        gint64 numerator, denominator;
        ct_params_rational(given, "sample_rate", &numerator, &denominator);
        recording->rate = denominator == 1 ? numerator : 0;
        if (recording->rate == 0 || recording->rate % header->n_samples != 0)
            return ct_params_error(given, "sample_rate", error,
                                   "wants a whole number of frames of %" G_GINT64_FORMAT
                                   " samples a second, but is given %g Hz",
                                   header->n_samples, (gdouble)numerator / denominator);
        return TRUE;
    }
    recording->rate = header->rate ? header->rate : count_frame_rate(recording) * header->n_samples;
    if (recording->rate == 0 || recording->rate % header->n_samples != 0) {
        g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                    "%s: wants 'sample_rate', which neither its headers nor a whole second of "
                    "frames say",
                    recording->paths[0]);
        return FALSE;
    }
    return TRUE;
}

/* Stamps from seconds and numbers to samples, counted from unix time where 63 bits hold that. */
static void
count_samples(VdifRecording *recording)
{
    GArray *frames = recording->packets->packets;
    const gint64 base = g_array_index(frames, CtPacket, 0).stamp >> NUMBER_BITS;
    for (guint i = 0; i < frames->len; i++) {
        CtPacket *frame = &g_array_index(frames, CtPacket, i);
        const gint64 second = (frame->stamp >> NUMBER_BITS) - base;
        frame->stamp =
            second * recording->rate + (frame->stamp & NUMBER_MASK) * recording->header.n_samples;
    }
    const gboolean fits =
        recording->rate < (gint64)1 << 30 || base < G_MAXINT64 / 2 / recording->rate;
    recording->epoch = fits ? 0 : base;
    recording->start = fits ? base * recording->rate : 0;
}

VdifRecording *
vdif_recording_open(const CtParams *given, GError **error)
{
    g_autoptr(VdifRecording) recording = g_new0(VdifRecording, 1);
    recording->n_files = ct_params_count(given, "path");
    recording->paths = g_new0(const char *, recording->n_files);
    recording->fds = g_new(int, recording->n_files);
    recording->packets = ct_packets_new();
    recording->bits = ct_params_has(given, "bits") ? ct_params_int(given, "bits") : 0;
    for (guint i = 0; i < recording->n_files; i++) {
        recording->paths[i] = ct_params_string_at(given, "path", i);
        recording->fds[i] = -1;
    }
    if (!scan_files(recording, error) || !number_lanes(recording, given, error))
        return NULL;
    const gdouble max_gap = ct_params_real(given, "max_gap");
    mend_seconds(recording, max_gap);
    if (!find_rate(recording, given, error))
        return NULL;
    count_samples(recording);
    ct_packets_arrange(recording->packets, recording->n_threads, recording->header.n_samples,
                       (gint64)(max_gap * recording->rate));
    return g_steal_pointer(&recording);
}
