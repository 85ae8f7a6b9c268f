/* SPDX-License-Identifier: BSD-3-Clause */
/* The stages and pipelines of `cornerturn bench` as contenders: every slice continues a dry run. */
#include "bench.h"
#include "cost/cost.h"
#include "measure/bench-run.h"

typedef struct {
    Contender base;
    CtBenchCase *one;
    CtRegistry *registry; /* borrowed */
    CtBenchRun *run;      /* NULL: not planned yet */
} Case;

/* The seconds of a slice. */
static const gdouble slice_seconds = 0.06;

static gboolean
run_slice(Contender *contender, Rates *rates, GError **error)
{
    Case *self = (Case *)contender;
    CtBenchRates own;
    if (!self->run)
        self->run =
            ct_bench_run_new(self->one, CT_HOST, contender->n_threads, 0, self->registry, error);
    if (!self->run || !ct_bench_run_slice(self->run, slice_seconds, &own, error))
        return FALSE;
    *rates = (Rates){
        .samples = own.samples,
        .bytes = own.bytes,
        .operations = own.operations,
        .processors = own.processors,
    };
    if (!contender->remark)
        contender->remark = ct_bench_run_variants(self->run);
    return TRUE;
}

static void
clear(Contender *contender)
{
    ct_bench_run_free(((Case *)contender)->run);
}

static void
add(GPtrArray *contenders, const char *group, CtBenchCase *one, guint n_workers,
    CtRegistry *registry)
{
    Case *self = g_new0(Case, 1);
    contender_init(&self->base, group, one->name, n_workers);
    self->base.run = run_slice;
    self->base.clear = clear;
    self->one = one;
    self->registry = registry;
    g_ptr_array_add(contenders, self);
}

void
cases_add(GPtrArray *contenders, const GPtrArray *cases, CtRegistry *registry)
{
    for (guint i = 0; i < cases->len; i++) {
        CtBenchCase *one = cases->pdata[i];
        const gboolean is_stage = g_str_equal(one->group, "stages");
        const guint most_workers = is_stage ? 1 : g_str_equal(one->group, "pipelines") ? 2 : 0;
        for (guint n_workers = 1; n_workers <= most_workers; n_workers++)
            add(contenders, is_stage ? "stage" : "pipeline", one, n_workers, registry);
    }
}
