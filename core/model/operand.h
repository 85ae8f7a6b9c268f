/* SPDX-License-Identifier: BSD-3-Clause */
/* Operands of expressions: exact numbers with units, and the arithmetic of these. */
#pragma once

#include "document.h"
#include "number.h"

enum { CT_N_BASES = 4 };

/* What a part of an expression gives. */
typedef struct {
    const CtValue *value; /* what a name stands for; NULL: a number */
    CtNumber number;
    gint powers[CT_N_BASES];
} CtOperand;

/* Messages have no place; the caller adds the expression and its place. Returns FALSE. */
gboolean ct_operand_refuse(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);

gboolean ct_operand_has_unit(const CtOperand *operand);
/* "Hz", "s^2", "a number". Allocated. */
char *ct_operand_describe_unit(const CtOperand *operand);
/* The unit of a result, as quantities have it: "" for a number; NULL if it is no such unit. */
const char *ct_operand_find_unit(const CtOperand *operand);
/* Reads the name of a unit after a number: multiplies by its factor. */
gboolean ct_operand_take_unit(CtOperand *operand, const char *name, GError **error);
/* Turns the value of a name into a number, as quantities are read. */
gboolean ct_operand_need_number(CtOperand *operand, GError **error);
/* Whether a result may go on: it is finite, and its unit has no high power. */
gboolean ct_operand_check(const CtOperand *result, GError **error);

/* The operators change their left operand. `sign`: '+' or '-'. */
gboolean ct_operand_add(CtOperand *left, const CtOperand *right, char sign, GError **error);
/* Multiplies, or divides if `sign` is −1. */
gboolean ct_operand_multiply(CtOperand *left, const CtOperand *right, gint sign, GError **error);
/* `//`: the quotient rounded down; `%`: what remains then, with the sign of the divisor. */
gboolean ct_operand_divide_whole(CtOperand *left, const CtOperand *right, gboolean wants_rest,
                                 GError **error);
gboolean ct_operand_raise(CtOperand *base, const CtOperand *exponent, GError **error);
