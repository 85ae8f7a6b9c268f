#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""pipelines/live-imaging.yaml: the voltages of a simulated sky, delayed by astropy's geometry, are sent
over loopback with losses; in the image that wsclean makes of the file, the sources are at their places,
with their powers."""
import json
import re
import subprocess

import numpy as np

import banks
import graphs
import imaging
import network
import oracles
import tap
import vdif_frames
import wavefronts
from ports import free_port

PIPELINE = graphs.SOURCE_ROOT / "pipelines" / "live-imaging.yaml"
TEXT = PIPELINE.read_text()
ENU = [json.loads(at) for at in re.findall(r"^  S\d: \{ enu: (\[.*\]) \}$", TEXT, re.M)]
PLACE = (6.87, 52.91)
CENTRE = np.radians([15 * (1 + 37 / 60 + 41.2994 / 3600), 33 + 9 / 60 + 35.134 / 3600])
RATE, FREQUENCY = 32000, 610e6
BANK = banks.Bank(32, 8)
SPECTRA = 1000  # of an integration
DURATION = 30  # seconds, and as many integrations
START, SECOND, EPOCH = "2026-10-01T22:00:00", 92 * 86400 + 22 * 3600, 53
SAMPLES = 256  # of a frame
FRAMES = RATE // SAMPLES  # of a second
N = DURATION * FRAMES + 40  # frames of a station; those after the end are not used
LOSS = 0.02
LEVELS = 35.5  # of a unit, as vdif.source has it
SIZE, SCALE = 512, 2  # pixels, seconds of arc
# Pixels east and north, powers; and the power of a receiver.
SOURCES = [(60, 28, 0.2), (-45, 70, 0.1)]
RECEIVER = 0.5
POWER = RECEIVER + sum(power for _, _, power in SOURCES)
# What pyuvdata reads of the file.
READ = oracles.ALONE + """
import json, sys
import numpy as np
from pyuvdata import UVData
from astropy.utils import iers
iers.conf.auto_download = False
uv = UVData.from_file(sys.argv[1], file_type="uvh5", run_check=False)
np.savez(sys.argv[2], samples=uv.nsample_array, flags=uv.flag_array, first=uv.ant_1_array,
         second=uv.ant_2_array, uvw=uv.uvw_array)
print(json.dumps([uv.phase_center_catalog[0]["cat_type"],
                  [str(name) for name in uv.telescope.antenna_names]]))
"""


def place_of(east, north):
    """Right ascension in hours and declination in degrees of a pixel, on the tangent plane of the
    phase centre (SIN)."""
    l, m = np.array([east, north]) * np.radians(SCALE / 3600)
    n, (ra, dec) = np.sqrt(1 - l * l - m * m), CENTRE
    return [float(np.degrees(ra + np.arctan2(l, n * np.cos(dec) - m * np.sin(dec))) / 15),
            float(np.degrees(np.arcsin(m * np.cos(dec) + n * np.sin(dec))))]


class LiveImaging(network.Network):
    def setUp(self):
        super().setUp()
        self.table = imaging.table(self)
        seconds = np.arange(-1, DURATION + 4)
        found = wavefronts.find(self, self.table, START, seconds, PLACE, ENU,
                                [place_of(east, north) for east, north, _ in SOURCES])
        self.delays = found["delays"]
        orientation = (f"dut1={found['dut1']}",
                       "polar_motion=[{} arcsec, {} arcsec]".format(*found["pole"]))
        self.settings = [word for one in orientation for word in ("--set", one)]
        self.settings += ["--set", f"out.rotate_time={DURATION} s"]

    def noise(self, *shape):
        return (self.random.normal(size=(*shape, 2)) @ [1, 1j]) / np.sqrt(2)

    def voltages(self, s, spectra):
        """[time pol] of a station. In this time, the envelope of a signal moves by less than 10⁻³ of a
        sample, so it has the mean delay; the carrier has that of each moment."""
        n = N * SAMPLES
        t, f = np.arange(n) / RATE, np.fft.fftfreq(n, 1 / RATE)[:, None]
        x = np.sqrt(RECEIVER) * self.noise(n, 2)
        for spectrum, delays in zip(spectra, self.delays[:, :, s]):
            # Through three seconds around, a parabola is off by less than 10⁻⁵ of a turn.
            at = np.clip(np.rint(t).astype(int) + 1, 1, len(delays) - 2)
            u, (a, b, c) = t + 1 - at, (delays[at + k] for k in (-1, 0, 1))
            tau = b + u / 2 * (c - a) + u * u / 2 * (a - 2 * b + c)
            x += np.exp(2j * np.pi * FREQUENCY * tau)[:, None] * np.fft.ifft(
                spectrum * np.exp(2j * np.pi * f * delays.mean()), axis=0)
        return x

    def capture(self):
        """Writes the frames in the order of time, and then of stations."""
        spectra = [np.sqrt(power) * np.fft.fft(self.noise(N * SAMPLES, 2), axis=0)
                   for _, _, power in SOURCES]
        codes = []
        for s in range(len(ENU)):
            x = self.voltages(s, spectra)
            parts = np.stack([x.real, x.imag], -1) * LEVELS
            self.assertLess(abs(parts).max(), 127)
            codes.append(np.rint(parts + 127.5).astype("u1").reshape(N, -1))
        with open(self.folder / "capture.vdif", "wb") as file:
            for i in range(N):
                for s in range(len(ENU)):
                    file.write(vdif_frames.make_frame(
                        codes[s][i].tobytes(), i % FRAMES, SECOND + i // FRAMES, thread=s, bits=8,
                        log2_channels=1, is_complex=True, epoch=EPOCH,
                        station=ord("S") << 8 | ord("0") + s))

    def receive(self):
        """Runs the pipeline while the capture is sent. Returns which frames were, [station frame]."""
        port = free_port()
        process = subprocess.Popen(
            [graphs.COMMAND, "run", PIPELINE, *self.settings, "--stats", "json", "--duration",
             f"{DURATION} s", "--set", f'array.path=["udp://127.0.0.1:{port}"]'],
            cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        self.wait_bound(process, [port])
        done = subprocess.run(
            [graphs.COMMAND, "send", "capture.vdif", "--to", f"udp://127.0.0.1:{port}", "--speed", "5",
             "--loss", str(LOSS), "--seed", str(network.SEED), "--log-packets", "sent", "--quiet"],
            cwd=self.folder, capture_output=True, text=True, timeout=network.PATIENCE)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        output, errors = process.communicate(timeout=network.PATIENCE)
        self.assertEqual((process.returncode, errors), (0, ""))
        sent = np.zeros(N * len(ENU), bool)
        for line in (self.folder / "sent").read_text().splitlines():
            line = json.loads(line)
            sent[line["packet"]] = line["fate"] == "sent"
        sent = sent.reshape(N, len(ENU)).T[:, :DURATION * FRAMES]
        counters = next(node["counters"] for node in json.loads(output)["nodes"]
                        if node["name"] == "array")
        self.assertEqual((counters["missing"], counters["overrun"]), ((~sent).sum(), 0))
        return sent

    def check_weights(self, read, sent):
        """nsamples is the part of an integration's spectra whose windows were received from both
        stations."""
        valid = BANK.valid(np.repeat(sent, SAMPLES, 1).T)
        pairs = valid[:, read["first"][:36]] & valid[:, read["second"][:36]]
        wanted = np.add.reduceat(pairs, np.arange(0, len(pairs), SPECTRA), 0, int) / SPECTRA
        samples = read["samples"].reshape(DURATION, 36, 32, 4)
        np.testing.assert_array_equal(samples, np.broadcast_to(
            wanted.astype("f4")[..., None, None], samples.shape))
        self.assertTrue((samples < 1).any())
        self.assertFalse(read["flags"].any())
        cross = read["first"][:36] != read["second"][:36]
        # A spectrum is lost with each of two or three frames of two stations.
        print(f"# mean of nsamples: {wanted[:, cross].mean():.4f}, of autocorrelations "
              f"{wanted[:, ~cross].mean():.4f}")
        self.assertLess(wanted[:, cross].mean(), wanted[:, ~cross].mean())

    def fit(self, name):
        """The sum of the sources' beams that is nearest to the image: powers, and shifts east and
        north in pixels."""
        image, beam = imaging.image(self, name, self.table, SIZE, f"{SCALE}asec", first=1)
        inner = slice(SIZE // 2 - 120, SIZE // 2 + 120)
        columns = []
        for east, north, _ in SOURCES:
            at = np.roll(beam, (north, -east), (0, 1))
            further = [(np.roll(at, step, axis) - np.roll(at, -step, axis)) / 2
                       for step, axis in ((-1, 1), (1, 0))]
            columns += [part[inner, inner].ravel() for part in (at, *further)]
        found = np.linalg.lstsq(np.stack(columns, 1), image[inner, inner].ravel(), rcond=None)[0]
        powers, *shifts = found.reshape(-1, 3).T
        return powers, np.array(shifts).T / powers[:, None]

    def read(self, name):
        text = oracles.run(self, oracles.PYUVDATA, READ, self.folder / name, self.folder / "read.npz")
        self.assertEqual(json.loads(text), ["sidereal", [f"S{s}" for s in range(len(ENU))]])
        return np.load(self.folder / "read.npz")

    def test_image(self):
        self.capture()
        done = subprocess.run(
            [graphs.COMMAND, "check", PIPELINE, "--quiet", "--strict", "--set", "array.path=capture.vdif"],
            cwd=self.folder, capture_output=True, text=True, timeout=network.PATIENCE)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        sent = self.receive()
        name = "live-20261001T220000.uvh5"
        self.assertEqual([path.name for path in self.folder.glob("*.uvh5*")].count(name), 1)
        read = self.read(name)
        self.check_weights(read, sent)
        wanted = np.array([power for _, _, power in SOURCES])
        # Of the products of two polarisations, a mean is off by this part of the whole power. If the
        # errors of all baselines are those of a false source, they add this to a power.
        n = read["samples"][..., 0].sum() / len(read["samples"]) * SPECTRA * DURATION * 31 / 32
        error = 5 * POWER / np.sqrt(2 * n)
        cross = read["first"] != read["second"]
        spread = np.sqrt((read["uvw"][cross, :2] ** 2).mean(0)) * FREQUENCY / 299792458
        # Time stands for the begin of a spectrum's window: so the sky turns for half of it.
        window = 2 * np.pi / 86164 * BANK.window / 2 / RATE
        shift = np.degrees(error / wanted[:, None] / (2 * np.pi * spread) + window) * 3600 / SCALE
        beam = np.degrees(1 / spread.max()) * 3600 / SCALE / (2 * np.pi)
        powers, shifts = self.fit(name)
        powers = powers / (BANK.taps ** 2).sum()
        print(f"# powers {powers}, within {error:.4f}; shifts {shifts.ravel()} pixels, within "
              f"{shift.ravel()}, of a beam of {beam:.1f} σ")
        np.testing.assert_allclose(powers, wanted, rtol=0, atol=error)
        self.assertTrue((abs(shifts) < shift).all())

        # Without delays, the same packets make no such image.
        text = TEXT.replace("from: delayed", "from: spectra")
        self.assertNotEqual(text, TEXT)
        (self.folder / "untracked.yaml").write_text(text)
        done = subprocess.run(
            [graphs.COMMAND, "run", "untracked.yaml", *self.settings, "--quiet", "--set",
             "array.path=capture.vdif", "--duration", f"{DURATION} s", "--set",
             "out.path=untracked-%i.uvh5"], cwd=self.folder, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        powers, _ = self.fit("untracked-000000.uvh5")
        powers = powers / (BANK.taps ** 2).sum()
        print(f"# without tracking: powers {powers}")
        self.assertTrue((abs(powers) < wanted / 2).all())


if __name__ == "__main__":
    tap.main()
