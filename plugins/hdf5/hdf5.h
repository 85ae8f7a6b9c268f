/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the plugin share. */
#pragma once

#include <cornerturn/kit/sink.h>

extern const char *const hdf5_extensions[];
extern const CtStage hdf5_sink;
extern const CtSink hdf5_sink_files;

/* The dataset with the samples. */
#define HDF5_DATA "data"
