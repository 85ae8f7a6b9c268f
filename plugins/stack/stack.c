/* SPDX-License-Identifier: BSD-3-Clause */
/* stack: joins streams along an axis, sample by sample of one clock. */
#include "stack.h"

#include "stack-infer.h"

#include <string.h>

static const CtParam stack_params[] = {
    {"axis", CT_PARAM_AXIS, CT_PARAM_REQUIRED,
     .help = "the axis along which the inputs are joined in their order: one that they have, or a "
             "new one"},
    {NULL},
};

/* Sets the input from which each output lane comes: lanes are row-major in the axes that lose
 * data. */
static gboolean
map_lanes(StackState *state, const CtPrepare *prepare, const char *axis, GError **error)
{
    const CtStream *output = prepare->outputs[0].stream;
    state->n_lanes = ct_stream_n_lanes(output);
    state->lanes = CT_TABLE(StackLane, state->n_lanes, "lanes", error);
    for (gint64 lane = 0; state->lanes && lane < state->n_lanes; lane++) {
        gint64 index[CT_MAX_AXES] = {0}, rest = lane;
        guint input = 0;
        for (guint k = output->n_axes; k-- > 0;) {
            const CtAxis *own = &output->axes[k];
            if (!own->loses || strcmp(own->name, "time") == 0)
                continue;
            index[k] = rest % own->length;
            rest /= own->length;
            if (strcmp(own->name, axis) != 0)
                continue;
            while (index[k] >= state->inputs[input].offset + state->inputs[input].length)
                input++;
            index[k] -= state->inputs[input].offset;
        }
        const CtStream *stream = prepare->inputs[input].stream;
        state->lanes[lane] = (StackLane){.input = input};
        for (guint k = 0; k < stream->n_axes; k++) {
            const CtAxis *own = &stream->axes[k];
            if (!own->loses || strcmp(own->name, "time") == 0)
                continue;
            state->lanes[lane].lane =
                state->lanes[lane].lane * own->length + index[ct_stream_axis(output, own->name)];
        }
    }
    return state->lanes != NULL;
}

gboolean
stack_state_init(StackState *state, const CtPrepare *prepare, GError **error)
{
    const char *axis = ct_params_string(prepare->nodes[0].params, "axis");
    const CtBinding *output = &prepare->outputs[0];
    state->n_inputs = prepare->n_inputs;
    state->inputs = g_new0(StackInput, state->n_inputs);
    state->axis = ct_layout_axis(&output->layout, axis);
    state->time = ct_layout_axis(&output->layout, "time");
    state->ticks_per_sample = output->stream->ticks_per_sample;
    state->tick = output->stream->start;
    gint64 offset = 0;
    for (guint i = 0; i < state->n_inputs; i++) {
        const CtBinding *binding = &prepare->inputs[i];
        StackInput *input = &state->inputs[i];
        input->offset = offset;
        input->length = ct_stream_length(binding->stream, axis);
        input->start = binding->stream->start;
        input->end = stack_stream_end(binding->stream);
        for (guint k = 0; k < output->layout.n_axes; k++)
            input->place[k] = ct_layout_axis(&binding->layout, output->layout.axes[k].name);
        offset += input->length;
    }
    return map_lanes(state, prepare, axis, error);
}

void
stack_state_clear(StackState *state)
{
    g_clear_pointer(&state->inputs, g_free);
    g_clear_pointer(&state->lanes, g_free);
}

/* The number of samples of input `i`, from the output's tick on, that have arrived, or that are
 * known never to come (*missing); 0: the stage must wait for it. */
static gint64
known_samples(const StackState *state, const CtArrival *arrival, guint i, gboolean *missing)
{
    const StackInput *input = &state->inputs[i];
    const gint64 n = arrival->block.n_samples;
    const gboolean is_empty = input->start == input->end;
    *missing = TRUE;
    if (is_empty)
        return G_MAXINT64;
    /* The stage waits for an input that is known not to be empty, even if it has been cut off. */
    if (state->tick < input->start && (input->end < G_MAXINT64 || n > 0 || !arrival->ended))
        return (input->start - state->tick) / state->ticks_per_sample;
    if (n == 0 && (arrival->ended || state->tick >= input->end))
        return G_MAXINT64;
    *missing = FALSE;
    return n;
}

/* Whether input `i` begins later, and is not empty. */
static gboolean
is_to_come(const StackState *state, guint i)
{
    const StackInput *input = &state->inputs[i];
    return state->tick < input->start && input->end < G_MAXINT64 && input->start < input->end;
}

/* A firing ends where an input begins or ends, so that each input is either complete in it or
 * missing. There is no firing before any sample has arrived, unless an input of known length begins
 * later: other inputs may turn out to be empty. */
gboolean
stack_advance(gpointer user_data, CtAdvance *advance, G_GNUC_UNUSED GError **error)
{
    StackState *state = user_data;
    CtDeparture *output = &advance->outputs[0];
    gint64 n = output->room;
    gboolean stands = FALSE, missing;
    for (guint i = 0; i < state->n_inputs; i++) {
        n = MIN(n, known_samples(state, &advance->inputs[i], i, &missing));
        stands = stands || advance->inputs[i].block.n_samples > 0 || is_to_come(state, i);
    }
    if (!stands)
        n = 0;
    for (guint i = 0; i < state->n_inputs; i++) {
        known_samples(state, &advance->inputs[i], i, &missing);
        advance->inputs[i].consumed = advance->inputs[i].used = missing ? 0 : n;
    }
    output->produced = n;
    output->start = state->tick;
    for (gint64 lane = 0; lane < state->n_lanes && n > 0; lane++) {
        const StackLane *from = &state->lanes[lane];
        const CtBlock *block = &advance->inputs[from->input].block;
        guint8 *validity = output->validity + lane * output->validity_stride;
        known_samples(state, &advance->inputs[from->input], from->input, &missing);
        if (missing)
            memset(validity, 0, n);
        else if (block->validity)
            memcpy(validity, block->validity + from->lane * block->validity_stride, n);
        else
            continue;
        output->invalid = TRUE;
    }
    state->tick += n * state->ticks_per_sample;
    return TRUE;
}

static const CtPort stack_inputs[] = {
    {"inputs", "{time ...}", CT_PORT_MANY,
     .help = "streams of the same type, clock and other axes"},
    {NULL},
};

static const CtPort stack_outputs[] = {
    {"stacked", "{time ...}",
     .help = "from the first sample of any input to the last of any; missing samples of an input "
             "are invalid"},
    {NULL},
};

static const CtStage stack = {
    .name = "stack",
    .summary = "joins streams along an axis",
    .version = 1,
    .inputs = stack_inputs,
    .outputs = stack_outputs,
    .params = stack_params,
    .infer = stack_infer,
};

CT_PLUGIN("stack", ((const CtStage *const[]){&stack, NULL}),
          ((const CtVariant *const[]){&stack_cuda, &stack_cpu, &stack_reference, NULL}));
