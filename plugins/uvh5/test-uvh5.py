#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""uvh5.sink: its files as pyuvdata reads them with its checks on, against a simulated sky."""
import json
import random
import re
import resource
import signal
import subprocess
import time

import numpy as np

import graphs
import oracles
import sky
import tap

READ = oracles.ALONE + """
import json, sys, warnings
warnings.simplefilter("error")
import numpy as np
from astropy.utils import iers
iers.conf.auto_download = False
iers.earth_orientation_table.set(iers.IERS_A.open(sys.argv[2]))
from pyuvdata import UVData
uv = UVData.from_file(sys.argv[1], file_type="uvh5", strict_uvw_antpos_check=True, check_extra=True)
uv.check(check_extra=True, run_check_acceptability=True, strict_uvw_antpos_check=True,
         check_autos=True)
again = uv.copy()
again.set_lsts_from_time_array()
again._set_app_coords_helper()
again.set_uvws_from_antenna_positions()
far = lambda name: float(np.max(np.abs(getattr(again, name) - getattr(uv, name))))
np.savez(sys.argv[3], data=uv.data_array, flags=uv.flag_array, samples=uv.nsample_array,
         frequencies=uv.freq_array, widths=uv.channel_width, windows=uv.flex_spw_id_array,
         products=uv.polarization_array, times=uv.time_array, lst=uv.lst_array,
         seconds=uv.integration_time, first=uv.ant_1_array, second=uv.ant_2_array, uvw=uv.uvw_array,
         angles=uv.telescope.feed_angle, positions=uv.telescope.get_enu_antpos(),
         numbers=uv.telescope.antenna_numbers)
print(json.dumps({
    "far": {name: far(name) for name in ("lst_array", "uvw_array", "phase_center_app_ra",
                                         "phase_center_app_dec", "phase_center_frame_pa")},
    "names": [str(name) for name in uv.telescope.antenna_names], "history": uv.history,
    "feeds": uv.telescope.feed_array.tolist(), "mount": uv.telescope.mount_type[0],
    "telescope": uv.telescope.name, "keywords": uv.extra_keywords,
    "type": uv.phase_center_catalog[0]["cat_type"], "source": uv.phase_center_catalog[0]["cat_name"],
    "epoch": uv.phase_center_catalog[0].get("cat_epoch"),
    "dut1": uv.dut1, "n_times": uv.Ntimes}))
"""

PHASE = oracles.ALONE + """
import sys, warnings
import numpy as np
from astropy import units
from astropy.coordinates import AltAz, SkyCoord
from astropy.time import Time
from astropy.utils import iers
iers.conf.auto_download = False
iers.earth_orientation_table.set(iers.IERS_A.open(sys.argv[2]))
from pyuvdata import UVData
uv = UVData.from_file(sys.argv[1], file_type="uvh5", strict_uvw_antpos_check=True)
l, m = float(sys.argv[3]), float(sys.argv[4])
when = Time(uv.time_array[0], format="jd", scale="utc")
at = SkyCoord(AltAz(az=np.arctan2(l, m) * units.rad, alt=np.arccos(np.hypot(l, m)) * units.rad,
                    obstime=when, location=uv.telescope.location)).icrs
uv.phase(lon=at.ra.rad, lat=at.dec.rad, phase_frame="icrs", cat_name="source")
channel = int(sys.argv[5])
cross = uv.ant_1_array != uv.ant_2_array
print(float(np.max(np.abs(np.angle(uv.data_array[cross, channel])))), int(cross.sum()))
"""

POSITIONS = [[0, 0, 0], [100, 20, -1], [-30, 200, 3], [55, -80, 0.5]]
OBSERVATION = {"telescope": "Toy", "source": "Sky", "observer": "A. Name", "longitude": "6.87 deg",
               "latitude": "52.9 deg", "start": "2026-06-29T01:30:00Z", "polarisations": ["X", "Y"]}
CENTRE = ["05:34:31.97", "22:00:52.1"]


class Sink(graphs.GraphTest):
    def setUp(self):
        super().setUp()
        folder = oracles.install(oracles.PYUVDATA)
        if not folder:
            self.skipTest(f"{oracles.PYUVDATA} can't be installed from a package registry here")
        self.table = folder / "astropy_iers_data" / "data" / "finals2000A.all"

    def describe(self, stages, n_stations=4, **more):
        """Writes the graph with its observation."""
        stations = {"ABCD"[s]: {"enu": POSITIONS[s]} for s in range(n_stations)}
        observation = {key: value for key, value in {**OBSERVATION, **more}.items() if value}
        (self.folder / "graph.yaml").write_text(json.dumps(
            {"observation": observation, "stations": stations, "stages": stages}, indent=1))

    def call(self, *arguments):
        return subprocess.run([graphs.COMMAND, "run", "--quiet", *arguments, "graph.yaml"],
                              cwd=self.folder, capture_output=True, text=True, timeout=120)

    def make(self, stages, **more):
        self.describe(stages, **more)
        done = self.call()
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def refuse(self, expected, stages, **more):
        self.describe(stages, **more)
        done = self.call()
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 1), done.stderr)
        self.assertIn(expected, done.stderr)
        self.assertFalse(list(self.folder.glob("*.uvh5")))

    def source(self, n_stations=4, n_pols=2, **more):
        found = {"stage": "generate", "sample_rate": "2 kHz", "centre_frequency": "150 MHz",
                 "n_subbands": 3, "n_pols": n_pols, "samples": 4000, "seed": 5,
                 "positions": POSITIONS[:n_stations], "source_directions": [[0.2, 0.1]], **more}
        return {key: value for key, value in found.items() if value is not None}

    def stages(self, source, *between, **more):
        """source → … → correlate → uvh5.sink; `between` are stages with one input."""
        stages, last = {"in": source}, "in"
        for i, stage in enumerate(between):
            stages[f"s{i}"] = {**stage, "from": last}
            last = f"s{i}"
        return {**stages, "c": {"stage": "correlate", "from": last, "integration": 500},
                "out": {"stage": "file.sink", "path": "out.uvh5",
                        "from": {"visibilities": "c", "weights": "c.weights"}, "spectra": 500,
                        "earth_orientation": str(self.table), **more}}

    def read(self, name="out.uvh5"):
        text = oracles.run(self, oracles.PYUVDATA, READ, self.folder / name, self.table,
                           self.folder / "read.npz")
        return json.loads(text), np.load(self.folder / "read.npz")

    def expected(self, n_stations=4, n_pols=2, n=4000, integration=500, step=2000, **more):
        """Means of the visibilities, [time baseline subband p q], in double precision."""
        x = sky.voltages(n, 2000, 150e6, 3, n_stations, n_pols, step=step, seed=5,
                         positions=np.array(POSITIONS[:n_stations]),
                         sources=[([0.2, 0.1], 1, 0)], **more)
        x = x.reshape(n // integration, integration, 3, n_stations, n_pols)
        return np.stack([np.einsum("tncp,tncq->tcpq", x[..., i, :], x[..., j, :].conj())
                         for i in range(n_stations) for j in range(i + 1)], 1) / integration

    # ---- what is in a file ----

    def test_values(self):
        """Visibilities, weights, times, places and orientations of a drift scan."""
        self.make(self.stages(self.source()))
        said, found = self.read()
        expected = self.expected()
        n_times, n_baselines = expected.shape[:2]
        # As the file orders them: XX, YY, XY, YX, of the first and the second antenna.
        for k, (p, q) in enumerate([(0, 0), (1, 1), (1, 0), (0, 1)]):
            np.testing.assert_allclose(found["data"][:, :, k].reshape(n_times, n_baselines, 3),
                                       expected[..., p, q], rtol=0, atol=2e-4)
        self.assertEqual(found["products"].tolist(), [-5, -6, -7, -8])
        pairs = [(j, i) for i in range(4) for j in range(i + 1)] * n_times
        self.assertEqual(list(zip(found["first"].tolist(), found["second"].tolist())), pairs)
        self.assertFalse(found["flags"].any())
        self.assertTrue((found["samples"] == 1).all())
        np.testing.assert_array_equal(found["frequencies"], [150e6, 150.002e6, 150.004e6])
        np.testing.assert_array_equal(found["widths"], [2000] * 3)
        middle = 2461220.5 + (1.5 + (0.125 + 0.25 * np.arange(8).repeat(10)) / 3600) / 24
        np.testing.assert_allclose(found["times"], middle, rtol=0, atol=1e-9)
        self.assertTrue((found["seconds"] == 0.25).all())
        np.testing.assert_allclose(found["positions"], POSITIONS, rtol=0, atol=1e-6)
        enu = np.array(POSITIONS)
        # Up is that of the place, so the axes of all stations are parallel.
        np.testing.assert_allclose(found["uvw"], enu[found["second"]] - enu[found["first"]],
                                   rtol=0, atol=1e-6)
        np.testing.assert_allclose(found["angles"], [[0, np.pi / 2]] * 4)
        self.assertEqual((said["names"], said["feeds"][0], said["mount"], said["telescope"]),
                         (list("ABCD"), ["x", "y"], "fixed", "Toy"))
        self.assertEqual((said["type"], said["source"], said["keywords"]),
                         ("unprojected", "Sky", {"OBSERVER": "A. Name"}))
        for name in "phase_center_app_ra", "phase_center_app_dec", "phase_center_frame_pa":
            self.assertLess(said["far"][name], 1e-8)
        # Sidereal time to the step of a Julian date, 40 µs.
        self.assertLess(said["far"]["lst_array"], 2 * np.pi / 86400 * 4e-5)
        self.assertLess(said["far"]["uvw_array"], 1e-9)
        self.assertIn("All 8 integrations are written.", said["history"])
        self.assertIn('"stage": "correlate"', said["history"])

    def test_leap_second(self):
        """The Earth turns evenly over the leap second of the end of 2016."""
        self.make(self.stages(self.source(n_stations=1, n_subbands=1, samples=40000)),
                  n_stations=1, start="2016-12-31T23:59:50Z")
        said, found = self.read()
        self.assertLess(said["far"]["lst_array"], 2 * np.pi / 86400 * 4e-5)
        turned = np.unwrap(found["lst"])
        rate = 2 * np.pi * 1.00273781191135448 / 86400
        np.testing.assert_allclose(turned - turned[0], rate * 0.25 * np.arange(80), rtol=0, atol=1e-9)

    def test_phase_centre(self):
        """u, v, w and apparent places are those that pyuvdata computes."""
        self.make(self.stages(self.source()), phase_centre=CENTRE)
        said, found = self.read()
        # Without an equinox, pyuvdata makes no Measurement Set.
        self.assertEqual((said["type"], said["epoch"]), ("sidereal", 2000))
        for name in "phase_center_app_ra", "phase_center_app_dec", "phase_center_frame_pa":
            self.assertLess(said["far"][name], 1e-8)
        # 200 m times the angle of the Earth in 40 µs.
        self.assertLess(said["far"]["uvw_array"], 200 * 2 * np.pi / 86400 * 4e-5)
        self.assertGreater(np.abs(found["uvw"][found["first"] != found["second"]]).max(), 50)
        self.make(self.stages(self.source(), tracked=False), phase_centre=CENTRE)
        self.assertEqual(self.read()[0]["type"], "unprojected")

    def test_point_source(self):
        """Phased to a source by pyuvdata and astropy, visibilities are real and positive."""
        l, m = 0.31, -0.22
        tone = self.source(n_pols=1, source_directions=None, noise=0, samples=2000, seed=None,
                           tone_frequencies=[150.002e6], tone_directions=[[l, m]])
        self.make(self.stages(tone), polarisations=["X"])
        far, n = oracles.run(self, oracles.PYUVDATA, PHASE, self.folder / "out.uvh5", self.table,
                             l, m, 1).split()
        self.assertEqual(int(n), 24)
        # Refraction and aberration are 0.1 mrad at most: of 100 wavelengths, 6e-2.
        self.assertLess(float(far), 0.1)

    def test_lost(self):
        """What is lost is flagged, and does not lower the means."""
        self.make(self.stages(self.source(invalid=[[2, 500, 500], [1, 1100, 250]])))
        said, found = self.read()
        pairs = np.stack([found["first"], found["second"]], 1)[:10]
        shape = (8, 10, 3, 4)
        flags, samples = found["flags"].reshape(shape), found["samples"].reshape(shape)
        weights = np.ones(shape)
        weights[1, (pairs == 2).any(1)] = 0
        weights[2, (pairs == 1).any(1)] = 0.5
        np.testing.assert_array_equal(samples, weights)
        np.testing.assert_array_equal(flags, weights == 0)
        autos = found["data"].reshape(shape)[2, :, :, 0].real[pairs[:, 0] == pairs[:, 1]]
        np.testing.assert_allclose(autos, 2, atol=0.5)  # noise and source: 1 + 1

    def test_shapes(self):
        """One station, one channel, one polarisation; channels in the transform's order."""
        fft = [{"stage": "fir", "n_channels": 6, "n_taps": 1}, {"stage": "fft"}]
        for what, source, between, more, shape, products in (
                ("one station", {"n_stations": 1, "n_subbands": 1}, [], {}, (8, 1, 4), [-5, -6, -7, -8]),
                ("no axis pol", {"n_pols": None}, [], {"polarisations": ["Y"]}, (80, 3, 1), [-6]),
                ("one pol", {"n_pols": 1}, [], {"polarisations": ["R"]}, (80, 3, 1), [-1]),
                ("circular", {"n_stations": 2}, [], {"polarisations": ["L", "R"]}, (24, 3, 4),
                 [-1, -2, -3, -4]),
                ("no subband", {"n_subbands": None, "samples": 6000}, fft, {}, (20, 6, 4),
                 [-5, -6, -7, -8]),
                ("windows", {"samples": 6000}, fft, {}, (20, 18, 4), [-5, -6, -7, -8])):
            with self.subTest(what):
                stages = self.stages(self.source(**source), *between)
                self.make(stages, n_stations=source.get("n_stations", 4), **more)
                said, found = self.read()
                self.assertEqual((found["data"].shape, found["products"].tolist()), (shape, products))
                self.assertTrue((np.diff(found["frequencies"]) > 0).all())
                self.assertFalse(found["flags"].any())
                windows = 3 if what == "windows" else 1
                self.assertEqual(found["windows"].tolist(), sorted(found["windows"]))
                self.assertEqual(len(set(found["windows"])), windows)

    def test_types(self):
        for kind, out in ("cf32", "cf64"), ("ci8", "cf32"), ("ci8", "ci64"):
            with self.subTest(f"{kind} to {out}"):
                stages = self.stages(self.source(type=kind))
                stages["c"]["output"] = out
                stages["raw"] = {"stage": "file.sink", "from": "c", "path": "raw.npy",
                                 "layout": "[time baseline subband pol pol']"}
                self.make(stages)
                data = self.read()[1]["data"]
                raw = np.load(self.folder / "raw.npy")
                if out == "ci64":
                    raw = raw[..., 0] + 1j * raw[..., 1]
                self.assertEqual(data.dtype, np.complex64 if out == "cf32" else np.complex128)
                np.testing.assert_allclose(data[:, :, 2], (raw[..., 1, 0] / 500).reshape(80, 3),
                                           rtol=1e-6)

    def test_given(self):
        """UT1 from a parameter, without weights."""
        stages = self.stages(self.source())
        del stages["out"]["earth_orientation"], stages["out"]["spectra"]
        day = next(line for line in self.table.read_text().splitlines() if line[7:12] == "61220")
        dut1, x, y = float(day[58:68]), float(day[18:27]), float(day[37:46])
        stages["out"].update({"from": "c", "dut1": f"{dut1} s",
                              "polar_motion": [f"{x} arcsec", f"{y} arcsec"]})
        self.make(stages)
        said, found = self.read()
        self.assertEqual(said["dut1"], dut1)
        np.testing.assert_allclose(found["data"][0, 0, 0].real, 1000, atol=200)

    # ---- several files, and files that are not whole ----

    def test_rotation(self):
        self.make(self.stages(self.source(), path="v-%i.uvh5", rotate_samples=3))
        whole = self.expected()
        for i, n in enumerate((3, 3, 2)):
            said, found = self.read(f"v-{i:06}.uvh5")
            self.assertIn(f"All {n} integrations are written.", said["history"])
            np.testing.assert_allclose(found["data"][:, :, 1].reshape(n, 10, 3),
                                       whole[3 * i:3 * i + n, ..., 1, 1], rtol=0, atol=2e-4)
            self.assertAlmostEqual(found["times"][0], 2461220.5 + 0.0625 + (0.75 * i + 0.125) / 86400,
                                   delta=1e-9)

    def start_graph(self, n):
        """Starts a run of `n` integrations; returns it when its file is one of HDF5."""
        for path in self.folder.glob("out.uvh5*"):  # of a run before
            path.unlink()
        self.describe(self.stages(self.source(samples=500 * n)))
        process = subprocess.Popen([graphs.COMMAND, "run", "--quiet", "graph.yaml"], cwd=self.folder,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        partial = self.folder / "out.uvh5.partial"
        begin = b""
        # Before its first page is written, it is none.
        while process.poll() is None and begin != b"\x89HDF":
            time.sleep(0.001)
            if partial.exists():
                with partial.open("rb") as file:
                    begin = file.read(4)
        return process

    def count(self, flags, n):
        """The integrations that are there: all before one that may be there in part."""
        flags = flags.reshape(n, -1)
        n_begun = int((~flags.all(1)).sum())
        n_whole = int((~flags.any(1)).sum())
        self.assertFalse(flags[:n_whole].any())
        self.assertTrue(flags[n_begun:].all())
        self.assertIn(n_begun - n_whole, (0, 1))
        return n_whole

    def test_kill(self):
        """Files of killed processes have all integrations up to a moment; the rest is flagged."""
        seed = random.randrange(1 << 32)
        print("# seed", seed)
        chance = random.Random(seed)
        n, n_parts = 4000, 0
        for _ in range(3):
            process = self.start_graph(n)
            # The other pages of the header follow the first one.
            time.sleep(chance.uniform(0.05, 0.5))
            process.kill()
            process.communicate()
            whole = process.returncode == 0
            said, found = self.read("out.uvh5" if whole else "out.uvh5.partial")
            there = self.count(found["flags"], n)
            n_parts += 0 < there < n
            some = min(there, 8)
            np.testing.assert_allclose(found["data"][:some * 10, :, 0].reshape(some, 10, 3),
                                       self.expected()[:some, ..., 0, 0], rtol=0, atol=2e-4)
            self.assertTrue((found["data"][there * 10 + 10:] == 0).all())
            told = re.search(r"(\d+) of 4000 integrations are written; the others", said["history"])
            self.assertLessEqual(int(told[1]) if told else n, there)
        self.assertGreater(n_parts, 0)

    def test_early_end(self):
        """An interrupted run has room that is not used, and says so."""
        process = self.start_graph(10000)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        sidecar = json.loads((self.folder / "out.uvh5.json").read_text())
        said, found = self.read()
        there = self.count(found["flags"], 10000)
        self.assertGreater(there, 0)
        self.assertIn(f"{there} of 10000 integrations are written, for the stream had no more; the "
                      "others are flagged.", said["history"])
        self.assertEqual(sidecar["interrupted"], True, errors)

    def test_full_disk(self):
        """A lack of room is told before the first integration."""
        self.describe(self.stages(self.source(samples=2_000_000)))
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000000, 1000000))

        done = subprocess.run([graphs.COMMAND, "run", "--quiet", "graph.yaml"], cwd=self.folder,
                              capture_output=True, text=True, timeout=120, preexec_fn=limit)
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 1), done.stderr)
        self.assertIn("out.uvh5.partial: has no room for all integrations", done.stderr)
        self.assertFalse((self.folder / "out.uvh5").exists())

    # ---- errors ----

    def test_errors(self):
        good = self.stages(self.source())

        def changed(node, **more):
            made = {**good, node: {**good[node], **more}}
            made[node] = {key: value for key, value in made[node].items() if value is not None}
            return made

        short = self.folder / "short.txt"
        lines = self.table.read_text().splitlines(True)
        short.write_text("".join(lines[:20]))
        bad = self.folder / "bad.txt"
        bad.write_text(lines[0] + lines[1][:60] + "x" + lines[1][61:])
        for expected, stages, more in (
                ("parameter 'dut1': wants UT1 - UTC to", changed("out", earth_orientation=None), {}),
                ("wants to be the only one", changed("out", dut1=0.1), {}),
                ("dut1", changed("out", earth_orientation=None, dut1=0.95), {}),
                ("wants x and y, but is given 1",
                 changed("out", earth_orientation=None, dut1=0.1, polar_motion=[0]), {}),
                ("its days are 41684 to 41703", changed("out", earth_orientation=str(short)), {}),
                ("bad.txt:2: wants UT1 - UTC", changed("out", earth_orientation=str(bad)), {}),
                ("knows it to", good, {"start": "2027-09-01T00:00:00Z"}),
                ("1972", good, {"start": "1970-01-01T00:00:00Z"}),
                ("wants a stream that knows its UTC", good, {"start": None}),
                ("wants the name of the telescope", good, {"telescope": None}),
                ("wants polarisations X and Y, or R and L, but is given 'H'", good,
                 {"polarisations": ["H", "V"]}),
                ("but is given X and R", good, {"polarisations": ["X", "R"]}),
                ("parameter 'spectra': wants the number of spectra", changed("out", spectra=None), {}),
                ("wants the input 'weights'", changed("out", **{"from": "c"}), {}),
                ("wants a phase centre", changed("out", tracked=True), {}),
                ("parameter 'rotate_samples': wants to be given", changed("in", samples=None), {}),
                ("has no parameter 'rotate_bytes'",
                 changed("out", rotate_bytes=100000, path="v-%i.uvh5"), {}),
                ("of at least 1 ms", changed("c", integration=1), {}),
                ("a weight is", changed("out", spectra=499), {})):
            with self.subTest(expected):
                self.refuse(expected, stages, **more)
        self.describe(good)
        graph = json.loads((self.folder / "graph.yaml").read_text())
        graph["stations"]["C"] = {}
        (self.folder / "graph.yaml").write_text(json.dumps(graph))
        self.assertIn("wants the position of station 'C'", self.call().stderr)


if __name__ == "__main__":
    tap.main()
