/* SPDX-License-Identifier: BSD-3-Clause */
/* Plugins that are no files: the program has registered them by ct_register_plugin(). */
#pragma once

#include <cornerturn/stage.h>

/* The plugins that are registered now, of const CtPlugin: an array for g_ptr_array_unref. */
GPtrArray *ct_registered_plugins(void);
