/* SPDX-License-Identifier: BSD-3-Clause */
/* The correlator's rate over the tunables of its variant: over each tunable alone, over
 * combinations of those that matter, and of the best beside the default.
 *
 * Operations are the useful ones that the stage declares: each pair counts once. */
#include "choices.h"
#include "graph/tuning.h"
#include "measure/device-meter.h"
#include "measure/meter.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A tunable matters if the rates of its values differ by this factor. */
#define MATTERS 1.03
/* A tuning is no longer measured if it is slower than the best by this factor. */
#define HOPELESS 1.25
/* The most combinations that are tried, for the main number of stations and for others. */
#define MANY 64
#define FEW  24
#define BEST 3 /* number of tunings in the last rounds */

typedef struct {
    const Choices *choices;
    const char *type;
    guint n_stations;
    GPtrArray *cells;    /* of NodeTrial; the first with all defaults */
    CtMeter *host_meter; /* NULL: on a device */
    gdouble device_peak; /* operations per second; 0: not measured */
} Cells;

/* ---- tunings ---- */

static NodeTrial *
cell_new(const Cells *cells, GError **error)
{
    const gboolean on_device = cells->choices->device != NULL;
    const gboolean brief = cells->choices->brief;
    const guint n_channels = brief ? 2 : on_device ? 256 : MAX(1, 1024 / cells->n_stations);
    g_autofree char *stages = g_strdup_printf(
        "  source: { stage: input, backend: %s, layout: \"%s[channel time station pol]\", "
        "shape: [%u, -1, %u, 2] }\n"
        "  stage: { stage: correlate, from: source, integration: %u }\n"
        "  sink: { stage: discard, from: stage }\n"
        "  counts: { stage: discard, from: stage.weights }\n",
        cells->choices->backend, cells->type, n_channels, cells->n_stations, brief ? 32 : 1024);
    return node_trial_new(cells->choices, "correlate", stages, "stage", error);
}

static const CtVariant *
variant_of(const Cells *cells)
{
    return ((const NodeTrial *)cells->cells->pdata[0])->what.variant;
}

static NodeTrial *
find_cell(const Cells *cells, const gint64 *tuning)
{
    for (guint i = 0; i < cells->cells->len; i++) {
        NodeTrial *cell = cells->cells->pdata[i];
        if (ct_tuning_equal(variant_of(cells), cell->tuning, tuning))
            return cell;
    }
    return NULL;
}

/* Adds a tuning, unless it is there or has the same effect as another. */
static gboolean
add_cell(Cells *cells, const gint64 *tuning, GError **error)
{
    const NodeTrial *usual = cells->cells->pdata[0];
    const CtVariant *variant = variant_of(cells);
    if (find_cell(cells, tuning) ||
        (variant->differs && !variant->differs(usual->what.nodes, tuning)))
        return TRUE;
    NodeTrial *cell = cell_new(cells, error);
    if (!cell)
        return FALSE;
    memcpy(cell->tuning, tuning, sizeof cell->tuning);
    g_free(cell->name);
    cell->name = ct_tuning_to_string(variant_of(cells), tuning, FALSE);
    g_ptr_array_add(cells->cells, cell);
    return TRUE;
}

static gdouble
rate_of(const NodeTrial *cell)
{
    return cell->load.operations / choices_median(cell->seconds);
}

/* The share of the peak at the same moment; NaN if the peak or the tuning was not measured. */
static gdouble
share_of(const NodeTrial *cell)
{
    return cell->load.operations * choices_share(cell->seconds, cell->beside);
}

static gdouble
best_rate(const GPtrArray *cells)
{
    gdouble best = 0;
    for (guint i = 0; i < cells->len; i++)
        best = fmax(best, rate_of(cells->pdata[i]));
    return best;
}

static void
measure_cell(const Cells *cells, NodeTrial *cell)
{
    gdouble seconds;
    CtCeilings ceilings = {.fma = cells->device_peak};
    if (cells->host_meter)
        ct_meter_measure(cells->host_meter, 1, ct_meter_isa(), &ceilings, NULL);
    if (node_trial_measure(cell, cells->choices, &seconds) && ceilings.fma > 0)
        g_array_append_val(cell->beside, ceilings.fma);
}

/* Measures in turn, leaving out those that cannot win. */
static void
measure_rounds(const Cells *cells, const GPtrArray *all, guint n_rounds)
{
    for (guint round = 0; round < n_rounds; round++) {
        const gdouble best = best_rate(all);
        for (guint i = 0; i < all->len; i++) {
            NodeTrial *cell = all->pdata[i];
            if (i > 0 && cell->seconds->len > 0 && rate_of(cell) < best / HOPELESS)
                node_trial_rest(cell);
            else
                measure_cell(cells, cell);
        }
    }
}

static void
print_cell(const Cells *cells, const NodeTrial *cell)
{
    const NodeTrial *usual = cells->cells->pdata[0];
    printf("  %-44s ", cell->name);
    if (cell->failure) {
        printf("not run: %s\n", cell->failure);
        return;
    }
    printf("%9.1f Gop/s", rate_of(cell) * 1e-9);
    if (cell->beside->len > 0)
        printf(" %5.2f of FMA", share_of(cell));
    printf(" %6.2f of the default%s\n", rate_of(cell) / rate_of(usual),
           cell == usual ? "  (default)" : "");
}

/* ---- the tables ---- */

/* The default with value `v` of tunable `t`. */
static void
set_alone(const Cells *cells, guint t, guint v, gint64 tuning[CT_MAX_TUNABLES])
{
    const NodeTrial *usual = cells->cells->pdata[0];
    memcpy(tuning, usual->tuning, sizeof usual->tuning);
    tuning[t] = variant_of(cells)->tunables[t].values[v];
}

/* The tuning with value `v` of tunable `t` alone; NULL: it was not worth a trial. */
static NodeTrial *
find_alone(const Cells *cells, guint t, guint v)
{
    gint64 tuning[CT_MAX_TUNABLES];
    set_alone(cells, t, v, tuning);
    return find_cell(cells, tuning);
}

/* Measures each tunable alone; *spreads gets the factor between its values' rates. */
static gboolean
measure_alone(Cells *cells, gdouble spreads[CT_MAX_TUNABLES], GError **error)
{
    const CtVariant *variant = variant_of(cells);
    for (guint t = 0; t < ct_tuning_count(variant); t++)
        for (guint v = 0; v < variant->tunables[t].n_values; v++) {
            gint64 tuning[CT_MAX_TUNABLES];
            set_alone(cells, t, v, tuning);
            if ((v < 2 || !cells->choices->brief) && !add_cell(cells, tuning, error))
                return FALSE;
        }
    measure_rounds(cells, cells->cells, cells->choices->n_rounds);
    for (guint t = 0; t < ct_tuning_count(variant); t++) {
        gdouble least = INFINITY, most = 0;
        printf(" %s: %s\n", variant->tunables[t].name, variant->tunables[t].help);
        for (guint v = 0; v < variant->tunables[t].n_values; v++) {
            const NodeTrial *cell = find_alone(cells, t, v);
            if (!cell)
                continue;
            print_cell(cells, cell);
            least = fmin(least, rate_of(cell));
            most = fmax(most, rate_of(cell));
        }
        spreads[t] = most > 0 ? most / least : 1;
    }
    fflush(stdout);
    return TRUE;
}

/* The values of tunables that are combined. */
typedef struct {
    guint n_tunables, n_all;
    guint tunables[CT_MAX_TUNABLES];
    GArray *values[CT_MAX_TUNABLES]; /* of guint: indices of the tunable's values */
} Product;

/* The best `most` values of tunable `t` among those measured alone, the best first. */
static GArray *
best_values(const Cells *cells, guint t, guint most)
{
    GArray *values = g_array_new(FALSE, FALSE, sizeof(guint));
    for (guint v = 0; v < variant_of(cells)->tunables[t].n_values; v++) {
        const NodeTrial *cell = find_alone(cells, t, v);
        guint at = 0;
        if (!cell || cell->failure)
            continue;
        while (at < values->len &&
               rate_of(find_alone(cells, t, g_array_index(values, guint, at))) >= rate_of(cell))
            at++;
        g_array_insert_val(values, at, v);
    }
    g_array_set_size(values, MIN(values->len, most));
    return values;
}

/* Chooses as many values as there is room for, of the tunables that matter, those with the largest
 * spreads first. */
static void
product_init(Product *product, const Cells *cells, const gdouble *spreads, guint most)
{
    const guint n_tunables = ct_tuning_count(variant_of(cells));
    gboolean taken[CT_MAX_TUNABLES] = {FALSE};
    *product = (Product){.n_all = 1};
    for (guint k = 0; k < n_tunables; k++) {
        gint widest = -1;
        for (guint t = 0; t < n_tunables; t++)
            if (!taken[t] && (widest < 0 || spreads[t] > spreads[widest]))
                widest = (gint)t;
        taken[widest] = TRUE;
        if (spreads[widest] < MATTERS || most / product->n_all < 2)
            continue;
        GArray *values = best_values(cells, (guint)widest, most / product->n_all);
        product->n_all *= values->len;
        product->tunables[product->n_tunables] = (guint)widest;
        product->values[product->n_tunables++] = values;
    }
}

static void
product_clear(Product *product)
{
    for (guint c = 0; c < product->n_tunables; c++)
        g_array_unref(product->values[c]);
}

/* Adds the combinations to `all`. */
static gboolean
add_product(Cells *cells, const Product *product, GPtrArray *all, GError **error)
{
    const CtVariant *variant = variant_of(cells);
    const NodeTrial *usual = cells->cells->pdata[0];
    for (guint k = 0; k < product->n_all; k++) {
        gint64 tuning[CT_MAX_TUNABLES];
        guint left = k;
        memcpy(tuning, usual->tuning, sizeof tuning);
        for (guint c = product->n_tunables; c-- > 0;) {
            const GArray *values = product->values[c];
            const guint v = g_array_index(values, guint, left % values->len);
            const guint t = product->tunables[c];
            tuning[t] = variant->tunables[t].values[v];
            left /= values->len;
        }
        if (!add_cell(cells, tuning, error))
            return FALSE;
        NodeTrial *cell = find_cell(cells, tuning);
        if (cell)
            g_ptr_array_add(all, cell);
    }
    return TRUE;
}

static gboolean
measure_together(Cells *cells, const gdouble *spreads, guint most, GError **error)
{
    Product product;
    g_autoptr(GPtrArray) all = g_ptr_array_new();
    product_init(&product, cells, spreads, most);
    const gboolean good = add_product(cells, &product, all, error);
    if (good)
        measure_rounds(cells, all, cells->choices->n_rounds);
    printf(" together:");
    for (guint c = 0; c < product.n_tunables; c++)
        printf(" %s", variant_of(cells)->tunables[product.tunables[c]].name);
    printf("%s\n", product.n_tunables ? "" : " nothing matters by itself");
    for (guint i = 0; i < all->len && product.n_tunables > 0; i++)
        print_cell(cells, all->pdata[i]);
    fflush(stdout);
    product_clear(&product);
    return good;
}

static gint
compare_rates(gconstpointer a, gconstpointer b)
{
    const gdouble x = rate_of(*(NodeTrial *const *)a), y = rate_of(*(NodeTrial *const *)b);
    return isnan(x) ? !isnan(y) : isnan(y) ? -1 : (x < y) - (x > y);
}

/* Measures the best few and the default once more in turn, so that a lucky first round does not
 * decide. */
static void
measure_best(const Cells *cells, GString *summary)
{
    NodeTrial *usual = cells->cells->pdata[0], *best = usual;
    g_autoptr(GPtrArray) ranked = g_ptr_array_new(), last = g_ptr_array_new();
    for (guint i = 0; i < cells->cells->len; i++)
        g_ptr_array_add(ranked, cells->cells->pdata[i]);
    g_ptr_array_sort(ranked, compare_rates);
    g_ptr_array_add(last, usual);
    for (guint i = 0; i < ranked->len; i++)
        if (i >= BEST)
            node_trial_rest(ranked->pdata[i]);
        else if (ranked->pdata[i] != usual)
            g_ptr_array_add(last, ranked->pdata[i]);
    for (guint i = 0; i < last->len; i++) {
        NodeTrial *cell = last->pdata[i];
        g_array_set_size(cell->seconds, 0);
        g_array_set_size(cell->beside, 0);
    }
    measure_rounds(cells, last, 2 * cells->choices->n_rounds + 1);
    for (guint i = 0; i < last->len; i++)
        if (rate_of(last->pdata[i]) > rate_of(best))
            best = last->pdata[i];
    g_string_append_printf(summary, "%-5s %8u %14.1f %14.1f", cells->type, cells->n_stations,
                           rate_of(usual) * 1e-9, rate_of(best) * 1e-9);
    if (best->beside->len > 0)
        g_string_append_printf(summary, " %8.2f %8.2f", share_of(usual), share_of(best));
    else
        g_string_append_printf(summary, " %8s %8s", "", "");
    g_autofree char *name = ct_tuning_name(variant_of(cells), best->tuning);
    g_string_append_printf(summary, " %6.3f  %s\n", rate_of(best) / rate_of(usual), name);
}

static gboolean
measure_stations(Cells *cells, guint most, GString *summary, GError **error)
{
    gdouble spreads[CT_MAX_TUNABLES] = {0};
    cells->cells = g_ptr_array_new_with_free_func((GDestroyNotify)node_trial_free);
    NodeTrial *usual = cell_new(cells, error);
    gboolean good = usual != NULL;
    if (usual) {
        g_ptr_array_add(cells->cells, usual);
        ct_tuning_defaults(usual->what.variant, usual->tuning);
        g_free(usual->name);
        usual->name = ct_tuning_to_string(usual->what.variant, usual->tuning, FALSE);
        printf("%s %u stations, %s, %s\n", cells->type, cells->n_stations,
               usual->what.variant->name, usual->what.row->layouts);
        good =
            measure_alone(cells, spreads, error) && measure_together(cells, spreads, most, error);
    }
    if (good)
        measure_best(cells, summary);
    g_ptr_array_unref(cells->cells);
    return good;
}

static gboolean
measure_device_peak(Cells *cells, GError **error)
{
    CtDeviceCeilings ceilings;
    g_autoptr(CtDeviceMeter) meter = ct_device_meter_new(cells->choices->device, error);
    if (!meter || !ct_device_meter_measure(meter, TRUE, &ceilings, error))
        return FALSE;
    cells->device_peak = ceilings.fma;
    return TRUE;
}

gboolean
cells_measure(Choices *choices)
{
    static const char *const types[] = {"cf32", "ci8"};
    static const guint stations[] = {64, 32, 128, 256};
    g_autoptr(GError) error = NULL;
    Cells cells = {.choices = choices};
    GString *summary = g_string_new(NULL);
    gboolean good = TRUE;
    if (!choices->device)
        cells.host_meter = ct_meter_new(1);
    else if (!choices->brief)
        good = measure_device_peak(&cells, &error);
    for (guint t = 0; t < G_N_ELEMENTS(types) && good; t++)
        for (guint s = 0; s < (choices->brief ? 1 : G_N_ELEMENTS(stations)) && good; s++) {
            cells.type = types[t];
            cells.n_stations = choices->brief ? 8 : stations[s];
            g_autofree char *name = g_strdup_printf("%s %u stations", types[t], cells.n_stations);
            const guint most = choices->brief ? 4 : s == 0 ? MANY : FEW;
            if (choices_want(choices, name))
                good = measure_stations(&cells, most, summary, &error);
        }
    printf("%-5s %8s %14s %14s %8s %8s %6s  %s\n%s", "", "stations", "default, Gop/s",
           "tuned, Gop/s", "of FMA", "of FMA", "gain", "tuning", summary->str);
    if (error)
        printf("cells: %s\n", error->message);
    g_string_free(summary, TRUE);
    ct_meter_free(cells.host_meter);
    return good;
}
