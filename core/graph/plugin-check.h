/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks that the tables of a plugin are consistent. */
#pragma once

#include <cornerturn/stage.h>

/* Checks every table of the plugin, field by field, and its variants against those of its own
 * stages that they cover. Reads only mapped memory, and a bounded number of rows. The message names
 * the stage or variant, and the field. */
gboolean ct_plugin_check(const CtPlugin *plugin, GError **error);

/* Whether the variant can run the stages that it covers, given the first and the last of them: its
 * rows and its split axis against their ports. */
gboolean ct_variant_check(const CtVariant *variant, const CtStage *first, const CtStage *last,
                          GError **error);
