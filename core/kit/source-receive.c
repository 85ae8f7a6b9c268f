/* SPDX-License-Identifier: BSD-3-Clause */
/* Sources of recordings: packets from the network in place of files. */
#include "receiver.h"
#include "source-private.h"

#include <math.h>
#include <string.h>

gboolean
ct_source_has_receivers(const CtSourceOpened *opened, const CtParams *given,
                        gboolean *has_receivers, GError **error)
{
    const CtRecording *recording = &opened->recording;
    const CtSource *source = recording->source;
    const char *path = NULL;
    guint n = 0;
    for (guint i = 0; i < recording->n_files; i++)
        if (ct_receiver_is(recording->files[i].path)) {
            path = recording->files[i].path;
            n++;
        }
    *has_receivers = n > 0;
    const gboolean has_functions =
        (source->is_lane_a_file || source->place) && !source->find && !source->next;
    /* The newest of CT_SOURCE_RECEIVE_PARAMS. */
    if (n > 0 && (!has_functions || !ct_params_knows(given, "core")))
        return ct_params_error(given, source->files, error,
                               "wants files, but is given '%s': this source does not receive from "
                               "the network",
                               path);
    return n == 0 || n == recording->n_files ||
           ct_params_error(given, source->files, error,
                           "wants addresses of the network alone, or files alone, but is given "
                           "'%s' among %u paths",
                           path, recording->n_files);
}

/* Takes the streams of the addresses that have been found, and the packets by which lanes are. */
static gboolean
take_headers(CtSourceOpened *opened, GError **error)
{
    CtRecording *recording = &opened->recording;
    const CtSource *source = recording->source;
    for (guint i = 0; i < recording->n_files; i++) {
        CtSourceFile *file = &recording->files[i];
        const guint8 *header = ct_reception_header(opened->reception, i, &file->packet_bytes);
        ct_source_take_header(recording, i, header,
                              ct_source_format(source, recording->self).header_bytes);
        if (!source->is_one_stream ||
            source->format.alike(recording->headers[0], header, recording->self))
            continue;
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                    "%s: wants %s like those of %s, but is given others", file->path,
                    source->format.name, recording->files[0].path);
        return FALSE;
    }
    ct_reception_ordered(opened->reception, recording->packets->packets);
    recording->packets->counts[CT_PACKETS_READ] = recording->packets->packets->len;
    return TRUE;
}

/* The packets that are loaded, none yet, of a stream whose beginning alone is known. */
static gboolean
begin_packets(CtSourceOpened *opened, GError **error)
{
    CtRecording *recording = &opened->recording;
    CtPackets *packets = recording->packets;
    const gboolean are_lanes =
        !recording->source->is_lane_a_file || recording->n_lanes == recording->n_files;
    if (!are_lanes || recording->overlap != 0)
        return ct_source_fault(recording->source, error,
                               "it wants a lane for each address, and packets that do not overlap");
    g_array_set_size(packets->packets, 0);
    packets->n_lanes = recording->n_lanes;
    packets->n_samples = recording->n_samples;
    packets->lane_begin = g_new0(guint, packets->n_lanes + 1);
    packets->first =
        ct_reception_first(opened->reception, recording->n_samples, recording->max_gap);
    packets->end = G_MAXINT64;
    return TRUE;
}

gboolean
ct_source_open_receivers(CtSourceOpened *opened, const CtParams *given, GError **error)
{
    CtRecording *recording = &opened->recording;
    opened->reception =
        ct_reception_get(recording->source, given, (const char *const *)opened->paths->pdata,
                         recording->n_files, error);
    return opened->reception &&
           ct_reception_find(opened->reception, (gint64)ct_params_real(given, "buffer"), given,
                             error) &&
           take_headers(opened, error) && ct_source_order(recording, given, error) &&
           begin_packets(opened, error);
}

gboolean
ct_source_receive(CtSourceOpened *opened, const CtParams *given, GError **error)
{
    const CtRecording *recording = &opened->recording;
    const gdouble rate = ct_stream_sample_rate(&opened->plain);
    if (!(rate > 0))
        return ct_source_fault(
            recording->source, error,
            "it describes a stream without a sample rate, which packets that are received "
            "must have");
    CtReceivedSizes sizes = {
        .n_lanes = recording->n_lanes,
        .n_addresses = recording->n_files,
        .n_samples = recording->n_samples,
        .window = llround(ct_params_real(given, "window") * rate),
        .max_gap = recording->max_gap,
        .buffer_bytes = (gint64)ct_params_real(given, "buffer"),
    };
    for (guint i = 0; i < recording->n_files; i++)
        sizes.packet_bytes = MAX(sizes.packet_bytes, ct_reception_skip(opened->reception) +
                                                         recording->files[i].packet_bytes);
    const gint64 least = ct_received_least_bytes(&sizes);
    if (sizes.buffer_bytes < least)
        return ct_params_error(
            given, "buffer", error,
            "wants at least %" G_GINT64_FORMAT " bytes for a window of %" G_GINT64_FORMAT
            " samples in packets of %" G_GINT64_FORMAT
            " of %u lanes, but is given %" G_GINT64_FORMAT,
            least, sizes.window, sizes.n_samples, sizes.n_lanes, sizes.buffer_bytes);
    const gdouble packet_rate =
        rate / (gdouble)recording->n_samples * recording->n_lanes / recording->n_files;
    return ct_reception_run(opened->reception, &sizes, packet_rate, error);
}
