/* SPDX-License-Identifier: BSD-3-Clause */
/* Forms of the figures of a benchmark. */
#pragma once

#include "measure/bench.h"

/* Each returns an allocated text. `other` may be NULL. */
char *ct_bench_to_text(const CtBench *bench, const CtBench *other);
char *ct_bench_to_svg(const CtBench *bench);
