#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Sinks of files, by file.sink: files one after another (rotation), and pipes."""
import datetime
import hashlib
import json
import os
import signal
import subprocess
import threading
import time

import numpy as np

import graphs
import tap

RATE = 1000  # Hz
SEED = 20261123
SANITIZED = os.environ.get("CORNERTURN_SANITIZER", "none") != "none"
START = datetime.datetime(2026, 11, 23, 12, 0, 0, tzinfo=datetime.timezone.utc)


def copy_stages(path, source=None, sink=None):
    return {
        "in": {"stage": "file.source", "path": "in.npy", "layout": "i16[time pol]",
               "sample_rate": RATE, "epoch": START.isoformat().replace("+00:00", "Z"),
               **(source or {})},
        "out": {"stage": "file.sink", "from": "in", "path": path, **(sink or {})},
    }


class SinkTest(graphs.GraphTest):
    def setUp(self):
        super().setUp()
        self.random = np.random.default_rng(SEED)
        self.n = 300 if SANITIZED else 2000
        self.array = self.random.integers(-2**15, 2**15, (self.n, 3)).astype(np.int16)
        np.save(self.folder / "in.npy", self.array)

    def beside(self, path):
        return json.loads((self.folder / f"{path.name}.json").read_text())

    def check_fails(self, stages, message, *, command="run", **options):
        done = subprocess.run([graphs.COMMAND, command, self.write(stages), "--quiet"],
                              cwd=self.folder, capture_output=True, text=True, timeout=120, **options)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        self.assertIn(message, done.stderr)


class Rotation(SinkTest):
    def files(self, pattern):
        """The arrays in the order of their numbers."""
        found = sorted(self.folder.glob(pattern), key=lambda path:
                       self.beside(path)["sequence"]["number"])
        self.assertEqual([self.beside(path)["sequence"]["number"] for path in found],
                         list(range(len(found))))
        self.assertFalse(list(self.folder.glob("*.partial")))
        return found

    def check_joined(self, paths, axis=0):
        arrays = [np.load(path) for path in paths]
        np.testing.assert_array_equal(np.concatenate(arrays, axis), self.array if axis == 0
                                      else self.array.T)
        firsts = np.cumsum([0] + [array.shape[axis] for array in arrays])[:-1]
        for path, first in zip(paths, firsts):
            self.assertEqual(self.beside(path)["sequence"]["first_sample"], first)
        return [array.shape[axis] for array in arrays]

    def test_samples(self):
        """Some hundred files, wherever blocks are cut, in the order of time and in slabs."""
        for axes, axis in (("time pol", 0), ("pol time", 1)):
            for block in (1, 5, 16, 10 * self.n):
                with self.subTest(axes=axes, block=block):
                    n = int(self.random.integers(4, 12))
                    for path in self.folder.glob("x-*"):
                        path.unlink()
                    self.run_graph(copy_stages(
                        "x-%i.npy", {"block": {"time": block}},
                        {"rotate_samples": n, "layout": f"[{axes}]", "digest": "sha256"}))
                    paths = self.files("x-*.npy")
                    self.assertEqual([path.name for path in paths],
                                     [f"x-{i:06}.npy" for i in range(-(-self.n // n))])
                    lengths = self.check_joined(paths, axis)
                    self.assertEqual(set(lengths[:-1]), {n})
                    for i, path in enumerate(paths):
                        beside = self.beside(path)
                        self.assertEqual(beside["start"], i * n)
                        self.assertEqual(beside["bytes"], path.stat().st_size)
                        self.assertEqual(beside["sha256"],
                                         hashlib.sha256(path.read_bytes()).hexdigest())
                        self.assertIs(beside["interrupted"], False)

    def test_no_empty_file(self):
        """A stream that ends at a seam has no file after it; one without samples has one."""
        for n in (self.n, 0):
            np.save(self.folder / "in.npy", self.array[:n])
            for path in self.folder.glob("x-*"):
                path.unlink()
            self.run_graph(copy_stages("x-%i.npy", None, {"rotate_samples": self.n // 2}))
            self.assertEqual(len(self.files("x-*.npy")), 2 if n else 1)

    def test_time(self):
        """File k has the samples from k periods on, also where a period is no number of samples."""
        for period, name in ((0.0105, "x-%Y%m%dT%H%M%S.%f.npy"), (0.1, "x-%j-%H-%M-%S-%f.npy")):
            with self.subTest(period=period):
                for path in self.folder.glob("x-*"):
                    path.unlink()
                start = 7 * RATE + 123
                self.run_graph(copy_stages(name, {"block": {"time": 16}, "start": start},
                                           {"rotate_time": f"{period} s"}))
                paths = self.files("x-*.npy")
                lengths = self.check_joined(paths)
                tenths = round(period * 10 * RATE)
                edges = [-(-k * tenths // 10) for k in range(len(paths))]
                self.assertEqual(list(np.cumsum([0, *lengths]))[:-1], edges)
                for path, edge in zip(paths, edges):
                    self.assertEqual(self.beside(path)["start"], start + edge)
                    begin = START + datetime.timedelta(milliseconds=start + edge)
                    self.assertEqual(path.name, begin.strftime(name))

    def test_bytes(self):
        """No file is longer than it may be, and one more sample would make it longer."""
        for kind, head in (("npy", 192), ("raw", 0)):
            for size in (head + 6, head + 100, head + 6 * self.n):
                with self.subTest(kind=kind, size=size):
                    for path in self.folder.glob("x-*"):
                        path.unlink()
                    self.run_graph(copy_stages(f"x-%i.{kind}", None, {"rotate_bytes": size}))
                    paths = self.files(f"x-*.{kind}")
                    sizes = [path.stat().st_size for path in paths]
                    self.assertLessEqual(max(sizes), size)
                    self.assertGreater(min(sizes[:-1], default=size), size - 6)
                    joined = b"".join(path.read_bytes()[head:] for path in paths)
                    self.assertEqual(joined, self.array.tobytes())
        self.check_fails(copy_stages("x-%i.npy", None, {"rotate_bytes": 100}),
                         "parameter 'rotate_bytes': wants at least 198 B, a header and a sample, but "
                         "is given 100 B")

    def test_validity(self):
        """The invalid samples of the files, one after another, are those of the whole."""
        source = {"stage": "generate", "type": "ci8", "sample_rate": 1000, "centre_frequency": 1000,
                  "n_stations": 3, "samples": self.n,
                  "invalid": [[0, 10, 27], [1, 33, 1], [2, 100, 150], [-1, 255, 3]],
                  "block": {"time": 23}}
        self.run_graph({"in": source,
                        "whole": {"stage": "file.sink", "from": "in", "path": "whole.npy"},
                        "parts": {"stage": "file.sink", "from": "in", "path": "x-%i.npy",
                                  "rotate_samples": 11}})

        def mask(path):
            beside = json.loads((self.folder / f"{path}.json").read_text())
            made = np.ones((3, np.load(self.folder / path).shape[0]), bool)
            for gap in beside["validity"].get("gaps", []):
                for lane, lanes in zip(gap["lanes"][::2], gap["lanes"][1::2]):
                    for first, n in zip(gap["samples"][::2], gap["samples"][1::2]):
                        made[lane:lane + lanes, first:first + n] = False
            return made
        paths = self.files("x-*.npy")
        whole = mask("whole.npy")
        self.assertEqual((~whole).sum(), 27 + 1 + 150 + 9)
        np.testing.assert_array_equal(np.concatenate([mask(path.name) for path in paths], 1), whole)
        np.testing.assert_array_equal(np.concatenate([np.load(path) for path in paths]),
                                      np.load(self.folder / "whole.npy"))

    def test_one_name_twice(self):
        """The second file of a name is an error; the first keeps its name."""
        stages = copy_stages("x-%H%M%S.npy", None, {"rotate_bytes": 1000})
        self.check_fails(stages, "x-120000.npy: wants another name for each file, but file 1 would "
                                 "have that of one before")
        self.assertEqual(self.beside(self.folder / "x-120000.npy")["sequence"]["number"], 0)
        self.assertFalse(list(self.folder.glob("*.partial")))

    def test_one_name_twice_is_known_before(self):
        """Where files begin at known times, a run of such names does not begin."""
        np.save(self.folder / "long.npy", np.zeros((4000, 3), np.int16))
        for path, rotation, name, number in (
                ("x-%H%M%S.npy", {"rotate_samples": 100}, "x-120000.npy", 1),
                ("x-%H%M%S.npy", {"rotate_time": "100 ms"}, "x-120000.npy", 1),
                ("x-%f.npy", {"rotate_time": "300 ms"}, "x-000000.npy", 10)):
            self.check_fails(copy_stages(path, {"path": "long.npy"}, rotation),
                             f"parameter 'path': {name}: wants another name for each file, but "
                             f"file {number} would have that of one before", command="check")
        for path, rotation, n in (("x-%f.npy", {"rotate_time": "307 ms"}, 14),
                                  ("y-%H.npy", {"rotate_samples": 4000}, 1)):
            self.run_graph(copy_stages(path, {"path": "long.npy"}, rotation))
            self.assertEqual(len(self.files(path[:2] + "*.npy")), n)

    def test_errors_of_check(self):
        for sink, source, message in (
                ({"path": "x.npy", "rotate_samples": 5}, {},
                 "parameter 'path': wants a name for each of several files, with conversions (%Y"),
                ({"path": "x-%i.npy", "rotate_samples": 5, "rotate_bytes": 1000}, {},
                 "parameter 'rotate_samples': wants to be the only rotation, but is given beside "
                 "'rotate_bytes'"),
                ({"path": "x-%q.npy", "rotate_samples": 5}, {}, "but is given '%q' in 'x-%q.npy'"),
                ({"path": "x-%", "format": "npy", "rotate_samples": 5}, {}, "but is given '%'"),
                ({"path": "%i/x.npy", "rotate_samples": 5}, {},
                 "wants conversions in the name of the file, not of its folder, but is given"),
                ({"path": "x-%M.npy", "rotate_samples": 5}, {"epoch": None},
                 "wants a stream that knows its UTC for '%M' in 'x-%M.npy'"),
                ({"path": "x-%i.npy", "rotate_time": "0.5 ms"}, {},
                 "parameter 'rotate_time': wants at least a sample, 0.001 s, but is given 0.0005 s"),
                ({"path": "x-%i.npy", "rotate_time": "1 s"}, {"epoch": None, "sample_rate": None},
                 "parameter 'rotate_time': wants a stream with a clock"),
                ({"path": "-", "format": "raw", "rotate_samples": 5}, {},
                 "parameter 'rotate_samples': wants files, but 'path' is a pipe")):
            with self.subTest(**sink):
                stages = copy_stages("x.npy", source, sink)
                stages["in"] = {key: value for key, value in stages["in"].items()
                                if value is not None}
                self.check_fails(stages, message, command="check")

    def test_failure_on_the_way(self):
        """If a file cannot get its name, the run fails, and files before it are whole."""
        (self.folder / "x-000003.npy").mkdir()
        self.check_fails(copy_stages("x-%i.npy", {"block": {"time": 8}}, {"rotate_samples": 10}),
                         "x-000003.npy: wants a regular file in its place")
        for i in range(3):
            np.testing.assert_array_equal(np.load(self.folder / f"x-{i:06}.npy"),
                                          self.array[10 * i:10 * i + 10])


    def test_interrupt(self):
        """Complete files get their names while the stream goes on; an interrupt ends the last one, a
        kill leaves it partial."""
        array = np.arange(3 * 2000000, dtype=np.int32).astype(np.int16).reshape(-1, 3)
        np.save(self.folder / "in.npy", array)
        for number in (signal.SIGINT, signal.SIGKILL):
            with self.subTest(number):
                for path in self.folder.glob("x-*"):
                    path.unlink()
                process = self.start(copy_stages("x-%i.npy", {"block": {"time": 1}},
                                                 {"rotate_samples": 500}))
                self.addCleanup(process.communicate)
                self.addCleanup(process.kill)
                third = self.folder / "x-000002.npy.json"
                for _ in range(6000):
                    if third.exists() or process.poll() is not None:
                        break
                    time.sleep(0.01)
                self.assertIsNone(process.poll())
                process.send_signal(number)
                process.communicate(timeout=60)
                found = sorted(self.folder.glob("x-*.npy"))
                parts = [np.load(path) for path in found]
                ends = [self.beside(path)["interrupted"] for path in found
                        if (self.folder / f"{path.name}.json").exists()]
                joined = np.concatenate(parts)
                np.testing.assert_array_equal(joined, array[:len(joined)])
                self.assertFalse(any(ends[:-1]))
                partial = [path.name for path in self.folder.glob("*.partial")]
                if number == signal.SIGINT:
                    self.assertIs(ends[-1], True)
                    self.assertEqual(partial, [])
                else:
                    self.assertIs(ends[-1], False)
                    self.assertTrue(partial)


class Pipes(SinkTest):
    def run_to(self, stages, *arguments, **options):
        return subprocess.run([graphs.COMMAND, "run", self.write(stages), *arguments],
                              cwd=self.folder, capture_output=True, timeout=120, **options)

    def check_no_files(self):
        self.assertEqual({path.name for path in self.folder.iterdir()} - {"fifo"},
                         {"in.npy", "graph.yaml"})

    def test_stdout(self):
        """Only samples come on standard output, and the statistics on the other one."""
        for block in (7, 10 * self.n):
            done = self.run_to(copy_stages("-", {"block": {"time": block}}, {"format": "raw"}),
                               "--stats", "json")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout, self.array.tobytes())
            self.assertIn("nodes", json.loads(done.stderr))
        self.check_no_files()

    def test_npy(self):
        """The header has the length before the samples come."""
        done = self.run_to(copy_stages("-", None, {"format": "npy", "layout": "f32[time pol]"}),
                           "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        (self.folder / "copy").write_bytes(done.stdout)
        copy = np.load(self.folder / "copy")
        self.assertEqual(copy.dtype, np.float32)
        np.testing.assert_array_equal(copy, self.array)

    def test_open_file(self):
        reader, writer = os.pipe()
        done = []
        thread = threading.Thread(target=lambda: done.append(open(reader, "rb").read()))
        thread.start()
        run = self.run_to(copy_stages(f"fd:{writer}", None, {"format": "raw"}), "--quiet",
                          pass_fds=[writer])
        os.close(writer)
        thread.join()
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(done[0], self.array.tobytes())
        self.check_no_files()

    def test_fifo(self):
        os.mkfifo(self.folder / "fifo")
        process = self.start(copy_stages("fifo", {"block": {"time": 9}}, {"format": "raw"}))
        with open(self.folder / "fifo", "rb") as fifo:
            self.assertEqual(fifo.read(), self.array.tobytes())
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, errors)
        self.check_no_files()

    def test_full(self):
        """An error on the way names the pipe."""
        with open("/dev/full", "wb") as full:
            path = f"fd:{full.fileno()}"
            self.check_fails(copy_stages(path, None, {"format": "raw"}),
                             f"node 'out': {path}: can't be written: No space left on device",
                             pass_fds=[full.fileno()])

    def test_reader_that_goes(self):
        """One error, and no end by a signal."""
        np.save(self.folder / "in.npy", np.zeros((1000000, 3), np.int16))
        process = subprocess.Popen(
            [graphs.COMMAND, "run", "--quiet", self.write(copy_stages("-", None, {"format": "raw"}))],
            cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(process.stdout.read(100), bytes(100))
        process.stdout.close()
        errors = process.stderr.read().decode()
        process.stderr.close()
        self.assertEqual(process.wait(60), 1)
        self.assertEqual(errors.strip().count("\n"), 0, errors)
        self.assertIn("node 'out': standard output: wants a reader until the stream ends, but it has "
                      "gone", errors)

    def test_errors(self):
        length = {"stage": "generate", "type": "f32", "sample_rate": 1000, "first_frequency": 0}
        for stages, message in (
                (copy_stages("-"), ", or 'format' beside it, but is given '-'"),
                (copy_stages("-", None, {"format": "raw", "digest": "sha256"}),
                 "parameter 'digest': wants a file, but 'path' is a pipe"),
                (copy_stages("-", None, {"format": "raw", "layout": "[pol time]"}),
                 "parameter 'layout': wants time as the slowest axis for a pipe"),
                (copy_stages("fd:x", None, {"format": "raw"}),
                 "wants fd: and the number of an open file, but is given 'fd:x'"),
                ({"in": length, "out": {"stage": "file.sink", "from": "in", "path": "-",
                                        "format": "npy"}},
                 "parameter 'format': wants raw for a pipe if the length of the stream is not "
                 "known"),
                ({**copy_stages("-", None, {"format": "raw"}),
                  "second": {"stage": "file.sink", "from": "in", "path": "-", "format": "raw"}},
                 "wants files that no other node uses, but would write '-'")):
            with self.subTest(message):
                self.check_fails(stages, message, command="check")
        self.check_fails(copy_stages("fd:77", None, {"format": "raw"}),
                         "fd:77: can't be written: Bad file descriptor")
        with open(self.folder / "in.npy", "rb") as opened:
            self.check_fails(copy_stages("fd:0", None, {"format": "raw"}),
                             "fd:0: is not open for writing", stdin=opened)


if __name__ == "__main__":
    tap.main()
