/* SPDX-License-Identifier: BSD-3-Clause */
/* Variants with stages attached behind them: the variant itself, with an epilogue. */
#include "epilogue-private.h"
#include "fold-private.h"

#include <string.h>

/* The most bytes of input of a hop that is folded: rings on a device have room for several. */
#define MOST_HOP_BYTES 0x1p26

/* What `form` of such a variant points to. */
typedef struct {
    CtVariant variant;
    const CtVariant *base; /* with no stage attached */
    guint n_own;           /* stages that the base covers */
    guint n_attached;
    const CtForm **forms; /* [n_attached] */
    gboolean folds;       /* the last one is a fold */
    const char **covers;
    CtRow *rows;
} Attachment;

/* The variant itself, prepared with an epilogue. */
typedef struct {
    gpointer state;
    CtEpilogue *epilogue;
} Prepared;

typedef struct {
    const CtVariant *base;
    Prepared plain;
    Prepared checked; /* for firings with invalid samples, if a stage counts or folds */
    /* If the last stage folds: */
    gint64 hop, n_lanes;
    CtSummedWindows windows; /* of the firing that was advanced; owns the validity */
    guint32 *counts;         /* of valid ones: [lane][sample of the output] */
} State;

/* ---- the functions ---- */

static void
clear(const CtVariant *base, Prepared *prepared)
{
    if (prepared->state && base->finish)
        base->finish(prepared->state);
    ct_epilogue_free(prepared->epilogue);
}

static void
finish(gpointer state)
{
    State *self = state;
    clear(self->base, &self->plain);
    clear(self->base, &self->checked);
    g_free(self->windows.validity);
    g_free(self->counts);
    g_free(self);
}

static gboolean
prepare_one(const Attachment *of, CtPrepare *prepare, gboolean checks, Prepared *prepared,
            GError **error)
{
    const CtNode *attached = &prepare->nodes[of->n_own];
    guint n_counters = 0;
    for (guint k = 0; k < of->n_own; k++)
        if (prepare->nodes[k].stage->counters)
            n_counters += g_strv_length((char **)prepare->nodes[k].stage->counters);
    prepared->epilogue =
        ct_epilogue_new(of->forms, attached, of->n_attached, attached[-1].outputs[0].type,
                        n_counters, checks, of->folds, &prepare->outputs[0], error);
    if (!prepared->epilogue)
        return FALSE;
    CtPrepare own = *prepare;
    own.variant = of->base;
    own.n_nodes = of->n_own;
    own.epilogue = prepared->epilogue;
    const gboolean good = of->base->prepare(&own, &prepared->state, error);
    prepare->scratch_bytes = own.scratch_bytes;
    prepare->upload_bytes = own.upload_bytes;
    prepare->n_items = own.n_items;
    return good;
}

static gboolean
allocate(State *self, const CtPrepare *prepare, GError **error)
{
    const gint64 max_samples = prepare->outputs[0].max_samples;
    self->hop = self->checked.epilogue->hop;
    self->n_lanes = ct_stream_n_lanes(prepare->outputs[0].stream);
    if (self->hop == 0)
        return TRUE;
    self->windows.validity =
        CT_TABLE(guint8, self->n_lanes * max_samples * self->hop, "validity", error);
    self->counts = self->windows.validity
                       ? CT_TABLE(guint32, self->n_lanes * max_samples, "counts", error)
                       : NULL;
    return self->counts != NULL;
}

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    const Attachment *of = prepare->variant->form;
    State *self = *state = g_new0(State, 1);
    const CtPrepare given = *prepare;
    self->base = of->base;
    if (!prepare_one(of, prepare, FALSE, &self->plain, error))
        return FALSE;
    if (!ct_epilogue_minds(self->plain.epilogue))
        return TRUE;
    *prepare = given;
    if (!prepare_one(of, prepare, TRUE, &self->checked, error) || !allocate(self, prepare, error))
        return FALSE;
    prepare->upload_bytes +=
        ct_epilogue_upload(self->checked.epilogue, self->n_lanes, prepare->outputs[0].max_samples);
    return TRUE;
}

static gboolean
advance(gpointer state, CtAdvance *advance, GError **error)
{
    const State *self = state;
    return self->base->advance(self->plain.state, advance, error);
}

static gboolean
advance_fold(gpointer state, CtAdvance *advance, GError **error)
{
    State *self = state;
    return ct_advance_summed(advance, &self->windows, error);
}

/* Counts the valid samples of each hop. */
static void
count(const State *self, gint64 n_samples)
{
    for (gint64 i = 0; i < self->n_lanes * n_samples; i++) {
        const guint8 *valid = self->windows.validity + i * self->hop;
        self->counts[i] = 0;
        for (gint64 t = 0; t < self->hop; t++)
            self->counts[i] += valid[t];
    }
}

static gboolean
work(gpointer state, const CtWork *work, GError **error)
{
    const State *self = state;
    const gboolean checks =
        self->checked.state &&
        (self->hop > 0 ? self->windows.invalid : work->outputs[0].validity_on_device != NULL);
    if (checks && self->hop > 0) {
        const CtFolded folded = {self->windows.validity, self->counts, self->n_lanes};
        count(self, work->outputs[0].n_samples);
        ct_epilogue_set_folded(self->checked.epilogue, &folded);
    }
    return self->base->work((checks ? &self->checked : &self->plain)->state, work, error);
}

/* ---- the table ---- */

static gboolean
is_attachment(const CtVariant *variant)
{
    return variant->prepare == prepare;
}

/* The row of the base with the types of the attached stage's output: "ci8[time] -> cf32[time]" and
 * "ci4|ci8{...}" give "ci8[time] -> ci4|ci8[time]". A second output is as its port says.
 * Allocated. */
static char *
attach_row(const char *row, const CtPort *ports)
{
    const char *output = strstr(row, " -> ") + strlen(" -> "), *port = ports[0].layout;
    const char *axes = output + strcspn(output, "[{");
    return g_strdup_printf("%.*s%.*s%s%s%s", (int)(output - row), row, (int)strcspn(port, "[{"),
                           port, axes, ports[1].name ? ", " : "",
                           ports[1].name ? ports[1].layout : "");
}

static CtRow *
attach_rows(const CtRow *rows, const CtPort *ports)
{
    guint n = 0;
    while (rows[n].layouts)
        n++;
    CtRow *own = g_new0(CtRow, n + 1);
    for (guint i = 0; i < n; i++)
        own[i] = (CtRow){attach_row(rows[i].layouts, ports), rows[i].efficiency};
    return own;
}

/* Whether the stage has one input that flows and one output, of which work marks no samples; a fold
 * may have a second output, which nothing may read. */
static gboolean
is_plain(const CtStage *stage, gboolean folds)
{
    return stage->outputs && stage->outputs[0].name &&
           (!stage->outputs[1].name || (folds && !stage->outputs[2].name)) &&
           !(stage->outputs[0].flags & CT_PORT_MARKED) &&
           !(stage->inputs[0].flags & CT_PORT_STATIC);
}

/* Whether the form is a fold that the base, a variant with maps attached or none, may take. */
static gboolean
can_fold(const CtVariant *base, const CtVariant *form)
{
    return form->flags & CT_VARIANT_FOLD && base->folds;
}

CtVariant *
ct_epilogue_variant_new(const CtVariant *base, const CtVariant *form, const CtStage *stage)
{
    const gboolean folds = can_fold(base, form);
    const gboolean maps = form->flags & CT_VARIANT_ATTACHABLE && !form->advance;
    if (!(base->flags & CT_VARIANT_EPILOGUE) || (!maps && !folds) || form->covers[1] ||
        !is_plain(stage, folds))
        return NULL;
    const Attachment *before = is_attachment(base) ? base->form : NULL;
    Attachment *self = g_new0(Attachment, 1);
    const guint n = g_strv_length((char **)base->covers);
    self->base = before ? before->base : base;
    self->n_own = before ? before->n_own : n;
    self->n_attached = n + 1 - self->n_own;
    self->forms = g_new0(const CtForm *, self->n_attached);
    for (guint k = 0; k + 1 < self->n_attached; k++)
        self->forms[k] = before->forms[k];
    self->forms[self->n_attached - 1] = form->form;
    self->folds = folds;
    self->covers = g_new0(const char *, n + 2);
    for (guint k = 0; k < n; k++)
        self->covers[k] = base->covers[k];
    self->covers[n] = stage->name;
    self->rows = attach_rows(base->rows, stage->outputs);
    self->variant = *self->base;
    self->variant.covers = self->covers;
    self->variant.rows = self->rows;
    self->variant.form = self;
    self->variant.prepare = prepare;
    self->variant.advance = folds ? advance_fold : self->base->advance ? advance : NULL;
    self->variant.flags &= folds ? ~(guint64)CT_VARIANT_EPILOGUE : ~(guint64)0;
    self->variant.work = work;
    self->variant.finish = finish;
    return &self->variant;
}

void
ct_epilogue_variant_free(CtVariant *variant)
{
    Attachment *self = (Attachment *)variant;
    if (!self)
        return;
    for (CtRow *row = self->rows; row->layouts; row++)
        g_free((char *)row->layouts);
    g_free(self->rows);
    g_free(self->covers);
    g_free(self->forms);
    g_free(self);
}

const CtVariant *
ct_epilogue_variant_base(const CtVariant *variant)
{
    return is_attachment(variant) ? ((const Attachment *)variant->form)->base : variant;
}

gboolean
ct_epilogue_variant_folds(const CtVariant *variant)
{
    return is_attachment(variant) && ((const Attachment *)variant->form)->folds;
}

/* Whether the last node sums along time, from the first sample on, whole windows of one stream; and
 * whether the samples of a sum, which are all in one firing, are not too many for that. */
static gboolean
fits_fold(const Attachment *self, const CtNode *nodes)
{
    const guint n_windows = self->n_own + self->n_attached - 1;
    const CtFootprint *sum = &nodes[n_windows].footprint;
    const CtStream *in = &nodes[0].inputs[0];
    gdouble bytes =
        (gdouble)ct_stream_width(in) * (gdouble)ct_type_info(in->type)->bytes * (gdouble)sum->hop;
    gboolean fits = sum->kind == CT_FOOTPRINT_SUM && sum->offset == 0;
    for (guint k = 0; k < n_windows; k++) {
        const CtFootprint *windows = &nodes[k].footprint;
        fits &= windows->kind == CT_FOOTPRINT_WINDOW && windows->lanes == CT_LANES_ALL;
        bytes *= (gdouble)windows->hop;
    }
    for (guint i = 1; i < nodes[0].n_inputs; i++)
        fits &= nodes[0].inputs[i].type == CT_TYPE_NONE;
    const gsize state_bytes = ct_epilogue_state_bytes(
        self->forms[self->n_attached - 1], &nodes[n_windows], nodes[n_windows - 1].outputs[0].type);
    return fits && state_bytes > 0 && bytes <= MOST_HOP_BYTES &&
           self->base->folds(nodes, sum->hop, state_bytes);
}

gboolean
ct_epilogue_variant_fits(const CtVariant *variant, const CtNode *nodes)
{
    const Attachment *self = variant->form;
    for (guint k = 0; k + (self->folds ? 1 : 0) < self->n_attached; k++) {
        const CtNode *node = &nodes[self->n_own + k];
        if (!ct_epilogue_takes(self->forms[k], node, node[-1].outputs[0].type))
            return FALSE;
    }
    return !self->folds || fits_fold(self, nodes);
}
