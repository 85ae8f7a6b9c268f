/* SPDX-License-Identifier: BSD-3-Clause */
/* Stages of the kit that are attached behind a variant for devices: its kernel passes each element
 * that it makes through their functions before it stores it, so that no pass through memory lies
 * between them. These functions are the kernel's *epilogue*. <cornerturn/kit/prologue.h> is about
 * stages in front of a variant.
 *
 * A variant of one output takes an epilogue if it has the flag CT_VARIANT_EPILOGUE. The planner
 * then offers it, beside the variant by itself, with the stages behind it that are maps of the kit
 * (CT_MAP, CT_COUNTED_MAP, CT_TABLE_MAP) or conversions, not groups, and, if the variant `folds`, a
 * fold along time behind these (see below). In `prepare` the variant sees its own nodes, whose last
 * one has the type that its kernel makes; the bound output has the type and the layout of the last
 * stage. The variant keeps CtPrepare.epilogue, which is NULL where nothing is attached, gives it to
 * its CtKernelSpec, and passes one more argument to the kernel, the last one:
 *
 *     gpointer epilogue = ct_epilogue_argument(self->epilogue, work, error);
 *     gpointer arguments[] = {&in, &out, &n, epilogue};
 *     return epilogue && ct_queue_launch(work->queue, self->kernel, &launch, arguments, error);
 *
 * and its kernel includes <cornerturn/kit/epilogue-kernel.h>, and stores through it, in all cases:
 *
 *     extern "C" __global__ void
 *     half(const ct_f32 *in, uint8 *out, int32 n, const CtEpilogueSettings settings)
 *     {
 *         CtEpilogue epilogue(settings);
 *         const int32 i = blockIdx.x * blockDim.x + threadIdx.x;
 *         if (i < n)
 *             epilogue.store(out + i * sizeof(CtStored<ct_f32>), in[i] / 2);
 *         epilogue.end();
 *     }
 *
 * CtStored<T> is the element in memory where the kernel makes T. All threads of a block, which has
 * one dimension, call `end` together, once, after the last element. The values are those that the
 * stages would make one after another: no operation of the kernel is joined with one of the
 * epilogue.
 *
 * A kernel that first puts elements elsewhere, such as into shared memory, in order to write many
 * side by side later, calls `make` in place of `store`: `epilogue.make(to, made)` gives the element
 * that the kernel shall store at `to`, once for each element.
 *
 * Entries of a table (CT_TABLE_MAP) are found by the place `to`, which takes some time for each
 * element. A kernel that stores elements of several samples, or neighbours, finds them once:
 *
 *     const CtEpilogue::Element element = epilogue.element(to);
 *     epilogue.store(to + i * sizeof(CtStored<ct_f32>), made[i], element + i);
 *
 * Elements that differ in time alone have one number; that of the next one along the last axis of
 * the output, if this is not time and has no blocks, is one more.
 *
 * ---- folds ----
 *
 * If the last stage is a fold, CtEpilogue.hop is above 0: each sample of the bound output is made
 * of `hop` samples that the kernel makes, the last sample of a stream perhaps of fewer. A firing
 * has all samples of a hop, so no state is kept from one firing to the next. CT_EPILOGUE_FOLDS is
 * defined in the kernel, which does not call `store`, but keeps states (CtEpilogue::State), in any
 * memory:
 *
 *     CtEpilogue::Lane lane = epilogue.lane(to);
 *     CtEpilogue::Element element = epilogue.element(to);
 *     epilogue.start(state);
 *     for (int32 t = 0; t < n; t++)
 *         epilogue.add(state, lane, element, t, made[t]);
 *     epilogue.give(to, state, n);
 *
 * `to` is the place of an element of the output, `t` the number of a sample in its hop, and n that
 * of all samples of the hop. `epilogue.merge(state, other)` adds the samples of another state. The
 * kernel merges in an order that does not depend on how the stream is cut. A `lane` serves for all
 * elements of an output sample that differ in axes along which no data are lost alone. */
#pragma once

#include <cornerturn/kit/form.h>

G_BEGIN_DECLS

struct CtEpilogue {
    const char *text;           /* of the header for the kernel */
    const char *const *headers; /* resources that it includes by folder and name, NULL-terminated */
    gint64 hop;         /* samples that the fold at the end makes one of; 0: there is none */
    gsize state_bytes;  /* of a state of the fold */
    guint64 checks;     /* 1: it is for firings with invalid samples; to look these up takes some
                           more registers */
    guint64 has_tables; /* 1: so does each `make` or `store` without a number of an element */
};

/* The argument of an epilogue or a prologue for the kernels of this firing, valid until the next
 * call. NULL with an error. */
CT_EXPORT gpointer ct_epilogue_argument(CtEpilogue *epilogue, const CtWork *work, GError **error);

/* ---- for the planner ---- */

/* Whether stages can be attached to a variant: one with CT_VARIANT_EPILOGUE, or one of
 * <cornerturn/kit/form.h>, which may also become the prologue of the variant behind it. The latter
 * and what is attached behind it are a *chain*: on the processor, its stages run one behind the
 * other for a chunk of the block, which stays in the first caches, and then for the next one. On a
 * device, one kernel passes each element through all of them. */
gboolean ct_epilogue_variant_takes(const CtVariant *base);
/* A variant that does what `base` does and then the stage of `form`, which has
 * CT_VARIANT_ATTACHABLE or CT_VARIANT_FOLD or, behind maps, CT_VARIANT_PROLOGUE, or on the
 * processor is of the same instruction set; `base` may be such a variant itself. It covers all
 * their stages. NULL where they do not fit.
 * Freed by ct_epilogue_variant_free, which accepts NULL. */
CtVariant *ct_epilogue_variant_new(const CtVariant *base, const CtVariant *form,
                                   const CtStage *stage);
void ct_epilogue_variant_free(CtVariant *variant);
/* The variant without what is attached to it; `variant` itself where nothing is. */
const CtVariant *ct_epilogue_variant_base(const CtVariant *variant);
/* The stages that are attached in front of the variant: its other functions begin behind them. */
guint ct_epilogue_variant_n_before(const CtVariant *variant);
/* Whether the last stage of the variant is a fold that is attached to it. */
gboolean ct_epilogue_variant_folds(const CtVariant *variant);
/* Member k of a chain, the variant of its stage by itself; NULL where the variant is no chain. */
const CtVariant *ct_epilogue_variant_member(const CtVariant *variant, guint k);
/* Whether the stages attached to the variant can be run so for these nodes, all that it covers. */
gboolean ct_epilogue_variant_fits(const CtVariant *variant, const CtNode *nodes);

G_END_DECLS
