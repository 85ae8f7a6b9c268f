# SPDX-License-Identifier: BSD-3-Clause
"""Readers of other projects, from PyPI, whose results tests compare with."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

# Installed once, by name and version, for all build folders that have the same cache of tests; and for
# benchmarks, which no test starts.
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache" / "cornerturn-tests") / "oracles"
PYTHON = f"python{sys.version_info[0]}.{sys.version_info[1]}"


def make(folder, command):
    """Makes a folder by `command(temporary folder)`, unless it is there; FALSE if that fails. Other
    tests may make it meanwhile."""
    if folder.exists():
        return True
    CACHE.mkdir(parents=True, exist_ok=True)
    made = pathlib.Path(tempfile.mkdtemp(prefix="making-", dir=CACHE))
    try:
        subprocess.run(command(made / "whole"), check=True, timeout=240, capture_output=True)
        (made / "whole").rename(folder)
    except (subprocess.SubprocessError, OSError):
        return folder.exists()
    finally:
        shutil.rmtree(made)
    return True


def install(packages, *options):
    """The folder of installed packages ("baseband==4.3.0", or several with spaces between them), by
    pip with these options; None if there is no way to get them."""
    pip = CACHE / f"pip-{PYTHON}"
    folder = CACHE / f"{'+'.join([*packages.split(), *options])}-{PYTHON}"
    found = folder.exists() or (
        make(pip, lambda made: [sys.executable, "-m", "venv", made]) and
        make(folder, lambda made: [pip / "bin" / "python", "-m", "pip", "install", "--quiet",
                                   "--target", made, *options, *packages.split()]))
    return folder if found else None


def run(test, packages, script, *arguments):
    """What a script prints that uses the packages; the test is skipped without them."""
    folder = install(packages)
    if not folder:
        test.skipTest(f"{packages} can't be installed from a package registry here")
    done = subprocess.run([sys.executable, "-c", script, *map(str, arguments)], timeout=120,
                          env={**os.environ, "PYTHONPATH": str(folder)}, capture_output=True,
                          text=True)
    test.assertEqual(done.returncode, 0, done.stderr)
    return done.stdout.strip()


# Begins scripts that use astropy: the caches of the tests' environment are no folders.
ALONE = """
import os
os.environ.pop("XDG_CACHE_HOME", None)
os.environ.pop("XDG_CONFIG_HOME", None)
"""
ASTROPY = "astropy==7.1.0 numpy==2.2.6"
BASEBAND = "baseband==4.3.0"
BLIMPY = "blimpy==2.1.4 h5py==3.16.0 hdf5plugin==7.1.0 setuptools==65.5.0"
CASACORE = ("pyuvdata==3.2.8 astropy-iers-data==0.2026.11.2.0.34.55 "
            "python-casacore==3.8.1")
H5PY = "h5py==3.16.0"
# matplotlib-inline: one for the matplotlib of Debian 12.
NBCLIENT = "nbclient==0.10.2 ipykernel==6.30.1 matplotlib-inline==0.1.6"
PYUVDATA = "pyuvdata==3.2.8 astropy-iers-data==0.2026.11.2.0.34.55"
SPEAD2 = "spead2==4.5.1"
SIGMF = "sigmf==1.14.0"
XARRAY = "xarray==2026.9.0 h5netcdf==1.8.2 h5py==3.16.0"
YOUR = "your==0.6.7"
