/* SPDX-License-Identifier: BSD-3-Clause */
/* The files that a parameter of a source names. */
#pragma once

#include "cornerturn/params.h"

/* The paths that the list `param` names, in its order, to be freed: each item is a path, or, if
 * there is no such file and it has one of `*?[`, a pattern in the manner of the shell, for which
 * the paths that match it stand, in the order of their names. NULL with an error if a pattern
 * matches none. */
GPtrArray *ct_file_names(const CtParams *given, const char *param, GError **error);
