/* SPDX-License-Identifier: BSD-3-Clause */
/* Ceilings, and cases in slices between them. */
#include "bench.h"

#include "bench-run.h"
#include "cost/peak.h"
#include "device-meter.h"
#include "meter.h"
#include "model/isa.h"
#include "model/thread.h"
#include "run/energy.h"
#include "tune-private.h"

#include <math.h>
#include <string.h>

/* The least slices of a case, unless it is slow, and the seconds of the longest one. The ceilings
 * are measured between them. */
enum { N_SLICES = 5 };
static const gdouble longest_slice = 0.2;
/* The slices of a case tell of energy if they take so long together. */
static const gdouble least_energy_seconds = 0.9;
/* A case with slow slices ends after so many times its seconds. */
static const gdouble patience = 5;
/* Measurements of a ceiling by itself. */
enum { N_CEILINGS = 7 };

/* A device, opened at its first use. */
typedef struct {
    CtDevice *device;
    CtDeviceMeter *meter;
} Opened;

typedef struct {
    const CtBenchHow *how;
    CtBench *result;
    guint n_workers;
    CtRegistry *registry;
    const CtDeviceInfo *devices;
    guint n_devices;
    const char *no_device; /* why there is none */
    CtMeter *meter;
    Opened *opened; /* [n_devices] */
    CtEnergyMeter *energy;
    guint n_slices;
    gdouble slice; /* seconds */
    guint n_done, n;
} Bench;

static char *
place_name(gint place)
{
    return place == CT_HOST ? g_strdup("host") : g_strdup_printf("cuda:%d", place);
}

static void
add_ceiling(Bench *bench, gint place, guint workers, const char *name, const char *unit,
            gdouble rate)
{
    CtBenchCeiling *ceiling = g_new0(CtBenchCeiling, 1);
    *ceiling = (CtBenchCeiling){
        .place = place_name(place),
        .name = g_strdup(name),
        .unit = g_strdup(unit),
        .workers = workers,
        .rate = rate,
    };
    g_ptr_array_add(bench->result->ceilings, ceiling);
}

static void
append(GArray *values, gdouble value)
{
    g_array_append_val(values, value);
}

static gboolean
is_over(const Bench *bench)
{
    if (bench->how->is_over && bench->how->is_over(bench->how->user_data))
        bench->result->is_partial = TRUE;
    return bench->result->is_partial;
}

/* Tells what comes next; FALSE: nothing does. */
static gboolean
begin(Bench *bench, const char *what)
{
    if (is_over(bench))
        return FALSE;
    if (bench->how->progress)
        bench->how->progress(what, bench->n_done, bench->n, bench->how->user_data);
    bench->n_done++;
    return TRUE;
}

/* ---- ceilings ---- */

static const char per_operation[] = "operations/s", per_byte[] = "bytes/s";

/* If it is over meanwhile, what is not measured in full is left out. */
static gboolean
measure_host(Bench *bench, guint workers, GError **error)
{
    const char *const copies[] = {"copies in L2", "copies in memory"};
    g_autoptr(GArray) cached = g_array_new(FALSE, FALSE, sizeof(gdouble));
    g_autoptr(GArray) large = g_array_new(FALSE, FALSE, sizeof(gdouble));
    GArray *const rates[] = {cached, large};
    for (CtIsa isa = 0; isa < CT_N_ISAS; isa++) {
        if (!ct_peak_is_known(isa))
            continue;
        g_autoptr(GArray) fma = g_array_new(FALSE, FALSE, sizeof(gdouble));
        for (guint i = 0; i < N_CEILINGS; i++) {
            CtCeilings ceilings;
            if (is_over(bench))
                return TRUE;
            if (!ct_meter_measure(bench->meter, workers, isa, &ceilings, error))
                return FALSE;
            append(fma, ceilings.fma);
            append(rates[0], ceilings.l2);
            append(rates[1], ceilings.dram);
        }
        g_autofree char *name = g_strdup_printf("multiply-adds %s", ct_isa_name(isa));
        add_ceiling(bench, CT_HOST, workers, name, per_operation, ct_tune_median(fma));
    }
    for (guint i = 0; i < G_N_ELEMENTS(rates); i++)
        add_ceiling(bench, CT_HOST, workers, copies[i], per_byte, ct_tune_median(rates[i]));
    return TRUE;
}

static CtDeviceMeter *
device_meter(Bench *bench, guint d, GError **error)
{
    Opened *opened = &bench->opened[d];
    if (!opened->device)
        opened->device = ct_device_open(d, error);
    if (opened->device && !opened->meter)
        opened->meter = ct_device_meter_new(opened->device, error);
    return opened->meter;
}

static gboolean
measure_device(Bench *bench, guint device, GError **error)
{
    CtDeviceCeilings found;
    CtDeviceMeter *meter = device_meter(bench, device, error);
    if (!meter || !ct_device_meter_measure(meter, TRUE, &found, error))
        return FALSE;
    const struct {
        const char *name, *unit;
        gdouble rate;
    } ceilings[] = {
        {"multiply-adds", per_operation, found.fma},
        {"copies in memory", per_byte, found.copy},
        {"transfers from the host", per_byte, found.to},
        {"transfers to the host", per_byte, found.from},
        {"transfers from the host, both ways at once", per_byte, found.both[0]},
        {"transfers to the host, both ways at once", per_byte, found.both[1]},
    };
    for (guint i = 0; i < G_N_ELEMENTS(ceilings); i++)
        add_ceiling(bench, (gint)device, 0, ceilings[i].name, ceilings[i].unit, ceilings[i].rate);
    return TRUE;
}

static gboolean
measure_ceilings(Bench *bench, GError **error)
{
    for (guint all = 0; all < (bench->n_workers > 1 ? 2 : 1); all++) {
        if (!begin(bench, "ceilings of the host"))
            return TRUE;
        if (!measure_host(bench, all ? bench->n_workers : 1, error))
            return FALSE;
    }
    for (guint d = 0; d < bench->n_devices; d++) {
        g_autofree char *what = g_strdup_printf("ceilings of cuda:%u", d);
        if (!begin(bench, what))
            return TRUE;
        if (!measure_device(bench, d, error))
            return FALSE;
    }
    return TRUE;
}

/* ---- cases ---- */

/* The ceilings of a place at a moment. */
typedef struct {
    gdouble fma, copy;
    gdouble both[2]; /* transfers to and from a device, at once; NaN: they do not matter */
} Beside;

static gboolean
measure_beside(Bench *bench, gint place, gboolean transfers, Beside *beside, GError **error)
{
    *beside = (Beside){.both = {NAN, NAN}};
    if (place == CT_HOST) {
        CtCeilings ceilings;
        if (!ct_meter_measure(bench->meter, bench->n_workers, ct_meter_isa(), &ceilings, error))
            return FALSE;
        beside->fma = ceilings.fma;
        beside->copy = ceilings.dram;
        return TRUE;
    }
    CtDeviceCeilings ceilings;
    CtDeviceMeter *meter = device_meter(bench, (guint)place, error);
    if (!meter || !ct_device_meter_measure(meter, transfers, &ceilings, error))
        return FALSE;
    beside->fma = ceilings.fma;
    beside->copy = ceilings.copy;
    for (guint way = 0; way < 2 && transfers; way++)
        beside->both[way] = ceilings.both[way];
    return TRUE;
}

/* The joules that a place has used so far; NaN: they are not known. */
static gdouble
joules_so_far(Bench *bench, gint place)
{
    CtEnergy energy;
    if (place == CT_HOST)
        ct_energy_of_processor(bench->energy, &energy);
    else
        ct_energy_of_device(bench->energy, (guint)place, &energy);
    if (energy.missing && !bench->result->energy)
        bench->result->energy = g_strdup(energy.missing);
    return energy.missing ? NAN : energy.joules;
}

enum {
    SAMPLES,
    TIMES,
    OPERATIONS,
    BYTES,
    FMA,
    COPY,
    TRANSFER,
    OF_FMA,
    OF_COPY,
    OF_TRANSFER,
    WAITED,
    N_SERIES
};

/* Sums over all slices of a case. */
typedef struct {
    gdouble seconds, joules, operations;
    gdouble stretch; /* samples in time */
} Used;

static gboolean
measure_slice(Bench *bench, CtBenchRun *run, gint place, gboolean transfers,
              gdouble values[N_SERIES], Used *used, GError **error)
{
    Beside before, after;
    CtBenchRates rates;
    if (!measure_beside(bench, place, transfers, &before, error))
        return FALSE;
    const gdouble joules = joules_so_far(bench, place);
    const gint64 from = g_get_monotonic_time();
    if (!ct_bench_run_slice(run, bench->slice, &rates, error))
        return FALSE;
    const gdouble seconds = (gdouble)(g_get_monotonic_time() - from) * 1e-6;
    used->seconds += seconds;
    used->joules += joules_so_far(bench, place) - joules;
    used->operations += rates.operations * seconds;
    used->stretch += rates.stretch;
    if (!measure_beside(bench, place, transfers, &after, error))
        return FALSE;
    const gdouble to = (before.both[0] + after.both[0]) / 2;
    const gdouble from_device = (before.both[1] + after.both[1]) / 2;
    const gdouble taken = rates.bytes - rates.given;
    const gboolean is_up = rates.given / to >= taken / from_device;
    values[SAMPLES] = rates.samples;
    values[TIMES] = rates.times;
    values[OPERATIONS] = rates.operations;
    values[BYTES] = rates.bytes;
    values[FMA] = (before.fma + after.fma) / 2;
    values[COPY] = (before.copy + after.copy) / 2;
    values[TRANSFER] = is_up ? to : from_device;
    values[OF_FMA] = rates.operations / values[FMA];
    values[OF_COPY] = rates.bytes / values[COPY];
    values[OF_TRANSFER] = (is_up ? rates.given : taken) / values[TRANSFER];
    values[WAITED] = rates.waited;
    return TRUE;
}

/* The joules for an operation; NaN: not known. */
static gdouble
joules_of(Bench *bench, const Used *used)
{
    if (isnan(used->joules) || !(used->operations > 0))
        return NAN;
    if (used->seconds >= least_energy_seconds)
        return used->joules / used->operations;
    if (!bench->result->energy)
        bench->result->energy = g_strdup("counters move a few times a second; --seconds 1 and more "
                                         "measures long enough");
    return NAN;
}

static gboolean
measure_slices(Bench *bench, const CtBenchCase *one, gint place, CtBenchRow *row, GError **error)
{
    g_autoptr(CtBenchRun) run = ct_bench_run_new(
        one, place, bench->n_workers, patience * bench->how->seconds, bench->registry, error);
    gdouble values[N_SERIES];
    /* The first slice finds its length. */
    CtBenchRates first;
    if (run)
        ct_bench_run_ask(run, bench->how->is_over, bench->how->user_data);
    if (!run || !ct_bench_run_slice(run, bench->slice, &first, error))
        return FALSE;
    GArray *series[N_SERIES];
    Used used = {0};
    for (guint i = 0; i < N_SERIES; i++)
        series[i] = g_array_new(FALSE, FALSE, sizeof(gdouble));
    gboolean good = TRUE;
    const gint64 from = g_get_monotonic_time();
    const gint64 most = (gint64)(patience * bench->how->seconds * 1e6);
    for (guint k = 0; k < bench->n_slices && good; k++) {
        if (k > 0 && (is_over(bench) || g_get_monotonic_time() - from > most))
            break;
        good = measure_slice(bench, run, place, one->from_host, values, &used, error);
        for (guint i = 0; i < N_SERIES && good; i++)
            append(series[i], values[i]);
    }
    gdouble times;
    gdouble *const to[N_SERIES] = {
        [SAMPLES] = &row->samples,
        [TIMES] = &times,
        [OPERATIONS] = &row->operations,
        [BYTES] = &row->bytes,
        [FMA] = &row->fma,
        [COPY] = &row->copy,
        [TRANSFER] = &row->transfer,
        [OF_FMA] = &row->of_fma,
        [OF_COPY] = &row->of_copy,
        [OF_TRANSFER] = &row->of_transfer,
        [WAITED] = &row->waited,
    };
    for (guint i = 0; i < N_SERIES; i++) {
        if (good)
            *to[i] = ct_tune_median(series[i]);
        g_array_unref(series[i]);
    }
    if (good) {
        row->joules = joules_of(bench, &used);
        ct_bench_run_setup(run, &row->planning, &row->allocation);
        row->variants = ct_bench_run_variants(run);
    }
    if (good && one->whole > 0) {
        row->whole = (gdouble)one->whole;
        row->stretch = used.stretch;
        row->run = row->whole / times;
    }
    return good;
}

/* The row before, if it does the same in another way: their names differ after the last comma. */
static const CtBenchRow *
find_beside(const Bench *bench, const CtBenchRow *row)
{
    const GPtrArray *rows = bench->result->rows;
    for (guint i = rows->len; i-- > 0;) {
        const CtBenchRow *before = rows->pdata[i];
        if (!g_str_equal(before->place, row->place))
            continue;
        const gsize length = (gsize)(strrchr(row->name, ',') - row->name);
        return strncmp(before->name, row->name, length + 1) == 0 && isfinite(before->samples)
                   ? before
                   : NULL;
    }
    return NULL;
}

static CtBenchRow *
new_row(const Bench *bench, const CtBenchCase *one, gint place)
{
    const CtBenchFigure *figure = place == CT_HOST ? &one->published_host : &one->published_device;
    CtBenchRow *row = ct_bench_row_new();
    row->group = g_strdup(one->group);
    row->family = g_strdup(one->family);
    row->name = g_strdup(one->name);
    row->place = place_name(place);
    row->workers = place == CT_HOST ? bench->n_workers : 0;
    row->published = g_strdup(figure->figure);
    row->source = g_strdup(figure->source);
    return row;
}

static void
measure_case(Bench *bench, const CtBenchCase *one, gint place)
{
    g_autoptr(GError) error = NULL;
    CtBenchRow *row = new_row(bench, one, place);
    if (!measure_slices(bench, one, place, row, &error)) {
        if (g_error_matches(error, CT_ERROR, CT_ERROR_CANCELLED)) {
            bench->result->is_partial = TRUE;
            ct_bench_row_free(row);
            return;
        }
        row->skipped = g_strdup(error->message);
    } else if (one->n_stations > 0) {
        row->of_station = row->samples / one->n_stations / 2;
    }
    const CtBenchRow *beside = one->beside ? find_beside(bench, row) : NULL;
    if (beside) {
        row->beside = g_strdup(beside->name);
        row->gain = row->samples / beside->samples;
    }
    g_ptr_array_add(bench->result->rows, row);
}

/* A published case of a device that this machine does not have. */
static void
skip_case(Bench *bench, const CtBenchCase *one)
{
    CtBenchRow *row = new_row(bench, one, 0);
    row->skipped = g_strdup_printf("no device: %s", bench->no_device);
    g_ptr_array_add(bench->result->rows, row);
}

/* ---- all ---- */

static gboolean
is_chosen(const CtBenchHow *how, const CtBenchCase *one)
{
    return ct_bench_is_named(how->names, one->name) &&
           (g_str_equal(how->group, one->group) ||
            (g_str_equal(how->group, "all") && !g_str_equal(one->group, "published")));
}

static gboolean
runs_at(const CtBenchCase *one, gint place)
{
    return place == CT_HOST ? !one->on_device_only : !one->on_host_only;
}

/* The group of a case with a name; NULL: there is none. */
static const char *
find_group(const GPtrArray *cases, const char *const *name)
{
    for (guint i = 0; i < cases->len; i++) {
        const CtBenchCase *one = cases->pdata[i];
        if (ct_bench_is_named(name, one->name))
            return one->group;
    }
    return NULL;
}

/* Each name must choose a case of the group. */
static gboolean
check_names(const CtBenchHow *how, const GPtrArray *cases, GError **error)
{
    for (guint i = 0; how->names && how->names[i]; i++) {
        const char *const one[] = {how->names[i], NULL};
        CtBenchHow alone = *how;
        alone.names = one;
        gboolean any = FALSE;
        for (guint k = 0; k < cases->len; k++)
            any |= is_chosen(&alone, cases->pdata[k]);
        if (any)
            continue;
        const char *group = find_group(cases, one);
        g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER,
                    "no case of '%s' has '%s' in its name%s%s%s", how->group, how->names[i],
                    group ? ", but one of '" : "", group ? group : "", group ? "' has" : "");
        return FALSE;
    }
    return TRUE;
}

static gboolean
check_group(const CtBenchHow *how, GError **error)
{
    static const char *const groups[] = {"ceilings",  "stages", "pipelines",
                                         "published", "all",    NULL};
    if (g_strv_contains(groups, how->group))
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER,
                "wants a group, one of ceilings, stages, pipelines, published and all, but is "
                "given '%s'",
                how->group);
    return FALSE;
}

static void
bench_clear(Bench *bench)
{
    ct_meter_free(bench->meter);
    if (bench->energy)
        ct_energy_end(bench->energy);
    ct_energy_free(bench->energy);
    for (guint d = 0; bench->opened && d < bench->n_devices; d++) {
        ct_device_meter_free(bench->opened[d].meter);
        ct_device_close(bench->opened[d].device);
    }
    g_free(bench->opened);
    ct_registry_free(bench->registry);
    ct_bench_free(bench->result);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Bench, bench_clear)

static void
describe_machine(Bench *bench)
{
    CtMachine machine;
    ct_machine_init(&machine, bench->n_workers);
    ct_machine_find_devices(&machine);
    bench->devices = machine.devices;
    bench->n_devices = machine.n_devices;
    bench->no_device = machine.no_device;
    bench->result = ct_bench_new();
    bench->result->version = g_strdup(CT_VERSION);
    bench->result->machine = g_strdup(machine.name);
    bench->result->workers = bench->n_workers;
    for (guint d = 0; d < bench->n_devices; d++)
        g_ptr_array_add(bench->result->devices, g_strdup(ct_machine_name(&machine, (gint)d)));
}

CtBench *
ct_bench_measure(const CtBenchHow *how, GError **error)
{
    g_auto(Bench) bench = {.how = how, .n_workers = how->n_workers};
    g_autoptr(GPtrArray) devices G_GNUC_UNUSED = ct_devices_keep_open();
    g_autoptr(GPtrArray) cases = ct_bench_cases_new();
    if (!check_group(how, error) || !check_names(how, cases, error))
        return NULL;
    bench.registry = ct_registry_new(error);
    if (!bench.registry)
        return NULL;
    describe_machine(&bench);
    bench.n_slices = (guint)MAX(N_SLICES, how->seconds / longest_slice);
    bench.slice = how->seconds / bench.n_slices;
    bench.meter = ct_meter_new(bench.n_workers);
    bench.opened = g_new0(Opened, bench.n_devices + 1);
    g_autofree gboolean *uses = g_new0(gboolean, bench.n_devices + 1);
    for (guint d = 0; d < bench.n_devices; d++)
        uses[d] = TRUE;
    bench.energy = ct_energy_begin(uses, bench.n_devices);

    const gboolean has_ceilings =
        (!how->names || !how->names[0]) &&
        (g_str_equal(how->group, "all") || g_str_equal(how->group, "ceilings"));
    /* Devices of one kind are alike: the first one runs the cases. */
    const gint last = bench.n_devices > 0 ? 0 : CT_HOST;
    if (has_ceilings)
        bench.n += MIN(bench.n_workers, 2) + bench.n_devices;
    for (guint i = 0; i < cases->len; i++)
        for (gint place = CT_HOST; place <= last; place++)
            bench.n += is_chosen(how, cases->pdata[i]) && runs_at(cases->pdata[i], place);
    if (has_ceilings && !measure_ceilings(&bench, error))
        return NULL;
    for (guint i = 0; i < cases->len; i++) {
        const CtBenchCase *one = cases->pdata[i];
        for (gint place = CT_HOST; place <= last && is_chosen(how, one); place++)
            if (runs_at(one, place) && begin(&bench, one->name))
                measure_case(&bench, one, place);
        if (last == CT_HOST && is_chosen(how, one) && runs_at(one, 0) &&
            !bench.result->is_partial && g_str_equal(one->group, "published"))
            skip_case(&bench, one);
    }
    return g_steal_pointer(&bench.result);
}
