/* SPDX-License-Identifier: BSD-3-Clause */
/* sigproc.sink: power over time and frequency to SIGPROC files. */
#include "sigproc-power.h"
#include "sigproc.h"

static const CtParam params[] = {
    CT_SINK_PARAMS("the filterbank"),
    {.name = "bits",
     .kind = CT_PARAM_INT,
     .flags = CT_PARAM_RANGED,
     .minimum = 1,
     .maximum = 32,
     .help = "of a sample: 1, 2, 4, 8, 16 (levels from 0 on) or 32 (float); left out: 8 for u8 and "
             "i8, else 32"},
    {.name = "offset",
     .kind = CT_PARAM_REAL,
     .fallback = "0",
     .help = "added before samples become levels: 128 for i8 makes unsigned ones"},
    SIGPROC_POWER_PARAMS,
    {NULL},
};

static const char *const counters[] = {[SIGPROC_CLIPPED] = "clipped", NULL};

static gboolean
check(CtNode *node, GError **error)
{
    return sigproc_power_check(node, FALSE, error);
}

static gboolean
open_file(CtSinkFile *file, GError **error)
{
    g_auto(SigprocHeader) header = {0};
    if (!sigproc_power_open(file, FALSE, error))
        return FALSE;
    sigproc_power_header(file, &header);
    g_autoptr(GBytes) bytes = sigproc_header_format(&header);
    gsize n;
    const guint8 *data = g_bytes_get_data(bytes, &n);
    return ct_sink_append(file, data, (gint64)n, error);
}

const CtSink sigproc_sink_files = {
    .name = "SIGPROC files",
    .self_bytes = sizeof(SigprocPower),
    .streams = TRUE,
    .check = check,
    .open = open_file,
    .write = sigproc_power_write,
    .clear = sigproc_power_clear,
};

static gboolean
infer(CtNode *node, GError **error)
{
    return ct_sink_infer(&sigproc_sink_files, node, error);
}

const CtStage sigproc_sink = {
    .name = "sigproc.sink",
    .summary = "power over time and frequency to SIGPROC files, with PATH.json beside them",
    .version = 1,
    .inputs = CT_PORTS({"power", "{time ...}", 0, "real samples"}),
    .params = params,
    .counters = counters,
    .infer = infer,
    .extensions = sigproc_extensions,
    .stands_for = "file.sink",
};
