/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations that the files of the stage gains share: the table of factors. */
#pragma once

#include <cornerturn/kit/array.h>
#include <cornerturn/kit/form.h>
#include <cornerturn/npy.h>

/* The inputs. */
enum { GAINS_IN, GAINS_PORT };

/* The file's factors according to the parameters, checked against the stream; NULL on failure.
 * `axes` are those of the array, in its order. */
CtNpyArray *ct_gains_load(const CtNode *node, const char *axes[CT_MAX_AXES], GError **error);

/* For prepare. The factors, as cf64: those of the port or the file, or one for all. */
gboolean ct_gains_table(const CtNode *node, CtFormTable *table, GError **error);

extern const CtVariant ct_gains_reference;
