/* SPDX-License-Identifier: BSD-3-Clause */
/* The plugins that there are: stages by name, variants by stage. */
#pragma once

#include <cornerturn/stage.h>

/* The kinds of stages that the planner inserts between nodes, and the names of the stages. */
typedef enum {
    CT_INSERTED_TRANSPOSE,
    CT_INSERTED_CONVERT,
    CT_INSERTED_COPY,
    CT_N_INSERTED
} CtInsertedKind;
extern const char *const ct_inserted_stages[CT_N_INSERTED];

typedef struct CtRegistry CtRegistry;

/* Finds and opens plugins, in this order: the folders of CORNERTURN_PLUGIN_PATH, then the build
 * tree that this program stands in, or else its install prefix. Of two files of one name the first
 * counts. What is no plugin, of another ABI, declares what cannot be (plugin-check.h), or may be
 * written by others (plugin-file.h), is left out and remembered; two that bring the same stage, or
 * the same variant, are an error that names both, as is want of memory. Plugins stay loaded until
 * the program ends. */
CtRegistry *ct_registry_new(GError **error);
/* Of these folders alone, NULL-terminated. */
CtRegistry *ct_registry_new_from(const char *const *folders, GError **error);
void ct_registry_free(CtRegistry *registry);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtRegistry, ct_registry_free)

/* NULL with an error that suggests a name, and says which plugins were left out and why. */
const CtStage *ct_registry_stage(const CtRegistry *registry, const char *name, GError **error);
/* The variants whose `covers` begins with `stage`, fused ones among them, in the order of their
 * plugins' preference; those that this machine cannot run among them. Empty, never NULL; owned by
 * the registry. */
const GPtrArray *ct_registry_variants(const CtRegistry *registry, const char *stage);
/* All stages, of CtStage, by name; owned by the registry. */
const GPtrArray *ct_registry_stages(const CtRegistry *registry);
/* The file that brought the stage or variant. */
const char *ct_registry_stage_file(const CtRegistry *registry, const CtStage *stage);
const char *ct_registry_variant_file(const CtRegistry *registry, const CtVariant *variant);
/* What was left out and why, one message each. */
const char *const *ct_registry_problems(const CtRegistry *registry);
/* " (left out: …)", what may be why `stage` or a variant of it is not there; empty where nothing
 * was left out. Allocated. */
char *ct_registry_left_out(const CtRegistry *registry, const char *stage);

/* Whether this processor, and the cap of CORNERTURN_ISA, allow the instruction set. */
gboolean ct_registry_allows_isa(const CtRegistry *registry, CtIsa isa);
