/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers with units: "200 MHz", "5 us", "1.5 GiB", "200 MHz/1024". */
#include "quantity.h"

#include "number.h"

#include <cornerturn/stage.h>
#include <math.h>
#include <string.h>

typedef struct {
    const char *name;
    CtNumber factor;
} Factor;

/* The large prefixes come first: "200 mhz" is taken to mean MHz, not mHz. */
static const Factor prefixes[] = {
    {"", {1, 1, 1}},
    {"k", {1e3, 1000, 1}},
    {"M", {1e6, 1000000, 1}},
    {"G", {1e9, 1000000000, 1}},
    {"T", {1e12, 1000000000000, 1}},
    {"m", {1e-3, 1, 1000}},
    {"u", {1e-6, 1, 1000000}},
    {"µ", {1e-6, 1, 1000000}},
    {"n", {1e-9, 1, 1000000000}},
    {"p", {1e-12, 1, 1000000000000}},
};

/* Units that do not consist of a prefix and the base unit, with their factors to it. */
static const struct {
    const char *unit;
    Factor factor;
} others[] = {
    {"s", {"min", {60, 60, 1}}},
    {"s", {"h", {3600, 3600, 1}}},
    {"s", {"d", {86400, 86400, 1}}},
    {"m", {"cm", {0.01, 1, 100}}},
    {"rad", {"deg", {G_PI / 180, 0, 0}}},
    {"rad", {"arcmin", {G_PI / 180 / 60, 0, 0}}},
    {"rad", {"arcsec", {G_PI / 180 / 3600, 0, 0}}},
    {"B", {"KiB", {1024, 1024, 1}}},
    {"B", {"MiB", {1048576, 1048576, 1}}},
    {"B", {"GiB", {1073741824, 1073741824, 1}}},
    {"B", {"TiB", {1099511627776, 1099511627776, 1}}},
};

static const struct {
    const char *unit, *what;
} examples[] = {
    {"Hz", "a frequency such as '200 MHz'"}, {"s", "a time such as '5 us'"},
    {"m", "a length such as '1.5 km'"},      {"rad", "an angle such as '-3 deg'"},
    {"B", "an amount such as '1.5 GiB'"},
};

char *
ct_quantity_describe(const char *unit)
{
    if (!unit)
        return g_strdup("a number");
    for (guint i = 0; i < G_N_ELEMENTS(examples); i++)
        if (g_str_equal(examples[i].unit, unit))
            return g_strdup(examples[i].what);
    return g_strdup_printf("a number in %s", unit);
}

/* ---- text ---- */

static void
skip_spaces(const char **text)
{
    while (g_ascii_isspace(**text))
        (*text)++;
}

gboolean
ct_unit_find(const char *given, const char *unit, CtNumber *factor)
{
    for (guint i = 0; i < G_N_ELEMENTS(prefixes); i++) {
        const gsize length = strlen(prefixes[i].name);
        if (g_str_has_prefix(given, prefixes[i].name) && g_str_equal(given + length, unit)) {
            *factor = prefixes[i].factor;
            return TRUE;
        }
    }
    for (guint i = 0; i < G_N_ELEMENTS(others); i++)
        if (g_str_equal(others[i].unit, unit) && g_str_equal(others[i].factor.name, given)) {
            *factor = others[i].factor.factor;
            return TRUE;
        }
    return FALSE;
}

char *
ct_quantity_units(const char *unit, const char *separator)
{
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < G_N_ELEMENTS(prefixes); i++)
        g_string_append_printf(text, "%s%s%s", i ? separator : "", prefixes[i].name, unit);
    for (guint i = 0; i < G_N_ELEMENTS(others); i++)
        if (g_str_equal(others[i].unit, unit))
            g_string_append_printf(text, "%s%s", separator, others[i].factor.name);
    return g_string_free(text, FALSE);
}

char *
ct_unit_suggest(const char *given, const char *unit)
{
    for (guint i = 0; i < G_N_ELEMENTS(prefixes); i++) {
        g_autofree char *name = g_strconcat(prefixes[i].name, unit, NULL);
        if (g_ascii_strcasecmp(name, given) == 0)
            return g_steal_pointer(&name);
    }
    for (guint i = 0; i < G_N_ELEMENTS(others); i++)
        if (g_str_equal(others[i].unit, unit) &&
            g_ascii_strcasecmp(others[i].factor.name, given) == 0)
            return g_strdup(others[i].factor.name);
    return NULL;
}

/* Reads a "/ number" at the start of `text`, if there is one. FALSE if no number other than 0
 * follows the "/". */
static gboolean
parse_divisor(const char **text, CtNumber *number)
{
    const char *rest = *text;
    skip_spaces(&rest);
    if (*rest != '/')
        return TRUE;
    rest++;
    skip_spaces(&rest);
    CtNumber divisor;
    if (!ct_number_parse(&rest, &divisor) || divisor.value == 0)
        return FALSE;
    *number = ct_number_multiply(*number, ct_number_invert(divisor));
    *text = rest;
    return TRUE;
}

static gboolean
refuse(const char *text, const char *unit, const char *remark, GError **error)
{
    g_autofree char *wanted = ct_quantity_describe(unit);
    g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER, "wants %s, but is given '%s'%s", wanted, text,
                remark);
    return FALSE;
}

gboolean
ct_quantity_read(CtNumber *number, const char *text, const char *unit, GError **error)
{
    const char *rest = text;
    skip_spaces(&rest);
    if (!ct_number_parse(&rest, number) || !parse_divisor(&rest, number))
        return refuse(text, unit, "", error);
    skip_spaces(&rest);

    const gsize length = strcspn(rest, "/ \t\r\n");
    if (length > 0) {
        g_autofree char *given = g_strndup(rest, length);
        CtNumber factor;
        if (!unit)
            return refuse(text, unit, "", error);
        if (!ct_unit_find(given, unit, &factor)) {
            g_autofree char *name = ct_unit_suggest(given, unit);
            g_autofree char *remark =
                name ? g_strdup_printf("; did you mean '%s'?", name) : g_strdup("");
            return refuse(text, unit, remark, error);
        }
        *number = ct_number_multiply(*number, factor);
        rest += length;
        if (!parse_divisor(&rest, number))
            return refuse(text, unit, "", error);
        skip_spaces(&rest);
    }
    return *rest == '\0' || refuse(text, unit, "", error);
}

gboolean
ct_quantity_parse(CtQuantity *quantity, const char *text, const char *unit, GError **error)
{
    CtNumber number;
    if (!ct_quantity_read(&number, text, unit, error))
        return FALSE;
    const gboolean fits = number.denominator != 0 && number.numerator <= G_MAXINT64 &&
                          number.numerator >= G_MININT64 && number.denominator <= G_MAXINT64;
    *quantity = (CtQuantity){.value = number.value};
    if (fits) {
        quantity->numerator = number.numerator;
        quantity->denominator = number.denominator;
        quantity->value = (gdouble)((long double)number.numerator / number.denominator);
    }
    return TRUE;
}

void
ct_quantity_approximate(gdouble value, gdouble error, gint64 *numerator, gint64 *denominator)
{
    /* Computes the convergents p/q of the continued fraction until one is near enough or the next
     * would not fit. */
    const gdouble limit = 9e18;
    gdouble rest = fabs(value);
    gint64 p = 1, q = 0, last_p = 0, last_q = 1;
    for (guint i = 0; i < 64 && rest < limit; i++) {
        const gdouble whole = floor(rest);
        if (whole * p + last_p > limit || whole * q + last_q > limit)
            break;
        const gint64 next_p = (gint64)whole * p + last_p, next_q = (gint64)whole * q + last_q;
        last_p = p;
        last_q = q;
        p = next_p;
        q = next_q;
        if (rest == whole || fabs((gdouble)p / q - fabs(value)) <= error)
            break;
        rest = 1 / (rest - whole);
    }
    *numerator = q == 0 ? (value < 0 ? G_MININT64 : G_MAXINT64) : value < 0 ? -p : p;
    *denominator = MAX(q, 1);
}

char *
ct_quantity_format(gdouble value, const char *unit)
{
    static const char *const large[] = {"", "k", "M", "G", "T"};
    static const char *const binary[] = {"", "Ki", "Mi", "Gi", "Ti"};
    static const char *const small[] = {"", "m", "u", "n", "p"};
    if (!unit)
        return g_strdup_printf("%.6g", value);
    const gboolean bytes = g_str_equal(unit, "B");
    const gdouble step = bytes ? 1024 : 1000;
    guint i = 0;
    if (fabs(value) >= 1 || value == 0 || bytes) {
        for (; i + 1 < G_N_ELEMENTS(large) && fabs(value) >= step; i++)
            value /= step;
        return g_strdup_printf("%.6g %s%s", value, bytes ? binary[i] : large[i], unit);
    }
    for (; i + 1 < G_N_ELEMENTS(small) && fabs(value) < 1; i++)
        value *= 1000;
    return g_strdup_printf("%.6g %s%s", value, small[i], unit);
}

char *
ct_format_bytes(gsize bytes)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    guint unit = 0;
    gdouble value = bytes;
    while (value >= 1024 && unit + 1 < G_N_ELEMENTS(units)) {
        value /= 1024;
        unit++;
    }
    return g_strdup_printf(unit && value < 100 ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

/* Whether a time of day "…T23:59:60…" is in a leap second. */
static gboolean
is_leap_second(const char *text)
{
    const char *at = strpbrk(text, "Tt");
    for (guint i = 0; at && i < 2; i++) {
        at += i == 0 || *at == ':';
        at = g_ascii_isdigit(at[0]) && g_ascii_isdigit(at[1]) ? at + 2 : NULL;
    }
    return at && g_str_has_prefix(at + (*at == ':'), "60");
}

/* Reads `text`, of which messages show `given` and the form `wanted`. */
static gboolean
parse_second(const char *text, const char *given, const char *wanted, gint64 *seconds,
             GError **error)
{
    const gboolean is_leap = is_leap_second(text);
    if (g_ascii_string_to_signed(text, 10, G_MININT64 + 1, G_MAXINT64, seconds, NULL))
        return TRUE;
    g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
    g_autoptr(GDateTime) time = is_leap ? NULL : g_date_time_new_from_iso8601(text, utc);
    if (time && g_date_time_get_microsecond(time) == 0) {
        *seconds = g_date_time_to_unix(time);
        return TRUE;
    }
    g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER, "wants %s, but is given '%s'",
                is_leap ? "a second from 00 to 59, for clocks count Unix time, which has no leap "
                          "seconds"
                        : wanted,
                given);
    return FALSE;
}

gboolean
ct_utc_parse(const char *text, gint64 *seconds, GError **error)
{
    return parse_second(text, text, "a time as 2022-06-29T01:30:00Z, to the second", seconds,
                        error);
}

gboolean
ct_utc_parse_exact(const char *text, CtUtc *utc, GError **error)
{
    CtUtc read = {.denominator = 1};
    const char *point = strchr(text, '.');
    gsize n = point ? strspn(point + 1, G_CSET_DIGITS) : 0;
    /* "-1.5" is not half a second after second −1. */
    if (n > 18 || *text == '-' || point == text || (point && !g_ascii_isdigit(point[-1])))
        n = 0;
    for (gsize i = 1; i <= n; i++, read.denominator *= 10)
        read.numerator = 10 * read.numerator + (point[i] - '0');
    g_autofree char *whole =
        n ? g_strdup_printf("%.*s%s", (gint)(point - text), text, point + 1 + n) : g_strdup(text);
    if (!parse_second(whole, text, "a time as 2022-06-29T01:30:00.5Z, of 18 decimals at most",
                      &read.seconds, error))
        return FALSE;
    *utc = read;
    return TRUE;
}

char *
ct_format_seconds(gdouble seconds)
{
    if (seconds < 60)
        return g_strdup_printf("%.0f s", seconds);
    return g_strdup_printf("%.0f min %.0f s", (gdouble)((gint)seconds / 60),
                           (gdouble)((gint)seconds % 60));
}
