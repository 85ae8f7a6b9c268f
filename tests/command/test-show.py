#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`cornerturn show`: pictures of known contents, of every format that a source reads; errors."""
import base64
import json
import os
import pty
import struct
import subprocess
import unicodedata
import xml.etree.ElementTree
import zlib

import numpy

import graphs
import tap

SVG = "{http://www.w3.org/2000/svg}"
GAP = (0xb4, 0xbc, 0xc4)
N_TIMES, N_CHANNELS, RATE, CENTRE, START = 200, 16, 1e6, 1.42e9, "2026-11-23T12:00:00Z"


def read_png(data):
    """The colours [y][x][rgb] of a picture of 8 bits a part."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed = 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IHDR":
            width, height, bits, colours = struct.unpack(">IIBB", data[at + 8:at + 18])
        elif kind == b"IDAT":
            packed += data[at + 8:at + 8 + length]
        at += length + 12
    assert (bits, colours) == (8, 2)
    rows = numpy.frombuffer(zlib.decompress(packed), numpy.uint8).reshape(height, -1)
    picture, above = numpy.zeros((height, width, 3), numpy.uint8), numpy.zeros((width, 3), int)
    for y, row in enumerate(rows):
        given, out = row[1:].reshape(-1, 3).astype(int), numpy.zeros((width + 1, 3), int)
        before = numpy.vstack([numpy.zeros((1, 3), int), above])
        for x in range(width):
            a, b, c = out[x], before[x + 1], before[x]
            p = a + b - c
            nearest = numpy.where((abs(p - a) <= abs(p - b)) & (abs(p - a) <= abs(p - c)), a,
                                numpy.where(abs(p - b) <= abs(p - c), b, c))
            out[x + 1] = (given[x] + (0, a, b, (a + b) // 2, nearest)[row[0]]) & 255
        picture[y] = above = out[1:]
    return picture


class Show(graphs.GraphTest):
    def show(self, *arguments, status=0, **options):
        done = subprocess.run([graphs.COMMAND, "show", *map(str, arguments)], cwd=self.folder,
                              capture_output=True, timeout=120, check=False, **options)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    lacks_cairo = None

    def need_cairo(self):
        if Show.lacks_cairo is None:
            done = subprocess.run([graphs.COMMAND, "show", "none.npy", "-o", "-"], cwd=self.folder,
                                  capture_output=True, timeout=60, check=False)
            self.assertEqual((done.returncode, done.stdout), (1, b""))
            Show.lacks_cairo = b"want cairo" in done.stderr
        if Show.lacks_cairo:
            self.skipTest("this build lacks cairo")

    def svg(self, *arguments):
        """The root of the picture, its images [y][x][rgb], the uppermost row first, and its texts."""
        self.need_cairo()
        self.show(*arguments, "-o", "picture.svg")
        root = xml.etree.ElementTree.parse(self.folder / "picture.svg").getroot()
        images = [read_png(base64.b64decode(image.get("href").partition(",")[2]))
                  for image in root.iter(SVG + "image")]
        return root, images, [text.text for text in root.iter(SVG + "text")]

    def powers(self):
        """Noise, and a line in channel 11: [time channel]."""
        powers = numpy.random.default_rng(5).uniform(1, 2, (N_TIMES, N_CHANNELS)).astype("f4")
        powers[:, 11] += 20
        return powers

    def put(self, name, array, layout, invalid=(), **more):
        """Writes a stream by its sink; `invalid` are rows of begin and end in seconds."""
        numpy.save(self.folder / "in.npy", array)
        stages = {
            "in": {"stage": "file.source", "path": "in.npy", "layout": layout,
                   "sample_rate": RATE, "epoch": START, **more},
            "gaps": {"stage": "flag", "from": "in", "time": [[f"{b} s", f"{e} s"] for b, e in invalid]},
            "out": {"stage": "file.sink", "from": "gaps" if invalid else "in", "path": name}}
        if not invalid:
            del stages["gaps"]
        self.run_graph(stages)

    def put_powers(self, name, **more):
        self.put(name, self.powers(), "[time channel]",
                 frequencies=[CENTRE + 1e5 * c for c in range(N_CHANNELS)], **more)

    # ---- contents ----

    def test_line(self):
        """The strongest channel has the lightest row, and frequencies grow upwards."""
        self.put_powers("power.npy")
        _, images, texts = self.svg("power.npy")
        cells = images[0].astype(int).sum(-1)
        self.assertEqual(cells.shape, (N_CHANNELS, N_TIMES))
        self.assertEqual(set(cells[::-1].argmax(0)), {11})
        for text in ("power.npy", "frequency (GHz)", "1.4200", "1.4210", "time (µs) from " + START,
                     "50", "100", "150", "power", "mean", "maximum"):
            self.assertIn(text, texts)
        self.assertNotIn("no data", texts)

    def test_ticks(self):
        """The labels of axes are where their values are."""
        self.put_powers("power.npy")
        root, _, _ = self.svg("power.npy")
        image = root.find(SVG + "image")
        left, width = float(image.get("x")), float(image.get("width"))
        top, height = float(image.get("y")), float(image.get("height"))
        places = {text.text: (float(text.get("x")), float(text.get("y"))) for text in root.iter(SVG + "text")}
        self.assertAlmostEqual(places["50"][0], left + width * 50 / N_TIMES, delta=0.1)
        self.assertAlmostEqual(places["150"][0], left + width * 150 / N_TIMES, delta=0.1)
        step = height / N_CHANNELS
        each = places["1.4200"][1] - places["1.4210"][1]
        self.assertAlmostEqual(each, 10 * step, delta=0.1)
        self.assertAlmostEqual(places["1.4200"][1], top + height - step / 2, delta=8)

    def test_descending(self):
        """Channels in the file by falling frequency are drawn by rising frequency."""
        self.put("power.npy", self.powers()[:, ::-1], "[time channel]",
                 frequencies=[CENTRE + 1e5 * c for c in reversed(range(N_CHANNELS))])
        _, images, _ = self.svg("power.npy")
        self.assertEqual(set(images[0].astype(int).sum(-1)[::-1].argmax(0)), {11})

    def test_gaps(self):
        """Invalid samples have a colour of their own; a valid zero has not."""
        powers = self.powers()
        powers[50:60] = 0
        self.put("power.npy", powers, "[time channel]", [[100e-6, 120e-6]],
                 frequencies=[CENTRE + 1e5 * c for c in range(N_CHANNELS)])
        for more in ([], ["--decibels"]):
            _, images, texts = self.svg("power.npy", *more)
            missing = (images[0] == GAP).all(-1)
            wanted = numpy.zeros((N_CHANNELS, N_TIMES), bool)
            wanted[:, 100:120] = True
            numpy.testing.assert_array_equal(missing, wanted)
            self.assertIn("no data", texts)
            darkest = images[0][0, 55]
            self.assertTrue((images[0][:, 50:60] == darkest).all())

    def test_lanes(self):
        """Gaps of one channel alone."""
        numpy.save(self.folder / "in.npy", self.powers())
        self.run_graph({
            "in": {"stage": "file.source", "path": "in.npy", "layout": "[time channel]", "sample_rate": RATE,
                   "frequencies": [CENTRE + 1e5 * c for c in range(N_CHANNELS)]},
            "gaps": {"stage": "flag", "from": "in", "frequency": [["1.42055 GHz", "1.42065 GHz"]]},
            "out": {"stage": "file.sink", "from": "gaps", "path": "power.npy"}})
        _, images, _ = self.svg("power.npy")
        rows = (images[0] == GAP).all(-1).all(1)
        self.assertTrue(rows[N_CHANNELS - 1 - 6])
        self.assertFalse(rows.all())
        _, images, texts = self.svg("power.npy", "--quantity", "validity")
        shares = images[0].astype(int).sum(-1)
        self.assertLess(shares[N_CHANNELS - 1 - 6, 0], 200)
        self.assertGreater(shares[0, 0], 600)
        self.assertIn("share of valid samples", texts)

    def test_reduction(self):
        """Cells are means of the samples, whatever the blocks in which these come."""
        steps = numpy.repeat(numpy.arange(8, dtype="f4"), 32768)[:, None] * numpy.ones(2, "f4")
        steps[1::2] += 1
        steps[::2] -= 1
        numpy.save(self.folder / "long.npy", steps)
        pictures = []
        for block in (1000, 4096, 200000):
            _, images, _ = self.svg("long.npy", "--set", "layout='[time channel]'",
                                    "--set", f"block={{time: {block}}}")
            pictures.append((self.folder / "picture.svg").read_bytes())
            light = images[0][0].astype(int).sum(-1)
            edges = numpy.arange(9) * len(light) / 8
            self.assertLess(len(light), 1200)
            for begin, end in zip(edges, edges[1:]):
                # A cell may have one sample more of those above than of those below its step.
                self.assertLess(numpy.ptp(light[int(numpy.ceil(begin)):int(end)]), 8)
            self.assertTrue((numpy.diff(light) > -8).all())
        self.assertEqual(len(set(pictures)), 1)

    def test_visibilities(self):
        """Amplitude and phase against baseline and channel; phases go around."""
        n = 6
        channel = numpy.arange(32)
        vis = numpy.exp(2j * numpy.pi * channel[None, :, None] / 32) * (1 + numpy.arange(n))
        vis = numpy.broadcast_to(vis, (4, 32, n)).astype("c8")
        self.put("vis.npy", vis, "[time channel baseline]",
                 frequencies=[CENTRE + 1e5 * c for c in range(32)])
        _, images, texts = self.svg("vis.npy")
        amplitude, phase = images[0], images[2]
        self.assertEqual(amplitude.shape, (n, 32, 3))
        self.assertTrue((amplitude == amplitude[:, :1]).all())
        light = amplitude[:, 0].astype(int).sum(-1)
        self.assertTrue((numpy.diff(light) < 0).all(), light)
        self.assertTrue((phase == phase[:1]).all())
        self.assertEqual(len({tuple(colour) for colour in phase[0]}), 32)
        around = numpy.abs(numpy.diff(phase[0].astype(int), axis=0, append=phase[0, :1].astype(int))).sum(-1)
        self.assertLess(around.max(), 90)
        for text in ("amplitude", "phase (degrees)", "−180", "−90", "90", "baseline (number)",
                     "mean of the time"):
            self.assertIn(text, texts)

    def test_many_baselines(self):
        """Baselines of one amplitude and any phases have this amplitude: they are left out, never averaged."""
        n = 2080
        phases = numpy.random.default_rng(3).uniform(0, 2 * numpy.pi, n)
        self.put("vis.npy", numpy.tile(numpy.exp(1j * phases).astype("c8"), (2, 4, 1)), "[time channel baseline]",
                 frequencies=[CENTRE + 1e5 * c for c in range(4)])
        root, images, texts = self.svg("vis.npy")
        self.assertEqual(images[0].shape, (520, 4, 3))
        self.assertLess(numpy.ptp(images[0].reshape(-1, 3), axis=0).max(), 2)
        self.assertIn("mean of the time, every 4th baseline of 2080", texts)
        image = root.find(SVG + "image")
        at = {text.text: float(text.get("y")) for text in root.iter(SVG + "text")}
        height = float(image.get("height"))
        self.assertAlmostEqual(at["200"] - at["2000"], height * 450 / 520, delta=0.1)
        _, images, texts = self.svg("vis.npy", "--quantity", "phase", "--size", "640x400")
        self.assertGreater(len({tuple(colour) for colour in images[0][:, 0]}), 100)
        lines = self.show("vis.npy", "--quantity", "amplitude").stdout.decode().splitlines()
        self.assertRegex(lines[0], r"every \d\d\w\w baseline of 2080")
        self.assertRegex(lines[1], "amplitude from 0.5 to 1.5")

    def test_zeros(self):
        """An exact zero has no phase; a value beside it has."""
        vis = numpy.ones((2, 8, 3), "c8")
        vis[:, :, 1] = 0
        vis[:, 5, 2] = 0
        self.put("vis.npy", vis, "[time channel baseline]", frequencies=[CENTRE + 1e5 * c for c in range(8)])
        _, images, texts = self.svg("vis.npy")
        wanted = numpy.zeros((3, 8), bool)
        wanted[1] = wanted[0, 5] = True
        numpy.testing.assert_array_equal((images[2] == GAP).all(-1), wanted)
        self.assertFalse((images[0] == GAP).all(-1).any())
        self.assertIn("no data", texts)
        done = self.show("vis.npy", "--quantity", "phase")
        self.assertIn("; ? where there is no data", done.stdout.decode())

    def test_weights(self):
        """Numbers of spectra are no powers, and the fewest are the darkest."""
        weights = numpy.full((2, 8, 3), 100, "u4")
        weights[:, 5, 1] = 40
        self.put("weights.npy", weights, "[time channel baseline]", frequencies=[CENTRE + 1e5 * c for c in range(8)])
        _, images, texts = self.svg("weights.npy")
        self.assertEqual(images[0].astype(int).sum(-1).argmin(), 8 + 5)
        self.assertIn("value", texts)
        self.assertNotIn("power", texts)
        self.put("counts.npy", weights, "[time channel beam]", frequencies=[CENTRE + 1e5 * c for c in range(8)])
        self.put_powers("power.npy")
        for name, quantity in (("counts.npy", "value"), ("power.npy", "power")):
            self.assertIn(quantity, self.svg(name)[2])
            self.assertIn(quantity + " from", self.show(name).stdout.decode())

    def test_tone_of_voltages(self):
        """Spectra are made of voltages; the tone is in its channel, the levels below."""
        t = numpy.arange(65536)
        x = numpy.exp(2j * numpy.pi * 0.25 * t) * 50
        parts = numpy.stack([x.real, x.imag], -1).round().astype(numpy.int8)
        self.put("volt.npy", parts[:, None, None], "ci8[time station pol]", centre_frequency=CENTRE)
        root, images, texts = self.svg("volt.npy", "--channels", "64")
        light = images[0].astype(int).sum(-1)[::-1]
        self.assertEqual(set(light.argmax(0)), {32 + 16})
        self.assertIn("level of the voltages", texts)
        self.assertIn("−50", texts)
        self.assertGreater(len(list(root.iter(SVG + "rect"))), 3)

    def test_profile(self):
        """Pulse profiles: bins across, time upwards."""
        self.run_graph({
            "sky": {"stage": "generate", "type": "cf32", "sample_rate": "1 MHz", "samples": 100000,
                    "centre_frequency": "1 GHz", "n_stations": 1, "n_pols": 1, "noise": 1},
            "power": {"stage": "power", "from": "sky"},
            "fold": {"stage": "fold", "from": "power", "period": "10 ms", "n_bins": 32,
                     "subintegration": "20 ms"},
            "out": {"stage": "file.sink", "from": "fold", "path": "fold.npy"}})
        _, images, texts = self.svg("fold.npy")
        self.assertEqual(images[0].shape, (5, 32, 3))
        self.assertIn("bin (turn)", texts)

    def test_lines_and_selection(self):
        """A line for each beam; a selection; labels and the observation in the titles."""
        powers = numpy.random.default_rng(1).uniform(1, 2, (300, 3)).astype("f4")
        numpy.save(self.folder / "in.npy", powers)
        graph = {"observation": {"telescope": "Toy", "source": "3C <48>"}, "stages": {
            "in": {"stage": "file.source", "path": "in.npy", "layout": "[time beam]", "sample_rate": 1000},
            "out": {"stage": "file.sink", "from": "in", "path": "beams.npy"}}}
        (self.folder / "graph.yaml").write_text(json.dumps(graph))
        subprocess.run([graphs.COMMAND, "run", "--quiet", "graph.yaml"], cwd=self.folder, check=True)
        _, images, texts = self.svg("beams.npy")
        self.assertEqual(images, [])
        for text in ("3C <48>, Toy: beams.npy", "beam 0", "beam 1", "beam 2", "time (ms)", "value"):
            self.assertIn(text, texts)
        _, _, texts = self.svg("beams.npy", "--select", "beam=[1]", "--select", "time=[0.1 s, 0.2 s]")
        self.assertIn("time [0.1 s, 0.2 s], beam 1", texts)
        for text in ("beam 0", "beam 2"):
            self.assertNotIn(text, texts)
        _, _, texts = self.svg("beams.npy", "--select", "beam=[1..2]")
        self.assertEqual([text for text in texts if text and "beam " in text], ["beam 1", "beam 2"])
        _, images, _ = self.svg("beams.npy", "--axes", "beam,time", "--dark", "--size", "400x300")
        self.assertEqual(images[0].shape[1], 3)

    def paths(self, root):
        """The thick paths' points, each a list of parts."""
        return [[[tuple(map(float, point.split())) for point in part.split("L")]
                 for part in path.get("d").split("M")[1:]]
                for path in root.iter(SVG + "path") if float(path.get("stroke-width")) > 1.2]

    def test_lines_of_phases(self):
        """The panel of phases has room for its axis; a phase that goes around is no stroke."""
        vis = numpy.exp(2j * numpy.pi * 3.2 * numpy.arange(64) / 64).astype("c8")
        self.put("vis.npy", numpy.tile(vis[None, :, None], (20, 1, 3)), "[time channel baseline]",
                 frequencies=[CENTRE + 1e5 * c for c in range(64)])
        root, _, _ = self.svg("vis.npy", "--select", "baseline=[2]", "--axes", "channel")
        amplitude, phase = self.paths(root)
        self.assertEqual((len(amplitude), len(phase)), (1, 4))
        self.assertEqual(sum(map(len, phase)), 64)
        self.assertTrue(all(numpy.ptp([y for _, y in part]) > 100 for part in phase[1:-1]))
        right = max(x for x, _ in amplitude[0])
        lefts = [float(text.get("x")) - 0.6 * float(text.get("font-size")) * len(text.text)
                 for text in root.iter(SVG + "text") if text.get("text-anchor") == "end"]
        self.assertTrue([left for left in lefts if left > right])
        self.assertFalse([left for left in lefts if 200 < left < right])

    def test_steps(self):
        """Elements without coordinates have nothing between them."""
        self.put("beams.npy", numpy.random.default_rng(1).uniform(1, 2, (50, 5)).astype("f4"), "[time beam]")
        root, _, _ = self.svg("beams.npy", "--axes", "beam")
        for path in self.paths(root):
            self.assertEqual(len(path), 5)
            self.assertTrue(all(part[0][1] == part[1][1] for part in path))

    def test_largest(self):
        """The largest samples have a key, and leave the scale to the means."""
        powers = numpy.random.default_rng(1).uniform(1, 2, (40000, 1)).astype("f4")
        self.put("flat.npy", powers, "[time beam]")
        _, _, texts = self.svg("flat.npy")
        self.assertIn("pale: maximum", texts)
        powers[20000] = 1000
        self.put("peak.npy", powers, "[time beam]")
        _, _, texts = self.svg("peak.npy")
        self.assertNotIn("1000", texts)
        self.put("few.npy", powers[:300], "[time beam]")
        self.assertNotIn("pale: maximum", self.svg("few.npy")[2])

    # ---- formats ----

    def check_png(self, *arguments, size=(1200, 800)):
        self.need_cairo()
        done = self.show(*arguments, "-o", "-")
        self.assertEqual(struct.unpack(">II", done.stdout[16:24]), size)
        self.assertTrue(done.stdout.startswith(b"\x89PNG"))

    def needs(self, stage):
        listed = subprocess.run([graphs.COMMAND, "inspect", stage], capture_output=True, text=True, check=False)
        if "which lacks" in listed.stdout:
            self.skipTest(listed.stdout.splitlines()[0])

    def test_arrays(self):
        self.put_powers("power.npy")
        self.check_png("power.npy")
        self.put_powers("power.raw")
        self.check_png("power.raw", "--set", f"shape=[-1, {N_CHANNELS}]")

    def test_sigproc(self):
        self.put_powers("power.fil")
        self.check_png("power.fil", "--size", "640x480", size=(640, 480))

    def test_hdf5(self):
        self.needs("hdf5.sink")
        for name in ("power.h5", "power.fbh5"):
            self.put_powers(name)
            self.check_png(name)

    def test_psrfits(self):
        self.needs("psrfits.sink")
        self.put_powers("power.sf")
        self.check_png("power.sf")

    def put_voltages(self, name, **more):
        parts = numpy.random.default_rng(2).integers(-50, 50, (32768, 1, 2, 2)).astype(numpy.int8)
        numpy.save(self.folder / "in.npy", parts)
        self.run_graph({
            "in": {"stage": "file.source", "path": "in.npy", "layout": "ci8[time subband pol]",
                   "sample_rate": RATE, "epoch": START, "frequencies": [CENTRE]},
            "out": {"stage": "file.sink", "from": "in", "path": name, **more}})

    def test_dada(self):
        self.put_voltages("volt.dada")
        self.check_png("volt.dada")

    def test_vdif(self):
        self.put("volt.vdif", numpy.random.default_rng(2).normal(size=(40000, 1, 2)).astype("f4"),
                 "[time station pol]", first_frequency=CENTRE)
        self.check_png("volt.vdif")

    def test_guppi(self):
        self.put_voltages("volt.raw", stage="guppi.sink")
        self.check_png("volt.raw", "--stage", "guppi.source")

    def test_sigmf(self):
        numpy.arange(40000, dtype="<i2").tofile(self.folder / "volt.sigmf-data")
        meta = {"global": {"core:datatype": "ci16_le", "core:version": "1.0.0", "core:sample_rate": RATE},
                "captures": [{"core:sample_start": 0, "core:frequency": CENTRE}], "annotations": []}
        (self.folder / "volt.sigmf-meta").write_text(json.dumps(meta))
        self.check_png("volt.sigmf-data")

    @graphs.needs_data("sigproc/parkes_4bit.sf", "dada/sample.dada", "vdif/sample.vdif")
    def test_recordings_of_others(self):
        for name in ("sigproc/parkes_4bit.sf", "sigproc/tutorial.fil", "dada/sample.dada", "vdif/sample.vdif"):
            with self.subTest(name):
                self.check_png(graphs.DATA / name)

    # ---- terminals ----

    def test_text(self):
        self.put_powers("power.npy")
        lines = self.show("power.npy").stdout.decode().splitlines()
        self.assertEqual(lines[0].strip(), "power.npy")
        self.assertEqual(lines[-1].strip(), f"time (µs) from {START}")
        rows = [line[12:] for line in lines[2:-2]]
        self.assertEqual({len(row) for row in rows}, {87})
        self.assertEqual([row for row in rows if "@" in row], [row for row in rows if set(row) <= set("#%@")])
        self.assertRegex(lines[-2], r"\b50 +100 +150\b")

    def test_text_lines(self):
        """Every line has its mark; the range is that of all, and that of the axis."""
        values = numpy.broadcast_to(numpy.array([1, 40, 100], "f4"), (300, 3)).copy()
        self.put("beams.npy", values, "[time beam]")
        lines = self.show("beams.npy").stdout.decode().splitlines()
        self.assertEqual(lines[1].strip(), "value from 1 to 100; beam 0: *, beam 1: o, beam 2: +")
        rows = [line[12:] for line in lines[2:-2]]
        self.assertEqual(rows[-1], "*" * 87)
        self.assertEqual(rows[0], "+" * 87)
        at = rows.index("o" * 87)
        self.assertAlmostEqual(at / len(rows), 0.6, delta=0.05)
        self.assertEqual(sum(bool(row.strip()) for row in rows), 3)
        values[100, 1] = 1000
        self.put("beam.npy", values[:, 1:2], "[time beam]")
        lines = self.show("beam.npy", "--decibels").stdout.decode().splitlines()
        self.assertIn("value (dB) from 16.02 to", lines[1])
        self.put("large.npy", 1e6 * values[:, 1:2], "[time beam]")
        lines = self.show("large.npy").stdout.decode().splitlines()
        self.assertEqual(lines[1].strip(), "value from 4e+07 to 2.8e+08; axis (10⁶)")
        self.assertTrue(any("█" in line for line in lines))

    def test_terminal(self):
        """Half blocks with colours, where the terminal has them."""
        self.put_powers("power.npy")
        for variables, has_colours in (({"COLORTERM": "truecolor"}, True), ({"COLORTERM": ""}, False),
                                       ({"COLORTERM": "truecolor", "NO_COLOR": "1"}, False)):
            leader, follower = pty.openpty()
            process = subprocess.Popen([graphs.COMMAND, "show", "power.npy"], cwd=self.folder, stdout=follower,
                                       env={**os.environ, **variables})
            os.close(follower)
            text = b""
            while True:
                try:
                    piece = os.read(leader, 65536)
                except OSError:
                    break
                if not piece:
                    break
                text += piece
            os.close(leader)
            self.assertEqual(process.wait(timeout=60), 0)
            self.assertEqual("▀".encode() in text and b"\033[38;2;" in text, has_colours)

    # ---- errors ----

    def check_error(self, message, *arguments, status=1):
        done = self.show(*arguments, status=status)
        self.assertRegex(done.stderr.decode(), message)
        self.assertEqual(len(done.stderr.decode().strip().splitlines()), 1)
        self.assertEqual(done.stdout, b"")

    def test_options(self):
        self.put_powers("power.npy")
        for message, arguments in (
                (r"wants FILE…, but is given 0 arguments", []),
                (r"-o wants a name that ends in .png or .svg, but is given 'x.jpg'", ["power.npy", "-o", "x.jpg"]),
                (r"--format wants png or svg, but is given 'gif'", ["power.npy", "-o", "-", "--format", "gif"]),
                (r"--size wants WIDTHxHEIGHT, each 100 to 8192 pixels, but is given '12x'",
                 ["power.npy", "-o", "x.png", "--size", "12x"]),
                (r"--quantity wants value, .*, but is given 'colour'", ["power.npy", "--quantity", "colour"]),
                (r"--channels wants 1 to 1048576 channels, but is given '-1'", ["power.npy", "--channels=-1"])):
            self.check_error(message, *arguments, status=2)
        self.check_error(r"--axes wants axes of the stream \(time 200, channel 16\), but is given 'bin'",
                         "power.npy", "--axes", "time,bin")
        self.check_error(r"--axes wants one axis or two, but is given 'time,time'", "power.npy", "--axes", "time,time")
        self.check_error(r"the phase wants complex samples, but is given f32", "power.npy", "--quantity", "phase")
        self.check_error(r"there is no stage 'nothing'", "power.npy", "--stage", "nothing")
        self.check_error(r"has no parameter 'nothing'", "power.npy", "--set", "nothing=1")
        self.check_error(r"-o: /no/where.png: cannot be written", "power.npy", "-o", "/no/where.png")

    def test_words_of_errors(self):
        """Messages name the file and the option, not the graph that the command makes."""
        self.put_powers("power.npy")
        numpy.save(self.folder / "bare.npy", self.powers())
        for message, arguments in (
                ("--select channel=99: wants indices below the length of the axis 'channel', 16, but is given '99'",
                 ["power.npy", "--select", "channel=99"]),
                ("--select time=[9 s, 10 s]: wants a part of the stream",
                 ["power.npy", "--select", "time=[9 s, 10 s]"]),
                ("--select beem=1: stage 'select' has no parameter 'beem'", ["power.npy", "--select", "beem=1"]),
                ("--select wants PARAMETER=VALUE, but is given 'pol'", ["power.npy", "--select", "pol"]),
                ("--set wants PARAMETER=VALUE, but is given '=1'", ["power.npy", "--set", "=1"]),
                ("--set nothing=1: stage 'file.source' has no parameter", ["power.npy", "--set", "nothing=1"]),
                ("bare.npy: wants 'layout' beside it", ["bare.npy"]),
                ("missing.npy: can't be opened", ["missing.npy"]),
                ("power.npy: there is no stage 'nothing'", ["power.npy", "--stage", "nothing"])):
            done = self.show(*arguments, status=1)
            self.assertEqual(done.stderr.decode()[:len(message)], message)
        self.check_error(r"--axes wants .*'frequency'; did you mean 'channel'\?$", "power.npy", "--axes", "frequency")
        self.check_error(r"--size wants a picture, but no -o PICTURE is given", "power.npy", "--size", "500", status=2)

    def test_partial_files(self):
        """What a failed run has left is shown as the error says."""
        self.put_powers("x.npy")
        (self.folder / "x.npy").rename(self.folder / "x.npy.partial")
        (self.folder / "x.npy.json").rename(self.folder / "x.npy.json.partial")
        with open(self.folder / "x.npy.partial", "ab") as file:
            file.write(bytes(1000))
        self.check_error("^x.npy.partial: is not complete; .* with the values in x.npy.json.partial$", "x.npy.partial")
        text = self.show("x.npy.partial", "--set", "format=npy", "--set", "layout='[time channel]'",
                         "--set", "sample_rate=1 MHz").stdout.decode()
        self.assertIn("power from", text)
        self.assertIn("time (µs)", text)

    def test_hostile_files(self):
        """The source's error, and no picture."""
        self.put_powers("power.fil")
        whole = (self.folder / "power.fil").read_bytes()
        (self.folder / "cut.fil").write_bytes(whole[:50])
        (self.folder / "noise.npy").write_bytes(os.urandom(1000))
        (self.folder / "noise.dada").write_bytes(os.urandom(5000))
        numpy.save(self.folder / "empty.npy", numpy.zeros((0, 3), "f4"))
        (self.folder / "strange.txt").write_text("text")
        for name, message in (("cut.fil", "cut.fil"), ("noise.npy", "noise.npy"), ("noise.dada", "noise.dada"),
                              ("missing.npy", "can't be opened"), ("strange.txt", "strange.txt")):
            self.check_error(message, name, "-o", "x.png")
        self.check_error("has no samples to show", "empty.npy", "--set", "layout='[time channel]'", "-o", "x.png")
        self.assertFalse((self.folder / "x.png").exists())

    def test_no_partial_picture(self):
        """What cannot be written leaves nothing, and an older picture stays."""
        self.need_cairo()
        self.put_powers("power.npy")
        (self.folder / "x.png").write_bytes(b"older")
        (self.folder / "link.png").symlink_to("x.png")
        self.check_error("wants a regular file in its place", "power.npy", "-o", "link.png")
        (self.folder / "x.png.lock").mkdir()
        # The limit of a file's size stands for a full disk.
        done = subprocess.run(["bash", "-c", 'ulimit -f 1; exec "$@"', "-", graphs.COMMAND, "show", "power.npy",
                               "-o", "x.png"], cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("-o: x.png: cannot be written", done.stderr)
        self.assertEqual((self.folder / "x.png").read_bytes(), b"older")
        self.assertEqual([path.name for path in self.folder.glob("x.png?*")], ["x.png.lock"])

    def test_texts_of_files(self):
        """What a file says cannot steer a terminal, nor break a picture."""
        self.need_cairo()
        self.put_powers("power.npy")
        described = json.loads((self.folder / "power.npy.json").read_text())
        described["observation"] = {"source": "a\x01\x1b[31m\n\x9b2J<b>&", "stations": []}
        (self.folder / "power.npy.json").write_text(json.dumps(described))
        shown = self.show("power.npy").stdout.decode()
        self.assertIn("[31m", shown)
        self.assertFalse([c for c in shown if unicodedata.category(c) == "Cc" and c != "\n"])
        picture = self.show("power.npy", "-o", "-", "--format", "svg").stdout
        texts = "".join(xml.etree.ElementTree.fromstring(picture).itertext())
        self.assertIn("[31m  2J<b>&", texts)

    def test_what_is_shown_stays(self):
        self.need_cairo()
        self.put_powers("power.npy")
        before = (self.folder / "power.npy").read_bytes()
        (self.folder / "hard.png").hardlink_to(self.folder / "power.npy")
        for output in "power.npy", "./power.npy", "hard.png":
            self.check_error("-o wants another file than those that are shown", "power.npy", "-o", output,
                             "--format", "png", status=2)
        self.assertEqual((self.folder / "power.npy").read_bytes(), before)

    def test_full_disk(self):
        self.need_cairo()
        self.put_powers("power.npy")
        with open("/dev/full", "wb") as full:
            done = subprocess.run([graphs.COMMAND, "show", "power.npy", "-o", "-"], cwd=self.folder, stdout=full,
                                  stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (1, "standard output: cannot be written\n"))


if __name__ == "__main__":
    tap.main()
