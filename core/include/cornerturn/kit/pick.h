/* SPDX-License-Identifier: BSD-3-Clause */
/* Stages whose output has elements of the input at other places: along an axis of the output,
 * element i is the element of the input at an index from a table, of one axis of the input or of
 * two. All other axes pass unchanged.
 *
 *     select   channel i                  is channel index[i]
 *     merge    channel i                  is channel index[1][i] of subband index[0][i]
 *     split    subband s and channel c    are channel s · length + c
 *
 * The output may also have only a part of the time. The stage has
 *
 *     static const CtPickForm form = {.find = find};
 *
 * and `.infer = ct_pick_infer, .form = &form`; CT_PICK_VARIANTS(form, "select", rows) stands for
 * its variants. */
#pragma once

#include <cornerturn/stage.h>

G_BEGIN_DECLS

/* An axis of the output. The index along an axis of the input is the sum of the tables' entries for
 * it, over all axes of the output that name it. */
typedef struct {
    const char *name; /* interned, as all names here */
    gint64 length;
    guint n_of;          /* 1 or 2 */
    const char *of[2];   /* axes of the input */
    gint64 *index[2];    /* [length]; freed by ct_pick_clear */
    guint64 reserved[2]; /* 0 */
} CtPickAxis;

typedef struct {
    guint n_axes;
    CtPickAxis axes[CT_MAX_AXES];
    gint64 begin, end;   /* the output has the samples whose ticks are at least begin, and less than
                            end; set to all of them before `find` */
    guint64 reserved[4]; /* 0 */
} CtPick;

typedef struct {
    /* Describes what the node picks, by ct_pick_add; called by infer and by prepare. */
    gboolean (*find)(const CtNode *node, CtPick *pick, GError **error);
    guint64 reserved[2]; /* 0 */
} CtPickForm;

/* Adds an axis of the output of elements of one axis of the input, or of two (`second` is not
 * NULL), with tables of zeros. NULL: there is no memory. */
CT_EXPORT CtPickAxis *ct_pick_add(CtPick *pick, const char *name, gint64 length, const char *first,
                                  const char *second, GError **error);
CT_EXPORT void ct_pick_clear(CtPick *pick);

/* The coordinate of element i, of the input's axis or of the one of two that hangs on the other;
 * FALSE: there is none that depends on i alone. */
CT_EXPORT gboolean ct_pick_coordinate(const CtStream *input, const CtPickAxis *axis, gint64 i,
                                      gdouble *value);

/* Describes the first output: lengths, coordinates, labels, axes that lose data, and the part of
 * the time. An axis of the input that two axes of the output name leaves them no coordinates: the
 * stage may add some. */
CT_EXPORT gboolean ct_pick_infer(CtNode *node, GError **error);

CT_EXPORT gboolean ct_pick_prepare(CtPrepare *prepare, gpointer *state, GError **error);
CT_EXPORT gboolean ct_pick_prepare_device(CtPrepare *prepare, gpointer *state, GError **error);
CT_EXPORT gboolean ct_pick_advance(gpointer state, CtAdvance *advance, GError **error);
CT_EXPORT gboolean ct_pick_work(gpointer state, const CtWork *work, GError **error);
CT_EXPORT gboolean ct_pick_work_device(gpointer state, const CtWork *work, GError **error);
CT_EXPORT gboolean ct_pick_work_reference(gpointer state, const CtWork *work, GError **error);
CT_EXPORT void ct_pick_finish(gpointer state);

#define CT_PICK_VARIANT(form_, stage_, rows_, name_, backend_, prepare_, work_)                    \
    &(const CtVariant)                                                                             \
    {                                                                                              \
        .name = name_, .backend = backend_, .covers = (const char *const[]){stage_, NULL},         \
        .rows = rows_, .split = (backend_) == CT_CPU ? "*" : NULL, .form = &form_,                 \
        .prepare = prepare_, .advance = ct_pick_advance, .work = work_, .finish = ct_pick_finish,  \
    }
/* Bytes are only moved, so other instruction sets would not be faster. */
#define CT_PICK_VARIANTS(form_, stage_, rows_)                                                     \
    CT_PICK_VARIANT(form_, stage_, rows_, "cuda", CT_CUDA, ct_pick_prepare_device,                 \
                    ct_pick_work_device),                                                          \
        CT_PICK_VARIANT(form_, stage_, rows_, "cpu", CT_CPU, ct_pick_prepare, ct_pick_work),       \
        CT_PICK_VARIANT(form_, stage_, CT_PORT_ROWS(0.01), "reference", CT_REFERENCE,              \
                        ct_pick_prepare, ct_pick_work_reference)

G_END_DECLS
