/* SPDX-License-Identifier: BSD-3-Clause */
/* Variants with stages attached to them: on a device the variant itself, with an epilogue, a
 * prologue or both; on the processor a chain. */
#include "epilogue-private.h"

#include <string.h>

/* The variant itself, prepared with an epilogue. */
typedef struct {
    gpointer state;
    CtEpilogue *epilogue; /* NULL: nothing is attached behind it */
    CtPrologue *prologue; /* NULL: nothing is attached in front of it */
} Prepared;

typedef struct {
    const CtVariant *engine;
    Prepared plain;
    Prepared checked; /* for firings with invalid samples, if a stage counts or folds */
    /* If the last stage folds: */
    gint64 hop, n_lanes;
    CtSummedWindows windows; /* of the firing that was advanced; owns the validity */
    guint32 *counts;         /* of valid ones: [lane][sample of the output] */
} State;

/* ---- the functions ---- */

static void
clear(const CtVariant *engine, Prepared *prepared)
{
    if (prepared->state && engine->finish)
        engine->finish(prepared->state);
    ct_epilogue_free(prepared->epilogue);
    ct_epilogue_free(prepared->prologue);
}

static void
finish(gpointer state)
{
    State *self = state;
    clear(self->engine, &self->plain);
    clear(self->engine, &self->checked);
    g_free(self->windows.validity);
    g_free(self->counts);
    g_free(self);
}

static gboolean
make_epilogue(const CtAttachment *of, const CtPrepare *prepare, gboolean checks, Prepared *prepared,
              GError **error)
{
    const guint n_inner = of->n_before + of->n_own;
    const CtNode *attached = &prepare->nodes[n_inner];
    guint n_counters = 0;
    if (n_inner == prepare->n_nodes)
        return TRUE;
    for (guint k = 0; k < n_inner; k++)
        if (prepare->nodes[k].stage->counters)
            n_counters += g_strv_length((char **)prepare->nodes[k].stage->counters);
    const CtEpilogueSpec spec = {
        .forms = of->forms + of->n_before,
        .nodes = attached,
        .n_nodes = of->n_attached - of->n_before,
        .given = of->n_own == 0 ? ct_layout_type(&prepare->inputs[0].layout)
                                : attached[0].inputs[0].type,
        .n_counters = n_counters,
        .checks = checks,
        .folds = of->folds,
        .in = &prepare->inputs[0],
        .out = &prepare->outputs[0],
    };
    prepared->epilogue = ct_epilogue_new(&spec, prepare->device, error);
    return prepared->epilogue != NULL;
}

static gboolean
make_prologue(const CtAttachment *of, const CtPrepare *prepare, Prepared *prepared, GError **error)
{
    const CtEpilogueSpec spec = {
        .forms = of->forms,
        .nodes = prepare->nodes,
        .n_nodes = of->n_before,
        .given = ct_layout_type(&prepare->inputs[0].layout),
        .is_prologue = TRUE,
        .in = &prepare->inputs[0],
    };
    if (of->n_before > 0)
        prepared->prologue = ct_epilogue_new(&spec, prepare->device, error);
    return of->n_before == 0 || prepared->prologue;
}

static gboolean
prepare_one(const CtAttachment *of, CtPrepare *prepare, gboolean checks, Prepared *prepared,
            GError **error)
{
    if (!make_epilogue(of, prepare, checks, prepared, error) ||
        !make_prologue(of, prepare, prepared, error))
        return FALSE;
    CtPrepare own = *prepare;
    own.variant = of->base;
    own.nodes += of->n_before;
    own.n_nodes = of->n_own;
    own.epilogue = prepared->epilogue;
    own.prologue = prepared->prologue;
    const gboolean good = of->engine->prepare(&own, &prepared->state, error);
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
    const CtAttachment *of = prepare->variant->form;
    State *self = *state = g_new0(State, 1);
    const CtPrepare given = *prepare;
    self->engine = of->engine;
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
    return self->engine->advance(self->plain.state, advance, error);
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
    return self->engine->work((checks ? &self->checked : &self->plain)->state, work, error);
}

/* ---- a fold behind maps, which its kernel has ---- */

/* The state is that of the fold. */
static gboolean
prepare_fold(CtPrepare *prepare, gpointer *state, GError **error)
{
    const CtAttachment *of = prepare->variant->form;
    const guint last = of->n_attached - 1;
    CtPrepare own = *prepare;
    const CtEpilogueSpec spec = {
        .forms = of->forms,
        .nodes = prepare->nodes,
        .n_nodes = of->n_attached,
        .given = ct_layout_type(&prepare->inputs[0].layout),
        .folds = TRUE,
        .in = &prepare->inputs[0],
        .out = &prepare->outputs[0],
    };
    own.epilogue = ct_epilogue_new(&spec, prepare->device, error);
    if (!own.epilogue)
        return FALSE;
    own.variant = of->engine;
    own.nodes = &prepare->nodes[last];
    own.n_nodes = 1;
    const gboolean good = of->engine->prepare(&own, state, error);
    prepare->scratch_bytes = own.scratch_bytes;
    prepare->upload_bytes = own.upload_bytes;
    prepare->n_items = own.n_items;
    return good;
}

/* ---- the table ---- */

static gboolean
is_chain(const CtVariant *variant)
{
    return variant->prepare == ct_chain_prepare;
}

static gboolean
is_attachment(const CtVariant *variant)
{
    return variant->prepare == prepare || variant->prepare == prepare_fold || is_chain(variant);
}

/* Whether the variant, for a device, is one of maps or groups, or a chain of such. */
static gboolean
is_device_map(const CtVariant *variant)
{
    return variant->flags & CT_VARIANT_ATTACHABLE && !variant->advance;
}

/* Whether the form is a kernel that may have the maps of the base in front of it. */
static gboolean
precedes_kernel(const CtVariant *base, const CtVariant *form)
{
    return is_device_map(base) && form->flags & CT_VARIANT_PROLOGUE;
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

/* The row of a kernel with the types of the input of the maps before it, whose row is given:
 * "cf32[time] -> f32[time]" and "ci4|ci8{...} -> …" give "ci4|ci8[time] -> f32[time]". Allocated.
 */
static char *
precede_row(const char *row, const char *before)
{
    return g_strdup_printf("%.*s%s", (int)strcspn(before, "[{"), before, row + strcspn(row, "[{"));
}

/* Chains have no blocks, and leave transposes to others: rows with a ':' are not theirs. */
static CtRow *
attach_rows(const CtVariant *base, const CtVariant *form, const CtPort *ports)
{
    const gboolean precedes = precedes_kernel(base, form);
    const CtRow *rows = precedes ? form->rows : base->rows;
    guint n = 0, n_kept = 0;
    while (rows[n].layouts)
        n++;
    CtRow *own = g_new0(CtRow, n + 1);
    for (guint i = 0; i < n; i++) {
        const CtRow *row = &rows[i];
        char *layouts = precedes ? precede_row(row->layouts, base->rows[0].layouts)
                                 : attach_row(row->layouts, ports);
        if (base->backend != CT_CPU || !strchr(row->layouts, ':'))
            own[n_kept++] = (CtRow){layouts, row->efficiency};
        else
            g_free(layouts);
    }
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

/* Whether the form is a fold whose kernel may have the maps of the base. */
static gboolean
ends_chain(const CtVariant *base, const CtVariant *form)
{
    return is_device_map(base) && form->flags & CT_VARIANT_FOLD;
}

/* Whether the stage of `form` may be attached behind the stages of `base`. */
static gboolean
is_attachable(const CtVariant *base, const CtVariant *form)
{
    if (base->flags & CT_VARIANT_EPILOGUE || is_device_map(base))
        return form->backend == base->backend && !form->covers[1] &&
               (is_device_map(form) || can_fold(base, form) || ends_chain(base, form) ||
                precedes_kernel(base, form));
    return (is_chain(base) || ct_chain_takes(base)) && ct_chain_takes(form) &&
           form->isa == base->isa;
}

/* Makes the variant run with the stages attached; nothing is behind a fold. */
static void
set_functions(CtAttachment *self)
{
    CtVariant *variant = &self->variant;
    const gboolean on_host = self->base->backend == CT_CPU;
    const guint64 behind = CT_VARIANT_EPILOGUE | CT_VARIANT_ATTACHABLE | CT_VARIANT_FOLD;
    *variant = self->ends ? *self->engine : *self->base;
    if (self->ends || self->folds)
        variant->flags &= ~behind;
    variant->prepare = on_host ? ct_chain_prepare : self->ends ? prepare_fold : prepare;
    if (self->ends)
        return;
    variant->advance = self->folds ? advance_fold : self->base->advance ? advance : NULL;
    variant->work = on_host ? ct_chain_work : work;
    variant->finish = on_host ? ct_chain_finish : finish;
}

gboolean
ct_epilogue_variant_takes(const CtVariant *base)
{
    return base->flags & CT_VARIANT_EPILOGUE || is_device_map(base) || is_chain(base) ||
           ct_chain_takes(base);
}

/* Sets what is attached: behind a map on a device also the map itself; before a kernel, all maps of
 * the base. */
static void
set_attached(CtAttachment *self, const CtVariant *base, const CtVariant *form)
{
    const CtAttachment *before = is_attachment(base) ? base->form : NULL;
    const gboolean precedes = precedes_kernel(base, form);
    const guint n = g_strv_length((char **)base->covers) + 1;
    self->base = precedes ? form : ct_epilogue_variant_base(base);
    const gboolean moves = is_device_map(self->base);
    self->engine = ends_chain(base, form) ? form : moves ? &ct_chain_device : self->base;
    self->n_before = precedes ? n - 1 : before ? before->n_before : 0;
    self->n_own = moves ? 0 : g_strv_length((char **)self->base->covers);
    self->n_attached = n - self->n_own;
    self->attached = g_new0(const CtVariant *, self->n_attached);
    self->forms = g_new0(const CtForm *, self->n_attached);
    self->attached[0] = base;
    for (guint k = 0; before && k < before->n_attached; k++)
        self->attached[k] = before->attached[k];
    if (!precedes)
        self->attached[self->n_attached - 1] = form;
    for (guint k = 0; k < self->n_attached; k++)
        self->forms[k] = self->attached[k]->form;
}

CtVariant *
ct_epilogue_variant_new(const CtVariant *base, const CtVariant *form, const CtStage *stage)
{
    const gboolean folds = can_fold(base, form);
    if (!is_attachable(base, form) || !is_plain(stage, folds || ends_chain(base, form)))
        return NULL;
    CtAttachment *self = g_new0(CtAttachment, 1);
    const guint n = g_strv_length((char **)base->covers);
    set_attached(self, base, form);
    self->folds = folds;
    self->ends = ends_chain(base, form);
    self->covers = g_new0(const char *, n + 2);
    for (guint k = 0; k < n; k++)
        self->covers[k] = base->covers[k];
    self->covers[n] = stage->name;
    self->rows = attach_rows(base, form, stage->outputs);
    set_functions(self);
    self->variant.covers = self->covers;
    self->variant.rows = self->rows;
    self->variant.form = self;
    return &self->variant;
}

void
ct_epilogue_variant_free(CtVariant *variant)
{
    CtAttachment *self = (CtAttachment *)variant;
    if (!self)
        return;
    for (CtRow *row = self->rows; row->layouts; row++)
        g_free((char *)row->layouts);
    g_free(self->rows);
    g_free(self->covers);
    g_free(self->attached);
    g_free(self->forms);
    g_free(self);
}

const CtVariant *
ct_epilogue_variant_base(const CtVariant *variant)
{
    return is_attachment(variant) ? ((const CtAttachment *)variant->form)->base : variant;
}

const CtVariant *
ct_epilogue_variant_member(const CtVariant *variant, guint k)
{
    if (!is_chain(variant))
        return NULL;
    const CtAttachment *self = variant->form;
    return k == 0 ? self->base : self->attached[k - 1];
}

guint
ct_epilogue_variant_n_before(const CtVariant *variant)
{
    return is_attachment(variant) ? ((const CtAttachment *)variant->form)->n_before : 0;
}

gboolean
ct_epilogue_variant_folds(const CtVariant *variant)
{
    return is_attachment(variant) && ((const CtAttachment *)variant->form)->folds;
}
