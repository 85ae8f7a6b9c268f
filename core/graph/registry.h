/* SPDX-License-Identifier: BSD-3-Clause */
/* The registry of plugins: stages by name, variants by stage. */
#pragma once

#include <cornerturn/stage.h>

/* The kinds of stages that the planner inserts between nodes, and the stages' names. */
typedef enum {
    CT_INSERTED_TRANSPOSE,
    CT_INSERTED_CONVERT,
    CT_INSERTED_COPY,
    CT_N_INSERTED
} CtInsertedKind;
extern const char *const ct_inserted_stages[CT_N_INSERTED];

typedef struct CtRegistry CtRegistry;

/* Finds and opens plugins in the folders of CORNERTURN_PLUGIN_PATH, then in the build tree of this
 * program or, without one, in its install prefix. If two files have the same name, the first is
 * used. A file is left out, and the reason kept, if it is no plugin, has another ABI version, has
 * inconsistent tables (plugin-check.h), lacks a symbol, or may be written by others
 * (plugin-file.h). Two plugins with the same stage or variant are an error that names both; lack of
 * memory is an error too. Plugins stay loaded until the program ends. */
CtRegistry *ct_registry_new(GError **error);
/* Uses only these folders, NULL-terminated, and what the program has registered (registered.h). */
CtRegistry *ct_registry_new_from(const char *const *folders, GError **error);
void ct_registry_free(CtRegistry *registry);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtRegistry, ct_registry_free)

/* The stage of this name. NULL with an error that suggests a name, and says which plugins were left
 * out and why. */
const CtStage *ct_registry_stage(const CtRegistry *registry, const char *name, GError **error);
/* The variants whose `covers` begins with `stage`, including fused ones and those that this machine
 * cannot run. Those that cover more stages come first, whichever plugins they are of; otherwise,
 * the order is that of the files' names and of each plugin's preference. May be empty, is never
 * NULL; owned by the registry. */
const GPtrArray *ct_registry_variants(const CtRegistry *registry, const char *stage);
/* All stages, of CtStage, sorted by name; owned by the registry. */
const GPtrArray *ct_registry_stages(const CtRegistry *registry);
/* The variant that does what `base` does, and then `stage`, attached behind it; NULL where there is
 * none. Made once; owned by the registry. Its file is that of `base`. */
const CtVariant *ct_registry_attach(CtRegistry *registry, const CtVariant *base,
                                    const CtStage *stage);
/* The file of the plugin that has the stage or variant. */
const char *ct_registry_stage_file(const CtRegistry *registry, const CtStage *stage);
const char *ct_registry_variant_file(const CtRegistry *registry, const CtVariant *variant);
/* One message for each plugin or variant that was left out, with the reason. */
const char *const *ct_registry_problems(const CtRegistry *registry);
/* " (left out: …)": the plugins whose absence may explain that `stage`, or a variant of it, is
 * missing. "" if none was left out. Allocated. */
char *ct_registry_left_out(const CtRegistry *registry, const char *stage);

/* Why the instruction set can't be used here: "this processor lacks AMX", "CORNERTURN_ISA forbids
 * it"; NULL: it can. */
const char *ct_registry_isa_refusal(const CtRegistry *registry, CtIsa isa);
