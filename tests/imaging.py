# SPDX-License-Identifier: BSD-3-Clause
"""Images that wsclean makes of UVH5 files, by way of pyuvdata's Measurement Sets."""
import os
import shutil
import subprocess

import numpy as np

import oracles

# Phases a drift scan to its zenith, as wsclean wants it. In the year 2000, north of the ICRS is that of
# the day.
CONVERT = oracles.ALONE + """
import sys
import numpy as np
from astropy import units
from astropy.coordinates import AltAz, SkyCoord
from astropy.time import Time
from astropy.utils import iers
iers.conf.auto_download = False
iers.earth_orientation_table.set(iers.IERS_A.open(sys.argv[2]))
from pyuvdata import UVData
uv = UVData.from_file(sys.argv[1], file_type="uvh5", strict_uvw_antpos_check=True)
uv.select(freq_chans=range(int(sys.argv[4]), uv.Nfreqs))
if uv.phase_center_catalog[0]["cat_type"] == "unprojected":
    when = Time(uv.time_array[0], format="jd", scale="utc")
    at = SkyCoord(AltAz(az=0 * units.rad, alt=np.pi / 2 * units.rad, obstime=when,
                        location=uv.telescope.location)).icrs
    uv.phase(lon=at.ra.rad, lat=at.dec.rad, phase_frame="icrs", cat_name="zenith")
uv.write_ms(sys.argv[3])
"""
PIXELS = oracles.ALONE + """
import sys
import numpy as np
from astropy.io import fits
np.savez(sys.argv[1], **{name: fits.getdata(f"{sys.argv[2]}-{name}.fits")[0, 0]
                         for name in ("dirty", "psf")})
"""


def table(test):
    """The path of a table of the IERS; the test is skipped if no images can be made here."""
    if not shutil.which("wsclean"):
        test.skipTest("there is no wsclean here")
    folder = oracles.install(oracles.CASACORE)
    if not folder:
        test.skipTest(f"{oracles.CASACORE} can't be installed from a package registry here")
    return folder / "astropy_iers_data" / "data" / "finals2000A.all"


def image(test, name, earth_orientation, size, scale, first=0):
    """The image of a file in the test's folder, and its beam, with natural weights and without
    deconvolution, of the channels from the first on: [size][size], north up and east left."""
    made = test.folder / f"{name}.ms"
    oracles.run(test, oracles.CASACORE, CONVERT, test.folder / name, earth_orientation, made, first)
    done = subprocess.run(
        ["wsclean", "-quiet", "-j", "1", "-size", str(size), str(size), "-scale", scale,
         "-weight", "natural", "-niter", "0", "-make-psf", "-name", name, made],
        cwd=test.folder, capture_output=True, text=True, timeout=120,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
    test.assertEqual(done.returncode, 0, done.stdout + done.stderr)
    oracles.run(test, oracles.CASACORE, PIXELS, test.folder / "pixels.npz", test.folder / name)
    pixels = np.load(test.folder / "pixels.npz")
    return pixels["dirty"], pixels["psf"]
