/* SPDX-License-Identifier: BSD-3-Clause */
/* Chains: stages of the kit, one attached behind the other, on the processor. A firing is cut into
 * chunks along time and one more axis; all stages work on a chunk, one after another, before the
 * next one, and what lies between them is in scratch memory of a chunk's size.
 *
 * The functions are those of the stages by themselves, and so are the results. */
#include "epilogue-private.h"
#include "form-private.h"

#include <string.h>

/* The bytes of a chunk in that stream, of all, which has most: about so many, or fewer if a firing
 * would have few chunks for each worker. */
#define CHUNK_BYTES       ((gint64)128 << 10)
#define LEAST_CHUNK_BYTES ((gint64)16 << 10)
#define CHUNKS_OF_WORKER  4
/* Samples of a chunk, at least, if time is faster than the other axis: then runs are along time. */
#define LONG_RUN ((gint64)64)

/* A stream before, between or behind the stages. */
typedef struct {
    const CtStream *stream;
    CtLayout layout;
    gint time, axis;            /* positions of the axes that are cut; −1: none */
    gint64 length[CT_MAX_AXES]; /* of a chunk in scratch memory */
    gint64 stride[CT_MAX_AXES];
} Port;

typedef struct {
    gpointer state;
    guint first_counter; /* of the node's counters */
    gboolean counts;
} Member;

typedef struct {
    guint n;
    Member *members;           /* [n] */
    Port *ports;               /* [n + 1] */
    const char *axis;          /* interned; NULL: only time is cut */
    gint64 n_along;            /* length of the axis, or 1 */
    gint64 n_times, n_of_axis; /* of a chunk, at most */
    gboolean time_first;       /* time is slower than the axis */
    gint64 n_items;
    gsize member_bytes, chunk_bytes; /* scratch of a member, and of each of two chunks */
} State;

/* The work of a member on chunks of one size: the blocks and the walk are those of the first one.
 */
typedef struct {
    CtBlock in, out;
    CtFormPart part;
} Step;

/* A chunk: samples and elements of the axis. */
typedef struct {
    gint64 t, n_times, a, n_of_axis;
} Chunk;

/* ---- the stages that fit ---- */

gboolean
ct_chain_takes(const CtVariant *variant)
{
    return variant->backend == CT_CPU && variant->prepare == ct_form_prepare &&
           variant->work == ct_form_work && !variant->advance && !variant->covers[1];
}

/* Whether a node's kernel can be chosen; *counts tells whether it counts. */
static gboolean
takes_node(const CtForm *form, CtIsa isa, const CtNode *node, gboolean *counts)
{
    CtFormState state = {.form = form};
    state.boxes.in_type = node->inputs[0].type;
    state.boxes.out_type = node->outputs[0].type;
    const gboolean good = ct_form_choose(form, node, &state.choice, NULL) &&
                          ct_form_check(form, &state.choice, NULL) &&
                          (!state.choice.kernel || ct_form_bind(&state, isa, CT_FORM_MAPS, NULL));
    *counts = good && state.kernel && state.kernel->n_counters > 0;
    ct_form_clear(&state);
    return good;
}

static gboolean
has_same_lanes(const CtStream *a, const CtStream *b)
{
    gboolean same = ct_stream_n_lanes(a) == ct_stream_n_lanes(b);
    for (guint i = 0; i < a->n_axes; i++)
        same &= ct_stream_lane_step(a, a->axes[i].name) == ct_stream_lane_step(b, a->axes[i].name);
    return same;
}

/* A stage that counts behind others counts in valid samples alone, and knows only those of the
 * chain's input. */
gboolean
ct_chain_fits(const CtAttachment *chain, const CtNode *nodes)
{
    const CtIsa isa = chain->base->isa;
    for (guint i = 1; i < nodes[0].n_inputs; i++)
        if (nodes[0].inputs[i].type != CT_TYPE_NONE)
            return FALSE;
    for (guint k = 0; k <= chain->n_attached; k++) {
        const CtForm *form = k == 0 ? chain->base->form : chain->forms[k - 1];
        gboolean counts;
        if (!takes_node(form, isa, &nodes[k], &counts) ||
            (counts && !has_same_lanes(&nodes[0].inputs[0], &nodes[k].inputs[0])))
            return FALSE;
    }
    return TRUE;
}

/* ---- prepare ---- */

void
ct_chain_finish(gpointer state)
{
    State *self = state;
    for (guint k = 0; self->members && k < self->n; k++)
        ct_form_finish(self->members[k].state);
    g_free(self->members);
    g_free(self->ports);
    g_free(self);
}

/* Lays a stream between two stages out like the chain's output, or like its input if it has axes
 * that the output lacks. */
static gboolean
lay_out(Port *port, const CtPrepare *prepare, GError **error)
{
    const CtLayout *like = &prepare->outputs[0].layout;
    for (guint a = 0; a < port->stream->n_axes; a++)
        if (ct_layout_axis(like, port->stream->axes[a].name) < 0)
            like = &prepare->inputs[0].layout;
    CtLayout any;
    return ct_layout_parse(&any, "{...}", error) &&
           ct_layout_resolve(&port->layout, &any, port->stream, port->stream->type, like, error);
}

static gboolean
set_ports(State *self, const CtPrepare *prepare, GError **error)
{
    self->ports = g_new0(Port, self->n + 1);
    for (guint k = 0; k <= self->n; k++) {
        Port *port = &self->ports[k];
        const CtBinding *bound = k == 0         ? &prepare->inputs[0]
                                 : k == self->n ? &prepare->outputs[0]
                                                : NULL;
        port->stream = bound ? bound->stream : &prepare->nodes[k - 1].outputs[0];
        if (bound)
            port->layout = bound->layout;
        else if (!lay_out(port, prepare, error))
            return FALSE;
        port->time = ct_layout_axis(&port->layout, "time");
    }
    return TRUE;
}

static gboolean
prepare_member(State *self, CtPrepare *prepare, guint k, GError **error)
{
    const CtNode *node = &prepare->nodes[k];
    Member *member = &self->members[k];
    const Port *in = &self->ports[k], *out = &self->ports[k + 1];
    const gint64 most = prepare->outputs[0].max_samples;
    const CtBinding from = {.stream = in->stream, .layout = in->layout, .max_samples = most};
    const CtBinding to = {.stream = out->stream, .layout = out->layout, .max_samples = most};
    CtPrepare own = *prepare;
    own.variant = ct_epilogue_variant_member(prepare->variant, k);
    own.nodes = node;
    own.n_nodes = own.n_inputs = own.n_outputs = 1;
    own.inputs = &from;
    own.outputs = &to;
    own.n_items = 1;
    const gboolean good = ct_form_prepare(&own, &member->state, error);
    self->member_bytes = MAX(self->member_bytes, own.scratch_bytes);
    return good;
}

static gboolean
prepare_members(State *self, CtPrepare *prepare, GError **error)
{
    guint n_counters = 0;
    self->members = g_new0(Member, self->n);
    for (guint k = 0; k < self->n; k++) {
        const CtStage *stage = prepare->nodes[k].stage;
        self->members[k].first_counter = n_counters;
        if (!prepare_member(self, prepare, k, error))
            return FALSE;
        const CtFormState *form = self->members[k].state;
        self->members[k].counts = form->kernel && form->kernel->n_counters > 0;
        n_counters += stage->counters ? g_strv_length((char **)stage->counters) : 0;
    }
    return TRUE;
}

/* ---- chunks ---- */

/* Whether all streams have the axis, of one length, and no group is along it. */
static gboolean
is_common(const State *self, const char *name)
{
    for (guint k = 0; k < self->n; k++) {
        const CtFormChoice *choice = &((const CtFormState *)self->members[k].state)->choice;
        if (g_strcmp0(choice->group_in, name) == 0 || g_strcmp0(choice->group_out, name) == 0)
            return FALSE;
    }
    const gint64 length = ct_stream_length(self->ports[0].stream, name);
    for (guint k = 0; k <= self->n; k++)
        if (ct_layout_axis(&self->ports[k].layout, name) < 0 ||
            ct_layout_block_axis(&self->ports[k].layout, name) >= 0 ||
            ct_stream_axis(self->ports[k].stream, name) < 0 ||
            ct_stream_length(self->ports[k].stream, name) != length)
            return FALSE;
    return TRUE;
}

/* The bytes of a sample of the stream that has most. */
static gint64
sample_bytes(const State *self)
{
    gint64 most = 1;
    for (guint k = 0; k <= self->n; k++) {
        const CtStream *stream = self->ports[k].stream;
        most = MAX(most, (gint64)ct_type_info(stream->type)->bytes * ct_stream_width(stream));
    }
    return most;
}

/* The bytes of a chunk that are aimed at. */
static gint64
aim_of(const State *self, const CtPrepare *prepare)
{
    const gdouble all =
        (gdouble)sample_bytes(self) * (gdouble)MAX(prepare->outputs[0].max_samples, 1);
    const gdouble share = all / CHUNKS_OF_WORKER / MAX(prepare->n_workers, 1);
    return (gint64)CLAMP(share, (gdouble)LEAST_CHUNK_BYTES, (gdouble)CHUNK_BYTES);
}

/* Chooses the axis that is cut: the slowest one of the output of which an element fits into `aim`
 * bytes, else the longest. */
static void
choose_axis(State *self, gint64 aim)
{
    const CtLayout *layout = &self->ports[self->n].layout;
    const gint64 bytes = sample_bytes(self);
    self->n_along = 1;
    for (guint a = 0; a < layout->n_axes; a++) {
        const char *name = layout->axes[a].name;
        const gint64 least = (gint)a < self->ports[self->n].time ? LONG_RUN : 1;
        if ((gint)a == self->ports[self->n].time || !is_common(self, name) ||
            ct_stream_length(self->ports[0].stream, name) <= self->n_along)
            continue;
        self->axis = ct_axis_name(name);
        self->n_along = ct_stream_length(self->ports[0].stream, name);
        if (bytes / self->n_along * least <= aim)
            break;
    }
    for (guint k = 0; k <= self->n; k++)
        self->ports[k].axis = self->axis ? ct_layout_axis(&self->ports[k].layout, self->axis) : -1;
}

/* Sizes a chunk of about `aim` bytes: of the two axes, the slower one is cut first. */
static void
size_chunks(State *self, gint64 aim, gint64 max_samples)
{
    const Port *out = &self->ports[self->n];
    const gint64 most = MAX(max_samples, 1);
    const gint64 bytes = MAX(sample_bytes(self) / self->n_along, 1);
    self->time_first = out->time < out->axis || !self->axis;
    if (self->time_first) {
        self->n_of_axis = CLAMP(aim / bytes, 1, self->n_along);
        self->n_times = CLAMP(aim / bytes / self->n_of_axis, 1, most);
    } else {
        self->n_times = CLAMP(aim / bytes, MIN(LONG_RUN, most), most);
        self->n_of_axis = CLAMP(aim / bytes / self->n_times, 1, self->n_along);
    }
}

/* The place of a chunk in scratch memory, packed. */
static void
place_chunk(State *self, Port *port)
{
    gint64 bytes = (gint64)ct_type_info(port->stream->type)->bytes;
    for (gint a = (gint)port->layout.n_axes - 1; a >= 0; a--) {
        port->length[a] = a == port->time ? self->n_times
                          : a == port->axis
                              ? self->n_of_axis
                              : ct_stream_length(port->stream, port->layout.axes[a].name);
        port->stride[a] = bytes;
        bytes *= port->length[a];
    }
    self->chunk_bytes = MAX(self->chunk_bytes, ((gsize)bytes + 63) / 64 * 64);
}

gboolean
ct_chain_prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    State *self = *state = g_new0(State, 1);
    self->n = prepare->n_nodes;
    self->n_items = prepare->n_items;
    if (!set_ports(self, prepare, error) || !prepare_members(self, prepare, error))
        return FALSE;
    const gint64 aim = aim_of(self, prepare);
    choose_axis(self, aim);
    size_chunks(self, aim, prepare->outputs[0].max_samples);
    for (guint k = 1; k < self->n; k++)
        place_chunk(self, &self->ports[k]);
    self->member_bytes = (self->member_bytes + 63) / 64 * 64;
    prepare->scratch_bytes =
        self->member_bytes + 2 * self->chunk_bytes + 2 * self->n * sizeof(Step);
    return TRUE;
}

/* ---- work ---- */

/* The part of a block that a chunk covers. */
static CtBlock
cut(const CtBlock *whole, const Port *port, const Chunk *chunk)
{
    CtBlock block = *whole;
    if (port->time >= 0) {
        block.data += chunk->t * block.stride[port->time];
        block.length[port->time] = chunk->n_times;
        block.n_samples = chunk->n_times;
    }
    if (port->axis >= 0) {
        block.data += chunk->a * block.stride[port->axis];
        block.length[port->axis] = chunk->n_of_axis;
    }
    return block;
}

/* The block of a chunk between stages k − 1 and k. */
static CtBlock
between(const State *self, guint k, const Chunk *chunk, const CtWork *work)
{
    const Port *port = &self->ports[k];
    CtBlock block = {
        .data = (guint8 *)work->scratch + self->member_bytes + k % 2 * self->chunk_bytes,
        .type = port->stream->type,
        .n_axes = port->layout.n_axes,
        .n_samples = chunk->n_times,
    };
    for (guint a = 0; a < block.n_axes; a++) {
        block.length[a] = port->length[a];
        block.stride[a] = port->stride[a];
    }
    if (port->time >= 0)
        block.length[port->time] = chunk->n_times;
    if (port->axis >= 0)
        block.length[port->axis] = chunk->n_of_axis;
    return block;
}

/* The elements of a lane in a sample of a block between stages; FALSE: the chunk has none. */
static gboolean
find_lane(CtBox *box, const Port *port, const Chunk *chunk, const CtBlock *block, gint64 lane)
{
    *box = (CtBox){.out = block->data};
    for (gint a = 0; a < (gint)block->n_axes; a++) {
        const char *name = port->layout.axes[a].name;
        const gint64 step = ct_stream_lane_step(port->stream, name);
        if (a == port->time)
            continue;
        if (step == 0) {
            box->axes[box->n_axes++] =
                (CtBoxAxis){.length = block->length[a], .out = block->stride[a]};
            continue;
        }
        const gint64 i =
            lane / step % ct_stream_length(port->stream, name) - (a == port->axis ? chunk->a : 0);
        if (i < 0 || i >= block->length[a])
            return FALSE;
        box->out += i * block->stride[a];
    }
    return TRUE;
}

/* Clears the invalid samples between two stages, as they are if each stage has a block of its own.
 * The lanes are those of the chain's input. */
static void
clear_invalid(const Port *port, const Chunk *chunk, const CtBlock *block, const CtBlock *input)
{
    const gint64 n_lanes = ct_stream_n_lanes(port->stream);
    for (gint64 lane = 0; lane < n_lanes; lane++) {
        const guint8 *valid = input->validity + lane * input->validity_stride + chunk->t;
        CtBox box;
        if (!memchr(valid, 0, (gsize)chunk->n_times) || !find_lane(&box, port, chunk, block, lane))
            continue;
        for (gint64 t = 0; t < chunk->n_times; t++) {
            CtBox sample = box;
            if (port->time >= 0)
                sample.out += t * block->stride[port->time];
            if (!valid[t])
                ct_box_clear(&sample, ct_type_info(block->type)->bytes);
        }
    }
}

/* Sets the steps to those of chunks of this size. */
static void
set_steps(const State *self, const CtWork *work, Step *steps, gint64 n_times, gint64 n_of_axis)
{
    const Chunk first = {.n_times = n_times, .n_of_axis = n_of_axis};
    CtBlock in = cut(&work->inputs[0], &self->ports[0], &first);
    for (guint k = 0; k < self->n; k++) {
        Step *step = &steps[k];
        step->in = in;
        step->out = k + 1 < self->n ? between(self, k + 1, &first, work)
                                    : cut(&work->outputs[0], &self->ports[self->n], &first);
        const CtWork own = {.inputs = &step->in, .outputs = &step->out, .end = 1};
        ct_form_part_init(&step->part, self->members[k].state, &own, self->axis, n_of_axis);
        in = step->out;
    }
}

/* Moves a block from the first chunk to another. */
static guint8 *
data_of(const CtBlock *whole, const Port *port, const Chunk *chunk)
{
    return whole->data + (port->time >= 0 ? chunk->t * whole->stride[port->time] : 0) +
           (port->axis >= 0 ? chunk->a * whole->stride[port->axis] : 0);
}

static void
run_chunk(const State *self, const CtWork *work, Step *steps, const Chunk *chunk)
{
    steps[0].in.data = data_of(&work->inputs[0], &self->ports[0], chunk);
    steps[self->n - 1].out.data = data_of(&work->outputs[0], &self->ports[self->n], chunk);
    for (guint k = 0; k < self->n; k++) {
        const Member *member = &self->members[k];
        if (k > 0 && member->counts && work->inputs[0].validity)
            clear_invalid(&self->ports[k], chunk, &steps[k].in, &work->inputs[0]);
        const CtWork own = {
            .inputs = &steps[k].in,
            .outputs = &steps[k].out,
            .end = 1,
            .scratch = work->scratch,
            .counters = work->counters + member->first_counter,
        };
        ct_form_part_work(&steps[k].part, member->state, &own, chunk->a);
    }
}

/* The steps of whole chunks, and of those at the end of the axis, in scratch memory. */
static Step *
steps_of(const State *self, const CtWork *work, gboolean is_whole)
{
    guint8 *steps = (guint8 *)work->scratch + self->member_bytes + 2 * self->chunk_bytes;
    return (Step *)(gpointer)steps + (is_whole ? 0 : self->n);
}

gboolean
ct_chain_work(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    const State *self = state;
    const gint64 n_samples = work->outputs[0].n_samples;
    const gint64 n_t = (n_samples + self->n_times - 1) / self->n_times;
    const gint64 n_a = (self->n_along + self->n_of_axis - 1) / self->n_of_axis;
    const gint64 end = n_t * n_a * work->end / self->n_items;
    gint64 times_of[2] = {0}; /* of the chunks for which there are steps */
    for (gint64 i = n_t * n_a * work->begin / self->n_items; i < end; i++) {
        Chunk chunk = {
            .t = (self->time_first ? i / n_a : i % n_t) * self->n_times,
            .a = (self->time_first ? i % n_a : i / n_t) * self->n_of_axis,
        };
        chunk.n_times = MIN(self->n_times, n_samples - chunk.t);
        chunk.n_of_axis = MIN(self->n_of_axis, self->n_along - chunk.a);
        const gboolean is_whole = chunk.n_of_axis == self->n_of_axis;
        Step *steps = steps_of(self, work, is_whole);
        if (times_of[is_whole] != chunk.n_times)
            set_steps(self, work, steps, chunk.n_times, chunk.n_of_axis);
        times_of[is_whole] = chunk.n_times;
        run_chunk(self, work, steps, &chunk);
    }
    return TRUE;
}
