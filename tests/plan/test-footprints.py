#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A plan's latency, start-up and missing samples, against runs with gaps at every place."""
import ctypes
import itertools
import os
import pathlib
import tempfile
import unittest

import numpy

import pipeline
import tap

STATIONS = 3
LANE = 1  # the station that loses samples
folder = tempfile.TemporaryDirectory()
DELAYS = pathlib.Path(folder.name) / "delays.npy"
# Rows are 0.4 s apart, at 1 kHz; delays change by a sample in 40 ms or more slowly.
numpy.save(DELAYS, numpy.cumsum(numpy.random.default_rng(5).integers(-10, 11, (400, STATIONS)),
                                0) * 1e-3)

FILTER_BANK = "f: {stage: fir, from: x, n_channels: 8, n_taps: 4}, s: {stage: fft, from: f}"
# For each graph: the nodes between the input x and y, and the output that counts the samples of a
# sum.
CHAINS = {
    "window": ("y: {stage: fir, from: x, n_channels: 1, n_taps: 7}", None),
    "decimation": ("y: {stage: fir, from: x, n_channels: 1, n_taps: 5, hop: 3}", None),
    "hop beyond the window": ("y: {stage: fir, from: x, n_channels: 1, n_taps: 2, hop: 5}", None),
    "oversampled": ("y: {stage: fir, from: x, n_channels: 8, n_taps: 4, hop: 4}", None),
    "filter bank": (FILTER_BANK + ", y: {stage: power, from: s}", None),
    "windows of windows": (
        "f: {stage: fir, from: x, n_channels: 1, n_taps: 2, hop: 5}, "
        "e: {stage: fft, from: f}, g: {stage: fir, from: e, n_channels: 1, n_taps: 3, hop: 2}, "
        "y: {stage: fft, from: g, axis: time, length: 2, to: slow}", None),
    "sum": ("y: {stage: integrate, from: x, length: 7}", "y.weights"),
    "sum of every sample": ("y: {stage: integrate, from: x, length: 1}", "y.weights"),
    "sum of powers": (
        FILTER_BANK + ", p: {stage: power, from: s}, y: {stage: integrate, from: p, length: 5}",
        "y.weights"),
    "visibilities": (FILTER_BANK + ", y: {stage: correlate, from: s, integration: 4}",
                     "y.weights"),
    "constant delays": (
        "d: {stage: delay, from: x, constant: [0 ms, 3 ms, -2 ms]}, "
        "f: {stage: fir, from: d, n_channels: 4, n_taps: 2}, s: {stage: fft, from: f}, "
        "y: {stage: power, from: s}", None),
    "changing delays": (f"y: {{stage: delay, from: x, delays: {DELAYS}, step: 400 ms}}", None),
    "two ways": (
        "f: {stage: fir, from: x, n_channels: 1, n_taps: 3}, "
        "g: {stage: fir, from: x, n_channels: 1, n_taps: 5}, "
        "y: {stage: stack, from: [f, g], axis: way}", None),
    "sums in a window": (
        "f: {stage: integrate, from: x, length: 3}, "
        "y: {stage: fir, from: f, n_channels: 1, n_taps: 4}", None),
}


TIME_FIRST = "layout: '[time ...]'"


def random_chain(rng):
    """A few random windows and sums in a row; a sample of the output stands for at most 150 of the
    input."""
    while True:
        nodes, before, step, summed = [], "x", 1, False
        n = rng.integers(2, 5)
        for i in range(n):
            name = "y" if i + 1 == n else f"n{i}"
            kind = rng.choice(["filter", "transform", "sum"])
            length = int(rng.integers(1, 7))
            if kind == "filter":
                hop = int(rng.integers(1, 7))
                nodes += [f"f{i}: {{stage: fir, from: {before}, n_channels: 1, n_taps: {length}, "
                          f"hop: {hop}}}", f"{name}: {{stage: fft, from: f{i}, to: c{i}}}"]
            elif kind == "transform":
                hop = length
                nodes.append(f"{name}: {{stage: fft, from: {before}, axis: time, to: c{i}, "
                             f"length: {length}}}")
            else:
                hop = length
                nodes.append(f"{name}: {{stage: integrate, from: {before}, length: {length}}}")
            # The weights of a sum of sums do not count the samples that it lacks.
            counted = "y.weights" if kind == "sum" and not summed else None
            summed |= kind == "sum"
            before, step = name, step * hop
        if step <= 150 and (counted or not summed):
            return ", ".join(nodes), counted


def graph(chain, apart=True, backend="cpu"):
    nodes, weights = CHAINS[chain]
    loses = "loses: [station], " if apart else ""
    counts = f", w: {{stage: output, from: {weights}, {TIME_FIRST}}}" if weights else ""
    return (f"backend: {backend}\nstages: {{x: {{stage: input, layout: 'cf32[time station]', shape: [-1, {STATIONS}], "
            f"{loses}sample_rate: 1 kHz, centre_frequency: 1 MHz}}, {nodes}, "
            f"z: {{stage: output, from: y, {TIME_FIRST}}}{counts}}}")


def outputs(chain, apart=True):
    """The argument `takes` of pipeline.run: the axis of time, and the lanes."""
    lanes = STATIONS if apart and chain != "visibilities" else 1
    lanes *= 2 if chain == "two ways" else 1
    return {name: (0, lanes) for name in ("z", "w")[:2 if CHAINS[chain][1] else 1]}


def footprint(text, missing=1, variants=None):
    paths = pipeline.plan(text, variants, missing)["footprints"]
    return next(path for path in paths if path["sink"] == "z")


class Gaps:
    """A stream with gaps so far apart that they do not affect one another, at every place modulo
    the hops."""

    def __init__(self, said, length, everywhere):
        reach = said["reach"] + said["step"] + length
        spacing = -(-5 * reach // said["step"]) * said["step"] + 1
        self.said = said
        self.begins = spacing + spacing * numpy.arange(said["step"])
        n = int(self.begins[-1] + 2 * spacing)
        self.array = numpy.ones((n, STATIONS), numpy.complex64)
        self.validity = numpy.ones((STATIONS, n), bool)
        for begin in self.begins:
            lanes = slice(None) if everywhere else LANE
            self.validity[lanes, begin:begin + length] = False

    def sum_of(self, values, start):
        """Sums of the values [time] near each gap."""
        ticks = start + numpy.arange(len(values)) * self.said["step"]
        nearest = abs(ticks[:, None] - self.begins[None, :]).argmin(1)
        return numpy.bincount(nearest, values, len(self.begins)).astype(int)


class GapTest(unittest.TestCase):
    backend = "cpu"

    def run_gaps(self, chain, length, everywhere=False, apart=True, variants=None):
        """The prediction; the invalid samples near each gap; for sums, the number that lack
        samples, and the samples that they lack."""
        text = graph(chain, apart, self.backend)
        said = footprint(text, length, variants)
        gaps = Gaps(said, length, everywhere or not apart)
        takes = outputs(chain, apart)
        lanes = takes["z"][1]
        validity = gaps.validity if apart else gaps.validity[:1]
        taken = pipeline.run(text, {"x": pipeline.Feed(gaps.array, 0, (997,), validity)}, takes,
                             variants)
        own = slice(LANE, None, STATIONS) if lanes > 1 else slice(None)
        invalid = gaps.sum_of((~taken["z"].validity[own]).any(0), taken["z"].start)
        if "w" not in takes:
            return said, invalid, None, None
        weights = taken["w"].array.reshape(len(taken["w"].array), -1).astype(int)
        lack = (weights.max() - weights).max(1)[:-1]  # without the last sum, which may be short
        start = taken["w"].start
        return said, invalid, gaps.sum_of(lack > 0, start), gaps.sum_of(lack, start)

    def check(self, said, key, found, sharp=True):
        least, most = said[key]
        self.assertGreaterEqual(found.min(), least, key)
        self.assertLessEqual(found.max(), most, key)
        if said["exact"] and sharp:
            self.assertEqual((found.min(), found.max()), (least, most), key)

    def check_chain(self, chain, length, variants=None):
        said, invalid, short, terms = self.run_gaps(chain, length, variants=variants)
        if short is None and "terms" not in said:
            self.check(said, "touched", invalid)
        elif short is not None:
            self.check(said, "touched", short)
            self.check(said, "terms", terms)
        said, invalid, _, _ = self.run_gaps(chain, length, True, variants=variants)
        self.check(said, "lost", invalid)

    def check_latency(self, chain):
        wait = footprint(graph(chain, backend=self.backend))["wait"]
        self.assertFalse(self.first_output(chain, wait - 1, 0.2))
        self.assertTrue(self.first_output(chain, wait, 60))

    def first_output(self, chain, n, seconds):
        """Whether there is an output after `n` samples."""
        call, library = pipeline._call, pipeline._library
        text = graph(chain, backend=self.backend).encode()
        run = call("parse", text, len(text), b"test")
        array = numpy.ones((n, STATIONS), numpy.complex64)
        block = pipeline.Block()
        try:
            call("set_workers", run, 1)
            call("start", run)
            if n > 0:
                call("feed", run, b"x", array.ctypes.data, n, None, None, None)
            return bool(call("take", run, b"z", float(seconds),
                             ctypes.byref(block)))
        finally:
            library.ct_pipeline_free(run)


@unittest.skipIf("CORNERTURN_TEST_BACKEND" in os.environ, "it needs no device")
class Footprints(GapTest):
    def test_chains(self):
        inexact = {"changing delays", "two ways"}
        for chain in CHAINS:
            for length in (1, 2, 16, 40):
                with self.subTest(chain, length=length):
                    self.check_chain(chain, length)
                    self.assertEqual(footprint(graph(chain))["exact"], chain not in inexact)

    def test_random_chains(self):
        rng = numpy.random.default_rng(12)
        for trial in range(25):
            CHAINS["random"] = random_chain(rng)
            length = int(rng.integers(1, 30))
            with self.subTest(CHAINS["random"][0], trial=trial, length=length):
                self.check_chain("random", length)
                self.check_latency("random")
        del CHAINS["random"]

    def test_fused(self):
        """A variant that covers two nodes has the footprint of both."""
        fused = "fused-" + pipeline.instruction_sets()[0]
        for variants in {"f": fused, "s": fused}, {"f": "reference", "s": "reference"}:
            for chain in "filter bank", "sum of powers", "visibilities":
                with self.subTest(chain, variants=variants):
                    self.check_chain(chain, 5, variants)

    def test_lanes_that_delays_merge(self):
        """If the stations share their validity, a gap is moved by the delay of each station. A gap
        that is longer than the difference of two delays remains one gap."""
        text = graph("constant delays", False)
        for length in 1, 2, 3, 4, 5, 16:
            with self.subTest(length=length):
                self.assertEqual(footprint(text, length)["exact"], length > 3)
                said, invalid, _, _ = self.run_gaps("constant delays", length, apart=False)
                self.check(said, "touched", invalid)
                self.check(said, "lost", invalid)

    def test_lanes_that_delays_move(self):
        """A gap of all stations is lost by each of them, at the place to which its delay moves
        it."""
        delayed = "y: {stage: delay, from: x, constant: [0 ms, 3 ms, -2 ms]}"
        CHAINS["delays"] = (delayed, None)
        self.addCleanup(CHAINS.pop, "delays")
        self.assertEqual(footprint(graph("delays"), 16)["lost"], [16, 16])
        self.assertEqual(footprint(graph("delays", False), 16)["touched"], [21, 21])
        self.check_chain("delays", 16)

    def test_held(self):
        """A sample of a statistic holds for 7 samples, of which it is made: all are lost with it,
        and all wait for it."""
        CHAINS["held"] = ("f: {stage: fir, from: x, n_channels: 1, n_taps: 7, hop: 7}, "
                          "p: {stage: power, from: f}, "
                          "g: {stage: fir, from: x, n_channels: 1, n_taps: 1}, "
                          "y: {stage: flag, from: {in: g, statistic: p}}", None)
        self.addCleanup(CHAINS.pop, "held")
        text = graph("held", backend=self.backend)
        self.check_latency("held")
        for length in 1, 2, 16:
            said, found = footprint(text, length), []
            self.assertEqual((said["reach"], said["exact"]), (7, False))
            for begin in range(70, 77):
                validity = numpy.ones((STATIONS, 210), bool)
                validity[LANE, begin:begin + length] = False
                feed = pipeline.Feed(numpy.ones((210, STATIONS), numpy.complex64), 0, (997,),
                                     validity)
                taken = pipeline.run(text, {"x": feed}, outputs("held"))["z"].validity
                found.append((~taken[LANE]).sum())
            self.check(said, "touched", numpy.array(found))
            # The two ways are those of the samples and of the statistic: at most both.
            self.assertEqual(said["touched"], [min(found), max(found) + length])

    def test_lanes(self):
        self.assertEqual(footprint(graph("filter bank"))["apart"], ["station"])
        self.assertEqual(footprint(graph("filter bank", False))["apart"], [])
        self.assertEqual(footprint(graph("visibilities"))["apart"], [])

    def test_start_up(self):
        """The first output comes after `start_up` samples, and then one for each step."""
        for chain in CHAINS:
            if chain == "two ways":
                continue  # a stack gives the output of either way, with invalid samples for the other
            text = graph(chain)
            said = footprint(text)
            for wanted in 0, 1, 3:
                n = said["start_up"] + wanted * said["step"]
                if n == 0:
                    continue
                with self.subTest(chain, wanted=wanted):
                    array = numpy.ones((n, STATIONS), numpy.complex64)
                    taken = pipeline.run(text, {"x": pipeline.Feed(array)}, outputs(chain))
                    got = taken["z"].array
                    self.assertEqual(0 if got is None else len(got), wanted)

    def test_latency(self):
        """With input sample by sample, the first output comes with the sample that the plan
        predicts."""
        for chain in CHAINS:
            with self.subTest(chain):
                self.check_latency(chain)

    def test_figures(self):
        said = pipeline.plan(graph("sum of powers"), missing=16)["footprints"][0]
        self.assertEqual((said["source"], said["sink"], said["missing"]), ("x", "z", 16))
        self.assertEqual((said["step"], said["reach"], said["history"]), (40, 64, 24))
        self.assertEqual((said["touched"], said["terms"]), ([1, 2], [5, 6]))


@unittest.skipUnless(pipeline.has_device(), "there is no device")
class OnDevice(GapTest):
    backend = "auto"

    def test_chains(self):
        for name in "cuda", "fused-cuda":
            for chain in "filter bank", "sum of powers", "visibilities":
                with self.subTest(chain, variant=name):
                    self.check_chain(chain, 5, {"f": name, "s": name})

    def test_latency(self):
        """Slow streams are not delayed where they go from one place to another."""
        for places in itertools.product(("cpu", "cuda"), repeat=3):
            first, second, third = places
            CHAINS["crossing"] = (
                f"f: {{stage: fir, from: x, n_channels: 1, n_taps: 2, hop: 3, backend: {first}}}, "
                f"s: {{stage: fft, from: f, to: slow, backend: {second}}}, "
                f"y: {{stage: fft, from: s, axis: time, to: c, length: 5, backend: {third}}}", None)
            with self.subTest(places):
                self.check_latency("crossing")
        del CHAINS["crossing"]


if __name__ == "__main__":
    tap.main()
