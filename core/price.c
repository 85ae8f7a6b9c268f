/* SPDX-License-Identifier: BSD-3-Clause */
/* What an arrangement costs: what the store knows of it, else the model. */
#include "price.h"

#include "tuning.h"

#include <string.h>

const char *const ct_origin_names[CT_N_ORIGINS] = {
    [CT_ORIGIN_MODEL] = "model",
    [CT_ORIGIN_NEAREST] = "nearest",
    [CT_ORIGIN_SHIPPED] = "shipped",
    [CT_ORIGIN_MEASURED] = "measured",
};

struct CtPrices {
    const CtMachine *machine;
};

CtPrices *
ct_prices_new(const CtMachine *machine)
{
    CtPrices *prices = g_new0(CtPrices, 1);
    prices->machine = machine;
    return prices;
}

void
ct_prices_free(CtPrices *prices)
{
    g_free(prices);
}

void
ct_price_find(CtPrices *prices, const CtPriced *what, CtPrice *price)
{
    const CtMachine *machine = prices->machine;
    *price = (CtPrice){.origin = CT_ORIGIN_MODEL};
    ct_tuning_defaults(what->variant, price->tuning);
    if (what->tuning)
        memcpy(price->tuning, what->tuning, sizeof(price->tuning));
    if (what->from != what->to)
        price->seconds = ct_cost_copy_seconds(machine, what->load, what->from, what->to);
    else
        price->seconds = ct_cost_seconds(machine, what->variant, what->row, what->load, what->from);
}
