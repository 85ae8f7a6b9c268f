/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows and joins over small integers, [time station] of f32, so that all sums are exact; and a
 * stage that consumes nothing. */
#include <cornerturn/kit/array.h>
#include <cornerturn/stage.h>
#include <stdio.h>
#include <string.h>

#define VARIANT(variable, stage_, row, ...)                                                        \
    static const CtVariant variable = {                                                            \
        .name = "cpu",                                                                             \
        .backend = CT_CPU,                                                                         \
        .covers = (const char *const[]){stage_, NULL},                                             \
        .rows = (const CtRow[]){{row, 0.5}, {NULL}},                                               \
        .prepare = prepare,                                                                        \
        .finish = g_free,                                                                          \
        __VA_ARGS__,                                                                               \
    }

enum { MOST_STATIONS = 8 };

typedef struct {
    gint64 window, hop, n_stations;
    const CtStream *inputs[2], *output;
    gint64 tick;  /* of the next sample */
    gint64 first; /* of the firing's first sample */
    gfloat array[MOST_STATIONS];
    FILE *file;
} State;

static gboolean
prepare(CtPrepare *prepare, gpointer *state_, G_GNUC_UNUSED GError **error)
{
    State *state = *state_ = g_new0(State, 1);
    state->window = prepare->nodes[0].footprint.window;
    state->hop = prepare->nodes[0].footprint.hop;
    state->n_stations = ct_stream_length(prepare->inputs[0].stream, "station");
    for (guint i = 0; i < MIN(prepare->n_inputs, 2); i++)
        state->inputs[i] = prepare->inputs[i].stream;
    if (prepare->n_outputs > 0) {
        state->output = prepare->outputs[0].stream;
        state->tick = state->output->start;
    }
    return TRUE;
}

static gfloat *
at(const CtBlock *block, gint64 t, gint64 s)
{
    return (gfloat *)(gpointer)(block->data + t * block->stride[0] + s * block->stride[1]);
}

static const CtPort none[] = {{NULL}};
static const CtPort one_input[] = {{"in", "f32{time station}", 0, "samples"}, {NULL}};
static const CtPort one_output[] = {{"out", "f32{time station}", 0, "samples"}, {NULL}};
static const CtPort two_inputs[] = {
    {"in", "f32{time station}", 0, "samples"},
    {"other", "f32{time station}", 0, "samples"},
    {NULL},
};
static const CtPort held_inputs[] = {
    {"in", "f32{time station}", 0, "samples"},
    {"held", "f32{time station}", CT_PORT_STATIC, "samples that hold until the next"},
    {NULL},
};
static const CtPort array_inputs[] = {
    {"in", "f32{time station}", 0, "samples"},
    {"array", "f32{time station}", CT_PORT_STATIC | CT_PORT_PREPARED, "what is added"},
    {NULL},
};
static const CtParam no_params[] = {{NULL}};
static const CtParam window_params[] = {
    {"window", CT_PARAM_INT, .fallback = "1", .help = "samples"},
    {"hop", CT_PARAM_INT, .fallback = "1", .help = "samples"},
    {"offset", CT_PARAM_INT, .fallback = "0", .help = "samples"},
    {NULL},
};

/* The outputs are like the first input, but any station's loss of samples counts. */
static gboolean
like_inputs(CtNode *node, G_GNUC_UNUSED GError **error)
{
    CtStream *output = &node->outputs[0];
    ct_stream_copy(output, &node->inputs[0]);
    for (guint i = 0; i < node->n_inputs; i++) {
        const CtStream *input = &node->inputs[i];
        output->axes[ct_stream_axis(output, "station")].loses |=
            input->axes[ct_stream_axis(input, "station")].loses;
    }
    return TRUE;
}

static gboolean
window_infer(CtNode *node, GError **error)
{
    node->footprint.window = ct_params_int(node->params, "window");
    node->footprint.hop = ct_params_int(node->params, "hop");
    node->footprint.offset = ct_params_int(node->params, "offset");
    return like_inputs(node, error);
}

/* ---- y[t] = Σ_k (k mod 3 − 1) x[t·hop + k]; of two inputs, twice the other's sum added ---- */

static gboolean
window_work(gpointer user_data, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    const State *state = user_data;
    for (gint64 t = work->begin; t < work->end; t++)
        for (gint64 s = 0; s < state->n_stations; s++) {
            gfloat sum = 0;
            for (gint64 k = 0; k < state->window; k++) {
                const gfloat factor = (gfloat)(k % 3 - 1);
                sum += factor * *at(&work->inputs[0], t * state->hop + k, s);
                if (state->inputs[1])
                    sum += 2 * factor * *at(&work->inputs[1], t * state->hop + k, s);
            }
            *at(&work->outputs[0], t, s) = sum;
        }
    return TRUE;
}

static const CtStage window = {
    .name = "diamond.window",
    .summary = "a window",
    .version = 1,
    .inputs = one_input,
    .outputs = one_output,
    .params = window_params,
    .infer = window_infer,
};
VARIANT(window_cpu, "diamond.window", "[time station] -> [time station]", .split = "time",
        .work = window_work);

static const CtStage pair = {
    .name = "diamond.pair",
    .summary = "a window of two streams",
    .version = 1,
    .inputs = two_inputs,
    .outputs = one_output,
    .params = window_params,
    .infer = window_infer,
};
VARIANT(pair_cpu, "diamond.pair", "[time station], [time station] -> [time station]",
        .split = "time", .work = window_work);

/* ---- y[t] = x[t] + 3 w[t], where w has samples of another length ---- */

static gint64
end_of(const CtStream *stream)
{
    return stream->start +
           stream->axes[ct_stream_axis(stream, "time")].length * stream->ticks_per_sample;
}

static gboolean
join_infer(CtNode *node, GError **error)
{
    const CtStream *in = &node->inputs[0], *other = &node->inputs[1];
    CtStream *out = &node->outputs[0];
    like_inputs(node, error);
    const gint64 ticks = in->ticks_per_sample, late = MAX(0, other->start - in->start);
    out->start = in->start + (late + ticks - 1) / ticks * ticks;
    const gint64 end = MIN(end_of(in), end_of(other) - 1 + ticks);
    out->axes[ct_stream_axis(out, "time")].length = MAX(0, end - out->start) / ticks;
    node->footprint.kind = CT_FOOTPRINT_OWN;
    return TRUE;
}

/* The number of samples that end at the tick or before, and are not consumed. */
static gint64
samples_until(const CtArrival *arrival, const CtStream *stream, gint64 tick)
{
    const gint64 n =
        tick <= arrival->block.start ? 0 : (tick - arrival->block.start) / stream->ticks_per_sample;
    return MIN(n, arrival->block.n_samples);
}

static void
join_validity(const State *state, const CtAdvance *advance)
{
    CtDeparture *out = &advance->outputs[0];
    for (guint i = 0; i < 2; i++) {
        const CtBlock *block = &advance->inputs[i].block;
        const CtStream *stream = state->inputs[i];
        if (!block->validity)
            continue;
        const gboolean loses = ct_stream_n_lanes(stream) > 1;
        for (gint64 l = 0; l < ct_stream_n_lanes(state->output); l++)
            for (gint64 t = 0; t < out->produced; t++) {
                const gint64 tick = out->start + t * state->output->ticks_per_sample;
                const gint64 from = (tick - block->start) / stream->ticks_per_sample;
                out->validity[l * out->validity_stride + t] &=
                    block->validity[(loses ? l : 0) * block->validity_stride + from];
            }
        out->invalid = TRUE;
    }
}

static gboolean
join_advance(gpointer user_data, CtAdvance *advance, G_GNUC_UNUSED GError **error)
{
    State *state = user_data;
    CtDeparture *out = &advance->outputs[0];
    const gint64 ticks = state->output->ticks_per_sample;
    const gint64 end = end_of(state->output);
    gint64 n = MIN(out->room, (end - state->tick) / ticks);
    for (guint i = 0; i < 2; i++) {
        const CtArrival *arrival = &advance->inputs[i];
        const gint64 there =
            arrival->block.start + arrival->block.n_samples * state->inputs[i]->ticks_per_sample;
        /* The number of output samples that begin before `there`. */
        n = MIN(n, MAX(0, there - state->tick + ticks - 1) / ticks);
        /* The first of them must be complete. */
        if (arrival->block.start > state->tick)
            n = 0;
    }
    out->start = state->first = state->tick;
    out->produced = n;
    join_validity(state, advance);
    state->tick += n * ticks;
    advance->ended = state->tick >= end;
    for (guint i = 0; i < 2; i++) {
        CtArrival *arrival = &advance->inputs[i];
        arrival->consumed = samples_until(arrival, state->inputs[i], state->tick);
        arrival->used = arrival->block.n_samples;
    }
    return TRUE;
}

static gboolean
join_work(gpointer user_data, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    const State *state = user_data;
    for (gint64 t = work->begin; t < work->end; t++)
        for (gint64 s = 0; s < state->n_stations; s++) {
            const gint64 tick = state->first + t * state->output->ticks_per_sample;
            gfloat sum = 0;
            for (guint i = 0; i < 2; i++) {
                const CtBlock *in = &work->inputs[i];
                const gint64 from = (tick - in->start) / state->inputs[i]->ticks_per_sample;
                sum += (i ? 3 : 1) * *at(in, from, s);
            }
            *at(&work->outputs[0], t, s) = sum;
        }
    return TRUE;
}

static const CtStage join = {
    .name = "diamond.join",
    .summary = "joins streams of two rates",
    .version = 1,
    .inputs = two_inputs,
    .outputs = one_output,
    .params = no_params,
    .infer = join_infer,
};
VARIANT(join_cpu, "diamond.join", "[time station], [time station] -> [time station]",
        .split = "time", .advance = join_advance, .work = join_work);

/* ---- y[t] = x[t] + 5 w, with the w that holds at t ---- */

static gboolean
held_work(gpointer user_data, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    const State *state = user_data;
    for (gint64 t = work->begin; t < work->end; t++)
        for (gint64 s = 0; s < state->n_stations; s++)
            *at(&work->outputs[0], t, s) =
                *at(&work->inputs[0], t, s) + 5 * *at(&work->inputs[1], 0, s);
    return TRUE;
}

static const CtStage held = {
    .name = "diamond.held",
    .summary = "adds what holds",
    .version = 1,
    .inputs = held_inputs,
    .outputs = one_output,
    .params = no_params,
    .infer = like_inputs,
};
VARIANT(held_cpu, "diamond.held", "[time station], [time station] -> [time station]",
        .split = "time", .work = held_work);

/* ---- y[t] = Σ_k (k mod 3 − 1) x[t·hop + k] + 5 w, with the w for which the state is made ---- */

static gboolean
array_prepare(CtPrepare *prepare_, gpointer *user_data, GError **error)
{
    static const char *const axes[] = {"station"};
    if (!prepare(prepare_, user_data, error))
        return FALSE;
    State *state = *user_data;
    state->inputs[1] = NULL;
    g_autoptr(CtNpyArray) array =
        ct_array_read(&prepare_->nodes[0], 1, axes, 1, 'f', sizeof(gfloat), error);
    g_assert(!array || array->n_items <= MOST_STATIONS);
    if (array)
        memcpy(state->array, array->data, array->n_items * sizeof(gfloat));
    return array != NULL;
}

static gboolean
array_work(gpointer user_data, const CtWork *work, GError **error)
{
    const State *state = user_data;
    g_assert(!work->inputs[1].data);
    if (!window_work(user_data, work, error))
        return FALSE;
    for (gint64 t = work->begin; t < work->end; t++)
        for (gint64 s = 0; s < state->n_stations; s++)
            *at(&work->outputs[0], t, s) += 5 * state->array[s];
    return TRUE;
}

static const CtStage array = {
    .name = "diamond.array",
    .summary = "a window, and an array that is added",
    .version = 1,
    .inputs = array_inputs,
    .outputs = one_output,
    .params = window_params,
    .infer = window_infer,
};
static const CtVariant array_cpu = {
    .name = "cpu",
    .backend = CT_CPU,
    .covers = (const char *const[]){"diamond.array", NULL},
    .rows = (const CtRow[]){{"[time station] -> [time station]", 0.5}, {NULL}},
    .split = "time",
    .prepare = array_prepare,
    .work = array_work,
    .finish = g_free,
};

/* ---- a stage that consumes nothing after its first samples ---- */

static gboolean
stuck_advance(gpointer user_data, CtAdvance *advance, GError **error)
{
    State *state = user_data;
    if (state->first > 0)
        return TRUE;
    state->first = 1;
    return ct_advance_default(advance, error);
}

static const CtStage stuck = {
    .name = "diamond.stuck",
    .summary = "takes some samples and no more",
    .version = 1,
    .inputs = one_input,
    .outputs = one_output,
    .params = no_params,
    .infer = like_inputs,
};
VARIANT(stuck_cpu, "diamond.stuck", "[time station] -> [time station]", .split = "time",
        .advance = stuck_advance, .work = window_work);

/* ---- a file of all samples, [time station] ---- */

static const CtParam sink_params[] = {
    {"path", CT_PARAM_PATH, CT_PARAM_REQUIRED, .help = "of the file"},
    {NULL},
};

static gboolean
sink_infer(G_GNUC_UNUSED CtNode *node, G_GNUC_UNUSED GError **error)
{
    return TRUE;
}

static gboolean
sink_prepare(CtPrepare *prepare_, gpointer *state, GError **error)
{
    const char *path = ct_params_string(prepare_->nodes[0].params, "path");
    if (!prepare(prepare_, state, error))
        return FALSE;
    ((State *)*state)->file = fopen(path, "wb");
    if (!((State *)*state)->file)
        g_set_error(error, CT_ERROR, CT_ERROR_IO, "cannot write '%s'", path);
    return ((State *)*state)->file != NULL;
}

static gboolean
sink_work(gpointer user_data, const CtWork *work, GError **error)
{
    const State *state = user_data;
    const CtBlock *in = &work->inputs[0];
    for (gint64 t = 0; t < in->n_samples; t++)
        for (gint64 s = 0; s < state->n_stations; s++)
            if (fwrite(at(in, t, s), sizeof(gfloat), 1, state->file) != 1) {
                g_set_error(error, CT_ERROR, CT_ERROR_IO, "cannot write");
                return FALSE;
            }
    return TRUE;
}

static void
sink_finish(gpointer state)
{
    if (state && ((State *)state)->file)
        fclose(((State *)state)->file);
    g_free(state);
}

static const CtStage sink = {
    .name = "diamond.sink",
    .summary = "a file of all samples",
    .version = 1,
    .inputs = one_input,
    .outputs = none,
    .params = sink_params,
    .infer = sink_infer,
};
static const CtVariant sink_cpu = {
    .name = "cpu",
    .backend = CT_CPU,
    .covers = (const char *const[]){"diamond.sink", NULL},
    .rows = (const CtRow[]){{"[time station] ->", 0.5}, {NULL}},
    .prepare = sink_prepare,
    .work = sink_work,
    .finish = sink_finish,
};

CT_PLUGIN("diamond",
          ((const CtStage *const[]){&window, &pair, &join, &held, &array, &stuck, &sink, NULL}),
          ((const CtVariant *const[]){&window_cpu, &pair_cpu, &join_cpu, &held_cpu, &array_cpu,
                                      &stuck_cpu, &sink_cpu, NULL}));
