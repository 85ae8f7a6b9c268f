#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Filterbanks in HDF5: those of blimpy as hdf5.source reads them, and those of fbh5.sink as blimpy
does."""
import json
import os
import subprocess

import pipeline  # this import comes first: with sanitizers it starts the program again

import numpy as np

import graphs
import oracles
import tap

# Prints what blimpy reads, and writes it again, by its own writer.
BLIMPY = """
import sys, json, numpy, blimpy
found = blimpy.Waterfall(sys.argv[1])
header = {k: (v.value if hasattr(v, "value") else v.tolist() if hasattr(v, "tolist") else v)
          for k, v in found.header.items()}
numpy.save(sys.argv[2], found.data)
with open(sys.argv[2] + ".json", "w") as file:
    json.dump({"header": header, "frequencies": found.get_freqs().tolist()}, file)
if len(sys.argv) > 3:
    found.write_to_hdf5(sys.argv[3])
"""
MADE = """
import h5py, numpy, sys
with h5py.File(sys.argv[1], "w") as f:
    f.attrs["CLASS"], f.attrs["VERSION"] = "FILTERBANK", "1.0"
    data = f.create_dataset("data", data=numpy.arange(5 * 4 * 6, dtype=sys.argv[2]).reshape(5, 4, 6))
    data.attrs.update({"tsamp": 0.25, "fch1": 1500.0, "foff": -0.5, "nchans": 6, "nifs": 4, "nbits": 8,
                       "tstart": 58000.25, "source_name": "B0531+21", "telescope_id": 6,
                       "src_raj": "05:34:31.97", "src_dej": 22.01})
    for change in sys.argv[3:]:
        exec(change)
"""


class Filterbank(graphs.GraphTest):
    def write_power(self, n_samples=37, n_pols=1, rotate=None, channels=7):
        """Powers of the given frequencies as blimpy sees them, in a .npy and in fbh5 files."""
        generator = np.random.default_rng(n_samples)
        samples = generator.standard_normal((n_samples, channels, n_pols)).astype("f4")
        np.save(self.folder / "in.npy", samples)
        frequencies = [1400e6 + 0.25e6 * k for k in range(channels)]
        sink = {"stage": "file.sink", "from": "in", "path": "a.fbh5", "telescope_id": 6}
        if rotate:
            sink = {**sink, "path": "a-%i.fbh5", "rotate_samples": rotate}
        (self.folder / "graph.yaml").write_text(json.dumps({
            "observation": {"source": "Crab", "phase_centre": ["05:34:31.97", "-22:00:52.1"]},
            "stages": {"in": {"stage": "file.source", "path": "in.npy", "layout": "[time channel pol]",
                              "frequencies": frequencies, "sample_rate": "1 kHz/3",
                              "epoch": "2017-09-04T06:00:00Z", "start": 5},
                       "out": sink}}))
        done = subprocess.run([graphs.COMMAND, "run", "--quiet", "graph.yaml"], cwd=self.folder,
                              capture_output=True, text=True, timeout=120)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return samples, np.array(frequencies)

    def blimpy(self, *names):
        oracles.run(self, oracles.BLIMPY, BLIMPY, self.folder / names[0], self.folder / "b.npy",
                    *(self.folder / name for name in names[1:]))
        return np.load(self.folder / "b.npy"), json.loads((self.folder / "b.npy.json").read_text())

    def read(self, layout="[time pol channel]", **source):
        self.run_graph({"in": {"stage": "file.source", **source},
                        "out": {"stage": "file.sink", "from": "in", "path": "out.npy",
                                "layout": layout}})
        return (np.load(self.folder / "out.npy"),
                json.loads((self.folder / "out.npy.json").read_text()))

    def fail_source(self, **source):
        return self.fail_graph({"in": {"stage": "hdf5.source", **source},
                                "out": {"stage": "discard", "from": "in"}})

    def test_sink(self):
        """blimpy reads samples, frequencies, time and direction; hdf5.source the exact stream."""
        for n_samples, n_pols in ((37, 1), (3, 1), (40, 2)):
            with self.subTest(n=n_samples, pols=n_pols):
                samples, frequencies = self.write_power(n_samples, n_pols)
                wanted = samples.transpose(0, 2, 1)[:, :, ::-1]
                data, said = self.blimpy("a.fbh5")
                np.testing.assert_array_equal(data, wanted, strict=True)
                header = said["header"]
                np.testing.assert_allclose(said["frequencies"], frequencies[::-1] / 1e6, rtol=1e-15)
                # Sample 0 is at 06:00:00.015; 2⁻⁵³ of 58000 days is 6.3e-12 days.
                self.assertAlmostEqual(header["tstart"], 58000.25 + 0.015 / 86400, delta=7e-12)
                self.assertEqual(header["tsamp"], 0.003)
                self.assertEqual((header["nbits"], header["nifs"], header["nchans"]), (32, n_pols, 7))
                self.assertEqual((header["source_name"], header["telescope_id"]), ("Crab", 6))
                self.assertAlmostEqual(header["src_raj"], 5 + 34 / 60 + 31.97 / 3600, delta=1e-13)
                self.assertAlmostEqual(header["src_dej"], -(22 + 52.1 / 3600), delta=1e-13)
                layout = "[time pol channel]" if n_pols > 1 else "[time channel]"
                array, beside = self.read(layout, path="a.fbh5")
                np.testing.assert_array_equal(array, wanted if n_pols > 1 else wanted[:, 0], strict=True)
                self.assertEqual((beside["start"], beside["epoch"]), (5, 1504504800))
                self.assertEqual(beside["ticks_per_second"], [1000, 3])

    def test_source(self):
        """What blimpy writes, compressed, with its own filter: the same stream, but for a start that
        is known to 0.6 µs."""
        samples, frequencies = self.write_power(40)
        self.blimpy("a.fbh5", "of-blimpy.h5")
        folder = oracles.install(oracles.BLIMPY)
        os.environ["HDF5_PLUGIN_PATH"] = str(folder / "hdf5plugin" / "plugins")
        self.addCleanup(os.environ.pop, "HDF5_PLUGIN_PATH")
        array, beside = self.read("[time channel]", path="of-blimpy.h5")
        np.testing.assert_array_equal(array, samples[:, ::-1, 0], strict=True)
        channel = next(axis for axis in beside["axes"] if axis["name"] == "channel")
        self.assertEqual((channel["unit"], channel["length"]), ("Hz", 7))
        np.testing.assert_allclose(channel["first"], frequencies[-1], rtol=1e-12)
        np.testing.assert_allclose(channel["step"], -0.25e6, rtol=1e-12)
        rate = beside["ticks_per_second"][0] / beside["ticks_per_second"][1]
        self.assertAlmostEqual(beside["epoch"] + beside["start"] / rate, 1504504800.015, delta=2e-6)
        self.assertEqual(beside["observation"]["source"], "Crab")
        np.testing.assert_allclose(np.degrees(beside["observation"]["phase_centre"]),
                                   [(5 + 34 / 60 + 31.97 / 3600) * 15, -(22 + 52.1 / 3600)], rtol=1e-14)
        os.environ["HDF5_PLUGIN_PATH"] = str(self.folder)
        self.assertIn("of-blimpy.h5: the samples can't be read: ",
                      self.fail_source(path="of-blimpy.h5"))

    def test_rotation(self):
        """Each file has its own tstart; together they are one stream."""
        samples, _ = self.write_power(20, rotate=8)
        names = sorted(path.name for path in self.folder.glob("a-*.fbh5"))
        starts = [self.blimpy(name)[1]["header"]["tstart"] for name in names]
        self.assertEqual(len(names), 3)
        np.testing.assert_allclose(np.diff(starts) * 86400, 8 * 0.003, atol=1.3e-6)
        array, _ = self.read("[time channel]", path="a-*.fbh5")
        np.testing.assert_array_equal(array, samples[:, ::-1, 0], strict=True)

    def test_kinds(self):
        """Elements of 8 and 16 bits, IFs, an angle as text; and what is wrong."""
        for kind, given in (("u1", "u1"), ("i1", "i1"), ("u2", "f4"), ("f4", "f4")):
            with self.subTest(kind):
                oracles.run(self, oracles.H5PY, MADE, self.folder / "in.h5", kind)
                array, beside = self.read("[time stokes channel]", path="in.h5", products="stokes")
                np.testing.assert_array_equal(array, np.arange(120).reshape(5, 4, 6).astype(given),
                                              strict=True)
                self.assertEqual(beside["observation"]["telescope"], "GBT")
                np.testing.assert_allclose(beside["observation"]["phase_centre"],
                                           np.radians([83.633208333333333, 22.01]), rtol=1e-14)
        for change, words in (
                ("", "wants stokes or coherence"),
                ("del data.attrs['tsamp']", "in.h5: wants tsamp of a filterbank"),
                ("data.attrs['tsamp'] = 'x'", "in.h5: wants a number as tsamp"),
                ("data.attrs['tsamp'] = -1.0", "in.h5: wants tsamp in seconds, but is given -1"),
                ("data.attrs['fch1'] = numpy.nan", "in.h5: wants fch1 and foff that are numbers"),
                ("data.attrs['nchans'] = 7", "in.h5: wants nchans as the dataset has them, 6, but is given 7"),
                ("data.attrs['nbits'] = 1e300", "in.h5: wants an integer of 32 bits as nbits"),
                ("data.attrs['source_name'] = 5", "in.h5: wants a text as source_name"),
                ("del f['data']; f['data'] = numpy.zeros((4, 4))",
                 "in.h5: wants the axes time, feed and channel of a filterbank, but is given 2")):
            with self.subTest(change):
                oracles.run(self, oracles.H5PY, MADE, self.folder / "in.h5", "f4", change)
                products = {"products": "stokes"} if change else {}
                self.assertIn(words, self.fail_source(path="in.h5", **products))

    def test_stokes(self):
        """What four IFs are is in PATH.json, for both kinds of filterbanks."""
        samples = np.random.default_rng(4).standard_normal((5, 3, 4)).astype("f4")
        np.save(self.folder / "in.npy", samples)
        for name in ("a.fbh5", "a.fil"):
            with self.subTest(name):
                self.run_graph({
                    "in": {"stage": "file.source", "path": "in.npy", "layout": "[time channel stokes]",
                           "sample_rate": "1 Hz", "epoch": "2017-09-04T06:00:00Z",
                           "frequencies": [3e6, 2e6, 1e6]},
                    "out": {"stage": "file.sink", "from": "in", "path": name}})
                array, _ = self.read("[time channel stokes]", path=name)
                np.testing.assert_array_equal(array, samples, strict=True)
                (self.folder / f"{name}.json").unlink()
                message = self.fail_graph({"in": {"stage": "file.source", "path": name},
                                           "out": {"stage": "discard", "from": "in"}})
                self.assertIn("wants stokes or coherence", message)

    def test_refused(self):
        np.save(self.folder / "in.npy", np.zeros((4, 3), "f4"))
        source = {"stage": "file.source", "path": "in.npy", "layout": "[time channel]",
                  "sample_rate": "1 Hz", "epoch": "2017-09-04T06:00:00Z"}
        out = {"stage": "fbh5.sink", "from": "in", "path": "out.fbh5"}
        for more, words in (({"frequencies": [1e6, 2e6, 4e6]}, "wants frequencies with even steps"),
                            ({}, "wants frequencies of channels in hertz"),
                            ({"layout": "[time beam]"}, "a filterbank has one, so each needs")):
            self.assertIn(words, self.fail_graph({"in": {**source, **more}, "out": out}))


if __name__ == "__main__":
    tap.main()
