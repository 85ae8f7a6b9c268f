#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""hdf5.sink: its files as h5py and xarray read them, and what a killed run leaves."""
import json
import pathlib
import resource
import signal
import subprocess
import time

import numpy as np

import graphs
import oracles
import tap

SCALES = """
import h5py, json, sys, numpy
with h5py.File(sys.argv[1]) as file:
    data = file["data"]
    numpy.save(sys.argv[2], data[:1000].view(f"V{data.dtype.itemsize}").view("u1"))
    scales = {}
    for k in range(data.ndim):
        scale = data.dims[k][0]
        values = scale.asstr()[:] if scale.dtype == object else scale[:]
        scales[scale.name] = [values.tolist()[:5000], len(values), scale.attrs.get("units"),
                              scale.attrs.get("start_utc")]
    print(json.dumps({
        "shape": data.shape, "type": str(data.dtype), "scales": scales,
        "contiguous": data.chunks is None, "layout": data.attrs["layout"],
        "clock": [data.attrs[k].tolist() for k in ("ticks_per_second", "start", "epoch")]
                 if "epoch" in data.attrs else None,
        "source": file["observation"].attrs["source"] if "observation" in file else None,
        "start": data.attrs.get("start", numpy.int64(0)).tolist(),
        "observation": {key: value if isinstance(value, str) else value.tolist()
                        for key, value in file["observation"].attrs.items()}
                       if "observation" in file else None}))
"""
XARRAY = """
import sys, xarray
found = xarray.open_dataset(sys.argv[1], engine="h5netcdf")
print(found["data"].dims, float(found["time"][-1]), found["station"].values.tolist(),
      found["subband"].values.tolist(), found["subband"].attrs["units"],
      found["time"].attrs["start_utc"], found["data"].dtype)
"""


class Sink(graphs.GraphTest):
    def source(self, **more):
        return {"stage": "generate", "sample_rate": "1 MHz", "centre_frequency": "100 MHz",
                "n_subbands": 3, "n_stations": 2, "n_pols": 2, "start": 7, "samples": 3000, **more}

    def read(self, name="out.h5"):
        text = oracles.run(self, oracles.H5PY, SCALES, self.folder / name, self.folder / "bytes.npy")
        return json.loads(text), np.load(self.folder / "bytes.npy").ravel().tobytes()

    def test_types(self):
        """The bytes of every type are those of file.sink."""
        for kind in ("ci4", "ci8", "ci16", "cf16", "cf32", "cf64"):
            with self.subTest(kind):
                self.run_graph({"in": self.source(type=kind),
                                "out": {"stage": "hdf5.sink", "from": "in", "path": "out.h5"},
                                "raw": {"stage": "file.sink", "from": "in", "path": "out.raw"}})
                said, data = self.read()
                self.assertEqual(said["shape"], [3000, 3, 2, 2])
                self.assertEqual(said["layout"], f"{kind}[time subband station pol]")
                self.assertTrue(said["contiguous"])
                self.assertTrue(data)
                self.assertEqual(data, (self.folder / "out.raw").read_bytes()[:len(data)])

    def test_axes(self):
        (self.folder / "graph.yaml").write_text(json.dumps({
            "observation": {"source": "Crab", "start": "2022-06-29T01:30:00Z",
                            "polarisations": ["X", "Y"], "telescope": "LOFAR"},
            "stations": {"A": {"position": [1, 2, 3]}, "B": {}},
            "stages": {"in": self.source(),
                       "out": {"stage": "file.sink", "from": "in", "path": "out.h5"}}}))
        done = subprocess.run([graphs.COMMAND, "run", "--quiet", "graph.yaml"], cwd=self.folder,
                              capture_output=True, text=True, timeout=120)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        said, _ = self.read()
        times, n, unit, utc = said["scales"]["/time"]
        self.assertEqual((n, unit, utc), (3000, "s", "2022-06-29T01:30:00.000007000Z"))
        np.testing.assert_array_equal(times, np.arange(3000) / 1e6)
        self.assertEqual(said["scales"]["/station"][0], ["A", "B"])
        self.assertEqual(said["scales"]["/subband"][:3], [[100e6, 101e6, 102e6], 3, "Hz"])
        self.assertEqual((said["type"], said["source"]), ("complex64", "Crab"))
        self.assertEqual(said["clock"], [[1000000, 1], 7, 1656466200])
        self.assertEqual(oracles.run(self, oracles.XARRAY, XARRAY, self.folder / "out.h5"),
                         "('time', 'subband', 'station', 'pol') 0.002999 ['A', 'B'] "
                         "[100000000.0, 101000000.0, 102000000.0] Hz "
                         "2022-06-29T01:30:00.000007000Z complex64")
        self.assertEqual(said["observation"], {"source": "Crab", "start": 1656466200,
                                               "polarisations": ["X", "Y"], "telescope": "LOFAR"})
        self.assertEqual(said["scales"]["/pol"][0], ["X", "Y"])

    def test_rotation(self):
        self.run_graph({"in": self.source(), "out": {
            "stage": "hdf5.sink", "from": "in", "path": "s-%i.h5", "rotate_samples": 1300}})
        said = [self.read(path.name)[0]
                for path in sorted(pathlib.Path(self.folder).glob("s-*.h5"))]
        self.assertEqual([of["shape"][0] for of in said], [1300, 1300, 400])
        self.assertEqual([of["start"] for of in said], [7, 1307, 2607])
        self.assertEqual([of["scales"]["/time"][0][:2] for of in said], [[0, 1e-6]] * 3)

    def test_short(self):
        """One sample, and one element."""
        for more in ({"samples": 1}, {"samples": 1, "n_subbands": 1, "n_stations": 1, "n_pols": 1}):
            source = self.source(**more)
            self.run_graph({"in": source, "raw": {"stage": "file.sink", "from": "in", "path": "out.raw"},
                            "out": {"stage": "hdf5.sink", "from": "in", "path": "out.h5"}})
            said, data = self.read()
            self.assertEqual(said["shape"], [1, source["n_subbands"], source["n_stations"],
                                             source["n_pols"]])
            self.assertEqual(data, (self.folder / "out.raw").read_bytes())

    def test_full_disk(self):
        """Where the file can't grow (a limit, which works as a full disk does), there is one message,
        and the partial file opens with whole samples, the first of the stream."""
        def limit_files():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (100001, 100001))

        message = self.fail_graph({"in": self.source(samples=100000), "out": {
            "stage": "hdf5.sink", "from": "in", "path": "out.h5"}}, preexec_fn=limit_files)
        self.assertIn("out.h5.partial", message)
        self.assertIn("File too large", message)
        self.run_graph({"in": {"stage": "hdf5.source", "path": "out.h5.partial"},
                        "copy": {"stage": "file.sink", "from": "in", "path": "copy.npy"}})
        self.run_graph({"in": self.source(),
                        "want": {"stage": "file.sink", "from": "in", "path": "want.npy"}})
        copy, wanted = np.load(self.folder / "copy.npy"), np.load(self.folder / "want.npy")
        self.assertGreater(len(copy), 500)
        np.testing.assert_array_equal(copy, wanted[:len(copy)])

    def test_kill(self):
        """A file of a stream without a known length, whose process is killed."""
        endless = self.source()
        del endless["samples"]
        out = {"stage": "hdf5.sink", "from": "in", "path": "out.h5"}
        process = self.start({"in": endless, "out": out})
        time.sleep(2)
        process.kill()
        process.communicate()
        said, data = self.read("out.h5.partial")
        self.assertGreater(said["shape"][0], 1000)
        self.run_graph({"in": self.source(),
                        "raw": {"stage": "file.sink", "from": "in", "path": "out.raw"}})
        self.assertEqual(data, (self.folder / "out.raw").read_bytes()[:len(data)])


if __name__ == "__main__":
    tap.main()
