/* SPDX-License-Identifier: BSD-3-Clause */
/* fringe: the delays with which the stations of an array follow sources on the sky. */
#include "../geometry.h"
#include "fringe-geometry.h"
#include "fringe-schedule.h"

#include <cornerturn/stage.h>
#include <string.h>

static const CtParam fringe_params[] = {
    {"phase_centre", CT_PARAM_STRING, CT_PARAM_LIST,
     .help = "right ascension and declination of the source in the ICRS; left out: that of the "
             "observation"},
    {"schedule", CT_PARAM_PATH,
     .help = "a file of scans, in place of phase_centre: lines of UTC, right ascension, "
             "declination and name, or UTC and none"},
    {"interval", CT_PARAM_QUANTITY, CT_PARAM_RANGED, .unit = "s", .minimum = 1e-3, .maximum = 600,
     .fallback = "1 s", .help = "from one pair of delays to the next; linear in between"},
    EARTH_ORIENTATION_PARAMS,
    {NULL},
};

/* ---- what the delays are of ---- */

typedef struct {
    gint64 n_stations;
    gdouble *positions; /* [station][3] metres in the ITRF */
    gdouble reference[3];
    FringeSchedule *schedule;
    EarthOrientations *orientations;
    CtStream stream; /* the input: times are counted from its start */
    CtStream clock;  /* the output */
} Array;

static void
array_free(Array *self)
{
    if (!self)
        return;
    g_free(self->positions);
    fringe_schedule_free(self->schedule);
    earth_orientations_free(self->orientations);
    ct_stream_clear(&self->stream);
    ct_stream_clear(&self->clock);
    g_free(self);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Array, array_free)

static gboolean
add_positions(Array *self, const CtNode *node, GError **error)
{
    const GeometryStations known = geometry_stations(node);
    const gint64 n = ct_stream_length(&node->inputs[0], "station"), lacks = geometry_lacks(&known);
    if (known.n != n || lacks >= 0) {
        const CtStation *station =
            known.n == n && lacks >= 0 ? geometry_station(&known, lacks) : NULL;
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                    "wants the positions of %" G_GINT64_FORMAT " stations: give the graph "
                    "'stations', each with 'position' or 'enu'%s%s%s",
                    n, station ? "; station '" : "", station ? station->name : "",
                    station ? "' has none" : "");
        return FALSE;
    }
    self->n_stations = n;
    self->positions = CT_TABLE(gdouble, 3 * n, "positions", error);
    for (gint64 s = 0; self->positions && s < n; s++)
        memcpy(self->positions + 3 * s, geometry_station(&known, s)->position, 3 * sizeof(gdouble));
    geometry_origin(known.facts, self->reference);
    return self->positions != NULL;
}

/* The node's output has its clock. NULL with an error. */
static Array *
array_new(const CtNode *node, GError **error)
{
    g_autoptr(Array) self = g_new0(Array, 1);
    const CtObservationFacts *facts = ct_observation_facts(node->inputs[0].observation);
    ct_stream_copy(&self->stream, &node->inputs[0]);
    ct_stream_copy(&self->clock, &node->outputs[0]);
    return add_positions(self, node, error) &&
                   (self->schedule = fringe_schedule_new(node, facts, error)) &&
                   (self->orientations = earth_orientations_new(node->params, error))
               ? g_steal_pointer(&self)
               : NULL;
}

/* The seconds from the start of the stream to a tick of the delays. */
static gdouble
seconds_at(const Array *self, gint64 tick)
{
    gint64 start, start_rest, second, rest;
    ct_stream_second(&self->stream, self->stream.start, &start, &start_rest);
    ct_stream_second(&self->clock, tick, &second, &rest);
    return (gdouble)(second - start) + ((gdouble)rest / (gdouble)self->clock.rate_num -
                                        (gdouble)start_rest / (gdouble)self->stream.rate_num);
}

static gboolean
find_moment(const Array *self, gint64 tick, FringeMoment *moment, GError **error)
{
    EarthTime time;
    ct_library_lock("erfa");
    const gboolean good =
        earth_time_find(&self->stream, seconds_at(self, tick), self->orientations, &time, error);
    if (good)
        fringe_moment(&time, moment);
    ct_library_unlock("erfa");
    return good;
}

/* ---- infer ---- */

/* The first tick of the delays that is not before a tick of the stream; `is_same`: nor after it. */
static gboolean
tick_from(const CtStream *clock, const CtStream *stream, gint64 tick, gint64 *found,
          gboolean *is_same)
{
    gint64 second, rest, of_second, of_rest;
    if (!ct_stream_second(stream, tick, &second, &rest) ||
        !ct_stream_tick_at(clock, &(CtUtc){second, rest, stream->rate_num}, found) ||
        !ct_stream_second(clock, *found, &of_second, &of_rest))
        return FALSE;
    *is_same = second == of_second &&
               (__int128)rest * clock->rate_num == (__int128)of_rest * stream->rate_num;
    return TRUE;
}

/* Sets the clock of the delays, whose tick k is k intervals of Unix time; they begin at or before
 * the stream, and last until its end. */
static gboolean
set_clock(CtNode *node, GError **error)
{
    const CtStream *in = &node->inputs[0];
    CtStream *out = &node->outputs[0];
    const gint64 length = in->axes[ct_stream_axis(in, "time")].length;
    gint64 seconds, parts, next = 0, end = 0, after = 0;
    gboolean begins_there = FALSE, ends_there;
    if (in->rate_num == 0 || in->epoch == CT_NO_EPOCH) {
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                    "input 'stream' wants a stream that knows its UTC: give the graph "
                    "'observation: { start: … }'");
        return FALSE;
    }
    ct_params_rational(node->params, "interval", &seconds, &parts);
    out->epoch = 0;
    const gboolean good = ct_params_is_exact(node->params, "interval") &&
                          ct_stream_set_rate(out, parts, seconds, 1) &&
                          !__builtin_mul_overflow(MAX(length, 1), in->ticks_per_sample, &after) &&
                          !__builtin_add_overflow(in->start, after, &end) &&
                          tick_from(out, in, in->start, &next, &begins_there) &&
                          tick_from(out, in, end, &after, &ends_there);
    if (!good)
        return ct_params_error(node->params, "interval", error,
                               "wants a fraction of seconds that 63 bits can count since 1970");
    out->start = begins_there ? next : next - 1;
    return ct_stream_add_axis(out, "time", length < 0 ? -1 : after - out->start) != NULL;
}

/* What the streams that follow the delays observe. */
static CtObservation *
new_observation(const CtStream *stream, const FringeSchedule *schedule)
{
    CtObservationFacts facts = *ct_observation_facts(stream->observation);
    const GArray *scans = schedule->scans;
    const FringeScan *only = &g_array_index(scans, FringeScan, 0);
    g_autofree CtScan *all = g_new(CtScan, scans->len);
    for (guint i = 0; i < scans->len; i++)
        all[i] = g_array_index(scans, FringeScan, i).scan;
    if (only->tick == G_MININT64) {
        facts.source = only->scan.source;
        facts.has_direction = TRUE;
        memcpy(facts.direction, only->scan.direction, sizeof facts.direction);
        return ct_observation_new(&facts);
    }
    facts.source = NULL;
    facts.has_direction = FALSE;
    facts.n_scans = scans->len;
    facts.scans = all;
    return ct_observation_new(&facts);
}

/* Whether the orientation of the Earth is known at the beginning and, if that is known, at the
 * end. */
static gboolean
check_times(const CtNode *node, const Array *array, GError **error)
{
    const gint64 n = node->outputs[0].axes[0].length;
    FringeMoment moment;
    g_autoptr(GError) cause = NULL;
    if (find_moment(array, array->clock.start, &moment, &cause) &&
        find_moment(array, array->clock.start + MAX(n, 0), &moment, &cause))
        return TRUE;
    return ct_params_error(node->params,
                           ct_params_has(node->params, "earth_orientation") ? "earth_orientation"
                                                                            : "dut1",
                           error, "%s", cause->message);
}

/* A part of the schedule that has no effect. */
static void
warn_of_scans(const CtNode *node, const Array *array)
{
    const CtStream *clock = &array->clock;
    const gint64 n = clock->axes[0].length;
    const GArray *scans = array->schedule->scans;
    const FringeScan *first = &g_array_index(scans, FringeScan, 0);
    if (first->tick == G_MININT64)
        return;
    if (n >= 0 && first->tick >= clock->start + n)
        ct_params_warn(node->params, "schedule", "has no scan that begins before the stream ends");
    else if (first->tick > clock->start)
        ct_params_warn(node->params, "schedule",
                       "begins after the stream: before, delays are 0 and follow no source");
}

static gboolean
fringe_infer(CtNode *node, GError **error)
{
    const CtStream *in = &node->inputs[0];
    CtStream *out = &node->outputs[0];
    out->type = CT_F64;
    if (!set_clock(node, error))
        return FALSE;
    CtAxis *end = ct_stream_add_axis(out, "end", 2);
    CtAxis *station = ct_stream_add_axis(out, "station", ct_stream_length(in, "station"));
    const CtAxis *of = &in->axes[ct_stream_axis(in, "station")];
    g_return_val_if_fail(end && station, FALSE);
    if (of->labels)
        ct_axis_take_labels(&out->axes[ct_stream_axis(out, "station")], ct_labels_ref(of->labels));
    g_autoptr(Array) array = array_new(node, error);
    if (!array || !check_times(node, array, error))
        return FALSE;
    warn_of_scans(node, array);
    ct_stream_take_observation(out, new_observation(in, array->schedule));
    return TRUE;
}

/* ---- the only variant: delays are few, so others would not be faster ---- */

typedef struct {
    Array *array;
    const CtLayout *layout; /* of the output; the core's */
    gint64 n_made;
    gint64 n;                /* −1: no end is known */
    gdouble *delays;         /* [end][station] */
    FringeMoment moments[2]; /* at both ends */
    gint64 moment_tick;      /* that of moments[1]; G_MININT64: none yet */
} Fringe;

static gboolean
fringe_prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    Fringe *self = *state = g_new0(Fringe, 1);
    const CtNode *node = &prepare->nodes[0];
    self->layout = &prepare->outputs[0].layout;
    self->n = node->outputs[0].axes[ct_stream_axis(&node->outputs[0], "time")].length;
    self->moment_tick = G_MININT64;
    self->array = array_new(node, error);
    self->delays =
        self->array ? CT_TABLE(gdouble, 2 * self->array->n_stations, "delays", error) : NULL;
    return self->delays != NULL;
}

static gboolean
fringe_advance(gpointer state, CtAdvance *advance, G_GNUC_UNUSED GError **error)
{
    Fringe *self = state;
    CtDeparture *output = &advance->outputs[0];
    output->produced = self->n < 0 ? output->room : MIN(output->room, self->n - self->n_made);
    output->start = self->array->clock.start + self->n_made;
    self->n_made += output->produced;
    advance->ended = self->n_made == self->n;
    return TRUE;
}

/* The delays from `tick` on: at it and at the next, for the source of this scan. */
static gboolean
find_delays(Fringe *self, gint64 tick, GError **error)
{
    const Array *array = self->array;
    const FringeScan *scan = fringe_schedule_at(array->schedule, tick);
    if (self->moment_tick != tick && !find_moment(array, tick, &self->moments[1], error))
        return FALSE;
    self->moments[0] = self->moments[1];
    self->moment_tick = tick + 1;
    if (!find_moment(array, tick + 1, &self->moments[1], error))
        return FALSE;
    for (guint end = 0; end < 2; end++)
        for (gint64 s = 0; s < array->n_stations; s++)
            self->delays[end * array->n_stations + s] =
                scan && scan->scan.has_direction
                    ? fringe_delay(&self->moments[end], array->positions + 3 * s, array->reference,
                                   scan->scan.direction)
                    : 0;
    return TRUE;
}

static gboolean
fringe_work(gpointer state, const CtWork *work, GError **error)
{
    Fringe *self = state;
    const CtBlock *block = &work->outputs[0];
    const gint time = ct_layout_axis(self->layout, "time"),
               end = ct_layout_axis(self->layout, "end"),
               station = ct_layout_axis(self->layout, "station");
    for (gint64 t = 0; block->data && t < block->n_samples; t++) {
        if (!find_delays(self, block->start + t, error))
            return FALSE;
        for (gint64 i = 0; i < 2 * self->array->n_stations; i++)
            memcpy(block->data + t * block->stride[time] +
                       i / self->array->n_stations * block->stride[end] +
                       i % self->array->n_stations * block->stride[station],
                   &self->delays[i], sizeof *self->delays);
    }
    return TRUE;
}

static void
fringe_finish(gpointer state)
{
    Fringe *self = state;
    if (!self)
        return;
    array_free(self->array);
    g_free(self->delays);
    g_free(self);
}

static const CtRow rows[] = {{"any: [...] -> f64{time end station}", 0.1}, {NULL}};

static const CtVariant fringe_reference = {
    .name = "reference",
    .backend = CT_REFERENCE,
    .covers = (const char *const[]){"fringe", NULL},
    .rows = rows,
    .prepare = fringe_prepare,
    .advance = fringe_advance,
    .work = fringe_work,
    .finish = fringe_finish,
};

/* The same functions, so that a graph that allows only cpu variants has delays too. */
static const CtVariant fringe_cpu = {
    .name = "cpu",
    .backend = CT_CPU,
    .covers = (const char *const[]){"fringe", NULL},
    .rows = rows,
    .prepare = fringe_prepare,
    .advance = fringe_advance,
    .work = fringe_work,
    .finish = fringe_finish,
};

/* Sums and products of double precision, of which the error is far below that of the model. */
static void
fringe_accuracy(G_GNUC_UNUSED const CtNode *node, G_GNUC_UNUSED const CtAccuracy *inputs,
                CtAccuracy *outputs)
{
    outputs[0].error = 0x1p-48 * outputs[0].largest;
    outputs[0].rms_error = 0x1p-48 * outputs[0].rms;
}

static const CtStage fringe = {
    .name = "fringe",
    .summary = "delays with which the stations follow sources on the sky",
    .version = 1,
    .inputs = CT_PORTS({"stream", "{time station ...}", CT_PORT_SHAPE,
                        "gives stations, start and length; its data are not read"}),
    .outputs = CT_PORTS({"delays", "f64{time end station}", 0,
                         "seconds, at the tick of each sample and of the next"}),
    .params = fringe_params,
    .infer = fringe_infer,
    .infer_uses_params = TRUE,
    .accuracy = fringe_accuracy,
    .accuracy_rule = "2⁻⁴⁸ |τ|",
};

CT_STAGE_PLUGIN("fringe", fringe, &fringe_cpu, &fringe_reference);
