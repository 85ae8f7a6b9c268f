/* SPDX-License-Identifier: BSD-3-Clause */
/* Recordings of VDIF frames: the frames of files, their threads and times. */
#include "vdif-recording.h"

#include <math.h>
#include <stddef.h>

G_STATIC_ASSERT(offsetof(VdifRecording, bits) == 0);

void
vdif_recording_begin(gpointer self, const CtParams *given)
{
    VdifRecording *recording = self;
    recording->bits = ct_params_has(given, "bits") ? ct_params_int(given, "bits") : 0;
}

void
vdif_recording_found(const guint8 *bytes, CtPacket *packet, gpointer self)
{
    const VdifRecording *recording = self;
    VdifHeader header;
    g_assert(!vdif_header_parse(bytes, recording->bits, &header));
    packet->stamp =
        vdif_unix_time(header.ref_epoch, header.seconds) << VDIF_NUMBER_BITS | header.frame;
    packet->lane = header.station << 10 | header.thread;
    packet->flagged = header.invalid;
}

const char *
vdif_recording_explain(const guint8 *bytes, gconstpointer self)
{
    VdifHeader header;
    return vdif_header_parse(bytes, ((const VdifRecording *)self)->bits, &header);
}

void
vdif_recording_clear(gpointer self)
{
    VdifRecording *recording = self;
    vdif_decoder_clear(&recording->decoder);
    vdif_clock_clear(&recording->clock);
    g_free(recording->lanes);
}

/* ---- threads ---- */

static gint
compare_lanes(gconstpointer a, gconstpointer b)
{
    const CtPacket *x = a, *y = b;
    return (x->lane > y->lane) - (x->lane < y->lane);
}

/* The number of frames of a lane; if there is one, its stamp. */
typedef struct {
    guint32 lane;
    guint n;
    gint64 stamp;
} Lane;

/* The lanes of all frames, in order. */
static GArray *
count_lanes(const VdifRecording *recording)
{
    const guint n = recording->clock.packets->packets->len;
    g_autofree CtPacket *sorted =
        g_memdup2(vdif_clock_frame(&recording->clock, 0), n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, compare_lanes);
    GArray *lanes = g_array_new(FALSE, FALSE, sizeof(Lane));
    for (guint begin = 0, end; begin < n; begin = end) {
        end = begin + 1;
        while (end < n && sorted[end].lane == sorted[begin].lane)
            end++;
        const Lane lane = {sorted[begin].lane, end - begin, sorted[begin].stamp};
        g_array_append_val(lanes, lane);
    }
    return lanes;
}

/* The most frames of any lane, or of any of the thread `id`. */
static guint
fullest(const GArray *lanes, gint64 id)
{
    guint most = 0;
    for (guint i = 0; i < lanes->len; i++) {
        const Lane *lane = &g_array_index(lanes, Lane, i);
        if (id < 0 || (lane->lane & 1023) == id)
            most = MAX(most, lane->n);
    }
    return most;
}

/* A damaged header creates a lane of its own with one or a few frames. A lane is ignored if it has
 * a single frame where another has more than three, or at most a sixteenth of the frames of
 * another. */
static gboolean
is_believed(const Lane *lane, guint most)
{
    return lane->n * 16 > most && (lane->n > 1 || most <= 3);
}

/* Whether a sample of the frames shows clearly that a lane is ignored, or that it is not. */
static gboolean
is_clear(const Lane *lane, guint most)
{
    return is_believed(lane, most) ? (guint64)lane->n * 4 > most : (guint64)lane->n * 64 <= most;
}

/* Orders lanes by thread, then by station. */
static gint
compare_threads(gconstpointer a, gconstpointer b)
{
    const guint32 x = ((const Lane *)a)->lane, y = ((const Lane *)b)->lane;
    const guint32 of_x = (x & 1023) << 16 | x >> 10, of_y = (y & 1023) << 16 | y >> 10;
    return (of_x > of_y) - (of_x < of_y);
}

/* Chooses the lanes of thread `id`, or all, without those that are ignored. */
static void
choose_lanes(VdifClock *clock, const GArray *lanes, gint64 id, GArray *chosen)
{
    const guint most = fullest(lanes, id);
    for (guint i = 0; i < lanes->len; i++) {
        const Lane *lane = &g_array_index(lanes, Lane, i);
        if (id >= 0 && (lane->lane & 1023) != id)
            continue;
        clock->needs_all |= clock->is_sample && !is_clear(lane, most);
        if (is_believed(lane, most))
            g_array_append_val(chosen, *lane);
    }
}

/* In a recording of two or three frames a thread, a thread with a single frame may come from a
 * damaged header, or may have lost the other frames. It is uncertain if the thread lacks two
 * frames, or if another thread has a single frame of another time; a recording that begins or ends
 * between two threads has neither. */
static gboolean
check_few_frames(const VdifRecording *recording, const GArray *chosen, GError **error)
{
    const guint most = fullest(chosen, -1);
    const Lane *single = NULL;
    gboolean suspicious = FALSE;
    for (guint i = 0; i < chosen->len && (most == 2 || most == 3); i++) {
        const Lane *lane = &g_array_index(chosen, Lane, i);
        if (lane->n > 1)
            continue;
        suspicious |= most == 3 || (single && single->stamp != lane->stamp);
        single = lane;
    }
    if (suspicious)
        g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                    "%s: wants 'thread_ids', for thread %u has one frame where others have %u, and "
                    "may be a damaged header's",
                    recording->clock.path, single->lane & 1023, most);
    return !suspicious;
}

static gboolean
find_lanes(VdifRecording *recording, gboolean is_said, const CtParams *given, GArray *chosen,
           GError **error)
{
    g_autoptr(GArray) lanes = count_lanes(recording);
    const guint n_ids = ct_params_count(given, "thread_ids");
    for (guint i = 0; i < n_ids; i++) {
        const gint64 id = ct_params_int_at(given, "thread_ids", i);
        if (fullest(lanes, id) == 0)
            return ct_params_error(given, "thread_ids", error,
                                   "wants threads of %s, but is given %" G_GINT64_FORMAT
                                   ", of which it has no frame",
                                   recording->clock.path, id);
        choose_lanes(&recording->clock, lanes, id, chosen);
    }
    if (n_ids > 0)
        return TRUE;
    choose_lanes(&recording->clock, lanes, -1, chosen);
    if (is_said)
        g_array_sort(chosen, compare_threads);
    return check_few_frames(recording, chosen, error);
}

/* Gives frames the index of their lane, and drops those of lanes that are not read. Beside a
 * PATH.json, threads are in the order of their numbers, which are the indices of its axis. */
static gboolean
number_lanes(VdifRecording *recording, gboolean is_said, const CtParams *given, GError **error)
{
    CtPackets *packets = recording->clock.packets;
    g_autoptr(GArray) lanes = g_array_new(FALSE, FALSE, sizeof(Lane));
    if (!find_lanes(recording, is_said, given, lanes, error))
        return FALSE;
    guint kept = 0;
    for (guint i = 0; i < packets->packets->len; i++) {
        CtPacket frame = *vdif_clock_frame(&recording->clock, i);
        guint lane = 0;
        while (lane < lanes->len && g_array_index(lanes, Lane, lane).lane != frame.lane)
            lane++;
        frame.lane = lane;
        if (lane < lanes->len)
            *vdif_clock_frame(&recording->clock, kept++) = frame;
    }
    packets->counts[CT_PACKETS_STRAY] += packets->packets->len - kept;
    g_array_set_size(packets->packets, kept);
    recording->clock.n_threads = lanes->len;
    recording->lanes = g_new(guint32, MAX(lanes->len, 1));
    for (guint i = 0; i < lanes->len; i++)
        recording->lanes[i] = g_array_index(lanes, Lane, i).lane;
    return TRUE;
}

gboolean
vdif_recording_order(CtRecording *files, const CtParams *given, GError **error)
{
    VdifRecording *recording = files->self;
    VdifClock *clock = &recording->clock;
    const gdouble max_gap = ct_params_real(given, "max_gap");
    g_assert(!vdif_header_parse(files->files[0].header, recording->bits, &recording->header));
    clock->path = files->files[0].path;
    clock->packets = files->packets;
    clock->is_sample = files->is_sample;
    clock->frame_bytes = files->files[0].packet_bytes;
    clock->n_samples = recording->header.n_samples;
    clock->header_rate = recording->header.rate;
    const CtStream *said = files->files[0].said;
    if (clock->header_rate == 0 && said && said->rate_num > 0)
        clock->header_rate = llround(ct_stream_sample_rate(said));
    if (!number_lanes(recording, said != NULL, given, error) ||
        !vdif_clock_find_rate(clock, given, error))
        return FALSE;
    vdif_clock_count_samples(clock, max_gap);
    vdif_decoder_init(&recording->decoder, &recording->header);
    files->needs_all = clock->needs_all;
    files->n_lanes = clock->n_threads;
    files->n_samples = clock->n_samples;
    files->max_gap = (gint64)MIN(max_gap * (gdouble)clock->rate, 0x1p61);
    return TRUE;
}

gboolean
vdif_recording_place(const CtRecording *files, CtPacket *packet, guint64 *counts)
{
    const VdifRecording *recording = files->self;
    guint lane = 0;
    while (lane < recording->clock.n_threads && recording->lanes[lane] != packet->lane)
        lane++;
    packet->lane = lane;
    if (lane < recording->clock.n_threads)
        return vdif_clock_place(&recording->clock, packet, counts);
    counts[CT_PACKETS_STRAY]++;
    return FALSE;
}

gboolean
vdif_recording_is_whole(const VdifRecording *recording)
{
    for (guint i = 0; i < recording->clock.n_threads; i++)
        if ((recording->lanes[i] & 1023) != i)
            return FALSE;
    return TRUE;
}

/* The name of a station: two letters or digits, or else its number. */
static char *
name_station(guint station)
{
    const gchar first = (gchar)(station >> 8), second = (gchar)station;
    if (g_ascii_isalnum(first) && g_ascii_isalnum(second))
        return g_strdup_printf("%c%c", first, second);
    return g_strdup_printf("%u", station);
}

CtLabels *
vdif_recording_stations(const VdifRecording *recording)
{
    g_auto(GStrv) names = g_new0(char *, recording->clock.n_threads + 1);
    for (guint i = 0; i < recording->clock.n_threads; i++) {
        names[i] = name_station(recording->lanes[i] >> 10);
        for (guint k = 0; k < i; k++)
            if (recording->lanes[k] >> 10 == recording->lanes[i] >> 10)
                return NULL;
    }
    return ct_labels_new((const char *const *)names, recording->clock.n_threads);
}
