#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""uvh5.sink: an image that wsclean makes of a simulated sky has the sources at their places, with
their powers."""
import json
import os
import shutil
import subprocess

import numpy as np

import graphs
import oracles
import sky
import tap

ALONE = """
import os
os.environ.pop("XDG_CACHE_HOME", None)
os.environ.pop("XDG_CONFIG_HOME", None)
"""
# Phases the drift scan to its zenith, as wsclean wants it. In the year 2000, north of the ICRS is that of
# the day.
CONVERT = ALONE + """
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
when = Time(uv.time_array[0], format="jd", scale="utc")
at = SkyCoord(AltAz(az=0 * units.rad, alt=np.pi / 2 * units.rad, obstime=when,
                    location=uv.telescope.location)).icrs
uv.phase(lon=at.ra.rad, lat=at.dec.rad, phase_frame="icrs", cat_name="zenith")
uv.write_ms(sys.argv[3])
"""
PIXELS = ALONE + """
import sys
import numpy as np
from astropy.io import fits
np.save(sys.argv[2], fits.getdata(sys.argv[1])[0, 0])
"""
SIZE, SCALE = 256, np.pi / 180 / 4
# Pixels east and north, powers.
SOURCES = [(24, 12, 4.0), (-20, 30, 2.0)]


class Image(graphs.GraphTest):
    def test_image(self):
        if not shutil.which("wsclean"):
            self.skipTest("there is no wsclean here")
        folder = oracles.install(oracles.CASACORE)
        if not folder:
            self.skipTest(f"{oracles.CASACORE} can't be installed from a package registry here")
        table = folder / "astropy_iers_data" / "data" / "finals2000A.all"
        positions = sky.spiral(80, 16).tolist()
        directions = [[east * SCALE, north * SCALE] for east, north, _ in SOURCES]
        graph = {
            "observation": {"telescope": "Toy", "longitude": "6.87 deg", "latitude": "52.9 deg",
                            "start": "2000-01-01T12:00:00Z", "polarisations": ["X", "Y"]},
            "stations": {f"S{s}": {"enu": at} for s, at in enumerate(positions)},
            "stages": {
                "in": {"stage": "generate", "sample_rate": "100 kHz", "centre_frequency": "150 MHz",
                       "n_subbands": 2, "n_pols": 2, "samples": 40000, "positions": positions,
                       "source_directions": directions, "noise": 0.01,
                       "source_powers": [power for _, _, power in SOURCES]},
                "c": {"stage": "correlate", "from": "in", "integration": 40000},
                "out": {"stage": "uvh5.sink", "path": "out.uvh5", "spectra": 40000,
                        "from": {"visibilities": "c", "weights": "c.weights"},
                        "earth_orientation": str(table)}}}
        (self.folder / "graph.yaml").write_text(json.dumps(graph))
        done = subprocess.run([graphs.COMMAND, "run", "--quiet", "graph.yaml"], cwd=self.folder,
                              capture_output=True, text=True, timeout=120)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        oracles.run(self, oracles.CASACORE, CONVERT, self.folder / "out.uvh5", table,
                    self.folder / "out.ms")
        done = subprocess.run(
            ["wsclean", "-quiet", "-j", "1", "-size", str(SIZE), str(SIZE), "-scale", "0.25deg",
             "-weight", "natural", "-niter", "0", "-make-psf", "-name", "image", "out.ms"],
            cwd=self.folder, capture_output=True, text=True, timeout=120,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        image, beam = (self.pixels(f"image-{name}.fits") for name in ("dirty", "psf"))
        middle = SIZE // 2
        for east, north, _ in SOURCES:
            near = image[middle + north - 4:, middle - east - 4:][:9, :9]
            self.assertEqual(np.unravel_index(near.argmax(), near.shape), (4, 4))
        # Within 10° of the middle, where the sky is flat to 3 %, the image is the sum of the sources'
        # beams. That gives their powers.
        beams = np.stack([np.roll(beam, (north, -east), (0, 1))[88:168, 88:168].ravel()
                          for east, north, _ in SOURCES], 1)
        inner = image[88:168, 88:168].ravel()
        powers = np.linalg.lstsq(beams, inner, rcond=None)[0]
        # Each of the four means of 40000 products has an error of 1/200 of the whole power; 5 σ.
        error = 5 * sum(power for _, _, power in SOURCES) / 200 / 2
        np.testing.assert_allclose(powers, [power for _, _, power in SOURCES], rtol=0, atol=error)
        self.assertLess(np.abs(inner - beams @ powers).max(), 2 * error)

    def pixels(self, name):
        oracles.run(self, oracles.CASACORE, PIXELS, self.folder / name, self.folder / "pixels.npy")
        return np.load(self.folder / "pixels.npy")


if __name__ == "__main__":
    tap.main()
