#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""uvh5.sink: an image that wsclean makes of a simulated sky has the sources at their places, with
their powers."""
import json
import subprocess

import numpy as np

import graphs
import imaging
import sky
import tap

SIZE, SCALE = 256, np.pi / 180 / 4
# Pixels east and north, powers.
SOURCES = [(24, 12, 4.0), (-20, 30, 2.0)]


class Image(graphs.GraphTest):
    def test_image(self):
        table = imaging.table(self)
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
        image, beam = imaging.image(self, "out.uvh5", table, SIZE, "0.25deg")
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


if __name__ == "__main__":
    tap.main()
