/* SPDX-License-Identifier: BSD-3-Clause */
/* Filterbanks in HDF5, as blimpy defines them (D. C. Price et al., JOSS 4, 1554 (2019)): the
 * attributes CLASS and VERSION of the file, and a dataset `data` [time][feed][channel] with the
 * keywords of SIGPROC's header as attributes, but src_raj in hours and src_dej in degrees. */
#pragma once

#include "../sigproc/sigproc-header.h"
#include "../sigproc/sigproc-stream.h"
#include "hdf5-objects.h"

/* Whether a file says that it has a filterbank. */
gboolean hdf5_is_filterbank(hid_t file);
/* Reads the keywords of a dataset with these dimensions. `header` must be zero, and is to be
 * cleared in either case. */
gboolean hdf5_filterbank_read(const CtArrayFile *file, hid_t data, const gint64 dims[3],
                              SigprocHeader *header, GError **error);
/* Writes a file with a dataset [0][nifs][nchans] of f32. Below 0: it fails. To be closed. */
hid_t hdf5_filterbank_write(hid_t file, const SigprocHeader *header);
