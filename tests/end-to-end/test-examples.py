#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The programs of examples/ do what they demonstrate."""
import os
import pathlib
import subprocess
import unittest

import tap

EXAMPLES = pathlib.Path(os.environ["CORNERTURN"]).parent.parent / "examples"


def run(name, *arguments):
    return subprocess.run([EXAMPLES / name, *map(str, arguments)], capture_output=True, text=True,
                          timeout=120)


class Spectrum(unittest.TestCase):
    def test_it_finds_its_tone(self):
        ran = run("spectrum")
        self.assertEqual(ran.stdout, "the tone at 107.3 MHz is in channel 7, whose centre is "
                                     "107.0 MHz\n6 of 6 blocks came back\n")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))


class Bank(unittest.TestCase):
    def test_it_finds_its_tone(self):
        """The example finds its tone with the banks that its README names. No block is a whole
        number of windows, so samples are left over for the next one."""
        for n_channels, n_taps in [(16, 32), (64, 16), (2048, 8), (32768, 4)]:
            with self.subTest(f"{n_channels} x {n_taps}"):
                n_samples, n_blocks = n_channels * (n_taps + 3), 5
                ran = run("bank", n_channels, n_taps, n_samples, n_blocks)
                if ran.returncode == 77:
                    self.assertEqual(ran.stderr, "bank: there is no GPU\n")
                    self.skipTest("no device")
                self.assertEqual((ran.returncode, ran.stderr), (0, ""))
                n_spectra = (n_samples * n_blocks) // n_channels - n_taps + 1
                self.assertEqual(ran.stdout.splitlines()[0],
                                 f"{n_spectra} spectra of {n_channels // 2 + 1} channels; the tone "
                                 f"is in channel {n_channels // 8}")

    def test_arguments_that_it_cannot_take(self):
        for arguments in [(), (16,), (0, 4), (12, 4), (16, 0), (16, 4, 15), (16, 4, 64, 0),
                          ("x", 4), (16, 4, 1024, 2, 3)]:
            with self.subTest(arguments):
                ran = run("bank", *arguments)
                self.assertEqual(ran.stderr.splitlines()[0], "bank CHANNELS TAPS [SAMPLES [BLOCKS]]")
                self.assertEqual(ran.returncode, 2)


if __name__ == "__main__":
    tap.main()
