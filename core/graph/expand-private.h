/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files that expand a graph share. */
#pragma once

#include "expand.h"

typedef struct CtLevel CtLevel;

/* A name that expressions see. */
typedef struct {
    char *name;
    CtPlace place;
    const CtValue *source; /* as it is written */
    CtLevel *level;        /* in which its own expressions are read */
    CtValue *value;        /* expanded; NULL: not yet */
    gboolean is_busy;      /* is being expanded */
    gboolean has_failed;   /* its fault is reported */
    gboolean is_used;
    gboolean is_watched; /* the user is warned if nothing uses it */
} CtDefinition;

/* A region of names: a file, or a copy of replicated stages. */
struct CtLevel {
    CtLevel *parent;
    gboolean sees_parent;    /* expressions see the names of the parent */
    char *prefix;            /* of the names of nodes, as the parent sees them; NULL: none */
    char *suffix;            /* … "-2"; NULL: none */
    const CtValue *settings; /* what the including file sets parameters to; NULL: nothing */
    const char *file;        /* path, for `here` and included files; NULL: a text in memory */
    GHashTable *definitions; /* char → CtDefinition */
    GHashTable *nodes;       /* char, as this level sees it → CtExpandNode */
    GHashTable *copies;      /* "filter-*" → GPtrArray of CtExpandNode */
};

/* A node of the result. */
typedef struct {
    CtValue *key; /* its name and place */
    const CtValue *source;
    CtLevel *level;
    CtValue *overrides;  /* a mapping; NULL: none */
    gboolean has_failed; /* its faults are reported */
} CtExpandNode;

typedef struct {
    CtErrors *errors;
    CtExpansion *result;
    CtLevel *root;
    GHashTable *settings;   /* char, a parameter → CtValue that the command line gives it */
    GHashTable *keys;       /* char → CtValue, the keys of files that stand once */
    GPtrArray *levels;      /* owned */
    GPtrArray *definitions; /* owned */
    GPtrArray *values;      /* of CtValue, owned: documents, and values that are not in one */
    GPtrArray *nodes;       /* of CtExpandNode, owned */
    GPtrArray *busy; /* of CtDefinition: those that are being expanded, the first one first */
    GPtrArray *open; /* of char: files that are being included, by their real names */
    gsize bytes;     /* of all values that were made */
    gboolean is_overflowing; /* too many: this is reported */
    gboolean is_partial; /* a part is left out, which is reported: no name is said to be missing */
} CtExpander;

/* Reports an error at a place. Returns FALSE. */
gboolean ct_expand_blame(CtExpander *expander, const CtPlace *place, const char *format, ...)
    G_GNUC_PRINTF(3, 4);

/* ---- expand-level.c ---- */

/* Reports that a mapping has a key that none of the `n` names is; `of` describes it. TRUE if it has
 * none. */
gboolean ct_expand_check_keys(CtExpander *expander, const CtValue *mapping, const char *of,
                              const char *const *names, guint n);
/* Whether another node, copy or parameter may be added; reports if not. */
gboolean ct_expand_has_room(CtExpander *expander, const CtPlace *place);

/* A level, without a prefix and a suffix. */
CtLevel *ct_level_new(CtExpander *expander, CtLevel *parent, const char *file);
void ct_level_free(CtLevel *level);
/* The names of the parameters of a level, sorted. */
GPtrArray *ct_level_names(const CtLevel *level);
/* Defines a name for the expressions of a level, and of those that see it. NULL: it stands twice,
 * or cannot be a name. */
CtDefinition *ct_level_define(CtExpander *expander, CtLevel *level, const CtValue *key,
                              const CtValue *source);
/* Lets the parent see a definition of a level, unless the including file sets it. */
void ct_level_export(CtExpander *expander, CtLevel *level, CtDefinition *definition);
/* The definition that expressions of a level mean by a name; NULL: there is none. */
CtDefinition *ct_level_find(const CtLevel *level, const char *name);
/* Adds a node whose name a level writes as `key`. */
void ct_level_add_node(CtExpander *expander, CtLevel *level, const CtValue *key,
                       const CtValue *source);
/* Expands what a definition stands for; FALSE: its fault is reported. */
gboolean ct_definition_expand(CtExpander *expander, CtDefinition *definition);
/* A value without expressions. NULL: faults are reported; `node`, if it is not NULL, is named. */
CtValue *ct_level_expand(CtExpander *expander, CtLevel *level, const CtValue *value,
                         const char *node);

/* ---- expand.c ---- */

/* Takes the keys of a file. */
void ct_expand_file(CtExpander *expander, CtLevel *level, const CtValue *top);
/* Takes nodes, and replicated nodes. */
void ct_expand_stages(CtExpander *expander, CtLevel *level, const CtValue *stages);

/* ---- expand-include.c ---- */

/* The same text for all spellings of the path of a file. Allocated. */
char *ct_expand_real_name(const char *path);

/* `include: other.yaml`, `include: { file: other.yaml, parameters: { … }, prefix: NAME }`, or a
 * list of these. */
void ct_expand_includes(CtExpander *expander, CtLevel *level, const CtValue *value);

/* ---- expand-replicate.c ---- */

/* `replicate: { over: 4, as: port, stages: { … } }`, or a list of these. */
void ct_expand_replicates(CtExpander *expander, CtLevel *level, const CtValue *value);
