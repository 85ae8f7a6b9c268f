/* SPDX-License-Identifier: BSD-3-Clause */
/* The weights of visibilities: the number of spectra in which both inputs were valid.
 *
 * Validity is packed into bits, and pairs are counted by words. Almost always one input of a pair
 * is valid throughout, and the other's own count is the result. */
#include "correlate.h"

#include <string.h>

#define N_WORDS 64
#define PIECE   (64 * N_WORDS) /* spectra counted at once */

typedef struct {
    guint64 bits[N_WORDS];
    guint32 n_valid;
} Lane;

static void
read_lane(Lane *lane, const guint8 *validity, gsize n)
{
    memset(lane, 0, sizeof *lane);
    for (gsize t = 0; t < n; t++)
        lane->bits[t / 64] |= (guint64)validity[t] << t % 64;
    for (gsize w = 0; w < N_WORDS; w++)
        lane->n_valid += (guint32)__builtin_popcountll(lane->bits[w]);
}

static guint32
count_both(const Lane *a, const Lane *b, guint32 n)
{
    if (a->n_valid == n || b->n_valid == 0)
        return b->n_valid;
    if (b->n_valid == n || a->n_valid == 0)
        return a->n_valid;
    guint32 both = 0;
    for (gsize w = 0; w < (n + 63) / 64; w++)
        both += (guint32)__builtin_popcountll(a->bits[w] & b->bits[w]);
    return both;
}

/* The number of polarisations whose validity differs. */
static gint64
lanes_per_station(const Correlate *self)
{
    return self->weights_have_pol ? self->n_pols : 1;
}

gsize
ct_correlate_count_scratch(const Correlate *self)
{
    return (gsize)(self->n_stations * lanes_per_station(self)) * sizeof(Lane);
}

void
ct_correlate_count(const Correlate *self, const guint8 *validity, gint64 validity_stride, gint64 n,
                   guint32 *counts, gpointer scratch)
{
    const gint64 n_lanes = lanes_per_station(self);
    Lane *lanes = scratch; /* [station][pol] */

    if (!validity) {
        for (gsize k = 0; k < self->counts_per_item; k++)
            counts[k] += (guint32)n;
        return;
    }
    for (; n > 0; n -= PIECE, validity += PIECE) {
        const guint32 length = (guint32)MIN(n, PIECE);
        for (gint64 s = 0; s < self->n_stations; s++)
            for (gint64 p = 0; p < n_lanes; p++)
                read_lane(&lanes[s * n_lanes + p],
                          validity +
                              (s * self->station_lane + p * self->pol_lane) * validity_stride,
                          length);
        guint32 *count = counts;
        for (gint64 i = 0; i < self->n_stations; i++)
            for (gint64 j = 0; j <= i; j++)
                for (gint64 p = 0; p < n_lanes; p++)
                    for (gint64 q = 0; q < n_lanes; q++)
                        *count++ +=
                            count_both(&lanes[i * n_lanes + p], &lanes[j * n_lanes + q], length);
    }
}
