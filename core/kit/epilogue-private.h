/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kit makes of the stages that are attached behind a variant: the epilogue of a kernel, or
 * on the processor a chain. */
#pragma once

#include <cornerturn/kit/epilogue.h>

/* A variant with stages attached behind it, to which its `form` points. */
typedef struct {
    CtVariant variant;
    const CtVariant *base; /* with no stage attached */
    guint n_own;           /* stages that the base covers */
    guint n_attached;
    const CtVariant **attached; /* [n_attached] */
    const CtForm **forms;       /* [n_attached] theirs */
    const char **covers;
    CtRow *rows;
} CtAttachment;

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

/* ---- chains (chain.c) ---- */

/* Whether the variant can be a member of a chain. */
gboolean ct_chain_takes(const CtVariant *variant);
/* Whether the chain can run these nodes, all that it covers. */
gboolean ct_chain_fits(const CtAttachment *chain, const CtNode *nodes);
gboolean ct_chain_prepare(CtPrepare *prepare, gpointer *state, GError **error);
gboolean ct_chain_work(gpointer state, const CtWork *work, GError **error);
void ct_chain_finish(gpointer state);
