#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""fringe: delays against astropy, and what follows from them in delay, correlate and uvh5.sink."""
import json
import re
import subprocess

import numpy as np

import graphs
import oracles
import tap
import wavefronts

FREQUENCY, START = 150e6, "2026-10-01T12:00:00"
NORTH, SOUTH = (6.87, 52.9), (21.44, -30.71)
ENU = [[0, 0, 0], [70e3, 0, 0], [-30e3, 93e3, 200], [-10, 20, 0.5]]
# 0.1 rad at 150 MHz; and by how much the model of the stage differs from that of the oracle: the
# potential of the Sun, and squares of velocities, 1e-8 of a delay each.
WANTED, MODEL = 0.1 / (2 * np.pi * FREQUENCY), 2e-11
SOURCES = {"3C 48": ["01:37:41.2994", "33:09:35.134"], "Cen A": ["13:25:27.6", "-43:01:08.8"],
           "pole": ["02:31:49", "89:15:50"], "Sun": ["12:33:00", "-02:30:00"]}
SCHEDULE = """# the first source is of the north
2026-10-01T12:00:00Z  01:37:41.2994 33:09:35.134 3C 48
\t2026-10-01T12:00:03Z none   # on the way
2026-10-01T12:00:04Z 201.365deg -43:01:08.8 Centaurus A
"""


READ = """
import json, os, sys
os.environ.pop("XDG_CACHE_HOME", None)
os.environ.pop("XDG_CONFIG_HOME", None)
from pyuvdata import UVData
from astropy.utils import iers
iers.conf.auto_download = False
uv = UVData.from_file(sys.argv[1], file_type="uvh5", run_check=False)
centre = uv.phase_center_catalog[0]
print(json.dumps([centre["cat_type"], centre["cat_name"], centre["cat_lon"], centre["cat_lat"],
                  uv.Ntimes, abs(uv.uvw_array).max()]))
"""


def bound(turns):
    """The error of a phase that delay gives for delays in two rows, as its page says, in radians."""
    return 2 * np.pi * (2**-25 + 3 * 2**-50 * turns) + 8 * 2**-24


class FringeTest(graphs.GraphTest):
    def setUp(self):
        super().setUp()
        folder = oracles.install(oracles.PYUVDATA)
        if not folder:
            self.skipTest(f"{oracles.PYUVDATA} can't be installed from a package registry here")
        self.table = str(folder / "astropy_iers_data" / "data" / "finals2000A.all")

    def oracle(self, seconds, sources, place=NORTH, topocentric=False):
        return wavefronts.find(self, self.table, START, seconds, place, ENU, sources, topocentric)

    def graph(self, stages, place=NORTH, n_stations=len(ENU), **more):
        observation = {"telescope": "Toy", "longitude": f"{place[0]} deg",
                       "latitude": f"{place[1]} deg", "start": START + "Z", "polarisations": ["X"],
                       **more}
        observation = {key: value for key, value in observation.items() if value is not None}
        stations = {"ABCD"[s]: {"enu": ENU[s]} for s in range(n_stations)}
        (self.folder / "graph.yaml").write_text(json.dumps(
            {"observation": observation, "stations": stations, "stages": stages}, indent=1))

    def call(self):
        return subprocess.run([graphs.COMMAND, "run", "--quiet", "graph.yaml"], cwd=self.folder,
                              capture_output=True, text=True, timeout=240)

    def make(self, stages, warning="^$", **more):
        self.graph(stages, **more)
        done = self.call()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, warning)

    def fringe(self, **more):
        found = {"stage": "fringe", "from": "x", "earth_orientation": self.table, **more}
        return {key: value for key, value in found.items() if value is not None}

    def source(self, array, rate, **more):
        np.save(self.folder / "x.npy", array.astype("c8"))
        return {"stage": "file.source", "path": "x.npy", "layout": "[time station]",
                "sample_rate": rate, "centre_frequency": FREQUENCY, **more}

    def tracked(self, array, rate, block=None, integration=1, warning="^$", more={}, **fringe):
        """The array after delay, [time station], and the visibilities of it."""
        blocks = {"block": {"time": block}} if block else {}
        self.make({"x": self.source(array, rate, **blocks), "fringe": self.fringe(**fringe),
                   "d": {"stage": "delay", "from": {"voltages": "x", "delays": "fringe"},
                         "range": "0.4 ms"},
                   "y": {"stage": "file.sink", "from": "d", "path": "y.npy", "layout": "[time station]"},
                   "c": {"stage": "correlate", "from": "d", "integration": integration},
                   "v": {"stage": "file.sink", "from": "c", "path": "v.npy", "layout":
                         "[time baseline]"}, **more}, warning)
        return np.load(self.folder / "y.npy"), np.load(self.folder / "v.npy")


class Delays(FringeTest):
    def test_against_astropy(self):
        """Over an hour, for baselines of 100 km."""
        for place in (NORTH, SOUTH):
            found = self.oracle(np.arange(0, 3601, 60), list(SOURCES.values()), place, True)
            stages = {"x": {"stage": "generate", "sample_rate": "1 Hz", "samples": 3601,
                            "centre_frequency": FREQUENCY, "n_stations": len(ENU), "noise": 1,
                            "seed": 1}}
            for i, source in enumerate(SOURCES.values()):
                stages[f"f{i}"] = self.fringe(phase_centre=source, interval="60 s")
                stages[f"o{i}"] = {"stage": "file.sink", "from": f"f{i}", "path": f"{i}.npy",
                                   "layout": "[time end station]"}
            stages["sink"] = {"stage": "discard", "from": "x"}
            self.make(stages, place=place)
            for i, name in enumerate(SOURCES):
                with self.subTest(source=name, place=place):
                    delays = np.load(self.folder / f"{i}.npy")
                    self.assertEqual(delays.shape, (61, 2, len(ENU)))
                    self.assertTrue((delays[1:, 0] == delays[:-1, 1]).all())
                    off = abs(delays[:, 0] - found["delays"][i]).max()
                    print(f"# {name}, {place}: {off:.1e} s")
                    self.assertLess(off, min(MODEL, WANTED))
                    # Towards the apparent place of the reference, the rest is constant: what clocks
                    # that are synchronised in the rotating frame differ.
                    rest = delays[:, 0] - found["topocentric"][i].T
                    self.assertLess(abs(rest - rest.mean(axis=0)).max(), WANTED)
                    self.assertLess(abs(rest).max(), 1e-9)

    def test_an_hour(self):
        """A simulated source keeps the phase 0 on every baseline."""
        rate, duration = 10, 3600
        delays = self.oracle(np.arange(-2, duration + 3), [SOURCES["3C 48"]])["delays"][0]
        t = np.arange(rate * duration) / rate
        # Cubic between seconds: the error is far below a picosecond.
        at, u = np.floor(t).astype(int) + 2, (t - np.floor(t))[:, None]
        p = [delays[at + k] for k in (-1, 0, 1, 2)]
        tau = p[1] + u / 2 * (p[2] - p[0] + u * (2 * p[0] - 5 * p[1] + 4 * p[2] - p[3] + u * (
            3 * (p[1] - p[2]) + p[3] - p[0])))
        # A station receives at t what the reference receives later, by the delay of that moment.
        slope = np.gradient(tau, 1 / rate, axis=0)
        tau = tau * (1 + slope)
        x = np.exp(2j * np.pi * ((FREQUENCY * tau) % 1 + 1.3 * (t[:, None] + tau)))
        _, v = self.tracked(x, rate, integration=rate, phase_centre=SOURCES["3C 48"])
        off = abs(np.angle(v)).max()
        print(f"# {off:.4f} rad")
        self.assertEqual(v.shape, (duration, 10))
        self.assertLess(off, 0.1)


class Steps(FringeTest):
    def test_no_step(self):
        """From one spectrum to the next, the phase changes as steadily at updates as elsewhere."""
        rate, interval, n, longest = 100, 2, 1500, 3.5e-4
        most = (7.2922e-5)**2 * longest  # s/s²: of a baseline that turns with the Earth
        x, first = np.ones((n, len(ENU))), None
        for block in (7, 64, 200, n):
            y, _ = self.tracked(x, rate, block, phase_centre=SOURCES["3C 48"],
                                interval=f"{interval} s")
            turn = y[1:] / y[:-1]
            step = abs(np.angle(turn[1:] / turn[:-1]))
            wanted = 2 * np.pi * FREQUENCY * most * interval / rate + 4 * bound(FREQUENCY * longest)
            self.assertLess(step.max(), wanted)
            self.assertGreater(abs(np.angle(turn)).max(), 10 * wanted)
            first = y if first is None else first
            self.assertEqual(y.tobytes(), first.tobytes(), block)


class Schedule(FringeTest):
    def write(self, text):
        (self.folder / "scans.txt").write_text(text)
        return "scans.txt"

    def test_scans(self):
        """Delays change at the first sample that is not before the scan."""
        rate, n = 16, 100
        y, _ = self.tracked(np.ones((n, len(ENU))), rate, schedule=self.write(SCHEDULE))
        found = self.oracle(range(8), [SOURCES["3C 48"], ["13:25:27.6", "-43:01:08.8"]])["delays"]
        t = np.arange(n) / rate
        tau = np.array([[np.interp(t, range(8), of[:, s]) for s in range(len(ENU))] for of in found])
        wanted = np.where(t < 3, tau[0], np.where(t < 4, 0, tau[1])).T
        off = abs(np.angle(y / np.exp(-2j * np.pi * ((FREQUENCY * wanted) % 1))))
        self.assertLess(off.max(), 2 * np.pi * FREQUENCY * MODEL + bound(FREQUENCY * 3.5e-4))
        self.assertTrue((y[48:64] == 1).all())
        described = json.loads((self.folder / "v.npy.json").read_text())["observation"]
        self.assertNotIn("phase_centre", described)
        self.assertEqual([scan.get("source") for scan in described["scans"]],
                         ["3C 48", None, "Centaurus A"])
        self.assertAlmostEqual(described["scans"][2]["phase_centre"][0], np.radians(201.365), 14)

    def test_scans_of_files(self):
        """A file of visibilities gives the scans to the next one."""
        self.tracked(np.ones((100, len(ENU))), 16, schedule=self.write(SCHEDULE))
        self.graph({"v": {"stage": "file.source", "path": "v.npy"},
                    "w": {"stage": "file.sink", "from": "v", "path": "w.npy"}})
        self.assertEqual(self.call().stderr, "")
        first, second = (json.loads((self.folder / name).read_text())["observation"]
                         for name in ("v.npy.json", "w.npy.json"))
        self.assertEqual(first, second)
        text = (self.folder / "v.npy.json").read_text()
        for bad in ("[1, 1, 1]", "[1, 0]", "[1, 0, 0]", "[1, -1, 2]", "[1, 0, 1000000000000000001]"):
            (self.folder / "v.npy.json").write_text(re.sub(r'("begin" *: *)\[[^]]*\]', rf"\1{bad}", text))
            self.assertIn("wants 'begin' of each scan, seconds and a fraction of a second",
                          self.call().stderr)

    def test_before_the_first(self):
        y, _ = self.tracked(np.ones((100, len(ENU))), 16, schedule=self.write(
            SCHEDULE.splitlines()[3]), warning="^graph.yaml:.*: node 'fringe': warning: parameter "
            "'schedule': begins after the stream: before, delays are 0 and follow no source\n$")
        self.assertTrue((y[:64] == 1).all())
        self.assertFalse((y[64:, 1] == 1).any())

    def test_errors(self):
        name = "2026-10-01T12:00:00Z 1:00:00 2:00:00 a\n"
        for text, wanted in (
                ("# nothing\n", "scans.txt: wants a scan, but is given none"),
                ("\nnow none", "scans.txt:2:1: wants the UTC of a scan, such as 2026-11-23T12:00:00Z, "
                 "but is given 'now'"),
                ("  2026-10-01T12:00:00.5Z none", "scans.txt:1:3: wants a scan that begins at a whole "
                 "multiple of 'interval', as 2026-10-01T12:00:00.000000000Z or "
                 "2026-10-01T12:00:01.000000000Z, but is given '2026-10-01T12:00:00.5Z'"),
                (name + name, "scans.txt:2:1: wants a scan that begins after that of the line before"),
                ("2026-10-01T12:00:00Z", "scans.txt:1:21: wants a right ascension, "
                 "hours:minutes:seconds or an angle such as 83.6deg, but is given nothing"),
                ("2026-10-01T12:00:00Z 2:00:00 90:00:01 a", "scans.txt:1:30: wants a declination of at "
                 "most 90 degrees, degrees:minutes:seconds or an angle such as 22deg, but is given "
                 "'90:00:01'"),
                ("2026-10-01T12:00:00Z 2:00:00 9:00:01", "scans.txt:1:37: wants the name of the source, "
                 "but is given nothing"),
                ("2026-10-01T12:00:00Z none of all", "scans.txt:1:27: wants no more after 'none', but is "
                 "given 'of'"),
                ("\xe9", "scans.txt:1:1: wants the UTC of a scan"),
                ("x" + 70 * "\xe9", "is given 'x" + 59 * "\xe9" + "'"),
                ("2026-10-01T12:00:00Z none\r2026-10-01T12:00:03Z none", "scans.txt:1:26: wants no control "
                 "characters but tabs, but is given U+000D"),
                ("# old\r2026-10-01T12:00:03Z none", "scans.txt:1:6: wants no control characters"),
                (name + "2026-10-01T12:00:03Z 1:00:00 2:00:00 a\x1b[31m", "scans.txt:2:39: wants no control "
                 "characters but tabs, but is given U+001B"),
                ("2026-10-01T12:00:00Z 1:00:0x10 2:00:00 a", "scans.txt:1:22: wants a right ascension"),
        ):
            with self.subTest(text=text):
                self.graph({"x": self.source(np.ones((9, 4)), 1),
                            "fringe": self.fringe(schedule=self.write(text)),
                            "o": {"stage": "discard", "from": "fringe"}})
                done = self.call()
                self.assertEqual(done.returncode, 1)
                self.assertRegex(done.stderr, r"^graph.yaml:\d+:\d+: node 'fringe': parameter "
                                 "'schedule': ")
                self.assertIn(wanted, done.stderr)
        (self.folder / "scans.txt").write_bytes(b"\xff\n")
        self.assertIn("scans.txt: wants text in UTF-8", self.call().stderr)
        (self.folder / "scans.txt").unlink()
        (self.folder / "scans.txt").mkdir()
        self.assertRegex(self.call().stderr, "scans.txt")

    def test_no_scan(self):
        self.graph({"x": self.source(np.ones((9, 4)), 1),
                    "fringe": self.fringe(schedule=self.write("2027-01-01T00:00:00Z none")),
                    "o": {"stage": "discard", "from": "fringe"}})
        self.assertRegex(self.call().stderr, "warning: parameter 'schedule': has no scan that begins "
                         "before the stream ends\n$")


class Unknown(FringeTest):
    def test_pipe(self):
        """Of a stream whose length is not known, delays end with it."""
        rng = np.random.default_rng(3)
        x = (rng.normal(size=(1000, 4)) + 1j * rng.normal(size=(1000, 4))).astype("c8")
        y, _ = self.tracked(x, 100, phase_centre=SOURCES["3C 48"])
        text = json.loads((self.folder / "graph.yaml").read_text())
        text["stages"]["x"] = {"stage": "file.source", "path": "-", "format": "raw",
                               "layout": "cf32[time station]", "shape": [-1, 4], "sample_rate": 100,
                               "centre_frequency": FREQUENCY}
        (self.folder / "graph.yaml").write_text(json.dumps(text))
        done = subprocess.run([graphs.COMMAND, "run", "--quiet", "graph.yaml"], cwd=self.folder,
                              input=x.tobytes(), capture_output=True, timeout=240)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(np.load(self.folder / "y.npy").tobytes(), y.tobytes())


class Pipeline(FringeTest):
    def test_tracking(self):
        """pipelines/tracking.yaml writes visibilities that are phased to the source, also where the
        phase centre is that of the stage."""
        for settings, name, place in (
                ([], "3C 48", [24.4220808, 33.1597594]),
                (["--set", 'fringe.phase_centre=["13:25:27.6", "10 deg"]'], "unknown",
                 [201.365, 10])):
            done = subprocess.run(
                [graphs.COMMAND, "run", "--quiet", *settings,
                 graphs.SOURCE_ROOT / "pipelines" / "tracking.yaml"],
                cwd=self.folder, capture_output=True, text=True, timeout=240)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            read = json.loads(oracles.run(self, oracles.PYUVDATA, READ,
                                          self.folder / "tracking.uvh5"))
            self.assertEqual(read[:2] + read[4:5], ["sidereal", name, 10])
            self.assertLess(abs(np.degrees(read[2:4]) - place).max(), 1e-6)
            (self.folder / "tracking.uvh5").unlink()


class Errors(FringeTest):
    def test_errors(self):
        centre = {"phase_centre": SOURCES["3C 48"]}
        for fringe, more, wanted in (
                ({}, {}, "parameter 'phase_centre': wants right ascension and declination (or "
                 "'schedule', or 'observation: { phase_centre: […, …] }' of the graph), but is given "
                 "none"),
                ({"phase_centre": ["1:0:0"]}, {}, "'phase_centre': wants right ascension and "
                 "declination, but is given 1"),
                ({"phase_centre": ["1:00:00", "91 deg"]}, {}, "'phase_centre': wants a declination of "
                 "at most 90 degrees"),
                ({"phase_centre": ["soon", "9 deg"]}, {}, "'phase_centre': "),
                ({**centre, "schedule": "x.npy"}, {}, "'phase_centre': wants to be the only one, but is "
                 "given beside 'schedule'"),
                ({**centre, "earth_orientation": None}, {}, "'dut1': wants UT1 - UTC to 0.005 s"),
                ({**centre, "earth_orientation": None, "dut1": 0}, {"start": "1971-01-01T00:00:00Z"},
                 "'dut1': wants a stream that begins in 1972 or later, but is given 1971-01-01"),
                (centre, {"start": "2050-01-01T00:00:00Z"}, "wants a table with the modified Julian "
                 "date"),
                (centre, {"start": None}, "input 'stream' wants a stream that knows its UTC: give the "
                 "graph 'observation: { start: … }'"),
                ({**centre, "interval": "0.1 ms"}, {}, "'interval'"),
        ):
            with self.subTest(wanted=wanted):
                self.graph({"x": self.source(np.ones((9, 4)), 1), "fringe": self.fringe(**fringe),
                            "o": {"stage": "discard", "from": "fringe"}}, **more)
                done = self.call()
                self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 1), done.stderr)
                self.assertRegex(done.stderr, r"^graph.yaml:\d+:\d+: ")
                self.assertIn(wanted, done.stderr)

    def test_station_without_position(self):
        self.graph({"x": self.source(np.ones((9, 4)), 1),
                    "fringe": self.fringe(phase_centre=SOURCES["3C 48"]),
                    "o": {"stage": "discard", "from": "fringe"}})
        text = json.loads((self.folder / "graph.yaml").read_text())
        text["stations"]["C"] = {}
        (self.folder / "graph.yaml").write_text(json.dumps(text, indent=1))
        self.assertIn("node 'fringe': wants the positions of 4 stations: give the graph 'stations', each "
                      "with 'position' or 'enu'; station 'C' has none", self.call().stderr)


if __name__ == "__main__":
    tap.main()
