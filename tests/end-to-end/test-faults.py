#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Calls of the system that fail once: an interrupted read is repeated; if a thread can't be
started, that is an error, and the threads that were started end."""
import errno
import json
import os
import resource
import subprocess
import unittest

import numpy

import graphs
import tap

LIBRARY = os.environ["ADVERSARY_FAULT_LIBRARY"]
EMULATOR = os.environ.get("ADVERSARY_EMULATOR")
STAGES = {
    "in": {"stage": "file.source", "path": "in.npy", "layout": "cf32[time pol]",
           "sample_rate": "1 MHz", "centre_frequency": "1 MHz"},
    "x": {"stage": "power", "from": "in"},
    "out": {"stage": "file.sink", "from": "x", "path": "out.npy"},
}


class Faults(graphs.GraphTest):
    def setUp(self):
        super().setUp()
        numpy.save(self.folder / "in.npy", numpy.ones((5000, 2), numpy.complex64))
        self.write(STAGES)

    def call(self, *arguments, fault=None, **more):
        environment = {**os.environ, "LD_PRELOAD": LIBRARY, "ADVERSARY_COUNTS": "counts", **more}
        if fault:
            environment["ADVERSARY_FAULT"] = fault
        return subprocess.run([graphs.COMMAND, *arguments], cwd=self.folder, env=environment,
                              capture_output=True, text=True, timeout=100)

    def count(self, name, *arguments, **more):
        done = self.call(*arguments, **more)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        counts = dict(line.split() for line in (self.folder / "counts").read_text().splitlines())
        self.assertGreater(int(counts[name]), 0)
        return int(counts[name])

    def test_reads_of_a_graph_are_tried_again(self):
        arguments = ("check", "--quiet", "graph.yaml")
        for turn in range(1, self.count("read", *arguments) + 1):
            with self.subTest(turn):
                done = self.call(*arguments, fault=f"read:{turn}:{errno.EINTR}")
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_opening_a_graph_is_tried_again(self):
        arguments = ("check", "--quiet", "graph.yaml")
        for turn in range(1, self.count("open", *arguments) + 1):
            done = self.call(*arguments, fault=f"open:{turn}:{errno.EINTR}")
            self.assertNotIn("graph.yaml: cannot be read", done.stderr)

    def test_tables_larger_than_memory(self):
        """The sizes of tables come from the graph, so a lack of memory is an error, not an
        abort."""
        sky = {"stage": "generate", "sample_rate": "1 MHz", "samples": 1000,
               "centre_frequency": "1 MHz"}
        lanes = {**sky, "n_stations": 1000000, "n_subbands": 1000000}
        end = {"stage": "discard", "from": "x"}
        for stages, message in [
                ({"sky": sky, "x": {"stage": "fir", "from": "sky", "n_channels": 1 << 24,
                                    "n_taps": 64}, "end": end},
                 "node 'x': no memory for coefficients, 1073741824 of 4 bytes "),
                ({"x": {**lanes, "spiral": "1 m", "source_directions": [[0, 0]]}, "end": end},
                 "node 'x': no memory for a signal at all stations in all subbands, 1000000000000 of "),
                ({"x": {**lanes, "tone_frequencies": ["1 MHz"]}, "end": end},
                 "node 'x': no memory for a signal at all stations in all subbands, 2000000000000 of ")]:
            with self.subTest(message):
                self.write(stages)
                most = 2 << 30
                done = subprocess.run(
                    [graphs.COMMAND, "check", "graph.yaml"], cwd=self.folder, capture_output=True,
                    text=True, timeout=100,
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)))
                self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
                self.assertIn(message, done.stderr)

    def check_threads(self, *arguments, message="no thread can be started: ", **more):
        said = []
        for turn in range(1, self.count("pthread_create", *arguments, **more) + 1):
            with self.subTest(f"{arguments[0]}, {turn}"):
                (self.folder / "out.npy").unlink(missing_ok=True)
                done = self.call(*arguments, fault=f"pthread_create:{turn}:{errno.EAGAIN}", **more)
                self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
                self.assertRegex(done.stderr, message)
                self.assertEqual(done.stderr.count("\n"), 1)
                self.assertFalse((self.folder / "out.npy").exists())
                said.append(done.stderr)
        return said

    def test_results_become_final_together(self):
        """If the data of one of three sinks can't be written to disk, no sink's result is final.
        Six files are synchronised before the folders."""
        sinks = {f"out{i}": {**STAGES["out"], "path": f"out{i}.npy"} for i in range(3)}
        self.write({"in": STAGES["in"], "x": STAGES["x"], **sinks})
        for turn in range(1, 7):
            with self.subTest(turn):
                done = self.call("run", "--quiet", "graph.yaml", fault=f"fsync:{turn}:{errno.EIO}")
                self.assertEqual(done.returncode, 1)
                self.assertIn("can't be written to the disk", done.stderr)
                self.assertEqual(sorted(path.name for path in self.folder.glob("out*")), sorted(
                    f"{sink}.npy{end}.partial" for sink in sinks for end in ("", ".json")))

    def test_threads_of_a_run(self):
        said = self.check_threads("run", "--quiet", "--workers", "3", "graph.yaml")
        self.assertEqual([line.partition(": no thread")[0] for line in said],
                         ["worker 1 of 3", "worker 2 of 3", "worker 3 of 3",
                          "graph.yaml:3:3: node 'in'", "graph.yaml:14:3: node 'out'"])

    def test_threads_of_verify(self):
        self.check_threads("verify", "--workers", "2", "graph.yaml")

    @unittest.skipUnless(EMULATOR, "wants the emulator")
    def test_threads_of_devices(self):
        """Threads of a device's queues, and before them those of the emulator's streams, can't be
        started; nothing stays allocated on the device."""
        self.write({**STAGES, "x": {**STAGES["x"], "backend": "cuda"}})
        said = self.check_threads(
            "run", "--quiet", "--workers", "1", "graph.yaml",
            message="no thread can be started: |CUDA_ERROR_OUT_OF_MEMORY",
            CORNERTURN_CUDA=EMULATOR, CORNERTURN_EMULATOR_LEAKS="1")
        queues = [line for line in said if line.startswith("queue ")]
        self.assertEqual([line.partition(": no thread")[0] for line in queues],
                         [f"queue {q} of devices" for q in (1, 2, 3)])

    def test_threads_of_measurements(self):
        self.check_threads("costs", "--costs", "store.db", "--measure-ceilings")

    def test_memory_of_measurements(self):
        """A worker without memory for its copies measures nothing."""
        done = self.call("costs", "--costs", "store.db", "--measure-ceilings",
                         fault=f"mmap:1:{errno.ENOMEM}", ADVERSARY_LEAST="1000000")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, "^what a worker copies wants .* of memory: ")

    def test_threads_of_benchmarks(self):
        """A case is left out if a worker is missing, or a thread of the ceilings beside it."""
        arguments = "bench", "--quiet", "--seconds", "0.005", "--workers", "2", "stages", "gains"
        more = {"CORNERTURN_POWERCAP": str(self.folder)}
        least = 6
        self.assertGreaterEqual(self.count("pthread_create", *arguments, **more), least)
        for turn in range(1, least + 1):
            with self.subTest(turn):
                done = self.call(*arguments, "--json", fault=f"pthread_create:{turn}:{errno.EAGAIN}", **more)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                (row,) = json.loads(done.stdout)["cases"]
                self.assertRegex(row["skipped"], "no thread can be started: ")

    def test_memory_of_benchmarks(self):
        most = 1 << 28
        done = subprocess.run([graphs.COMMAND, "bench", "--quiet", "--workers", "2", "ceilings"], capture_output=True,
                              text=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)))
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, "^ceilings of 1 worker want [0-9.]+ MiB of memory, but there is less\n$")

    def test_memory_of_many_workers(self):
        """They are refused before the machine is full."""
        if os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") > 256 << 30:
            self.skipTest("there is enough memory")
        done = self.call("bench", "--quiet", "--seconds", "0.001", "--workers", "4096", "ceilings")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, "^ceilings of 4096 workers want [0-9.]+ GiB of memory, but half of the machine's is ")


if __name__ == "__main__":
    tap.main()
