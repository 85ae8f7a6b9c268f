/* SPDX-License-Identifier: BSD-3-Clause */
/* The kit makes one of two things of stages that are attached behind a variant: the epilogue of a
 * kernel, or on the processor a chain. */
#pragma once

#include <cornerturn/kit/epilogue.h>

/* A variant with stages attached behind it, to which its `form` points. */
typedef struct {
    CtVariant variant;
    const CtVariant *base;   /* with no stage attached */
    const CtVariant *engine; /* that runs on a device: the base; for a chain, ct_chain_device or
                                that of the fold at its end */
    guint n_own;             /* stages that the engine covers itself */
    guint n_attached;
    const CtVariant **attached; /* [n_attached] */
    const CtForm **forms;       /* [n_attached] theirs */
    gboolean folds;             /* the last one is a fold, on a device */
    const char **covers;
    CtRow *rows;
} CtAttachment;

/* The epilogue of the stages of `nodes`, whose forms are `forms`, behind a kernel that makes
 * elements of type `made`, on a device; `n_counters` counters of other stages come before theirs.
 * `out` is the output that is stored. One that `checks`, for firings with invalid samples, counts
 * in valid ones alone, and folds these alone. The other one does not look. With `folds` the last
 * stage is a fold. */
CtEpilogue *ct_epilogue_new(const CtForm *const *forms, const CtNode *nodes, guint n_nodes,
                            CtType made, guint n_counters, gboolean checks, gboolean folds,
                            CtDevice *device, const CtBinding *out, GError **error);
/* Whether a stage counts or folds. */
gboolean ct_epilogue_minds(const CtEpilogue *epilogue);
void ct_epilogue_free(CtEpilogue *epilogue);
/* Whether the form is a map, or with `tables` one with a table, or a conversion for this node, of
 * elements of type `made`. */
gboolean ct_epilogue_takes(const CtForm *form, const CtNode *node, CtType made, gboolean tables);
/* The bytes of the state of a form that is a fold for this node; 0: it is none. */
gsize ct_epilogue_state_bytes(const CtForm *form, const CtNode *node, CtType made);

/* Behind a fold, the samples that a firing folds, of which the valid ones are counted. */
typedef struct {
    const guint8 *validity; /* [lane][sample of the output][sample of the hop] */
    guint32 *counts;        /* [lane][sample of the output] */
    gint64 n_lanes;
} CtFolded;

/* The next firing's, for an epilogue that checks. */
void ct_epilogue_set_folded(CtEpilogue *epilogue, const CtFolded *folded);
/* The bytes that a firing of at most `max_samples` samples of the output uploads for an epilogue
 * that checks. */
gsize ct_epilogue_upload(const CtEpilogue *epilogue, gint64 n_lanes, gint64 max_samples);

/* Moves elements on a device through its epilogue, which has all stages (chain-device.c). */
extern const CtVariant ct_chain_device;

/* ---- chains on the processor (chain.c) ---- */

/* Whether the variant can be a member of a chain. */
gboolean ct_chain_takes(const CtVariant *variant);
/* Whether the chain can run these nodes, all that it covers. */
gboolean ct_chain_fits(const CtAttachment *chain, const CtNode *nodes);
gboolean ct_chain_prepare(CtPrepare *prepare, gpointer *state, GError **error);
gboolean ct_chain_work(gpointer state, const CtWork *work, GError **error);
void ct_chain_finish(gpointer state);
