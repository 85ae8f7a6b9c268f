#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""pipelines/lofar-station.yaml on a real capture, whole and damaged, against NumPy in double
precision."""
import json
import subprocess

import numpy as np

import banks
import captures
import graphs
import tap

FILES = captures.FILES
PACKET, SLOTS, BEAMLETS = captures.PACKET, captures.SLOTS, captures.BEAMLETS
BANK = banks.Bank(16, 8)
EPSILON = 2.0 ** -24


def integrate(values, length):
    return np.add.reduceat(values, np.arange(0, len(values), length), 0)


@graphs.needs_data(*(f"lofar/{path.name}" for path in FILES))
class Station(graphs.GraphTest):
    def run_station(self, paths, integration=31):
        pipeline = graphs.SOURCE_ROOT / "pipelines" / "lofar-station.yaml"
        result = subprocess.run(
            [graphs.COMMAND, "run", str(pipeline), "--quiet",
             "--set", f"station.paths=[{', '.join(map(str, paths))}]",
             "--set", f"integration={integration}"],
            cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        visibilities = np.load(self.folder / "visibilities.npy")
        weights = np.load(self.folder / "weights.npy")
        self.assertEqual(visibilities.shape[3:], (1, 2, 2))
        return visibilities[:, :, :, 0], weights[..., 0]

    def predicted_terms(self, missing):
        """The plan's numbers of spectra that are invalid if so many samples in a row are
        missing."""
        result = subprocess.run(
            [graphs.COMMAND, "plan", "--json", "--missing", str(missing),
             str(graphs.SOURCE_ROOT / "pipelines" / "lofar-station.yaml"),
             "--set", f"station.paths=[{FILES[0]}]"],
            cwd=self.folder, capture_output=True, text=True, check=True)
        paths = json.loads(result.stdout)["footprints"]
        path = next(path for path in paths if path["sink"] == "counts")
        self.assertEqual(path["apart"], ["subband"])
        return path["terms"]

    def test_numpy(self):
        samples, valid = captures.read()
        kept = BANK.valid(valid)
        spectra = np.fft.fftshift(BANK.spectra(samples), 1).transpose(0, 2, 1, 3)
        spectra *= kept[:, :, None, None]
        wanted = integrate(spectra[..., :, None] * spectra[..., None, :].conj(), 31)
        visibilities, weights = self.run_station(FILES)

        self.assertEqual(visibilities.shape, wanted.shape)
        np.testing.assert_array_equal(
            weights, np.broadcast_to(integrate(kept.astype(int), 31)[..., None], weights.shape))

        # The bound for rounding: 8 taps, 4 levels of the transform and the conversion to single
        # precision, for each factor of a product, then a sum of 31.
        scale = BANK.bound(samples)
        limit = (2 * 16 + 31) * EPSILON * integrate(scale[..., :, None] * scale[..., None, :], 31)
        self.assertLess((abs(visibilities - wanted) / np.maximum(limit[:, :, None], 1e-30)).max(),
                        1)
        power = np.load(self.folder / "power.npy")[:, :, :, 0]
        autos = integrate(abs(spectra) ** 2, 31)
        self.assertLess((abs(power - autos) /
                         np.maximum(np.einsum("tspp->tsp", limit)[:, :, None], 1e-30)).max(), 1)
        # The norm of all differences is much smaller.
        self.assertLess(np.linalg.norm(power - autos), 1e-6 * np.linalg.norm(autos))
        self.assertLess(np.linalg.norm(visibilities - wanted), 1e-6 * np.linalg.norm(wanted))

    def test_interference(self):
        samples, _ = captures.read()
        strongest = (abs(samples) ** 2).mean((0, 2)).argmax()
        visibilities, _ = self.run_station(FILES)
        power = visibilities[..., 0, 0].real + visibilities[..., 1, 1].real
        self.assertEqual(power.sum((0, 2)).argmax(), strongest)
        self.assertLess(strongest, BEAMLETS)

    def test_damage(self):
        """Removed, doubled, swapped and cut packets only change spectra whose windows contain a
        lost one; all others are the same to the bit."""
        whole = FILES[0].read_bytes()
        packets = [whole[at:at + PACKET] for at in range(0, len(whole), PACKET)]
        lost = [40, 41, 120, 200]
        damaged = list(packets)
        damaged[50], damaged[90] = damaged[90], damaged[50]
        damaged[120] = damaged[120][:5000]
        damaged[150] = damaged[150] * 2
        for packet in (200, 41, 40):
            del damaged[packet]
        (self.folder / "damaged").write_bytes(b"".join(damaged))

        valid = np.ones((len(packets) * SLOTS, BEAMLETS), bool)
        for packet in lost:
            valid[SLOTS * packet:SLOTS * (packet + 1)] = False
        kept = BANK.valid(valid)
        self.assertEqual((~kept[:, 0]).sum(), 9 + 8 + 8)

        clean, clean_weights = self.run_station([FILES[0]], 1)
        given, weights = self.run_station(["damaged"], 1)
        self.assertTrue((clean_weights == 1).all())
        np.testing.assert_array_equal(weights, np.broadcast_to(kept[..., None], weights.shape))
        np.testing.assert_array_equal(given[kept], clean[kept])
        self.assertFalse(given[~kept].any())

        # These are the plan's numbers for one packet and for two in a row.
        runs = [kept[a:b, 0] for a, b in ((0, 60), (90, 150), (150, len(kept)))]
        for n_packets, windows in ((1, runs[1:]), (2, runs[:1])):
            least, most = self.predicted_terms(SLOTS * n_packets)
            for window in windows:
                self.assertIn((~window).sum(), (least, most))

        _, weights = self.run_station(["damaged"], 31)
        np.testing.assert_array_equal(
            weights, np.broadcast_to(integrate(kept.astype(int), 31)[..., None], weights.shape))


if __name__ == "__main__":
    tap.main()
