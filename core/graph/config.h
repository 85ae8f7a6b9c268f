/* SPDX-License-Identifier: BSD-3-Clause */
/* A graph as its file describes it: the top-level keys, and the stages in the order of the file.
 * The parameters of the stages are still YAML values. */
#pragma once

#include "model/document.h"

#include <cornerturn/stage.h>

/* `backend: cuda:1` */
typedef struct {
    CtBackend backend; /* CT_N_BACKENDS: auto, or not given */
    gint device;       /* −1: any */
} CtConfigBackend;

/* Parses "auto", "reference", "cpu", "cuda" or "cuda:1". */
gboolean ct_config_backend_parse(CtConfigBackend *backend, const char *text, GError **error);

/* `numa: 1` */
typedef struct {
    gboolean is_given;
    gint number; /* of a NUMA node */
    CtPlace place;
} CtConfigNuma;

/* An item of `from`. */
typedef struct {
    char *port;   /* of this stage; NULL: the next free one */
    char *node;   /* the node that feeds the port */
    char *output; /* of that node; NULL: its first output */
    CtPlace place;
} CtConfigLink;

typedef struct {
    char *name;
    CtPlace place; /* of the name */
    char *stage;
    CtPlace stage_place;
    GArray *links; /* of CtConfigLink */
    CtConfigBackend backend;
    CtPlace backend_place; /* the place of the node if no backend is given */
    char *variant;         /* NULL: not given */
    CtPlace variant_place;
    gint64 block; /* samples along time; 0: not given */
    CtPlace block_place;
    CtValue *labels; /* of a source, a mapping from axes to lists of names; NULL: not given */
    gboolean reread; /* the files of its parameters are read again when they change */
    CtPlace reread_place;
    CtConfigNuma numa;
    CtValue *params; /* a mapping: all other keys */
} CtConfigStage;

typedef struct {
    char *path;       /* of the file that it was read from; NULL: from memory */
    char *text;       /* as it was read or given; NULL: not UTF-8. The files that it includes follow
                         it, each as a document of YAML */
    char **overrides; /* "name=value" or "node.key=value" each; NULL-terminated */
    char *description;   /* NULL: not given */
    GPtrArray *files;    /* of char: paths of the included files */
    GPtrArray *warnings; /* of CtWarning: parameters without effect */
    CtPlace place;
    CtConfigBackend backend;
    CtPlace backend_place; /* the place of the graph if no backend is given */
    gint64 block;          /* 0: the planner chooses */
    GArray *cpus;          /* of guint: numbers of processors; NULL: not given */
    CtPlace cpus_place;
    CtConfigNuma numa;     /* of the nodes that give none */
    CtValue *observation;  /* NULL: not given */
    CtValue *stations;     /* from their file, if they are in one; NULL: not given */
    CtValue *start, *stop; /* times; NULL: not given */
    GPtrArray *stages;     /* of CtConfigStage */
} CtConfig;

/* `overrides`: "node.key=value" or, for a parameter of the graph, "name=value" each, with the value
 * in YAML; NULL-terminated, or NULL. The error tells all faults that do not follow from others, a
 * line each. */
CtConfig *ct_config_load(const char *path, const char *const *overrides, GError **error);
/* Parses a text. `name` stands for the file in messages. `length` −1: the text ends with a NUL. */
CtConfig *ct_config_parse(const char *text, gssize length, const char *name,
                          const char *const *overrides, GError **error);
void ct_config_free(CtConfig *config);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtConfig, ct_config_free)

/* NULL if there is no stage of this name. */
const CtConfigStage *ct_config_find(const CtConfig *config, const char *name);

/* A copy of `config` without its stages. */
CtConfig *ct_config_new(const CtConfig *config);
/* Adds a stage that has no links and no parameters. */
CtConfigStage *ct_config_add(CtConfig *config, const char *name, const char *stage,
                             const CtPlace *place);
/* Adds a copy of `stage` under another name. */
CtConfigStage *ct_config_add_copy(CtConfig *config, const CtConfigStage *stage, const char *name);
