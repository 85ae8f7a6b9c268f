/* SPDX-License-Identifier: BSD-3-Clause */
/* Arithmetic of exact numbers with units. */
#include "operand.h"

#include "quantity.h"

#include <cornerturn/stage.h>
#include <math.h>
#include <string.h>

enum {
    LARGEST_POWER = 64,     /* of a quantity with a unit */
    LARGEST_EXPONENT = 1024 /* of an exact number */
};

/* Units as powers of the second, metre, radian and byte. */
static const struct {
    const char *name;
    gint8 powers[CT_N_BASES];
} units[] = {
    {"Hz", {-1, 0, 0, 0}}, {"s", {1, 0, 0, 0}}, {"m", {0, 1, 0, 0}},
    {"rad", {0, 0, 1, 0}}, {"B", {0, 0, 0, 1}},
};

gboolean
ct_operand_refuse(GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *message = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_set_error_literal(error, CT_ERROR, CT_ERROR_CONFIG, message);
    return FALSE;
}

/* ---- units ---- */

static gboolean
have_same_unit(const CtOperand *a, const CtOperand *b)
{
    return memcmp(a->powers, b->powers, sizeof a->powers) == 0;
}

gboolean
ct_operand_has_unit(const CtOperand *operand)
{
    static const CtOperand number = {0};
    return !have_same_unit(operand, &number);
}

char *
ct_operand_describe_unit(const CtOperand *operand)
{
    static const char *const bases[CT_N_BASES] = {"s", "m", "rad", "B"};
    for (guint i = 0; i < G_N_ELEMENTS(units); i++) {
        gboolean is_same = TRUE;
        for (guint k = 0; k < CT_N_BASES; k++)
            is_same &= units[i].powers[k] == operand->powers[k];
        if (is_same)
            return g_strdup(units[i].name);
    }
    GString *text = g_string_new(ct_operand_has_unit(operand) ? NULL : "a number");
    for (guint k = 0; k < CT_N_BASES; k++)
        if (operand->powers[k] != 0)
            g_string_append_printf(text, operand->powers[k] == 1 ? "%s%s" : "%s%s^%d",
                                   text->len ? " " : "", bases[k], operand->powers[k]);
    return g_string_free(text, FALSE);
}

const char *
ct_operand_find_unit(const CtOperand *operand)
{
    g_autofree char *name = ct_operand_describe_unit(operand);
    for (guint i = 0; i < G_N_ELEMENTS(units); i++)
        if (g_str_equal(units[i].name, name))
            return units[i].name;
    return ct_operand_has_unit(operand) ? NULL : "";
}

static void
set_unit(CtOperand *operand, guint unit)
{
    for (guint k = 0; k < CT_N_BASES; k++)
        operand->powers[k] = units[unit].powers[k];
}

gboolean
ct_operand_take_unit(CtOperand *operand, const char *name, GError **error)
{
    CtNumber factor;
    for (guint i = 0; i < G_N_ELEMENTS(units); i++)
        if (ct_unit_find(name, units[i].name, &factor)) {
            operand->number = ct_number_multiply(operand->number, factor);
            set_unit(operand, i);
            return TRUE;
        }
    return ct_operand_refuse(
        error, "wants a unit such as MHz, ms, km, deg or GiB after a number, but is given '%s'",
        name);
}

/* ---- operands ---- */

static gboolean
refuse_value(const CtValue *value, GError **error)
{
    g_autofree char *given = ct_value_describe(value);
    const char *end = value->kind == CT_VALUE_SCALAR && ct_number_starts(value->text)
                          ? strpbrk(value->text, G_CSET_A_2_Z G_CSET_a_2_z)
                          : NULL;
    for (guint i = 0; end && i < G_N_ELEMENTS(units); i++) {
        g_autofree char *meant = ct_unit_suggest(end, units[i].name);
        g_autofree char *where = meant ? ct_place_to_string(&value->place) : NULL;
        if (meant)
            return ct_operand_refuse(
                error, "arithmetic wants numbers, but is given %s at %s; did you mean '%s'?", given,
                where, meant);
    }
    return ct_operand_refuse(error, "arithmetic wants numbers, but is given %s", given);
}

gboolean
ct_operand_need_number(CtOperand *operand, GError **error)
{
    const CtValue *value = operand->value;
    CtNumber number;
    if (!value)
        return TRUE;
    gint unit = -1;
    gboolean is_number = FALSE;
    for (; value->kind == CT_VALUE_SCALAR && !is_number && unit < (gint)G_N_ELEMENTS(units); unit++)
        is_number =
            ct_quantity_read(&number, value->text, unit < 0 ? NULL : units[unit].name, NULL);
    if (!is_number)
        return refuse_value(value, error);
    *operand = (CtOperand){.number = number};
    if (unit > 0)
        set_unit(operand, (guint)unit - 1);
    return TRUE;
}

static gboolean
is_zero(const CtNumber *number)
{
    return number->denominator ? number->numerator == 0 : number->value == 0;
}

gboolean
ct_operand_check(const CtOperand *result, GError **error)
{
    for (guint k = 0; k < CT_N_BASES; k++)
        if (ABS(result->powers[k]) > LARGEST_POWER)
            return ct_operand_refuse(error, "wants powers of units up to %d", LARGEST_POWER);
    return isfinite(result->number.value) || ct_operand_refuse(error, "gives no finite number");
}

/* ---- operators ---- */

gboolean
ct_operand_add(CtOperand *left, const CtOperand *right, char sign, GError **error)
{
    if (!have_same_unit(left, right)) {
        g_autofree char *a = ct_operand_describe_unit(left), *b = ct_operand_describe_unit(right);
        return ct_operand_refuse(
            error, "'%c' wants two quantities of one unit, but is given %s and %s", sign, a, b);
    }
    static const CtNumber minus = {-1, -1, 1};
    left->number = ct_number_add(
        left->number, sign == '-' ? ct_number_multiply(minus, right->number) : right->number);
    return TRUE;
}

gboolean
ct_operand_multiply(CtOperand *left, const CtOperand *right, gint sign, GError **error)
{
    if (sign < 0 && is_zero(&right->number))
        return ct_operand_refuse(error, "divides by zero");
    left->number = ct_number_multiply(left->number,
                                      sign < 0 ? ct_number_invert(right->number) : right->number);
    for (guint k = 0; k < CT_N_BASES; k++)
        left->powers[k] += sign * right->powers[k];
    return TRUE;
}

gboolean
ct_operand_divide_whole(CtOperand *left, const CtOperand *right, gboolean wants_rest,
                        GError **error)
{
    if (!ct_operand_multiply(left, right, -1, error))
        return FALSE;
    CtNumber *number = &left->number;
    if (number->denominator != 0 && !wants_rest)
        *number = ct_number_floor(*number);
    if (number->denominator != 0 && wants_rest) {
        /* The product of `right` with the whole part may not fit, but with what remains of it. */
        number->numerator %= number->denominator;
        number->numerator += number->numerator < 0 ? number->denominator : 0;
        if (!ct_operand_multiply(left, right, 1, error))
            return FALSE;
    }
    return number->denominator != 0 ||
           ct_operand_refuse(error, "'%s' wants numbers that are exact fractions of 128 bits",
                             wants_rest ? "%" : "//");
}

gboolean
ct_operand_raise(CtOperand *base, const CtOperand *exponent, GError **error)
{
    const CtNumber *power = &exponent->number;
    if (ct_operand_has_unit(exponent) ||
        (ct_operand_has_unit(base) && !ct_number_is_integer(power)))
        return ct_operand_refuse(
            error, "'**' wants an exponent that is a number, and an integer if the base "
                   "has a unit");
    if (is_zero(&base->number) && power->value < 0)
        return ct_operand_refuse(error, "divides by zero");
    if (!ct_number_is_integer(power) || ABS(power->value) > LARGEST_EXPONENT) {
        if (ct_operand_has_unit(base))
            return ct_operand_refuse(error, "wants powers of units up to %d", LARGEST_POWER);
        base->number = (CtNumber){.value = pow(base->number.value, power->value)};
        return TRUE;
    }
    CtOperand result = {.number = {1, 1, 1}}, square = *base;
    const gint sign = power->numerator < 0 ? -1 : 1;
    for (gint n = sign * (gint)power->numerator; n > 0; n /= 2) {
        if (n % 2 && !ct_operand_multiply(&result, &square, sign, error))
            return FALSE;
        if (n > 1 &&
            (!ct_operand_multiply(&square, &square, 1, error) || !ct_operand_check(&square, error)))
            return FALSE;
    }
    *base = result;
    return TRUE;
}
