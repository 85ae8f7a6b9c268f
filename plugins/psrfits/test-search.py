#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""pipelines/search.yaml on voltages of a dispersed pulsar: what PSRFITS and the time series have is
that of NumPy in double precision, and the pulses are where their dispersion measure puts them."""
import subprocess

import numpy as np

import graphs
import tap
from banks import Bank

RATE, CENTRE, N_CHANNELS, N_TAPS, AVERAGE = 2e6, 150e6, 32, 8, 16
STATIONS = np.array([[0, 0, 0], [12, 5, 0], [-7, 16, 1]], float)  # metres, as in the graph
DIRECTION = np.array([0.3, -0.2, np.sqrt(1 - 0.3 ** 2 - 0.2 ** 2)])
LIGHT = 299792458.0
DM, K = 3.0, 1e12 / 2.41e-4  # pc cm⁻³; Hz² pc⁻¹ cm³ s
PERIOD, WIDTH, N_SAMPLES = 0.03, 0.0008, 600000
FREQUENCIES = CENTRE + (np.arange(N_CHANNELS) - N_CHANNELS // 2) * RATE / N_CHANNELS
BAD = 8  # 149.5 MHz, which the graph leaves out
STEP = AVERAGE * N_CHANNELS / RATE
ULP = 2.0 ** -24


def delay(frequency, reference):
    """Seconds by which a pulse arrives later than at the reference."""
    return K * DM * (frequency ** -2.0 - reference ** -2.0)


def make_voltages():
    """Integers [time station pol part]. The pulsar is noise in pulses, of which the whole stream's
    transform gets the phase of the dispersion, −2π ∫ delay df, and that of the way to a station."""
    rng = np.random.default_rng(9)

    def noise(power):
        return rng.normal(size=(N_SAMPLES, 2), scale=np.sqrt(power / 2)) + \
            1j * rng.normal(size=(N_SAMPLES, 2), scale=np.sqrt(power / 2))
    t = np.arange(N_SAMPLES) / RATE
    on = ((t + WIDTH / 2) % PERIOD < WIDTH) & (t < 0.27)
    f = CENTRE + np.fft.fftfreq(N_SAMPLES, 1 / RATE)
    reference = CENTRE + RATE / 2
    phase = -2 * np.pi * K * DM * (-1 / f - f / reference ** 2)
    pulses = np.fft.fft(noise(300) * on[:, None], axis=0) * np.exp(1j * (phase - phase[0]))[:, None]
    parts = []
    for station in STATIONS:
        early = station @ DIRECTION / LIGHT
        x = np.fft.ifft(pulses * np.exp(2j * np.pi * f * early)[:, None], axis=0) + noise(200)
        parts.append(np.rint(np.stack([x.real, x.imag], -1)))
    return np.clip(np.stack(parts, 1), -127, 127).astype(np.int8)


def expected(parts):
    """The averaged power of the beam, [time channel], and the bound of its error: the filter rounds
    9 times, the transform 3 times in each of 5 steps, the weights and the sum over stations 6 times,
    each at most the sum of moduli under the taps; the sum of powers is rounded AVERAGE + 4 times."""
    bank = Bank(N_CHANNELS, N_TAPS)
    beam, bound = 0, 0
    for s, station in enumerate(STATIONS):
        x = parts[:, s, :, 0] + 1j * parts[:, s, :, 1].astype(float)
        weight = np.exp(-2j * np.pi * FREQUENCIES * (station @ DIRECTION) / LIGHT) / len(STATIONS)
        beam = beam + np.fft.fftshift(bank.spectra(x), 1) * weight[:, None]
        bound = bound + bank.bound(x)[:, None] / len(STATIONS)
    error = 30 * ULP * bound
    power = (abs(beam) ** 2).sum(2)
    error = (2 * abs(beam) * error + error ** 2).sum(2)
    power[:, BAD] = error[:, BAD] = 0

    def average(x):
        starts = np.arange(0, len(x), AVERAGE)
        return np.add.reduceat(x, starts) / np.diff([*starts, len(x)])[:, None]
    return average(power), average(error) + (AVERAGE + 4) * ULP * average(power)


def read_table(path):
    """Headers by name of their HDU, and the columns of the table SUBINT of a FITS file."""
    data, at, headers = path.read_bytes(), 0, {}
    sizes = {"B": "u1", "I": ">i2", "J": ">i4", "E": ">f4", "D": ">f8"}
    while at < len(data):
        header = {}
        while True:
            cards = [data[at + i:at + i + 80].decode() for i in range(0, 2880, 80)]
            at += 2880
            for card in cards:
                if card[8:10] == "= ":
                    text = card[10:].split("'")[1] if card[10:].lstrip().startswith("'") else \
                        card[10:].split("/")[0]
                    header[card[:8].strip()] = text.strip()
            if any(card.strip() == "END" for card in cards):
                break
        headers[header.get("EXTNAME", "PRIMARY")] = header
        rows, n_bytes = int(header.get("NAXIS2", 0)), int(header.get("NAXIS1", 0))
        if header.get("EXTNAME") == "SUBINT":
            fields = []
            for i in range(int(header["TFIELDS"])):
                form = header[f"TFORM{i + 1}"]
                shape = (int(form[:-1]),) if form[:-1] not in ("", "1") else ()
                fields.append((header[f"TTYPE{i + 1}"], sizes[form[-1]], shape))
            columns = np.frombuffer(data, np.dtype(fields), rows, at)
        at += -(-rows * n_bytes // 2880) * 2880
    return headers, columns


class Search(graphs.GraphTest):
    def run_search(self, *settings):
        """The averages [time channel] of the file, by ascending frequency, its headers and columns,
        and the series [time dm]."""
        done = subprocess.run(
            [graphs.COMMAND, "run", graphs.SOURCE_ROOT / "pipelines" / "search.yaml", "--quiet",
             "--strict", *(word for setting in settings for word in ("--set", setting))],
            cwd=self.folder, capture_output=True, text=True, timeout=200)
        self.assertEqual(done.returncode, 0, done.stderr)
        headers, columns = read_table(self.folder / "search.sf")
        table = headers["SUBINT"]
        n = int(table["NSTOT"])
        self.assertEqual((int(table["NPOL"]), int(table["NCHAN"]), table["POL_TYPE"]),
                         (1, N_CHANNELS, "INTEN"))
        levels = columns["DATA"]
        scale, offset = columns["DAT_SCL"][:, None], columns["DAT_OFFS"][:, None]
        rows = levels.reshape(len(columns), -1, N_CHANNELS) * scale + offset
        power = rows.reshape(-1, N_CHANNELS)[:n, ::-1].astype(float)
        np.testing.assert_allclose(columns["DAT_FREQ"][0][::-1], FREQUENCIES / 1e6, rtol=1e-9)
        return power, headers, columns, np.load(self.folder / "series.npy")[:, :, 0, 0]

    def setUp(self):
        super().setUp()
        parts = make_voltages()
        np.save(self.folder / "voltages.npy", parts)
        self.power, self.error = expected(parts)

    def test_search(self):
        power, headers, columns, series = self.run_search()
        table, primary = headers["SUBINT"], headers["PRIMARY"]
        # The whole chain.
        self.assertEqual(power.shape, self.power.shape)
        self.assertTrue((abs(power - self.power) <= self.error).all(),
                        (abs(power - self.power) / (self.error + 1e-30)).max())
        self.assertEqual(float(table["TBIN"]), STEP)
        self.assertEqual((primary["TELESCOP"], primary["SRC_NAME"], primary["OBS_MODE"]),
                         ("Effelsberg", "search field 7", "SEARCH"))
        # 2026-11-23 is day 61367; the first spectrum begins with the stream, at noon.
        self.assertEqual((int(primary["STT_IMJD"]), int(primary["STT_SMJD"])), (61367, 43200))
        self.assertFalse(columns["DAT_WTS"][:, ::-1][:, BAD].any())
        self.assertTrue(np.delete(columns["DAT_WTS"][:, ::-1], BAD, 1).all())
        # Pulses arrive when their delays say: the mean profile of each channel, which the period
        # divides into bins, has its middle there. A pulse is wider than a sample.
        good = [c for c in range(N_CHANNELS) if c != BAD and 2 <= c < N_CHANNELS - 1]
        middle = (np.arange(len(power)) + 0.5) * STEP + (N_TAPS - 1) / 2 * N_CHANNELS / RATE
        turn = np.exp(2j * np.pi * middle / PERIOD)
        found = []
        for c in good:
            excess = power[:, c] - np.median(power[:, c])
            found.append(np.angle((excess * turn).sum()) / (2 * np.pi) * PERIOD)
        wanted = delay(FREQUENCIES[good], CENTRE + RATE / 2)
        off = (np.array(found) - wanted + PERIOD / 2) % PERIOD - PERIOD / 2
        print("# delays: largest", round(1e3 * wanted.max(), 2), "ms; off by at most",
              round(1e3 * abs(off).max(), 3), "ms")
        self.assertLess(abs(off).max(), WIDTH)
        curve = FREQUENCIES[good] ** -2.0 - (CENTRE + RATE / 2) ** -2.0
        slope = np.polyfit(curve, wanted + off, 1)[0] / K
        print("# dispersion measure by the delays:", round(slope, 3))
        self.assertLess(abs(slope - DM), 0.1)

    def test_series(self):
        """The series are sums along the delays, and the pulses are strongest in that of the DM."""
        _, _, _, series = self.run_search()
        chosen = [c for c in range(N_CHANNELS) if FREQUENCIES[c] >= 149.53e6]
        top = FREQUENCIES[chosen].max()
        peaks = []
        for i in range(13):
            late = np.rint(K * 0.5 * i * (FREQUENCIES[chosen] ** -2.0 - top ** -2.0) / STEP).astype(int)
            wanted = sum(self.power[d:d + len(series), c] for d, c in zip(late, chosen))
            error = sum(self.error[d:d + len(series), c] for d, c in zip(late, chosen))
            error = error + len(chosen) * ULP * wanted
            self.assertTrue((abs(series[:, i] - wanted) <= error).all(), i)
            peaks.append(np.sort(series[:, i])[-6:].mean() / np.median(series[:, i]))
        print("# peaks by dispersion measure:", np.round(peaks, 2).tolist())
        self.assertEqual(np.argmax(peaks) * 0.5, DM)

    def test_another_beam_and_levels(self):
        """A beam that looks elsewhere has weaker pulses; levels of 8 bits are those of the floats."""
        scale = self.power.max() / 250
        there = self.run_search("file.bits=8", f"file.scale={scale!r}")[0]
        half = np.float32(scale) * (0.5 + 1e-5)
        self.assertTrue((abs(there - self.power) <= half + self.error).all())
        elsewhere = self.run_search("pointing.directions=[[-0.6, 0.5]]")[0]
        bright = self.power > 2 * np.median(self.power)
        self.assertLess(elsewhere[bright].mean(), 0.8 * self.power[bright].mean())


if __name__ == "__main__":
    tap.main()
