/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading pipes of packets part by part. */
#include "packets-ahead-private.h"

#include <string.h>

enum {
    /* The fate of a packet depends on this number of packets before and after it, at least. */
    LEAST_CONTEXT = 3,
    /* A wait for packets ends after this time, so that the run can end. */
    WAIT_MILLISECONDS = 100
};

/* The sizes for packets of so many bytes, and lanes that lie in one pipe. */
static CtAheadSizes
fit_sizes(const CtAheadSizes *sizes, gint64 n_lanes, gint64 bytes)
{
    CtAheadSizes fit = *sizes;
    const gint64 held = MAX(sizes->context_bytes / bytes, 1);
    fit.context = (guint)MIN(sizes->context * n_lanes, MAX(LEAST_CONTEXT * n_lanes, held));
    fit.part = (guint)MIN(sizes->part * n_lanes, MAX(n_lanes, 4 * held));
    fit.lead_bytes = sizes->lead_bytes + bytes * (fit.part + 2 * (gint64)fit.context + 2);
    return fit;
}

CtAhead *
ct_ahead_new_pipes(CtPackets *packets, const CtAheadOf *of, CtPipe *const *pipes,
                   GArray *const *raw, gint64 bytes, gint64 max_gap, const CtAheadSizes *sizes)
{
    const guint n = of->n_files;
    const CtAheadSizes fit = fit_sizes(sizes, n > 1 ? 1 : of->n_lanes, bytes);
    CtAhead *ahead = ct_ahead_alloc(packets, of, max_gap, &fit);
    ahead->pipes = g_memdup2(pipes, n * sizeof *pipes);
    for (guint i = 0; i < n; i++)
        g_array_append_vals(ahead->tracks[i].raw, raw[i]->data, raw[i]->len);
    packets->end = ahead->end = G_MAXINT64;
    ahead->begin = ahead->given = packets->first;
    return ahead;
}

gint64
ct_ahead_room(const CtAhead *ahead)
{
    return ahead->sizes.lead_bytes;
}

/* Drops the bytes of all packets before sample `begin`. */
static void
drop_bytes(const CtAhead *ahead, gint64 begin)
{
    const gint64 n = ahead->packets->n_samples + ahead->packets->overlap;
    g_autofree gint64 *keep = g_new(gint64, ahead->n_tracks);
    for (guint i = 0; i < ahead->n_tracks; i++) {
        const CtAheadTrack *track = &ahead->tracks[i];
        keep[i] = ct_packet_chain_at(&track->chain);
        if (track->raw->len > 0)
            keep[i] = MIN(keep[i], g_array_index(track->raw, CtPacket, 0).offset);
    }
    for (guint lane = 0; lane < ahead->packets->n_lanes; lane++)
        for (guint k = 0; k < ahead->ready[lane]->len; k++) {
            const CtPacket *packet = &g_array_index(ahead->ready[lane], CtPacket, k);
            if (packet->stamp + n > begin)
                keep[packet->file] = MIN(keep[packet->file], packet->offset);
        }
    for (guint i = 0; i < ahead->n_tracks; i++)
        ct_pipe_drop(ahead->pipes[i], keep[i]);
}

/* Arranges a further part of each pipe that lacks samples before `end`; sets *went_on if there was
 * one. Sets *safe to the sample before which nothing else will come. */
static gboolean
go_on(CtAhead *ahead, gint64 end, gint64 *safe, gboolean *went_on, GError **error)
{
    *went_on = FALSE;
    *safe = G_MAXINT64;
    for (guint i = 0; i < ahead->n_tracks; i++) {
        CtAheadTrack *track = &ahead->tracks[i];
        gboolean waits = TRUE;
        if (track->safe < end && !ct_ahead_next_part(ahead, track, &waits, error))
            return FALSE;
        *went_on |= !waits;
        *safe = MIN(*safe, track->safe);
    }
    return TRUE;
}

/* The pipes have ended. */
static void
find_end(CtAhead *ahead)
{
    CtPackets *packets = ahead->packets;
    if (packets->end != G_MAXINT64)
        return;
    packets->end = packets->first;
    if (ahead->latest != G_MININT64)
        packets->end = MAX(packets->end, ahead->latest + packets->n_samples + packets->overlap);
    ahead->end = MIN(ahead->end, packets->end);
    ahead->stop = ahead->ends ? ahead->ends(ahead->recording) : G_MAXINT64;
}

/* A pipe that holds all it may, and in which the search for packets waits for more. */
static gboolean
check_full(const CtAhead *ahead, gint64 end, GError **error)
{
    for (guint i = 0; i < ahead->n_tracks; i++) {
        const CtAheadTrack *track = &ahead->tracks[i];
        const CtScannedFile *file = &g_array_index(ahead->packets->files, CtScannedFile, i);
        if (track->safe >= end || !ct_packet_chain_waits(&track->chain) ||
            ct_pipe_held(ahead->pipes[i]) < ct_ahead_room(ahead))
            continue;
        g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                    "%s: wants packets of the stream from byte %" G_GINT64_FORMAT
                    " on, but is given %" G_GINT64_FORMAT " bytes with too few",
                    file->path, ct_packet_chain_at(&track->chain), ct_pipe_held(ahead->pipes[i]));
        return FALSE;
    }
    return TRUE;
}

gboolean
ct_ahead_wait(CtAhead *ahead, gint64 begin, gint64 most, gint64 *n, gboolean *ended, GError **error)
{
    *n = most;
    *ended = FALSE;
    for (gboolean filled = TRUE; ahead->pipes;) {
        gboolean went_on;
        gint64 safe;
        drop_bytes(ahead, begin);
        if (!go_on(ahead, begin + most, &safe, &went_on, error))
            return FALSE;
        if (safe == G_MAXINT64)
            find_end(ahead);
        const gint64 last = MIN(ahead->end, ahead->stop);
        *ended = safe == G_MAXINT64 && last <= begin + most;
        *n = MIN(MAX(MIN(safe, last), begin) - begin, most);
        if (*n == most || *ended || (!went_on && !filled))
            return *n > 0 || *ended || check_full(ahead, begin + most, error);
        if (!went_on && !ct_pipes_fill(ahead->pipes, ahead->n_tracks, ct_ahead_room(ahead),
                                       *n > 0 ? 0 : WAIT_MILLISECONDS, &filled, error))
            return FALSE;
    }
    return TRUE;
}
