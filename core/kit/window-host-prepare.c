/* SPDX-License-Identifier: BSD-3-Clause */
/* Preparing windows and shifts on the processor: what is staged for a tile, and the scratch. */
#include "window-host-private.h"

enum {
    LONG_TILE = 2048,  /* elements of a run if shifts spread far: many more samples are staged */
    MADE = 64,         /* indices of the new axis, at most */
    LONG_SPAN = 16384, /* samples of a term that are staged besides those of a tile, at most */
};

static gint64
padded(gint64 bytes)
{
    return (bytes + 63) & ~(gint64)63;
}

/* Finds the spans for tiles of `made` indices of the new axis; returns the longest, in samples
 * besides the first, or -1 on failure. */
static gint64
find_spans(CtWindowHost *self, gint64 made, GError **error)
{
    const gint64 n_terms = self->base.n_terms, n_made = self->base.n_made;
    const gint64 *shift = self->entries.shifts;
    gint64 longest = 0;
    g_clear_pointer(&self->spans, g_free);
    self->made = made;
    self->n_made_tiles = (n_made + made - 1) / made;
    if (made == 1)
        return 0;
    const gint64 n_tiles = self->entries.n / (n_terms * n_made) * self->n_made_tiles;
    self->spans = CT_TABLE(CtWindowSpan, n_tiles * n_terms, "shifts", error);
    if (!self->spans)
        return -1;
    for (gint64 tile = 0; tile < n_tiles; tile++) {
        const gint64 n = MIN(n_made - tile % self->n_made_tiles * made, made);
        for (gint64 i = 0; i < n * n_terms; i++, shift++) {
            CtWindowSpan *span = &self->spans[tile * n_terms + i % n_terms];
            span->least = i < n_terms ? *shift : MIN(span->least, *shift);
            span->most = i < n_terms ? *shift : MAX(span->most, *shift);
            longest = MAX(longest, span->most - span->least);
        }
    }
    return longest;
}

/* The axes with entries: those that both sides have, the new one, that of the sum. */
static gboolean
prepare_tables(CtWindowHost *self, const CtLayout *layout, GError **error)
{
    const CtWindowState *base = &self->base;
    const CtWindowChoice *choice = &base->taps->choice;
    CtBoxes *boxes = &self->base.form.boxes;
    const char *axes[CT_MAX_AXES + 1];
    /* Entries for every element make long rows; where shifts differ, runs are along time. */
    const gint64 n_sums = base->n_made * base->n_terms;
    self->is_single = n_sums == 1;
    const gboolean all = self->is_single && base->has_table && !base->shifts_differ;
    guint n = ct_window_place(&self->base, layout, all, n_sums, axes);
    if (base->made >= 0)
        axes[n++] = ct_axis_name(choice->made);
    n = ct_window_add_sums(base, axes, n);
    if (!ct_window_expand(base, axes, n, &self->entries, error))
        return FALSE;
    boxes->table = self->entries.shifts ? (const guint8 *)self->entries.shifts
                                        : (const guint8 *)self->entries.series;
    self->n_series = 1;
    for (guint a = 0; a < choice->shifts.n_axes; a++)
        self->n_series *= choice->shifts.lengths[a];
    return TRUE;
}

/* Divides the scratch memory; returns its size. */
static gsize
plan_scratch(CtWindowHost *self, gint64 longest)
{
    const gint64 n = self->tile + longest + self->base.taps->n - 1;
    const gsize group = (gsize)MIN(self->base.n_terms, CT_SHIFT_TERMS);
    self->slot = (gsize)padded(n * (gint64)MAX(self->x_bytes, self->in_bytes)) + 64;
    self->raw = group * self->slot;
    self->steps = self->raw + group * self->slot;
    self->given = self->steps + CT_CONVERT_SCRATCH(self->tile);
    self->sums = self->given + (gsize)self->tile * 16;
    self->w = self->sums + (gsize)(self->made * self->tile) * self->y_bytes;
    self->values = self->w + CT_WINDOW_REPEATED;
    /* After a change of a parameter, there may be lines, with a series for every index. */
    const CtFormTable *shifts = &self->base.taps->choice.shifts;
    gint64 most_series = self->is_single ? 1 : 0;
    for (guint a = 0; a < shifts->n_axes; a++)
        most_series *= ct_stream_length(self->base.in, shifts->axes[a]);
    return self->values + (gsize)most_series * (sizeof(gdouble) + sizeof(CtWindowLineFound));
}

gboolean
ct_window_prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    CtWindowHost *self = *state = g_new0(CtWindowHost, 1);
    const CtIsa isa = prepare->variant->isa;
    if (!ct_window_init(&self->base, prepare, isa, prepare->n_items, error))
        return FALSE;
    const CtFormState *form = &self->base.form;
    const CtType in = form->boxes.in_type, out = form->boxes.out_type;
    const CtType x = form->kernel ? form->kernel->x : in, y = form->kernel ? form->kernel->y : out;
    self->loads = in != x;
    self->stores = y != out;
    self->load = ct_convert_steps(isa, in, x);
    self->store = ct_convert_steps(isa, y, out);
    self->in_bytes = ct_type_info(in)->bytes;
    self->x_bytes = ct_type_info(x)->bytes;
    self->y_bytes = ct_type_info(y)->bytes;
    self->out_bytes = ct_type_info(out)->bytes;
    self->w_bytes = form->kernel ? ct_type_info(form->kernel->w)->bytes : 0;
    self->moves = self->base.taps->choice.line && prepare->nodes[0].footprint.window > 1;
    if (!prepare_tables(self, &prepare->inputs[0].layout, error))
        return FALSE;
    gint64 made = MIN(self->base.n_made, MADE), longest = find_spans(self, made, error);
    for (; longest > LONG_SPAN; longest = find_spans(self, made, error))
        made = (made + 1) / 2;
    if (longest < 0)
        return FALSE;
    self->tile = longest > LONG_TILE / 2 ? LONG_TILE : CT_WINDOW_TILE;
    prepare->scratch_bytes = plan_scratch(self, longest);
    return TRUE;
}

void
ct_window_finish(gpointer state)
{
    CtWindowHost *self = state;
    if (!self)
        return;
    ct_window_entries_clear(&self->entries);
    ct_window_clear(&self->base);
    g_free(self->spans);
    g_free(self);
}
