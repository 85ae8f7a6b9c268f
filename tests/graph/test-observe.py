#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a graph says of the observation and its stations comes with every stream, to every file."""
import json
import math
import os
import pathlib
import subprocess
import tempfile
import unittest

import numpy

import tap

COMMAND = os.environ["CORNERTURN"]
OBSERVATION = """observation:
  telescope: "Ring of Dishes"
  source: 3C 123
  project: 17
  observer: nobody
  longitude: 6 deg
  latitude: 50.5 deg
  height: 300 m
  phase_centre: ["05:34:31.97", 22.0145 deg]
  start: "2026-11-23T12:00:00Z"
  polarisations: [X, Y]
stations:
  A: { enu: [0, 0, 0] }
  B: { enu: [100 m, 0, 0], feeds: [45 deg, 135 deg] }
  C: { position: [3.9e6, 4.1e5, 4.9e6] }
"""
SKY = """stages:
  sky: {{ stage: generate, type: ci8, sample_rate: 1 MHz, centre_frequency: 150 MHz, samples: 64,
         n_stations: {n}, n_pols: 2{more} }}
"""


class Observe(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = pathlib.Path(temporary.name).resolve()

    def command(self, *arguments, graph):
        (self.root / "g.yaml").write_text(graph)
        return subprocess.run([COMMAND, *arguments, "g.yaml"], capture_output=True, text=True,
                              check=False, timeout=60, cwd=self.root)

    def run_graph(self, graph):
        result = self.command("run", graph=graph)
        self.assertEqual(result.returncode, 0, result.stderr)

    def sidecar(self, name):
        return json.loads((self.root / f"{name}.json").read_text())

    def labels(self, name):
        return {axis["name"]: axis["labels"] for axis in self.sidecar(name)["axes"]
                if "labels" in axis}

    def refused(self, message, observation=OBSERVATION, n=3, more=""):
        result = self.command("check", graph=observation + SKY.format(n=n, more=more))
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn(message, result.stderr)
        self.assertRegex(result.stderr, r"^\S*(g|stations)\.yaml:\d+:\d+: ")

    def test_files(self):
        self.run_graph(OBSERVATION + SKY.format(n=3, more="") + """
  a: { stage: file.sink, from: sky, path: voltages.npy }
  v: { stage: correlate, from: sky, integration: 16 }
  b: { stage: file.sink, from: v, path: visibilities.npy }
  w: { stage: file.sink, from: v.weights, path: weights.npy }
  p: { stage: power, from: sky, stokes: IQUV }
  c: { stage: file.sink, from: p, path: powers.npy }
""")
        first = self.sidecar("voltages.npy")["observation"]
        for name in ("visibilities.npy", "weights.npy", "powers.npy"):
            self.assertEqual(self.sidecar(name)["observation"], first)
            self.assertEqual(self.sidecar(name)["start_utc"], "2026-11-23T12:00:00.000000000Z")
        self.assertEqual({key: first[key] for key in ("telescope", "source", "project", "observer")},
                         {"telescope": "Ring of Dishes", "source": "3C 123", "project": "17",
                          "observer": "nobody"})
        self.assertAlmostEqual(first["phase_centre"][0], math.radians(83.63320833333333), delta=1e-12)
        self.assertAlmostEqual(first["phase_centre"][1], math.radians(22.0145), delta=1e-12)
        # The ellipsoid WGS 84, in its parametric form.
        a, b = 6378137, 6356752.314245179
        reduced = math.atan(b / a * math.tan(math.radians(50.5)))
        from_axis = a * math.cos(reduced) + 300 * math.cos(math.radians(50.5))
        want = [from_axis * math.cos(math.radians(6)), from_axis * math.sin(math.radians(6)),
                b * math.sin(reduced) + 300 * math.sin(math.radians(50.5))]
        stations = {station["name"]: station for station in first["stations"]}
        for got in (first["position"], stations["A"]["position"]):
            self.assertLess(math.dist(got, want), 1e-6)
        east = [y - x for x, y in zip(want, stations["B"]["position"])]
        self.assertLess(math.dist(east, [-100 * math.sin(math.radians(6)),
                                         100 * math.cos(math.radians(6)), 0]), 1e-6)
        self.assertEqual(stations["B"]["feeds"], [math.radians(45), math.radians(135)])
        self.assertEqual(stations["C"]["position"], [3.9e6, 4.1e5, 4.9e6])

        self.assertEqual(self.labels("voltages.npy"), {"station": ["A", "B", "C"],
                                                       "pol": ["X", "Y"]})
        self.assertEqual(self.labels("visibilities.npy"),
                         {"baseline": ["A", "B", "C"], "pol": ["X", "Y"], "pol'": ["X", "Y"]})
        self.assertEqual(self.labels("powers.npy"), {"station": ["A", "B", "C"],
                                                     "stokes": ["I", "Q", "U", "V"]})

    def test_chain_of_files(self):
        """What a file says, no graph has to repeat, and a second file says the same."""
        self.run_graph(OBSERVATION + SKY.format(n=3, more="") + """
  v: { stage: correlate, from: sky, integration: 16 }
  b: { stage: file.sink, from: v, path: first.npy }
""")
        self.run_graph("""stages:
  a: { stage: file.source, path: first.npy }
  b: { stage: file.sink, from: a, path: second.npy }
""")
        first, second = self.sidecar("first.npy"), self.sidecar("second.npy")
        for text in first, second:
            del text["generation"], text["origin"]
        self.assertEqual(first, second)

        # The graph changes what it says itself.
        self.run_graph("""observation: { telescope: other }
stages:
  a: { stage: file.source, path: first.npy }
  b: { stage: file.sink, from: a, path: third.npy }
""")
        third = self.sidecar("third.npy")["observation"]
        self.assertEqual(third.pop("telescope"), "other")
        first["observation"].pop("telescope")
        self.assertEqual(third, first["observation"])

    def test_stations_of_a_node(self):
        sky = SKY.format(n=1, more=", labels: { station: [C] }") + """
  two: { stage: generate, type: ci8, sample_rate: 1 MHz, samples: 64, n_stations: 2, n_pols: 2,
         centre_frequency: 150 MHz, labels: { station: [B, A], pol: [R, L] } }
  all: { stage: stack, from: [sky, two], axis: station }
  out: { stage: file.sink, from: all, path: all.npy }
"""
        self.run_graph(OBSERVATION + sky)
        self.assertEqual(self.labels("all.npy")["station"], ["C", "B", "A"])
        # Two inputs with one name: the stack has no names.
        self.run_graph(OBSERVATION + sky.replace("[B, A]", "[B, C]"))
        self.assertNotIn("station", self.labels("all.npy"))

    def test_labels_of_weights(self):
        """A stage that only looks at other streams is a source, too."""
        for given in ("from: spectra", "first_frequency: 150 MHz"):
            self.run_graph(OBSERVATION + SKY.format(n=3, more="") + f"""
  filter: {{ stage: fir, from: sky, n_channels: 2, n_taps: 2 }}
  spectra: {{ stage: fft, from: filter }}
  end: {{ stage: discard, from: spectra }}
  w: {{ stage: pointing, {given}, spiral: 10 m, n_stations: 3, directions: [[0, 0], [0.1, 0]],
       labels: {{ beam: [zenith, east] }} }}
  out: {{ stage: file.sink, from: w, path: w.npy }}
""")
            self.assertEqual(self.labels("w.npy"), {"station": ["A", "B", "C"],
                                                    "beam": ["zenith", "east"]})

    def test_stations_from_a_file(self):
        place, stations = OBSERVATION.split("stations:\n")
        (self.root / "stations.yaml").write_text(stations.replace("\n  ", "\n")[2:])
        self.run_graph(place + "stations: stations.yaml\n" + SKY.format(n=3, more="") + """
  a: { stage: file.sink, from: sky, path: voltages.npy }
""")
        self.assertEqual(self.labels("voltages.npy")["station"], ["A", "B", "C"])
        (self.root / "stations.yaml").write_text("A: { enu: [1, 2] }\n")
        self.refused("stations.yaml:1:11: 'A': key 'enu': wants 3 numbers, but is given 2",
                     place + "stations: stations.yaml\n")
        (self.root / "stations.yaml").unlink()
        self.refused("'stations': ", place + "stations: stations.yaml\n")

    def test_start_of_a_file(self):
        """The graph may give the epoch of a file that says none."""
        numpy.save(self.root / "x.npy", numpy.zeros(8, "f4"))
        self.run_graph("""observation: { start: "2026-11-23T12:00:00Z" }
stages:
  x: { stage: file.source, path: x.npy, layout: "f32[time]", sample_rate: 4 Hz }
  y: { stage: file.sink, from: x, path: y.npy }
""")
        self.assertEqual(self.sidecar("y.npy")["start_utc"], "2026-11-23T12:00:00.000000000Z")

    def test_check(self):
        result = self.command("check", graph=OBSERVATION + SKY.format(n=3, more=""))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("    1 MHz samples, 64 us from 2026-11-23T12:00:00.000000000Z to "
                      "2026-11-23T12:00:00.000064000Z, centre 150 MHz\n"
                      "    station A B C, pol X Y\n", result.stdout)
        result = self.command("check", graph=OBSERVATION + SKY.format(n=3, more="") + """
  filter: { stage: fir, from: sky, n_channels: 4, n_taps: 2 }
  spectra: { stage: fft, from: filter, shift: true }
  one: { stage: select, from: spectra, channel: 1 }
  end: { stage: discard, from: one }
""")
        for channels in ("channel 149.5 MHz to 150.25 MHz in steps of 250 kHz\n",
                         "channel 149.75 MHz\n"):
            self.assertIn(", " + channels, result.stdout)

    def test_endless(self):
        """A stream without duration says so."""
        result = self.command("check", graph="""stages:
  sky: { stage: generate, sample_rate: 1 MHz }
  out: { stage: file.sink, from: sky, path: x.npy }
""")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("    1 MHz samples, without a known end\n", result.stdout)

    def test_errors(self):
        for wrong, right, message in (
                ("telescop: x", "telescope: \"Ring of Dishes\"",
                 "g.yaml:2:3: 'observation' has no key 'telescop'; did you mean 'telescope'?"),
                ("longitude: many", "longitude: 6 deg",
                 "g.yaml:6:14: 'observation': key 'longitude': wants an angle"),
                ("latitude: 91 deg", "latitude: 50.5 deg", "'observation': key 'latitude': wants"),
                ("", "  latitude: 50.5 deg\n",
                 "'observation': key 'longitude': wants longitude and latitude, but is given one"),
                ("position: [1, 2, 3]\n  latitude:", "latitude:",
                 "'observation': key 'position': wants no longitude and latitude beside it"),
                ("phase_centre: [1 deg]", "phase_centre: [\"05:34:31.97\", 22.0145 deg]",
                 "wants right ascension and declination, but is given 1 values"),
                ("phase_centre: [1 deg, 91 deg]", "phase_centre: [\"05:34:31.97\", 22.0145 deg]",
                 "wants a declination from -90 to 90 deg, but is given '91 deg'"),
                ("phase_centre: [\"25:00:00\", 1 deg]",
                 "phase_centre: [\"05:34:31.97\", 22.0145 deg]",
                 "wants an angle such as '83.63 deg' or '05:34:31.97', but is given '25:00:00'"),
                ("start: noon", "start: \"2026-11-23T12:00:00Z\"",
                 "'observation': key 'start': wants a time as 2022-06-29T01:30:00Z"),
                ("polarisations: [\"X X\", Y]", "polarisations: [X, Y]",
                 "wants names without spaces, but is given 'X X'"),
                ("A: north", "A: { enu: [0, 0, 0] }",
                 "'A': wants { position: [x, y, z] } or { enu: [east, north, up] }, but is given"),
                ("A: { enu: [0, 0, 0], position: [1, 2, 3] }", "A: { enu: [0, 0, 0] }",
                 "'A': key 'enu': wants no position beside it"),
                ("A: { feeds: [1 deg] }", "A: { enu: [0, 0, 0] }",
                 "'A': key 'feeds': wants 2 numbers, but is given 1"),
                ("\"A B\": {}", "A: { enu: [0, 0, 0] }",
                 "'stations' wants names without spaces, but is given 'A B'"),
                ("A: { enu: [.nan, 0, 0] }", "A: { enu: [0, 0, 0] }", "'A': key 'enu': wants"),
        ):
            with self.subTest(wrong=wrong):
                self.assertIn(right, OBSERVATION)
                self.refused(message, OBSERVATION.replace(right, wrong))
        self.refused("g.yaml:1:14: 'observation' wants a mapping", "observation: [1]\n")
        self.refused("'A': key 'enu': wants the place of the observation",
                     "stations: { A: { enu: [1, 2, 3] } }\n", n=1)

    def test_errors_of_nodes(self):
        self.refused("node 'sky': it has 2 stations, but the graph has 3: name those that it has, "
                     "`labels: { station: [NAME, …] }`", n=2)
        for labels, message in (
                ("{ station: [A] }", "'labels' wants 2 names along 'station', but is given 1"),
                ("{ station: [A, D] }", "its station 'D' is not among the stations of the graph"),
                ("{ station: [A, \"B C\"] }", "'labels' wants names without spaces"),
                ("{ beam: [A, B] }", "'labels' wants axes of its stream other than time, but is "
                                     "given 'beam'"),
                ("{ time: [A, B] }", "'labels' wants axes of its stream other than time"),
                ("[A, B]", "'labels' wants { AXIS: [NAME, …], … }, but is given a list of 2"),
                ("{ station: A }", "'labels' wants { AXIS: [NAME, …], … }"),
                ("{ station: [[A], B] }", "'labels' wants { AXIS: [NAME, …], … }"),
                ("{}", "'labels' wants { AXIS: [NAME, …], … }")):
            with self.subTest(labels):
                self.refused(f"node 'sky': {message}", n=2, more=f", labels: {labels}")
        result = self.command("check", graph=OBSERVATION + SKY.format(n=3, more="") +
                              "  p: { stage: power, from: sky, labels: { pol: [X, Y] } }\n")
        self.assertIn("node 'p': `labels` are for sources, but 'power' has inputs", result.stderr)


if __name__ == "__main__":
    tap.main()
