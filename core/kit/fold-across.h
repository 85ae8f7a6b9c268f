/* SPDX-License-Identifier: BSD-3-Clause */
/* Folds along another axis than time: each sample of the output is made of one sample of the input.
 * The functions of fold.h call these where the fold's `axis` names such an axis. */
#pragma once

#include "fold-private.h"

/* The name of the axis, interned; NULL: time. */
const char *ct_fold_axis(const CtFold *fold, const CtNode *node);

gboolean ct_fold_across_prepare(CtPrepare *prepare, gpointer *state, GError **error);
gboolean ct_fold_across_advance(gpointer state, CtAdvance *advance, GError **error);
gboolean ct_fold_across_work(gpointer state, const CtWork *work, GError **error);
void ct_fold_across_finish(gpointer state);
