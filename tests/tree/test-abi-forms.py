#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A plugin with a stage of every form of the kit (tests/abi/forms) is built as authors build
theirs, but with kept headers. It runs with this Cornerturn, which compiles its kernels for devices
with its own headers."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import numpy
import tap

COMMAND = os.environ["CORNERTURN"]
BUILD = pathlib.Path(COMMAND).parent.parent
SOURCE = pathlib.Path(os.environ["CORNERTURN_SOURCE_ROOT"])
KEPT = sorted((SOURCE / "tests" / "abi").glob("[0-9]*"))
BACKEND = os.environ.get("CORNERTURN_TEST_BACKEND", "cpu")
HOP, TAPS, TRIALS, SAMPLES = 8, 3, 2, 16
SEED = 7
print(f"# seed: {SEED}")

GRAPH = """stages:
  x: { stage: file.source, path: x.npy, layout: "f32[time channel pol]", sample_rate: 1 kHz }
  w: { stage: file.source, path: w.npy, layout: "f32[channel]" }
  source: { stage: forms.source, path: packets }
"""
# Inputs, parameters and backend of each stage of a form, and the layout of its output.
LAYOUT = "[time channel pol]"
NODES = {
    "scale": ("x", "factor: 3", BACKEND, LAYOUT),
    "large": ("x", "factor: 0.5", BACKEND, LAYOUT),
    "group": ("x", "factor: 3", BACKEND, "[time channel part]"),
    "weigh": ("{ in: x, factors: w }", "", BACKEND, LAYOUT),
    "fold": ("x", "factor: 3", BACKEND, LAYOUT),
    "fold-again": ("x", "factor: 3", "reference", LAYOUT),
    "sums": ("x", "factor: 3", BACKEND, LAYOUT),
    "window": ("x", "factor: 3", BACKEND, LAYOUT),
    "moved": ("x", "factor: 3", BACKEND, "[time trial pol]"),
    "trials": ("{ in: x, factors: w }", "", BACKEND, "[time trial pol]"),
    "join": ("{ in: x, other: fold }", "", BACKEND, LAYOUT),
    "join-again": ("{ in: x, other: fold }", "", "reference", LAYOUT),
    "mark": ("{ in: x, other: fold }", "", BACKEND, LAYOUT),
    "boxes": ("x", "factor: 3", BACKEND, "[channel pol time]"),
    "boxes-again": ("x", "factor: 3", "reference", LAYOUT),
}


def expect(x, w):
    """The results, which are integers."""
    n = len(x)
    sums = (3 * x).reshape(n // HOP, HOP, *x.shape[1:]).sum(1) + HOP
    held = numpy.repeat(sums, HOP, 0)
    windows = sum(3 * x[k:n - TAPS + 1 + k] for k in range(TAPS))
    n_moved = n - (TRIALS - 1) * (x.shape[1] - 1)
    shifted = numpy.stack([numpy.stack([x[trial * c:trial * c + n_moved, c]
                                        for c in range(x.shape[1])], 1)
                           for trial in range(TRIALS)], 1)  # [time trial channel pol]
    return {
        "scale": 3 * x,
        "large": numpy.rint(0.5 * x),
        "group": numpy.stack([3 * x[..., 0] + x[..., 1], x[..., 0] - x[..., 1]], -1),
        "weigh": w[:, None] * x,
        "fold": sums, "fold-again": sums, "sums": sums,
        "window": windows,
        "moved": 3 * shifted.sum(2),
        "trials": (w[:, None] * shifted).sum(2),
        "join": x - held, "join-again": x - held,
        "mark": numpy.where(x < held, x, 0),
        "boxes": (3 * x).transpose(1, 2, 0), "boxes-again": 3 * x,
        "source": numpy.arange(4 * SAMPLES),
    }


class Forms(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_in(self, folder, *command, **variables):
        ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False,
                             env={**os.environ, **variables})
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        return ran.stdout

    def build(self, headers):
        """The folder of the plugin, built with these headers."""
        made = self.folder / headers.name
        shutil.copytree(SOURCE / "tests" / "abi" / "forms", made)
        shutil.copytree(SOURCE / "plugins" / "kit", made / "kit")
        described = (BUILD / "meson-uninstalled" / "cornerturn-uninstalled.pc").read_text()
        (made / "cornerturn.pc").write_text(
            re.sub(r"(?m)^Cflags:.*$", f"Cflags: -I{headers}", described))
        self.run_in(made, "meson", "setup", "build", "-Dwerror=true", "-Db_lundef=false",
                    PKG_CONFIG_PATH=str(made))
        self.run_in(made, "ninja", "-C", "build")
        return made / "build" / "kit"

    def test_kernels_use_all_that_the_language_offers(self):
        """Kernels are compiled at run time with the headers of the library: what the kept
        description of their language names must stay."""
        kernels = "".join(path.read_text()
                          for path in (SOURCE / "tests" / "abi" / "forms").glob("*.kernel.h"))
        for headers in KEPT:
            language = (headers / "cornerturn" / "kit" / "kernel.h").read_text()
            offered = re.findall(r"^ \*     ((?:CT|ct)_\w+)\(", language, re.M)
            self.assertGreater(len(offered), 12)
            for name in offered:
                with self.subTest(headers=headers.name, name=name):
                    self.assertRegex(kernels, rf"\b{name}\(")

    def test_kept_headers(self):
        rng = numpy.random.default_rng(SEED)
        x = rng.integers(-8, 8, (5 * HOP, 4, 2))
        w = numpy.array([1, -2, 3, 4])
        numpy.save(self.folder / "x.npy", x.astype("f4"))
        numpy.save(self.folder / "w.npy", w.astype("f4"))
        (self.folder / "packets").write_bytes(b"".join(
            b"PKT" + bytes([i]) + bytes(range(SAMPLES * i, SAMPLES * (i + 1))) for i in range(4)))
        graph = GRAPH
        for name, (inputs, params, backend, layout) in NODES.items():
            stage = name.removesuffix("-again")
            graph += (f"  {name}: {{ stage: forms.{stage}, from: {inputs}, backend: {backend}"
                      + (f", {params}" if params else "") + " }\n"
                      f"  to-{name}: {{ stage: file.sink, from: {name}, path: {name}.npy, "
                      f"layout: '{layout}' }}\n")
        graph += "  to-source: { stage: file.sink, from: source, path: source.npy }\n"
        (self.folder / "g.yaml").write_text(graph)
        for headers in KEPT:
            plugins = self.build(headers)
            stats = json.loads(self.run_in(
                self.folder, COMMAND, "run", "--strict", "--stats", "json", "g.yaml",
                CORNERTURN_PLUGIN_PATH=f"{plugins}:{os.environ['CORNERTURN_PLUGIN_PATH']}"))
            nodes = {node["name"]: node for node in stats["nodes"]}
            for name, wanted in expect(x, w).items():
                with self.subTest(headers=headers.name, node=name):
                    numpy.testing.assert_array_equal(numpy.load(self.folder / f"{name}.npy"),
                                                     wanted)
            for name, (_, _, backend, _) in NODES.items():
                with self.subTest(headers=headers.name, variant=name):
                    self.assertTrue(nodes[name]["variant"].startswith(backend), nodes[name])
            self.assertEqual(nodes["large"]["counters"]["large"], (abs(x) >= 4).sum())
            self.assertEqual(nodes["source"]["counters"]["packets"], 4)


if __name__ == "__main__":
    tap.main()
