#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""uvh5.sink: streams whose delays follow a schedule, as pyuvdata reads them: each integration has its
phase centre, with its u, v, w; one that has two is flagged."""
import json
import subprocess

import numpy as np

import graphs
import oracles
import tap
import wavefronts

START, PLACE = "2026-10-01T12:00:00", (6.87, 52.9)
ENU = [[0, 0, 0], [700, 0, 0], [-300, 930, 2], [-10, 20, 0.5]]
PAIRS = np.array([(j, i) for i in range(len(ENU)) for j in range(i + 1)])
FREQUENCY, RATE, INTEGRATION, N = 150e6, 20, 14, 18
# A whole integration has no source. The last change but one is at the begin of an integration; the
# last is none.
SCHEDULE = """2026-10-01T12:00:00Z 01:37:41.2994 33:09:35.134 3C 48
2026-10-01T12:00:03Z none
2026-10-01T12:00:05Z 12:30:49.4 12:23:28 M 87
2026-10-01T12:00:07Z 01:37:41.2994 33:09:35.134 3C 48
2026-10-01T12:00:08Z 01:37:41.2994 33:09:35.134 3C 48
"""
SOURCES = [["01:37:41.2994", "33:09:35.134"], None, ["12:30:49.4", "12:23:28"]]
NAMES = ["3C 48", "none", "M 87"]
CENTRES = np.array([0] * 5 + [1] * 3 + [2] * 2 + [0] * 8)  # at the begin of each integration
MIXED = np.isin(np.arange(N), (4, 7))
# Reads files; the first one becomes a Measurement Set, too.
READ = oracles.ALONE + """
import contextlib, json, sys, warnings
import numpy as np
from astropy.utils import iers
iers.conf.auto_download = False
iers.earth_orientation_table.set(iers.IERS_A.open(sys.argv[1]))
from pyuvdata import UVData
def read(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        uv = UVData.from_file(name, file_type="uvh5", strict_uvw_antpos_check=True)
        uv.check(check_extra=True, run_check_acceptability=True, strict_uvw_antpos_check=True)
    again = uv.copy()
    again.set_lsts_from_time_array()
    again._set_app_coords_helper()
    again.set_uvws_from_antenna_positions()
    far = lambda name: float(np.max(np.abs(getattr(again, name) - getattr(uv, name))))
    np.savez(name + ".npz", data=uv.data_array[:, 0, 0], flags=uv.flag_array[:, 0, 0],
             samples=uv.nsample_array[:, 0, 0], uvw=uv.uvw_array, centres=uv.phase_center_id_array)
    said = {"far": {name: far(name) for name in ("uvw_array", "phase_center_app_ra",
                                                 "phase_center_app_dec", "phase_center_frame_pa")},
            "history": uv.history,
            "catalogue": {str(key): [one["cat_name"], one["cat_type"]]
                          for key, one in uv.phase_center_catalog.items()}}
    return uv, said
found = [read(name) for name in sys.argv[2:]]
with contextlib.redirect_stdout(sys.stderr):
    # What has no source is phased to its zenith.
    found[0][0].write_ms(sys.argv[2] + ".ms", force_phase=True)
back = UVData.from_file(sys.argv[2] + ".ms", file_type="ms", run_check=False,
                        ignore_single_chan=False)
fields = [one["cat_name"] for one in back.phase_center_catalog.values()]
print(json.dumps([[said for _, said in found], fields]))
"""


class Scans(graphs.GraphTest):
    def setUp(self):
        super().setUp()
        folder = oracles.install(oracles.CASACORE)
        if not folder:
            self.skipTest(f"{oracles.CASACORE} can't be installed from a package registry here")
        self.table = str(folder / "astropy_iers_data" / "data" / "finals2000A.all")

    def call(self, schedule=SCHEDULE, **more):
        (self.folder / "scans.txt").write_text(schedule)
        np.save(self.folder / "x.npy", np.ones((N * INTEGRATION, len(ENU)), "c8"))
        stages = {
            "x": {"stage": "file.source", "path": "x.npy", "layout": "[time station]",
                  "sample_rate": RATE, "centre_frequency": FREQUENCY},
            "fringe": {"stage": "fringe", "from": "x", "schedule": "scans.txt",
                       "earth_orientation": self.table},
            "d": {"stage": "delay", "from": {"voltages": "x", "delays": "fringe"}, "range": "0.1 ms"},
            "c": {"stage": "correlate", "from": "d", "integration": INTEGRATION},
            "out": {"stage": "uvh5.sink", "path": "out.uvh5", "spectra": INTEGRATION,
                    "from": {"visibilities": "c", "weights": "c.weights"}, "channel_width": 20,
                    "earth_orientation": self.table, **more}}
        observation = {"telescope": "Toy", "longitude": f"{PLACE[0]} deg", "start": START + "Z",
                       "latitude": f"{PLACE[1]} deg", "polarisations": ["X"]}
        (self.folder / "graph.yaml").write_text(json.dumps(
            {"observation": observation, "stations": {"ABCD"[s]: {"enu": at} for s, at in enumerate(ENU)},
             "stages": stages}, indent=1))
        return subprocess.run([graphs.COMMAND, "run", "--quiet", "graph.yaml"], cwd=self.folder,
                              capture_output=True, text=True, timeout=120)

    def make(self, **more):
        done = self.call(**more)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def read(self, *names):
        """[what is said, arrays [time baseline …]] of each file, and the fields of the Measurement Set
        of the first."""
        said, fields = json.loads(oracles.run(self, oracles.CASACORE, READ, self.table,
                                              *(self.folder / name for name in names)))
        files = []
        for name, one in zip(names, said):
            # 1.2 km times the angle of the Earth in 40 µs, the steps of a Julian date.
            self.assertLess(one["far"].pop("uvw_array"), 1200 * 2 * np.pi / 86400 * 4e-5)
            for far in one["far"].values():
                self.assertLess(far, 1e-8)
            found = np.load(self.folder / f"{name}.npz")
            files.append((one, {key: found[key].reshape(-1, len(PAIRS), *found[key].shape[1:])
                                for key in found}))
        return files, fields

    def check(self, found, part=slice(None)):
        centres, is_mixed = CENTRES[part], MIXED[part]
        np.testing.assert_array_equal(found["centres"], np.broadcast_to(
            centres[:, None], found["centres"].shape))
        np.testing.assert_array_equal(found["flags"], np.broadcast_to(
            is_mixed[:, None], found["flags"].shape))
        np.testing.assert_array_equal(found["samples"], ~found["flags"])
        self.assertTrue((found["data"][is_mixed] == 0).all())

    def test_integrations(self):
        self.make()
        [(said, found)], fields = self.read("out.uvh5")
        self.assertEqual(said["catalogue"], {"0": ["3C 48", "sidereal"], "1": ["none", "unprojected"],
                                             "2": ["M 87", "sidereal"]})
        self.assertIn("An integration in which the phase centre changes is flagged.", said["history"])
        self.assertEqual([name for name in fields if not name.startswith("zenith")],
                         [NAMES[0], NAMES[2]])
        self.check(found)
        # Towards astropy's place of the source, stations are nearer by w.
        middle = (np.arange(N) + 0.5) * INTEGRATION / RATE
        towards = wavefronts.find(self, self.table, START, middle, PLACE, ENU,
                                  [SOURCES[0], SOURCES[2]], True)["topocentric"] * 299792458
        for centre, lead in zip((0, 2), towards):
            rows = CENTRES == centre
            wanted = (lead[PAIRS[:, 1]] - lead[PAIRS[:, 0]]).T[rows]
            off = abs(found["uvw"][rows, :, 2] - wanted).max()
            print(f"# {NAMES[centre]}: w within {off:.1e} m")
            # 1.2 km times 0.001 arcsec and the angle of the Earth in 40 µs.
            self.assertLess(off, 1200 * (5e-9 + 3e-9))
        up = np.array(ENU)[PAIRS[:, 1]] - np.array(ENU)[PAIRS[:, 0]]
        np.testing.assert_allclose(found["uvw"][CENTRES == 1], np.broadcast_to(up, (3, *up.shape)),
                                   rtol=0, atol=1e-6)
        # All stations receive 1. So a visibility has the phase of the delays, which are those of w but
        # for 5 ps a kilometre; in an integration they turn by 1/30 of a turn.
        turn = np.where(CENTRES == 1, 0, FREQUENCY / 299792458)[:, None] * found["uvw"][..., 2]
        off = abs(np.angle(found["data"] * np.exp(2j * np.pi * turn)))[~MIXED].max()
        print(f"# phases within {off:.1e} rad")
        self.assertLess(off, 0.02)
        np.testing.assert_array_equal(found["data"][CENTRES == 1][:-1], 1)

    def test_several_files(self):
        """Numbers of centres are the same in all files; each lists those that it has."""
        self.make(rotate_samples=6, path="out-%i.uvh5")
        listed = [(0, 1), (0, 1, 2), (0,)]
        files, _ = self.read(*(f"out-{i:06}.uvh5" for i in range(3)))
        for i, (said, found) in enumerate(files):
            self.assertEqual({key: name for key, (name, _) in said["catalogue"].items()},
                             {str(centre): NAMES[centre] for centre in listed[i]})
            self.check(found, slice(6 * i, 6 * i + 6))

    def test_before_the_first(self):
        """Delays are 0 there, as where there is no source."""
        done = self.call(schedule=SCHEDULE.splitlines()[3])
        self.assertRegex(done.stderr, "^graph.yaml:.*warning: parameter 'schedule': begins after")
        [(said, found)], _ = self.read("out.uvh5")
        self.assertEqual(said["catalogue"], {"0": ["3C 48", "sidereal"], "1": ["none", "unprojected"]})
        np.testing.assert_array_equal(found["centres"][:, 0], np.arange(N) < 10)
        self.assertFalse(found["flags"].any())

    def test_not_tracked(self):
        self.make(tracked=False)
        [(said, found)], _ = self.read("out.uvh5")
        self.assertEqual(said["catalogue"], {"0": ["unknown", "unprojected"]})
        self.assertFalse(found["flags"].any())
        done = self.call(schedule="2026-10-01T12:00:00Z none", tracked=True)
        self.assertIn("parameter 'tracked': wants a phase centre", done.stderr)


if __name__ == "__main__":
    tap.main()
