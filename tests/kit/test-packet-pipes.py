#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Sources of packets that read pipes give what they give of files: LOFAR, VDIF, Mark 5B, GUPPI RAW."""
import json
import os
import signal
import struct
import subprocess
import threading
import time

import numpy as np

import graphs
import tap
import vdif_frames

SEED = 20261126
HEAD = 8 << 20  # bytes by which a stream is described
WRITTEN = ("axes", "ticks_per_second", "ticks_per_sample", "start", "epoch", "frequency",
           "observation", "validity", "type")


def lofar_packets(random, n, port=0, n_beamlets=120):
    return [struct.pack("<BHBHBBII", 3, port | 1 << 7 | 1 << 8, 0, 214 * 32, n_beamlets, 16, 1656466200,
                        16 * i + 5) + random.bytes(n_beamlets * 16 * 4) for i in range(n)]


def vdif_packets(random, n, rate=8000000):
    """Two threads; frames of 2000 samples of 2 channels with 8 bits."""
    frames = rate // 2000
    return [vdif_frames.make_frame(random.bytes(4000), i // 2 % frames, second=100 + i // 2 // frames,
                                   thread=i % 2, bits=8, log2_channels=1)
            for i in range(n)]


def digits(number, n):
    return int(f"{number:0{n}}", 16)


def mark5b_packets(random, n):
    packets = []
    for i in range(n):
        code = digits(821, 3) << 36 | digits(100 + i // 400, 5) << 16
        remainder = code << 16
        for bit in range(63, 15, -1):
            if remainder >> bit & 1:
                remainder ^= 0x18005 << bit - 16
        packets.append(struct.pack("<4I", 0xabaddeed, 0xbead << 16 | i % 400, code >> 16,
                                   (code & 0xffff) << 16 | remainder) + random.bytes(10000))
    return packets


def guppi_packets(random, n, **more):
    """Blocks of 2048 samples, 4 channels, 2 polarisations, 8 bits."""
    packets = []
    for i in range(n):
        cards = {"BLOCSIZE": 32768, "NBITS": 8, "OBSNCHAN": 4, "NPOL": 4, "OVERLAP": 0, "TBIN": 1e-3,
                 "OBSFREQ": 1400.0, "OBSBW": 0.004, "PKTIDX": 100 + 16 * i, "PKTSIZE": 2048,
                 "STT_IMJD": 58132, "STT_SMJD": 51093, "STT_OFFS": 0.0, **more}
        lines = [f"{name:8}= {value!r}" for name, value in cards.items()] + ["END"]
        packets.append("".join(f"{line:80}" for line in lines).encode() + random.bytes(32768))
    return packets


MAKERS = {"lofar": lofar_packets, "vdif": vdif_packets, "mark5b": mark5b_packets,
          "guppi": guppi_packets}
PARAMETERS = {"lofar": {}, "vdif": {"sample_rate": "8 MHz"},
              "mark5b": {"n_channels": 4, "year": 2014, "sample_rate": "4 MHz"}, "guppi": {}}


def damage(random, packets, name):
    """Some packets are lost, doubled, late, cut short, or have a wrong header or bytes before
    them."""
    packets = list(packets)
    for i in range(10, len(packets) - 10):
        fault = random.integers(0, min(300, len(packets) // 5))
        if fault == 0:
            packets[i] = b""
        elif fault == 1:
            packets[i] *= 2
        elif fault == 2:
            packets[i], packets[i + 2] = packets[i + 2], packets[i]
        elif fault == 3:
            packets[i] = random.bytes(80) + packets[i][80:]
        elif fault == 4 and name != "guppi":
            packets[i] = packets[i][:random.integers(1, len(packets[i]))]
        elif fault == 5 and name != "guppi":
            packets[i] = random.bytes(3000) + packets[i]
    return packets


class Pipes(graphs.GraphTest):
    keys = {}

    def write(self, stages, name="graph.yaml"):
        (self.folder / name).write_text(json.dumps({"stages": stages, **self.keys}))
        return name

    def setUp(self):
        super().setUp()
        self.random = np.random.default_rng(SEED)

    def stages(self, name, paths, **source):
        key = "paths" if name == "lofar" else "path"
        return {"in": {"stage": f"{name}.source", key: paths, **PARAMETERS[name], **source},
                "out": {"stage": "file.sink", "from": "in", "path": "out.raw"}}

    def result(self, errors, output):
        node = next(node for node in json.loads(output)["nodes"] if node["name"] == "in")
        beside = json.loads((self.folder / "out.raw.json").read_text())
        return ((self.folder / "out.raw").read_bytes(), node["counters"],
                {key: beside.get(key) for key in WRITTEN}, errors)

    def launch(self, stages, *arguments, **options):
        process = subprocess.Popen(
            [graphs.COMMAND, "run", self.write(stages), "--stats", "json", *arguments],
            cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def end(self, process, status=0):
        output, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, status, errors)
        return errors if status else self.result(errors, output)

    def of_files(self, name, recordings, **source):
        paths = [f"file.{i}" for i in range(len(recordings))]
        for path, data in zip(paths, recordings):
            (self.folder / path).write_bytes(data)
        return self.end(self.launch(self.stages(name, paths, **source)))

    def write_all(self, fds, recordings, lead=0):
        """Writes the recordings in pieces, the first one so many bytes before the others."""
        at = [0] * len(fds)
        random = np.random.default_rng(SEED + 1)
        try:
            while any(fd is not None for fd in fds):
                behind = min(at[i] for i, fd in enumerate(fds) if fd is not None)
                for i in range(len(fds)):
                    if fds[i] is None or (i > 0 and at[0] < min(behind + lead, len(recordings[0]))):
                        continue
                    n = int(random.choice([1, 77, 5000, 100000, 1 << 20]))
                    at[i] += os.write(fds[i], recordings[i][at[i]:at[i] + n])
                    if at[i] == len(recordings[i]):
                        os.close(fds[i])
                        fds[i] = None
        except BrokenPipeError:
            pass

    def of_pipes(self, name, recordings, lead=0, wait=True, **source):
        """The same from inherited descriptors."""
        ends = [os.pipe() for _ in recordings]
        fds = [write for _, write in ends]
        process = self.launch(self.stages(name, [f"fd:{read}" for read, _ in ends], **source),
                              pass_fds=[read for read, _ in ends])
        for read, _ in ends:
            os.close(read)
        thread = threading.Thread(target=self.write_all, args=(fds, recordings, lead))
        thread.start()
        self.addCleanup(thread.join)
        return self.end(process) if wait else process

    def check_same(self, pipe, file):
        self.assertEqual(pipe[1:], file[1:])
        self.assertEqual(len(pipe[0]), len(file[0]))
        self.assertTrue(pipe[0] == file[0], "other samples")


class Formats(Pipes):
    def check_format(self, name, n):
        packets = MAKERS[name](self.random, n)
        data = b"".join(packets)
        self.assertGreater(len(data), HEAD + (2 << 20))
        file = self.of_files(name, [data])
        self.assertEqual({key: n for key, n in file[1].items() if n}, {"packets": n})
        self.check_same(self.of_pipes(name, [data]), file)
        for block in (1000, 1 << 20):
            broken = damage(self.random, packets, name)
            broken[-1] = broken[-1][:len(broken[-1]) // 2]
            data = b"".join(broken)
            file = self.of_files(name, [data])
            for key in ("missing", "truncated", "corrupt", "duplicate", "reordered"):
                self.assertGreater(file[1][key], 0, key)
            self.check_same(self.of_pipes(name, [data], block={"time": block}), file)
        # One that ends before the stream can be described without its end.
        data = b"".join(packets[:20]) + packets[20][:100]
        self.check_same(self.of_pipes(name, [data]), self.of_files(name, [data]))

    def test_lofar(self):
        self.check_format("lofar", 1500)

    def test_vdif(self):
        self.check_format("vdif", 3000)

    def test_mark5b(self):
        self.check_format("mark5b", 1200)

    def test_guppi(self):
        self.check_format("guppi", 400)

    def test_standard_input(self):
        data = b"".join(guppi_packets(self.random, 400))
        file = self.of_files("guppi", [data])
        with open(self.folder / "file.0", "rb") as stdin:
            cat = subprocess.Popen(["cat"], stdin=stdin, stdout=subprocess.PIPE)
            self.addCleanup(cat.wait)
            self.addCleanup(cat.stdout.close)
            self.check_same(self.end(self.launch(self.stages("guppi", "-"), stdin=cat.stdout)), file)

    def test_stops_within_block(self):
        """PKTSTOP is in the last block of a recording."""
        for n in (20, 400):
            data = b"".join(guppi_packets(self.random, n, PKTSTOP=100 + 16 * n - 5))
            file = self.of_files("guppi", [data])
            self.assertEqual(len(file[0]), 16 * (2048 * n - 5 * 128))
            for block in (1 << 20, 333):
                self.check_same(self.of_pipes("guppi", [data], block={"time": block}), file)

    def test_part_of_time(self):
        data = b"".join(vdif_packets(self.random, 3000))
        (self.folder / "file.0").write_bytes(data)
        # The epoch of the headers is 2014, and the first frame's second 100.
        first, middle, last = (f"2014-01-01T00:01:40.{part}Z" for part in ("010", "070", "360"))
        for self.keys in ({"start": first}, {"start": last}, {"start": first, "stop": middle}):
            with self.subTest(self.keys):
                file = self.of_files("vdif", [data])
                self.assertLess(len(file[0]), 3000 * 4000 * 4)
                pipe = self.of_pipes("vdif", [data])
                self.assertEqual(pipe[2], file[2])
                self.assertTrue(pipe[0] == file[0])


class Ports(Pipes):
    def make(self, n):
        ports = [b"".join(lofar_packets(self.random, n, i)) for i in range(3)]
        ports[1] = b"".join(damage(self.random, lofar_packets(self.random, n, 1), "lofar"))
        return ports

    def test_one_ahead(self):
        """One writer writes several ports, one of them long before the others."""
        ports = self.make(1400)
        file = self.of_files("lofar", ports)
        self.check_same(self.of_pipes("lofar", ports), file)
        self.check_same(self.of_pipes("lofar", ports, lead=10 << 20), file)

    def test_one_ends(self):
        """A port that ends early, or whose writer is killed, is missing from there on."""
        ports = self.make(1400)
        for end in (9 << 20, 1 << 20):
            ports[2] = ports[2][:end]
            file = self.of_files("lofar", ports)
            self.assertEqual(file[1]["truncated"] > 0, True)
            self.check_same(self.of_pipes("lofar", ports), file)

    def test_fifos(self):
        """Independent writers, the last of which comes late."""
        ports = self.make(1200)
        file = self.of_files("lofar", ports)
        for i in range(3):
            os.mkfifo(self.folder / f"port.{i}")
        process = self.launch(self.stages("lofar", [f"port.{i}" for i in range(3)]))
        writers = []
        for i in range(3):
            writers.append(subprocess.Popen(["sh", "-c", f"cat file.{i} > port.{i}"], cwd=self.folder))
            self.addCleanup(writers[-1].wait)
            time.sleep(0.2)
        self.check_same(self.end(process), file)


class Ends(Pipes):
    def launch_on(self, stages, data):
        reader, writer = os.pipe()
        process = self.launch(stages, stdin=reader)
        os.close(reader)
        self.addCleanup(os.close, writer)
        os.write(writer, data[:1])
        for at in range(1, len(data), 1 << 16):
            os.write(writer, data[at:at + (1 << 16)])
        return process

    def test_interrupt(self):
        """SIGINT ends a run that waits for its writer, which keeps what came before."""
        packets = mark5b_packets(self.random, 2600)
        file = self.of_files("mark5b", [b"".join(packets)])
        process = self.launch_on(self.stages("mark5b", "-"), b"".join(packets))
        time.sleep(1)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        self.assertIn("interrupted by SIGINT", self.end(process, 130))
        out = (self.folder / "out.raw").read_bytes()
        self.assertGreater(len(out), len(file[0]) // 8)
        self.assertTrue(file[0].startswith(out))

    def test_interrupt_first_packets(self):
        process = self.launch_on(self.stages("vdif", "-"), b"".join(vdif_packets(self.random, 10)))
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        self.assertIn("standard input: interrupted while it waited for the first bytes",
                      self.end(process, 130))

    def test_errors(self):
        (self.folder / "x").write_bytes(b"".join(lofar_packets(self.random, 10)))
        for name, paths, message in (
                ("vdif", ["-", "x"], "parameter 'path': wants one pipe or files, but is given '-' "
                                     "among 2 paths"),
                ("guppi", ["-", "fd:0"], "wants a pipe that nobody else reads, but 'fd:0' is one"),
                ("lofar", ["-", "x"], "parameter 'paths': wants pipes alone or files alone, but is "
                                      "given '-' among 2 paths"),
                ("guppi", "-", "standard input: wants blocks of GUPPI RAW"),
                ("vdif", "-", "standard input: wants VDIF frames, but is given 9 bytes without any")):
            with self.subTest(message):
                process = self.launch(self.stages(name, paths), stdin=subprocess.PIPE)
                process.stdin.write("x" * 9)
                self.assertIn(message, self.end(process, 1))

    def test_only_a_run(self):
        for name in MAKERS:
            done = subprocess.run([graphs.COMMAND, "check", self.write(self.stages(name, "-"))],
                                  cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True,
                                  text=True, timeout=60)
            self.assertEqual(done.returncode, 1)
            self.assertIn("'-' is a pipe, which can be read only once", done.stderr)


class Sinks(Pipes):
    """Sinks write to a pipe what they write to a file, and sources read it."""

    def launch_graph(self, stages, name, **options):
        process = subprocess.Popen([graphs.COMMAND, "run", self.write(stages, name), "--quiet"],
                                   cwd=self.folder, stderr=subprocess.PIPE, **options)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def end_graph(self, process):
        errors = process.stderr.read().decode()
        self.assertEqual((process.wait(60), errors), (0, ""))

    def check_sink(self, name, n, part="ci8", **given):
        """Of known and unknown length, within a whole frame or block or not."""
        samples = self.random.integers(-100, 100, (n, 2, 2)).astype(np.int8)
        (self.folder / "in.raw").write_bytes(samples.tobytes())
        first = {"in": {"stage": "file.source", "path": "in.raw", "format": "raw",
                        "layout": f"{part}[time pol]", "shape": [-1, 2], "sample_rate": 1000000,
                        "epoch": 1500000000},
                 "out": {"stage": f"{name}.sink", "from": "in", "path": "made", **given}}
        second = self.stages(name, "-")
        for path in ("in.raw", "-"):
            first["in"]["path"] = path
            with self.subTest(path=path), open(self.folder / "in.raw", "rb") as stdin:
                first["out"]["path"] = "made"
                self.end_graph(self.launch_graph(first, "first.yaml", stdin=stdin))
                (self.folder / "made.json").unlink()
                made = (self.folder / "made").read_bytes()
                first["out"]["path"] = "-"
                stdin.seek(0)
                done = subprocess.run(
                    [graphs.COMMAND, "run", self.write(first, "first.yaml"), "--quiet"],
                    cwd=self.folder, stdin=stdin, capture_output=True, timeout=60)
                self.assertEqual((done.returncode, done.stderr), (0, b""))
                self.assertTrue(done.stdout == made)
                stdin.seek(0)
                writer = self.launch_graph(first, "first.yaml", stdin=stdin,
                                           stdout=subprocess.PIPE)
                reader = self.launch(second, stdin=writer.stdout)
                writer.stdout.close()
                pipe = self.end(reader)
                self.end_graph(writer)
                self.check_same(pipe, self.of_files(name, [made]))
        return samples, pipe

    def test_vdif(self):
        PARAMETERS["vdif"], kept = {}, PARAMETERS["vdif"]
        self.addCleanup(PARAMETERS.__setitem__, "vdif", kept)
        samples, pipe = self.check_sink("vdif", 4000000)
        wanted = ((samples + np.float32(128)) - np.float32(127.5)) / np.float32(35.5)
        np.testing.assert_allclose(np.frombuffer(pipe[0], "<f4").reshape(samples.shape), wanted,
                                   rtol=1e-6, atol=1e-6)

    def test_guppi(self):
        samples, pipe = self.check_sink("guppi", 4000003, block_samples=10000)
        self.assertTrue(pipe[0] == samples.tobytes())


if __name__ == "__main__":
    tap.main()
