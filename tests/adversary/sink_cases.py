# SPDX-License-Identifier: BSD-3-Clause
"""The sinks of files: the streams that they write in `kill_sinks.py`, and how their files are read
back."""
import dataclasses
import json
import subprocess

import numpy as np

import part
import recordings

N_SAMPLES = 120000
CHANNELS = {"name": "channel", "length": 2, "unit": "Hz", "first": 1.4e9, "step": -1e6}
# So many that the last PATH.json has some pages of them.
GAPS = {"axes": [], "gaps": [{"lanes": [0, 1], "samples": [
    number for i in range(2000) for number in (3 + 59 * i, 1 + i % 7)]}]}
STATIONS = {"phase_centre": None, "start_of_tick_0": None, "telescope": "Toy",
            "polarisations": ["X", "Y"], "position": [3826577.0, 461022.0, 5064892.0],
            "stations": [{"name": name, "position": [3826577.0 + 50 * i, 461022.0, 5064892.0],
                          "feeds": [0, 1.5707963267948966]} for i, name in enumerate("AB")]}


@dataclasses.dataclass
class Case:
    """A stream, the sink that writes it, and the source that reads the sink's files."""
    kind: str
    axes: list
    sink: dict
    source: dict  # {}: an array of which time is the fastest axis
    n_samples: int = N_SAMPLES
    rotate: int = 0  # samples of a file
    more: dict = dataclasses.field(default_factory=dict)
    is_lossless: bool = True
    has_room: bool = False  # a file has zeros for what is not written
    rows: int = 1  # of a file's array for each sample
    block: int = 1 << 16  # samples of a block, of runs that are not to be killed

    def put(self, folder, seed):
        """Writes the stream, and returns its array."""
        return recordings.put(folder, self.kind, [("time", self.n_samples), *self.axes],
                              name=f"in-{seed}.npy", seed=seed,
                              **{"observation": None, **self.more})

    def stages(self, folder, seed, block):
        """A graph from the stream in `folder` to the sink."""
        source = {"stage": "file.source", "path": str(folder / f"in-{seed}.npy"),
                  "block": {"time": block}}
        sink = {"stage": "file.sink", "from": "in", "digest": "sha256", **self.sink}
        if self.rotate:
            sink |= {"path": self.sink["path"].replace("out", "out-%i"),
                     "rotate_samples": self.rotate}
        return {"in": source, "out": sink}


def rotated(n_samples, *cases):
    """The cases, and the same with several files."""
    return [*cases, *(dataclasses.replace(case, rotate=n_samples) for case in cases)]


ARRAY = {"stage": "file.source", "layout": "i8[time channel]"}
HEAPS = {"payload": ["channel", "time 250", "pol 2"], "station_item": "none"}
CASES = {
    "file": rotated(
        17001,
        Case("i8", [CHANNELS], {"path": "out.npy"}, {**ARRAY, "format": "npy"},
             more={"gaps": GAPS}),
        Case("i8", [CHANNELS], {"path": "out.raw"}, {**ARRAY, "format": "raw", "shape": [-1, 2]}),
        Case("i8", [CHANNELS], {"path": "out.npy", "layout": "[channel time]"}, {},
             more={"gaps": GAPS})),
    "sigproc": rotated(17001, Case("f32", [CHANNELS], {"stage": "sigproc.sink", "path": "out.fil"},
                                   {"stage": "sigproc.source"})),
    "dada": rotated(17001, Case("ci8", [("pol", 2)], {"stage": "dada.sink", "path": "out.dada"},
                                {"stage": "dada.source"}, more={"frequency": 320e6})),
    "guppi": rotated(17017, Case(
        "ci8", [{**CHANNELS, "first": 1.4e9, "step": 1e6}, ("pol", 2)],
        {"stage": "guppi.sink", "path": "out.raw", "block_samples": 1001},
        {"stage": "guppi.source"})),
    "vdif": rotated(17000, Case(
        "f32", [("pol", 2)], {"stage": "vdif.sink", "path": "out.vdif", "bits": 8,
                              "frame_samples": 1000},
        {"stage": "vdif.source"}, is_lossless=False, more={"frequency": 320e6})),
    "spead": rotated(17000, Case(
        "ci8", [CHANNELS, ("pol", 2)], {"stage": "spead.sink", "path": "out.spead", **HEAPS},
        {"stage": "spead.source", **HEAPS, "sample_rate": "16 MHz", "ticks_per_sample": 1,
         "epoch": "1656466200"})),
    "hdf5": rotated(17001, Case("i8", [CHANNELS], {"stage": "hdf5.sink", "path": "out.h5"},
                                {"stage": "hdf5.source"})),
    "fbh5": rotated(17001, Case("f32", [CHANNELS], {"stage": "fbh5.sink", "path": "out.fbh5"},
                                {"stage": "hdf5.source"})),
    "psrfits": rotated(17001, Case(
        "f32", [CHANNELS], {"stage": "psrfits.sink", "path": "out.sf", "row_samples": 1000},
        {"stage": "psrfits.source"})),
    "uvh5": rotated(1201, Case(
        "cf32", [{"name": "baseline", "length": 3, "labels": ["A", "B"], "pairs": "all"},
                 {**CHANNELS, "length": 4, "step": 1e6}, ("pol", 2), ("pol'", 2)],
        {"stage": "uvh5.sink", "path": "out.uvh5", "dut1": 0.1, "polar_motion": [0, 0]},
        {"stage": "hdf5.source", "dataset": "/Data/visdata", "layout": "[time channel pol]"},
        n_samples=5000, is_lossless=False, has_room=True, rows=3, block=1,  # the file has the graph
        more={"clock": {"ticks_per_second": [500, 1]}, "observation": STATIONS})),
}


def read_slabs(path, said):
    """The defined part of an array of which time is the fastest axis."""
    with path.open("rb") as file:
        array = np.load(file)
    return array.T[:said["written"]] if said and "written" in said else array.T


def read(folder, case, names):
    """The samples that files hold, as the source gives them, by name. A failure of the source is a
    text."""
    stages = {}
    path = "paths" if case.source["stage"] == "spead.source" else "path"
    for i, name in enumerate(names):
        stages |= {f"in{i}": {**case.source, path: name},
                   f"out{i}": {"stage": "file.sink", "from": f"in{i}", "path": f"back-{i}.npy"}}
    (folder / "read.yaml").write_text(json.dumps({"stages": stages}))
    done = subprocess.run([part.COMMAND, "run", "--quiet", "read.yaml"], cwd=folder, check=False,
                          capture_output=True, text=True, timeout=part.MOST_SECONDS)
    if done.returncode != 0:
        return done.stderr or f"status {done.returncode}"
    arrays = {}
    for i, name in enumerate(names):
        arrays[name] = np.load(folder / f"back-{i}.npy")
        (folder / f"back-{i}.npy").unlink()
        (folder / f"back-{i}.npy.json").unlink()
    return arrays
