/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks that a program has given back all resources of devices, as the emulator counts them. */
#pragma once

#include <gmodule.h>

/* The last test of a program, when all other tests have closed what they opened. */
static inline void
leak_test_nothing_is_left(void)
{
    const char *path = g_getenv("CORNERTURN_CUDA");
    gpointer symbol = NULL;
    GModule *library =
        path && *path ? g_module_open(path, G_MODULE_BIND_LAZY | G_MODULE_BIND_LOCAL) : NULL;

    if (!library || !g_module_symbol(library, "cornerturn_emulator_leaks", &symbol)) {
        g_test_skip("CORNERTURN_CUDA does not name the emulator");
        return;
    }
    char *(*leaks)(void) = (char *(*)(void))symbol;
    g_autofree char *left = leaks();
    g_assert_cmpstr(left, ==, NULL);
    g_module_close(library);
}
