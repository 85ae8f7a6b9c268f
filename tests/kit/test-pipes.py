#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Sources of arrays that read pipes: .npy and raw arrays, SIGPROC, DADA."""
import json
import os
import signal
import subprocess
import threading
import time

import numpy as np

import graphs
import tap

SEED = 20261124
SANITIZED = os.environ.get("CORNERTURN_SANITIZER", "none") != "none"
RAW = {"format": "raw", "layout": "i16[time pol]", "shape": [-1, 3], "sample_rate": 1000}
OUT = {"stage": "file.sink", "from": "in", "path": "out.raw"}


class Pipes(graphs.GraphTest):
    def setUp(self):
        super().setUp()
        self.random = np.random.default_rng(SEED)
        self.n = 3000 if SANITIZED else 100000
        self.array = self.random.integers(-2**15, 2**15, (self.n, 3)).astype(np.int16)

    def stages(self, path="-", **source):
        return {"in": {"stage": "file.source", "path": path, **RAW, **source}, "out": OUT}

    def launch(self, stages, *arguments, command="run", name="graph.yaml", **options):
        quiet = [] if command == "plan" else ["--quiet"]
        process = subprocess.Popen(
            [graphs.COMMAND, command, self.write(stages, name), *quiet, *arguments],
            cwd=self.folder, stderr=subprocess.PIPE, **options)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def end(self, process):
        """Waits for a run; returns its status and its messages."""
        errors = process.stderr.read().decode()
        return process.wait(60), errors

    def run_on(self, stages, data, *arguments, **options):
        done = subprocess.run([graphs.COMMAND, "run", self.write(stages), "--quiet", *arguments],
                              cwd=self.folder, input=data, capture_output=True, timeout=120,
                              **options)
        return done.returncode, done.stderr.decode()

    def out(self, name="out.raw"):
        return (self.folder / name).read_bytes()

    def check_run(self, stages, data, wanted, *arguments, message=""):
        status, errors = self.run_on(stages, data, *arguments)
        self.assertEqual(status, 0, errors)
        if message:
            self.assertIn(message, errors)
            self.assertEqual(len(errors.strip().splitlines()), 1, errors)
        else:
            self.assertEqual(errors, "")
        self.assertEqual(self.out(), wanted)

    def check_fails(self, stages, data, message):
        status, errors = self.run_on(stages, data)
        self.assertNotEqual(status, 0)
        self.assertEqual(len(errors.strip().splitlines()), 1, errors)
        self.assertIn(message, errors)


class Arrays(Pipes):
    def test_every_block_and_workers(self):
        """The samples are those of the file, wherever blocks and pieces of the pipe end."""
        for block in (1, 7, 4096, 10 * self.n):
            for workers in (1, 3):
                with self.subTest(block=block, workers=workers):
                    n = min(self.n, 5000) if block == 1 else self.n
                    data = self.array[:n].tobytes()
                    self.check_run(self.stages(block={"time": block}), data, data, "--workers",
                                   str(workers))

    def test_layouts(self):
        """A sink in another order than the pipe."""
        stages = self.stages(block={"time": 100})
        stages["out"] = {**OUT, "layout": "[pol time]"}
        self.check_run(stages, self.array.tobytes(), self.array.T.tobytes())

    def test_npy(self):
        """The header may come byte by byte, in either byte order, and tells the length."""
        for dtype, size in (("<i2", 1 << 20), (">i2", 1)):
            with self.subTest(dtype):
                np.save(self.folder / "in.npy", self.array[:2000].astype(dtype))
                data = (self.folder / "in.npy").read_bytes()
                stages = self.stages(format="npy")
                del stages["in"]["shape"]
                process = self.launch(stages, stdin=subprocess.PIPE)
                for i in range(0, 200, size):
                    process.stdin.write(data[i:i + size])
                    process.stdin.flush()
                process.stdin.write(data[i + size:])
                # More bytes than the header tells are not read.
                process.stdin.write(b"more")
                process.stdin.close()
                self.assertEqual(self.end(process), (0, ""))
                self.assertEqual(self.out(), self.array[:2000].tobytes())
                status, errors = self.run_on(stages, data[:-1])
                self.assertEqual(status, 1)
                self.assertIn("node 'in': standard input: wants 2000 samples, but has ended after "
                              "1999 (truncated)", errors)

    def test_open_file_and_fifo(self):
        data = self.array.tobytes()
        reader, writer = os.pipe()
        process = self.launch(self.stages(f"fd:{reader}"), pass_fds=[reader])
        os.close(reader)
        with open(writer, "wb") as file:
            file.write(data)
        self.assertEqual(self.end(process), (0, ""))
        self.assertEqual(self.out(), data)
        (self.folder / "out.raw").unlink()
        os.mkfifo(self.folder / "fifo")
        process = self.launch(self.stages("fifo"))
        with open(self.folder / "fifo", "wb") as file:
            file.write(data)
        self.assertEqual(self.end(process), (0, ""))
        self.assertEqual(self.out(), data)

    def test_file_as_standard_input(self):
        (self.folder / "in.raw").write_bytes(self.array.tobytes())
        with open(self.folder / "in.raw", "rb") as file:
            process = self.launch(self.stages(), stdin=file)
        self.assertEqual(self.end(process), (0, ""))
        self.assertEqual(self.out(), self.array.tobytes())

    def test_part(self):
        """`start` skips by reading, `stop` ends the stream, `offset` skips bytes."""
        data = b"header" + self.array.tobytes()
        stages = self.stages(offset=6, epoch="2026-11-24T00:00:00Z")
        for start, stop in ((1500, None), (None, 2100), (1234, 2345)):
            with self.subTest(start=start, stop=stop):
                graph = {"stages": stages}
                for key, n in (("start", start), ("stop", stop)):
                    if n:
                        graph[key] = f"2026-11-24T00:00:{n / 1000:06.3f}Z"
                (self.folder / "part.yaml").write_text(json.dumps(graph))
                done = subprocess.run([graphs.COMMAND, "run", "part.yaml", "--quiet"],
                                      cwd=self.folder, input=data, capture_output=True, timeout=60)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(self.out(), self.array[start:stop].tobytes())

    def test_duration(self):
        data = self.array.tobytes()
        self.check_run(self.stages(), data, self.array[:1500].tobytes(), "--duration", "1.5 s")

    def test_slow_and_bursty(self):
        """Pieces of any length, with pauses longer than the source's own waits."""
        data = self.array[:3000].tobytes()
        process = self.launch(self.stages(block={"time": 500}), stdin=subprocess.PIPE)
        at = 0
        while at < len(data):
            n = int(self.random.choice([1, 5, 6, 700, 4001]))
            process.stdin.write(data[at:at + n])
            process.stdin.flush()
            at += n
            time.sleep(self.random.choice([0, 0.001, 0.25], p=[0.5, 0.4, 0.1]))
        process.stdin.close()
        self.assertEqual(self.end(process), (0, ""))
        self.assertEqual(self.out(), data)

    def test_torn_sample(self):
        """Whole samples are used, and a warning tells of the rest."""
        data = self.array[:1000].tobytes()
        self.check_run(self.stages(), data[:-1], data[:-6],
                       message="node 'in': warning: standard input has ended with 5 bytes that are "
                               "less than a sample, which are not read")
        status, errors = self.run_on(self.stages(), data[:-1], "--strict")
        self.assertEqual(status, 1)
        self.assertIn("(strict)", errors)

    def test_killed_writer(self):
        """What came before a writer was killed is there."""
        (self.folder / "part").write_bytes(self.array[:500].tobytes() + b"x")
        with subprocess.Popen(["sh", "-c", "cat part; exec sleep 100"], cwd=self.folder,
                              stdout=subprocess.PIPE) as writer:
            process = self.launch(self.stages(block={"time": 16}), stdin=writer.stdout)
            writer.stdout.close()
            time.sleep(0.5)
            self.assertIsNone(process.poll())
            writer.kill()
        status, errors = self.end(process)
        self.assertEqual(status, 0, errors)
        self.assertIn("ended with 1 bytes", errors)
        self.assertEqual(self.out(), self.array[:500].tobytes())

    def test_empty(self):
        self.check_run(self.stages(), b"", b"", message="gave no samples")
        stages = self.stages(format="npy")
        del stages["in"]["shape"]
        self.check_fails(stages, b"", "standard input: not an .npy file")

    def test_two_runs(self):
        """From a sink to a source, without and with a known length."""
        (self.folder / "in.raw").write_bytes(self.array.tobytes())
        for form in ("raw", "npy"):
            with self.subTest(form):
                first = self.stages("in.raw")
                first["out"] = {**OUT, "path": "-", "format": form}
                second = self.stages(format=form)
                if form == "npy":
                    del second["in"]["shape"]
                writer = self.launch(first, name="first.yaml", stdout=subprocess.PIPE)
                reader = self.launch(second, name="second.yaml", stdin=writer.stdout)
                writer.stdout.close()
                self.assertEqual(self.end(reader), (0, ""))
                self.assertEqual(self.end(writer), (0, ""))
                self.assertEqual(self.out(), self.array.tobytes())

    def test_through(self):
        """Standard input and output of one run."""
        stages = self.stages()
        stages["out"] = {**OUT, "path": "-", "format": "raw"}
        done = subprocess.run([graphs.COMMAND, "run", self.write(stages), "--quiet"],
                              cwd=self.folder, input=self.array.tobytes(), capture_output=True,
                              timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(done.stdout, self.array.tobytes())


class Waits(Pipes):
    def check_interrupt(self, stages, message, *, data=b"", wanted=None):
        """SIGINT ends a run while it waits for a writer that says no more."""
        reader, writer = os.pipe()
        self.addCleanup(os.close, writer)
        process = self.launch(stages, stdin=reader)
        os.close(reader)
        os.write(writer, data)
        time.sleep(2 if SANITIZED else 1)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        status, errors = self.end(process)
        self.assertEqual(status, 130 if "interrupted by" in message else status, errors)
        self.assertNotEqual(status, 0)
        self.assertIn(message, errors)
        if wanted is not None:
            self.assertEqual(self.out(), wanted)
            self.assertIs(json.loads(self.out("out.raw.json"))["interrupted"], True)

    def test_interrupt(self):
        data = self.array[:100].tobytes()
        self.check_interrupt(self.stages(), "interrupted by SIGINT", wanted=b"")
        self.check_interrupt(self.stages(block={"time": 1}), "interrupted by SIGINT",
                             data=data + b"x", wanted=data)

    def test_interrupt_header(self):
        """The run ends also while the check waits for a header."""
        stages = self.stages(format="npy")
        del stages["in"]["shape"]
        self.check_interrupt(stages, "node 'in': standard input: interrupted while it waited for "
                                     "the first bytes", data=b"\x93NUMPY")
        self.assertFalse((self.folder / "out.raw").exists())

    def test_interrupt_fifo(self):
        """Nobody ever opens the FIFO for writing."""
        os.mkfifo(self.folder / "fifo")
        self.check_interrupt(self.stages("fifo"), "interrupted by SIGINT", wanted=b"")

    def test_failure_beside(self):
        """Another node's failure ends the run while the source waits."""
        reader, writer = os.pipe()
        self.addCleanup(os.close, writer)
        stages = self.stages(block={"time": 1})
        with open("/dev/full", "wb") as full:
            stages["out"] = {**OUT, "path": f"fd:{full.fileno()}", "format": "raw"}
            process = self.launch(stages, stdin=reader, pass_fds=[full.fileno()])
        os.close(reader)
        done = threading.Event()
        data = self.array.tobytes()

        def write():
            try:
                while not done.is_set():
                    os.write(writer, data)
            except BrokenPipeError:
                pass
        thread = threading.Thread(target=write)
        thread.start()
        status, errors = self.end(process)
        done.set()
        thread.join()
        self.assertEqual(status, 1)
        self.assertIn(f"node 'out': {stages['out']['path']}: can't be written: No space left", errors)


class Errors(Pipes):
    def test_only_a_run(self):
        """A check takes nothing from a pipe, and waits for nobody."""
        os.mkfifo(self.folder / "fifo")
        for command in ("check", "plan"):
            for path in ("-", "fifo"):
                with self.subTest(command=command, path=path):
                    process = self.launch(self.stages(path), command=command,
                                          stdin=subprocess.DEVNULL)
                    status, errors = self.end(process)
                    self.assertEqual(status, 1)
                    self.assertIn(f"parameter 'path': wants a file, but '{path}' is a pipe, which "
                                  "can be read only once: by 'cornerturn run'", errors)

    def test_errors(self):
        np.save(self.folder / "in.npy", self.array)
        with_two = self.stages()
        with_two["again"] = dict(with_two["in"], path="fd:0")
        with_two["second"] = {**OUT, "from": "again", "path": "second.raw"}
        for stages, message in (
                (self.stages(["-", "in.npy"]),
                 "parameter 'path': wants one pipe or files, but is given '-' among 2 paths"),
                (with_two, "parameter 'path': wants a pipe that nobody else reads, but 'fd:0' is one "
                           "that node 'in' reads"),
                (self.stages(format="auto"), "or 'format' beside it, but is given 'standard input'"),
                (self.stages("fd:x"), "fd:x: wants fd: and the number of an open file"),
                (self.stages("fd:77"), "fd:77: can't be read: Bad file descriptor"),
                (self.stages("fd:2"), "fd:2: is not open for reading"),
                (self.stages(layout="i16[pol time]", shape=[3, 100]),
                 "standard input: wants time as the slowest axis, for it is a pipe"),
                (self.stages(layout="i16[pol]", shape=[3]),
                 "standard input: wants time as the slowest axis, for it is a pipe"),
                (self.stages(shape=[100001, 3]),
                 "standard input: wants 100001 samples, but has ended after "
                 f"{self.n} (truncated)")):
            with self.subTest(message):
                self.check_fails(stages, self.array.tobytes(), message)


class Formats(Pipes):
    def check_format(self, name, data, **source):
        """The same from a file and from pipes that are written at once and in small pieces."""
        stages = {"in": {"stage": name + ".source", "path": "file", **source}, "out": OUT}
        (self.folder / "file").write_bytes(data)
        (self.folder / "x.json").unlink(missing_ok=True)
        self.run_graph(stages)
        wanted = self.out()
        beside = json.loads(self.out("out.raw.json"))
        stages["in"]["path"] = "-"
        for block in (1, 5, 1 << 20):
            stages["in"]["block"] = {"time": block}
            self.check_run(stages, data, wanted)
        again = json.loads(self.out("out.raw.json"))
        for key in ("axes", "ticks_per_second", "start", "epoch", "frequency", "observation"):
            self.assertEqual(again.get(key), beside.get(key), key)
        process = self.launch(stages, stdin=subprocess.PIPE)
        for i in range(0, 5000):
            process.stdin.write(data[i:i + 1])
            process.stdin.flush()
        process.stdin.write(data[5000:])
        process.stdin.close()
        self.assertEqual(self.end(process), (0, ""))
        self.assertEqual(self.out(), wanted)
        return stages, wanted

    def sigproc(self, bits, n_channels, n):
        """A file of the test's own making."""
        def text(value):
            return len(value).to_bytes(4, "little") + value.encode()
        head = text("HEADER_START")
        for key, value in (("nbits", bits), ("nchans", n_channels), ("nifs", 1), ("data_type", 1)):
            head += text(key) + value.to_bytes(4, "little")
        for key, value in (("tstart", 60000.5), ("tsamp", 0.001), ("fch1", 1400.0), ("foff", -0.5)):
            head += text(key) + np.float64(value).tobytes()
        head += text("source_name") + text("B0329+54") + text("HEADER_END")
        return head + self.random.bytes((n * n_channels * bits + 7) // 8)

    def test_sigproc(self):
        for bits, n_channels in ((8, 16), (1, 3), (2, 5), (4, 7), (16, 3), (32, 4)):
            with self.subTest(bits=bits):
                data = self.sigproc(bits, n_channels, 8000)
                if bits == 32:
                    head = data[:-8000 * 16]
                    data = head + self.random.random(32000, np.float32).tobytes()
                self.check_format("sigproc", data)

    def test_sigproc_ends(self):
        data = self.sigproc(8, 16, 1000)
        stages, wanted = self.check_format("sigproc", data + bytes(16 * 400))
        self.check_run(stages, data[:-3], wanted[:16 * 999],
                       message="ended with 13 bytes that are less than a sample")
        self.check_fails(stages, b"", "standard input: byte 0: wants HEADER_START")
        self.check_fails(stages, data[:50], "no SIGPROC header, or truncated")
        # What is no header is refused at once, though the pipe stays open.
        process = self.launch(stages, stdin=subprocess.PIPE)
        process.stdin.write(b"this is something else entirely")
        process.stdin.flush()
        status, errors = self.end(process)
        process.stdin.close()
        self.assertEqual(status, 1)
        self.assertIn("wants HEADER_START", errors)

    def dada(self, order_keys, n_bytes, size=4096):
        head = (f"HDR_VERSION 1.0\nHDR_SIZE {size}\nNBIT 8\nNDIM 2\nTSAMP 1\nFREQ 1400\nBW 1\n"
                "UTC_START 2026-11-24-00:00:00\nOBS_OFFSET 0\nTELESCOPE Test\n" + order_keys)
        return head.encode().ljust(size, b"\0") + self.random.bytes(n_bytes)

    def test_dada(self):
        for size in (4096, 16384):
            with self.subTest(size=size):
                data = self.dada("NPOL 2\nNCHAN 4\n", 16 * 3000, size)
                stages, wanted = self.check_format("dada", data)
                self.check_run(stages, data[:-1], wanted[:-16],
                               message="ended with 15 bytes that are less than a sample")
                self.check_fails(stages, data[:size - 1],
                                 "HDR_SIZE wants the bytes of a header that the file has"
                                 if size > 4096 else "HDR_SIZE")

    def test_dada_heaps(self):
        """Blocks of 256 samples, in which time is not slowest."""
        data = self.dada("NPOL 2\nNCHAN 4\nORDER PFT\nRESOLUTION 4096\n", 16 * 256 * 20)
        self.check_format("dada", data)

    def test_stands_for(self):
        """A FIFO's name chooses the format."""
        data = self.sigproc(8, 4, 1000)
        os.mkfifo(self.folder / "x.fil")
        process = self.launch({"in": {"stage": "file.source", "path": "x.fil"}, "out": OUT})
        with open(self.folder / "x.fil", "wb") as file:
            file.write(data)
        self.assertEqual(self.end(process), (0, ""))
        self.assertEqual(self.out(), data[-4000:])


if __name__ == "__main__":
    tap.main()
