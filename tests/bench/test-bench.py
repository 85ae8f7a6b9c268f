#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Words of the command line that choose no case of a benchmark are errors, before anything is measured."""
import os
import subprocess
import unittest

import tap

BENCH = os.environ["CORNERTURN_BENCH"]


def run(*arguments):
    return subprocess.run([BENCH, *arguments], capture_output=True, text=True, check=False)


class Words(unittest.TestCase):
    def test_unknown(self):
        for arguments in (["nonsense"], ["correlate ci8 64", "nonsense"], ["--floors", "nonsense"],
                          ["--floors", "framework", "nonsense"]):
            with self.subTest(arguments):
                done = run(*arguments)
                self.assertEqual((done.returncode, done.stdout, done.stderr),
                                 (1, "", "no group is called 'nonsense', and no case has it in its name\n"))

    def test_one_case(self):
        done = run("--slices=1", "correlate ci8 64")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"(?m)^stage +correlate ci8 64 stations ")
        self.assertNotIn("16 stations", done.stdout)


if __name__ == "__main__":
    tap.main()
