/* SPDX-License-Identifier: BSD-3-Clause */
/* The language of graphs: makes a graph of plain keys from parameters, expressions, included files
 * and replicated stages. */
#pragma once

#include "model/document.h"
#include "model/errors.h"

typedef struct {
    CtValue *top;        /* the graph, with names, links and values as they are meant */
    GPtrArray *files;    /* of char: paths of the included files */
    GString *texts;      /* of these files, as further documents of YAML */
    GPtrArray *warnings; /* of CtWarning */
} CtExpansion;

void ct_expansion_free(CtExpansion *expansion);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtExpansion, ct_expansion_free)

/* Expands `top`, a mapping. `path`: the file, NULL for a text in memory. `overrides`: "name=value"
 * or "node.key=value" each; NULL-terminated, or NULL. What is at fault goes to `errors`, and is
 * left out of the result. */
CtExpansion *ct_expand(const CtValue *top, const char *path, const char *const *overrides,
                       CtErrors *errors);
/* Parses "node.key=value", with the value in YAML. `name` stands for the text in messages. *node
 * and *key are allocated. */
CtValue *ct_assignment_parse(const char *assignment, const char *name, char **node, char **key,
                             GError **error);
