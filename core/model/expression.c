/* SPDX-License-Identifier: BSD-3-Clause */
/* Expressions in scalars: names, and arithmetic of numbers with units. */
#include "expression.h"

#include "operand.h"
#include "suggest.h"

#include <cornerturn/stage.h>
#include <string.h>

enum {
    DEEPEST = 32,          /* parentheses, brackets and signs within one another */
    LONGEST = 1000,        /* bytes of an expression */
    LONGEST_TEXT = 1 << 20 /* bytes of a text with expressions */
};

typedef struct {
    const char *at;
    guint depth;
    CtExpressionFind find;
    gpointer scope;
} Parser;

/* ---- the parser ---- */

static void
skip_spaces(Parser *parser)
{
    while (g_ascii_isspace(*parser->at))
        parser->at++;
}

/* Whether the text goes on with `sign`, which is then passed. */
static gboolean
take(Parser *parser, const char *sign)
{
    skip_spaces(parser);
    if (!g_str_has_prefix(parser->at, sign))
        return FALSE;
    parser->at += strlen(sign);
    return TRUE;
}

static gsize
name_length(const char *text)
{
    if (!g_ascii_isalpha(*text) && *text != '_')
        return 0;
    return strspn(text, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_");
}

gboolean
ct_expression_is_name(const char *text)
{
    return *text != '\0' && name_length(text) == strlen(text);
}

static char *
take_name(Parser *parser)
{
    skip_spaces(parser);
    const gsize length = name_length(parser->at);
    if (length == 0)
        return NULL;
    parser->at += length;
    return g_strndup(parser->at - length, length);
}

/* What stands in the text where something else is wanted. Allocated. */
static char *
describe_rest(const Parser *parser)
{
    const char *at = parser->at;
    while (g_ascii_isspace(*at))
        at++;
    if (*at == '\0')
        return g_strdup("nothing");
    g_autofree char *start = g_utf8_substring(at, 0, MIN(20, g_utf8_strlen(at, -1)));
    return g_strdup_printf("'%s'", start);
}

static gboolean parse_sum(Parser *parser, CtOperand *operand, GError **error);

static gboolean
go_deeper(Parser *parser, GError **error)
{
    return ++parser->depth <= DEEPEST ||
           ct_operand_refuse(error, "nested more than %d deep", DEEPEST);
}

static gboolean
parse_number(Parser *parser, CtOperand *operand, GError **error)
{
    if (!ct_number_parse(&parser->at, &operand->number))
        return ct_operand_refuse(error, "wants finite numbers");
    skip_spaces(parser);
    gsize length = 0;
    while (g_ascii_isalpha(parser->at[length]) || g_str_has_prefix(parser->at + length, "µ"))
        length += g_ascii_isalpha(parser->at[length]) ? 1 : strlen("µ");
    if (length == 0)
        return TRUE;
    g_autofree char *given = g_strndup(parser->at, length);
    parser->at += length;
    return ct_operand_take_unit(operand, given, error);
}

static gboolean
parse_first(Parser *parser, CtOperand *operand, GError **error)
{
    *operand = (CtOperand){0};
    skip_spaces(parser);
    if (ct_number_starts(parser->at))
        return parse_number(parser, operand, error);
    if (take(parser, "(")) {
        if (!go_deeper(parser, error) || !parse_sum(parser, operand, error))
            return FALSE;
        parser->depth--;
        if (take(parser, ")"))
            return TRUE;
        g_autofree char *given = describe_rest(parser);
        return ct_operand_refuse(error, "wants ')', but is given %s", given);
    }
    g_autofree char *name = take_name(parser);
    if (name) {
        operand->value = parser->find(parser->scope, name, error);
        return operand->value != NULL;
    }
    g_autofree char *given = describe_rest(parser);
    return ct_operand_refuse(error, "wants a number or a name, but is given %s", given);
}

/* `operand` becomes the item of a mapping. */
static gboolean
take_member(Parser *parser, CtOperand *operand, GError **error)
{
    g_autofree char *name = take_name(parser);
    if (!name)
        return ct_operand_refuse(error, "wants a key after '.'");
    const CtValue *mapping = operand->value;
    if (!mapping || mapping->kind != CT_VALUE_MAPPING) {
        g_autofree char *given = mapping ? ct_value_describe(mapping) : g_strdup("a number");
        return ct_operand_refuse(error, "wants a mapping before '.%s', but is given %s", name,
                                 given);
    }
    operand->value = ct_value_get(mapping, name);
    if (operand->value)
        return TRUE;
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (guint i = 0; i < mapping->keys->len; i++)
        g_ptr_array_add(names, ((const CtValue *)mapping->keys->pdata[i])->text);
    g_autofree char *remark =
        ct_suggest_remark(name, (const char *const *)names->pdata, names->len, "it has");
    return ct_operand_refuse(error, "the mapping has no key '%s'%s", name, remark);
}

/* `operand` becomes the item of a list. */
static gboolean
take_item(Parser *parser, CtOperand *operand, GError **error)
{
    CtOperand index;
    if (!go_deeper(parser, error) || !parse_sum(parser, &index, error) ||
        !ct_operand_need_number(&index, error))
        return FALSE;
    parser->depth--;
    if (!take(parser, "]")) {
        g_autofree char *given = describe_rest(parser);
        return ct_operand_refuse(error, "wants ']', but is given %s", given);
    }
    const CtValue *list = operand->value;
    if (!list || list->kind != CT_VALUE_LIST) {
        g_autofree char *given = list ? ct_value_describe(list) : g_strdup("a number");
        return ct_operand_refuse(error, "wants a list before '[', but is given %s", given);
    }
    if (ct_operand_has_unit(&index) || !ct_number_is_integer(&index.number) ||
        index.number.numerator < 0 || index.number.numerator >= list->items->len) {
        g_autofree char *given = ct_number_format(index.number, TRUE);
        g_autofree char *unit = ct_operand_describe_unit(&index);
        return ct_operand_refuse(
            error, "wants an index from 0 to %d, but is given %s%s%s", (gint)list->items->len - 1,
            given, ct_operand_has_unit(&index) ? " " : "", ct_operand_has_unit(&index) ? unit : "");
    }
    operand->value = list->items->pdata[(guint)index.number.numerator];
    return TRUE;
}

static gboolean
parse_item(Parser *parser, CtOperand *operand, GError **error)
{
    if (!parse_first(parser, operand, error))
        return FALSE;
    while (TRUE) {
        if (take(parser, ".")) {
            if (!take_member(parser, operand, error))
                return FALSE;
        } else if (take(parser, "[")) {
            if (!take_item(parser, operand, error))
                return FALSE;
        } else {
            return TRUE;
        }
    }
}

static gboolean
parse_signed(Parser *parser, CtOperand *operand, GError **error)
{
    const gboolean is_negative = take(parser, "-");
    if (is_negative || take(parser, "+")) {
        if (!go_deeper(parser, error) || !parse_signed(parser, operand, error) ||
            !ct_operand_need_number(operand, error))
            return FALSE;
        parser->depth--;
        return !is_negative ||
               ct_operand_multiply(operand, &(CtOperand){.number = {-1, -1, 1}}, 1, error);
    }
    if (!parse_item(parser, operand, error))
        return FALSE;
    if (!take(parser, "**"))
        return TRUE;
    CtOperand exponent;
    if (!go_deeper(parser, error) || !parse_signed(parser, &exponent, error))
        return FALSE;
    parser->depth--;
    return ct_operand_need_number(operand, error) && ct_operand_need_number(&exponent, error) &&
           ct_operand_raise(operand, &exponent, error) && ct_operand_check(operand, error);
}

static gboolean
parse_product(Parser *parser, CtOperand *left, GError **error)
{
    if (!parse_signed(parser, left, error))
        return FALSE;
    while (TRUE) {
        /* `**` is not met here: parse_signed takes it. */
        static const char *const signs[] = {"//", "*", "/", "%"};
        guint sign = 0;
        while (sign < G_N_ELEMENTS(signs) && !take(parser, signs[sign]))
            sign++;
        if (sign == G_N_ELEMENTS(signs))
            return TRUE;
        CtOperand right;
        if (!parse_signed(parser, &right, error) || !ct_operand_need_number(left, error) ||
            !ct_operand_need_number(&right, error))
            return FALSE;
        const gboolean is_whole = sign == 0 || sign == 3;
        if (!(is_whole ? ct_operand_divide_whole(left, &right, sign == 3, error)
                       : ct_operand_multiply(left, &right, sign == 1 ? 1 : -1, error)) ||
            !ct_operand_check(left, error))
            return FALSE;
    }
}

static gboolean
parse_sum(Parser *parser, CtOperand *left, GError **error)
{
    if (!parse_product(parser, left, error))
        return FALSE;
    while (TRUE) {
        const char sign = take(parser, "+") ? '+' : take(parser, "-") ? '-' : '\0';
        if (!sign)
            return TRUE;
        CtOperand right;
        if (!parse_product(parser, &right, error) || !ct_operand_need_number(left, error) ||
            !ct_operand_need_number(&right, error) || !ct_operand_add(left, &right, sign, error) ||
            !ct_operand_check(left, error))
            return FALSE;
    }
}

/* ---- scalars ---- */

/* A scalar, and with what its expressions are read. */
typedef struct {
    const CtValue *scalar;
    const char *who;
    CtExpressionFind find;
    gpointer scope;
} Reader;

static gboolean
evaluate(const Reader *reader, const char *text, CtOperand *operand, GError **error)
{
    Parser parser = {text, 0, reader->find, reader->scope};
    if (strlen(text) > LONGEST)
        return ct_operand_refuse(error, "wants at most %d bytes", LONGEST);
    if (!parse_sum(&parser, operand, error))
        return FALSE;
    skip_spaces(&parser);
    if (*parser.at == '\0')
        return TRUE;
    g_autofree char *given = describe_rest(&parser);
    return ct_operand_refuse(error, "wants an operator, but is given %s", given);
}

/* The text of a number. NULL with an error. */
static char *
write_number(const CtOperand *operand, gboolean rounds, GError **error)
{
    const char *unit = ct_operand_find_unit(operand);
    if (!unit) {
        g_autofree char *given = ct_operand_describe_unit(operand);
        ct_operand_refuse(
            error, "wants a result in Hz, s, m, rad or B, or a number, but gives one in %s", given);
        return NULL;
    }
    g_autofree char *number = ct_number_format(operand->number, rounds);
    return g_strconcat(number, *unit ? " " : "", unit, NULL);
}

/* Takes `cause`, and adds the place of the expression at `at` in the scalar's text, and its text.
 * NULL: it is reported already. */
static void
blame(const Reader *reader, const char *at, const char *expression, GError *cause, GError **error)
{
    const CtValue *scalar = reader->scalar;
    if (!cause)
        return;
    CtPlace place = scalar->place;
    if (place.line > 0 && scalar->inset >= 0)
        place.column +=
            (guint)scalar->inset + (guint)g_utf8_strlen(scalar->text, at - scalar->text);
    const glong length = g_utf8_strlen(expression, -1);
    g_autofree char *start = g_utf8_substring(expression, 0, MIN(length, 60));
    ct_place_error(&place, cause->code, error, "%s'%s%s': %s", reader->who ? reader->who : "",
                   start, length > 60 ? "…" : "", cause->message);
    g_error_free(cause);
}

/* The value of the whole scalar, which is one expression. */
static CtValue *
expand_whole(const Reader *reader, const char *expression, GError **error)
{
    CtOperand operand;
    if (!evaluate(reader, expression, &operand, error))
        return NULL;
    g_autofree char *text = operand.value ? NULL : write_number(&operand, FALSE, error);
    if (!operand.value && !text)
        return NULL;
    CtValue *value = operand.value ? ct_value_copy(operand.value)
                                   : ct_value_new_text(&reader->scalar->place, text);
    value->place = reader->scalar->place;
    return value;
}

/* Appends what an expression within a longer text gives. */
static gboolean
append_expression(const Reader *reader, GString *text, const char *expression, GError **error)
{
    CtOperand operand;
    if (!evaluate(reader, expression, &operand, error))
        return FALSE;
    const CtValue *value = operand.value;
    if (value && (value->kind != CT_VALUE_SCALAR || ct_value_is_nothing(value))) {
        g_autofree char *given = ct_value_describe(value);
        return ct_operand_refuse(
            error, "wants a number or a text within a longer text, but is given %s", given);
    }
    g_autofree char *number = value ? NULL : write_number(&operand, TRUE, error);
    if (!value && !number)
        return FALSE;
    g_string_append(text, value ? value->text : number);
    return text->len <= LONGEST_TEXT ||
           ct_operand_refuse(error, "makes a text of more than %d bytes", LONGEST_TEXT);
}

/* The end of the expression that begins at `dollar`; NULL with an error. */
static const char *
find_end(const Reader *reader, const char *dollar, GError **error)
{
    const char *end = strchr(dollar, '}');
    if (end)
        return end + 1;
    GError *cause = NULL;
    ct_operand_refuse(&cause, "begins an expression, which wants a '}' at its end");
    blame(reader, dollar, "${", cause, error);
    return NULL;
}

/* The text of a scalar with its expressions replaced. NULL with an error. */
static char *
expand_text(const Reader *reader, GError **error)
{
    const char *at = reader->scalar->text;
    g_autoptr(GString) text = g_string_new(NULL);
    for (const char *dollar; (dollar = strstr(at, "${"));) {
        const gboolean is_literal = dollar > at && dollar[-1] == '$';
        g_string_append_len(text, at, dollar - at - is_literal);
        if (is_literal) {
            g_string_append(text, "${");
            at = dollar + strlen("${");
            continue;
        }
        const char *end = find_end(reader, dollar, error);
        if (!end)
            return NULL;
        g_autofree char *expression = g_strndup(dollar + 2, end - dollar - 3);
        GError *cause = NULL;
        if (!append_expression(reader, text, expression, &cause)) {
            g_autofree char *whole = g_strndup(dollar, end - dollar);
            blame(reader, dollar, whole, cause, error);
            return NULL;
        }
        at = end;
    }
    g_string_append(text, at);
    return g_string_free(g_steal_pointer(&text), FALSE);
}

/* The text of the one expression that the scalar is; NULL if it is something else. */
static char *
find_whole(const char *text)
{
    const gsize length = strlen(text);
    if (!g_str_has_prefix(text, "${") || strchr(text, '}') != text + length - 1)
        return NULL;
    return g_strndup(text + 2, length - 3);
}

CtValue *
ct_expression_expand(const CtValue *scalar, const char *who, CtExpressionFind find, gpointer scope,
                     GError **error)
{
    const Reader reader = {scalar, who, find, scope};
    if (!strstr(scalar->text, "${"))
        return ct_value_copy(scalar);
    g_autofree char *whole = find_whole(scalar->text);
    CtValue *value;
    if (whole) {
        GError *cause = NULL;
        value = expand_whole(&reader, whole, &cause);
        if (!value) {
            blame(&reader, scalar->text, scalar->text, cause, error);
            return NULL;
        }
    } else {
        g_autofree char *text = expand_text(&reader, error);
        if (!text)
            return NULL;
        value = ct_value_new_text(&scalar->place, text);
    }
    value->inset = -1;
    g_free(value->origin);
    value->origin = g_strdup(scalar->text);
    return value;
}
