/* SPDX-License-Identifier: BSD-3-Clause */
/* The correlator on a device: the division of a firing into pieces, their launches, and what is
 * kept from one to the next. */
#include "correlate-cuda.h"

/* Describes all of the piece but time: strides and alignments. */
static void
describe(const CorrelateDevice *self, const CtWork *work, CorrelatePiece *piece)
{
    const Correlate *correlate = self->correlate;
    const CtBlock *in = &work->inputs[0], *out = &work->outputs[0];
    const gint64 in_bytes = (gint64)ct_type_info(correlate->input)->bytes * correlate->block;
    const gint64 out_bytes = (gint64)ct_type_info(correlate->output)->bytes;
    *piece = (CorrelatePiece){
        .from_time = stride(in, correlate->from_time),
        .from_station = stride(in, correlate->from_station),
        .from_pol = stride(in, correlate->from_pol),
        .to_time = stride(out, correlate->to_time),
        .to_baseline = stride(out, correlate->to_baseline),
        .to_p = stride(out, correlate->to_p),
        .to_q = stride(out, correlate->to_q),
        .n_axes = (int)correlate->n_axes,
        .integration = correlate->integration,
        .sums = self->sums,
        .open = self->open,
        .left = self->left,
    };
    gint64 from = (gint64)GPOINTER_TO_SIZE(in->data) | piece->from_time | self->n_inputs * in_bytes;
    gint64 to = (gint64)GPOINTER_TO_SIZE(out->data) | piece->to_time | piece->to_baseline;
    for (guint a = 0; a < correlate->n_axes; a++) {
        const CorrelateAxis *axis = &correlate->axes[a];
        piece->axes[a] =
            (CorrelatePieceAxis){axis->length, in->stride[axis->from], out->stride[axis->to]};
        if (axis->length > 1) {
            from |= in->stride[axis->from];
            to |= out->stride[axis->to];
        }
    }
    const gboolean is_contiguous =
        (correlate->n_pols == 1 || piece->from_pol == in_bytes) &&
        (correlate->n_stations == 1 || piece->from_station == correlate->n_pols * in_bytes);
    for (int width = 16; is_contiguous && piece->width == 0 && width >= 4; width /= 2)
        piece->width = from % width == 0 ? width : 0;
    piece->are_packed = correlate->n_pols == 2 && piece->to_q == out_bytes &&
                        piece->to_p == 2 * out_bytes && to % 16 == 0;
}

/* The number of ranges of `n` spectra, if the first integration already has `done`. */
static gint64
count_ranges(const CorrelateDevice *self, gint64 done, gint64 n)
{
    const gint64 integration = self->correlate->integration;
    if (self->chunk == 0)
        return divide_up(done + n, integration);
    const gint64 whole = (done + n) / integration, rest = (done + n) % integration;
    return whole * divide_up(integration, self->chunk) + divide_up(rest, self->chunk) -
           done / self->chunk;
}

/* The number of `n` spectra that a piece may have. */
static gint64
limit_piece(const CorrelateDevice *self, gint64 done, gint64 n)
{
    const gint64 integration = self->correlate->integration;
    const gint64 most = self->arithmetic->most;
    n = MIN(n, 1 << 30);
    /* An integration begun earlier is a piece of its own. */
    if (done > 0)
        n = MIN(n, integration - done);
    if (self->chunk == 0) {
        if (most > 0 && integration > most)
            n = MIN(n, most);
        /* The number of blocks of a launch is limited. */
        const gint64 most_ranges = G_MAXINT / self->n_tiles / self->correlate->n_items;
        return n / integration < most_ranges ? n : most_ranges * integration;
    }
    if (count_ranges(self, done, n) <= self->most_ranges)
        return n;
    const gint64 n_chunks = divide_up(integration, self->chunk);
    if (done == 0 && n_chunks <= self->most_ranges)
        return self->most_ranges / n_chunks * integration;
    return self->most_ranges * self->chunk - done % self->chunk;
}

/* Decides where the sums of integers are that the piece goes on with, and where those are kept that
 * it leaves unfinished: with the open ones as long as these fit 32 bits. Parts of 32 bits are added
 * up in 64. */
static void
carry_sums(CorrelateDevice *self, CorrelatePiece *piece)
{
    if (piece->done == 0)
        self->n_summed = self->n_open = 0;
    piece->adds_sums = self->n_summed > 0;
    piece->adds_open = self->n_open > 0;
    const gint64 last = piece->done + piece->n_spectra;
    const gint64 unfinished = piece->ended ? 0 : last % piece->integration;
    const gint64 open = self->n_open + MIN(unfinished, piece->n_spectra);
    piece->keeps_open =
        self->arithmetic->has_open && !piece->parts && open < self->arithmetic->most;
    self->n_open = piece->keeps_open && unfinished > 0 ? open : 0;
    self->n_summed = unfinished - self->n_open;
}

static gboolean
correlate_piece(CorrelateDevice *self, const CtWork *work, CorrelatePiece *piece, GError **error)
{
    const gint64 n_integrations = divide_up(piece->done + piece->n_spectra, piece->integration);
    /* Integrations of one part need no sums of parts. */
    piece->chunk = self->chunk;
    piece->n_ranges = (int)count_ranges(self, piece->done, piece->n_spectra);
    piece->parts = NULL;
    if (self->chunk > 0 && piece->n_ranges > n_integrations)
        piece->parts = work->scratch;
    else
        piece->n_ranges = (int)n_integrations;
    carry_sums(self, piece);
    const gint64 n_units = self->n_tiles * self->correlate->n_items * piece->n_ranges;
    gint64 n_blocks = divide_up(n_units, self->tile.n_units);
    if (self->tile.multiprocessor_blocks > 0)
        n_blocks = MIN(n_blocks, (gint64)self->tile.multiprocessor_blocks *
                                     ct_device_info(self->device)->n_multiprocessors);
    if (!launch(work, self->products, n_blocks, self->tile.n_threads, self->tile.shared_bytes,
                (gpointer[]){piece}, error))
        return FALSE;
    int n = (int)n_integrations;
    return !piece->parts ||
           launch(work, self->fold, divide_up(self->n_elements * n_integrations, ELEMENT_THREADS),
                  ELEMENT_THREADS, 0, (gpointer[]){piece, &n}, error);
}

/* Sums whole chunks of a piece of `n` spectra and of those that are left from the pieces before.
 * Spectra of a chunk that stays unfinished are kept for the next piece. */
static gboolean
correlate_chunks(CorrelateDevice *self, const CtWork *work, CorrelatePiece *piece, gint64 n,
                 GError **error)
{
    const gint64 chunk = self->arithmetic->chunk;
    const gint64 left = piece->done % chunk, last = (piece->done + n) % piece->integration;
    const gint64 rest = piece->ended ? 0 : last % chunk;
    const gint64 n_summed = left + n - rest;
    piece->n_left = (int)left;
    piece->done -= left;
    piece->n_spectra = (int)n_summed;
    const guint8 *voltages = piece->voltages;
    /* Nothing is read before the block. */
    piece->voltages =
        GSIZE_TO_POINTER(GPOINTER_TO_SIZE(voltages) - (gsize)(left * piece->from_time));
    if ((n_summed > 0 || piece->ended) && !correlate_piece(self, work, piece, error))
        return FALSE;
    int n_kept = (int)MIN(rest, n), first = (int)(n - n_kept), to = (int)(rest - n_kept);
    piece->voltages = voltages;
    const gint64 n_copied = self->correlate->n_items * n_kept * self->n_inputs;
    return n_kept == 0 ||
           launch(work, self->keep, divide_up(n_copied, ELEMENT_THREADS), ELEMENT_THREADS, 0,
                  (gpointer[]){piece, &first, &n_kept, &to}, error);
}

gboolean
ct_correlate_pieces(CorrelateDevice *self, const CtWork *work, GError **error)
{
    const CtBlock *in = &work->inputs[0];
    const guint8 *voltages = in->data;
    guint8 *visibilities = work->outputs[0].data;
    const gint64 block = self->correlate->block;
    const gint64 lead = (in->index + self->correlate->before_sums) % block;
    gint64 done = in->index % self->correlate->integration;
    CorrelatePiece piece;

    describe(self, work, &piece);
    gint64 t = 0, n;
    do {
        n = limit_piece(self, done, in->n_samples - t);
        piece.voltages = voltages + (lead + t) / block * piece.from_time;
        piece.lead = (int)((lead + t) % block);
        piece.visibilities = visibilities;
        piece.n_spectra = (int)n;
        piece.done = done;
        piece.ended = work->ended && t + n == in->n_samples;
        if (!(self->keep ? correlate_chunks(self, work, &piece, n, error)
                         : correlate_piece(self, work, &piece, error)))
            return FALSE;
        visibilities += (done + n) / piece.integration * piece.to_time;
        done = (done + n) % piece.integration;
        t += n;
    } while (t < in->n_samples);
    return TRUE;
}
