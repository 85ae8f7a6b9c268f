/* SPDX-License-Identifier: BSD-3-Clause */
/* The plugin in a build without its library: its stage says what is missing. */
#include <cornerturn/stage.h>

static const CtStage fringe = {
    .name = "fringe",
    .summary = "delays with which the stations follow sources on the sky",
    .version = 1,
    .inputs = CT_PORTS({"stream", "{time station ...}", CT_PORT_SHAPE,
                        "gives stations, start and length; its data are not read"}),
    .outputs = CT_PORTS({"delays", "f64{time end station}", 0,
                         "seconds, at the tick of each sample and of the next"}),
    .missing = "ERFA (liberfa-dev)",
};

CT_PLUGIN("fringe", ((const CtStage *const[]){&fringe, NULL}), ((const CtVariant *const[]){NULL}));
