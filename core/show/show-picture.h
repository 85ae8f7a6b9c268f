/* SPDX-License-Identifier: BSD-3-Clause */
/* The ways to draw a view. */
#pragma once

#include "show-scale.h"

/* Whether pictures can be drawn; an error if this build lacks cairo. */
gboolean ct_show_picture_check(GError **error);
/* Divides the axes of the view into cells for the picture. */
gboolean ct_show_picture_divide(CtShowView *view, const CtShow *show, GError **error);
/* The file, allocated. */
char *ct_show_picture(const CtShowView *view, const CtShow *show, gsize *length, GError **error);

/* The same for terminals. */
gboolean ct_show_text_divide(CtShowView *view, const CtShow *show, GError **error);
char *ct_show_text(const CtShowView *view, const CtShow *show);
