/* SPDX-License-Identifier: BSD-3-Clause */
/* The cases of a stage's test. */
#include "test-case.h"

#include "graph/graph.h"
#include "graph/plugin-call.h"
#include "graph/tuning.h"
#include "model/row.h"
#include "plan/placement.h"

#include <cornerturn/kit/half.h>
#include <math.h>
#include <string.h>

/* The most elements of an input, roughly, and the most of them at one point in time. */
enum { MOST_ELEMENTS = 1 << 14, MOST_WIDTH = 1 << 9 };

/* Lengths of axes, and numbers of output samples: around the lengths of vectors, odd ones, primes.
 */
static const gint64 lengths[] = {1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 31, 33, 64, 65};
static const gint64 samples[] = {1,  2,  3,  5,  7,  8,   15,  16,  17,  31,  32,
                                 33, 63, 64, 65, 97, 127, 128, 129, 255, 257, 509};

/* Elements: uniform in −1 … 1, or any integer; extremes; a few that are not zero; large and small
 * powers of two. */
enum { UNIFORM, EXTREME, SPARSE, SCALED, N_VALUES };

static gint64
pick(GRand *random, const gint64 *values, guint n)
{
    return values[g_rand_int_range(random, 0, (gint32)n)];
}

/* ---- streams ---- */

static gboolean
has_dots(const CtLayout *pattern)
{
    return pattern->n_axes == 0 || ct_layout_axis(pattern, "...") >= 0;
}

static gint64
draw_length(const CtTestFixed *fixed, const char *axis, guint32 round, gint64 left, GRand *random)
{
    const gint64 given = GPOINTER_TO_INT(g_hash_table_lookup(fixed->lengths, axis));
    const gboolean is_pol = g_str_has_prefix(axis, "pol");
    if (given > 0)
        return given;
    gint64 length = 3;
    if (is_pol)
        length = round == 0 || g_rand_boolean(random) ? 2 : g_rand_int_range(random, 1, 4);
    else if (round > 0)
        length = pick(random, lengths, G_N_ELEMENTS(lengths));
    return MIN(left, length);
}

/* Adds an axis of the length that other inputs have, if any has it. */
static void
add_axis(CtTestCase *one, const CtTestFixed *fixed, CtStream *stream, const char *name,
         GRand *random)
{
    if (g_str_equal(name, "...") || g_str_equal(name, "complex") ||
        ct_stream_axis(stream, name) >= 0)
        return;
    gint64 length = 0;
    for (const CtStream *other = one->inputs; other < stream && length == 0; other++) {
        const gint a = ct_stream_axis(other, name);
        length = a < 0 ? 0 : other->axes[a].length;
    }
    const gint64 width = MAX(1, ct_stream_width(stream));
    if (length == 0)
        length = g_str_equal(name, "time")
                     ? 1
                     : draw_length(fixed, name, one->round, MAX(1, MOST_WIDTH / width), random);
    CtAxis *axis = ct_stream_add_axis(stream, name, length);
    if (axis && (g_str_equal(name, "channel") || g_str_equal(name, "subband")))
        axis->coordinate =
            (CtCoordinate){.unit = g_intern_string("Hz"), .first = 100e6, .step = 1000};
}

/* Draws one of the port's types, if possible one that the row takes. */
static CtType
draw_type(const CtTestFixed *fixed, guint32 port, guint32 row, guint32 turn)
{
    const guint32 all = (1u << CT_N_TYPES) - 2, wanted = port ? port & all : all;
    const guint32 types = row && (wanted & row) ? wanted & row : wanted;
    if (fixed->type != CT_TYPE_NONE)
        return fixed->type;
    guint left = turn % (guint)__builtin_popcount(types);
    for (CtType type = CT_TYPE_NONE + 1; type < CT_N_TYPES; type++)
        if (types >> type & 1 && left-- == 0)
            return type;
    return CT_CF32;
}

/* Whether an input other than `port` names the axis. */
static gboolean
is_of_other_port(const CtStage *stage, const CtPort *port, const char *axis)
{
    for (const CtPort *other = stage->inputs; other && other->name; other++) {
        CtLayout pattern = {0};
        if (other != port && other->layout && *other->layout &&
            ct_layout_parse(&pattern, other->layout, NULL) && ct_layout_axis(&pattern, axis) >= 0)
            return TRUE;
    }
    return FALSE;
}

/* Gives an array some axes of the first input, and time if it has none of them. */
static void
share_axes(CtTestCase *one, const CtTestFixed *fixed, CtStream *stream, GRand *random)
{
    const CtStream *first = &one->inputs[0];
    for (guint a = 0; a < first->n_axes; a++)
        if (!g_str_equal(first->axes[a].name, "time") && g_rand_boolean(random))
            add_axis(one, fixed, stream, first->axes[a].name, random);
    if (stream->n_axes == 0)
        add_axis(one, fixed, stream, "time", random);
}

/* Tells the stream its time, its source, and where its stations are: on a ring of a kilometre. */
static void
add_observation(CtStream *stream)
{
    static const gdouble centre[] = {3826577, 461022, 5064892}, radius = 1000;
    CtStation stations[MOST_WIDTH] = {0};
    const char *names[MOST_WIDTH];
    const gint axis = ct_stream_axis(stream, "station");
    const guint n = axis < 0 ? 0 : (guint)MIN(stream->axes[axis].length, MOST_WIDTH);
    for (guint s = 0; s < n; s++) {
        g_autofree char *name = g_strdup_printf("s%u", s);
        const gdouble angle = 2 * G_PI * s / n;
        names[s] = stations[s].name = g_intern_string(name);
        stations[s].has_position = TRUE;
        memcpy(stations[s].position, centre, sizeof centre);
        stations[s].position[0] += radius * cos(angle);
        stations[s].position[1] += radius * sin(angle);
    }
    const CtObservationFacts facts = {
        .has_direction = TRUE,
        .direction = {1, 0.9},
        .start = 1600000000,
        .n_stations = n,
        .stations = stations,
    };
    stream->epoch = facts.start;
    ct_stream_take_observation(stream, ct_observation_new(&facts));
    if (n > 0)
        ct_axis_take_labels(&stream->axes[axis], ct_labels_new(names, n));
}

static void
draw_input(CtTestCase *one, const CtTestFixed *fixed, const CtPort *port, const CtLayout *row,
           guint i, const char *loses, GRand *random)
{
    static const gint64 ticks[] = {1, 1, 3, 48}, starts[] = {0, 0, 5, -7};
    static const gint64 ratios[] = {1, 1, 2, 3, 16}; /* of the samples of a further input */
    const gboolean flows = !(port->flags & CT_PORT_STATIC);
    CtStream *stream = &one->inputs[i];
    CtLayout pattern = {0};
    ct_stream_init(stream);
    if (port->layout && *port->layout)
        ct_layout_parse(&pattern, port->layout, NULL);
    const guint n_further = one->round == 0 ? 2 : (guint)g_rand_int_range(random, 0, 4);
    const gboolean is_open = flows && has_dots(&pattern) && has_dots(row);
    stream->type = draw_type(fixed, pattern.types, row->types, one->round + i);
    if (is_open)
        add_axis(one, fixed, stream, "time", random);
    for (guint a = 0; a < pattern.n_axes; a++)
        add_axis(one, fixed, stream, pattern.axes[a].name, random);
    for (guint a = 0; a < row->n_axes; a++)
        if (!row->axes[a].count)
            add_axis(one, fixed, stream, row->axes[a].name, random);
    if (port->flags & CT_PORT_PREPARED && pattern.n_axes == 1 && has_dots(&pattern))
        share_axes(one, fixed, stream, random);
    GHashTableIter iter;
    gpointer name;
    g_hash_table_iter_init(&iter, fixed->lengths);
    while (is_open && g_hash_table_iter_next(&iter, &name, NULL))
        if (!is_of_other_port(fixed->stage, port, name))
            add_axis(one, fixed, stream, name, random);
    /* If the user gives lengths, these axes are the only ones beside the port's own and time. */
    const guint n_given =
        g_hash_table_size(fixed->lengths) - g_hash_table_contains(fixed->lengths, "time");
    for (guint k = 0; k < n_further && is_open && n_given == 0; k++)
        add_axis(
            one, fixed, stream,
            fixed->further->pdata[one->round == 0 ? k
                                                  : (guint)g_rand_int_range(
                                                        random, 0, (gint32)fixed->further->len)],
            random);
    const gint lost = ct_stream_axis(stream, loses);
    if (flows && lost >= 0)
        stream->axes[lost].loses = TRUE;
    stream->rate_num = 1000000;
    stream->rate_den = 1;
    if (i == 0) {
        stream->ticks_per_sample = pick(random, ticks, G_N_ELEMENTS(ticks));
        stream->start = pick(random, starts, G_N_ELEMENTS(starts)) * stream->ticks_per_sample;
    } else {
        const gint64 ratio =
            flows && one->round > 0 ? pick(random, ratios, G_N_ELEMENTS(ratios)) : 1;
        const gint64 before = g_rand_int_range(random, 0, (gint32)ratio);
        stream->ticks_per_sample = ratio * one->inputs[0].ticks_per_sample;
        stream->start = one->inputs[0].start - before * one->inputs[0].ticks_per_sample;
    }
    stream->has_frequency = TRUE;
    stream->frequency = 100e6;
    if (i == 0 && one->round % 2 == 0)
        add_observation(stream);
}

static void
clear_outputs(CtTestCase *one)
{
    for (guint o = 0; o < CT_TEST_PORTS; o++) {
        ct_stream_clear(&one->outputs[o]);
        ct_stream_init(&one->outputs[o]);
    }
}

static gboolean
infer(CtTestCase *one, GError **error)
{
    clear_outputs(one);
    memset(one->wishes, 0, sizeof one->wishes);
    one->node.footprint = (CtFootprint){.window = 1, .hop = 1};
    one->node.block = 0;
    return ct_node_infer(&one->node, error);
}

static gboolean
is_static(const CtTestCase *one, guint i)
{
    return (ct_node_input_port(&one->node, i)->flags & CT_PORT_STATIC) != 0;
}

/* The samples of an input that cover `n` of the first. */
static gint64
n_samples_for(const CtTestCase *one, guint i, gint64 n)
{
    const CtStream *first = &one->inputs[0], *in = &one->inputs[i];
    const gint64 ticks = first->start - in->start + n * first->ticks_per_sample;
    return (ticks + in->ticks_per_sample - 1) / in->ticks_per_sample;
}

/* Gives all inputs the clock of the first; FALSE: they have it. */
static gboolean
share_clock(CtTestCase *one)
{
    gboolean differ = FALSE;
    for (guint i = 1; i < one->node.n_inputs; i++) {
        CtStream *in = &one->inputs[i];
        differ |= in->ticks_per_sample != one->inputs[0].ticks_per_sample;
        in->ticks_per_sample = one->inputs[0].ticks_per_sample;
        in->start = one->inputs[0].start;
    }
    return differ;
}

static gint64
set_time(CtTestCase *one, gint64 n)
{
    gint64 widest = 1;
    for (guint i = 0; i < one->node.n_inputs; i++) {
        const gint time = ct_stream_axis(&one->inputs[i], "time");
        one->n_samples[i] = 1;
        if (time < 0 || is_static(one, i) || one->inputs[i].type == CT_TYPE_NONE)
            continue;
        one->n_samples[i] = n_samples_for(one, i, n);
        one->inputs[i].axes[time].length = one->n_samples[i];
        widest = MAX(widest, ct_stream_width(&one->inputs[i]));
    }
    return widest;
}

/* Describes the node twice: the footprint tells how long the streams must be. */
static gboolean
describe(CtTestCase *one, const CtTestFixed *fixed, GRand *random, GError **error)
{
    const gint64 given = GPOINTER_TO_INT(g_hash_table_lookup(fixed->lengths, "time"));
    const gint64 widest = set_time(one, given > 0 ? given : 4096);
    const gboolean good = infer(one, error);
    if (!good || given > 0)
        return good;
    const CtFootprint *rule = &one->node.footprint;
    const gint64 most = MAX(1, (MOST_ELEMENTS / widest - rule->window) / rule->hop);
    const gint64 drawn = one->round == 0 ? 40 : pick(random, samples, G_N_ELEMENTS(samples));
    const gint64 n = MIN(most, drawn);
    const gint64 rest =
        rule->hop > 1 ? g_rand_int_range(random, 0, (gint32)MIN(rule->hop, 1 << 20)) : 0;
    set_time(one, rule->kind == CT_FOOTPRINT_SUM ? MAX(1, n * rule->hop - rest)
                                                 : (n - 1) * rule->hop + rule->window + rest);
    return infer(one, error);
}

/* ---- layouts ---- */

/* Binds the row to the streams. Ports without a wish of the node have `orders` [n_inputs +
 * n_outputs] as their wishes; NULL: none. */
static gboolean
bind(const CtTestCase *one, const CtRow *row, const CtLayout *orders, CtLayout *layouts,
     GError **error)
{
    CtRowPort ports[2 * CT_TEST_PORTS] = {{0}};
    const CtRowPorts all = {one->node.n_inputs, one->node.n_outputs, ports};
    CtRowPatterns patterns;
    for (guint i = 0; i < all.n_inputs; i++)
        ports[i] = (CtRowPort){
            ct_node_input_port(&one->node, i)->name,
            ct_node_input_flows(&one->node, i) ? &one->inputs[i] : NULL,
            one->wishes[0][i].n_axes || !orders ? &one->wishes[0][i] : &orders[i],
            ct_node_input_is_prepared(&one->node, i),
        };
    for (guint o = 0; o < all.n_outputs; o++)
        ports[all.n_inputs + o] = (CtRowPort){
            one->node.stage->outputs[o].name, &one->outputs[o],
            one->wishes[1][o].n_axes || !orders ? &one->wishes[1][o] : &orders[all.n_inputs + o]};
    if (!ct_row_parse(&patterns, row->layouts, error) ||
        !ct_row_bind(&patterns, &all, 0, NULL, NULL, layouts, error))
        return FALSE;
    for (guint i = 0; i < all.n_inputs; i++)
        if (ports[i].is_prepared && one->inputs[i].type != CT_TYPE_NONE)
            ct_layout_canonical(&layouts[i], &one->inputs[i]);
    return TRUE;
}

gboolean
ct_test_case_bind(const CtTestCase *one, const CtRow *row, CtLayout *layouts, GError **error)
{
    return bind(one, row, NULL, layouts, error);
}

/* The k-th order of the axes of a stream, as a pattern. */
static void
order_axes(CtLayout *order, const CtStream *stream, guint64 k)
{
    const char *left[CT_MAX_AXES];
    *order = (CtLayout){.n_axes = stream->n_axes};
    for (guint a = 0; a < stream->n_axes; a++)
        left[a] = stream->axes[a].name;
    for (guint a = 0, n = stream->n_axes; a < stream->n_axes; a++, n--) {
        const guint taken = (guint)(k % n);
        k /= n;
        order->axes[a].name = left[taken];
        memmove(&left[taken], &left[taken + 1], (n - taken - 1) * sizeof *left);
    }
}

static guint64
n_orders(const CtStream *stream)
{
    guint64 n = 1;
    for (guint a = 2; a <= stream->n_axes; a++)
        n *= a;
    return n;
}

/* Binds the row to another order of the axes in each round: of the first port, and in rows that
 * allow any of the first output too. */
static gboolean
bind_in_turn(CtTestCase *one, const CtRow *row, GRand *random, GError **error)
{
    const guint n_in = one->node.n_inputs, n_out = one->node.n_outputs;
    const CtStream *first = n_in > 0 ? &one->inputs[0] : &one->outputs[0];
    const guint64 n = n_orders(first), from = (guint64)one->round * 7919;
    const gboolean any = g_str_has_prefix(row->layouts, "any:") && n_in > 0 && n_out > 0;
    CtLayout orders[2 * CT_TEST_PORTS] = {{0}};
    for (guint64 k = 0; k < MIN(n, 720) && one->round > 0; k++) {
        order_axes(&orders[0], first, (from + k) % n);
        if (any) {
            order_axes(&orders[n_in], &one->outputs[0], g_rand_int(random));
            if (bind(one, row, orders, one->layouts, NULL))
                return TRUE;
            orders[n_in] = (CtLayout){0};
        }
        if (bind(one, row, orders, one->layouts, NULL))
            return TRUE;
    }
    return bind(one, row, NULL, one->layouts, error);
}

/* ---- the rest ---- */

/* The tuning of a round: the default, each single value, then pairs of values. */
static void
draw_tuning(CtTestCase *one, const CtVariant *variant, GRand *random)
{
    const guint n = ct_tuning_count(variant);
    guint k = one->round;
    ct_tuning_defaults(variant, one->tuning);
    if (k-- == 0 || n == 0)
        return;
    for (guint i = 0; i < n; i++)
        for (guint v = 0; v < variant->tunables[i].n_values; v++) {
            if (variant->tunables[i].values[v] == variant->tunables[i].fallback || k-- > 0)
                continue;
            one->tuning[i] = variant->tunables[i].values[v];
            return;
        }
    for (guint pair = 0; pair < 2; pair++) {
        const guint i = (guint)g_rand_int_range(random, 0, (gint32)n);
        const CtTunable *tunable = &variant->tunables[i];
        one->tuning[i] = tunable->values[g_rand_int_range(random, 0, (gint32)tunable->n_values)];
    }
}

static void
draw_firings(CtTestCase *one, const CtVariant *variant, GRand *random)
{
    static const guint workers[] = {1, 2, 3, 5, 8};
    const gint64 n = MAX(1, one->n_samples[0]);
    const gboolean small = g_rand_int_range(random, 0, 4) == 0;
    one->is_whole = one->round % 3 == 0;
    one->n_workers =
        one->is_whole ? 1 : workers[g_rand_int_range(random, 0, G_N_ELEMENTS(workers))];
    one->cut_by = g_rand_boolean(random) ? CT_CUT_ARRIVALS : CT_CUT_ROOM;
    for (guint k = 0; k < G_N_ELEMENTS(one->cuts); k++)
        one->cuts[k] =
            k == 1 || small ? 1 : g_rand_int_range(random, 1, (gint32)MIN(n, 1 << 20) + 1);
    const gsize padding = (gsize)g_rand_int_range(random, 1, 6);
    one->padding = g_rand_int_range(random, 0, 3) == 0 && variant->backend != CT_CUDA ? padding : 0;
    one->side = g_rand_int_range(random, 0, 3) == 0 ? CT_GUARD_BEGIN : CT_GUARD_END;
    one->has_gaps = one->round % 2 == 1;
    one->values = one->round % N_VALUES;
}

/* Converts the inputs to the types that the row takes. */
static void
take_types(CtTestCase *one)
{
    for (guint i = 0; i < one->node.n_inputs; i++) {
        ct_stream_copy(&one->narrow[i], &one->inputs[i]);
        if (one->layouts[i].n_axes > 0)
            one->inputs[i].type = ct_layout_stream_type(&one->layouts[i]);
    }
}

CtCaseState
ct_test_case_init(CtTestCase *one, const CtTestFixed *fixed, const CtTestChoice *choice,
                  guint32 round, GRand *random, char **reason)
{
    static const char *const losing[] = {"", "station", "pol", "channel"};
    static const char *const givers[CT_TEST_PORTS] = {"first", "second", "third",   "fourth",
                                                      "fifth", "sixth",  "seventh", "eighth"};
    const CtStage *stage = fixed->stage;
    g_autoptr(GError) error = NULL;
    CtRowPatterns row;
    guint n = 0;
    *one = (CtTestCase){.round = round};
    *reason = NULL;
    one->node = (CtNode){
        .name = stage->name,
        .stage = stage,
        .params = fixed->params,
        .inputs = one->inputs,
        .input_names = givers,
        .outputs = one->outputs,
        .input_layouts = one->wishes[0],
        .output_layouts = one->wishes[1],
    };
    clear_outputs(one);
    if (!ct_row_parse(&row, choice->row->layouts, &error)) {
        *reason = g_strdup(error->message);
        return CT_CASE_UNBOUND;
    }
    const char *loses = losing[g_rand_int_range(random, 0, G_N_ELEMENTS(losing))];
    for (guint i = 0; stage->inputs && stage->inputs[i].name && n < CT_TEST_PORTS; i++) {
        const CtPort *port = &stage->inputs[i];
        const guint n_links = port->flags & CT_PORT_MANY ? 1 + round % 3 : 1;
        for (guint k = 0; k < n_links; k++, n++) {
            ct_stream_init(&one->inputs[n]);
            if (k > 0)
                ct_stream_copy(&one->inputs[n], &one->inputs[n - 1]);
            else if (!(port->flags & CT_PORT_OPTIONAL) || g_rand_boolean(random))
                draw_input(one, fixed, port, &row.inputs[i], n, loses, random);
        }
    }
    one->node.n_inputs = n;
    while (stage->outputs && stage->outputs[one->node.n_outputs].name)
        one->node.n_outputs++;
    const gboolean described = describe(one, fixed, random, &error);
    gboolean is_fault = g_error_matches(error, CT_ERROR, CT_ERROR_PLUGIN);
    /* Few stages take samples of several lengths. */
    if (!described && !is_fault && share_clock(one)) {
        g_clear_error(&error);
        describe(one, fixed, random, &error);
        is_fault = g_error_matches(error, CT_ERROR, CT_ERROR_PLUGIN);
    }
    if (error) {
        *reason = g_strdup(error->message);
        return is_fault ? CT_CASE_FAULTY : CT_CASE_REFUSED;
    }
    if (!bind_in_turn(one, choice->row, random, &error)) {
        *reason = g_strdup(error->message);
        return CT_CASE_UNBOUND;
    }
    if (choice->variant->fits && !ct_call_fits(choice->variant, &one->node, reason))
        return CT_CASE_UNFIT;
    take_types(one);
    draw_tuning(one, choice->variant, random);
    draw_firings(one, choice->variant, random);
    return CT_CASE_GOOD;
}

void
ct_test_case_clear(CtTestCase *one)
{
    for (guint i = 0; i < CT_TEST_PORTS; i++) {
        ct_stream_clear(&one->inputs[i]);
        ct_stream_clear(&one->outputs[i]);
        ct_stream_clear(&one->narrow[i]);
    }
}

char *
ct_test_case_describe(const CtTestCase *one, const CtTestChoice *choice)
{
    GString *text = g_string_new(NULL);
    g_autofree char *name = ct_tuning_name(choice->variant, one->tuning);
    g_string_append_printf(text, "%s, ", name);
    for (guint i = 0; i < one->node.n_inputs + one->node.n_outputs; i++) {
        if (i == one->node.n_inputs)
            g_string_append(text, i > 0 ? " -> " : "-> ");
        else if (i > 0)
            g_string_append(text, ", ");
        if (one->layouts[i].n_axes == 0)
            continue;
        g_autofree char *layout = ct_layout_to_string(&one->layouts[i]);
        g_string_append(text, layout);
    }
    const CtStream *first = one->node.n_inputs > 0 ? &one->inputs[0] : &one->outputs[0];
    g_autofree char *axes = ct_stream_describe(first);
    g_string_append_printf(text, ", %s, %" G_GSIZE_FORMAT " elements of padding, ", axes,
                           one->padding);
    if (one->is_whole)
        g_string_append(text, "one firing");
    else
        g_string_append_printf(text,
                               "firings by %s of %" G_GINT64_FORMAT " %" G_GINT64_FORMAT
                               " %" G_GINT64_FORMAT " samples, %u workers",
                               one->cut_by == CT_CUT_ARRIVALS ? "arrivals" : "room", one->cuts[0],
                               one->cuts[1], one->cuts[2], one->n_workers);
    g_string_append(text, one->has_gaps ? ", with gaps" : "");
    return g_string_free(text, FALSE);
}

/* ---- elements ---- */

/* A part of an element in −1 … 1, at the scale of the case. */
static gdouble
draw_number(const CtTestCase *one, GRand *random)
{
    const gdouble number = g_rand_double_range(random, -1, 1);
    switch (one->values) {
    case EXTREME:
        return number < 0 ? -1 : 1;
    case SCALED:
        return ldexp(number, g_rand_int_range(random, -20, 21));
    default:
        return number;
    }
}

static void
write_part(const CtTestCase *one, const CtTypeInfo *type, guint8 *to, GRand *random)
{
    if (type->is_float) {
        const gdouble number = draw_number(one, random);
        const gfloat narrow = (gfloat)number;
        const guint16 half = ct_half_from_double(number);
        memcpy(to,
               type->part_bits == 64   ? (gconstpointer)&number
               : type->part_bits == 32 ? (gconstpointer)&narrow
                                       : (gconstpointer)&half,
               type->part_bits / 8);
        return;
    }
    /* The smallest value of a signed type is 1 and then zeros; the largest of any type is the
     * smallest less one. */
    const guint64 least = type->is_signed ? (guint64)1 << (type->part_bits - 1) : 0;
    guint64 bits = (guint64)g_rand_int(random) << 32 | g_rand_int(random);
    if (one->values == EXTREME)
        bits = bits & 1 ? least : least - 1;
    if (type->part == CT_TYPE_NONE) { /* ci4 */
        *to = (guint8)(one->values == EXTREME ? (bits & 15) * 17 : bits);
        return;
    }
    memcpy(to, &bits, type->part_bits / 8); /* little-endian */
}

void
ct_test_case_fill(const CtTestCase *one, guint input, guint8 *data, guint8 *validity, GRand *random)
{
    const CtStream *stream = &one->narrow[input];
    const CtTypeInfo *type = ct_type_info(stream->type);
    const gint64 n = one->n_samples[input], width = ct_stream_width(stream);
    const guint n_parts = type->is_complex && type->part != CT_TYPE_NONE ? 2 : 1;
    const gint64 n_lanes = ct_stream_n_lanes(stream);
    memset(data, 0, (gsize)(n * width) * type->bytes);
    for (gint64 i = 0; i < n * width * n_parts; i++)
        if (one->values != SPARSE || g_rand_int_range(random, 0, 8) == 0)
            write_part(one, type, data + (gsize)i * type->bytes / n_parts, random);
    memset(validity, 1, (gsize)(n_lanes * n));
    if (!one->has_gaps || is_static(one, input))
        return;
    for (gint64 l = 0; l < n_lanes; l++)
        for (gint gaps = g_rand_int_range(random, 0, 4); gaps > 0; gaps--) {
            const gint64 from = g_rand_int_range(random, 0, (gint32)n);
            const gint64 length = g_rand_int_range(random, 1, (gint32)(n / 3 + 2));
            memset(validity + l * n + from, 0, (gsize)MIN(length, n - from));
        }
}
