/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the tables of a plugin, and checks that they are consistent. */
#pragma once

#include <cornerturn/stage.h>

/* Reads the plugin's tables into structs of this core (see the head of stage.h), in the same order.
 * In `covers` of a variant, the names have no versions. Checks every field, and the variants
 * against those of the plugin's own stages that they cover. Reads only mapped memory, and a bounded
 * number of rows. The structs are added to `memory`, which frees them; texts and other arrays
 * remain the plugin's. The message of an error names the stage or variant, and the field. */
const CtPlugin *ct_plugin_read(const CtPlugin *plugin, GPtrArray *memory, GError **error);

/* Whether the variant can run `stages`, those that it covers: their versions against `covers` as
 * the plugin gives it; its rows and its split axis against their ports. Rows that stand for the
 * ports' patterns get them, in texts that are added to `memory`. A stage that is not there is NULL,
 * and not compared. */
gboolean ct_variant_check(const CtVariant *variant, const char *const *covers,
                          const CtStage *const *stages, GPtrArray *memory, GError **error);
/* The most stages that one variant may cover. */
#define CT_MAX_COVERS 16
