/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers as fractions, which are exact as long as 128 bits hold them. */
#include "number.h"

#include <math.h>
#include <string.h>

#define WIDE_MAX ((CtWide)(~(unsigned __int128)0 >> 1))

static CtWide
greatest_divisor(CtWide a, CtWide b)
{
    while (b != 0) {
        const CtWide rest = a % b;
        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}

static void
reduce(CtNumber *number)
{
    const CtWide divisor = greatest_divisor(number->numerator, number->denominator);
    if (divisor > 1) {
        number->numerator /= divisor;
        number->denominator /= divisor;
    }
}

/* A fraction that is reduced, or only its double if 128 bits do not hold it. The least integer is
 * left out, for it cannot be negated. */
static CtNumber
number_new(gdouble value, CtWide numerator, CtWide denominator, gboolean overflows)
{
    if (overflows || numerator < -WIDE_MAX)
        return (CtNumber){.value = value};
    CtNumber number = {0, numerator, denominator};
    reduce(&number);
    number.value = (gdouble)((long double)number.numerator / (long double)number.denominator);
    return number;
}

CtNumber
ct_number_multiply(CtNumber a, CtNumber b)
{
    CtNumber product = {.value = a.value * b.value};
    if (a.denominator == 0 || b.denominator == 0)
        return product;
    CtNumber left = {0, a.numerator, b.denominator}, right = {0, b.numerator, a.denominator};
    reduce(&left);
    reduce(&right);
    const gboolean overflows =
        __builtin_mul_overflow(left.numerator, right.numerator, &product.numerator) ||
        __builtin_mul_overflow(left.denominator, right.denominator, &product.denominator);
    return number_new(product.value, product.numerator, product.denominator, overflows);
}

CtNumber
ct_number_add(CtNumber a, CtNumber b)
{
    const gdouble value = a.value + b.value;
    if (a.denominator == 0 || b.denominator == 0)
        return (CtNumber){.value = value};
    const CtWide common = greatest_divisor(a.denominator, b.denominator);
    CtWide left, right, numerator, denominator;
    const gboolean overflows =
        __builtin_mul_overflow(a.numerator, b.denominator / common, &left) ||
        __builtin_mul_overflow(b.numerator, a.denominator / common, &right) ||
        __builtin_add_overflow(left, right, &numerator) ||
        __builtin_mul_overflow(a.denominator / common, b.denominator, &denominator);
    return overflows ? (CtNumber){.value = value}
                     : number_new(value, numerator, denominator, FALSE);
}

CtNumber
ct_number_invert(CtNumber number)
{
    if (number.denominator == 0)
        return (CtNumber){.value = 1 / number.value};
    const CtWide sign = number.numerator < 0 ? -1 : 1;
    return (CtNumber){1 / number.value, sign * number.denominator, sign * number.numerator};
}

gboolean
ct_number_is_integer(const CtNumber *number)
{
    return number->denominator == 1;
}

CtNumber
ct_number_floor(CtNumber number)
{
    CtWide whole = number.numerator / number.denominator;
    whole -= number.numerator % number.denominator < 0;
    return (CtNumber){(gdouble)whole, whole, 1};
}

static CtWide
power_of_ten(guint exponent)
{
    CtWide power = 1;
    while (exponent-- > 0)
        power *= 10;
    return power;
}

gboolean
ct_number_starts(const char *text)
{
    if (*text == '+' || *text == '-')
        text++;
    if (*text == '.')
        text++;
    return g_ascii_isdigit(*text);
}

gboolean
ct_number_parse(const char **text, CtNumber *number)
{
    if (!ct_number_starts(*text))
        return FALSE;
    const char *start = *text, *end = start;
    const gboolean negative = *end == '-';
    if (*end == '+' || *end == '-')
        end++;

    CtWide mantissa = 0;
    gint64 exponent = 0;
    guint n_digits = 0;
    gboolean after_point = FALSE;
    for (; g_ascii_isdigit(*end) || (*end == '.' && !after_point); end++) {
        if (*end == '.') {
            after_point = TRUE;
            continue;
        }
        if (n_digits > 0 || *end != '0')
            n_digits++;
        if (n_digits <= 36)
            mantissa = mantissa * 10 + (*end - '0');
        exponent -= after_point;
    }
    if ((*end == 'e' || *end == 'E') && ct_number_starts(end + 1) && end[1] != '.' &&
        !(strchr("+-", end[1]) && end[2] == '.')) {
        char *after;
        exponent += CLAMP(g_ascii_strtoll(end + 1, &after, 10), -100000, 100000);
        end = after;
    }
    g_autofree char *copy = g_strndup(start, end - start);
    const gdouble value = g_ascii_strtod(copy, NULL);
    if (!isfinite(value))
        return FALSE;

    *number = (CtNumber){.value = value, .numerator = negative ? -mantissa : mantissa};
    while (exponent < 0 && number->numerator != 0 && number->numerator % 10 == 0) {
        number->numerator /= 10;
        exponent++;
    }
    if (number->numerator == 0 && n_digits == 0)
        number->denominator = 1;
    else if (n_digits > 36 || exponent < -36 || exponent > 36 - (gint64)n_digits)
        number->numerator = number->denominator = 0;
    else if (exponent < 0)
        number->denominator = power_of_ten(-exponent);
    else {
        number->numerator *= power_of_ten(exponent);
        number->denominator = 1;
    }
    if (number->denominator > 1)
        reduce(number);
    *text = end;
    return TRUE;
}

/* ---- writing ---- */

static void
append_digits(GString *text, CtWide number)
{
    if (number >= 10)
        append_digits(text, number / 10);
    g_string_append_c(text, (char)('0' + (gint)(number % 10)));
}

/* The shortest decimal that is read as the same double. */
static char *
format_double(gdouble value)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    gint digits = 14;
    do {
        char format[] = "%.1_g";
        format[3] = (char)('0' + ++digits - 10);
        g_ascii_formatd(text, sizeof text, format, value);
    } while (digits < 17 && g_ascii_strtod(text, NULL) != value);
    return g_strdup(text);
}

/* The number of decimals of a fraction; −1: it has more than 18. */
static gint
count_decimals(CtWide denominator)
{
    CtWide power = 1;
    for (gint n = 0; n <= 18; n++, power *= 10)
        if (power % denominator == 0)
            return n;
    return -1;
}

char *
ct_number_format(CtNumber number, gboolean rounds)
{
    if (number.denominator == 0)
        return format_double(number.value);
    const gint n = count_decimals(number.denominator);
    if (n < 0 && rounds)
        return format_double(number.value);
    GString *text = g_string_new(number.numerator < 0 ? "-" : "");
    const CtWide numerator = number.numerator < 0 ? -number.numerator : number.numerator;
    if (n < 0) {
        append_digits(text, numerator);
        g_string_append_c(text, '/');
        append_digits(text, number.denominator);
        return g_string_free(text, FALSE);
    }
    append_digits(text, numerator / number.denominator);
    CtWide rest = numerator % number.denominator;
    for (gint i = 0; i < n; i++) {
        rest *= 10;
        g_string_append_printf(text, "%s%d", i == 0 ? "." : "", (gint)(rest / number.denominator));
        rest %= number.denominator;
    }
    return g_string_free(text, FALSE);
}
