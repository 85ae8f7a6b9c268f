#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests share the folder of compiled kernels and of FFTW's plans that the build sets."""
import os
import pathlib
import subprocess
import tempfile
import unittest

import tap

TEST = pathlib.Path(os.environ["CORNERTURN"]).parent.parent / "tests" / "test-fft"


class Cache(unittest.TestCase):
    @unittest.skipIf(not TEST.exists(), "built without FFTW")
    def test_transforms(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([TEST, "-p", "/fft/variants"], check=True, capture_output=True,
                           timeout=250, env={**os.environ, "XDG_CACHE_HOME": folder})
            plans = pathlib.Path(folder, "cornerturn").glob("fftw-*.wisdom")
            self.assertNotEqual(list(plans), [])


if __name__ == "__main__":
    tap.main()
