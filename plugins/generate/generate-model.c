/* SPDX-License-Identifier: BSD-3-Clause */
/* The numbers of the simulated sky from parameters: delays, filters, phases. */
#include "generate-model.h"

#include "../geometry.h"

const char *const generate_axes[GENERATE_N_AXES] = {"time", "subband", "station", "pol"};

/* The largest absolute value of an integer type; 0 for a float. */
static gdouble
type_limit(CtType type)
{
    const CtTypeInfo *info = ct_type_info(type);
    return info->is_float ? 0 : ldexp(1, info->part_bits - 1) - 1;
}

/* Modified Bessel function of the first kind, order 0. */
static gdouble
bessel_i0(gdouble x)
{
    gdouble sum = 1, term = 1;
    for (guint k = 1; term > sum * 1e-17; k++) {
        term *= (x / (2 * k)) * (x / (2 * k));
        sum += term;
    }
    return sum;
}

/* The ideal delay filter at `x` samples, in a Kaiser window of β = 7 that ends at ±16 samples. With
 * a phase (radians, real streams only), it also rotates every frequency by minus the phase. */
static gdouble
delay_filter(gdouble x, gdouble phase)
{
    const gdouble half = GENERATE_TAPS / 2, beta = 7;
    if (fabs(x) >= half)
        return 0;
    gdouble window = bessel_i0(beta * sqrt(1 - (x / half) * (x / half))) / bessel_i0(beta);
    if (fabs(x) < 1e-9)
        return window * cos(phase);
    return window * (sin(G_PI * x - phase) + sin(phase)) / (G_PI * x);
}

/* Sets the delay of a signal that arrives `seconds` after it passed the origin, in a band whose
 * zero frequency is `frequency`. */
static void
delay_set(GenerateDelay *delay, gboolean is_complex, gdouble seconds, gdouble rate,
          gdouble frequency)
{
    gdouble samples = seconds * rate;
    delay->whole = (gint64)floor(samples);
    gdouble part = samples - delay->whole;
    gdouble turns = frequency * seconds;
    gdouble phase = 2 * G_PI * (turns - rint(turns));
    for (gint k = 0; k < GENERATE_TAPS; k++)
        delay->taps[k] = delay_filter(k - GENERATE_BEFORE - part, is_complex ? 0 : phase);
    delay->rotation[0] = is_complex ? cos(phase) : 1;
    delay->rotation[1] = is_complex ? -sin(phase) : 0;
}

/* The frequency that is 0 in subband `b`. */
static gdouble
zero_frequency(const CtStream *stream, gint64 b)
{
    gint axis = ct_stream_axis(stream, "subband");
    return axis < 0 ? stream->frequency : ct_stream_coordinate(stream, axis, b, 0);
}

/* Item `i` of a list that has one item for all, or `n`. */
static gboolean
list_item(const CtParams *params, const char *name, gint64 i, gint64 n, gdouble *value,
          GError **error)
{
    guint count = ct_params_count(params, name);
    if (count != 1 && count != n)
        return ct_params_error(params, name, error,
                               "wants 1 value or %" G_GINT64_FORMAT ", but is given %u", n, count);
    *value = ct_params_real_at(params, name, count == 1 ? 0 : i);
    return TRUE;
}

static gboolean
wants_not_negative(const CtParams *params, const char *name, gdouble value, GError **error)
{
    if (value >= 0 && isfinite(value))
        return TRUE;
    return ct_params_error(params, name, error, "wants a power of at least 0, but is given %g",
                           value);
}

/* An array of `n` items for each subband and station, zero. */
static gpointer
new_series(const GenerateModel *model, gsize n, gsize bytes, GError **error)
{
    gsize n_series, n_items;
    if (!g_size_checked_mul(&n_series, (gsize)model->n_subbands, (gsize)model->n_stations) ||
        !g_size_checked_mul(&n_items, n_series, n))
        n_items = G_MAXSIZE;
    return ct_table_new(n_items, bytes, "a signal at all stations in all subbands", error);
}

static gboolean
set_sources(GenerateModel *model, const CtParams *params, const CtStream *stream,
            const gdouble *positions, GError **error)
{
    if (!ct_params_has(params, "source_directions"))
        return TRUE;
    gdouble rate = ct_stream_sample_rate(stream);
    guint n = ct_params_count(params, "source_directions");
    model->sources = g_new0(GenerateSource, n);
    model->n_sources = n;
    model->least = G_MAXINT64;
    model->most = G_MININT64;
    for (guint i = 0; i < n; i++) {
        GenerateSource *source = &model->sources[i];
        gdouble direction[3] = {0}, power = 0;
        if (!geometry_direction(params, "source_directions", i, direction, error) ||
            !list_item(params, "source_powers", i, n, &power, error) ||
            !wants_not_negative(params, "source_powers", power, error) ||
            (model->n_pols > 1 &&
             !list_item(params, "source_correlations", i, n, &source->correlation, error)))
            return FALSE;
        if (!(fabs(source->correlation) <= 1))
            return ct_params_error(params, "source_correlations", error,
                                   "wants −1 to 1, but is given %g", source->correlation);
        source->amplitude = sqrt(power);
        source->delays = new_series(model, 1, sizeof *source->delays, error);
        if (!source->delays)
            return FALSE;
        for (gint64 b = 0; b < model->n_subbands; b++)
            for (gint64 s = 0; s < model->n_stations; s++) {
                GenerateDelay *delay = &source->delays[b * model->n_stations + s];
                delay_set(delay, model->is_complex, -geometry_lead(positions + 3 * s, direction),
                          rate, zero_frequency(stream, b));
                model->least = MIN(model->least, delay->whole);
                model->most = MAX(model->most, delay->whole);
            }
    }
    if (model->most - model->least > 1 << 20)
        return ct_params_error(params, "source_directions", error,
                               "wants delays that differ by at most %d samples over the array, but "
                               "they differ by %" G_GINT64_FORMAT,
                               1 << 20, model->most - model->least);
    return TRUE;
}

static gboolean
set_tones(GenerateModel *model, const CtParams *params, const CtStream *stream,
          const gdouble *positions, GError **error)
{
    if (!ct_params_has(params, "tone_frequencies"))
        return TRUE;
    gdouble rate = ct_stream_sample_rate(stream);
    guint n = ct_params_count(params, "tone_frequencies");
    gboolean directed = ct_params_has(params, "tone_directions");
    if (directed && ct_params_count(params, "tone_directions") != n)
        return ct_params_error(params, "tone_directions", error,
                               "wants a row for each of %u tones, but is given %u", n,
                               ct_params_count(params, "tone_directions"));
    model->tones = g_new0(GenerateTone, n);
    model->n_tones = n;
    for (guint i = 0; i < n; i++) {
        GenerateTone *tone = &model->tones[i];
        gdouble frequency = ct_params_real_at(params, "tone_frequencies", i);
        gdouble direction[3] = {0}, amplitude = 0, phase = 0;
        if (!list_item(params, "tone_amplitudes", i, n, &amplitude, error) ||
            !list_item(params, "tone_phases", i, n, &phase, error) ||
            (directed && !geometry_direction(params, "tone_directions", i, direction, error)))
            return FALSE;
        if (!(tone->increments = CT_TABLE(guint64, model->n_subbands, "subbands", error)) ||
            !(tone->gains = new_series(model, 2, sizeof *tone->gains, error)))
            return FALSE;
        gboolean inside = FALSE;
        for (gint64 b = 0; b < model->n_subbands; b++) {
            gdouble turns = (frequency - zero_frequency(stream, b)) / rate; /* per sample */
            if (model->is_complex ? fabs(turns) > 0.5 : turns < 0 || turns > 0.5)
                continue;
            inside = TRUE;
            /* ±2⁶³ are the same phase; +2⁶³ would overflow */
            gdouble fixed = rint(ldexp(turns, 64));
            tone->increments[b] = fixed >= 0x1p63 ? (guint64)1 << 63 : (guint64)(gint64)fixed;
            for (gint64 s = 0; s < model->n_stations; s++) {
                gdouble lead =
                    directed ? frequency * geometry_lead(positions + 3 * s, direction) : 0;
                gdouble angle = phase + 2 * G_PI * (lead - rint(lead));
                gdouble *gain = tone->gains + (b * model->n_stations + s) * 2;
                gain[0] = amplitude * cos(angle);
                gain[1] = amplitude * sin(angle);
            }
        }
        if (!inside)
            return ct_params_error(params, "tone_frequencies", error,
                                   "wants tones inside the band, but %g Hz is outside", frequency);
    }
    return TRUE;
}

/* Warns of rows of invalid samples that lie outside the stream and so have no effect. */
static void
warn_of_gap(const GenerateModel *model, const CtParams *params, guint row)
{
    const GenerateGap *gap = &model->gaps[row];
    const gint64 first = model->first;
    gint64 end;
    if (model->n_samples < 0 || __builtin_add_overflow(first, model->n_samples, &end))
        end = G_MAXINT64;
    if (model->n_samples == 0 || MAX(gap->first, first) < MIN(gap->last, end))
        return;
    g_autofree char *until = end < G_MAXINT64
                                 ? g_strdup_printf(" and ends before %" G_GINT64_FORMAT, end)
                                 : g_strdup("");
    ct_params_warn(params, "invalid",
                   "row %u has no effect: it has no sample of the stream, which begins at "
                   "%" G_GINT64_FORMAT "%s",
                   row, first, until);
}

static gboolean
set_gaps(GenerateModel *model, const CtParams *params, GError **error)
{
    if (!ct_params_has(params, "invalid"))
        return TRUE;
    if (ct_params_columns(params, "invalid") != 3)
        return ct_params_error(params, "invalid", error,
                               "wants rows of 3 (station, first sample, samples), but is given "
                               "rows of %u",
                               ct_params_columns(params, "invalid"));
    model->n_gaps = ct_params_count(params, "invalid");
    model->gaps = g_new(GenerateGap, model->n_gaps);
    for (guint i = 0; i < model->n_gaps; i++) {
        gdouble cell[3];
        for (guint k = 0; k < 3; k++) {
            cell[k] = ct_params_real_cell(params, "invalid", i, k);
            if (cell[k] != rint(cell[k]) || fabs(cell[k]) > 0x1p52)
                return ct_params_error(params, "invalid", error,
                                       "wants whole numbers, but is given %g", cell[k]);
        }
        if (cell[0] < -1 || cell[0] >= model->n_stations)
            return ct_params_error(params, "invalid", error,
                                   "wants a station of 0 to %" G_GINT64_FORMAT
                                   ", or −1 for all, but is given %g",
                                   model->n_stations - 1, cell[0]);
        model->gaps[i] = (GenerateGap){.station = cell[0],
                                       .first = (gint64)cell[1],
                                       .last = (gint64)cell[1] + MAX((gint64)cell[2], 0)};
        warn_of_gap(model, params, i);
    }
    return TRUE;
}

/* The default scale of an integer type makes the rms of the real parts a quarter of full scale,
 * which clips at 4 σ. */
static gboolean
set_scale(GenerateModel *model, const CtParams *params, GError **error)
{
    model->scale = 1;
    if (ct_params_has(params, "scale"))
        model->scale = ct_params_real(params, "scale");
    else if (!ct_type_info(model->type)->is_float) {
        gdouble power = 0;
        for (gint64 s = 0; s < model->n_stations; s++)
            power = MAX(power, model->noise[s] * model->noise[s]);
        for (guint i = 0; i < model->n_sources; i++)
            power += model->sources[i].amplitude * model->sources[i].amplitude;
        if (ct_params_has(params, "tone_frequencies"))
            for (guint i = 0; i < model->n_tones; i++) {
                guint count = ct_params_count(params, "tone_amplitudes");
                gdouble amplitude =
                    ct_params_real_at(params, "tone_amplitudes", count == 1 ? 0 : i);
                power += amplitude * amplitude / (model->is_complex ? 1 : 2);
            }
        gdouble rms = sqrt(model->is_complex ? power / 2 : power);
        if (rms > 0)
            model->scale = type_limit(model->type) / 4 / rms;
    }
    if (isfinite(model->scale))
        return TRUE;
    return ct_params_error(params, "scale", error, "wants a finite number, but is given %g",
                           model->scale);
}

/* Without noise the seed has no effect. */
static void
set_key(GenerateModel *model, const CtParams *params)
{
    gboolean is_random = model->n_sources > 0;
    for (gint64 s = 0; s < model->n_stations; s++)
        is_random |= model->noise[s] > 0;
    const guint64 seed = is_random ? (guint64)ct_params_int(params, "seed") : 0;
    model->key[0] = seed;
    model->key[1] = seed >> 32;
}

GenerateModel *
generate_model_new(const CtNode *node, const CtStream *stream, GError **error)
{
    const CtParams *params = node->params;
    g_autoptr(GenerateModel) model = g_new0(GenerateModel, 1);
    model->type = stream->type;
    model->is_complex = ct_type_info(stream->type)->is_complex;
    model->n_subbands = ct_stream_length(stream, "subband");
    model->n_stations = ct_stream_length(stream, "station");
    model->n_pols = ct_stream_length(stream, "pol");
    model->n_samples = stream->axes[ct_stream_axis(stream, "time")].length;
    model->first = stream->start;
    model->noise = CT_TABLE(gdouble, model->n_stations, "the noise of stations", error);
    if (!model->noise)
        return NULL;
    for (gint64 s = 0; s < model->n_stations; s++) {
        gdouble power = 0;
        if (!list_item(params, "noise", s, model->n_stations, &power, error) ||
            !wants_not_negative(params, "noise", power, error))
            return NULL;
        model->noise[s] = sqrt(power);
    }

    g_autofree gdouble *positions = NULL;
    static const char *const directed[] = {"source_directions", "tone_directions"};
    for (guint i = 0; i < G_N_ELEMENTS(directed); i++) {
        if (!ct_params_has(params, directed[i]))
            continue;
        if (!stream->has_frequency && ct_stream_axis(stream, "subband") < 0) {
            ct_params_error(params, directed[i], error, "wants the band's %s, which is not given",
                            model->is_complex ? "centre_frequency" : "first_frequency");
            return NULL;
        }
        gint64 n_stations = model->n_stations;
        if (!positions && !(positions = geometry_positions(node, &n_stations, error)))
            return NULL;
    }
    if (!set_sources(model, params, stream, positions, error) ||
        !set_tones(model, params, stream, positions, error) || !set_gaps(model, params, error) ||
        !set_scale(model, params, error))
        return NULL;
    set_key(model, params);
    return g_steal_pointer(&model);
}

void
generate_model_free(GenerateModel *model)
{
    if (!model)
        return;
    for (guint i = 0; i < model->n_sources; i++)
        g_free(model->sources[i].delays);
    for (guint i = 0; i < model->n_tones; i++) {
        g_free(model->tones[i].increments);
        g_free(model->tones[i].gains);
    }
    g_free(model->sources);
    g_free(model->tones);
    g_free(model->noise);
    g_free(model->gaps);
    g_free(model);
}
