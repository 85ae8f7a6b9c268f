/* SPDX-License-Identifier: BSD-3-Clause */
/* Epilogues: what the kit makes of the stages that are attached behind a variant. */
#pragma once

#include <cornerturn/kit/epilogue.h>

/* The epilogue of the stages of `nodes`, whose forms are `forms`, behind a kernel that makes
 * elements of type `made`; `n_counters` counters of other stages come before theirs. `out` is the
 * output that is stored. */
CtEpilogue *ct_epilogue_new(const CtForm *const *forms, const CtNode *nodes, guint n_nodes,
                            CtType made, guint n_counters, const CtBinding *out, GError **error);
/* The bytes that a firing uploads. */
gsize ct_epilogue_upload_bytes(const CtEpilogue *epilogue);
void ct_epilogue_free(CtEpilogue *epilogue);
/* Whether the form is a map or a conversion for this node, of elements of type `made`. */
gboolean ct_epilogue_takes(const CtForm *form, const CtNode *node, CtType made);
