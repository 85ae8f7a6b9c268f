#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""hdf5.source: what hdf5.sink writes comes back; files of others; damaged files."""
import json
import os
import pathlib
import random
import subprocess
import time

import pipeline  # this import comes first: with sanitizers it starts the program again

import numpy as np

import graphs
import oracles
import tap

TYPES = {"ci4": "u1", "ci8": "i1", "ci16": "i2", "ci32": "i4", "ci64": "i8", "cf16": "f2",
         "cf32": "f4", "cf64": "f8", "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8", "u8": "u1",
         "u32": "u4", "f16": "f2", "f32": "f4", "f64": "f8"}

# What PATH.json says of a stream, whatever the file.
FACTS = ("type", "layout", "axes", "ticks_per_second", "ticks_per_sample", "start", "epoch",
         "frequency", "observation")

OBSERVATION = {
    "observation": {"telescope": "LOFAR", "source": "Crab pulsar", "project": "P1", "observer": "É. B.",
                    "polarisations": ["X", "Y"], "start": "2022-06-29T01:30:00Z",
                    "phase_centre": ["05:34:31.97", "22:00:52.1"],
                    "position": [3826577.1, 461022.9, 5064892.7]},
    "stations": {"A": {"position": [1.5, 2.25, 3.125], "feeds": ["45 deg", "-45 deg"]},
                 "B": {"position": [10, 20, 30]}, "C": {}}}


class Case(graphs.GraphTest):
    def run_all(self, stages, **more):
        """Runs a graph with more than stages, without a word."""
        (self.folder / "graph.yaml").write_text(json.dumps({**more, "stages": stages}))
        done = subprocess.run([graphs.COMMAND, "run", "--quiet", "graph.yaml"], cwd=self.folder,
                              capture_output=True, text=True, timeout=120)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def facts(self, name):
        beside = json.loads((self.folder / f"{name}.json").read_text())
        return {key: beside.get(key) for key in FACTS}

    def read(self, source, layout=None):
        """The array that a source gives, with what is beside it."""
        out = {"stage": "file.sink", "from": "in", "path": "read.npy"}
        if layout:
            out["layout"] = layout
        self.run_graph({"in": {"stage": "hdf5.source", **source}, "out": out})
        return np.load(self.folder / "read.npy"), json.loads((self.folder / "read.npy.json").read_text())

    def make(self, script, *arguments):
        return oracles.run(self, oracles.H5PY, "import h5py, numpy, sys\n" + script, *arguments)

    def fail_source(self, source):
        return self.fail_graph({"in": {"stage": "hdf5.source", **source},
                                "out": {"stage": "discard", "from": "in"}})


class Own(Case):
    """Files of hdf5.sink."""

    def check(self, stages, of, **more):
        """Writes a stream to both kinds of files, and reads the HDF5 one, with and without what is
        beside it: the copies are the first array, bit for bit, and say the same."""
        self.run_all({**stages, "array": {"stage": "file.sink", "from": of, "path": "want.npy"},
                      "h5": {"stage": "file.sink", "from": of, "path": "a.h5"}}, **more)
        wanted = (self.folder / "want.npy").read_bytes()
        for name in ("beside", "alone"):
            with self.subTest(name):
                if name == "alone":
                    (self.folder / "a.h5.json").unlink()
                self.run_all({"in": {"stage": "file.source", "path": "a.h5"},
                              "out": {"stage": "file.sink", "from": "in", "path": "copy.npy"}})
                self.assertEqual((self.folder / "copy.npy").read_bytes(), wanted)
                self.assertEqual(self.facts("copy.npy"), self.facts("want.npy"))
        return self.facts("want.npy")

    def test_types(self):
        """All types, odd lengths and a single sample; every byte has every value in the long ones."""
        generator = np.random.default_rng(71)
        print("# seed 71")
        for kind, part in TYPES.items():
            for n_samples, n_channels in ((1, 1), (1, 7), (311, 5)):
                with self.subTest(kind, n=n_samples):
                    n = n_samples * n_channels * (2 if kind[0] == "c" and kind != "ci4" else 1)
                    data = generator.bytes(n * np.dtype(part).itemsize)
                    (self.folder / "in.raw").write_bytes(data)
                    self.check({"in": {"stage": "file.source", "path": "in.raw",
                                       "layout": f"{kind}[time channel]",
                                       "shape": [n_samples, n_channels], "sample_rate": "1 kHz",
                                       "start": -5}}, "in")

    def test_facts(self):
        """Names, places and directions; coordinates that are relative to another axis, and pairs."""
        sky = {"stage": "generate", "type": "cf32", "sample_rate": "1 MHz/7", "n_subbands": 3,
               "centre_frequency": "100 MHz", "n_stations": 3, "n_pols": 2, "start": 7, "samples": 512}
        facts = self.check({"in": sky}, "in", **OBSERVATION)
        self.assertEqual(facts["observation"]["polarisations"], ["X", "Y"])
        self.assertEqual(len(facts["observation"]["stations"]), 3)
        self.assertIn("start", facts["observation"])
        spectra = {"in": sky, "fir": {"stage": "fir", "from": "in", "n_channels": 8, "n_taps": 4},
                   "fft": {"stage": "fft", "from": "fir"}}
        facts = self.check(spectra, "fft", **OBSERVATION)
        channel = next(axis for axis in facts["axes"] if axis["name"] == "channel")
        self.assertEqual(channel["parent"], "subband")
        facts = self.check({**spectra, "x": {"stage": "correlate", "from": "fft", "integration": 4}}, "x",
                           **OBSERVATION)
        baseline = next(axis for axis in facts["axes"] if axis["name"] == "baseline")
        self.assertEqual((baseline["labels"], baseline["pairs"]), (["A", "B", "C"], "all"))

    def test_tables(self):
        """Coordinates without even steps; a frequency of the stream; no clock; no time."""
        np.save(self.folder / "in.npy", np.arange(12, dtype="f4").reshape(3, 4))
        source = {"stage": "file.source", "path": "in.npy", "layout": "[time channel]"}
        facts = self.check({"in": {**source, "frequencies": [1e6, 2e6, 4e6, 8.1e6]}}, "in")
        self.assertEqual(facts["axes"][1]["table"], [1e6, 2e6, 4e6, 8.1e6])
        facts = self.check({"in": {**source, "start": 5}}, "in")
        self.assertEqual((facts["ticks_per_second"], facts["ticks_per_sample"], facts["start"]), (None, 1, 5))
        self.check({"in": {**source, "layout": "[station channel]"}}, "in")
        facts = self.check({"in": {**source, "sample_rate": "10 Hz", "ticks_per_sample": 3,
                                   "first_frequency": "50 MHz", "epoch": "2022-06-29T01:30:00Z"}}, "in")
        self.assertEqual((facts["frequency"], facts["epoch"]), (50e6, 1656466200))

    def write_gaps(self):
        """An array of two stations, each with samples that are invalid."""
        samples = np.arange(1, 81, dtype="f4").reshape(40, 2)
        samples[3:6, 0] = samples[38:, 1] = 0
        np.save(self.folder / "in.npy", samples)
        (self.folder / "in.npy.json").write_text(json.dumps({
            "type": "f32", "layout": "f32[time station]",
            "axes": [{"name": "time", "length": 40}, {"name": "station", "length": 2}],
            "ticks_per_second": [100, 1], "ticks_per_sample": 1, "start": 0, "epoch": 1656466200,
            "validity": {"axes": ["station"], "gaps": [{"lanes": [0, 1], "samples": [3, 3]},
                                                       {"lanes": [1, 1], "samples": [38, 2]}]}}))
        return samples, {"stage": "file.source", "path": "in.npy"}

    def test_gaps(self):
        samples, source = self.write_gaps()
        self.run_all({"in": source, "h5": {"stage": "hdf5.sink", "from": "in", "path": "a.h5"}})
        array, beside = self.read({"path": "a.h5"})
        np.testing.assert_array_equal(array, samples)
        self.assertEqual(beside["validity"]["invalid_samples"], [3, 2])
        self.assertEqual(beside["validity"]["gaps"], [{"lanes": [0, 1], "samples": [3, 3]},
                                                      {"lanes": [1, 1], "samples": [38, 2]}])

    def test_sequence(self):
        """Files of one stream, named in any order; samples of one that is missing are invalid."""
        samples, source = self.write_gaps()
        self.run_all({"in": source, "h5": {"stage": "hdf5.sink", "from": "in", "path": "s-%i.h5",
                                           "rotate_samples": 13}})
        names = sorted(path.name for path in self.folder.glob("s-*.h5"))
        self.assertEqual(len(names), 4)
        array, beside = self.read({"path": names[::-1]})
        np.testing.assert_array_equal(array, samples)
        self.assertEqual(beside["validity"]["invalid_samples"], [3, 2])
        (self.folder / names[1]).unlink()
        array, beside = self.read({"path": "s-*.h5"})
        np.testing.assert_array_equal(array[:13], samples[:13])
        np.testing.assert_array_equal(array[13:26], 0)
        np.testing.assert_array_equal(array[26:], samples[26:])
        self.assertEqual(beside["validity"]["invalid_samples"], [16, 15])

    def test_killed(self):
        """Of a run that is killed at any time, the file has whole samples, the first of the stream."""
        seed = random.randrange(1 << 32)
        print("# seed", seed)
        generator = random.Random(seed)
        sky = {"stage": "generate", "sample_rate": "1 MHz", "centre_frequency": "100 MHz", "type": "ci16",
               "n_stations": 3, "n_pols": 2}
        for trial in range(6):
            process = self.start({"in": sky, "out": {"stage": "hdf5.sink", "from": "in", "path": "k.h5"}})
            partial = self.folder / "k.h5.partial"
            while not partial.exists() or partial.stat().st_size == 0:
                self.assertIsNone(process.poll())
                time.sleep(0.001)
            time.sleep(1.5 if trial == 0 else generator.uniform(0, 1.5))
            process.kill()
            process.communicate()
            self.run_graph({"in": {"stage": "hdf5.source", "path": "k.h5.partial"},
                            "out": {"stage": "file.sink", "from": "in", "path": "read.raw"}})
            array = np.fromfile(self.folder / "read.raw", "i2").reshape(-1, 3 * 2 * 2)
            print(f"# trial {trial}: {len(array)} samples")
            self.run_graph({"in": {**sky, "samples": max(len(array), 1)},
                            "out": {"stage": "file.sink", "from": "in", "path": "want.raw"}})
            wanted = np.fromfile(self.folder / "want.raw", "i2").reshape(array.shape[0] or 1, -1)
            np.testing.assert_array_equal(array, wanted[:len(array)])
            self.assertTrue(trial > 0 or len(array) > 0)
            partial.unlink()

    def test_shortened(self):
        """A file that becomes shorter while it is read is an error, not samples of zeros."""
        self.run_all({"in": {"stage": "generate", "samples": 400000, "sample_rate": "1 MHz"},
                      "out": {"stage": "hdf5.sink", "from": "in", "path": "a.h5"}})
        self.write({"in": {"stage": "hdf5.source", "path": "a.h5", "block": {"time": 1000}},
                    "out": {"stage": "file.sink", "from": "in", "path": "-", "format": "raw"}})
        with subprocess.Popen([graphs.COMMAND, "run", "--quiet", "graph.yaml"], cwd=self.folder,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
            run.stdout.read(1000)
            os.truncate(self.folder / "a.h5", 100000)
            _, errors = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 1)
        self.assertRegex(errors.decode(), "a.h5: wants [0-9]+ bytes, but is given 100000: the file has "
                                          "become shorter")

    def test_damage(self):
        """Files that end early, and files that contradict themselves: there is one message. (Bytes
        that are changed within the library's own structures are its affair.)"""
        self.run_all({"in": {"stage": "generate", "sample_rate": "1 MHz", "n_stations": 3, "n_pols": 2,
                             "n_subbands": 2, "samples": 50, "centre_frequency": "1 MHz"},
                      "fir": {"stage": "fir", "from": "in", "n_channels": 4, "n_taps": 2},
                      "fft": {"stage": "fft", "from": "fir"},
                      "x": {"stage": "correlate", "from": "fft", "integration": 2},
                      "out": {"stage": "hdf5.sink", "from": "x", "path": "a.h5"}}, **OBSERVATION)
        (self.folder / "a.h5.json").unlink()
        whole = (self.folder / "a.h5").read_bytes()
        for n in (0, 7, 100, 4096, len(whole) - 1):
            (self.folder / "bad.h5").write_bytes(whole[:n])
            self.assertRegex(self.fail_source({"path": "bad.h5"}),
                             r"bad\.h5: wants an HDF5 file: (unable|file signature|truncated)")
        for change, words in (
                ("data.attrs['layout'] = 'cf32[time'", "wants 'layout' beside it, for the axes"),
                ("data.attrs['layout'] = 'cf32[time channel]'", "wants the 6 axes of the dataset"),
                ("data.attrs['layout'] = 'ci8[time subband channel baseline pol pol\\']'",
                 "wants elements as 'ci8[time"),
                ("data.attrs['layout'] = 'cf32[time channel channel baseline pol pol\\']'", "twice"),
                ("data.attrs['layout'] = 'cf32[time time:2 channel baseline pol pol\\']'",
                 "slowest first"),
                ("data.attrs['ticks_per_second'] = [0, 1]", "wants the attribute ticks_per_second"),
                ("data.attrs['ticks_per_second'] = 5", "wants the attribute ticks_per_second"),
                ("del data.attrs['ticks_per_sample']", "with ticks_per_sample and start"),
                ("data.attrs['ticks_per_sample'] = 1.9", "ticks_per_sample and start, all integers"),
                ("data.attrs['start'] = 0.5", "ticks_per_sample and start, all integers"),
                ("data.attrs['epoch'] = 2.5", "wants the attribute epoch as an integer"),
                ("data.attrs['epoch'] = '2022-06-29'", "wants the attribute epoch as an integer"),
                ("f['channel_coordinate'].attrs['parent'] = 'beam'", "but is given 'beam'"),
                ("f['channel_coordinate'].attrs['parent'] = 'channel'", "but is given 'channel'"),
                ("del f['channel_coordinate']; f['channel_coordinate'] = [1.0]; "
                 "f['channel_coordinate'].attrs.update({'units': 'Hz', 'parent': 'subband'})",
                 "wants 8 coordinates of axis 'channel'"),
                ("f['subband'][0] = numpy.nan", "wants numbers as coordinates of axis 'subband'"),
                ("f['subband'].attrs['parent'] = 'pol'; f['pol_coordinate'] = [1.0, 2.0]; "
                 "f['pol_coordinate'].attrs['units'] = 'm'", "wants 4 coordinates of axis 'subband'"),
                ("f['baseline'][2] = 'A'", "wants two names with a space between them"),
                ("del f['observation/feeds']", "position and feeds of the group observation"),
                ("del f['observation/position']; f['observation/position'] = [1.0]",
                 "position and feeds of the group observation"),
                ("del f['data']; f.create_group('data'); f['u'] = 1; f['v'] = 1",
                 "has several: channel_coordinate, observation/feeds")):
            with self.subTest(change):
                (self.folder / "bad.h5").write_bytes(whole)
                self.make(f"with h5py.File(sys.argv[1], 'r+') as f:\n  data = f['data']\n  {change}",
                          self.folder / "bad.h5")
                message = self.fail_source({"path": "bad.h5"})
                self.assertIn(words, message)
                self.assertIn("bad.h5", message)


CHUNKED = """
with h5py.File("c.h5", "w") as f:
    values = numpy.random.default_rng(5).standard_normal((4, 33, 3))
    data = f.create_dataset("beam/power", data=values.astype(">f8"), chunks=(2, 10, 3), compression="gzip",
                            shuffle=True)
    for k, (name, scale, units) in enumerate((
            ("channel", 100 + numpy.arange(4) ** 2, "MHz"), ("time", numpy.arange(33) * 0.5, "s"),
            ("stokes", numpy.array([b"I", b"Q ", b"U"]), None))):
        f["beam/" + name] = scale
        if units:
            f["beam/" + name].attrs["units"] = units
        f["beam/" + name].make_scale(name)
        data.dims[k].attach_scale(f["beam/" + name])
    numpy.save("want.npy", values)
"""
TIMES = """
with h5py.File(sys.argv[1], "w") as f:
    f["time"] = numpy.load(sys.argv[2])
    f["time"].attrs["units"] = sys.argv[3]
    f["time"].make_scale("time")
    f["power"] = numpy.zeros((len(f["time"]), 2), "f4")
    f["power"].dims[0].attach_scale(f["time"])
    f["power"].dims[1].label = "channel"
"""
XARRAY = """
import sys, numpy, xarray
power = xarray.DataArray(
    numpy.arange(12, dtype="f4").reshape(4, 3), dims=("time", "channel"), name="power",
    coords={"time": numpy.datetime64("2022-06-29T01:30:00", "ns") + numpy.arange(4) * 250000000,
            "channel": ("channel", numpy.array([1e6, 2e6, 3e6]), {"units": "Hz"})})
power.to_dataset().to_netcdf(sys.argv[1], engine="h5netcdf")
"""
PLAIN = """
with h5py.File("p.h5", "w") as f:
    numpy.random.seed(1)
    values = numpy.random.randint(0, 65536, (9, 2, 3)).astype("u2")
    f["a"] = values
    f["b"] = values.astype("i4")
    f["z"] = numpy.arange(6, dtype="f4").reshape(3, 2)
    f["pair"] = numpy.array([(1.5, 2), (3, 4)], dtype=[("imag", ">f4"), ("real", ">f4")])
    f["bool"] = numpy.zeros(3, bool)
    f["u8"] = numpy.zeros(3, "u8")
    f["scalar"] = 1.0
    f["none"] = numpy.zeros((3, 0), "f4")
    f["label"] = values
    for k, name in enumerate(("time", "pol", "channel")):
        f["label"].dims[k].label = name
    f["wrong"] = values
    f["wrong"].dims[0].label = "Time of day"
    f["wrong"].dims[1].label = f["wrong"].dims[2].label = "x"
    f.create_dataset("huge", (1 << 50, 1 << 20), "f4", chunks=(1, 1024))
    numpy.save("want.npy", values)
"""


class Other(Case):
    """Files of others."""

    def test_scales(self):
        """A dataset in a group, in chunks, compressed, of the other byte order, time not slowest."""
        self.make(f"import os; os.chdir({str(self.folder)!r})\n" + CHUNKED)
        wanted = np.load(self.folder / "want.npy").transpose(1, 0, 2)
        array, beside = self.read({"path": "c.h5", "block": {"time": 7}}, "[time channel stokes]")
        np.testing.assert_array_equal(array, wanted, strict=True)
        axes = {axis["name"]: axis for axis in beside["axes"]}
        self.assertEqual(axes["channel"]["table"], [100e6, 101e6, 104e6, 109e6])
        self.assertEqual((axes["channel"]["unit"], axes["stokes"]["labels"]), ("Hz", ["I", "Q", "U"]))
        self.assertEqual((beside["sample_rate"], beside["start"], beside.get("epoch")), (2, 0, None))

    def test_times(self):
        """The clock that times tell, of h5py and of xarray; a parameter that contradicts it."""
        for units, values, rate, start in (
                ("s", np.arange(9) * 0.1 + 5, 10, 5),
                ("milliseconds since 2022-06-29 01:30:00", np.arange(7) * 125, 8, 1656466200),
                ("days since 2022-06-29", np.arange(1000) / 86400 / 3 + 0.25, 3, 1656460800 + 21600),
                ("seconds since 2022-06-29T01:30:00.25Z", np.arange(2) * 7 - 1, 1 / 7, 1656466199.25),
                ("hours since 1950-01-01 00:00:00", np.arange(3), 1 / 3600, -631152000),
                ("fathoms", np.arange(5), None, None), ("s", np.arange(5) ** 2, None, None),
                ("s", np.full(5, np.nan), None, None), ("s", -np.arange(5), None, None),
                ("s", np.arange(3) * 1e300, None, None), ("s since once", np.arange(3), None, None)):
            with self.subTest(units=units, step=values[1]):
                np.save(self.folder / "times.npy", values)
                self.make(TIMES, self.folder / "t.h5", self.folder / "times.npy", units)
                _, beside = self.read({"path": "t.h5"})
                if rate is None:
                    self.assertNotIn("ticks_per_second", beside)
                    continue
                self.assertAlmostEqual(beside["sample_rate"] / rate, 1, delta=1e-15)
                ticks = beside["ticks_per_second"][0] / beside["ticks_per_second"][1]
                # A tick lasts a microsecond at most, or 2⁻²² of a sample; times are doubles.
                self.assertAlmostEqual(beside.get("epoch", 0) + beside["start"] / ticks, start,
                                       delta=max(1e-6, 2**-22 / rate) + 2**-50 * abs(start))
        np.save(self.folder / "times.npy", np.arange(9) * 0.1)
        self.make(TIMES, self.folder / "t.h5", self.folder / "times.npy", "s")
        _, beside = self.read({"path": "t.h5", "sample_rate": "10 Hz", "epoch": "2022-06-29T01:30:00Z"})
        self.assertEqual((beside["sample_rate"], beside["epoch"]), (10, 1656466200))
        self.assertIn("parameter 'sample_rate': wants that of the file, 10 Hz, but is given 11 Hz",
                      self.fail_source({"path": "t.h5", "sample_rate": "11 Hz"}))

    def test_xarray(self):
        """What xarray writes, times as dates, by the names of its dimensions."""
        oracles.run(self, oracles.XARRAY, XARRAY, self.folder / "x.h5")
        array, beside = self.read({"path": "x.h5", "dataset": "power"}, "[time channel]")
        np.testing.assert_array_equal(array, np.arange(12, dtype="f4").reshape(4, 3), strict=True)
        self.assertEqual((beside["sample_rate"], beside["epoch"], beside["start"]), (4, 1656466200, 0))
        channel = next(axis for axis in beside["axes"] if axis["name"] == "channel")
        self.assertEqual((channel["unit"], channel["table"]), ("Hz", [1e6, 2e6, 3e6]))

    def test_names(self):
        """Datasets and axes that parameters name, and elements of other kinds."""
        self.make(f"import os; os.chdir({str(self.folder)!r})\n" + PLAIN)
        wanted = np.load(self.folder / "want.npy")
        layout = "[time pol channel]"
        array, _ = self.read({"path": "p.h5", "dataset": "/a", "layout": layout}, layout)
        np.testing.assert_array_equal(array, wanted.astype("f4"), strict=True)
        array, _ = self.read({"path": "p.h5", "dataset": "b", "layout": "i32" + layout}, layout)
        np.testing.assert_array_equal(array, wanted.astype("i4"), strict=True)
        array, _ = self.read({"path": "p.h5", "dataset": "label"}, layout)
        np.testing.assert_array_equal(array, wanted.astype("f4"))
        array, beside = self.read({"path": "p.h5", "dataset": "z", "layout": "[time complex]"})
        np.testing.assert_array_equal(array, np.array([1j, 2 + 3j, 4 + 5j], "c8"), strict=True)
        array, _ = self.read({"path": "p.h5", "dataset": "z", "layout": "[station channel]"},
                             "[station channel]")
        np.testing.assert_array_equal(array, np.arange(6, dtype="f4").reshape(3, 2))
        array, _ = self.read({"path": "p.h5", "dataset": "pair", "layout": "[time]"})
        np.testing.assert_array_equal(array, np.array([2 + 1.5j, 4 + 3j], "c8"), strict=True)

        for source, words in (
                ({}, "'path': wants 'dataset' beside it, for p.h5 has several: a, b"),
                ({"dataset": "none such"}, "wants the dataset 'none such'"),
                ({"dataset": "a"}, "'path': wants 'layout' beside it, for p.h5 does not name axis 0"),
                ({"dataset": "wrong"}, "'path': wants 'layout' beside it, for the axes of p.h5 can't be used"),
                ({"dataset": "a", "layout": "[time channel]"}, "wants the 3 axes of the dataset"),
                ({"dataset": "a", "layout": "i8" + layout}, "but is given f32"),
                ({"dataset": "a", "layout": "[complex time channel]"}, "complex has 2 elements"),
                ({"dataset": "bool", "layout": "[time]"}, "but is given other elements"),
                ({"dataset": "u8", "layout": "[time]"}, "but is given other elements"),
                ({"dataset": "scalar", "layout": "[time]"}, "1 to 12 axes, but is given 0"),
                ({"dataset": "none", "layout": "[time channel]"}, "at least one element along channel"),
                ({"dataset": "huge", "layout": "[time channel]"}, "p.h5: wants")):
            with self.subTest(words):
                self.assertIn(words, self.fail_source({"path": "p.h5", **source}))


if __name__ == "__main__":
    tap.main()
