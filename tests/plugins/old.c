/* SPDX-License-Identifier: BSD-3-Clause */
/* A plugin with another ABI version: nothing behind the version may be read. */
#include <cornerturn/stage.h>

CT_EXPORT extern const CtPlugin ct_plugin;
const CtPlugin ct_plugin = {
    .magic = CT_PLUGIN_MAGIC,
    .abi_version = CT_ABI_VERSION + 98,
    .sizes = (const CtSizes *)1,
    .name = (const char *)1,
    .stages = (const CtStage *const *)1,
    .variants = (const CtVariant *const *)1,
};
