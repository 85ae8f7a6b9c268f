#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Oversampled filter banks: channels keep their frequencies, wherever a stream begins. If there is
a device, banks run on it as well, fused and not."""
import itertools
import json
import unittest

import numpy

import graphs
import pipeline
import tap

VARIANTS = [variant for name in pipeline.variants() for variant in
            ([name, name.replace("cpu", "fused")] if name.startswith("cpu") else
             [name, "fused-cuda"] if name == "cuda" else [name])]
RATE, CENTRE, N_CHANNELS = 64e6, 100e6, 64
# Tones in coarse channels 0, 1, 2, 3, 20, 31, −1, −2, −13 and −32, with these distances from their
# centres.
TONES = [CENTRE + 1e6 * channel + offset for channel, offset in
         [(0, 0), (1, 0), (2, 2.3e5), (3, -3.1e5), (20, 4.2e5), (31, 1.1e5), (-1, 3e5), (-2, -2e5),
          (-13, -4.1e5), (-32, 1e5)]]


def bank(name, source, variant, hop, to="channel"):
    """Filter and transform of `source`, in the nodes name + 'f' and name."""
    # Fused variants make only the axis channel; the one on a device also wants the hop to divide
    # N_CHANNELS.
    if to != "channel" or N_CHANNELS % hop != 0 and variant == "fused-cuda":
        variant = variant.replace("fused-cuda", "cuda").replace("fused", "cpu")
    return {name + "f": {"stage": "fir", "from": source, "n_channels": N_CHANNELS, "n_taps": 8,
                         "hop": hop, "variant": variant},
            name: {"stage": "fft", "from": name + "f", "to": to, "variant": variant}}


def frequencies(told, name):
    """The frequencies of an axis, from the description beside a sink's array."""
    table = next(axis["table"] for axis in told["axes"] if axis["name"] == name)
    return numpy.array(table)


class BankTest(graphs.GraphTest):
    def sky(self, samples, **more):
        return {"stage": "generate", "sample_rate": RATE, "centre_frequency": CENTRE,
                "samples": samples, "noise": 0, **more}

    def test_tones(self):
        """After two banks, tones are at their frequencies, in odd and in even channels."""
        width = RATE / 48 / N_CHANNELS
        for variant, (hop, start) in itertools.product(VARIANTS,
                                                       [(48, 0), (48, 1001), (32, -77)]):
            stages = {"sky": self.sky(64 * 48 * 14, start=start, type="cf32",
                                      tone_frequencies=TONES),
                      **bank("coarse", "sky", variant, hop, "subband"),
                      **bank("fine", "coarse", variant, 48),
                      "power": {"stage": "power", "from": "fine"},
                      "out": {"stage": "file.sink", "from": "power", "path": "out.npy",
                              "layout": "[time subband channel]"}}
            with self.subTest(variant=variant, hop=hop, start=start):
                self.run_graph(stages)
                told = json.loads((self.folder / "out.npy.json").read_text())
                at = frequencies(told, "channel").reshape(N_CHANNELS, -1)
                power = numpy.load(self.folder / "out.npy").mean(0)
                for tone in TONES:
                    subband = numpy.argmin(abs(at[:, 0] - tone))
                    found = at[subband, numpy.argmax(power[subband])]
                    self.assertLessEqual(abs(found - tone), 0.51 * width * 48 / hop)

    def test_split_axes(self):
        """Splitting an axis of any name makes frequencies around those of that axis, or none if
        they would depend on more than one axis."""
        tone = CENTRE + 7.3e6
        for coarse, fine, parent in [("subband", "channel", "subband"), ("channel", "fine", "channel"),
                                     ("subband", "fine", "subband"), ("coarse", "fine", "coarse"),
                                     ("coarse", "channel", None)]:
            stages = {"sky": self.sky(64 * 48 * 30, tone_frequencies=[tone]),
                      **bank("first", "sky", "reference", 48, coarse),
                      "secondf": {"stage": "fir", "from": "first", "n_channels": 16, "n_taps": 4},
                      "second": {"stage": "fft", "from": "secondf", "to": fine},
                      "out": {"stage": "file.sink", "from": "second", "path": "out.npy",
                              "layout": f"[time {coarse} {fine}]"},
                      "thirdf": {"stage": "fir", "from": "second", "n_channels": 4, "n_taps": 1},
                      "third": {"stage": "fft", "from": "thirdf", "to": "finest"},
                      "last": {"stage": "file.sink", "from": "third", "path": "last.npy"}}
            with self.subTest(coarse=coarse, fine=fine):
                self.run_graph(stages)
                axes = {name: {axis["name"]: axis for axis in json.loads(
                    (self.folder / f"{name}.npy.json").read_text())["axes"]}
                    for name in ("out", "last")}
                self.assertEqual(axes["out"][fine].get("parent"), parent)
                self.assertNotIn("unit", axes["last"]["finest"])
                if parent is None:
                    self.assertNotIn("unit", axes["out"][fine])
                    continue
                at = numpy.array(axes["out"][fine]["table"]).reshape(N_CHANNELS, 16)
                power = (abs(numpy.load(self.folder / "out.npy")) ** 2).mean(0)
                found = at[numpy.unravel_index(numpy.argmax(power), power.shape)]
                self.assertLessEqual(abs(found - tone), 0.51 * RATE / 48 / 16)

    def test_phases(self):
        """A tone turns by its distance from its channel's centre, counted from tick 0."""
        for variant, (hop, start, kind) in itertools.product(
                VARIANTS, [(48, 0, "cf32"), (48, -1001, "ci8"), (32, 77, "ci16"), (2, 5, "cf32"),
                           (80, 9, "ci8")]):
            stages = {"sky": self.sky(64 * 8 + 40 * hop, start=start, type=kind,
                                      block={"time": 333}, tone_frequencies=TONES),
                      **bank("bank", "sky", variant, hop),
                      "out": {"stage": "file.sink", "from": "bank", "path": "out.npy",
                              "layout": "[time channel]"}}
            with self.subTest(variant=variant, hop=hop, start=start):
                self.run_graph(stages)
                told = json.loads((self.folder / "out.npy.json").read_text())
                at, spectra = frequencies(told, "channel"), numpy.load(self.folder / "out.npy")
                tick = start + hop * numpy.arange(len(spectra))
                for tone in TONES:
                    channel = numpy.argmin(abs(at - tone))
                    still = spectra[:, channel] * \
                        numpy.exp(-2j * numpy.pi * (tone - at[channel]) / RATE * tick)
                    self.assertLessEqual(abs(still - still.mean()).max(), 0.05 * abs(still.mean()))

    def test_starts(self):
        """Two streams that begin some hops apart have the same phases."""
        for variant, hop, apart, start in itertools.product(
                VARIANTS, (48, 32), (1, 3), (0, -48, 10 ** 12 + 7)):
            both = {}
            for i, first in enumerate((start, start + apart * hop)):
                both[f"sky{i}"] = self.sky(64 * 8 + 60 * hop, start=first, type="ci8", noise=1,
                                           block={"time": (500, 77)[i]})
                both.update(bank(f"bank{i}", f"sky{i}", variant, hop))
            stages = {**both,
                      "both": {"stage": "stack", "axis": "station", "from": ["bank0", "bank1"]},
                      "out": {"stage": "file.sink", "from": "both", "path": "out.npy",
                              "layout": "[station time channel]"}}
            with self.subTest(variant=variant, hop=hop, apart=apart, start=start):
                self.run_graph(stages)
                first, second = numpy.load(self.folder / "out.npy")[:, apart:61]
                self.assertEqual(first.shape, (61 - apart, N_CHANNELS))
                self.assertLessEqual(abs(first - second).max(), 1e-5 * abs(first).max())

    def test_offset(self):
        """A file without its first samples, if its start says so, gives the same output as the
        whole file does from there on."""
        rng = numpy.random.default_rng(5)
        x = (rng.standard_normal(5000) + 1j * rng.standard_normal(5000)).astype("c8")
        for variant, (hop, ticks, start, cut) in itertools.product(
                VARIANTS, [(48, 1, 0, 48), (48, 3, -7, 13 * 48), (80, 1, 5, 80), (32, 2, 9, 96)]):
            arrays = []
            for skipped in 0, cut:
                numpy.save(self.folder / "in.npy", x[skipped:])
                self.run_graph({
                    "x": {"stage": "file.source", "path": "in.npy", "layout": "cf32[time]",
                          "sample_rate": 1e6, "ticks_per_sample": ticks,
                          "start": start + skipped * ticks, "block": {"time": 700}},
                    **bank("bank", "x", variant, hop),
                    "out": {"stage": "file.sink", "from": "bank", "path": "out.npy",
                            "layout": "[time channel]"}})
                arrays.append(numpy.load(self.folder / "out.npy"))
            with self.subTest(variant=variant, hop=hop, ticks=ticks, start=start):
                wanted = arrays[0][cut // hop:]
                self.assertEqual(arrays[1].shape, wanted.shape)
                self.assertLessEqual(abs(arrays[1] - wanted).max(), 1e-5 * abs(wanted).max())

    def test_delay(self):
        """A delay of whole samples is a phase at each coarse channel's frequency: a delay before
        the bank and one after it cancel."""
        later = 48 * 5 / RATE
        for variant in VARIANTS:
            stages = {"sky": self.sky(6000, type="cf32", noise=1, n_stations=2),
                      "before": {"stage": "delay", "from": "sky",
                                 "constant": [f"{later} s", "0 s"]},
                      **bank("bank", "before", variant, 48, "subband"),
                      "after": {"stage": "delay", "from": "bank",
                                "constant": ["0 s", f"{later} s"]},
                      **bank("plain", "sky", variant, 48, "subband"),
                      "out": {"stage": "file.sink", "from": "after", "path": "out.npy",
                              "layout": "[time subband station]"},
                      "wanted": {"stage": "file.sink", "from": "plain", "path": "plain.npy",
                                 "layout": "[time subband station]"}}
            with self.subTest(variant=variant):
                self.run_graph(stages)
                told = json.loads((self.folder / "out.npy.json").read_text())
                given = numpy.load(self.folder / "out.npy")
                plain = numpy.load(self.folder / "plain.npy")
                at = frequencies(told, "subband")
                # A tick is a sample; the delay is five hops.
                first = told["start"] // 48
                wanted = plain[first - 5:first - 5 + len(given)] * \
                    numpy.exp(-2j * numpy.pi * at * later)[:, None]
                self.assertGreater(len(given), 80)
                self.assertLessEqual(abs(given - wanted).max(), 1e-4 * abs(wanted).max())


if __name__ == "__main__":
    tap.main()
