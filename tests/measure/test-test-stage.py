#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`cornerturn test-stage`: right stages pass, each kind of wrong variant is caught and named, and a
failing case runs again alone."""
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import unittest
import unittest.mock

import graphs
import tap

PLUGINS = pathlib.Path(os.environ["CORNERTURN_TEST_PLUGINS"])
FAULT = "variant 'cpu' of 'faulty.{0}' is at fault: "

# What each stage of tests/plugins/faulty.c is told.
FAULTS = {
    "reads-behind": r"reads byte (\d+) of input 'in', which has \1 bytes",
    "reads-before": r"reads byte -4 of input 'in', which has \d+ bytes",
    "writes-input": r"writes byte \d+ of input 'in', which may only be read",
    "writes-others": FAULT + r"its work on items \d+ to \d+ of 'time' writes to other items of output "
                             "'out'",
    "writes-padding": FAULT + r"it writes to byte \d+ of output 'out', which belongs to no element",
    "leaves-last": r"output 'out' is off by \S+, where 0 is allowed, at station \d+ of sample \d+, "
                   "an element that it does not write",
    "depends-on-cuts": r"output 'out' is off by \S+, where 0 is allowed, at station \d+ of sample "
                       r"\d+$",
    "depends-on-workers": r"output 'out' is off by 1, where 0 is allowed, at station \d+ of sample "
                          r"\d+$",
    "ignores-gaps": r"\d+ samples of output 'out' are valid on one side alone",
    "writes-scratch": "writes byte 0 of its scratch memory, which has 0 bytes",
    "marks": FAULT + "it marks samples of output 'out', which has no CT_PORT_MARKED",
    "boundless": "the stage's accuracy allows an error of inf of output 'out', but wants a finite "
                 "number, 0 or more",
    "miscounts": r"counter 'samples' is \d+, where the reference's is \d+$",
    "aborts": "aborts",
    "stops": FAULT + "it neither goes on nor ends, though all samples are there",
}

# … and those with a kernel, on the emulator.
KERNEL_FAULTS = {
    "no-barrier": r"output 'out' is off by \S+, where 0 is allowed, at station \d+ of sample \d+",
    "writes-behind": r"writes byte (\d+) of output 'out', which has \1 bytes",
    "spills": r"node 'faulty.spills': kernel 'faulty' of /cornerturn/tests/faulty.cu \(SPILLS\) spills registers on sm_90:",
    "changes-products": r"node 'faulty.changes-products': kernel 'faulty' of /cornerturn/tests/faulty.cu \(CHANGES_PRODUCTS\) lets products of warpgroups wait on sm_90:",
}


class TestStage(graphs.GraphTest):
    def setUp(self):
        super().setUp()
        (self.folder / "plugins").mkdir()
        for name in "faulty", "wrong":
            file = PLUGINS / f"ct-{name}.so"
            (self.folder / "plugins" / file.name).symlink_to(file)

    def run_test(self, *arguments, seconds=1):
        return subprocess.run([graphs.COMMAND, "test-stage", "--seconds", str(seconds), *arguments],
                              cwd=self.folder, capture_output=True, text=True, timeout=120,
                              env={**os.environ, "CORNERTURN_PLUGIN_PATH": os.environ[
                                  "CORNERTURN_PLUGIN_PATH"] + f":{self.folder}/plugins"})

    def passes(self, *arguments, seconds=1):
        done = self.run_test(*arguments, seconds=seconds)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertNotRegex(done.stdout, "(?m)^not ok")
        self.assertTrue(done.stdout.startswith("# seed "))
        lines = [line for line in done.stdout.splitlines() if line.startswith("ok ")]
        self.assertEqual(done.stdout.splitlines()[-1], f"1..{len(lines)}")
        return done.stdout

    def refuses(self, message, *arguments, status=1):
        done = self.run_test(*arguments)
        self.assertEqual(done.returncode, status, done.stdout)
        self.assertIn(message, done.stderr)

    def test_right_stages(self):
        """Stages of each kind: of forms, by hand, with a window, a sum, static inputs, several
        inputs, other layouts, and marks."""
        for arguments in (["power"], ["gains", "--set", "gain=2"], ["gains"], ["fft", "--axis", "phase=12"],
                          ["fir", "--set", "n_channels=8", "--set", "n_taps=3"], ["beamform"],
                          ["correlate", "--set", "integration=7"], ["stack", "--set", "axis=station"],
                          ["transpose", "--set", "layout=[station time pol time:4]", "--axis",
                           "station=5", "--axis", "pol=2"],
                          ["faulty.right"]):
            with self.subTest(arguments[0]):
                report = self.passes(*arguments)
                self.assertRegex(report, r"(?m)^ok \d+ - reference of \S+: \d+ cases, 0 wrong; ")

    def test_faults(self):
        for name, message in FAULTS.items():
            with self.subTest(name):
                done = self.run_test(f"faulty.{name}", "--variant", "cpu", seconds=10)
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertEqual(done.stderr.splitlines()[-1],
                                 f"stage 'faulty.{name}' does not agree with its reference")
                self.assertRegex(done.stdout, rf"(?m)^not ok 1 - cpu of faulty\.{name}: \d+ cases, 3 "
                                              "wrong; ")
                self.assertRegex(done.stdout, "(?m)^# cpu/0/[0-9]+: " + message.format(name))

    @unittest.skipUnless(shutil.which("g++"), "the emulator has no compiler here")
    def test_kernels(self):
        with unittest.mock.patch.dict(os.environ, {"CORNERTURN_CUDA": "emulator"}):
            report = self.passes("faulty.right-kernel", seconds=5)
            self.assertRegex(report, r"(?m)^ok 1 - cuda of faulty.right-kernel: \d+ cases, 0 wrong; ")
            for name, message in KERNEL_FAULTS.items():
                with self.subTest(name):
                    done = self.run_test(f"faulty.{name}", "--variant", "cuda", seconds=10)
                    if name in ("spills", "changes-products") and "are not looked at" in done.stdout:
                        self.skipTest("there is no compiler of NVIDIA's")
                    self.assertEqual(done.returncode, 1, done.stdout)
                    self.assertRegex(done.stdout, "(?m)^# cuda/0/[0-9]+: " + message)
            # The emulator ends the process; the report names the case.
            done = self.run_test("faulty.part-of-barrier", "--variant", "cuda")
            self.assertEqual(done.returncode, -signal.SIGABRT)
            self.assertIn("the threads of a block wait at different barriers: faulty.cu:", done.stderr)
            self.assertRegex(done.stdout, r"(?m)^Bail out! this case ends the process: cornerturn "
                                          r"test-stage faulty.part-of-barrier --seed 1 --case cuda/0/\d+$")

    @unittest.skipUnless(shutil.which("g++"), "the emulator has no compiler here")
    def test_compiling_has_its_own_time(self):
        """Where compiling takes long, the report says so; the next test finds the kernels."""
        counts = []
        caches = {name: f"{self.folder}/cache" for name in ("XDG_CACHE_HOME", "CORNERTURN_EMULATOR_CACHE")}
        with unittest.mock.patch.dict(os.environ, {"CORNERTURN_CUDA": "emulator", **caches}):
            for _ in range(2):
                report = self.passes("power", "--variant", "cuda", seconds=0.5)
                self.assertRegex(report, r"(?m)^# cuda: no more cases, as compiling kernels took \d+ s; they are "
                                         "kept, and the next test goes on from there$")
                counts.append(int(re.search(r"cuda of power: (\d+) cases", report)[1]))
        self.assertGreater(counts[1], counts[0])

    def test_again(self):
        """The printed command runs the failing case again, alone, with the same result."""
        for name in "writes-others", "leaves-last", "ignores-gaps":
            report = self.run_test(f"faulty.{name}").stdout
            first = re.search(r"(?m)^# (cpu/0/\d+): (.*)\n#   (.*)\n#   cornerturn test-stage (.*)$",
                              report)
            done = self.run_test(*shlex.split(first.group(4)))
            self.assertEqual(done.returncode, 1)
            self.assertEqual(done.stdout.splitlines()[:4],
                             ["# seed 1", f"# {first.group(1)}: {first.group(2)}",
                              f"#   {first.group(3)}", f"#   cornerturn test-stage {first.group(4)}"])
            self.assertIn(": 1 cases, 1 wrong; ", done.stdout)

    def test_seeds(self):
        """A seed gives the same cases each time, another one others."""
        def described(*arguments):
            report = self.run_test("faulty.aborts", *arguments).stdout
            return [line for line in report.splitlines()[1:] if line.startswith("#")]
        self.assertEqual(described(), described("--seed", "1"))
        self.assertNotEqual(described(), described("--seed", "2"))

    def test_what_is_fixed(self):
        report = self.run_test("faulty.aborts", "--axis", "station=11", "--axis", "time=123").stdout
        self.assertIn(", time 123, station 11, ", report)
        report = self.passes("power", "--type", "ci16")
        self.assertRegex(report, r"cpu-\w+ of power: .*, types 1")

    def test_wrong_result(self):
        done = self.run_test("wrong.off", "--type", "ci16")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"# cpu/0/\d+: output 'out' is off by [1-9]\S*, where 0 is allowed, ")
        done = self.run_test("wrong.invalid")
        self.assertRegex(done.stdout, "samples of output 'out' are valid on one side alone")

    def test_faults_before_work(self):
        """A case that a fault of the plugin keeps from running is a failure, other than one that the
        stage refuses."""
        fault = "the plugin of stage 'faulty.misdescribes' is at fault: output 'out' is declared as "
        done = self.run_test("faulty.misdescribes", seconds=10)
        self.assertEqual(done.returncode, 1, done.stdout)
        again = re.search(rf"(?m)^# (reference/0/\d+): {fault}.*\n#   cornerturn test-stage (.*)$", done.stdout)
        self.assertRegex(done.stdout, r"(?m)^not ok 1 - reference of faulty.misdescribes: [1-9]\d* cases, 3 wrong; ")
        done = self.run_test(*shlex.split(again[2]))
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertRegex(done.stdout, rf"(?m)^not ok 1 - reference of \S+: no case could be run: {fault}")
        done = self.run_test("faulty.mute", "--variant", "cpu", seconds=10)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn(": variant 'cpu' of 'faulty.mute' is at fault: its fits returns FALSE without a reason\n",
                      done.stdout)
        self.assertRegex(done.stdout, r"(?m)^not ok 1 - cpu of faulty.mute: ")

    def test_refused(self):
        self.refuses("there is no stage 'nothing'", "nothing")
        self.refuses("stage 'faulty.refuses' refuses all streams that were tried: wants another "
                     "stream", "faulty.refuses")
        self.refuses("stage 'power' has no parameter 'gain'", "power", "--set", "gain=2")
        self.refuses("a parameter wants NAME=VALUE, but is given 'gain'", "gains", "--set", "gain")
        self.refuses("an axis wants NAME=LENGTH with a length from 1 to 1048576, but is given "
                     "'station=0'", "power", "--axis", "station=0")
        self.refuses("there is no type 'cf33'", "power", "--type", "cf33")
        self.refuses("stage 'power' has no variant 'cpu-z80'", "power", "--variant", "cpu-z80")
        self.refuses("stage 'discard' cannot be tested by itself: it has 1 inputs and 0 outputs",
                     "discard")
        self.refuses("a case wants VARIANT/ROW/NUMBER, as a failure shows it, but is given 'x'",
                     "power", "--case", "x")
        self.refuses("--seed wants 1 or more", "power", "--seed", "0", status=2)


if __name__ == "__main__":
    tap.main()
