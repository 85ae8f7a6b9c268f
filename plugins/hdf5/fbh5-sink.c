/* SPDX-License-Identifier: BSD-3-Clause */
/* fbh5.sink: power over time and frequency to filterbanks in HDF5. */
#include "../sigproc/sigproc-power.h"
#include "hdf5-filterbank.h"
#include "hdf5-header.h"
#include "hdf5.h"

#include <math.h>

static const CtParam params[] = {CT_SINK_PARAMS("the filterbank"), SIGPROC_POWER_PARAMS, {NULL}};

typedef struct {
    SigprocPower power;
    Hdf5Header header;
} Sink;

static gboolean
check(CtNode *node, GError **error)
{
    return sigproc_power_check(node, TRUE, error);
}

static hid_t
fill(hid_t file, const CtSinkFile *sink)
{
    const CtObservationFacts *facts = ct_observation_facts(sink->stream.observation);
    g_auto(SigprocHeader) header = {0};
    sigproc_power_header(sink, &header);
    if (facts->has_direction) {
        const gdouble hours = fmod(facts->direction[0] * 12 / G_PI, 24);
        sigproc_set(&header, SIGPROC_SRC_RAJ, hours < 0 ? hours + 24 : hours);
        sigproc_set(&header, SIGPROC_SRC_DEJ, facts->direction[1] * 180 / G_PI);
    }
    return hdf5_filterbank_write(file, &header);
}

static gboolean
open_file(CtSinkFile *file, GError **error)
{
    Sink *sink = file->self;
    return sigproc_power_open(file, TRUE, error) &&
           hdf5_header_append(&sink->header, file, fill, error);
}

static gboolean
mark(CtSinkFile *file, GError **error)
{
    const Sink *sink = file->self;
    return hdf5_header_mark(&sink->header, file, error);
}

static gboolean
close_file(CtSinkFile *file, GError **error)
{
    const Sink *sink = file->self;
    return hdf5_header_close(&sink->header, file, error);
}

static void
clear(gpointer self)
{
    Sink *sink = self;
    sigproc_power_clear(&sink->power);
    hdf5_header_clear(&sink->header);
}

const CtSink fbh5_sink_files = {
    .name = "filterbanks in HDF5",
    .self_bytes = sizeof(Sink),
    .check = check,
    .open = open_file,
    .write = sigproc_power_write,
    .mark = mark,
    .close = close_file,
    .clear = clear,
};

static gboolean
infer(CtNode *node, GError **error)
{
    return ct_sink_infer(&fbh5_sink_files, node, error);
}

const CtStage fbh5_sink = {
    .name = "fbh5.sink",
    .summary = "power over time and frequency to filterbanks in HDF5, with PATH.json beside them",
    .version = 1,
    .inputs = CT_PORTS({"power", "{time ...}", 0, "real samples"}),
    .params = params,
    .infer = infer,
    .extensions = (const char *const[]){".fbh5", NULL},
    .stands_for = "file.sink",
};
