#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Streams of different ranges and gaps, joined along existing axes and new ones."""
import unittest

import numpy

import pipeline
import tap

# The host's variant is the same for all instruction sets.
VARIANTS = list(dict.fromkeys(variant.split("-")[0] for variant in pipeline.variants()))


def source(start, n, stations, more="", seed=1, type_="ci16", rate="1 MHz"):
    return {"start": start, "n": n, "stations": stations, "more": more, "seed": seed,
            "type": type_, "rate": rate}


def text_of(sources, axis, layout, block):
    lines = ["stages:"]
    for i, given in enumerate(sources):
        lines.append(
            f"  s{i}: {{ stage: generate, type: {given['type']}, sample_rate: {given['rate']}, "
            f"start: {given['start']}, samples: {given['n']}, seed: {given['seed']}, n_pols: 2, "
            "backend: cpu"
            + (f", n_stations: {given['stations']}" if given["stations"] else "")
            + (f", block: {{ time: {block[i % len(block)]} }}" if block else "")
            + given["more"] + " }")
    names = ", ".join(f"s{i}" for i in range(len(sources)))
    return "\n".join(lines + [f"  y: {{ stage: stack, from: [{names}], axis: {axis} }}",
                              f'  z: {{ stage: output, from: y, layout: "[{layout}]" }}', ""])


def stack(sources, axis, layout, variant, block=(), workers=1, lanes=None):
    n_lanes = lanes or (sum(given["stations"] for given in sources) if axis == "station"
                        else len(sources))
    return pipeline.run(text_of(sources, axis, layout, block), {},
                        {"z": (layout.split().index("time"), n_lanes)}, {"y": variant},
                        workers=workers)["z"]


def alone(given, layout):
    text = text_of([given], "none", layout, ()).splitlines()
    text = "\n".join(line.replace("from: y", "from: s0") for line in text if "stack" not in line)
    lanes = given["stations"] if "invalid" in given["more"] else 1
    got = pipeline.run(text, {}, {"z": (layout.split().index("time"), lanes)})["z"]
    return got.array, numpy.broadcast_to(got.validity, (given["stations"] or 1, given["n"]))


def expected(sources):
    """The expected [time station pol part] and validity [station][time] of sources with
    stations."""
    start = min(given["start"] for given in sources)
    end = max(given["start"] + given["n"] for given in sources)
    total = sum(given["stations"] for given in sources)
    x = numpy.zeros((end - start, total, 2, 2), numpy.int16)
    valid = numpy.zeros((total, end - start), bool)
    at = 0
    for given in sources:
        array, good = alone(given, "time station pol")
        begin = given["start"] - start
        x[begin:begin + given["n"], at:at + given["stations"]] = array
        valid[at:at + given["stations"], begin:begin + given["n"]] = good
        at += given["stations"]
    return x, valid, start


class Stack(unittest.TestCase):
    ranges = [source(0, 500, 2), source(130, 700, 1, seed=2),
              source(-60, 300, 3, ", invalid: [[1, 5, 40], [-1, 100, 3]]", seed=3)]

    def test_stations(self):
        want, valid, start = expected(self.ranges)
        for variant in VARIANTS:
            for block, workers in (((), 1), ((17, 64, 33), 1), ((100, 7), 2)):
                got = stack(self.ranges, "station", "time station pol", variant, block, workers)
                self.assertEqual(got.start, start)
                self.assertTrue((got.array == want).all(), (variant, block))
                self.assertTrue((got.validity == valid).all(), (variant, block))

    def test_orders(self):
        want, valid, _ = expected(self.ranges)
        for layout in ("station time pol", "pol station time", "time pol station",
                       "station pol time", "pol time station"):
            place = [layout.split().index(axis) for axis in ("time", "station", "pol")] + [3]
            for variant in VARIANTS:
                got = stack(self.ranges, "station", layout, variant, (50,))
                self.assertTrue((got.array.transpose(place) == want).all(), (variant, layout))
                self.assertTrue((got.validity == valid).all())

    def test_apart(self):
        """Between ranges that do not touch, there is a gap in which nothing is valid."""
        sources = [source(0, 40, 1), source(100, 50, 2, seed=2)]
        want, valid, start = expected(sources)
        for variant in VARIANTS:
            got = stack(sources, "station", "time station pol", variant, (16,))
            self.assertTrue((got.array == want).all())
            self.assertTrue((got.validity == valid).all())
            self.assertFalse(got.validity[:, 40:100].any())

    def test_ends_that_nobody_knows(self):
        """A stream that a program feeds may end anywhere; the longest input decides."""
        x = [numpy.arange(1, 2 * n + 1, dtype=numpy.float32).reshape(n, 2) for n in (310, 77)]
        text = "\n".join(["stages:"] + [
            f'  x{i}: {{ stage: input, layout: "f32[time station]", shape: [-1, 2], '
            "sample_rate: 1 kHz }" for i in range(2)] + [
            "  y: { stage: stack, from: [x0, x1], axis: station }",
            '  z: { stage: output, from: y, layout: "[time station]" }', ""])
        for variant in VARIANTS:
            feeds = {f"x{i}": pipeline.Feed(x[i], cuts=(50 + 13 * i,)) for i in range(2)}
            got = pipeline.run(text, feeds, {"z": (0, 4)}, {"y": variant}, workers=2)["z"]
            self.assertTrue((got.array[:, :2] == x[0]).all())
            self.assertTrue((got.array[:77, 2:] == x[1]).all())
            self.assertFalse(got.array[77:, 2:].any() or got.validity[2:, 77:].any())
            self.assertTrue(got.validity[:2].all() and got.validity[2:, :77].all())

    def test_empty(self):
        """An input without samples does not change the range, whatever its clock says."""
        for empty in (source(900, 0, 1), source(-300, 0, 1)):
            for order in ((empty, source(0, 40, 2, seed=2)), (source(0, 40, 2, seed=2), empty)):
                some = next(given for given in order if given["n"])
                want = alone(some, "time station pol")[0]
                at = 0 if order[0] is some else 1
                for variant in VARIANTS:
                    got = stack(order, "station", "time station pol", variant, (16,))
                    self.assertEqual((got.start, got.array.shape), (0, (40, 3, 2, 2)))
                    self.assertTrue((got.array[:, at:at + 2] == want).all())
                    self.assertTrue(got.validity[at:at + 2].all())
                    self.assertFalse(got.validity[2 - 2 * at].any())

    def test_empty_in_the_end(self):
        """An input that turns out to be empty adds no gap up to where it would have begun."""
        x = numpy.arange(1, 81, dtype=numpy.float32).reshape(40, 2)
        text = """
stages:
  x: { stage: input, layout: "f32[time station]", shape: [-1, 2], sample_rate: 1 kHz }
  late: { stage: delay, from: x, constant: [0 s, 300 ms] }
  y: { stage: stack, from: [%s], axis: station }
  z: { stage: output, from: y, layout: "[time station]" }
"""
        for variant in VARIANTS:
            for at, names in ((0, "x, late"), (2, "late, x")):
                got = pipeline.run(text % names, {"x": pipeline.Feed(x, cuts=(7,))}, {"z": (0, 4)},
                                   {"y": variant})["z"]
                self.assertEqual(got.array.shape, (40, 4))
                self.assertTrue((got.array[:, at:at + 2] == x).all())
                self.assertTrue(got.validity[at:at + 2].all())
                self.assertFalse(got.validity[2 - at:4 - at].any())

    def test_types(self):
        for type_ in ("ci4", "ci8", "cf32", "cf64", "f32", "u8"):
            more = [source(0, 90, 2, type_=type_), source(5, 90, 2, seed=4, type_=type_)]
            for layout in ("time pol station", "time station pol", "station pol time"):
                want, *others = (stack(more, "station", layout, variant).array
                                 for variant in VARIANTS)
                for got in others:
                    self.assertTrue((got == want).all(), (type_, layout))

    def test_new_axis(self):
        sources = [source(i, 200 + i, 0, seed=i + 1) for i in range(3)]
        parts = [alone(given, "time pol")[0] for given in sources]
        for layout in ("time beam pol", "beam pol time", "time pol beam"):
            place = [layout.split().index(axis) for axis in ("time", "beam", "pol")] + [3]
            for variant in VARIANTS:
                got = stack(sources, "beam", layout, variant, (31,))
                x = got.array.transpose(place)
                self.assertEqual(x.shape, (204, 3, 2, 2))
                for i, part in enumerate(parts):
                    self.assertTrue((x[i:200 + 2 * i, i] == part).all(), (variant, layout))
                    self.assertTrue((got.validity[i] == ((numpy.arange(204) >= i) &
                                                         (numpy.arange(204) < 200 + 2 * i))).all())

    def test_frequencies(self):
        """Bands stacked as subbands keep their frequencies; even the channels' phases show this."""
        text = """
stages:
  a: { stage: generate, sample_rate: 1 MHz, centre_frequency: 50 MHz, samples: 64 }
  b: { stage: generate, sample_rate: 1 MHz, centre_frequency: 57 MHz, samples: 64 }
  y: { stage: stack, from: [a, b], axis: subband }
  f: { stage: fft, from: y, axis: time, to: channel, length: 4 }
  w: { stage: pointing, from: f, positions: [[30, 0, 0]], directions: [[1, 0]] }
  end: { stage: output, from: f }
  z: { stage: output, from: w, layout: "[subband channel beam station]" }
"""
        got = pipeline.run(text, {}, {"z": (0, 1), "end": (0, 2)})["z"].array[..., 0, 0]
        frequencies = numpy.array([[50e6], [57e6]]) + numpy.fft.fftfreq(4, 1e-6)
        want = numpy.exp(-2j * numpy.pi * frequencies * 30 / 299792458)
        self.assertLess(abs(got - want).max(), 1e-6)


class Errors(unittest.TestCase):
    def test_messages(self):
        first = source(0, 10, 2)
        for other, axis, message in [
                (source(0, 10, 2, type_="ci8"), "station", "'s0' and 's1' are of types ci16 and "
                 "ci8: a node 'convert' gives either the type of the other"),
                (source(0, 10, 2, rate="2 MHz"), "station", "'s0' and 's1' have clocks of 1e.06"),
                (source(0, 10, 3), "beam", "'s0' and 's1' have 2 and 3 along 'station'"),
                (source(0, 10, 0), "station", "only the first has an axis 'station'"),
                (source(0, 10, 2, ", centre_frequency: 5 Hz"), "station", "bands at 0 and 5e-06 MHz: bands "
                 "are joined along 'subband', before 'fft' makes channels of them"),
                (first, "time", "given 'time'"),
                (first, "a b", "given 'a b'"),
        ]:
            with self.assertRaisesRegex(pipeline.Failure, message):
                stack([first, other], axis, "time ...", "reference")

    def test_channels_of_bands(self):
        """They are joined before they are channels."""
        text = """
stages:
  a: { stage: generate, sample_rate: 1 MHz, centre_frequency: 150 MHz, samples: 64 }
  b: { stage: generate, sample_rate: 1 MHz, centre_frequency: 155 MHz, samples: 64 }
  f: { stage: fft, from: a, axis: time, to: channel, length: 4 }
  g: { stage: fft, from: b, axis: time, to: channel, length: 4 }
  y: { stage: stack, from: [f, g], axis: AXIS }
  z: { stage: output, from: y }
"""
        for axis, message in [
                ("channel", "'f' and 'g' are of bands at 150 and 155 MHz: bands are joined along 'subband'"),
                ("subband", "'f' and 'g' have other coordinates along 'channel': bands are joined ")]:
            with self.assertRaisesRegex(pipeline.Failure, message):
                pipeline.run(text.replace("AXIS", axis), {}, {"z": (0, 1)})

    def test_ticks(self):
        text = """
stages:
  a: { stage: generate, sample_rate: 1 MHz, samples: 64 }
  b: { stage: generate, sample_rate: 1 MHz, samples: 64, start: 3 }
  f: { stage: fft, from: a, axis: time, to: channel, length: 4 }
  g: { stage: fft, from: b, axis: time, to: channel, length: 4 }
  y: { stage: stack, from: [f, g], axis: station }
  z: { stage: output, from: y }
"""
        with self.assertRaisesRegex(pipeline.Failure, "'f' and 'g' begin at ticks 0 and 3"):
            pipeline.run(text, {}, {"z": (0, 1)})


if __name__ == "__main__":
    tap.main()
