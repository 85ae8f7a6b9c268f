#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Drawings of plans: boxes do not overlap, lines join the boxes that the plan joins, and nothing is
beside the picture, for all graphs of pipelines/ and random ones."""
import json
import os
import random
import re
import subprocess
import xml.etree.ElementTree

import numpy

import captures
import graphs
import tap

SVG = "{http://www.w3.org/2000/svg}"
# Sanitizers take long, and see the same in fewer graphs.
N_RANDOM = 100 if os.environ["CORNERTURN_SANITIZER"] == "none" else 10


def rectangle(element):
    return [float(element.get(key)) for key in ("x", "y", "width", "height")]


def overlap(a, b):
    return (a[0] < b[0] + b[2] and b[0] < a[0] + a[2] and
            a[1] < b[1] + b[3] and b[1] < a[1] + a[3])


def points(path):
    """Points of a path of M, V and C, 20 of each part."""
    at, found = None, []
    for letter, text in re.findall(r"([MVC])([-\d. ]+)", path):
        numbers = [float(word) for word in text.split()]
        t = numpy.linspace(0, 1, 20)[:, None]
        if letter == "M":
            ends = [numbers, numbers]
        elif letter == "V":
            ends = [at, [at[0], numbers[0]]]
        else:
            a, b, c, d = at, *numpy.reshape(numbers, (3, 2))
            found.extend(map(tuple, (1 - t) ** 3 * a + 3 * (1 - t) ** 2 * t * b +
                             3 * (1 - t) * t ** 2 * c + t ** 3 * d))
            at = d
            continue
        found.extend(map(tuple, ends[0] + t * (numpy.array(ends[1]) - ends[0])))
        at = numpy.array(ends[1])
    return found


class Drawing(graphs.GraphTest):
    def plan(self, path, *arguments):
        done = subprocess.run([graphs.COMMAND, "plan", path, *arguments], cwd=self.folder,
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def check_boxes(self, root, plan):
        """The frames of nodes by name; nothing overlaps."""
        groups = [group for group in root.iter(SVG + "g") if (group.get("id") or "").startswith("node-")]
        boxes = {group.get("id")[5:]: rectangle(group.find(SVG + "rect")) for group in groups}
        for group, node in zip(groups, plan["nodes"] if plan else []):
            self.assertEqual(group.get("id"), f"node-{node['name']}")
            kinds = group.get("class").split()
            self.assertEqual("inserted" in kinds, node["inserted"])
            self.assertEqual("fused" in kinds, len(node["stages"]) > 1)
            said = [text.text for text in group.iter(SVG + "text")]
            for word in [node["name"], *node["stages"]]:
                self.assertIn(word, said)
        texts = []
        for group in root.iter(SVG + "g"):
            if (group.get("id") or "").startswith("link-"):
                for text in group.iter(SVG + "text"):
                    texts.append([float(text.get("x")), float(text.get("y")) - 9,
                                  5.5 * len(text.text), 9])
        everything = list(boxes.values()) + texts
        for i, a in enumerate(everything):
            for b in everything[:i]:
                self.assertFalse(overlap(a, b), (a, b))
        return boxes, everything

    def check_lines(self, root, plan, boxes):
        given = []
        for line in root.iter(SVG + "path"):
            if line.get("class") != "line":
                continue
            ends = line.get("data-from"), line.get("data-to")
            given.append(ends)
            way = points(line.get("d"))
            for (x, y), box, edge in ((way[0], boxes[ends[0]], 1), (way[-1], boxes[ends[1]], 0)):
                self.assertTrue(box[0] < x < box[0] + box[2])
                self.assertAlmostEqual(y, box[1] + edge * box[3], delta=0.2)
            for name, box in boxes.items():
                inside = [box[0] + 1, box[1] + 1, box[2] - 2, box[3] - 2]
                self.assertFalse(any(overlap(inside, (*point, 0, 0)) for point in way),
                                 f"{ends} crosses {name}")
        if plan:
            names = [node["name"] for node in plan["nodes"]]
            self.assertEqual(list(boxes), names)
            self.assertEqual(sorted(given), sorted(
                (names[link["writer"]], names[reader["node"]])
                for link in plan["links"] for reader in link["readers"]))

    def check(self, path, *arguments, with_plan=True):
        """Checks the drawing by itself and, with_plan, against what --json says."""
        svg = self.plan(path, "--svg", *arguments)
        plan = json.loads(self.plan(path, "--json", *arguments)) if with_plan else None
        self.assertNotRegex(svg.replace("http://www.w3.org/2000/svg", ""), r"https?:|url\(|href|@import")
        root = xml.etree.ElementTree.fromstring(svg)
        boxes, everything = self.check_boxes(root, plan)
        self.check_lines(root, plan, boxes)
        width, height = float(root.get("width")), float(root.get("height"))
        moved = re.search(r"translate\(([\d.]+) ([\d.]+)\)", svg)
        for x, y, w, h in everything:
            self.assertTrue(0 <= x + float(moved[1]) and x + w + float(moved[1]) <= width and
                            0 <= y and y + h + float(moved[2]) <= height)
        busy = plan["busy"] if plan else {}
        if plan and plan["alone"]["seconds"] <= max(busy.values()):
            busiest = max(busy, key=busy.get)
            self.assertEqual([node["name"] for node in plan["nodes"] if node["busy"].get(busiest)],
                             [name for name in boxes if "busiest" in
                              root.find(f".//*[@id='node-{name}']").get("class").split()])
        return root

    # ---- the graphs of pipelines/ ----

    def check_pipeline(self, name, *settings):
        path = graphs.SOURCE_ROOT / "pipelines" / name
        words = [word for setting in settings for word in ("--set", setting)]
        for more in ([], ["--default-layouts"]):
            self.check(path, *words, *more)

    def source(self, kind, shape, rate, **more):
        """Samples of noise with a time."""
        numpy.save(self.folder / "in.npy", numpy.random.default_rng(1).normal(size=shape).astype(kind))
        return {"stage": "file.source", "path": "in.npy", "layout": "[time station pol]",
                "sample_rate": rate, "epoch": "2026-11-23T12:00:00Z", **more}

    def test_simulated(self):
        for path in sorted((graphs.SOURCE_ROOT / "pipelines").glob("*.yaml")):
            if "stage: generate" in path.read_text():
                with self.subTest(path.name):
                    self.check_pipeline(path.name)

    def test_vdif(self):
        self.run_graph({
            "sky": self.source("f4", (64000, 1, 2), "32 MHz", first_frequency="0 Hz"),
            "out": {"stage": "vdif.sink", "from": "sky", "path": "scan.vdif", "bits": 8}})
        self.check_pipeline("vdif-filterbank.yaml")

    def test_live_imaging(self):
        self.run_graph({
            "sky": self.source("c8", (64000, 8, 2), "32 kHz", centre_frequency="610 MHz"),
            "out": {"stage": "vdif.sink", "from": "sky", "path": "scan.vdif", "bits": 8,
                    "threads": "station"}})
        if "lacks" in subprocess.run([graphs.COMMAND, "inspect", "uvh5.sink"], capture_output=True,
                                     text=True, check=False).stdout:
            self.skipTest("uvh5.sink lacks its libraries")
        self.check_pipeline("live-imaging.yaml", "array.path=scan.vdif")

    def test_pulsar(self):
        self.run_graph({
            "sky": self.source("c8", (64000, 1, 1), "1 MHz", centre_frequency="400 MHz"),
            "filter": {"stage": "fir", "from": "sky", "n_channels": 64, "n_taps": 4},
            "spectra": {"stage": "fft", "from": "filter", "shift": True},
            "power": {"stage": "power", "from": "spectra"},
            "out": {"stage": "sigproc.sink", "from": "power", "path": "pulsar.fil"}})
        self.check_pipeline("pulsar.yaml")

    def test_search(self):
        numpy.save(self.folder / "voltages.npy", numpy.zeros((65536, 3, 2, 2), numpy.int8))
        self.check_pipeline("search.yaml")

    @graphs.needs_data(*captures.NAMES)
    def test_station(self):
        paths = f"station.paths=[{', '.join(map(str, captures.FILES))}]"
        self.check_pipeline("lofar-station.yaml", paths)
        self.check_pipeline("station-spectrum.yaml", paths)

    # ---- random graphs ----

    def make_random(self, numbers):
        """Sources, joined and parted at random; all streams have the same axes."""
        stages, kinds = {}, {}
        for s in range(numbers.randrange(1, 4)):
            kinds[f"sky{s}"] = numbers.choice(["cf32", "ci16"])
            stages[f"sky{s}"] = {"stage": "generate", "type": kinds[f"sky{s}"],
                                 "sample_rate": "1 MHz", "samples": 4096,
                                 "centre_frequency": "150 MHz", "n_stations": numbers.randrange(1, 5),
                                 "n_pols": 2, "noise": 1}
        for n in range(numbers.randrange(2, 16)):
            name, given = f"n{n}", numbers.choice(list(kinds))
            stage = numbers.choice(["copy", "convert", "select", "stack", "transpose"])
            stages[name] = {"stage": stage, "from": given}
            others = [other for other in kinds if kinds[other] == kinds[given]]
            kinds[name] = kinds[given]
            if stage == "convert":
                kinds[name] = stages[name]["type"] = "cf64"
            elif stage == "select":
                stages[name]["pol"] = numbers.choice([[0, 1], [1, 0]])
            elif stage == "transpose":
                stages[name]["layout"] = numbers.choice(["[station pol time]", "[pol time station]"])
            elif stage == "stack":
                stages[name]["from"] = numbers.sample(others, numbers.randrange(1, len(others) + 1))
                stages[name]["axis"] = "station"
        read = set()
        for stage in stages.values():
            given = stage.get("from", [])
            read.update([given] if isinstance(given, str) else given)
        for name in list(kinds):
            if name not in read or numbers.randrange(4) == 0:
                stages[f"out-{name}"] = {
                    "stage": "correlate", "from": name, "integration": 64,
                } if numbers.randrange(3) == 0 else {"stage": "discard", "from": name}
        for name in [name for name, stage in stages.items() if stage["stage"] == "correlate"]:
            layout = numbers.choice(["[time baseline pol pol']", "[baseline time pol' pol]"])
            stages[f"{name}-file"] = {"stage": "file.sink", "from": name, "path": f"{name}.npy",
                                      "layout": layout}
            if numbers.randrange(2):
                stages[f"{name}-weights"] = {"stage": "discard", "from": f"{name}.weights"}
        return stages

    def test_random(self):
        for seed in range(N_RANDOM):
            with self.subTest(seed):
                stages = self.make_random(random.Random(seed))
                options = random.Random(seed).choice([[], ["--default-layouts"], ["--no-fusion"]])
                self.check(self.write(stages), *options, with_plan=seed % 4 == 0)

    # ---- what is said ----

    def test_text(self):
        """Names, variants, layouts, bytes, and inserted nodes."""
        root = self.check(self.write({
            "sky": {"stage": "generate", "type": "ci8", "sample_rate": "1 MHz", "samples": 4096,
                    "centre_frequency": "150 MHz", "n_stations": 2, "n_pols": 2, "noise": 1},
            "a": {"stage": "correlate", "from": "sky", "integration": 64},
            "b": {"stage": "file.sink", "from": "a", "path": "b.npy", "layout": "[time pol' baseline pol]"},
        }), "--backend", "reference", "--default-layouts")
        said = [text.text for text in root.iter(SVG + "text")]
        for text in ("a>transpose", "correlate", "reference · host", "ci8[station time pol]",
                     "cf32[time pol' baseline pol]", "time 4096, station 2, pol 2", "inserted",
                     "predicted to be busy for a second of stream:"):
            self.assertIn(text, said)
        self.assertTrue(any(re.fullmatch(r"[\d.]+ KiB", text) for text in said))
        self.assertTrue(any(re.fullmatch(r"busy [\d.]+%", text) for text in said))

    def test_view(self):
        """The layout that is read, if it is another view of the same memory; XML is escaped."""
        root = self.check(self.write({
            "sky": {"stage": "generate", "type": "cf32", "sample_rate": "1 MHz", "samples": 64,
                    "centre_frequency": "150 MHz", "n_stations": 1, "n_pols": 1, "noise": 1},
            "out": {"stage": "file.sink", "from": "sky", "path": "out.npy",
                    "layout": "[station pol time]"}}))
        said = [text.text for text in root.iter(SVG + "text")]
        self.assertIn("cf32[time station pol]", said)
        self.assertIn("read as cf32[station pol time]", said)

    def test_dot(self):
        """The same words for Graphviz."""
        stages = {"sky": {"stage": "generate", "type": "ci8", "sample_rate": "1 MHz", "samples": 4096,
                          "centre_frequency": "150 MHz", "n_stations": 2, "n_pols": 2, "noise": 1},
                  "vis": {"stage": "correlate", "from": "sky", "integration": 64},
                  "out": {"stage": "discard", "from": "vis.weights"}}
        dot = self.plan(self.write(stages), "--dot", "--backend", "reference")
        self.assertRegex(dot, r'n1 \[label="vis\\ncorrelate\\nreference · host\\nbusy [\d.]+%", color')
        self.assertIn('n1 -> n2 [label="weights: u32[time baseline]\\n', dot)


if __name__ == "__main__":
    tap.main()
