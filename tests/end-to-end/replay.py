# SPDX-License-Identifier: BSD-3-Clause
"""A LOFAR station from the network, for as long as one likes: `cornerturn send` sends captures with
faults, `cornerturn run` receives them in another process and correlates. What was sent, received,
used and missing must agree, and samples must stand where the captures have them.

scripts/replay [--build build] --seconds 600 [--veth] [--seed N] [--speed 1] [--pause 5] [--only NAME]

Prints the figures of three runs: `steady`, of so many seconds; `stopped`, whose graph is stopped for
`--pause` seconds; `restarted`, whose sender ends and starts again at a later place."""
import argparse
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time

import numpy as np

import graphs
import replay_account
import replay_network
import tap
from ports import free_port
from replay_capture import PACKETS_A_SECOND, PORTS, Capture

PATIENCE = 120  # seconds for what should take none
PIPELINE = graphs.SOURCE_ROOT / "pipelines" / "lofar-station.yaml"
FAULTS = ["--loss", "0.01", "--reorder", "0.01", "--duplicate", "0.01", "--jitter", "2 ms"]


class Replay:
    """A run and its senders, in a folder, over a network."""

    def __init__(self, folder, network, capture, integration=1024, speed=1, seed=1):
        self.folder, self.network, self.capture = pathlib.Path(folder), network, capture
        self.integration, self.speed, self.seed = integration, speed, seed
        self.numbers = [16130 + port for port in range(PORTS)]
        if network.is_shared:
            self.numbers = [free_port() for _ in range(PORTS)]
        self.addresses = [f"udp://{network.address}:{number}" for number in self.numbers]
        self.processes, self.senders, self.resident = [], [], []
        self.drops = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.communicate()

    def start(self, prefix, *arguments):
        process = subprocess.Popen([*prefix, graphs.COMMAND, *arguments], cwd=self.folder,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.processes.append(process)
        return process

    def start_run(self):
        raw = "  raw: { stage: file.sink, from: station, path: raw.npy }\n"
        (self.folder / "graph.yaml").write_text(PIPELINE.read_text() + raw)
        settings = [f"station.paths={json.dumps(self.addresses)}", "station.window=20 ms",
                    f"integration={self.integration}"]
        self.run = self.start(self.network.receiver, "run", "graph.yaml", "--stats", "json",
                              *(word for setting in settings for word in ("--set", setting)))
        self.wait("sockets", lambda: set(self.numbers) <= set(self.table()))

    def start_sender(self, first=0):
        """Sends the captures from packet `first` on."""
        number = len(self.senders)
        names = self.capture.tail(first)
        to = (word for address in self.addresses for word in ("--to", address))
        sender = self.start(
            self.network.sender, "send", "--stage", "lofar.source", *names, *to, *FAULTS,
            "--speed", str(self.speed), "--seed", str(self.seed + number), "--quiet",
            "--log", f"sent{number}.json", "--log-packets", f"lines{number}")
        self.senders.append((sender, first))
        return sender

    def end_sender(self, sender, status=0):
        self.wait("end of the sender", lambda: sender.poll() is not None, seconds=None)
        errors = sender.communicate()[1]
        replay_account.equal(sender.returncode, status, f"status of the sender: {errors}")

    def table(self):
        return replay_network.udp_table(self.run.pid)

    def wait(self, what, condition, seconds=PATIENCE):
        """Waits for the condition while the run goes on, and notes the memory of the run."""
        end = time.monotonic() + (seconds or 1e9)
        while not condition():
            if self.run.poll() is not None:
                raise AssertionError(f"{what}: the run ended: {self.run.communicate()[1]}")
            if time.monotonic() > end:
                raise AssertionError(f"{what}: not in {seconds} s")
            self.note_memory()
            time.sleep(0.01)

    def note_memory(self):
        now = time.monotonic()
        if not self.resident or now > self.resident[-1][0] + 0.5:
            statm = pathlib.Path(f"/proc/{self.run.pid}/statm").read_text().split()
            self.resident.append((now, int(statm[1]) * os.sysconf("SC_PAGE_SIZE")))

    def wait_for_samples(self, part):
        """Until the sink of voltages has written this part of the captures."""
        n_bytes = part * self.capture.n_bytes
        self.wait("samples", lambda: any(path.stat().st_size > n_bytes
                                         for path in self.folder.glob("raw.npy.partial")))

    def n_dropped(self):
        """By port, what the kernel had no room for."""
        table = self.table()
        return [table[number].drops for number in self.numbers]

    def end_run(self):
        """Interrupts the run when all has been received; returns the statistics."""
        self.wait("empty sockets", lambda: not any(self.table()[number].waiting
                                                   for number in self.numbers))
        self.drops = self.n_dropped()
        self.run.send_signal(signal.SIGINT)
        output, errors = self.run.communicate(timeout=PATIENCE)
        replay_account.equal(self.run.returncode, 128 + signal.SIGINT, f"status of the run: {errors}")
        others = [line for line in errors.splitlines() if not line.startswith("interrupted by SIGINT")]
        replay_account.equal(others, [], "warnings of the run")
        return json.loads(output)


def steady(replay, _):
    replay.end_sender(replay.start_sender())


def stopped(replay, pause):
    """The graph is stopped so long, and until the kernel has dropped packets of each port."""
    sender = replay.start_sender()
    replay.wait_for_samples(0.1)
    replay.run.send_signal(signal.SIGSTOP)
    end = time.monotonic() + pause
    while (time.monotonic() < end or not all(replay.n_dropped())) and sender.poll() is None:
        time.sleep(0.01)
    replay.run.send_signal(signal.SIGCONT)
    replay.end_sender(sender)


def restarted(replay, _):
    """The sender ends; another one starts at a later place, behind a gap of a sixth of the captures."""
    sender = replay.start_sender()
    replay.wait_for_samples(0.1)
    sender.send_signal(signal.SIGTERM)
    replay.end_sender(sender, 128 + signal.SIGTERM)
    log = json.loads((replay.folder / "sent0.json").read_text())
    first = max(address["read"] for address in log["addresses"]) + replay.capture.n // 6
    replay.end_sender(replay.start_sender(first))


def run(case, folder, network, seconds, pause=0, **options):
    """Runs a case; returns the account, which agrees."""
    capture = Capture(folder, int(seconds * PACKETS_A_SECOND), options.get("seed", 1))
    with Replay(folder, network, capture, **options) as replay:
        replay.start_run()
        case(replay, pause)
        return replay_account.check(replay, replay.end_run())


CASES = {"steady": steady, "stopped": stopped, "restarted": restarted}


def main():
    parser = argparse.ArgumentParser(prog="scripts/replay", description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, required=True, help="of the stream of `steady`")
    parser.add_argument("--veth", action="store_true", help="between two network namespaces (root)")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2 ** 31)
    parser.add_argument("--speed", type=float, default=1)
    parser.add_argument("--pause", type=float, default=5, help="seconds for which the graph is stopped")
    parser.add_argument("--only", choices=CASES, action="append")
    options = parser.parse_args()
    tap.heed_signals()
    reason = replay_network.no_veth() if options.veth else None
    if reason:
        print(f"skipped: {reason}")
        return
    print(f"seed {options.seed}", flush=True)
    for name in options.only or CASES:
        seconds = options.seconds if name == "steady" else min(options.seconds, 3 * options.pause + 15)
        with tempfile.TemporaryDirectory(prefix="cornerturn-replay-") as folder, \
                replay_network.open_network(options.veth) as network:
            account = run(CASES[name], folder, network, seconds, options.pause, seed=options.seed,
                          speed=options.speed)
        account.show(f"{name}, {seconds:g} s of the stream, {network.name}")
        account.check_memory()
