/* SPDX-License-Identifier: BSD-3-Clause */
/* Describes the installed stages, their variants, and the devices of this machine. Each call looks
 * for plugins again; calls may run on several threads at once. */
#pragma once

#include <cornerturn/error.h>

G_BEGIN_DECLS

/* Describes the stage `name` for people: its plugin's file, ports, parameters and counters, and its
 * variants with their rows of layouts and tunables. NULL: lists all stages, and the devices or the
 * reason why there are none. *problems, unless `problems` is NULL, is set to a message for each
 * plugin or variant that was left out, to be freed with g_strfreev. The text is allocated; NULL
 * with an error: there is no such stage, or plugins cannot be used. */
CT_EXPORT char *ct_inspect(const char *name, char ***problems, GError **error);
/* The file of the plugin that has the stage `name`: *file is set, allocated; to NULL if there is no
 * such stage. FALSE with an error: plugins cannot be used. */
CT_EXPORT gboolean ct_inspect_file(const char *name, char **file, GError **error);
/* A JSON Schema (draft 2020-12) of graphs, with the parameters of the installed stages. Allocated;
 * NULL with an error: plugins cannot be used. */
CT_EXPORT char *ct_inspect_schema(GError **error);

G_END_DECLS
