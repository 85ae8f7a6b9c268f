#!/usr/bin/env python3
"""@STAGE@ against NumPy, whole and cut into blocks."""
import os
import subprocess
import tempfile

import numpy as np

GRAPH = """
stages:
  source: { stage: file.source, path: in.npy, layout: "cf32[time station pol]", sample_rate: 1 MHz, block: { time: %d } }
  times:  { stage: @STAGE@, from: source, factor: 3 }
  sink:   { stage: file.sink, from: times, path: out.npy, layout: "[time station pol]" }
"""

random = np.random.default_rng(1)
samples = random.normal(size=(100, 3, 2, 2)).astype("f4").view("c8")[..., 0]
print("1..2")
for i, block in enumerate((100, 7)):
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/in.npy", samples)
        with open(f"{folder}/graph.yaml", "w") as file:
            file.write(GRAPH % block)
        subprocess.run([os.environ.get("CORNERTURN", "cornerturn"), "run", "--quiet", "graph.yaml"],
                       cwd=folder, check=True)
        right = np.array_equal(np.load(f"{folder}/out.npy"), np.float32(3) * samples)
    print("ok" if right else "not ok", i + 1, f"- blocks of {block}")
