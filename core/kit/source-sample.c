/* SPDX-License-Identifier: BSD-3-Clause */
/* Sources of recordings: opening long files by a sample of their packets. */
#include "packets-chain.h"
#include "source-private.h"

#include <stdlib.h>
#include <string.h>

/* Besides the ends of its files, a recording is looked at in so many places of equal distances; and
 * of so many of its parts, where stamps jump most: as formats count within seconds, a second begins
 * there. */
enum { N_PLACES = 32, N_JUMPS = 4 };

/* Packets that follow one another, from one of the places. */
typedef struct {
    guint n_found, n_used;
    gint64 begin, last; /* positions of the first and the last packet that were found */
    gint64 first, end;  /* the range of their samples */
    guint least, most;  /* those of the lane that has the fewest, and of the one with the most */
} Group;

typedef struct {
    CtSourceOpened *opened;
    CtPacketChain chain;
    guint n_head, n_group; /* packets of the first group, and of the others */
    guint context;
    GArray *places; /* gint64, the numbers of the groups' first packets */
    GArray *groups; /* Group */
} Sample;

/* ---- where ---- */

/* Finds the packet from low + 1 to high whose stamp, as it was found, jumps most. */
static gboolean
find_jump(const CtPacketChain *chain, gint64 low, gint64 high, gint64 *place)
{
    CtPacket first, last, middle;
    if (!ct_packet_chain_peek(chain, low, &first, NULL) ||
        !ct_packet_chain_peek(chain, high, &last, NULL))
        return FALSE;
    while (high - low > 1) {
        const gint64 half = low + (high - low) / 2;
        if (!ct_packet_chain_peek(chain, half, &middle, NULL))
            return FALSE;
        const gboolean is_before = middle.stamp - first.stamp > last.stamp - middle.stamp;
        *(is_before ? &high : &low) = half;
        *(is_before ? &last : &first) = middle;
    }
    *place = high;
    return TRUE;
}

static gint
compare_numbers(gconstpointer a, gconstpointer b)
{
    const gint64 x = *(const gint64 *)a, y = *(const gint64 *)b;
    return (x > y) - (x < y);
}

static void
add_place(Sample *sample, gint64 place)
{
    const gint64 last = ct_packet_chain_count(&sample->chain) - sample->n_group;
    place = CLAMP(place, 0, last);
    g_array_append_val(sample->places, place);
}

/* Leaves no two groups with the same packets. */
static void
drop_overlaps(Sample *sample)
{
    GArray *places = sample->places;
    guint kept = 1;
    g_array_sort(places, compare_numbers);
    for (guint i = 1; i < places->len; i++) {
        const gint64 place = g_array_index(places, gint64, i);
        const guint n = kept == 1 ? sample->n_head : sample->n_group;
        if (place >= g_array_index(places, gint64, kept - 1) + n)
            g_array_index(places, gint64, kept++) = place;
    }
    g_array_set_size(places, kept);
}

static gboolean
choose_places(Sample *sample)
{
    const gint64 count = ct_packet_chain_count(&sample->chain);
    gint64 begin = 0;
    for (guint i = 0; i < sample->chain.n_scans; i++) {
        add_place(sample, begin);
        begin += ct_packet_scan_count(sample->chain.scans[i]);
        add_place(sample, begin - sample->n_group);
    }
    for (guint i = 1; i <= N_PLACES; i++)
        add_place(sample, count / (N_PLACES + 1) * i);
    for (guint i = 0; i < N_JUMPS; i++) {
        gint64 place;
        if (!find_jump(&sample->chain, count / N_JUMPS * i, count / N_JUMPS * (i + 1) - 1, &place))
            return FALSE;
        add_place(sample, place - sample->n_group / 2);
    }
    drop_overlaps(sample);
    return TRUE;
}

/* ---- what is there ---- */

/* Where damage has moved packets, the last group may have reached the first ones of the next. */
static void
drop_found(const CtPackets *packets, guint begin, gint64 last)
{
    guint end = begin;
    while (end < packets->packets->len &&
           ct_packets_position(packets, &g_array_index(packets->packets, CtPacket, end)) <= last)
        end++;
    g_array_remove_range(packets->packets, begin, end - begin);
}

static gboolean
find_group(Sample *sample, guint i)
{
    const CtRecording *recording = &sample->opened->recording;
    GArray *packets = recording->packets->packets;
    g_autoptr(CtPackets) counts = ct_packets_new(); /* that nobody wants */
    const guint n = packets->len;
    if (!ct_packet_chain_seek(&sample->chain, g_array_index(sample->places, gint64, i), NULL) ||
        !ct_packet_chain_more(&sample->chain, counts, packets,
                              i == 0 ? sample->n_head : sample->n_group, NULL))
        return FALSE;
    if (sample->groups->len > 0)
        drop_found(recording->packets, n,
                   g_array_index(sample->groups, Group, sample->groups->len - 1).last);
    if (packets->len == n)
        return FALSE;
    const Group group = {
        .n_found = packets->len - n,
        .begin = ct_packets_position(recording->packets, &g_array_index(packets, CtPacket, n)),
        .last = ct_packets_position(recording->packets,
                                    &g_array_index(packets, CtPacket, packets->len - 1)),
    };
    g_array_append_val(sample->groups, group);
    return TRUE;
}

/* Arranges the packets of a group, once they have their lanes and stamps. */
static gboolean
arrange_group(const CtRecording *recording, Group *group, const CtPacket *packets)
{
    g_autoptr(CtPackets) some = ct_packets_new();
    const GArray *files = recording->packets->files;
    g_array_append_vals(some->packets, packets, group->n_used);
    g_array_append_vals(some->files, files->data, files->len);
    some->overlap = recording->overlap;
    if (!ct_packets_arrange(some, recording->n_lanes, recording->n_samples, recording->max_gap,
                            NULL))
        return FALSE;
    group->first = some->first;
    group->end = some->end;
    group->least = G_MAXUINT;
    g_autofree guint *flagged = g_new0(guint, recording->n_lanes);
    for (guint i = 0; some->flagged && i < some->flagged->len; i++)
        flagged[g_array_index(some->flagged, CtPacket, i).lane]++;
    for (guint lane = 0; lane < recording->n_lanes; lane++) {
        const guint n = some->lane_begin[lane + 1] - some->lane_begin[lane] + flagged[lane];
        group->least = MIN(group->least, n);
        group->most = MAX(group->most, n);
    }
    return TRUE;
}

/* The packets that `order` has left are those of the groups, in their order. */
static gboolean
arrange_groups(const Sample *sample)
{
    const CtRecording *recording = &sample->opened->recording;
    const GArray *packets = recording->packets->packets;
    for (guint i = 0, k = 0; i < sample->groups->len; i++) {
        Group *group = &g_array_index(sample->groups, Group, i);
        const guint begin = k;
        while (k < packets->len &&
               ct_packets_position(recording->packets, &g_array_index(packets, CtPacket, k)) <=
                   group->last)
            k++;
        group->n_used = k - begin;
        if (group->n_used == 0 ||
            !arrange_group(recording, group, &g_array_index(packets, CtPacket, begin)))
            return FALSE;
    }
    return TRUE;
}

/* ---- whether it stands for the whole ---- */

/* Whether a group has packets of all lanes, and of others as many as the first group has. */
static gboolean
is_like(const Group *group, const Group *head)
{
    const gdouble others = (gdouble)(group->n_found - group->n_used) / MAX(group->most, 1);
    const gdouble wanted = (gdouble)(head->n_found - head->n_used) / MAX(head->most, 1);
    return 2 * (guint64)group->least > group->most && ABS(others - wanted) <= 0.25;
}

/* Whether a group is later than the one before it, by the time that the packets between them have
 * in all lanes: `share` of them are used. With a quarter of max_gap missing, there may be a pause
 * that is too long. */
static gboolean
follows(const Sample *sample, const Group *before, const Group *group, gdouble share)
{
    const CtRecording *recording = &sample->opened->recording;
    const gdouble lanes = recording->n_lanes, n_samples = (gdouble)recording->n_samples;
    const gdouble given =
        share * (gdouble)(group->begin - before->begin) / (gdouble)recording->files[0].packet_bytes;
    const gdouble wanted = (gdouble)(group->first - before->first) / n_samples * lanes;
    const gdouble context = sample->context * lanes;
    return (gdouble)(group->first - before->end) >= -(gdouble)sample->context * n_samples &&
           wanted - given <= (gdouble)recording->max_gap / n_samples * lanes / 4 &&
           given - wanted <= given / 16 + 2 * context;
}

static gboolean
stands_for_all(const Sample *sample)
{
    const Group *groups = (const Group *)sample->groups->data;
    guint64 n_found = 0, n_used = 0;
    for (guint i = 0; i < sample->groups->len; i++) {
        n_found += groups[i].n_found;
        n_used += groups[i].n_used;
    }
    for (guint i = 0; i < sample->groups->len; i++)
        if (!is_like(&groups[i], &groups[0]) ||
            (i > 0 &&
             !follows(sample, &groups[i - 1], &groups[i], (gdouble)n_used / (gdouble)n_found)))
            return FALSE;
    return TRUE;
}

/* ---- opening ---- */

/* Whether the packets of the files may be too many for an index. What PATH.json says of packets is
 * compared with all of them. */
static gboolean
is_long(const CtSourceOpened *opened, const Sample *sample, const CtAheadSizes *sizes)
{
    const CtRecording *recording = &opened->recording;
    const gint64 count = ct_packet_chain_count(&sample->chain);
    for (guint i = 0; i < recording->n_files; i++)
        if (recording->files[i].said)
            return FALSE;
    return count > sizes->least && count > 2 * ((gint64)sample->n_head + sample->n_group);
}

/* Says where the packets of each file are among those of all. */
static void
place_files(const CtRecording *recording)
{
    gint64 before = 0;
    for (guint i = 0; i < recording->n_files; i++) {
        g_array_index(recording->packets->files, CtScannedFile, i).before = before;
        before += recording->files[i].length;
    }
}

/* Has the sample ordered, and reads the recording by what that has decided. */
static gboolean
open_by(Sample *sample, const CtParams *given, const CtAheadSizes *sizes)
{
    CtSourceOpened *opened = sample->opened;
    CtRecording *recording = &opened->recording;
    CtPackets *packets = recording->packets;
    guint64 counts[CT_PACKETS_N_COUNTS];
    memcpy(counts, packets->counts, sizeof counts);
    recording->is_sample = TRUE;
    if (!choose_places(sample))
        return FALSE;
    for (guint i = 0; i < sample->places->len; i++)
        if (!find_group(sample, i))
            return FALSE;
    const gboolean good = ct_source_order(recording, given, NULL) && !recording->needs_all &&
                          arrange_groups(sample) && stands_for_all(sample);
    memcpy(packets->counts, counts, sizeof counts);
    if (!good)
        return FALSE;
    packets->overlap = recording->overlap;
    g_array_set_size(packets->packets, 0);
    const CtAheadOf of = {.scans = opened->scans,
                          .n_files = recording->n_files,
                          .n_lanes = recording->n_lanes,
                          .is_chain = TRUE,
                          .n_samples = recording->n_samples,
                          .place = ct_source_place,
                          .recording = recording};
    opened->ahead = ct_ahead_new(packets, &of, recording->max_gap, sizes, NULL);
    return opened->ahead != NULL;
}

/* All is as before the sample was ordered. */
static void
forget(CtRecording *recording, const CtParams *given)
{
    const CtSource *source = recording->source;
    if (source->clear)
        source->clear(recording->self);
    memset(recording->self, 0, source->self_bytes);
    if (source->begin)
        source->begin(recording->self, given);
    g_clear_pointer(&recording->widths, g_free);
    recording->n_lanes = 0;
    recording->lane_step = 0;
    recording->n_samples = recording->max_gap = recording->overlap = 0;
    recording->chosen = NULL;
    recording->is_sample = recording->needs_all = FALSE;
    g_array_set_size(recording->packets->packets, 0);
}

void
ct_source_open_long(CtSourceOpened *opened, const CtParams *given, const CtAheadSizes *sizes)
{
    CtRecording *recording = &opened->recording;
    Sample sample = {
        .opened = opened,
        .chain = {.scans = opened->scans, .n_scans = recording->n_files},
        .n_group = sizes->context,
        .context = sizes->context,
    };
    const gint64 head = sizes->head_bytes / (gint64)MAX(recording->files[0].packet_bytes, 1);
    sample.n_head = (guint)CLAMP(head, sizes->part + sizes->context, 1 << 24);
    if (!is_long(opened, &sample, sizes))
        return;
    place_files(recording);
    sample.places = g_array_new(FALSE, FALSE, sizeof(gint64));
    sample.groups = g_array_new(FALSE, FALSE, sizeof(Group));
    if (!open_by(&sample, given, sizes))
        forget(recording, given);
    g_array_unref(sample.places);
    g_array_unref(sample.groups);
}
