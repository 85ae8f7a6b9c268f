/* SPDX-License-Identifier: BSD-3-Clause */
/* Formats of files: stages that stand for another one by the extension of a file's name. */
#pragma once

#include "config.h"
#include "registry.h"

/* The stage of the node's file, which may be `stage`: that of the longest extension that its `path`
 * ends in. NULL with an error that lists the extensions if none fits, and the node gives no
 * `format`. */
const CtStage *ct_format_choose(const CtRegistry *registry, const CtStage *stage,
                                const CtConfigStage *node, GError **error);

/* ".npy, .raw: file.sink", one text for each stage that `stage` may become, sorted; empty if it
 * has no extensions. */
GPtrArray *ct_format_list(const CtRegistry *registry, const CtStage *stage);
