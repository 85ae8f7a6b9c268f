/* SPDX-License-Identifier: BSD-3-Clause */
/* Sources of recordings: what PATH.json beside the files says. */
#include "packets-private.h"
#include "sidecar-merge.h"
#include "source-private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A start is right if it is nearer than this to a whole sample: fractions of seconds in headers are
 * right to the 2048th part of a sample. */
#define NEAR_SAMPLE (1.0 / 512)

gboolean
ct_source_read_beside(CtSourceOpened *opened, guint i, GError **error)
{
    CtSourceFile *file = &opened->recording.files[i];
    CtSourceBeside *beside = &opened->beside[i];
    if (opened->recording.source->is_lane_a_file)
        return TRUE;
    if (!ct_sidecar_read(file->path, file->length, &beside->stream, &beside->sidecar, error) ||
        !ct_sidecar_check_file(file->path, file->fd, error))
        return FALSE;
    if (!beside->sidecar.layout)
        return TRUE;
    const gint time = ct_stream_axis(&beside->stream, "time");
    if (time < 0)
        return ct_sidecar_contradicts(file->path, error, "time, an axis that it lacks");
    beside->n_samples = beside->stream.axes[time].length;
    if (beside->n_samples / 8 > file->length)
        return ct_sidecar_contradicts(
            file->path, error, "%" G_GINT64_FORMAT " bytes instead of %" G_GINT64_FORMAT " samples",
            file->length, beside->n_samples);
    file->said = &beside->stream;
    return TRUE;
}

void
ct_source_clear_beside(CtSourceOpened *opened)
{
    for (guint i = 0; opened->beside && i < opened->recording.n_files; i++) {
        ct_stream_clear(&opened->beside[i].stream);
        ct_sidecar_clear(&opened->beside[i].sidecar);
    }
    g_free(opened->beside);
    ct_stream_clear(&opened->plain);
    g_clear_pointer(&opened->gaps, ct_gaps_free);
}

void
ct_source_note_packets(CtSourceOpened *opened)
{
    const CtRecording *recording = &opened->recording;
    const GArray *packets = recording->packets->packets;
    g_autofree gint64 *offsets = g_new(gint64, recording->n_files + 1);
    for (guint i = 0; i < recording->n_files; i++)
        offsets[i] = G_MAXINT64;
    for (guint i = 0; i < packets->len; i++) {
        const CtPacket *packet = &g_array_index(packets, CtPacket, i);
        if (packet->offset >= offsets[packet->file] || packet->lane >= recording->n_lanes)
            continue;
        offsets[packet->file] = packet->offset;
        opened->beside[packet->file].stamp = packet->stamp;
    }
}

/* ---- time ---- */

/* Finds the first sample of a file: by its time or, if that is not known, by its first packet. */
static gboolean
place(CtSourceOpened *opened, guint i, GError **error)
{
    CtSourceBeside *beside = &opened->beside[i];
    const CtStream *plain = &opened->plain, *said = &beside->stream;
    gint64 second, rest, said_second, said_rest;
    beside->first = beside->stamp;
    if (said->rate_num == 0 || !ct_stream_second(plain, plain->start, &second, &rest) ||
        !ct_stream_second(said, said->start, &said_second, &said_rest))
        return TRUE;
    const gdouble rate = ct_stream_sample_rate(plain);
    const long double seconds = (long double)said_second - second +
                                (long double)said_rest / said->rate_num -
                                (long double)rest / plain->rate_num;
    const long double samples = seconds * rate, whole = roundl(samples);
    if (fabsl(samples) > 0x1p61L || fabsl(samples - whole) > NEAR_SAMPLE)
        return ct_sidecar_contradicts(opened->recording.files[i].path, error,
                                      "a start that is %.3g s later",
                                      (gdouble)(whole - samples) / rate);
    beside->first = opened->recording.packets->first + (gint64)whole;
    return TRUE;
}

/* Checks that packets are where the PATH.json of their files say, and notes which files have some.
 */
static gboolean
check_packets(CtSourceOpened *opened, const GArray *packets, GError **error)
{
    const CtRecording *recording = &opened->recording;
    for (guint i = 0; packets && i < packets->len; i++) {
        const CtPacket *packet = &g_array_index(packets, CtPacket, i);
        CtSourceBeside *beside = &opened->beside[packet->file];
        const gint64 later = packet->stamp - beside->first;
        beside->has_packets = TRUE;
        if (!recording->files[packet->file].said ||
            (later >= 0 && later < beside->n_samples && later % recording->n_samples == 0))
            continue;
        return ct_sidecar_contradicts(recording->files[packet->file].path, error,
                                      "a packet %" G_GINT64_FORMAT
                                      " samples after the start, of %" G_GINT64_FORMAT
                                      " in packets of %" G_GINT64_FORMAT,
                                      later, beside->n_samples, recording->n_samples);
    }
    return TRUE;
}

static int
compare_files(gconstpointer a, gconstpointer b)
{
    const CtSourceBeside *x = *(CtSourceBeside *const *)a, *y = *(CtSourceBeside *const *)b;
    return (x->first > y->first) - (x->first < y->first);
}

/* Places the files that have a PATH.json and packets, and returns them in the order of their times.
 * Sets *end to the end of the stream, and opened->first. */
static GPtrArray *
place_all(CtSourceOpened *opened, gint64 *end, GError **error)
{
    const CtRecording *recording = &opened->recording;
    const CtPackets *packets = recording->packets;
    g_autoptr(GPtrArray) files = g_ptr_array_new();
    gint64 first = G_MAXINT64, last = G_MININT64;
    gboolean is_all = TRUE;
    for (guint i = 0; i < recording->n_files; i++) {
        is_all = is_all && recording->files[i].said;
        if (recording->files[i].said && !place(opened, i, error))
            return NULL;
    }
    if (!check_packets(opened, packets->packets, error) ||
        !check_packets(opened, packets->flagged, error))
        return NULL;
    for (guint i = 0; i < recording->n_files; i++) {
        CtSourceBeside *beside = &opened->beside[i];
        if (!recording->files[i].said || !beside->has_packets)
            continue;
        first = MIN(first, beside->first);
        last = MAX(last, beside->first + beside->n_samples);
        g_ptr_array_add(files, beside);
    }
    const gint64 plain_end = packets->first + opened->plain.axes[0].length;
    const gboolean is_said = is_all && files->len > 0;
    opened->first = is_said ? first : MIN(first, packets->first);
    *end = is_said ? last : MAX(last, plain_end);
    g_ptr_array_sort(files, compare_files);
    return g_steal_pointer(&files);
}

/* ---- the stream ---- */

static gboolean
has_param(const CtNode *node, const char *name)
{
    for (const CtParam *param = node->stage->params; param && param->name; param++)
        if (strcmp(param->name, name) == 0)
            return ct_params_has(node->params, name);
    return FALSE;
}

/* Leaves out of what PATH.json says what parameters say. */
static void
leave_out(const CtRecording *recording, const CtNode *node, CtStream *said)
{
    static const char *const channels[] = {"subband", "channel"};
    if (has_param(node, "centre_frequency") || has_param(node, "first_frequency"))
        said->has_frequency = FALSE;
    for (guint i = 0; has_param(node, "frequencies") && i < G_N_ELEMENTS(channels); i++) {
        const gint a = ct_stream_axis(said, channels[i]);
        if (a < 0)
            continue;
        g_clear_pointer(&said->axes[a].coordinate.table, g_bytes_unref);
        said->axes[a].coordinate = (CtCoordinate){0};
    }
    if (recording->chosen)
        ct_stream_remove_axis(said, recording->chosen);
}

/* Leaves out the axes of one element of a header that PATH.json has not. */
static void
leave_out_single(CtStream *header, const CtStream *said)
{
    for (guint a = header->n_axes; a-- > 1;)
        if (header->axes[a].length == 1 && ct_stream_axis(said, header->axes[a].name) < 0)
            ct_stream_remove_axis(header, header->axes[a].name);
}

/* Describes the stream by `plain` and the PATH.json of a file. */
static gboolean
merge(const CtSourceOpened *opened, const CtNode *node, guint i, CtStream *stream, GError **error)
{
    const CtRecording *recording = &opened->recording;
    const char *path = recording->files[i].path;
    CtStream header;
    ct_stream_init(&header);
    ct_stream_copy(stream, &opened->beside[i].stream);
    leave_out(recording, node, stream);
    ct_stream_copy(&header, &opened->plain);
    leave_out_single(&header, &opened->beside[i].stream);
    header.axes[0].length = opened->beside[i].n_samples;
    for (guint a = 0; a < stream->n_axes; a++)
        if (stream->axes[a].length == 1)
            ct_stream_add_axis(&header, stream->axes[a].name, 1);
    const gboolean good = ct_sidecar_merge(path, stream, &header, error);
    ct_stream_clear(&header);
    return good && ((!has_param(node, "centre_frequency") && !has_param(node, "first_frequency") &&
                     !has_param(node, "frequencies")) ||
                    ct_source_set_frequencies(node->params, stream, error));
}

static gboolean
check_alike(const CtSourceOpened *opened, guint first, GError **error)
{
    const CtRecording *recording = &opened->recording;
    for (guint i = first + 1; i < recording->n_files; i++) {
        if (!recording->files[i].said ||
            ct_sidecar_is_alike(recording->files[first].said, recording->files[i].said))
            continue;
        g_set_error(
            error, CT_ERROR, CT_ERROR_SHAPE,
            "%s: wants axes, coordinates and clock in its PATH.json as that of %s has them, "
            "but is given others",
            recording->files[i].path, recording->files[first].path);
        return FALSE;
    }
    return TRUE;
}

/* ---- lanes ---- */

/* The lane of another stream, which loses data along axes that a stream has too, that a lane of the
 * stream is in. */
static gint64
project(const CtStream *stream, gint64 lane, const CtStream *other)
{
    gint64 of = 0;
    for (guint a = 0; a < other->n_axes; a++) {
        const CtAxis *axis = &other->axes[a];
        const gint64 step = ct_stream_lane_step(stream, axis->name);
        if (axis->loses && step > 0)
            of += lane / step % axis->length * ct_stream_lane_step(other, axis->name);
    }
    return of;
}

gint64
ct_source_plain_lane(const CtSourceOpened *opened, const CtStream *stream, gint64 lane)
{
    return project(stream, lane, &opened->plain);
}

/* Whether the stream has the axes along which PATH.json says that data are lost. */
static gboolean
has_lanes(const CtRecording *recording, const CtStream *stream, const CtStream *said)
{
    for (guint a = 0; a < said->n_axes; a++) {
        const CtAxis *axis = &said->axes[a];
        if (axis->loses && (ct_stream_length(stream, axis->name) != axis->length ||
                            g_strcmp0(recording->chosen, axis->name) == 0))
            return FALSE;
    }
    return TRUE;
}

/* ---- gaps ---- */

/* Adds the part of a run that is at or after sample `end`. */
static void
add_run(CtGaps *gaps, gint64 lane, gint64 first, gint64 n, gint64 end)
{
    const gint64 begin = MAX(first, end);
    ct_gaps_add(gaps, lane, begin, first + n - begin);
}

/* Joins the invalid samples of the files, and those that fill a file's last packet. */
static gboolean
join_gaps(CtSourceOpened *opened, const GPtrArray *files, const CtStream *stream, GError **error)
{
    const gint64 n_samples = opened->recording.n_samples;
    opened->gaps = ct_gaps_new(ct_stream_n_lanes(stream), error);
    for (gint64 lane = 0; opened->gaps && lane < ct_gaps_n_lanes(opened->gaps); lane++) {
        gint64 end = 0;
        for (guint i = 0; i < files->len; i++) {
            const CtSourceBeside *beside = files->pdata[i];
            const CtGaps *of = beside->sidecar.gaps;
            const gint64 first = beside->first - opened->first;
            gsize n = 0;
            const CtGap *runs =
                of ? ct_gaps_of_lane(of, project(stream, lane, &beside->stream), &n) : NULL;
            for (gsize k = 0; k < n; k++)
                add_run(opened->gaps, lane, first + runs[k].first, runs[k].n, end);
            end = MAX(end, first + beside->n_samples);
            const CtSourceBeside *next = i + 1 < files->len ? files->pdata[i + 1] : NULL;
            const gint64 fill = (n_samples - beside->n_samples % n_samples) % n_samples;
            const gint64 until = next ? MIN(end + fill, next->first - opened->first) : end + fill;
            if (until > end)
                ct_gaps_add(opened->gaps, lane, end, until - end);
        }
    }
    return opened->gaps != NULL;
}

typedef struct {
    const CtSourceOpened *opened;
    const CtStream *stream;
    guint *first_lane; /* [lane of packets] the first lane of `plain` */
} Lanes;

/* Whether PATH.json says which samples of a packet are invalid. */
static gboolean
is_known(const CtPacket *packet, gconstpointer data)
{
    const Lanes *lanes = data;
    const CtSourceOpened *opened = lanes->opened;
    const CtRecording *recording = &opened->recording;
    const gint64 begin = packet->stamp - opened->first;
    const gint64 end = begin + recording->n_samples + recording->overlap;
    const guint first = lanes->first_lane[packet->lane];
    const guint step = ct_source_lane_step(recording);
    const guint after = first + ct_source_width(recording, packet->lane) * step;
    for (gint64 lane = 0; lane < ct_gaps_n_lanes(opened->gaps); lane++) {
        const gint64 plain = ct_source_plain_lane(opened, lanes->stream, lane);
        if (plain >= first && plain < after && (plain - first) % step == 0 &&
            ct_gaps_has(opened->gaps, lane, begin, end - begin))
            return TRUE;
    }
    return FALSE;
}

static void
unflag(const CtSourceOpened *opened, const CtStream *stream)
{
    const CtRecording *recording = &opened->recording;
    g_autofree guint *first_lane = ct_source_first_lanes(recording);
    const Lanes lanes = {opened, stream, first_lane};
    ct_packets_unflag(recording->packets, is_known, &lanes);
}

/* Takes the invalid samples that PATH.json names, if the stream has the lanes that it names. */
static gboolean
take_gaps(CtSourceOpened *opened, const CtNode *node, const GPtrArray *files,
          const CtStream *stream, GError **error)
{
    const CtRecording *recording = &opened->recording;
    gboolean has = TRUE;
    for (guint i = 0; i < recording->n_files; i++) {
        CtSidecar *sidecar = &opened->beside[i].sidecar;
        if (!recording->files[i].said)
            continue;
        if (!has_lanes(recording, stream, recording->files[i].said)) {
            has = FALSE;
            for (gint64 lane = 0; sidecar->gaps && lane < ct_gaps_n_lanes(sidecar->gaps); lane++)
                sidecar->invalid += ct_gaps_invalid(sidecar->gaps)[lane];
        }
        ct_sidecar_warn(sidecar, recording->files[i].path, node->params, recording->source->files,
                        "valid, unless their packet is marked");
    }
    if (!has)
        return TRUE;
    if (!join_gaps(opened, files, stream, error))
        return FALSE;
    unflag(opened, stream);
    return TRUE;
}

gboolean
ct_source_merge_beside(CtSourceOpened *opened, const CtNode *node, CtStream *stream, GError **error)
{
    const CtRecording *recording = &opened->recording;
    guint i = 0;
    gint64 end;
    opened->first = recording->packets->first;
    while (i < recording->n_files && !recording->files[i].said)
        i++;
    if (i == recording->n_files) {
        ct_stream_copy(stream, &opened->plain);
        return TRUE;
    }
    if (!merge(opened, node, i, stream, error) || !check_alike(opened, i, error))
        return FALSE;
    g_autoptr(GPtrArray) files = place_all(opened, &end, error);
    if (!files)
        return FALSE;
    const CtSourceBeside *base = files->len > 0 ? files->pdata[0] : &opened->beside[i];
    gint64 origin = recording->packets->first;
    if (base->stream.rate_num > 0) {
        stream->start = base->stream.start;
        stream->epoch = base->stream.epoch;
        origin = base->first;
    }
    stream->start += (opened->first - origin) * stream->ticks_per_sample;
    stream->axes[0].length = end - opened->first;
    return take_gaps(opened, node, files, stream, error);
}
