/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target: a graph's text, with an override after a line "--set"; what it says of the
 * observation and of the part of the time is read, and the parameters of its stages by a table with
 * every kind of parameter. */
#include "fuzz.h"
#include "graph/observe.h"
#include "graph/part.h"
#include "model/node-params.h"

#include <string.h>

static const char *const choices[] = {"hamming", "hann", "none", NULL};
static const CtParam table[] = {
    {"int", CT_PARAM_INT, CT_PARAM_RANGED, NULL, -4, 64, "1", NULL, ""},
    {"real", CT_PARAM_REAL, 0, NULL, 0, 0, NULL, NULL, ""},
    {"rate", CT_PARAM_QUANTITY, CT_PARAM_RANGED, "Hz", 0, 1e12, NULL, NULL, ""},
    {"size", CT_PARAM_QUANTITY, 0, "B", 0, 0, NULL, NULL, ""},
    {"angle", CT_PARAM_QUANTITY, 0, "rad", 0, 0, NULL, NULL, ""},
    {"bool", CT_PARAM_BOOL, 0, NULL, 0, 0, NULL, NULL, ""},
    {"choice", CT_PARAM_CHOICE, 0, NULL, 0, 0, NULL, choices, ""},
    {"string", CT_PARAM_STRING, 0, NULL, 0, 0, NULL, NULL, ""},
    {"path", CT_PARAM_PATH, CT_PARAM_LIST, NULL, 0, 0, NULL, NULL, ""},
    {"type", CT_PARAM_TYPE, 0, NULL, 0, 0, NULL, NULL, ""},
    {"layout", CT_PARAM_LAYOUT, 0, NULL, 0, 0, NULL, NULL, ""},
    {"table", CT_PARAM_QUANTITY, CT_PARAM_TABLE, "m", 0, 0, NULL, NULL, ""},
    {0},
};
static const CtStage stage = {.name = "any", .params = table};

static void
use_params(const CtConfigStage *node)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(CtParams) params =
        ct_params_new(node->name, &stage, &node->place, node->params, &error);
    g_assert_true((params == NULL) == (error != NULL));
    if (!params)
        return;
    gint64 numerator, denominator;
    ct_params_rational(params, "rate", &numerator, &denominator);
    g_assert_cmpint(denominator, >, 0);
    ct_params_rational(params, "angle", &numerator, &denominator);
    g_assert_cmpint(denominator, >, 0);
    if (ct_params_count(params, "table") > 0)
        ct_params_real_cell(params, "table", ct_params_count(params, "table") - 1,
                            ct_params_columns(params, "table") - 1);
}

static void
use_keys(const CtConfig *config)
{
    g_autoptr(CtObservation) observation = NULL;
    CtGraphPart part;
    g_autoptr(GError) of_observation = NULL, of_part = NULL;
    g_assert_true(ct_observe_read(config, &observation, &of_observation) == !of_observation);
    g_assert_true(!of_observation || !observation);
    g_assert_true(ct_graph_part_read(config, &part, &of_part) == !of_part);
}

int
LLVMFuzzerTestOneInput(const guint8 *data, gsize size)
{
    static const char mark[] = "\n--set ";
    const char *text = size > 0 ? (const char *)data : "";
    const char *set = g_strstr_len(text, size, mark);
    g_autofree char *assignment =
        set ? g_strndup(set + strlen(mark), text + size - set - strlen(mark)) : NULL;
    const char *const overrides[] = {assignment, NULL};

    g_autoptr(GError) error = NULL;
    g_autoptr(CtConfig) config =
        ct_config_parse(text, set ? set - text : (gssize)size, "g", overrides, &error);
    g_assert_true((config == NULL) == (error != NULL));
    if (config)
        use_keys(config);
    for (guint i = 0; config && i < config->stages->len; i++)
        use_params(config->stages->pdata[i]);
    return 0;
}
