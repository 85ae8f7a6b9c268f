#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Correlates a simulated sky, and draws the fringes: the phases of all baselines over frequency."""
import cornerturn
import numpy
from matplotlib import pyplot

with open("pipelines/fx-correlator.yaml", encoding="utf-8") as file:
    graph = file.read() + "  fringes: { stage: output, from: visibilities, layout: \"[time channel baseline pol pol']\" }\n"
with cornerturn.Pipeline(graph) as pipeline:
    stream = pipeline.streams["visibilities"]
    visibilities = pipeline.read("fringes")
order = numpy.argsort(stream.frequencies)
phases = numpy.angle(visibilities[..., 0, 0].sum(0)[order])
pyplot.pcolormesh(range(phases.shape[1]), stream.frequencies[order] / 1e6, phases, cmap="twilight")
pyplot.xlabel("baseline")
pyplot.ylabel("MHz")
pyplot.savefig("fringes.png")
