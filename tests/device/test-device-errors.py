#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Failures of devices: each ends with a status other than zero, one message, and the sinks' files
under their partial names, or the run goes on if it can; and nothing stays allocated on the
device."""
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time
import unittest

import graphs
import tap

PLUGINS = pathlib.Path(os.environ["CORNERTURN_TEST_PLUGINS"])
BUILD = pathlib.Path(graphs.COMMAND).parent
LIBRARY = os.environ.get("CORNERTURN_CUDA", "")
# If the environment names a backend, only that is tested.
EMULATED = "CORNERTURN_TEST_BACKEND" in os.environ
SECONDS = 60 * (2 if os.environ.get("CORNERTURN_SANITIZER", "none") != "none" else 1)

# The stages begin on line 2; the host generates samples in blocks of 512.
SKY = """stages:
  sky: { stage: generate, sample_rate: 1 MHz, samples: 8192, n_stations: 2, n_pols: 2, centre_frequency: 10 MHz, type: ci8, backend: cpu, block: { time: 512 } }
"""


def graph(*lines):
    """A graph of the sky and these stages, which begin on line 3."""
    return SKY + "".join(f"  {line}\n" for line in lines)


LAME = graph("x: { stage: lame, from: sky }",
             'out: { stage: file.sink, from: x, path: out.raw, layout: "[time station pol]" }')
TURN = graph('x: { stage: transpose, from: sky, layout: "[pol station time]", backend: cuda }',
             'out: { stage: file.sink, from: x, path: out.raw, layout: "[time station pol]" }')
# This one has kernels of several stages, copies both ways, and state.
CORRELATOR = graph(
    "f: { stage: fir, from: sky, n_channels: 8, n_taps: 4, backend: cuda }",
    "s: { stage: fft, from: f, backend: cuda }",
    "v: { stage: correlate, from: s, integration: 16, backend: cuda }",
    "out: { stage: file.sink, from: v, path: out.raw }",
    "counts: { stage: file.sink, from: v.weights, path: counts.npy }")
# This one has plans of cuFFT.
SPECTRA = graph("c: { stage: convert, from: sky, type: cf32, backend: cuda }",
                "x: { stage: fft, from: c, axis: time, length: 64, backend: cuda }",
                "out: { stage: file.sink, from: x, path: out.raw }")
# This one does not use CUDA.
HOST = graph("f: { stage: fir, from: sky, n_channels: 8, n_taps: 4, backend: cpu }",
             "out: { stage: file.sink, from: f, path: out.raw, backend: cpu }")

HAS_DEVICE = "\ncuda:0 " in subprocess.run([graphs.COMMAND, "inspect"], capture_output=True,
                                           text=True, check=True).stdout
needs_device = unittest.skipUnless(HAS_DEVICE, "no device")
needs_emulator = unittest.skipUnless(EMULATED, "wants the emulator, which fails as it is told to")
once = unittest.skipIf(EMULATED, "needs no device")

# For each call that fails: its purpose, as the message says it after the name of the device. Each
# of the first failures is tested, of later ones only some.
CALLS = {
    "cuCtxSetCurrent": "making it current",
    "cuDevicePrimaryCtxRetain": "opening it",
    "cuMemAlloc_v2": "memory for [a-z' ]+: wants [0-9.]+ [a-zA-Z]+, but 2.0 GiB of 2.0 GiB are free",
    "cuMemsetD8Async": "clearing memory for [a-z' ]+",
    "cuStreamSynchronize": "clearing memory for [a-z' ]+|sending [0-9]+ bytes",
    "cuMemcpyAsync": "a copy of [0-9]+ bytes|sending [0-9]+ bytes",
    "cuMemcpy2DAsync_v2": "a copy of 4 rows of [0-9]+ bytes",
    "cuStreamCreate": "creating a stream",
    "cuEventCreate": "creating an event",
    "cuEventRecord": "recording an event",
    "cuStreamWaitEvent": "waiting for another queue",
    "cuEventQuery": "the work of a firing",
    "cuEventElapsedTime": "the time of a firing",
    "cuModuleLoadData": "loading kernel '[a-z_]+'",
    "cuModuleGetFunction": "finding kernel '[a-z_]+'",
    "cuLaunchKernel": "launching kernel '[a-z_]+' as [0-9]+ × 1 × 1 blocks of [0-9]+ × [0-9]+ × 1 "
                      "threads with [0-9]+ bytes of shared memory|"
                      "launching [0-9]+ kernels, copies and fills",
    "cuGraphLaunch": "launching [0-9]+ kernels, copies and fills",
    "launch": "[a-z0-9, ]+|launching kernel .*",
    "lost": ".+",
}
# The failure of these calls only costs time.
HARMLESS = ["cuMemHostRegister_v2", "cuMemHostAlloc", "cuCtxSynchronize", "cuDriverGetVersion",
            "cuOccupancyMaxActiveBlocksPerMultiprocessor", "cuFuncGetParamInfo", "cuGraphCreate",
            "cuGraphAddKernelNode_v2", "cuGraphInstantiateWithFlags",
            "cuGraphExecKernelNodeSetParams_v2"]
TURNS = [1, 2, 3, 5, 8, 13, 21, 34, 55, 89]


class DeviceTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        (self.folder / "plugins").mkdir()
        (self.folder / "plugins" / "ct-lame.so").symlink_to(PLUGINS / "ct-lame.so")

    def environment(self, **changes):
        path = f"{self.folder / 'plugins'}:{os.environ['CORNERTURN_PLUGIN_PATH']}"
        changes = {"CORNERTURN_PLUGIN_PATH": path, "CORNERTURN_EMULATOR_LEAKS": "1", **changes}
        return {name: value for name, value in {**os.environ, **changes}.items()
                if value is not None}

    def run_command(self, *arguments, text=None, **environment):
        """Runs the command; a variable that is None is unset."""
        if text is not None:
            (self.folder / "g.yaml").write_text(text)
        for path in self.folder.glob("*.raw*"):
            path.unlink()
        return subprocess.run([graphs.COMMAND, *arguments], cwd=self.folder, capture_output=True,
                              text=True, check=False, timeout=SECONDS,
                              env=self.environment(**environment))

    def result(self):
        return (self.folder / "out.raw").read_bytes()

    def partial(self):
        return (self.folder / "out.raw.partial").read_bytes()

    def check_good(self, done):
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def check_failure(self, done, message):
        """Checks that the run failed; the regular expression `message` must match the whole
        message."""
        self.assertRegex(done.stderr, rf"\A(?:{message})\n\Z")
        self.assertEqual(done.returncode, 1)
        # A run that fails prints its statistics.
        self.assertRegex(done.stdout, r"(?s)\A(?:node .*\nfailed\n)?\Z")
        self.assertFalse((self.folder / "out.raw").exists())


@once
class Nothing(DeviceTest):
    """Tests without a device, for several reasons."""

    def reasons(self):
        own = BUILD / "libcornerturn.so"
        text = self.folder / "text.so"
        text.write_text("hello\n")
        return {
            "off": "CORNERTURN_CUDA=off forbids it",
            "nix.so": "CORNERTURN_CUDA=nix.so: no such file",
            str(own): f"CORNERTURN_CUDA={own}: it lacks cuInit",
            str(text): f"CORNERTURN_CUDA={text}: file too short",
        }

    def test_graph_for_it(self):
        for given, reason in self.reasons().items():
            for command in ("check", "plan", "run", "verify"):
                with self.subTest(f"{command}: {reason}"):
                    done = self.run_command(command, "g.yaml", text=CORRELATOR,
                                            CORNERTURN_CUDA=given)
                    self.check_failure(done, "g.yaml:3:66: node 'f': backend 'cuda' is asked for, "
                                             f"but cuda is not available: {re.escape(reason)}")

    def test_graph_without_it(self):
        """A graph for the host runs, and only `inspect` mentions devices."""
        for given, reason in self.reasons().items():
            with self.subTest(reason):
                said = f"cuda is not available: {reason}\n"
                for command in ("check", "plan", "run"):
                    done = self.run_command(command, "g.yaml", text=HOST, CORNERTURN_CUDA=given)
                    self.check_good(done)
                    self.assertNotIn("cuda", done.stdout)
                self.assertGreater(len(self.result()), 0)
                done = self.run_command("inspect", CORNERTURN_CUDA=given)
                self.check_good(done)
                self.assertTrue(done.stdout.endswith(said), done.stdout)
                done = self.run_command("inspect", "fft", CORNERTURN_CUDA=given)
                self.assertRegex(done.stdout, r"(?m)^  cuda  cuda, not on this machine$")

    def test_automatic_choice(self):
        done = self.run_command("plan", "g.yaml", text=HOST.replace(", backend: cpu", ""),
                                CORNERTURN_CUDA="off")
        self.check_good(done)
        self.assertNotIn("cuda:0", done.stdout)

    def test_options(self):
        reason = "cuda is not available: CORNERTURN_CUDA=off forbids it"
        for option, message in {
                "cuda": f"--backend: backend 'cuda' is asked for, but {reason}",
                "cuda:3": f"--backend: backend 'cuda' is asked for, but {reason}",
                "f=cuda": f"--backend: node 'f': backend 'cuda' is asked for, but {reason}",
                "out=cuda": "g.yaml:4:3: node 'out': no variant of 'file.sink' can run here "
                            r"\(cpu: backend 'cuda' is asked for\)",
                "cuda:x": "--backend: .*wants auto, reference, cpu, cuda or cuda:N, but is given "
                          "'cuda:x'"}.items():
            with self.subTest(option):
                done = self.run_command("run", "--backend", option, "g.yaml", text=HOST,
                                        CORNERTURN_CUDA="off")
                self.check_failure(done, message)


@needs_device
class Stages(DeviceTest):
    """Stages at fault, on any device."""

    def check_lame(self, how, message):
        for in_flight in ("1", "4"):
            with self.subTest(f"{how}, {in_flight} in flight"):
                done = self.run_command("run", "--set", f"x.how={how}", "--in-flight", in_flight,
                                        "g.yaml", text=LAME)
                self.check_failure(done, f"g.yaml:3:3: node 'x': {message}")

    def test_fine(self):
        self.check_good(self.run_command("run", "g.yaml", "--poison", text=LAME))
        wanted = self.result()
        self.assertEqual(len(wanted), 8192 * 8)
        self.check_good(self.run_command("run", "g.yaml", text=TURN))
        self.assertEqual(self.result(), wanted)

    def test_kernel_that_does_not_compile(self):
        """The message has the compiler's own words, and names the source."""
        self.check_lame("broken", r"(?s:kernel 'lame' of /cornerturn/tests/lame.cu does not compile "
                        r"\(--gpu-architecture=sm_\d+a? [^)]* -DIS_BROKEN\):\n.*lame.cu.*10.*error: "
                        r".*not_declared.*[^\n])")

    def test_kernel_of_another_name(self):
        self.check_lame("nameless", r"device 0 \(.*\): finding kernel 'nameless': "
                                    r"CUDA_ERROR_NOT_FOUND \(named symbol not found\)")

    def test_source_that_is_not_there(self):
        self.check_lame("lost", "kernel 'lame': there is no resource /cornerturn/tests/lost.cu")

    def test_memory_of_a_stage(self):
        self.check_lame("greedy", r"device 0 \(.*\): memory for more: wants 1.0 PiB, but .* of .* "
                                  r"are free")

    def test_shared_memory(self):
        self.check_lame("wide", r"device 0 \(.*\): kernel 'lame' wants 1048576 bytes of shared "
                                r"memory, but a block has at most \d+")

    def test_members_of_newer_headers(self):
        newer = "sets a member that this Cornerturn does not know: the plugin wants a newer one"
        self.check_lame("newer", f"kernel 'lame' {newer}")
        self.check_lame("later", f"a launch of kernel 'lame' {newer}")

    def test_launch_that_is_refused(self):
        """The samples that are in the sink by then are right."""
        self.check_good(self.run_command("run", "g.yaml", text=LAME))
        wanted = self.result()
        self.check_lame("heavy", r"device 0 \(.*\): launching kernel 'lame' as \d+ × 1 × 1 blocks of "
                                 r"2048 × 1 × 1 threads with 0 bytes of shared memory: "
                                 r"CUDA_ERROR_INVALID_VALUE \(invalid argument\)")
        self.assertTrue(wanted.startswith(self.partial()))

    def test_uploads(self):
        self.check_lame("chatty", r"uploads 1048576 bytes in a firing, but prepare has set \d+")

    @unittest.skipIf(EMULATED, "a trap ends the emulator")
    def test_kernel_that_goes_astray(self):
        self.check_lame("astray", r"device 0 \(.*\): .*: CUDA_ERROR_\w+ \(.*\)(; in flight there: "
                                  r".*)?|.*node '.*': device 0 \(.*\): .*: CUDA_ERROR_\w+ \(.*\)"
                                  r"; in flight there: .*")

    def test_device_that_is_not_there(self):
        done = self.run_command("check", "g.yaml",
                                text=TURN.replace("backend: cuda", "backend: 'cuda:77'"))
        self.check_failure(done, "g.yaml:3:76: node 'x': backend 'cuda:77' is asked for, but this "
                                 "machine has .*CUDA devices?, cuda:0.*")

    def test_stage_for_the_host(self):
        done = self.run_command("run", "--backend", "out=cuda", "g.yaml", text=TURN)
        self.check_failure(done, "g.yaml:4:3: node 'out': no variant of 'file.sink' can run here "
                                 r"\(cpu: backend 'cuda' is asked for\)")


@needs_device
class Cache(DeviceTest):
    """Nothing in the cache of compiled kernels prevents a run."""

    def setUp(self):
        super().setUp()
        self.cache = self.folder / "cache" / "cornerturn" / "kernels"

    def compiled(self):
        """The numbers of kernels that a run compiled, and found in the cache."""
        done = self.run_command("run", "--stats", "json", "g.yaml", text=LAME,
                                XDG_CACHE_HOME=str(self.folder / "cache"))
        self.check_good(done)
        self.assertEqual(len(self.result()), 8192 * 8)
        setup = json.loads(done.stdout)["setup"]
        return setup["compiled"], setup["cached"]

    def test_kept(self):
        first, again = self.compiled(), self.compiled()
        self.assertGreater(first[0], 0)
        self.assertEqual(again, (0, sum(first)))

    def test_damaged(self):
        def cut(path):
            path.write_bytes(path.read_bytes()[:len(path.read_bytes()) // 2])

        def change(path):
            image = bytearray(path.read_bytes())
            image[len(image) // 2] ^= 1
            path.write_bytes(image)

        n = sum(self.compiled())
        for name, suffix, damage in [
                ("cut short", "cubin", cut), ("empty", "cubin", lambda path: path.write_text("")),
                ("a bit", "cubin", change), ("text", "cubin", lambda path: path.write_text("x\n")),
                ("gone", "cubin", pathlib.Path.unlink), ("a log that is gone", "log",
                                                         pathlib.Path.unlink),
                ("an empty log", "log", lambda path: path.write_text("")),
                ("a folder", "cubin", lambda path: (path.unlink(), path.mkdir()))]:
            with self.subTest(name):
                damaged = list(self.cache.glob(f"lame.cu-*.{suffix}"))
                self.assertEqual(len(damaged), 1)
                damage(damaged[0])
                self.assertEqual(self.compiled(), (1, n - 1))
                if name != "a folder":
                    self.assertEqual(self.compiled(), (0, n))

    def test_no_folder(self):
        (self.folder / "cache").write_text("a file\n")
        first = self.compiled()
        self.assertGreater(first[0], 0)
        self.assertEqual(self.compiled(), first)

    @unittest.skipIf(os.geteuid() == 0, "root writes everywhere")
    def test_read_only(self):
        self.cache.mkdir(parents=True)
        self.cache.chmod(0o555)
        self.addCleanup(self.cache.chmod, 0o755)
        first = self.compiled()
        self.assertGreater(first[0], 0)
        self.assertEqual(self.compiled(), first)
        self.cache.chmod(0o755)
        self.compiled()
        self.cache.chmod(0o555)
        self.assertEqual(self.compiled(), (0, sum(first)))


@needs_device
class Interrupts(DeviceTest):
    ENDLESS = TURN.replace("samples: 8192, ", "")

    def interrupted(self, in_flight, n_signals):
        (self.folder / "g.yaml").write_text(self.ENDLESS)
        process = subprocess.Popen([graphs.COMMAND, "run", "-q", "--in-flight", in_flight, "g.yaml"],
                                   cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, env=self.environment())
        self.addCleanup(process.kill)
        until = time.monotonic() + SECONDS
        partial = self.folder / "out.raw.partial"
        while not partial.exists() or partial.stat().st_size < 100000:
            self.assertLess(time.monotonic(), until)
            self.assertIsNone(process.poll())
            time.sleep(0.01)
        for _ in range(n_signals):
            process.send_signal(signal.SIGINT)
            time.sleep(0.01)
        output, errors = process.communicate(timeout=SECONDS)
        return subprocess.CompletedProcess([], process.returncode, output, errors)

    def test_interrupt(self):
        """The samples that the source had made are completed."""
        for in_flight in ("1", "4"):
            with self.subTest(f"{in_flight} in flight"):
                done = self.interrupted(in_flight, 1)
                self.assertEqual(done.returncode, 130)
                self.assertIn("interrupted by SIGINT", done.stderr)
                given = self.result()
                self.assertFalse((self.folder / "out.raw.partial").exists())
                self.assertEqual(len(given) % (512 * 8), 0)
                seconds = f"{len(given) // 8} us"
                self.check_good(self.run_command("run", "-q", "--duration", seconds, "--backend",
                                                 "x=cpu", "g.yaml"))
                self.assertEqual(self.result(), given)

    def test_two_interrupts(self):
        done = self.interrupted("4", 2)
        self.assertEqual(done.returncode, 130)
        # The second signal may come too late.
        if "interrupted again: ended at once" in done.stderr:
            self.assertFalse((self.folder / "out.raw").exists())
            self.assertGreater(len(self.partial()), 0)


@needs_emulator
class Failures(DeviceTest):
    """Calls of the driver fail, each at several turns."""

    @classmethod
    def setUpClass(cls):
        cls.right = {}

    def right_result(self, text):
        if text not in self.right:
            self.check_good(self.run_command("run", "-q", "g.yaml", text=text))
            self.right[text] = self.result()
        return self.right[text]

    def run_failing(self, text, failure, turn, **environment):
        """Runs with a failing call; the samples in the sink are right. Memory is asked for again,
        in smaller pieces, so its failures must last."""
        wanted = self.right_result(text)
        again = "+" if failure == "cuMemAlloc_v2" else ""
        done = self.run_command("run", "-q", "--in-flight", "1" if turn % 2 else "4", "g.yaml",
                                text=text, CORNERTURN_EMULATOR_FAIL=f"{failure}:{turn}{again}",
                                CORNERTURN_EMULATOR_JITTER="100", **environment)
        if done.returncode == 0:
            self.check_good(done)
            self.assertEqual(self.result(), wanted)
        elif (self.folder / "out.raw.partial").exists():
            self.assertTrue(wanted.startswith(self.partial()))
        return done

    def test_calls(self):
        node = r"(g\.yaml:\d+:3: node '[a-z.>+]+': )?"
        in_flight = r"(; in flight there: ('[a-z.>+]+'(, )?)+)?"
        for call, what in CALLS.items():
            for turn in TURNS:
                with self.subTest(f"{call}: {turn}"):
                    done = self.run_failing(CORRELATOR, call, turn)
                    if done.returncode == 0:
                        self.assertGreater(turn, 1)
                        break
                    words = what if "are free" in what else rf"({what}): CUDA_ERROR_\w+ \(.*\)"
                    self.check_failure(
                        done, rf"{node}device 0 \(Cornerturn Emulator\): {words}{in_flight}")

    def test_harmless(self):
        for call in HARMLESS:
            for turn in ("1", "2", "1+"):
                with self.subTest(f"{call}: {turn}"):
                    wanted = self.right_result(CORRELATOR)
                    done = self.run_command("run", "-q", "g.yaml", text=CORRELATOR,
                                            CORNERTURN_EMULATOR_FAIL=f"{call}:{turn}")
                    self.check_good(done)
                    self.assertEqual(self.result(), wanted)

    def test_faults_late(self):
        """The samples that the sink had by then stay; the failure comes after more blocks than all
        queues and rings hold."""
        text = TURN.replace("samples: 8192", "samples: 1048576").replace("time: 512", "time: 8192")
        wanted = self.right_result(text)
        for in_flight in ("1", "4"):
            for failure in ("launch:100", "cuLaunchKernel:100", "cuMemcpyAsync:100"):
                with self.subTest(f"{failure}, {in_flight} in flight"):
                    done = self.run_command("run", "-q", "--in-flight", in_flight, "g.yaml", text=text,
                                            CORNERTURN_EMULATOR_FAIL=failure)
                    self.check_failure(done, r"g.yaml:.*device 0 \(Cornerturn Emulator\): .*")
                    self.assertGreater(len(self.partial()), 0)
                    self.assertTrue(wanted.startswith(self.partial()))

    def test_looking_for_devices(self):
        for call, reason in {
                "cuInit": r"the driver does not start: CUDA_ERROR_LAUNCH_FAILED \(unspecified .*\)",
                "cuDeviceGetCount": "the driver finds none",
                "cuDeviceGet": "the driver does not describe the one it has",
                "cuDeviceGetName": "the driver does not describe the one it has",
                "cuDeviceTotalMem_v2": "the driver does not describe the one it has"}.items():
            with self.subTest(call):
                done = self.run_command("run", "g.yaml", text=TURN,
                                        CORNERTURN_EMULATOR_FAIL=f"{call}:1")
                self.check_failure(done, "g.yaml:3:76: node 'x': backend 'cuda' is asked for, but "
                                         f"cuda is not available: {reason}")
        done = self.run_command("inspect", CORNERTURN_EMULATOR_DEVICES="0")
        self.assertRegex(done.stdout, r"(?m)^cuda is not available: the driver does not start: "
                                      r"CUDA_ERROR_NO_DEVICE \(no CUDA-capable device is detected\)$")

    def test_compiler(self):
        for call, words in {"nvrtcCreateProgram": "NVRTC takes no program",
                            "nvrtcCompileProgram": r"(?s:.*does not compile \(.*\):.*)"}.items():
            for turn in TURNS[:3]:
                with self.subTest(f"{call}: {turn}"):
                    done = self.run_command("run", "g.yaml", text=CORRELATOR,
                                            XDG_CACHE_HOME=str(self.folder / f"cache{call}{turn}"),
                                            CORNERTURN_EMULATOR_FAIL=f"{call}:{turn}")
                    self.check_failure(done, r"g\.yaml:\d+:3: node '[a-z.>+]+': kernel '[a-z_]+'"
                                             rf":? {words}")

    def test_cufft(self):
        for call, doing in {"cufftCreate": "planning", "cufftMakePlanMany64": "planning",
                            "cufftExecC2C": "executing"}.items():
            for turn in TURNS[:3]:
                with self.subTest(f"{call}: {turn}"):
                    done = self.run_failing(SPECTRA, call, turn)
                    self.check_failure(done, rf"g\.yaml:4:3: node 'x': cuFFT fails {doing} \d+ "
                                             r"transforms of 64 samples: [a-z ]+ \(error \d+\)")

    def libraries(self, *missing):
        """Folders with the emulator's library in place of NVIDIA's; `missing` ones are damaged."""
        folder = self.folder / "libraries"
        folder.mkdir()
        (folder / "libcuda.so.1").symlink_to(LIBRARY)
        for name in ("nvrtc", "cufft"):
            for version in range(10, 15):
                path = folder / f"lib{name}.so.{version}"
                if name in missing:
                    path.write_text("hello\n")
                else:
                    path.symlink_to(LIBRARY)
        others = os.environ.get("LD_LIBRARY_PATH", "")
        return {"CORNERTURN_CUDA": None, "LD_LIBRARY_PATH": f"{folder}:{others}",
                "CUDA_HOME": "/nix"}

    def test_libraries_in_their_places(self):
        self.check_good(self.run_command("run", "-q", "g.yaml", text=SPECTRA, **self.libraries()))

    def test_no_compiler(self):
        """Without a compiler no kernel can run, so `auto` uses the host."""
        libraries = self.libraries("nvrtc")
        reason = (r"cuda is not available: NVRTC cannot be used: .*/libnvrtc\.so\.14: file too short; "
                  r"install the CUDA toolkit, or of it cuda-nvrtc")
        done = self.run_command("run", "g.yaml", text=SPECTRA, **libraries)
        self.check_failure(done, f"g.yaml:3:56: node 'c': backend 'cuda' is asked for, but {reason}")
        text = SPECTRA.replace(", backend: cuda", "")
        done = self.run_command("plan", "g.yaml", text=text, **libraries)
        self.check_good(done)
        self.assertNotIn("cuda", done.stdout)
        done = self.run_command("inspect", **libraries)
        self.assertRegex(done.stdout, rf"(?m)^{reason}$")
        self.check_good(self.run_command("run", "-q", "g.yaml", text=text, **libraries))

    def test_no_cufft(self):
        """Without cuFFT, only graphs that need it fail."""
        libraries = self.libraries("cufft")
        done = self.run_command("run", "g.yaml", text=SPECTRA, **libraries)
        self.check_failure(done, r"g.yaml:4:3: node 'x': no variant of 'fft' can run here \(cuda: "
                                 r"cuFFT cannot be used: .*/libcufft\.so\.14: file too short; "
                                 r"install the CUDA toolkit, or of it libcufft; radix-cuda: .*\)")
        text = SPECTRA.replace("64, backend: cuda", "64")
        done = self.run_command("plan", "g.yaml", text=text, **libraries)
        self.check_good(done)
        self.assertRegex(done.stdout, r"(?m)^x +cpu-")
        self.check_good(self.run_command("run", "-q", "g.yaml", text=text, **libraries))
        self.check_good(self.run_command("run", "-q", "g.yaml", text=CORRELATOR, **libraries))

    def test_memory_of_the_links(self):
        """Firings become smaller until the memory suffices; if it never does, planning fails with
        the sizes."""
        for command in ("plan", "check", "run"):
            with self.subTest(command):
                done = self.run_command(command, "g.yaml", text=CORRELATOR,
                                        CORNERTURN_EMULATOR_MEMORY="2048")
                self.check_failure(
                    done, r"g.yaml:\d:3: node '[a-z]+': the rings of this graph want [0-9.]+ KiB of "
                          r"device memory, but cuda:0 \(Cornerturn Emulator\) has 1\.[0-9]+ KiB for "
                          r"them; the largest is that behind '[a-z.>+]+': .*, \d+ samples \(\d+ × "
                          r"\d+ of a firing(, \d+ [a-z ]+)*\) of \d+ bytes are [0-9.]+ "
                          r"KiB; no smaller blocks help")
        wanted = self.right_result(CORRELATOR)
        done = self.run_command("run", "-q", "g.yaml", text=CORRELATOR,
                                CORNERTURN_EMULATOR_MEMORY="49152")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(
            done.stderr, r"\Ag.yaml:2:\d+: node 'sky': warning: firings on devices cover 1/2 of the "
                         r"`block` of 'sky': "
                         r"else the rings on cuda:0 \(Cornerturn Emulator\) want [0-9.]+ KiB of "
                         r"[0-9.]+ KiB\n\Z")
        self.assertEqual(self.result(), wanted)

    def test_memory_that_others_have(self):
        words = (r"device 0 \(Cornerturn Emulator\): memory for the graph's links: wants [0-9.]+ KiB, "
                 r"but 2.0 GiB of 2.0 GiB are free")
        done = self.run_command("run", "g.yaml", text=CORRELATOR,
                                CORNERTURN_EMULATOR_FAIL="cuMemAlloc_v2:1+")
        self.check_failure(done, words)
        # Memory that is not enough for the rings of the plan may be enough for smaller ones.
        wanted = self.right_result(CORRELATOR)
        for turn in (1, 5, 9):
            done = self.run_command("run", "-q", "g.yaml", text=CORRELATOR,
                                    CORNERTURN_EMULATOR_FAIL=f"cuMemAlloc_v2:{turn}")
            self.assertEqual(done.returncode, 0)
            self.assertRegex(done.stderr, r"\Ag.yaml:2:\d+: node 'sky': warning: firings on devices "
                                          r"cover 1/2 of the "
                                          r"`block` of 'sky': else .*: wants .* are free\n\Z")
            self.assertEqual(self.result(), wanted)

    def test_second_device(self):
        text = TURN.replace("backend: cuda", "backend: 'cuda:1'")
        for failure, words in {
                "launch:5": r"CUDA_ERROR_ILLEGAL_ADDRESS \(.*\)(; in flight there: .*)?",
                "lost:90": r"CUDA_ERROR_UNKNOWN \(unknown error\)(; in flight there: .*)?"}.items():
            done = self.run_command("run", "g.yaml", text=text, CORNERTURN_EMULATOR_DEVICES="2",
                                    CORNERTURN_EMULATOR_FAIL=failure)
            self.check_failure(done, rf"(g.yaml:\d:3: node '[a-z.>+]+': )?device 1 \(.*\): .*: {words}")
        done = self.run_command("run", "g.yaml", text=text.replace("cuda:1", "cuda:2"),
                                CORNERTURN_EMULATOR_DEVICES="2")
        self.check_failure(done, "g.yaml:3:76: node 'x': backend 'cuda:2' is asked for, but this "
                                 "machine has 2 CUDA devices, cuda:0 to cuda:1")
        done = self.run_command("run", "g.yaml", text=text)
        self.check_failure(done, "g.yaml:3:76: node 'x': backend 'cuda:1' is asked for, but this "
                                 "machine has one CUDA device, cuda:0")

    def test_tune(self):
        """Trials use less memory, too, if there is less."""
        costs = {"CORNERTURN_COSTS": str(self.folder / "costs.db")}
        arguments = ("tune", "-q", "--quick", "--no-comparison", "--backend", "cuda", "--budget")
        # Only the ceilings are measured.
        self.check_good(self.run_command(*arguments, "1 ms", "g.yaml", text=CORRELATOR, **costs))
        done = self.run_command(*arguments, "2 s", "g.yaml", text=CORRELATOR,
                                CORNERTURN_EMULATOR_FAIL="cuMemAlloc_v2:1", **costs)
        self.check_good(done)
        self.assertNotIn("passed over", done.stdout)
        self.assertRegex(done.stdout, r"(?m)^[1-9]\d* ways of running .* measured")

    def test_verify(self):
        for failure in ("launch:3", "cuMemAlloc_v2:4+", "lost:150"):
            with self.subTest(failure):
                done = self.run_command("verify", "--backend", "cuda", "g.yaml", text=CORRELATOR,
                                        CORNERTURN_EMULATOR_FAIL=failure)
                self.check_failure(done, r".*device 0 \(Cornerturn Emulator\): .*")
        # As in a run, memory that is not enough for the rings of the plan may be enough for smaller
        # ones.
        for turn in (1, 4):
            done = self.run_command("verify", "--backend", "cuda", "g.yaml", text=CORRELATOR,
                                    CORNERTURN_EMULATOR_FAIL=f"cuMemAlloc_v2:{turn}")
            self.check_good(done)


if __name__ == "__main__":
    tap.main()
