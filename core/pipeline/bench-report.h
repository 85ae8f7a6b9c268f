/* SPDX-License-Identifier: BSD-3-Clause */
/* Forms of the figures of a benchmark. */
#pragma once

#include "measure/bench.h"

/* Each returns an allocated text. `other` may be NULL. */
char *ct_bench_to_text(const CtBench *bench, const CtBench *other);
char *ct_bench_to_svg(const CtBench *bench);
/* (bench-compare.c) Appends which machine is faster at what, and why. */
void ct_bench_append_comparison(GString *text, const CtBench *bench, const CtBench *other);
