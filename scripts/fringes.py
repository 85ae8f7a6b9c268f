#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/fringes.py PIPELINE [VISIBILITIES]

Finds the sources of the simulated sky in the visibilities of pipelines/fx-correlator.yaml and prints
them beside the true ones, which stand in the pipeline's text. Nothing of the truth goes into the
search: it makes an image from the fringes of all baselines, takes the brightest point, fits and
subtracts its fringes, and so on down to the noise."""
import json
import re
import sys

import numpy as np

LIGHT = 299792458.0
UNITS = {"": 1, "Hz": 1, "kHz": 1e3, "MHz": 1e6, "GHz": 1e9, "m": 1, "km": 1e3}


def quantity(text):
    number, unit = re.fullmatch(r"\s*([-+.\deE]+)\s*([A-Za-z]*)\s*", str(text)).groups()
    return float(number) * UNITS[unit]


def read_node(path, name):
    """The keys of a node, one key a line or all in { }; lists in the text become Python lists."""
    with open(path, encoding="utf-8") as lines:
        text = re.sub(r"(?m)(^| )#.*$", "", lines.read())
    block, flow = re.search(rf"(?m)^  {name}:[ ]*(?:\n((?:    .*\n)+)|{{(.*)}})", text).groups()
    pairs = re.findall(r"(?m)^\s*(\w+): *(.*?) *$", block or re.sub(r", (?=\w+:)", "\n", flow))
    quoted = {key: re.sub(r"([-\d.]+ [A-Za-z]+)", r'"\1"', value) for key, value in pairs}
    return {key: json.loads(value) if value.startswith("[") else value.strip('"')
            for key, value in quoted.items()}


def numbers(value):
    return [quantity(item) for item in (value if isinstance(value, list) else [value])]


class Sky:
    """The contents of the pipeline: stations, noise sources and tones as rows (l, m, share of
    the power that a station receives)."""

    def __init__(self, pipeline):
        node, filter_ = read_node(pipeline, "sky"), read_node(pipeline, "filter")
        self.rate, self.centre = quantity(node["sample_rate"]), quantity(node["centre_frequency"])
        n, radius = int(node["n_stations"]), quantity(node["spiral"])
        s = np.arange(n)
        r, azimuth = radius * np.sqrt((s + 0.5) / n), s * np.pi * (3 - np.sqrt(5))
        self.positions = np.stack([r * np.sin(azimuth), r * np.cos(azimuth)], axis=1)

        directions = node.get("source_directions", [])
        powers = np.broadcast_to(numbers(node.get("source_powers", 1)), len(directions))
        noise = float(node.get("noise", 1)) + powers.sum()
        self.sources = self.rows(directions, powers / noise)
        self.tone_frequencies = numbers(node.get("tone_frequencies", []))
        amplitudes = np.broadcast_to(numbers(node.get("tone_amplitudes", 1)),
                                     len(self.tone_frequencies))
        self.tones = self.rows(node.get("tone_directions", []), amplitudes**2 / noise)

        # the noise that a channel passes, relative to a tone at its centre: Σh² / (Σh)²
        taps = int(filter_["n_channels"]) * int(filter_["n_taps"])
        n = np.arange(taps)
        h = np.sinc((n - (taps - 1) / 2) / int(filter_["n_channels"])) * np.hamming(taps)
        self.bandwidth = np.sum(h**2) / np.sum(h) ** 2

    @staticmethod
    def rows(directions, powers):
        return [(*direction, power) for direction, power in zip(directions, powers)]


class Fringes:
    """Visibilities [channel baseline] as shares of a station's power, autocorrelations left out."""

    def __init__(self, sky, visibilities):
        sums = visibilities.sum(axis=0)  # [channel baseline pol pol']
        both = np.einsum("cbpp->cb", sums)
        i, j = np.tril_indices(len(sky.positions))
        autos, cross = np.flatnonzero(i == j), np.flatnonzero(i != j)
        offset = np.fft.fftfreq(len(sums), 1 / sky.rate)
        self.inner = np.abs(offset) < 0.4 * sky.rate  # the filters of `generate` are flat here
        station = np.median(both[np.ix_(self.inner, autos)].real, axis=0)
        self.visibilities = (both / np.sqrt(station[i] * station[j]))[:, cross]
        self.power = (both[:, autos].real / station).mean(axis=1)  # [channel], 1 is typical
        self.pairs = np.stack([i, j], axis=1)[cross]
        self.baselines = (sky.positions[i] - sky.positions[j])[cross]
        self.frequencies = sky.centre + offset

    def fringe(self, l, m, channels):
        """exp(2πi f b·s/c): the visibilities of a source of power 1; the array is flat."""
        turns = self.frequencies[channels, None] * (self.baselines @ [l, m]) / LIGHT
        return np.exp(2j * np.pi * turns)

    def model(self, rows, channels):
        """The visibilities of sources (l, m, power)."""
        return sum(power * self.fringe(l, m, channels) for l, m, power in rows)

    def image(self, data, channels, l, m):
        """[l m] the mean of the visibilities, turned back by the fringes of each direction."""
        image = np.zeros((len(l), len(m)))
        for visibilities, frequency in zip(data, self.frequencies[channels]):
            k = -2j * np.pi * frequency / LIGHT
            east = np.exp(k * np.outer(l, self.baselines[:, 0]))
            north = np.exp(k * np.outer(self.baselines[:, 1], m))
            image += ((east * visibilities) @ north).real
        return image / data.size

    def brightest(self, data, channels):
        """The brightest point (l, m, height) above the horizon, and the standard error of the
        height; some of the channels are enough to see it."""
        longest = np.abs(self.baselines).max() * self.frequencies.max() / LIGHT
        grid = np.linspace(-1, 1, int(6 * longest) | 1)
        some = slice(None, None, max(1, len(channels) // 32))
        data, channels = data[some], channels[some]
        image = self.image(data, channels, grid, grid)
        image[np.add.outer(grid**2, grid**2) > 0.99] = -np.inf
        a, b = np.unravel_index(np.argmax(image), image.shape)
        error = np.sqrt(np.mean(np.abs(data) ** 2) / 2 / data.size)
        return (grid[a], grid[b], image[a, b]), error

    def fit(self, data, found, channels):
        """Fits directions and powers of all sources at once (Gauss-Newton); returns them and the
        residual."""
        east, north = self.baselines.T
        turn = 2j * np.pi * self.frequencies[channels, None] / LIGHT
        for _ in range(8):
            columns, left = [], data
            for l, m, power in found:
                fringe = power * self.fringe(l, m, channels)
                columns += [turn * east * fringe, turn * north * fringe, fringe / power]
                left = left - fringe
            a = np.stack([column.ravel() for column in columns], axis=1)
            step = np.linalg.solve((a.conj().T @ a).real, (a.conj().T @ left.ravel()).real)
            found = [tuple(np.add(row, change)) for row, change in zip(found, step.reshape(-1, 3))]
        return found, left

    def search(self, data, channels, most=10):
        """Sources from the brightest down to seven standard errors, and the error of a power."""
        found, left = [], data
        while True:
            source, error = self.brightest(left, channels)
            if source[2] < 7 * error or len(found) == most:
                error = np.sqrt(np.mean(np.abs(left) ** 2) / 2 / left.size)
                return sorted(found, key=lambda row: -row[2]), error
            found, left = self.fit(data, found + [source], channels)


def pair_up(true, found):
    """Rows of (true, found): each true source with the nearest found one not yet taken; None:
    there is none."""
    rows, rest = [], list(found)
    for row in true:
        nearest = min(rest, key=lambda f: np.hypot(f[0] - row[0], f[1] - row[1]), default=None)
        if nearest:
            rest.remove(nearest)
        rows.append((row, nearest))
    return rows + [(None, row) for row in rest]


def print_sources(label, pairs):
    for n, pair in enumerate(pairs):
        cells = [f"{row[0]:9.4f} {row[1]:9.4f} {row[2]:9.4f}" if row else f"{'none':>29}"
                 for row in pair]
        print(f"{label:>8} {n} {cells[0]}   {cells[1]}")


def print_fringes(fringes, rows, channels):
    """The fringe of each source by itself on some baselines: its mean over the channels after the
    other sources, as found, are subtracted."""
    for n, (true, found) in enumerate(rows):
        if not true or not found:
            continue
        others = [row for _, row in rows if row and row is not found]
        left = fringes.visibilities[channels] - fringes.model(others, channels)
        back = fringes.fringe(*true[:2], channels).conj()
        middle = fringes.fringe(*true[:2], [0])[0]  # channel 0 is the centre of the band
        for b in np.linspace(0, len(fringes.pairs) - 1, 5).astype(int):
            measured = np.mean(left[:, b] * back[:, b]) * middle[b]
            expected = true[2] * middle[b]
            i, j = fringes.pairs[b]
            print(f"{n:10} {i:4} – {j:<3} {np.linalg.norm(fringes.baselines[b]):7.1f} "
                  f"{np.abs(expected):10.4f} {np.degrees(np.angle(expected)):9.2f} "
                  f"{np.abs(measured):13.4f} {np.degrees(np.angle(measured)):9.2f}")


def main(pipeline, path="visibilities.npy"):
    sky = Sky(pipeline)
    fringes = Fringes(sky, np.load(path))

    # a channel with excess power holds a tone; it and its neighbours are left out
    excess = fringes.power - 1
    tones = np.flatnonzero(excess > 0.02 + 10 * np.median(np.abs(excess[fringes.inner])))
    near = np.unique(np.concatenate([tones - 1, tones, tones + 1]) % len(excess))
    channels = np.setdiff1d(np.flatnonzero(fringes.inner), near)

    found, error = fringes.search(fringes.visibilities[channels], channels)
    sources = pair_up(sky.sources, found)

    print("Sources of the simulated sky: direction cosines, share of the power that a station "
          f"receives (± {error:.1g})\n")
    print(f"{'':10}{'true  l':>10} {'m':>9} {'power':>9}   {'found  l':>9} {'m':>9} {'power':>9}")
    print_sources("noise", sources)
    rows = []
    for c in tones:
        channel = np.array([c])
        left = fringes.visibilities[channel] - fringes.model(found, channel)
        for l, m, power in fringes.search(left, channel, most=1)[0]:
            rows.append((l, m, power * sky.bandwidth))
    print_sources("tone", pair_up(sky.tones, rows))
    for c, frequency in zip(tones, sky.tone_frequencies):
        print(f"{'':8}   tone at {frequency / 1e6:.4f} MHz, found in the channel at "
              f"{fringes.frequencies[c] / 1e6:.4f} MHz")

    print("\nTheir fringes in the middle of the band, on five of "
          f"{len(fringes.pairs)} baselines\n")
    print(f"{'source':>10} {'stations':>10} {'metres':>8} {'true power':>11} {'degrees':>8} "
          f"{'found power':>14} {'degrees':>8}")
    print_fringes(fringes, sources, channels)
    complete = all(true and row for true, row in sources) and len(rows) == len(sky.tones)
    return 0 if complete else "scripts/fringes.py: not all sources were found, or too many"


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: scripts/fringes.py PIPELINE [VISIBILITIES]")
    sys.exit(main(*sys.argv[1:]))
