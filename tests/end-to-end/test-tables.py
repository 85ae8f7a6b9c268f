#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Lack of memory for tables along an axis: each large allocation of a run fails in turn, which is
an error of the run, not an abort."""
import errno
import os
import subprocess
import unittest

import numpy

import graphs
import tap

BACKEND = os.environ["CORNERTURN_TEST_BACKEND"]
LIBRARY = os.environ["ADVERSARY_FAULT_LIBRARY"]
CALLS = ("malloc", "calloc", "realloc", "memalign", "mmap")
# Bytes; allocations of at least this size are tables along the longest axis of each graph, and
# blocks.
LEAST = 100000
MOST = 20
N = 20000
CHANNELS = 1 << 15

SKY = {"stage": "generate", "type": "ci8", "sample_rate": "1 MHz", "centre_frequency": "10 MHz",
       "samples": 4, "n_stations": N}
WIDE = {"stage": "convert", "type": "cf32", "from": "sky"}
FFT = {"stage": "fft", "backend": "cpu"}
END = {"stage": "discard"}


def chain(sky, **stages):
    """A graph of a sky and stages, each of which reads the one before it."""
    made, before = {"sky": sky}, "sky"
    for name, stage in {**stages, "end": END}.items():
        made[name] = {"from": before, **stage}
        before = name
    return made


def spectra(**more):
    """Stages that make channels by a filter bank."""
    return chain({**SKY, "n_stations": 1, "samples": 2 * CHANNELS},
                 filter={"stage": "fir", "n_channels": CHANNELS, "n_taps": 2, **more},
                 spectra=FFT)


GRAPHS = {
    "generate": chain({**SKY, "spiral": "1 km", "source_directions": [[0, 0], [0.1, 0.2]],
                       "tone_frequencies": ["10 MHz"], "tone_directions": [[0.1, 0]],
                       "invalid": [[0, 1, 1]]}),
    "generate-subbands": chain({**SKY, "n_stations": 1, "n_subbands": N, "centre_frequency": "1 GHz",
                                "subband_step": "10 kHz", "tone_frequencies": ["1 GHz"]}),
    "positions": chain({**SKY, "positions_file": "positions.npy", "source_directions": [[0, 0]]}),
    "delay-file": chain(SKY, wide=WIDE, x={"stage": "delay", "delays": "delays.npy"}),
    "delay-changing": chain(SKY, wide=WIDE, x={"stage": "delay", "delays": "changing.npy",
                                               "step": "10 us"}),
    "delay-direction": chain(SKY, wide=WIDE, x={"stage": "delay", "spiral": "1 m",
                                                "direction": [[0.1, 0.2]]}),
    "delay-spectra": chain({**SKY, "n_stations": 1, "samples": 2 * CHANNELS},
                           filter={"stage": "fir", "n_channels": CHANNELS, "n_taps": 1},
                           spectra=FFT, x={"stage": "delay", "constant": ["1 us"]}),
    "gains": chain(SKY, wide=WIDE, x={"stage": "gains", "gains": "gains.npy", "axes": ["station"]}),
    "fir": spectra(),
    "fir-coefficients": spectra(coefficients="taps.npy"),
    "fft": chain({**SKY, "n_stations": 1, "type": "cf32", "samples": 8192},
                 x={"stage": "fft", "axis": "time", "length": 8192}),
    "fft-subbands": chain({**SKY, "n_stations": 1, "n_subbands": 256, "centre_frequency": "1 GHz",
                           "subband_step": "1 MHz", "samples": 256},
                          filter={"stage": "fir", "n_channels": 128, "n_taps": 1},
                          x={"stage": "fft"}),
    "correlate": chain({**SKY, "n_stations": 300}, wide=WIDE,
                       x={"stage": "correlate", "integration": 2}),
    "beamform": chain({**SKY, "n_stations": 2, "samples": CHANNELS},
                      filter={"stage": "fir", "n_channels": CHANNELS, "n_taps": 1},
                      spectra=FFT, x={"stage": "beamform", "weights": "weights.npy"}),
    "pointing": {
        "w": {"stage": "pointing", "first_frequency": "1 MHz", "disk": 0.1, "n_beams": N,
              "spiral": "1 m", "n_stations": 1},
        "end": {**END, "from": "w"}},
    "stack": {
        "sky": {**SKY, "invalid": [[0, 1, 1]]}, "more": {**SKY, "seed": 2},
        "x": {"stage": "stack", "axis": "station", "from": ["sky", "more"]},
        "end": {**END, "from": "x"}},
    "stack-subbands": {
        **{name: {**SKY, "n_stations": 1, "n_subbands": N, "centre_frequency": "1 GHz",
                  "subband_step": spacing}
           for name, spacing in (("sky", "10 kHz"), ("more", "20 kHz"))},
        "x": {"stage": "stack", "axis": "subband", "from": ["sky", "more"]},
        "end": {**END, "from": "x"}},
    "power": chain(SKY, wide=WIDE, x={"stage": "power"}),
    "integrate": chain(SKY, wide=WIDE, x={"stage": "integrate", "length": 2}),
    "fold": chain(SKY, wide=WIDE, powers={"stage": "power"},
                  x={"stage": "fold", "subintegration": 2, "n_bins": 2, "period": "3 us"}),
    "fold-bins": chain({**SKY, "n_stations": 1}, wide=WIDE, powers={"stage": "power"},
                       x={"stage": "fold", "subintegration": 2, "n_bins": N, "period": "3 us"}),
    "kurtosis": chain(SKY, wide=WIDE, x={"stage": "kurtosis", "length": 4}),
    "quantise": chain(SKY, wide=WIDE, x={"stage": "quantise", "type": "ci4", "scale": 1e-3}),
    "transpose": chain(SKY, x={"stage": "transpose", "layout": "[station time]"}),
    "copy": chain(SKY, x={"stage": "copy"}),
    "source": {
        "in": {"stage": "file.source", "path": "in.npy", "layout": "ci8[time station]"},
        "end": {**END, "from": "in"}},
    "sink": {
        "sky": {**SKY, "invalid": [[0, 1, 1]]},
        "out": {"stage": "file.sink", "from": "sky", "path": "out.npy", "layout": "[station time]"}},
}


class Tables(graphs.GraphTest):
    def setUp(self):
        super().setUp()
        numpy.save(self.folder / "positions.npy", numpy.zeros((N, 3)))
        numpy.save(self.folder / "delays.npy", numpy.zeros((1, N)))
        numpy.save(self.folder / "changing.npy", numpy.zeros((2, N)))
        numpy.save(self.folder / "gains.npy", numpy.ones(N, numpy.complex64))
        numpy.save(self.folder / "taps.npy", numpy.ones((2, CHANNELS), numpy.float32))
        numpy.save(self.folder / "weights.npy", numpy.ones((CHANNELS, 1, 2), numpy.complex64))
        numpy.save(self.folder / "in.npy", numpy.zeros((4, N, 2), numpy.int8))

    def call(self, **more):
        environment = {**os.environ, "LD_PRELOAD": LIBRARY, "ADVERSARY_LEAST": str(LEAST), **more}
        return subprocess.run([graphs.COMMAND, "run", "--quiet", "--workers", "1", "--backend",
                               BACKEND, "graph.yaml"], cwd=self.folder, env=environment,
                              capture_output=True, text=True, timeout=100)

    def count(self):
        """Counts the calls of each kind for at least LEAST bytes."""
        done = self.call(ADVERSARY_COUNTS="counts")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = (line.split() for line in (self.folder / "counts").read_text().splitlines())
        return {call: int(n) for call, n in lines if call in CALLS}

    def check(self, graph):
        self.write(GRAPHS[graph])
        for call, n in self.count().items():
            # FFTW allocates a thousand times while it plans.
            for turn in range(1, min(n, MOST) + 1):
                fault = f"{call}:{turn}:{errno.ENOMEM}"
                done = self.call(ADVERSARY_FAULT=fault)
                with self.subTest(graph=graph, fault=fault):
                    # FFTW ends the process by itself.
                    if "fftw: alloc" in done.stderr:
                        continue
                    self.assertIn(done.returncode, (0, 1), done.stderr)
                    if done.returncode:
                        self.assertRegex(done.stderr, "(?i)memory")


def add(graph):
    setattr(Tables, f"test_{graph.replace('-', '_')}", lambda self: self.check(graph))


for _graph in GRAPHS:
    add(_graph)


if __name__ == "__main__":
    tap.main()
