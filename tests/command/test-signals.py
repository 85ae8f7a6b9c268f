#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Signals during a run: an interrupt ends it in order, a second one at once, SIGUSR1 asks for
statistics."""
import errno
import json
import os
import pathlib
import select
import shutil
import signal
import tempfile
import threading
import time
import unittest

import graphs
import tap

PLUGINS = pathlib.Path(os.environ["CORNERTURN_TEST_PLUGINS"])
SECONDS = 100  # the longest wait of a test

# A graph without an end, which writes few bytes.
ENDLESS = {
    "sky": {"stage": "generate", "sample_rate": "1 MHz", "block": {"time": 4096}},
    "sums": {"stage": "integrate", "from": "sky", "length": 4096},
    "out": {"stage": "file.sink", "from": "sums", "path": "out.npy"},
}
INTERRUPTS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}


def ignore(*numbers):
    """Returns a function for a child to begin with, which ignores these signals."""
    return lambda: [signal.signal(number, signal.SIG_IGN) for number in numbers]


class Signals(graphs.GraphTest):
    def setUp(self):
        super().setUp()
        self.fifo = self.folder / "fifo"
        os.mkfifo(self.fifo)
        self.open = set()
        folder = pathlib.Path(tempfile.mkdtemp(prefix="cornerturn-"))
        self.addCleanup(shutil.rmtree, folder)
        for name in "wait", "fail":
            shutil.copy(PLUGINS / f"ct-{name}.so", folder)
        self.environment = {
            **os.environ,
            "CORNERTURN_PLUGIN_PATH": f"{folder}:{os.environ['CORNERTURN_PLUGIN_PATH']}",
        }

    def open_fifo(self):
        """Opens the FIFO at both ends, so that neither side waits for the other."""
        fifo = os.open(self.fifo, os.O_RDWR | os.O_CLOEXEC)
        self.addCleanup(lambda: fifo in self.open and os.close(fifo))
        self.open.add(fifo)
        return fifo

    def read_byte(self, fifo):
        self.assertTrue(select.select([fifo], [], [], SECONDS)[0], "nothing comes")
        return os.read(fifo, 1)

    def begin(self, stages, *arguments, **options):
        process = self.start(stages, *arguments, env=self.environment, **options)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def wait_until_written(self, process, n_bytes=129):
        """Waits until the sink has written this much, which is more than a header."""
        path = self.folder / "out.npy.partial"
        end = time.monotonic() + SECONDS
        while not path.exists() or path.stat().st_size < n_bytes:
            self.assertIsNone(process.poll(), "it ended by itself")
            self.assertLess(time.monotonic(), end, "nothing is written")
            time.sleep(0.01)

    def finish(self, process):
        output, errors = process.communicate(timeout=SECONDS)
        return process.returncode, output, errors

    def check_ended_in_order(self, process, number):
        status, output, errors = self.finish(process)
        name = signal.Signals(number).name
        self.assertEqual(status, INTERRUPTS[number], errors)
        self.assertRegex(errors, rf"(?m)^interrupted by {name}: the sources end")
        self.assertRegex(errors, rf"(?m)^interrupted by {name} after [\d.]+ s of stream")
        stats = json.loads(output)
        self.assertEqual(stats["state"], "interrupted")
        self.assertIsNone(stats["error"])
        self.assertTrue((self.folder / "out.npy").exists())
        self.assertFalse((self.folder / "out.npy.partial").exists())

    def test_interrupts(self):
        for number in INTERRUPTS:
            with self.subTest(number):
                process = self.begin(ENDLESS)
                self.wait_until_written(process)
                process.send_signal(number)
                self.check_ended_in_order(process, number)
                (self.folder / "out.npy").unlink()

    def test_signal_sent_twice(self):
        """GNU timeout sends a signal to the command and to its group."""
        for number in INTERRUPTS:
            with self.subTest(number):
                process = self.begin(ENDLESS, start_new_session=True)
                self.wait_until_written(process)
                process.send_signal(number)
                os.killpg(process.pid, number)
                self.check_ended_in_order(process, number)
                (self.folder / "out.npy").unlink()

    def test_ignored_signals_stay_so(self):
        for ignored, number in [(signal.SIGHUP, signal.SIGINT), (signal.SIGINT, signal.SIGTERM)]:
            with self.subTest(ignored):
                process = self.begin(ENDLESS, preexec_fn=ignore(ignored))
                self.wait_until_written(process)
                process.send_signal(ignored)
                process.send_signal(number)
                self.check_ended_in_order(process, number)
                (self.folder / "out.npy").unlink()

    def test_text(self):
        process = self.begin(ENDLESS, "--stats", "text")
        self.wait_until_written(process)
        process.send_signal(signal.SIGINT)
        status, output, _ = self.finish(process)
        self.assertEqual(status, 130)
        self.assertRegex(output, r"(?m)^interrupted$")

    def test_quiet(self):
        process = self.begin(ENDLESS, "--quiet")
        self.wait_until_written(process)
        process.send_signal(signal.SIGTERM)
        status, _, errors = self.finish(process)
        self.assertEqual((status, errors.count("\n")), (143, 1))

    def test_second_signal_ends_at_once(self):
        stages = {
            "sky": ENDLESS["sky"],
            "stuck": {"stage": "wait.work", "from": "sky", "path": "fifo"},
            "out": {"stage": "file.sink", "from": "stuck", "path": "out.npy"},
        }
        fifo = self.open_fifo()
        process = self.begin(stages)
        self.assertEqual(self.read_byte(fifo), b"w")  # the node is in work, and stays there
        process.send_signal(signal.SIGINT)
        self.assertIn("interrupted by SIGINT", process.stderr.readline())
        process.send_signal(signal.SIGTERM)
        status, _, errors = self.finish(process)
        self.assertEqual(status, 143)
        self.assertIn("interrupted again: ended at once", errors)
        self.assertFalse((self.folder / "out.npy").exists())
        self.assertTrue((self.folder / "out.npy.partial").exists())

    def test_statistics_while_a_source_waits(self):
        stages = {
            "source": {"stage": "wait.source", "path": "fifo"},
            "out": {"stage": "file.sink", "from": "source", "path": "out.npy"},
        }
        fifo = self.open_fifo()
        process = self.begin(stages)
        os.write(fifo, b"abc")
        self.wait_until_written(process, 0)
        process.send_signal(signal.SIGUSR1)
        text = ""
        while not text.endswith("\n}\n"):
            line = process.stderr.readline()
            self.assertTrue(line, text)
            text += line
        stats = json.loads(text)
        self.assertEqual(stats["state"], "running")
        self.assertEqual([node["name"] for node in stats["nodes"]], ["source", "out"])
        os.write(fifo, b"d")
        self.open.remove(fifo)
        os.close(fifo)
        status, output, errors = self.finish(process)
        self.assertEqual((status, errors), (0, ""))
        stats = json.loads(output)
        self.assertEqual(stats["state"], "complete")
        self.assertEqual(stats["nodes"][0]["samples"], 4)

    def test_statistics_every_period(self):
        """Each is one line, on standard error where a stream goes to standard output."""
        for path, is_stream in ("out.npy", False), ("-", True):
            with self.subTest(path):
                out = {**ENDLESS["out"], "path": path, **({"format": "raw"} if is_stream else {})}
                process = self.begin({**ENDLESS, "out": out}, "--stats", "json:50 ms")
                if is_stream:
                    threading.Thread(target=process.stdout.buffer.read).start()
                lines = process.stderr if is_stream else process.stdout
                stats = [json.loads(lines.readline()) for _ in range(3)]
                process.send_signal(signal.SIGTERM)
                rest = [line for line in lines if line.startswith("{")]
                self.assertEqual(process.wait(SECONDS), 143)
                stats += [json.loads(line) for line in rest]
                self.assertEqual([one["state"] for one in stats[:3]], ["running"] * 3)
                self.assertEqual(stats[-1]["state"], "interrupted")
                times = [one["running_seconds"] for one in stats]
                self.assertEqual(times, sorted(times))
                process.stderr.close()

    def test_table_every_period(self):
        process = self.begin(ENDLESS, "--stats", "text:50 ms")
        heads = 0
        while heads < 2:
            heads += process.stdout.readline().startswith("node ")
        process.send_signal(signal.SIGTERM)
        self.finish(process)

    def test_wrong_periods(self):
        for given, message in [("json:", "--stats"), ("json:0 s", "more than nothing"), ("json:-1 s", "--stats"),
                               ("json:5 MHz", "--stats"), ("none:1 s", "no period behind none"),
                               ("xml:1 s", "text, json or none"), (":1 s", "text, json or none")]:
            with self.subTest(given):
                status, _, errors = self.finish(self.begin(ENDLESS, "--stats", given))
                self.assertEqual(status, 2)
                self.assertIn(message, errors)
                self.assertEqual(len(errors.splitlines()), 1)

    def test_statistics_after_a_failure(self):
        stages = {
            "sky": {**ENDLESS["sky"], "samples": 100000},
            "x": {"stage": "fail.work", "from": "sky"},
            "out": {"stage": "file.sink", "from": "x", "path": "out.npy"},
        }
        status, output, errors = self.finish(self.begin(stages))
        self.assertEqual(status, 1)
        stats = json.loads(output)
        self.assertEqual(stats["state"], "failed")
        self.assertEqual(stats["error"], errors.strip())
        self.assertGreater(stats["nodes"][0]["samples"], 0)

    def begin_stuck(self):
        """Starts a run and waits until a source is prepared; the next stage then waits at a FIFO
        that nothing reads."""
        (self.folder / "stuck").unlink(missing_ok=True)
        os.mkfifo(self.folder / "stuck")
        (self.folder / "out.npy").write_text("of an earlier run")
        process = self.begin({
            "source": {"stage": "wait.source", "path": "fifo"},
            "stuck": {"stage": "wait.work", "from": "source", "path": "stuck"},
            "out": {"stage": "file.sink", "from": "source", "path": "out.npy"},
            "raw": {"stage": "file.sink", "from": "stuck", "path": "out.raw"},
        })
        end = time.monotonic() + SECONDS
        while True:
            try:
                # This fails while the other end is not open.
                fifo = os.open(self.fifo, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
                break
            except OSError as error:
                self.assertEqual(error.errno, errno.ENXIO)
            self.assertIsNone(process.poll(), "it ended by itself")
            self.assertLess(time.monotonic(), end, "nothing is prepared")
            time.sleep(0.01)
        self.addCleanup(os.close, fifo)
        return process

    def test_interrupts_while_the_graph_is_prepared(self):
        for number in INTERRUPTS:
            with self.subTest(number):
                process = self.begin_stuck()
                process.send_signal(signal.SIGUSR1)
                process.send_signal(number)
                reader = os.open(self.folder / "stuck", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
                self.assertEqual(self.finish(process), (
                    INTERRUPTS[number], "",
                    f"interrupted by {signal.Signals(number).name} while the graph was prepared\n"))
                os.close(reader)
                self.assertEqual((self.folder / "out.npy").read_text(), "of an earlier run")
                # The partial files tell that no samples have come.
                with open(self.folder / "out.npy.partial", "rb") as partial:
                    self.assertEqual(partial.read(6), b"\x93NUMPY")
                for name in "out.npy", "out.raw":
                    beside = json.loads((self.folder / f"{name}.json.partial").read_text())
                    self.assertEqual(beside["written"], 0)

    def test_second_signal_while_the_graph_is_prepared(self):
        process = self.begin_stuck()
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        status, output, errors = self.finish(process)
        self.assertIn(status, (130, 143))  # that of the second signal
        self.assertEqual(output, "")
        self.assertIn("interrupted again: ended at once", errors)
        self.assertEqual((self.folder / "out.npy").read_text(), "of an earlier run")


if __name__ == "__main__":
    tap.main()
