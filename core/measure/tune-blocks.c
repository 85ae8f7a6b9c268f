/* SPDX-License-Identifier: BSD-3-Clause */
/* The search for the length of firings on devices: the whole plan is run with blocks of several
 * sizes in turn. */
#include "dry-run.h"
#include "model/quantity.h"
#include "plan/plan-sizes.h"
#include "tune-private.h"

#include <math.h>

/* The sizes that are tried, around the one aimed at, in powers of two. */
enum { LEAST_POWER = -2, MOST_POWER = 2, N_SIZES = MOST_POWER - LEAST_POWER + 1 };
/* The repetitions, normally and with --quick. */
enum { N_REPETITIONS = 5, N_QUICK = 3 };

/* A size that is this near to the best is as good; the smallest such one is taken, as its latency
 * is the least. */
static const gdouble as_good = 0.01;

/* The length of a run, in repetitions of a trial, and the factor of it after which a run ends. */
static const gdouble run_slices = 4, patience = 20;

typedef struct {
    gsize bytes;
    CtPlan *plan;
    CtDryRun *dry_run; /* NULL: there is no memory for it, it equals a smaller size, or it fails */
    GArray *seconds;   /* gdouble: of the busiest, for a second of stream, of each run */
} Size;

static void
size_clear(Size *size)
{
    ct_dry_run_free(size->dry_run);
    size->dry_run = NULL;
    ct_plan_free(size->plan);
    size->plan = NULL;
    g_clear_pointer(&size->seconds, g_array_unref);
}

/* Whether the size should be searched: something runs on a device, neither options nor a `block`
 * set the size, and the cost database has no recent one. */
static gboolean
is_open(const CtTune *tune, const CtPlan *plan, const CtCeiling *known)
{
    return tune->options->plan->device_bytes == 0 && plan->queues->len > 0 &&
           !ct_plan_asked_block(plan) && !(known && ct_tune_is_fresh(known->time));
}

/* Whether firings in both plans are as long, for example because the stream is short. */
static gboolean
is_as_long(const CtPlan *a, const CtPlan *b)
{
    gboolean same = a->links->len == b->links->len;
    for (guint l = 0; l < a->links->len && same; l++) {
        const CtPlanLink *x = g_ptr_array_index(a->links, l), *y = g_ptr_array_index(b->links, l);
        same = x->max_samples == y->max_samples;
    }
    return same;
}

static gboolean
fits(const CtPlan *plan)
{
    return plan->n_halvings == 0 && !plan->shrunk;
}

/* Reports why blocks of this size are left out; `cause` NULL: without a failure. */
static void
note_failure(const CtTune *tune, const Size *size, const GError *cause)
{
    if (!cause)
        return;
    g_autofree char *bytes = ct_format_bytes(size->bytes);
    g_ptr_array_add(tune->report->failures,
                    g_strdup_printf("blocks of %s: %s", bytes, cause->message));
}

/* `before`: the next smaller one; NULL: there is none. */
static void
size_init(Size *size, const CtTune *tune, gsize bytes, const Size *before)
{
    g_autoptr(GError) cause = NULL;
    CtPlanOptions options = *tune->options->plan;
    options.device_bytes = size->bytes = bytes;
    size->seconds = g_array_new(FALSE, FALSE, sizeof(gdouble));
    size->plan = ct_plan_new(tune->options->graph, tune->options->registry, &options, &cause);
    const gboolean is_new =
        !before || !before->plan || !size->plan || !is_as_long(before->plan, size->plan);
    if (size->plan && fits(size->plan) && is_new)
        size->dry_run = ct_dry_run_new(size->plan, tune->options->registry, &options, &cause);
    note_failure(tune, size, cause);
}

static void
run_size(const CtTune *tune, Size *size, gdouble stream_seconds, gdouble seconds)
{
    g_autoptr(GError) cause = NULL;
    const guint n_nodes = ct_dry_run_plan(size->dry_run)->nodes->len;
    g_autofree gdouble *of_nodes = g_new0(gdouble, n_nodes + 1);
    CtDryRunResult result = {.seconds = of_nodes};
    if (!ct_dry_run_run(size->dry_run, stream_seconds, seconds, &result, &cause) ||
        !fits(ct_dry_run_plan(size->dry_run))) {
        note_failure(tune, size, cause);
        ct_dry_run_free(size->dry_run);
        size->dry_run = NULL;
        g_array_set_size(size->seconds, 0);
        return;
    }
    const gdouble busiest = ct_dry_run_busiest(size->dry_run, &result, TRUE);
    /* A run that was ended before its first firing gives no result. */
    if (busiest > 0)
        g_array_append_val(size->seconds, busiest);
}

/* The smallest that is about as good as the best; NULL: none ran. */
static const Size *
choose(const Size *sizes)
{
    gdouble best = HUGE_VAL;
    for (guint i = 0; i < N_SIZES; i++)
        if (sizes[i].seconds->len > 0)
            best = MIN(best, ct_tune_median(sizes[i].seconds));
    for (guint i = 0; i < N_SIZES; i++)
        if (sizes[i].seconds->len > 0 && ct_tune_median(sizes[i].seconds) <= (1 + as_good) * best)
            return &sizes[i];
    return NULL;
}

static char *
describe(const Size *sizes, const Size *chosen)
{
    g_autoptr(GString) text = g_string_new("blocks on devices of ");
    const char *between = "";
    for (guint i = 0; i < N_SIZES; i++) {
        if (sizes[i].seconds->len == 0)
            continue;
        g_autofree char *bytes = ct_format_bytes(sizes[i].bytes);
        g_string_append_printf(text, "%s%s: %.4g ms", between, bytes,
                               1e3 * ct_tune_median(sizes[i].seconds));
        between = ", ";
    }
    g_autofree char *bytes = ct_format_bytes(chosen->bytes);
    g_string_append_printf(text, "; %s from now on", bytes);
    return g_string_free(g_steal_pointer(&text), FALSE);
}

gboolean
ct_tune_blocks(CtTune *tune, gboolean *is_changed, GError **error)
{
    const CtMachine *machine = &tune->planner.machine;
    const gsize aim = machine->device_bytes;
    Size sizes[N_SIZES] = {0};
    *is_changed = FALSE;
    if (machine->n_devices == 0)
        return TRUE;
    g_autofree char *name = ct_planner_block_name(tune->options->graph);
    g_autoptr(CtPlan) plan =
        ct_plan_new(tune->options->graph, tune->options->registry, tune->options->plan, error);
    if (!plan)
        return FALSE;
    const gdouble whole = ct_tune_whole(plan);
    if (!is_open(tune, plan, ct_estimates_ceiling(tune->planner.estimates, 0, name)) || whole <= 0)
        return TRUE;

    guint n_sizes = 0;
    for (guint i = 0; i < N_SIZES; i++) {
        size_init(&sizes[i], tune, (gsize)ldexp((gdouble)aim, (gint)i + LEAST_POWER),
                  i > 0 ? &sizes[i - 1] : NULL);
        n_sizes += sizes[i].dry_run != NULL;
    }
    const guint n_repetitions = n_sizes < 2 ? 0 : tune->options->is_quick ? N_QUICK : N_REPETITIONS;
    const gdouble seconds = run_slices * tune->slice;
    for (guint k = 0; k < n_repetitions; k++)
        for (guint i = 0; i < N_SIZES && !ct_tune_is_over(tune); i++) {
            if (!sizes[i].dry_run)
                continue;
            g_autofree char *bytes = ct_format_bytes(sizes[i].bytes);
            g_autofree char *what = g_strdup_printf("blocks of %s", bytes);
            ct_tune_tell(tune, what);
            run_size(tune, &sizes[i], seconds / whole, patience * seconds);
        }
    const Size *chosen = ct_tune_is_over(tune) ? NULL : choose(sizes);
    gboolean good = TRUE;
    if (chosen) {
        CtCeiling ceiling = {
            .machine = (char *)ct_machine_name(machine, 0),
            .name = name,
            .value = (gdouble)chosen->bytes,
            .time = g_get_real_time() / G_USEC_PER_SEC,
        };
        good = ct_database_put_ceiling(tune->database, &ceiling, error);
        *is_changed = chosen->bytes != aim;
        tune->report->blocks = describe(sizes, chosen);
    }
    for (guint i = 0; i < N_SIZES; i++)
        size_clear(&sizes[i]);
    return good;
}
