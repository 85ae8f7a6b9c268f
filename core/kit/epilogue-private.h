/* SPDX-License-Identifier: BSD-3-Clause */
/* Epilogues: what the kit makes of the stages that are attached behind a variant. */
#pragma once

#include <cornerturn/kit/epilogue.h>

/* The epilogue of the stages of `nodes`, whose forms are `forms`, behind a kernel that makes
 * elements of type `made`; `n_counters` counters of other stages come before theirs. `out` is the
 * output that is stored. One that `checks`, for firings with invalid samples, counts in valid ones
 * alone; its firings upload CT_EPILOGUE_UPLOAD bytes. The other one does not look. */
CtEpilogue *ct_epilogue_new(const CtForm *const *forms, const CtNode *nodes, guint n_nodes,
                            CtType made, guint n_counters, gboolean checks, const CtBinding *out,
                            GError **error);
#define CT_EPILOGUE_UPLOAD 512
/* Whether a stage counts. */
gboolean ct_epilogue_counts(const CtEpilogue *epilogue);
void ct_epilogue_free(CtEpilogue *epilogue);
/* Whether the form is a map or a conversion for this node, of elements of type `made`. */
gboolean ct_epilogue_takes(const CtForm *form, const CtNode *node, CtType made);
