/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether stages that are attached to a variant can be run with it for the nodes of a graph. */
#include "epilogue-private.h"
#include "fold-across.h"

/* The most bytes of input of a hop that is folded: rings on a device have room for several. */
#define MOST_HOP_BYTES 0x1p26
/* The most bytes of the states of a group: a block of threads has shared memory for so many. */
#define MOST_GROUP_STATE_BYTES 128

/* Whether the input is not connected, or is static and one block is in effect for the whole
 * stream. Later blocks would take effect in the middle of a sum. */
static gboolean
is_constant(const CtNode *node, guint port)
{
    const CtStream *stream = &node->inputs[port];
    if (stream->type == CT_TYPE_NONE)
        return TRUE;
    const gint time = ct_stream_axis(stream, "time");
    return node->stage->inputs[port].flags & CT_PORT_STATIC &&
           (time < 0 || stream->axes[time].length == 1);
}

/* Whether the last node sums along time, from the first sample on, whole windows of one stream,
 * while nothing else changes; and whether the samples of a sum, which are all in one firing, are
 * not too many for that. */
static gboolean
fits_fold(const CtAttachment *self, const CtNode *nodes)
{
    const guint n_windows = self->n_own + self->n_attached - 1;
    const CtFootprint *sum = &nodes[n_windows].footprint;
    const CtStream *in = &nodes[0].inputs[0];
    gdouble bytes =
        (gdouble)ct_stream_width(in) * (gdouble)ct_type_info(in->type)->bytes * (gdouble)sum->hop;
    gboolean fits = sum->kind == CT_FOOTPRINT_SUM && sum->offset == 0;
    for (guint k = 0; k < n_windows; k++) {
        const CtFootprint *windows = &nodes[k].footprint;
        fits &= windows->kind == CT_FOOTPRINT_WINDOW;
        bytes *= (gdouble)windows->hop;
    }
    for (guint i = 1; i < nodes[0].n_inputs; i++)
        fits &= is_constant(&nodes[0], i);
    const gsize state_bytes = ct_epilogue_state_bytes(
        self->forms[self->n_attached - 1], &nodes[n_windows], nodes[n_windows - 1].outputs[0].type);
    return fits && state_bytes > 0 && bytes <= MOST_HOP_BYTES &&
           self->base->folds(nodes + self->n_before, sum->hop, state_bytes);
}

static gboolean
has_live_parameters(const CtStage *stage)
{
    gboolean has = FALSE;
    for (const CtParam *param = stage->params; param && param->name; param++)
        has |= (param->flags & CT_PARAM_LIVE) != 0;
    return has;
}

/* The maps and groups that are attached to a variant, taken together. */
typedef struct {
    gboolean fits;
    guint n_groups;     /* 1: a stage makes groups */
    guint n_y;          /* elements of a group behind that stage; 1: there is none */
    gboolean is_common; /* a group is valid or invalid as a whole */
    gboolean counts;
} Maps;

/* Adds a node to the others; `kinds` are those of forms that it may have. */
static void
add_map(Maps *maps, const CtForm *form, const CtNode *node, guint kinds)
{
    CtFormState state = {0};
    for (guint i = 1; i < node->n_inputs; i++)
        maps->fits &= node->inputs[i].type == CT_TYPE_NONE;
    if (!maps->fits)
        return;
    maps->fits = ct_epilogue_choose(&state, form, node, node->inputs[0].type, kinds, NULL);
    maps->counts |= ct_epilogue_counts(&state);
    if (maps->fits && ct_epilogue_is(&state, CT_FORM_GROUP)) {
        maps->fits = maps->n_groups++ == 0 && ct_epilogue_fits_group(&state, node);
        maps->n_y = state.kernel->n_y;
        maps->is_common =
            ct_stream_lane_step(&node->inputs[0], ct_axis_name(state.choice.group_in)) == 0 &&
            ct_stream_lane_step(&node->outputs[0], ct_axis_name(state.choice.group_out)) == 0;
    }
    ct_form_clear(&state);
}

/* The maps and groups that are attached to the variant, which have no tables before the fold at the
 * end of a chain. A stage of groups is one of a chain, since a kernel may have their elements in
 * several threads. */
static Maps
find_maps(const CtAttachment *self, const CtNode *nodes)
{
    const guint kinds = 1u << CT_FORM_MAP | (self->ends ? 0 : 1u << CT_FORM_TABLE) |
                        (self->ends || self->engine == &ct_chain_device ? 1u << CT_FORM_GROUP : 0);
    Maps maps = {.fits = TRUE, .n_y = 1, .is_common = TRUE};
    for (guint k = 0; k + (self->folds || self->ends ? 1 : 0) < self->n_attached; k++)
        add_map(&maps, self->forms[k], &nodes[k < self->n_before ? k : self->n_own + k], kinds);
    return maps;
}

/* Whether each row of the variant reads a type. */
static gboolean
reads_type(const CtVariant *variant, CtType type)
{
    for (const CtRow *row = variant->rows; row->layouts; row++) {
        g_autofree char *list = g_strndup(row->layouts, strcspn(row->layouts, "[{"));
        g_auto(GStrv) types = g_strsplit(list, "|", -1);
        if (!g_strv_contains((const char *const *)types, ct_type_info(type)->name))
            return FALSE;
    }
    return TRUE;
}

/* Whether the maps in front of the kernel make what it reads, and count nothing: the kernel does
 * not know which samples are valid. */
static gboolean
fits_prologue(const CtAttachment *self, const CtNode *nodes)
{
    for (guint k = 0; k < self->n_before; k++)
        if (nodes[k].stage->counters)
            return FALSE;
    return self->n_before == 0 || reads_type(self->base, nodes[self->n_before].inputs[0].type);
}

/* Whether the kernel of the fold at the end can have the maps before it. Of the states of all
 * threads of a block, one copy is in shared memory. A change of parameters would begin with another
 * state, without the sum so far. */
static gboolean
fits_chain(const CtAttachment *self, const CtNode *nodes, const Maps *maps)
{
    const guint last = self->n_attached - 1;
    const CtNode *sum = &nodes[last];
    const gsize state_bytes =
        maps->n_y * ct_epilogue_state_bytes(self->forms[last], sum, sum->inputs[0].type);
    gboolean fits = !ct_fold_axis(self->engine->form, sum) && state_bytes > 0 && maps->is_common &&
                    (maps->n_groups == 0 || state_bytes <= MOST_GROUP_STATE_BYTES);
    for (guint k = 0; k < last; k++)
        fits &= !nodes[k].stage->counters && !has_live_parameters(nodes[k].stage);
    return fits;
}

gboolean
ct_epilogue_variant_fits(const CtVariant *variant, const CtNode *nodes)
{
    const CtAttachment *self = variant->form;
    if (ct_epilogue_variant_member(variant, 0))
        return ct_chain_fits(self, nodes);
    const Maps maps = find_maps(self, nodes);
    if (!maps.fits || (maps.counts && !maps.is_common) || !fits_prologue(self, nodes))
        return FALSE;
    return self->ends ? fits_chain(self, nodes, &maps) : !self->folds || fits_fold(self, nodes);
}
