/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the plugin share. */
#pragma once

#include <cornerturn/kit/array-source.h>
#include <cornerturn/kit/sink.h>

extern const CtStage hdf5_source, hdf5_sink, fbh5_sink;
extern const CtArraySource hdf5_source_files;
extern const CtSink hdf5_sink_files, fbh5_sink_files;

/* The dataset with the samples. */
#define HDF5_DATA "data"
