#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares the reception of packets with programs that do nothing else: the rate at which loss begins
on one core, and the processor time of a packet.

`fixed`: packets of a fixed header of 16 bytes and 7808 bytes of samples, received by packet.source,
and by a loop of recvmmsg that copies each payload once. `spead`: heaps of 64 KiB in packets of
8 KiB, received by spead.source, and by the package spead2 into chunks. All receive at 127.0.0.1 on the
second core; the sender has the first one. Loss begins at the highest rate, to 5%, of which less than a
thousandth was lost in one of three tries. The receivers take turns; figures are medians.

    tests/bench/network.py [--seconds 1] [--runs 3] [--only fixed|spead]"""
import argparse
import json
import os
import pathlib
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import oracles  # noqa: E402

COMMAND = os.environ["CORNERTURN"]
PEER = os.environ["CORNERTURN_NETWORK_PEER"]
PLACE = os.environ["CORNERTURN_NETWORK_PLACE"]
PORT = 20051
SEED = 20261127
STEP = 1.05
LEAST_RATE = 2e4
LOSS = 1e-3
LEAST = 0.8  # of the peer's rate
SETTLE = 0.3  # seconds for a receiver to begin, and for its last packets
HEADER = 16

SPEAD2 = """
import ctypes, scipy, signal, sys, threading
import numpy as np, spead2, spead2.recv
port, place, n_heaps, heap_bytes = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
call = ctypes.CDLL(place).place
call.restype, call.argtypes = None, [ctypes.c_void_p, ctypes.c_size_t]
data = spead2.recv.ChunkRingbuffer(16)
free = spead2.recv.ChunkRingbuffer(64)
stream = spead2.recv.ChunkRingStream(
    spead2.ThreadPool(), spead2.recv.StreamConfig(max_heaps=4, memcpy=spead2.MEMCPY_NONTEMPORAL),
    spead2.recv.ChunkStreamConfig(items=[0x1600, spead2.HEAP_LENGTH_ID], max_chunks=4,
                                  place=scipy.LowLevelCallable(call, signature="void (void *, size_t)")),
    data, free)
for _ in range(64):
    stream.add_free_chunk(spead2.recv.Chunk(
        present=np.zeros(n_heaps, np.uint8), data=np.ones(n_heaps * heap_bytes, np.uint8)))
stream.add_udp_reader(port, max_size=9000, buffer_size=32 << 20, bind_hostname="127.0.0.1")
signal.signal(signal.SIGINT, lambda *_: threading.Thread(target=stream.stop).start())
for chunk in data:
    stream.add_free_chunk(chunk)
print(stream.stats["packets"])
"""


class Fixed:
    """Packets with a counter of samples, 16 of 122 channels and 2 pols each."""
    name, title, packet_bytes = "fixed", "packets of a fixed header", HEADER + 16 * 122 * 2 * 2
    counters = ["8:8:16384"]
    samples = 16
    layout = "[time channel pol]"
    peer_name = "a loop of recvmmsg"
    source = {"stage": "packet.source", "header_bytes": HEADER, "counter": "u64 at 8",
              "constants": ["u16 at 0 = 0xcafe"], "payload": ["time 16", "channel 122", "pol 2"],
              "type": "ci8"}

    def capture(self, random):
        return b"".join(struct.pack(">HHIQ", 0xcafe, 0, 0, 16 * i)
                        + random.bytes(self.packet_bytes - HEADER) for i in range(1024))

    def peer(self):
        return [PEER, "loop", str(PORT), str(self.packet_bytes), str(HEADER)], {}


class Spead:
    """Heaps of 64 channels, 256 spectra and 2 pols, each in eight packets."""
    name, title, packet_bytes = "spead", "heaps of SPEAD", 72 + 8192
    n_heaps, heap_bytes = 128, 65536
    # Numbers and timestamps of the heaps.
    counters = [f"{10}:6:{n_heaps}", f"{8 + 4 * 8 + 2}:6:{n_heaps * 256 * 8192}"]
    samples = 256 / 8
    layout = "[channel time pol]"
    peer_name = "spead2 4.5.1"
    source = {"stage": "spead.source", "station_item": "none"}

    def capture(self, random):
        packets = []
        for heap in range(self.n_heaps):
            for part in range(8):
                items = [(1, heap), (2, self.heap_bytes), (3, 8192 * part), (4, 8192),
                         (0x1600, 256 * 8192 * heap), (0x4103, 0)]
                header = struct.pack(">BBBBHH", 0x53, 4, 2, 6, 0, 8)
                header += b"".join(struct.pack(">Q", 1 << 63 | number << 48 | value)
                                   for number, value in items)
                header += struct.pack(">QQ", 0x4300 << 48, 0)
                packets.append(header + random.bytes(8192))
        return b"".join(packets)

    def peer(self):
        folder = oracles.install(oracles.SPEAD2)
        if not folder:
            return None, None
        return ([sys.executable, "-c", SPEAD2, str(PORT), PLACE, "16", str(self.heap_bytes)],
                {"PYTHONPATH": str(folder)})


def on_core(core):
    return lambda: os.sched_setaffinity(0, {core})


class Bench:
    def __init__(self, case, folder, seconds, cores):
        self.case, self.folder, self.seconds, self.cores = case, pathlib.Path(folder), seconds, cores
        (self.folder / "capture").write_bytes(case.capture(np.random.default_rng(SEED)))

    def send(self, rate):
        """The packets that were sent, and their rate."""
        case = self.case
        said = subprocess.run(
            [PEER, "send", self.folder / "capture", str(case.packet_bytes), str(PORT), str(rate),
             str(self.seconds), *case.counters], preexec_fn=on_core(self.cores[0]), check=True,
            capture_output=True, text=True).stdout.split()
        return int(said[0]), int(said[0]) / float(said[1])

    def receive(self, command, variables, rate):
        """Standard output of a receiver, its seconds of a processor for a packet, how many were sent,
        and at what rate."""
        process = subprocess.Popen(command, preexec_fn=on_core(self.cores[1]), text=True,
                                   env={**os.environ, **variables}, cwd=self.folder,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        end = time.monotonic() + 30
        while f":{PORT:04X} " not in pathlib.Path("/proc/net/udp").read_text():
            if process.poll() is not None or time.monotonic() > end:
                process.kill()
                sys.exit(f"{command[0]}: {process.communicate()[1]}")
            time.sleep(0.02)
        time.sleep(SETTLE)
        before = processor_time(process.pid)
        sent, rate = self.send(rate)
        time.sleep(SETTLE)
        seconds = processor_time(process.pid) - before
        process.send_signal(signal.SIGINT)
        return process.communicate(timeout=60)[0], seconds / sent, sent, rate

    def peer(self, rate):
        output, seconds, sent, rate = self.receive(*self.case.peer(), rate)
        return (sent - int(output)) / sent, seconds, rate

    def graph(self, rate):
        # The window of reordering shall be the same time at all rates.
        source = {**self.case.source, "paths": [f"udp://127.0.0.1:{PORT}"],
                  "sample_rate": rate * self.case.samples}
        sink = {"stage": "bench.sink", "from": "sky", "layout": self.case.layout}
        (self.folder / "graph.yaml").write_text(json.dumps({"stages": {"sky": source, "out": sink}}))
        output, seconds, sent, rate = self.receive(
            [COMMAND, "run", "graph.yaml", "--stats", "json"], {}, rate)
        counters = json.loads(output)["nodes"][0]["counters"]
        lost = sum(counters[name] for name in ("overrun", "dropped", "late"))
        return lost / sent, seconds, rate

    def find_rate(self, receiver):
        """The rate at which loss begins, and the processor time of a packet there; with True, no
        more could be sent."""
        seconds, is_limit = 0, False

        def is_received(rate):
            nonlocal seconds, is_limit
            # What else runs on the machine may be at fault once.
            for _ in range(3):
                lost, used, given = receiver(rate)
                is_limit = given < rate / STEP
                if lost <= LOSS and not is_limit:
                    seconds = used
                    return True
            return False

        rate, factor = LEAST_RATE, 2
        while factor > STEP:
            if is_received(rate * factor):
                rate *= factor
            else:
                factor **= 0.5
        return rate, seconds, is_limit


def processor_time(pid):
    words = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def compare(case, options):
    if not case.peer()[0]:
        print(f"{case.title}: rate at which loss begins   not measured")
        return True
    with tempfile.TemporaryDirectory(prefix="cornerturn-bench-") as folder:
        bench = Bench(case, folder, options.seconds, options.cores)
        found = {bench.graph: [], bench.peer: []}
        for _ in range(options.runs):
            for receiver, results in found.items():
                results.append(bench.find_rate(receiver))
    rates = []
    for name, results in zip(("the graph", case.peer_name), found.values()):
        rates.append(statistics.median(rate for rate, _, _ in results))
        seconds = statistics.median(seconds for _, seconds, _ in results)
        limits = sum(is_limit for _, _, is_limit in results)
        print(f"{case.name:6} {name:18} {rates[-1]:9.0f} packets/s {rates[-1] * case.packet_bytes / 1e9:6.2f} "
              f"GB/s {seconds * 1e6:6.2f} us of a core per packet"
              + (f"  ({limits} of {len(results)} times, no more could be sent)" if limits else ""))
    ratio = rates[0] / rates[1]
    name = f"{case.title}: rate at which loss begins"
    print(f"{name:56} {ratio:.2f}, at least {LEAST:.2f} of that of {case.peer_name} "
          f"{'pass' if ratio >= LEAST else 'FALL SHORT'}", flush=True)
    return ratio >= LEAST


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", choices=[Fixed.name, Spead.name])
    options = parser.parse_args()
    options.cores = sorted(os.sched_getaffinity(0))[:2]
    good = [compare(case, options) for case in (Fixed(), Spead()) if options.only in (None, case.name)]
    sys.exit(not all(good))


if __name__ == "__main__":
    main()
