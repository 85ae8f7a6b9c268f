/* SPDX-License-Identifier: BSD-3-Clause */
/* The stage delay: aligns the stations' signals, by a phase per channel, or by a shift before the
 * filter. */
#include "delay.h"

#include "../geometry.h"
#include "delay.kernel.h"

#include <complex.h>

static const CtParam delay_params[] = {
    {"delays", CT_PARAM_PATH, CT_PARAM_LIVE,
     .help = "seconds as .npy [time station] or [time station pol]; instead of the port"},
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
     .help =
         "before a filter: the largest delay, of either sign, that changes during the run or the "
         "port may bring; left out, without the port: the least and the most that the graph "
         "gives"},
    GEOMETRY_POSITION_PARAMS,
    {NULL},
};

/* The least and the most whole samples, or those for which the graph leaves room; linear pieces
 * reach them at their ends. */
static gboolean
whole_range(const DelayTable *table, const CtParams *params, gint64 *least, gint64 *most,
            GError **error)
{
    *least = G_MAXINT64;
    *most = G_MININT64;
    for (gint64 i = 0; i < delay_table_length(table); i++) {
        gint64 whole = (gint64)rint(table->seconds[i] * table->samples_per_second);
        *least = MIN(*least, whole);
        *most = MAX(*most, whole);
    }
    if (!ct_params_has(params, "range"))
        return TRUE;
    const gdouble seconds = ct_params_real(params, "range");
    const gdouble range = rint(seconds * table->samples_per_second);
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
count_shifts(const DelayTable *table)
{
    g_autoptr(GHashTable) shifts = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    for (gint64 i = 0; i < delay_table_length(table); i++) {
        const gint64 whole = (gint64)rint(table->seconds[i] * table->samples_per_second);
        g_hash_table_add(shifts, g_memdup2(&whole, sizeof whole));
    }
    return g_hash_table_size(shifts);
}

/* The number of input samples that an output sample is made of: one for each station and pol that
 * share their validity, and another one if delays change; the whole window if the port changes
 * them. */
static void
set_needs(CtNode *node, const DelayTable *table)
{
    const CtStream *stream = &node->inputs[DELAY_IN], *port = &node->inputs[DELAY_PORT];
    CtFootprint *footprint = &node->footprint;
    const gint station = ct_stream_axis(stream, "station"), pol = ct_stream_axis(stream, "pol");
    const gboolean apart = (table->n_stations == 1 || stream->axes[station].loses) &&
                           (table->n_pols == 1 || stream->axes[pol].loses);
    const gboolean has_port = ct_array_is_given(node, DELAY_PORT);
    const gboolean jumps = has_port && ct_stream_axis(port, "time") >= 0;
    footprint->moves = jumps || table->n_rows > 1;
    footprint->needs = jumps               ? footprint->window
                       : table->n_rows > 1 ? MIN(footprint->window, apart ? 2 : footprint->window)
                       : apart             ? 1
                       : has_port          ? MIN(footprint->window, delay_table_length(table))
                                           : count_shifts(table);
}

static gboolean
is_hertz(const CtStream *stream, gint axis)
{
    return axis >= 0 && g_strcmp0(stream->axes[axis].coordinate.unit, "Hz") == 0;
}

gdouble *
delay_frequencies(const CtStream *stream, GError **error)
{
    const gint subband = ct_stream_axis(stream, "subband");
    const gint channel = ct_stream_axis(stream, "channel");
    const gint64 n_channels = ct_stream_length(stream, "channel");
    const gint64 n = ct_stream_length(stream, "subband") * n_channels;
    gdouble *frequencies = CT_TABLE(gdouble, n, "frequencies", error);
    for (gint64 i = 0; frequencies && i < n; i++)
        frequencies[i] =
            channel >= 0
                ? ct_stream_coordinate(stream, (guint)channel, i % n_channels, i / n_channels)
            : is_hertz(stream, subband) ? ct_stream_coordinate(stream, (guint)subband, i, 0)
                                        : stream->frequency;
    return frequencies;
}

static gboolean
delay_infer(CtNode *node, GError **error)
{
    const CtStream *input = &node->inputs[0];
    const char *port = node->stage->inputs[0].name;
    ct_stream_copy(&node->outputs[0], input);
    g_autoptr(DelayTable) table = delay_table_new(node, error);
    if (!table)
        return FALSE;
    /* The port knows which sources the delays follow. */
    CtObservation *follows = table->has_ends ? node->inputs[DELAY_PORT].observation : NULL;
    if (follows)
        ct_stream_take_observation(&node->outputs[0], ct_observation_ref(follows));

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
    if (!(table->samples_per_second > 0)) {
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                    "input '%s' wants a sample rate, but is given none", port);
        return FALSE;
    }
    for (gint64 i = 0; i < delay_table_length(table); i++)
        if (fabs(table->seconds[i] * table->samples_per_second) > 1 << 28)
            return ct_params_error(node->params, "delays", error,
                                   "wants delays of at most %d samples, but is given %g s", 1 << 28,
                                   table->seconds[i]);
    gint64 least, most;
    if (!whole_range(table, node->params, &least, &most, error))
        return FALSE;
    node->footprint.window = most - least + 1;
    node->footprint.offset = most;
    set_needs(node, table);
    return TRUE;
}

static gdouble
delay_operations(const CtNode *node)
{
    return 6.0 * ct_stream_width(&node->outputs[0]);
}

/* The largest frequency, times the largest delay, times the number of roundings of a delay: one for
 * a constant delay. Otherwise the position between two rows is rounded as well, to 2⁻⁵² of the
 * number of rows, and neighbouring rows differ by at most twice the largest delay. */
static gdouble
largest_turns(const CtNode *node, const CtAccuracy *inputs)
{
    const CtStream *stream = &node->inputs[0];
    const gint64 n = ct_stream_length(stream, "subband") * ct_stream_length(stream, "channel");
    g_autofree gdouble *frequencies = delay_frequencies(stream, NULL);
    g_autoptr(DelayTable) table = delay_table_new(node, NULL);
    gdouble frequency = 0, seconds = inputs[DELAY_PORT].largest;
    for (gint64 i = 0; frequencies && i < n; i++)
        frequency = MAX(frequency, fabs(frequencies[i]));
    for (gint64 i = 0; table && i < delay_table_length(table); i++)
        seconds = MAX(seconds, fabs(table->seconds[i]));
    return frequency * seconds * (table && table->n_rows > 1 ? (gdouble)table->n_rows + 1 : 1);
}

/* Adds two errors: that of the phase, which is computed in turns in double precision and whose
 * fraction is rounded to single precision; and that of sine, cosine and the product. */
static void
delay_accuracy(const CtNode *node, const CtAccuracy *inputs, CtAccuracy *outputs)
{
    gdouble relative = 0;
    if (ct_type_info(node->inputs[0].type)->is_complex)
        relative = 2 * G_PI * (0x1p-25 + 0x1p-50 * largest_turns(node, inputs)) + 8 * 0x1p-24;
    outputs[0].error = relative * inputs[0].largest;
    outputs[0].rms_error = relative * inputs[0].rms + inputs[0].rms_error;
}

static const CtStage delay = {
    .name = "delay",
    .summary = "delays the stations' signals by seconds, constant or changing with time",
    .version = 2,
    .inputs =
        CT_PORTS({"voltages", "cf32|f32{time ...}", .help = "spectra, or voltages before a filter"},
                 {"delays", "f32|f64{...}", CT_PORT_OPTIONAL | CT_PORT_STATIC | CT_PORT_PREPARED,
                  "seconds, of the axes station and pol; with the axis end, at the tick of each "
                  "sample and of the next, and linear in between"}),
    .outputs = CT_PORTS({"delayed", "cf32|f32{time ...}", .help = "the same axes, delayed"}),
    .params = delay_params,
    .infer = delay_infer,
    .infer_uses_params = TRUE,
    .operations = delay_operations,
    .accuracy = delay_accuracy,
    .accuracy_rule = "(2π (2⁻²⁵ + 2⁻⁵⁰ n f τ) + 8 u) |x|, u = 2⁻²⁴, n = 1, or the rows of "
                     "delays and one; real samples are only moved",
};

/* Phasors of constant delays, [subband channel station pol]. */
static gboolean
fill_phasors(CtFormTable *phasors, const DelayTable *table, const gdouble *frequencies,
             GError **error)
{
    const gint64 n_channels = phasors->lengths[0] * phasors->lengths[1];
    const gint64 n_series = table->n_stations * table->n_pols;
    double complex *factors = CT_TABLE(double complex, n_channels *n_series, "phases", error);
    for (gint64 i = 0; factors && i < n_channels * n_series; i++) {
        const gdouble turns = frequencies[i / n_series] * table->seconds[i % n_series];
        factors[i] = cexp(-2 * G_PI * I * (turns - rint(turns)));
    }
    phasors->type = CT_CF64;
    phasors->n_axes = 4;
    phasors->data = factors;
    return factors != NULL;
}

static gboolean
delay_choose(const CtNode *node, CtWindowChoice *choice, GError **error)
{
    const CtStream *stream = &node->inputs[0];
    const gboolean is_complex = ct_type_info(stream->type)->is_complex;
    DelayTable *table = choice->data = delay_table_new(node, error);
    choice->free = (GDestroyNotify)delay_table_free;
    if (!table)
        return FALSE;
    const gboolean changes = table->n_rows > 1;
    if (is_complex)
        ct_form_kernel(&choice->form, changes ? "delay_changing" : "delay_constant",
                       sizeof(CtNoSettings));
    choice->shifts = (CtFormTable){
        .type = CT_I64,
        .n_axes = 2,
        .axes = {ct_axis_name("station"), ct_axis_name("pol")},
        .lengths = {table->n_stations, table->n_pols},
    };
    choice->form.table = (CtFormTable){
        .type = CT_F64,
        .n_axes = 2,
        .axes = {ct_axis_name("subband"), ct_axis_name("channel"), ct_axis_name("station"),
                 ct_axis_name("pol")},
        .lengths = {ct_stream_length(stream, "subband"), ct_stream_length(stream, "channel"),
                    table->n_stations, table->n_pols},
    };
    if (changes) {
        choice->line = delay_table_line;
        choice->most_lines = delay_table_most_lines;
    } else if (table->samples_per_second > 0) {
        gint64 *shifts = choice->shifts.data =
            CT_TABLE(gint64, delay_table_length(table), "shifts by delays", error);
        for (gint64 i = 0; shifts && i < delay_table_length(table); i++)
            shifts[i] = -delay_table_whole(table, i, table->start);
        if (!shifts)
            return FALSE;
    }
    g_autofree gdouble *frequencies = is_complex ? delay_frequencies(stream, error) : NULL;
    if (!is_complex || !frequencies)
        return !is_complex;
    if (!changes)
        return fill_phasors(&choice->form.table, table, frequencies, error);
    choice->form.table.data = g_steal_pointer(&frequencies);
    return TRUE;
}

const CtWindow delay_window = CT_WINDOW_FORM("delay", delay_choose);

static const CtRow rows[] = {
    {"cf32[...] -> cf32[...]", 0.75}, {"f32[...] -> f32[...]", 0.75}, {NULL}};
static const CtRow device_rows[] = {
    {"cf32[...] -> cf32[...]", 0.9}, {"f32[...] -> f32[...]", 0.9}, {NULL}};

CT_STAGE_PLUGIN("delay", delay, CT_WINDOW_VARIANTS(delay_window, "delay", rows, device_rows),
                &delay_reference);
