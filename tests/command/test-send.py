#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`cornerturn send`: the datagrams of captures and of graphs, faults by chance and their account, times,
interrupts, and what is refused."""
import json
import pathlib
import signal
import socket
import struct
import subprocess
import time

import numpy as np

import graphs
import recordings
import tap
from ports import free_port

PATIENCE = 60  # seconds, which nothing should take
SLOTS, N_BEAMLETS = 16, 2
PACKET = 16 + SLOTS * N_BEAMLETS * 4
SECOND = 1656466200
RATE = 195312.5 / SLOTS  # packets a second


def make_packet(payload, i, port=0):
    """Packet `i` of a LOFAR station with 195312.5 samples a second."""
    second, at = divmod(2 * SLOTS * i, 390625)
    return struct.pack("<BHBHBBII", 3, port | 1 << 7 | 1 << 8, 0, 214 * 32, N_BEAMLETS, SLOTS,
                       SECOND + second, at // 2) + payload


class Send(graphs.GraphTest):
    def setUp(self):
        super().setUp()
        self.random = np.random.default_rng(20261127)

    def make(self, n, port=0, first=0):
        return [make_packet(self.random.bytes(PACKET - 16), first + i, port) for i in range(n)]

    def put(self, name, packets):
        (self.folder / name).write_bytes(b"".join(packets))

    def bind(self):
        """A socket that holds more than any of these tests sends, and its address."""
        one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(one.close)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        one.bind(("127.0.0.1", 0))
        one.setblocking(False)
        return one, f"udp://127.0.0.1:{one.getsockname()[1]}"

    @staticmethod
    def header(frame):
        """Of VDIF, but for the bit that says whether the samples are valid."""
        return frame[:3] + bytes([frame[3] & 0x7f]) + frame[4:16]

    def received(self, one):
        datagrams = []
        while True:
            try:
                datagrams.append(one.recv(65536))
            except BlockingIOError:
                return datagrams

    def launch(self, *arguments, stage="lofar.source"):
        stage = ["--stage", stage] if stage else []
        process = subprocess.Popen([graphs.COMMAND, "send", *stage, *arguments], cwd=self.folder,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def send(self, *arguments, status=0, **options):
        """Returns the log, or the message of a failure."""
        process = self.launch(*arguments, "--log", "log.json", **options)
        output, errors = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, status, errors + output)
        if status:
            self.assertEqual(len(errors.strip().splitlines()), 1, errors)
            return errors
        return self.log()

    def log(self):
        return json.loads((self.folder / "log.json").read_text())

    def lines(self):
        return [json.loads(line)
                for line in (self.folder / "lines").read_text().splitlines()]

    def check_account(self, address, packets, datagrams, size=PACKET):
        """The log, its lines, and what was received agree."""
        count = next(one for one in self.log()["addresses"] if one["address"] == address)
        lines = [line for line in self.lines()
                 if self.log()["addresses"][line["address"]]["address"] == address]
        sent = [line for line in lines if line["fate"] != "lost"]
        self.assertEqual([packets[line["packet"]] for line in sent], datagrams)
        fates = [line["fate"] for line in lines]
        first = [line["packet"] for line in lines if line["fate"] == "sent"]
        late = sum(number < max(first[:i], default=-1) for i, number in enumerate(first))
        self.assertEqual({name: count[name] for name in
                          ("read", "sent", "lost", "duplicated", "reordered", "unsent", "bytes")},
                         {"read": len(packets), "sent": len(datagrams), "lost": fates.count("lost"),
                          "duplicated": fates.count("duplicate"), "reordered": late, "unsent": 0,
                          "bytes": sum(map(len, datagrams))})
        self.assertEqual(count["sent"], count["read"] - count["lost"] + count["duplicated"])
        self.assertEqual(sorted(line["packet"] for line in lines if line["fate"] != "duplicate"),
                         list(range(len(packets))))
        for line in lines:
            self.assertEqual((line["offset"], line["bytes"]), (line["packet"] * size, size))
        return count

    def test_clean(self):
        packets = self.make(500)
        self.put("capture", packets)
        for pace in ([], ["--speed", "100"], ["--rate", "1e5"], ["--rate", "max"]):
            with self.subTest(pace):
                one, address = self.bind()
                log = self.send("capture", "--to", address, "--log-packets", "lines", *pace)
                count = self.check_account(address, packets, self.received(one))
                self.assertEqual((log["state"], log["error"], log["files"]), ("complete", None, ["capture"]))
                self.assertAlmostEqual(count["packets_per_second"] * count["seconds"], 500)

    def test_faults(self):
        """Each fault alone, and all; the same seed loses the same packets."""
        packets = self.make(600)
        self.put("capture", packets)
        losses = []
        for faults, name, least in ((["--loss", "0.2"], "lost", 60),
                                    (["--duplicate", "0.2"], "duplicated", 60),
                                    (["--reorder", "0.2", "--reorder-by", "20"], "reordered", 60),
                                    (["--jitter", "20 ms"], "reordered", 60),
                                    (["--loss", "0.2", "--duplicate", "0.1", "--reorder", "0.1",
                                      "--jitter", "2 ms"], "lost", 60)):
            with self.subTest(faults):
                one, address = self.bind()
                log = self.send("capture", "--to", address, "--seed", "7", "--log-packets", "lines", *faults)
                count = self.check_account(address, packets, self.received(one))
                self.assertGreater(count[name], least)
                self.assertEqual(log["seed"], 7)
                for other in {"lost", "duplicated"} - {name} if len(faults) <= 4 else ():
                    self.assertEqual(count[other], 0)
                losses.append([line["packet"] for line in self.lines() if line["fate"] == "lost"])
        self.assertEqual(sorted(losses[0]), sorted(losses[-1]))
        one, address = self.bind()
        self.send("capture", "--to", address, "--loss", "1", "--log-packets", "lines", "--rate", "max")
        self.check_account(address, packets, self.received(one))

    def test_reorder_by(self):
        """No packet is behind more later ones than it may be."""
        packets = self.make(400)
        self.put("capture", packets)
        one, address = self.bind()
        self.send("capture", "--to", address, "--reorder", "0.3", "--reorder-by", "3", "--rate", "max",
                  "--log-packets", "lines")
        self.check_account(address, packets, self.received(one))
        order = [line["packet"] for line in self.lines()]
        behind = [sum(later > number for later in order[:i]) for i, number in enumerate(order)]
        self.assertEqual((max(behind), min(behind)), (3, 0))

    def test_reorder_beyond_the_end(self):
        """Packets whose place is behind the end are out of order as well."""
        packets = self.make(400)
        self.put("capture", packets)
        one, address = self.bind()
        self.send("capture", "--to", address, "--reorder", "1", "--reorder-by", "1000000", "--rate", "max",
                  "--log-packets", "lines")
        self.assertGreater(self.check_account(address, packets, self.received(one))["reordered"], 300)

    def test_slow(self):
        """A speed at which the second packet is due in longer than clocks count."""
        self.put("capture", self.make(9))
        self.write(self.graph(), "g.yaml")
        for name, stage in ("capture", "lofar.source"), ("g.yaml", None):
            with self.subTest(name):
                one, address = self.bind()
                process = self.launch(name, "--to", address, "--speed", "1e-300", stage=stage)
                one.settimeout(PATIENCE)
                one.recv(65536)
                with self.assertRaises(subprocess.TimeoutExpired):
                    process.wait(0.3)
                process.send_signal(signal.SIGTERM)
                process.communicate(timeout=PATIENCE)
                # A graph whose source has ended is complete, for its sink sends what is left.
                self.assertIn(process.returncode, (143, 0) if stage is None else (143,))

    def test_files(self):
        """A file for each address, or all for one: in the order of their times."""
        ports = [self.make(200, port) for port in range(2)]
        for i, packets in enumerate(ports):
            self.put(f"port{i}", packets)
        bound = [self.bind() for _ in ports]
        self.send("port0", "port1", "--to", bound[0][1], "--to", bound[1][1], "--log-packets", "lines")
        for (one, address), packets in zip(bound, ports):
            self.check_account(address, packets, self.received(one))
        one, address = self.bind()
        self.send("port0", "port1", "--to", address, "--rate", "max")
        self.assertEqual(self.received(one), [packet for pair in zip(*ports) for packet in pair])

    def test_repeat(self):
        packets = self.make(100)
        self.put("capture", packets)
        one, address = self.bind()
        log = self.send("capture", "--to", address, "--repeat", "3", "--speed", "5")
        self.assertEqual(self.received(one), 3 * packets)
        self.assertGreaterEqual(log["addresses"][0]["seconds"], 0.9 * 300 / RATE / 5)

    def test_times(self):
        """The time of the stamps, with a wrong and a late one, or of a rate, is never undercut."""
        packets = self.make(1500)
        packets[700] = make_packet(bytes(PACKET - 16), 700000)
        packets.insert(900, packets.pop(800))
        self.put("capture", packets)
        for pace, seconds in ([], 1499 / RATE), (["--speed", "0.5"], 2998 / RATE), (["--rate", "3000"], 0.4997):
            one, address = self.bind()
            log = self.send("capture", "--to", address, *pace)
            self.assertEqual(self.received(one), packets)
            self.assertGreater(log["addresses"][0]["seconds"], 0.95 * seconds)
            self.assertLess(log["addresses"][0]["seconds"], PATIENCE)

    def test_damage(self):
        """What is no packet is not sent."""
        packets = self.make(300)
        self.put("capture", [b"xyz", *packets[:100], self.random.bytes(50), *packets[100:], packets[0][:40]])
        one, address = self.bind()
        self.send("capture", "--to", address, "--rate", "max")
        self.assertEqual(self.received(one), packets[:99] + packets[100:])

    def test_interrupt(self):
        """The log is complete; what was delayed is sent."""
        packets = self.make(200)
        self.put("capture", packets)
        one, address = self.bind()
        process = self.launch("capture", "--to", address, "--speed", "0.001", "--reorder", "0.5",
                              "--log", "log.json", "--log-packets", "lines")
        end = time.monotonic() + PATIENCE
        datagrams = []
        while len(datagrams) < 3 and time.monotonic() < end:
            datagrams += self.received(one)
            time.sleep(0.001)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE)
        self.assertEqual((process.returncode, errors), (130, "interrupted by SIGINT\n"))
        datagrams += self.received(one)
        log = self.log()
        self.assertEqual((log["state"], log["error"]), ("interrupted", "interrupted by SIGINT"))
        self.assertLess(log["addresses"][0]["read"], 200)
        self.check_account(address, packets[:log["addresses"][0]["read"]], datagrams)

    def test_received(self):
        """A source in another process counts what the log says."""
        packets = self.make(3000)
        self.put("capture", packets)
        port = free_port()
        address = f"udp://127.0.0.1:{port}"
        run = self.start({"station": {"stage": "lofar.source", "paths": [address], "window": "10 ms"},
                          "out": {"stage": "file.sink", "from": "station", "path": "out.npy"}})
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)
        end = time.monotonic() + PATIENCE
        while not self.is_bound(port):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.001)
        log = self.send("capture", "--to", address, "--speed", "0.5", "--loss", "0.05", "--duplicate", "0.05",
                        "--reorder", "0.05", "--log-packets", "lines", "--seed", "3")
        while self.waiting(port)[0]:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.001)
        self.assertEqual(self.waiting(port)[1], 0, "the kernel has dropped some")
        run.send_signal(signal.SIGINT)
        output, errors = run.communicate(timeout=PATIENCE)
        self.assertEqual(run.returncode, 130, errors)
        node = next(node for node in json.loads(output)["nodes"] if node["name"] == "station")
        counts, sent = node["counters"], log["addresses"][0]
        # What is within the window at the end is not counted: it begins behind packet `last` − 1.
        array = np.load(self.folder / "out.npy")
        lines = self.lines()
        first = min(line["packet"] for line in lines if line["fate"] == "sent")
        last = first - -len(array) // SLOTS
        self.assertGreater(last, 2000)
        fates = [line["fate"] for line in lines if line["packet"] < last]
        # Second copies within the window are counted, too.
        self.assertGreaterEqual(counts["duplicate"], fates.count("duplicate"))
        self.assertLessEqual(counts["duplicate"], sent["duplicated"])
        self.assertEqual(counts["missing"], fates.count("lost"))
        self.assertEqual(counts["packets"] - counts["duplicate"], fates.count("sent"))
        self.assertEqual(sent["sent"], sent["read"] - sent["lost"] + sent["duplicated"])
        lost = {line["packet"] for line in lines if line["fate"] == "lost"}
        wanted = np.concatenate([
            (np.frombuffer(packets[i][16:], "i1") * (i not in lost)).reshape(
                N_BEAMLETS, SLOTS, 2, 2).transpose(1, 0, 2, 3) for i in range(first, last)])
        np.testing.assert_array_equal(array.reshape(-1, N_BEAMLETS, 2, 2), wanted[:len(array)])

    def waiting(self, port):
        for line in pathlib.Path("/proc/net/udp").read_text().splitlines()[1:]:
            words = line.split()
            if int(words[1].split(":")[1], 16) == port:
                return int(words[4].split(":")[1], 16), int(words[-1])
        return 0, 0

    def graph(self, n=4000, n_subbands=1):
        recordings.put(self.folder, "i8", [("time", n), ("subband", n_subbands), ("pol", 2)], frequency=1e8)
        return {"in": {"stage": "file.source", "path": "in.npy", "layout": "i8[time subband pol]"},
                "out": {"stage": "file.sink", "from": "in", "path": "out.vdif", "frame_samples": 200}}

    def graph_of_two(self, n=4000, n_subbands=1):
        """Two sinks of other frames, and their bytes."""
        graph = self.graph(n, n_subbands)
        graph["too"] = {**graph["out"], "path": "too.vdif", "frame_samples": 400, "station": 9}
        self.write(graph, "g.yaml")
        self.run_graph(graph)
        return {name: [data[i:i + size] for i in range(0, len(data), size)] for name, size in
                (("out", 32 + 200 * n_subbands), ("too", 32 + 400 * n_subbands)) for data in [(self.folder / f"{name}.vdif").read_bytes()]}

    def send_graph(self, *arguments, status=0):
        process = self.launch("g.yaml", *arguments, "--log", "log.json", "--log-packets", "lines", stage=None)
        output, errors = process.communicate(timeout=PATIENCE)
        self.assertEqual((process.returncode, errors if not status else ""), (status, ""))
        return output

    def test_graph_faults(self):
        """Each fault alone, and all, of two sinks with an address each; the same seed loses the same."""
        frames = self.graph_of_two()
        self.assertEqual([len(frames[name]) for name in ("out", "too")], [40, 20])
        losses = []
        for faults, name, least in (([], None, 0), (["--loss", "0.3"], "lost", 10),
                                    (["--duplicate", "0.3"], "duplicated", 10),
                                    (["--reorder", "0.3", "--reorder-by", "20", "--rate", "max"], "reordered", 10),
                                    (["--jitter", "20 ms", "--speed", "0.01"], "reordered", 10),
                                    (["--loss", "0.3", "--duplicate", "0.1", "--reorder", "0.1",
                                      "--jitter", "2 ms"], "lost", 10), (["--loss", "1"], "lost", 59)):
            with self.subTest(faults):
                bound = [self.bind() for _ in range(2)]
                output = self.send_graph("--to", bound[0][1], "--to", bound[1][1], "--seed", "7", *faults)
                counts = [self.check_account(address, frames[sink], self.received(one), len(frames[sink][0]))
                          for sink, (one, address) in zip(("out", "too"), bound)]
                self.assertEqual([count["sink"] for count in counts], ["out", "too"])
                self.assertEqual((self.log()["state"], self.log()["files"], self.log()["seed"]),
                                 ("complete", ["g.yaml"], 7))
                if name:
                    self.assertGreater(sum(count[name] for count in counts), least)
                for other in {"lost", "duplicated", "reordered"} - {name} if len(faults) <= 2 else ():
                    self.assertEqual([count[other] for count in counts], [0, 0])
                for sink, (_, address), count in zip(("out", "too"), bound, counts):
                    self.assertIn(f"{sink} to {address}: read {count['read']}, lost {count['lost']}, ", output)
                self.assertIn("\nseed 7\n", output)
                losses.append(sorted((line["address"], line["packet"]) for line in self.lines() if line["fate"] == "lost"))
        self.assertEqual(losses[1], losses[-2])
        self.assertNotEqual([packet for sink, packet in losses[1] if sink == 0 and packet < 20],
                            [packet for sink, packet in losses[1] if sink == 1])

    def test_graph_one_address(self):
        """Two sinks to one address have accounts of their own, which together are what comes."""
        frames = self.graph_of_two()
        one, address = self.bind()
        self.send_graph("--to", address, "--loss", "0.2", "--duplicate", "0.2", "--seed", "5")
        datagrams, lines = self.received(one), self.lines()
        for number, sink in enumerate(("out", "too")):
            count = self.log()["addresses"][number]
            mine = [line for line in lines if line["address"] == number]
            sent = [frames[sink][line["packet"]] for line in mine if line["fate"] != "lost"]
            self.assertEqual(sent, [data for data in datagrams if len(data) == len(frames[sink][0])])
            self.assertEqual((count["sink"], count["read"], count["sent"]), (sink, len(frames[sink]), len(sent)))
            self.assertEqual(count["sent"], count["read"] - count["lost"] + count["duplicated"])
        self.assertEqual(sum(count["sent"] for count in self.log()["addresses"]), len(datagrams))

    def test_graph_interrupt(self):
        """What was delayed is sent at once, and the log is complete."""
        frames = self.graph_of_two(100000, 64)  # more than what waits between the nodes
        bound = [self.bind() for _ in range(2)]
        process = self.launch("g.yaml", "--to", bound[0][1], "--to", bound[1][1], "--speed", "1e-4", "--set",
                              "in.block={time: 200}", "--reorder", "0.5", "--log", "log.json", "--log-packets", "lines",
                              stage=None)
        end = time.monotonic() + PATIENCE
        datagrams = [[], []]
        while min(map(len, datagrams)) < 1 and time.monotonic() < end:
            for i, (one, _) in enumerate(bound):
                datagrams[i] += self.received(one)
            time.sleep(0.001)
        process.send_signal(signal.SIGINT)
        while process.poll() is None and time.monotonic() < end:
            for i, (one, _) in enumerate(bound):
                datagrams[i] += self.received(one)
        _, errors = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 130, errors)
        if any(self.waiting(one.getsockname()[1])[1] for one, _ in bound):
            self.skipTest("the kernel has dropped some")
        log = self.log()
        self.assertEqual(log["state"], "interrupted")
        self.assertTrue(log["error"].startswith("interrupted by SIGINT"), log["error"])
        for i, (sink, (one, address)) in enumerate(zip(("out", "too"), bound)):
            datagrams[i] += self.received(one)
            n = log["addresses"][i]["read"]
            whole = frames[sink][:n]
            # The last frames, which the interrupt has cut, are invalid: those of all lanes.
            for data in datagrams[i]:
                if data not in whole:
                    cut = [self.header(frame) for frame in whole].index(self.header(data))
                    self.assertEqual(whole[cut][:2] + whole[cut][4:7], whole[-1][:2] + whole[-1][4:7])
                    whole[cut] = data
            self.check_account(address, whole, datagrams[i], len(whole[0]))

    def test_graph_received(self):
        """A receiving graph counts what the log says: received = used + late + duplicate + stray."""
        n, n_stations, n_packets = 1500, 3, 2  # heaps, and packets of one
        recordings.put(self.folder, "ci8", [("time", 16 * n), ("channel", 8), ("station", n_stations), ("pol", 2)],
                       {"ticks_per_second": [1000000, 1]}, observation=None)
        heaps = {"payload": ["channel", "time 16", "pol 2"]}
        self.write({"in": {"stage": "file.source", "path": "in.npy", "layout": "ci8[time channel station pol]"},
                    "other": {"stage": "select", "from": "in", "station": [0]},
                    "out": {"stage": "spead.sink", "from": "in", "path": "out.spead", "packet_bytes": 256, **heaps},
                    "alien": {"stage": "spead.sink", "from": "other", "path": "alien.spead", "packet_bytes": 256,
                              "stations": [40], **heaps}}, "g.yaml")
        port = free_port()
        run = self.start({
            "array": {"stage": "spead.source", "paths": [f"udp://127.0.0.1:{port}"], "sample_rate": "1 MHz",
                      "ticks_per_sample": 1, "window": "1 ms", "stations": ["0..2"], "channels": ["0..7"], **heaps},
            "out": {"stage": "file.sink", "from": "array", "path": "back.npy", "layout": "[time channel station pol]"}})
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)
        end = time.monotonic() + PATIENCE
        while not self.is_bound(port):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.001)
        self.send_graph("--to", f"udp://127.0.0.1:{port}", "--speed", "0.02", "--loss", "0.05", "--duplicate", "0.05",
                        "--reorder", "0.05", "--seed", "3")
        while self.waiting(port)[0]:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.001)
        self.assertEqual(self.waiting(port)[1], 0, "the kernel has dropped some")
        run.send_signal(signal.SIGINT)
        output, errors = run.communicate(timeout=PATIENCE)
        self.assertEqual(run.returncode, 130, errors)
        counts = next(node for node in json.loads(output)["nodes"] if node["name"] == "array")["counters"]
        self.assertEqual(counts["received"], sum(counts[name] for name in ("used", "late", "duplicate", "stray")))
        lines = self.lines()
        mine = [line for line in lines if line["address"] == 0]
        array = np.load(self.folder / "back.npy")
        n_each = n_stations * n_packets
        first = min(line["packet"] // n_each for line in mine if line["fate"] != "lost")
        last = first - -len(array) // 16
        self.assertGreater(last, n - 100)
        fates = [line["fate"] for line in mine if line["packet"] // n_each < last]
        self.assertEqual((counts["missing"], counts["late"]), (fates.count("lost") - n_each * first, 0))
        self.assertEqual(counts["used"], fates.count("sent"))
        self.assertGreaterEqual(counts["duplicate"], fates.count("duplicate"))
        self.assertLessEqual(counts["duplicate"], self.log()["addresses"][0]["duplicated"])
        self.assertEqual(counts["stray"], self.log()["addresses"][1]["sent"])
        wanted = np.load(self.folder / "in.npy")
        for line in mine:
            if line["fate"] == "lost":
                heap, rest = divmod(line["packet"], n_each)
                station, packet = divmod(rest, n_packets)
                wanted[16 * heap:16 * heap + 16, 4 * packet:4 * packet + 4, station] = 0
        np.testing.assert_array_equal(array, wanted[16 * first:][:len(array)])

    def is_bound(self, port):
        return f":{port:04X} " in pathlib.Path("/proc/net/udp").read_text()

    def test_graph_and_vdif(self):
        """The sinks of a graph send what they would write; a file of it is known by its name."""
        name = self.write(self.graph())
        self.run_graph(self.graph())
        (self.folder / "graph.yaml").rename(self.folder / "g.yaml")
        name = "g.yaml"
        data = (self.folder / "out.vdif").read_bytes()
        for options in [], ["--speed", "2"], ["--rate", "max"]:
            one, address = self.bind()
            process = self.launch(name, "--to", address, "--stats", "json", *options, stage=None)
            output, errors = process.communicate(timeout=PATIENCE)
            self.assertEqual((process.returncode, errors), (0, ""))
            self.assertEqual(json.loads(output)["state"], "complete")
            datagrams = self.received(one)
            self.assertEqual(b"".join(datagrams), data)
        one, address = self.bind()
        self.send("out.vdif", "--to", address, stage=None)
        self.assertEqual(self.received(one), datagrams)

    def test_errors(self):
        self.put("capture", self.make(10))
        np.save(self.folder / "x.npy", np.zeros(3))
        self.write(self.graph(), "g.yaml")
        to = ["--to", "udp://127.0.0.1:5000"]
        for arguments, status, message in (
                (["capture"], 2, "wants --to udp://ADDRESS:PORT"),
                (["capture", *to, "--loss", "2"], 2, "--loss wants 0 to 1, but is given 2"),
                (["capture", *to, "--duplicate=-0.5"], 2, "--duplicate wants 0 to 1, but is given -0.5"),
                (["capture", *to, "--reorder", "nan"], 2, "--reorder wants 0 to 1, but is given nan"),
                (["capture", *to, "--reorder-by", "0"], 2, "--reorder-by wants at least 1, but is given 0"),
                (["capture", *to, "--speed", "0"], 2, "--speed wants more than 0, and at most 1e9, but is given 0"),
                (["capture", *to, "--rate", "fast"], 2, "--rate wants packets a second, as 1e5, or max, but is given 'fast'"),
                (["capture", *to, "--rate", "5", "--speed", "2"], 2, "wants one of --speed and --rate, but is given both"),
                (["capture", *to, "--rate", "max", "--jitter", "1 ms"], 2, "wants one of --jitter and --rate max, but is given both"),
                (["capture", *to, "--jitter", "0 s"], 2, "--jitter wants more than nothing, but is given '0 s'"),
                (["capture", *to, "--seed", "x"], 2, "--seed wants a number from 0 to 4294967295, but is given 'x'"),
                (["capture", *to, "--repeat=-1"], 2, "--repeat wants 0 or more, but is given -1"),
                (["capture", *to, "--ttl", "256"], 2, "--ttl wants 0 to 255, but is given 256"),
                (["capture", *to, "--duration", "1 s"], 2, "--duration wants a graph, but is given 'capture'"),
                (["capture", "--to", "here"], 1, "wants udp://ADDRESS:PORT, but is given 'here'"),
                (["capture", "--to", "udp://here:1"], 1, "udp://here:1: wants an address as 10.0.0.1 or [fd00::1], but is given 'here'"),
                (["capture", *to, *to], 1, "wants one address, or one for each of 1 files, but is given 2"),
                (["capture", "--to", "udp://255.255.255.255:1"], 1, "udp://255.255.255.255:1: can't be sent to: Permission denied"),
                (["nothing", *to], 1, "nothing: can't be opened: No such file or directory"),
                (["x.npy", *to], 1, "x.npy: wants CEP packets of a LOFAR station, but is given"),
                (["capture", *to, "--set", "bits=2"], 1, "'bits'"),
                (["capture", *to, "--log-packets", "no/lines"], 1, "no/lines: can't be opened: No such file or directory")):
            with self.subTest(message):
                self.assertIn(message, self.send(*arguments, status=status))
        for stage, message in ((None, "capture: wants --stage, as in --stage lofar.source: the end of the name tells no source of packets"),
                               ("fir", "--stage wants a source of packets, as lofar.source, but is given 'fir'"),
                               ("lofar.sauce", "there is no stage 'lofar.sauce'; did you mean 'lofar.source'?")):
            self.assertIn(message, self.send("capture", *to, status=1, stage=stage))
        for option in ["--stage", "lofar.source"], ["--rate", "5"], ["--repeat", "2"]:
            process = self.launch("g.yaml", *to, *option, stage=None)
            _, errors = process.communicate(timeout=PATIENCE)
            self.assertEqual(process.returncode, 2)
            self.assertIn(f"{option[0]} wants a file of packets, but is given the graph g.yaml", errors)
        for option, message in ((["--log", "no/log"], "no/log: can't be opened: No such file or directory"),
                                (["--log-packets", "no/lines"], "no/lines: can't be opened: No such file or directory"),
                                (["--set", "out.frame_samples=7"], "parameter 'frame_samples': ")):
            process = self.launch("g.yaml", *to, "--stats", "none", "--log", "log.json", *option, stage=None)
            _, errors = process.communicate(timeout=PATIENCE)
            self.assertEqual((process.returncode, len(errors.splitlines())), (1, 1))
            self.assertIn(message, errors)
        self.assertEqual((self.log()["state"], self.log()["error"], self.log()["addresses"][0]["read"]),
                         ("failed", errors.strip(), 0))
        for name, graph, addresses, message in (
                ("a.yaml", self.graph(), to + to, "a.yaml: wants one address, or one for each of 1 sinks that can send, but is given 2"),
                ("b.yaml", {**self.graph(), "out": {"stage": "discard", "from": "in"}}, to,
                 "b.yaml: wants a sink that can send, as vdif.sink, but has none"),
                ("c.yaml", self.graph(), ["--to", "x"], "wants udp://ADDRESS:PORT, but is given 'x'")):
            self.write(graph, name)
            process = self.launch(name, *addresses, stage=None)
            _, errors = process.communicate(timeout=PATIENCE)
            self.assertEqual((process.returncode, errors), (1, message + "\n"))


if __name__ == "__main__":
    tap.main()
