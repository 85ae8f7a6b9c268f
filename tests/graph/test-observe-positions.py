#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""generate, pointing and delay take the positions of stations from the graph."""
import os
import pathlib
import subprocess
import tempfile
import unittest

import numpy as np

import tap

COMMAND = os.environ["CORNERTURN"]
ENU = {"A": [0, 0, 0], "B": [100, 20, -1], "C": [-40, 3.5, 2]}
PLACE = "observation: { longitude: 6 deg, latitude: 50.5 deg, height: 300 m }\n"
# Metres: positions around the Earth are rounded to 10^-9 m, four times. In turns at 150 MHz that is
# far below the rounding of single precision, of which a sky of amplitude 1 has some.
TOLERANCE = 1e-5


def stations(names="ABC"):
    return "stations:\n" + "".join(f"  {name}: {{ enu: {ENU[name]} }}\n" for name in names)


def positions(names="ABC"):
    return f"positions: {[ENU[name] for name in names]}"


def sky(more=""):
    return ("  sky: { stage: generate, sample_rate: 1 MHz, centre_frequency: 150 MHz, samples: 64, "
            "noise: 0, tone_frequencies: [150.1 MHz], tone_amplitudes: [1], "
            f"tone_directions: [[0.3, -0.2]]{more} }}\n")


def weights(more=""):
    return ("  w: { stage: pointing, first_frequency: 150 MHz, channel_width: 1 MHz, n_channels: 4, "
            f"directions: [[0.3, -0.2]]{more} }}\n")


def sink(of):
    return f"  out: {{ stage: file.sink, from: {of}, path: out.npy }}\n"


class Positions(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = pathlib.Path(temporary.name).resolve()

    def command(self, graph, *arguments):
        (self.root / "g.yaml").write_text(graph)
        return subprocess.run([COMMAND, *arguments, "g.yaml"], capture_output=True, text=True,
                              check=False, timeout=60, cwd=self.root)

    def array(self, graph):
        result = self.command(graph, "run", "--strict", "--quiet")
        self.assertEqual(result.returncode, 0, result.stderr)
        return np.load(self.root / "out.npy")

    def check_same(self, graph, wanted):
        got, want = self.array(graph), self.array(wanted)
        self.assertEqual(got.shape, want.shape)
        self.assertGreater(abs(want).max(), 0.2)
        self.assertLess(abs(got - want).max(), TOLERANCE)

    def test_generate(self):
        """Positions and their number come from the graph; labels choose stations."""
        self.check_same(PLACE + stations() + "stages:\n" + sky() + sink("sky"),
                        "stages:\n" + sky(", " + positions()) + sink("sky"))
        self.check_same(PLACE + stations() + "stages:\n" + sky(", labels: { station: [C, A] }") +
                        sink("sky"), "stages:\n" + sky(", " + positions("CA")) + sink("sky"))

    def test_pointing(self):
        """Of the graph without an input, of the stations of the input with one."""
        self.check_same(PLACE + stations() + "stages:\n" + weights() + sink("w"),
                        "stages:\n" + weights(", " + positions()) + sink("w"))
        spectra = "  s: { stage: fft, from: sky, axis: time, length: 8 }\n"
        with_input = "  w: { stage: pointing, from: s, directions: [[0.3, -0.2]]"
        self.check_same(PLACE + stations() + "stages:\n" + sky(", labels: { station: [C, B] }") +
                        spectra + with_input + " }\n" + sink("w"),
                        "stages:\n" + sky(", " + positions("CB")) + spectra + with_input + ", " +
                        positions("CB") + " }\n" + sink("w"))

    def test_delay(self):
        """Delays by the geometry align a tone, whose samples are then the same in all stations."""
        aligned = self.array(PLACE + stations() + "stages:\n" + sky() +
                             "  s: { stage: fft, from: sky, axis: time, length: 8 }\n"
                             "  d: { stage: delay, from: s, direction: [[0.3, -0.2]] }\n" + sink("d"))
        for station in (1, 2):
            self.assertLess(abs(aligned.take(station, 2) - aligned.take(0, 2)).max(),
                            8 * 2 * np.pi * 1e5 * 110 / 299792458 + TOLERANCE)

    def test_frame(self):
        """Without the place of the observation, the origin is the middle of the stations: an offset
        of all of them leaves the weights as they are. With it, that is the origin."""
        corner = [3986504.9, 419009.5, 4948410.3]
        text = "stations:\n" + "".join(
            f"  {name}: {{ position: {[at + d for at, d in zip(corner, offset)]} }}\n"
            for name, offset in (("A", (-30, 0, 0)), ("B", (30, 0, 0))))
        w = self.array(text + "stages:\n" + weights() + sink("w"))
        self.assertLess(abs(w[:, 0, 0] - w[:, 0, 1].conj()).max(), TOLERANCE)

    def test_disagree(self):
        """Positions given twice may differ by a millimetre; else a warning names both places."""
        for more, message in (
                (", positions: [[0, 0, 0], [100, 20.0009, -1], [-40, 3.5, 2]]", None),
                (", positions: [[0, 0, 0], [100, 20.002, -1], [-40, 3.5, 2]]",
                 "parameter 'positions': puts station 1 (counted from 0) at 100.000, 20.002, -1.000 m, "
                 "but `stations` of the graph puts 'B' at 100.000, 20.000, -1.000 m (east, north, "
                 "up); the former is used"),
                (", spiral: 50 m", "parameter 'spiral': puts station 0 (counted from 0) at")):
            with self.subTest(more):
                graph = PLACE + stations() + "stages:\n" + weights(more) + sink("w")
                result = self.command(graph, "check")
                self.assertEqual(result.returncode, 0, result.stderr)
                if message:
                    self.assertRegex(result.stderr, r"^g\.yaml:\d+:\d+: node 'w': warning: ")
                    self.assertIn(message, result.stderr)
                else:
                    self.assertEqual(result.stderr, "")
                self.assertEqual(self.command(graph, "check", "--strict").returncode,
                                 1 if message else 0)

    def test_number(self):
        """Also where the input has no stations, the graph tells their number."""
        graph = (PLACE + stations() + "stages:\n" + sky() +
                 "  s: { stage: fft, from: sky, axis: time, length: 8 }\n"
                 "  v: { stage: correlate, from: s, integration: 8 }\n"
                 "  w: { stage: pointing, from: v, directions: [[0.3, -0.2]], positions: "
                 "[[0, 0, 0], [100, 20, -1]] }\n" + sink("w"))
        result = self.command(graph, "check")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("node 'w': warning: parameter 'positions': gives 2 stations, but `stations` of "
                      "the graph gives 3", result.stderr)

    def test_errors(self):
        without = PLACE + "stations: { A: { enu: [0, 0, 0] }, B: {} }\nstages:\n"
        for graph, message in (
                ("stages:\n" + weights(), "parameter 'positions': wants the stations' positions (or "
                 "positions_file, spiral, or `stations` of the graph), but is given none"),
                (without + weights(), "but is given none: station 'B' of the graph has no position"),
                (PLACE + stations() + "stages:\n" + weights(", positions: [[0, 0, 0]]"),
                 "node 'w': it has 1 station, but the graph has 3"),
                (PLACE + stations() + "stages:\n" + weights(", n_stations: 2"),
                 "parameter 'positions': wants 2 stations, but `stations` of the graph gives 3")):
            with self.subTest(message):
                result = self.command(graph + sink("w"), "check")
                self.assertEqual(result.returncode, 1)
                self.assertIn(message, result.stderr)


if __name__ == "__main__":
    tap.main()
