#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A wheel of the Python package runs in an environment of its own, with the library and plugins that
it has."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import venv
import zipfile

import tap

SOURCE = pathlib.Path(os.environ["CORNERTURN_SOURCE_ROOT"])
BUILD = pathlib.Path(os.environ["CORNERTURN"]).parent.parent
PROGRAM = """
import cornerturn
pipeline = cornerturn.Pipeline(
    "stages: { x: { stage: generate, type: cf32, sample_rate: 1 MHz, duration: 5 ms, noise: 1, n_stations: 2 },"
    " f: { stage: fir, from: x, n_channels: 16, n_taps: 4 }, y: { stage: output, from: f } }")
print(pipeline.read("y").shape[0], cornerturn.__version__)
lines = [line.split()[-1] for line in open("/proc/self/maps")]
print(*sorted({line for line in lines if "cornerturn" in line and ".so" in line}), sep="\\n")
"""


@unittest.skipIf(os.environ.get("CORNERTURN_SANITIZER", "none") != "none",
                 "the runtimes of sanitizers are no part of a wheel")
class Wheel(unittest.TestCase):
    def make(self, folder, *options):
        subprocess.run([sys.executable, SOURCE / "scripts" / "wheel", "--build", BUILD, *options, folder],
                       check=True, stdout=subprocess.DEVNULL)
        return next(pathlib.Path(folder).glob("*.whl"))

    def run_in_environment(self, folder, wheel):
        """The output of the program, and where the wheel is installed. NumPy is that of the
        system."""
        venv.create(folder, system_site_packages=True)
        place = next(pathlib.Path(folder).glob("lib/python*/site-packages"))
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(place)
        bare = {name: value for name, value in os.environ.items()
                if not name.startswith("CORNERTURN_") and name not in ("PYTHONPATH", "LD_LIBRARY_PATH")}
        ran = subprocess.run([os.path.join(folder, "bin", "python"), "-c", PROGRAM], cwd=folder, env=bare,
                             capture_output=True, text=True, check=False)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        return ran.stdout.splitlines(), place

    def test_wheel(self):
        with tempfile.TemporaryDirectory() as folder:
            wheel = self.make(os.path.join(folder, "wheels"))
            self.assertRegex(wheel.name, r"^cornerturn-[\d.]+-py3-none-linux_\w+\.whl$")
            with zipfile.ZipFile(wheel) as archive:
                names = archive.namelist()
                metadata = archive.read(next(name for name in names if name.endswith("/METADATA"))).decode()
            self.assertIn("Requires-Dist: numpy", metadata)
            has_fftw = any(name.endswith("/ct-fft.so") for name in names)
            self.assertEqual("GPL" in metadata, has_fftw)
            lines, place = self.run_in_environment(os.path.join(folder, "venv"), wheel)
            self.assertEqual(lines[0].split(), [str((5000 - 64) // 16 + 1), wheel.name.split("-")[1]])
            self.assertTrue(any(line.endswith("/ct-fir.so") for line in lines))
            self.assertEqual([line for line in lines[1:] if not line.startswith(str(place))], [])

    @unittest.skipUnless(shutil.which("patchelf"), "patchelf is missing")
    def test_a_wheel_that_carries_libraries(self):
        with tempfile.TemporaryDirectory() as folder:
            wheel = self.make(os.path.join(folder, "wheels"), "--carry")
            lines, place = self.run_in_environment(os.path.join(folder, "venv"), wheel)
            for library in "libglib-2.0.so.0", "libyaml-0.so.2":
                carried = [line for line in lines if line.endswith("/" + library)]
                self.assertEqual([line.startswith(str(place)) for line in carried], [True])


if __name__ == "__main__":
    tap.main()
