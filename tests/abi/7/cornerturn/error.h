/* SPDX-License-Identifier: BSD-3-Clause */
/* The domain and the codes of errors. */
#pragma once

#include <cornerturn/export.h>
#include <glib.h>

G_BEGIN_DECLS

#define CT_ERROR ct_error_quark()
CT_EXPORT GQuark ct_error_quark(void);
typedef enum {
    CT_ERROR_CONFIG,    /* the text of the graph */
    CT_ERROR_PARAMETER, /* a value that a stage or a function cannot take */
    CT_ERROR_SHAPE,     /* streams that do not fit a port or one another */
    CT_ERROR_LAYOUT,    /* a layout that is malformed, or none that fits */
    CT_ERROR_PLUGIN,    /* a shared object that is not a plugin, has another ABI, or is at fault */
    CT_ERROR_IO,        /* files and packets */
    CT_ERROR_MEMORY,
    CT_ERROR_DEVICE,
    CT_ERROR_DATA,      /* contents of a file or packet */
    CT_ERROR_CANCELLED, /* the run was cancelled */
    CT_ERROR_WARNING,   /* a warning, if warnings are errors */
    CT_ERROR_ORDER      /* a call that comes too late or too early */
} CtError;

G_END_DECLS
