/* SPDX-License-Identifier: BSD-3-Clause */
/* What a candidate costs, and how that is known: measured, taken over from the measurement that
 * is nearest to it, or modelled. */
#pragma once

#include "cost.h"
#include "graph/graph.h"
#include "graph/registry.h"
#include "store.h"

typedef enum {
    CT_ORIGIN_MODEL,
    CT_ORIGIN_NEAREST,  /* another one was measured: its share of the roof */
    CT_ORIGIN_SHIPPED,  /* this very one, on another machine of this kind */
    CT_ORIGIN_MEASURED, /* this very one, here */
    CT_N_ORIGINS
} CtOrigin;

/* "model", "nearest", "shipped", "measured" */
extern const char *const ct_origin_names[CT_N_ORIGINS];

typedef struct {
    gdouble seconds; /* for a second of stream: of all workers where the variant splits its work, of
                        one where not; of the device's queue. Where it failed, far more than any
                        other takes: a plan must not fail because of the store */
    CtOrigin origin;
    gdouble spread;                 /* of what was measured, see CtMeasurement */
    gint64 tuning[CT_MAX_TUNABLES]; /* the one that is asked for, else the best known */
    gboolean is_tuned;   /* the tuning is the store's, neither asked for nor the default */
    const char *failure; /* why it could not be measured, interned; NULL: nothing is known against
                            it */
} CtPrice;

/* What is priced. */
typedef struct {
    const CtVariant *variant;
    const CtRow *row;
    const CtNode *nodes; /* [n_nodes] that the variant covers */
    guint n_nodes;
    const CtLayout *inputs;  /* at the ports of the first; empty where nothing is connected */
    const CtLayout *outputs; /* at those of the last */
    const CtLoad *load;
    const gint64 *tuning; /* of the variant's tunables, where one is asked for; NULL: the best */
    gint from, to; /* where the inputs and the outputs lie: different places of a copy alone */
} CtPriced;

typedef struct CtPrices CtPrices;

/* Seconds to plan with in place of the price's: for who measures, what could at best come out. */
typedef gdouble (*CtPriceJudge)(const CtPriced *what, const CtPrice *price, gpointer data);

/* Where measurements come from. */
typedef struct {
    const char *costs;   /* the store, as ct_store_path has it; "off": nothing at all */
    const char *shipped; /* a folder of files of lines of JSON; NULL: the program's own */
} CtPriceSources;

/* Reads what there is once, for the stages of the graph and those that may be inserted; `aim` is
 * what firings on the host aim at. What goes wrong is told by ct_prices_warning, and prices are
 * then the model's. The machine takes over the roofs that were measured; it and the registry must
 * outlive the prices. */
CtPrices *ct_prices_new(CtMachine *machine, const CtGraph *graph, const CtRegistry *registry,
                        const CtPriceSources *sources, gsize aim);
void ct_prices_free(CtPrices *prices);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtPrices, ct_prices_free)

/* What went wrong with the store, for the user; NULL: nothing. */
const char *ct_prices_warning(const CtPrices *prices);

/* What was measured by this name of the machine at `place`; NULL: nothing was. */
const CtRoof *ct_prices_roof(const CtPrices *prices, gint place, const char *name);

/* Before the first price is found. */
void ct_prices_set_judge(CtPrices *prices, CtPriceJudge judge, gpointer data);

/* Seconds for a second of stream by the model alone, tunings left aside. */
gdouble ct_priced_model(const CtPriced *what, const CtMachine *machine);

/* HUGE_VAL seconds only for a copy between places that no way joins. */
void ct_price_find(CtPrices *prices, const CtPriced *what, CtPrice *price);

/* Fills in what ct_store_put wants beside what was measured: the key, with this tuning, operations
 * and bytes. `key` must be clear. */
void ct_price_key(CtPrices *prices, const CtPriced *what, const gint64 *tuning, CtMeasurement *key);
