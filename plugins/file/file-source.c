/* SPDX-License-Identifier: BSD-3-Clause */
/* file.source: a stream from an array in an .npy or raw file, time anywhere among its axes. */
#include "array.h"

static const char *const endings[] = {".json", NULL};

static const CtParam params[] = {
    {.name = "path",
     .kind = CT_PARAM_PATH,
     .flags = CT_PARAM_REQUIRED | CT_PARAM_LIST | CT_PARAM_PIPE,
     .endings = endings,
     .help = "the array, or a pipe; several files, or a pattern (*), are one array along time"},
    {.name = "format",
     .kind = CT_PARAM_CHOICE,
     .choices = file_formats,
     .fallback = "auto",
     .help = "auto: by the ending of the name, .npy or .raw"},
    {.name = "layout",
     .kind = CT_PARAM_LAYOUT,
     .help = "types and axes of the array, slowest first; left out: as PATH.json says"},
    {.name = "shape",
     .kind = CT_PARAM_INT,
     .flags = CT_PARAM_LIST | CT_PARAM_RANGED,
     .minimum = -1,
     .maximum = 1e15,
     .help = "length of each axis of a raw array; -1 for a slowest time: as long as the file"},
    {.name = "offset",
     .kind = CT_PARAM_INT,
     .flags = CT_PARAM_RANGED,
     .minimum = 0,
     .maximum = 1e15,
     .help = "bytes before a raw array; left out: 0"},
    CT_ARRAY_SOURCE_PARAMS,
    {NULL},
};

const CtArraySource file_source_arrays = {
    .files = "path",
    .name = "arrays",
    .open = file_array_open,
    .describe = ct_array_source_describe,
    .streams = TRUE,
};

static gboolean
infer(CtNode *node, GError **error)
{
    return ct_array_source_infer(&file_source_arrays, node, error);
}

const CtStage file_source = {
    .name = "file.source",
    .summary = "a stream from an array in an .npy or raw file",
    .version = 1,
    .outputs = CT_PORTS({"samples", "{...}", 0, "the array, in the file's order"}),
    .params = params,
    .infer = infer,
    .infer_uses_params = TRUE,
    .extensions = file_extensions,
};
