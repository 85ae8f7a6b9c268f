#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Delays over the port against NumPy: each block takes effect at its tick."""
import itertools
import os
import tempfile
import unittest

import numpy

import pipeline
import tap

VARIANTS = pipeline.variants()
SEED = int(os.environ.get("CORNERTURN_SEED", "11"))
rng = numpy.random.default_rng(SEED)
RATE, CENTRE = 1000, 150e6
AXES = ("station", "pol")


def normal(*shape):
    return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype("c8")


def phasors(turns):
    return numpy.exp(-2j * numpy.pi * (turns - numpy.rint(turns)))


class Port(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        print(f"# seed {SEED}")

    def source(self, name, array, layout, more):
        path = os.path.join(self.folder, name + ".npy")
        numpy.save(path, array)
        return f"  {name}: {{ stage: file.source, path: '{path}', layout: '[{layout}]', {more} }}\n"

    def graph(self, x, delays, layout, block, node="", order=("time", *AXES), after="", start=None):
        """x [time station pol] in this order, and the delays, each set of `block` samples. `after`
        is a stage between x and the delays, `start` the UTC of both."""
        frequency = f", centre_frequency: {CENTRE}" if x.dtype.kind == "c" else ""
        axes = ("time", *AXES)
        rate = f"sample_rate: {RATE}/{block}, ticks_per_sample: {block}" if "time" in layout else ""
        last = "f" if after else "x"
        head = f"observation: {{ start: '{start}' }}\n" if start else ""
        return (head + "stages:\n" +
                self.source("x", x.transpose([axes.index(axis) for axis in order]), " ".join(order),
                            f"sample_rate: {RATE}, block: {{ time: 37 }}{frequency}") +
                self.source("w", delays, layout, rate) + after +
                f"  d: {{ stage: delay, from: {{ voltages: {last}, delays: w }} {node} }}\n" +
                f"  u: {{ stage: output, from: {last}, layout: '[time ... station pol]' }}\n" +
                "  y: { stage: output, from: d, layout: '[time ... station pol]' }\n")

    def run_graph(self, text, variant, workers):
        return pipeline.run(text, {}, {"y": (0, 1), "u": (0, 1)}, {"d": variant}, workers=workers)

    def take(self, text, variant, workers=1):
        return self.run_graph(text, variant, workers)["y"]

    def close(self, got, wanted, turns, *what):
        """Compares within the error that the page gives, and the rounding of `wanted`."""
        bound = 2 * numpy.pi * (2**-25 + 2**-50 * abs(turns).max()) + 9 * 2**-24
        self.assertEqual(got.shape, wanted.shape, what)
        self.assertTrue(numpy.all(abs(got - wanted) <= bound * abs(wanted)), what)

    def test_voltages(self):
        """Each block of delays shifts the samples from its tick on, and turns complex ones."""
        most, block, stations, pols = 9, 100, numpy.arange(3)[:, None], numpy.arange(2)
        for i, order in enumerate(2 * list(itertools.permutations(("time", *AXES)))):
            n_pols, n_stations = 1 + i % 2, 1 if i % 6 == 4 else 3
            kind = "f4" if i % 3 == 2 else "c8"
            delays = rng.uniform(-most / RATE, most / RATE, (4, n_stations, n_pols))
            layout = "time station" if n_pols == 1 else "station time pol"
            given = delays[:, :, 0] if n_pols == 1 else delays.transpose(1, 0, 2)
            x = normal(5 * block + 31, 3, 2)
            x = x.astype(kind) if kind == "c8" else x.real.astype(kind)
            t = numpy.arange(most, len(x) - most)
            tau = numpy.broadcast_to(delays, (4, 3, 2))[numpy.minimum(t // block, 3)]
            wanted = x[t[:, None, None] - numpy.rint(tau * RATE).astype(int), stations, pols]
            if kind == "c8":
                wanted = wanted * phasors(CENTRE * tau)
            text = self.graph(x, given, layout, block, f", range: {most / RATE}", order)
            for variant in VARIANTS:
                for workers in (1, 3):
                    got = self.take(text, variant, workers)
                    self.assertEqual(got.start, most)
                    if kind == "f4":
                        self.assertTrue((got.array == wanted).all(), (order, variant, workers))
                    else:
                        self.close(got.array, wanted, CENTRE * tau, order, variant, workers)

    def test_spectra(self):
        """Spectra are not shifted, and need no range; delays of a second are allowed."""
        block, n_channels = 64, 8
        x, delays = normal(900, 3, 2), rng.uniform(-1, 1, (5, 3))
        frequency = CENTRE + numpy.fft.fftfreq(n_channels, 1 / RATE)
        text = self.graph(x, delays.T, "station time", block, after="  f: { stage: fft, from: x, "
                          f"axis: time, to: channel, length: {n_channels} }}\n")
        for variant in VARIANTS:
            taken = self.run_graph(text, variant, 3)
            spectra = taken["u"].array
            held = numpy.minimum(numpy.arange(len(spectra)) * n_channels // block, 4)
            turns = frequency[:, None, None] * delays[held][:, None, :, None]
            self.close(taken["y"].array, spectra * phasors(turns), turns, variant)

    def test_like_a_list(self):
        """The same to the last bit as with the delays in the graph, where they do not change."""
        x, delays = normal(300, 3, 2), [[1.25e-3, -2e-3], [0, 3.5e-3], [-3.5e-3, 1e-3]]
        text = self.graph(x, numpy.array(delays), "station pol", 1, ", range: 3.5 ms")
        path = os.path.join(self.folder, "x.npy")
        alone = ("stages:\n"
                 f"  x: {{ stage: file.source, path: '{path}', layout: '[time station pol]', "
                 f"sample_rate: {RATE}, centre_frequency: {CENTRE} }}\n"
                 "  d: { stage: delay, from: x, range: 3.5 ms, constant: "
                 f"{numpy.ravel(delays).tolist()} }}\n"
                 "  u: { stage: output, from: x }\n"
                 "  y: { stage: output, from: d, layout: '[time station pol]' }\n")
        for variant in VARIANTS:
            self.assertEqual(self.take(text, variant).array.tobytes(),
                             self.take(alone, variant).array.tobytes(), variant)

    def test_ends(self):
        """Between the two delays of a sample of the port, they are linear; shifts change within it."""
        block, n_blocks, n_stations = 2000, 4, 3
        first = rng.uniform(-9e-3, 9e-3, (n_blocks, 1, n_stations))
        change = rng.uniform(-1, 1, (n_blocks, 1, n_stations)) * 0.9e-4 * block / RATE
        # The second station has 0.4 samples more after each block, the third changes its direction.
        first[:, 0, 1] = [1e-3, 1.18e-3, 1.36e-3, 1.54e-3]
        change[:, 0, 1] = 1.8e-4
        delays = numpy.concatenate([first, first + change], axis=1)
        most, n = 10, block * n_blocks
        x = normal(n, n_stations, 2)
        t = numpy.arange(most, n - most)
        u = (t % block / block)[:, None]
        tau = delays[t // block, 0] * (1 - u) + delays[t // block, 1] * u
        # Samples whose delay is next to a half may go either way.
        clear = abs(tau * RATE - numpy.floor(tau * RATE) - 0.5) > 1e-9
        moved = x[t[:, None] - numpy.rint(tau * RATE).astype(int), numpy.arange(n_stations)]
        wanted = moved * phasors(CENTRE * tau)[:, :, None]
        text = self.graph(x, delays, "time end station", block, f", range: {most / RATE}",
                          start="2026-01-01T00:00:00Z")
        for variant in VARIANTS:
            for workers in (1, 3):
                got = self.take(text, variant, workers)
                self.assertEqual(got.start, most)
                turns = 3 * CENTRE * tau
                self.close(got.array[clear], wanted[clear], turns, variant, workers)
        changes = numpy.rint(tau[t // block == 2, 1] * RATE)
        self.assertEqual((changes[0], changes[-1]), (1, 2))

    def test_errors_of_ends(self):
        x, good = normal(300, 3, 2), numpy.zeros((2, 2, 3))
        steep = good.copy()
        steep[1, 1, 2] = 2e-5
        when = "2026-01-01T00:00:00Z"
        for delays, layout, start, wanted in (
                (numpy.zeros((2, 3, 3)), "time end station", when,
                 "input 'delays' wants an axis end of length 2, but is given time 2, end 3, station 3"),
                (good[0], "end station", when, "input 'delays' wants the axis time beside the axis end"),
                (good, "time end station", None, "input 'delays' wants streams that know their UTC, "
                 "because it has the axis end, but is given time 2, end 2, station 3"),
                (steep, "time end station", when, "input 'delays' wants delays that change by at most "
                 "0.0001 s in a second, but is given 0.0002 s"),
        ):
            with self.subTest(wanted=wanted), self.assertRaisesRegex(pipeline.Failure, wanted):
                self.take(self.graph(x, delays, layout, 100, ", range: 1 ms", start=start), "reference")

    def test_errors(self):
        x, good = normal(300, 3, 2), rng.uniform(-1e-3, 1e-3, (2, 3))
        bad = good.copy()
        bad[1, 2] = 0.0133
        for delays, layout, node, wanted in (
                (good, "time station", ", range: 1 ms, constant: [0, 0, 0]",
                 r"^test:4:\d+: node 'd': parameter 'constant': wants to stand alone, but the port "
                 "'delays' is connected too"),
                (good, "time station", "", "parameter 'range': wants the largest delay of the port "
                 "'delays', but is not given"),
                (numpy.zeros((2, 4)), "time station", ", range: 1 ms",
                 r"^test:4:3: node 'd': input 'delays' wants axes of input 'voltages', of the same "
                 "length or of length 1, time 300, station 3, pol 2, but is given time 2, station 4"),
                (numpy.zeros((1, 3)), "channel station", ", range: 1 ms",
                 "input 'delays' wants .*, but is given channel 1, station 3"),
                (numpy.full(3, numpy.nan), "station", ", range: 1 ms", "but is given nan s"),
                (bad, "time station", ", range: 12 ms", r"node 'd': input 'delays' wants finite "
                 "delays within 'range', but is given 0.0133 s"),
        ):
            with self.subTest(wanted=wanted), self.assertRaisesRegex(pipeline.Failure, wanted):
                self.take(self.graph(x, delays, layout, 100, node), "reference")
        fft = "  f: { stage: fft, from: x, axis: time, to: channel, length: 8 }\n"
        with self.assertRaisesRegex(pipeline.Failure, "input 'delays' wants axes station, pol and "
                                    "time, but is given channel"):
            self.take(self.graph(x, numpy.zeros((8, 3)), "channel station", 1, after=fft),
                      "reference")


if __name__ == "__main__":
    tap.main()
