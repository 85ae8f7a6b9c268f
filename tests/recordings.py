# SPDX-License-Identifier: BSD-3-Clause
"""Streams of voltages for tests of sinks of the formats of recorders, and what such a sink must
leave when it is killed or a disk is full."""
import json
import random
import resource
import signal
import subprocess
import time

import numpy as np

import graphs

START = "2022-06-29T01:30:00Z"
PARTS = {"ci4": (np.uint8, ()), "ci8": (np.int8, (2,)), "ci16": (np.int16, (2,)),
         "cf32": (np.complex64, ()), "i8": (np.int8, ()), "i16": (np.int16, ()),
         "f32": (np.float32, ())}
OBSERVATION = {"telescope": "Effelsberg", "source": "B2016+28", "project": "P1",
               "observer": "A. Person", "phase_centre": [5.306, -0.497],
               "polarisations": ["L", "R"], "start_of_tick_0": None}
COMPARED = ("axes", "observation", "epoch", "ticks_per_second", "ticks_per_sample", "start",
            "start_utc", "frequency", "validity", "type")


def make(kind, shape, seed):
    """Random elements of all values, of an integer type; complex ones have a last axis of 2."""
    dtype, parts = PARTS[kind]
    numbers = np.random.default_rng(seed)
    if np.dtype(dtype).kind in "fc":
        array = numbers.standard_normal((*shape, 2)).astype(np.float32)
        return array.view(np.complex64)[..., 0] if dtype == np.complex64 else array[..., 0]
    info = np.iinfo(dtype)
    return numbers.integers(info.min, info.max, (*shape, *parts), dtype, endpoint=True)


def put(folder, kind, axes, clock=None, frequency=None, gaps=None, name="in.npy", seed=7,
        observation=OBSERVATION):
    """Writes a stream as in.npy with its PATH.json, and returns its array. `axes` are pairs of a name
    and a length, or dictionaries as PATH.json has them, time first. `gaps` are PATH.json's, along
    the first axis that loses data."""
    axes = [axis if isinstance(axis, dict) else {"name": axis[0], "length": axis[1]}
            for axis in axes]
    array = make(kind, [axis["length"] for axis in axes], seed)
    np.save(folder / name, array)
    beside = {"type": kind, "layout": f"{kind}[{' '.join(axis['name'] for axis in axes)}]",
              "axes": axes, "ticks_per_second": [16000000, 1], "ticks_per_sample": 1,
              "start": 0, "epoch": 1656466200, **(clock or {}),
              "observation": {key: value for key, value in (observation or {}).items()
                              if value is not None}}
    if beside["epoch"] is None:
        del beside["epoch"]
    if frequency is not None:
        beside["frequency"] = frequency
    if gaps:
        beside["validity"] = gaps
    (folder / f"{name}.json").write_text(json.dumps(beside))
    return array


def find_valid(beside):
    """Whether each sample is valid, as PATH.json says: [its axes]."""
    lengths = {axis["name"]: axis["length"] for axis in beside["axes"]}
    validity = beside.get("validity", {})
    lost = [name for name in lengths if name in validity.get("axes", [])]
    valid = np.ones([lengths[name] for name in [*lost, "time"]], bool).reshape(-1, lengths["time"])
    for gap in validity.get("gaps", []):
        for lane, n_lanes in zip(gap["lanes"][::2], gap["lanes"][1::2]):
            for first, n in zip(gap["samples"][::2], gap["samples"][1::2]):
                valid[lane:lane + n_lanes, first:first + n] = False
    valid = valid.reshape([lengths[name] if name in [*lost, "time"] else 1 for name in
                           [*(name for name in lengths if name != "time"), "time"]])
    where = list(lengths).index("time")
    return np.broadcast_to(np.moveaxis(valid, -1, where), list(lengths.values()))


class RecordingTest(graphs.GraphTest):
    def put(self, kind, axes, *arguments, **more):
        """Writes a stream to the folder of the test, and returns its array."""
        return put(self.folder, kind, axes, *arguments, **more)

    def source(self, name="in.npy", **more):
        layout = json.loads((self.folder / f"{name}.json").read_text())["layout"]
        return {"stage": "file.source", "path": name, "layout": layout, **more}

    def convert(self, sink, source=None):
        """Writes in.npy by a sink, and as same.npy by file.sink."""
        stages = {"in": source or self.source(), "out": {"from": "in", **sink},
                  "same": {"stage": "file.sink", "from": "in", "path": "same.npy"}}
        self.run_graph(stages)
        return np.load(self.folder / "same.npy")

    def read_back(self, source, name="back.npy"):
        self.run_graph({"in": source, "out": {"stage": "file.sink", "from": "in", "path": name}})
        return np.load(self.folder / name), self.beside(name)

    def read_alone(self, source):
        """The same of files without PATH.json, whose headers say what they can."""
        for path in self.folder.glob("out*.json"):
            path.unlink()
        return self.read_back(source)

    def beside(self, name):
        return json.loads((self.folder / f"{name}.json").read_text())

    def check_beside(self, source):
        """The same, where the source may lose data along more axes."""
        self.check_same(source, [key for key in COMPARED if key != "validity"])
        np.testing.assert_array_equal(find_valid(self.beside("back.npy")),
                                      find_valid(self.beside("same.npy")))

    def check_same(self, source, keys=COMPARED):
        """A source gives the stream of same.npy: samples, and what PATH.json says of it."""
        array, beside = self.read_back(source)
        wanted = self.beside("same.npy")
        for key in keys:
            self.assertEqual(beside.get(key), wanted.get(key), key)
        np.testing.assert_array_equal(array, np.load(self.folder / "same.npy"))

    def limit(self, n_bytes):
        """For preexec_fn: no file becomes longer, as on a full disk."""
        def limit_files():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))
        return limit_files

    def begin(self, stages, numbers, longest=0.7):
        """Starts the graph, and waits until it writes, and a random time more."""
        process = subprocess.Popen([graphs.COMMAND, "run", "--quiet", self.write(stages)],
                                   cwd=self.folder, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        for _ in range(6000):
            if list(self.folder.glob("out*.partial")) or process.poll() is not None:
                break
            time.sleep(0.001)
        time.sleep(numbers.uniform(0, longest))
        return process

    def interrupt(self, stages, seed):
        """Interrupts a run of the graph at a random time."""
        print(f"# seed {seed}")
        process = self.begin(stages, random.Random(seed))
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)

    def kill(self, stages, seed, after, times, seen):
        """Kills runs of the graph at random times, and calls `after` each time, which counts what it
        has `seen`. Where one of these is not seen, as on a slow machine, it tries again, later."""
        print(f"# seed {seed}")
        numbers, longest = random.Random(seed), 0.7
        for _ in range(4):
            for _ in range(times):
                for path in self.folder.glob("out*"):
                    path.unlink()
                process = self.begin(stages, numbers, longest)
                process.kill()
                process.wait()
                after()
            if min(seen.values()) > 0:
                return
            longest *= 3
        self.fail(f"not seen: {seen}")
