/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether the tables of a plugin can be what they say. */
#pragma once

#include <cornerturn/stage.h>

/* Checks every table that the plugin brings, field by field, and its variants against those of its
 * own stages that they cover. No table is read beyond memory that is mapped, nor without bound. The
 * message names stage or variant, and field. */
gboolean ct_plugin_check(const CtPlugin *plugin, GError **error);

/* Whether the variant can run the stages that it covers, the first and the last of which are given:
 * its rows against their ports, its split axis against the rows. */
gboolean ct_variant_check(const CtVariant *variant, const CtStage *first, const CtStage *last,
                          GError **error);
