/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations that the files of the stage gains share: the table of factors. */
#pragma once

#include <cornerturn/kit/array.h>
#include <cornerturn/kit/form.h>
#include <cornerturn/npy.h>

/* The inputs. */
enum { GAINS_IN, GAINS_PORT };

/* Whether the stream is real, so that its factors are. */
static inline gboolean
gains_are_real(const CtNode *node)
{
    return !ct_type_info(node->inputs[GAINS_IN].type)->is_complex;
}

/* The file's factors according to the parameters, checked against the stream, as f64 for a real
 * stream and as cf64 for a complex one; NULL on failure. `axes` are those of the array, in its
 * order. */
CtNpyArray *ct_gains_load(const CtNode *node, const char *axes[CT_MAX_AXES], GError **error);

/* For prepare. The factors, as f64 or cf64 like the stream: those of the port or the file, or one
 * for all. */
gboolean ct_gains_table(const CtNode *node, CtFormTable *table, GError **error);

extern const CtVariant ct_gains_reference;
