#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The page of a run, in Chromium: its numbers beside /metrics, its pictures, its keys, and the changes
that it makes."""
import os
import pathlib
import re
import subprocess
import tempfile
import time
import unittest
import urllib.request

import browser
import ports
import tap

COMMAND = os.environ["CORNERTURN"]
# Pictures of the page are kept there, if it is set.
PICTURES = os.environ.get("CORNERTURN_PICTURES")
# A sky of six stations, of which one loses samples and all do so at times; it lasts for days.
GRAPH = """
stages:
  sky:
    stage: generate
    type: ci8
    sample_rate: 1.024 MHz
    centre_frequency: 150 MHz
    duration: 200000 s
    n_stations: 6
    n_pols: 2
    spiral: 120 m
    noise: 1
    scale: 12
    source_directions: [[0.15, 0.25], [-0.3, 0.1]]
    source_powers: [0.6, 0.3]
    tone_frequencies: [150.2 MHz]
    tone_amplitudes: [0.4]
    tone_directions: [[-0.4, -0.3]]
    invalid: [[3, 0, 1000000000000], [-1, 500000, 1000]]
  levels: { stage: monitor, from: sky }
  filter: { stage: fir, from: sky, n_channels: 128, n_taps: 8 }
  spectra: { stage: fft, from: filter, shift: true }
  bandpass: { stage: gains, from: spectra, gain: 1 }
  channels: { stage: monitor, from: bandpass }
  visibilities: { stage: correlate, from: bandpass, integration: 800 }
  fringes: { stage: monitor, from: visibilities }
  aim: { stage: pointing, n_stations: 6, spiral: 120 m, n_channels: 128, first_frequency: 149.488 MHz, channel_width: 8 kHz,
          directions: [[0.15, 0.25], [-0.3, 0.1], [0, 0], [-0.4, -0.3]] }
  beams: { stage: beamform, from: { voltages: bandpass, weights: aim } }
  strengths: { stage: monitor, from: beams }
  last: { stage: discard, from: visibilities }
"""
LOOKS = "return Number(document.body.dataset.looks ?? 0)"
CELL = "return document.querySelector(`#nodes td[data-node='${arguments[0]}'][data-field='${arguments[1]}']`)"
TAB, ENTER = "\ue004", "\ue007"


class Run:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        (self.folder / "sky.yaml").write_text(GRAPH, encoding="utf-8")
        port = ports.free_port()
        self.url = f"http://localhost:{port}"
        self.token = self.folder / "token"
        self.log = open(self.folder / "run.log", "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            [COMMAND, "run", "sky.yaml", "--control", f"tcp:localhost:{port}",
             "--control-token", self.token], cwd=folder, stderr=self.log, stdout=self.log)
        until = time.monotonic() + 120
        while True:
            try:
                self.metrics()
                return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > until:
                    self.log.seek(0)
                    raise RuntimeError(self.log.read()) from None
                time.sleep(0.1)

    def metrics(self):
        """The value of each line of /metrics."""
        with urllib.request.urlopen(self.url + "/metrics") as reply:
            lines = reply.read().decode().splitlines()
        return {name: float(value) for name, value in
                (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))}

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.log.close()


def metric(metrics, name, node):
    """The sum over all lines of a metric for one node."""
    lines = [value for line, value in metrics.items()
             if line.startswith(name + "{") and f'node="{node}"' in line]
    if not lines:
        raise KeyError(f"{name} of {node}")
    return sum(lines)


@unittest.skipIf(browser.missing(), browser.missing())
@unittest.skipIf(os.environ.get("CORNERTURN_SANITIZER", "none") != "none", "sanitizers slow the run and its "
                 "clients down: tests of the control port run with them")
class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.run_ = Run(cls.folder.name)
        cls.addClassCleanup(cls.run_.close)
        cls.browser = browser.Browser(cls.folder.name)
        cls.addClassCleanup(cls.browser.close)
        cls.browser.open(cls.run_.url)
        cls.browser.wait(LOOKS + " >= 2")

    def next_look(self):
        """Waits until the page has looked again, wholly after this call."""
        looks = self.browser.run(LOOKS)
        self.browser.wait(LOOKS + f" >= {looks + 2}")

    def cell(self, node, field):
        return float(self.browser.run(CELL + ".dataset.value", node, field))

    def test_0_no_complaints(self):
        """The browser has nothing to complain of in the page as it is loaded."""
        self.assertEqual(self.browser.complaints(), [])

    def test_1_numbers(self):
        nodes = self.browser.run("return [...document.querySelectorAll('#nodes tr[id]')].map((row) => row.id)")
        for name in ("sky", "bandpass", "visibilities", "last"):
            self.assertIn(f"row-{name}", nodes)
        for name, field in (("cornerturn_node_samples_total", "samples"),
                            ("cornerturn_node_invalid_samples_total", "invalid")):
            for node in ("sky", "bandpass"):
                before = metric(self.run_.metrics(), name, node)
                self.next_look()
                shown = self.cell(node, field)
                after = metric(self.run_.metrics(), name, node)
                self.assertLessEqual(before, shown, (name, node))
                self.assertLessEqual(shown, after, (name, node))
                self.assertGreater(after, 0)
        seconds = self.run_.metrics()["cornerturn_stream_seconds_total"]
        self.next_look()
        self.assertLessEqual(seconds, float(self.browser.run(
            "return document.querySelector(\"#summary [data-field='stream_seconds']\").dataset.value")))

    def test_2_graph(self):
        """Each node is drawn, with its rate; the keys lead to its row."""
        for name in ("sky", "bandpass", "visibilities", "beams"):
            text = self.browser.run("return document.getElementById(`node-${arguments[0]}`).textContent", name)
            self.assertRegex(text, r"Sa/s, \d+ %")
        self.assertEqual(self.browser.run("return document.querySelectorAll('#graph g.node.busiest').length"), 1)
        self.browser.run("document.getElementById('node-bandpass').focus()")
        self.browser.press(ENTER)
        self.assertEqual(self.browser.run("return document.activeElement.id"), "row-bandpass")
        self.next_look()
        self.assertEqual(self.browser.run("return document.activeElement.id"), "row-bandpass")
        self.browser.run("document.getElementById('graph').focus()")
        reached = set()
        for _ in range(40):
            self.browser.press(TAB)
            reached.add(self.browser.run("return document.activeElement.id"))
        for name in ("node-sky", "node-last", "token", "parameter", "value", "end"):
            self.assertIn(name, reached)

    def views(self, node):
        return self.browser.run(
            "return [...document.querySelectorAll(`article[data-node='${arguments[0]}'] canvas`)]"
            ".map((canvas) => canvas.getAttribute('aria-label').replace(/ of [^ ]+$/, ''))", node)

    def colours(self, node):
        """The number of colours of each canvas."""
        return self.browser.run(
            "return [...document.querySelectorAll(`article[data-node='${arguments[0]}'] canvas`)].map((canvas) => "
            "new Set(new Uint32Array(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)"
            ".data.buffer)).size)", node)

    def test_3_pictures(self):
        wanted = {"levels": {"Levels", "Level of stations", "Valid samples of stations"},
                  "channels": {"Spectrum", "Waterfall: the newest at the top", "Level of stations",
                               "Valid samples of stations", "Levels"},
                  "fringes": {"Amplitude against baseline and channel (dB)",
                              "Phase: red 0, green 120°, blue 240°"},
                  "strengths": {"Spectrum", "Waterfall: the newest at the top", "Power of beams", "Levels"}}
        for node, views in wanted.items():
            self.browser.wait("return document.querySelectorAll(`article[data-node='${arguments[0]}'] canvas`)"
                              ".length >= arguments[1]", node, len(views))
            self.assertEqual(set(self.views(node)), views)
            self.assertGreater(min(self.colours(node)), 4, node)
        number = "return Number(document.querySelector(\"article[data-node='channels']\").dataset.number)"
        first = self.browser.run(number)
        self.browser.wait(number + f" > {first}")

    def read(self, node, view, x, y):
        """What is said of a point of a picture, given in parts of its canvas."""
        return self.browser.run(
            "const canvas = document.querySelector(`canvas[aria-label^='${arguments[1]} of ${arguments[0]}']`);"
            "const box = canvas.getBoundingClientRect();"
            "canvas.dispatchEvent(new PointerEvent('pointermove', { clientX: box.x + arguments[2] * box.width,"
            " clientY: box.y + arguments[3] * box.height }));"
            "return canvas.parentElement.querySelector('output').textContent", node, view, x, y)

    def test_3b_values(self):
        """The values under the pointer: the lost station is seen, and the tone where it was put."""
        self.assertEqual(self.read("levels", "Valid samples of stations", 0.62, 0.5), "station 3: 0")
        self.assertEqual(self.read("levels", "Level of stations", 0.62, 0.5), "station 3: no valid sample")
        level = float(self.read("levels", "Level of stations", 0.2, 0.5).removeprefix("station 0: "))
        # 12 times noise, two sources and a tone, in two parts
        power = 12 ** 2 * (1 + 0.6 + 0.3 + 0.4 ** 2)
        self.assertAlmostEqual(level / power ** 0.5, 1, delta=0.05)
        found = {}
        for step in range(15, 96):
            text = self.read("channels", "Spectrum", step / 100, 0.5)
            frequency, first = re.fullmatch(r"([\d.]+) MHz: (-?[\d.]+) dB, .*", text).groups()
            found[float(frequency)] = float(first)
        tone = max(found, key=found.get)
        self.assertLess(abs(tone - 150.2), 0.016)  # two channels
        self.assertGreater(found[tone], sorted(found.values())[len(found) // 2] + 5)

    def test_4_steering(self):
        self.browser.run("document.getElementById('parameter').value = 'bandpass.gain'")
        self.browser.type("#value", "2")
        self.browser.click("#steer [type=submit]")
        self.browser.wait("return document.getElementById('answer').className === 'bad'")
        self.assertIn("Bearer", self.browser.run("return document.getElementById('answer').textContent"))
        self.browser.type("#token", self.run_.token.read_text())
        self.browser.click("#steer [type=submit]")
        self.browser.wait("return /^bandpass.gain=2 from tick \\d+$/.test(document.getElementById('answer')"
                          ".textContent)")
        self.browser.wait("return document.getElementById('changes').textContent.includes('holds from')")
        self.browser.complaints()  # that of the refused change

    def test_5_pictures_of_the_page(self):
        """In both schemes; the browser has nothing to complain of."""
        self.browser.run("document.activeElement.blur(); window.scrollTo(0, 0)")
        for scheme in ("light", "dark"):
            self.browser.prefer(scheme)
            self.next_look()
            ground = self.browser.run("return getComputedStyle(document.body).backgroundColor")
            light = sum(map(int, re.findall(r"\d+", ground)[:3])) / 3
            self.assertEqual(light > 128, scheme == "light", ground)
            path = f"{PICTURES or self.folder.name}/page-{scheme}.png"
            self.browser.picture(path, self.browser.run("return document.documentElement.scrollHeight"))
            self.assertGreater(os.path.getsize(path), 20000)
        self.assertEqual(self.browser.complaints(), [])

    def test_6_end(self):
        self.browser.run("document.getElementById('token').value = arguments[0]",
                         self.run_.token.read_text())
        self.browser.click("#end")
        self.browser.accept()
        self.assertEqual(self.run_.process.wait(60), 143)
        self.browser.wait("return document.getElementById('state').className === 'gone'")


if __name__ == "__main__":
    tap.main()
