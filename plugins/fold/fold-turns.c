/* SPDX-License-Identifier: BSD-3-Clause */
/* Turns of a pulsar, modulo 1: φ(t) = f (t − t0) + ½ ḟ (t − t0)².
 *
 * At the middle of sample i, t − t0 is τ + i T, so with the triangular number of i
 *
 *     φ = (f τ + ½ ḟ τ²) + i (f T + ḟ τ T + ½ ḟ T²) + ½ i (i − 1) · ḟ T².
 *
 * The three coefficients are fractions of a turn in units of 2⁻¹²⁸. What is left out are whole
 * turns, and products and sums of integers that wrap around are exact, so φ of any sample has no
 * other errors than those of the coefficients, and does not depend on blocks. f, τ and T are
 * fractions of integers: f τ and f T are divided exactly, and rounded to the unit. The terms of ḟ
 * are computed in double precision.
 *
 * A sample whose middle is exactly where a bin begins is in this bin, in spite of the roundings: a
 * few units more, AHEAD, are added to all turns. */
#include "fold.h"

#include <math.h>
#include <string.h>

/* 2⁻⁷⁰ turns: more than the roundings of f τ and f T make in 2⁵⁰ samples. */
#define AHEAD ((Turns)1 << 58)

/* The largest error, in turns. */
#define ERROR 1e-6

typedef unsigned __int128 Wide;

/* f = numerator / denominator, and its derivative. */
typedef struct {
    gint64 numerator, denominator;
    gboolean is_rounded; /* the graph gives more digits than the integers have */
    gdouble derivative;
} Ephemeris;

static Wide
multiply_modulo(Wide a, Wide b, Wide modulus)
{
    Wide product = 0;
    for (guint i = 128; i-- > 0;) {
        product = (product << 1) % modulus;
        if (b >> i & 1)
            product = (product + a) % modulus;
    }
    return product;
}

/* The fraction of a · b / divisor, rounded; the divisor is below 2¹²⁷. */
static Turns
divide(Wide a, Wide b, Wide divisor)
{
    Wide rest = multiply_modulo(a % divisor, b % divisor, divisor);
    Turns turns = 0;
    for (guint i = 0; i < 128; i++) {
        rest <<= 1;
        turns = turns << 1 | (rest >= divisor);
        rest -= rest >= divisor ? divisor : 0;
    }
    return turns + (2 * rest >= divisor);
}

static Turns
turns_of(gdouble turns)
{
    int exponent;
    const gdouble mantissa = frexp(fabs(turns), &exponent);
    const Turns digits = (Turns)ldexp(mantissa, 53); /* turns are digits · 2^(exponent − 53) */
    const int shift = exponent - 53 + 128;
    const Turns fraction = shift >= 128   ? 0
                           : shift >= 0   ? digits << shift
                           : shift > -128 ? digits >> -shift
                                          : 0;
    return turns < 0 ? -fraction : fraction;
}

/* ---- parameters ---- */

/* The one of the names that the graph gives; NULL with an error if it is not one. */
static const char *
find_given(const CtNode *node, GError **error)
{
    const gboolean has_period = ct_params_has(node->params, "period");
    if (has_period != ct_params_has(node->params, "frequency"))
        return has_period ? "period" : "frequency";
    ct_params_error(node->params, "period", error, "wants 'period' or 'frequency', but is given %s",
                    has_period ? "both" : "neither");
    return NULL;
}

static gboolean
read_ephemeris(const CtNode *node, Ephemeris *ephemeris, GError **error)
{
    const CtParams *params = node->params;
    const char *given = find_given(node, error);
    if (!given)
        return FALSE;
    const gboolean is_period = strcmp(given, "period") == 0;
    const char *name = is_period ? "period_derivative" : "frequency_derivative";
    const char *other = is_period ? "frequency_derivative" : "period_derivative";
    if (ct_params_has(params, other))
        return ct_params_error(params, other, error, "wants '%s' beside it, but is given '%s'",
                               is_period ? "frequency" : "period", given);
    const gdouble value = ct_params_real(params, given);
    ct_params_rational(params, given, is_period ? &ephemeris->denominator : &ephemeris->numerator,
                       is_period ? &ephemeris->numerator : &ephemeris->denominator);
    ephemeris->is_rounded = !ct_params_is_exact(params, given);
    ephemeris->derivative = ct_params_has(params, name) ? ct_params_real(params, name) : 0;
    if (is_period)
        ephemeris->derivative /= -value * value;
    return TRUE;
}

/* ---- times ---- */

/* Adds the turns from the epoch to the beginning of the first sample; *seconds is that time. */
static gboolean
add_epoch(const CtNode *node, const Ephemeris *f, Turns *turns, gdouble *seconds, GError **error)
{
    const CtStream *in = &node->inputs[0];
    const char *text = ct_params_string(node->params, "epoch");
    g_autoptr(GError) why = NULL;
    CtUtc epoch;
    gint64 second, rest;
    if (!ct_utc_parse_exact(text, &epoch, &why))
        return ct_params_error(node->params, "epoch", error, "%s", why->message);
    if (!ct_stream_second(in, in->start, &second, &rest))
        return ct_params_error(node->params, "epoch", error,
                               "wants a stream whose UTC is known: 'start' of the graph's "
                               "'observation' gives it");
    const __int128 whole = (__int128)second - epoch.seconds;
    const Turns part =
        divide((Wide)f->numerator, (Wide)(whole < 0 ? -whole : whole), (Wide)f->denominator);
    *turns += whole < 0 ? -part : part;
    *turns += divide((Wide)f->numerator, (Wide)rest, (Wide)f->denominator * (Wide)in->rate_num);
    *turns -= divide((Wide)f->numerator, (Wide)epoch.numerator,
                     (Wide)f->denominator * (Wide)epoch.denominator);
    *seconds = (gdouble)whole + (gdouble)rest / (gdouble)in->rate_num -
               (gdouble)epoch.numerator / (gdouble)epoch.denominator;
    return TRUE;
}

/* Refuses terms whose roundings may be larger than ERROR turns where the stream begins (`seconds`
 * after the epoch) or ends: at most 9 of double precision in those of the derivative, and 2 in f if
 * it is rounded. */
static gboolean
check_error(const CtNode *node, const Ephemeris *f, gdouble seconds, gdouble length, GError **error)
{
    const CtStream *in = &node->inputs[0];
    const gint64 n = MAX(in->axes[ct_stream_axis(in, "time")].length, 0);
    const gdouble late = fabs(seconds) + (gdouble)n * length;
    const gboolean has_period = ct_params_has(node->params, "period");
    const gdouble turns = 0x1p-49 * fabs(f->derivative) / 2 * late * late;
    const gdouble rounded =
        f->is_rounded ? 0x1p-52 * (gdouble)f->numerator / (gdouble)f->denominator * late : 0;
    if (rounded > ERROR)
        return ct_params_error(
            node->params, has_period ? "period" : "frequency", error,
            "wants turns that can be computed to %g, but is given more digits than 18, which are "
            "rounded to double precision: over %g s since the epoch an error of %.2g",
            ERROR, late, rounded);
    if (turns <= ERROR)
        return TRUE;
    return ct_params_error(
        node->params, has_period ? "period_derivative" : "frequency_derivative", error,
        "wants turns that can be computed to %g, but %g Hz/s over %g s since the "
        "epoch makes an error of %.2g: an epoch nearer to the stream is better",
        ERROR, f->derivative, late, turns);
}

gboolean
ct_turns_rule(TurnsRule *rule, const CtNode *node, GError **error)
{
    const CtStream *in = &node->inputs[0];
    Ephemeris f;
    Turns first = 0;
    gdouble seconds = 0;
    if (in->rate_num == 0) {
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                    "input '%s' wants a sample rate, but is given none",
                    node->stage->inputs[0].name);
        return FALSE;
    }
    if (!read_ephemeris(node, &f, error) ||
        (ct_params_has(node->params, "epoch") && !add_epoch(node, &f, &first, &seconds, error)))
        return FALSE;
    const Wide sample = (Wide)in->ticks_per_sample * (Wide)in->rate_den; /* in 1 / rate_num s */
    const Wide unit = (Wide)f.denominator * (Wide)in->rate_num;
    const gdouble length = (gdouble)sample / (gdouble)in->rate_num, half = f.derivative / 2;
    if (!check_error(node, &f, seconds, length, error))
        return FALSE;
    seconds += length / 2; /* the middle */
    *rule = (TurnsRule){
        .first = first + AHEAD + divide((Wide)f.numerator, sample, 2 * unit) +
                 turns_of(half * seconds * seconds),
        .step = divide((Wide)f.numerator, sample, unit) +
                turns_of(f.derivative * seconds * length) + turns_of(half * length * length),
        .change = turns_of(f.derivative * length * length),
        .start = in->start,
        .ticks = in->ticks_per_sample,
    };
    return TRUE;
}

void
ct_turns_bins(const TurnsRule *rule, gint64 tick, gint64 n, gint64 n_bins, guint32 *bins)
{
    const Turns i = (Turns)((tick - rule->start) / rule->ticks);
    Turns step = rule->step + i * rule->change;
    Turns turns =
        rule->first + i * rule->step + (i % 2 ? (i - 1) / 2 * i : i / 2 * (i - 1)) * rule->change;
    for (gint64 k = 0; k < n; k++) {
        bins[k] = (guint32)((turns >> 32) * (Turns)n_bins >> 96);
        turns += step;
        step += rule->change;
    }
}
