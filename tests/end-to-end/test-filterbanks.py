#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""pipelines/station-spectrum.yaml on a real capture and pipelines/vdif-filterbank.yaml on a made
recording: their filterbanks as others read them, against NumPy in double precision; and their
pictures."""
import json
import struct
import subprocess

import numpy as np

import banks
import captures
import graphs
import oracles
import tap
import vdif_frames

EPSILON = 2.0 ** -24
SPECTRA = 8 + 7 + 1  # roundings of a spectrum's value: taps, levels of the transform, conversion

READ = """
import sys, your
reader = your.Your(sys.argv[1])
head = reader.your_header
print(head.fch1, head.foff, head.nchans, head.tsamp, repr(head.tstart), head.nspectra, head.nbits)
reader.get_data(nstart=0, nsamp=head.nspectra).astype("<f4").tofile(sys.argv[2])
"""


class Filterbank(graphs.GraphTest):
    def run_pipeline(self, name, *settings):
        done = subprocess.run(
            [graphs.COMMAND, "run", graphs.SOURCE_ROOT / "pipelines" / name, "--quiet", "--strict",
             *(word for setting in settings for word in ("--set", setting))],
            cwd=self.folder, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)

    def read(self, name):
        """Samples [time channel] and the header's numbers, by the reader of others."""
        printed = oracles.run(self, oracles.YOUR, READ, self.folder / name, self.folder / "read")
        samples = np.fromfile(self.folder / "read", "<f4")
        head = [float(text) for text in printed.split()]
        return samples.reshape(int(head[5]), int(head[2])), head

    def check_powers(self, given, spectra, kept, bound, length):
        """The mean powers, summed over the last axis, of `length` valid spectra each."""
        starts = np.arange(0, len(spectra), length)
        n = np.add.reduceat(kept.astype(float), starts, 0)
        power = (abs(spectra) ** 2).sum(-1) * kept
        wanted = np.add.reduceat(power, starts, 0) / np.maximum(n, 1)
        most = np.add.reduceat((bound ** 2).sum(-1) * kept, starts, 0) / np.maximum(n, 1)
        limit = (2 * SPECTRA + 3 + length) * EPSILON * most
        self.assertEqual(given.shape, wanted.shape)
        self.assertLess((abs(given - wanted) / np.maximum(limit, 1e-30)).max(), 1)
        self.assertLess(np.linalg.norm(given - wanted), 1e-6 * np.linalg.norm(wanted))

    def draw(self, name):
        """The picture's width and height."""
        picture = self.folder / "picture.png"
        done = subprocess.run([graphs.COMMAND, "show", self.folder / name, "--decibels", "-o", picture],
                              capture_output=True, text=True, check=False)
        if "want cairo" in done.stderr:
            self.skipTest("this build lacks cairo")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        return struct.unpack(">II", picture.read_bytes()[16:24])


@graphs.needs_data(*captures.NAMES)
class Station(Filterbank):
    def run_station(self):
        paths = ", ".join(map(str, captures.FILES))
        self.run_pipeline("station-spectrum.yaml", f"station.paths=[{paths}]")

    def test_stokes_i(self):
        self.run_station()
        given, (first, step, n, interval, mjd, _, bits) = self.read("station.fil")
        # The middle of subband s is at (512 + s) of 1024 parts of 200 MHz, in this band.
        width = 200 / 1024
        self.assertAlmostEqual(first, (512 + 377) * width + 3 * width / 8, places=9)
        self.assertEqual((step, n, bits), (-width / 8, 366 * 8, 32))
        self.assertAlmostEqual(interval, 64 * 5.12e-6, places=15)
        seconds = (mjd - 59759) * 86400
        self.assertLess(abs(seconds - 5400.0000512), 1e-6)

        samples, valid = captures.read()
        bank = banks.Bank(8, 8)
        spectra = np.fft.fftshift(bank.spectra(samples), 1).transpose(0, 2, 1, 3)
        spectra = spectra.reshape(len(spectra), -1, 2)[:, ::-1]
        bound = np.repeat(bank.bound(samples), 8, 1)[:, ::-1]
        kept = np.repeat(bank.valid(valid), 8, 1)[:, ::-1]
        self.check_powers(given, spectra, kept, bound, 8)
        self.assertFalse(kept.all())

    def test_picture(self):
        self.run_station()
        self.assertEqual(self.draw("station.fil"), (1200, 800))


class Vdif(Filterbank):
    FRAME, PER_SECOND = 20000, 1600  # samples; frames
    LOST = 2  # a frame of thread 1

    def make_recording(self):
        """Noise and a tone at 5 MHz, alternately strong; [time pol] as decoded, and what is
        valid."""
        seed = 20141
        print(f"# seed {seed}")
        random = np.random.default_rng(seed)
        n = 4 * self.FRAME
        t = np.arange(n)
        tone = np.cos(2 * np.pi * 5e6 / 32e6 * t) * (t // 8192 % 2)
        analogue = random.normal(size=(n, 2)) + tone[:, None]
        codes = np.clip(np.floor(analogue / 0.98) + 2, 0, 3).astype(int)
        frames = [vdif_frames.make_frame(
                      vdif_frames.pack(codes[self.FRAME * i:self.FRAME * (i + 1), thread], 2), i,
                      thread=thread, edv=1, rate=16)
                  for i in range(4) for thread in (0, 1) if (i, thread) != (self.LOST, 1)]
        (self.folder / "scan.vdif").write_bytes(b"".join(frames))
        valid = np.ones((n, 2), bool)
        valid[self.FRAME * self.LOST:self.FRAME * (self.LOST + 1), 1] = False
        return vdif_frames.LEVELS[2][codes].astype(float) * valid, valid

    def test_powers(self):
        samples, valid = self.make_recording()
        self.run_pipeline("vdif-filterbank.yaml", "recording.first_frequency=1.4 GHz")
        given, (first, step, n, interval, _, n_spectra, bits) = self.read("scan.fil")
        bank = banks.Bank(128, 8)
        spectra = bank.spectra(samples)[:, ::-1]
        self.assertEqual((first, step, n, bits), (1416, -0.25, 65, 32))
        self.assertEqual((interval, n_spectra), (64e-6, -(-len(spectra) // 16)))
        # Stokes I needs both polarisations.
        kept = bank.valid(valid).all(-1)[:, None]
        bound = bank.bound(samples)[:, None]
        self.check_powers(given, spectra, kept, bound, 16)

        beside = json.loads((self.folder / "scan.fil.json").read_text())
        empty = np.add.reduceat(kept[:, 0].astype(int), np.arange(0, len(kept), 16)) == 0
        runs = np.flatnonzero(np.diff(np.r_[0, empty, 0])).reshape(-1, 2)
        self.assertEqual([gap["samples"] for gap in beside["validity"]["gaps"]],
                         [[int(number) for a, b in runs for number in (a, b - a)]])
        self.assertTrue(empty.any())
        # The tone is seen where it is strong.
        peak = given[:, 65 - 1 - 20] / np.median(given[~empty], 1).mean()
        self.assertGreater(peak.max(), 20)

    def test_picture(self):
        self.make_recording()
        self.run_pipeline("vdif-filterbank.yaml")
        self.assertEqual(self.draw("scan.fil"), (1200, 800))


if __name__ == "__main__":
    tap.main()
