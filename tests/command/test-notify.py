#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a run tells the service manager, and the service that is installed."""
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

import graphs
import tap

SECONDS = 100  # the longest wait of a test
PLUGINS = pathlib.Path(os.environ["CORNERTURN_TEST_PLUGINS"])
UNIT = pathlib.Path(os.environ["CORNERTURN"]).parent / "cornerturn@.service"
WATCHDOG = {"WATCHDOG_USEC": "400000"}
ENDLESS = {
    "sky": {"stage": "generate", "sample_rate": "1 MHz", "block": {"time": 4096}},
    "sums": {"stage": "integrate", "from": "sky", "length": 4096},
    "out": {"stage": "file.sink", "from": "sums", "path": "out.npy"},
}
# A source that waits for what nobody writes.
WAITING = {
    "in": {"stage": "file.source", "path": "-", "format": "raw", "layout": "u8[time]", "shape": [-1],
           "sample_rate": 1000, "block": {"time": 10}},
    "out": {"stage": "file.sink", "from": "in", "path": "out.raw"},
}


class Notify(graphs.GraphTest):
    def listen(self, address):
        """Stands for the manager; the messages come one by one."""
        self.manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(self.manager.close)
        self.manager.bind(address.replace("@", "\0") if address[0] == "@" else address)
        self.manager.settimeout(SECONDS)
        return {"NOTIFY_SOCKET": address}

    def listen_here(self):
        return self.listen(str(self.folder / "notify"))

    def hear(self):
        return dict(line.split("=", 1) for line in self.manager.recv(4096).decode().splitlines())

    def hear_until(self, key):
        until = time.monotonic() + SECONDS
        while key not in (message := self.hear()):
            self.assertLess(time.monotonic(), until)
        return message

    def begin(self, stages, environment, **options):
        process = self.start(stages, env={**os.environ, **environment}, **options)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def end(self, process, number=signal.SIGTERM):
        process.send_signal(number)
        process.communicate(timeout=SECONDS)
        self.assertEqual(process.returncode, 128 + number)

    def test_life(self):
        for address in str(self.folder / "notify"), f"@cornerturn-test-{os.getpid()}":
            with self.subTest(address):
                process = self.begin(ENDLESS, {**self.listen(address), **WATCHDOG})
                self.assertEqual(self.hear(), {"READY": "1", "STATUS": "running"})
                for _ in range(3):
                    message = self.hear()
                    self.assertEqual(message["WATCHDOG"], "1")
                    self.assertRegex(message["STATUS"], r"^[\d.]+ s of stream, [-+e\d.]+ × real time$")
                self.end(process)
                message = self.hear_until("STOPPING")
                self.assertEqual(message["STATUS"], "interrupted by SIGTERM")
                while message.get("STATUS") != "ended":
                    message = self.hear()

    def test_waiting_is_no_fault(self):
        process = self.begin(WAITING, {**self.listen_here(), **WATCHDOG}, stdin=subprocess.PIPE)
        self.hear_until("READY")
        for _ in range(5):
            self.hear_until("WATCHDOG")
        process.send_signal(signal.SIGTERM)
        # Nobody has closed standard input by then.
        self.assertEqual(process.wait(SECONDS), 143)

    def test_stage_that_does_not_return(self):
        """The watchdog hears no more."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="cornerturn-"))
        self.addCleanup(shutil.rmtree, folder)
        shutil.copy(PLUGINS / "ct-wait.so", folder)
        os.mkfifo(self.folder / "fifo")
        fifo = os.open(self.folder / "fifo", os.O_RDWR)
        self.addCleanup(os.close, fifo)
        process = self.begin(
            {"sky": ENDLESS["sky"],
             "stuck": {"stage": "wait.work", "from": "sky", "path": "fifo"},
             "out": {"stage": "discard", "from": "stuck"}},
            {**self.listen_here(), **WATCHDOG,
             "CORNERTURN_PLUGIN_PATH": f"{folder}:{os.environ['CORNERTURN_PLUGIN_PATH']}"})
        self.hear_until("READY")
        self.assertEqual(os.read(fifo, 1), b"w")
        self.manager.settimeout(1)
        # What other nodes did until they had to wait counts as progress.
        with self.assertRaises(TimeoutError):
            for _ in range(20):
                self.hear()
        self.assertIsNone(process.poll())

    def test_watchdog_of_another_process(self):
        process = self.begin(ENDLESS, {**self.listen_here(), **WATCHDOG, "WATCHDOG_PID": "1"})
        self.hear_until("READY")
        self.end(process)
        self.manager.settimeout(0.1)
        with self.assertRaises(TimeoutError):
            while True:
                self.assertNotIn("WATCHDOG", self.hear())

    def test_no_manager(self):
        """A socket that is not there, or none, changes nothing."""
        for address in "", "/", "x", str(self.folder / "missing"), "vsock:2:1", "/" + 200 * "x":
            stats = self.run_graph_with({"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "x"})
            self.assertEqual((stats[0], stats[2]), (0, ""))

    def run_graph_with(self, environment):
        stages = {**ENDLESS, "sky": {**ENDLESS["sky"], "samples": 100000}}
        process = self.begin(stages, environment)
        output, errors = process.communicate(timeout=SECONDS)
        return process.returncode, output, errors

    def test_failed_preparation_is_not_ready(self):
        stages = {**ENDLESS, "out": {**ENDLESS["out"], "path": "no/out.npy"}}
        process = self.begin(stages, self.listen_here())
        process.communicate(timeout=SECONDS)
        self.assertEqual(process.returncode, 1)
        self.manager.settimeout(0.1)
        with self.assertRaises(TimeoutError):
            self.hear()


class Service(unittest.TestCase):
    def test_unit(self):
        """systemd understands it; its command, which is not installed yet, is replaced."""
        if not shutil.which("systemd-analyze"):
            self.skipTest("there is no systemd-analyze")
        text = UNIT.read_text()
        self.assertRegex(text, r"(?m)^ExecStart=/\S+/cornerturn run /etc/cornerturn/%i\.yaml --control unix:")
        self.assertRegex(text, r"(?m)^SuccessExitStatus=143$")
        with tempfile.TemporaryDirectory() as folder:
            unit = pathlib.Path(folder, UNIT.name)
            lines = [line for line in text.splitlines() if not line.startswith("Documentation=")]
            unit.write_text("\n".join(lines).replace(lines[lines.index("[Service]") + 2].split()[0],
                                                     f"ExecStart={graphs.COMMAND}"))
            done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True,
                                  text=True, timeout=SECONDS)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))


if __name__ == "__main__":
    tap.main()
