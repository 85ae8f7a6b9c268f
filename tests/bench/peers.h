/* SPDX-License-Identifier: BSD-3-Clause */
/* Other libraries on the same problems; NULL: not built. */
#pragma once

#include "bench.h"

/* OpenBLAS' cherk on `n_channels` matrices of [integration][2 · n_stations] cf32. */
Contender *peer_cherk_new(guint n_stations, guint n_channels, guint integration, guint n_threads);
/* liquid's firpfbch on one stream of cf32. */
Contender *peer_firpfbch_new(guint n_channels, guint n_taps);
/* numpy_fx.py, on as many of `n_threads` threads as numpy and scipy use. */
Contender *peer_numpy_new(guint n_threads);
