/* SPDX-License-Identifier: BSD-3-Clause */
/* The stage delay: aligns the stations' signals, by a phase per channel, or by a shift before the
 * filter. */
#include "delay.h"

#include "../geometry.h"

#include <string.h>

static const char *const delay_axes[DELAY_N_AXES] = {"time", "subband", "channel", "station",
                                                     "pol"};

static const CtParam delay_params[] = {
    {"delays", CT_PARAM_PATH, CT_PARAM_LIVE,
     .help = "seconds as .npy [time station] or [time station pol]"},
    {"step", CT_PARAM_QUANTITY, CT_PARAM_RANGED, .unit = "s", .minimum = 1e-12, .maximum = 1e12,
     .help =
         "from a row of delays to the next, the first at the stream's start; linear in between"},
    {"constant", CT_PARAM_QUANTITY, CT_PARAM_LIST | CT_PARAM_LIVE, .unit = "s",
     .help = "in place of delays: one per station, or one per station and pol, the pols of a "
             "station side by side"},
    {"direction", CT_PARAM_REAL, CT_PARAM_TABLE | CT_PARAM_LIVE,
     .help = "in place of delays, with the positions: direction of a plane wave to align, one "
             "of " GEOMETRY_DIRECTIONS_HELP},
    {"range", CT_PARAM_QUANTITY, CT_PARAM_RANGED, .unit = "s", .minimum = 0, .maximum = 1e12,
     .help = "before a filter: the largest delay, of either sign, that changes during the run may "
             "bring; left out: the least and the most that the graph gives"},
    GEOMETRY_POSITION_PARAMS,
    {NULL},
};

/* The least and the most whole samples, or those for which the graph leaves room; linear pieces
 * reach them at their ends. */
static gboolean
whole_range(const DelayTable *table, const CtParams *params, gdouble samples_per_second,
            gint64 *least, gint64 *most, GError **error)
{
    *least = G_MAXINT64;
    *most = G_MININT64;
    for (gint64 i = 0; i < table->n_rows * table->n_stations * table->n_pols; i++) {
        gint64 whole = (gint64)rint(table->seconds[i] * samples_per_second);
        *least = MIN(*least, whole);
        *most = MAX(*most, whole);
    }
    if (!ct_params_has(params, "range"))
        return TRUE;
    const gdouble seconds = ct_params_real(params, "range");
    const gdouble range = rint(seconds * samples_per_second);
    if (range > 1 << 28 || range < (gdouble)MAX(*most, -*least))
        return ct_params_error(params, "range", error,
                               "wants at least the largest delay, %" G_GINT64_FORMAT
                               " samples, and at most %d, but is given %g s",
                               MAX(*most, -*least), 1 << 28, seconds);
    *most = (gint64)range;
    *least = -*most;
    return TRUE;
}

/* The number of different shifts by whole samples. */
static gint64
count_shifts(const DelayTable *table, gdouble samples_per_second)
{
    const gint64 n = table->n_rows * table->n_stations * table->n_pols;
    g_autoptr(GHashTable) shifts = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    for (gint64 i = 0; i < n; i++) {
        const gint64 whole = (gint64)rint(table->seconds[i] * samples_per_second);
        g_hash_table_add(shifts, g_memdup2(&whole, sizeof whole));
    }
    return g_hash_table_size(shifts);
}

/* The number of input samples that an output sample is made of: one for each station and pol that
 * share their validity, and another one if delays change. */
static void
set_needs(CtFootprint *footprint, const DelayTable *table, const CtStream *stream)
{
    const gint station = ct_stream_axis(stream, "station"), pol = ct_stream_axis(stream, "pol");
    const gboolean apart = (table->n_stations == 1 || stream->axes[station].loses) &&
                           (table->n_pols == 1 || stream->axes[pol].loses);
    footprint->moves = table->n_rows > 1;
    if (footprint->moves)
        footprint->needs = MIN(footprint->window, apart ? 2 : footprint->window);
    else
        footprint->needs = apart ? 1 : count_shifts(table, ct_stream_sample_rate(stream));
}

static gboolean
is_hertz(const CtStream *stream, gint axis)
{
    return axis >= 0 && g_strcmp0(stream->axes[axis].coordinate.unit, "Hz") == 0;
}

static gboolean
delay_infer(CtNode *node, GError **error)
{
    const CtStream *input = &node->inputs[0];
    const char *port = node->stage->inputs[0].name;
    ct_stream_copy(&node->outputs[0], input);
    g_autoptr(DelayTable) table = delay_table_new(node->params, input, error);
    if (!table)
        return FALSE;

    gint channel = ct_stream_axis(input, "channel");
    gboolean is_complex = ct_type_info(input->type)->is_complex;
    if (ct_stream_axis(input, "phase") >= 0) {
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                    "input '%s' wants spectra (channel) or voltages before a filter, but is given "
                    "the output of a filter before its Fourier transform (phase)",
                    port);
        return FALSE;
    }
    if (channel >= 0 && !is_complex) {
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                    "input '%s' wants complex spectra, but is given real ones", port);
        return FALSE;
    }
    gboolean has_frequency =
        channel >= 0 ? is_hertz(input, channel)
                     : is_hertz(input, ct_stream_axis(input, "subband")) || input->has_frequency;
    if (is_complex && !has_frequency) {
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                    "input '%s' wants frequencies, but is given none: say centre_frequency at the "
                    "source",
                    port);
        return FALSE;
    }
    if (channel >= 0)
        return TRUE;
    gdouble rate = ct_stream_sample_rate(input);
    if (!(rate > 0)) {
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                    "input '%s' wants a sample rate, but is given none", port);
        return FALSE;
    }
    for (gint64 i = 0; i < table->n_rows * table->n_stations * table->n_pols; i++)
        if (fabs(table->seconds[i] * rate) > 1 << 28)
            return ct_params_error(node->params, "delays", error,
                                   "wants delays of at most %d samples, but is given %g s", 1 << 28,
                                   table->seconds[i]);
    gint64 least, most;
    if (!whole_range(table, node->params, rate, &least, &most, error))
        return FALSE;
    node->footprint.window = most - least + 1;
    node->footprint.offset = most;
    set_needs(&node->footprint, table, input);
    return TRUE;
}

static gdouble
delay_operations(const CtNode *node)
{
    return 6.0 * ct_stream_width(&node->outputs[0]);
}

gboolean
delay_state_init(DelayState *state, const CtPrepare *prepare, GError **error)
{
    const CtBinding *input = &prepare->inputs[0];
    const CtStream *stream = input->stream;
    state->table = delay_table_new(prepare->nodes[0].params, stream, error);
    if (!state->table)
        return FALSE;
    state->is_complex = ct_type_info(stream->type)->is_complex;
    state->shifts = ct_stream_axis(stream, "channel") < 0;
    state->ticks_per_sample = stream->ticks_per_sample;
    state->samples_per_second = ct_stream_sample_rate(stream);
    gint64 least;
    if (state->shifts && !whole_range(state->table, prepare->nodes[0].params,
                                      state->samples_per_second, &least, &state->most, error))
        return FALSE;
    for (guint i = 0; i < DELAY_N_AXES; i++) {
        state->place[i] = ct_layout_axis(&input->layout, delay_axes[i]);
        state->length[i] = i == DELAY_TIME ? 0 : ct_stream_length(stream, delay_axes[i]);
    }

    gint subband = ct_stream_axis(stream, "subband"), channel = ct_stream_axis(stream, "channel");
    gint64 n_channels = state->length[DELAY_CHANNEL];
    state->frequencies =
        CT_TABLE(gdouble, state->length[DELAY_SUBBAND] * n_channels, "frequencies", error);
    if (!state->frequencies)
        return FALSE;
    for (gint64 b = 0; b < state->length[DELAY_SUBBAND]; b++)
        for (gint64 c = 0; c < n_channels; c++)
            state->frequencies[b * n_channels + c] =
                channel >= 0                ? ct_stream_coordinate(stream, channel, c, b)
                : is_hertz(stream, subband) ? ct_stream_coordinate(stream, subband, b, 0)
                                            : stream->frequency;

    for (guint i = 0; i < stream->n_axes; i++) {
        if (!stream->axes[i].loses || strcmp(stream->axes[i].name, "time") == 0)
            continue;
        gint which = -1;
        for (guint k = 0; k < DELAY_N_AXES; k++)
            if (strcmp(stream->axes[i].name, delay_axes[k]) == 0)
                which = k;
        state->losing[state->n_losing] = which;
        state->losing_length[state->n_losing++] = stream->axes[i].length;
    }
    return TRUE;
}

void
delay_state_clear(DelayState *state)
{
    g_clear_pointer(&state->table, delay_table_free);
    g_clear_pointer(&state->frequencies, g_free);
}

void
delay_state_elements(const DelayState *state, const CtBinding *input, gdouble *frequencies,
                     guint32 *series)
{
    const guint n_axes = input->layout.n_axes;
    gint64 length[CT_MAX_AXES], stride[CT_MAX_AXES], index[CT_MAX_AXES] = {0};
    ct_layout_strides(&input->layout, input->stream, 1, length, stride);
    const gint64 n = ct_stream_width(input->stream);
    for (gint64 i = 0; i < n; i++) {
        gint64 at[DELAY_N_AXES];
        for (guint k = 0; k < DELAY_N_AXES; k++)
            at[k] = state->place[k] < 0 ? 0 : index[state->place[k]];
        frequencies[i] = delay_frequency(state, at);
        series[i] = (guint32)delay_table_series(state->table, at[DELAY_STATION], at[DELAY_POL]);
        for (guint k = n_axes; k-- > 0 && ++index[k] == length[k];)
            index[k] = 0;
    }
}

/* The number of samples from `tick` on, at most `most`, with one shift and a linear delay. */
static gint64
steady_samples(const DelayState *state, gint64 series, gint64 tick, gint64 most)
{
    const gint64 next = delay_table_next(state->table, tick), step = state->ticks_per_sample;
    gint64 n = next == G_MAXINT64 ? most : MIN(most, (next - tick + step - 1) / step);
    if (!state->shifts)
        return n;
    const gint64 whole = delay_whole(state, series, tick);
    if (delay_whole(state, series, tick + (n - 1) * step) == whole)
        return n;
    /* The shift is monotonic along a line, so bisection finds its next change. */
    for (gint64 same = 1; n - same > 1;) {
        const gint64 middle = same + (n - same) / 2;
        if (delay_whole(state, series, tick + (middle - 1) * step) == whole)
            same = middle;
        else
            n = middle;
    }
    return n - 1;
}

void
delay_piece_init(DelayPiece *piece, const DelayState *state, gint64 series, gint64 tick,
                 gint64 most)
{
    const DelayTable *table = state->table;
    const gint64 step = state->ticks_per_sample;
    gdouble per_tick;
    *piece = (DelayPiece){
        .n = steady_samples(state, series, tick, most),
        .shift = state->shifts ? state->most - delay_whole(state, series, tick) : 0,
        .seconds = delay_table_at(table, series, tick, &per_tick),
    };
    if (per_tick == 0)
        return;
    /* Counted from the row's first sample, wherever the firing begins. */
    const gdouble row = (gdouble)delay_table_row(table, tick);
    const gint64 first = table->start + (gint64)ceil(row * table->ticks_per_row);
    piece->since = (tick - first) / step;
    piece->seconds = delay_table_at(table, series, tick - piece->since * step, NULL);
    piece->per_sample = per_tick * (gdouble)step;
}

/* The sample of which a series of the lane is made: each station and pol of the lane, the k-th of
 * them, has its own delay. */
static gboolean
find_taps(gpointer user_data, gint64 lane, G_GNUC_UNUSED gint64 from, guint k, gint64 tick,
          CtTaps *taps)
{
    const DelayState *state = user_data;
    gint64 first[DELAY_N_AXES] = {0}, n[DELAY_N_AXES];
    for (guint i = 0; i < DELAY_N_AXES; i++)
        n[i] = state->length[i];
    for (guint i = state->n_losing; i-- > 0;) {
        const gint which = state->losing[i];
        if (which >= 0) {
            first[which] = lane % state->losing_length[i];
            n[which] = 1;
        }
        lane /= state->losing_length[i];
    }
    if (state->table->n_pols == 1)
        n[DELAY_POL] = 1;
    if (k >= n[DELAY_STATION] * n[DELAY_POL])
        return FALSE;
    const gint64 series = delay_table_series(state->table, first[DELAY_STATION] + k / n[DELAY_POL],
                                             first[DELAY_POL] + k % n[DELAY_POL]);
    *taps = (CtTaps){
        .first = state->most - delay_whole(state, series, tick),
        .n = 1,
        .steady = steady_samples(state, series, tick, 1 << 16),
    };
    return TRUE;
}

gboolean
delay_advance(gpointer user_data, CtAdvance *advance, GError **error)
{
    const DelayState *state = user_data;
    return ct_advance_taps(advance, state->shifts ? find_taps : NULL, user_data, error);
}

static const CtPort delay_inputs[] = {
    {"voltages", "cf32|f32{time ...}", .help = "spectra, or voltages before a filter"},
    {NULL},
};

static const CtPort delay_outputs[] = {
    {"delayed", "cf32|f32{time ...}", .help = "the same axes, delayed"},
    {NULL},
};

/* The largest frequency, times the largest delay, times the number of roundings of a delay: one for
 * a constant delay. Otherwise the position between two rows is rounded as well, to 2⁻⁵² of the
 * number of rows, and neighbouring rows differ by at most twice the largest delay. */
static gdouble
largest_turns(const CtNode *node)
{
    const CtStream *stream = &node->inputs[0];
    const gint subband = ct_stream_axis(stream, "subband");
    const gint channel = ct_stream_axis(stream, "channel");
    const gint axis = channel >= 0 ? channel : is_hertz(stream, subband) ? subband : -1;
    gdouble frequency = axis < 0 ? fabs(stream->frequency) : 0, seconds = 0;
    for (gint64 b = 0; b < ct_stream_length(stream, "subband") && axis >= 0; b++)
        for (gint64 c = 0; c < (axis == channel ? stream->axes[channel].length : 1); c++)
            frequency =
                MAX(frequency, fabs(axis == channel ? ct_stream_coordinate(stream, channel, c, b)
                                                    : ct_stream_coordinate(stream, subband, b, 0)));
    g_autoptr(DelayTable) table = delay_table_new(node->params, stream, NULL);
    for (gint64 i = 0; table && i < table->n_rows * table->n_stations * table->n_pols; i++)
        seconds = MAX(seconds, fabs(table->seconds[i]));
    return frequency * seconds * (table && table->n_rows > 1 ? (gdouble)table->n_rows + 1 : 1);
}

/* The error of a phase in turns, computed in double precision, whose fraction is rounded to single
 * precision; that of sine, cosine and the product. */
static void
delay_accuracy(const CtNode *node, const CtAccuracy *inputs, CtAccuracy *outputs)
{
    gdouble relative = 0;
    if (ct_type_info(node->inputs[0].type)->is_complex)
        relative = 2 * G_PI * (0x1p-25 + 0x1p-50 * largest_turns(node)) + 8 * 0x1p-24;
    outputs[0].error = relative * inputs[0].largest;
    outputs[0].rms_error = relative * inputs[0].rms + inputs[0].rms_error;
}

static const CtStage delay = {
    .name = "delay",
    .summary = "delays the stations' signals by seconds, constant or changing with time",
    .version = 1,
    .inputs = delay_inputs,
    .outputs = delay_outputs,
    .params = delay_params,
    .infer = delay_infer,
    .infer_uses_params = TRUE,
    .operations = delay_operations,
    .accuracy = delay_accuracy,
    .accuracy_rule = "(2π (2⁻²⁵ + 2⁻⁵⁰ n f τ) + 8 u) |x|, u = 2⁻²⁴, n = 1, or the rows of "
                     "delays and one; real samples are only moved",
};

CT_PLUGIN("delay", ((const CtStage *const[]){&delay, NULL}),
          ((const CtVariant *const[]){
              &delay_cuda,
#ifdef __x86_64__
              &delay_cpu_avx512,
              &delay_cpu_avx2,
#endif
              &delay_cpu_baseline,
              &delay_reference,
              NULL,
          }));
