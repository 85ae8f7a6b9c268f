#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Feeds an array to a filter bank, and takes the spectra: as one array, and block by block."""
import cornerturn
import numpy

GRAPH = """
stages:
  x: { stage: input, layout: "cf32[time station]", shape: [-1, 4], sample_rate: 64 MHz, centre_frequency: 100 MHz }
  filter: { stage: fir, from: x, n_channels: 64, n_taps: 8 }
  spectra: { stage: fft, from: filter }
  y: { stage: output, from: spectra, layout: "[time channel station]" }
"""
voltages = numpy.ones((64 * 1000, 4), numpy.complex64)  # [time station]

with cornerturn.Pipeline(GRAPH) as pipeline:
    pipeline.start()
    pipeline.feed("x", voltages)
    pipeline.feed_end("x")
    spectra = pipeline.read("y")  # [time channel station]

with cornerturn.Pipeline(GRAPH) as pipeline:
    pipeline.start()
    pipeline.feed("x", voltages)
    pipeline.feed_end("x")
    power = 0
    for block in pipeline.take("y"):
        power = power + (abs(block.array)**2).sum(0)
    pipeline.wait()

print(f"{spectra.shape[0]} spectra; the most power is in channel {power.sum(1).argmax()}")
