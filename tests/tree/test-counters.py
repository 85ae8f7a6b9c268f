#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/counters, with a program in place of Nsight Compute that prints counters of its own."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import tap

SCRIPT = pathlib.Path(os.environ["CORNERTURN_SOURCE_ROOT"]) / "scripts" / "counters"
STALLED = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
COUNTERS = {
    "Kernel Name": ("", ("filter", "filter", "void sum<int, 3>(float *)")),
    "gpu__time_duration.sum": ("ns", ("2,500", "1,250,000", "900")),
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed": ("%", (1, 70.4, 2)),
    "lts__throughput.avg.pct_of_peak_sustained_elapsed": ("%", (1, 80, 2)),
    "l1tex__throughput.avg.pct_of_peak_sustained_active": ("%", (1, 38, 2)),
    "smsp__issue_active.avg.per_cycle_active": ("inst/cycle", (0.01, 0.385, 0.02)),
    "sm__warps_active.avg.pct_of_peak_sustained_active": ("%", (1, 28, 2)),
    "launch__registers_per_thread": ("register/thread", (92, 92, 16)),
    "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active": ("%", (1, 22, 2)),
    "sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active": ("%", (1, 19, 5)),
    "sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_elapsed": ("%", (99, 99, 99)),
    STALLED.format("long_scoreboard"): ("inst", (1, 6, 0)),
    STALLED.format("mio_throttle"): ("inst", (1, 1.5, 0)),
    STALLED.format("lg_throttle"): ("inst", (1, 0.5, 0)),
    STALLED.format("selected"): ("inst", (1, 2, 1)),
    STALLED.format("barrier_not_issued"): ("inst", (50, 50, 50)),
}
PAGE = "\n".join(",".join(f'"{word}"' for word in line) for line in (
    COUNTERS, [unit for unit, _ in COUNTERS.values()],
    *zip(*(values for _, values in COUNTERS.values()))))
NCU = """#!/bin/sh
printf '%s\\n' "$@" > "$FOLDER/arguments"
while [ "$1" != --log-file ]; do shift; done
cat "$FOLDER/page" > "$2"
echo the command itself
"""


class Counters(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "ncu").write_text(NCU)
        (self.folder / "ncu").chmod(0o755)

    def counters(self, page, *arguments, status=0, path=None):
        (self.folder / "page").write_text(page)
        path = f"{self.folder}:{os.environ['PATH']}" if path is None else path
        done = subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True,
                              env={**os.environ, "FOLDER": str(self.folder), "PATH": path})
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr if status else done.stdout

    def test_longest_launches(self):
        lines = self.counters("==PROF== noise\n" + PAGE, "--launches", "3", "program",
                              "--own").splitlines()
        self.assertEqual(len(lines), 3)
        self.assertEqual(lines[1].split(), ["filter", "1250.0", "70", "80", "38", "38", "28", "92",
                                            "fma", "22", "memory", "60,", "queue", "20"])
        self.assertEqual(lines[2].split()[:2] + lines[2].split()[8:10], ["sum", "0.9", "alu", "5"])
        arguments = (self.folder / "arguments").read_text().split("\n")
        self.assertEqual(arguments[arguments.index("--launch-count") + 1], "3")
        self.assertEqual(arguments[-3:], ["program", "--own", ""])

    def test_keep_and_read(self):
        kept = self.folder / "kept.csv"
        printed = self.counters(PAGE, "--keep", kept, "program")
        self.assertEqual(self.counters("", "--read", kept), printed)

    def test_nothing_counted(self):
        self.assertIn("counted no launch: it said\n==WARNING== No kernels\nthe command itself",
                      self.counters("==WARNING== No kernels\n", "program", status=1))
        self.assertIn("wants Nsight Compute's raw page",
                      self.counters('"ID"\n""\n', "program", status=1))

    def test_no_ncu(self):
        self.assertIn("wants a command", self.counters("", status=2))
        if not pathlib.Path("/usr/local/cuda/bin/ncu").exists():
            self.assertIn("ncu is not on PATH",
                          self.counters("", "program", status=1, path="/nowhere"))


if __name__ == "__main__":
    tap.main()
