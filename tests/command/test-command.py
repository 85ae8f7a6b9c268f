#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The command itself: help, manual pages, exit status, and where messages go."""
import json
import os
import pathlib
import re
import subprocess
import unittest

import tap

COMMAND = os.environ["CORNERTURN"]
MANUAL = pathlib.Path(os.environ["CORNERTURN_SOURCE_ROOT"]) / "docs" / "man"
OPTION = r"--[a-z][a-z-]*"


def run(*arguments, **environment):
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, check=False,
                          env={**os.environ, **environment})


def commands():
    listed = run("--help").stdout.split("Commands:")[1].split("Options:")[0]
    return re.findall(r"^  ([a-z-]+) ", listed, re.M)


def help_options(*command):
    return set(re.findall(rf"^  (?:-\w, )?({OPTION})", run(*command, "--help").stdout, re.M))


def manual_options(name):
    """The options that entries in the page's section OPTIONS begin with."""
    text = (MANUAL / f"{name}.1").read_text(encoding="utf-8").replace("\\-", "-")
    section = re.search(r"^\.SH OPTIONS\n(.*?)^\.SH", text, re.M | re.S)[1]
    heads = re.findall(r"^\.TP\n(.*)$", section, re.M)
    return {option for head in heads for option in re.findall(OPTION, head)}


class Command(unittest.TestCase):
    def test_number_of_workers_from_the_processors(self):
        """Those on which the process may run."""
        graph = str(MANUAL.parent.parent / "pipelines" / "fx-correlator.yaml")
        processor = min(os.sched_getaffinity(0))
        done = subprocess.run([COMMAND, "plan", "--json", graph], check=True, capture_output=True,
                              preexec_fn=lambda: os.sched_setaffinity(0, {processor}))
        self.assertEqual(json.loads(done.stdout)["workers"], 1)

    def test_number_of_workers_from_the_environment(self):
        graph = str(MANUAL.parent.parent / "pipelines" / "fx-correlator.yaml")
        for arguments, n_workers in [([], 5), (["--workers=3"], 3)]:
            result = run("plan", "--json", *arguments, graph, CORNERTURN_WORKERS="5")
            self.assertEqual(json.loads(result.stdout)["workers"], n_workers)

    def test_there_are_commands(self):
        self.assertLessEqual({"check", "plan", "inspect", "new-stage"}, set(commands()))

    def test_manual_and_help_list_the_same_options(self):
        self.assertEqual(manual_options("cornerturn"), help_options())
        for command in commands():
            with self.subTest(command):
                self.assertEqual(manual_options(f"cornerturn-{command}"), help_options(command))

    def test_manual_lists_every_command(self):
        text = (MANUAL / "cornerturn.1").read_text(encoding="utf-8").replace("\\-", "-")
        for command in commands():
            self.assertIn(f"cornerturn-{command} (1)", text)

    def test_summaries_are_in_a_column(self):
        listed = run("--help").stdout.split("Commands:")[1].split("Options:")[0].strip("\n")
        for line in listed.splitlines():
            self.assertRegex(line[24:], r"^ [A-Z][a-z]+,? ", line)

    def test_help_goes_to_stdout(self):
        for arguments in [["--help"], ["-h"], ["check", "--help"], ["inspect", "-h"]]:
            result = run(*arguments)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertIn("Usage:", result.stdout)

    def check_usage(self, message, *arguments):
        result = run(*arguments)
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertEqual(result.stderr.count("\n"), 1)
        self.assertIn(message, result.stderr)

    def test_usage(self):
        graph = str(MANUAL.parent.parent / "pipelines" / "fx-correlator.yaml")
        self.check_usage("there is no command 'pln'; did you mean 'plan'?", "pln")
        self.check_usage("there is no command 'xyzzy' (", "xyzzy")
        self.check_usage("Unknown option --what", "plan", "--what")
        self.check_usage("wants FILE, but is given 0 arguments", "plan")
        self.check_usage("wants FILE, but is given 2 arguments", "check", "a", "b")
        self.check_usage("wants one of --dot and --json, but is given both",
                         "plan", "--dot", "--json", graph)
        self.check_usage("wants one of --dot and --svg, but is given both",
                         "plan", "--svg", "--dot", graph)
        self.check_usage("wants one of --svg and --json, but is given both",
                         "plan", "--svg", "--json", graph)
        self.check_usage("wants one of --explain and --capacity, but is given both",
                         "plan", "--capacity", "--explain", graph)
        self.check_usage("--missing wants 1 to 281474976710656 samples, but is given 0",
                         "plan", "--missing=0", graph)
        self.check_usage("--workers wants 1 to 4096, but is given -1", "plan", "--workers=-1", graph)
        self.check_usage("--in-flight wants 1 to 16, but is given 17", "run", "--in-flight=17", graph)
        self.check_usage("Cannot parse integer value “many”", "plan", "--workers=many", graph)
        self.check_usage("--variant wants NODE=NAME, but is given 'x'", "plan", "--variant=x", graph)
        self.check_usage("--stats wants text, json or none, but is given 'xml'",
                         "run", "--stats=xml", graph)
        self.check_usage("--workers wants 1 to 4096, but is given 0", "plan", "--workers=0", graph)
        self.check_usage("--in-flight wants 1 to 16, but is given 0", "run", "--in-flight=0", graph)
        self.check_usage("--duration wants more than nothing", "run", "--duration=-5s", graph)
        self.check_usage("--duration wants a time such as '5 us', but is given '5 Hz'",
                         "run", "--duration=5 Hz", graph)
        self.check_usage("--budget wants more than nothing, but is given '0'",
                         "tune", "--budget=0", graph)
        for option in "--cache", "--device-block":
            self.check_usage(f"{option} wants more than nothing, and at most 1000 TB, but is given "
                             "'1e16'", "plan", f"{option}=1e16", graph)
        self.check_usage("wants one of --capacity and --missing, but is given both",
                         "plan", "--capacity", "--missing=3", graph)
        self.check_usage("wants one of --measure-ceilings and --stage, but is given both",
                         "costs", "--measure-ceilings", "--stage=fir")

    def test_nothing_at_all(self):
        result = run()
        self.assertEqual(result.returncode, 2)


def listed_stages():
    return [line.split()[0] for line in run("inspect").stdout.split("\n\n")[0].splitlines()]


class Inspect(unittest.TestCase):
    def test_list(self):
        result = run("inspect")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        names = listed_stages()
        self.assertEqual(names, sorted(names))
        self.assertIn("fir", names)

    def test_devices(self):
        graph = str(MANUAL.parent.parent / "pipelines" / "fx-correlator.yaml")
        text = run("inspect", CORNERTURN_CUDA="off").stdout
        self.assertTrue(text.endswith("\n\ncuda is not available: CORNERTURN_CUDA=off forbids it\n"))
        for command in "check", "plan":
            self.assertNotIn("cuda", run(command, graph, CORNERTURN_CUDA="off").stdout)
        self.assertEqual(run("check", "-q", graph, CORNERTURN_CUDA="off").stdout, "")
        self.assertIn("cuda  cuda, not on this machine",
                      run("inspect", "generate", CORNERTURN_CUDA="off").stdout)

    def test_every_stage(self):
        for name in listed_stages():
            with self.subTest(name):
                result = run("inspect", name)
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                self.assertIn("Variants\n", result.stdout)

    def test_parameters(self):
        text = run("inspect", "fir").stdout
        self.assertRegex(text, r"n_taps  an integer from 1 to 64")
        self.assertRegex(text, r"window  one of .*hamming.*; default hamming")

    def test_variants_of_other_stages(self):
        title = "\n\nVariants of other stages that do this one, too\n"
        listed = run("inspect", "fft").stdout.partition(title)[2]
        self.assertRegex(listed, r"^  fir: fused-[a-z0-9-]+(, fused-[a-z0-9-]+)*\n$")
        self.assertIn("fused-cuda", listed)
        self.assertNotIn(title, run("inspect", "fir").stdout)

    def test_fusion(self):
        for stage, lines in (
                ("fft", [" behind it, as its epilogue",
                         " in front of it, as its prologue"]),
                ("gains", ["may be part of an epilogue, a prologue or a chain"]),
                ("integrate", ["may be part of an epilogue, a prologue or a chain"]),
                ("correlate", [])):
            with self.subTest(stage):
                said = [line for line in run("inspect", stage).stdout.splitlines()
                        if line.startswith("      takes ") or line.startswith("      may be part")]
                self.assertEqual(len(said), len(lines), said)
                for line, end in zip(said, lines):
                    self.assertTrue(line.endswith(end), line)

    def test_cap(self):
        text = run("inspect", "fir", CORNERTURN_ISA="baseline").stdout
        self.assertIn("cpu-avx2  cpu avx2, not on this machine", text)

    def test_left_out(self):
        folder = os.environ["CORNERTURN_TEST_PLUGINS"]
        result = run("inspect", CORNERTURN_PLUGIN_PATH=f"/nonexistent:{folder}/none")
        self.assertEqual(result.returncode, 0)


if __name__ == "__main__":
    tap.main()
