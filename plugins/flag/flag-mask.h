/* SPDX-License-Identifier: BSD-3-Clause */
/* The mask of flag: samples that its parameters name. */
#pragma once

#include <cornerturn/kit/join.h>
#include <cornerturn/kit/named.h>

/* Rows of the stage's parameters. */
#define FLAG_MASK_PARAMS                                                                           \
    CT_PARAM_ELEMENTS("subband"), CT_PARAM_ELEMENTS("channel"), CT_PARAM_ELEMENTS("beam"),         \
        CT_PARAM_ELEMENTS("baseline"), CT_PARAM_ELEMENTS("station"), CT_PARAM_ELEMENTS("pol"),     \
        CT_PARAM_ELEMENTS("stokes"),                                                               \
        {"frequency", CT_PARAM_QUANTITY, CT_PARAM_TABLE, "Hz",                                     \
         .help =                                                                                   \
             "rows of the lowest and the highest one: channels (or subbands) in these ranges, "    \
             "or partly"},                                                                         \
    {                                                                                              \
        "time", CT_PARAM_QUANTITY, CT_PARAM_TABLE, "s",                                            \
            .help = "rows of begin and end, counted from the start of the stream: all samples"     \
    }

gboolean flag_mask_is_given(const CtParams *params);

/* For infer, when the output is described: checks the parameters, and makes the output lose data
 * along the axes whose elements they name. */
gboolean flag_mask_infer(CtNode *node, GError **error);

/* Fills in a cleared mask of the node's output; ct_join_mask_clear frees what it has. */
gboolean flag_mask_make(const CtNode *node, CtFormMask *mask, GError **error);
