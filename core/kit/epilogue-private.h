/* SPDX-License-Identifier: BSD-3-Clause */
/* The kit makes one of three things of stages that are attached to a variant: the epilogue or the
 * prologue of a kernel, or on the processor a chain. */
#pragma once

#include "form-private.h"
#include "group-device.h"

#include <cornerturn/kit/epilogue-struct.h>
#include <cornerturn/kit/epilogue.h>

/* A variant with stages attached to it, to which its `form` points. */
typedef struct {
    CtVariant variant;
    const CtVariant *base;   /* with no stage attached */
    const CtVariant *engine; /* that runs on a device: the base; for a chain, ct_chain_device or
                                that of the fold at its end */
    guint n_before;          /* attached in front of the engine's */
    guint n_own;             /* stages that the engine covers itself */
    guint n_attached;
    const CtVariant **attached; /* [n_attached] those before, then those behind */
    const CtForm **forms;       /* [n_attached] theirs */
    gboolean folds;             /* the last one is a fold behind a kernel, on a device */
    gboolean ends;              /* it is a fold behind maps, which is the engine */
    const char **covers;
    CtRow *rows;
} CtAttachment;

/* ---- epilogues and prologues (epilogue.c) ---- */

/* Behind a fold, the samples that a firing folds, of which the valid ones are counted. */
typedef struct {
    const guint8 *validity; /* [lane][sample of the output][sample of the hop] */
    guint32 *counts;        /* [lane][sample of the output] */
    gint64 n_lanes;
} CtFolded;

/* A stage that elements go through. */
typedef struct {
    CtFormState form;
    gsize settings; /* the offset of its settings in the argument, and of the address of its counter
                     */
    gsize counter;
    guint n_before; /* counters of stages before it */
    gpointer table; /* on the device; its address comes behind that of the counter */
} CtEpilogueStage;

typedef struct {
    CtEpilogue epilogue; /* its text and its headers are owned */
    gboolean is_prologue;
    CtDevice *device;
    guint n;
    CtEpilogueStage *stages; /* [n] */
    guint group_stage;       /* that makes groups of groups; n: none does */
    CtGroupAxes group;       /* of its input and output; without one, no axes */
    guint8 *argument;        /* begins with the address of the validity, if it `checks` */
    gsize index;     /* the offset of that of elements in the argument, if a stage has a table */
    gsize strides;   /* … and of the strides of the axes of groups, if there are such */
    gboolean minds;  /* a stage counts or folds */
    CtFolded folded; /* by the next firing */
    CtLayout order;  /* of the elements of a sample: that of the port */
    /* Steps of the port's axes, in the order of its layout, in its packed validity, but for the
     * factor of lanes, the number of samples, and in tables. The validity's of time is negative. */
    gint64 validity_steps[CT_MAX_AXES], element_steps[CT_MAX_AXES];
} CtEpilogueState;

/* The members of the argument begin at multiples of it. */
enum { CT_EPILOGUE_ALIGNMENT = 16 };

/* The header for the kernel (epilogue-text.c), allocated. */
char *ct_epilogue_write(const CtEpilogueState *self);

static inline gboolean
ct_epilogue_is(const CtFormState *form, CtFormKind kind)
{
    return form->kernel && form->kernel->kind == kind;
}

static inline gboolean
ct_epilogue_counts(const CtFormState *form)
{
    return form->kernel && form->kernel->n_counters > 0;
}

typedef struct {
    const CtForm *const *forms;
    const CtNode *nodes;
    guint n_nodes;
    CtType given;     /* of the elements that the first stage gets */
    guint n_counters; /* of other stages, before theirs */
    gboolean is_prologue;
    gboolean checks; /* it is for firings with invalid samples: it counts in valid ones alone, and
                        folds these alone. The other one does not look */
    gboolean folds;  /* the last stage is a fold */
    const CtBinding *in, *out; /* where the kernel reads and stores */
} CtEpilogueSpec;

CtEpilogue *ct_epilogue_new(const CtEpilogueSpec *spec, CtDevice *device, GError **error);
void ct_epilogue_free(CtEpilogue *epilogue);
/* Whether a stage counts or folds. */
gboolean ct_epilogue_minds(const CtEpilogue *epilogue);
/* The axes of the groups that a stage makes, which the kernel gives and gets as CtGroup; NULL: no
 * stage does, or there is no epilogue. */
const CtGroupAxes *ct_epilogue_group(const CtEpilogue *epilogue);
/* Chooses the kernel of a node, of these kinds, for elements of type `given`; none for a
 * conversion. The form may be cleared after a failure. */
gboolean ct_epilogue_choose(CtFormState *form, const CtForm *of, const CtNode *node, CtType given,
                            guint kinds, GError **error);
/* Whether the axes of the node are those that its kernel, of groups, wants. */
gboolean ct_epilogue_fits_group(const CtFormState *form, const CtNode *node);
/* The bytes of the state of a form that is a fold for this node; 0: it is none. */
gsize ct_epilogue_state_bytes(const CtForm *form, const CtNode *node, CtType made);

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
