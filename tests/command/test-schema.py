#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`cornerturn schema`: the graphs of pipelines/ are valid, and typical mistakes are not; and
`cornerturn check --json`."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import tap

try:
    import jsonschema
    import yaml
except ImportError:
    jsonschema = yaml = None

COMMAND = os.environ["CORNERTURN"]
PIPELINES = pathlib.Path(os.environ["CORNERTURN_SOURCE_ROOT"]) / "pipelines"

VALID = {
    "a quantity as a number": "stages: { a: { stage: fir, from: b, n_channels: 16, n_taps: 4 } }",
    "a number as a text": "stages: { a: { stage: fir, from: b, n_channels: '16', n_taps: 4 } }",
    "expressions": "parameters: { n: 4 }\nstages: { a: { stage: fir, from: b, n_channels: '${n * 2}', n_taps: '${n}' } }",
    "a list of one": "stages: { a: { stage: pointing, from: b, spiral: 5 km, directions: [[0, 0.1]] } }",
    "links by name": "stages: { a: { stage: beamform, from: { voltages: b, weights: [c.out] } } }",
    "a time for samples": "stages: { a: { stage: correlate, from: b, integration: 1.5 ms } }",
    "a parameter of a format": "stages: { a: { stage: file.sink, from: b, path: x.fil, bits: 8, scale: 0.5 } }",
    "copies": "stages: { replicate: { over: 4, as: i, stages: { a: { stage: fft, from: b } } }, "
              "s: { stage: stack, from: a-*, axis: beam } }",
    "copies of several parts": "stages: { replicate: [{ over: [x], stages: { a: { stage: fft, from: b } } }] }",
    "merged keys": "stages: { a: &a { stage: fft, from: b }, c: { <<: *a, shift: true } }",
    "included files": "include: [a.yaml, { file: b.yaml, parameters: { n: 2 }, prefix: x }]",
    "stations in a file": "stations: stations.yaml\nstages: {}",
    "a layout without quotes": "stages:\n  a:\n    stage: file.sink\n    from: b\n    path: x.npy\n    layout: [time channel]",
    "a backend": "backend: cuda:1\nstages: {}",
    "a start before the epoch": "start: -5\nstages: {}",
    "a year as description": "description: 2026\nstages: {}",
    "a number of copies by an expression": "stages: { replicate: { over: '${n}', stages: {} } }",
    "processors and memory": "cpus: 0\nnuma: 0\nstages: {}",
}
INVALID = {
    "an unknown stage": ("stages: { a: { stage: firr, from: b } }", ["stages", "a", "stage"]),
    "an unknown parameter": ("stages: { a: { stage: fft, from: b, shft: true } }", ["stages", "a"]),
    "a wrong type": ("stages: { a: { stage: fft, from: b, shift: 5 } }", ["stages", "a", "shift"]),
    "a text for a number": ("stages: { a: { stage: fir, from: b, n_channels: many } }",
                            ["stages", "a", "n_channels"]),
    "a number out of range": ("stages: { a: { stage: fir, from: b, n_taps: 0 } }",
                              ["stages", "a", "n_taps"]),
    "a part of a number": ("stages: { a: { stage: fir, from: b, n_taps: 1.5 } }",
                           ["stages", "a", "n_taps"]),
    "a wrong unit": ("stages: { a: { stage: generate, sample_rate: 20 ms, samples: 5 } }",
                     ["stages", "a", "sample_rate"]),
    "a wrong choice": ("stages: { a: { stage: fft, from: b, direction: backwards } }",
                       ["stages", "a", "direction"]),
    "a list for one value": ("stages: { a: { stage: fft, from: b, length: [1, 2] } }",
                             ["stages", "a", "length"]),
    "no stage": ("stages: { a: { from: b } }", ["stages", "a"]),
    "no path": ("stages: { a: { stage: file.sink, from: b } }", ["stages", "a"]),
    "inputs of a source": ("stages: { a: { stage: generate, from: b, samples: 5 } }", ["stages", "a"]),
    "an unknown key": ("stage: {}", []),
    "a wrong backend": ("backend: gpu", ["backend"]),
    "a name that is none": ("stages: { a.b: { stage: fft, from: c } }", ["stages"]),
    "a replicate without stages": ("stages: { replicate: { over: 4, as: i } }", ["stages", "replicate"]),
    "a fault in a copy": ("stages: { replicate: { over: 4, as: i, stages: { a: { stage: fftt } } } }",
                          ["stages", "replicate"]),
    "a wrong key of the observation": ("observation: { telescop: x }", ["observation"]),
    "nothing": ("{}", []),
    "no processors": ("cpus: {}\nstages: {}", ["cpus"]),
    "a NUMA node below 0": ("numa: -1\nstages: {}", ["numa"]),
    "an empty block": ("block: { time: 0 }\nstages: {}", ["block", "time"]),
    "copies of nothing": ("stages: { replicate: { over: {}, stages: {} } }", ["stages", "replicate"]),
    "no number of copies": ("stages: { replicate: { over: ~, stages: {} } }", ["stages", "replicate"]),
    "an item that is no name": ("stages: { replicate: { over: 2, as: '1', stages: {} } }",
                                ["stages", "replicate"]),
    "a prefix with a space": ("include: { file: x, prefix: a b }", ["include"]),
    "a number for labels": ("stages: { a: { stage: generate, sample_rate: 5, samples: 5, labels: 3 } }",
                            ["stages", "a", "labels"]),
    "a parameter's name": ("parameters: { a-b: 1 }", ["parameters"]),
}


def run(*arguments, folder=None):
    return subprocess.run([COMMAND, *arguments], cwd=folder, capture_output=True, text=True, timeout=60)


@unittest.skipIf(jsonschema is None, "python3-jsonschema or python3-yaml is missing")
class Schema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.schema = json.loads(run("schema").stdout)
        cls.validator = jsonschema.Draft202012Validator(cls.schema)

        class Loader(yaml.SafeLoader):
            """YAML 1.2 and the graphs' own reader know no times."""

        Loader.yaml_implicit_resolvers = {
            first: [(tag, form) for tag, form in resolvers if not tag.endswith(":timestamp")]
            for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()}
        cls.loader = Loader

    def faults(self, text):
        graph = yaml.load(text, self.loader)
        return [[list(error.absolute_path), error.message] for error in self.validator.iter_errors(graph)]

    def test_it_is_a_schema(self):
        jsonschema.Draft202012Validator.check_schema(self.schema)
        self.assertEqual(self.schema["$schema"], "https://json-schema.org/draft/2020-12/schema")

    def test_pipelines(self):
        for path in PIPELINES.glob("*.yaml"):
            with self.subTest(path.name):
                self.assertEqual(self.faults(path.read_text(encoding="utf-8")), [])

    def test_valid(self):
        for name, text in VALID.items():
            with self.subTest(name):
                self.assertEqual(self.faults(text), [])

    def test_invalid(self):
        for name, (text, path) in INVALID.items():
            with self.subTest(name):
                faults = self.faults(text)
                self.assertIn(path, [where for where, _ in faults])


class CheckJson(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def check(self, text, *options):
        (self.folder / "g.yaml").write_text(text, encoding="utf-8")
        done = run("check", "--json", "g.yaml", *options, folder=self.folder)
        return done, json.loads(done.stdout)

    def test_line_feeds_make_no_errors(self):
        done, found = self.check('stages: { a: { stage: "x\\ng.yaml:9:9: injected" } }')
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(len(found["errors"]), 1)
        self.assertEqual(found["errors"][0]["line"], 1)
        self.assertIn("'x\\ng.yaml:9:9: injected'", found["errors"][0]["message"])

    def test_streams_and_warnings(self):
        done, found = self.check(
            "description: A tone.\nparameters: { n: 1000 }\nstages:\n"
            "  sky: { stage: generate, sample_rate: 1 MHz, centre_frequency: 1 GHz, samples: 1000, "
            "n_stations: 2, noise: 1 }\n"
            "  out: { stage: discard, from: sky }\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")
        self.assertEqual(found["description"], "A tone.")
        self.assertEqual(found["errors"], [])
        self.assertEqual(found["warnings"], [{
            "kind": "parameter", "node": None, "place": "g.yaml:2:15",
            "message": "parameter 'n' has no effect: no expression names it"}])
        self.assertEqual([(node["name"], node["stage"]) for node in found["nodes"]],
                         [("sky", "generate"), ("out", "discard")])
        stream = found["nodes"][0]["outputs"][0]
        self.assertEqual(stream["name"], "voltages")
        self.assertIn(("time", 1000), [(axis["name"], axis["length"]) for axis in stream["axes"]])

    def test_errors(self):
        """Each error that does not follow from another one, and no other."""
        done, found = self.check(
            "stages:\n"
            "  sky: { stage: generate, sample_rat: 1 MHz, centre_frequency: 1 Ghz, samples: 10 }\n"
            "  filter: { stage: fir, from: sky, n_channels: 64, n_taps: x }\n"
            "  spectra: { stage: fftt, from: filter }\n"
            "  power: { stage: power, from: spectra }\n"
            "  other: { stage: power, from: spectr }\n"
            "  tone: { stage: generate, sample_rate: 1 MHz, centre_frequency: 1 GHz, samples: 10, noise: 1 }\n"
            "  wrong: { stage: fft, from: tone }\n"
            "  out: { stage: discard, from: { inn: wrong } }\n")
        self.assertEqual(done.returncode, 1)
        self.assertEqual([(fault["line"], fault["column"]) for fault in found["errors"]],
                         [(2, 27), (2, 64), (3, 60), (4, 21), (6, 32), (9, 39), (8, 3)])
        self.assertEqual({fault["file"] for fault in found["errors"]}, {"g.yaml"})
        self.assertIn("did you mean 'sample_rate'?", found["errors"][0]["message"])
        self.assertEqual(found["nodes"], [])
        self.assertEqual(len(done.stderr.splitlines()), 7)

    def test_a_message_of_several_lines(self):
        _, found = self.check("stages:\n  a: { stage: file.source, path: x.npy, layout: 'ci8[channel time:16 time]' }\n")
        self.assertEqual(len(found["errors"]), 1)
        self.assertEqual(found["errors"][0]["line"], 2)
        self.assertGreater(found["errors"][0]["message"].count("\n"), 1)

    def test_what_is_no_graph(self):
        done, found = self.check("- a\n")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(found["errors"], [{
            "file": "g.yaml", "line": 1, "column": 1,
            "message": "wants a graph: { stages: … }, but is given a list of 1"}])


if __name__ == "__main__":
    tap.main()
