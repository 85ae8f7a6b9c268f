/* SPDX-License-Identifier: BSD-3-Clause */
/* Stages of files that are chosen by the extension of a file's name; none reads its file. */
#include "../pass.h"

#define PATH_PARAMS(flags_)                                                                        \
    ((const CtParam[]){{"path", CT_PARAM_PATH, flags_, .help = "Not opened"},                      \
                       {"format", CT_PARAM_STRING, .help = "Not used"},                            \
                       {0}})
#define FILE_STAGE(id_, name_, flags_, ...)                                                        \
    static const CtStage id_ = {.name = name_,                                                     \
                                .summary = "Named by its file",                                    \
                                .version = 1,                                                      \
                                .inputs = pass_inputs,                                             \
                                .outputs = pass_outputs,                                           \
                                .params = PATH_PARAMS(flags_),                                     \
                                .infer = pass_infer,                                               \
                                .extensions = (const char *const[]){__VA_ARGS__, NULL},            \
                                STANDS_FOR}

#define STANDS_FOR
FILE_STAGE(family, "named.family", CT_PARAM_REQUIRED | CT_PARAM_LIST, ".one", ".uno");
#undef STANDS_FOR
#define STANDS_FOR .stands_for = "named.family"
FILE_STAGE(second, "named.second", CT_PARAM_LIST, ".two");
FILE_STAGE(longer, "named.longer", CT_PARAM_LIST, ".more.two", ".twin");
FILE_STAGE(twin, "named.twin", CT_PARAM_LIST, ".twin");

static const CtStage absent = {
    .name = "named.absent",
    .summary = "Lacks its library",
    .version = 1,
    .inputs = pass_inputs,
    .extensions = (const char *const[]){".gone", NULL},
    .stands_for = "named.family",
    .missing = "LIBGONE (libgone-dev)",
};

#define NAMED_VARIANT(id_, name_)                                                                  \
    static const CtVariant id_ = {.name = "cpu",                                                   \
                                  .backend = CT_CPU,                                               \
                                  .covers = (const char *const[]){name_, NULL},                    \
                                  .rows = pass_rows,                                               \
                                  .prepare = pass_prepare,                                         \
                                  .work = pass_work}
NAMED_VARIANT(family_cpu, "named.family");
NAMED_VARIANT(second_cpu, "named.second");
NAMED_VARIANT(longer_cpu, "named.longer");
NAMED_VARIANT(twin_cpu, "named.twin");

CT_PLUGIN("named", ((const CtStage *const[]){&family, &second, &longer, &twin, &absent, NULL}),
          ((const CtVariant *const[]){&family_cpu, &second_cpu, &longer_cpu, &twin_cpu, NULL}));
