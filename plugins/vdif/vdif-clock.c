/* SPDX-License-Identifier: BSD-3-Clause */
/* The clock of a recording: frames per second, correction of wrong seconds, and conversion of
 * stamps to samples. */
#include "vdif-clock.h"

/* ---- frames per second ---- */

static gint
compare_numbers(gconstpointer a, gconstpointer b)
{
    const gint64 x = *(const gint64 *)a, y = *(const gint64 *)b;
    return (x > y) - (x < y);
}

static guint
count_equal(const GArray *numbers, gint64 number)
{
    guint n = 0;
    for (guint i = 0; i < numbers->len; i++)
        n += g_array_index(numbers, gint64, i) == number;
    return n;
}

/* The stamps of the last two frames of a thread; −1: none. */
typedef struct {
    gint64 last, before;
} Tail;

/* Whether the last frame follows the one before it, so that its number is not damaged. */
static gboolean
is_in_order(const Tail *tail)
{
    return (tail->last & VDIF_NUMBER_MASK) == 0 || tail->before == tail->last - 1;
}

/* In a sample, frames that are farther apart than this do not follow one another. */
enum { APART_FRAMES = 32 };

static gboolean
is_apart(const VdifClock *clock, guint i)
{
    const CtPacket *frame = vdif_clock_frame(clock, i);
    return clock->is_sample && i > 0 &&
           (frame[0].file != frame[-1].file ||
            frame[0].offset - frame[-1].offset > APART_FRAMES * (gint64)clock->frame_bytes);
}

static void
forget_tails(const VdifClock *clock, Tail *tails)
{
    for (guint lane = 0; lane < clock->n_threads; lane++)
        tails[lane] = (Tail){-1, -1};
}

/* The facts that changes of second tell. */
typedef struct {
    gint64 counted;       /* frames per second; 0: unknown */
    gint64 most;          /* the largest number of any change; 0: there is none */
    gboolean is_repeated; /* changes of several seconds have this number, and none has another */
} Changes;

/* Collects the numbers of frames per second, k + 1 for each change of second where frames k − 1 and
 * k of a thread are followed by number 0 of the next second. If a frame was lost there, the number
 * is too small, never too large; a damaged header gives no number. `ends` gets the same numbers for
 * the last frames of threads, as if a change of second followed. Returns whether the changes are
 * those of several seconds. */
static gboolean
count_frames_of_seconds(const VdifClock *clock, GArray *changes, GArray *ends)
{
    g_autofree Tail *tails = g_new(Tail, clock->n_threads);
    gint64 first = G_MAXINT64, last = G_MININT64; /* the seconds that begin at changes */
    forget_tails(clock, tails);
    for (guint i = 0; i < clock->packets->packets->len; i++) {
        const CtPacket *frame = vdif_clock_frame(clock, i);
        if (is_apart(clock, i))
            forget_tails(clock, tails);
        Tail *tail = &tails[frame->lane];
        if (frame->stamp == tail->last)
            continue;
        const gint64 number = (tail->last & VDIF_NUMBER_MASK) + 1;
        const gint64 next = (tail->last >> VDIF_NUMBER_BITS) + 1;
        if (tail->last >= 0 && frame->stamp == next << VDIF_NUMBER_BITS && is_in_order(tail)) {
            g_array_append_val(changes, number);
            first = MIN(first, next);
            last = MAX(last, next);
        }
        *tail = (Tail){frame->stamp, tail->last};
    }
    for (guint lane = 0; lane < clock->n_threads; lane++) {
        const gint64 number = (tails[lane].last & VDIF_NUMBER_MASK) + 1;
        if (tails[lane].last >= 0 && is_in_order(&tails[lane]))
            g_array_append_val(ends, number);
    }
    return last > first;
}

static guint
count_beyond(const VdifClock *clock, gint64 frame_rate)
{
    guint n = 0;
    for (guint i = 0; i < clock->packets->packets->len; i++)
        n += (vdif_clock_frame(clock, i)->stamp & VDIF_NUMBER_MASK) >= frame_rate;
    return n;
}

/* Finds the frames per second from the changes of second. The largest number counts, as smaller
 * ones are due to lost frames, if another change or the end of a thread confirms it, or if there
 * are only two changes. It is rejected if as many frames as there are changes have a number beyond
 * it. */
static Changes
find_frame_rate(const VdifClock *clock)
{
    g_autoptr(GArray) changes = g_array_new(FALSE, FALSE, sizeof(gint64));
    g_autoptr(GArray) ends = g_array_new(FALSE, FALSE, sizeof(gint64));
    const gboolean are_several = count_frames_of_seconds(clock, changes, ends);
    if (changes->len == 0)
        return (Changes){0};
    g_array_sort(changes, compare_numbers);
    const gint64 most = g_array_index(changes, gint64, changes->len - 1);
    const guint same = count_equal(changes, most), agree = same + count_equal(ends, most);
    const gboolean is_it =
        (agree > 1 || changes->len == 2) && count_beyond(clock, most) < changes->len;
    return (Changes){is_it ? most : 0, most, are_several && same == changes->len};
}

/* Whether all frames might decide another rate than a sample has, or that the rate is wrong. */
static gboolean
may_be_another(const VdifClock *clock, const Changes *changes, gboolean is_counted)
{
    const gint64 frame_rate = clock->rate / clock->n_samples;
    const guint beyond = count_beyond(clock, frame_rate);
    return is_counted ? !changes->is_repeated || beyond > 0
                      : changes->most > frame_rate || beyond > clock->packets->packets->len / 64;
}

/* The most frames of a second that their numbers can count. */
#define MOST_FRAMES (1 << VDIF_NUMBER_BITS)

/* Sets the rate from the parameter or the headers; 0: neither gives it. */
static gboolean
find_given_rate(const VdifClock *clock, const CtParams *given, gint64 *rate, GError **error)
{
    gint64 numerator = clock->header_rate, denominator = 1;
    const gboolean is_given = ct_params_has(given, "sample_rate");
    if (is_given)
        ct_params_rational(given, "sample_rate", &numerator, &denominator);
    *rate = numerator;
    if (denominator == 1 && numerator % clock->n_samples == 0 &&
        numerator / clock->n_samples <= MOST_FRAMES)
        return TRUE;
    if (is_given)
        return ct_params_error(given, "sample_rate", error,
                               "wants a whole number of frames of %" G_GINT64_FORMAT
                               " samples a second, %d at most, but is given %g Hz",
                               clock->n_samples, MOST_FRAMES,
                               (gdouble)numerator / (gdouble)denominator);
    g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                "%s: wants 'sample_rate', for its headers say %" G_GINT64_FORMAT
                " Hz, no whole number of frames of %" G_GINT64_FORMAT " samples, %d at most",
                clock->path, numerator, clock->n_samples, MOST_FRAMES);
    return FALSE;
}

/* Drops the frames whose number is beyond the frames of a second. */
static void
drop_beyond(VdifClock *clock, gint64 frame_rate)
{
    CtPackets *packets = clock->packets;
    guint kept = 0;
    for (guint i = 0; i < packets->packets->len; i++)
        if ((vdif_clock_frame(clock, i)->stamp & VDIF_NUMBER_MASK) < frame_rate)
            *vdif_clock_frame(clock, kept++) = *vdif_clock_frame(clock, i);
    packets->counts[CT_PACKETS_CORRUPT] += packets->packets->len - kept;
    g_array_set_size(packets->packets, kept);
}

gboolean
vdif_clock_find_rate(VdifClock *clock, const CtParams *given, GError **error)
{
    const gint64 n_samples = clock->n_samples;
    const Changes changes = find_frame_rate(clock);
    const gint64 counted = changes.counted;
    if (!find_given_rate(clock, given, &clock->rate, error))
        return FALSE;
    const gboolean is_counted = clock->rate == 0;
    if (is_counted)
        clock->rate = counted * n_samples;
    if (clock->rate == 0) {
        g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                    "%s: wants 'sample_rate', which neither its headers nor whole seconds of "
                    "frames say",
                    clock->path);
        return FALSE;
    }
    const gint64 frame_rate = clock->rate / n_samples;
    const guint beyond = count_beyond(clock, frame_rate);
    const guint n = clock->packets->packets->len;
    if (counted > frame_rate || beyond > n / 16) {
        g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                    "%s: wants a greater 'sample_rate' than %" G_GINT64_FORMAT
                    " Hz, by which no frame of a second has a number above %" G_GINT64_FORMAT
                    ", as %u of %u have",
                    clock->path, clock->rate, frame_rate - 1, beyond, n);
        return FALSE;
    }
    clock->needs_all |= clock->is_sample && may_be_another(clock, &changes, is_counted);
    drop_beyond(clock, frame_rate);
    return TRUE;
}

/* ---- time ---- */

/* Whether another of the sorted numbers, besides `number` itself, is at most `far` away. */
static gboolean
has_company(const GArray *sorted, gint64 number, gint64 far)
{
    guint low = 0, high = sorted->len;
    while (low < high) {
        const guint middle = low + (high - low) / 2;
        if (g_array_index(sorted, gint64, middle) < number - far)
            low = middle + 1;
        else
            high = middle;
    }
    return low + 1 < sorted->len && g_array_index(sorted, gint64, low + 1) <= number + far;
}

/* The time of the first frame in the files that has another frame at most `far` away. */
static gint64
find_base(const VdifClock *clock, gint64 far)
{
    g_autoptr(GArray) sorted = g_array_new(FALSE, FALSE, sizeof(gint64));
    for (guint i = 0; i < clock->packets->packets->len; i++)
        g_array_append_val(sorted, vdif_clock_frame(clock, i)->stamp);
    g_array_sort(sorted, compare_numbers);
    for (guint i = 0; i < sorted->len; i++)
        if (has_company(sorted, vdif_clock_frame(clock, i)->stamp, far))
            return vdif_clock_frame(clock, i)->stamp;
    return sorted->len > 0 ? vdif_clock_frame(clock, 0)->stamp : 0;
}

/* [frame] its distance from the frames before it that are right. A frame is right if it is near
 * those, or, after a pause, if its thread was right before and its next frame is near it. */
static gint64 *
measure_distances(const VdifClock *clock, gint64 base, gint64 far)
{
    const guint n = clock->packets->packets->len;
    gint64 *distances = g_new(gint64, MAX(n, 1));
    g_autofree gboolean *was_right = g_new0(gboolean, clock->n_threads);
    g_autofree guint *next = g_new(guint, MAX(n, 1)); /* of the same thread; n: none */
    g_autofree guint *upcoming = g_new(guint, clock->n_threads);
    for (guint lane = 0; lane < clock->n_threads; lane++)
        upcoming[lane] = n;
    for (guint i = n; i-- > 0;) {
        const guint lane = vdif_clock_frame(clock, i)->lane;
        next[i] = upcoming[lane];
        upcoming[lane] = i;
    }
    for (guint i = 0; i < n; i++) {
        const CtPacket *frame = vdif_clock_frame(clock, i);
        const gboolean goes_on =
            next[i] < n && ABS(vdif_clock_frame(clock, next[i])->stamp - frame->stamp) <= far;
        distances[i] = frame->stamp - base;
        if (ABS(distances[i]) > far && !(was_right[frame->lane] && goes_on))
            continue;
        was_right[frame->lane] = TRUE;
        distances[i] = 0;
        base = frame->stamp;
    }
    return distances;
}

/* The distance, in whole seconds, of most frames of a lane; 0: there is none. */
static gint64
common_distance(const VdifClock *clock, const gint64 *distances, guint lane, gint64 second)
{
    g_autoptr(GArray) sorted = g_array_new(FALSE, FALSE, sizeof(gint64));
    for (guint i = 0; i < clock->packets->packets->len; i++)
        if (vdif_clock_frame(clock, i)->lane == lane)
            g_array_append_val(sorted, distances[i]);
    if (sorted->len < 2)
        return 0;
    g_array_sort(sorted, compare_numbers);
    const gint64 median = g_array_index(sorted, gint64, sorted->len / 2);
    guint agree = 0;
    for (guint i = 0; i < sorted->len; i++)
        agree += ABS(g_array_index(sorted, gint64, i) - median) < second;
    const gint64 half = median < 0 ? -second / 2 : second / 2;
    return agree > 1 && agree * 2 > sorted->len ? (median + half) / second * second : 0;
}

/* Whether more than a few frames of a lane are far from the others. */
static gboolean
is_scattered(const VdifClock *clock, const gint64 *distances, guint lane, gint64 far)
{
    guint n = 0, n_far = 0;
    for (guint i = 0; i < clock->packets->packets->len; i++)
        if (vdif_clock_frame(clock, i)->lane == lane) {
            n++;
            n_far += ABS(distances[i]) > far;
        }
    return n_far > n / 16;
}

/* Some samplers write a wrong second in some threads, always off by the same amount. If most frames
 * of a thread are farther than `max_gap` from the others, all at one distance, the whole thread is
 * corrected. Stamps count frames. */
static void
mend_seconds(VdifClock *clock, gint64 second, gint64 base, gint64 far)
{
    g_autofree gint64 *distances = measure_distances(clock, base, far);
    for (guint lane = 0; lane < clock->n_threads; lane++) {
        const gint64 wrong = common_distance(clock, distances, lane, second);
        clock->needs_all |= clock->is_sample && is_scattered(clock, distances, lane, far);
        if (ABS(wrong) <= far)
            continue;
        clock->wrong[lane] = wrong;
        for (guint i = 0; i < clock->packets->packets->len; i++) {
            CtPacket *frame = vdif_clock_frame(clock, i);
            if (frame->lane != lane)
                continue;
            frame->stamp -= wrong;
            clock->packets->counts[CT_PACKETS_RESTAMPED]++;
        }
    }
}

/* Converts the stamp of a frame to samples, counted from `base`. FALSE: it does not fit 62 bits. */
static gboolean
count_from(const VdifClock *clock, CtPacket *frame, gint64 base)
{
    return !__builtin_mul_overflow(frame->stamp - base, clock->n_samples, &frame->stamp) &&
           ABS(frame->stamp) <= G_MAXINT64 / 2;
}

/* Converts stamps from frames to samples, counted from `base`; drops those that do not fit 62
 * bits. */
static void
count_samples(VdifClock *clock, gint64 base)
{
    CtPackets *packets = clock->packets;
    guint kept = 0;
    for (guint i = 0; i < packets->packets->len; i++) {
        CtPacket frame = *vdif_clock_frame(clock, i);
        if (count_from(clock, &frame, base))
            *vdif_clock_frame(clock, kept++) = frame;
    }
    packets->counts[CT_PACKETS_MISTIMED] += packets->packets->len - kept;
    g_array_set_size(packets->packets, kept);
}

/* The epoch is unix time 0 if 63 bits suffice; otherwise the second in which the samples begin. */
void
vdif_clock_ticks(const VdifClock *clock, gint64 *epoch, gint64 *start)
{
    const gint64 rate = clock->rate, first = clock->packets->first;
    const gint64 seconds = (first < 0 ? first - (rate - 1) : first) / rate; /* rounded down */
    const gint64 second = clock->second + seconds;
    gint64 ticks;
    const gboolean fits = !__builtin_mul_overflow(second, rate, &ticks) && ticks <= G_MAXINT64 / 2;
    *epoch = fits ? 0 : second;
    *start = (fits ? ticks : 0) - seconds * rate + first;
}

/* Seconds below 2³³, numbers below 2²⁴: frames below 2⁵⁷. */
static gint64
count_frames(gint64 stamp, gint64 second)
{
    return (stamp >> VDIF_NUMBER_BITS) * second + (stamp & VDIF_NUMBER_MASK);
}

gboolean
vdif_clock_place(const VdifClock *clock, CtPacket *frame, guint64 *counts)
{
    const gint64 second = clock->rate / clock->n_samples;
    if ((frame->stamp & VDIF_NUMBER_MASK) >= second) {
        counts[CT_PACKETS_CORRUPT]++;
        return FALSE;
    }
    frame->stamp = count_frames(frame->stamp, second) - clock->wrong[frame->lane];
    counts[CT_PACKETS_RESTAMPED] += clock->wrong[frame->lane] != 0;
    if (count_from(clock, frame, clock->second * second))
        return TRUE;
    counts[CT_PACKETS_MISTIMED]++;
    return FALSE;
}

void
vdif_clock_clear(VdifClock *clock)
{
    g_free(clock->wrong);
}

void
vdif_clock_count_samples(VdifClock *clock, gdouble max_gap)
{
    const gint64 second = clock->rate / clock->n_samples;
    clock->wrong = g_new0(gint64, MAX(clock->n_threads, 1));
    for (guint i = 0; i < clock->packets->packets->len; i++) {
        CtPacket *frame = vdif_clock_frame(clock, i);
        frame->stamp = count_frames(frame->stamp, second);
    }
    const gint64 far = (gint64)(max_gap * (gdouble)second);
    /* The first frame of a second. */
    const gint64 base = find_base(clock, far) / second * second;
    mend_seconds(clock, second, base, far);
    count_samples(clock, base);
    clock->second = base / second;
}
