/* SPDX-License-Identifier: BSD-3-Clause */
/* What others' code does with the same problem; each NULL where it was not built in. */
#pragma once

#include "bench.h"

/* OpenBLAS' cherk over `n_channels` matrices of [integration][2 · n_stations] cf32. */
Contender *peer_cherk_new(guint n_stations, guint n_channels, guint integration, guint n_threads);
/* liquid's firpfbch over one stream of cf32. */
Contender *peer_firpfbch_new(guint n_channels, guint n_taps);
/* numpy_fx.py, on as many threads as numpy and scipy will use of `n_threads`. */
Contender *peer_numpy_new(guint n_threads);
