#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""mark5b.source: a real recording against the field's reader, made recordings and damaged ones."""
import json
import struct
import unittest

import numpy as np

import graphs
import oracles
import tap

# The sign is the lower bit of two; of one bit, 1 is negative.
LEVELS = {1: np.array([1, -1], np.float32),
          2: np.array([-3.316505, 1, -1, 3.316505], np.float32)}
FILL = struct.pack("<I", 0x11223344) * 2500


def digits(number, n):
    """Binary coded decimal."""
    return int(f"{number:0{n}}", 16)


def check_of(code):
    """The remainder of 48 bits by x^16 + x^15 + x^2 + 1: long division."""
    code <<= 16
    for bit in range(63, 15, -1):
        if code >> bit & 1:
            code ^= 0x18005 << bit - 16
    return code


def make_frame(payload, number, second=19801, day=821, fraction=0, check=None, user=0xbead):
    code = digits(day, 3) << 36 | digits(second, 5) << 16 | digits(fraction, 4)
    check = check_of(code) if check is None else check
    return struct.pack("<4I", 0xabaddeed, user << 16 | number, code >> 16,
                       (code & 0xffff) << 16 | check) + payload


class Recording(graphs.GraphTest):
    def read(self, path, source, layout=None):
        sink = {"stage": "file.sink", "from": "sky", "path": "out.npy"}
        statistics = self.run_graph({
            "sky": {"stage": "mark5b.source", "path": path, **source},
            "out": {**sink, "layout": layout} if layout else sink})
        node = next(node for node in statistics["nodes"] if node["name"] == "sky")
        counts = {name: n for name, n in node["counters"].items() if n}
        beside = json.loads((self.folder / "out.npy.json").read_text())
        return np.load(self.folder / "out.npy"), counts, beside


@graphs.needs_data("mark5b/sample.m5b")
class Sample(Recording):
    path = str(graphs.DATA / "mark5b" / "sample.m5b")
    source = {"n_channels": 8, "year": 2014, "sample_rate": "32 MHz"}

    def test_sums(self):
        array, counts, beside = self.read(self.path, self.source)
        self.assertEqual((array.shape, array.dtype), ((20000, 8), np.float32))
        self.assertAlmostEqual(array.sum(dtype=float), 1775.5787, places=3)
        self.assertEqual(counts, {"packets": 4})
        self.assertEqual(beside["start_utc"], "2014-06-13T05:30:01.000000000Z")
        self.assertEqual(beside["sample_rate"], 32e6)
        self.assertEqual([axis["name"] for axis in beside["axes"]], ["time", "subband"])

    def test_baseband(self):
        """All samples are those of the PyPI package baseband, for every number of channels and
        bits that the same bytes may have."""
        script = ("import sys, numpy\n"
                  "from astropy import units\n"
                  "from baseband import mark5b\n"
                  "n, bits = map(int, sys.argv[3:5])\n"
                  "stream = mark5b.open(sys.argv[1], 'rs', nchan=n, bps=bits, kday=56000,\n"
                  "                     sample_rate=512 / n / bits * units.MHz, squeeze=False)\n"
                  "numpy.save(sys.argv[2], stream.read())\n"
                  "print(stream.start_time.isot)\n")
        for bits, n in ((2, 8), (2, 1), (2, 16), (1, 1), (1, 32)):
            start = oracles.run(self, oracles.BASEBAND, script, self.path,
                                self.folder / "wanted.npy", n, bits)
            wanted = np.load(self.folder / "wanted.npy")
            for backend, block in (("cpu", 777), ("reference", 20000)):
                with self.subTest(bits=bits, n=n, backend=backend):
                    source = {"n_channels": n, "bits": bits, "year": 2014, "backend": backend,
                              "sample_rate": f"{512 / n / bits} MHz", "block": {"time": block}}
                    array, _, beside = self.read(
                        self.path, source, "[time subband]" if n > 1 else None)
                    np.testing.assert_array_equal(array.reshape(wanted.shape), wanted)
                    self.assertEqual(beside["start_utc"], start + "Z")

    def test_contradicted_rate(self):
        """The fractions of its headers are those of 6400 frames a second."""
        for change in ({"sample_rate": "16 MHz"}, {"n_channels": 4}, {"bits": 1}):
            with self.subTest(change):
                error = self.fail_graph({
                    "sky": {"stage": "mark5b.source", "path": self.path, **self.source, **change},
                    "out": {"stage": "discard", "from": "sky"}})
                self.assertIn("sample.m5b: wants another 'sample_rate' than ", error)
                self.assertTrue(error.endswith("frames a second contradict the fractions of the "
                                               "second that 3 of 3 headers have"), error)


class Made(Recording):
    """Recordings of 5 frames a second."""

    def make(self, n_frames=15, bits=2, n_channels=4, first=(821, 19801), fractions=False,
             **options):
        generator = np.random.default_rng(n_frames)
        payloads = generator.integers(0, 256, (n_frames, 10000), np.uint8)
        frames = []
        for i, payload in enumerate(payloads):
            seconds = first[0] * 86400 + first[1] + i // 5
            frames.append(make_frame(
                payload.tobytes(), i % 5, day=seconds // 86400 % 1000, second=seconds % 86400,
                fraction=2000 * (i % 5) if fractions else 0, **options))
        codes = np.stack([payloads >> shift & (1 << bits) - 1 for shift in range(0, 8, bits)], -1)
        return frames, LEVELS[bits][codes].reshape(-1, n_channels)

    def check(self, frames, values, year=2014, bits=2, source=None, **counts):
        (self.folder / "made.m5b").write_bytes(b"".join(frames))
        array, given, beside = self.read(
            "made.m5b", {"n_channels": values.shape[1], "bits": bits, "year": year,
                         **(source or {})})
        np.testing.assert_array_equal(array, values if values.shape[1] > 1 else values[:, 0])
        self.assertEqual(given, counts)
        return beside

    def fail(self, frames, **source):
        (self.folder / "made.m5b").write_bytes(b"".join(frames))
        return self.fail_graph({
            "sky": {"stage": "mark5b.source", "path": "made.m5b", "n_channels": 4, "year": 2014,
                    **source},
            "out": {"stage": "discard", "from": "sky"}})

    def test_types(self):
        for bits in (1, 2):
            for n_channels in (1, 2, 16):
                with self.subTest(bits=bits, n_channels=n_channels):
                    frames, values = self.make(bits=bits, n_channels=n_channels)
                    beside = self.check(frames, values, bits=bits, packets=15)
                    self.assertEqual(beside["sample_rate"], 5 * 80000 / bits / n_channels)

    def test_axis(self):
        frames, values = self.make(n_channels=2)
        beside = self.check(frames, values, source={"channels": "pol"}, packets=15)
        self.assertEqual([axis["name"] for axis in beside["axes"]], ["time", "pol"])

    def test_frequencies(self):
        frames, values = self.make(n_channels=2)
        beside = self.check(frames, values, source={"frequencies": ["1 MHz", "3 MHz"]}, packets=15)
        self.assertEqual(beside["axes"][1]["table"], [1e6, 3e6])

    def test_beside(self):
        """A PATH.json gives ticks, labels, and samples that are invalid in one channel; a lost frame
        is invalid in all."""
        frames, values = self.make()
        n = len(values) // 15
        second = (56821 - 40587) * 86400 + 19801
        (self.folder / "made.m5b.json").write_text(json.dumps({
            "type": "f32", "layout": "f32[time subband]", "ticks_per_second": [50 * n, 1],
            "ticks_per_sample": 10, "start": -50 * n, "epoch": second + 1, "frequency": 3e6,
            "axes": [{"name": "time", "length": 15 * n},
                     {"name": "subband", "length": 4, "labels": ["a", "b", "c", "d"]}],
            "validity": {"axes": ["subband"], "gaps": [{"lanes": [1, 2], "samples": [5, 7]}]}}))
        values[5:12, 1:3] = values[3 * n:4 * n] = 0
        beside = self.check(frames[:3] + frames[4:], values, packets=14, missing=1)
        self.assertEqual([beside[key] for key in ("ticks_per_sample", "start", "epoch", "frequency")],
                         [10, -50 * n, second + 1, 3e6])
        self.assertEqual(beside["axes"][1]["labels"], ["a", "b", "c", "d"])
        self.assertEqual(beside["validity"]["gaps"], [
            {"lanes": [0, 1, 3, 1], "samples": [3 * n, n]},
            {"lanes": [1, 2], "samples": [5, 7, 3 * n, n]}])

    def test_headers(self):
        """With fractions of seconds, or without their check, or with other bytes of the user."""
        for options in ({"fractions": True}, {"check": 0}, {"user": 0}):
            with self.subTest(options):
                frames, values = self.make(**options)
                self.check(frames, values, packets=15)

    def test_time(self):
        """Days go on over a thousand, and over a year."""
        for first, year, utc in (((821, 19801), 2014, "2014-06-13T05:30:01.000000000Z"),
                                 ((821, 19801), 2011, "2011-09-17T05:30:01.000000000Z"),
                                 ((999, 86399), 2014, "2014-12-08T23:59:59.000000000Z"),
                                 ((22, 86399), 2014, "2014-12-31T23:59:59.000000000Z")):
            with self.subTest(first=first):
                frames, values = self.make(first=first)
                beside = self.check(frames, values, year=year, packets=15)
                self.assertEqual(beside["start_utc"], utc)

    def test_damage(self):
        """Lost, invalid, doubled and damaged frames: the others keep their places."""
        frames, values = self.make()
        n = len(values) // 15
        invalid = frames[5][:16] + FILL
        wrong_time = frames[9][:8] + bytes([frames[9][8] ^ 1]) + frames[9][9:]
        for i in (2, 5, 9, 12):
            values[n * i:n * i + n] = 0
        damaged = [*frames[:2], *frames[3:5], invalid, *frames[6:9], wrong_time, frames[10],
                   frames[10], frames[11], frames[12][:5000], *frames[13:]]
        self.check(damaged, values, source={"sample_rate": "50 kHz"}, packets=13, missing=3,
                   flagged=1, duplicate=1, corrupt=1, truncated=1)

    def test_errors(self):
        frames, _ = self.make()
        for data, source, ending in (
                (frames, {"year": 2013}, "parameter 'year': wants a year that has a day …821 of "
                                         "the MJD, as 2011 or 2014, but is given 2013"),
                (frames, {"n_channels": 3},
                 "parameter 'n_channels': wants a power of two, at most 16 for 2 bits, but is given "
                 "3"),
                (frames, {"n_channels": 32},
                 "parameter 'n_channels': wants a power of two, at most 16 for 2 bits, but is given "
                 "32"),
                (frames[:5], {}, "made.m5b: wants 'sample_rate', which neither its headers nor "
                                 "whole seconds of frames say"),
                (frames, {"sample_rate": "10 kHz"},
                 "made.m5b: wants a greater 'sample_rate' than 10000 Hz, by which no frame of a "
                 "second has a number above 0, as 12 of 15 have"),
                (frames, {"centre_frequency": "1 MHz"},
                 "wants complex samples: give 'first_frequency' for these"),
                ([bytes(20000)], {}, "made.m5b: wants Mark 5B frames, but is given 20000 bytes "
                                     "without any: its first header says no sync word 0xABADDEED"),
                ([make_frame(FILL, 0, check=1)], {},
                 "its first header says a time code that its check contradicts")):
            with self.subTest(ending):
                error = self.fail(data, **source)
                self.assertTrue(error.startswith("graph.yaml:"), error)
                self.assertTrue(error.endswith(ending), error)

    def test_parameters_without_effect(self):
        frames, _ = self.make(n_channels=1)
        (self.folder / "made.m5b").write_bytes(b"".join(frames))
        self.check_no_effect(
            {"sky": {"stage": "mark5b.source", "path": "made.m5b", "n_channels": 1, "year": 2014,
                     "channels": "pol"},
             "out": {"stage": "discard", "from": "sky"}}, "sky", "channels")


if __name__ == "__main__":
    tap.main()
